//! One call into the library at a time, as long as calls come back.
//!
//! DCMI is not documented as thread-safe, so calls take turns. A call that hangs keeps its thread for ever (the probe process
//! leaves the thread behind); were the turn its own for as long, one sick card would silence all others. So nobody waits
//! longer than [`PATIENCE`] for a turn, and a call that has not come back after [`STUCK`] loses it: the others go on beside
//! it. Whether the library bears that is not documented either; if it does not, the probe process ends and is started again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a call waits for its turn. Well below the deadline of a sweep's call at the usual interval (250 ms), so that a
/// device whose call did not get its turn is late, and not out of the sweep.
const PATIENCE: Duration = Duration::from_millis(100);
/// A call that takes longer hangs; Huawei's own monitor waits as long.
const STUCK: Duration = Duration::from_secs(1);

/// Whose turn it is.
#[derive(Debug, Default)]
struct Turns {
    /// The number of the call that has the turn, and since when.
    holder: Option<(u64, Instant)>,
    given: u64,
}

/// Gives turns.
#[derive(Debug, Default)]
pub(super) struct Gate {
    turns: Mutex<Turns>,
    freed: Condvar,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    gate: &'a Gate,
    number: u64,
}

impl Gate {
    /// Waits for a turn; `None` if none came in time.
    pub(super) fn enter(&self) -> Option<Turn<'_>> {
        self.enter_within(PATIENCE, STUCK)
    }

    /// Waits for as long as a call can keep its turn.
    pub(super) fn settle(&self) {
        drop(self.enter_within(STUCK * 2, STUCK));
    }

    fn enter_within(&self, patience: Duration, stuck: Duration) -> Option<Turn<'_>> {
        let until = Instant::now() + patience;
        let mut turns = self.locked();
        loop {
            let now = Instant::now();
            let lost_at = turns.holder.map(|(_, since)| since + stuck);
            match lost_at {
                Some(lost_at) if now < lost_at => {
                    let wait = until.min(lost_at).saturating_duration_since(now);
                    if wait.is_zero() {
                        return None;
                    }
                    let waited = self.freed.wait_timeout(turns, wait);
                    turns = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    turns.given += 1;
                    let number = turns.given;
                    turns.holder = Some((number, now));
                    return Some(Turn { gate: self, number });
                }
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.gate.locked();
        // A call that came back late has no turn to give back.
        if turns
            .holder
            .is_some_and(|(number, _)| number == self.number)
        {
            turns.holder = None;
            self.gate.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn one_at_a_time_and_nobody_waits_for_ever() {
        let gate = Gate::default();
        let first = gate.enter_within(LONG, LONG).unwrap();
        assert!(gate.enter_within(Duration::ZERO, LONG).is_none());
        assert!(gate.enter_within(Duration::from_millis(1), LONG).is_none());
        drop(first);
        assert!(gate.enter_within(Duration::ZERO, LONG).is_some());
        assert!(gate.enter_within(Duration::ZERO, LONG).is_some());
    }

    #[test]
    fn who_waits_is_woken() {
        let gate = Gate::default();
        let first = gate.enter_within(LONG, LONG).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.enter_within(LONG, LONG).is_some());
            drop(first);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn a_call_that_hangs_loses_its_turn_and_takes_nobody_s_when_it_comes_back() {
        let gate = Gate::default();
        let hangs = gate.enter_within(LONG, LONG).unwrap();
        let second = gate.enter_within(LONG, Duration::ZERO).unwrap();
        drop(hangs);
        assert!(gate.enter_within(Duration::ZERO, LONG).is_none());
        drop(second);
        assert!(gate.enter_within(Duration::ZERO, LONG).is_some());
    }
}
