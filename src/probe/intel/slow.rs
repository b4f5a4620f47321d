//! The readings that change rarely.

use super::Unit;
use super::sample::{fastest, set_all};
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::sysfs::{CELSIUS, WATTS, unless_zero, within};

/// What is set here, and left alone by each tick.
pub(super) const METRICS: &[Metric] = &[
    Metric::RatedPower,
    Metric::ThresholdSlowdown,
    Metric::ThresholdShutdown,
    Metric::ThresholdMemoryMax,
    Metric::SmClockMax,
    Metric::PcieGenerationMax,
    Metric::PcieWidthMax,
];

/// Sets all of [`METRICS`].
pub(super) fn sample(unit: &Unit, readings: &mut Readings) {
    set_all(readings, Absent::NotSupported, |metric| {
        METRICS.contains(metric)
    });
    if unit.sleeps() {
        set_all(readings, Absent::NotReported, |metric| {
            METRICS.contains(metric)
        });
        return;
    }
    if let Some(hwmon) = &unit.hwmon {
        let rated = hwmon.number("power1_rated_max").and_then(unless_zero);
        readings.set(
            Metric::RatedPower,
            rated.and_then(|raw| within(raw, 1e6, &WATTS)),
        );
        let degrees = |label, what| -> Reading<f64> {
            within(
                unless_zero(hwmon.labelled("temp", label, what)?)?,
                1000.0,
                &CELSIUS,
            )
        };
        readings.set(Metric::ThresholdSlowdown, degrees("pkg", "crit"));
        readings.set(Metric::ThresholdShutdown, degrees("pkg", "emergency"));
        readings.set(Metric::ThresholdMemoryMax, degrees("vram", "crit"));
    }
    readings.set(Metric::SmClockMax, fastest(unit, |files| files.clock_max));
    let number = |n: Option<u8>| n.map(f64::from).ok_or(Absent::NotReported);
    let (generation, width) = unit.upstream.most();
    readings.set(Metric::PcieGenerationMax, number(generation));
    readings.set(Metric::PcieWidthMax, number(width));
}
