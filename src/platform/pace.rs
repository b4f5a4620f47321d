//! When something is asked again: never more often than its descriptor says, later as `Retry-After` and `RateLimit` say,
//! and later after each failure, with some jitter so that many machines do not come at once.

use super::value::http_date;
use jiff::Timestamp;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

/// The longest wait after failures.
const LONGEST: Duration = Duration::from_secs(600);
/// The longest wait after failures of a path that is asked every few seconds.
const LONGEST_NEAR: Duration = Duration::from_secs(60);
/// Paths asked more often than this are link-local ones.
const NEAR: Duration = Duration::from_secs(30);
/// A wait that a server asks for is not believed beyond this.
const MOST_ASKED_FOR: Duration = Duration::from_secs(3600);

/// When one path is due.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    every: Duration,
    due: Instant,
    failures: u32,
}

/// What an answer says about when to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asks {
    /// Not before this long.
    pub(super) wait: Option<Duration>,
}

impl Asks {
    /// From the headers of an answer at a time.
    pub(super) fn of(retry_after: Option<&str>, rate_limit: Option<&str>, now: Timestamp) -> Self {
        let wait = [
            retry_after.and_then(|text| after(text, now)),
            rate_limit.and_then(spread),
        ];
        Self {
            wait: wait
                .into_iter()
                .flatten()
                .max()
                .map(|wait| wait.min(MOST_ASKED_FOR)),
        }
    }
}

impl Pace {
    /// Due at once.
    pub(super) fn new(every: Duration, now: Instant) -> Self {
        Self {
            every,
            due: now,
            failures: 0,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// It was answered, well or with nothing.
    pub(super) fn good(&mut self, now: Instant, asks: Asks) {
        self.failures = 0;
        self.due = now + asks.wait.unwrap_or_default().max(self.every);
    }

    /// It failed. `chance` is from 0 to 1.
    pub(super) fn bad(&mut self, now: Instant, asks: Asks, chance: f64) {
        // What is asked seldom is not waited for as long once it has failed.
        let first = self.every.min(NEAR);
        let longest = if self.every < NEAR {
            LONGEST_NEAR
        } else {
            LONGEST
        };
        let wait = first
            .saturating_mul(2_u32.saturating_pow(self.failures.min(10)))
            .min(longest);
        self.failures = self.failures.saturating_add(1);
        let wait = asks.wait.unwrap_or_default().max(wait);
        self.due = now + wait + wait.mul_f64(0.25 * chance.clamp(0.0, 1.0));
    }

    /// It is not asked on its own any more.
    pub(super) fn never(&mut self, now: Instant) {
        self.due = now + Duration::from_secs(10 * 365 * 86_400);
    }
}

/// Seconds, or a date.
fn after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let left = http_date(text)?.duration_since(now);
    Some(left.try_into().unwrap_or_default())
}

/// `"minute";r=3;t=12, "hour";r=2800;t=1812`: what remains, spread over the time until it is filled up again; without any
/// left, that time.
fn spread(text: &str) -> Option<Duration> {
    let wait = |item: &str| -> Option<f64> {
        let number = |name: &str| {
            item.split(';')
                .filter_map(|part| part.trim().split_once('='))
                .find(|(known, _)| *known == name)
                .and_then(|(_, value)| value.trim().parse::<f64>().ok())
                .filter(|number| number.is_finite() && *number >= 0.0)
        };
        let (remains, reset) = (number("r")?, number("t")?);
        Some(if remains < 1.0 {
            reset
        } else {
            reset / remains
        })
    };
    let longest = text.split(',').filter_map(wait).reduce(f64::max)?;
    Duration::try_from_secs_f64(longest).ok()
}

/// A number from 0 to 1 that differs from process to process and from call to call.
pub(super) fn chance() -> f64 {
    let bits = RandomState::new().hash_one(Instant::now());
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: Duration = Duration::from_secs(1);

    fn at() -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap_or_default()
    }

    #[test]
    fn an_answered_path_waits_its_time_and_longer_where_it_is_told_so() {
        let now = Instant::now();
        let mut pace = Pace::new(30 * S, now);
        assert!(pace.is_due(now));
        pace.good(now, Asks::default());
        assert!(!pace.is_due(now + 29 * S) && pace.is_due(now + 30 * S));
        pace.good(now, Asks::of(Some("120"), None, at()));
        assert!(!pace.is_due(now + 119 * S) && pace.is_due(now + 120 * S));
        // A platform that allows more often is not asked more often.
        pace.good(now, Asks::of(Some("1"), Some("\"minute\";r=60;t=60"), at()));
        assert_eq!(pace.due(), now + 30 * S);
    }

    #[test]
    fn failures_wait_longer_each_time() {
        let now = Instant::now();
        let mut pace = Pace::new(30 * S, now);
        let waits: Vec<u64> = (0..7)
            .map(|_| {
                pace.bad(now, Asks::default(), 0.0);
                pace.due().duration_since(now).as_secs()
            })
            .collect();
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
        pace.bad(now, Asks::default(), 1.0);
        assert_eq!(pace.due().duration_since(now).as_secs(), 750);
        pace.good(now, Asks::default());
        pace.bad(now, Asks::default(), 0.0);
        assert_eq!(pace.due(), now + 30 * S);
        let mut notice = Pace::new(5 * S, now);
        let waits: Vec<u64> = (0..6)
            .map(|_| {
                notice.bad(now, Asks::default(), 0.0);
                notice.due().duration_since(now).as_secs()
            })
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn what_a_server_asks_for_is_kept_to() {
        for (retry_after, rate_limit, seconds) in [
            (
                Some("12"),
                Some("\"minute\";r=0;t=12, \"hour\";r=2800;t=1812"),
                Some(12),
            ),
            (
                None,
                Some("\"minute\";r=2;t=120, \"hour\";r=2800;t=1812"),
                Some(60),
            ),
            (None, Some("\"day\";r=0;t=45012"), Some(3600)),
            (Some("Mon, 21 Sep 2026 14:15:00 GMT"), None, Some(100)),
            (Some("soon"), Some("nonsense;r=x"), None),
            (Some("99999999999"), None, None),
        ] {
            let wait = Asks::of(retry_after, rate_limit, at())
                .wait
                .map(|w| w.as_secs());
            assert_eq!(wait, seconds, "{retry_after:?} {rate_limit:?}");
        }
        assert!((0.0..=1.0).contains(&chance()));
    }

    proptest! {
        #[test]
        fn any_headers_are_read_or_left(a in "\\PC{0,40}", b in "\\PC{0,60}") {
            let _ = Asks::of(Some(&a), Some(&b), at());
        }
    }
}
