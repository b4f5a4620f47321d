//! Seeded devices with ground truth, for the demo and for tests of verdicts.
//!
//! A case is a plan (`cases.rs`) of behaviours (`behaviour.rs`) in bodies (`body.rs`). The same case and seed give the
//! same ticks; the real clock only paces them and dates second 0. Nothing in it can be taken for a real device:
//! every id begins with `SIM-`, the driver is called `simulated`.

mod behaviour;
mod body;
mod cases;
mod host;
mod noise;
mod pace;
mod part;
mod plan;

#[cfg(test)]
mod tests;

pub use cases::{Case, cases};
pub use plan::Truth;

use crate::model::{
    Absent, BoardId, Change, Device, DeviceId, DeviceKind, DeviceProcess, Event, EventKind, Metric,
    ProbeHint, ProbeReport, ProbeStatus, Sample, Tick, Vendor,
};
use crate::units::MonoTime;
use behaviour::{Activity, Owner};
use body::Body;
use jiff::{SignedDuration, Timestamp};
use noise::Noise;
use plan::{DevicePlan, Plan, Timing};
use std::sync::Arc;
use std::time::Duration;

/// The simulated boot clock at second 0.
const BOOTED_S: u64 = 1_000_000;
/// Utilization up to which a host looks for waiting threads.
const QUIET: f64 = 0.10;
const GIB: f64 = 1_073_741_824.0;

/// A device with what it carries from tick to tick.
struct Running {
    plan: DevicePlan,
    body: Body,
    identity: Arc<Device>,
    /// When its present owner started.
    owned_since: Option<Timestamp>,
    /// Memory of the owner as it was last told.
    told: Option<Option<u64>>,
}

/// A case that runs.
pub struct Simulation {
    case: &'static Case,
    command: &'static str,
    timing: Timing,
    devices: Vec<Running>,
    truths: Vec<Truth>,
    noise: Noise,
    began: Timestamp,
    seq: u64,
    /// Simulated second of the newest tick.
    now_s: Option<f64>,
    speed: f64,
    marks: Vec<String>,
}

impl Simulation {
    /// A case by its name, at second 0.
    #[must_use]
    pub fn case(name: &str, seed: u64) -> Option<Self> {
        let (case, plan) = cases::find(name)?;
        let Plan {
            timing,
            command,
            devices,
            truths,
        } = plan;
        let running = |(slot, plan): (usize, DevicePlan)| Running {
            body: Body::new(
                plan.part,
                plan.condition.clone(),
                Noise::new(seed, slot as u64 + 1),
            ),
            identity: Arc::new(identity(case, slot, seed, &plan)),
            owned_since: None,
            told: None,
            plan,
        };
        Some(Self {
            case,
            command,
            timing,
            devices: devices.into_iter().enumerate().map(running).collect(),
            truths,
            noise: Noise::new(seed, 0),
            began: Timestamp::UNIX_EPOCH,
            seq: 0,
            now_s: None,
            speed: case.speed,
            marks: Vec::new(),
        })
    }

    /// Dates second 0. Without it, the simulation is dated 1970: no reader can take it for the present.
    #[must_use]
    pub const fn beginning_at(mut self, began: Timestamp) -> Self {
        self.began = began;
        self
    }

