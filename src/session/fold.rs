//! One tick into the session.

use super::derive::{Moment, derive};
use super::device::DeviceState;
use super::known::{is_doubtful, link_in_use};
use super::{EVENTS_KEPT, Instant, Series, Session, happen};
use crate::ledger::{BoardStep, DeviceStep, Step};
use crate::model::{
    Absent, BillingStart, BillingStartSource, Change, Device, DeviceId, DeviceProcess, Event, EventKind, Figure,
    Phase, ProbeStatus, Reading, Tick, VerdictState,
};
use std::sync::Arc;

/// Wall and boot clock may differ by this much between two ticks; more is a jump. Slewing stays below it.
const CLOCK_JUMP_S: f64 = 2.0;

impl Session {
    /// Takes one tick in.
    pub fn fold(&mut self, tick: &Tick) {
        let mut events: Vec<Event> = Vec::new();
        self.note_clock(tick, &mut events);
        self.start.last = Some(Instant {
            seq: tick.seq,
            at: tick.at,
            mono: tick.mono,
            interval: tick.interval,
            dropped: tick.dropped,
        });
        for change in &tick.changes {
            self.change(change, tick, &mut events);
        }
        if let Some(host) = &tick.host {
            self.start.host_sample = Some((tick.mono, host.clone()));
        }
        let moment = self.moment();
        for sample in &tick.samples {
            if let Some(state) = self.start.devices.iter_mut().find(|d| d.device.id == sample.device) {
                state.take(sample, moment.interval_s);
            }
        }
        self.events_of(tick, &mut events);
        self.observe(tick);
        self.after(tick, moment, &mut events);
        for event in events {
            if self.start.events.len() >= EVENTS_KEPT {
                self.start.events.pop_front();
            }
            self.start.events.push_back(event);
        }
    }

    /// The newest tick's instant.
    pub(super) fn moment(&self) -> Moment {
        let last = self.start.last;
        Moment {
            now: last.map_or(crate::units::MonoTime(0), |l| l.mono),
            interval_s: last.map_or(1.0, |l| l.interval.as_secs_f64()),
        }
    }

    fn note_clock(&self, tick: &Tick, events: &mut Vec<Event>) {
        let Some(last) = self.start.last else { return };
        let wall = tick.at.duration_since(last.at).as_secs_f64();
        let jump = wall - tick.mono.seconds_since(last.mono);
        if jump.abs() > CLOCK_JUMP_S {
            let text = format!("The wall clock jumped by {jump:+.0} s");
            events.push(happen::event(
                tick.at,
                None,
                EventKind::ClockJump,
                text,
                &[("seconds", format!("{jump:.3}"))],
            ));
        }
    }

    fn events_of(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        for event in &tick.events {
            if event.kind == EventKind::Xid
                && let Some(id) = &event.device
                && let Some(state) = self.start.devices.iter_mut().find(|d| d.device.id == *id)
            {
                let code = event.data.iter().find(|(name, _)| &**name == "code");
                if let Some(code) = code.and_then(|(_, code)| code.parse().ok()) {
                    state.xid = Some((code, event.at));
                }
            }
            events.push(event.clone());
        }
    }

