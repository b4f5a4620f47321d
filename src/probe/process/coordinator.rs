//! Decides which calls are made when, and answers polls.

use super::Pace;
use super::call::{Call, Key, Outcome, Work};
use super::inbox::{Inbox, Post};
use super::lane::{Lane, Wake};
use super::slot::Slot;
use crate::model::{Absent, Change, Event, ProbeReport};
use crate::probe::backoff::Backoff;
use crate::probe::clock::{boot_ago, boot_now};
use crate::probe::vendor::Vendor;
use crate::probe::wire::{Reply, Request, WireError, send};
use crate::units::MonoTime;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Devices whose PCIe rates are asked by blocking calls in each round: more of them take turns. Each takes 40 ms of a driver
/// that may serve one call at a time (facts: 20 ms a direction).
const PCIE_DEVICES: u32 = 32;
const PCIE_ROUND: Duration = Duration::from_millis(900);
/// Threads at blocking PCIe calls.
const PCIE_LANES: usize = 4;
/// Threads that may be left behind with a call beside the sweep.
const LEFT_BEHIND_MAX: usize = 4;
/// The first answer may wait for the library to open.
const FIRST_REPLY: Duration = Duration::from_millis(950);

/// Polls that come this often fetch what the slow lane has.
const SOON: Duration = Duration::from_secs(2);

/// What the coordinator hears.
pub(super) enum Message {
    /// From the screen's process.
    Request(Request),
    /// That process is gone, or wants an end.
    End(Result<(), WireError>),
    /// A lane has results.
    Done,
    /// A call that was left behind came back.
    Late(Outcome),
    /// From the driver.
    Events(Vec<Event>),
}

/// The library itself.
pub(super) struct Library {
    pub(super) lane: Lane,
    /// It has to be opened (again).
    pub(super) wanted: bool,
    pub(super) opening: Option<MonoTime>,
    pub(super) open: bool,
    pub(super) retry: Backoff,
    /// A whole sweep went by without a device that wants it opened again.
    pub(super) calm: bool,
    pub(super) report: Option<ProbeReport>,
}

pub(super) struct Pending {
    seq: u64,
    deadline: Instant,
}

pub(super) struct Coordinator {
    vendor: Arc<dyn Vendor>,
    pub(super) work: Work,
    pub(super) post: Post,
    pub(super) pace: Pace,
    interval: Duration,
    pub(super) library: Library,
    pub(super) slots: Vec<Slot>,
    sweep: Lane,
    /// The sweep under way: has begun, had a stuck call, had a device that wants the library opened again.
    sweeping: bool,
    sweep_stuck: bool,
    pub(super) sweep_reopen: bool,
    pub(super) hold_until: Option<Instant>,
    /// A sweep has ended since the library was opened: no process list is asked before, as a driver that makes one call
    /// after another would let the first sweep wait for all of them.
    pub(super) swept: bool,
    /// The first answer waits so long for the first process lists.
    lists_until: Option<Instant>,
    side: Lane,
    pcie: Vec<Lane>,
    pub(super) left_behind: usize,
    events_wanted: Arc<AtomicBool>,
    pub(super) pending: Option<Pending>,
    first: bool,
    pub(super) changes: Vec<Change>,
    pub(super) events: Vec<Event>,
    outcomes: Vec<Outcome>,
}

/// How long the PCIe rates of one of so many devices are not asked again: a little less than whole seconds, so that a poll
/// that comes early is not left out, and never so long that they are stale before the next ones are there.
fn pcie_rest(devices: usize, stale: Duration) -> Duration {
    let rounds = u32::try_from(devices).unwrap_or(u32::MAX) / PCIE_DEVICES;
    PCIE_ROUND.saturating_mul(rounds).min(stale / 2)
}

/// How long a device's call may take in a sweep: half an interval, 50 to 250 ms.
pub(super) fn call_deadline(interval: Duration) -> Duration {
    (interval / 2).clamp(Duration::from_millis(50), Duration::from_millis(250))
}

