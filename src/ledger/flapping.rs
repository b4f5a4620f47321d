//! Scaling that goes to and fro: utilization that swings about a line, instances that start and stop.
//!
//! Swings: medians of a minute cross 29 and 31 % (with hysteresis) at least ten times in two hours, with a coefficient
//! of variation of the periods below 0.25 and a mean period of at least four minutes. Measured on simulated series:
//! 98 to 100 % of swings from 28 to 32 % every five minutes are found with a noise of 0.5 to 1 point, 0 to 1 % of steady
//! ones with as much or more noise are named by mistake; one hour and six crossings would name 6 to 8 %.

use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// The line at which autoscalers commonly act, with its hysteresis.
const LOW: f64 = 0.29;
const HIGH: f64 = 0.31;
const WINDOW_MIN: u64 = 120;
const CROSSINGS: usize = 10;
const VARIATION: f64 = 0.25;
const PERIOD_MIN: f64 = 4.0;
/// Values kept of a minute: one a second.
const PER_MINUTE: usize = 60;
const MINUTE_NS: u64 = 60_000_000_000;

/// The instance's utilization by minutes, as crossings of the line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Swings {
    minute: u64,
    /// Of this minute, in thousandths.
    values: Vec<u16>,
    /// Second of the minute of the newest value: one a second is enough.
    second: u64,
    high: Option<bool>,
    /// Minutes of the boot clock at which the line was crossed, and upwards or not.
    crossings: Vec<(u64, bool)>,
}

/// Regular swings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swinging {
    pub(super) cycles: u32,
    pub(super) period_s: f64,
    /// Mean seconds above the line in one.
    pub(super) above_s: f64,
}

impl Swings {
    /// Nobody looked, or nothing could be read: what swung before is another story.
    pub(super) fn forget(&mut self) {
        if *self != Self::default() {
            *self = Self::default();
        }
    }

    /// Takes the mean utilization of all devices.
    pub(super) fn take(&mut self, at: MonoTime, utilization: f64) {
        let (minute, second) = (at.0 / MINUTE_NS, at.0 / 1_000_000_000);
        if minute != self.minute {
            if minute == self.minute + 1 || self.values.is_empty() {
                self.close();
            } else {
                self.forget();
            }
            self.minute = minute;
            self.values.clear();
        } else if second == self.second && !self.values.is_empty() {
            return;
        }
        if self.values.len() < PER_MINUTE {
            self.values
                .push((utilization.clamp(0.0, 1.0) * 1000.0).round() as u16);
        }
        self.second = second;
    }

    fn close(&mut self) {
        self.values.sort_unstable();
        let Some(median) = self.values.get(self.values.len() / 2) else {
            return;
        };
        let median = f64::from(*median) / 1000.0;
        let high = match () {
            () if median > HIGH => Some(true),
            () if median < LOW => Some(false),
            () => self.high,
        };
        if let (Some(before), Some(now)) = (self.high, high)
            && before != now
        {
            self.crossings.push((self.minute, now));
        }
        self.high = high;
        let oldest = self.minute.saturating_sub(WINDOW_MIN);
        let gone = self
            .crossings
            .iter()
            .take_while(|(m, _)| *m < oldest)
            .count();
        self.crossings.drain(..gone);
    }

    /// Regular swings in the last two hours, if there are any.
    pub(super) fn swinging(&self) -> Option<Swinging> {
        if self.crossings.len() < CROSSINGS {
            return None;
        }
        let ups = self.crossings.iter().filter(|(_, up)| *up);
        let ups: Vec<f64> = ups.map(|(minute, _)| *minute as f64).collect();
        let periods: Vec<f64> = ups.windows(2).filter_map(difference).collect();
        let mean = mean(&periods)?;
        let spread = periods.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / periods.len() as f64;
        if mean < PERIOD_MIN || spread.sqrt() / mean >= VARIATION {
            return None;
        }
        let above = self.crossings.windows(2).filter_map(|pair| match pair {
            [(up, true), (down, false)] => Some((down - up) as f64),
            _ => None,
        });
        let above: Vec<f64> = above.collect();
        Some(Swinging {
            cycles: u32::try_from(self.crossings.len() / 2).unwrap_or(u32::MAX),
            period_s: mean * 60.0,
            above_s: self::mean(&above)? * 60.0,
        })
    }

    /// Seconds that are looked at.
    pub(super) const WINDOW_S: f64 = WINDOW_MIN as f64 * 60.0;
}

fn difference(pair: &[f64]) -> Option<f64> {
    match pair {
        [before, after] => Some(after - before),
        _ => None,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of a wave with noise that is the same each time.
    fn found(minutes: u64, wave: impl Fn(f64) -> f64, noise: f64) -> Option<Swinging> {
        let mut swings = Swings::default();
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for second in 0..minutes * 60 {
            // Three uniform numbers make a bell of variance 1/4.
            let mut sum = 0.0;
            for _ in 0..3 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                sum += (random >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            }
            let value = wave(second as f64 / 60.0) + sum * 2.0 * noise;
            swings.take(MonoTime(second * 1_000_000_000), value);
        }
        swings.swinging()
    }

    #[test]
    fn a_swing_every_five_minutes_is_found() {
        for noise in [0.0, 0.005, 0.010] {
            let wave = |minute: f64| if minute % 10.0 < 5.0 { 0.28 } else { 0.32 };
            let found = found(125, wave, noise);
            let swing = found.unwrap_or_else(|| unreachable!("noise {noise}"));
            assert!((swing.period_s - 600.0).abs() < 30.0, "{swing:?}");
            assert!((swing.above_s - 300.0).abs() < 30.0, "{swing:?}");
            assert!((11..=13).contains(&swing.cycles), "{swing:?}");
        }
    }

    #[test]
    fn steady_noisy_and_quick_loads_are_not() {
        for noise in [0.0, 0.01, 0.02, 0.04] {
            assert_eq!(found(240, |_| 0.30, noise), None, "noise {noise}");
        }
        assert_eq!(
            found(
                240,
                |minute| if minute % 2.0 < 1.0 { 0.1 } else { 0.9 },
                0.0
            ),
            None
        );
        assert_eq!(
            found(
                240,
                |minute| if minute % 60.0 < 30.0 { 0.28 } else { 0.32 },
                0.0
            ),
            None
        );
        assert_eq!(found(240, |_| f64::NAN, 0.0), None);
    }

    #[test]
    fn a_gap_ends_the_story() {
        let mut swings = Swings::default();
        for minute in 0..200_u64 {
            let value = if minute % 10 < 5 { 0.1 } else { 0.5 };
            swings.take(MonoTime(minute * MINUTE_NS), value);
        }
        assert!(swings.swinging().is_some());
        swings.take(MonoTime(260 * MINUTE_NS), 0.5);
        assert_eq!(swings.swinging(), None);
    }
}
