//! The readings of each tick.

use super::{Files, Gt, Unit, slow};
use crate::model::{Absent, Metric, Reading, Readings, Reason};
use crate::probe::sysfs::{self, CELSIUS, MEGAHERTZ, WATTS, unless_zero, within};
use crate::probe::vendor::Answer;
use std::fs;
use std::sync::PoisonError;
use std::time::Instant;

/// Joules of a step of hwmon's energy counter.
const MICROJOULE: f64 = 1e-6;

/// What earlier polls of one card said.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Joules, and when they were read first.
    energy: Option<(f64, Instant)>,
    /// Milliseconds that each part has slept.
    idle: Option<(Vec<Reading<f64>>, Instant)>,
}

/// Gives some metrics one reason.
pub(super) fn set_all(readings: &mut Readings, why: Absent, which: impl Fn(&Metric) -> bool) {
    for metric in Metric::ALL.iter().filter(|metric| which(metric)) {
        readings.set(*metric, Err(why));
    }
}

/// Everything; nothing here blocks.
pub(super) fn sample(unit: &Unit, readings: &mut Readings) -> Answer {
    if !unit.is_there() {
        return Answer::Reopen;
    }
    let ours = |metric: &Metric| !slow::METRICS.contains(metric);
    set_all(readings, Absent::NotSupported, ours);
    let mut history = unit.history.lock().unwrap_or_else(PoisonError::into_inner);
    if unit.sleeps() {
        set_all(readings, Absent::NotReported, ours);
        *history = History::default();
        return Answer::Answered;
    }
    let now = Instant::now();
    sample_power(unit, &mut history, now, readings);
    sample_heat(unit, readings);
    let clock = fastest(unit, |files| files.clock);
    readings.set(Metric::SmClock, clock);
    readings.set(Metric::Utilization, awake(unit, &mut history, now));
    readings.set(Metric::Reasons, reasons(unit));
    let (generation, width) = unit.upstream.now();
    let number = |n: Option<u8>| n.map(f64::from).ok_or(Absent::NotReported);
    for (metric, value) in [
        (Metric::PcieGenerationBefore, generation),
        (Metric::PcieGenerationAfter, generation),
        (Metric::PcieWidthBefore, width),
        (Metric::PcieWidthAfter, width),
    ] {
        readings.set(metric, number(value));
    }
    answer(readings)
}

/// A card that fails to answer for its own sake is gone.
fn answer(readings: &Readings) -> Answer {
    let dead = |metric| matches!(readings.get(metric), Err(Absent::Lost));
    match dead(Metric::Energy) && dead(Metric::CoreTemperature) {
        true => Answer::Lost(Absent::Lost),
        false => Answer::Answered,
    }
}

/// There is no file of the power: it is what the energy counter grew by, over our own clock.
fn sample_power(unit: &Unit, history: &mut History, now: Instant, readings: &mut Readings) {
    let Some(hwmon) = &unit.hwmon else { return };
    let counter = hwmon
        .labelled("energy", "card", "input")
        .or_else(|_| hwmon.labelled("energy", "pkg", "input"))
        .or_else(|_| hwmon.number("energy1_input"));
    // Zero is what it says after a sleep, until it counts again.
    let joules = counter
        .and_then(unless_zero)
        .map(|steps| steps * MICROJOULE);
    readings.set(Metric::Energy, joules);
    readings.set(Metric::PowerUsage, power(history, joules, now));
    let limits = ["power1_max", "power1_cap"].map(|name| hwmon.number(name));
    // Zero is a limit that is switched off.
    let set = limits
        .iter()
        .filter_map(|limit| limit.ok().filter(|raw| *raw != 0.0));
    let limit = set.reduce(f64::min).ok_or(Absent::NotReported);
    let none = limits
        .iter()
        .all(|limit| *limit == Err(Absent::NotSupported));
    readings.set(
        Metric::LimitEnforced,
        match none {
            true => Err(Absent::NotSupported),
            false => limit.and_then(|raw| within(raw, 1e6, &WATTS)),
        },
    );
    if let (Ok(speed), Ok(most)) = (hwmon.number("fan1_input"), hwmon.number("fan1_max"))
        && most > 0.0
    {
        readings.set(Metric::Fan, within(speed, most, &(0.0..=2.0)));
    }
}

fn power(history: &mut History, joules: Reading<f64>, now: Instant) -> Reading<f64> {
    let joules = joules?;
    let Some((before, then)) = history.energy else {
        history.energy = Some((joules, now));
        return Err(Absent::NotReported);
    };
    if joules == before {
        // Not renewed since: what was known stays, with its age.
        return Err(Absent::TimedOut);
    }
    history.energy = Some((joules, now));
    let seconds = now.duration_since(then).as_secs_f64();
    match joules > before && seconds > 0.0 {
        true => within((joules - before) / seconds, 1.0, &WATTS),
        // It began anew.
        false => Err(Absent::NotReported),
    }
}

