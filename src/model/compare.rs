//! What a job made of a machine, for a comparison of two.

use super::device::DeviceId;
use super::reading::{Absent, Reading};

/// What a device, or all boards of a machine, did in the seconds in which they computed.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the contract's names
pub struct Tallied {
    /// Whose; `None` for all boards together.
    pub device: Option<DeviceId>,
    /// Seconds of compute that somebody looked at; those of all devices are added up.
    pub compute_seconds: f64,
    /// Means over these seconds; a board's power counts once.
    pub power_w: Reading<f64>,
    pub power_ratio: Reading<f64>,
    /// 95 of 100 of these seconds drew no larger share of the plate.
    pub power_ratio_p95: Reading<f64>,
    pub utilization_ratio: Reading<f64>,
    pub work_ratio: Reading<f64>,
    /// Seconds in which anything but rest, or clocks set by hand, held the clocks back.
    pub throttled_seconds: Reading<f64>,
    /// The same by reason, in the contract's names; a second may have several.
    pub throttle_seconds: Vec<(String, f64)>,
}

impl Tallied {
    /// Share of the compute seconds in which the clocks were held back.
    ///
    /// # Errors
    /// The device tells no reasons, or never computed.
    pub fn throttled_ratio(&self) -> Reading<f64> {
        let seconds = self.throttled_seconds?;
        if self.compute_seconds > 0.0 {
            Ok(seconds / self.compute_seconds)
        } else {
            Err(Absent::NotReported)
        }
    }
}
