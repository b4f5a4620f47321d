//! A thread that makes one call after another, and can be left behind with a call that does not return.

use super::call::{Call, Key, Outcome, Work};
use super::coordinator::Message;
use super::inbox::Post;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a lane wakes the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// After each call.
    Each,
    /// When the queue is empty.
    Idle,
    /// Never: results are fetched when there is an occasion.
    Never,
}

/// A queue of calls with one thread at it.
pub(super) struct Lane {
    shared: Arc<Shared>,
    /// Threads could not be started so far; tried again with the next call.
    unmanned: bool,
}

struct Shared {
    name: &'static str,
    state: Mutex<State>,
    ready: Condvar,
    work: Work,
    post: Post,
}

struct State {
    queue: VecDeque<Call>,
    current: Option<(Key, Instant)>,
    done: Vec<Outcome>,
    /// Number of the thread in charge; another one that comes back is late.
    in_charge: u64,
    wake: Wake,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's life.
    fn run(&self, me: u64) {
        let mut state = self.lock();
        loop {
            if state.closed || state.in_charge != me {
                return;
            }
            let Some(call) = state.queue.pop_front() else {
                state = self
                    .ready
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.current = Some((call.key(), Instant::now()));
            drop(state);
            let outcome = (self.work)(call);
            state = self.lock();
            if state.closed {
                return;
            }
            if state.in_charge != me {
                drop(state);
                let _ = self.post.send(Message::Late(outcome));
                return;
            }
            state.current = None;
            state.done.push(outcome);
            let wake = match state.wake {
                Wake::Each => true,
                Wake::Idle => state.queue.is_empty(),
                Wake::Never => false,
            };
            if wake && self.post.send(Message::Done).is_err() {
                return;
            }
        }
    }
}

impl Lane {
    pub(super) fn new(name: &'static str, wake: Wake, work: Work, post: Post) -> Self {
        let state = State {
            queue: VecDeque::new(),
            current: None,
            done: Vec::new(),
            in_charge: 0,
            wake,
            closed: false,
        };
        Self {
            shared: Arc::new(Shared {
                name,
                state: Mutex::new(state),
                ready: Condvar::new(),
                work,
                post,
            }),
            unmanned: true,
        }
    }

    /// Queues a call. The thread is started with the first one.
    pub(super) fn push(&mut self, call: Call) {
        self.shared.lock().queue.push_back(call);
        if self.unmanned {
            self.man();
        }
        self.shared.ready.notify_one();
    }

    /// Wakes the coordinator otherwise from now on.
    pub(super) fn wake(&self, wake: Wake) {
        self.shared.lock().wake = wake;
    }

    fn man(&mut self) {
        let shared = Arc::clone(&self.shared);
        let me = shared.lock().in_charge;
        let started = std::thread::Builder::new()
            .name(shared.name.to_owned())
            .spawn(move || shared.run(me));
        self.unmanned = match started {
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(%error, lane = self.shared.name, "no thread for calls into the library");
                true
            }
        };
    }

    /// Nothing queued, nothing under way.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.queue.is_empty() && state.current.is_none()
    }

    /// Calls queued and under way.
    pub(super) fn load(&self) -> usize {
        let state = self.shared.lock();
        state.queue.len() + usize::from(state.current.is_some())
    }

    /// Since when the current call is under way.
    pub(super) fn busy_since(&self) -> Option<Instant> {
        self.shared.lock().current.as_ref().map(|(_, since)| *since)
    }

    /// What has come back since the last time.
    pub(super) fn drain(&self, into: &mut Vec<Outcome>) {
        into.append(&mut self.shared.lock().done);
    }

    /// If the current call is past `deadline`, leaves its thread behind with it (its result comes as
    /// [`Message::Late`]) and goes on with a new thread.
    pub(super) fn leave_behind(
        &mut self,
        now: Instant,
        deadline: Duration,
    ) -> Option<(Key, Instant)> {
        if self.unmanned && self.load() > 0 {
            self.man();
        }
        let mut state = self.shared.lock();
        let past =
            matches!(&state.current, Some((_, since)) if now.duration_since(*since) >= deadline);
        if !past {
            return None;
        }
        let stuck = state.current.take();
        state.in_charge += 1;
        drop(state);
        self.man();
        stuck
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.queue.clear();
        self.shared.ready.notify_all();
    }
}
