//! Which numbers can be. What cannot is absent, with the number as the driver said it.

use crate::model::{Absent, Reading};

/// Above this, no board and no module draws (the largest module is limited to 2900 W).
const WATTS_MAX: f64 = 5000.0;
/// Above this, no link carries (PCIe 6 x16 is 121 GB/s raw; NVLink 1.8 TB/s both ways).
const BYTES_PER_S_MAX: f64 = 1e13;
/// PCIe alone.
const PCIE_BYTES_PER_S_MAX: f64 = 2e11;
/// A clock above this is not one.
const MEGAHERTZ_MAX: u64 = 20_000;
/// A hundred years in ns: no driver was loaded for longer.
const NANOSECONDS_MAX: u64 = 3_155_760_000_000_000_000;

/// Blank values that monitoring stacks write where there is none: the last 16 numbers of the signed 32 and 64
/// bit ranges, and 2^47 and the few after it.
pub(crate) fn is_blank(raw: f64) -> bool {
    (2_147_483_632.0..=2_147_483_647.0).contains(&raw)
        || (140_737_488_355_328.0..=140_737_488_355_343.0).contains(&raw)
        || raw >= 9_223_372_036_854_775_792.0
}

fn implausible<T>(raw: f64) -> Reading<T> {
    Err(Absent::Implausible(raw))
}

/// Watts from mW. Nothing that answers draws nothing, and no limit is zero.
pub(crate) fn watts(milliwatts: u64) -> Reading<f64> {
    let watts = milliwatts as f64 / 1000.0;
    match milliwatts > 0 && watts <= WATTS_MAX {
        true => Ok(watts),
        false => implausible(milliwatts as f64),
    }
}

/// Watts from a library that tells whole ones.
pub(crate) fn whole_watts(raw: i64) -> Reading<f64> {
    match u64::try_from(raw).ok().and_then(|w| w.checked_mul(1000)) {
        Some(milliwatts) => watts(milliwatts).map_err(|_| Absent::Implausible(raw as f64)),
        None => implausible(raw as f64),
    }
}

/// A number that is never negative.
pub(crate) fn unsigned(raw: i64, read: impl Fn(u64) -> Reading<f64>) -> Reading<f64> {
    u64::try_from(raw).map_or_else(|_| implausible(raw as f64), read)
}

/// Bytes from MiB; what no `u64` holds is passed on as the highest, which is no memory.
pub(crate) fn mebibytes(raw: i64, read: impl Fn(u64) -> Reading<f64>) -> Reading<f64> {
    unsigned(raw, |mib| read(mib.saturating_mul(1024 * 1024)))
}

/// Joules from mJ. A counter that stands at zero counts nothing.
pub(crate) fn joules(millijoules: u64) -> Reading<f64> {
    let raw = millijoules as f64;
    match millijoules == 0 || millijoules == u64::from(u32::MAX) || is_blank(raw) {
        true => implausible(raw),
        false => Ok(raw / 1000.0),
    }
}

/// Degrees, of a core or of a margin.
pub(crate) fn celsius(degrees: i64) -> Reading<f64> {
    match (-50..=200).contains(&degrees) {
        true => Ok(degrees as f64),
        false => implausible(degrees as f64),
    }
}

/// Degrees of a sensor or threshold for which zero means that there is none.
pub(crate) fn celsius_above_zero(degrees: i64) -> Reading<f64> {
    match degrees {
        0 => implausible(0.0),
        other => celsius(other),
    }
}

/// A share from percent.
pub(crate) fn ratio(percent: u64) -> Reading<f64> {
    match percent <= 100 {
        true => Ok(percent as f64 / 100.0),
        false => implausible(percent as f64),
    }
}

/// A fan may turn faster than its nominal speed.
pub(crate) fn fan(percent: u64) -> Reading<f64> {
    match percent <= 150 {
        true => Ok(percent as f64 / 100.0),
        false => implausible(percent as f64),
    }
}

/// A share from a GPM percentage. Instances can exceed 100 by the way their share is normalised.
pub(crate) fn gpm_ratio(percent: f64, instance: bool) -> Reading<f64> {
    let slack = if instance { 1000.0 } else { 105.0 };
    match percent >= 0.0 && percent <= slack {
        true => Ok((percent / 100.0).min(1.0)),
        false => implausible(percent),
    }
}

/// Bytes per second of an NVLink total.
pub(crate) fn nvlink_rate(bytes_per_s: f64) -> Reading<f64> {
    match (0.0..=BYTES_PER_S_MAX).contains(&bytes_per_s) {
        true => Ok(bytes_per_s),
        false => implausible(bytes_per_s),
    }
}

/// Bytes per second of a PCIe link.
pub(crate) fn pcie_rate(bytes_per_s: f64) -> Reading<f64> {
    match (0.0..=PCIE_BYTES_PER_S_MAX).contains(&bytes_per_s) {
        true => Ok(bytes_per_s),
        false => implausible(bytes_per_s),
    }
}

