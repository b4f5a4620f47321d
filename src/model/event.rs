//! Things that happened.

use super::device::DeviceId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What kind of thing (contract.md section 3, `events`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names are the contract's
pub enum EventKind {
    Xid,
    ThrottleBegin,
    ThrottleEnd,
    LinkChanged,
    Lost,
    Recovered,
    ProcessStarted,
    ProcessExited,
    PlatformStale,
    PlatformRecovered,
    Notice,
    ClockJump,
    Mark,
    Hook,
    Recording,
    Verdict,
    /// A probe process died or was started again.
    Probe,
    /// A device was not observed for a while: what its counters tell of that time.
    Gap,
    /// The platform says that the instance ran before, from when to when.
    PlatformRun,
}

impl EventKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Xid => "xid",
            Self::ThrottleBegin => "throttle_begin",
            Self::ThrottleEnd => "throttle_end",
            Self::LinkChanged => "link_changed",
            Self::Lost => "lost",
            Self::Recovered => "recovered",
            Self::ProcessStarted => "process_started",
            Self::ProcessExited => "process_exited",
            Self::PlatformStale => "platform_stale",
            Self::PlatformRecovered => "platform_recovered",
            Self::Notice => "notice",
            Self::ClockJump => "clock_jump",
            Self::Mark => "mark",
            Self::Hook => "hook",
            Self::Recording => "recording",
            Self::Verdict => "verdict",
            Self::Probe => "probe",
            Self::Gap => "gap",
            Self::PlatformRun => "platform_run",
        }
    }
}

/// How much an event or a known fact matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// Good to know.
    Info,
    /// Worth a look.
    Warn,
    /// Costs work or money now.
    Bad,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: jiff::Timestamp,
    /// To which device.
    pub device: Option<DeviceId>,
    /// What kind.
    pub kind: EventKind,
    /// One English line.
    pub text: Arc<str>,
    /// Numbers and words that belong to it, by name.
    pub data: Vec<(Arc<str>, Arc<str>)>,
}
