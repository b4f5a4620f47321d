//! Shows each device to the rules, and keeps what they say.

use super::board::{Share, is_whole};
use super::derive::{Derived, Moment};
use super::device::DeviceState;
use super::known::{best_generation, best_width, link_in_use, link_plate, slow_polls};
use super::{Session, happen};
use crate::model::{
    Absent, Cause, Comparison, Confidence, Config, Device, DeviceKind, Episode, Event, EventKind,
    Evidence, Figure, Metric, PlateEntry, Process, StateWord, Tick, Verdict, VerdictState, Whose,
    Witness, Worth,
};
use crate::verdict::{Limits, Model, Owners, PeerPoint, Peers, RuleSet, Seen, Turn, TurnKind};
use jiff::Timestamp;
use std::sync::Arc;

/// Ended episodes kept for the screen and the documents.
const PAST_KEPT: usize = 256;
/// Rates by calls that take long come less often than ticks: so many intervals old they still hold.
const LATELY: f64 = 3.0;

/// The rules, and room that each tick uses again.
pub(super) struct Judge {
    rules: Arc<RuleSet>,
    points: Vec<PeerPoint>,
    pub(super) groups: Vec<(Model, Peers)>,
    scratch: Vec<f64>,
    turns: Vec<Turn>,
}

/// The thresholds of a configuration, for [`RuleSet::all`].
#[must_use]
pub fn limits(config: &Config) -> Limits {
    Limits::new(
        &config.thresholds,
        config.compute_threshold,
        config.max_idle.as_secs_f64(),
    )
}

impl Judge {
    pub(super) fn new(rules: RuleSet) -> Self {
        Self::of(Arc::new(rules))
    }

    /// Takes a configuration's thresholds.
    pub(super) fn set_limits(&mut self, limits: Limits) {
        Arc::make_mut(&mut self.rules).set_limits(limits);
    }

    /// Utilization above which a second is compute, and whose that is.
    pub(super) fn compute(&self) -> (f64, Whose) {
        self.rules.limits().compute()
    }

    fn of(rules: Arc<RuleSet>) -> Self {
        Self {
            rules,
            points: Vec::new(),
            groups: Vec::new(),
            scratch: Vec::new(),
            turns: Vec::new(),
        }
    }
}

/// A copy has rules in common and room of its own.
impl Clone for Judge {
    fn clone(&self) -> Self {
        Self::of(self.rules.clone())
    }
}

impl Session {
    /// What the rules make of each device at this tick.
    pub(super) fn judge(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        let moment = self.moment();
        let plates = self.plates.clone();
        let disagreements = self.disagreements(moment);
        let Judge {
            rules,
            points,
            groups,
            scratch,
            turns,
        } = &mut self.judge;
        let start = &mut self.start;
        points.clear();
        points.extend((start.devices.iter().zip(&self.derived)).map(|(s, d)| point(s, d)));
        groups.clear();
        for model in points.iter().filter_map(|p| p.model.as_ref()) {
            if !groups.iter().any(|(name, _)| name == model) {
                groups.push((model.clone(), Peers::of(points, model, scratch)));
            }
        }
        let alone = Peers::default();
        let all_lost = start.devices.len() > 1 && start.devices.iter().all(|d| d.silent.is_some());
        let host_processes = &start.host_processes;
        let find = |pid: u32| {
            host_processes
                .binary_search_by_key(&pid, |p| p.pid)
                .ok()
                .and_then(|i| host_processes.get(i))
        };
        for ((state, derived), point) in start.devices.iter_mut().zip(&self.derived).zip(&*points) {
            let device = state.device.clone();
            let mut memory = state.judged.take().unwrap_or_default();
            let peers = point
                .model
                .as_ref()
                .and_then(|model| groups.iter().find(|(name, _)| name == model))
                .map_or(&alone, |(_, peers)| peers);
            let entry = super::entry(&plates, state);
            let mut seen = seen(&device, state, derived, entry, peers, tick, moment, find);
            seen.dt = memory.passed(tick.mono).min(2.0 * moment.interval_s);
            seen.all_lost = all_lost;
            seen.disagreements = &disagreements;
            state.work_key = seen.owners.key;
            seen.host_cores = start.host.cores.ok().map(f64::from);
            turns.clear();
            rules.look(&mut memory, &seen, turns);
            state.judged = Some(memory);
            for turn in turns.drain(..) {
                told(state, &turn, tick.at, events);
                keep(&mut start.past, turn);
            }
        }
    }

