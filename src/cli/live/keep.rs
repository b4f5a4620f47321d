//! The recording that the screen keeps: a thread of its own writes, and what it has to say goes into the next tick.

use super::super::CliError;
use super::super::recorder::{Recorder, Turn, Unseen, event};
use super::Outlet;
use crate::app::{News, Recording};
use crate::model::{Event, Tick};
use crate::session::Session;
use jiff::Timestamp;
use std::path::PathBuf;
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
    /// Starts the thread. `adopt`: the screen's session has not begun, and the recording's is to take its place.
    ///
    /// # Errors
    /// There can be no thread.
    pub(super) fn start(open: Open, path: PathBuf, outlet: Outlet) -> std::io::Result<Self> {
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
                    let _ = outlet(News::Recording(Recording::Own));
                    let _ = end.send(keep(recorder, path, &ticks, &side, &outlet));
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
        let (shared, ticks) = (self.shared.clone(), self.ticks.clone());
        let mut pending = adopt.then(Vec::new);
        let mut unseen = Unseen::default();
        let mut lost = 0_u64;
        move |mut tick: Tick| {
            tick.events.append(&mut lock(&shared.events));
            if let Some(sender) = &*lock(&ticks) {
                match sender.try_send(tick.clone()) {
                    Ok(()) if lost > 0 => {
                        let text = format!("{lost} ticks are not in the recording: its disk was too slow");
                        lock(&shared.events).push(event(tick.at, &text));
                        lost = 0;
                    }
                    Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                    Err(TrySendError::Full(_)) => lost += 1,
                }
            }
            unseen.amend(&mut tick);
            let Some(waiting) = &mut pending else {
                return outlet(News::Tick(tick));
            };
            waiting.push(tick.clone());
            match std::mem::take(&mut *lock(&shared.past)) {
                Told::Not => {
                    // Should the disk take minutes, what lies between will be unobserved.
                    if waiting.len() > PENDING {
                        waiting.remove(0);
                    }
                    outlet(News::Tick(tick))
                }
                Told::Nothing => {
                    pending = None;
                    outlet(News::Tick(tick))
                }
                Told::Session(mut session, seq, left) => {
                    unseen = left;
                    for tick in waiting.iter_mut().filter(|tick| tick.seq > seq) {
                        unseen.amend(tick);
                        session.fold(tick);
                    }
                    pending = None;
                    outlet(News::Session(session))
                }
            }
        }
    }

    /// No more ticks: the file is sealed and closed.
    pub(super) fn close(self, patience: Duration) -> Option<Closed> {
        drop(lock(&self.ticks).take());
        self.closed.recv_timeout(patience).ok()
    }
}

/// The keeper's thread.
fn keep(
    mut recorder: Recorder,
    path: PathBuf,
    ticks: &Receiver<Tick>,
    shared: &Shared,
    outlet: &Outlet,
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
                outlet(News::Recording(recording));
            }
            Err(error) => {
                let text = error.to_string();
                lock(&shared.events).push(event(at, &text));
                outlet(News::Recording(Recording::Failed(text.clone())));
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