/// When a poll is answered with what is there: before the screen's process stops waiting (0.8 intervals, 900 ms).
fn reply_deadline(interval: Duration) -> Duration {
    interval
        .mul_f64(0.7)
        .clamp(Duration::from_millis(60), Duration::from_millis(800))
}

impl Coordinator {
    pub(super) fn new(
        vendor: Arc<dyn Vendor>,
        work: Work,
        post: Post,
        pace: Pace,
        interval: Duration,
    ) -> Self {
        let lane = |name, wake| Lane::new(name, wake, Arc::clone(&work), post.clone());
        Self {
            library: Library {
                lane: lane("open", Wake::Each),
                wanted: true,
                opening: None,
                open: false,
                retry: Backoff::new(pace.backoff),
                calm: true,
                report: None,
            },
            slots: Vec::new(),
            sweep: lane("sweep", Wake::Idle),
            sweeping: false,
            sweep_stuck: false,
            sweep_reopen: false,
            hold_until: None,
            swept: false,
            lists_until: None,
            side: lane("slow", Wake::Each),
            pcie: (0..PCIE_LANES).map(|_| lane("pcie", Wake::Never)).collect(),
            left_behind: 0,
            events_wanted: Arc::new(AtomicBool::new(false)),
            pending: None,
            first: true,
            changes: Vec::new(),
            events: Vec::new(),
            outcomes: Vec::new(),
            vendor,
            work,
            post,
            pace,
            interval,
        }
    }

    /// Until the socket is closed or a stop comes.
    pub(super) fn run(
        mut self,
        inbox: &mut Inbox,
        mut socket: UnixStream,
    ) -> Result<(), WireError> {
        self.open_if_wanted(Instant::now());
        loop {
            let message = inbox.next(self.wait(Instant::now()));
            let now = Instant::now();
            match message {
                Some(Message::End(end)) => return end,
                Some(Message::Request(Request::Poll { seq, interval })) => {
                    self.poll(seq, interval, now);
                }
                Some(Message::Late(outcome)) => self.accept_late(outcome, now),
                Some(Message::Events(events)) => self.events.extend(events),
                Some(Message::Request(_) | Message::Done) | None => {}
            }
            self.drain(now);
            self.leave_stuck_calls(now);
            self.go_on(now);
            if let Some(reply) = self.reply_if_ready(now) {
                send(&mut socket, &reply)?;
            }
        }
    }

