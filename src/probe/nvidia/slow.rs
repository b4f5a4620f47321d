//! The readings that change rarely.

use super::devices;
use super::ffi::{FieldNumber, FieldQuery, Getter};
use super::sample::{count, either, field, signed, watts};
use super::unit::{Call, Round};
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::plausible;
use std::sync::atomic::Ordering;

/// The most NVLinks that a device of NVML has.
pub(super) const LINKS_MAX: u32 = 36;

/// What `sample_slow` sets, and `sample` leaves alone.
pub(super) const METRICS: &[Metric] = &[
    Metric::LimitRequested,
    Metric::LimitDefault,
    Metric::LimitMin,
    Metric::LimitMax,
    Metric::ThresholdShutdown,
    Metric::ThresholdSlowdown,
    Metric::ThresholdGpuMax,
    Metric::ThresholdMemoryMax,
    Metric::MarginShutdown,
    Metric::MarginSlowdown,
    Metric::MarginMemoryMax,
    Metric::MarginGpuMax,
    Metric::SmClockMax,
    Metric::MemoryClockMax,
    Metric::ApplicationClock,
    Metric::ApplicationMemoryClock,
    Metric::EccEnabled,
    Metric::ReasonsSupported,
    Metric::Bar1Used,
    Metric::Bar1Total,
    Metric::EccUncorrected,
    Metric::EccCorrected,
    Metric::RemapCorrectable,
    Metric::RemapUncorrectable,
    Metric::RemapPending,
    Metric::RemapFailure,
    Metric::RetiredPages,
    Metric::RetiredPending,
    Metric::PcieGenerationMax,
    Metric::PcieWidthMax,
    Metric::PcieGenerationDevice,
    Metric::PcieCorrectable,
    Metric::PcieNonFatal,
    Metric::PcieFatal,
    Metric::NvlinkLinks,
    Metric::NvlinkUp,
    Metric::NvlinkSpeed,
    Metric::NvlinkErrors,
    Metric::C2cSpeed,
    Metric::MigEnabled,
    Metric::Persistence,
];

/// A field on its own.
pub(super) fn one_field(
    round: &Round<'_>,
    query: FieldQuery,
    read: impl Fn(FieldNumber) -> Reading<f64>,
) -> Reading<f64> {
    let answer = round.fields(&[query]).into_iter().next();
    answer.unwrap_or(Err(Absent::NotReported)).and_then(read)
}

/// Sets all of [`METRICS`].
pub(super) fn sample(round: &Round<'_>, readings: &mut Readings) {
    if round.unit.slice_of.is_some() {
        for metric in METRICS {
            readings.set(*metric, Err(Absent::NotSupported));
        }
        sample_bar1(round, readings);
        return;
    }
    sample_limits(round, readings);
    sample_plain(round, readings);
    sample_bar1(round, readings);
    sample_fields(round, readings);
    sample_faults(round, readings);
    sample_nvlink(round, readings);
    sample_c2c(round, readings);
    sample_mig(round, readings);
}

fn sample_limits(round: &Round<'_>, readings: &mut Readings) {
    let range = round.call(Call::LimitRange, |library, device| {
        library.limit_range(device)
    });
    let low = range.and_then(|(low, _)| plausible::watts(low.into()));
    let high = range.and_then(|(_, high)| plausible::watts(high.into()));
    let default = round.get(Getter::LimitDefault).and_then(plausible::watts);
    let requested = round.get(Getter::LimitRequested).and_then(plausible::watts);
    for (metric, value, id) in [
        (Metric::LimitMin, low, 187),
        (Metric::LimitMax, high, 188),
        (Metric::LimitDefault, default, 189),
        (Metric::LimitRequested, requested, 192),
    ] {
        readings.set(metric, either(value, || one_field(round, field(id), watts)));
    }
}

fn sample_plain(round: &Round<'_>, readings: &mut Readings) {
    let threshold: fn(u64) -> Reading<f64> =
        |t| plausible::celsius_above_zero((t as u32).cast_signed().into());
    type Row = (Metric, Getter, fn(u64) -> Reading<f64>);
    let table: [Row; 15] = [
        (
            Metric::ThresholdShutdown,
            Getter::ThresholdShutdown,
            threshold,
        ),
        (
            Metric::ThresholdSlowdown,
            Getter::ThresholdSlowdown,
            threshold,
        ),
        (Metric::ThresholdGpuMax, Getter::ThresholdGpuMax, threshold),
        (
            Metric::ThresholdMemoryMax,
            Getter::ThresholdMemoryMax,
            threshold,
        ),
        (
            Metric::SmClockMax,
            Getter::SmClockMax,
            plausible::megahertz_max,
        ),
        (
            Metric::MemoryClockMax,
            Getter::MemoryClockMax,
            plausible::megahertz_max,
        ),
        (
            Metric::ApplicationClock,
            Getter::ApplicationClock,
            plausible::megahertz_max,
        ),
        (
            Metric::ApplicationMemoryClock,
            Getter::ApplicationMemoryClock,
            plausible::megahertz_max,
        ),
        (
            Metric::ReasonsSupported,
            Getter::ReasonsSupported,
            plausible::bits,
        ),
        (Metric::EccCorrected, Getter::EccCorrected, plausible::count),
        (
            Metric::EccUncorrected,
            Getter::EccUncorrected,
            plausible::count,
        ),
        (
            Metric::PcieGenerationMax,
            Getter::PcieGenerationMax,
            plausible::generation,
        ),
        (Metric::PcieWidthMax, Getter::PcieWidthMax, plausible::width),
        (
            Metric::PcieGenerationDevice,
            Getter::PcieGenerationDevice,
            plausible::generation,
        ),
        (Metric::Persistence, Getter::Persistence, plausible::flag),
    ];
    for (metric, getter, read) in table {
        readings.set(metric, round.get(getter).and_then(read));
    }
}

