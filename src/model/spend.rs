//! Where the time and the money went, hour by hour, and what swings.

use super::cost::Phase;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// An hour of the clock (UTC), as it was seen: seconds of the instance, the mean over its boards, in milliseconds so
/// that it stays small where it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hour {
    /// Hours since 1970.
    pub hour: i32,
    /// Compute, io-wait, queue, idle; what is missing to the hour nobody saw.
    pub seen_ms: [u32; 4],
    /// Part of idle: a process kept memory.
    pub held_ms: u32,
    /// Part of compute.
    pub stalled_ms: u32,
    /// Part of compute.
    pub throttled_ms: u32,
}

impl Hour {
    /// When it began.
    #[must_use]
    pub fn begin(&self) -> Option<Timestamp> {
        Timestamp::from_second(i64::from(self.hour) * 3600).ok()
    }

    /// Seconds of a phase; what was not seen is the caller's to know.
    #[must_use]
    pub fn seconds(&self, phase: Phase) -> f64 {
        let place = Phase::ALL.iter().position(|p| *p == phase);
        let ms = place.and_then(|place| self.seen_ms.get(place));
        ms.map_or(0.0, |ms| f64::from(*ms) / 1e3)
    }

    /// Seconds that somebody looked at.
    #[must_use]
    pub fn seen_s(&self) -> f64 {
        self.seen_ms.iter().map(|ms| f64::from(*ms)).sum::<f64>() / 1e3
    }

    /// Seconds without use: io-wait, queue, idle, and the compute that was stalled. What nobody saw is not in it.
    #[must_use]
    pub fn wasted_s(&self) -> f64 {
        let [_, rest @ ..] = self.seen_ms;
        let idle: f64 = rest.iter().map(|ms| f64::from(*ms)).sum();
        (idle + f64::from(self.stalled_ms)) / 1e3
    }
}

/// What swings to and fro.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlappingKind {
    /// The instance is started and stopped again and again.
    Starts,
    /// Utilization swings about a line at which things are scaled.
    Utilization,
}

impl FlappingKind {
    /// The word in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Utilization => "utilization",
        }
    }
}

/// Scaling that goes to and fro, with what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Flapping {
    /// What swings.
    pub kind: FlappingKind,
    /// Full swings in the window.
    pub cycles: u32,
    /// Mean seconds of one.
    pub period_s: f64,
    /// Seconds that were looked at.
    pub window_s: f64,
    /// Billed seconds that it cost, or would cost where something scales at this line: begun quanta that were not
    /// used, and start-ups.
    pub wasted_s: f64,
    /// What these cost; `None` without a price.
    pub amount: Option<Decimal>,
}
