//! Heat: clocks that are cut for it, and cards that are too hot without saying so.

use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};

/// Clocks are cut for heat, or a device that reports no threshold is over the articles' alarm (facts, card C8).
pub(super) struct Thermal;

impl Rule for Thermal {
    fn cause(&self) -> Cause {
        Cause::Thermal
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let utilization = front.utilization.get(0.0);
        if utilization.is_some_and(|u| u < limits.compute) {
            return Answer::No;
        }
        let clock = seen.clock_ratio();
        let base = Proof::of(Cause::Thermal);
        let with_numbers = |proof: Proof| {
            let proof = match (
                seen.headroom_c.filter(|_| seen.own_threshold),
                seen.temperature_c,
            ) {
                (Some(left), _) => proof.with(
                    Witness::Headroom,
                    left,
                    AtMost,
                    limits.get(T::HeatMargin),
                    0.0,
                ),
                (None, Some(now)) => proof.with(
                    Witness::Temperature,
                    now,
                    More,
                    limits.get(T::HeatAlarm),
                    0.0,
                ),
                _ => proof,
            };
            proof.with_some(
                Witness::ClockOfMax,
                clock.filter(|c| *c < 0.99),
                Less,
                (1.0, Whose::Device),
                0.0,
            )
        };
        let looks = seen.looks(20.0);
        if let Some(share) = front
            .heat
            .share(looks, 1)
            .filter(|_| front.heat.count(1) > 0)
        {
            let by_hardware = front.hardware_heat.count(looks) > 0;
            let witness = if by_hardware {
                Witness::HardwareHeatTime
            } else {
                Witness::SoftwareHeatTime
            };
            let proof = base.with(witness, share, AtLeast, limits.get(T::HeatTime), 20.0);
            let mut proof = with_numbers(proof);
            let cap = front.cap.share(looks, 1).unwrap_or(0.0);
            if cap < 0.5 {
                proof = proof.not(
                    Cause::PowerCap,
                    evidence(Witness::PowerCapTime, cap, Less, (0.5, Whose::OURS), 20.0),
                );
            }
            return Answer::Yes(proof);
        }
        let (margin, _) = limits.get(T::HeatMargin);
        let (alarm, _) = limits.get(T::HeatAlarm);
        match (
            seen.headroom_c.filter(|_| seen.own_threshold),
            seen.temperature_c,
        ) {
            (Some(left), _) if left <= margin => {
                let mut proof = with_numbers(base);
                // At its margin with nothing slowed is a warning, not a fault.
                proof.can_be_sure = front.heat.len() == 0 || clock.is_some_and(|c| c < 0.97);
                Answer::Yes(proof)
            }
            (None, Some(now)) if now > alarm => Answer::Yes(with_numbers(base)),
            (None, None) if front.heat.len() == 0 => Answer::NotEnough,
            _ => Answer::No,
        }
    }
}