fn sample_heat(unit: &Unit, readings: &mut Readings) {
    let Some(hwmon) = &unit.hwmon else { return };
    let degrees = |raw: Reading<f64>| within(unless_zero(raw?)?, 1000.0, &CELSIUS);
    let package = match hwmon.labelled("temp", "pkg", "input") {
        // The older driver has one sensor without a label.
        Err(Absent::NotSupported) => hwmon.number("temp1_input"),
        package => package,
    };
    readings.set(Metric::CoreTemperature, degrees(package));
    let memory = hwmon.labelled("temp", "vram", "input");
    readings.set(Metric::MemoryTemperature, degrees(memory));
}

/// The fastest of the parts' clocks.
pub(super) fn fastest(unit: &Unit, file: impl Fn(&Files) -> &'static str) -> Reading<f64> {
    let clocks = unit.gts.iter().map(|gt| {
        let clock = sysfs::number(&gt.folder.join(file(gt.files)))?;
        within(clock, 1.0, &MEGAHERTZ)
    });
    best(clocks)
}

/// The highest, else the first reason.
fn best(all: impl Iterator<Item = Reading<f64>>) -> Reading<f64> {
    let higher = |a: Reading<f64>, b: Reading<f64>| match (a, b) {
        (Ok(a), Ok(b)) => Ok(f64::max(a, b)),
        (a, b) => a.or(b),
    };
    all.reduce(higher).unwrap_or(Err(Absent::NotSupported))
}

/// The share of the time since the last poll in which the busiest part was awake (not in its sleep state C6): Intel's
/// drivers have no other measure that needs no rights.
fn awake(unit: &Unit, history: &mut History, now: Instant) -> Reading<f64> {
    let slept = |gt: &Gt| sysfs::number(&gt.folder.join(gt.files.slept));
    let idle: Vec<Reading<f64>> = unit.gts.iter().map(slept).collect();
    let before = history.idle.replace((idle.clone(), now));
    let Some((before, then)) = before else {
        return best(idle.iter().copied()).and(Err(Absent::NotReported));
    };
    let milliseconds = now.duration_since(then).as_secs_f64() * 1000.0;
    best(idle.iter().zip(&before).map(|(now, before)| {
        let grown = (*now)? - (*before)?;
        // The driver renews it in steps of its own; one that begins anew says nothing.
        match grown >= 0.0 && milliseconds > 0.0 {
            true => Ok((1.0 - grown / milliseconds).max(0.0)),
            false => Err(Absent::NotReported),
        }
    }))
}

/// A reason's file name, after its prefix, in our words.
fn reason(name: &str) -> u64 {
    let has = |part: &str| name.contains(part);
    match () {
        () if has("prochot") => Reason::PROCHOT,
        () if has("vr_therm") => Reason::HW_THERMAL,
        () if has("therm") || has("ratl") || has("temp") => Reason::SW_THERMAL,
        () if has("tdc") || has("iccmax") => Reason::CURRENT,
        () if has("pl1") || has("pl2") || has("pl4") || has("psys") => Reason::POWER_CAP,
        () => Reason::HW_SLOWDOWN,
    }
}

/// Why the parts hold their clocks back: files of 0 and 1, one for each reason.
fn reasons(unit: &Unit) -> Reading<f64> {
    let mut words = Err(Absent::NotSupported);
    for gt in &unit.gts {
        let (folder, prefix) = gt.files.reasons;
        for file in fs::read_dir(gt.folder.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_prefix(prefix).filter(|name| *name != "status") else {
                continue;
            };
            match sysfs::number(&file.path()) {
                Ok(set) => {
                    let word = if set == 0.0 { 0 } else { reason(name) };
                    words = Ok(words.unwrap_or(0) | word);
                }
                Err(why) => words = words.map_err(|_| why),
            }
        }
    }
    words.map(|words| words as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn power_is_what_the_counter_grew_by() {
        let mut history = History::default();
        let begin = Instant::now();
        let mut at =
            |seconds, joules| power(&mut history, joules, begin + Duration::from_secs(seconds));
        assert_eq!(at(0, Ok(1000.0)), Err(Absent::NotReported));
        assert_eq!(at(1, Ok(1150.0)), Ok(150.0));
        assert_eq!(at(2, Ok(1150.0)), Err(Absent::TimedOut));
        // Both seconds' worth.
        assert_eq!(at(3, Ok(1450.0)), Ok(150.0));
        assert_eq!(at(4, Err(Absent::NotReported)), Err(Absent::NotReported));
        assert_eq!(at(5, Ok(10.0)), Err(Absent::NotReported));
        assert_eq!(at(6, Ok(50.0)), Ok(40.0));
        assert_eq!(at(7, Ok(9e9)), Err(Absent::Implausible(9e9 - 50.0)));
    }

    #[test]
    fn every_reason_has_a_word() {
        for (name, word) in [
            ("pl1", Reason::POWER_CAP),
            ("pl4", Reason::POWER_CAP),
            ("psys_crit", Reason::POWER_CAP),
            ("thermal", Reason::SW_THERMAL),
            ("soc_thermal", Reason::SW_THERMAL),
            ("ratl", Reason::SW_THERMAL),
            ("vr_thermalert", Reason::HW_THERMAL),
            ("vr_tdc", Reason::CURRENT),
            ("iccmax", Reason::CURRENT),
            ("prochot", Reason::PROCHOT),
            ("fast_vmode", Reason::HW_SLOWDOWN),
        ] {
            assert_eq!(reason(name), word, "{name}");
        }
    }
}
