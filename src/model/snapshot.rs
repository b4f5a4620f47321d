//! The session's view that sinks read.

use super::carbon::Carbon;
use super::cost::{Charge, Cost, Energy, Phase, PhaseSeconds};
use super::device::{BoardId, Device, DeviceId, Hop};
use super::event::{Event, Level};
use super::host::{Host, HostSample};
use super::platform::{Disagreement, PlatformView};
use super::reading::{Absent, Reading, Readings};
use super::share::ShareKind;
use super::startup::Startup;
use super::tick::{DeviceProcess, ProbeReport, Process};
use super::verdict::{Episode, Verdict};
use super::view::{Figures, Value};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// What kind of source the ticks come from. Only `Live` is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// Probes on this host.
    Live,
    /// The embedded simulation, with its case.
    Demo(String),
    /// A recording.
    Recording(String),
    /// A foreign log.
    Log {
        /// Its file.
        file: String,
        /// The zone in which its times were read, where they name none.
        zone: String,
    },
}

impl SourceKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Demo(_) => "demo",
            Self::Recording(_) => "recording",
            Self::Log { .. } => "log",
        }
    }
}

/// The word and colour of a device's row: what can be said of it from this tick alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateWord {
    /// Nothing is known yet or any more.
    Unknown,
    /// No work and no process.
    Idle,
    /// No work, but a process keeps memory.
    Held,
    /// Work, nothing wrong.
    Working,
    /// Full utilization at little power: busy is not work.
    Doubtful,
    /// Does nothing for a reason that is none of anybody's fault: it starts, stores, compiles, evaluates.
    Paused,
    /// A rule is more than suspicious that it works for nothing.
    Stalled,
    /// Slower than it could be, or than it was.
    Slowed,
    /// Something of it, or around it, is not as it should be.
    Degraded,
    /// Works under a limit below its plate.
    Capped,
    /// A link narrower or slower than it could be, under load.
    Narrow,
    /// No headroom, or slowed for heat.
    Hot,
    /// An external power brake, or clocks cut by hardware.
    Braked,
    /// Memory errors, a failed remap, a reset that is due.
    Faulty,
    /// Does not answer in time.
    Silent,
    /// Gone.
    Lost,
}