    fn change(&mut self, change: &Change, tick: &Tick, events: &mut Vec<Event>) {
        match change {
            Change::Device(device) => self.device(device),
            Change::Path(id, hops) => self.with(id, |state| state.path.clone_from(hops)),
            Change::Processes(id, list) => self.processes(id, list, tick, events),
            Change::HostProcesses(list) => self.host_processes(list),
            Change::Host(host) => {
                self.start.startup.boot = host.boot.ok();
                self.start.host = host.clone();
                let offers = [
                    (host.container_started, BillingStartSource::Container),
                    (host.boot, BillingStartSource::Boot),
                ];
                for (at, source) in offers {
                    if let Ok(at) = at {
                        self.ledger.offer_start(BillingStart { at, source });
                    }
                }
            }
            Change::Probe(report) => {
                let seen_failing = self
                    .start
                    .probes
                    .iter()
                    .any(|p| p.vendor == report.vendor && !matches!(p.status, ProbeStatus::Ok | ProbeStatus::Starting));
                if seen_failing && report.status == ProbeStatus::Ok {
                    self.start.startup.driver_visible.get_or_insert(tick.at);
                }
                match self.start.probes.iter_mut().find(|p| p.vendor == report.vendor) {
                    Some(slot) => slot.clone_from(report),
                    None => self.start.probes.push(report.clone()),
                }
            }
            Change::Silent(id, why, since) => {
                let (why, since) = (*why, *since);
                let lost = why == Absent::Lost;
                let mut news = None;
                self.with(id, |state| {
                    if state.silent.is_none_or(|(before, _)| before != why) {
                        let what = if lost { "is lost" } else { "does not answer in time" };
                        let text = format!("{} {} {what}", state.device.index, state.device.name);
                        news = Some(happen::event(tick.at, Some(state), EventKind::Lost, text, &[("why", why.word().to_owned())]));
                    }
                    state.silent = Some((why, since));
                });
                events.extend(news);
            }
            Change::Answers(id) => {
                let mut news = None;
                self.with(id, |state| {
                    if state.silent.take().is_some() {
                        let text = format!("{} {} answers again", state.device.index, state.device.name);
                        news = Some(happen::event(tick.at, Some(state), EventKind::Recovered, text, &[]));
                    }
                });
                events.extend(news);
            }
            Change::Gone(id) => {
                // A device keeps its row, history and meter; an instance that was taken down leaves.
                let gone = |d: &DeviceState| d.device.id == *id && d.device.parent.is_some();
                self.start.devices.retain(|d| !gone(d));
                let mut news = None;
                self.with(id, |state| {
                    if state.silent.is_none_or(|(why, _)| why != Absent::Lost) {
                        let text =
                            format!("{} {} is not listed any more", state.device.index, state.device.name);
                        news = Some(happen::event(tick.at, Some(state), EventKind::Lost, text, &[]));
                        state.silent = Some((Absent::Lost, tick.mono));
                    }
                });
                events.extend(news);
            }
        }
    }

    fn with(&mut self, id: &DeviceId, act: impl FnOnce(&mut DeviceState)) {
        if let Some(state) = self.start.devices.iter_mut().find(|d| d.device.id == *id) {
            act(state);
        }
    }

    fn device(&mut self, device: &Arc<Device>) {
        match self.start.devices.iter_mut().find(|d| d.device.id == device.id) {
            Some(state) => state.device = device.clone(),
            None => self.start.devices.push(DeviceState::new(device.clone())),
        }
        // Vendors in their own order, devices as the vendor lists them, instances behind their parent.
        let parents: std::collections::HashMap<DeviceId, u32> =
            self.start.devices.iter().map(|d| (d.device.id.clone(), d.device.index)).collect();
        self.start.devices.sort_by_key(|d| {
            let parent = d.device.parent.as_ref().and_then(|p| parents.get(p)).copied();
            (d.device.vendor, parent.unwrap_or(d.device.index), parent.is_some(), d.device.index)
        });
    }

    fn processes(
        &mut self,
        id: &DeviceId,
        list: &Reading<Vec<DeviceProcess>>,
        tick: &Tick,
        events: &mut Vec<Event>,
    ) {
        let pids = |list: &Reading<Vec<DeviceProcess>>| -> Option<Vec<u32>> {
            list.as_ref().ok().map(|l| l.iter().map(|p| p.pid).collect())
        };
        let Some(state) = self.start.devices.iter_mut().find(|d| d.device.id == *id) else { return };
        if let (Some(before), Some(after)) = (pids(&state.processes), pids(list)) {
            happen::processes(state, &before, &after, tick.at, events);
        }
        state.processes.clone_from(list);
        state.processes_at = Some(tick.mono);
    }

    fn host_processes(&mut self, list: &[crate::model::Process]) {
        self.start.host_processes = list.to_vec();
        let earliest = list.iter().filter(|p| !p.foreign).filter_map(|p| p.started.ok()).min();
        if let Some(earliest) = earliest {
            let first = self.start.startup.first_process.get_or_insert(earliest);
            *first = earliest.min(*first);
        }
    }

