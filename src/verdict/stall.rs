//! Busy without work, and work that comes in bursts; with the kinds of work that look the same and are none of it.

use super::front::{SMALL_W, Spin};
use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};

/// A kernel that spins in a collective: full utilization at spin power, and nothing moves (facts, card C1). Power alone
/// never says so: the counters must be flat, or peers must wait as well.
pub(super) struct CollectiveWait;

/// Flat counters, as far as there are any.
struct Flat {
    /// How many kinds of counters are read and flat.
    agree: usize,
    /// Something moves.
    moves: bool,
}

fn flat(seen: &Seen<'_>, spin: &Spin, limits: &Limits) -> Flat {
    let memory = limits.value(T::WaitMemory);
    let traffic = limits.value(T::WaitTraffic);
    let counters = [
        seen.memory_activity.map(|v| v > memory),
        seen.dram_active.map(|v| v > memory),
        seen.tensor_active.map(|v| v > memory),
        seen.pcie().map(|v| v > traffic),
        seen.nvlink_bytes_per_s.map(|v| v > traffic),
    ];
    let known = counters.iter().flatten().count();
    let moves = counters.contains(&Some(true)) || spin.traffic.mean() > traffic;
    Flat {
        agree: if moves { 0 } else { known },
        moves,
    }
}

impl Rule for CollectiveWait {
    fn cause(&self) -> Cause {
        Cause::CollectiveWait
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let Some(utilization) = seen.utilization else {
            return Answer::NotEnough;
        };
        if seen.power_w.is_none() {
            return idle_pipes(seen, utilization, limits);
        }
        let Some(spin) = memory.front.spin else {
            return rests_while_peers_spin(memory, seen, limits);
        };
        let limit = seen.limit_w.or(seen.plate_w).unwrap_or(0.0);
        let flat = flat(seen, &spin, limits);
        if flat.moves {
            return Answer::No;
        }
        let (spread, spread_whose) = limits.get(T::WaitSpread);
        let moves_by = (limit > 0.0).then(|| spin.power.spread() / limit);
        if spin.power.count() >= 5 && moves_by.is_some_and(|by| by > spread) {
            return Answer::No;
        }
        let writes = memory.front.writes.get(3.0).unwrap_or(0.0);
        if writes > limits.value(T::CheckpointWrites) {
            return Answer::No;
        }
        // A small card spins at a share of its span at which others work: the counters must say it.
        if limit < SMALL_W && flat.agree < 2 {
            return Answer::NotEnough;
        }
        let busy = limits.get(T::WaitBusy);
        let mut proof = Proof::of(Cause::CollectiveWait).with(
            Witness::Utilization,
            utilization,
            AtLeast,
            busy,
            0.0,
        );
        let (most, whose) = limits.get(if limit < SMALL_W {
            T::WaitSpanSmall
        } else {
            T::WaitSpan
        });
        proof = match (seen.span, seen.power_of_limit()) {
            (Some(span), _) if span <= most => {
                proof.with(Witness::PowerSpan, span, AtMost, (most, whose), 0.0)
            }
            (_, Some(share)) => proof.with(
                Witness::PowerOfLimit,
                share,
                AtMost,
                limits.get(T::WaitLimit),
                0.0,
            ),
            _ => proof,
        };
        let lasted = seen.now.seconds_since(spin.since);
        proof = proof
            .with_some(
                Witness::PowerSpread,
                moves_by,
                AtMost,
                (spread, spread_whose),
                lasted,
            )
            .with_some(
                Witness::MemoryActivity,
                seen.memory_activity.or(seen.dram_active),
                AtMost,
                limits.get(T::WaitMemory),
                0.0,
            )
            .with_some(
                Witness::LinkTraffic,
                seen.pcie(),
                AtMost,
                limits.get(T::WaitTraffic),
                0.0,
            )
            .with_some(
                Witness::NvlinkTraffic,
                seen.nvlink_bytes_per_s,
                AtMost,
                limits.get(T::WaitTraffic),
                0.0,
            );
        let others = seen.peers.waiting.saturating_sub(1);
        if others > 0 {
            proof = proof.with(
                Witness::PeersWaiting,
                others as f64,
                AtLeast,
                (1.0, Whose::Baseline),
                0.0,
            );
        }
        proof.can_be_sure = flat.agree > 0 || others > 0;
        proof = match (seen.memory_activity.or(seen.dram_active), seen.pcie()) {
            (Some(active), _) => proof.not(
                Cause::LaunchBound,
                evidence(
                    Witness::MemoryActivity,
                    active,
                    AtMost,
                    limits.get(T::WaitMemory),
                    0.0,
                ),
            ),
            (None, Some(traffic)) => proof.not(
                Cause::LaunchBound,
                evidence(
                    Witness::LinkTraffic,
                    traffic,
                    AtMost,
                    limits.get(T::WaitTraffic),
                    0.0,
                ),
            ),
            (None, None) => proof.cannot_tell(Cause::LaunchBound, Witness::MemoryActivity),
        };
        proof.back_s = (lasted - seen.dt).max(0.0);
        Answer::Yes(proof)
    }
}

