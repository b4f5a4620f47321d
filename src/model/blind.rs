//! Evidence that is out of reach.

use super::device::DeviceId;

/// Evidence that a machine or a log cannot give, why, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotSee {
    /// Its name in documents.
    pub evidence: &'static str,
    /// Its name for people.
    pub label: String,
    /// The devices that lack it; none where it is the host's.
    pub devices: Vec<DeviceId>,
    /// Why it is not there.
    pub reason: String,
    /// What would help.
    pub how: String,
}
