//! Events that follow from what changed between two ticks.

use super::derive::Moment;
use super::device::DeviceState;
use super::known::slow_polls;
use crate::model::{Event, EventKind, Figure, Figures, Reason};
use crate::units::LinkSpeed;
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Makes an event of one device, with the numbers that belong to it.
pub(crate) fn event(
    at: Timestamp,
    state: Option<&DeviceState>,
    kind: EventKind,
    text: String,
    data: &[(&str, String)],
) -> Event {
    Event {
        at,
        device: state.map(|s| s.device.id.clone()),
        kind,
        text: text.into(),
        data: data
            .iter()
            .map(|(k, v)| ((*k).into(), v.as_str().into()))
            .collect(),
    }
}

/// A silent device answers again.
pub(crate) fn answers(state: &mut DeviceState, at: Timestamp, events: &mut Vec<Event>) {
    if state.silent.take().is_some() {
        let text = format!("{} {} answers again", state.device.index, state.device.name);
        events.push(event(at, Some(state), EventKind::Recovered, text, &[]));
    }
}

/// Begin and end of throttling: a bit counts from its second poll in a row, and ends when it is clear twice.
pub(crate) fn throttling(state: &mut DeviceState, at: Timestamp, events: &mut Vec<Event>) {
    let lasting = state.bits_now & state.bits_before & Reason::ALARMING;
    let begun = lasting & !state.bits_begun;
    let ended = !state.bits_now & !state.bits_before & state.bits_begun;
    for (set, kind, verb) in [
        (begun, EventKind::ThrottleBegin, "begins"),
        (ended, EventKind::ThrottleEnd, "ends"),
    ] {
        for word in Reason::words(set) {
            let text = format!(
                "{} {}: {word} {verb}",
                state.device.index, state.device.name
            );
            events.push(event(at, Some(state), kind, text, &[("reason", word)]));
        }
    }
    state.bits_begun = (state.bits_begun | begun) & !ended;
}

/// A link that changed. Generations are only compared in use, and after some polls: idle links save power, and take a
/// moment to come up.
pub(crate) fn link(
    state: &mut DeviceState,
    figures: &Figures,
    moment: Moment,
    at: Timestamp,
    events: &mut Vec<Event>,
) {
    let Some(LinkSpeed { generation, width }) = state.link() else {
        return;
    };
    if figures.get(Figure::PcieWidth).reading.is_err() {
        return;
    }
    let settled = state.steady.1 >= slow_polls(moment);
    let Some((last_generation, last_width)) = state.link else {
        state.link = Some((if settled { generation } else { 0 }, width));
        return;
    };
    let judged = if settled { generation } else { last_generation };
    if width != last_width || (last_generation != 0 && judged != last_generation) {
        let before = if last_generation == 0 {
            format!("x{last_width}")
        } else {
            format!("gen {last_generation} x{last_width}")
        };
        let now = if judged == 0 {
            format!("x{width}")
        } else {
            format!("gen {judged} x{width}")
        };
        let text = format!(
            "{} {}: link {before} is now {now}",
            state.device.index, state.device.name
        );
        events.push(event(
            at,
            Some(state),
            EventKind::LinkChanged,
            text,
            &[("before", before), ("now", now)],
        ));
    }
    state.link = Some((judged, width));
}

/// Processes that came or went.
pub(crate) fn processes(
    state: &DeviceState,
    before: &[u32],
    after: &[u32],
    at: Timestamp,
    events: &mut Vec<Event>,
) {
    for (list, other, kind, verb) in [
        (after, before, EventKind::ProcessStarted, "began"),
        (before, after, EventKind::ProcessExited, "ended"),
    ] {
        // A process may be listed twice, as one that computes and one that draws.
        let news: BTreeSet<u32> = list
            .iter()
            .copied()
            .filter(|pid| !other.contains(pid))
            .collect();
        for pid in news {
            let text = format!(
                "{} {}: process {pid} {verb} on it",
                state.device.index, state.device.name
            );
            events.push(event(
                at,
                Some(state),
                kind,
                text,
                &[("pid", pid.to_string())],
            ));
        }
    }
}