    /// Nobody looked at this device for a while: what held has ended where it was seen last.
    pub(super) fn after_gap_of_rules(
        state: &mut DeviceState,
        past: &mut Arc<Vec<Episode>>,
        at: Timestamp,
        events: &mut Vec<Event>,
    ) {
        let Some(mut memory) = state.judged.take() else {
            return;
        };
        let mut turns = Vec::new();
        memory.after_gap(&state.device.id, &mut turns);
        state.judged = Some(memory);
        for turn in turns {
            told(state, &turn, at, events);
            keep(past, turn);
        }
    }
}

/// What the rules make of the seconds up to this tick, as they stood at the one before; `None` where none has looked, or
/// none can tell. A mere suspicion takes nobody's money's worth away.
pub(super) fn worth(state: &DeviceState) -> Option<Worth> {
    let standing = state.judged.as_ref()?.standing();
    Some(match standing {
        Some(v) if v.state == VerdictState::Unknown => return None,
        Some(v) if v.confidence == Confidence::Suspect => Worth::Fine,
        Some(v) if v.state == VerdictState::Stalled => Worth::Stalled,
        Some(v) if v.state == VerdictState::Throttled => Worth::Throttled,
        _ => Worth::Fine,
    })
}

/// A device as its peers see it. Slices and guests' shares are nobody's peers.
fn point(state: &DeviceState, derived: &Derived) -> PeerPoint {
    let device = &state.device;
    if device.kind != DeviceKind::Device || device.virtual_share || state.silent.is_some() {
        return PeerPoint::default();
    }
    let now = |figure| {
        let value = derived.figures.get(figure);
        value.ok().filter(|_| value.age_s == 0.0)
    };
    PeerPoint {
        model: Some((device.vendor, device.name.clone())),
        key: state.work_key,
        utilization: now(Figure::Utilization),
        span: derived.power_span,
        clock_mhz: now(Figure::Clock),
        temperature_c: now(Figure::Temperature),
        links_up: now(Figure::NvlinkUp),
        of_reference: state
            .judged
            .as_ref()
            .and_then(|memory| memory.of_reference()),
        spins: state.judged.as_ref().is_some_and(|memory| memory.spins()),
    }
}

