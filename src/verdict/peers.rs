//! The other devices of the same model: what they do at the same instant.

use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost};
use crate::model::{Cause, Threshold as T, Vendor, Whose, Witness};
use std::sync::Arc;

/// Fewer than this many devices have no median worth comparing with (facts, card C13).
const PEERS: usize = 3;

/// Power span from which on a device that does not spin works.
const WORKS: f64 = 0.15;

/// Devices are equals where one vendor calls them by one name.
pub type Model = (Vendor, Arc<str>);

/// One device as its peers see it.
#[derive(Debug, Clone, Default)]
pub struct PeerPoint {
    /// The model: only equals are compared. `None` for slices and devices that say nothing.
    pub model: Option<Model>,
    /// Which programs with which arguments own it (see `Owners::key`).
    pub key: u64,
    /// Utilization now.
    pub utilization: Option<f64>,
    /// Power span now.
    pub span: Option<f64>,
    /// SM clock now.
    pub clock_mhz: Option<f64>,
    /// Core temperature now.
    pub temperature_c: Option<f64>,
    /// NVLinks that are up.
    pub links_up: Option<f64>,
    /// Power over its own reference, as of the last hour.
    pub of_reference: Option<f64>,
    /// It spins: fully busy at next to no power.
    pub spins: bool,
}

/// What the devices of one model do together, this one among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Peers {
    /// How many there are.
    pub count: usize,
    /// At full utilization with next to no work.
    pub waiting: usize,
    /// At work.
    pub working: usize,
    /// At next to no utilization.
    pub resting: usize,
    /// Whose work waits: the programs of a device that spins.
    pub waiting_key: Option<u64>,
    /// Median power span.
    pub span: Option<f64>,
    /// Median clock.
    pub clock_mhz: Option<f64>,
    /// Median temperature.
    pub temperature_c: Option<f64>,
    /// Median of the NVLinks that are up.
    pub links_up: Option<f64>,
    /// Median of power over the own reference.
    pub of_reference: Option<f64>,
    /// The programs that all of them run, where those are the same.
    pub key: Option<u64>,
}

impl Peers {
    /// What the devices of a model do together. `scratch` is room that is used again.
    #[must_use]
    pub fn of(points: &[PeerPoint], model: &Model, scratch: &mut Vec<f64>) -> Self {
        let group = || points.iter().filter(|p| p.model.as_ref() == Some(model));
        let mut median = |pick: fn(&PeerPoint) -> Option<f64>| {
            scratch.clear();
            scratch.extend(group().filter_map(pick));
            scratch.sort_by(f64::total_cmp);
            // The upper middle: of two, the better one.
            scratch.get(scratch.len() / 2).copied()
        };
        let first = group().map(|p| p.key).next().filter(|key| *key != 0);
        Self {
            span: median(|p| p.span),
            clock_mhz: median(|p| p.clock_mhz),
            temperature_c: median(|p| p.temperature_c),
            links_up: median(|p| p.links_up),
            of_reference: median(|p| p.of_reference),
            count: group().count(),
            waiting_key: group()
                .find(|p| p.spins)
                .map(|p| p.key)
                .filter(|key| *key != 0),
            key: first.filter(|key| group().all(|p| p.key == *key)),
            waiting: group().filter(|p| p.spins).count(),
            working: group()
                .filter(|p| p.utilization.is_some_and(|u| u > 0.1))
                .filter(|p| !p.spins && p.span.is_some_and(|s| s > WORKS))
                .count(),
            resting: group()
                .filter(|p| p.utilization.is_some_and(|u| u < 0.05))
                .count(),
        }
    }
}

/// Slower than its peers at the same job: by its clock, or by more work while all others wait for it.
pub(super) struct Straggler;

impl Rule for Straggler {
    fn cause(&self) -> Cause {
        Cause::Straggler
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let peers = seen.peers;
        if peers.count < PEERS {
            return Answer::NotEnough;
        }
        let (Some(utilization), Some(clock), Some(median)) = (
            memory.front.utilization.get(5.0),
            memory.front.clock.get(5.0),
            peers.clock_mhz.filter(|c| *c > 0.0),
        ) else {
            return Answer::NotEnough;
        };
        let together = peers.working + peers.waiting >= peers.count.saturating_sub(1);
        if utilization < 0.5 || !together {
            return Answer::No;
        }
        let (slower, whose) = limits.get(T::StragglerSlower);
        let ratio = clock / median;
        if ratio > 1.0 - slower {
            return Answer::No;
        }
        let span = peers.span.filter(|s| *s > 0.0);
        let work = span.and_then(|median| Some(seen.span? / median));
        let mut proof = Proof::of(Cause::Straggler)
            .with(
                Witness::ClockOfPeers,
                ratio,
                AtMost,
                (1.0 - slower, whose),
                5.0,
            )
            .with_some(
                Witness::WorkOfPeers,
                work,
                AtMost,
                (1.0, Whose::Baseline),
                0.0,
            )
            .with(
                Witness::Utilization,
                utilization,
                AtLeast,
                (0.5, Whose::OURS),
                5.0,
            );
        if let Some(hotter) = peers
            .temperature_c
            .and_then(|t| Some(seen.temperature_c? - t))
        {
            let threshold = (8.0, Whose::OURS);
            proof = if hotter >= 8.0 {
                proof.with(Witness::HotterThanPeers, hotter, AtLeast, threshold, 0.0)
            } else {
                proof.not(
                    Cause::Thermal,
                    evidence(Witness::HotterThanPeers, hotter, AtMost, threshold, 0.0),
                )
            };
        }
        Answer::Yes(proof)
    }
}
