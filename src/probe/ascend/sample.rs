//! The readings: of each tick, of every half minute, and the process list.

use super::layout::HbmInfo;
use super::reasons;
use super::unit::{Question, Round};
use crate::model::{Absent, DeviceProcess, Hop, Metric, Reading, Readings};
use crate::probe::{pcie, plausible};
use std::path::Path;

/// What DCMI and npu-smi call MB.
const MIB: f64 = 1_048_576.0;

/// The header's numbers of what is utilized.
const UTILIZATION_AICORE: u8 = 2;
const UTILIZATION_DDR_BANDWIDTH: u8 = 5;
/// The header's numbers of clocks.
const CLOCK_AICORE: u8 = 7;
const CLOCK_AICORE_RATED: u8 = 9;
/// The header's numbers of memories with ECC.
const ECC_HBM: u8 = 2;
const ECC_DDR: u8 = 0;

/// No chip idles at this share of its rated power (910B: 88 to 101 of 350 to 400 W; a 950 up to a half).
const WORKS: f64 = 0.6;

/// How the management controller says "invalid" and "could not be read".
const NO_POWER: [i32; 2] = [0x7ffd, 0x7fff];

/// Watts from tenths.
fn watts(tenths: i32) -> Reading<f64> {
    let raw = Absent::Implausible(tenths.into());
    if NO_POWER.contains(&tenths) {
        return Err(raw);
    }
    let milliwatts = u64::try_from(tenths).map_err(|_| raw)? * 100;
    plausible::watts(milliwatts).map_err(|_| raw)
}

/// Watts from the rated power's number. The vendor's pages give the range and no unit: evidently mW.
fn rated_watts(raw: u32) -> Reading<f64> {
    match (150_000..=600_000).contains(&raw) {
        true => Ok(f64::from(raw) / 1000.0),
        false => Err(Absent::Implausible(raw.into())),
    }
}

/// Bytes of a total in MiB. What cannot be is kept as the library said it.
fn total_bytes(mib: u64) -> Reading<f64> {
    let bytes = plausible::memory_total(mib.saturating_mul(1 << 20));
    bytes.map_err(|_| Absent::Implausible(mib as f64))
}

/// Sets the memory in use and in all.
pub(super) fn set_memory(readings: &mut Readings, total: Reading<u64>, used: Reading<u64>) {
    let total = total.and_then(total_bytes);
    let used = used.and_then(|mib| {
        let bytes = mib as f64 * MIB;
        match total {
            Ok(total) if bytes <= total => Ok(bytes),
            Ok(_) => Err(Absent::Implausible(mib as f64)),
            Err(why) => Err(why),
        }
    });
    readings.set(Metric::MemoryUsed, used);
    readings.set(Metric::MemoryTotal, total);
}

/// Everything that changes from tick to tick.
pub(super) fn sample(round: &Round<'_>, root: &Path, readings: &mut Readings) {
    // npu-smi calls a device OK whose health is not 0, as long as no error code is set.
    let health = round.ask(Question::Health, |library, place| library.health(place));
    readings.set(
        Metric::Health,
        health.and_then(|health| match health {
            0..=3 => Ok(health.into()),
            // The device is not there; its other calls say whether it is lost.
            u32::MAX => Err(Absent::NotReported),
            other => Err(Absent::Implausible(other.into())),
        }),
    );
    sample_power(round, readings);
    let degrees = round.ask(Question::Temperature, |library, place| {
        library.temperature(place)
    });
    readings.set(
        Metric::CoreTemperature,
        degrees.and_then(|degrees| plausible::celsius(degrees.into())),
    );
    let clock = frequency(round, CLOCK_AICORE);
    readings.set(Metric::SmClock, clock.and_then(plausible::megahertz));
    sample_reasons(round, readings);
    sample_memory(round, readings);
    sample_utilization(round, readings);
    sample_link(round, root, readings);
}

fn frequency(round: &Round<'_>, kind: u8) -> Reading<u64> {
    let clock = round.ask(Question::Frequency(kind), |library, place| {
        library.frequency(place, kind)
    });
    clock.map(u64::from)
}

/// A card's power is told for each of its chips, as the board's.
fn sample_power(round: &Round<'_>, readings: &mut Readings) {
    let card = round.unit.card_power;
    let mut power = round.ask(Question::Power, |library, place| {
        library.power(card.unwrap_or(place))
    });
    if matches!(power, Err(Absent::NotSupported | Absent::NoLibrary)) {
        // A 310P's is known to its card's management controller.
        let other = round.ask(Question::CardPower, |library, place| {
            library.card_power(place)
        });
        power = match other {
            Err(Absent::NoLibrary) => power,
            other => other,
        };
    }
    set_power(readings, card.is_some(), power.and_then(watts));
}

