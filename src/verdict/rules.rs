//! All rules, and how a look goes through them.

use super::memory::{Memory, Span, Turn, VERSION};
use super::order::{Seconds, windows};
use super::proof::{Answer, Limits};
use super::seen::Seen;
use super::{Rule, clocks, faults, growth, host, idle, link, pauses, peers, power, stall, thermal};
use crate::model::{Cause, Config, VerdictState};

/// Rules with their thresholds.
pub struct RuleSet {
    rules: Vec<(Box<dyn Rule>, Span)>,
    limits: Limits,
}

/// Innocent reasons first: the others ask for them.
fn every() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(pauses::WarmUp),
        Box::new(pauses::CheckpointPause),
        Box::new(pauses::CompilePause),
        Box::new(pauses::EvalPause),
        Box::new(faults::DeviceLost),
        Box::new(faults::EccXid),
        Box::new(faults::CounterFrozen),
        Box::new(power::PowerBrake),
        Box::new(thermal::Thermal),
        Box::new(stall::CollectiveWait),
        Box::new(link::PcieLink),
        Box::new(link::PcieSaturated),
        Box::new(link::NvlinkDown),
        Box::new(host::HostThrottled),
        Box::new(host::HostMemory),
        Box::new(host::DiskIo),
        Box::new(host::NetworkIo),
        Box::new(stall::InputStarved),
        Box::new(faults::PlateMismatch),
        Box::new(power::PowerCap),
        Box::new(clocks::ClockLocked),
        Box::new(power::PowerDrift),
        Box::new(peers::Straggler),
        Box::new(stall::LaunchBound),
        Box::new(growth::MemoryLeak),
        Box::new(growth::Flapping),
        Box::new(idle::IdleBilled),
        Box::new(pauses::WorkChanged),
        Box::new(stall::PowerSmoothing),
        Box::new(stall::MemoryBound),
        Box::new(stall::Serving),
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
        self
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
                Answer::Yes(proof)
                    if proof.state != VerdictState::Stalled || proof.kinds() >= 2 =>
                {
                    memory.yes(seen, cause, &proof, *span, turns);
                }
                Answer::Yes(_) | Answer::No => memory.no(seen, cause, true, *span, turns),
                Answer::NotEnough => memory.no(seen, cause, false, *span, turns),
            }
        }
        memory.looked(seen.now);
    }
}
