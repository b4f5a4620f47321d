//! The readings of each tick.

use super::ffi::{FieldNumber, FieldQuery, Getter, ProcessList};
use super::unit::{Call, Round};
use super::{gpm, processes, slow};
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::plausible;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The scope of a field that means the sum over all links.
const ALL_LINKS: u32 = u32::MAX;
/// The scope of a power field that means the whole module.
const MODULE: u32 = 1;
/// For so long after it was opened a device may show 100 % for its own start; without persistence at any time.
const SETTLING: Duration = Duration::from_secs(5);
/// Device memory below which nothing is loaded.
const NEARLY_NO_MEMORY: f64 = 64.0 * 1024.0 * 1024.0;

/// How a field's number becomes a reading.
type Reader = fn(FieldNumber) -> Reading<f64>;

/// Reads a whole number that is never negative.
fn whole(number: FieldNumber, read: fn(u64) -> Reading<f64>) -> Reading<f64> {
    number
        .unsigned()
        .map_or(Err(Absent::Implausible(number.raw())), read)
}

/// Reads a number that may be negative.
pub(super) fn signed(number: FieldNumber, read: fn(i64) -> Reading<f64>) -> Reading<f64> {
    number
        .signed()
        .map_or(Err(Absent::Implausible(number.raw())), read)
}

pub(super) fn watts(number: FieldNumber) -> Reading<f64> {
    whole(number, plausible::watts)
}

pub(super) fn count(number: FieldNumber) -> Reading<f64> {
    whole(number, plausible::count)
}

fn seconds(number: FieldNumber) -> Reading<f64> {
    whole(number, plausible::seconds)
}

/// A counter that may pass any value of its width, but means nothing with all bits set.
fn wrapping(number: FieldNumber) -> Reading<f64> {
    let Some(value) = number.unsigned() else {
        return Err(Absent::Implausible(number.raw()));
    };
    let all_ones = match number.bits() {
        64 => value as f64 >= 9_223_372_036_854_775_792.0,
        bits => value == (1 << bits) - 1,
    };
    match all_ones {
        true => Err(Absent::Implausible(number.raw())),
        false => Ok(value as f64),
    }
}

fn kibibytes(number: FieldNumber) -> Reading<f64> {
    wrapping(number).map(|kib| kib * 1024.0)
}

pub(super) const fn field(id: u32) -> FieldQuery {
    FieldQuery { id, scope: 0 }
}

/// The first reading, or the second where the first source has none. A number that cannot be is not papered over
/// by another source, and a lost device is not asked again.
pub(super) fn either(first: Reading<f64>, second: impl FnOnce() -> Reading<f64>) -> Reading<f64> {
    match first {
        Ok(_) | Err(Absent::Implausible(_) | Absent::Lost) => first,
        Err(Absent::NotSupported | Absent::NoLibrary) => match second() {
            Err(Absent::NoLibrary) => first,
            other => other,
        },
        Err(_) => second().or(first),
    }
}

/// Everything that changes from tick to tick and does not block.
pub(super) fn sample(round: &Round<'_>, readings: &mut Readings) {
    if round.unit.slice_of.is_some() {
        sample_slice(round, readings);
        return;
    }
    let mut plain = |metric, getter, read: fn(u64) -> Reading<f64>| {
        readings.set(metric, round.get(getter).and_then(read));
    };
    plain(Metric::PowerUsage, Getter::PowerUsage, plausible::watts);
    plain(Metric::SmClock, Getter::SmClock, plausible::megahertz);
    plain(
        Metric::MemoryClock,
        Getter::MemoryClock,
        plausible::megahertz,
    );
    plain(
        Metric::PerformanceState,
        Getter::PerformanceState,
        plausible::performance_state,
    );
    plain(Metric::Reasons, Getter::Reasons, plausible::bits);
    plain(Metric::Fan, Getter::Fan, plausible::fan);
    let limit = round.get(Getter::LimitEnforced).and_then(plausible::watts);
    let limit = either(limit, || slow::one_field(round, field(190), watts));
    readings.set(Metric::LimitEnforced, limit);
    let core = round.call(Call::Temperature, |library, device| {
        library.temperature(device)
    });
    readings.set(
        Metric::CoreTemperature,
        core.and_then(|t| plausible::celsius(t.into())),
    );
    let margin = round.call(Call::Margin, |library, device| library.margin(device));
    readings.set(
        Metric::Margin,
        margin.and_then(|t| plausible::celsius(t.into())),
    );
    sample_memory(round, readings);
    sample_utilization(round, readings);
    sample_link(round, readings);
    gpm::sample(round, readings);
    note_pcie_way(round, readings);
}

/// An instance has memory and GPM of its own; the rest belongs to its parent.
fn sample_slice(round: &Round<'_>, readings: &mut Readings) {
    for metric in Metric::ALL
        .iter()
        .filter(|metric| !slow::METRICS.contains(metric))
    {
        readings.set(*metric, Err(Absent::NotSupported));
    }
    sample_memory(round, readings);
    gpm::sample(round, readings);
}