/// Full utilization with idle pipes and flat links, where power is not read.
fn idle_pipes(seen: &Seen<'_>, utilization: f64, limits: &Limits) -> Answer {
    let (Some(tensor), Some(dram)) = (seen.tensor_active, seen.dram_active) else {
        return Answer::NotEnough;
    };
    let links = [seen.pcie(), seen.nvlink_bytes_per_s];
    if links == [None, None] {
        return Answer::NotEnough;
    }
    let busy = limits.get(T::WaitBusy);
    let (traffic, memory) = (limits.get(T::WaitTraffic), limits.get(T::WaitMemory));
    let moves = links.into_iter().flatten().any(|bytes| bytes > traffic.0);
    if utilization < busy.0 || tensor > 0.02 || dram > 0.02 || moves {
        return Answer::No;
    }
    Answer::Yes(
        Proof::of(Cause::CollectiveWait)
            .with(Witness::Utilization, utilization, AtLeast, busy, 0.0)
            .with(Witness::TensorActive, tensor, AtMost, memory, 0.0)
            .with(Witness::DramActive, dram, AtMost, memory, 0.0)
            .with_some(Witness::LinkTraffic, seen.pcie(), AtMost, traffic, 0.0)
            .with_some(
                Witness::NvlinkTraffic,
                seen.nvlink_bytes_per_s,
                AtMost,
                traffic,
                0.0,
            )
            .not(
                Cause::LaunchBound,
                evidence(Witness::DramActive, dram, AtMost, memory, 0.0),
            ),
    )
}

/// The other side of a hang: this device rests with its memory held while another of the same work spins, and none of
/// its peers works (facts, card C1: one at 0 %, the rest at 100 %, or the inverse).
fn rests_while_peers_spin(memory: &Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
    let peers = seen.peers;
    let same = peers.waiting_key.is_some_and(|key| key == seen.owners.key);
    let rests = seen.utilization.is_some_and(|u| u < 0.05);
    let held = seen.owners.held_bytes.is_some_and(|bytes| bytes > 0.0);
    if !same || !rests || !held || peers.working > 0 {
        return Answer::No;
    }
    let (Some(utilization), Some(idle)) = (seen.utilization, memory.front.idle) else {
        return Answer::No;
    };
    let lasted = seen.now.seconds_since(idle);
    let mut proof = Proof::of(Cause::CollectiveWait)
        .with(
            Witness::PeersWaiting,
            peers.waiting as f64,
            AtLeast,
            (1.0, Whose::Baseline),
            0.0,
        )
        .with(
            Witness::Utilization,
            utilization,
            Less,
            (0.05, Whose::OURS),
            lasted,
        )
        .with_some(
            Witness::LinkTraffic,
            seen.pcie(),
            AtMost,
            limits.get(T::WaitTraffic),
            0.0,
        )
        .not(
            Cause::IdleBilled,
            evidence(
                Witness::PeersWaiting,
                peers.waiting as f64,
                AtLeast,
                (1.0, Whose::Baseline),
                0.0,
            ),
        );
    proof.can_be_sure = seen
        .pcie()
        .is_none_or(|t| t <= limits.value(T::WaitTraffic));
    Answer::Yes(proof)
}

