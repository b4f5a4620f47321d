//! What a rule answers with.

use crate::model::{
    Cause, Comparison, Config, Evidence, EvidenceKind, Rejected, Threshold, Thresholds,
    VerdictState, Whose, Why, Witness,
};

/// Numbers of one answer at most.
pub(super) const NUMBERS: usize = 8;
/// Look-alikes of one answer at most.
const TURNED_DOWN: usize = 3;

/// What a rule makes of a device at one instant.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it is looked at where it is made, and never kept"
)]
pub enum Answer {
    /// It holds now, for these reasons.
    Yes(Proof),
    /// It does not hold.
    No,
    /// What would decide is not there.
    NotEnough,
}

/// Why a rule says yes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    evidence: [Option<Evidence>; NUMBERS],
    rejected: [Option<Rejected>; TURNED_DOWN],
    /// For how many seconds before this instant it has held already, as the evidence says.
    pub back_s: f64,
    /// Whether waiting can make it sure: the evidence is all there.
    pub can_be_sure: bool,
    /// It needs no window: what it rests on is a fact, not a tendency.
    pub at_once: bool,
    /// The state that it puts the device into.
    pub state: VerdictState,
    /// Whether it counts.
    pub counts: bool,
}

impl Proof {
    /// Begins a proof of a cause, in that cause's own state.
    #[must_use]
    pub const fn of(cause: Cause) -> Self {
        Self {
            evidence: [None; NUMBERS],
            rejected: [None; TURNED_DOWN],
            back_s: 0.0,
            can_be_sure: true,
            at_once: false,
            state: cause.state(),
            counts: cause.can_count(),
        }
    }

    /// Adds a number; one that does not stand to its threshold as it should is no evidence and stays out.
    #[must_use]
    pub fn with(
        mut self,
        witness: Witness,
        value: f64,
        comparison: Comparison,
        threshold: (f64, Whose),
        window_s: f64,
    ) -> Self {
        if let Some(slot) = self.evidence.iter_mut().find(|slot| slot.is_none())
            && comparison.holds(value, threshold.0)
        {
            *slot = Some(evidence(witness, value, comparison, threshold, window_s));
        }
        self
    }

    /// Adds a number where it is known.
    #[must_use]
    pub fn with_some(
        self,
        witness: Witness,
        value: Option<f64>,
        comparison: Comparison,
        threshold: (f64, Whose),
        window_s: f64,
    ) -> Self {
        match value {
            Some(value) => self.with(witness, value, comparison, threshold, window_s),
            None => self,
        }
    }

    /// Turns a look-alike down by a number that speaks against it.
    #[must_use]
    pub fn not(mut self, cause: Cause, why: Evidence) -> Self {
        if let Some(slot) = self.rejected.iter_mut().find(|slot| slot.is_none())
            && why.holds()
        {
            *slot = Some(Rejected {
                cause,
                why: Why::Against(why),
            });
        }
        self
    }

    /// Says that a look-alike cannot be told apart without this number.
    #[must_use]
    pub fn cannot_tell(mut self, cause: Cause, lacking: Witness) -> Self {
        if let Some(slot) = self.rejected.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(Rejected {
                cause,
                why: Why::CannotTell(lacking),
            });
        }
        self
    }

    /// The numbers.
    pub fn evidence(&self) -> impl Iterator<Item = Evidence> + '_ {
        self.evidence.iter().flatten().copied()
    }

    /// The look-alikes.
    pub fn rejected(&self) -> impl Iterator<Item = Rejected> + '_ {
        self.rejected.iter().flatten().copied()
    }

    /// How many kinds of witness agree.
    #[must_use]
    pub fn kinds(&self) -> usize {
        let mut seen: [Option<EvidenceKind>; NUMBERS] = [None; NUMBERS];
        let mut count = 0;
        for kind in self.evidence().map(|e| e.witness.kind()) {
            if !seen.contains(&Some(kind)) {
                if let Some(slot) = seen.get_mut(count) {
                    *slot = Some(kind);
                }
                count += 1;
            }
        }
        count
    }
}

/// One number with its threshold.
#[must_use]
pub(super) const fn evidence(
    witness: Witness,
    value: f64,
    comparison: Comparison,
    (threshold, whose): (f64, Whose),
    window_s: f64,
) -> Evidence {
    Evidence {
        witness,
        value,
        comparison,
        threshold,
        whose,
        window_s,
    }
}

/// All thresholds, resolved once.
#[derive(Debug, Clone)]
pub struct Limits {
    values: Vec<(f64, Whose)>,
    /// Utilization above which a second is compute.
    pub compute: f64,
    /// Idle time after which a verdict counts, in seconds.
    pub max_idle_s: f64,
}

impl Limits {
    /// Those of a configuration.
    #[must_use]
    pub fn new(thresholds: &Thresholds, compute: f64, max_idle_s: f64) -> Self {
        Self {
            values: Threshold::ALL.iter().map(|t| thresholds.get(*t)).collect(),
            compute,
            max_idle_s,
        }
    }

    /// Utilization above which a second is compute, and whose that is.
    #[must_use]
    pub fn compute(&self) -> (f64, Whose) {
        let own = self.compute == Config::COMPUTE;
        (
            self.compute,
            if own { Whose::Article } else { Whose::Config },
        )
    }

    /// Seconds without work after which a verdict counts, and whose they are.
    #[must_use]
    pub fn max_idle(&self) -> (f64, Whose) {
        let own = self.max_idle_s == Config::MAX_IDLE.as_secs_f64();
        (
            self.max_idle_s,
            if own { Whose::OURS } else { Whose::Config },
        )
    }

    /// A threshold, and whose it is.
    #[must_use]
    pub fn get(&self, threshold: Threshold) -> (f64, Whose) {
        self.values
            .get(threshold as usize)
            .copied()
            .unwrap_or((threshold.default(), threshold.whose()))
    }

    /// Its number alone.
    #[must_use]
    pub fn value(&self, threshold: Threshold) -> f64 {
        self.get(threshold).0
    }
}
