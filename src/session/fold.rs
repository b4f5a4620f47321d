//! One tick into the session.

use super::board::Boards;
use super::derive::{self, Moment};
use super::device::DeviceState;
use super::known::{
    best_generation, is_doubtful, is_held_below_limit, link_in_use, link_plate, xid_replaces,
};
use super::{EVENTS_KEPT, Instant, Series, Session, bounded, gap, happen};
use crate::ledger::{BoardStep, DeviceStep, Step};
use crate::model::{
    Absent, Change, DeviceId, Event, EventKind, Figure, PastStart, Phase, PlateEntry, PsiScope,
    Tick, VerdictState,
};
use crate::units::MonoTime;
use std::sync::Arc;
use std::time::Duration;

/// Wall and boot clock may differ by this much between two ticks; more is a jump.
const CLOCK_JUMP_S: f64 = 2.0;
/// Over a long time they may differ more: clocks are slewed by 500 ppm at most (`adjtimex`), twice that is allowed.
const CLOCK_SLEW: f64 = 0.001;
/// Our own cgroup's I/O pressure over which a second without work counts as waiting for storage (facts: 10 %).
const PSI_WAITING: f64 = 0.10;
/// Bytes kept of an event's text.
const EVENT_BYTES: usize = 1024;
/// Figures kept of an event.
const EVENT_DATA: usize = 32;

impl Session {
    /// Takes one tick in.
    pub fn fold(&mut self, tick: &Tick) {
        let mut events: Vec<Event> = Vec::new();
        let before = self.start.last.map_or(tick.interval, |last| last.interval);
        self.clocks(tick, &mut events);
        self.start.last = Some(Instant {
            seq: tick.seq,
            at: tick.at,
            mono: tick.mono,
            interval: tick.interval,
            dropped: tick.dropped,
        });
        for state in &mut self.start.devices {
            state.polled = false;
        }
        for change in &tick.changes {
            self.change(change, tick, &mut events);
        }
        if let Some(host) = &tick.host {
            self.start.host_sample = Some((tick.mono, host.clone()));
        }
        self.samples(tick, before.max(tick.interval), &mut events);
        self.events_of(tick, &mut events);
        self.derive();
        self.observe(tick);
        self.after(tick, &mut events);
        self.platform_after(tick, &mut events);
        self.judge(tick, &mut events);
        self.keep(events);
    }

    /// The newest tick's instant.
    pub(super) fn moment(&self) -> Moment {
        let last = self.start.last;
        Moment {
            now: last.map_or(MonoTime(0), |l| l.mono),
            interval_s: last.map_or(1.0, |l| l.interval.as_secs_f64()),
        }
    }

    /// What the two clocks say of the time since the previous tick: a jump, a gap, another boot.
    fn clocks(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        let Some(last) = self.start.last else { return };
        let passed = tick.mono.seconds_since(last.mono);
        let gap = passed > 2.0 * tick.interval.max(last.interval).as_secs_f64();
        let boot = passed < 0.0;
        if gap || boot {
            let past = &mut self.start.past;
            for state in &mut self.start.devices {
                Self::after_gap_of_rules(state, past, tick.at, events);
                state.after_gap(tick.at);
                if boot {
                    state.after_boot(tick.mono);
                }
            }
        }
        if boot {
            self.series.clear();
            self.start.host_sample = None;
            return;
        }
        let jump = tick.at.duration_since(last.at).as_secs_f64() - passed;
        if jump.abs() > CLOCK_JUMP_S + CLOCK_SLEW * passed {
            let text = format!("The wall clock jumped by {jump:+.0} s");
            let data = [("seconds", format!("{jump:.3}"))];
            events.push(happen::event(
                tick.at,
                None,
                EventKind::ClockJump,
                text,
                &data,
            ));
        }
    }

    /// `pace`: the longer of this tick's and the previous one's interval.
    fn samples(&mut self, tick: &Tick, pace: Duration, events: &mut Vec<Event>) {
        let interval_s = tick.interval.as_secs_f64();
        let unhurried = Moment {
            now: tick.mono,
            interval_s: pace.as_secs_f64(),
        };
        let said_silent = |id: &DeviceId| {
            tick.changes
                .iter()
                .any(|c| matches!(c, Change::Silent(of, ..) if of == id))
        };
        for (place, sample) in tick.samples.iter().enumerate() {
            // Sources keep the order of the devices, mostly.
            let hint = self
                .start
                .devices
                .get(place)
                .is_some_and(|d| d.device.id == sample.device);
            let place = if hint {
                Some(place)
            } else {
                self.start
                    .devices
                    .iter()
                    .position(|d| d.device.id == sample.device)
            };
            let Some(state) = place.and_then(|i| self.start.devices.get_mut(i)) else {
                continue;
            };
            // A device that was not listed for a while and is sampled again need not be announced.
            if let Some((_, since)) = state.silent
                && sample.at > since
                && !said_silent(&sample.device)
            {
                happen::answers(state, tick.at, events);
            }
            if let Some(told) = gap::told(state, sample, unhurried) {
                events.push(told.event(state, tick.at));
            }
            state.take(sample, interval_s);
        }
    }

