//! The machine around simulated devices: what follows from their owners.

use super::behaviour::Owner;
use super::noise::Noise;
use crate::model::{Absent, Host, HostSample, Process, PsiScope};
use jiff::Timestamp;
use std::sync::Arc;

const CORES: u32 = 104;
const GIB: f64 = 1_073_741_824.0;
/// The first owner's PID; the n-th device's owner has the n-th after it.
const FIRST_PID: u32 = 4200;

pub(super) const fn pid_of(slot: usize) -> u32 {
    FIRST_PID + slot as u32
}

/// A container that began just when billing did.
pub(super) fn host(began: Timestamp) -> Host {
    Host {
        name: Ok(Arc::from("simulated")),
        kernel: Err(Absent::NotSupported),
        cores: Ok(CORES),
        boot: Err(Absent::NotSupported),
        container_started: Ok(began),
        in_pid_namespace: true,
    }
}

/// An owner as its host sees it. Threads in wait are looked for only while its device is at 10 % or less.
pub(super) fn process(
    slot: usize,
    owner: &Owner,
    command: &'static str,
    started: Timestamp,
    quiet: bool,
    noise: &mut Noise,
) -> Process {
    let name = command.split_whitespace().next().unwrap_or(command);
    let mut stray = |value: f64| Ok(value * (1.0 + 0.08 * noise.normal()).max(0.0));
    Process {
        pid: pid_of(slot),
        foreign: false,
        name: Ok(Arc::from(name)),
        command: Ok(Arc::from(command)),
        user: Ok(Arc::from("demo")),
        state: Ok(owner.state),
        started: Ok(started),
        cpu_cores: stray(owner.cpu_cores),
        read_bytes_per_s: stray(owner.read_bytes_per_s),
        write_bytes_per_s: stray(owner.write_bytes_per_s),
        major_faults_per_s: Ok(0.0),
        waiting_threads: if quiet {
            Ok(owner.waiting.map_or(0, |(threads, _)| threads))
        } else {
            Err(Absent::NotReported)
        },
        wait_channel: match owner.waiting.filter(|_| quiet) {
            Some((_, channel)) => Ok(Arc::from(channel)),
            None => Err(Absent::NotReported),
        },
    }
}

/// Sums over the owners, over a quiet machine's own.
pub(super) fn sample(owners: &[Owner], noise: &mut Noise) -> HostSample {
    let sum = |of: fn(&Owner) -> f64| owners.iter().map(of).sum::<f64>();
    let waiting = owners.iter().any(|o| o.waiting.is_some());
    let mut stray = |value: f64, share: f64| value * (1.0 + share * noise.normal()).max(0.0);
    let busy = stray(sum(|o| o.cpu_cores) + 1.2, 0.03);
    let io = if waiting {
        stray(0.34, 0.1).min(1.0)
    } else {
        0.0
    };
    HostSample {
        cpu_ratio: Ok((busy / f64::from(CORES)).min(1.0)),
        load1: Ok((busy * 100.0).round() / 100.0),
        memory_used_bytes: Ok((stray(86.0 + 11.0 * owners.len() as f64, 0.002) * GIB).round()),
        memory_limit_bytes: Ok(1024.0 * GIB),
        swap_used_bytes: Ok(0.0),
        psi_scope: Ok(PsiScope::Cgroup),
        psi_cpu_some_ratio: Ok(0.0),
        psi_io_some_ratio: Ok((io * 1e4).round() / 1e4),
        psi_io_full_ratio: Ok((io * 0.6 * 1e4).round() / 1e4),
        psi_memory_full_ratio: Ok(0.0),
        cgroup_throttled_ratio: Ok(0.0),
        net_rx_bytes_per_s: Ok(stray(41e3, 0.2).round()),
        net_tx_bytes_per_s: Ok(stray(18e3, 0.2).round()),
        tcp_retransmit_ratio: Ok(0.0),
        tcp_segments: Ok(stray(64.0, 0.2).round()),
        disk_read_bytes_per_s: Ok(stray(sum(|o| o.read_bytes_per_s), 0.05).round()),
        disk_write_bytes_per_s: Ok(stray(sum(|o| o.write_bytes_per_s) + 0.2e6, 0.05).round()),
        infiniband_rx_bytes_per_s: Err(Absent::NotSupported),
        infiniband_tx_bytes_per_s: Err(Absent::NotSupported),
        infiniband_errors: Err(Absent::NotSupported),
        cpu_quota_cores: Ok(f64::from(CORES)),
    }
}
