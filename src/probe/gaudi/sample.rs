//! What is asked of a device, and how often.
//!
//! Not asked: violation times, whose unit nobody states, so that no seconds can be made of them; the PCIe throughput,
//! whose unit is not stated either and which waits 10 ms; corrected ECC errors, which HLML does not have.

use super::fault::Fault;
use super::ffi::{Getter, Handle, Library, text_of};
use super::files::Card;
use crate::model::{Absent, Device, Metric, Reading, Readings, Reason};
use crate::probe::plausible;
use crate::probe::round::{Refused, Round};
use std::sync::Arc;

/// An open device.
pub(super) struct Unit {
    pub(super) device: Arc<Device>,
    pub(super) library: Arc<Library>,
    pub(super) handle: Handle,
    /// Its files, where they were found.
    pub(super) card: Option<Card>,
    /// Its node may not be used.
    pub(super) forbidden: bool,
    pub(super) refused: Refused,
}

impl Unit {
    fn ask<T>(
        &self,
        round: &Round<'_>,
        question: &'static str,
        ask: impl FnOnce(&Library, Handle) -> Result<T, Fault>,
    ) -> Reading<T> {
        let answer = round.ask(question, || ask(&self.library, self.handle));
        answer.map_err(|why| explained(why, self.forbidden))
    }

    fn get(&self, round: &Round<'_>, question: &'static str, getter: Getter) -> Reading<u64> {
        self.ask(round, question, |library, device| {
            library.get(device, getter)
        })
    }
}

/// HLML has no code for "no permission": what a device refuses whose node may not be used is a matter of that.
const fn explained(why: Absent, forbidden: bool) -> Absent {
    match why {
        Absent::NotSupported | Absent::NotReported if forbidden => Absent::NoPermission,
        why => why,
    }
}

