//! Verdicts: what a rule over ticks found out about a device, and the numbers it rests on (contract.md section 4).

use super::device::DeviceId;
use super::evidence::{Evidence, Rejected};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a device is in its state. Rules may name only these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum Cause {
    None,
    WarmUp,
    EvalPause,
    CompilePause,
    CheckpointPause,
    WorkChanged,
    Serving,
    MemoryBound,
    PowerSmoothing,
    CounterFrozen,
    Unknown,
    IdleBilled,
    PcieLink,
    PcieSaturated,
    CollectiveWait,
    InputStarved,
    HostThrottled,
    DiskIo,
    NetworkIo,
    PowerCap,
    PowerDrift,
    PowerBrake,
    Thermal,
    ClockLocked,
    LaunchBound,
    MemoryLeak,
    HostMemory,
    EccXid,
    NvlinkDown,
    Straggler,
    PlateMismatch,
    PanelDisagrees,
    Flapping,
    DeviceLost,
}

impl Cause {
    /// All of them, in the contract's order.
    pub const ALL: [Self; 34] = [
        Self::None,
        Self::WarmUp,
        Self::EvalPause,
        Self::CompilePause,
        Self::CheckpointPause,
        Self::WorkChanged,
        Self::Serving,
        Self::MemoryBound,
        Self::PowerSmoothing,
        Self::CounterFrozen,
        Self::Unknown,
        Self::IdleBilled,
        Self::PcieLink,
        Self::PcieSaturated,
        Self::CollectiveWait,
        Self::InputStarved,
        Self::HostThrottled,
        Self::DiskIo,
        Self::NetworkIo,
        Self::PowerCap,
        Self::PowerDrift,
        Self::PowerBrake,
        Self::Thermal,
        Self::ClockLocked,
        Self::LaunchBound,
        Self::MemoryLeak,
        Self::HostMemory,
        Self::EccXid,
        Self::NvlinkDown,
        Self::Straggler,
        Self::PlateMismatch,
        Self::PanelDisagrees,
        Self::Flapping,
        Self::DeviceLost,
    ];

    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::WarmUp => "warm_up",
            Self::EvalPause => "eval_pause",
            Self::CompilePause => "compile_pause",
            Self::CheckpointPause => "checkpoint_pause",
            Self::WorkChanged => "work_changed",
            Self::Serving => "serving",
            Self::MemoryBound => "memory_bound",
            Self::PowerSmoothing => "power_smoothing",
            Self::CounterFrozen => "counter_frozen",
            Self::Unknown => "unknown",
            Self::IdleBilled => "idle_billed",
            Self::PcieLink => "pcie_link",
            Self::PcieSaturated => "pcie_saturated",
            Self::CollectiveWait => "collective_wait",
            Self::InputStarved => "input_starved",
            Self::HostThrottled => "host_throttled",
            Self::DiskIo => "disk_io",
            Self::NetworkIo => "network_io",
            Self::PowerCap => "power_cap",
            Self::PowerDrift => "power_drift",
            Self::PowerBrake => "power_brake",
            Self::Thermal => "thermal",
            Self::ClockLocked => "clock_locked",
            Self::LaunchBound => "launch_bound",
            Self::MemoryLeak => "memory_leak",
            Self::HostMemory => "host_memory",
            Self::EccXid => "ecc_xid",
            Self::NvlinkDown => "nvlink_down",
            Self::Straggler => "straggler",
            Self::PlateMismatch => "plate_mismatch",
            Self::PanelDisagrees => "panel_disagrees",
            Self::Flapping => "flapping",
            Self::DeviceLost => "device_lost",
        }
    }

    /// The cause of a contract's word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }

    /// The state that it puts a device into. `none` is idle where there is no work, and `pcie_link` is stalled where
    /// work is low as well: a verdict carries its own state.
    #[must_use]
    pub const fn state(self) -> VerdictState {
        match self {
            Self::None
            | Self::WarmUp
            | Self::EvalPause
            | Self::CompilePause
            | Self::CheckpointPause
            | Self::WorkChanged
            | Self::Serving
            | Self::MemoryBound
            | Self::PowerSmoothing => VerdictState::Working,
            Self::CounterFrozen | Self::Unknown => VerdictState::Unknown,
            Self::IdleBilled => VerdictState::Idle,
            Self::PcieLink
            | Self::LaunchBound
            | Self::MemoryLeak
            | Self::HostMemory
            | Self::EccXid
            | Self::NvlinkDown
            | Self::Straggler
            | Self::PlateMismatch
            | Self::PanelDisagrees
            | Self::Flapping => VerdictState::Degraded,
            Self::PcieSaturated
            | Self::CollectiveWait
            | Self::InputStarved
            | Self::HostThrottled
            | Self::DiskIo
            | Self::NetworkIo => VerdictState::Stalled,
            Self::PowerCap
            | Self::PowerDrift
            | Self::PowerBrake
            | Self::Thermal
            | Self::ClockLocked => VerdictState::Throttled,
            Self::DeviceLost => VerdictState::Lost,
        }
    }

    /// Whether it ever counts for exit codes. `idle_billed` counts after `max_idle` only, and `power_cap` only where
    /// the limit is below default or work fell: a verdict carries its own answer.
    #[must_use]
    pub const fn can_count(self) -> bool {
        !matches!(self.state(), VerdictState::Working | VerdictState::Unknown)
    }
}