    /// How long nothing is to be done unless a message comes.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let sweep = (!self.sweep.is_idle())
            .then(|| self.sweep.busy_since().unwrap_or(now) + self.sweep_deadline());
        let reply = self.pending.as_ref().map(|pending| pending.deadline);
        [sweep, reply, self.hold_until, self.lists_until]
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.saturating_duration_since(now))
    }

    /// Shorter once a call got stuck in this sweep, so that a dead library is found dead soon.
    fn sweep_deadline(&self) -> Duration {
        let deadline = call_deadline(self.interval);
        if self.sweep_stuck {
            (deadline / 4).max(Duration::from_millis(50))
        } else {
            deadline
        }
    }

    fn poll(&mut self, seq: u64, interval: Duration, now: Instant) {
        self.interval = interval;
        let limit = if self.first {
            FIRST_REPLY
        } else {
            reply_deadline(interval)
        };
        self.pending = Some(Pending {
            seq,
            deadline: now + limit,
        });
        self.drain(now);
        self.open_if_wanted(now);
        if self.library.open && self.library.opening.is_none() {
            self.ask_beside_the_sweep(now);
            if self.hold_until.is_none() {
                self.start_sweep(now);
            }
        }
    }

    fn open_if_wanted(&mut self, now: Instant) {
        let library = &mut self.library;
        if library.wanted && library.opening.is_none() && library.retry.is_due(now) {
            library.opening = Some(boot_now());
            library.lane.push(Call::Open);
        }
    }

    /// Begins a sweep over the devices that are part of it and due, unless one is under way.
    pub(super) fn start_sweep(&mut self, now: Instant) {
        if self.sweeping || !self.sweep.is_idle() {
            return;
        }
        self.sweep_stuck = false;
        self.sweep_reopen = false;
        for slot in &mut self.slots {
            if slot.out || !slot.retry.is_due(now) {
                continue;
            }
            if slot.own.is_some() {
                slot.ask_own(now, &self.pace);
                continue;
            }
            let base = slot.base(now, &self.pace);
            self.sweep.push(Call::Sample(slot.device.id.clone(), base));
            self.sweeping = true;
        }
    }

    /// Queues what is due of the rare readings, process lists and blocking PCIe calls.
    pub(super) fn ask_beside_the_sweep(&mut self, now: Instant) {
        // What is known already can wait for the next poll, where that is soon.
        let can_wait = self.interval <= SOON && self.slots.iter().all(Slot::is_known);
        let wake = if can_wait { Wake::Never } else { Wake::Each };
        self.side.wake(wake);
        let count = u32::try_from(self.slots.len().max(1)).unwrap_or(u32::MAX);
        for (i, slot) in (0_u32..).zip(&mut self.slots) {
            if !slot.answers() || slot.side_stuck {
                continue;
            }
            if now >= slot.slow.due && !slot.slow.asked {
                slot.slow.asked = true;
                slot.slow.due = now + self.pace.slow;
                if !slot.slow.tried {
                    // The rounds after the first are spread over the devices.
                    slot.slow.due += self.pace.slow / count * i;
                }
                self.side.push(Call::Slow(Arc::clone(&slot.device)));
            }
        }
        // Devices only: instances have no link of their own.
        let asked = self.slots.iter().filter(|slot| slot.pcie.needed).count();
        let pcie_rest = pcie_rest(asked, self.pace.pcie_stale);
        for (i, slot) in (0_u32..).zip(&mut self.slots) {
            if !slot.answers() {
                continue;
            }
            let is_due = self.swept && now >= slot.processes.due;
            if is_due && slot.processes.asked.is_none() && !slot.side_stuck {
                let place = self.pace.processes / count * (i + 1);
                slot.processes.ask(now, &self.pace, place);
                self.side.push(Call::Processes(slot.device.id.clone()));
            }
            if slot.pcie.needed
                && slot.pcie.asked.is_none()
                && now >= slot.pcie.due
                && let Some(lane) = self.pcie.iter_mut().min_by_key(|lane| lane.load())
            {
                slot.pcie.asked = Some(now);
                slot.pcie.due = now + pcie_rest;
                lane.push(Call::Pcie(slot.device.id.clone()));
            }
        }
    }

    /// Takes in what the lanes have.
    fn drain(&mut self, now: Instant) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for lane in [&self.library.lane, &self.sweep, &self.side] {
            lane.drain(&mut outcomes);
        }
        for lane in &self.pcie {
            lane.drain(&mut outcomes);
        }
        for outcome in outcomes.drain(..) {
            self.accept(outcome, now);
        }
        let deadline = call_deadline(self.interval);
        for i in 0..self.slots.len() {
            if let Some(Slot { own: Some(own), .. }) = self.slots.get(i) {
                own.lane.drain(&mut outcomes);
            }
            for outcome in outcomes.drain(..) {
                if let Some(slot) = self.slots.get_mut(i) {
                    slot.own_answered(now, deadline);
                }
                self.accept(outcome, now);
            }
        }
        self.outcomes = outcomes;
    }

    /// Takes devices whose calls are past their deadline out of their lanes.
    fn leave_stuck_calls(&mut self, now: Instant) {
        let mut changes = std::mem::take(&mut self.changes);
        while let Some((Key::Sample(id), since)) =
            self.sweep.leave_behind(now, self.sweep_deadline())
        {
            self.sweep_stuck = true;
            if let Some(slot) = self.slot(&id) {
                slot.out = true;
                slot.silence(Absent::TimedOut, boot_ago(now - since), &mut changes);
            }
        }
        let patience = self.interval.max(Duration::from_secs(1));
        for slot in &mut self.slots {
            let asked = slot.own.as_ref().and_then(|own| own.asked);
            if let Some(asked) = asked.filter(|asked| now.duration_since(*asked) > patience) {
                slot.silence(Absent::TimedOut, boot_ago(now - asked), &mut changes);
            }
            let overdue = |at: &Instant| now.duration_since(*at) > self.pace.processes * 3;
            if slot.processes.asked.as_ref().is_some_and(overdue) {
                slot.accept_processes(Err(Absent::TimedOut), &mut changes);
            }
        }
        self.changes = changes;
        self.leave_side_calls(now);
    }

    fn leave_side_calls(&mut self, now: Instant) {
        for i in 0..=self.pcie.len() {
            if self.left_behind >= LEFT_BEHIND_MAX {
                return;
            }
            let lane = self.pcie.get_mut(i).unwrap_or(&mut self.side);
            let Some((key, _)) = lane.leave_behind(now, self.pace.side_deadline) else {
                continue;
            };
            self.left_behind += 1;
            let mut changes = std::mem::take(&mut self.changes);
            if let Key::Slow(id) | Key::Processes(id) = &key
                && let Some(slot) = self.slot(id)
            {
                slot.side_stuck = true;
                slot.slow.tried = true;
                if matches!(key, Key::Processes(_)) {
                    slot.accept_processes(Err(Absent::TimedOut), &mut changes);
                }
            }
            self.changes = changes;
        }
    }

    /// What follows from what came in: the end of a sweep, the end of the wait for rare readings, an opening.
    fn go_on(&mut self, now: Instant) {
        if self.sweeping && self.sweep.is_idle() {
            // Results that came between the drain and this look.
            self.drain(now);
            self.sweeping = false;
            if !self.swept {
                self.swept = true;
                self.lists_until = Some(now + self.pace.hold / 2);
            }
            // A first sweep tells which devices need the blocking calls.
            self.ask_beside_the_sweep(now);
            let answered = self.slots.iter().any(|slot| slot.newest.is_some());
            if answered && !self.sweep_reopen && !self.library.wanted {
                self.library.calm = true;
                self.library.retry.reset();
            }
        }
        if let Some(until) = self.hold_until
            && (now >= until || self.slots.iter().all(|slot| slot.slow.tried))
        {
            self.hold_until = None;
            if self.pending.is_some() {
                self.start_sweep(now);
            }
        }
        if let Some(until) = self.lists_until
            && (now >= until || self.slots.iter().all(Slot::is_known))
        {
            self.lists_until = None;
        }
        if !self.sweeping {
            self.open_if_wanted(now);
        }
    }

    fn reply_if_ready(&mut self, now: Instant) -> Option<Reply> {
        let pending = self.pending.as_ref()?;
        let past = now >= pending.deadline;
        let ready = self.library.opening.is_none()
            && self.hold_until.is_none()
            && self.lists_until.is_none()
            && !self.sweeping;
        if !ready && !past {
            return None;
        }
        let seq = pending.seq;
        self.pending = None;
        self.first = false;
        if let Some(since) = self.library.opening {
            let mut changes = std::mem::take(&mut self.changes);
            self.silence_all(Absent::TimedOut, since, &mut changes);
            self.changes = changes;
        }
        Some(Reply {
            seq,
            opening_since: self.library.opening,
            samples: self
                .slots
                .iter_mut()
                .filter_map(|slot| slot.newest.take())
                .collect(),
            changes: std::mem::take(&mut self.changes),
            events: std::mem::take(&mut self.events),
        })
    }

    /// A thread that waits for the driver's events, unless there is one.
    pub(super) fn start_events(&mut self) {
        if self.events_wanted.swap(true, Ordering::AcqRel) {
            return;
        }
        let (vendor, post) = (Arc::clone(&self.vendor), self.post.clone());
        let running = Arc::clone(&self.events_wanted);
        let started = std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || {
                super::call::forward_events(&*vendor, &post);
                running.store(false, Ordering::Release);
            });
        if started.is_err() {
            self.events_wanted.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_devices_take_turns_and_none_grows_stale() {
        let stale = Duration::from_secs(5);
        let rests = [1, 31, 32, 64, 96, 512, usize::MAX].map(|devices| pcie_rest(devices, stale));
        let expected = [0, 0, 900, 1800, 2500, 2500, 2500].map(Duration::from_millis);
        assert_eq!(rests, expected);
    }
}
