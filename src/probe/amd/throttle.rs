//! Why a card holds its clocks back: masks that must last, and shares of time.

use super::blob::{Blob, Residency};
use crate::model::{Absent, Metric, Reading, Readings, Reason};
use std::time::Instant;

/// Bits of `indep_throttle_status` (the driver's `SMU_THROTTLER_*`), in our words.
const CAUSES: [(std::ops::RangeInclusive<u32>, u64); 7] = [
    // PPT0 to PPT3, SPL, FPPT, SPPT, SPPT_APU.
    (0..=7, Reason::POWER_CAP),
    // TDC, EDC, APCC.
    (16..=23, Reason::CURRENT),
    // GPU, core, memory, edge, hotspot, SoC, regulators, liquid.
    (32..=43, Reason::SW_THERMAL),
    // The regulators' own line.
    (44..=45, Reason::HW_THERMAL),
    // PROCHOT of the CPU and of the card.
    (46..=47, Reason::PROCHOT),
    (56..=56, Reason::PPM),
    (57..=57, Reason::FIT),
];
/// A cause counts once it stood in as many polls in a row: single bits have been seen on cool, idle cards.
const LASTING_POLLS: usize = 3;
/// A cause counts from this share of the time between two polls on.
const SHARE: f64 = 0.05;
/// The firmware's steps begin anew with the driver: no two polls are half a wrap apart.
const STEPS_MAX: u32 = u32::MAX / 2;

/// What earlier polls of one card said.
#[derive(Debug, Default)]
pub(super) struct History {
    masks: Vec<u64>,
    residency: Option<(Residency, Instant)>,
    shares: Option<[f64; 5]>,
    power_seconds: f64,
    heat_seconds: f64,
}

/// Our words for a mask of causes.
fn words(mask: u64) -> u64 {
    let set = |bit: &u32| mask & (1 << bit) != 0;
    CAUSES
        .iter()
        .filter(|(bits, _)| bits.clone().any(|bit| set(&bit)))
        .fold(0, |words, (_, word)| words | word)
}

/// The share of the steps between two polls under each cause; `None` where the counters do not fit each other.
fn shares(before: Residency, now: Residency) -> Option<[f64; 5]> {
    let steps = now.steps.wrapping_sub(before.steps);
    if steps == 0 || steps > STEPS_MAX {
        return None;
    }
    let mut shares = [0.0; 5];
    for ((share, now), before) in shares.iter_mut().zip(now.causes).zip(before.causes) {
        let grown = now.wrapping_sub(before);
        if grown > steps {
            return None;
        }
        *share = f64::from(grown) / f64::from(steps);
    }
    Some(shares)
}

impl History {
    /// Takes a poll's blob and sets what is known of the reasons.
    pub(super) fn take(&mut self, blob: &Blob, now: Instant, readings: &mut Readings) {
        let raw = blob.causes.or(blob.mask.map(u64::from));
        // A float holds 53 bits; what is above and below at once cannot be told.
        let exact = raw
            .map(|mask| mask as f64)
            .filter(|f| Some(*f as u64) == raw);
        readings.set(Metric::VendorReasons, exact.ok_or(Absent::NotSupported));
        if let Some(residency) = blob.residency {
            self.take_residency(residency, now, readings);
        } else if let Some(mask) = blob.causes {
            readings.set(Metric::Reasons, self.lasting(mask));
        }
    }

    /// The causes that stood in each of the last polls.
    fn lasting(&mut self, mask: u64) -> Reading<f64> {
        self.masks.push(mask);
        if self.masks.len() > LASTING_POLLS {
            self.masks.remove(0);
        }
        match self.masks.len() == LASTING_POLLS {
            true => Ok(words(self.masks.iter().fold(u64::MAX, |all, mask| all & mask)) as f64),
            false => Err(Absent::NotReported),
        }
    }

