//! The fold: ticks in, a view out. It has no clock, file, network, environment or random number; time is in the tick.

mod board;
mod change;
mod derive;
mod device;
mod fold;
mod gap;
mod happen;
mod held;
mod judge;
mod known;
mod platform;
mod rate;
mod resident;
mod series;
mod share;
mod tally;
mod thermal;
mod view;

#[cfg(test)]
mod tests;

pub use judge::limits;
pub use series::{Series, Track};
pub use tally::Tally;
pub use view::worse;

use crate::ledger::{Checkpoint, Ledger};
use crate::model::{
    Config, DeviceId, Episode, Event, Host, HostSample, Metric, PlateEntry, Plates, ProbeReport,
    Process, SourceKind, Vendor, Verdict,
};
use crate::units::MonoTime;
use crate::verdict::RuleSet;
use derive::Derived;
use device::DeviceState;
use judge::Judge;
use platform::PlatformState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Devices kept at most, instances included.
const DEVICES_KEPT: usize = 1024;
/// Host processes kept at most.
const HOST_PROCESSES_KEPT: usize = 4096;
/// Events kept for the screen and the documents.
const EVENTS_KEPT: usize = 1000;

/// What a session begins with: the first record of every recording. The same Start and the same ticks give the same
/// view, live or replayed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Start {
    /// What the user wants.
    pub config: Config,
    /// The ledger as it stood.
    pub ledger: Option<Checkpoint>,
    /// The devices as they were remembered.
    devices: Vec<DeviceState>,
    host: Host,
    host_sample: Option<(MonoTime, HostSample)>,
    host_processes: Vec<Process>,
    probes: Vec<ProbeReport>,
    events: Arc<Vec<Event>>,
    past: Arc<Vec<Episode>>,
    driver: DriverSeen,
    last: Option<Instant>,
    platform: PlatformState,
}

/// What the probes said of drivers so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct DriverSeen {
    /// A driver answered.
    answered: bool,
    /// Vendors whose driver was looked for in vain.
    missing: Vec<Vendor>,
}

/// The newest tick's frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Instant {
    seq: u64,
    at: jiff::Timestamp,
    mono: MonoTime,
    interval: Duration,
    dropped: u64,
}

/// A device's row of the table.
fn entry<'a>(plates: &'a Plates, state: &DeviceState) -> Option<&'a PlateEntry> {
    let memory = state.held.readings().get(Metric::MemoryTotal).ok();
    let device = &state.device;
    plates
        .find(device.vendor, &device.name, memory)
        .map(AsRef::as_ref)
}

/// A text of at most so many bytes, cut between characters.
fn bounded(text: Arc<str>, most: usize) -> Arc<str> {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    text.get(..end).map_or_else(|| Arc::from(""), Arc::from)
}

impl Start {
    /// A first start: nothing is remembered.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// As a recording keeps it.
    ///
    /// # Errors
    /// Something in it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StartError> {
        postcard::to_allocvec(self).map_err(|_| StartError)
    }

    /// From a recording's bytes.
    ///
    /// # Errors
    /// They are of another version's making.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StartError> {
        postcard::from_bytes(bytes).map_err(|_| StartError)
    }

    /// What had happened by then, newest last; at most the last thousand.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The devices that were remembered.
    pub fn device_ids(&self) -> impl Iterator<Item = &DeviceId> {
        self.devices.iter().map(|state| &state.device.id)
    }
}

/// The bytes are not those of a `Start` of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session in it is of another version's making")]
pub struct StartError;

/// Folds ticks.
#[derive(Clone)]
pub struct Session {
    start: Start,
    source: SourceKind,
    ledger: Ledger,
    plates: Arc<Plates>,
    series: BTreeMap<DeviceId, Series>,
    /// Of each device in `start`, in the same order, as of the newest tick.
    derived: Vec<Derived>,
    judge: Judge,
}

impl Session {
    /// Begins, or goes on from where another session stood.
    #[must_use]
    pub fn new(start: Start, plates: Arc<Plates>, source: SourceKind) -> Self {
        let mut session = Self {
            ledger: Ledger::new(&start.config, None),
            plates,
            source,
            series: BTreeMap::new(),
            start: Start::default(),
            derived: Vec::new(),
            judge: Judge::new(RuleSet::all()),
        };
        session.take_up(start);
        session
    }

    /// Goes on from a `Start` that says more than what was folded so far; the charts stay.
    pub fn take_up(&mut self, start: Start) {
        self.ledger = Ledger::new(&start.config, start.ledger.clone());
        self.judge.set_limits(limits(&start.config));
        self.start = start;
        self.derive();
    }

    /// Takes another configuration; what was folded stays. All rules look from now on.
    pub fn configure(&mut self, config: Config) {
        self.judge = Judge::new(RuleSet::all().with_limits(limits(&config)));
        let start = Start {
            config,
            ..self.start()
        };
        self.take_up(start);
    }

    /// How the probes fare.
    #[must_use]
    pub fn probes(&self) -> &[ProbeReport] {
        &self.start.probes
    }

    /// What the session folds with.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.start.config
    }

    /// Charts of before the ticks that were folded, where they are known from elsewhere.
    pub fn remember(&mut self, earlier: &BTreeMap<DeviceId, Series>) {
        for (id, series) in &mut self.series {
            if let Some(earlier) = earlier.get(id) {
                series.extend_back(earlier);
            }
        }
    }

    /// With other rules than all of them; thresholds are the configuration's.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleSet) -> Self {
        self.judge = Judge::new(rules);
        self.judge.set_limits(limits(&self.start.config));
        self
    }

    /// What stands of each device now, in the devices' order, without its numbers: cheap enough for every tick.
    pub fn verdicts(&self) -> impl Iterator<Item = (&DeviceId, Verdict)> {
        self.start.devices.iter().map(|state| {
            let verdict = judge::standing(state);
            (&state.device.id, verdict)
        })
    }

    /// Episodes that have ended, newest last, and those that last, worst first for each device.
    pub fn episodes(&self) -> impl Iterator<Item = Episode> {
        let lasting = self.start.devices.iter().flat_map(|state| {
            let memory = state.judged.as_ref();
            memory
                .map(|m| m.episodes(&state.device.id))
                .unwrap_or_default()
        });
        self.start.past.iter().cloned().chain(lasting)
    }

    /// Everything that is needed to go on from here with the same results.
    #[must_use]
    pub fn start(&self) -> Start {
        Start {
            ledger: Some(self.ledger.checkpoint()),
            ..self.start.clone()
        }
    }

    /// The last minutes of a device at full rate.
    #[must_use]
    pub fn series(&self, device: &DeviceId) -> Option<&Series> {
        self.series.get(device)
    }

    /// All series, for a view that is to stand still.
    #[must_use]
    pub fn all_series(&self) -> &BTreeMap<DeviceId, Series> {
        &self.series
    }

    /// What happened so far, newest last; at most the last thousand.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.start.events
    }

    fn host_process(&self, pid: u32) -> Option<&Process> {
        let list = &self.start.host_processes;
        list.binary_search_by_key(&pid, |p| p.pid)
            .ok()
            .and_then(|i| list.get(i))
    }

    fn entry(&self, state: &DeviceState) -> Option<&PlateEntry> {
        entry(&self.plates, state)
    }
}