fn sample_bar1(round: &Round<'_>, readings: &mut Readings) {
    let bar1 = round.call(Call::Bar1, |library, device| library.bar1(device));
    let total = bar1.and_then(|(_, total)| plausible::memory_total(total));
    let used = bar1.and_then(|(used, _)| plausible::memory_part(used, &total));
    readings.set(Metric::Bar1Used, total.and(used));
    readings.set(Metric::Bar1Total, total);
}

/// Relative thresholds and error counters, in one call.
fn sample_fields(round: &Round<'_>, readings: &mut Readings) {
    fn margin(number: FieldNumber) -> Reading<f64> {
        signed(number, plausible::celsius)
    }
    type Row = (Metric, u32, fn(FieldNumber) -> Reading<f64>);
    let table: [Row; 7] = [
        (Metric::MarginShutdown, 193, margin),
        (Metric::MarginSlowdown, 194, margin),
        (Metric::MarginMemoryMax, 195, margin),
        (Metric::MarginGpuMax, 196, margin),
        (Metric::PcieCorrectable, 173, count),
        (Metric::PcieNonFatal, 179, count),
        (Metric::PcieFatal, 180, count),
    ];
    let answers = round.fields(&table.map(|(_, id, _)| field(id)));
    for ((metric, _, read), answer) in table.iter().zip(answers) {
        readings.set(*metric, answer.and_then(read));
    }
}

/// Remapped rows (Ampere and newer) and retired pages (older).
fn sample_faults(round: &Round<'_>, readings: &mut Readings) {
    let ecc = round.call(Call::EccMode, |library, device| library.ecc_mode(device));
    readings.set(Metric::EccEnabled, ecc.map(|on| f64::from(u8::from(on))));
    let rows = [
        (Metric::RemapCorrectable, 142),
        (Metric::RemapUncorrectable, 143),
        (Metric::RemapPending, 144),
        (Metric::RemapFailure, 145),
    ];
    let answers = round.fields(&rows.map(|(_, id)| field(id)));
    let whole = round.call(Call::RemappedRows, |library, device| {
        library.remapped_rows(device)
    });
    for (place, ((metric, _), answer)) in rows.into_iter().zip(answers).enumerate() {
        let direct = whole.map(|numbers| numbers.get(place).copied().unwrap_or(u32::MAX));
        let value = either(answer.and_then(count), || {
            direct.and_then(|n| plausible::count(n.into()))
        });
        readings.set(metric, value);
    }
    let [single, double, pending] = [29, 30, 31].map(|id| one_field(round, field(id), count));
    let retired = |cause| {
        let pages = round.call(Call::RetiredPages, |library, device| {
            library.retired_pages(device, cause)
        });
        pages.and_then(plausible::count)
    };
    let pages = single.and_then(|single| Ok(single + double?));
    let pages = either(pages, || Ok(retired(0)? + retired(1)?));
    readings.set(Metric::RetiredPages, pages);
    let pending = either(pending, || {
        round.get(Getter::RetiredPending).and_then(plausible::flag)
    });
    readings.set(Metric::RetiredPending, pending);
}

/// Links one by one: how many, how many up, how fast together, and their errors.
fn sample_nvlink(round: &Round<'_>, readings: &mut Readings) {
    let (links, up) = match links(round) {
        Ok((links, up)) => (Ok(links), up),
        Err(why) => (Err(why), Vec::new()),
    };
    let why = links.err().unwrap_or(Absent::NotSupported);
    round.unit.links.store(up.len() as u32, Ordering::Relaxed);
    readings.set(Metric::NvlinkLinks, links);
    for metric in [Metric::NvlinkUp, Metric::NvlinkSpeed, Metric::NvlinkErrors] {
        readings.set(metric, Err(why));
    }
    if up.is_empty() {
        return;
    }
    let number = up.len() as u32;
    let each =
        |id| -> Vec<FieldQuery> { (0..number).map(|scope| FieldQuery { id, scope }).collect() };
    let count_up = match up.iter().find_map(|up| up.err()) {
        Some(why) => Err(why),
        None => Ok(up.iter().filter(|up| **up == Ok(true)).count() as f64),
    };
    readings.set(Metric::NvlinkUp, count_up);
    let speeds = round.fields(&each(164));
    let of_up = speeds
        .iter()
        .zip(&up)
        .filter(|(_, up)| **up == Ok(true))
        .map(|(speed, _)| *speed);
    // Older drivers tell one speed for all links.
    let common = || Ok(one_field(round, field(90), count)? * 1e6 * count_up?);
    readings.set(Metric::NvlinkSpeed, either(sum_of(of_up, 1e6), common));
    readings.set(Metric::NvlinkErrors, nvlink_errors(round, &each));
}