/// The numbers of this tick.
#[allow(clippy::too_many_arguments)] // one number each from all that the session knows
fn seen<'a, 'p>(
    device: &'a Device,
    state: &DeviceState,
    derived: &Derived,
    entry: Option<&PlateEntry>,
    peers: &'a Peers,
    tick: &'a Tick,
    moment: Moment,
    find: impl Fn(u32) -> Option<&'p Process>,
) -> Seen<'a> {
    let figures = &derived.figures;
    let now = |figure| {
        let value = figures.get(figure);
        value.ok().filter(|_| value.age_s == 0.0)
    };
    let lately = |figure| {
        let value = figures.get(figure);
        value
            .ok()
            .filter(|_| value.age_s <= LATELY * moment.interval_s)
    };
    let raw = |metric| {
        let readings = state
            .held
            .value(metric, moment.now, moment.interval_s, state.silence());
        readings.ok()
    };
    let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, other) => one.or(other),
    };
    let whole = device.kind == DeviceKind::Device;
    let plate = link_plate(state, entry);
    let in_use = link_in_use(state, figures, moment);
    let steady = state.slow_polls >= slow_polls(moment);
    let link = whole && !device.c2c;
    let to_lanes = |v: f64| v as u8;
    let generation = lately(Figure::PcieGeneration)
        .filter(|_| link)
        .map(to_lanes);
    let generation_max = best_generation(figures, plate);
    let width_max = best_width(figures, plate);
    let sold = entry.filter(|_| whole && !device.virtual_share);
    let hops = state.path.iter().skip(1).filter(|hop| !hop.emulated);
    let owners = match state.processes_now(moment) {
        Ok(list) => Owners::of(list, find, tick.at),
        Err(_) => Owners::default(),
    };
    Seen {
        at: tick.at,
        now: tick.mono,
        interval_s: moment.interval_s,
        dt: 0.0,
        device,
        fresh: state.polled && state.silent.is_none(),
        silent_s: state
            .silent
            .map(|(_, since)| tick.mono.seconds_since(since).max(0.0)),
        lost: matches!(state.silent, Some((Absent::Lost, _))),
        all_lost: false,
        // What others of its board draw says nothing of this device.
        power_w: now(Figure::Power).filter(|_| derived.share != Share::Shared),
        limit_w: lately(Figure::PowerLimit),
        default_limit_w: lately(Figure::PowerDefaultLimit),
        plate_w: lately(Figure::PlatePower),
        rated_w: lately(Figure::RatedPower),
        span: derived.power_span.filter(|_| now(Figure::Power).is_some()),
        span_learned: state.resident_idle.watts().is_some(),
        temperature_c: now(Figure::Temperature),
        headroom_c: now(Figure::Headroom),
        own_threshold: matches!(derived.headroom_source, Some("margin" | "threshold")),
        memory_temperature_c: now(Figure::MemoryTemperature),
        memory_max_c: raw(Metric::ThresholdMemoryMax),
        utilization: now(Figure::Utilization),
        memory_activity: now(Figure::MemoryActivity),
        sm_active: now(Figure::SmActive),
        tensor_active: now(Figure::TensorActive),
        dram_active: now(Figure::DramActive),
        memory_used: now(Figure::MemoryUsed),
        memory_total: lately(Figure::MemoryTotal),
        plate_memory: sold
            .filter(|e| &*e.confidence != "low" && is_whole(derived.share, e))
            .and_then(|e| e.memory_bytes),
        clock_mhz: now(Figure::Clock),
        clock_max_mhz: lately(Figure::ClockMax),
        set_clock_mhz: raw(Metric::ApplicationClock),
        bits: raw(Metric::Reasons).map(|bits| bits as u64),
        performance_state: raw(Metric::PerformanceState),
        reason_s: {
            let [cap, sync, software, hardware, brake] = &state.reasons;
            [cap, sync, software, hardware, brake].map(|growth| growth.sum())
        },
        width: lately(Figure::PcieWidth).filter(|_| link).map(to_lanes),
        width_max,
        usual_width: plate.and_then(|plate| plate.usual_width),
        // A generation that is low for a moment only is the link coming up.
        generation: if steady || generation >= generation_max {
            generation
        } else {
            generation_max.filter(|_| generation.is_some())
        },
        generation_max,
        link_by_plate: plate.is_some_and(|plate| {
            plate.pcie_width >= width_max && plate.pcie_generation >= generation_max
        }),
        bridge_width: hops.filter_map(|hop| hop.width).min().filter(|w| *w > 0),
        link_in_use: in_use,
        usable_bytes_per_s: lately(Figure::PcieUsable),
        rx_bytes_per_s: lately(Figure::PcieRx),
        tx_bytes_per_s: lately(Figure::PcieTx),
        rx_saturation: lately(Figure::PcieRxSaturation),
        tx_saturation: lately(Figure::PcieTxSaturation),
        both_saturation: lately(Figure::PcieBothSaturation),
        both_bytes_per_s: lately(Figure::PcieBoth),
        nvlink_links: lately(Figure::NvlinkLinks),
        nvlink_up: lately(Figure::NvlinkUp),
        nvlink_expected: sold.is_some_and(|e| {
            &*e.form == "sxm" && e.nvlink_total_bytes_per_s.is_some_and(|rate| rate > 0.0)
        }),
        nvlink_bytes_per_s: sum(lately(Figure::NvlinkRx), lately(Figure::NvlinkTx)),
        nvlink_errors: now(Figure::NvlinkErrors),
        energy_j: now(Figure::Energy),
        ecc_uncorrected: lately(Figure::EccUncorrected),
        remap_failed: raw(Metric::RemapFailure),
        remap_pending: raw(Metric::RemapPending)
            .into_iter()
            .chain(raw(Metric::RetiredPending))
            .reduce(f64::max),
        recovery_action: raw(Metric::RecoveryAction),
        health: raw(Metric::Health),
        xid: state
            .xid
            .map(|(code, at)| (code, tick.at.duration_since(at).as_secs_f64())),
        owners,
        host: tick.host.as_ref(),
        host_cores: None,
        disagreements: &[],
        peers,
    }
}

/// An event for what counts; pauses and kinds of work are no news.
fn told(state: &DeviceState, turn: &Turn, at: Timestamp, events: &mut Vec<Event>) {
    let episode = &turn.episode;
    if !episode.cause.can_count() {
        return;
    }
    let verb = match turn.kind {
        TurnKind::Begin => "is suspected",
        TurnKind::Sure => "is sure",
        TurnKind::End => "has ended",
    };
    let text = format!(
        "{} {}: {} {verb}",
        state.device.index,
        state.device.name,
        episode.cause.word()
    );
    let data = [
        ("cause", episode.cause.word().to_owned()),
        ("state", episode.state.word().to_owned()),
        ("confidence", episode.confidence.word().to_owned()),
        ("counts", episode.counts.to_string()),
        ("begin", episode.begin.to_string()),
        ("seconds", format!("{:.0}", episode.seconds)),
    ];
    events.push(happen::event(
        at,
        Some(state),
        EventKind::Verdict,
        text,
        &data,
    ));
}

/// Keeps an episode that has ended; where there are too many, the oldest that never counted goes first.
fn keep(past: &mut Arc<Vec<Episode>>, turn: Turn) {
    if turn.kind != TurnKind::End {
        return;
    }
    let past = Arc::make_mut(past);
    if past.len() >= PAST_KEPT {
        let goes = past.iter().position(|e| !e.counts).unwrap_or(0);
        past.remove(goes);
    }
    past.push(turn.episode);
}

