//! The host holds the device up: its CPU quota, its memory, its storage, its network.

use super::proof::{Answer, Limits, Proof, evidence};
use super::window::Smooth;
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};
use serde::{Deserialize, Serialize};

/// Shares of the kernel's counters wander: only what lies this far beyond a threshold is sure to be beyond it.
const BEYOND: f64 = 1.1;

/// How much less a device does than it could, as numbers for a proof.
struct Low {
    rests: f64,
    utilization: f64,
    span: Option<f64>,
    /// Of its own past.
    of_past: Option<f64>,
}

impl Low {
    /// `None` where the device works as well as ever, as far as can be told.
    fn of(memory: &Memory, seen: &Seen<'_>) -> Option<Self> {
        let front = &memory.front;
        let utilization = front.utilization.get(3.0)?;
        // A device without a process, or that has done nothing for long, waits for nobody.
        let long = front.rests.share(super::window::LOOKS, 1).unwrap_or(0.0);
        let waits = seen.owners.waiting.is_some_and(|w| w > 0.0);
        if seen.owners.listed == Some(0) || (long > 0.97 && !waits) {
            return None;
        }
        let rests = front.rests.share(seen.looks(60.0), 5).unwrap_or(0.0);
        let span = front.span.get(3.0);
        let past = front.past_span.get(120.0).filter(|p| *p > 0.05);
        let of_past = span.zip(past).map(|(now, past)| now / past);
        let low = utilization < 0.9
            || rests >= 0.12
            || span.is_some_and(|s| s < 0.5)
            || of_past.is_some_and(|r| r < 0.8);
        low.then_some(Self {
            rests,
            utilization,
            span,
            of_past,
        })
    }

    fn add(&self, proof: Proof) -> Proof {
        let proof = match self.of_past {
            Some(share) if share < 0.8 => proof.with(
                Witness::PowerOfReference,
                share,
                Less,
                (0.8, Whose::Baseline),
                10.0,
            ),
            _ => proof,
        };
        let proof = if self.rests >= 0.12 {
            proof.with(
                Witness::IdleShare,
                self.rests,
                AtLeast,
                (0.12, Whose::OURS),
                60.0,
            )
        } else {
            proof.with(
                Witness::Utilization,
                self.utilization,
                AtMost,
                (1.0, Whose::OURS),
                10.0,
            )
        };
        proof.with_some(
            Witness::PowerSpan,
            self.span,
            Less,
            (1.0, Whose::Device),
            10.0,
        )
    }
}

/// Processes held at their CPU quota while the device waits (facts, card C3).
pub(super) struct HostThrottled;

impl Rule for HostThrottled {
    fn cause(&self) -> Cause {
        Cause::HostThrottled
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let Some(share) = memory.front.quota.get(5.0) else {
            return Answer::NotEnough;
        };
        let (watch, whose) = limits.get(T::QuotaWatch);
        let (call, _) = limits.get(T::QuotaCall);
        if share < watch {
            return Answer::No;
        }
        let Some(low) = Low::of(memory, seen) else {
            return Answer::No;
        };
        let sure = memory
            .front
            .quota_long
            .get(20.0)
            .is_some_and(|long| long >= BEYOND * call);
        let threshold = if sure { call } else { watch };
        let proof = Proof::of(Cause::HostThrottled).with(
            Witness::CgroupThrottled,
            share,
            AtLeast,
            (threshold, whose),
            10.0,
        );
        let mut proof = low
            .add(proof)
            .with_some(
                Witness::OwnerCpu,
                memory.front.owner_cpu.get(5.0),
                AtLeast,
                limits.get(T::StarvedCpu),
                10.0,
            )
            .not(
                Cause::InputStarved,
                evidence(
                    Witness::CgroupThrottled,
                    share,
                    AtLeast,
                    (threshold, whose),
                    10.0,
                ),
            );
        proof.can_be_sure = sure;
        Answer::Yes(proof)
    }
}

/// The host runs out of memory: swap grows, pages come from disk, everything waits (facts, card C18).
pub(super) struct HostMemory;

