//! The steps of a start: from the begin of billing to the first second of compute, each with its source.

use super::cost::BillingStartSource;
use super::event::{Event, EventKind};
use crate::units::format_span;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How the time of a step is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepSource {
    /// As the begin of billing is known.
    Billing(BillingStartSource),
    /// The kernel's boot time.
    Kernel,
    /// A driver that had been looked for in vain answered.
    Driver,
    /// The host's start time of the process.
    Process,
    /// The driver's list of processes, when it was first read with one.
    List,
    /// Utilization, in the first tick that showed it.
    Utilization,
    /// It was so already when the first tick came: it happened then or before.
    Already,
}

impl StepSource {
    /// The word in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Billing(source) => source.word(),
            Self::Kernel => "boot",
            Self::Driver => "driver",
            Self::Process => "process",
            Self::List => "process_list",
            Self::Utilization => "utilization",
            Self::Already => "already_at_first_sample",
        }
    }
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartStep {
    /// When.
    pub at: Timestamp,
    /// Known from where.
    pub source: StepSource,
}

/// The steps of one start, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's names
pub struct StartSteps {
    pub billing_started: Option<StartStep>,
    pub boot: Option<StartStep>,
    pub driver_visible: Option<StartStep>,
    pub first_process: Option<StartStep>,
    pub first_compute: Option<StartStep>,
}

impl StartSteps {
    /// Each step with the contract's name, in order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, Option<StartStep>); 5] {
        [
            ("billing_started", self.billing_started),
            ("boot", self.boot),
            ("driver_visible", self.driver_visible),
            ("first_process", self.first_process),
            ("first_compute", self.first_compute),
        ]
    }

    /// Seconds from the begin of billing to the first second of compute; `None` where either is not known, or where
    /// it computed already when it was first looked at.
    #[must_use]
    pub fn until_compute_s(&self) -> Option<f64> {
        let (from, to) = (self.billing_started?, self.first_compute?);
        let seconds = to.at.duration_since(from.at).as_secs_f64();
        (to.source != StepSource::Already && seconds >= 0.0).then_some(seconds)
    }
}

/// A start that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastStart {
    /// Its steps.
    pub steps: StartSteps,
    /// When it was first looked at.
    pub first_at: Timestamp,
    /// When it was last looked at.
    pub last_at: Timestamp,
}

impl PastStart {
    /// The names of an event's data that tell of a start: begin, end, and the first second of compute.
    const NAMES: [&'static str; 3] = ["begin", "end", "first_compute"];

    /// A start that the platform tells of.
    #[must_use]
    pub fn told(begin: Timestamp, end: Timestamp, first_compute: Option<Timestamp>) -> Self {
        let step = |at| StartStep {
            at,
            source: StepSource::Billing(BillingStartSource::Platform),
        };
        Self {
            steps: StartSteps {
                billing_started: Some(step(begin)),
                first_compute: first_compute.map(step),
                ..StartSteps::default()
            },
            first_at: begin,
            last_at: end,
        }
    }

    /// It as the event by which a platform tells of it.
    #[must_use]
    pub fn event(&self, at: Timestamp, platform: &str) -> Event {
        let compute = self.steps.first_compute.map(|step| step.at);
        let times = [Some(self.first_at), Some(self.last_at), compute];
        let data = Self::NAMES.iter().zip(times);
        let seconds = self.last_at.duration_since(self.first_at).as_secs_f64();
        Event {
            at,
            device: None,
            kind: EventKind::PlatformRun,
            text: format!(
                "{platform}: it ran for {} from {}",
                format_span(seconds),
                self.first_at
            )
            .into(),
            data: data
                .filter_map(|(name, at)| Some(((*name).into(), at?.to_string().into())))
                .collect(),
        }
    }

    /// The start that such an event tells of.
    #[must_use]
    pub fn of_event(event: &Event) -> Option<Self> {
        let [begin, end, compute] = Self::NAMES.map(|name| {
            let (_, at) = event.data.iter().find(|(known, _)| &**known == name)?;
            at.parse().ok()
        });
        let (begin, end) = (begin?, end?);
        (event.kind == EventKind::PlatformRun && begin <= end)
            .then(|| Self::told(begin, end, compute))
    }

    /// When it began, as well as that is known: the later of boot and begin of billing, since one bill may span
    /// several boots; else the first look.
    #[must_use]
    pub fn began(&self) -> Timestamp {
        let known = [self.steps.billing_started, self.steps.boot];
        let latest = known.iter().flatten().map(|step| step.at).max();
        latest
            .filter(|at| *at <= self.first_at)
            .unwrap_or(self.first_at)
    }
}

/// This start, and earlier ones on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Startup {
    /// The steps of this start.
    pub now: StartSteps,
    /// Earlier starts, the oldest first.
    pub earlier: Vec<PastStart>,
}
