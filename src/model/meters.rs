//! What each vendor tells of a device, by which way, at what cost, and why not: assets/docs/vendors.md is written from this
//! table, and the screen takes its words for values that a vendor never tells from it.
//!
//! A way is what the vendor's interface has. A device, a driver or a container may still refuse it; then the reading's own
//! reason stands.

use super::device::Vendor;
use super::metric::Metric;
use super::view::Figure;

/// One thing that is read of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // see `word`
pub enum Meter {
    Power,
    PowerLimit,
    RatedPower,
    Energy,
    Temperature,
    MemoryTemperature,
    Thresholds,
    Utilization,
    Activity,
    Memory,
    Clock,
    Throttle,
    ThrottleTime,
    Link,
    LinkTraffic,
    Fabric,
    MemoryErrors,
    Processes,
}

impl Meter {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 18] = [
        Self::Power,
        Self::PowerLimit,
        Self::RatedPower,
        Self::Energy,
        Self::Temperature,
        Self::MemoryTemperature,
        Self::Thresholds,
        Self::Utilization,
        Self::Activity,
        Self::Memory,
        Self::Clock,
        Self::Throttle,
        Self::ThrottleTime,
        Self::Link,
        Self::LinkTraffic,
        Self::Fabric,
        Self::MemoryErrors,
        Self::Processes,
    ];

    /// Its name in the document.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::PowerLimit => "power limit",
            Self::RatedPower => "rated power",
            Self::Energy => "energy counter",
            Self::Temperature => "temperature",
            Self::MemoryTemperature => "memory temperature",
            Self::Thresholds => "temperature thresholds",
            Self::Utilization => "utilization",
            Self::Activity => "activity of units",
            Self::Memory => "memory",
            Self::Clock => "clock",
            Self::Throttle => "throttle reasons",
            Self::ThrottleTime => "time under a reason",
            Self::Link => "PCIe link",
            Self::LinkTraffic => "PCIe traffic",
            Self::Fabric => "links between devices",
            Self::MemoryErrors => "memory errors",
            Self::Processes => "processes",
        }
    }

    /// What a derived figure rests on, where that is one meter.
    #[must_use]
    pub const fn of_figure(figure: Figure) -> Option<Self> {
        Some(match figure {
            Figure::Power | Figure::PowerRatio | Figure::PowerLimitRatio => Self::Power,
            Figure::PowerLimit | Figure::PowerDefaultLimit => Self::PowerLimit,
            Figure::Energy => Self::Energy,
            Figure::Temperature => Self::Temperature,
            Figure::MemoryTemperature => Self::MemoryTemperature,
            Figure::Slowdown | Figure::Headroom | Figure::TimeToThrottle => Self::Thresholds,
            Figure::Utilization => Self::Utilization,
            Figure::MemoryActivity
            | Figure::SmActive
            | Figure::TensorActive
            | Figure::DramActive => Self::Activity,
            Figure::MemoryUsed | Figure::MemoryTotal => Self::Memory,
            Figure::Clock | Figure::ClockMax => Self::Clock,
            Figure::PcieGeneration
            | Figure::PcieGenerationMax
            | Figure::PcieWidth
            | Figure::PcieWidthMax
            | Figure::PcieUsable => Self::Link,
            Figure::PcieRx
            | Figure::PcieTx
            | Figure::PcieRxSaturation
            | Figure::PcieTxSaturation => Self::LinkTraffic,
            Figure::NvlinkLinks
            | Figure::NvlinkUp
            | Figure::NvlinkRx
            | Figure::NvlinkTx
            | Figure::NvlinkPlate
            | Figure::NvlinkSaturation
            | Figure::NvlinkErrors => Self::Fabric,
            Figure::EccUncorrected => Self::MemoryErrors,
            _ => return None,
        })
    }

    /// Which meter a metric belongs to, where it belongs to one that vendors have in common.
    #[must_use]
    pub const fn of_metric(metric: Metric) -> Option<Self> {
        Some(match metric {
            Metric::PowerUsage | Metric::PowerAverage | Metric::PowerInstant => Self::Power,
            Metric::LimitEnforced | Metric::LimitRequested | Metric::LimitDefault => {
                Self::PowerLimit
            }
            Metric::RatedPower => Self::RatedPower,
            Metric::Energy => Self::Energy,
            Metric::CoreTemperature => Self::Temperature,
            Metric::MemoryTemperature => Self::MemoryTemperature,
            Metric::Margin
            | Metric::ThresholdShutdown
            | Metric::ThresholdSlowdown
            | Metric::ThresholdGpuMax
            | Metric::ThresholdMemoryMax => Self::Thresholds,
            Metric::Utilization => Self::Utilization,
            Metric::MemoryActivity
            | Metric::SmActive
            | Metric::SmOccupancy
            | Metric::TensorActive
            | Metric::DramActive => Self::Activity,
            Metric::MemoryUsed | Metric::MemoryTotal => Self::Memory,
            Metric::SmClock | Metric::SmClockMax => Self::Clock,
            Metric::Reasons => Self::Throttle,
            Metric::SecondsSwPowerCap | Metric::SecondsSwThermal | Metric::SecondsHwThermal => {
                Self::ThrottleTime
            }
            Metric::PcieRxBytes | Metric::PcieTxBytes => Self::LinkTraffic,
            Metric::EccUncorrected | Metric::EccCorrected => Self::MemoryErrors,
            _ => return None,
        })
    }
}