impl Rule for HostMemory {
    fn cause(&self) -> Cause {
        Cause::HostMemory
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let pressure = memory.front.memory_full.get(5.0);
        let faults = memory.front.faults.get(5.0);
        let (before, growth) = &mut memory.swap;
        if let Some(swap) = seen.host(|h| h.swap_used_bytes) {
            if let Some(before) = *before
                && seen.dt > 0.0
            {
                growth.take((swap - before) / seen.dt, seen.dt, 30.0);
            }
            *before = Some(swap);
        }
        let growth = growth.get(5.0).filter(|g| *g > 1e6);
        if pressure.is_none() && faults.is_none() && growth.is_none() {
            return Answer::NotEnough;
        }
        let (full, full_whose) = limits.get(T::SwapPressure);
        let (many, many_whose) = limits.get(T::SwapFaults);
        let pressed = pressure.filter(|p| *p > full);
        let faulting = faults.filter(|f| *f > many);
        let agree = [pressed, faulting, growth].iter().flatten().count();
        if pressed.is_none() && faulting.is_none() {
            return Answer::No;
        }
        // One sign alone, with a device that works, is somebody else's.
        if agree < 2 && Low::of(memory, seen).is_none() {
            return Answer::No;
        }
        let mut proof = Proof::of(Cause::HostMemory)
            .with_some(Witness::MemoryFull, pressed, More, (full, full_whose), 10.0)
            .with_some(
                Witness::MajorFaults,
                faulting,
                More,
                (many, many_whose),
                0.0,
            )
            .with_some(Witness::SwapGrowth, growth, More, (1e6, Whose::OURS), 30.0);
        proof.can_be_sure = agree >= 2;
        Answer::Yes(proof)
    }
}

/// Owners wait for storage while the device waits for them (facts, card C9). A checkpoint looks the same and writes.
pub(super) struct DiskIo;

impl Rule for DiskIo {
    fn cause(&self) -> Cause {
        Cause::DiskIo
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let full = front.io_full.get(5.0);
        let looks = seen.looks(30.0);
        let stuck = front.stuck.share(looks, 3);
        if full.is_none() && stuck.is_none() {
            return Answer::NotEnough;
        }
        if matches!(front.pause, Some(Cause::CheckpointPause | Cause::WarmUp)) {
            return Answer::No;
        }
        // Who writes that much stores a checkpoint, whatever was before.
        let writes = front.writes.get(0.0);
        if writes.is_some_and(|writes| writes >= limits.value(T::CheckpointWrites)) {
            return Answer::No;
        }
        let (most, whose) = limits.get(T::DiskFull);
        let pressed = full.filter(|f| *f > most);
        // One look is luck.
        let waits = stuck.filter(|s| *s >= 0.05 && front.stuck.count(looks) >= 2);
        let rests = front.rests.share(looks, 5).unwrap_or(0.0);
        // Pressure is the whole host's or cgroup's: where this device's own owners are seen, they must wait.
        let own = if stuck.is_some() {
            waits.is_some()
        } else {
            pressed.is_some()
        };
        if rests < 0.10 || !own {
            return Answer::No;
        }
        let Some(low) = Low::of(memory, seen) else {
            return Answer::No;
        };
        let proof = Proof::of(Cause::DiskIo)
            .with_some(Witness::IoFull, full, More, (most, whose), 10.0)
            .with_some(
                Witness::WaitingThreads,
                seen.owners.waiting.filter(|w| *w > 0.0),
                AtLeast,
                (1.0, Whose::OURS),
                0.0,
            );
        let mut proof = low.add(proof);
        // Pressure near its threshold is a suspicion, and so is a wait that may be a checkpoint's.
        proof.can_be_sure =
            waits.is_some() && writes.is_some() && full.is_none_or(|f| f >= BEYOND * most);
        proof = match writes {
            Some(writes) => proof.not(
                Cause::CheckpointPause,
                evidence(
                    Witness::OwnerWrites,
                    writes,
                    Less,
                    limits.get(T::CheckpointWrites),
                    10.0,
                ),
            ),
            None => proof.cannot_tell(Cause::CheckpointPause, Witness::OwnerWrites),
        };
        Answer::Yes(proof)
    }
}

/// About a minute of the network's counters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Network {
    segments: Smooth,
    again: Smooth,
    errors: Smooth,
    rdma: Smooth,
    net: Smooth,
}

impl Network {
    /// Signs of loss, fewer than a verdict needs.
    pub(crate) fn troubled(&self, limits: &Limits) -> bool {
        let segments = self.segments.get(10.0).filter(|s| *s > 0.0);
        let lost = segments.and_then(|s| Some(self.again.get(10.0)? / s));
        lost.is_some_and(|l| l > 0.5 * limits.value(T::NetworkLoss))
            || self.errors.get(10.0).is_some_and(|e| e > 0.0)
            || self.fell_back()
    }