    /// Books the time since the previous tick.
    fn observe(&mut self, tick: &Tick) {
        let moment = self.moment();
        let mut boards: Vec<BoardStep> = Vec::new();
        for state in &self.start.devices {
            let has_process = state.processes.as_ref().ok().map(|list| !list.is_empty());
            let step = DeviceStep {
                id: state.device.id.clone(),
                utilization: state.fresh_utilization(moment),
                has_process,
                held: state.memory_held().is_some_and(|bytes| bytes > 0.0),
                io_waiting: self.io_waiting(state),
                silent: state.silent.is_some(),
            };
            match boards.iter_mut().find(|b| b.board == state.device.board) {
                Some(board) => board.devices.push(step),
                None => boards.push(BoardStep { board: state.device.board.clone(), devices: vec![step] }),
            }
        }
        self.ledger.observe(&Step { at: tick.at, mono: tick.mono, interval: tick.interval, boards: &boards });
    }

    /// Whether a thread of the device's owners waits for storage; `None` where no owner can be looked at.
    fn io_waiting(&self, state: &DeviceState) -> Option<bool> {
        let owners = state.processes.as_ref().ok()?;
        if owners.is_empty() {
            return Some(false);
        }
        let mut seen = None;
        for owner in owners {
            let host = self.start.host_processes.iter().find(|p| p.pid == owner.pid && !p.foreign);
            if let Some(waiting) = host.and_then(|p| p.waiting_threads.ok()) {
                seen = Some(seen.unwrap_or(false) || waiting > 0);
            }
        }
        seen
    }

    /// What follows from the whole tick for each device: states, since when, series, events.
    fn after(&mut self, tick: &Tick, moment: Moment, events: &mut Vec<Event>) {
        let threshold = self.start.config.compute_threshold;
        let plates = self.plates.clone();
        for state in &mut self.start.devices {
            let entry = plates.find(&state.device.name).map(AsRef::as_ref);
            let figures = derive(state, entry, moment).figures;
            let get = |figure| figures.get(figure).ok();
            let fresh = state.sampled == Some(moment.now)
                || state.sampled.is_some_and(|at| moment.now.seconds_since(at) < moment.interval_s);
            if fresh && state.silent.is_none() {
                state.thermal.take(moment.now, get(Figure::Headroom), get(Figure::Power));
            }
            state.phase = self.ledger.phase(&state.device.id);
            let shown = match (state.silent, state.phase) {
                (Some((Absent::Lost, _)), _) => VerdictState::Lost,
                (_, Phase::Unobserved) => VerdictState::Unknown,
                _ if get(Figure::Utilization).is_some_and(|u| u > threshold) => VerdictState::Working,
                _ => VerdictState::Idle,
            };
            if state.state.state != shown || state.state.since.is_none() {
                state.state.state = shown;
                state.state.since = Some(tick.at);
            }
            state.idle_since = (shown == VerdictState::Idle).then(|| state.idle_since.unwrap_or(moment.now));
            state.doubtful_since =
                is_doubtful(&figures).then(|| state.doubtful_since.unwrap_or(moment.now));
            let in_use = link_in_use(&figures);
            let slow = in_use
                && matches!((get(Figure::PcieGeneration), get(Figure::PcieGenerationMax)), (Some(now), Some(max)) if now < max);
            state.slow_polls = if slow { state.slow_polls.saturating_add(1) } else { 0 };
            happen::throttling(state, tick.at, events);
            happen::link(state, &figures, in_use, tick.at, events);
            let fresh = |figure| if fresh { get(figure) } else { None };
            let history = self.start.config.history;
            self.series
                .entry(state.device.id.clone())
                .or_insert_with(|| Series::new(history))
                .push(
                    moment.now,
                    [
                        fresh(Figure::Power),
                        fresh(Figure::Temperature),
                        fresh(Figure::Headroom),
                        fresh(Figure::PcieRx),
                        fresh(Figure::PcieTx),
                        fresh(Figure::Utilization),
                        fresh(Figure::Work),
                    ],
                );
        }
        let startup = self.ledger.startup();
        self.start.startup.billing_started = startup.billing_started;
        self.start.startup.first_compute = self.start.startup.first_compute.or(startup.first_compute);
        self.start.startup.first_process = self.start.startup.first_process.or(startup.first_process);
    }
}
