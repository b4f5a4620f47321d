//! `nameplate record --background`, `--status`, `--stop`: a recorder that no login holds.

use super::args::Record;
use super::recorder::{default_file, failure, place_warning};
use super::{CliError, World};
use crate::record::{Reader, RecordError, Writer};
use crate::text::clean;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a recorder may take to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The file that is meant.
///
/// # Errors
/// As [`default_file`].
pub(super) fn file_of(args: &Record, world: &World) -> Result<PathBuf, CliError> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None => default_file(world),
    }
}

/// Makes this process a session of its own, so that a logout does not reach it.
///
/// Whoever started us has put us into a process group of our own, so that no signal for theirs can end us on the way here;
/// but the leader of a group cannot begin a session. So it starts itself once more, waits until that one has the file, and
/// leaves: `false` says that this process is the one to end.
///
/// # Errors
/// The system refuses.
pub(super) fn detach(path: &Path) -> Result<bool, CliError> {
    let refused = |source: std::io::Error| CliError::System {
        operation: "leaving the login's session".to_owned(),
        source,
        next: "use `nohup nameplate record &`",
    };
    match rustix::process::setsid() {
        Ok(_) => return Ok(true),
        Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(refused(error.into())),
    }
    let mut child = std::env::current_exe()
        .and_then(|program| {
            Command::new(program)
                .args(std::env::args_os().skip(1))
                .spawn()
        })
        .map_err(refused)?;
    // Where it fails it has said why, in the log that both write.
    while child.try_wait().map_err(refused)?.is_none() && Writer::holder(path) != Some(child.id()) {
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(false)
}

/// Starts the recorder and waits until it has the file.
///
/// # Errors
/// It does not begin; its own words are told.
pub(super) fn start(args: &Record, world: &mut World) -> Result<(), CliError> {
    let path = file_of(args, world)?;
    if let Some(pid) = Writer::holder(&path) {
        let pid = Some(pid);
        return Err(failure("record", &RecordError::Busy { path, pid }));
    }
    let arguments = std::env::args_os().skip(1).map(|argument| {
        if argument == "--background" {
            "--detached".into()
        } else {
            argument
        }
    });
    let pid = spawn(&path, arguments.collect(), world)?;
    if let Some(warning) = place_warning(&path) {
        world.complain(&format!("nameplate: record: {warning}\n"));
    }
    world.say(&format!(
        "process {pid} records into {}; `nameplate record --stop{}` ends it\n",
        shown(&path),
        option(args),
    ))
}

/// Starts a recorder in the background with these arguments, and gives its process when that one has the file.
///
/// # Errors
/// It does not begin; its own words are told.
pub(super) fn spawn(path: &Path, arguments: Vec<OsString>, world: &World) -> Result<u32, CliError> {
    let starting = |source| CliError::System {
        operation: "starting the recorder".to_owned(),
        source,
        next: "check the limits on processes (ulimit -u)",
    };
    let said = match &world.folders.state {
        Some(folder) => folder.join("recorder.log"),
        None => PathBuf::from("/dev/null"),
    };
    if let Some(folder) = said.parent() {
        std::fs::create_dir_all(folder).map_err(starting)?;
    }
    let log = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&said)
        .map_err(starting)?;
    let mut child = Command::new(std::env::current_exe().map_err(starting)?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .map_err(starting)?;
    let end = Instant::now() + PATIENCE;
    loop {
        let ended = child.try_wait().map_err(starting)?;
        // The one that leaves has waited for the one that stays.
        let holder = Writer::holder(path);
        if let Some(pid) = holder.filter(|pid| *pid != std::process::id()) {
            return Ok(pid);
        }
        if ended.is_some() || Instant::now() > end {
            return Err(CliError::Failed(format!(
                "record: the recorder has not begun: {}",
                last_line(&said)
            )));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Says who records, and up to when.
///
/// # Errors
/// The answer cannot be written.
pub(super) fn status(args: &Record, world: &mut World) -> Result<(), CliError> {
    let path = file_of(args, world)?;
    if let Some(warning) = place_warning(&path) {
        world.complain(&format!("nameplate: record: {warning}\n"));
    }
    let Some(pid) = Writer::holder(&path) else {
        return world.say(&format!("nobody records into {}\n", shown(&path)));
    };
    let newest = Reader::open(&path).and_then(|reader| reader.newest());
    let newest = match newest {
        Ok(Some(at)) => format!("its newest tick is of {at:.0}"),
        Ok(None) => "it has no tick yet".to_owned(),
        Err(error) => clean(&error.to_string()).into_owned(),
    };
    let kind = if is_screen(pid) { " (a screen)" } else { "" };
    world.say(&format!(
        "process {pid}{kind} records into {}; {newest}\n",
        shown(&path)
    ))
}

/// Ends the recorder, and waits until it has sealed its file.
///
/// # Errors
/// It may not be ended, or does not end.
pub(super) fn stop(args: &Record, world: &mut World) -> Result<(), CliError> {
    let path = file_of(args, world)?;
    let Some(pid) = Writer::holder(&path) else {
        return world.say(&format!("nobody records into {}\n", shown(&path)));
    };
    if is_screen(pid) {
        return Err(CliError::Failed(format!(
            "record: process {pid} is a screen that records; next: end it with q, and see after_logout under [record] in \
             the configuration for what it leaves behind"
        )));
    }
    let process = i32::try_from(pid)
        .ok()
        .filter(|_| Writer::is_held_by(&path, pid))
        .and_then(rustix::process::Pid::from_raw);
    let ended = process.map_or(Err(rustix::io::Errno::SRCH), |process| {
        rustix::process::kill_process(process, rustix::process::Signal::TERM)
    });
    ended.map_err(|error| CliError::System {
        operation: format!("ending process {pid}"),
        source: error.into(),
        next: "end it where it was started: another container or user",
    })?;
    let end = Instant::now() + PATIENCE;
    while Writer::holder(&path) == Some(pid) {
        if Instant::now() > end {
            return Err(CliError::Failed(format!(
                "record: process {pid} does not end; next: see whether its disk answers"
            )));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    world.say(&format!(
        "process {pid} has ended; {} is whole\n",
        shown(&path)
    ))
}

/// Whether a process shows what it records: it was not started as `record`.
fn is_screen(pid: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    !arguments.is_empty()
        && !arguments
            .split(|byte| *byte == 0)
            .any(|part| part == b"record")
}

fn option(args: &Record) -> String {
    args.output
        .as_ref()
        .map_or_else(String::new, |path| format!(" -o {}", shown(path)))
}

fn shown(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}

/// The last thing that the recorder said of itself.
fn last_line(path: &Path) -> String {
    let mut text = String::new();
    let read = std::fs::File::open(path).map(|file| file.take(64 * 1024).read_to_string(&mut text));
    let line = match read {
        Ok(Ok(_)) => text.lines().next_back().map(str::to_owned),
        _ => None,
    };
    let line = line.unwrap_or_else(|| "it said nothing".to_owned());
    clean(line.trim_start_matches("nameplate: record: ")).into_owned()
}
