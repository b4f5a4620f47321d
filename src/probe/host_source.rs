//! What the live source wants of the host.
use crate::model::{Host, HostSample, Process};
/// The host's readings; every call may block on a file and runs on the host's own thread.
pub trait HostSource: Send {
    /// The readings now; rates are over the time since the previous call.
    fn sample(&mut self) -> HostSample;
    /// What the host is.
    fn host(&self) -> Host;
    /// What the host says of these PIDs (as the driver gave them); `true`: look for threads in uninterruptible wait.
    fn processes(&mut self, pids: &[(u32, bool)]) -> Vec<Process>;
}
