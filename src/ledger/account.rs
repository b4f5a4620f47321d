//! Seconds of one device, of one board, or of the instance.

use crate::model::{BoardId, DeviceId, Phase, PhaseSeconds, Worth};
use serde::{Deserialize, Serialize};

/// What one step says of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceStep {
    /// Whose.
    pub id: DeviceId,
    /// Share of time with a kernel resident; `None` where it cannot be read: then the second is unobserved.
    pub utilization: Option<f64>,
    /// Whether the driver lists a process; `None` where there is no list.
    pub has_process: Option<bool>,
    /// A process keeps device memory.
    pub held: bool,
    /// A thread of the device's owner, or our own cgroup, waits for storage. `None` where that cannot be seen
    /// (owners outside our PID namespace); `Some(false)` where there is no owner at all.
    pub io_waiting: Option<bool>,
    /// Lost, past a deadline, or in reset: not available to its renter.
    pub silent: bool,
    /// Share of its best that the device did (the work ratio), where that can be told.
    pub work: Option<f64>,
    /// What the rules make of it; `None` where none has looked.
    pub worth: Option<Worth>,
}

/// What one step says of a board.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardStep {
    /// Which.
    pub board: BoardId,
    /// Its devices.
    pub devices: Vec<DeviceStep>,
}

/// A step's meaning for one account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub(super) phase: Phase,
    pub(super) held: bool,
    io_visible: bool,
    utilization: f64,
    work: Option<f64>,
    pub(super) worth: Option<Worth>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            phase: Phase::Unobserved,
            held: false,
            io_visible: false,
            utilization: 0.0,
            work: None,
            worth: None,
        }
    }
}

impl Seen {
    /// A board does what the busiest of its devices does: compute, io-wait, queue, idle, unobserved in this order.
    /// Of devices that compute, the best worth counts: a board whose other half works is not stalled.
    pub(super) fn merge(&mut self, other: &Self) {
        let both = self.phase == Phase::Compute && other.phase == Phase::Compute;
        self.worth = match (self.worth, other.worth) {
            (Some(a), Some(b)) if both => Some(a.min(b)),
            (a, b) if both => a.or(b),
            (a, _) if self.phase == Phase::Compute => a,
            (_, b) => b,
        };
        self.work = match (self.work, other.work) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        // `Phase::ALL` is in just this order.
        let place = |phase| Phase::ALL.iter().position(|p| *p == phase);
        if place(other.phase) < place(self.phase) {
            self.phase = other.phase;
        }
        self.held |= other.held;
        self.io_visible |= other.io_visible;
        self.utilization = self.utilization.max(other.utilization);
    }
}

impl DeviceStep {
    /// Utilization strictly over the threshold.
    pub(super) fn computes(&self, threshold: f64) -> bool {
        !self.silent && self.utilization.is_some_and(|u| u > threshold)
    }

    /// Classifies this instant. Without a list of processes a quiet device is idle, not queued: that no process ever
    /// came is not known. Before the first process it is start-up whatever the disks do.
    pub(super) fn seen(&self, process_seen: bool, queued: bool, threshold: f64) -> Seen {
        let readable = self.utilization.filter(|u| u.is_finite() && !self.silent);
        let Some(utilization) = readable else {
            return Seen::default();
        };
        let phase = match () {
            () if utilization > threshold => Phase::Compute,
            () if queued || (!process_seen && self.has_process == Some(false)) => Phase::Queue,
            () if self.io_waiting == Some(true) => Phase::IoWait,
            () => Phase::Idle,
        };
        Seen {
            phase,
            held: self.held,
            io_visible: self.io_waiting.is_some(),
            utilization,
            work: self.work.filter(|w| w.is_finite()),
            worth: self.worth.filter(|_| phase == Phase::Compute),
        }
    }
}

/// Seconds by phase as they were seen; what is missing to the span is unobserved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Account {
    compute: f64,
    io_wait: f64,
    queue: f64,
    idle: f64,
    /// Part of idle.
    pub(super) idle_held: f64,
    io_visible: bool,
    pub(super) utilization_seconds: f64,
    /// Integral of the work ratio, and the seconds in which it was known.
    pub(super) work_seconds: (f64, f64),
    /// Parts of compute.
    stalled: f64,
    throttled: f64,
    /// A rule has looked at it.
    judged: bool,
    /// As the newest step says.
    pub(super) phase: Phase,
    /// Number of the newest step that had it.
    pub(super) seen_in: u64,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            compute: 0.0,
            io_wait: 0.0,
            queue: 0.0,
            idle: 0.0,
            idle_held: 0.0,
            io_visible: false,
            utilization_seconds: 0.0,
            work_seconds: (0.0, 0.0),
            stalled: 0.0,
            throttled: 0.0,
            judged: false,
            phase: Phase::Unobserved,
            seen_in: 0,
        }
    }
}

impl Account {
    pub(super) fn book(&mut self, seen: &Seen, seconds: f64, step: u64) {
        match seen.phase {
            Phase::Compute => self.compute += seconds,
            Phase::IoWait => self.io_wait += seconds,
            Phase::Queue => self.queue += seconds,
            Phase::Idle => self.idle += seconds,
            Phase::Unobserved => {}
        }
        if seen.phase == Phase::Idle && seen.held {
            self.idle_held += seconds;
        }
        self.io_visible |= seen.io_visible;
        self.utilization_seconds += seen.utilization * seconds;
        if let Some(work) = seen.work {
            self.work_seconds.0 += work * seconds;
            self.work_seconds.1 += seconds;
        }
        self.judged |= seen.worth.is_some();
        match seen.worth {
            Some(Worth::Stalled) => self.stalled += seconds,
            Some(Worth::Throttled) => self.throttled += seconds,
            Some(Worth::Fine) | None => {}
        }
        self.phase = seen.phase;
        self.seen_in = step;
    }

    /// Seconds of compute that were stalled, and that were throttled; `None` where no rule ever looked.
    pub(super) fn of_which(&self) -> Option<(f64, f64)> {
        self.judged.then_some((self.stalled, self.throttled))
    }

    /// Phases that add up to `span`. Io-wait that could never be seen is `None`, not 0.
    pub(super) fn phase_seconds(&self, span: f64) -> PhaseSeconds {
        let seen = self.compute + self.io_wait + self.queue + self.idle;
        PhaseSeconds {
            compute: self.compute,
            io_wait: self.io_visible.then_some(self.io_wait),
            queue: self.queue,
            idle: self.idle,
            unobserved: (span - seen).max(0.0),
        }
    }
}
