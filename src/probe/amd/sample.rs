//! The readings of each tick.

use super::blob::{self, Blob, Refused};
use super::{Unit, not_supported, slow};
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::pcie::{self, Link};
use crate::probe::sysfs::{self, CELSIUS, MEGAHERTZ, MEMORY, PERCENT, WATTS, unless_zero, within};
use crate::probe::vendor::Answer;
use crate::units::{LinkSpeed, raw_bytes_per_second};
use std::sync::PoisonError;
use std::time::Instant;

/// Steps of the firmware's energy counter to a joule on Instinct cards; what they are on other cards, nobody says.
const ENERGY_STEPS: f64 = 65_536.0;
/// Joules since the driver was loaded: not more than forty years of the largest card.
const JOULES: std::ops::RangeInclusive<f64> = 0.0..=2e12;
/// MI200: whose counter has those steps, too.
const MI200: std::ops::RangeInclusive<u16> = 0x7408..=0x7410;
/// The first revision of the MI300 family.
const MI300: u8 = 4;

/// Where each hwmon sensor is looked for, the best first: the hottest point decides when a card slows down.
pub(super) const CORE_LABELS: [&str; 2] = ["junction", "edge"];

/// Everything that does not block.
pub(super) fn sample(unit: &Unit, readings: &mut Readings) -> Answer {
    if !unit.is_there() {
        return Answer::Reopen;
    }
    not_supported(readings, slow::METRICS);
    if unit.sleeps() {
        for metric in Metric::ALL.iter().filter(|m| !slow::METRICS.contains(m)) {
            readings.set(*metric, Err(Absent::NotReported));
        }
        return Answer::Answered;
    }
    let blob = metrics(unit);
    let said = blob.as_ref().ok();
    sample_power(unit, said, readings);
    sample_heat(unit, said, readings);
    sample_clocks(unit, said, readings);
    sample_activity(unit, said, readings);
    let used = unit.number("mem_info_vram_used");
    readings.set(
        Metric::MemoryUsed,
        used.and_then(|raw| within(raw, 1.0, &MEMORY)),
    );
    sample_link(unit, said, readings);
    if let Some(blob) = said {
        let mut history = unit.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.take(blob, Instant::now(), readings);
    }
    answer(readings)
}

/// A card whose every reading fails for the card's own sake is gone; one that is being reset may come back.
fn answer(readings: &Readings) -> Answer {
    let vital = [
        Metric::PowerAverage,
        Metric::PowerInstant,
        Metric::CoreTemperature,
        Metric::Utilization,
        Metric::MemoryUsed,
    ];
    let whys = vital.map(|metric| readings.get(metric).err());
    let dead = |why: &Option<Absent>| matches!(why, Some(Absent::Lost | Absent::TimedOut));
    let silent = |why: &Option<Absent>| dead(why) || *why == Some(Absent::NotSupported);
    match whys.iter().all(silent) && whys.iter().any(dead) {
        true => Answer::Lost(Absent::Lost),
        false => Answer::Answered,
    }
}

/// The firmware's metrics. A blob that does not hold what it says was read while it was written: once more.
fn metrics(unit: &Unit) -> Reading<Blob> {
    unit.asked("gpu_metrics", || {
        let once = || Ok(blob::decode(&unit.bytes()?));
        let first = match once()? {
            Err(Refused::Torn) => once()?,
            first => first,
        };
        first.map_err(|refused| match refused {
            Refused::Torn => Absent::NotReported,
            Refused::Revision(..) => Absent::NotSupported,
        })
    })
}

/// The first of two that is there; a number that cannot be is not papered over.
fn either(first: Reading<f64>, second: impl FnOnce() -> Reading<f64>) -> Reading<f64> {
    match first {
        Ok(_) | Err(Absent::Implausible(_)) => first,
        Err(_) => second(),
    }
}

/// What the blob has, in the metric's own unit.
fn said(value: Option<f64>) -> Reading<f64> {
    value.ok_or(Absent::NotReported)
}

/// A metric with its value, or with the reason why it has none.
type Told = Result<(Metric, f64), (Metric, Absent)>;

