//! When the next tick of a recording is due.

use super::reel::GAP_INTERVALS;
use crate::model::Tick;
use crate::units::MonoTime;
use std::time::{Duration, Instant};

/// Further behind than this, time is not caught up with any more.
const BEHIND: Duration = Duration::from_secs(1);

/// Recorded time beside real time.
#[derive(Debug)]
pub(super) struct Pace {
    /// Recorded seconds for each real one; zero holds.
    pub(super) speed: f64,
    /// An instant of the recording and when it was shown; moved when the speed changes.
    fixed: Option<(MonoTime, Instant)>,
    newest: Option<MonoTime>,
}

impl Pace {
    pub(super) const fn new(speed: f64) -> Self {
        Self {
            speed,
            fixed: None,
            newest: None,
        }
    }

    /// Whatever was, time goes on from the next tick.
    pub(super) fn anew(&mut self) {
        (self.fixed, self.newest) = (None, None);
    }

    /// Another speed from now on.
    pub(super) fn at_speed(&mut self, speed: f64) {
        self.speed = speed;
        self.fixed = None;
    }

    /// Real time from `now` until a tick is due. A stretch of more intervals than a few without a tick (no recorder ran,
    /// another boot) passes like one interval.
    pub(super) fn left(&mut self, tick: &Tick, now: Instant) -> Duration {
        let passed = self.newest.map_or(0.0, |n| tick.mono.seconds_since(n));
        if !(0.0..=GAP_INTERVALS * tick.interval.as_secs_f64()).contains(&passed) {
            self.newest = Some(tick.mono.minus(tick.interval));
            self.fixed = None;
        }
        let newest = self
            .newest
            .unwrap_or_else(|| tick.mono.minus(tick.interval));
        let (mono, shown) = *self.fixed.get_or_insert((newest, now));
        let after = tick.mono.seconds_since(mono).max(0.0) / self.speed.max(1e-9);
        let due = Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX);
        let waited = now.saturating_duration_since(shown);
        if waited > due.saturating_add(BEHIND) {
            self.fixed = Some((tick.mono, now));
        }
        due.saturating_sub(waited)
    }

    /// A tick was shown.
    pub(super) fn stands_at(&mut self, mono: MonoTime) {
        self.newest = Some(mono);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(seconds: u64) -> Tick {
        Tick {
            seq: seconds,
            at: jiff::Timestamp::UNIX_EPOCH,
            mono: MonoTime(seconds * 1_000_000_000),
            interval: Duration::from_secs(1),
            dropped: 0,
            samples: Vec::new(),
            host: None,
            changes: Vec::new(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_tick_is_due_in_its_time_and_a_gap_passes_like_one_interval() {
        let now = Instant::now();
        let mut pace = Pace::new(10.0);
        let tenth = Duration::from_millis(100);
        assert_eq!(pace.left(&tick(5), now), tenth);
        assert_eq!(pace.left(&tick(5), now + tenth), Duration::ZERO);
        pace.stands_at(tick(5).mono);
        assert_eq!(pace.left(&tick(6), now + tenth), tenth);
        pace.stands_at(tick(6).mono);
        assert_eq!(pace.left(&tick(9000), now + 2 * tenth), tenth);
        pace.at_speed(0.5);
        pace.stands_at(tick(9000).mono);
        assert_eq!(
            pace.left(&tick(9001), now + 2 * tenth),
            Duration::from_secs(2)
        );
    }

    #[test]
    fn what_is_far_behind_is_not_caught_up_with() {
        let now = Instant::now();
        let mut pace = Pace::new(1.0);
        pace.left(&tick(5), now);
        let late = now + Duration::from_secs(60);
        assert_eq!(pace.left(&tick(5), late), Duration::ZERO);
        pace.stands_at(tick(5).mono);
        assert_eq!(pace.left(&tick(6), late), Duration::from_secs(1));
    }
}
