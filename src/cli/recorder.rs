//! A session and its recording: what was there before is taken up, ticks go in, a full disk is waited for.

use super::past::{Past, past};
use super::{CliError, World};
use crate::model::{Change, Config, DeviceId, Event, EventKind, Plates, SourceKind, Tick};
use crate::record::{
    Follower, Journal, Limits, Mark, Marks, RecordError, StartRecord, Writer, set_aside,
    vanishes_with_container,
};
use crate::session::{Session, Start};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that could not be written is tried again after so long.
const RETRY_S: f64 = 5.0;
/// Wall time less boot clock tells one boot from another; clocks are set by less than this.
const SAME_BOOT_S: f64 = 60.0;
/// Ticks after the first device was introduced until a device of the earlier run that was not is gone.
const INTRODUCED_AFTER: u32 = 5;

/// The recording that `record` goes on with where no file is named.
///
/// # Errors
/// There is no state folder, or it cannot be made.
pub(super) fn default_file(world: &World) -> Result<PathBuf, CliError> {
    let folder = world.folders.state.as_ref().ok_or_else(|| {
        CliError::Failed(
            "record: there is no home for a state folder; next: name a file with -o, or a folder with state_dir in the \
             configuration"
                .to_owned(),
        )
    })?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| CliError::System {
            operation: format!("making the folder {}", folder.display()),
            source,
            next: "name a file with -o",
        })?;
    Ok(in_folder(folder))
}

/// The recording that lies in a state folder.
pub(super) fn in_folder(folder: &Path) -> PathBuf {
    folder.join("recording.nmp")
}

/// What is to be said where a recording goes with its container.
pub(super) fn place_warning(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    vanishes_with_container(folder).then(|| {
        format!(
            "{} lies in the container's own layer and goes with it; next: name a mounted volume, with -o or with \
             state_dir under [record] in the configuration",
            crate::text::clean(&path.to_string_lossy())
        )
    })
}

/// A thing that happened to a recording.
pub(super) fn event(at: Timestamp, text: &str) -> Event {
    Event {
        at,
        device: None,
        kind: EventKind::Recording,
        text: text.into(),
        data: Vec::new(),
    }
}

/// A failure of a recording as the one line of a command.
pub(super) fn failure(command: &str, error: &RecordError) -> CliError {
    let next = match error {
        RecordError::Busy { .. } => "name another file with -o, or end that process",
        RecordError::NotARecording { .. } => {
            "name a file that `nameplate record` wrote, or a log (`nameplate diagnose --help` says which are read)"
        }
        RecordError::TooNew { .. } => "use the version that wrote it, or a later one",
        RecordError::Damaged { .. } => {
            "what stands before that place can be read; record into another file"
        }
        RecordError::Full { .. } => "make room, or name a file elsewhere",
        RecordError::Open { .. } | RecordError::Failed { .. } => {
            "check the path and its permissions"
        }
    };
    let line = format!("{command}: {error}; next: {next}");
    match error {
        RecordError::Busy { .. } => CliError::Busy(line),
        _ => CliError::Failed(line),
    }
}

/// The session's own bytes in a recording.
///
/// # Errors
/// They are of another version's making.
pub(super) fn decoded(command: &str, start: &StartRecord) -> Result<Start, CliError> {
    Start::from_bytes(&start.body).map_err(|_| {
        CliError::Failed(format!(
            "{command}: the recording was begun by another version, whose sessions this one cannot take up; next: use \
             the version that wrote it"
        ))
    })
}

/// What became of the file in this tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// It can no longer be written, for this reason; the session goes on.
    Paused(String),
    /// It is written again.
    Resumed,
}

impl Turn {
    /// The same as an event.
    pub(super) fn event(&self, at: Timestamp) -> Event {
        match self {
            Self::Paused(reason) => event(at, &format!("The recording pauses: {reason}")),
            Self::Resumed => event(at, "The recording goes on"),
        }
    }
}

/// Samples that may wait to be folded: ten ticks of eight devices. Folded together they cost a fraction of what they
/// cost one by one, when all that a fold touches has left the caches in between.
const BEHIND: usize = 80;

/// Records a session.
pub(super) struct Recorder {
    writer: Writer,
    session: Session,
    /// Ticks that the session has not folded yet, and whether they are in the file.
    behind: Vec<(Tick, bool)>,
    aside: Option<PathBuf>,
    config: Config,
    earlier: Option<Past>,
    goes_on: bool,
    unseen: Unseen,
    marks: Marks,
    /// Notes that were given out, with their files, until they are in the recording.
    given: Vec<(PathBuf, Mark)>,
    paused: Option<MonoTime>,
    /// The next Start says more than the ticks before it.
    fresh: bool,
}