    fn take_residency(&mut self, residency: Residency, now: Instant, readings: &mut Readings) {
        match self.residency {
            // The firmware has not counted on since: what was known stands.
            Some((before, _)) if before == residency => {}
            Some((before, then)) => {
                self.shares = shares(before, residency);
                self.residency = Some((residency, now));
                if let Some([_, power, socket, regulator, memory]) = self.shares {
                    let seconds = now.duration_since(then).as_secs_f64();
                    self.power_seconds += power * seconds;
                    // They may overlap: at least as long as the longest.
                    self.heat_seconds += socket.max(regulator).max(memory) * seconds;
                }
            }
            None => self.residency = Some((residency, now)),
        }
        readings.set(Metric::SecondsSwPowerCap, Ok(self.power_seconds));
        readings.set(Metric::SecondsSwThermal, Ok(self.heat_seconds));
        let reasons = self
            .shares
            .map(|[prochot, power, socket, regulator, memory]| {
                let causes = [
                    (prochot, Reason::PROCHOT),
                    (power, Reason::POWER_CAP),
                    (socket.max(regulator).max(memory), Reason::SW_THERMAL),
                ];
                causes
                    .iter()
                    .filter(|(share, _)| *share >= SHARE)
                    .fold(0, |words, (_, word)| words | word) as f64
            });
        readings.set(Metric::Reasons, reasons.ok_or(Absent::NotReported));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn reasons(history: &mut History, blob: &Blob, at: Instant) -> (Reading<f64>, Readings) {
        let mut readings = Readings::default();
        history.take(blob, at, &mut readings);
        (readings.get(Metric::Reasons), readings)
    }

    #[test]
    fn a_stray_bit_does_not_count_and_a_lasting_one_does() {
        let mut history = History::default();
        let hotspot = |set| Blob {
            causes: Some(if set { 1 << 36 } else { 0 }),
            ..Blob::default()
        };
        let seen: Vec<_> = [true, false, true, true, true, false]
            .map(|set| reasons(&mut history, &hotspot(set), Instant::now()).0)
            .to_vec();
        let none = Err(Absent::NotReported);
        let heat = Ok(Reason::SW_THERMAL as f64);
        assert_eq!(seen, [none, none, Ok(0.0), Ok(0.0), heat, Ok(0.0)]);
    }

    #[test]
    fn every_bit_has_its_word() {
        for (bit, word) in [
            (0, Reason::POWER_CAP),
            (7, Reason::POWER_CAP),
            (17, Reason::CURRENT),
            (32, Reason::SW_THERMAL),
            (43, Reason::SW_THERMAL),
            (44, Reason::HW_THERMAL),
            (47, Reason::PROCHOT),
            (56, Reason::PPM),
            (57, Reason::FIT),
            (60, 0),
        ] {
            assert_eq!(words(1 << bit), word, "{bit}");
        }
    }

    #[test]
    fn residency_is_a_share_of_the_steps_between() {
        let mut history = History::default();
        let begin = Instant::now();
        let at = |steps: u32, causes| Blob {
            residency: Some(Residency { steps, causes }),
            ..Blob::default()
        };
        let near_the_wrap = u32::MAX - 99;
        let first = at(near_the_wrap, [0, u32::MAX - 9, 7, 0, 0]);
        let (none, readings) = reasons(&mut history, &first, begin);
        assert_eq!(none, Err(Absent::NotReported));
        assert_eq!(readings.get(Metric::SecondsSwPowerCap), Ok(0.0));
        // 1000 steps on: 800 under the power cap, 50 too hot, both over their wrap.
        let second = at(900, [0, 790, 57, 0, 0]);
        let later = begin + Duration::from_secs(10);
        let (some, readings) = reasons(&mut history, &second, later);
        assert_eq!(some, Ok((Reason::POWER_CAP | Reason::SW_THERMAL) as f64));
        let seconds = |metric| readings.get(metric).unwrap_or(-1.0);
        assert!((seconds(Metric::SecondsSwPowerCap) - 8.0).abs() < 1e-9);
        assert!((seconds(Metric::SecondsSwThermal) - 0.5).abs() < 1e-9);
        // No step since: nothing new.
        assert_eq!(reasons(&mut history, &second, later).0, some);
        // The driver was loaded again.
        let anew = at(10, [0; 5]);
        assert_eq!(
            reasons(&mut history, &anew, later).0,
            Err(Absent::NotReported)
        );
        let quiet = at(1010, [0; 5]);
        assert_eq!(reasons(&mut history, &quiet, later).0, Ok(0.0));
    }

    #[test]
    fn a_chip_s_own_mask_is_kept_and_not_guessed_at() {
        let blob = Blob {
            mask: Some(0x2),
            ..Blob::default()
        };
        let (reasons, readings) = reasons(&mut History::default(), &blob, Instant::now());
        assert_eq!(readings.get(Metric::VendorReasons), Ok(2.0));
        assert_eq!(reasons, Err(Absent::NotReported));
    }
}
