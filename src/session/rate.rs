//! Rates from counters, and what a difference may be.

use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// A counter's last value and the rate between the last two.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Rate {
    last: Option<(f64, MonoTime)>,
    per_second: Option<f64>,
}

impl Rate {
    /// Takes the counter's value. `bits` is the counter's width, `ceiling` the highest rate that can be real.
    /// A counter of 32 bits that could wrap more than once between two readings gives no rate at all;
    /// a step back of a wider counter, or a rate over the ceiling, is a reset and gives none this time. Two values
    /// further apart than `longest_s` give none either: their mean says nothing about now.
    pub(crate) fn take(
        &mut self,
        value: f64,
        at: MonoTime,
        bits: Option<u32>,
        ceiling: Option<f64>,
        longest_s: f64,
    ) {
        self.per_second = self.last.and_then(|(before, then)| {
            let seconds = at.seconds_since(then);
            if seconds <= 0.0 {
                return self.per_second;
            }
            if seconds > longest_s {
                return None;
            }
            let modulus = (bits == Some(32)).then_some(4_294_967_296.0_f64);
            let difference = match modulus {
                Some(modulus) if ceiling.is_none_or(|c| c * seconds >= modulus) => return None,
                Some(modulus) => (value - before).rem_euclid(modulus),
                None => value - before,
            };
            let rate = difference / seconds;
            (difference >= 0.0 && ceiling.is_none_or(|c| rate <= c)).then_some(rate)
        });
        self.last = Some((value, at));
    }

    /// Forgets the last value: what comes next begins anew.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The rate, where two values were near enough.
    pub(crate) fn per_second(&self) -> Option<f64> {
        self.per_second
    }
}

/// A counter's growth since the session began, over resets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Growth {
    last: Option<(f64, MonoTime)>,
    sum: Option<f64>,
}

/// Drivers renew some counters only every other second: growth may be this much ahead of time.
const GROWTH_SLACK_S: f64 = 2.0;

impl Growth {
    /// Takes the counter's value. A step back is a reset, from which it counts on; a step of more than `ceiling`
    /// per second cannot be real and is left out.
    pub(crate) fn take(&mut self, value: f64, at: MonoTime, ceiling: f64) {
        let sum = self.sum.get_or_insert(0.0);
        if let Some((last, then)) = self.last {
            let seconds = at.seconds_since(then).max(0.0) + GROWTH_SLACK_S;
            if value >= last && value - last <= ceiling * seconds {
                *sum += value - last;
            }
        }
        self.last = Some((value, at));
    }

    /// The counter begins anew (another boot); what it grew stays.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
    }

    /// Growth so far, where the counter was ever read.
    pub(crate) fn sum(&self) -> Option<f64> {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000_000)
    }

    fn rate_of(values: &[f64], bits: u32, ceiling: Option<f64>) -> Option<f64> {
        let mut rate = Rate::default();
        for (n, value) in values.iter().enumerate() {
            rate.take(*value, second(n as u64 + 1), Some(bits), ceiling, 5.0);
        }
        rate.per_second()
    }

    #[test]
    fn counters_wrap_reset_and_lie() {
        assert_eq!(rate_of(&[100.0], 64, None), None);
        assert_eq!(rate_of(&[100.0, 350.0], 64, None), Some(250.0));
        assert_eq!(
            rate_of(&[4_294_967_196.0, 50.0], 32, Some(1e9)),
            Some(150.0)
        );
        assert_eq!(rate_of(&[4_294_967_196.0, 50.0], 64, None), None);
        assert_eq!(rate_of(&[0.0, 9e9], 64, Some(8e9)), None);
        assert_eq!(
            rate_of(&[0.0, 100.0], 32, Some(5e9)),
            None,
            "may have wrapped twice"
        );
    }

    #[test]
    fn growth_goes_on_over_a_reset() {
        let mut growth = Growth::default();
        assert_eq!(growth.sum(), None);
        for (n, value) in [100.0, 130.0, 5.0, 10.0, 1e18, 1e18]
            .into_iter()
            .enumerate()
        {
            growth.take(value, second(n as u64), 700.0);
        }
        assert_eq!(growth.sum(), Some(35.0), "an impossible step is left out");
        growth.begin_anew();
        growth.take(2e18, second(1), 700.0);
        assert_eq!(growth.sum(), Some(35.0));
    }

    #[test]
    fn values_too_far_apart_give_no_rate() {
        let mut rate = Rate::default();
        rate.take(0.0, second(1), Some(64), None, 5.0);
        rate.take(600.0, second(7), Some(64), None, 5.0);
        assert_eq!(rate.per_second(), None);
        rate.take(700.0, second(8), Some(64), None, 5.0);
        assert_eq!(rate.per_second(), Some(100.0));
    }
}