impl Recorder {
    /// Opens the file, and reads what an earlier run left in it.
    ///
    /// # Errors
    /// The file cannot be written or read, or another process writes it.
    pub(super) fn open(path: &Path, config: Config) -> Result<Self, CliError> {
        let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
        Self::opened(path, config, &Arc::new(plates)).map_err(|error| failure("record", &error))
    }

    /// As [`Recorder::open`], of the recording that a host keeps by itself: where it is damaged it is set aside, and another
    /// is begun. Nobody may be there to name one, and a run of days is not to go unrecorded for a bad block.
    ///
    /// # Errors
    /// As [`Recorder::open`], or it cannot be set aside.
    pub(super) fn open_own(path: &Path, config: Config) -> Result<Self, CliError> {
        let failed = |error: RecordError| failure("record", &error);
        let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
        let plates = Arc::new(plates);
        match Self::opened(path, config.clone(), &plates) {
            Err(RecordError::Damaged { .. }) => {
                let aside = set_aside(path).map_err(failed)?;
                let mut recorder = Self::opened(path, config, &plates).map_err(failed)?;
                recorder.aside = Some(aside);
                Ok(recorder)
            }
            other => other.map_err(failed),
        }
    }

    fn opened(path: &Path, config: Config, plates: &Arc<Plates>) -> Result<Self, RecordError> {
        let writer = Writer::open(path, Limits::default())?;
        let plates = plates.clone();
        let earlier =
            Follower::open(path).and_then(|mut file| past(&mut file, config.history, &plates))?;
        Ok(Self {
            aside: None,
            writer,
            session: Session::new(Start::new(config.clone()), plates, SourceKind::Live),
            behind: Vec::new(),
            config,
            earlier,
            goes_on: false,
            unseen: Unseen::default(),
            marks: Marks::beside(path),
            given: Vec::new(),
            paused: None,
            fresh: true,
        })
    }

    /// Whether an earlier run's session goes on in this one.
    pub(super) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// What is to be said where an earlier recording was damaged.
    pub(super) fn aside_warning(&self) -> Option<String> {
        let aside = crate::text::clean(&self.aside.as_ref()?.to_string_lossy()).into_owned();
        Some(format!(
            "the recording was damaged and is kept as {aside}; another was begun; next: `nameplate export {aside} --to csv` \
             gives what can be read of it"
        ))
    }

    /// How the file is journalled.
    pub(super) fn journal(&self) -> Journal {
        self.writer.journal()
    }

    /// The session as it stands.
    pub(super) fn session(&mut self) -> &Session {
        // What cannot be written now is told with the next tick.
        let _ = self.catch_up();
        &self.session
    }

    /// Folds what waits.
    fn catch_up(&mut self) -> Result<(), RecordError> {
        let mut gathered = Ok(());
        for (tick, stored) in self.behind.drain(..) {
            self.session.fold(&tick);
            if stored && gathered.is_ok() {
                gathered = self.writer.gather(&tick, &self.session.minute_points());
            }
        }
        gathered
    }

    /// Ticks of this run that are in the file.
    pub(super) fn ticks(&self) -> u64 {
        self.writer.ticks()
    }

    /// Folds a tick and stores it.
    ///
    /// # Errors
    /// The file cannot be used any more. A full disk is no error: it is waited for.
    pub(super) fn take(&mut self, mut tick: Tick) -> Result<Option<Turn>, CliError> {
        self.take_up(&tick);
        self.unseen.amend(&mut tick);
        let tries = self
            .paused
            .is_none_or(|since| tick.mono.seconds_since(since) >= RETRY_S);
        let mono = tick.mono;
        let stored = tries.then(|| self.store(&tick));
        self.behind.push((tick, matches!(stored, Some(Ok(())))));
        let waiting: usize = self.behind.iter().map(|(t, _)| t.samples.len() + 1).sum();
        let caught_up = if waiting >= BEHIND {
            self.catch_up()
        } else {
            Ok(())
        };
        let Some(stored) = stored else {
            return Ok(None);
        };
        match stored.and(caught_up) {
            Ok(()) => {
                self.fresh = false;
                self.took_marks();
                Ok(self.paused.take().map(|_| Turn::Resumed))
            }
            Err(RecordError::Full { reason, .. }) => {
                self.fresh = true;
                let first = self.paused.replace(mono).is_none();
                Ok(first.then_some(Turn::Paused(reason)))
            }
            Err(error) => Err(failure("record", &error)),
        }
    }

