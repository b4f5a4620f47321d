//! No work, and billed.

use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};

/// At or below the compute threshold for long (facts, card C19). Missing utilization is never idle.
pub(super) struct IdleBilled;

impl Rule for IdleBilled {
    fn cause(&self) -> Cause {
        Cause::IdleBilled
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let Some(utilization) = seen.utilization else {
            return Answer::NotEnough;
        };
        let Some(since) = memory.front.idle else {
            return Answer::No;
        };
        let seconds = seen.now.seconds_since(since);
        // A pause that has a reason is none of ours, for as long as it may last.
        if memory.front.pause.is_some() && seconds < limits.max_idle_s {
            return Answer::No;
        }
        // Somebody waits for storage: the disk is to be named, not the tenant.
        let waits = memory.holds(Cause::DiskIo) || memory.holds(Cause::InputStarved);
        if waits && seconds < limits.max_idle_s {
            return Answer::No;
        }
        let whose = Whose::OURS;
        let (max_idle, max_whose) = limits.max_idle();
        let mut proof = Proof::of(Cause::IdleBilled)
            .with(
                Witness::IdleSeconds,
                seconds,
                AtLeast,
                if seconds >= limits.max_idle_s {
                    (max_idle, max_whose)
                } else {
                    limits.get(T::IdleSuspect)
                },
                seconds,
            )
            .with(
                Witness::Utilization,
                utilization,
                AtMost,
                limits.compute(),
                0.0,
            );
        if let (Some(held), Some(total)) = (seen.owners.held_bytes, seen.memory_total)
            && held > 0.0
            && total > 0.0
        {
            let share = held / total;
            proof = proof.with(Witness::MemoryUsed, share, More, (0.0, whose), 0.0);
        }
        if let Some(waiting) = seen.owners.waiting.filter(|w| *w < 1.0) {
            proof = proof.not(
                Cause::DiskIo,
                evidence(Witness::WaitingThreads, waiting, Less, (1.0, whose), 0.0),
            );
        }
        proof.counts = seconds >= limits.max_idle_s;
        proof.back_s = (seconds - seen.dt).max(0.0);
        Answer::Yes(proof)
    }
}
