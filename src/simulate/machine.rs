//! The machine that runs a plan: devices with what they carry from tick to tick, the host, and what happens to them.

use super::behaviour::{Activity, Owner};
use super::body::Body;
use super::host::{self, Names, Surroundings};
use super::later;
use super::noise::Noise;
use super::plan::{DevicePlan, Incident, Plan, Timing, Weather};
use crate::model::{
    Absent, BoardId, Change, Device, DeviceId, DeviceKind, DeviceProcess, Event, EventKind, Metric,
    ProbeHint, ProbeReport, ProbeStatus, Readings, Sample, Tick, Vendor,
};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// The simulated boot clock at second 0.
const BOOTED_S: u64 = 1_000_000;
/// Utilization up to which a host looks for waiting threads.
const QUIET: f64 = 0.10;
const GIB: f64 = 1_073_741_824.0;

/// A device with what it carries from tick to tick.
pub(super) struct Running {
    pub(super) plan: DevicePlan,
    body: Body,
    pub(super) identity: Arc<Device>,
    /// The job of its present owner, when it started, and its words.
    owned: Option<(u32, Timestamp, Names)>,
    /// Memory of the owner and of a guest as they were last told.
    told: Option<Option<(u32, u64, u64)>>,
    /// Gives no samples.
    silent: bool,
    /// Polls that still bring nothing.
    skips: u32,
}

/// Devices and host that run.
pub(super) struct Machine {
    command: &'static str,
    pub(super) timing: Timing,
    pub(super) devices: Vec<Running>,
    noise: Noise,
    pub(super) began: Timestamp,
    seq: u64,
    /// Simulated second of the newest tick.
    pub(super) now_s: Option<f64>,
    pub(super) marks: Vec<String>,
    weather: Option<Weather>,
    incidents: std::iter::Peekable<std::vec::IntoIter<(f64, Incident)>>,
    /// What the wall clock was set by.
    wall_s: f64,
    /// A part of the next tick's distance that nobody looked at.
    gap_s: f64,
}

/// What the devices of one tick came to.
#[derive(Default)]
struct Round {
    samples: Vec<Sample>,
    owners: Vec<Owner>,
    processes: Vec<crate::model::Process>,
    changes: Vec<Change>,
}

impl Machine {
    pub(super) fn new(name: &'static str, seed: u64, plan: Plan) -> Self {
        let body = |slot: usize, plan: &DevicePlan| {
            let noise = Noise::new(seed, slot as u64 + 1);
            let mut body = Body::new(plan.part, plan.condition.clone(), noise);
            if plan.owned_for_s > 0.0 {
                body.settle(&plan.behaviour.at(0.0));
            }
            body
        };
        let running = |(slot, plan): (usize, DevicePlan)| Running {
            body: body(slot, &plan),
            identity: Arc::new(identity(name, slot, seed, &plan)),
            owned: None,
            told: None,
            silent: false,
            skips: 0,
            plan,
        };
        let devices = plan.devices.into_iter().enumerate().map(running).collect();
        Self {
            command: plan.command,
            timing: plan.timing,
            devices,
            noise: Noise::new(seed, 0),
            began: Timestamp::UNIX_EPOCH,
            seq: 0,
            now_s: None,
            marks: Vec::new(),
            weather: plan.weather,
            incidents: plan.incidents.into_iter().peekable(),
            wall_s: 0.0,
            gap_s: 0.0,
        }
    }

    /// The simulated second of the next tick, and the interval that is meant there.
    pub(super) fn next_second(&self) -> (f64, f64) {
        let Timing {
            coarse_s,
            full_rate,
            interval_s,
            ..
        } = self.timing;
        match self.now_s {
            None => (0.0, coarse_s),
            Some(now) if now + coarse_s <= full_rate => (now + coarse_s + self.gap_s, coarse_s),
            Some(now) => (now + interval_s + self.gap_s, interval_s),
        }
    }

