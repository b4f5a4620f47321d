//! Plain data that the rest of the house exchanges: what a device is, what it said, what the session made of it.
//! No I/O, no clock, no vendor.

mod config;
mod cost;
mod device;
mod event;
mod feed;
mod host;
mod metric;
mod plates;
mod platform;
mod platform_report;
mod reading;
mod snapshot;
mod tick;
mod verdict;
mod view;

pub use config::{Config, Granularity, Price, PriceScope, PriceSource};
pub use cost::{
    BillingStart, BillingStartSource, Charge, Cost, Energy, OfWhich, Phase, PhaseSeconds,
};
pub use device::{BoardId, Device, DeviceId, DeviceKind, Hop, PciAddress, Vendor};
pub use event::{Event, EventKind, Level};
pub use feed::{Control, Feed, FeedHandle, Sink};
pub use host::{Host, HostSample, PsiScope};
pub use metric::{Metric, Unit};
pub use plates::{PlateEntry, Plates, PlatesError};
pub use platform::{
    Claims, DetectedBy, Disagreement, Notice, NoticeKind, Platform, PlatformNews, PlatformPrice,
    PlatformStatus, PlatformView,
};
pub use platform_report::{Candidate, Gives, Need, PlatformReport, Step, StepKind, StepResult};
pub use reading::{Absent, Reading, Readings};
pub use snapshot::{
    BoardView, DeviceView, Known, KnownKind, PathView, ProcessView, Snapshot, SourceKind, Startup,
    StateWord,
};
pub use tick::{Change, DeviceProcess, ProbeHint, ProbeReport, ProbeStatus, Process, Sample, Tick};
pub use verdict::{Cause, Confidence, Evidence, EvidenceKind, Verdict, VerdictState};
pub use view::{Figure, Figures, Value};
