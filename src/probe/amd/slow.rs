//! The readings that change rarely.

use super::Unit;
use super::sample::core_label;
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::pcie::lesser;
use crate::probe::sysfs::{self, CELSIUS, MEGAHERTZ, MEMORY, WATTS, unless_zero, within};
use std::fs;

/// What is set here, and left alone by each tick.
pub(super) const METRICS: &[Metric] = &[
    Metric::LimitDefault,
    Metric::LimitMin,
    Metric::LimitMax,
    Metric::ThresholdShutdown,
    Metric::ThresholdSlowdown,
    Metric::ThresholdMemoryMax,
    Metric::SmClockMax,
    Metric::MemoryClockMax,
    Metric::MemoryTotal,
    Metric::EccUncorrected,
    Metric::EccCorrected,
    Metric::PcieGenerationMax,
    Metric::PcieWidthMax,
    Metric::PcieReplays,
];

/// Sets all of [`METRICS`].
pub(super) fn sample(unit: &Unit, readings: &mut Readings) {
    for metric in METRICS {
        readings.set(*metric, Err(Absent::NotSupported));
    }
    if unit.sleeps() {
        for metric in METRICS {
            readings.set(*metric, Err(Absent::NotReported));
        }
        return;
    }
    sample_limits(unit, readings);
    sample_thresholds(unit, readings);
    for (metric, file) in [
        (Metric::SmClockMax, "pp_dpm_sclk"),
        (Metric::MemoryClockMax, "pp_dpm_mclk"),
    ] {
        let clock = sysfs::text(&unit.path(file)).and_then(|text| fastest(&text));
        readings.set(metric, clock);
    }
    let total = unit.number("mem_info_vram_total").and_then(unless_zero);
    readings.set(
        Metric::MemoryTotal,
        total.and_then(|raw| within(raw, 1.0, &MEMORY)),
    );
    let replays = unit.number("pcie_replay_count");
    readings.set(
        Metric::PcieReplays,
        replays.and_then(|raw| within(raw, 1.0, &(0.0..=1e15))),
    );
    sample_errors(unit, readings);
    let (own, most) = (unit.upstream.own().1, unit.upstream.most());
    // Made-up bridges leave the card's own word, which may be that of a switch on it.
    let known = !unit.upstream.emulated;
    let of = |own, most| {
        let least = lesser(own, most).filter(|_| known);
        least.map(f64::from).ok_or(Absent::NotReported)
    };
    readings.set(Metric::PcieGenerationMax, of(own.0, most.0));
    readings.set(Metric::PcieWidthMax, of(own.1, most.1));
}

/// Limits of a package, told by one of its cards. Zero is what a card says that has none.
fn sample_limits(unit: &Unit, readings: &mut Readings) {
    if unit.repeats {
        return;
    }
    for (metric, file) in [
        (Metric::LimitDefault, "power1_cap_default"),
        (Metric::LimitMin, "power1_cap_min"),
        (Metric::LimitMax, "power1_cap_max"),
    ] {
        let limit = unit.hwmon(file).and_then(unless_zero);
        readings.set(metric, limit.and_then(|raw| within(raw, 1e6, &WATTS)));
    }
}

/// Where the card slows down (critical) and where it goes off (emergency).
fn sample_thresholds(unit: &Unit, readings: &mut Readings) {
    let of = |label: Option<&str>, what| -> Reading<f64> {
        let hwmon = unit.hwmon.as_ref().ok_or(Absent::NotSupported)?;
        let raw = hwmon.labelled("temp", label.ok_or(Absent::NotSupported)?, what)?;
        within(unless_zero(raw)?, 1000.0, &CELSIUS)
    };
    let core = core_label(unit);
    readings.set(Metric::ThresholdSlowdown, of(core, "crit"));
    readings.set(Metric::ThresholdShutdown, of(core, "emergency"));
    readings.set(Metric::ThresholdMemoryMax, of(Some("mem"), "crit"));
}

/// The highest of levels such as `1: 2219Mhz *`, whose order says nothing.
fn fastest(text: &str) -> Reading<f64> {
    let levels = text.lines().filter_map(|line| {
        let level = line.split_once(':')?.1.trim();
        let digits = level.split(|c: char| !c.is_ascii_digit()).next()?;
        let rest = level[digits.len()..].to_ascii_lowercase();
        rest.starts_with("mhz")
            .then(|| digits.parse::<f64>().ok())?
    });
    let most = levels.fold(None, |most: Option<f64>, level| {
        Some(most.map_or(level, |most| most.max(level)))
    });
    within(most.ok_or(Absent::NotReported)?, 1.0, &MEGAHERTZ)
}

/// Errors of memory and blocks, from `ras/*_err_count`: `ue: N` and `ce: N` on lines of their own.
fn sample_errors(unit: &Unit, readings: &mut Readings) {
    let files = fs::read_dir(unit.path("ras"))
        .into_iter()
        .flatten()
        .flatten();
    let texts: Vec<String> = files
        .filter(|file| file.file_name().to_string_lossy().ends_with("_err_count"))
        .filter_map(|file| sysfs::text(&file.path()).ok())
        .collect();
    for (metric, kind) in [(Metric::EccUncorrected, "ue"), (Metric::EccCorrected, "ce")] {
        let counts: Vec<u64> = texts.iter().filter_map(|text| errors(text, kind)).collect();
        if !counts.is_empty() {
            let sum = counts.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
            readings.set(metric, within(sum as f64, 1.0, &(0.0..=1e15)));
        }
    }
}

fn errors(text: &str, kind: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.split_once(':'));
    let (_, count) = rows.find(|(name, _)| name.trim() == kind)?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_highest_level_is_found_wherever_it_stands() {
        for (text, most) in [
            ("0: 500Mhz\n1: 31Mhz *\n2: 2219Mhz", Ok(2219.0)),
            ("S: 19Mhz *\n0: 615Mhz\n1: 800Mhz\n2: 888Mhz", Ok(888.0)),
            ("0: 96Mhz \n1: 1249MHz *", Ok(1249.0)),
            ("0: 16.0GT/s, x16 619Mhz *", Err(Absent::NotReported)),
            ("", Err(Absent::NotReported)),
            (
                "0: 4294967295Mhz",
                Err(Absent::Implausible(4_294_967_295.0)),
            ),
        ] {
            assert_eq!(fastest(text), most, "{text}");
        }
    }

    #[test]
    fn errors_are_counted_by_kind() {
        assert_eq!(errors("ue: 3\nce: 14", "ue"), Some(3));
        assert_eq!(errors("ue: 3\nce: 14", "ce"), Some(14));
        assert_eq!(errors("garbage", "ce"), None);
        assert_eq!(errors("ce: 18446744073709551616", "ce"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = (fastest(&text), errors(&text, "ue"));
        }
    }
}