/// One plain fact that is known now, with its numbers. Not a verdict: it names no cause.
#[derive(Debug, Clone, PartialEq)]
pub enum KnownKind {
    /// The device does not answer since.
    Lost {
        /// Seconds.
        seconds: f64,
        /// What it costs all the same, where a price is known.
        charge: Option<Charge>,
    },
    /// A call is past its deadline since.
    Silent {
        /// Seconds.
        seconds: f64,
    },
    /// The driver asks for a reset, a reboot...
    RecoveryAction {
        /// NVML's number.
        action: u32,
    },
    /// An XID event within the last ten minutes.
    Xid {
        /// Its code.
        code: u32,
    },
    /// Uncorrected memory errors since the driver was loaded.
    Uncorrected {
        /// How many.
        count: f64,
    },
    /// The vendor's library calls the device faulty: lightly (`false`), or so that it may do its work wrongly.
    Unhealthy {
        /// A major or critical fault.
        grave: bool,
    },
    /// A row remap failed (`true`) or is pending.
    Remap {
        /// Failed.
        failed: bool,
    },
    /// Clocks cut by an external brake or by hardware.
    Braked,
    /// Clocks cut for heat.
    SlowedByHeat {
        /// Headroom in °C, where known.
        headroom_c: Option<f64>,
    },
    /// Little headroom.
    Hot {
        /// Headroom in °C.
        headroom_c: f64,
    },
    /// The memory is near its maximum operating temperature.
    MemoryHot {
        /// Temperature of the memory in °C.
        temperature_c: f64,
        /// The device's own maximum.
        max_c: f64,
    },
    /// The driver holds the clocks for power while the draw is well below the limit: a cap elsewhere (chassis, board).
    HeldBelowLimit {
        /// Draw.
        power_w: f64,
        /// Enforced limit.
        limit_w: f64,
    },
    /// Fewer lanes than device and slot could have.
    Narrow {
        /// Lanes now.
        width: u8,
        /// Lanes possible.
        width_max: u8,
        /// A bridge on the way that sets it, where sysfs shows one.
        bridge: Option<String>,
        /// What the link carries, bytes per second one way.
        usable: Option<f64>,
        /// Whole families of hosts run this model so.
        usual: bool,
    },
    /// A lower generation than possible, under load.
    Slow {
        /// Generation now.
        generation: u8,
        /// Generation possible.
        generation_max: u8,
        /// What the link carries, bytes per second one way.
        usable: Option<f64>,
    },
    /// The link is nearly full.
    LinkFull {
        /// Share of usable.
        ratio: f64,
        /// Bytes per second.
        rate: f64,
        /// What the link carries.
        usable: f64,
        /// Host to device (`true`) or back.
        down: bool,
    },
    /// The enforced limit is below the plate.
    LimitBelowPlate {
        /// Enforced limit.
        limit_w: f64,
        /// Plate.
        plate_w: f64,
    },
    /// The driver's default is below what the model is sold as.
    DefaultBelowRated {
        /// Driver's default limit.
        default_w: f64,
        /// The table's rated power.
        rated_w: f64,
    },
    /// Full utilization at little power.
    BusyAtLowPower {
        /// Utilization.
        utilization: f64,
        /// Power over plate.
        power_ratio: f64,
        /// Seconds so far.
        seconds: f64,
    },
    /// Memory nearly full.
    MemoryFull {
        /// Used over total.
        ratio: f64,
    },
    /// No work, but billed.
    Idle {
        /// Seconds without work.
        seconds: f64,
        /// A process keeps this many bytes.
        held_bytes: Option<f64>,
        /// What these seconds cost, where a price is known.
        charge: Option<Charge>,
    },
    /// No process on it so far.
    StartUp {
        /// Seconds since billing began.
        seconds: f64,
        /// What those of them cost that were looked at, where a price is known.
        charge: Option<Charge>,
    },
    /// NVLinks that are down.
    LinksDown {
        /// Up.
        up: u32,
        /// In all.
        links: u32,
    },
    /// The platform's word is not the driver's (causes `plate_mismatch` and `panel_disagrees`).
    Disagrees(Disagreement),
    /// A share of a card: what is told of power and utilization is the whole card's.
    ShareOfCard {
        /// What divides the card.
        kind: ShareKind,
        /// The part that was given, where it is known.
        ratio: Option<f64>,
        /// The memory that was given, in bytes, where the driver tells the card's instead.
        of_memory: Option<f64>,
    },
    /// Nothing is wrong as far as this tick tells.
    Fine {
        /// Power over plate.
        power_ratio: Option<f64>,
        /// Headroom in °C.
        headroom_c: Option<f64>,
        /// Utilization.
        utilization: Option<f64>,
    },
    /// These are means and extremes of a whole minute: its ticks are not kept any more.
    Minute {
        /// Samples that they are of.
        samples: u32,
    },
    /// There are readings, and none that says whether it works or what they are of.
    Unjudged {
        /// Watts.
        power_w: Option<f64>,
        /// Core temperature in °C.
        temperature_c: Option<f64>,
    },
    /// There are no readings.
    Nothing,
}

/// A known fact of a device, worst first.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// How much it matters.
    pub level: Level,
    /// What is known.
    pub kind: KnownKind,
}

/// A process on a device: what the driver and the host say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessView {
    /// The driver's words.
    pub device: DeviceProcess,
    /// The host's, where it knows the process.
    pub host: Option<Process>,
}

/// The way to the root port with its narrowest hop.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathView {
    /// From the device up.
    pub hops: Vec<Hop>,
}