/// Sets the draw of the device, or of its board.
pub(super) fn set_power(readings: &mut Readings, of_board: bool, power: Reading<f64>) {
    let none = Err(Absent::NotSupported);
    let (chip, board) = if of_board {
        (none, power)
    } else {
        (power, none)
    };
    readings.set(Metric::PowerUsage, chip);
    readings.set(Metric::BoardPower, board);
}

fn sample_reasons(round: &Round<'_>, readings: &mut Readings) {
    let mask = round.ask(Question::Reasons, |library, place| library.reasons(place));
    let mask = mask.and_then(reasons::plausible);
    readings.set(Metric::VendorReasons, mask.map(|mask| mask as f64));
    readings.set(Metric::Reasons, mask.and_then(reasons::translated));
}

/// HBM where there is any, else DDR (310, 310P).
fn sample_memory(round: &Round<'_>, readings: &mut Readings) {
    let hbm = round.ask(Question::Hbm, |library, place| library.hbm(place));
    match hbm {
        Ok(HbmInfo { size: 0, .. }) | Err(Absent::NotSupported | Absent::NoLibrary) => {
            sample_ddr(round, readings);
        }
        hbm => {
            set_memory(readings, hbm.map(|hbm| hbm.size), hbm.map(|hbm| hbm.used));
            let clock = hbm.and_then(|hbm| plausible::megahertz_max(hbm.frequency.into()));
            readings.set(Metric::MemoryClock, clock);
            readings.set(
                Metric::MemoryTemperature,
                hbm.and_then(|hbm| plausible::celsius_above_zero(hbm.temperature.into())),
            );
            readings.set(
                Metric::MemoryActivity,
                hbm.and_then(|hbm| plausible::ratio(hbm.bandwidth.into())),
            );
        }
    }
}

fn sample_ddr(round: &Round<'_>, readings: &mut Readings) {
    let ddr = round.ask(Question::Memory, |library, place| library.memory(place));
    let used = ddr.and_then(|ddr| {
        let used = ddr.size.checked_sub(ddr.available);
        used.ok_or(Absent::Implausible(ddr.available as f64))
    });
    set_memory(readings, ddr.map(|ddr| ddr.size), used);
    let clock = ddr.and_then(|ddr| plausible::megahertz_max(ddr.frequency.into()));
    readings.set(Metric::MemoryClock, clock);
    readings.set(Metric::MemoryTemperature, Err(Absent::NotSupported));
    let activity = utilization(round, UTILIZATION_DDR_BANDWIDTH);
    readings.set(Metric::MemoryActivity, activity.and_then(plausible::ratio));
}

fn utilization(round: &Round<'_>, kind: u8) -> Reading<u64> {
    let percent = round.ask(Question::Utilization(kind), |library, place| {
        library.utilization(place, kind)
    });
    percent.map(u64::from)
}

/// The AICores', together with the vector cores' and the whole NPU's where the library gives them in one call.
///
/// The driver turns a value above 100 % into 0, and all of them read 0 while a profiler runs. A zero beside a draw that no
/// idle chip has is therefore no zero: it is implausible. Where the rated power or the chip's own draw is not known, zero
/// is taken at its word.
fn sample_utilization(round: &Round<'_>, readings: &mut Readings) {
    let rates = round.ask(Question::MultiUtilization, |library, place| {
        library.multi_utilization(place)
    });
    let (busy, others) = match rates {
        Err(Absent::NotSupported | Absent::NoLibrary) => {
            (utilization(round, UTILIZATION_AICORE), 0)
        }
        rates => (
            rates.map(|rates| rates.aicore.into()),
            rates.map_or(0, |rates| rates.vector | rates.npu),
        ),
    };
    let mut busy = busy.and_then(plausible::ratio);
    if busy == Ok(0.0)
        && others == 0
        && let (Ok(draw), Ok(rated)) = (
            readings.get(Metric::PowerUsage),
            readings.get(Metric::RatedPower),
        )
        && draw > WORKS * rated
    {
        busy = Err(Absent::Implausible(0.0));
    }
    readings.set(Metric::Utilization, busy);
}

/// DCMI has no link state: it is sysfs'. There are no byte counters either, so that nothing lies between "before" and
/// "after".
fn sample_link(round: &Round<'_>, root: &Path, readings: &mut Readings) {
    let link = round
        .unit
        .device
        .pci_address
        .ok()
        .and_then(|address| pcie::link(root, address));
    set_link(readings, link.as_ref());
}

