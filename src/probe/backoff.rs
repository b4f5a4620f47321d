//! Waiting longer after each failure.

use std::time::{Duration, Instant};

/// First wait after a failure.
pub(crate) const FIRST: Duration = Duration::from_secs(1);
/// Longest wait.
pub(crate) const LAST: Duration = Duration::from_secs(30);

/// A wait that doubles with each failure up to a bound.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    next: Duration,
    due: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(first: Duration) -> Self {
        Self {
            first,
            next: first,
            due: None,
        }
    }

    /// Notes a failure; answers how long to wait from now.
    pub(crate) fn fail(&mut self, now: Instant) -> Duration {
        let wait = self.next;
        self.due = Some(now + wait);
        self.next = (wait * 2).min(LAST.max(self.first));
        wait
    }

    /// Whether the wait is over (or there was none).
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due.is_none_or(|due| now >= due)
    }

    /// Ends the current wait, but remembers how long the next one is.
    pub(crate) fn hurry(&mut self) {
        self.due = None;
    }

    /// It works again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_bound() {
        let now = Instant::now();
        let mut backoff = Backoff::new(FIRST);
        assert!(backoff.is_due(now));
        let waits: Vec<u64> = (0..7).map(|_| backoff.fail(now).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert!(!backoff.is_due(now + Duration::from_secs(29)));
        assert!(backoff.is_due(now + LAST));
        backoff.hurry();
        assert!(backoff.is_due(now));
        assert_eq!(backoff.fail(now), LAST);
        backoff.reset();
        assert!(backoff.is_due(now));
        assert_eq!(backoff.fail(now), FIRST);
    }
}