fn sample_memory(round: &Round<'_>, readings: &mut Readings) {
    let memory = round.call(Call::Memory, |library, device| library.memory(device));
    if round.unit.device.unified_memory {
        // The total is the host's; what is in use is what the processes hold.
        readings.set(Metric::MemoryTotal, Err(Absent::NotSupported));
        readings.set(Metric::MemoryReserved, Err(Absent::NotSupported));
        readings.set(Metric::MemoryUsed, processes::memory_sum(round));
        return;
    }
    let total = memory.and_then(|memory| plausible::memory_total(memory.total));
    let used = memory.and_then(|memory| plausible::memory_part(memory.used, &total));
    let reserved = memory.and_then(|memory| {
        let reserved = memory.reserved.ok_or(Absent::NotSupported)?;
        plausible::memory_part(reserved, &total)
    });
    // Where the total cannot be, a plain number beside it proves nothing.
    readings.set(Metric::MemoryUsed, total.and(used));
    readings.set(Metric::MemoryReserved, total.and(reserved));
    readings.set(Metric::MemoryTotal, total);
}

fn sample_utilization(round: &Round<'_>, readings: &mut Readings) {
    let rates = round.call(Call::Utilization, |library, device| {
        library.utilization(device)
    });
    let mut busy = rates.and_then(|(gpu, _)| plausible::ratio(gpu.into()));
    if let (Ok(share), Ok((raw, _))) = (busy, rates)
        && share > 0.0
        && is_settling(round, readings)
    {
        busy = Err(Absent::Implausible(raw.into()));
    }
    readings.set(Metric::Utilization, busy);
    readings.set(
        Metric::MemoryActivity,
        rates.and_then(|(_, memory)| plausible::ratio(memory.into())),
    );
}

/// Just opened or without persistence, nothing loaded and nobody there: what is busy is the device's own start, such
/// as the scrubbing of its memory. Unified memory tells nothing: what is in use there is what the list says.
fn is_settling(round: &Round<'_>, readings: &Readings) -> bool {
    let empty = |call, list| {
        let rows = round.call(call, |library, device| library.processes(device, list));
        rows.map_or_else(|why| why == Absent::NotSupported, |rows| rows.is_empty())
    };
    let unloaded = !round.unit.device.unified_memory
        && readings
            .get(Metric::MemoryUsed)
            .is_ok_and(|used| used < NEARLY_NO_MEMORY);
    unloaded
        && may_start(round.unit.opened.elapsed(), round.get(Getter::Persistence))
        && empty(Call::Compute, ProcessList::Compute)
        && empty(Call::Graphics, ProcessList::Graphics)
}

/// When a device may be busy with its own start: just after it was opened, and at any time without persistence.
fn may_start(since_opened: Duration, persistence: Reading<u64>) -> bool {
    since_opened < SETTLING || persistence == Ok(0)
}

/// One batch of fields with the link's state before and after it.
fn sample_link(round: &Round<'_>, readings: &mut Readings) {
    let state = |readings: &mut Readings, generation, width| {
        readings.set(
            generation,
            round
                .get(Getter::PcieGeneration)
                .and_then(plausible::generation),
        );
        readings.set(
            width,
            round.get(Getter::PcieWidth).and_then(plausible::width),
        );
    };
    state(
        readings,
        Metric::PcieGenerationBefore,
        Metric::PcieWidthBefore,
    );
    sample_fields(round, readings);
    state(
        readings,
        Metric::PcieGenerationAfter,
        Metric::PcieWidthAfter,
    );
}

/// The fields of every tick.
fn batch(round: &Round<'_>) -> Vec<(Metric, FieldQuery, Reader)> {
    // 251 to 253 before driver 580.82.
    let moved = if round.unit.new_fields { 18 } else { 0 };
    let mut batch: Vec<(Metric, FieldQuery, Reader)> = vec![
        (Metric::PcieTxBytes, field(197), wrapping),
        (Metric::PcieRxBytes, field(198), wrapping),
        (Metric::PowerAverage, field(185), watts),
        (Metric::PowerInstant, field(186), watts),
        (Metric::Energy, field(83), |n| whole(n, plausible::joules)),
        (Metric::MemoryTemperature, field(82), |n| {
            signed(n, plausible::celsius_above_zero)
        }),
        (Metric::SecondsSwPowerCap, field(74), seconds),
        (Metric::SecondsSyncBoost, field(76), seconds),
        (Metric::SecondsSwThermal, field(251 + moved), seconds),
        (Metric::SecondsHwThermal, field(252 + moved), seconds),
        (Metric::SecondsPowerBrake, field(253 + moved), seconds),
        (Metric::RecoveryAction, field(230), |n| {
            whole(n, plausible::recovery_action)
        }),
        (Metric::PcieReplays, field(94), count),
    ];
    if (1..=slow::LINKS_MAX).contains(&round.unit.links.load(Ordering::Relaxed)) {
        let all = |id| FieldQuery {
            id,
            scope: ALL_LINKS,
        };
        batch.push((Metric::NvlinkTxBytes, all(138), kibibytes));
        batch.push((Metric::NvlinkRxBytes, all(139), kibibytes));
    }
    if round.unit.superchip {
        let module = |id| FieldQuery { id, scope: MODULE };
        batch.push((Metric::ModulePower, module(186), watts));
        batch.push((Metric::ModuleLimit, module(190), watts));
    }
    batch
}

