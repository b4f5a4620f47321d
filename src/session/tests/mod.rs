//! What the fold promises, by tables and by chance.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod boards;
mod figures;
mod gaps;
mod happenings;
mod platform;
mod property;
mod silence;
mod verdicts;
mod words;
mod worst;

use super::{Session, Start};
use crate::model::*;
use crate::units::MonoTime;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::time::Duration;

pub(super) const NS: u64 = 1_000_000_000;

/// Names with plates of their own; the numbers are nobody's.
const PLATES: &str = "\
vendor,name,form,power_w,pcie_generation,pcie_width,nvlink_total_gb_s,slowdown_c,max_operating_c,power_reading,memory_gb,confidence,source,usual_width,devices_per_board,only_memory_mib
nvidia,Card,pcie,300,4,16,600,90,85,average,80,high,a test,,,
nvidia,Doubted,pcie,300,4,16,0,90,85,average,80,low,a test,,,
nvidia,Small,pcie,70,3,16,0,93,85,instant,16,high,a test,,,
nvidia,Unplated,soc,,,,0,,,average,,low,a test,,,
cambricon,Pair,pcie,250,4,16,,,,,24,high,a test,,2,
amd,Package,oam,750,5,16,,,,,192,high,a test,,,
amd,Dies,oam,500,4,16,,,,,64,high,a test,,2,
";

pub(super) fn plates() -> Arc<Plates> {
    Arc::new(Plates::parse(PLATES).unwrap())
}

pub(super) fn card(index: u32) -> Device {
    let id: Arc<str> = format!("GPU-{index}").into();
    Device {
        id: DeviceId(id.clone()),
        index,
        vendor: Vendor::Nvidia,
        name: "Card".into(),
        uuid: Ok(id.clone()),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Ok("580.95".into()),
        board: BoardId(id),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: Some(true),
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

pub(super) fn named(name: &str) -> Device {
    Device {
        name: name.into(),
        ..card(0)
    }
}

pub(super) fn slice(parent: &Device, index: u32) -> Device {
    let id: Arc<str> = format!("MIG-{}-{index}", parent.index).into();
    Device {
        id: DeviceId(id),
        index,
        board: parent.board.clone(),
        parent: Some(parent.id.clone()),
        kind: DeviceKind::Instance,
        ..parent.clone()
    }
}

pub(super) fn readings(list: &[(Metric, Reading<f64>)]) -> Readings {
    let mut readings = Readings::default();
    for (metric, reading) in list {
        readings.set(*metric, *reading);
    }
    readings
}

pub(super) fn process(pid: u32, bytes: f64) -> DeviceProcess {
    DeviceProcess {
        pid,
        memory_bytes: Ok(bytes),
        utilization_ratio: Err(Absent::NotReported),
        instance: None,
        graphics: false,
    }
}

pub(super) fn host_process(pid: u32, foreign: bool, waiting: Reading<u32>) -> Process {
    Process {
        pid,
        foreign,
        name: Ok("train".into()),
        command: Ok("python train.py".into()),
        user: Ok("me".into()),
        state: Ok('S'),
        started: Ok(wall(0) - SignedDuration::from_secs(60)),
        cpu_cores: Ok(1.0),
        read_bytes_per_s: Ok(0.0),
        write_bytes_per_s: Ok(0.0),
        major_faults_per_s: Ok(0.0),
        waiting_threads: waiting,
        wait_channel: Err(Absent::NotReported),
    }
}

pub(super) fn wall(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

pub(super) fn report(status: ProbeStatus) -> ProbeReport {
    ProbeReport {
        vendor: Vendor::Nvidia,
        library: "lib".into(),
        path: None,
        version: None,
        status,
        code: None,
        message: None,
        hint: ProbeHint::Nothing,
    }
}

/// A session that is given one tick a second.
pub(super) struct World {
    pub(super) session: Session,
    pub(super) seconds: u64,
    pub(super) mono: u64,
    pub(super) next: Tick,
}

impl World {
    pub(super) fn of(devices: impl IntoIterator<Item = Device>) -> Self {
        Self::with(Start::new(Config::default()), devices)
    }

    pub(super) fn with(start: Start, devices: impl IntoIterator<Item = Device>) -> Self {
        let session = Session::new(start, plates(), SourceKind::Live);
        let mut world = Self {
            session,
            seconds: 0,
            mono: 1000 * NS,
            next: empty(),
        };
        for device in devices {
            world.next.changes.push(Change::Device(Arc::new(device)));
        }
        world
    }

    /// A change in the next tick.
    pub(super) fn tell(&mut self, change: Change) -> &mut Self {
        self.next.changes.push(change);
        self
    }

    /// A sample of a device in the next tick.
    pub(super) fn sample(&mut self, device: &Device, list: &[(Metric, Reading<f64>)]) -> &mut Self {
        let at = MonoTime(self.mono + NS);
        self.next.samples.push(Sample {
            device: device.id.clone(),
            at,
            readings: readings(list),
        });
        self
    }

    /// The next tick, a second later.
    pub(super) fn tick(&mut self) -> Snapshot {
        self.after(1)
    }

    /// The next tick, so many seconds later; samples keep their instant.
    pub(super) fn after(&mut self, seconds: u64) -> Snapshot {
        self.seconds += seconds;
        self.mono += seconds * NS;
        let mut tick = std::mem::replace(&mut self.next, empty());
        tick.seq = self.seconds;
        tick.at = wall(self.seconds as i64);
        tick.mono = MonoTime(self.mono);
        for sample in &mut tick.samples {
            sample.at = tick.mono;
        }
        self.session.fold(&tick);
        self.session.snapshot().unwrap()
    }

    /// One tick with a sample of the first device.
    pub(super) fn read(&mut self, list: &[(Metric, f64)]) -> DeviceView {
        let list: Vec<_> = list.iter().map(|(m, v)| (*m, Ok(*v))).collect();
        self.sample(&card(0), &list);
        self.tick().devices.remove(0)
    }
}

pub(super) fn empty() -> Tick {
    Tick {
        seq: 0,
        at: wall(0),
        mono: MonoTime(0),
        interval: Duration::from_secs(1),
        dropped: 0,
        samples: Vec::new(),
        host: None,
        changes: Vec::new(),
        events: Vec::new(),
    }
}

pub(super) fn xid(device: &Device, code: u32, second: u64) -> Event {
    Event {
        at: wall(second as i64),
        device: Some(device.id.clone()),
        kind: EventKind::Xid,
        text: format!("XID {code}").into(),
        data: vec![("code".into(), code.to_string().into())],
    }
}

pub(super) fn kinds(view: &Snapshot) -> Vec<EventKind> {
    let kinds = view.events.iter().map(|e| e.kind);
    kinds.filter(|kind| *kind != EventKind::Verdict).collect()
}