/// Why a vendor's interface does not give a meter that the vendor's devices may well have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// There is no call or file for it.
    NotTold,
    /// There is a way, and it is not taken: it would block, or needs what is not there everywhere.
    NotRead,
    /// Only where it is asked for, because it blocks: by this flag.
    OnRequest(&'static str),
    /// Documented, and refused by the devices of today.
    Refused,
    /// Nobody says in which unit it is.
    UnitUnknown,
    /// One number for both directions.
    BothDirections,
    /// The device's own node shows another link than the host's.
    WrongNode,
}

/// How a meter is read, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By these calls or files, at this cost.
    By(&'static str, Pace),
    /// Not.
    Not(WhyNot),
}

/// How often it is read, and so what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Once, when the device is introduced.
    Once,
    /// A call into the library in each tick's sweep.
    Sweep,
    /// A small file in each tick.
    File,
    /// At a pace of its own, seconds apart.
    Slow,
    /// On a thread of its own, because it waits.
    Thread,
}

impl Pace {
    /// In words, for the document.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Sweep => "a call in each tick",
            Self::File => "a file in each tick",
            Self::Slow => "every few seconds",
            Self::Thread => "a thread of its own: it waits",
        }
    }
}

/// A vendor's column of the table.
#[derive(Debug)]
pub struct VendorMeters {
    /// Whose.
    pub vendor: Vendor,
    /// The vendor as people call it.
    pub title: &'static str,
    /// The interface that is asked.
    pub interface: &'static str,
    /// In the order of [`Meter::ALL`].
    pub ways: [Way; Meter::ALL.len()],
    /// What is to be known beside the table.
    pub notes: &'static [&'static str],
}

impl VendorMeters {
    /// A vendor's column; none of one that is only known by its PCI id.
    #[must_use]
    pub fn of(vendor: Vendor) -> Option<&'static Self> {
        VENDORS.iter().find(|column| column.vendor == vendor)
    }

    /// How a meter is read.
    #[must_use]
    pub fn way(&self, meter: Meter) -> Option<Way> {
        let place = Meter::ALL.iter().position(|m| *m == meter)?;
        self.ways.get(place).copied()
    }

    /// Why this vendor's interface never tells a meter: the interface, and the reason.
    #[must_use]
    pub fn why_not(vendor: Vendor, meter: Meter) -> Option<(&'static str, WhyNot)> {
        let column = Self::of(vendor)?;
        match column.way(meter)? {
            Way::Not(why) => Some((column.interface, why)),
            Way::By(..) => None,
        }
    }
}

/// All columns.
pub static VENDORS: [VendorMeters; 7] = super::meters_table::VENDORS;
