//! One instant: the samples of all devices, the host's, and what changed since the last tick.

use super::device::{Device, DeviceId, Hop, Vendor};
use super::event::Event;
use super::host::{Host, HostSample};
use super::platform::PlatformNews;
use super::reading::{Reading, Readings};
use crate::units::MonoTime;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// All readings of one device at one instant, as the driver said them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Whose.
    pub device: DeviceId,
    /// When they were taken.
    pub at: MonoTime,
    /// The numbers.
    pub readings: Readings,
}

/// What a driver says of a process on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceProcess {
    /// The driver's PID: the host's, which in a container need not be ours.
    pub pid: u32,
    /// Device memory that it holds.
    pub memory_bytes: Reading<f64>,
    /// Its share of the device.
    pub utilization_ratio: Reading<f64>,
    /// The instance it runs in.
    pub instance: Option<DeviceId>,
    /// It draws (graphics) rather than computes.
    pub graphics: bool,
}

/// What the host says of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The PID that the driver gave.
    pub pid: u32,
    /// Not a process of ours: it runs outside this container.
    pub foreign: bool,
    /// Short name, cleaned.
    pub name: Reading<Arc<str>>,
    /// Command line, cleaned.
    pub command: Reading<Arc<str>>,
    /// User name, or the number where it has none.
    pub user: Reading<Arc<str>>,
    /// Kernel state letter: R, S, D, Z, T, t, I.
    pub state: Reading<char>,
    /// When it started.
    pub started: Reading<jiff::Timestamp>,
    /// CPU share in cores, descendants included, since the previous sample.
    pub cpu_cores: Reading<f64>,
    /// Bytes read from storage since the previous sample, per second, descendants included.
    pub read_bytes_per_s: Reading<f64>,
    /// Bytes written, likewise.
    pub write_bytes_per_s: Reading<f64>,
    /// Major faults per second, likewise.
    pub major_faults_per_s: Reading<f64>,
    /// Threads in uninterruptible wait, descendants included; only looked for while a device of it is at 10 % or less.
    pub waiting_threads: Reading<u32>,
    /// The kernel function that one of these waits in.
    pub wait_channel: Reading<Arc<str>>,
}

/// How a probe fares (contract.md section 3, `probes`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeStatus {
    /// Works.
    Ok,
    /// The vendor's library is not there.
    NoLibrary,
    /// The library works and lists no device.
    NoDevice,
    /// Library and kernel driver do not fit.
    Mismatch,
    /// Not permitted.
    NoPermission,
    /// The probe process died.
    Crashed,
    /// The probe does not answer.
    TimedOut,
    /// Just started, nothing known yet. Never leaves the program: documents wait for the first answer.
    Starting,
}

impl ProbeStatus {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoLibrary => "no_library",
            Self::NoDevice => "no_device",
            Self::Mismatch => "mismatch",
            Self::NoPermission => "no_permission",
            Self::Crashed => "crashed",
            Self::TimedOut | Self::Starting => "timed_out",
        }
    }
}

/// What is known of a vendor's probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// Which vendor.
    pub vendor: Vendor,
    /// Library as it was asked for.
    pub library: Arc<str>,
    /// Where it was found.
    pub path: Option<Arc<str>>,
    /// Its version.
    pub version: Option<Arc<str>>,
    /// How it fares.
    pub status: ProbeStatus,
    /// The driver's own code, where one explains the status (999 for "unknown error").
    pub code: Option<i32>,
    /// One line in English: what was tried and what came of it.
    pub message: Option<Arc<str>>,
    /// What would help.
    pub hint: ProbeHint,
}

impl ProbeReport {
    /// What a library that works could not list: devices without a row, as `device 5: why`. What else is
    /// said of one that works (read by a tool, simulated) is no loss.
    #[must_use]
    pub fn unlisted(&self) -> Option<&str> {
        let message = self.message.as_deref()?;
        let names_one = ["device ", "NPU "]
            .iter()
            .any(|word| message.starts_with(word));
        (self.status == ProbeStatus::Ok && names_one).then_some(message)
    }
}

/// What would help a probe that does not work; the catalogue says it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeHint {
    /// Nothing: it works.
    Nothing,
    /// No such device is on the PCI bus of this machine.
    NoHardware,
    /// The device is on the bus, the driver is not installed or not loaded.
    InstallDriver,
    /// A container that was started without the vendor's devices or libraries.
    ContainerWithoutDevices,
    /// The kernel driver was replaced under a running library: reboot, or restart the container.
    Restart,
    /// A device node that may not be opened.
    Permission,
    /// The container lost its device rules (daemon reload on the host): only recreating it helps.
    RecreateContainer,
    /// The library answered with an error that has no known remedy.
    Unknown,
    /// The library is there, and the libraries that it needs are not on the loader's way.
    LibraryPath,
    /// Another container holds the device, which belongs to one at a time.
    HeldElsewhere,
    /// The driver is there, what tells of its devices is not.
    InstallLibrary,
    /// Nothing: this version does not read such devices.
    NoReader,
}

/// What changed since the last tick. Recordings keep these on change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A device appeared, or its identity changed.
    Device(Arc<Device>),
    /// The way from a device to the root port.
    Path(DeviceId, Vec<Hop>),
    /// The driver's list of a device's processes.
    Processes(DeviceId, Reading<Vec<DeviceProcess>>),
    /// What the host says of all processes that own a device.
    HostProcesses(Vec<Process>),
    /// What the host is.
    Host(Host),
    /// How a probe fares.
    Probe(ProbeReport),
    /// A device does not answer: it was lost, or a call is past its deadline since the given instant.
    Silent(DeviceId, super::reading::Absent, MonoTime),
    /// A device that was silent answers again.
    Answers(DeviceId),
    /// The vendor's library does not list this device any more.
    Gone(DeviceId),
    /// What the platform says of this instance.
    Platform(PlatformNews),
}

/// One instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Counts ticks of this source, from 1.
    pub seq: u64,
    /// Wall time.
    pub at: jiff::Timestamp,
    /// Boot clock.
    pub mono: MonoTime,
    /// The interval that was meant.
    pub interval: Duration,
    /// Ticks that were due and did not happen, since the source began.
    pub dropped: u64,
    /// One for each device that answered in this tick.
    pub samples: Vec<Sample>,
    /// The host's readings, where they came in time.
    pub host: Option<HostSample>,
    /// What changed.
    pub changes: Vec<Change>,
    /// What happened.
    pub events: Vec<Event>,
}
