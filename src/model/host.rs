//! The machine around the devices.

use super::reading::{Absent, Reading};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whose pressure figures these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PsiScope {
    /// Our own cgroup's.
    Cgroup,
    /// The whole host's: other people's work too.
    Host,
}

impl PsiScope {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Host => "host",
        }
    }
}

/// The host's readings at one instant. Rates are over the time since the previous sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names are the contract's, units included
pub struct HostSample {
    pub cpu_ratio: Reading<f64>,
    pub load1: Reading<f64>,
    pub memory_used_bytes: Reading<f64>,
    pub memory_limit_bytes: Reading<f64>,
    pub swap_used_bytes: Reading<f64>,
    pub psi_scope: Reading<PsiScope>,
    pub psi_cpu_some_ratio: Reading<f64>,
    pub psi_io_some_ratio: Reading<f64>,
    pub psi_io_full_ratio: Reading<f64>,
    pub psi_memory_full_ratio: Reading<f64>,
    pub cgroup_throttled_ratio: Reading<f64>,
    pub net_rx_bytes_per_s: Reading<f64>,
    pub net_tx_bytes_per_s: Reading<f64>,
    pub tcp_retransmit_ratio: Reading<f64>,
    pub tcp_segments: Reading<f64>,
    pub disk_read_bytes_per_s: Reading<f64>,
    pub disk_write_bytes_per_s: Reading<f64>,
    pub infiniband_rx_bytes_per_s: Reading<f64>,
    pub infiniband_tx_bytes_per_s: Reading<f64>,
    /// InfiniBand and RoCE errors (symbol errors, out of sequence, timeouts, retries) since the previous sample.
    pub infiniband_errors: Reading<f64>,
    /// Cores that the cgroup may use.
    pub cpu_quota_cores: Reading<f64>,
}

impl Default for HostSample {
    fn default() -> Self {
        let none = Err(Absent::NotReported);
        Self {
            cpu_ratio: none,
            load1: none,
            memory_used_bytes: none,
            memory_limit_bytes: none,
            swap_used_bytes: none,
            psi_scope: Err(Absent::NotReported),
            psi_cpu_some_ratio: none,
            psi_io_some_ratio: none,
            psi_io_full_ratio: none,
            psi_memory_full_ratio: none,
            cgroup_throttled_ratio: none,
            net_rx_bytes_per_s: none,
            net_tx_bytes_per_s: none,
            tcp_retransmit_ratio: none,
            tcp_segments: none,
            disk_read_bytes_per_s: none,
            disk_write_bytes_per_s: none,
            infiniband_rx_bytes_per_s: none,
            infiniband_tx_bytes_per_s: none,
            infiniband_errors: none,
            cpu_quota_cores: none,
        }
    }
}

impl HostSample {
    /// The numeric readings under the contract's names, for documents and views.
    pub fn figures(&self) -> [(&'static str, Reading<f64>); 20] {
        [
            ("cpu_ratio", self.cpu_ratio),
            ("load1", self.load1),
            ("memory_used_bytes", self.memory_used_bytes),
            ("memory_limit_bytes", self.memory_limit_bytes),
            ("swap_used_bytes", self.swap_used_bytes),
            ("psi_cpu_some_ratio", self.psi_cpu_some_ratio),
            ("psi_io_some_ratio", self.psi_io_some_ratio),
            ("psi_io_full_ratio", self.psi_io_full_ratio),
            ("psi_memory_full_ratio", self.psi_memory_full_ratio),
            ("cgroup_throttled_ratio", self.cgroup_throttled_ratio),
            ("net_rx_bytes_per_s", self.net_rx_bytes_per_s),
            ("net_tx_bytes_per_s", self.net_tx_bytes_per_s),
            ("tcp_retransmit_ratio", self.tcp_retransmit_ratio),
            ("tcp_segments", self.tcp_segments),
            ("disk_read_bytes_per_s", self.disk_read_bytes_per_s),
            ("disk_write_bytes_per_s", self.disk_write_bytes_per_s),
            ("infiniband_rx_bytes_per_s", self.infiniband_rx_bytes_per_s),
            ("infiniband_tx_bytes_per_s", self.infiniband_tx_bytes_per_s),
            ("infiniband_errors", self.infiniband_errors),
            ("cpu_quota_cores", self.cpu_quota_cores),
        ]
    }

    /// The slot of a figure by its name in [`HostSample::figures`]; `None` for a name that this version does not know.
    pub fn figure_mut(&mut self, name: &str) -> Option<&mut Reading<f64>> {
        Some(match name {
            "cpu_ratio" => &mut self.cpu_ratio,
            "load1" => &mut self.load1,
            "memory_used_bytes" => &mut self.memory_used_bytes,
            "memory_limit_bytes" => &mut self.memory_limit_bytes,
            "swap_used_bytes" => &mut self.swap_used_bytes,
            "psi_cpu_some_ratio" => &mut self.psi_cpu_some_ratio,
            "psi_io_some_ratio" => &mut self.psi_io_some_ratio,
            "psi_io_full_ratio" => &mut self.psi_io_full_ratio,
            "psi_memory_full_ratio" => &mut self.psi_memory_full_ratio,
            "cgroup_throttled_ratio" => &mut self.cgroup_throttled_ratio,
            "net_rx_bytes_per_s" => &mut self.net_rx_bytes_per_s,
            "net_tx_bytes_per_s" => &mut self.net_tx_bytes_per_s,
            "tcp_retransmit_ratio" => &mut self.tcp_retransmit_ratio,
            "tcp_segments" => &mut self.tcp_segments,
            "disk_read_bytes_per_s" => &mut self.disk_read_bytes_per_s,
            "disk_write_bytes_per_s" => &mut self.disk_write_bytes_per_s,
            "infiniband_rx_bytes_per_s" => &mut self.infiniband_rx_bytes_per_s,
            "infiniband_tx_bytes_per_s" => &mut self.infiniband_tx_bytes_per_s,
            "infiniband_errors" => &mut self.infiniband_errors,
            "cpu_quota_cores" => &mut self.cpu_quota_cores,
            _ => return None,
        })
    }
}

/// What the host is, read once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name, cleaned.
    pub name: Reading<Arc<str>>,
    /// Kernel version.
    pub kernel: Reading<Arc<str>>,
    /// Cores that can be seen.
    pub cores: Reading<u32>,
    /// When the host booted.
    pub boot: Reading<jiff::Timestamp>,
    /// When PID 1 of our own PID namespace started, where we are in a container.
    pub container_started: Reading<jiff::Timestamp>,
    /// The PID namespace is not the host's, so that the driver's PIDs need not be ours.
    pub in_pid_namespace: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            name: Err(Absent::NotReported),
            kernel: Err(Absent::NotReported),
            cores: Err(Absent::NotReported),
            boot: Err(Absent::NotReported),
            container_started: Err(Absent::NotReported),
            in_pid_namespace: false,
        }
    }
}
