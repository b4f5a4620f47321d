//! A session and its recording: what was there before is taken up, ticks go in, a full disk is waited for.

use super::{CliError, World};
use crate::model::{Change, Config, DeviceId, Plates, SourceKind, Tick};
use crate::record::{Journal, Limits, Reader, Record, RecordError, StartRecord, Writer};
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
            "record: there is no home for a state folder; next: name a file with -o".to_owned(),
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
    Ok(folder.join("recording.nmp"))
}

/// A failure of a recording as the one line of a command.
pub(super) fn failure(command: &str, error: &RecordError) -> CliError {
    let next = match error {
        RecordError::Busy { .. } => "name another file with -o, or end that process",
        RecordError::NotARecording { .. } => {
            "name a file that `nameplate record` wrote (logs of other programs are not in this version)"
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
    CliError::Failed(format!("{command}: {error}; next: {next}"))
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

/// What an earlier run left.
struct Earlier {
    start: Start,
    at: Timestamp,
    mono: MonoTime,
}

/// Records a session.
pub(super) struct Recorder {
    writer: Writer,
    session: Session,
    plates: Arc<Plates>,
    config: Config,
    earlier: Option<Earlier>,
    /// Devices of the earlier run that this one has not seen.
    unseen: Vec<DeviceId>,
    ticks_with_devices: u32,
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
        let failed = |error: RecordError| failure("record", &error);
        let writer = Writer::open(path, Limits::default()).map_err(failed)?;
        let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
        let plates = Arc::new(plates);
        let earlier = earlier(path, &plates).map_err(failed)?;
        Ok(Self {
            writer,
            session: Session::new(Start::new(config.clone()), plates.clone(), SourceKind::Live),
            plates,
            config,
            earlier,
            unseen: Vec::new(),
            ticks_with_devices: 0,
            paused: None,
            fresh: true,
        })
    }

    /// How the file is journalled.
    pub(super) fn journal(&self) -> Journal {
        self.writer.journal()
    }

    /// The session as it stands.
    pub(super) const fn session(&self) -> &Session {
        &self.session
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
        self.let_go(&mut tick);
        let tries = self
            .paused
            .is_none_or(|since| tick.mono.seconds_since(since) >= RETRY_S);
        let start = (tries && (self.fresh || self.writer.start_due(tick.mono)))
            .then(|| self.session.start().to_bytes())
            .transpose()
            .map_err(|error| CliError::Failed(format!("record: {error}")))?;
        self.session.fold(&tick);
        if !tries {
            return Ok(None);
        }
        let snapshot = self.session.snapshot();
        let stored = match start {
            Some(bytes) => self.writer.start(&tick, self.fresh, &bytes),
            None => Ok(()),
        };
        match stored.and_then(|()| self.writer.append(&tick, snapshot.as_ref())) {
            Ok(()) => {
                self.fresh = false;
                Ok(self.paused.take().map(|_| Turn::Resumed))
            }
            Err(RecordError::Full { reason, .. }) => {
                self.fresh = true;
                let first = self.paused.replace(tick.mono).is_none();
                Ok(first.then_some(Turn::Paused(reason)))
            }
            Err(error) => Err(failure("record", &error)),
        }
    }

    /// Seals the file.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub(super) fn close(self) -> Result<(), CliError> {
        self.writer
            .close()
            .map_err(|error| failure("record", &error))
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
        let mut start = earlier.start;
        start.config = self.config.clone();
        self.session = Session::new(start, self.plates.clone(), SourceKind::Live);
        if let Some(snapshot) = self.session.snapshot() {
            let ids = snapshot.devices.iter().map(|d| d.device.id.clone());
            self.unseen = ids.collect();
        }
    }

    /// A device that the earlier run had and this one's library does not list is gone.
    fn let_go(&mut self, tick: &mut Tick) {
        if self.unseen.is_empty() {
            return;
        }
        for change in &tick.changes {
            if let Change::Device(device) = change {
                self.unseen.retain(|id| *id != device.id);
                self.ticks_with_devices = self.ticks_with_devices.max(1);
            }
        }
        if self.ticks_with_devices > 0 {
            self.ticks_with_devices += 1;
        }
        if self.ticks_with_devices > INTRODUCED_AFTER {
            tick.changes.extend(self.unseen.drain(..).map(Change::Gone));
        }
    }
}

/// The session at the end of a recording. A Start of another version's making is left alone.
fn earlier(path: &Path, plates: &Arc<Plates>) -> Result<Option<Earlier>, RecordError> {
    let reader = Reader::open(path)?;
    let Some(start) = reader.start_before(i64::MAX)? else {
        return Ok(None);
    };
    let Ok(mut session) =
        Start::from_bytes(&start.body).map(|s| Session::new(s, plates.clone(), SourceKind::Live))
    else {
        return Ok(None);
    };
    let mut last = None;
    for record in reader.records(start.n) {
        if let Record::Tick(_, tick) = record? {
            session.fold(&tick);
            last = Some((tick.at, tick.mono));
        }
    }
    Ok(last.map(|(at, mono)| Earlier {
        start: session.start(),
        at,
        mono,
    }))
}
