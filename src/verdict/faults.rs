//! Devices that are lost or report faults, readings that stand still, cards that are not what they were sold as.

use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen, claims};
use crate::model::Comparison::{AtLeast, Equal, Less};
use crate::model::{Cause, Confidence, DeviceKind, Threshold as T, Whose, Witness};

/// XIDs that the application caused, that follow another one, or that inform (see the session's known facts): none of
/// the device's.
pub(crate) const XID_BENIGN: [u32; 14] =
    [13, 31, 32, 43, 45, 63, 69, 92, 121, 154, 162, 163, 164, 165];
/// XIDs that must be acted on (facts, section 4).
const XID_FAULTS: [u32; 12] = [46, 48, 62, 64, 74, 79, 95, 109, 119, 120, 140, 143];
/// Off the bus.
const XID_OFF_BUS: u32 = 79;

/// The driver does not reach it for two polls (facts, card C16).
pub(super) struct DeviceLost;

impl Rule for DeviceLost {
    fn cause(&self) -> Cause {
        Cause::DeviceLost
    }

    fn look(&self, _: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        if !seen.lost {
            return if seen.silent_s.is_some() {
                Answer::NotEnough
            } else {
                Answer::No
            };
        }
        let silent = seen.silent_s.unwrap_or(0.0);
        let mut proof = Proof::of(Cause::DeviceLost).with(
            Witness::Silent,
            silent,
            AtLeast,
            limits.get(T::LostSuspect),
            silent,
        );
        let off_bus = seen.xid.is_some_and(|(code, _)| code == XID_OFF_BUS);
        if off_bus {
            let code = f64::from(XID_OFF_BUS);
            proof = proof.with(Witness::Xid, code, Equal, (code, Whose::Device), 0.0);
        }
        // All at once is a driver that is loaded anew, or a container that lost its devices, for a while.
        proof.can_be_sure = off_bus || !seen.all_lost || silent >= 60.0;
        Answer::Yes(proof)
    }
}

/// Uncorrected errors, failed remaps, XIDs that must be acted on, what the driver asks for (facts, card C14). At once.
pub(super) struct EccXid;

impl Rule for EccXid {
    fn cause(&self) -> Cause {
        Cause::EccXid
    }

    fn look(&self, _: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let one = (1.0, Whose::Device);
        let mut proof = Proof::of(Cause::EccXid);
        let mut worst: Option<Confidence> = None;
        let (news, _) = limits.get(T::XidNews);
        if let Some((code, age)) = seen.xid
            && age < news
            && !XID_BENIGN.contains(&code)
            && !(code == XID_OFF_BUS && (seen.lost || age < 15.0))
        {
            let number = f64::from(code);
            proof = proof.with(Witness::Xid, number, Equal, (number, Whose::Device), news);
            let sure = XID_FAULTS.contains(&code);
            worst = worst.max(Some(if sure {
                Confidence::Sure
            } else {
                Confidence::Suspect
            }));
        }
        for (witness, value, sure) in [
            (Witness::EccUncorrected, seen.ecc_uncorrected, true),
            (Witness::RemapFailed, seen.remap_failed, true),
            (Witness::RecoveryAction, seen.recovery_action, true),
            (Witness::RemapPending, seen.remap_pending, false),
        ] {
            if let Some(value) = value.filter(|v| *v > 0.0) {
                proof = proof.with(witness, value, AtLeast, one, 0.0);
                worst = worst.max(Some(if sure {
                    Confidence::Sure
                } else {
                    Confidence::Suspect
                }));
            }
        }
        // The vendor's own judgement: a minor fault is a suspicion, a major or critical one is none any more.
        if let Some(health) = seen.health.filter(|health| *health >= 1.0) {
            let grave = health >= 2.0;
            let threshold = if grave { 2.0 } else { 1.0 };
            let whose = (threshold, Whose::Device);
            proof = proof.with(Witness::Health, health, AtLeast, whose, 0.0);
            worst = worst.max(Some(match grave {
                true => Confidence::Sure,
                false => Confidence::Suspect,
            }));
        }
        let Some(worst) = worst else {
            let blind = seen.ecc_uncorrected.is_none() && seen.remap_failed.is_none();
            return if blind && !seen.fresh {
                Answer::NotEnough
            } else {
                Answer::No
            };
        };
        proof.at_once = true;
        proof.can_be_sure = worst == Confidence::Sure;
        Answer::Yes(proof)
    }
}