    /// The next tick.
    pub(super) fn tick(&mut self) -> Tick {
        let (second, interval_s) = self.next_second();
        let passed = second - self.now_s.unwrap_or(second);
        let first = self.now_s.is_none();
        self.now_s = Some(second);
        self.gap_s = 0.0;
        self.seq += 1;
        let mono = MonoTime(BOOTED_S * 1_000_000_000).plus(Duration::from_secs_f64(second));
        let mut round = Round::default();
        if first {
            round.changes = self.introductions();
        }
        let mut events = self.incidents_until(second, mono, &mut round.changes);
        let at = later(self.began, second + self.wall_s);
        for (slot, device) in self.devices.iter_mut().enumerate() {
            device.round(
                slot,
                (second, passed, at, mono),
                self.command,
                &mut self.noise,
                &mut round,
            );
        }
        self.repeat_boards(&mut round.samples);
        round.changes.push(Change::HostProcesses(round.processes));
        events.extend(self.marks.drain(..).map(|text| mark(at, &text)));
        let around = self
            .weather
            .as_ref()
            .map_or(Surroundings::QUIET, |weather| weather(second));
        Tick {
            seq: self.seq,
            at,
            mono,
            interval: Duration::from_secs_f64(interval_s),
            dropped: 0,
            samples: round.samples,
            host: Some(host::sample(&round.owners, &around, &mut self.noise)),
            changes: round.changes,
            events,
        }
    }

    /// Devices of one board tell the same power.
    fn repeat_boards(&self, samples: &mut [Sample]) {
        for device in &self.devices {
            let of = |id: &DeviceId| samples.iter().position(|sample| sample.device == *id);
            let first = device.plan.board_of.and_then(|slot| self.devices.get(slot));
            let pair = first.and_then(|first| of(&first.identity.id).zip(of(&device.identity.id)));
            let Some((first, second)) = pair else {
                continue;
            };
            for metric in [Metric::PowerUsage, Metric::Energy, Metric::LimitEnforced] {
                let told = samples.get(first).map(|s| s.readings.get(metric));
                if let (Some(told), Some(sample)) = (told, samples.get_mut(second)) {
                    sample.readings.set(metric, told);
                }
            }
            if device.identity.vendor == Vendor::Cambricon {
                for sample in [first, second] {
                    if let Some(sample) = samples.get_mut(sample) {
                        say_whose(&mut sample.readings);
                    }
                }
            }
        }
    }

    fn introductions(&self) -> Vec<Change> {
        let probe = |vendor| ProbeReport {
            vendor,
            library: Arc::from("simulation"),
            path: None,
            version: None,
            status: ProbeStatus::Ok,
            code: None,
            message: Some(Arc::from("simulated devices, nothing here is real")),
            hint: ProbeHint::Nothing,
        };
        let mut changes = vec![Change::Host(host::host(self.began))];
        let mut vendors: Vec<Vendor> = Vec::new();
        for device in &self.devices {
            let vendor = device.identity.vendor;
            if !vendors.contains(&vendor) {
                vendors.push(vendor);
                changes.push(Change::Probe(probe(vendor)));
            }
        }
        for device in &self.devices {
            changes.push(Change::Device(device.identity.clone()));
            changes.push(Change::Path(device.identity.id.clone(), device.plan.path()));
        }
        changes
    }

    /// All that happened up to this second.
    fn incidents_until(
        &mut self,
        second: f64,
        mono: MonoTime,
        changes: &mut Vec<Change>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some((_, incident)) = self.incidents.next_if(|(at, _)| *at <= second) {
            match incident {
                Incident::Gap(seconds) => self.gap_s += seconds,
                Incident::WallJump(seconds) => self.wall_s += seconds,
                Incident::Xid(device, code) => {
                    let at = later(self.began, second + self.wall_s);
                    if let Some(device) = self.devices.get(device as usize) {
                        events.push(xid(at, &device.identity.id, code));
                    }
                }
                Incident::Silent(device, _)
                | Incident::Answers(device)
                | Incident::Gone(device)
                | Incident::Skip(device, _)
                | Incident::Reset(device) => {
                    if let Some(device) = self.devices.get_mut(device as usize) {
                        changes.extend(device.suffers(incident, mono));
                    }
                }
            }
        }
        events
    }
}

impl Running {
    fn round(
        &mut self,
        slot: usize,
        (second, passed, at, mono): (f64, f64, Timestamp, MonoTime),
        command: &str,
        noise: &mut Noise,
        round: &mut Round,
    ) {
        let activity = self.plan.behaviour.at(second);
        let mut readings = self.body.step(&activity, passed);
        let utilization = readings.get(Metric::Utilization);
        round
            .changes
            .extend(self.ownership(slot, &activity, utilization));
        if let Some(owner) = activity.owner {
            if self
                .owned
                .as_ref()
                .is_none_or(|(job, ..)| *job != owner.job)
            {
                let before = if self.owned.is_none() && owner.job == 0 {
                    self.plan.owned_for_s
                } else {
                    0.0
                };
                let names = Names::of(command, owner.job);
                self.owned = Some((owner.job, later(at, -before), names));
            }
            let quiet = utilization.is_ok_and(|u| u <= QUIET);
            round.owners.push(owner);
            if let Some((_, started, names)) = &self.owned {
                round
                    .processes
                    .push(host::process(slot, &owner, names, *started, quiet, noise));
            }
        } else {
            self.owned = None;
        }
        if let Some(lens) = &self.plan.lens {
            lens(second, &mut readings);
        }
        if self.skips > 0 {
            self.skips -= 1;
        } else if !self.silent {
            round.samples.push(Sample {
                device: self.identity.id.clone(),
                at: mono,
                readings,
            });
        }
    }

