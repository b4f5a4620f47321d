//! Loads whose busy seconds are known, seen as a driver's utilization shows them, and booked by the ledger.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]
use jiff::Timestamp;
use nameplate::ledger::{BoardStep, DeviceStep, Ledger, Step};
use nameplate::model::{BoardId, Config, DeviceId};
use nameplate::units::MonoTime;
use std::sync::Arc;
use std::time::Duration;

/// Ground truth is kept in hundredths of a second.
const PER_SECOND: usize = 100;

/// A load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// What it is like.
    pub(crate) name: &'static str,
    /// Whether every state lasts much longer than a poll: such loads are not aliased.
    pub(crate) slow: bool,
    /// Seconds busy and idle: the shortest and the longest of each.
    busy: (f64, f64),
    idle: (f64, f64),
}

/// The loads of the comparison, from steady to what no poll can follow.
pub(crate) const LOADS: [Load; 7] = [
    load("steady", true, (600.0, 1200.0), (5.0, 30.0)),
    load("checkpoint pauses", true, (560.0, 640.0), (40.0, 80.0)),
    load("long bursts", true, (60.0, 300.0), (60.0, 300.0)),
    load("bursts", false, (5.0, 60.0), (5.0, 60.0)),
    load("5 s on, 2 s off", false, (5.0, 5.0), (2.0, 2.0)),
    load("0.8 s on, 0.4 s off", false, (0.8, 0.8), (0.4, 0.4)),
    load("12 % trickle", false, (0.12, 0.12), (0.88, 0.88)),
];

const fn load(name: &'static str, slow: bool, busy: (f64, f64), idle: (f64, f64)) -> Load {
    Load {
        name,
        slow,
        busy,
        idle,
    }
}

/// What one run made of it, as shares of the whole time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Really busy.
    pub(crate) truth: f64,
    /// Seconds over 10 %.
    pub(crate) compute: f64,
    /// Integral of utilization.
    pub(crate) integral: f64,
}

/// A generator that is the same everywhere.
struct Random(u64);

impl Random {
    fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// An hour of a load, polled so often; `window_s` is what the driver's utilization looks back on.
pub(crate) fn hour(load: &Load, interval_s: f64, window_s: f64, seed: u64) -> Seen {
    const SECONDS: usize = 3600;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut busy: Vec<bool> = Vec::new();
    let mut on = random.between((0.0, 1.0)) < 0.5;
    let mut until = random.between((0.0, 1.0));
    for tick in 0..=SECONDS * PER_SECOND {
        // The begin of each hundredth decides.
        let at = tick as f64 / PER_SECOND as f64;
        while at >= until {
            on = !on;
            until += random.between(if on { load.busy } else { load.idle });
        }
        busy.push(on);
    }
    let window = ((window_s * PER_SECOND as f64) as usize).max(1);
    let utilization = |at: usize| {
        let from = at.saturating_sub(window - 1);
        let part = &busy[from..=at];
        part.iter().filter(|on| **on).count() as f64 / part.len() as f64
    };
    let mut ledger = Ledger::new(&Config::default(), None);
    let interval = Duration::from_secs_f64(interval_s);
    let step = (interval_s * PER_SECOND as f64).round() as usize;
    for tick in (0..=SECONDS * PER_SECOND).step_by(step) {
        let nanoseconds = tick as u64 * 1_000_000_000 / PER_SECOND as u64;
        ledger.observe(&Step {
            at: Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap(),
            mono: MonoTime(nanoseconds),
            interval,
            boards: &[board(0, utilization(tick))],
            queued: false,
            traffic_bytes_per_s: None,
        });
    }
    let end = Timestamp::from_second(SECONDS as i64).unwrap();
    let cost = ledger.cost(end).unwrap();
    let truth = busy.iter().filter(|on| **on).count() as f64 / busy.len() as f64;
    Seen {
        truth,
        compute: cost.phase_seconds.compute / cost.span_seconds,
        integral: cost.utilization_seconds / cost.span_seconds,
    }
}

/// One device on its board.
pub(crate) fn board(index: usize, utilization: f64) -> BoardStep {
    let name: Arc<str> = format!("GPU-{index}").into();
    BoardStep {
        board: BoardId(name.clone()),
        devices: vec![DeviceStep {
            id: DeviceId(name),
            utilization: Some(utilization),
            has_process: Some(true),
            held: true,
            io_waiting: Some(false),
            silent: false,
            work: Some(utilization * 0.6),
            worth: None,
        }],
    }
}
