//! The last good value of every metric, with its age.

use crate::model::{Absent, Metric, Readings, Value};
use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// Values older than this many intervals are not shown any more (contract.md section 2).
const STALE_INTERVALS: f64 = 5.0;

/// Last readings of one device: a value stays while its source is silent for a moment, with its age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    readings: Readings,
    at: Vec<MonoTime>,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            readings: Readings::default(),
            at: vec![MonoTime(0); Metric::COUNT],
        }
    }
}

impl Held {
    /// Takes a sample in. Where the source did not answer (timed out, lost, stale) the last good value stays and its
    /// age grows; where it answered with a number that cannot be, that is what it said.
    pub(crate) fn take(&mut self, at: MonoTime, readings: &Readings) {
        for metric in Metric::ALL {
            let reading = readings.get(*metric);
            let unanswered = |why: Absent| why.passing() && !matches!(why, Absent::Implausible(_));
            let keep = reading.is_err_and(unanswered) && self.readings.get(*metric).is_ok();
            if !keep {
                self.readings.set(*metric, reading);
                if let Some(slot) = self.at.get_mut(*metric as usize) {
                    *slot = at;
                }
            }
        }
    }

    /// When the metric was last read.
    pub(crate) fn at(&self, metric: Metric) -> MonoTime {
        self.at.get(metric as usize).copied().unwrap_or_default()
    }

    /// The metric as it is to be shown at `now`. `silent` is why the device gives no samples at present.
    pub(crate) fn value(
        &self,
        metric: Metric,
        now: MonoTime,
        interval_s: f64,
        silent: Option<Absent>,
    ) -> Value {
        let age_s = now.seconds_since(self.at(metric)).max(0.0);
        match (self.readings.get(metric), silent) {
            (_, Some(Absent::Lost)) => Value::absent(Absent::Lost),
            (Ok(number), silent) if age_s <= interval_s * STALE_INTERVALS => Value {
                reading: Ok(number),
                // A tick that came a little late makes nothing old; a source that is silent does.
                age_s: if age_s > interval_s * if silent.is_some() { 1.0 } else { 1.5 } {
                    age_s
                } else {
                    0.0
                },
            },
            (Ok(_), silent) => Value {
                reading: Err(silent.unwrap_or(Absent::Stale)),
                age_s,
            },
            (Err(Absent::NotReported), Some(why)) => Value::absent(why),
            (Err(why), _) => Value::absent(why),
        }
    }

    /// All metrics as they are to be shown at `now`: none older than five intervals.
    pub(crate) fn shown(&self, now: MonoTime, interval_s: f64, silent: Option<Absent>) -> Readings {
        let mut shown = Readings::default();
        for metric in Metric::ALL {
            shown.set(
                *metric,
                self.value(*metric, now, interval_s, silent).reading,
            );
        }
        shown
    }

    /// The newest raw readings, those that were not answered held.
    pub(crate) fn readings(&self) -> &Readings {
        &self.readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000_000)
    }

    fn with(reading: Result<f64, Absent>) -> Readings {
        let mut readings = Readings::default();
        readings.set(Metric::Utilization, reading);
        readings
    }

    #[test]
    fn a_value_whose_source_does_not_answer_stays_with_its_age_until_it_is_stale() {
        let mut held = Held::default();
        held.take(second(1), &with(Ok(0.5)));
        held.take(second(3), &with(Err(Absent::TimedOut)));
        let value = |now| held.value(Metric::Utilization, second(now), 1.0, None);
        assert_eq!(value(1), Value::fresh(0.5));
        assert_eq!(
            value(3),
            Value {
                reading: Ok(0.5),
                age_s: 2.0
            }
        );
        assert_eq!(value(6).reading, Ok(0.5));
        assert_eq!(value(7).reading, Err(Absent::Stale));
    }

    #[test]
    fn a_value_that_never_came_is_never_zero() {
        let mut held = Held::default();
        held.take(second(1), &with(Err(Absent::Implausible(808.0))));
        assert_eq!(
            held.value(Metric::Utilization, second(1), 1.0, None)
                .reading,
            Err(Absent::Implausible(808.0))
        );
        assert_eq!(
            held.value(Metric::Energy, second(1), 1.0, Some(Absent::TimedOut))
                .reading,
            Err(Absent::TimedOut)
        );
    }

    #[test]
    fn an_implausible_value_is_told_at_once_with_what_the_driver_said() {
        let mut held = Held::default();
        held.take(second(1), &with(Ok(0.5)));
        held.take(second(2), &with(Err(Absent::Implausible(4_294_967_295.0))));
        let value = held.value(Metric::Utilization, second(2), 1.0, None);
        assert_eq!(value.reading, Err(Absent::Implausible(4_294_967_295.0)));
        held.take(second(3), &with(Ok(f64::NAN)));
        assert!(
            held.value(Metric::Utilization, second(3), 1.0, None)
                .reading
                .is_err()
        );
    }

    #[test]
    fn not_supported_replaces_an_old_value_at_once() {
        let mut held = Held::default();
        held.take(second(1), &with(Ok(0.5)));
        held.take(second(2), &with(Err(Absent::NotSupported)));
        assert_eq!(
            held.value(Metric::Utilization, second(2), 1.0, None)
                .reading,
            Err(Absent::NotSupported)
        );
    }
}