    fn suffers(&mut self, incident: Incident, mono: MonoTime) -> Option<Change> {
        let id = || self.identity.id.clone();
        match incident {
            Incident::Silent(_, why) => {
                self.silent = true;
                Some(Change::Silent(id(), why, mono))
            }
            Incident::Answers(_) => {
                self.silent = false;
                Some(Change::Answers(id()))
            }
            Incident::Gone(_) => {
                self.silent = true;
                Some(Change::Gone(id()))
            }
            Incident::Skip(_, polls) => {
                self.skips = polls;
                None
            }
            Incident::Reset(_) => {
                self.body.reset();
                None
            }
            Incident::Xid(..) | Incident::Gap(_) | Incident::WallJump(_) => None,
        }
    }

    /// The driver's list of processes, where it has changed.
    fn ownership(
        &mut self,
        slot: usize,
        activity: &Activity,
        utilization: Result<f64, Absent>,
    ) -> Option<Change> {
        let bytes = |o: Owner| {
            (
                o.job,
                (activity.memory_gib * GIB) as u64,
                (o.guest_gib * GIB) as u64,
            )
        };
        let now = activity.owner.map(bytes);
        if self.told == Some(now) {
            return None;
        }
        self.told = Some(now);
        if !self.plan.lists_processes {
            let why = Err(Absent::NotSupported);
            return Some(Change::Processes(self.identity.id.clone(), why));
        }
        let process = |pid, bytes: u64| DeviceProcess {
            pid,
            memory_bytes: Ok(bytes as f64),
            utilization_ratio: utilization,
            instance: None,
            graphics: false,
        };
        let list = now.map_or_else(Vec::new, |(job, own, guest)| {
            let guest = (guest > 0).then(|| process(host::guest_of(slot), guest));
            std::iter::once(process(host::pid_of(slot, job), own))
                .chain(guest)
                .collect()
        });
        Some(Change::Processes(self.identity.id.clone(), Ok(list)))
    }
}

/// As Cambricon's probe does where a board's devices agree in their draw.
fn say_whose(readings: &mut Readings) {
    readings.set(Metric::BoardPower, readings.get(Metric::PowerUsage));
    readings.set(Metric::PowerUsage, Err(Absent::NotSupported));
}

fn identity(name: &str, slot: usize, seed: u64, plan: &DevicePlan) -> Device {
    // No vendor's UUID looks like this.
    let id_of = |slot: usize| -> Arc<str> { Arc::from(format!("SIM-{name}-{slot}-{seed:04x}")) };
    let id = id_of(slot);
    Device {
        id: DeviceId(id.clone()),
        index: slot as u32,
        vendor: plan.part.vendor,
        name: Arc::from(plan.name.unwrap_or(plan.part.name)),
        uuid: Ok(id.clone()),
        pci_address: Ok(plan.address),
        pci_id: plan.part.pci_id.ok_or(Absent::NotReported),
        driver: Ok(Arc::from("simulated")),
        board: BoardId(plan.board_of.map_or(id, id_of)),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: (plan.part.vendor == Vendor::Nvidia).then_some(plan.part.hopper),
        unified_memory: false,
        c2c: false,
        virtual_share: plan.virtual_share,
        details: vec![(Arc::from("simulation"), Arc::from(name))],
    }
}

fn mark(at: Timestamp, text: &str) -> Event {
    Event {
        at,
        device: None,
        kind: EventKind::Mark,
        text: Arc::from(text),
        data: Vec::new(),
    }
}

fn xid(at: Timestamp, device: &DeviceId, code: u32) -> Event {
    Event {
        at,
        device: Some(device.clone()),
        kind: EventKind::Xid,
        text: Arc::from(format!("XID {code}")),
        data: vec![(Arc::from("code"), Arc::from(code.to_string()))],
    }
}
