//! What the rules remember of one device: part of Start.

use super::baseline::Baselines;
use super::front::Front;
use super::growth::Growth;
use super::order::rank;
use super::pauses::Pauses;
use super::proof::{Limits, NUMBERS, Proof};
use super::seen::Seen;
use crate::model::{
    Cause, Comparison, Confidence, DeviceId, Episode, Evidence, Rejected, Threshold, Verdict,
    VerdictState,
};
use crate::units::MonoTime;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The form of what is remembered. A memory of another form is begun anew.
pub(crate) const VERSION: u8 = 1;

/// All that the rules remember of a device: some kilobytes, whatever happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(crate) version: u8,
    pub(crate) front: Front,
    pub(crate) pauses: Pauses,
    pub(crate) baselines: Baselines,
    pub(crate) growth: Growth,
    pub(crate) flaps: super::growth::Flaps,
    /// Most NVLinks that were ever up.
    pub(crate) links_best: Option<f64>,
    /// NVLink errors before, and the smoothed new ones per second.
    pub(crate) nvlink_errors: (Option<f64>, super::window::Smooth),
    /// TCP segments and retransmits of about the last minute, and RDMA errors, bytes.
    pub(crate) network: super::host::Network,
    /// Swap in use before, and its smoothed growth in bytes per second.
    pub(crate) swap: (Option<f64>, super::window::Smooth),
    /// Causes that hold or held a moment ago, in the order of decision.
    watches: Vec<Watch>,
    looked: Option<MonoTime>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            version: VERSION,
            front: Front::default(),
            pauses: Pauses::default(),
            baselines: Baselines::default(),
            growth: Growth::default(),
            flaps: super::growth::Flaps::default(),
            links_best: None,
            nvlink_errors: Default::default(),
            network: Default::default(),
            swap: Default::default(),
            watches: Vec::new(),
            looked: None,
        }
    }
}

/// One cause on one device, from its first yes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Watch {
    cause: Cause,
    begin: Timestamp,
    /// When it was seen last.
    seen: MonoTime,
    seen_at: Timestamp,
    /// Seconds in which it held.
    held_s: f64,
    confidence: Option<Confidence>,
    suspect_at: Option<Timestamp>,
    sure_at: Option<Timestamp>,
    state: VerdictState,
    counts: bool,
    can_be_sure: bool,
    /// Seconds that it must hold until it is sure.
    sure_s: f64,
    evidence: Vec<Evidence>,
    /// Each number as it was at its furthest from its threshold.
    furthest: Vec<Evidence>,
    rejected: Vec<Rejected>,
}

/// Something that happened to a cause on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// What.
    pub kind: TurnKind,
    /// The episode as it stands.
    pub episode: Episode,
}

/// What happened to a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// It is suspected.
    Begin,
    /// It is sure.
    Sure,
    /// It is over.
    End,
}

/// The windows of a cause in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) suspect_s: f64,
    pub(crate) sure_s: f64,
    pub(crate) clear_s: f64,
}

/// Bits that mean slowed clocks: power cap, hardware, heat, brake.
const SLOWING: u64 = 0xEC;

/// An answer that cannot be given for longer than this ends what it was about.
const UNSEEN_S: f64 = 60.0;

impl Memory {
    /// Nobody looked for a while: what held ends where it was last seen, and windows begin anew. What was learned stays.
    pub fn after_gap(&mut self, device: &DeviceId, turns: &mut Vec<Turn>) {
        for watch in self.watches.drain(..) {
            watch.end(device, turns);
        }
        self.front.after_gap();
        self.pauses.after_gap();
        self.looked = None;
    }

    /// The boot clock began anew: no instant of it means anything any more.
    pub fn after_boot(&mut self) {
        self.network = Default::default();
        self.growth = Growth::default();
        self.flaps = Default::default();
        (self.nvlink_errors, self.swap) = (Default::default(), Default::default());
    }

    /// Takes a look into everything that is learned from the device itself.
    pub(crate) fn learn(&mut self, seen: &Seen<'_>, limits: &Limits) {
        if !seen.fresh {
            return;
        }
        let past = self.front.past_span.get(30.0);
        self.pauses.take(seen, past, limits);
        self.growth.take(seen, limits.value(Threshold::LeakGrowth));
        self.flaps.take(seen);
        let warm = seen
            .owners
            .youngest_s
            .is_some_and(|age| age < limits.value(Threshold::WarmUpSeconds));
        let [cap, _, software, hardware, brake] = self.front.reason_share;
        let counted = seen.reason_s.iter().any(Option::is_some);
        let by_bits = seen
            .bits
            .map(|bits| f64::from(u8::from(bits & SLOWING != 0)));
        let reasons = if counted {
            Some(cap.max(software).max(hardware).max(brake))
        } else {
            by_bits
        };
        self.baselines.take(seen, warm, reasons, limits);
    }

