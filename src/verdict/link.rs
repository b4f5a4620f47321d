//! Links: narrow, slow, full, down.

use super::proof::{Answer, Limits, Proof, evidence};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less, More};
use crate::model::{Cause, Threshold as T, VerdictState, Whose, Witness};

/// Fewer lanes or a lower generation than device, slot and plate could have, under load (facts, card C4). Where whole
/// families of hosts are built with half the lanes it is no fault.
pub(super) struct PcieLink;

impl Rule for PcieLink {
    fn cause(&self) -> Cause {
        Cause::PcieLink
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let (Some(width), Some(generation)) = (seen.width, seen.generation) else {
            return Answer::NotEnough;
        };
        // Links rest at a low generation and width while nothing runs.
        if !seen.link_in_use {
            return Answer::NotEnough;
        }
        let whose = if seen.link_by_plate {
            Whose::Plate
        } else {
            Whose::Device
        };
        let usual = seen.usual_width == Some(width);
        let narrow = seen.width_max.filter(|most| width < *most && !usual);
        let slow = seen.generation_max.filter(|most| generation < *most);
        let bridge = seen.bridge_width.filter(|lanes| *lanes < width && !usual);
        if narrow.is_none() && slow.is_none() && bridge.is_none() {
            return Answer::No;
        }
        let mut proof = Proof::of(Cause::PcieLink);
        if let Some(most) = narrow {
            proof = proof.with(
                Witness::LinkWidth,
                f64::from(width),
                Less,
                (f64::from(most), whose),
                0.0,
            );
        }
        if let Some(lanes) = bridge {
            proof = proof.with(
                Witness::BridgeWidth,
                f64::from(lanes),
                Less,
                (f64::from(width), Whose::Device),
                0.0,
            );
        }
        if let Some(most) = slow {
            proof = proof.with(
                Witness::LinkGeneration,
                f64::from(generation),
                Less,
                (f64::from(most), whose),
                0.0,
            );
        }
        if let Some(utilization) = seen.utilization {
            proof = proof.with(
                Witness::Utilization,
                utilization,
                AtLeast,
                limits.compute(),
                0.0,
            );
        }
        if let Some((witness, share)) = full(memory, seen, limits.value(T::SaturatedRatio))
            && let Some(span) = low_work(memory, limits)
        {
            proof = proof
                .with(witness, share, AtLeast, limits.get(T::SaturatedRatio), 20.0)
                .with(
                    Witness::PowerSpan,
                    span,
                    Less,
                    limits.get(T::SaturatedWork),
                    10.0,
                );
            proof.state = VerdictState::Stalled;
        }
        Answer::Yes(proof)
    }
}

/// Work below the threshold, by the power span over some seconds.
fn low_work(memory: &Memory, limits: &Limits) -> Option<f64> {
    let span = memory.front.span.get(5.0)?;
    (span < limits.value(T::SaturatedWork)).then_some(span)
}

/// The direction that was full in most of the last looks: the getter's 20 ms windows make single samples worthless.
fn full(memory: &Memory, seen: &Seen<'_>, full: f64) -> Option<(Witness, f64)> {
    let looks = seen.looks(20.0);
    let front = &memory.front;
    let most = |bits: &super::window::Bits, now: Option<f64>, witness| {
        let share = bits.share(looks, 5)?;
        let now = now.filter(|now| *now >= full)?;
        (share > 0.5).then_some((witness, now))
    };
    most(&front.full_rx, seen.rx_saturation, Witness::LinkRx)
        .or_else(|| most(&front.full_rx, seen.summed(), Witness::LinkBoth))
        .or_else(|| most(&front.full_tx, seen.tx_saturation, Witness::LinkTx))
}

/// A full link beside little work (facts, card C5). Beside much work it is a prefetch that overlaps well.
pub(super) struct PcieSaturated;

