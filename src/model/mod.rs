//! Plain data that the rest of the house exchanges: what a device is, what it said, what the session made of it.
//! No I/O, no clock, no vendor.

mod blind;
mod carbon;
mod compare;
mod config;
mod cost;
mod device;
mod environment;
mod event;
mod evidence;
mod feed;
mod host;
mod meters;
mod meters_table;
mod metric;
mod minute;
mod plates;
mod platform;
mod platform_report;
mod prices;
mod reading;
mod reason;
mod share;
mod snapshot;
mod spend;
mod startup;
mod tariff;
mod tensors;
mod threshold;
mod tick;
mod verdict;
mod view;

pub use blind::CannotSee;
pub use carbon::{Carbon, CarbonError, CarbonTable, Grid};
pub use compare::Tallied;
pub use config::{Config, Granularity, Price, PriceScope, PriceSource};
pub use cost::{
    BillingStart, BillingStartSource, Charge, Cost, Energy, ExtraCost, OfWhich, Phase,
    PhaseSeconds, Worth,
};
pub use device::{BoardId, Device, DeviceId, DeviceKind, Hop, PciAddress, Vendor};
pub use environment::{
    DRIVER_FACT, FIRMWARE_RANGE, FloorRule, Standing, environment_facts, floors, is_framework,
};
pub use event::{Event, EventKind, Level};
pub use evidence::{Comparison, Evidence, EvidenceKind, Paper, Rejected, Whose, Why, Witness};
pub use feed::{Control, Feed, FeedHandle, Sink};
pub use host::{Host, HostSample, PsiScope};
pub use meters::{Meter, Pace, VENDORS, VendorMeters, Way, WhyNot};
pub use metric::{Metric, Unit};
pub use minute::MinutePoint;
pub use plates::{PlateEntry, Plates, PlatesError};
pub use platform::{
    Claims, DetectedBy, Disagreement, Notice, NoticeKind, Platform, PlatformNews, PlatformPrice,
    PlatformStatus, PlatformView,
};
pub use platform_report::{Candidate, Gives, Need, PlatformReport, Step, StepKind, StepResult};
pub use prices::{ListPrice, PriceList, PricesError};
pub use reading::{Absent, Reading, Readings};
pub use reason::Reason;
pub use share::ShareKind;
pub use snapshot::{
    BoardView, DeviceView, Known, KnownKind, PathView, ProcessView, Snapshot, SourceKind, StateWord,
};
pub use spend::{Flapping, FlappingKind, Hour};
pub use startup::{PastStart, StartStep, StartSteps, Startup, StepSource};
pub use tariff::{
    BillingRule, BillingRules, Extra, ExtraKind, PhasePrice, Prepaid, Rounding, RulesError,
    Settlement, Tariff, Terms, Tier, Upfront, YesNo,
};
pub use tensors::{ComparedTensor, TensorDistance, TensorForm, TensorOutcome};
pub use threshold::{Threshold, Thresholds};
pub use tick::{Change, DeviceProcess, ProbeHint, ProbeReport, ProbeStatus, Process, Sample, Tick};
pub use verdict::{Cause, Confidence, Episode, Verdict, VerdictState};
pub use view::{Figure, Figures, Value};
