//! A recording or a log, folded to its end.

use super::recorder::{decoded, failure};
use super::{CliError, Settings, foreign};
use crate::model::{Config, Plates, SourceKind, Tick};
use crate::record::{Reader, Record, StartRecord};
use crate::session::{Session, Start};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// When ticks were, and the seconds that somebody looked at.
#[derive(Default)]
pub(super) struct Times {
    /// Wall time of the first tick and of the newest.
    pub(super) span: Option<(Timestamp, Timestamp)>,
    /// Seconds without a gap before them.
    pub(super) observed_s: f64,
    last: Option<(MonoTime, Duration)>,
}

impl Times {
    /// Takes a tick in. Answers with the seconds since the one before it; a gap is none.
    pub(super) fn take(&mut self, tick: &Tick) -> f64 {
        let seen = self.last.map_or(0.0, |(before, interval)| {
            let passed = tick.mono.seconds_since(before);
            let most = 2.0 * tick.interval.max(interval).as_secs_f64();
            if (0.0..=most).contains(&passed) {
                passed
            } else {
                0.0
            }
        });
        self.observed_s += seen;
        self.last = Some((tick.mono, tick.interval));
        let begin = self.span.map_or(tick.at, |(begin, _)| begin);
        self.span = Some((begin, tick.at));
        seen
    }

    /// The newest tick's interval in seconds.
    pub(super) fn interval_s(&self) -> f64 {
        self.last
            .map_or(1.0, |(_, interval)| interval.as_secs_f64())
    }
}

/// A file that was folded.
pub(super) struct Folded {
    /// At the end, or at the damage.
    pub(super) session: Session,
    /// When its ticks were.
    pub(super) times: Times,
    /// Time between two ticks.
    pub(super) interval_s: f64,
    /// What kind of log it is.
    pub(super) format: Option<&'static str>,
    /// Whether its ticks have instants.
    pub(super) timed: bool,
    /// The zone in which times were read that name none, and where that is known from.
    pub(super) timezone: (String, &'static str),
    /// What was left out, with its line; 0 is the whole file.
    pub(super) warnings: Vec<(u64, String)>,
}

/// Is shown the session after each tick, with the seconds that the tick stands for.
pub(super) type Each<'a> = &'a mut dyn FnMut(&Session, f64);

/// Folds a recording, or a log whose columns may be named.
///
/// # Errors
/// It cannot be opened, is of no kind that is read here, or has no tick. Damage after the first tick is a warning.
pub(super) fn file(
    command: &str,
    path: &Path,
    columns: &[String],
    settings: &Settings,
    each: Each<'_>,
) -> Result<Folded, CliError> {
    if foreign::is_recording(path) {
        recording(command, path, settings, each)
    } else {
        log(command, path, columns, settings, each)
    }
}

fn embedded() -> Result<Arc<Plates>, CliError> {
    Plates::embedded()
        .map(Arc::new)
        .map_err(|error| CliError::Failed(error.to_string()))
}

/// Reads a recording to its end, or to its damage, which is told.
fn recording(
    command: &str,
    file: &Path,
    settings: &Settings,
    each: Each<'_>,
) -> Result<Folded, CliError> {
    let failed = |error| failure(command, &error);
    let reader = Reader::open(file).map_err(failed)?;
    let Some(start) = reader.start_before(reader.first()).map_err(failed)? else {
        return Err(CliError::Failed(format!(
            "{command}: {} has no ticks yet; next: let `nameplate record` run for a second",
            file.display()
        )));
    };
    let plates = embedded()?;
    let session = |record: &StartRecord| -> Result<Session, CliError> {
        let mut start = decoded(command, record)?;
        priced(&mut start.config, &settings.config);
        let kind = SourceKind::Recording(file.display().to_string());
        Ok(Session::new(start, plates.clone(), kind))
    };
    let mut now = session(&start)?;
    let mut times = Times::default();
    let mut damage = None;
    for record in reader.records(start.n) {
        match record {
            Ok(Record::Start(fresh)) if fresh.fresh && fresh.n > start.n => now = session(&fresh)?,
            Ok(Record::Start(_)) => {}
            Ok(Record::Tick(_, tick)) => {
                now.fold(&tick);
                each(&now, times.take(&tick));
            }
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
    }
    if times.span.is_none() {
        return Err(damage.map_or_else(
            || CliError::Failed(format!("{command}: {} has no ticks yet", file.display())),
            failed,
        ));
    }
    Ok(Folded {
        session: now,
        interval_s: times.interval_s(),
        times,
        format: None,
        timed: true,
        timezone: zone(settings),
        warnings: damage
            .map(|error| (0, error.to_string()))
            .into_iter()
            .collect(),
    })
}

/// Reads a log to its end.
fn log(
    command: &str,
    file: &Path,
    columns: &[String],
    settings: &Settings,
    each: Each<'_>,
) -> Result<Folded, CliError> {
    let mut log = foreign::open(command, file, columns, settings)?;
    let start = Start::new(log.config(settings));
    let mut session = Session::new(start, embedded()?, log.kind(&log.file));
    let mut times = Times::default();
    for tick in &mut log.import {
        let tick = tick.map_err(|error| foreign::refused(command, &log.file, &error))?;
        session.fold(&tick);
        each(&session, times.take(&tick));
    }
    if times.span.is_none() {
        let text = format!("{command}: {}: no row stands in it", log.file);
        return Err(CliError::Failed(text));
    }
    let warnings = log.import.warnings().into_iter();
    Ok(Folded {
        session,
        interval_s: log
            .import
            .interval()
            .map_or(times.interval_s(), |interval| interval.as_secs_f64()),
        times,
        format: Some(log.import.format()),
        timed: log.import.is_timed(),
        timezone: (log.zone.name.clone(), log.zone.source),
        warnings: warnings.map(|w| (w.line, w.text)).collect(),
    })
}

/// What the user says of price and billing holds for a recording too.
fn priced(config: &mut Config, told: &Config) {
    if told.price.is_some() {
        config.price.clone_from(&told.price);
        config.currency.clone_from(&told.currency);
    }
    config.since = told.since.or(config.since);
}

/// The zone that times are shown in.
pub(super) fn zone(settings: &Settings) -> (String, &'static str) {
    match settings.screen.tz.as_str() {
        "local" => {
            let zone = jiff::tz::TimeZone::system();
            let name = zone.iana_name().unwrap_or("local").to_owned();
            (name, "local")
        }
        given => (given.to_owned(), "flag"),
    }
}
