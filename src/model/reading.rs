//! One value, or the reason why there is none.

use super::metric::Metric;
use serde::{Deserialize, Serialize};

/// Why a value is not there (contract.md section 2, `absent`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Absent {
    /// The board, driver or mode has no such value.
    NotSupported,
    /// We may not read it.
    NoPermission,
    /// The library or the call in it is missing.
    NoLibrary,
    /// The device does not answer any more.
    Lost,
    /// The call passed its deadline.
    TimedOut,
    /// The source gave a number that cannot be; it is kept here as the source said it.
    Implausible(f64),
    /// The last good value is older than five intervals.
    Stale,
    /// The source is there and works, but said nothing about this.
    NotReported,
    /// The link changed while it was measured.
    Transition,
}

impl Absent {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotSupported => "not_supported",
            Self::NoPermission => "no_permission",
            Self::NoLibrary => "no_library",
            Self::Lost => "lost",
            Self::TimedOut => "timed_out",
            Self::Implausible(_) => "implausible",
            Self::Stale => "stale",
            Self::NotReported => "not_reported",
            Self::Transition => "transition",
        }
    }

    /// Whether the source may well answer the next time, so that the last good value is worth showing with its age.
    #[must_use]
    pub const fn passing(self) -> bool {
        matches!(
            self,
            Self::TimedOut | Self::Implausible(_) | Self::Lost | Self::Stale
        )
    }
}

/// One value, or the reason why there is none.
pub type Reading<T> = Result<T, Absent>;

/// All numeric readings of one device at one instant, one slot for each [`Metric`], in the metric's own unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Readings(Vec<Reading<f64>>);

impl Readings {
    /// Every slot absent for the same reason.
    #[must_use]
    pub fn absent(why: Absent) -> Self {
        Self(vec![Err(why); Metric::COUNT])
    }

    /// The reading of one metric. A slot that an older writer did not know is `NotReported`.
    ///
    /// # Errors
    /// The reason why the value is absent.
    pub fn get(&self, metric: Metric) -> Reading<f64> {
        self.0
            .get(metric as usize)
            .copied()
            .unwrap_or(Err(Absent::NotReported))
    }

    /// Stores one reading. A number that is not finite is kept as implausible.
    pub fn set(&mut self, metric: Metric, reading: Reading<f64>) {
        if self.0.len() < Metric::COUNT {
            self.0.resize(Metric::COUNT, Err(Absent::NotReported));
        }
        if let Some(slot) = self.0.get_mut(metric as usize) {
            *slot = match reading {
                Ok(value) if !value.is_finite() => Err(Absent::Implausible(0.0)),
                other => other,
            };
        }
    }
}

impl Default for Readings {
    fn default() -> Self {
        Self::absent(Absent::NotReported)
    }
}