/// Sets the link's state and what it could be.
pub(super) fn set_link(readings: &mut Readings, link: Option<&Hop>) {
    for (metric, number) in [
        (
            Metric::PcieGenerationBefore,
            link.and_then(|l| l.generation),
        ),
        (Metric::PcieGenerationAfter, link.and_then(|l| l.generation)),
        (Metric::PcieWidthBefore, link.and_then(|l| l.width)),
        (Metric::PcieWidthAfter, link.and_then(|l| l.width)),
        (
            Metric::PcieGenerationMax,
            link.and_then(|l| l.generation_max),
        ),
        (Metric::PcieWidthMax, link.and_then(|l| l.width_max)),
    ] {
        readings.set(metric, number.map(f64::from).ok_or(Absent::NotReported));
    }
}

/// The readings that change rarely.
pub(super) fn sample_slow(round: &Round<'_>, readings: &mut Readings) {
    let clock = frequency(round, CLOCK_AICORE_RATED);
    readings.set(Metric::SmClockMax, clock.and_then(plausible::megahertz_max));
    let rated = match round.unit.card_power {
        None => round.ask(Question::RatedPower, |library, place| {
            library.rated_power(place)
        }),
        // Whether it is a chip's or the card's is not said where a card has two chips.
        Some(_) => Err(Absent::NotSupported),
    };
    readings.set(Metric::RatedPower, rated.and_then(rated_watts));
    sample_ecc(round, readings);
}

fn sample_ecc(round: &Round<'_>, readings: &mut Readings) {
    let of = |kind| {
        round.ask(Question::Ecc(kind), |library, place| {
            library.ecc(place, kind)
        })
    };
    let ecc = match of(ECC_HBM) {
        Err(Absent::NotSupported) => of(ECC_DDR),
        ecc => ecc,
    };
    let enabled = ecc.and_then(|ecc| match ecc.enabled {
        0 | 1 => Ok(ecc.enabled.into()),
        other => Err(Absent::Implausible(other.into())),
    });
    // What is off counts nothing.
    let on = enabled.and_then(|on| match on > 0.0 {
        true => ecc,
        false => Err(Absent::NotSupported),
    });
    let count = |number: u32| plausible::count(number.into());
    readings.set(Metric::EccEnabled, enabled);
    readings.set(Metric::EccCorrected, on.and_then(|ecc| count(ecc.single)));
    readings.set(Metric::EccUncorrected, on.and_then(|ecc| count(ecc.double)));
    let pages = on.and_then(|ecc| Ok(count(ecc.single_pages)? + count(ecc.double_pages)?));
    readings.set(Metric::RetiredPages, pages);
}

/// The processes that have memory on the device, by the host's pids. Their share of the work is not told.
///
/// # Errors
/// Why there is no list.
pub(super) fn processes(round: &Round<'_>) -> Reading<Vec<DeviceProcess>> {
    let rows = round.ask(Question::Processes, |library, place| {
        library.processes(place)
    })?;
    let mut list: Vec<DeviceProcess> = Vec::new();
    for row in rows {
        let pid = u32::try_from(row.pid).ok().filter(|pid| *pid > 0);
        let pid = pid.ok_or(Absent::Implausible(row.pid.into()))?;
        if list.iter().any(|process| process.pid == pid) {
            continue;
        }
        list.push(DeviceProcess {
            pid,
            memory_bytes: plausible::memory_part(row.bytes, &Ok(PROCESS_BYTES_MAX)),
            utilization_ratio: Err(Absent::NotSupported),
            instance: None,
            graphics: false,
        });
    }
    Ok(list)
}

/// No device has a tebibyte.
const PROCESS_BYTES_MAX: f64 = 1_099_511_627_776.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_in_tenths_and_keeps_what_cannot_be() {
        assert_eq!(watts(1013), Ok(101.3));
        for raw in [0, -1, 0x7ffd, 0x7fff, i32::MAX] {
            assert_eq!(watts(raw), Err(Absent::Implausible(raw.into())));
        }
        assert_eq!(rated_watts(350_000), Ok(350.0));
        for raw in [0, 350, 149_999, 600_001, u32::MAX] {
            assert_eq!(rated_watts(raw), Err(Absent::Implausible(raw.into())));
        }
    }

    #[test]
    fn memory_is_in_mebibytes_and_no_more_than_there_is() {
        let mut readings = Readings::default();
        set_memory(&mut readings, Ok(65_536), Ok(3432));
        assert_eq!(readings.get(Metric::MemoryTotal), Ok(65_536.0 * MIB));
        assert_eq!(readings.get(Metric::MemoryUsed), Ok(3432.0 * MIB));
        set_memory(&mut readings, Ok(32_768), Ok(32_769));
        assert_eq!(
            readings.get(Metric::MemoryUsed),
            Err(Absent::Implausible(32_769.0))
        );
        set_memory(&mut readings, Ok(u64::MAX), Ok(1));
        assert_eq!(
            readings.get(Metric::MemoryTotal),
            Err(Absent::Implausible(u64::MAX as f64))
        );
    }
}
