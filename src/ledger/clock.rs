//! What the two clocks say of the time between two steps.

use super::{Ledger, Step};
use crate::model::{BillingStart, BillingStartSource};
use jiff::{SignedDuration, Timestamp};

/// A forward step of the wall clock over this moves a derived start: the clock was unset before (31 days).
const UNSET_CLOCK_S: f64 = 31.0 * 86_400.0;

/// Differences between the two clocks below this are slewing and reading order, not a jump.
const JUMP_S: f64 = 1.0;

/// The time between two steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Passed {
    /// There was no step before.
    First,
    /// So many seconds, with somebody looking.
    Watched(f64),
    /// So many seconds without: a suspend, a stopped recorder.
    Gap(f64),
    /// The host was booted anew: its clocks say nothing about each other.
    AnotherBoot,
    /// None: this time was covered by earlier steps, as where two recordings of one instance overlap.
    Covered,
}

impl Ledger {
    pub(super) fn passed(&self, step: &Step<'_>) -> Passed {
        let state = &self.state;
        let Some(last) = state.last else {
            return Passed::First;
        };
        let heard = state.starts.heard_of_another();
        let passed = step.mono.seconds_since(last.mono);
        let wall = wall_seconds(last.at, step.at);
        if passed <= 0.0 && !heard {
            let same = passed == 0.0 && wall.abs() <= JUMP_S;
            let before =
                passed < 0.0 && wall <= 0.0 && state.first_at.is_none_or(|first| step.at >= first);
            if same || before {
                return Passed::Covered;
            }
        }
        let watched = passed <= 2.0 * step.interval.max(last.interval).as_secs_f64();
        match () {
            () if passed < 0.0 => Passed::AnotherBoot,
            () if watched => Passed::Watched(passed),
            () if heard => Passed::AnotherBoot,
            () => Passed::Gap(passed),
        }
    }

    /// Seconds since the previous step that count as looked at; takes care of the clocks, of the first step and of
    /// another start.
    pub(super) fn credit(&mut self, step: &Step<'_>, passed: Passed) -> f64 {
        self.begin(step);
        let wall = self.state.last.map_or(0.0, |l| wall_seconds(l.at, step.at));
        match passed {
            Passed::First | Passed::Covered => 0.0,
            Passed::AnotherBoot => {
                self.state.starts.begin_anew(self.state.start);
                0.0
            }
            Passed::Gap(seconds) => {
                self.follow_clock(wall - seconds, false);
                0.0
            }
            Passed::Watched(seconds) => {
                self.state.starts.was_only_the_clock();
                self.follow_clock(wall - seconds, true);
                // Nothing is billed before a start that still lies ahead; once seconds were counted, the wall clock
                // cannot take that back.
                match self.state.start {
                    Some(start) if self.state.looked == 0.0 => {
                        seconds.min(wall_seconds(start.at, step.at).max(0.0))
                    }
                    _ => seconds,
                }
            }
        }
    }

    /// The first step of an account.
    fn begin(&mut self, step: &Step<'_>) {
        if self.state.first_at.is_none() {
            self.state.first_at = Some(step.at);
            // A derived begin that lies ahead is a wrong clock, not a begin.
            self.state.start =
                (self.state.start).filter(|s| !s.source.is_estimate() || s.at <= step.at);
        }
        self.state.start.get_or_insert(BillingStart {
            at: step.at,
            source: BillingStartSource::FirstSample,
        });
    }

    /// Keeps the span right when the wall clock jumps by `jump` seconds against the boot clock.
    fn follow_clock(&mut self, jump: f64, watched: bool) {
        let state = &mut self.state;
        let Some(start) = state.start.as_mut().filter(|s| s.source.is_estimate()) else {
            return;
        };
        let by = if jump < -JUMP_S {
            let taken_back = state.stepped_forward.min(-jump);
            state.stepped_forward -= taken_back;
            jump + taken_back
        } else if jump > UNSET_CLOCK_S && watched {
            jump
        } else {
            if jump > JUMP_S && watched {
                state.stepped_forward += jump;
            }
            return;
        };
        start.at = moved(start.at, by);
        state.first_at = state.first_at.map(|at| moved(at, by));
        state.hours.shift(by);
    }
}

pub(super) fn wall_seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// An instant moved by seconds; stays where it is if the result cannot be written.
pub(super) fn moved(at: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|by| at.checked_add(by).ok())
        .unwrap_or(at)
}
