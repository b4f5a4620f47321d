//! What a device does not answer.

use crate::model::Absent;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long a question that was refused is asked again: modes of devices and drivers change.
const AGAIN: Duration = Duration::from_secs(60);

/// Remembers the questions that one device refused, so that each tick does not ask them again.
#[derive(Debug)]
pub(crate) struct Refusals<Q>(Mutex<HashMap<Q, (Absent, Instant)>>);

impl<Q> Default for Refusals<Q> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Eq + Hash + Copy> Refusals<Q> {
    /// Asks, unless it was refused within the last minute. `lasting` says whether a reason is worth remembering.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(crate) fn ask<T>(
        &self,
        question: Q,
        lasting: impl Fn(Absent) -> bool,
        ask: impl FnOnce() -> Result<T, Absent>,
    ) -> Result<T, Absent> {
        if let Some((why, since)) = self.locked().get(&question)
            && since.elapsed() < AGAIN
        {
            return Err(*why);
        }
        // Not under the lock: a call may never return.
        let answer = ask();
        match &answer {
            Err(why) if lasting(*why) => {
                self.locked().insert(question, (*why, Instant::now()));
            }
            _ => {
                self.locked().remove(&question);
            }
        }
        answer
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<Q, (Absent, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_lasts_is_not_asked_again_soon() {
        let refusals = Refusals::default();
        let lasting = |why| why == Absent::NotSupported;
        let asked = std::cell::Cell::new(0);
        let ask = |question, answer: Result<u32, Absent>| {
            refusals.ask(question, lasting, || {
                asked.set(asked.get() + 1);
                answer
            })
        };
        assert_eq!(
            ask("power", Err(Absent::NotSupported)),
            Err(Absent::NotSupported)
        );
        assert_eq!(ask("power", Ok(1)), Err(Absent::NotSupported));
        assert_eq!(ask("clock", Err(Absent::TimedOut)), Err(Absent::TimedOut));
        assert_eq!(ask("clock", Ok(2)), Ok(2));
        assert_eq!(asked.get(), 3);
    }
}