fn sample_fields(round: &Round<'_>, readings: &mut Readings) {
    for metric in [
        Metric::NvlinkTxBytes,
        Metric::NvlinkRxBytes,
        Metric::ModulePower,
        Metric::ModuleLimit,
    ] {
        readings.set(metric, Err(Absent::NotSupported));
    }
    let batch = batch(round);
    let queries: Vec<FieldQuery> = batch.iter().map(|(_, query, _)| *query).collect();
    let answers = round.fields(&queries);
    for ((metric, _, read), answer) in batch.iter().zip(&answers) {
        readings.set(*metric, answer.and_then(read));
    }
    // Both counters are of one type.
    let bits = answers.iter().take(2).find_map(|answer| answer.ok());
    let why = readings
        .get(Metric::PcieRxBytes)
        .err()
        .unwrap_or(Absent::NotReported);
    readings.set(
        Metric::PcieCounterBits,
        bits.map(|number| f64::from(number.bits())).ok_or(why),
    );
    let fallback = |readings: &mut Readings, metric, getter, read: fn(u64) -> Reading<f64>| {
        let value = either(readings.get(metric), || round.get(getter).and_then(read));
        readings.set(metric, value);
    };
    fallback(readings, Metric::Energy, Getter::Energy, plausible::joules);
    fallback(
        readings,
        Metric::PcieReplays,
        Getter::PcieReplays,
        plausible::count,
    );
    // The counters' older call (deprecated in 13.0, gone in CUDA 14); its other policies mix several reasons.
    for (metric, call, policy) in [
        (Metric::SecondsSwPowerCap, Call::ViolationPower, 0),
        (Metric::SecondsSyncBoost, Call::ViolationSyncBoost, 2),
    ] {
        let value = either(readings.get(metric), || {
            let time = round.call(call, |library, device| library.violation(device, policy));
            time.and_then(plausible::seconds)
        });
        readings.set(metric, value);
    }
    if round.unit.superchip && readings.get(Metric::ModulePower) == Err(Absent::NotSupported) {
        let average = FieldQuery {
            id: 185,
            scope: MODULE,
        };
        readings.set(Metric::ModulePower, slow::one_field(round, average, watts));
    }
}

/// Remembers whether PCIe rates can be had without blocking.
fn note_pcie_way(round: &Round<'_>, readings: &Readings) {
    let counters = readings.get(Metric::PcieRxBytes).is_ok();
    // The first GPM sample of a device says nothing yet.
    let gpm = matches!(
        readings.get(Metric::GpmPcieRx),
        Ok(_) | Err(Absent::NotReported | Absent::TimedOut)
    );
    round
        .unit
        .blocking_pcie
        .store(!counters && !gpm, Ordering::Relaxed);
}

/// Bytes per second of NVML's "KB/s". What a KB is there, NVIDIA does not say; it is taken at its word, as 1000
/// bytes, so that no link is shown busier than it is. (nvtop takes 1024.)
const KILOBYTE: f64 = 1000.0;

/// The two directions by the calls that block 20 ms each. RX is the device's: from the host.
pub(super) fn sample_blocking_pcie(round: &Round<'_>, readings: &mut Readings) {
    for (metric, getter) in [
        (Metric::PcieRxRate, Getter::PcieRxKilobytes),
        (Metric::PcieTxRate, Getter::PcieTxKilobytes),
    ] {
        let rate = match round.unit.slice_of {
            Some(_) => Err(Absent::NotSupported),
            None => round
                .get(getter)
                .and_then(|kilobytes| plausible::pcie_rate(kilobytes as f64 * KILOBYTE)),
        };
        readings.set(metric, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_persistence_a_device_may_start_at_any_time() {
        let (soon, late) = (Duration::from_secs(4), Duration::from_secs(60));
        assert!(may_start(soon, Ok(1)));
        assert!(may_start(late, Ok(0)));
        assert!(!may_start(late, Ok(1)));
        assert!(!may_start(late, Err(Absent::NotSupported)));
    }

    #[test]
    fn a_counter_may_be_anything_but_all_ones() {
        for number in [
            FieldNumber::Unsigned(0xFFFF_FFFF, 32),
            FieldNumber::Unsigned(u64::MAX, 64),
            FieldNumber::Signed(-1, 64),
        ] {
            let read = wrapping(number);
            assert!(matches!(read, Err(Absent::Implausible(_))), "{read:?}");
        }
        assert_eq!(
            wrapping(FieldNumber::Unsigned(4_294_967_290, 32)),
            Ok(4_294_967_290.0)
        );
    }
}
