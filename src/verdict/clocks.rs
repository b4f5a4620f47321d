//! Clocks that are held low with nothing that explains it.

use super::front::{BIT_BRAKE, BIT_CAP, BIT_SLOWED, BIT_SYNC, BITS_HEAT};
use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, Less};
use crate::model::{Cause, Threshold as T, Whose, Witness};

/// A clock below what was set for it, below the device's own reference, or far below its maximum, without heat, power
/// or a brake (facts, card C7; corpus: a GB10 stuck at 799 of 2281 MHz, 0x0). Clocks that were set low before the first
/// look are somebody's will.
pub(super) struct ClockLocked;

impl Rule for ClockLocked {
    fn cause(&self) -> Cause {
        Cause::ClockLocked
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let (Some(now), Some(utilization)) = (seen.clock_mhz, front.utilization.get(5.0)) else {
            return Answer::NotEnough;
        };
        let resting = seen.performance_state.is_some_and(|p| p > 2.0);
        if utilization < 0.5 || seen.utilization.is_none_or(|u| u < 0.5) || resting {
            return Answer::No;
        }
        let looks = seen.looks(20.0);
        let explained = [&front.heat, &front.brake, &front.cap]
            .iter()
            .any(|bits| bits.share(looks, 1).is_some_and(|share| share > 0.2));
        let slowing = BITS_HEAT | BIT_CAP | BIT_BRAKE | BIT_SLOWED | BIT_SYNC;
        // The driver holds clocks for power for a part of each second: its counter says so.
        let explained = explained || front.cap_long.get(5.0).is_some_and(|share| share > 0.01);
        if explained || seen.bits.is_some_and(|b| b & slowing != 0) {
            return Answer::No;
        }
        let at_limit = seen.power_of_limit().is_some_and(|r| r >= 0.95);
        if at_limit {
            return Answer::No;
        }
        let (least, whose) = limits.get(T::LockedClock);
        let (low, low_whose) = limits.get(T::LockedLow);
        let below = |of: Option<f64>| {
            of.filter(|of| *of > 0.0)
                .map(|of| now / of)
                .filter(|ratio| *ratio < least)
        };
        let reference = memory.baselines.clock(seen);
        let base = Proof::of(Cause::ClockLocked);
        let mut proof = if let Some(ratio) = below(seen.set_clock_mhz) {
            base.with(
                Witness::ApplicationClock,
                ratio,
                Less,
                (least, Whose::Device),
                10.0,
            )
        } else if let Some(ratio) = below(reference) {
            // What fell over hours is a drift, and named already.
            if memory.holds(Cause::PowerDrift) && !memory.holds(Cause::ClockLocked) {
                return Answer::No;
            }
            base.with(Witness::ClockOfReference, ratio, Less, (least, whose), 10.0)
        } else {
            let Some(ratio) = seen
                .clock_max_mhz
                .filter(|m| *m > 0.0)
                .map(|m| now / m)
                .filter(|ratio| *ratio < low)
            else {
                return Answer::No;
            };
            // Somebody set it, and the clock follows.
            if seen.set_clock_mhz.is_some_and(|set| now >= 0.97 * set) {
                return Answer::No;
            }
            base.with(Witness::ClockOfMax, ratio, Less, (low, low_whose), 10.0)
        };
        proof = proof.with(
            Witness::Utilization,
            utilization,
            AtLeast,
            (0.5, Whose::OURS),
            10.0,
        );
        if let Some(of_limit) = seen.power_of_limit() {
            proof = proof.not(
                Cause::PowerCap,
                evidence(
                    Witness::PowerOfLimit,
                    of_limit,
                    Less,
                    (0.95, Whose::OURS),
                    0.0,
                ),
            );
        }
        if seen.bits.is_some() {
            let heat = front.heat.share(looks, 1).unwrap_or(0.0);
            proof = proof.not(
                Cause::Thermal,
                evidence(
                    Witness::SoftwareHeatTime,
                    heat,
                    Less,
                    (0.2, Whose::OURS),
                    20.0,
                ),
            );
        } else {
            proof.can_be_sure = false;
            proof = proof.cannot_tell(Cause::Thermal, Witness::SoftwareHeatTime);
        }
        Answer::Yes(proof)
    }
}