/// How many links there are, and whether each is up. A link that is not supported is one fewer; where the first is
/// not, there is no NVLink.
fn links(round: &Round<'_>) -> Reading<(f64, Vec<Reading<bool>>)> {
    let told = match one_field(round, field(91), count) {
        Ok(links) if links > f64::from(LINKS_MAX) => return Err(Absent::Implausible(links)),
        Ok(links) => Some(links as u32),
        Err(Absent::NotSupported | Absent::NoLibrary) => None,
        Err(why) => return Err(why),
    };
    if told == Some(0) {
        return Ok((0.0, Vec::new()));
    }
    let queries: Vec<FieldQuery> = (0..told.unwrap_or(0))
        .map(|scope| FieldQuery { id: 165, scope })
        .collect();
    let mut states = round.fields(&queries).into_iter();
    let mut up = Vec::new();
    for link in 0..told.unwrap_or(LINKS_MAX) {
        let state = match states.next() {
            Some(Ok(state)) => Ok(state.unsigned() == Some(1)),
            // Drivers without the fields have the call. Where the first link is none, it is not asked again.
            _ if link == 0 => round.call(Call::LinkState, |library, device| {
                library.link_up(device, link)
            }),
            _ => round.part(|library, device| library.link_up(device, link)),
        };
        // Without a number the first link that is no link ends the list.
        let none = matches!(state, Err(Absent::NotSupported | Absent::NoLibrary));
        if none || (told.is_none() && state.is_err()) {
            break;
        }
        up.push(state);
    }
    match up.len() {
        0 => Err(Absent::NotSupported),
        links => Ok((links as f64, up)),
    }
}

/// All values together times a factor; absent as soon as one is.
fn sum_of(values: impl Iterator<Item = Reading<FieldNumber>>, factor: f64) -> Reading<f64> {
    let mut sum = None;
    for value in values {
        sum = Some(sum.unwrap_or(0.0) + value.and_then(count)? * factor);
    }
    sum.ok_or(Absent::NotSupported)
}

/// Replays, recoveries and CRC errors of each link, else the counters that Blackwell has in their place, else
/// the old totals over all links, else the old call for each link.
fn nvlink_errors(round: &Round<'_>, each: &dyn Fn(u32) -> Vec<FieldQuery>) -> Reading<f64> {
    let links = |ids: &[u32]| {
        let queries: Vec<FieldQuery> = ids.iter().flat_map(|id| each(*id)).collect();
        sum_of(round.fields(&queries).into_iter(), 1.0)
    };
    let totals = || {
        let queries = [38, 45, 52, 59].map(field);
        sum_of(round.fields(&queries).into_iter(), 1.0)
    };
    let calls = || {
        let links = round.unit.links.load(Ordering::Relaxed);
        let mut sum = 0.0;
        for (link, counter) in (0..links).flat_map(|link| (0..4).map(move |c| (link, c))) {
            let errors = round.call(Call::LinkErrors, |library, device| {
                library.link_errors(device, link, counter)
            });
            sum += errors.and_then(plausible::count)?;
        }
        Ok(sum)
    };
    either(links(&[161, 162, 163]), || {
        either(links(&[206, 207, 208, 209, 210, 211]), || {
            either(totals(), calls)
        })
    })
}

/// The superchip's links to its CPU, MB/s each.
fn sample_c2c(round: &Round<'_>, readings: &mut Readings) {
    let links = one_field(round, field(170), count);
    let speed = match links {
        Ok(links) if (1.0..=64.0).contains(&links) => {
            let queries: Vec<FieldQuery> = (0..links as u32)
                .map(|scope| FieldQuery { id: 172, scope })
                .collect();
            sum_of(round.fields(&queries).into_iter(), 1e6)
        }
        Ok(_) => Err(Absent::NotSupported),
        Err(why) => Err(why),
    };
    readings.set(Metric::C2cSpeed, speed);
}

/// MIG's state; where the instances are not those that were listed, the list is made anew.
fn sample_mig(round: &Round<'_>, readings: &mut Readings) {
    let mode = round.call(Call::MigMode, |library, device| library.mig_mode(device));
    readings.set(Metric::MigEnabled, mode.map(|on| f64::from(u8::from(on))));
    if let Ok(on) = mode {
        let unit = round.unit;
        let now = if on {
            devices::instances(&unit.library, unit.handle).len()
        } else {
            0
        };
        if now != unit.slices.len() {
            unit.outdated.store(true, Ordering::Relaxed);
        }
    }
}
