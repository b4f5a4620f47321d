//! Seconds and money of the rental.

use super::config::{PriceScope, PriceSource};
use super::spend::{Flapping, Hour};
use super::tariff::{ExtraKind, Tariff};
use crate::units::{Currency, Money};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a billed second was spent on; exclusive, they add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Utilization over the threshold (10 %).
    Compute,
    /// A process of the device waits for storage.
    IoWait,
    /// Billed, and no accelerator process yet (on screen: start-up/queue).
    Queue,
    /// No work.
    Idle,
    /// Nobody looked.
    Unobserved,
}

impl Phase {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 5] = [
        Self::Compute,
        Self::IoWait,
        Self::Queue,
        Self::Idle,
        Self::Unobserved,
    ];

    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::IoWait => "io_wait",
            Self::Queue => "queue",
            Self::Idle => "idle",
            Self::Unobserved => "unobserved",
        }
    }
}

/// Seconds by phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // the phases, as in `Phase`
pub struct PhaseSeconds {
    pub compute: f64,
    /// `None` where io-wait cannot be seen at all (no process of ours to look at): null, not 0.
    pub io_wait: Option<f64>,
    pub queue: f64,
    pub idle: f64,
    pub unobserved: f64,
}

impl PhaseSeconds {
    /// Seconds of one phase; an io-wait that cannot be seen counts nothing.
    #[must_use]
    pub fn get(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Compute => self.compute,
            Phase::IoWait => self.io_wait.unwrap_or(0.0),
            Phase::Queue => self.queue,
            Phase::Idle => self.idle,
            Phase::Unobserved => self.unobserved,
        }
    }

    /// Adds seconds to one phase.
    pub fn add(&mut self, phase: Phase, seconds: f64) {
        match phase {
            Phase::Compute => self.compute += seconds,
            Phase::IoWait => *self.io_wait.get_or_insert(0.0) += seconds,
            Phase::Queue => self.queue += seconds,
            Phase::Idle => self.idle += seconds,
            Phase::Unobserved => self.unobserved += seconds,
        }
    }

    /// All seconds.
    #[must_use]
    pub fn total(&self) -> f64 {
        Phase::ALL.iter().map(|p| self.get(*p)).sum()
    }
}

/// Where the begin of billing is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum BillingStartSource {
    Flag,
    Config,
    Platform,
    Container,
    Boot,
    FirstSample,
}

impl BillingStartSource {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Config => "config",
            Self::Platform => "platform",
            Self::Container => "container",
            Self::Boot => "boot",
            Self::FirstSample => "first_sample",
        }
    }

    /// Whether it is only a guess at what the platform bills.
    #[must_use]
    pub const fn is_estimate(self) -> bool {
        matches!(self, Self::Container | Self::Boot | Self::FirstSample)
    }
}

/// What a device's time costs: its board's equal share of the price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// Per hour.
    pub per_hour: Money,
    /// For the seconds that it stands beside.
    pub amount: Money,
}

/// Begin of billing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BillingStart {
    /// When.
    pub at: Timestamp,
    /// Known from where.
    pub source: BillingStartSource,
}

/// What the rules make of a device's second of compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Worth {
    /// Nothing is wrong with it, as far as the rules see.
    Fine,
    /// It ran slower than it could.
    Throttled,
    /// It did no useful work.
    Stalled,
}

/// A line beside the instance's time: storage, traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraCost {
    /// For what.
    pub kind: ExtraKind,
    /// So far.
    pub amount: Decimal,
}

/// Parts of the compute seconds that were not worth their money; `None` where no rule has looked.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's names
pub struct OfWhich {
    pub stalled_s: Option<f64>,
    pub stalled_amount: Option<Decimal>,
    pub throttled_s: Option<f64>,
    pub throttled_amount: Option<Decimal>,
}

/// The meter (contract.md section 3, `cost`). Money is in `currency`, unrounded; documents round it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the contract's names
pub struct Cost {
    pub currency: Currency,
    /// Of the whole instance.
    pub price_per_hour: Option<Decimal>,
    pub price_scope: PriceScope,
    pub price_source: PriceSource,
    /// When the platform said it, or since when it stands in the catalogue.
    pub price_at: Option<Timestamp>,
    /// Seconds from then to now.
    pub price_age_s: Option<f64>,
    pub tariff: Arc<Tariff>,
    pub billing_start: BillingStart,
    pub span_seconds: f64,
    /// Seconds of the span in phases that this tariff does not bill.
    pub unbilled_seconds: f64,
    pub billed_seconds: f64,
    pub rounding_seconds: f64,
    pub amount: Option<Decimal>,
    /// Mean over boards: adds up to the span.
    pub phase_seconds: PhaseSeconds,
    /// What each phase cost and the rounding last, in the order of `Phase::ALL`; adds up to `amount` exactly.
    pub phase_amounts: Option<[Decimal; 6]>,
    /// What an hour of each phase costs at this tariff's list price, in the order of `Phase::ALL`.
    pub phase_prices: Option<[Decimal; 5]>,
    pub any_compute_seconds: f64,
    pub idle_held_seconds: f64,
    /// Integral of utilization: seconds at 100 %.
    pub utilization_seconds: f64,
    /// Integral of the work ratio, over the seconds in which it was known (the second figure).
    pub work_seconds: Option<(f64, f64)>,
    pub of_which: OfWhich,
    pub available_ratio: Option<f64>,
    pub effective_price_per_compute_hour: Option<Decimal>,
    pub projected_day_amount: Option<Decimal>,
    /// What the next 30 days cost if it runs on.
    pub projected_month_amount: Option<Decimal>,
    /// What is wasted in a day at the mean of the span: all that is billed and was seen, except compute, and stalled
    /// compute.
    pub wasted_day_amount: Option<Decimal>,
    pub next_edge: Option<Timestamp>,
    /// Storage and traffic, beside `amount`.
    pub extras: Vec<ExtraCost>,
    /// `amount` and the extras.
    pub total_amount: Option<Decimal>,
    pub budget: Option<Decimal>,
    /// When the budget is used up at this price.
    pub budget_reached: Option<Timestamp>,
    /// Scaling that goes to and fro.
    pub flapping: Vec<Flapping>,
    /// Hours of the clock, the oldest first; the last one may be going on.
    pub hours: Arc<Vec<Hour>>,
    /// The hour that is going on.
    pub this_hour: Option<Hour>,
}

/// Energy since the first sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// Kilowatt hours over all boards.
    pub kwh: f64,
    /// `gpu`, `board` or `module`: the widest scope that a counter covers.
    pub scope: &'static str,
    /// A device without a counter is in it, by its draw over time: sensors see a quarter of the time only.
    pub estimated: bool,
}