/// Input that comes too slowly: work in bursts, or less of it than could be, while the owners' CPUs are at their end
/// (facts, card C2).
pub(super) struct InputStarved;

impl Rule for InputStarved {
    fn cause(&self) -> Cause {
        Cause::InputStarved
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let Some(utilization) = front.utilization.get(5.0) else {
            return Answer::NotEnough;
        };
        if front.pause.is_some() || front.spin.is_some() {
            return Answer::No;
        }
        // Held at its quota is another cause, with a name of its own.
        let throttled = front.quota.get(5.0);
        if throttled.is_some_and(|share| share >= limits.value(T::QuotaWatch)) {
            return Answer::No;
        }
        let (idle, idle_whose) = limits.get(T::StarvedIdle);
        let (cpu_most, cpu_whose) = limits.get(T::StarvedCpu);
        let cpu = front.owner_cpu.get(5.0);
        let pressure = front.pressure.get(5.0);
        // Nothing but a rhythm to go by: it must be one, or have lasted for all of its five minutes. Some bursts in a
        // minute are work.
        let blind = cpu.is_none() && pressure.is_none();
        let periods = front.rests.periods();
        let steady = periods.count() >= 4 && periods.spread() < 0.25 * periods.mean();
        let five = seen.looks(300.0);
        let least = if blind && !steady { five } else { 15 };
        let long = front.rests.share(five, least).unwrap_or(0.0);
        let short = front.rests.share(seen.looks(60.0), 15).unwrap_or(0.0);
        let swings = front.rests.swings(seen.looks(60.0));
        let rhythm = swings >= 3 && short >= 0.5 * idle && long >= idle && short < 0.98;
        let hungry = cpu.is_some_and(|c| c >= cpu_most)
            || (pressure.is_some_and(|p| p >= 0.10) && cpu.is_none_or(|c| c >= 0.5 * cpu_most));
        // One worker at the end of its core starves a device too, wherever more cores lie idle.
        // Beside workers at their end a share of seconds without work says enough, whatever their rhythm.
        let last = front.rests.share(seen.looks(20.0), 5).unwrap_or(0.0);
        let now = front.rests.count(seen.looks(40.0)) > 0;
        let rhythm = (rhythm && now) || (hungry && last >= idle && last < 0.98);
        let long = if rhythm { long.max(last) } else { long };
        let one_core = seen.owners.cores.is_some_and(|c| (0.9..1.3).contains(&c));
        let most = 0.97 * (1.0 - idle);
        let less = utilization < most && utilization > 0.02;
        let base = Proof::of(Cause::InputStarved);
        let mut proof = if rhythm {
            let window = front.rests.len().min(five) as f64 * seen.interval_s;
            base.with(
                Witness::IdleShare,
                long,
                AtLeast,
                (idle, idle_whose),
                window,
            )
            .with(
                Witness::Swings,
                swings as f64,
                AtLeast,
                (3.0, Whose::OURS),
                60.0,
            )
        } else if less && hungry {
            base.with(
                Witness::Utilization,
                utilization,
                Less,
                (most, idle_whose),
                10.0,
            )
        } else {
            return Answer::No;
        };
        proof = proof
            .with_some(Witness::OwnerCpu, cpu, AtLeast, (cpu_most, cpu_whose), 10.0)
            .with_some(
                Witness::CpuPressure,
                pressure,
                AtLeast,
                (0.10, Whose::OURS),
                10.0,
            )
            .with_some(
                Witness::PowerSpan,
                front.span.get(5.0),
                Less,
                (1.0, Whose::Device),
                10.0,
            );
        if let Some(waiting) = front.stuck.share(seen.looks(60.0), 1) {
            proof = proof.not(
                Cause::DiskIo,
                evidence(
                    Witness::WaitingThreads,
                    waiting,
                    Less,
                    (0.5, Whose::OURS),
                    60.0,
                ),
            );
        }
        proof.can_be_sure = hungry || (rhythm && one_core);
        proof.back_s = if rhythm {
            front.rests.oldest(seen.looks(60.0)).saturating_sub(1) as f64 * seen.interval_s
        } else {
            5.0
        };
        // A rhythm without a host to ask is a suspicion; with a host that has room it is somebody's pace.
        if !proof.can_be_sure && cpu.is_some_and(|c| c < 0.5 * cpu_most) {
            return Answer::No;
        }
        Answer::Yes(proof)
    }
}

