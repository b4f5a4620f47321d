//! Files that commands read: recordings of our own, and logs of other programs.

use super::{CliError, Settings};
use crate::model::{Config, SourceKind};
use crate::record::{Import, ImportError, ImportOptions, Warning};
use crate::text::clean;
use jiff::tz::TimeZone;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How an SQLite file begins, and so a recording.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";
/// What stands for standard input.
const STDIN: &str = "-";

/// A log that was recognised.
pub(super) struct ForeignLog {
    /// Its ticks.
    pub(super) import: Import,
    /// How it is called.
    pub(super) file: String,
    /// The zone of its times.
    pub(super) zone: LogZone,
}

/// The zone in which the times of a log were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogZone {
    /// Its name.
    pub(super) name: String,
    /// `log`, `flag` or `local`.
    pub(super) source: &'static str,
}

/// Whether a file is to be read as a recording. Logs may come from standard input, recordings may not; what cannot be
/// opened is left to whoever reads it.
pub(super) fn is_recording(path: &Path) -> bool {
    if path == Path::new(STDIN) {
        return false;
    }
    let mut first = [0; SQLITE.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut first)) {
        Ok(()) => first == *SQLITE,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Opens a log and tells what it is.
///
/// # Errors
/// It cannot be read, or is refused with its line and the reason.
pub(super) fn open(
    command: &str,
    path: &Path,
    columns: &[String],
    settings: &Settings,
) -> Result<ForeignLog, CliError> {
    let stdin = path == Path::new(STDIN);
    let file = if stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let source: Box<dyn Read + Send> = if stdin {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|source| CliError::System {
            operation: format!("{command}: opening {}", path.display()),
            source,
            next: "check the path and its permissions",
        })?)
    };
    let tz = &settings.screen.tz;
    let zone = super::value::zone(tz)
        .map_err(|error| CliError::Usage(format!("{command}: --tz: {error}")))?;
    let options = ImportOptions {
        zone: zone.clone(),
        columns: (!columns.is_empty()).then(|| columns.to_vec()),
    };
    let import = Import::open(source, &options).map_err(|error| refused(command, &file, &error))?;
    let zone = if import.needs_zone() {
        LogZone {
            name: zone_name(tz, &zone),
            source: if tz == "local" { "local" } else { "flag" },
        }
    } else {
        LogZone {
            name: "UTC".to_owned(),
            source: "log",
        }
    };
    Ok(ForeignLog { import, file, zone })
}

/// Why a log is not read, as the one line of a command.
pub(super) fn refused(command: &str, file: &str, error: &ImportError) -> CliError {
    let comma = match error {
        ImportError::Refused { line: 1.., .. } => ",",
        _ => ":",
    };
    CliError::Failed(format!(
        "{command}: {file}{comma} {error}; next: {}",
        error.next()
    ))
}

impl ForeignLog {
    /// What its ticks are.
    pub(super) fn kind(&self, file: &str) -> SourceKind {
        SourceKind::Log {
            file: clean(file).into_owned(),
            zone: self.zone.name.clone(),
        }
    }

    /// What its session folds with: what the user says, else what the log says of price and begin of billing.
    pub(super) fn config(&self, settings: &Settings) -> Config {
        let mut config = settings.config.clone();
        if let Some(told) = self.import.config() {
            if config.price.is_none() && told.price.is_some() {
                config.price.clone_from(&told.price);
                config.currency.clone_from(&told.currency);
            }
            config.since = config.since.or(told.since);
        }
        config
    }

    /// Fails where the log has no instants, which this command needs.
    pub(super) fn timed(&self, command: &str) -> Result<(), CliError> {
        if self.import.is_timed() {
            return Ok(());
        }
        Err(CliError::Failed(format!(
            "{command}: {}: its lines have no times; next: `nameplate diagnose` says what can be told without, or log \
             with a timestamp (--query-gpu=timestamp,...; dmon -o DT)",
            self.file
        )))
    }
}

/// A warning as a line for stderr.
pub(super) fn told(command: &str, file: &str, warning: &Warning) -> String {
    let place = match warning.line {
        0 => String::new(),
        line => format!(", line {line}"),
    };
    let text = clean(&warning.text);
    format!("nameplate: {command}: {}{place}: {text}\n", clean(file))
}

/// The zone's own name, also where it is the system's.
fn zone_name(given: &str, zone: &TimeZone) -> String {
    if given != "local" {
        return given.to_owned();
    }
    match zone.iana_name() {
        Some(name) => format!("{name} (local)"),
        None => "local".to_owned(),
    }
}

/// The columns of a log without a header, by their names.
///
/// # Errors
/// A name that says nothing is no name.
pub(super) fn column_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    match name.is_empty() {
        true => {
            Err("a column without a name; write \"-\" for one that is not to be read".to_owned())
        }
        false => Ok(name.to_owned()),
    }
}
