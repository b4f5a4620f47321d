//! What the user wants, after flags, environment and file were merged.

use super::carbon::Grid;
use super::cost::BillingStart;
use super::tariff::Terms;
use super::threshold::Thresholds;
use crate::units::Currency;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The quantum in which a platform bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the contract's words
pub enum Granularity {
    #[default]
    Second,
    Minute,
    Hour,
}

impl Granularity {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
        }
    }

    /// Seconds in one quantum.
    #[must_use]
    pub const fn whole_seconds(self) -> u32 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
        }
    }
}

/// What a price is the price of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the contract's words
pub enum PriceScope {
    #[default]
    Instance,
    Device,
}

impl PriceScope {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Device => "device",
        }
    }
}

/// Where the price is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's words
pub enum PriceSource {
    Flag,
    Config,
    Platform,
    Catalogue,
    None,
}

impl PriceSource {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Config => "config",
            Self::Platform => "platform",
            Self::Catalogue => "catalogue",
            Self::None => "none",
        }
    }
}

/// A price per hour with its scope and source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Per hour, of the instance or of each device as `scope` says.
    pub per_hour: Decimal,
    /// Of what.
    pub scope: PriceScope,
    /// Known from where.
    pub source: PriceSource,
}

/// The part of the configuration that the session folds with: it is in Start, so that a recording replays alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Price, where one is known.
    pub price: Option<Price>,
    /// Currency of the price.
    pub currency: Currency,
    /// Billing quantum, where the user names one.
    pub granularity: Option<Granularity>,
    /// What else the user says of the tariff.
    pub terms: Terms,
    /// Where the power comes from, as the user says.
    pub grid: Grid,
    /// Begin of billing by flag or file.
    pub since: Option<BillingStart>,
    /// What the user wants to spend.
    pub budget: Option<Decimal>,
    /// Utilization above which a second is compute.
    pub compute_threshold: f64,
    /// Idle time after which a verdict counts.
    pub max_idle: Duration,
    /// How far back the charts reach at full rate.
    pub history: Duration,
    /// What the rules compare with.
    pub thresholds: Thresholds,
}

impl Config {
    /// What `compute_threshold` is where nobody sets it: ten percent (articles).
    pub const COMPUTE: f64 = 0.10;
    /// What `max_idle` is where nobody sets it.
    pub const MAX_IDLE: Duration = Duration::from_secs(600);
}

impl Default for Config {
    fn default() -> Self {
        Self {
            price: None,
            currency: Currency::default(),
            granularity: None,
            terms: Terms::default(),
            grid: Grid::default(),
            since: None,
            budget: None,
            compute_threshold: Self::COMPUTE,
            max_idle: Self::MAX_IDLE,
            history: Duration::from_secs(15 * 60),
            thresholds: Thresholds::default(),
        }
    }
}