/// The metric of the power reading, and the reading: the firmware's, else hwmon's average, else its instant. A card
/// that is awake draws something: zero means that it does not say.
pub(super) fn power(unit: &Unit, blob: Option<&Blob>) -> Told {
    let metric = match blob.is_some_and(|blob| blob.power_is_average) {
        true => Metric::PowerAverage,
        false => Metric::PowerInstant,
    };
    let told = |metric, raw: Reading<f64>, unit| {
        let watts = raw.and_then(unless_zero);
        let watts = watts.and_then(|raw| within(raw, unit, &WATTS));
        watts
            .map(|watts| (metric, watts))
            .map_err(|why| (metric, why))
    };
    let hwmon = |first: (Metric, Absent), metric, name| match first.1 {
        Absent::Implausible(_) => Err(first),
        _ => told(metric, unit.hwmon(name), 1e6).map_err(|second| match second.1 {
            Absent::NotSupported => first,
            _ => second,
        }),
    };
    let firmware = blob.map_or(Err(Absent::NotSupported), |blob| said(blob.power));
    told(metric, firmware, 1.0)
        .or_else(|why| hwmon(why, Metric::PowerAverage, "power1_average"))
        .or_else(|why| hwmon(why, Metric::PowerInstant, "power1_input"))
}

fn sample_power(unit: &Unit, blob: Option<&Blob>, readings: &mut Readings) {
    if unit.repeats {
        return;
    }
    match power(unit, blob) {
        Ok((metric, watts)) => readings.set(metric, Ok(watts)),
        Err((metric, why)) => {
            readings.set(metric, Err(why));
            readings.set(Metric::PowerUsage, Err(why));
        }
    }
    let cap = unit.hwmon("power1_cap").and_then(unless_zero);
    readings.set(
        Metric::LimitEnforced,
        cap.and_then(|raw| within(raw, 1e6, &WATTS)),
    );
    let counted = blob.filter(|blob| blob.content >= MI300 || MI200.contains(&unit.card.id));
    if let Some(blob) = counted {
        let joules = said(blob.energy).and_then(|steps| within(steps, ENERGY_STEPS, &JOULES));
        readings.set(Metric::Energy, joules);
    }
}

fn sample_heat(unit: &Unit, blob: Option<&Blob>, readings: &mut Readings) {
    let hwmon = |label, what| {
        let hwmon = unit.hwmon.as_ref().ok_or(Absent::NotSupported)?;
        let raw = hwmon.labelled("temp", label, what)?;
        within(unless_zero(raw)?, 1000.0, &CELSIUS)
    };
    let degrees = |value: Option<f64>| {
        let value = said(value).and_then(unless_zero)?;
        within(value, 1.0, &CELSIUS)
    };
    // The same sensor as the thresholds are of.
    let label = core_label(unit);
    let core = blob.and_then(|blob| match label {
        Some("edge") => blob.edge,
        _ => blob.hotspot,
    });
    let core = either(degrees(core), || {
        hwmon(label.ok_or(Absent::NotSupported)?, "input")
    });
    readings.set(Metric::CoreTemperature, core);
    let memory = degrees(blob.and_then(|blob| blob.memory));
    readings.set(
        Metric::MemoryTemperature,
        either(memory, || hwmon("mem", "input")),
    );
}

/// The label of the core's sensor, where hwmon has one.
pub(super) fn core_label(unit: &Unit) -> Option<&'static str> {
    let hwmon = unit.hwmon.as_ref()?;
    let has = |label: &&str| hwmon.sensor("temp", label).is_some();
    CORE_LABELS.into_iter().find(has)
}

fn sample_clocks(unit: &Unit, blob: Option<&Blob>, readings: &mut Readings) {
    for (metric, clock, label) in [
        (
            Metric::SmClock,
            blob.and_then(|blob| blob.core_clock),
            "sclk",
        ),
        (
            Metric::MemoryClock,
            blob.and_then(|blob| blob.memory_clock),
            "mclk",
        ),
    ] {
        let by_blob = said(clock).and_then(|raw| within(raw, 1.0, &MEGAHERTZ));
        let reading = either(by_blob, || {
            let hwmon = unit.hwmon.as_ref().ok_or(Absent::NotSupported)?;
            within(hwmon.labelled("freq", label, "input")?, 1e6, &MEGAHERTZ)
        });
        readings.set(metric, reading);
    }
    if let Some(hwmon) = &unit.hwmon
        && let (Ok(speed), Ok(most)) = (hwmon.number("fan1_input"), hwmon.number("fan1_max"))
        && most > 0.0
    {
        readings.set(Metric::Fan, within(speed, most, &(0.0..=2.0)));
    }
}

