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

pub(super) const fn pid_of(slot: usize, job: u32) -> u32 {
    FIRST_PID + slot as u32 + 100 * job
}

/// The PID of a second process on the same device.
pub(super) const fn guest_of(slot: usize) -> u32 {
    FIRST_PID + 90_000 + slot as u32
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

/// What the host's kernel says beyond what follows from the owners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Surroundings {
    pub(super) throttled_ratio: f64,
    pub(super) quota_cores: f64,
    pub(super) cpu_pressure: f64,
    /// Share of time in which some thread waited for storage, beyond the owners' own waiting.
    pub(super) io_pressure: f64,
    pub(super) memory_pressure: f64,
    pub(super) swap_gib: f64,
    pub(super) segments: f64,
    pub(super) retransmit_ratio: f64,
    pub(super) net_rx_bytes_per_s: f64,
    pub(super) net_tx_bytes_per_s: f64,
    /// Bytes per second each way and errors per second, where there is such an adapter.
    pub(super) infiniband: Option<(f64, f64)>,
}

impl Surroundings {
    /// A machine with nothing else to do.
    pub(super) const QUIET: Self = Self {
        throttled_ratio: 0.0,
        quota_cores: CORES as f64,
        cpu_pressure: 0.0,
        io_pressure: 0.0,
        memory_pressure: 0.0,
        swap_gib: 0.0,
        segments: 64.0,
        retransmit_ratio: 0.0,
        net_rx_bytes_per_s: 41e3,
        net_tx_bytes_per_s: 18e3,
        infiniband: None,
    };
}

/// The words of a process, made once for each.
#[derive(Debug, Clone)]
pub(super) struct Names {
    name: Arc<str>,
    command: Arc<str>,
    user: Arc<str>,
}

impl Names {
    pub(super) fn of(command: &str, job: u32) -> Self {
        let name = command.split_whitespace().next().unwrap_or(command);
        Self {
            name: Arc::from(name),
            command: match job {
                0 => Arc::from(command),
                _ => Arc::from(format!("{command} --job {job}")),
            },
            user: Arc::from("demo"),
        }
    }
}

/// An owner as its host sees it. Threads in wait are looked for only while its device is at 10 % or less.
pub(super) fn process(
    slot: usize,
    owner: &Owner,
    names: &Names,
    started: Timestamp,
    quiet: bool,
    noise: &mut Noise,
) -> Process {
    let mut stray = |value: f64| Ok(value * (1.0 + 0.08 * noise.normal()).max(0.0));
    Process {
        pid: pid_of(slot, owner.job),
        foreign: false,
        name: Ok(names.name.clone()),
        command: Ok(names.command.clone()),
        user: Ok(names.user.clone()),
        state: Ok(owner.state),
        started: Ok(started),
        cpu_cores: stray(owner.cpu_cores),
        read_bytes_per_s: stray(owner.read_bytes_per_s),
        write_bytes_per_s: stray(owner.write_bytes_per_s),
        major_faults_per_s: Ok(owner.major_faults_per_s.round()),
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
pub(super) fn sample(owners: &[Owner], around: &Surroundings, noise: &mut Noise) -> HostSample {
    let sum = |of: fn(&Owner) -> f64| owners.iter().map(of).sum::<f64>();
    let waiting = owners.iter().any(|o| o.waiting.is_some());
    let mut stray = |value: f64, share: f64| value * (1.0 + share * noise.normal()).max(0.0);
    let busy = stray(sum(|o| o.cpu_cores) + 1.2, 0.03);
    let io = if around.io_pressure > 0.0 {
        stray(around.io_pressure, 0.1).min(1.0)
    } else if waiting {
        stray(0.34, 0.1).min(1.0)
    } else {
        0.0
    };
    let ratio = |value: f64| Ok((value.clamp(0.0, 1.0) * 1e4).round() / 1e4);
    let mut sample = HostSample {
        cpu_ratio: Ok((busy / f64::from(CORES)).min(1.0)),
        load1: Ok((busy * 100.0).round() / 100.0),
        memory_used_bytes: Ok((stray(86.0 + 11.0 * owners.len() as f64, 0.002) * GIB).round()),
        memory_limit_bytes: Ok(1024.0 * GIB),
        swap_used_bytes: Ok((around.swap_gib * GIB).round()),
        psi_scope: Ok(PsiScope::Cgroup),
        psi_cpu_some_ratio: Ok(0.0),
        psi_io_some_ratio: ratio(io),
        psi_io_full_ratio: ratio(io * 0.6),
        psi_memory_full_ratio: Ok(0.0),
        cgroup_throttled_ratio: Ok(0.0),
        net_rx_bytes_per_s: Ok(stray(around.net_rx_bytes_per_s, 0.2).round()),
        net_tx_bytes_per_s: Ok(stray(around.net_tx_bytes_per_s, 0.2).round()),
        tcp_retransmit_ratio: Ok(0.0),
        tcp_segments: Ok(stray(around.segments, 0.2).round()),
        disk_read_bytes_per_s: Ok(stray(sum(|o| o.read_bytes_per_s), 0.05).round()),
        disk_write_bytes_per_s: Ok(stray(sum(|o| o.write_bytes_per_s) + 0.2e6, 0.05).round()),
        infiniband_rx_bytes_per_s: Err(Absent::NotSupported),
        infiniband_tx_bytes_per_s: Err(Absent::NotSupported),
        infiniband_errors: Err(Absent::NotSupported),
        cpu_quota_cores: Ok(around.quota_cores),
    };
    // Only what is not quiet takes numbers from the stream: quiet cases stay as they always were.
    for (of, value) in [
        (&mut sample.psi_cpu_some_ratio, around.cpu_pressure),
        (&mut sample.psi_memory_full_ratio, around.memory_pressure),
        (&mut sample.cgroup_throttled_ratio, around.throttled_ratio),
    ] {
        if value > 0.0 {
            *of = ratio(stray(value, 0.05));
        }
    }
    if around.retransmit_ratio > 0.0 {
        // A kernel counts whole segments, of which some come again.
        let segments = sample.tcp_segments.unwrap_or(0.0).max(1.0);
        let again = (segments * stray(around.retransmit_ratio, 0.12)).round();
        sample.tcp_retransmit_ratio = Ok((again / segments).min(1.0));
    }
    if let Some((bytes, errors)) = around.infiniband {
        sample.infiniband_rx_bytes_per_s = Ok(stray(bytes, 0.05).round());
        sample.infiniband_tx_bytes_per_s = Ok(stray(bytes, 0.05).round());
        sample.infiniband_errors = Ok(stray(errors, 0.3).round());
    }
    sample
}
