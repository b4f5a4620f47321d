//! All rules, and how a look goes through them.

use super::memory::{Memory, Span, Turn, VERSION};
use super::order::{Seconds, windows};
use super::proof::{Answer, Limits};
use super::seen::Seen;
use super::{
    Rule, claims, clocks, faults, growth, host, idle, link, pauses, peers, power, stall, thermal,
};
use crate::model::{Cause, Config, VerdictState};
use std::sync::Arc;

/// Rules with their thresholds.
#[derive(Clone)]
pub struct RuleSet {
    rules: Vec<(Arc<dyn Rule>, Span)>,
    limits: Limits,
}

/// Innocent reasons first: the others ask for them.
fn every() -> Vec<Arc<dyn Rule>> {
    vec![
        Arc::new(pauses::WarmUp),
        Arc::new(pauses::StartStalled),
        Arc::new(pauses::CheckpointPause),
        Arc::new(pauses::CompilePause),
        Arc::new(pauses::EvalPause),
        Arc::new(faults::DeviceLost),
        Arc::new(faults::EccXid),
        Arc::new(faults::CounterFrozen),
        Arc::new(power::PowerBrake),
        Arc::new(thermal::Thermal),
        Arc::new(stall::CollectiveWait),
        Arc::new(link::PcieLink),
        Arc::new(link::PcieSaturated),
        Arc::new(link::NvlinkDown),
        Arc::new(host::HostThrottled),
        Arc::new(host::HostMemory),
        Arc::new(host::DiskIo),
        Arc::new(host::NetworkIo),
        Arc::new(stall::InputStarved),
        Arc::new(faults::PlateMismatch),
        Arc::new(power::PowerCap),
        Arc::new(clocks::ClockLocked),
        Arc::new(power::PowerDrift),
        Arc::new(peers::Straggler),
        Arc::new(stall::LaunchBound),
        Arc::new(growth::MemoryLeak),
        Arc::new(growth::Flapping),
        Arc::new(claims::PanelDisagrees),
        Arc::new(idle::IdleBilled),
        Arc::new(pauses::WorkChanged),
        Arc::new(stall::PowerSmoothing),
        Arc::new(stall::MemoryBound),
        Arc::new(stall::Serving),
    ]
}

impl RuleSet {
    /// All rules, with the thresholds that hold where nobody says otherwise.
    #[must_use]
    pub fn all() -> Self {
        let config = Config::default();
        let limits = Limits::new(
            &config.thresholds,
            config.compute_threshold,
            config.max_idle.as_secs_f64(),
        );
        let unset = Span {
            suspect_s: 0.0,
            sure_s: 0.0,
            clear_s: 0.0,
        };
        let rules = every().into_iter().map(|rule| (rule, unset)).collect();
        Self {
            rules,
            limits: limits.clone(),
        }
        .with_limits(limits)
    }

    /// Without one cause's rule: what a scorer takes to see that each of them is needed.
    #[must_use]
    pub fn without(mut self, cause: Cause) -> Self {
        self.rules.retain(|(rule, _)| rule.cause() != cause);
        self
    }

    /// With other thresholds.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.set_limits(limits);
        self
    }

    /// Takes other thresholds.
    pub fn set_limits(&mut self, limits: Limits) {
        let seconds = |which| match which {
            Seconds::Of(threshold) => limits.value(threshold),
            Seconds::Fixed(seconds) => seconds,
        };
        for (rule, span) in &mut self.rules {
            let windows = windows(rule.cause());
            *span = Span {
                suspect_s: seconds(windows.suspect),
                sure_s: match rule.cause() {
                    Cause::IdleBilled => limits.max_idle_s,
                    _ => seconds(windows.sure),
                },
                clear_s: windows.clear_s,
            };
        }
        self.limits = limits;
    }

    /// The thresholds.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Looks at one device at one instant. What begins, becomes sure or ends is put into `turns`.
    pub fn look(&self, memory: &mut Memory, seen: &Seen<'_>, turns: &mut Vec<Turn>) {
        if memory.version != VERSION {
            *memory = Memory::default();
        }
        memory.front.take(seen, &self.limits);
        memory.learn(seen, &self.limits);
        memory.front.pause = None;
        for (rule, span) in &self.rules {
            let cause = rule.cause();
            // A silent device has only its silence: nothing else of it is known now.
            let answer = if seen.fresh || matches!(cause, Cause::DeviceLost | Cause::EccXid) {
                rule.look(memory, seen, &self.limits)
            } else {
                Answer::NotEnough
            };
            match answer {
                // Power alone never calls a device stalled, nor does any other single kind of witness.
                Answer::Yes(mut proof)
                    if proof.state != VerdictState::Stalled || proof.kinds() >= 2 =>
                {
                    proof.can_be_sure &= !is_anybodys(seen, cause);
                    memory.yes(seen, cause, &proof, *span, turns);
                }
                Answer::Yes(_) | Answer::No => memory.no(seen, cause, true, *span, turns),
                Answer::NotEnough => memory.no(seen, cause, false, *span, turns),
            }
        }
        memory.looked(seen.now);
    }
}

/// Whether a cause rests on what is told of a card that others use too, by their work as much as by ours: it stays a
/// suspicion. Faults, heat, limits, the link, the host's memory and our own memory are so whoever works.
fn is_anybodys(seen: &Seen<'_>, cause: Cause) -> bool {
    seen.device.virtual_share
        && matches!(
            cause,
            Cause::CollectiveWait
                | Cause::PcieSaturated
                | Cause::HostThrottled
                | Cause::DiskIo
                | Cause::NetworkIo
                | Cause::InputStarved
                | Cause::LaunchBound
                | Cause::PowerDrift
                | Cause::Straggler
                | Cause::Flapping
                | Cause::WarmUp
                | Cause::CheckpointPause
                | Cause::CompilePause
                | Cause::EvalPause
                | Cause::WorkChanged
                | Cause::PowerSmoothing
                | Cause::MemoryBound
                | Cause::Serving
        )
}