/// MI200's firmware may give hundredths of a per cent: there the files come first, which the driver has put right.
fn sample_activity(unit: &Unit, blob: Option<&Blob>, readings: &mut Readings) {
    let share = |raw: f64| within(raw, 1.0, &PERCENT).map(|percent| percent / 100.0);
    for (metric, value, file) in [
        (
            Metric::Utilization,
            blob.and_then(|blob| blob.activity),
            "gpu_busy_percent",
        ),
        (
            Metric::MemoryActivity,
            blob.and_then(|blob| blob.memory_activity),
            "mem_busy_percent",
        ),
    ] {
        let by_file = || unit.number(file).and_then(share);
        let by_blob = value.map(share);
        let reading = match by_blob {
            Some(by_blob) if MI200.contains(&unit.card.id) => by_file().or(by_blob),
            Some(by_blob) => by_blob,
            None => by_file(),
        };
        readings.set(metric, reading);
    }
}

/// The link in use: the least of what the card's firmware and the bridges above it say. A guest's bridges are made up, and
/// then only the MI300's firmware is known to speak of the slot: other cards may speak of a switch of their own.
fn sample_link(unit: &Unit, blob: Option<&Blob>, readings: &mut Readings) {
    let firmware: Link = blob.map_or((None, None), |blob| {
        let (width, speed) = blob.link;
        (
            speed.and_then(generation),
            width.and_then(|w| pcie::lanes(w.try_into().ok()?)),
        )
    });
    let (generation, width) = match unit.upstream.now() {
        _ if unit.upstream.emulated => match blob.is_some_and(|blob| blob.content >= MI300) {
            true => firmware,
            false => (None, None),
        },
        (None, None) => match firmware {
            (None, None) => unit.upstream.own().0,
            firmware => firmware,
        },
        (speed, width) => (
            pcie::lesser(speed, firmware.0),
            pcie::lesser(width, firmware.1),
        ),
    };
    let number = |n: Option<u8>| n.map(f64::from).ok_or(Absent::NotReported);
    for metric in [Metric::PcieGenerationBefore, Metric::PcieGenerationAfter] {
        readings.set(metric, number(generation));
    }
    for metric in [Metric::PcieWidthBefore, Metric::PcieWidthAfter] {
        readings.set(metric, number(width));
    }
    if let Some(blob) = blob.filter(|blob| blob.content >= MI300) {
        let link = generation
            .zip(width)
            .map(|(generation, width)| LinkSpeed { generation, width });
        let mut traffic = unit.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        readings.set(Metric::PcieBothRate, traffic.rate(blob.traffic, link));
    }
}

/// Tenths of GT/s as a generation.
fn generation(speed: u16) -> Option<u8> {
    let speeds = [25, 50, 80, 160, 320, 640];
    let at = speeds.iter().position(|known| *known == speed)?;
    u8::try_from(at + 1).ok()
}

/// Whether the driver counts PCIe messages: a read that takes it a second. Most cards have the file and refuse.
pub(super) fn counts_messages(unit: &Unit) -> bool {
    unit.path("pcie_bw").exists() && !unit.sleeps()
}

/// Messages received and sent in a second, times the largest message: what AMD's own tool calls the estimated maximum.
pub(super) fn messages(unit: &Unit, readings: &mut Readings) {
    let counts = unit.asked("pcie_bw", || {
        let text = sysfs::text(&unit.path("pcie_bw"))?;
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(received)), Some(Ok(sent)), Some(Ok(largest))) if largest > 0 => {
                Ok([received, sent].map(|count| count as f64 * largest as f64))
            }
            _ => Err(Absent::NotReported),
        }
    });
    let (generation, width) = unit.upstream.now();
    let ceiling = generation
        .zip(width)
        .and_then(|(generation, width)| raw_bytes_per_second(LinkSpeed { generation, width }))
        .unwrap_or(2e11);
    for (n, metric) in [Metric::PcieRxRate, Metric::PcieTxRate]
        .into_iter()
        .enumerate()
    {
        let rate = counts.map(|rates| rates[n]);
        readings.set(
            metric,
            rate.and_then(|rate| within(rate, 1.0, &(0.0..=ceiling))),
        );
    }
}