    fn events_of(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        for event in &tick.events {
            // What was known from here, or is told again after a restart, is no news.
            if let Some(run) = PastStart::of_event(event)
                && !self.ledger.note_run(run)
            {
                continue;
            }
            if event.kind == EventKind::Xid
                && let Some(state) = event.device.as_ref().and_then(|id| self.state_of(id))
            {
                let code = event.data.iter().find(|(name, _)| &**name == "code");
                if let Some(code) = code.and_then(|(_, code)| code.parse().ok())
                    && xid_replaces(state.xid, (code, event.at))
                {
                    state.xid = Some((code, event.at));
                }
            }
            let mut kept = event.clone();
            kept.text = bounded(kept.text, EVENT_BYTES);
            kept.data.truncate(EVENT_DATA);
            events.push(kept);
        }
    }

    fn keep(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let kept = Arc::make_mut(&mut self.start.events);
        kept.extend(events);
        let over = kept.len().saturating_sub(EVENTS_KEPT);
        kept.drain(..over);
    }

    /// Books the time since the previous tick.
    fn observe(&mut self, tick: &Tick) {
        let moment = self.moment();
        let mut boards: Vec<BoardStep> = Vec::new();
        let threshold = self.start.config.compute_threshold;
        let any_computes = (self.start.devices.iter()).any(|state| {
            state
                .fresh_utilization(moment)
                .is_some_and(|u| u > threshold)
        });
        for (state, derived) in self.start.devices.iter().zip(&self.derived) {
            let utilization = state.fresh_utilization(moment);
            let work = derived.figures.get(Figure::Work);
            let step = DeviceStep {
                id: state.device.id.clone(),
                utilization,
                has_process: state.processes.as_ref().ok().map(|list| !list.is_empty()),
                held: state.memory_held().is_some_and(|bytes| bytes > 0.0),
                io_waiting: self.io_waiting(state, utilization, any_computes, moment),
                silent: state.silent.is_some(),
                work: work.ok().filter(|_| work.age_s <= 2.0 * moment.interval_s),
                worth: super::judge::worth(state),
            };
            // Devices of one board mostly follow each other.
            match boards
                .iter_mut()
                .rev()
                .find(|b| b.board == state.device.board)
            {
                Some(board) => board.devices.push(step),
                None => boards.push(BoardStep {
                    board: state.device.board.clone(),
                    devices: vec![step],
                }),
            }
        }
        self.ledger.observe(&Step {
            at: tick.at,
            mono: tick.mono,
            interval: tick.interval,
            boards: &boards,
            queued: self.is_queued(),
            traffic_bytes_per_s: self.traffic(moment),
        });
    }

    /// Bytes per second in and out of the host's network, while they are read.
    fn traffic(&self, moment: Moment) -> Option<f64> {
        let (at, host) = self.start.host_sample.as_ref()?;
        let fresh = moment.now.seconds_since(*at) <= 2.0 * moment.interval_s;
        let both = host.net_rx_bytes_per_s.ok()? + host.net_tx_bytes_per_s.ok()?;
        Some(both).filter(|_| fresh)
    }

    /// Whether a thread of the device's owners, or our own cgroup, waits for storage. `None` where neither can be
    /// seen. Threads are only looked at while the device does nothing: while it computes, that an owner is ours is
    /// enough to know that it does not wait. A device without an owner waits only where our cgroup does and no other
    /// device computes: the pressure of a job on another device is not its own.
    fn io_waiting(
        &self,
        state: &DeviceState,
        utilization: Option<f64>,
        any_computes: bool,
        moment: Moment,
    ) -> Option<bool> {
        if state.processes.as_ref().is_ok_and(Vec::is_empty) {
            let pressed = !any_computes && self.own_pressure(moment) == Some(true);
            return Some(pressed);
        }
        let computes = utilization.is_some_and(|u| u > self.start.config.compute_threshold);
        let owners = state.processes.as_deref().unwrap_or_default();
        let threads = owners
            .iter()
            .filter_map(|owner| self.host_process(owner.pid).filter(|p| !p.foreign))
            .filter_map(|p| match p.waiting_threads {
                Ok(waiting) => Some(waiting > 0),
                Err(_) => (computes && p.name.is_ok()).then_some(false),
            });
        threads
            .chain(self.own_pressure(moment))
            .reduce(|a, b| a || b)
    }

