//! The recording that the screen keeps: a thread of its own writes, and what it has to say goes into the next tick.

use super::super::CliError;
use super::super::recorder::{Recorder, Turn, Unseen, event, place_warning};
use super::Outlet;
use crate::app::{News, Recording};
use crate::model::{Event, Tick};
use crate::record::Journal;
use crate::session::Session;
use crate::text::{Catalogue, clean};
use jiff::Timestamp;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Ticks that may wait for a slow disk; what comes on top is a gap in the recording, and an event says so.
const WAITING: usize = 256;
/// Ticks that are kept until the recording's own session is there.
const PENDING: usize = 256;

/// What a recording was when it was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Closed {
    /// The file.
    pub(in crate::cli) path: PathBuf,
    /// Ticks of this run in it.
    pub(in crate::cli) ticks: u64,
    /// Devices that were seen.
    pub(in crate::cli) devices: usize,
    /// Whether there is a price.
    pub(in crate::cli) price_known: bool,
    /// Why it could not be closed well.
    pub(in crate::cli) failure: Option<String>,
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    /// Goes into the next tick, for the screen and the recording alike.
    events: Mutex<Vec<Event>>,
    past: Mutex<Told>,
}

/// What is known of an earlier run.
#[derive(Default)]
enum Told {
    /// Nothing yet.
    #[default]
    Not,
    /// There is none that goes on.
    Nothing,
    /// A session that goes on, up to the tick of this number.
    Session(Box<Session>, u64, Unseen),
}

/// How the file is opened; on the keeper's own thread.
pub(super) type Open = Box<dyn FnOnce() -> Result<Recorder, CliError> + Send>;

/// Our side of the keeper.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    ticks: Arc<Mutex<Option<SyncSender<Tick>>>>,
    opened: Receiver<Result<(), CliError>>,
    closed: Receiver<Closed>,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no thread.
    pub(super) fn start(
        open: Open,
        path: PathBuf,
        outlet: Outlet,
        text: Catalogue,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, ticks) = sync_channel(WAITING);
        let (told, opened) = channel();
        let (end, closed) = channel();
        let side = shared.clone();
        std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || match open() {
                Ok(recorder) => {
                    let _ = told.send(Ok(()));
                    let words = Words { outlet, text };
                    words.begin(&recorder, &path, &side);
                    let _ = end.send(keep(recorder, path, &ticks, &side, &words));
                }
                Err(error) => {
                    *lock(&side.past) = Told::Nothing;
                    let _ = told.send(Err(error));
                }
            })?;
        Ok(Self {
            shared,
            ticks: Arc::new(Mutex::new(Some(sender))),
            opened,
            closed,
        })
    }

    /// Whether the file could be opened, once that is known.
    pub(super) fn opened(&self, patience: Duration) -> Option<Result<(), CliError>> {
        self.opened.recv_timeout(patience).ok()
    }

    /// Says something in the next tick.
    pub(super) fn say(&self, text: &str) {
        lock(&self.shared.events).push(event(Timestamp::now(), text));
    }

    /// Takes each tick of the probes: for the screen, and for the file. `adopt`: the screen's session begins with these
    /// ticks, and the recording's, which may go on from an earlier run, takes its place.
    pub(super) fn tee(
        &self,
        outlet: Outlet,
        adopt: bool,
    ) -> impl FnMut(Tick) -> bool + Send + use<> {
        let mut tee = Tee {
            shared: self.shared.clone(),
            ticks: self.ticks.clone(),
            outlet,
            adopt,
            pending: Some(Vec::new()),
            unseen: Unseen::default(),
            lost: 0,
        };
        move |tick| tee.take(tick)
    }

    /// No more ticks: the file is sealed and closed.
    pub(super) fn close(self, patience: Duration) -> Option<Closed> {
        drop(lock(&self.ticks).take());
        self.closed.recv_timeout(patience).ok()
    }
}

/// On the probes' thread: each tick goes both ways.
struct Tee {
    shared: Arc<Shared>,
    ticks: Arc<Mutex<Option<SyncSender<Tick>>>>,
    outlet: Outlet,
    adopt: bool,
    /// Ticks so far, until it is known whether an earlier run goes on.
    pending: Option<Vec<Tick>>,
    unseen: Unseen,
    lost: u64,
}

impl Tee {
    fn take(&mut self, mut tick: Tick) -> bool {
        tick.events.append(&mut lock(&self.shared.events));
        self.give(&tick);
        self.unseen.amend(&mut tick);
        match self.past(&tick) {
            Some(session) => (self.outlet)(News::Session(session)),
            None => (self.outlet)(News::Tick(tick)),
        }
    }

