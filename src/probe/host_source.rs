//! The seam between the live source and whoever reads the host.

use crate::model::{Host, HostSample, Process};

/// Reads the machine around the devices. All calls may block (a file of a dead network mount); the live source
/// makes them on a thread of their own and never waits for them beyond its deadline.
pub trait HostSource: Send {
    /// The host's readings now; rates are over the time since the previous call.
    fn sample(&mut self) -> HostSample;

    /// What the host is.
    fn host(&self) -> Host;

    /// What the host says of these PIDs, each with whether to look for threads in uninterruptible wait
    /// (a device of it is at 10 % or less).
    fn processes(&mut self, pids: &[(u32, bool)]) -> Vec<Process>;
}