    /// InfiniBand is there and carries nothing, while the network card is busy.
    fn fell_back(&self) -> bool {
        self.rdma.get(10.0).is_some_and(|r| r < 1e6)
            && self.net.get(10.0).is_some_and(|n| n > 0.5e9)
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let dt = seen.dt;
        let per_s = |count: f64| if dt > 0.0 { count / dt } else { 0.0 };
        if let (Some(ratio), Some(segments)) = (
            seen.host(|h| h.tcp_retransmit_ratio),
            seen.host(|h| h.tcp_segments),
        ) {
            self.segments.take(per_s(segments), dt, 30.0);
            self.again.take(per_s(segments * ratio), dt, 30.0);
        }
        if let Some(errors) = seen.host(|h| h.infiniband_errors) {
            self.errors.take(per_s(errors), dt, 30.0);
        }
        let both = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (one, other) => one.or(other),
        };
        let rdma = both(
            seen.host(|h| h.infiniband_rx_bytes_per_s),
            seen.host(|h| h.infiniband_tx_bytes_per_s),
        );
        if let Some(rdma) = rdma {
            self.rdma.take(rdma, dt, 30.0);
        }
        let net = both(
            seen.host(|h| h.net_rx_bytes_per_s),
            seen.host(|h| h.net_tx_bytes_per_s),
        );
        if let Some(net) = net {
            self.net.take(net, dt, 30.0);
        }
    }
}

/// TCP loses, RDMA reports errors, or a collective has fallen back from one to the other (facts, card C10). Counters of
/// an adapter are other tenants' too: the device must do less than it could.
pub(super) struct NetworkIo;

impl Rule for NetworkIo {
    fn cause(&self) -> Cause {
        Cause::NetworkIo
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        if seen.host.is_none() {
            return Answer::NotEnough;
        }
        memory.network.take(seen);
        let network = memory.network;
        let segments = network.segments.get(10.0).map(|s| s * 60.0);
        let lost = segments
            .filter(|s| *s > 0.0)
            .and_then(|s| Some(network.again.get(10.0)? * 60.0 / s));
        let (loss, loss_whose) = limits.get(T::NetworkLoss);
        let (many, many_whose) = limits.get(T::NetworkSegments);
        let (errors_most, errors_whose) = limits.get(T::NetworkRdma);
        let loses = lost.filter(|l| *l > loss && segments.is_some_and(|s| s >= many));
        let errors = network.errors.get(10.0).map(|e| e * 60.0);
        let errs = errors.filter(|e| *e >= errors_most);
        let (rdma, net) = (network.rdma.get(10.0), network.net.get(10.0));
        let fell_back = network.fell_back();
        if loses.is_none() && errs.is_none() && !fell_back {
            let blind = segments.is_none() && errors.is_none() && rdma.is_none();
            return if blind { Answer::NotEnough } else { Answer::No };
        }
        if memory.front.pause.is_some() || memory.front.spin.is_some() {
            return Answer::No;
        }
        let Some(low) = Low::of(memory, seen).filter(|low| low.span.is_none_or(|s| s < 0.6)) else {
            return Answer::No;
        };
        let mut proof = Proof::of(Cause::NetworkIo);
        if let Some(lost) = loses {
            proof = proof
                .with(Witness::Retransmits, lost, More, (loss, loss_whose), 60.0)
                .with_some(
                    Witness::Segments,
                    segments,
                    AtLeast,
                    (many, many_whose),
                    60.0,
                );
        }
        proof = proof.with_some(
            Witness::RdmaErrors,
            errs,
            AtLeast,
            (errors_most, errors_whose),
            60.0,
        );
        if fell_back {
            proof = proof
                .with_some(
                    Witness::NetworkTraffic,
                    net,
                    More,
                    (0.5e9, Whose::OURS),
                    30.0,
                )
                .with_some(Witness::RdmaTraffic, rdma, Less, (1e6, Whose::OURS), 30.0);
        }
        proof = low.add(proof);
        if let Some(traffic) = seen.nvlink_bytes_per_s.or(seen.pcie()) {
            proof = proof.not(
                Cause::CollectiveWait,
                evidence(
                    Witness::LinkTraffic,
                    traffic,
                    AtLeast,
                    (0.0, Whose::OURS),
                    0.0,
                ),
            );
        }
        Answer::Yes(proof)
    }
}
