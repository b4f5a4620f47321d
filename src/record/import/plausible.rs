//! Which numbers of a log can be. What cannot is absent, with the number as the log says it.

use crate::model::{Absent, Metric, Reading, Unit};

/// Above this, no board and no module draws (the largest module is limited to 2900 W).
const WATTS_MAX: f64 = 5000.0;
/// A clock above this is not one.
const MEGAHERTZ_MAX: f64 = 20_000.0;
/// No link carries more (PCIe 6 x16 is 121 GB/s raw; NVLink 1.8 TB/s both ways).
const BYTES_PER_S_MAX: f64 = 1e13;
/// A TiB is more memory than any device has today; sixteen of them no device will have for long.
const MEMORY_MAX: f64 = 16.0 * 1_099_511_627_776.0;
/// A hundred years: no driver was loaded for longer.
const SECONDS_MAX: f64 = 3_155_760_000.0;

/// Blank values that monitoring stacks write where there is none: the last 16 numbers of the signed 32 and 64
/// bit ranges, the highest of the unsigned ones, and 2^47 and the few after it.
fn is_blank(raw: f64) -> bool {
    (2_147_483_632.0..=2_147_483_647.0).contains(&raw)
        || raw == 4_294_967_295.0
        || (140_737_488_355_328.0..=140_737_488_355_343.0).contains(&raw)
        || raw >= 9_223_372_036_854_775_792.0
}

/// Zero of these is not a measurement: whatever answers draws power, has a temperature and memory.
pub(super) const fn is_never_zero(metric: Metric) -> bool {
    matches!(metric.unit(), Unit::Watt | Unit::Joule)
        || matches!(
            metric,
            Metric::CoreTemperature
                | Metric::MemoryTemperature
                | Metric::ThresholdShutdown
                | Metric::ThresholdSlowdown
                | Metric::MemoryTotal
                | Metric::SmClockMax
                | Metric::MemoryClockMax
                | Metric::PcieGenerationBefore
                | Metric::PcieGenerationAfter
                | Metric::PcieWidthBefore
                | Metric::PcieWidthAfter
                | Metric::PcieGenerationMax
                | Metric::PcieWidthMax
                | Metric::PcieGenerationDevice
                | Metric::ReasonsSupported
        )
}

/// `value` where it can be, else the `raw` number that the log says.
pub(super) fn checked(metric: Metric, raw: f64, value: f64) -> Reading<f64> {
    let range = match metric {
        Metric::Fan => 0.0..=1.5,
        // Instances exceed 1 by the way their share is normalised.
        Metric::SmActive | Metric::SmOccupancy | Metric::TensorActive | Metric::DramActive => {
            0.0..=10.0
        }
        Metric::PerformanceState => 0.0..=15.0,
        Metric::PcieGenerationBefore
        | Metric::PcieGenerationAfter
        | Metric::PcieGenerationMax
        | Metric::PcieGenerationDevice => 1.0..=8.0,
        Metric::PcieWidthBefore | Metric::PcieWidthAfter | Metric::PcieWidthMax => 1.0..=32.0,
        Metric::MemoryUsed
        | Metric::MemoryTotal
        | Metric::MemoryReserved
        | Metric::Bar1Used
        | Metric::Bar1Total => 0.0..=MEMORY_MAX,
        _ => match metric.unit() {
            Unit::Watt => 0.0..=WATTS_MAX,
            Unit::Celsius => -50.0..=200.0,
            Unit::Megahertz => 0.0..=MEGAHERTZ_MAX,
            Unit::Ratio => 0.0..=1.0,
            Unit::BytePerSecond => 0.0..=BYTES_PER_S_MAX,
            Unit::Second => 0.0..=SECONDS_MAX,
            Unit::Joule | Unit::Byte | Unit::Count => 0.0..=f64::MAX,
            Unit::Bits => 0.0..=u64::MAX as f64,
        },
    };
    let blank = metric.unit() != Unit::Bits && is_blank(raw);
    let none = value == 0.0 && is_never_zero(metric);
    if value.is_finite() && range.contains(&value) && !blank && !none {
        Ok(value)
    } else {
        Err(Absent::Implausible(if raw.is_finite() { raw } else { 0.0 }))
    }
}