    /// Power of the last hour over this device's own reference, for its peers.
    #[must_use]
    pub fn of_reference(&self) -> Option<f64> {
        self.baselines.of_reference()
    }

    /// Whether it is fully busy at next to no power.
    #[must_use]
    pub fn spins(&self) -> bool {
        self.front.spin.is_some()
    }

    /// Seconds since the last look; 0 for the first one.
    #[must_use]
    pub fn passed(&self, now: MonoTime) -> f64 {
        self.looked
            .map_or(0.0, |looked| now.seconds_since(looked).max(0.0))
    }

    pub(crate) fn looked(&mut self, now: MonoTime) {
        self.looked = Some(now);
    }

    pub(crate) fn yes(
        &mut self,
        seen: &Seen<'_>,
        cause: Cause,
        proof: &Proof,
        span: Span,
        turns: &mut Vec<Turn>,
    ) {
        let at = self.watches.iter().position(|w| w.cause == cause);
        let new = at.is_none();
        let index = match at {
            Some(index) => index,
            None => {
                let back = jiff::SignedDuration::try_from_secs_f64(proof.back_s + seen.dt);
                let begin = seen
                    .at
                    .saturating_sub(back.unwrap_or_default())
                    .unwrap_or(seen.at);
                let place = self
                    .watches
                    .iter()
                    .position(|w| rank(w.cause) > rank(cause))
                    .unwrap_or(self.watches.len());
                self.watches
                    .insert(place, Watch::new(cause, begin, proof.back_s, seen));
                place
            }
        };
        if let Some(watch) = self.watches.get_mut(index) {
            // How much of the interval before its first look it lasted is not known: that counts nothing.
            if !new {
                watch.held_s += seen.dt;
            }
            watch.yes(seen, proof, span, turns);
        }
    }

    pub(crate) fn no(
        &mut self,
        seen: &Seen<'_>,
        cause: Cause,
        known: bool,
        span: Span,
        turns: &mut Vec<Turn>,
    ) {
        let Some(index) = self.watches.iter().position(|w| w.cause == cause) else {
            return;
        };
        let patience = if known {
            span.clear_s
        } else {
            span.clear_s.max(UNSEEN_S)
        };
        let over = self
            .watches
            .get(index)
            .is_some_and(|w| seen.now.seconds_since(w.seen) > patience);
        if over {
            self.watches.remove(index).end(&seen.device.id, turns);
        }
    }

    /// Whether a cause holds now, as far as it is known.
    pub(crate) fn holds(&self, cause: Cause) -> bool {
        self.watches
            .iter()
            .any(|w| w.cause == cause && w.confidence.is_some())
    }

    /// For how long a cause has held, in seconds.
    #[cfg(test)]
    pub(crate) fn held_s(&self, cause: Cause) -> f64 {
        self.watches
            .iter()
            .find(|w| w.cause == cause)
            .map_or(0.0, |w| w.held_s)
    }

    fn named(&self) -> impl Iterator<Item = &Watch> {
        self.watches.iter().filter(|w| w.confidence.is_some())
    }

    /// The causes that hold now, worst first.
    #[must_use]
    pub fn episodes(&self, device: &DeviceId) -> Vec<Episode> {
        self.named().map(|w| w.episode(device, None)).collect()
    }

    /// The verdict without its numbers, where a cause holds.
    #[must_use]
    pub fn standing(&self) -> Option<Verdict> {
        let first = self.named().next()?;
        Some(Verdict {
            state: first.state,
            cause: first.cause,
            confidence: first.confidence.unwrap_or(Confidence::Suspect),
            since: Some(first.begin),
            counts: first.counts,
            ..Verdict::unknown()
        })
    }

    /// The verdict, where a cause holds.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let mut named = self.named();
        let first = named.next()?;
        let sure_in_s = (first.confidence < Some(Confidence::Sure)
            && first.can_be_sure
            && first.sure_s.is_finite())
        .then(|| (first.sure_s - first.held_s).max(0.0));
        Some(Verdict {
            state: first.state,
            cause: first.cause,
            confidence: first.confidence.unwrap_or(Confidence::Suspect),
            since: Some(first.begin),
            counts: first.counts,
            evidence: first.evidence.clone(),
            rejected: first.rejected.clone(),
            sure_in_s,
            also: named.map(|w| w.cause).collect(),
        })
    }

    /// The state that the device's seconds are to be marked with: stalled or throttled, once that is more than a
    /// suspicion.
    #[must_use]
    pub fn worth(&self) -> Option<VerdictState> {
        let marked = |w: &&Watch| {
            w.confidence >= Some(Confidence::Likely)
                && matches!(w.state, VerdictState::Stalled | VerdictState::Throttled)
        };
        let states = self.named().filter(marked).map(|w| w.state);
        // What is stalled and throttled is stalled.
        states.reduce(|a, b| if b == VerdictState::Stalled { b } else { a })
    }
}

