//! When the next tick of a log is due: in its own time or faster.

use crate::model::{Control, Tick};
use crate::units::MonoTime;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A stretch of more intervals than this without a tick (nobody logged, another boot) passes like one interval.
const GAP_INTERVALS: f64 = 3.0;
/// Speeds that are taken; zero holds.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=10_000.0;

/// When the next tick is due.
pub(super) struct Pace {
    orders: Receiver<Control>,
    speed: f64,
    /// An instant of the recording and when it was shown; moved when the speed changes.
    fixed: Option<(MonoTime, Instant)>,
    newest: Option<MonoTime>,
}

impl Pace {
    pub(super) const fn new(speed: f64, orders: Receiver<Control>) -> Self {
        Self {
            orders,
            speed,
            fixed: None,
            newest: None,
        }
    }

    pub(super) fn stands_at(&mut self, mono: MonoTime) {
        self.newest = Some(mono);
        self.fixed = None;
    }

    /// Real time from now until a tick is due; `None` while time is held.
    fn left(&mut self, tick: &Tick) -> Option<Duration> {
        if self.speed <= 0.0 {
            return None;
        }
        let (mono, shown) = *self
            .fixed
            .get_or_insert((self.newest.unwrap_or(tick.mono), Instant::now()));
        let after = tick.mono.seconds_since(mono).max(0.0) / self.speed;
        let due = Duration::try_from_secs_f64(after).unwrap_or_default();
        Some(due.saturating_sub(shown.elapsed()))
    }

    /// Waits until a tick is due; `false` when nothing more is wanted.
    pub(super) fn wait_for(&mut self, tick: &Tick) -> bool {
        let passed = self.newest.map_or(0.0, |n| tick.mono.seconds_since(n));
        if !(0.0..=GAP_INTERVALS * tick.interval.as_secs_f64()).contains(&passed) {
            self.stands_at(tick.mono.minus(tick.interval));
        }
        loop {
            let left = self.left(tick);
            let order = match left {
                Some(left) => self.orders.recv_timeout(left),
                None => self
                    .orders
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Control::Speed(speed)) if speed == 0.0 || SPEEDS.contains(&speed) => {
                    self.speed = speed;
                    self.fixed = None;
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.newest = Some(tick.mono);
        true
    }
}