    /// To the keeper, which may have fallen behind.
    fn give(&mut self, tick: &Tick) {
        let ticks = lock(&self.ticks);
        let Some(sender) = &*ticks else { return };
        match sender.try_send(tick.clone()) {
            Ok(()) if self.lost > 0 => {
                let text = format!(
                    "{} ticks are not in the recording: its disk was too slow",
                    self.lost
                );
                lock(&self.shared.events).push(event(tick.at, &text));
                self.lost = 0;
            }
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => self.lost += 1,
        }
    }

    /// The session that goes on from an earlier run, once, with all ticks up to this one.
    fn past(&mut self, tick: &Tick) -> Option<Box<Session>> {
        let pending = self.pending.as_mut()?;
        pending.push(tick.clone());
        match std::mem::take(&mut *lock(&self.shared.past)) {
            Told::Not => {
                // Should the disk take minutes, what lies between will be unobserved.
                if pending.len() > PENDING {
                    pending.remove(0);
                }
                None
            }
            Told::Nothing => {
                self.pending = None;
                None
            }
            Told::Session(mut session, seq, unseen) => {
                self.unseen = unseen;
                let pending = self.pending.take().unwrap_or_default();
                for mut tick in pending.into_iter().filter(|tick| tick.seq > seq) {
                    self.unseen.amend(&mut tick);
                    session.fold(&tick);
                }
                self.adopt.then_some(session)
            }
        }
    }
}

/// How the keeper is heard.
struct Words {
    outlet: Outlet,
    text: Catalogue,
}

impl Words {
    fn say(&self, recording: Recording, notice: Option<Cow<'static, str>>) {
        let mut all = vec![News::Recording(recording)];
        all.extend(notice.map(|text| News::Notice(text.into_owned())));
        // Nobody may be left to hear it.
        let _ = (self.outlet)(News::All(all));
    }

    /// The file is open.
    fn begin(&self, recorder: &Recorder, path: &Path, shared: &Shared) {
        let mut notice = None;
        if let Journal::Rollback { file_system } = recorder.journal() {
            let text = format!(
                "The recording lies on a network volume ({file_system}): each second is written through"
            );
            lock(&shared.events).push(event(Timestamp::now(), &text));
            notice = Some(self.text.chrome_place_network(file_system));
        }
        if let Some(text) = recorder.aside_warning() {
            lock(&shared.events).push(event(Timestamp::now(), &text));
            notice = Some(self.text.chrome_recording_set_aside());
        }
        if place_warning(path).is_some() {
            let file = clean(&path.to_string_lossy()).into_owned();
            notice = Some(self.text.chrome_place_vanishes(file));
        }
        self.say(Recording::Own, notice);
    }
}

/// The keeper's thread.
fn keep(
    mut recorder: Recorder,
    path: PathBuf,
    ticks: &Receiver<Tick>,
    shared: &Shared,
    words: &Words,
) -> Closed {
    let mut failure = None;
    let mut first = true;
    for tick in ticks {
        let (seq, at) = (tick.seq, tick.at);
        match recorder.take(tick) {
            Ok(None) => {}
            Ok(Some(turn)) => {
                lock(&shared.events).push(turn.event(at));
                let recording = match turn {
                    Turn::Paused(reason) => Recording::Paused(reason),
                    Turn::Resumed => Recording::Own,
                };
                words.say(recording, None);
            }
            Err(error) => {
                let text = error.to_string();
                lock(&shared.events).push(event(at, &text));
                let notice = words.text.chrome_recording_failed(&text);
                words.say(Recording::Failed(text.clone()), Some(notice));
                failure = Some(text);
            }
        }
        if std::mem::take(&mut first) {
            *lock(&shared.past) = if recorder.goes_on() {
                let session = Box::new(recorder.session().clone());
                Told::Session(session, seq, recorder.unseen().clone())
            } else {
                Told::Nothing
            };
        }
        if failure.is_some() {
            break;
        }
        lock(&shared.events).extend(recorder.marks());
    }
    let snapshot = recorder.session().snapshot();
    let closed = Closed {
        path,
        ticks: recorder.ticks(),
        devices: snapshot.as_ref().map_or(0, |s| s.devices.len()),
        price_known: snapshot
            .and_then(|s| s.cost)
            .is_some_and(|cost| cost.price_per_hour.is_some()),
        failure,
    };
    match recorder.close() {
        Ok(()) => closed,
        Err(error) => Closed {
            failure: closed.failure.or(Some(error.to_string())),
            ..closed
        },
    }
}

/// A thread that panicked while it held a lock left plain data behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