impl Watch {
    fn new(cause: Cause, begin: Timestamp, back_s: f64, seen: &Seen<'_>) -> Self {
        Self {
            cause,
            begin,
            seen: seen.now,
            seen_at: seen.at,
            held_s: back_s,
            confidence: None,
            suspect_at: None,
            sure_at: None,
            state: cause.state(),
            counts: false,
            can_be_sure: true,
            sure_s: f64::INFINITY,
            evidence: Vec::new(),
            furthest: Vec::new(),
            rejected: Vec::new(),
        }
    }

    fn yes(&mut self, seen: &Seen<'_>, proof: &Proof, span: Span, turns: &mut Vec<Turn>) {
        (self.seen, self.seen_at) = (seen.now, seen.at);
        (self.state, self.counts) = (proof.state, proof.counts);
        self.can_be_sure = proof.can_be_sure;
        self.sure_s = span.sure_s;
        self.evidence.clear();
        self.evidence.extend(proof.evidence());
        for (place, now) in proof.evidence().enumerate() {
            reach(&mut self.furthest, place, now);
        }
        self.rejected.clear();
        self.rejected.extend(proof.rejected());
        let reached = match () {
            () if proof.can_be_sure && (proof.at_once || self.held_s >= span.sure_s) => {
                Some(Confidence::Sure)
            }
            () if proof.at_once => Some(Confidence::Suspect),
            () if proof.can_be_sure
                && self.held_s >= span.suspect_s
                && self.held_s >= 0.5 * span.sure_s =>
            {
                Some(Confidence::Likely)
            }
            () if self.held_s >= span.suspect_s => Some(Confidence::Suspect),
            () => None,
        };
        if reached <= self.confidence {
            return;
        }
        let before = self.confidence;
        self.confidence = reached;
        if before.is_none() {
            self.suspect_at = Some(seen.at);
            turns.push(self.turn(TurnKind::Begin, &seen.device.id, None));
        }
        if reached == Some(Confidence::Sure) {
            self.sure_at = Some(seen.at);
            turns.push(self.turn(TurnKind::Sure, &seen.device.id, None));
        }
    }

    fn end(self, device: &DeviceId, turns: &mut Vec<Turn>) {
        if self.confidence.is_some() {
            let at = self.seen_at;
            turns.push(self.turn(TurnKind::End, device, Some(at)));
        }
    }

    fn turn(&self, kind: TurnKind, device: &DeviceId, end: Option<Timestamp>) -> Turn {
        Turn {
            kind,
            episode: self.episode(device, end),
        }
    }

    fn episode(&self, device: &DeviceId, end: Option<Timestamp>) -> Episode {
        Episode {
            device: device.clone(),
            cause: self.cause,
            state: self.state,
            confidence: self.confidence.unwrap_or(Confidence::Suspect),
            counts: self.counts,
            begin: self.begin,
            suspect_at: self.suspect_at.unwrap_or(self.begin),
            sure_at: self.sure_at,
            end,
            seconds: self.held_s,
            // What is over is told by what it came to, not by how it faded away.
            evidence: match end {
                Some(_) => self.furthest.clone(),
                None => self.evidence.clone(),
            },
            rejected: self.rejected.clone(),
        }
    }
}

/// Keeps a number where it is further from its threshold than the same one was before. Seconds grow: the longest stays.
fn reach(kept: &mut Vec<Evidence>, place: usize, now: Evidence) {
    let far = |e: &Evidence| match e.comparison {
        _ if e.witness.unit() == "s" => e.value,
        Comparison::Less | Comparison::AtMost => e.threshold - e.value,
        Comparison::More | Comparison::AtLeast => e.value - e.threshold,
        // A code has no distance: the newest stays.
        Comparison::Equal => f64::INFINITY,
    };
    let same = |e: &&mut Evidence| e.witness == now.witness && e.comparison == now.comparison;
    if let Some(before) = kept.iter_mut().find(same) {
        if far(&now) >= far(before) {
            *before = now;
        }
    } else if kept.len() < NUMBERS {
        kept.insert(place.min(kept.len()), now);
    }
}