/// A driver that repeats itself: not even the milliwatts of a working device move.
pub(super) struct CounterFrozen;

/// Equal samples in a row before it can be said.
const EQUAL_LOOKS: u32 = 15;

impl Rule for CounterFrozen {
    fn cause(&self) -> Cause {
        Cause::CounterFrozen
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, _: &Limits) -> Answer {
        let frozen = &memory.front.frozen;
        let Some(power) = seen.power_w else {
            return Answer::NotEnough;
        };
        // Whole watts of a resting card may stand still for hours; a sensor that shows fractions has noise, and an
        // energy counter grows wherever power is drawn.
        let energy = seen.energy_j.is_some() && power > 1.0;
        let busy = seen.utilization.is_some_and(|u| u > 0.10);
        if !(energy || frozen.fine && busy) {
            return Answer::NotEnough;
        }
        if frozen.same < EQUAL_LOOKS {
            return Answer::No;
        }
        let mut proof = Proof::of(Cause::CounterFrozen)
            .with(
                Witness::Frozen,
                frozen.same_s,
                AtLeast,
                (15.0, Whose::OURS),
                frozen.same_s,
            )
            .with(
                Witness::Power,
                power,
                Equal,
                (power, Whose::Device),
                frozen.same_s,
            );
        proof.back_s = (frozen.same_s - seen.dt).max(0.0);
        Answer::Yes(proof)
    }
}

/// A default limit, or a memory, below what the model is sold with.
pub(super) struct PlateMismatch;

impl Rule for PlateMismatch {
    fn cause(&self) -> Cause {
        Cause::PlateMismatch
    }

    fn look(&self, _: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let mut claims = claims::of(seen, Cause::PlateMismatch).peekable();
        let claimed = claims.peek().is_some();
        // What a share or a slice was sold as, the table does not say; the platform may.
        let tabled = seen.device.kind == DeviceKind::Device && !seen.device.virtual_share;
        let power = seen.default_limit_w.zip(seen.rated_w.filter(|r| *r > 0.0));
        let power = power.filter(|_| tabled);
        let memory = seen
            .memory_total
            .zip(seen.plate_memory.filter(|m| *m > 0.0))
            .filter(|_| tabled);
        if power.is_none() && memory.is_none() && !claimed {
            return if tabled {
                Answer::NotEnough
            } else {
                Answer::No
            };
        }
        let (least, whose) = limits.get(T::PlateDefault);
        let mut proof = claims.fold(Proof::of(Cause::PlateMismatch), claims::with);
        let mut holds = claimed;
        if let Some((default, rated)) = power
            && default < rated * least
        {
            holds = true;
            proof = proof.with(
                Witness::DefaultOfRated,
                default / rated,
                Less,
                (least, whose),
                0.0,
            );
        }
        if let Some((total, plate)) = memory
            && total < plate * least
        {
            holds = true;
            proof = proof.with(
                Witness::MemoryOfPlate,
                total / plate,
                Less,
                (least, whose),
                0.0,
            );
        }
        if !holds {
            return Answer::No;
        }
        if let Some((default, limit)) = seen.default_limit_w.zip(seen.limit_w)
            && limit >= 0.98 * default
        {
            proof = proof.not(
                Cause::PowerCap,
                evidence(
                    Witness::LimitOfPlate,
                    limit / default,
                    AtLeast,
                    limits.get(T::CapLimit),
                    0.0,
                ),
            );
        }
        Answer::Yes(proof)
    }
}