/// A device's state in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum VerdictState {
    Working,
    Idle,
    Throttled,
    Stalled,
    Degraded,
    Lost,
    Unknown,
}

impl VerdictState {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Throttled => "throttled",
            Self::Stalled => "stalled",
            Self::Degraded => "degraded",
            Self::Lost => "lost",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum Confidence {
    Suspect,
    Likely,
    Sure,
}

impl Confidence {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Suspect => "suspect",
            Self::Likely => "likely",
            Self::Sure => "sure",
        }
    }
}

/// The outcome for one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The device's state.
    pub state: VerdictState,
    /// Why.
    pub cause: Cause,
    /// How sure it is.
    pub confidence: Confidence,
    /// When it began, as the evidence says.
    pub since: Option<Timestamp>,
    /// Whether it counts for exit codes and hooks.
    pub counts: bool,
    /// The numbers that it rests on.
    pub evidence: Vec<Evidence>,
    /// Look-alikes that were turned down, the strongest first.
    pub rejected: Vec<Rejected>,
    /// Seconds for which the evidence must last on until it is sure; `None` where it is, or where the evidence that
    /// would make it sure is missing.
    pub sure_in_s: Option<f64>,
    /// Other causes that hold at the same time, worst first.
    pub also: Vec<Cause>,
}

impl Verdict {
    /// Nothing is known.
    #[must_use]
    pub const fn unknown() -> Self {
        Self {
            state: VerdictState::Unknown,
            cause: Cause::Unknown,
            confidence: Confidence::Suspect,
            since: None,
            counts: false,
            evidence: Vec::new(),
            rejected: Vec::new(),
            sure_in_s: None,
            also: Vec::new(),
        }
    }
}

/// A cause on a device from its begin to its end. Money is added by whoever knows the price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Whose.
    pub device: DeviceId,
    /// Why.
    pub cause: Cause,
    /// The state that it put the device into.
    pub state: VerdictState,
    /// How sure it became.
    pub confidence: Confidence,
    /// Whether it counts.
    pub counts: bool,
    /// When the fault began, as the evidence says.
    pub begin: Timestamp,
    /// When it was first named.
    pub suspect_at: Timestamp,
    /// When it became sure.
    pub sure_at: Option<Timestamp>,
    /// When it was last seen; `None` while it lasts.
    pub end: Option<Timestamp>,
    /// Seconds in which it was seen: what nobody looked at is not in it.
    pub seconds: f64,
    /// The numbers, as they were last.
    pub evidence: Vec<Evidence>,
    /// Look-alikes that were turned down.
    pub rejected: Vec<Rejected>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_comes_back_from_its_word() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_word(cause.word()), Some(cause));
        }
        assert_eq!(Cause::from_word("bad_luck"), None);
    }
}
