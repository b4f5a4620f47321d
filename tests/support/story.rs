//! Ticks of a device of which only some figures are known, as a symptom report tells them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]
use nameplate::model::{
    Absent, BoardId, Change, Device, DeviceId, DeviceKind, DeviceProcess, Event, EventKind,
    HostSample, Metric, Process, PsiScope, Readings, Sample, Tick, Vendor,
};
use nameplate::units::MonoTime;
use std::sync::Arc;
use std::time::Duration;

/// A time in which nothing changes but noise.
#[derive(Clone, Default)]
pub(crate) struct Phase {
    pub seconds: f64,
    /// Readings as told; those that stray by a little are marked.
    pub readings: Vec<(Metric, f64)>,
    /// Watts, told as one figure: they stray by a sensor's 1 W.
    pub power_w: Option<f64>,
    /// Bytes per second from the host, with the rhythm of work.
    pub rx_bytes_per_s: Option<f64>,
    /// XIDs at its begin.
    pub xids: Vec<u32>,
    /// The library answers nothing.
    pub silent: bool,
    /// Cores that the owner's threads use, of so many that it may.
    pub cores: Option<(f64, f64)>,
    /// Share of a ten-second period in which the device has nothing to do.
    pub starved: f64,
}

pub(crate) struct Story {
    pub name: &'static str,
    /// The process began so long before the report.
    pub owned_for_s: f64,
    pub phases: Vec<Phase>,
    pub interval_s: f64,
}

/// A device that is known by its name only.
fn device(name: &str) -> Device {
    let id: Arc<str> = Arc::from("SIM-told");
    Device {
        id: DeviceId(id.clone()),
        index: 0,
        vendor: Vendor::Nvidia,
        name: Arc::from(name),
        uuid: Ok(id.clone()),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Err(Absent::NotReported),
        board: BoardId(id),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

fn xid(device: &DeviceId, at: jiff::Timestamp, code: u32) -> Event {
    Event {
        at,
        device: Some(device.clone()),
        kind: EventKind::Xid,
        text: Arc::from(format!("XID {code}")),
        data: vec![(Arc::from("code"), Arc::from(code.to_string()))],
    }
}

impl Story {
    /// All ticks, with the number of the phase.
    pub(crate) fn ticks(&self) -> Vec<(usize, Tick)> {
        let device = Arc::new(device(self.name));
        let mut ticks = Vec::new();
        let (mut second, mut rx, mut seed, mut was_silent) = (0.0, 1e9, 9_u64, false);
        let began = jiff::Timestamp::from_second(1_000_000_000).expect("a second of 2001");
        for (place, phase) in self.phases.iter().enumerate() {
            let end = second + phase.seconds;
            let mut first = true;
            while second < end {
                // A linear congruence is noise enough for the last digit of a sensor.
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let stray = (seed >> 33) as f64 / f64::from(1_u32 << 30) - 1.0;
                let mono = MonoTime(1_000_000_000_000).plus(Duration::from_secs_f64(second));
                let at = began
                    .checked_add(jiff::SignedDuration::from_secs_f64(second))
                    .expect("not far from it");
                rx += phase.rx_bytes_per_s.unwrap_or(0.0) * (1.0 + 0.05 * stray) * self.interval_s;
                let mut changes = Vec::new();
                if ticks.is_empty() {
                    changes.push(Change::Device(device.clone()));
                    changes.push(Change::Processes(
                        device.id.clone(),
                        Ok(vec![DeviceProcess {
                            pid: 4200,
                            memory_bytes: Ok(1e10),
                            utilization_ratio: Err(Absent::NotReported),
                            instance: None,
                            graphics: false,
                        }]),
                    ));
                }
                if phase.silent && !was_silent {
                    changes.push(Change::Silent(device.id.clone(), Absent::Lost, mono));
                }
                was_silent = phase.silent;
                let started = began
                    .checked_sub(jiff::SignedDuration::from_secs_f64(self.owned_for_s))
                    .expect("nor this");
                changes.push(Change::HostProcesses(vec![process(phase, started)]));
                let samples = if phase.silent {
                    Vec::new()
                } else {
                    vec![Sample {
                        device: device.id.clone(),
                        at: mono,
                        readings: readings(phase, (second, stray, rx)),
                    }]
                };
                let codes = if first { phase.xids.as_slice() } else { &[] };
                ticks.push((
                    place,
                    Tick {
                        seq: ticks.len() as u64 + 1,
                        at,
                        mono,
                        interval: Duration::from_secs_f64(self.interval_s),
                        dropped: 0,
                        samples,
                        host: Some(host(phase)),
                        changes,
                        events: codes
                            .iter()
                            .map(|code| xid(&device.id, at, *code))
                            .collect(),
                    },
                ));
                first = false;
                second += self.interval_s;
            }
        }
        ticks
    }
}

fn readings(phase: &Phase, (second, stray, rx): (f64, f64, f64)) -> Readings {
    let mut readings = Readings::absent(Absent::NotReported);
    for (metric, value) in &phase.readings {
        readings.set(*metric, Ok(*value));
    }
    if let Some(watts) = phase.power_w {
        readings.set(
            Metric::PowerUsage,
            Ok(((watts + stray) * 1000.0).round() / 1000.0),
        );
    }
    if phase.rx_bytes_per_s.is_some() {
        readings.set(Metric::PcieRxBytes, Ok(rx.round()));
        readings.set(Metric::PcieTxBytes, Ok(1e9));
        readings.set(Metric::PcieCounterBits, Ok(64.0));
    }
    if phase.starved > 0.0 && second.rem_euclid(10.0) < 10.0 * phase.starved {
        readings.set(Metric::Utilization, Ok(0.0));
    }
    readings
}

fn process(phase: &Phase, started: jiff::Timestamp) -> Process {
    Process {
        pid: 4200,
        foreign: false,
        name: Ok(Arc::from("python3")),
        command: Ok(Arc::from("python3 train.py")),
        user: Ok(Arc::from("user")),
        state: Ok('R'),
        started: Ok(started),
        cpu_cores: phase.cores.map(|(used, _)| used).ok_or(Absent::NotReported),
        read_bytes_per_s: Err(Absent::NotReported),
        write_bytes_per_s: Err(Absent::NotReported),
        major_faults_per_s: Err(Absent::NotReported),
        waiting_threads: phase.cores.map(|_| 0).ok_or(Absent::NotReported),
        wait_channel: Err(Absent::NotReported),
    }
}

fn host(phase: &Phase) -> HostSample {
    let Some((used, most)) = phase.cores else {
        return HostSample::default();
    };
    HostSample {
        cpu_ratio: Ok(used / most),
        cpu_quota_cores: Ok(most),
        psi_scope: Ok(PsiScope::Cgroup),
        psi_cpu_some_ratio: Ok(if used >= most * 0.97 { 0.3 } else { 0.0 }),
        psi_io_some_ratio: Ok(0.0),
        psi_io_full_ratio: Ok(0.0),
        cgroup_throttled_ratio: Ok(0.0),
        ..HostSample::default()
    }
}
