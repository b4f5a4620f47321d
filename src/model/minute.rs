//! What a recording's plain table takes of a tick.

use super::cost::PhaseSeconds;
use super::device::DeviceId;
use super::view::Figures;

/// One device as the session sees it after a tick: less than a snapshot, as a recorder needs it with every tick.
#[derive(Debug, Clone, Copy)]
pub struct MinutePoint<'a> {
    /// Which device.
    pub device: &'a DeviceId,
    /// Its figures.
    pub figures: &'a Figures,
    /// Its seconds by phase since the session began.
    pub phase_seconds: PhaseSeconds,
    /// It answers.
    pub answers: bool,
    /// It was ever sampled.
    pub sampled: bool,
}