impl Rule for PcieSaturated {
    fn cause(&self) -> Cause {
        Cause::PcieSaturated
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        if seen.rx_saturation.is_none() && seen.tx_saturation.is_none() && seen.summed().is_none() {
            return Answer::NotEnough;
        }
        let most = limits.value(T::SaturatedRatio);
        let Some((witness, share)) = full(memory, seen, most) else {
            // All of a sum may go one way: only half of what fills a link is too little for certain.
            let may_be_full = seen.summed().is_some_and(|both| both * 2.0 >= most);
            return match may_be_full {
                true => Answer::NotEnough,
                false => Answer::No,
            };
        };
        let Some(span) = seen.span else {
            return Answer::NotEnough;
        };
        if span >= limits.value(T::SaturatedWork) {
            return Answer::No;
        }
        let traffic = seen.pcie().unwrap_or(0.0);
        let mut proof = Proof::of(Cause::PcieSaturated)
            .with(witness, share, AtLeast, limits.get(T::SaturatedRatio), 20.0)
            .with(
                Witness::PowerSpan,
                span,
                Less,
                limits.get(T::SaturatedWork),
                10.0,
            )
            .with_some(
                Witness::SmActive,
                memory.front.sm.get(5.0),
                Less,
                (0.5, Whose::OURS),
                10.0,
            )
            .not(
                Cause::CollectiveWait,
                evidence(
                    Witness::LinkTraffic,
                    traffic,
                    More,
                    limits.get(T::WaitTraffic),
                    0.0,
                ),
            );
        let bits = match witness {
            Witness::LinkTx => &memory.front.full_tx,
            _ => &memory.front.full_rx,
        };
        proof.back_s = bits.oldest(seen.looks(20.0)).saturating_sub(1) as f64 * seen.interval_s;
        Answer::Yes(proof)
    }
}

/// Links that are down where this device or its peers had more, or that fail (facts, card C15).
pub(super) struct NvlinkDown;

impl Rule for NvlinkDown {
    fn cause(&self) -> Cause {
        Cause::NvlinkDown
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let mut proof = Proof::of(Cause::NvlinkDown);
        let mut holds = false;
        if let Some(up) = seen.nvlink_up {
            let best = memory.links_best.get_or_insert(up);
            *best = best.max(up);
            let best = *best;
            let peers = seen.peers.links_up.filter(|_| seen.peers.count >= 2);
            if up < best {
                holds = true;
                proof = proof.with(Witness::NvlinkUp, up, Less, (best, Whose::Baseline), 0.0);
            } else if let Some(peers) = peers.filter(|peers| up < *peers) {
                holds = true;
                proof = proof.with(Witness::NvlinkUp, up, Less, (peers, Whose::Baseline), 0.0);
            } else if up == 0.0 && seen.nvlink_expected && seen.nvlink_links > Some(0.0) {
                holds = true;
                let links = seen.nvlink_links.unwrap_or(0.0);
                proof = proof.with(Witness::NvlinkUp, up, Less, (links, Whose::Plate), 0.0);
            } else if let Some(links) = seen.nvlink_links.filter(|l| up > 0.0 && up < *l) {
                // Boards exist that never had all of them: a suspicion, no more.
                holds = true;
                proof = proof.with(Witness::NvlinkUp, up, Less, (links, Whose::Device), 0.0);
                proof.can_be_sure = peers.is_none() && seen.peers.count < 2 && up < links;
            }
        }
        if let Some(errors) = seen.nvlink_errors {
            let (before, rate) = &mut memory.nvlink_errors;
            if let Some(before) = *before
                && seen.dt > 0.0
                && errors >= before
            {
                rate.take((errors - before) / seen.dt, seen.dt, 10.0);
            }
            *before = Some(errors);
            let (fails, whose) = limits.get(T::NvlinkErrors);
            if let Some(now) = rate.get(3.0).filter(|now| *now >= 1.0) {
                holds = true;
                let sure = now >= fails;
                let threshold = if sure { fails } else { 1.0 };
                proof = proof.with(Witness::NvlinkErrors, now, AtLeast, (threshold, whose), 1.0);
                proof.can_be_sure &= sure
                    || seen
                        .nvlink_up
                        .is_some_and(|up| memory.links_best > Some(up));
            }
        }
        if !holds {
            let blind = seen.nvlink_up.is_none() && seen.nvlink_errors.is_none();
            return if blind { Answer::NotEnough } else { Answer::No };
        }
        proof = proof.with_some(
            Witness::NvlinkTraffic,
            seen.nvlink_bytes_per_s,
            AtMost,
            limits.get(T::WaitTraffic),
            0.0,
        );
        Answer::Yes(proof)
    }
}