    /// A Start where one is due, and the tick.
    fn store(&mut self, tick: &Tick) -> Result<(), RecordError> {
        if self.fresh || self.writer.start_due(tick.mono) {
            self.catch_up()?;
            let packed = self.session.start().to_bytes();
            let bytes = packed.map_err(|error| RecordError::Failed {
                operation: "packing",
                path: self.writer.path().to_owned(),
                reason: error.to_string(),
            })?;
            self.writer.start(tick, self.fresh, &bytes)?;
        }
        self.writer.append(tick)
    }

    /// Seals the file.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub(super) fn close(mut self) -> Result<(), CliError> {
        self.catch_up()
            .and_then(|()| self.writer.close())
            .map_err(|error| failure("record", &error))
    }

    /// Notes that other processes left since the last look, as events of the next tick.
    pub(super) fn marks(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.paused.is_some() {
            return events;
        }
        for (file, mark) in self.marks.waiting() {
            if self.given.iter().any(|(given, _)| *given == file) {
                continue;
            }
            // Its file outlived the recorder that took it up.
            if self.is_known(&mark) {
                self.marks.took(&file);
                continue;
            }
            events.push(Event {
                at: mark.at,
                device: None,
                kind: EventKind::Mark,
                text: mark.text.as_str().into(),
                data: Vec::new(),
            });
            self.given.push((file, mark));
        }
        events
    }

    /// The files of notes that are in the recording go.
    fn took_marks(&mut self) {
        if self.given.is_empty() || !self.writer.is_flushed() {
            return;
        }
        let _ = self.catch_up();
        let given = std::mem::take(&mut self.given);
        let (kept, waiting): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|(_, mark)| self.is_known(mark));
        kept.iter().for_each(|(file, _)| self.marks.took(file));
        self.given = waiting;
    }

    fn is_known(&self, mark: &Mark) -> bool {
        self.session.events().iter().rev().any(|event| {
            event.kind == EventKind::Mark && event.at == mark.at && *event.text == *mark.text
        })
    }

    /// With the first tick: the earlier run's session goes on where the host has not booted since. What lies between is
    /// unobserved.
    fn take_up(&mut self, tick: &Tick) {
        let Some(earlier) = self.earlier.take() else {
            return;
        };
        let boot =
            |at: Timestamp, mono: MonoTime| at.as_nanosecond() as f64 / 1e9 - mono.0 as f64 / 1e9;
        let apart = boot(tick.at, tick.mono) - boot(earlier.at, earlier.mono);
        if apart.abs() > SAME_BOOT_S || tick.mono < earlier.mono {
            return;
        }
        self.goes_on = true;
        self.session = earlier.session;
        self.session.configure(self.config.clone());
        if let Some(snapshot) = self.session.snapshot() {
            let ids = snapshot.devices.iter().map(|d| d.device.id.clone());
            self.unseen = Unseen::new(ids.collect());
        }
    }

    /// Devices of an earlier run that this one has not seen.
    pub(super) const fn unseen(&self) -> &Unseen {
        &self.unseen
    }
}

/// Devices of an earlier run that this one's library has not listed: after a while they are gone.
#[derive(Debug, Clone, Default)]
pub(super) struct Unseen {
    devices: Vec<DeviceId>,
    ticks_with_devices: u32,
}

impl Unseen {
    /// All of an earlier run.
    pub(super) const fn new(devices: Vec<DeviceId>) -> Self {
        Self {
            devices,
            ticks_with_devices: 0,
        }
    }

    /// Looks which of them a tick introduces, and says in it which are gone.
    pub(super) fn amend(&mut self, tick: &mut Tick) {
        if self.devices.is_empty() {
            return;
        }
        for change in &tick.changes {
            if let Change::Device(device) = change {
                self.devices.retain(|id| *id != device.id);
                self.ticks_with_devices = self.ticks_with_devices.max(1);
            }
        }
        if self.ticks_with_devices > 0 {
            self.ticks_with_devices += 1;
        }
        if self.ticks_with_devices > INTRODUCED_AFTER {
            tick.changes
                .extend(self.devices.drain(..).map(Change::Gone));
        }
    }
}