/// Megahertz. A deep sleep is an honest zero.
pub(crate) fn megahertz(clock: u64) -> Reading<f64> {
    match clock <= MEGAHERTZ_MAX {
        true => Ok(clock as f64),
        false => implausible(clock as f64),
    }
}

/// A highest clock, which is never zero.
pub(crate) fn megahertz_max(clock: u64) -> Reading<f64> {
    match clock {
        0 => implausible(0.0),
        other => megahertz(other),
    }
}

/// P0 to P15; 32 is the driver's "unknown".
pub(crate) fn performance_state(state: u64) -> Reading<f64> {
    match state {
        0..=15 => Ok(state as f64),
        32 => Err(Absent::NotReported),
        other => implausible(other as f64),
    }
}

/// PCIe generations that exist, and one to come.
pub(crate) fn generation(generation: u64) -> Reading<f64> {
    match generation {
        1..=7 => Ok(generation as f64),
        other => implausible(other as f64),
    }
}

/// PCIe widths that exist.
pub(crate) fn width(width: u64) -> Reading<f64> {
    match width {
        1 | 2 | 4 | 8 | 12 | 16 | 32 => Ok(width as f64),
        other => implausible(other as f64),
    }
}

/// Seconds from ns.
pub(crate) fn seconds(nanoseconds: u64) -> Reading<f64> {
    match nanoseconds <= NANOSECONDS_MAX {
        true => Ok(nanoseconds as f64 / 1e9),
        false => implausible(nanoseconds as f64),
    }
}

/// A count of things.
pub(crate) fn count(number: u64) -> Reading<f64> {
    let raw = number as f64;
    match number == u64::from(u32::MAX) || is_blank(raw) {
        true => implausible(raw),
        false => Ok(raw),
    }
}

/// A mask. All ones is no mask; unknown bits are kept.
pub(crate) fn bits(mask: u64) -> Reading<f64> {
    match mask == u64::MAX || mask == u64::from(u32::MAX) || is_blank(mask as f64) {
        true => implausible(mask as f64),
        false => Ok(mask as f64),
    }
}

/// Yes (1) or no (0).
pub(crate) fn flag(raw: u64) -> Reading<f64> {
    match raw {
        0 | 1 => Ok(raw as f64),
        other => implausible(other as f64),
    }
}

/// What the driver asks for, 0 to 5; later ones are kept as long as they look like an action.
pub(crate) fn recovery_action(raw: u64) -> Reading<f64> {
    match raw <= 31 {
        true => Ok(raw as f64),
        false => implausible(raw as f64),
    }
}

/// Bytes of memory, at most `total` where that is known.
pub(crate) fn memory_part(bytes: u64, total: &Reading<f64>) -> Reading<f64> {
    let raw = bytes as f64;
    match total {
        Ok(total) if raw > *total => implausible(raw),
        _ if is_blank(raw) => implausible(raw),
        _ => Ok(raw),
    }
}

/// Bytes of memory in all: never none, and below a petabyte.
pub(crate) fn memory_total(bytes: u64) -> Reading<f64> {
    match bytes > 0 && bytes < 1 << 50 && !is_blank(bytes as f64) {
        true => Ok(bytes as f64),
        false => implausible(bytes as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(reading: &Reading<f64>) -> bool {
        matches!(reading, Err(Absent::Implausible(_)))
    }

    #[test]
    fn numbers_that_cannot_be_are_absent_with_their_value() {
        assert_eq!(
            ratio(4_294_967_295),
            Err(Absent::Implausible(4_294_967_295.0))
        );
        assert_eq!(
            watts(0xFFFF_FFFF),
            Err(Absent::Implausible(4_294_967_295.0))
        );
        assert_eq!(celsius(2112), Err(Absent::Implausible(2112.0)));
        for reading in [
            ratio(808),
            watts(0),
            watts(5_000_001),
            celsius(-51),
            celsius_above_zero(0),
            megahertz(0xFFFF_FFFF),
            megahertz_max(0),
            generation(0),
            generation(8),
            width(0),
            width(3),
            width(0xFFFF_FFFF),
            joules(0),
            joules(u64::MAX),
            joules(9_223_372_036_854_775_794),
            count(0xFFFF_FFFF),
            count(2_147_483_632),
            count(140_737_488_355_328),
            bits(u64::MAX),
            memory_total(0),
            memory_part(2, &Ok(1.0)),
            gpm_ratio(f64::NAN, false),
            gpm_ratio(140.0, false),
            pcie_rate(-1.0),
            flag(7),
        ] {
            assert!(bad(&reading), "{reading:?}");
        }
    }

    #[test]
    fn numbers_that_can_be_stay() {
        assert_eq!(watts(228_820), Ok(228.82));
        assert_eq!(ratio(100), Ok(1.0));
        assert_eq!(celsius(-8), Ok(-8.0));
        assert_eq!(megahertz(0), Ok(0.0));
        assert_eq!(gpm_ratio(140.0, true), Ok(1.0));
        assert_eq!(seconds(7_015_662_857_000), Ok(7_015.662_857));
        assert_eq!(bits(0x8000_0001), Ok(2_147_483_649.0));
        assert_eq!(performance_state(32), Err(Absent::NotReported));
    }
}
