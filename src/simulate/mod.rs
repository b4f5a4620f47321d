//! Seeded devices with ground truth, for the demo and for tests of verdicts.
//!
//! A case is a plan (`cases.rs`) of behaviours (`behaviour.rs`) in bodies (`body.rs`). The same case and seed give the
//! same ticks; the real clock only paces them and dates second 0. Nothing in it can be taken for a real device:
//! every id begins with `SIM-`, the driver is called `simulated`.

mod behaviour;
mod body;
mod cases;
pub mod families;
mod host;
mod machine;
mod mixed;
mod noise;
mod pace;
mod part;
mod plan;

#[cfg(test)]
mod tests;

pub use cases::{Case, cases};
pub use plan::Truth;

use crate::model::{DeviceId, Tick};
use jiff::{SignedDuration, Timestamp};
use machine::Machine;

/// A case that runs.
pub struct Simulation {
    case: &'static Case,
    machine: Machine,
    truths: Vec<Truth>,
    speed: f64,
}

impl Simulation {
    /// A case by its name, at second 0.
    #[must_use]
    pub fn case(name: &str, seed: u64) -> Option<Self> {
        let (case, mut plan) = cases::find(name)?;
        let truths = std::mem::take(&mut plan.truths);
        Some(Self {
            case,
            machine: Machine::new(case.name, seed, plan),
            truths,
            speed: case.speed,
        })
    }

    /// Dates second 0. Without it, the simulation is dated 1970: no reader can take it for the present.
    #[must_use]
    pub const fn beginning_at(mut self, began: Timestamp) -> Self {
        self.machine.began = began;
        self
    }

    /// What it shows.
    #[must_use]
    pub const fn about(&self) -> &'static Case {
        self.case
    }

    /// Simulated seconds whose ticks come at once, before the pace of real time begins.
    #[must_use]
    pub const fn history_seconds(&self) -> f64 {
        self.machine.timing.live
    }

    /// All that is really the matter, by device and time.
    #[must_use]
    pub fn truths(&self) -> &[Truth] {
        &self.truths
    }

    /// What is really the matter with a device at a simulated second.
    #[must_use]
    pub fn truth_at(&self, device: u32, second: f64) -> Option<&Truth> {
        self.truths
            .iter()
            .filter(|t| t.device == device && t.from_s <= second)
            .max_by(|a, b| a.from_s.total_cmp(&b.from_s))
    }

    /// The key of a device by its index.
    #[must_use]
    pub fn device_id(&self, device: u32) -> Option<&DeviceId> {
        self.machine
            .devices
            .get(device as usize)
            .map(|d| &d.identity.id)
    }

    /// The simulated second of the next tick, and the interval that is meant there.
    fn next_second(&self) -> (f64, f64) {
        self.machine.next_second()
    }

    /// The next tick.
    pub fn tick(&mut self) -> Tick {
        self.machine.tick()
    }
}

fn later(at: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|by| at.checked_add(by).ok())
        .unwrap_or(at)
}