    /// What it shows.
    #[must_use]
    pub const fn about(&self) -> &'static Case {
        self.case
    }

    /// Simulated seconds whose ticks come at once, before the pace of real time begins.
    #[must_use]
    pub const fn history_seconds(&self) -> f64 {
        self.timing.live
    }

    /// All that is really the matter, by device and time.
    #[must_use]
    pub fn truths(&self) -> &[Truth] {
        &self.truths
    }

    /// What is really the matter with a device at a simulated second.
    #[must_use]
    pub fn truth_at(&self, device: u32, second: f64) -> Option<&Truth> {
        self.truths
            .iter()
            .filter(|t| t.device == device && t.from_s <= second)
            .max_by(|a, b| a.from_s.total_cmp(&b.from_s))
    }

    /// The key of a device by its index.
    #[must_use]
    pub fn device_id(&self, device: u32) -> Option<&DeviceId> {
        self.devices.get(device as usize).map(|d| &d.identity.id)
    }

    /// The simulated second of the next tick, and the interval that is meant there.
    fn next_second(&self) -> (f64, f64) {
        let Timing {
            coarse_s,
            full_rate,
            interval_s,
            ..
        } = self.timing;
        match self.now_s {
            None => (0.0, coarse_s),
            Some(now) if now + coarse_s <= full_rate => (now + coarse_s, coarse_s),
            Some(now) => (now + interval_s, interval_s),
        }
    }

    /// The next tick.
    pub fn tick(&mut self) -> Tick {
        let (second, interval_s) = self.next_second();
        let passed = second - self.now_s.unwrap_or(second);
        let first = self.now_s.is_none();
        self.now_s = Some(second);
        self.seq += 1;
        let at = later(self.began, second);
        let mono = MonoTime(BOOTED_S * 1_000_000_000).plus(Duration::from_secs_f64(second));
        let mut changes = if first {
            self.introductions()
        } else {
            Vec::new()
        };
        let (mut samples, mut owners, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, device) in self.devices.iter_mut().enumerate() {
            let activity = device.plan.behaviour.at(second);
            let readings = device.body.step(&activity, passed);
            let utilization = readings.get(Metric::Utilization);
            changes.extend(device.ownership(slot, &activity, utilization));
            if let Some(owner) = activity.owner {
                let started = *device.owned_since.get_or_insert(at);
                let quiet = utilization.is_ok_and(|u| u <= QUIET);
                owners.push(owner);
                let noise = &mut self.noise;
                processes.push(host::process(
                    slot,
                    &owner,
                    self.command,
                    started,
                    quiet,
                    noise,
                ));
            } else {
                device.owned_since = None;
            }
            samples.push(Sample {
                device: device.identity.id.clone(),
                at: mono,
                readings,
            });
        }
        changes.push(Change::HostProcesses(processes));
        Tick {
            seq: self.seq,
            at,
            mono,
            interval: Duration::from_secs_f64(interval_s),
            dropped: 0,
            samples,
            host: Some(host::sample(&owners, &mut self.noise)),
            changes,
            events: self.marks.drain(..).map(|text| mark(at, &text)).collect(),
        }
    }

    fn introductions(&self) -> Vec<Change> {
        let probe = ProbeReport {
            vendor: Vendor::Nvidia,
            library: Arc::from("simulation"),
            path: None,
            version: None,
            status: ProbeStatus::Ok,
            code: None,
            message: Some(Arc::from("simulated devices, nothing here is real")),
            hint: ProbeHint::Nothing,
        };
        let mut changes = vec![Change::Host(host::host(self.began)), Change::Probe(probe)];
        for device in &self.devices {
            changes.push(Change::Device(device.identity.clone()));
            changes.push(Change::Path(device.identity.id.clone(), device.plan.path()));
        }
        changes
    }
}

impl Running {
    /// The driver's list of processes, where it has changed.
    fn ownership(
        &mut self,
        slot: usize,
        activity: &Activity,
        utilization: Result<f64, Absent>,
    ) -> Option<Change> {
        let bytes = |_: Owner| (activity.memory_gib * GIB) as u64;
        let now = activity.owner.map(bytes);
        if self.told == Some(now) {
            return None;
        }
        self.told = Some(now);
        let list = now.map(|bytes| DeviceProcess {
            pid: host::pid_of(slot),
            memory_bytes: Ok(bytes as f64),
            utilization_ratio: utilization,
            instance: None,
            graphics: false,
        });
        let id = self.identity.id.clone();
        Some(Change::Processes(id, Ok(list.into_iter().collect())))
    }
}

fn identity(case: &Case, slot: usize, seed: u64, plan: &DevicePlan) -> Device {
    // No vendor's UUID looks like this.
    let id: Arc<str> = Arc::from(format!("SIM-{}-{slot}-{seed:04x}", case.name));
    Device {
        id: DeviceId(id.clone()),
        index: slot as u32,
        vendor: Vendor::Nvidia,
        name: Arc::from(plan.part.name),
        uuid: Ok(id.clone()),
        pci_address: Ok(plan.address),
        pci_id: Ok(plan.part.pci_id),
        driver: Ok(Arc::from("simulated")),
        board: BoardId(id),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: Some(plan.part.hopper),
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: vec![(Arc::from("simulation"), Arc::from(case.name))],
    }
}

fn later(at: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|by| at.checked_add(by).ok())
        .unwrap_or(at)
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
