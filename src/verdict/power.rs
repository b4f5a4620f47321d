//! Power that is held back: a brake, a limit, and a draw that falls over hours.

use super::baseline::Fall;
use super::front::BIT_CAP;
use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};

/// An external power brake, or clocks cut by hardware that is not heat (facts, card C17).
pub(super) struct PowerBrake;

impl Rule for PowerBrake {
    fn cause(&self) -> Cause {
        Cause::PowerBrake
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        if front.brake.len() == 0 {
            return Answer::NotEnough;
        }
        if front.brake.count(1) == 0 {
            return Answer::No;
        }
        let looks = seen.looks(10.0);
        let (least, whose) = limits.get(T::BrakeTime);
        let share = front
            .brake
            .share(looks.min(front.brake.len()), 1)
            .unwrap_or(0.0);
        let heat = front.heat.share(looks, 1).unwrap_or(0.0);
        let proof = Proof::of(Cause::PowerBrake)
            .with(Witness::BrakeTime, share, More, (least, whose), 10.0)
            .with_some(
                Witness::ClockOfMax,
                seen.clock_ratio(),
                AtMost,
                (0.5, Whose::Paper(crate::model::Paper::Exporter)),
                0.0,
            )
            .not(
                Cause::Thermal,
                evidence(
                    Witness::SoftwareHeatTime,
                    heat,
                    Less,
                    (0.5, Whose::OURS),
                    10.0,
                ),
            );
        Answer::Yes(proof)
    }
}

/// From this share of its limit on a device draws all that it may.
const AT_LIMIT: f64 = 0.97;

/// A limit below the default that binds, or clocks that are held for power well below the limit (facts, card C7). At
/// the default limit under full load nothing is wrong.
pub(super) struct PowerCap;

impl Rule for PowerCap {
    fn cause(&self) -> Cause {
        Cause::PowerCap
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let (Some(power), Some(limit)) = (seen.power_w, seen.limit_w.filter(|l| *l > 0.0)) else {
            return Answer::NotEnough;
        };
        // A device that draws all that it may works, also where utilization is not told.
        let busy = match front.utilization.get(0.0) {
            Some(utilization) => utilization,
            None if power >= AT_LIMIT * limit => 0.5,
            None => return Answer::NotEnough,
        };
        if busy < 0.5 {
            return Answer::No;
        }
        let looks = seen.looks(20.0);
        let told = front.cap.share(looks, 1);
        let by_bit = seen.bits.is_some_and(|b| b & BIT_CAP != 0) || front.cap.count(1) > 0;
        // Where reasons are read they say whether the limit binds; else the draw does.
        let at_limit = told.is_none() && power >= AT_LIMIT * limit;
        let clock = seen.clock_ratio();
        let full = seen.default_limit_w.or(seen.plate_w).filter(|p| *p > 0.0);
        let (lowered, whose) = limits.get(T::CapLimit);
        let proof = Proof::of(Cause::PowerCap)
            .with_some(
                Witness::PowerCapTime,
                told,
                More,
                (0.0, Whose::Device),
                20.0,
            )
            .with_some(
                Witness::ClockOfMax,
                clock.filter(|c| *c < 0.99),
                Less,
                (1.0, Whose::Device),
                0.0,
            );
        if let Some(full) = full.filter(|full| limit < lowered * full)
            && (by_bit || at_limit)
        {
            let proof = proof
                .with(
                    Witness::LimitOfPlate,
                    limit / full,
                    Less,
                    (lowered, whose),
                    0.0,
                )
                .with(
                    Witness::PowerOfLimit,
                    power / limit,
                    AtLeast,
                    (0.95, Whose::OURS),
                    0.0,
                );
            return Answer::Yes(proof);
        }
        // It draws all that it may, and nobody says what it was made for: no fault, and not to be told from one.
        if full.is_none() && at_limit {
            let mut proof = proof
                .with(
                    Witness::PowerOfLimit,
                    power / limit,
                    AtLeast,
                    (AT_LIMIT, Whose::OURS),
                    0.0,
                )
                .cannot_tell(Cause::None, Witness::LimitOfPlate);
            (proof.counts, proof.can_be_sure) = (false, false);
            return Answer::Yes(proof);
        }
        let (held, held_whose) = limits.get(T::CapHeld);
        let slow = clock.is_some_and(|c| c < limits.value(T::LockedClock));
        if by_bit && power < held * limit && slow && busy >= 0.95 {
            let proof = proof.with(
                Witness::PowerOfLimit,
                power / limit,
                Less,
                (held, held_whose),
                0.0,
            );
            return Answer::Yes(proof);
        }
        Answer::No
    }
}

/// The draw for the same work falls over hours (facts, card C7 and section 9).
pub(super) struct PowerDrift;

impl Rule for PowerDrift {
    fn cause(&self) -> Cause {
        Cause::PowerDrift
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let (ratio, whose) = limits.get(T::DriftRatio);
        // Peers are a witness where they run the same job.
        let same = seen.peers.count >= 3 && seen.peers.key == Some(seen.owners.key);
        let peers = seen.peers.of_reference.filter(|_| same);
        let Some(drift) = memory.baselines.drift(seen.at, limits) else {
            return Answer::NotEnough;
        };
        let Some(fall) = drift.fall else {
            return Answer::No;
        };
        let unmoved = peers.filter(|p| *p >= 0.985 && drift.power + 0.02 < *p);
        // A clock that stands says more than a reason or the peers.
        let stands = drift.clock.is_some_and(|c| c >= 0.995);
        let witnessed = drift.clock_fell || (!stands && (drift.reasons_rose || unmoved.is_some()));
        let blind = drift.clock.is_none() && drift.reasons.is_none() && peers.is_none();
        // Without a lower clock, a reason or unmoved peers it is less work, not a slower device.
        if !witnessed && !blind {
            return Answer::No;
        }
        // A log cannot tell a fall by noise from one by clocks: it waits for the whole rule.
        if blind && drift.noisy {
            return Answer::NotEnough;
        }
        let hour = limits.value(T::DriftSure);
        let mut proof = Proof::of(Cause::PowerDrift)
            .with(
                Witness::PowerOfReference,
                drift.power,
                Less,
                (ratio, whose),
                hour,
            )
            .with_some(
                Witness::ClockOfReference,
                drift.clock,
                Less,
                limits.get(T::DriftClock),
                hour,
            );
        if drift.reasons_rose {
            proof = proof.with_some(
                Witness::ReasonTime,
                drift.reasons,
                More,
                (drift.reasons_before, Whose::Baseline),
                hour,
            );
        }
        proof = proof.with_some(
            Witness::PowerOfPeers,
            unmoved.map(|p| drift.power / p),
            Less,
            (0.98, Whose::Baseline),
            hour,
        );
        if blind {
            proof = proof.cannot_tell(Cause::WorkChanged, Witness::ClockOfReference);
        } else {
            proof = proof.not(
                Cause::WorkChanged,
                evidence(
                    Witness::Utilization,
                    drift.utilization,
                    AtLeast,
                    (drift.utilization_before - 0.05, Whose::Baseline),
                    hour,
                ),
            );
        }
        proof.back_s = drift.since_s;
        proof.at_once = true;
        proof.can_be_sure = fall == Fall::Hour && witnessed && !drift.noisy;
        if fall == Fall::Sum {
            proof = proof.with(
                Witness::PowerSum,
                drift.sum_w,
                AtLeast,
                (drift.decision_w, limits.get(T::DriftDecision).1),
                0.0,
            );
        }
        Answer::Yes(proof)
    }
}