/// What is not seen now is not known now, except that it is gone or broken. A device that answers and does not tell its
/// utilization is slowed or degraded by what it does tell; whether it works stays unknown.
fn speaks(state: &DeviceState, verdict: &Verdict) -> bool {
    let answers = state.polled && state.silent.is_none();
    let told = matches!(
        verdict.state,
        VerdictState::Throttled | VerdictState::Degraded
    );
    state.state.state != VerdictState::Unknown
        || matches!(verdict.cause, Cause::DeviceLost | Cause::EccXid)
        || (answers && told)
}

/// A device that its driver calls lost is that, before all else that was said of it: the rule waits for a second poll.
fn of_lost(shown: VerdictState, since: Option<Timestamp>, verdict: Verdict) -> Verdict {
    if shown != VerdictState::Lost || verdict.cause == Cause::DeviceLost {
        return verdict;
    }
    let mut also = vec![verdict.cause];
    also.extend(verdict.also);
    Verdict {
        state: VerdictState::Lost,
        cause: Cause::DeviceLost,
        since,
        counts: true,
        also,
        ..Verdict::unknown()
    }
}

/// What stands of a device, without its numbers.
pub(super) fn standing(state: &DeviceState) -> Verdict {
    let shown = state.state.state;
    let ruled = state.judged.as_ref().and_then(|memory| memory.standing());
    ruled
        .filter(|v| speaks(state, v))
        .map(|v| of_lost(shown, state.state.since, v))
        .unwrap_or_else(|| Verdict {
            state: shown,
            cause: match shown {
                VerdictState::Lost => Cause::DeviceLost,
                VerdictState::Unknown => Cause::Unknown,
                _ => Cause::None,
            },
            confidence: Confidence::Suspect,
            since: state.state.since,
            ..Verdict::unknown()
        })
}

/// The verdict on a device: the worst cause that holds, else what utilization says.
pub(super) fn verdict(
    state: &DeviceState,
    utilization: Option<f64>,
    (threshold, whose): (f64, Whose),
    interval_s: f64,
) -> Verdict {
    let shown = state.state;
    let ruled = state.judged.as_ref().and_then(|memory| memory.verdict());
    if let Some(verdict) = ruled.filter(|v| speaks(state, v)) {
        return of_lost(shown.state, shown.since, verdict);
    }
    let evidence = utilization.map(|value| Evidence {
        witness: Witness::Utilization,
        value,
        comparison: if value > threshold {
            Comparison::More
        } else {
            Comparison::AtMost
        },
        threshold,
        whose,
        window_s: interval_s,
    });
    let (cause, confidence) = match shown.state {
        VerdictState::Lost => (Cause::DeviceLost, Confidence::Suspect),
        VerdictState::Unknown => (Cause::Unknown, Confidence::Suspect),
        _ => (Cause::None, Confidence::Likely),
    };
    Verdict {
        state: shown.state,
        cause,
        confidence,
        since: shown.since,
        counts: shown.state == VerdictState::Lost,
        evidence: if matches!(shown.state, VerdictState::Working | VerdictState::Idle) {
            evidence.into_iter().collect()
        } else {
            Vec::new()
        },
        ..Verdict::unknown()
    }
}

/// The word of a row as the verdict has it; `None` where no rule speaks.
pub(super) fn word(verdict: &Verdict, held: bool) -> Option<StateWord> {
    Some(match (verdict.cause, verdict.state) {
        // A rule that says so has looked; where none has, the row says what it lacks.
        (Cause::Unknown, _) if !verdict.evidence.is_empty() => StateWord::Unknown,
        (Cause::None, _) | (_, VerdictState::Unknown) => return None,
        (Cause::DeviceLost, _) | (_, VerdictState::Lost) => StateWord::Lost,
        (Cause::EccXid, _) => StateWord::Faulty,
        (Cause::PowerBrake, _) => StateWord::Braked,
        (Cause::Thermal, _) => StateWord::Hot,
        (Cause::PowerCap | Cause::PlateMismatch, _) => StateWord::Capped,
        (_, VerdictState::Stalled) if verdict.confidence > Confidence::Suspect => {
            StateWord::Stalled
        }
        (_, VerdictState::Stalled) => StateWord::Doubtful,
        (Cause::PcieLink, _) => StateWord::Narrow,
        (_, VerdictState::Throttled) => StateWord::Slowed,
        (_, VerdictState::Degraded) => StateWord::Degraded,
        (Cause::IdleBilled, _) if held => StateWord::Held,
        (Cause::IdleBilled, _) => StateWord::Idle,
        (Cause::WarmUp | Cause::CheckpointPause | Cause::CompilePause | Cause::EvalPause, _) => {
            StateWord::Paused
        }
        _ => return None,
    })
}