/// Kernels too small for the device: full utilization, few SMs, and a rhythm (facts, section 3: busy, low SM use).
pub(super) struct LaunchBound;

impl Rule for LaunchBound {
    fn cause(&self) -> Cause {
        Cause::LaunchBound
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let Some(utilization) = front.utilization.get(5.0) else {
            return Answer::NotEnough;
        };
        let full = super::window::Bits::share(&front.full_rx, seen.looks(20.0), 1);
        let link_full = full.is_some_and(|share| share > 0.5);
        let bound = seen
            .memory_activity
            .is_some_and(|m| m >= limits.value(T::BoundMemory))
            || seen
                .dram_active
                .is_some_and(|d| d >= limits.value(T::BoundMemory));
        let hangs = front
            .spin
            .is_some_and(|spin| !flat(seen, &spin, limits).moves);
        if utilization < 0.9 || hangs || bound || link_full {
            return Answer::No;
        }
        // Launches are one thread's work, and they always were so few: what fell is held up by something else.
        let thread = seen.owners.cores.is_none_or(|c| (0.8..1.7).contains(&c));
        let past = front.past_span.get(300.0).filter(|p| *p > 0.05);
        let fell = front
            .span
            .get(5.0)
            .zip(past)
            .is_some_and(|(now, past)| now < 0.7 * past);
        if !thread || fell || memory.network.troubled(limits) {
            return Answer::No;
        }
        if memory.holds(Cause::NetworkIo) || memory.holds(Cause::PowerSmoothing) {
            return Answer::No;
        }
        let Some(sm) = front.sm.get(5.0) else {
            return Answer::NotEnough;
        };
        let (few, whose) = limits.get(T::LaunchSm);
        if sm >= few || front.span.get(5.0).is_some_and(|s| s > 0.5) {
            return Answer::No;
        }
        let proof = Proof::of(Cause::LaunchBound)
            .with(Witness::SmActive, sm, Less, (few, whose), 10.0)
            .with(
                Witness::Utilization,
                utilization,
                AtLeast,
                (0.9, Whose::OURS),
                10.0,
            )
            .with_some(
                Witness::PowerSpan,
                front.span.get(5.0),
                Less,
                limits.get(T::LaunchSpan),
                10.0,
            )
            .with_some(
                Witness::OwnerCores,
                seen.owners.cores,
                AtLeast,
                (0.9, Whose::OURS),
                0.0,
            );
        let proof = match seen.dram_active {
            Some(active) if active > limits.value(T::WaitMemory) => proof.not(
                Cause::CollectiveWait,
                evidence(
                    Witness::DramActive,
                    active,
                    More,
                    limits.get(T::WaitMemory),
                    0.0,
                ),
            ),
            // What no counter tells, or what stands still, rejects nothing.
            _ => match seen.pcie().filter(|traffic| *traffic > 0.0) {
                Some(traffic) => proof.not(
                    Cause::CollectiveWait,
                    evidence(Witness::LinkTraffic, traffic, More, (0.0, Whose::OURS), 0.0),
                ),
                None => proof,
            },
        };
        Answer::Yes(proof)
    }
}