    /// Whether our own cgroup waits for storage; `None` where only the host's pressure is known, other people's too.
    fn own_pressure(&self, moment: Moment) -> Option<bool> {
        let (at, host) = self.start.host_sample.as_ref()?;
        let fresh = moment.now.seconds_since(*at) <= 2.0 * moment.interval_s;
        let own = fresh && host.psi_scope == Ok(PsiScope::Cgroup);
        host.psi_io_some_ratio
            .ok()
            .filter(|_| own)
            .map(|some| some > PSI_WAITING)
    }

    /// The figures of each device.
    pub(super) fn derive(&mut self) {
        let moment = self.moment();
        let boards = Boards::of(&self.start.devices);
        let derive = |state| {
            let entry = self.entry(state);
            derive::derive(state, entry, boards.share(state, entry), moment)
        };
        let derived = self.start.devices.iter().map(derive).collect();
        self.derived = derived;
    }

    /// What follows from the whole tick for each device: states, since when, series, events.
    fn after(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        let moment = self.moment();
        let plates = self.plates.clone();
        let history = self.start.config.history;
        for (state, derived) in self.start.devices.iter_mut().zip(&mut self.derived) {
            let entry = super::entry(&plates, state);
            // Only what was read for this tick: a held value is no new point of anything.
            let fresh = |figure| {
                let value = derived.figures.get(figure);
                value
                    .ok()
                    .filter(|_| value.age_s == 0.0 && state.silent.is_none())
            };
            let mut point = [
                Figure::Power,
                Figure::Temperature,
                Figure::Headroom,
                Figure::PcieRx,
                Figure::PcieTx,
                Figure::Utilization,
                Figure::Work,
            ]
            .map(fresh);
            // Where the device does not tell the directions apart, the one line is that of both.
            if let [.., rx, None, _, _] = &mut point {
                *rx = rx.or(fresh(Figure::PcieBoth));
            }
            let [power, _, headroom, ..] = point;
            state
                .thermal
                .take(state.device.index, moment.now, headroom, power);
            derive::time_to_throttle(state, moment, derived);
            state.phase = self.ledger.phase(&state.device.id);
            shown(state, tick, moment);
            state.doubtful_since =
                is_doubtful(derived).then(|| state.doubtful_since.unwrap_or(moment.now));
            state.held_since = is_held_below_limit(state, &derived.figures, moment)
                .then(|| state.held_since.unwrap_or(moment.now));
            if state.polled {
                polls(state, derived, entry, moment);
                happen::throttling(state, tick.at, events);
                happen::link(state, &derived.figures, moment, tick.at, events);
            }
            match self.series.get_mut(&state.device.id) {
                Some(series) => series.push(moment.now, point),
                None => {
                    let mut series = Series::new(history);
                    series.push(moment.now, point);
                    self.series.insert(state.device.id.clone(), series);
                }
            }
        }
    }
}

/// The state that is shown, and since when.
fn shown(state: &mut DeviceState, tick: &Tick, moment: Moment) {
    let shown = match (state.silent, state.phase) {
        (Some((Absent::Lost, _)), _) => VerdictState::Lost,
        (_, Phase::Unobserved) => VerdictState::Unknown,
        (_, Phase::Compute) => VerdictState::Working,
        _ => VerdictState::Idle,
    };
    if state.state.state != shown || state.state.since.is_none() {
        state.state.state = shown;
        state.state.since = Some(tick.at);
    }
    state.idle_since =
        (shown == VerdictState::Idle).then(|| state.idle_since.unwrap_or(moment.now));
}

/// Counts polls in which the link was in use, and those of them below its best generation.
fn polls(
    state: &mut DeviceState,
    derived: &derive::Derived,
    entry: Option<&PlateEntry>,
    moment: Moment,
) {
    let get = |figure| derived.figures.get(figure).ok();
    let generation =
        get(Figure::PcieGeneration).filter(|_| link_in_use(state, &derived.figures, moment));
    state.steady = match generation {
        Some(now) if now as u8 == state.steady.0 => {
            (state.steady.0, state.steady.1.saturating_add(1))
        }
        Some(now) => (now as u8, 1),
        None => (0, 0),
    };
    let slow = generation
        .zip(best_generation(&derived.figures, link_plate(state, entry)))
        .is_some_and(|(now, max)| now < f64::from(max));
    state.slow_polls = if slow {
        state.slow_polls.saturating_add(1)
    } else {
        0
    };
}
