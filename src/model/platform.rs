//! What the platform that rents this instance out says of it: plain data of one answer, and what follows from it.

use super::config::PriceScope;
use super::device::DeviceId;
use super::verdict::Cause;
use crate::units::Currency;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the platform is known to be this one, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum DetectedBy {
    Flag,
    Config,
    Environment,
    Pid1Environment,
    Dmi,
    Metadata,
}

impl DetectedBy {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Config => "config",
            Self::Environment => "environment",
            Self::Pid1Environment => "pid1_environment",
            Self::Dmi => "dmi",
            Self::Metadata => "metadata",
        }
    }
}

/// How good the newest answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlatformStatus {
    /// The newest request was answered, or there is nothing to ask.
    Fresh,
    /// The newest request failed: what is known is as old as its age.
    Stale,
    /// The platform refuses (401, 403): a key is missing or may not read this.
    Refused,
}

impl PlatformStatus {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Refused => "refused",
        }
    }
}

/// What a notice is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticeKind {
    /// The platform takes the instance back (spot, preemptible).
    Preempt,
    /// Something is done to the instance or its host.
    Maintenance,
    /// The instance ends for good.
    Retire,
}

impl NoticeKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Preempt => "preempt",
            Self::Maintenance => "maintenance",
            Self::Retire => "retire",
        }
    }
}

/// Something that the platform is about to do to this instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Tells it from other notices: the platform's own number where there is one.
    pub id: Arc<str>,
    /// Of what.
    pub kind: NoticeKind,
    /// When it falls due; `None` where the platform names no time, or it has begun.
    pub at: Option<Timestamp>,
    /// The platform's words, cleaned, in one line.
    pub text: Arc<str>,
}

/// A price as the platform says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformPrice {
    /// Per hour, of what `scope` says.
    pub per_hour: Decimal,
    /// In what.
    pub currency: Currency,
    /// Of the instance, or of each device.
    pub scope: PriceScope,
    /// When the platform said so.
    pub at: Timestamp,
}

/// What the platform says of the hardware and of the moment. Each stands beside what the driver says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Claims {
    /// Accelerators in this instance.
    pub device_count: Option<u32>,
    /// Their model, in the platform's own words.
    pub model: Option<Arc<str>>,
    /// PCIe generation of their slots.
    pub pcie_generation: Option<u8>,
    /// PCIe lanes of each.
    pub pcie_width: Option<u8>,
    /// Bytes per second one way that the platform measured on this host.
    pub pcie_bytes_per_s: Option<f64>,
    /// Power cap of each in watts.
    pub power_limit_w: Option<f64>,
    /// Mean utilization of all accelerators on the platform's panel, 0 to 1.
    pub utilization_ratio: Option<f64>,
    /// Temperature on the platform's panel, the hottest, in °C.
    pub temperature_c: Option<f64>,
    /// Utilization and temperature are of this moment; what the panel shows may be some seconds older.
    pub at: Option<Timestamp>,
}

/// One answer of a platform, whole: what was known before and was not answered this time is in it with its age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Platform {
    /// The contract's id of the platform, such as `runpod`; a user's descriptor has its own.
    pub name: Arc<str>,
    /// The platform's own name, such as `RunPod`.
    pub title: Arc<str>,
    /// How it is known.
    pub detected_by: DetectedBy,
    /// The platform's name for this instance.
    pub instance_id: Option<Arc<str>>,
    /// The type, or the accelerator as the platform names it.
    pub instance_type: Option<Arc<str>>,
    /// Region, data centre or country.
    pub region: Option<Arc<str>>,
    /// The platform's own word for the instance's state.
    pub state: Option<Arc<str>>,
    /// Whether time in that state is billed at the full price.
    pub billed_by_state: Option<bool>,
    /// Whether the instance runs in that state.
    pub runs: Option<bool>,
    /// When billing of this instance began.
    pub billing_started: Option<Timestamp>,
    /// What it costs while it runs.
    pub price: Option<PlatformPrice>,
    /// Whether it can be taken back at any time, at a price of its own (spot, preemptible, interruptible); `None` where the
    /// platform does not say.
    pub spot: Option<bool>,
    /// The billing rule of its tariff, by the id in assets.
    pub rule: Option<Arc<str>>,
    /// What is about to happen; empty where there is nothing.
    pub notices: Vec<Notice>,
    /// What it says of the hardware.
    pub claims: Claims,
    /// How good the newest answer is.
    pub status: PlatformStatus,
    /// When the newest good answer came; `None` where none ever did, or nothing is asked.
    pub answered: Option<Timestamp>,
    /// Whether anything is asked again and again: then an answer grows stale.
    pub is_asked: bool,
    /// Why it is not fresh, in one English line without any key.
    pub trouble: Option<Arc<str>>,
}

impl Platform {
    /// Whether the platform goes on billing although nothing runs here any more: the instance was shut down from inside,
    /// or its work has exited.
    #[must_use]
    pub fn still_bills(&self) -> bool {
        self.billed_by_state == Some(true) && self.runs == Some(false)
    }
}

/// What a source tells of the platform when that changes; the newest counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PlatformNews {
    /// It is being looked for. Never leaves the program: documents wait for the first answer.
    Looking,
    /// No platform was recognised.
    Unknown,
    /// It is this one, and this is what it said.
    Known(Arc<Platform>),
}

/// In what the platform's word and the driver's differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Disagreement {
    /// Fewer accelerators than the platform rents out here.
    Count {
        /// The platform's number.
        claimed: u32,
        /// Devices that the drivers list.
        seen: u32,
    },
    /// Another model.
    Model {
        /// The platform's word.
        claimed: Arc<str>,
        /// The driver's.
        seen: Arc<str>,
    },
    /// A lower PCIe generation than claimed is all that the link can do.
    Generation {
        /// The platform's.
        claimed: u8,
        /// The link's best.
        seen: u8,
    },
    /// Fewer lanes than claimed.
    Width {
        /// The platform's.
        claimed: u8,
        /// Negotiated.
        seen: u8,
    },
    /// A power limit below the platform's own cap.
    PowerLimit {
        /// The platform's, in watts.
        claimed: f64,
        /// Enforced, in watts.
        seen: f64,
    },
    /// The panel's utilization is not what the drivers say of the same time.
    Utilization {
        /// On the panel, 0 to 1.
        claimed: f64,
        /// Mean of all devices over the panel's minute, 0 to 1.
        seen: f64,
    },
    /// The panel's temperature is not what the drivers say.
    Temperature {
        /// On the panel, in °C.
        claimed: f64,
        /// The hottest device, in °C.
        seen: f64,
    },
}

impl Disagreement {
    /// The cause that it is evidence of (contract.md section 4).
    #[must_use]
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Utilization { .. } | Self::Temperature { .. } => Cause::PanelDisagrees,
            _ => Cause::PlateMismatch,
        }
    }
}

/// The platform as sinks see it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlatformView {
    /// Its newest answer.
    pub platform: Arc<Platform>,
    /// How good that is now: an answer that nobody renewed grows stale.
    pub status: PlatformStatus,
    /// Seconds since the newest good answer; `None` where there was none.
    pub age_s: Option<f64>,
    /// Where it and the drivers differ; of one device, or of all (`None`).
    pub disagreements: Vec<(Option<DeviceId>, Disagreement)>,
    /// See [`Platform::still_bills`].
    pub still_bills: bool,
}