/// Bound by memory: normal for decoding (facts, card C6).
pub(super) struct MemoryBound;

impl Rule for MemoryBound {
    fn cause(&self) -> Cause {
        Cause::MemoryBound
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let (Some(active), Some(utilization)) = (
            seen.dram_active.or(seen.memory_activity),
            memory.front.utilization.get(5.0),
        ) else {
            return Answer::NotEnough;
        };
        let (least, whose) = limits.get(T::BoundMemory);
        let few = memory.front.sm.get(5.0).is_none_or(|sm| sm < 0.5);
        let span = memory.front.span.get(5.0);
        let half = span.is_none_or(|s| (0.15..0.8).contains(&s));
        if active < least || !few || !half || utilization < 0.5 {
            return Answer::No;
        }
        Answer::Yes(
            Proof::of(Cause::MemoryBound)
                .with(Witness::DramActive, active, AtLeast, (least, whose), 0.0)
                .with_some(
                    Witness::SmActive,
                    memory.front.sm.get(5.0),
                    Less,
                    (0.5, whose),
                    10.0,
                )
                .with_some(Witness::PowerSpan, span, Less, (0.8, whose), 10.0),
        )
    }
}

/// Little utilization at little power, with memory held and no CPU at its end: requests come when they come (facts 2c).
pub(super) struct Serving;

impl Rule for Serving {
    fn cause(&self) -> Cause {
        Cause::Serving
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let front = &memory.front;
        let (Some(utilization), Some(span)) = (front.utilization.get(20.0), front.span.get(20.0))
        else {
            return Answer::NotEnough;
        };
        let held = seen
            .memory_used
            .zip(seen.memory_total.filter(|t| *t > 0.0))
            .map(|(used, total)| used / total);
        let hungry = front
            .owner_cpu
            .get(5.0)
            .is_some_and(|c| c >= limits.value(T::StarvedCpu));
        let little = (0.03..0.65).contains(&utilization) && span < 0.5;
        if !little || hungry || held.is_none_or(|h| h < 0.2) || front.pause.is_some() {
            return Answer::No;
        }
        Answer::Yes(
            Proof::of(Cause::Serving)
                .with(
                    Witness::Utilization,
                    utilization,
                    Less,
                    (0.65, Whose::OURS),
                    10.0,
                )
                .with(Witness::PowerSpan, span, Less, (0.5, Whose::OURS), 10.0)
                .with_some(Witness::MemoryUsed, held, AtLeast, (0.2, Whose::OURS), 0.0),
        )
    }
}

/// Power held up with idle pipes: only GPM separates it from work (facts, card C20).
pub(super) struct PowerSmoothing;

impl Rule for PowerSmoothing {
    fn cause(&self) -> Cause {
        Cause::PowerSmoothing
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let (Some(tensor), Some(dram), Some(span)) = (
            seen.tensor_active,
            seen.dram_active,
            memory.front.span.get(5.0),
        ) else {
            return Answer::NotEnough;
        };
        let (pipes, whose) = limits.get(T::SmoothingPipes);
        let (most, span_whose) = limits.get(T::SmoothingSpan);
        let full = seen.sm_active.is_some_and(|sm| sm > 0.8);
        // Work that has just ended leaves a mean behind: the draw must be high now, too.
        let now = seen.span.is_some_and(|span| span >= 0.8 * most);
        if tensor >= pipes || dram >= pipes || span < 0.9 * most || full || !now {
            return Answer::No;
        }
        Answer::Yes(
            Proof::of(Cause::PowerSmoothing)
                .with(Witness::TensorActive, tensor, Less, (pipes, whose), 0.0)
                .with(Witness::DramActive, dram, Less, (pipes, whose), 0.0)
                .with(
                    Witness::PowerSpan,
                    span,
                    AtLeast,
                    (0.9 * most, span_whose),
                    10.0,
                ),
        )
    }
}