/// One device as sinks see it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the contract's names
pub struct DeviceView {
    pub device: Arc<Device>,
    /// The newest raw readings with those of passing absence held (see `Figures` for ages).
    pub readings: Readings,
    pub figures: Figures,
    /// Seconds since the newest sample.
    pub age_s: Option<f64>,
    /// Why no sample comes, and since when.
    pub silent: Option<(Absent, MonoTime)>,
    /// `average`, `instant` or `unknown`.
    pub power_kind: &'static str,
    /// `gpu`, `board` or `module`.
    pub power_scope: &'static str,
    /// `driver_default`, `driver_rated`, `table` or `config`.
    pub plate_power_source: Option<&'static str>,
    /// The plate's power is from a row of the table that nobody vouches for.
    pub plate_unverified: bool,
    pub rated_power_source: Option<Arc<str>>,
    pub temperature_sensor: Option<&'static str>,
    /// `margin`, `threshold` or `table`.
    pub headroom_source: Option<&'static str>,
    /// `gpm`, `power_span` or `estimated`.
    pub work_ratio_source: Option<&'static str>,
    /// Contract names of the throttle reasons that are set now.
    pub throttle: Reading<Vec<String>>,
    /// Seconds under each reason since the session began, from the driver's counters.
    pub throttle_seconds: Vec<(&'static str, f64)>,
    /// `counter`, `gpm` or `getter`.
    pub pcie_method: Option<&'static str>,
    pub path: PathView,
    pub mig: Option<(bool, Vec<DeviceId>)>,
    pub xid: Option<(u32, Timestamp)>,
    /// Why there is no list, or the processes.
    pub processes: Reading<Vec<ProcessView>>,
    pub processes_age_s: f64,
    pub phase: Phase,
    pub phase_seconds: PhaseSeconds,
    /// Integral of utilization: seconds at 100 %.
    pub utilization_seconds: f64,
    /// Integral of the work ratio, and the seconds in which it was known.
    pub work_seconds: Option<(f64, f64)>,
    pub verdict: Verdict,
    /// Causes that hold now, worst first; the verdict is made from the first.
    pub episodes: Vec<Episode>,
    pub word: StateWord,
    /// All that is plainly known, worst first; never empty.
    pub known: Vec<Known>,
}

/// Devices that share a power budget.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the contract's names
pub struct BoardView {
    pub id: BoardId,
    pub name: Arc<str>,
    pub devices: Vec<DeviceId>,
    pub power_w: Value,
    pub power_limit_w: Value,
    pub plate_power_w: Value,
    /// Each second is what the busiest of its devices did.
    pub phase_seconds: PhaseSeconds,
}

/// The whole view at one tick.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // the contract's names
pub struct Snapshot {
    pub seq: u64,
    pub at: Timestamp,
    pub mono: MonoTime,
    pub interval: Duration,
    pub dropped: u64,
    pub source: SourceKind,
    pub probes: Vec<ProbeReport>,
    pub host: Host,
    pub host_sample: HostSample,
    /// Seconds since the host sample.
    pub host_age_s: f64,
    /// Who rents this instance out, where that is known.
    pub platform: Option<PlatformView>,
    pub startup: Startup,
    pub boards: Vec<BoardView>,
    /// In the vendors' order, instances after their parent.
    pub devices: Vec<DeviceView>,
    /// Newest last; at most the last thousand.
    pub events: Arc<Vec<Event>>,
    /// Episodes that have ended, newest last; at most the last few hundred.
    pub past: Arc<Vec<Episode>>,
    pub cost: Option<Cost>,
    pub energy: Option<Energy>,
    /// Emissions of that energy, where the grid is known.
    pub carbon: Option<Carbon>,
}

impl Snapshot {
    /// The number by which people call a device: its index, and for an instance that of its parent before it (`0/2`),
    /// because instances are counted anew under each.
    #[must_use]
    pub fn number(&self, view: &DeviceView) -> String {
        let index = view.device.index;
        let parent = view.device.parent.as_ref();
        let parent = parent.and_then(|id| self.devices.iter().find(|d| d.device.id == *id));
        parent.map_or_else(
            || index.to_string(),
            |parent| format!("{}/{index}", parent.device.index),
        )
    }
}