/// A row of a table of plain numbers.
type Row = (Metric, &'static str, Getter, fn(u64) -> Reading<f64>);

/// Degrees, which the library tells without a sign.
fn celsius(raw: u64) -> Reading<f64> {
    plausible::celsius(raw.cast_signed())
}

/// An absolute threshold, for which zero means that there is none.
fn threshold(raw: u64) -> Reading<f64> {
    plausible::celsius_above_zero(raw.cast_signed())
}

const TICK: [Row; 6] = [
    (Metric::PowerUsage, "power", Getter::Power, plausible::watts),
    (
        Metric::CoreTemperature,
        "temperature",
        Getter::Temperature,
        celsius,
    ),
    (
        Metric::Utilization,
        "utilization",
        Getter::Utilization,
        plausible::ratio,
    ),
    (
        Metric::SmClock,
        "clock",
        Getter::Clock,
        plausible::megahertz,
    ),
    (Metric::Energy, "energy", Getter::Energy, plausible::joules),
    (
        Metric::PcieWidthBefore,
        "width",
        Getter::Width,
        plausible::width,
    ),
];

const SLOW: [Row; 11] = [
    (
        Metric::LimitDefault,
        "limit_default",
        Getter::LimitDefault,
        plausible::watts,
    ),
    (
        Metric::ThresholdShutdown,
        "threshold_0",
        Getter::Threshold(0),
        threshold,
    ),
    (
        Metric::ThresholdSlowdown,
        "threshold_1",
        Getter::Threshold(1),
        threshold,
    ),
    (
        Metric::ThresholdMemoryMax,
        "threshold_2",
        Getter::Threshold(2),
        threshold,
    ),
    (
        Metric::ThresholdGpuMax,
        "threshold_3",
        Getter::Threshold(3),
        threshold,
    ),
    (
        Metric::SmClockMax,
        "clock_max",
        Getter::ClockMax,
        plausible::megahertz_max,
    ),
    (
        Metric::PcieReplays,
        "replays",
        Getter::Replays,
        plausible::count,
    ),
    (
        Metric::EccUncorrected,
        "ecc",
        Getter::EccUncorrected,
        plausible::count,
    ),
    (
        Metric::RemapCorrectable,
        "rows_0",
        Getter::Rows(0),
        plausible::count,
    ),
    (
        Metric::RemapUncorrectable,
        "rows_1",
        Getter::Rows(1),
        plausible::count,
    ),
    (
        Metric::RemapPending,
        "rows_pending",
        Getter::RowsPending,
        plausible::flag,
    ),
];

/// The readings of each tick.
pub(super) fn sample(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    for (metric, question, getter, read) in TICK {
        readings.set(metric, unit.get(round, question, getter).and_then(read));
    }
    let memory = unit.ask(round, "memory", |library, device| library.memory(device));
    let total = memory.and_then(|memory| plausible::memory_total(memory.total));
    let used = memory.and_then(|memory| plausible::memory_part(memory.used, &total));
    // Where the total cannot be, a plain number beside it proves nothing.
    readings.set(Metric::MemoryUsed, total.and(used));
    readings.set(Metric::MemoryTotal, total);
    let raw = unit
        .get(round, "reasons", Getter::Reasons)
        .and_then(plausible::bits);
    readings.set(Metric::VendorReasons, raw);
    readings.set(Metric::Reasons, raw.map(|raw| reasons(raw as u64) as f64));
    readings.set(Metric::PcieGenerationBefore, generation(unit, round));
}

/// The readings that change rarely.
pub(super) fn sample_slow(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    for (metric, question, getter, read) in SLOW {
        readings.set(metric, unit.get(round, question, getter).and_then(read));
    }
    let file =
        |read: fn(&Card) -> Reading<f64>| unit.card.as_ref().map_or(Err(Absent::NotReported), read);
    readings.set(Metric::LimitEnforced, file(Card::limit));
    readings.set(Metric::Health, file(Card::health));
}

/// HLML's two bits in the words of all vendors. Others it may have one day have no word here: the vendor's own mask
/// keeps them.
fn reasons(raw: u64) -> u64 {
    const POWER: u64 = 1;
    const HEAT: u64 = 2;
    let word = |bit, reason| if raw & bit == 0 { 0 } else { reason };
    word(POWER, Reason::POWER_CAP) | word(HEAT, Reason::SW_THERMAL)
}

/// The link's generation: by the call, which only root is answered, else by the text of its speed.
fn generation(unit: &Unit, round: &Round<'_>) -> Reading<f64> {
    let told = unit
        .get(round, "generation", Getter::Generation)
        .and_then(plausible::generation);
    if matches!(told, Ok(_) | Err(Absent::Implausible(_) | Absent::Lost)) {
        return told;
    }
    let info = unit.ask(round, "pci", |library, device| library.pci_info(device));
    let speed = info
        .ok()
        .and_then(|info| of_speed(&text_of(&info.link_speed)));
    speed.map_or(told, |generation| Ok(generation.into()))
}

/// `16.0 GT/s` and `16GT/s` as a generation.
fn of_speed(text: &str) -> Option<u8> {
    let (rate, _) = text.split_once("GT/s")?;
    match rate.trim().parse::<f64>().ok()? {
        2.5 => Some(1),
        5.0 => Some(2),
        8.0 => Some(3),
        16.0 => Some(4),
        32.0 => Some(5),
        64.0 => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_s_bits_keep_to_their_words() {
        assert_eq!(reasons(0), 0);
        assert_eq!(reasons(3), Reason::POWER_CAP | Reason::SW_THERMAL);
        // An unknown bit is no reason of another vendor's list.
        assert_eq!(reasons(0b1100), 0);
    }

    #[test]
    fn a_node_that_may_not_be_used_explains_a_refusal() {
        for (why, forbidden, told) in [
            (Absent::NotSupported, true, Absent::NoPermission),
            (Absent::NotReported, true, Absent::NoPermission),
            (Absent::NotSupported, false, Absent::NotSupported),
            (Absent::Lost, true, Absent::Lost),
            (Absent::NoLibrary, true, Absent::NoLibrary),
        ] {
            assert_eq!(explained(why, forbidden), told);
        }
    }

    #[test]
    fn speeds_are_generations() {
        for (text, generation) in [
            ("16.0 GT/s", Some(4)),
            ("32GT/s", Some(5)),
            ("8.0GT/s PC", Some(3)),
            ("N/A", None),
            ("", None),
            ("17GT/s", None),
        ] {
            assert_eq!(of_speed(text), generation, "{text}");
        }
    }
}
