//! The host's own figures from /proc and /sys, everything under one root.
//!
//! Each reading fails alone: a file that is not there is `NotSupported`, one that may not be read `NoPermission`, one
//! that does not say what it should `NotReported`. Rates are absent in the first sample.

mod cgroup;
mod family;
mod files;
mod growth;
mod identity;
pub(super) mod jobs;
mod owner;
mod process_stat;
mod processes;
mod system;
mod traffic;
mod users;
mod waits;

use super::clock::boot_now;
use super::host_source::HostSource;
use crate::model::{Absent, Host, HostSample, Process, PsiScope, Reading};
use crate::units::MonoTime;
use cgroup::{Groups, Limits};
use files::Files;
use growth::{Growth, per_second};
use processes::{Now, Processes};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Seconds after which limits, interfaces and ports are looked up again.
const LOOK_AGAIN: f64 = 10.0;

/// The kernel makes the load anew every five seconds (LOAD_FREQ in include/linux/sched/loadavg.h), and the shares of pressure
/// every two (PSI_FREQ in kernel/sched/psi.c): in between the same is read again. Somewhat less, so that no change is missed
/// for a tick that comes early.
const LOAD_KEEPS: f64 = 4.5;
const PRESSURE_KEEPS: f64 = 1.8;

/// Bytes of a file of a few lines.
const LONGEST: u64 = 4096;

/// Reads the host under a root.
pub struct HostProbe {
    files: Files,
    clock: Box<dyn FnMut() -> MonoTime + Send>,
    host: Host,
    groups: Groups,
    layout: Option<Layout>,
    last: Option<MonoTime>,
    cpu: Growth<(), 2>,
    load: Option<(MonoTime, Reading<f64>)>,
    pressure: Option<(MonoTime, Pressures)>,
    periods: Growth<(), 2>,
    network: Growth<String, 2>,
    tcp: Growth<(), 2>,
    disks: Growth<String, 2>,
    infiniband: Growth<PathBuf, 2>,
    infiniband_errors: Growth<PathBuf, 1>,
    processes: Processes,
}

/// Shares of the last ten seconds in which tasks stalled, and whose.
#[derive(Debug, Clone, Copy)]
struct Pressures {
    scope: Reading<PsiScope>,
    cpu_some: Reading<f64>,
    io_some: Reading<f64>,
    io_full: Reading<f64>,
    memory_full: Reading<f64>,
}

/// What changes rarely, and when it was looked up.
struct Layout {
    at: MonoTime,
    limits: Limits,
    names: HashSet<String>,
    outward: HashSet<String>,
    ports: Reading<Vec<PathBuf>>,
}

impl std::fmt::Debug for HostProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostProbe")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl HostProbe {
    /// A probe of the host whose /proc and /sys lie under `root`. Reads what the host is.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self::with_clock(root, Box::new(boot_now))
    }

    /// As [`HostProbe::new`] with another clock.
    #[must_use]
    pub fn with_clock(root: &Path, clock: Box<dyn FnMut() -> MonoTime + Send>) -> Self {
        let mut files = Files::new(root);
        Self {
            host: identity::read(&mut files),
            groups: Groups::find(&mut files),
            files,
            clock,
            layout: None,
            last: None,
            cpu: Growth::default(),
            load: None,
            pressure: None,
            periods: Growth::default(),
            network: Growth::default(),
            tcp: Growth::default(),
            disks: Growth::default(),
            infiniband: Growth::default(),
            infiniband_errors: Growth::default(),
            processes: Processes::default(),
        }
    }

    fn layout(&mut self, at: MonoTime) -> Layout {
        match self.layout.take() {
            Some(layout) if (0.0..LOOK_AGAIN).contains(&at.seconds_since(layout.at)) => layout,
            _ => Layout {
                at,
                limits: self.groups.limits(&mut self.files),
                names: HashSet::new(),
                outward: HashSet::new(),
                ports: traffic::infiniband_ports(&self.files),
            },
        }
    }

    fn cpu(&mut self, sample: &mut HostSample, at: MonoTime) {
        // The first line is all that is needed of a file that has one for each core and interrupt.
        let path = self.files.path("/proc/stat");
        let ticks = match self.files.read_again(&path, 1024) {
            Ok(text) => system::cpu_ticks(&text).ok_or(Absent::NotReported),
            Err(why) => Err(why),
        };
        sample.cpu_ratio = self
            .cpu
            .step_one(ticks)
            .and_then(|[busy, idle]| share(busy, busy.saturating_add(idle)));
        let kept = kept(self.load, at, LOAD_KEEPS);
        sample.load1 = kept.unwrap_or_else(|| {
            let load = match self.files.read("/proc/loadavg") {
                Ok(text) => system::load1(&text).ok_or(Absent::NotReported),
                Err(why) => Err(why),
            };
            self.load = Some((at, load));
            load
        });
    }

    fn memory(&mut self, sample: &mut HostSample, limits: &Limits) {
        let host = self
            .files
            .read("/proc/meminfo")
            .map(|text| system::memory(&text));
        let of_host = |pick: fn(&system::Memory) -> Option<u64>| match &host {
            Ok(memory) => pick(memory)
                .map(|bytes| bytes as f64)
                .ok_or(Absent::NotReported),
            Err(why) => Err(*why),
        };
        let total = of_host(|memory| memory.total);
        match &limits.memory {
            // A limit above what the machine has limits nothing.
            Ok(limit) if !total.is_ok_and(|total| limit.bytes as f64 >= total) => {
                sample.memory_limit_bytes = Ok(limit.bytes as f64);
                sample.memory_used_bytes = limit.used(&mut self.files).map(|bytes| bytes as f64);
                sample.swap_used_bytes = limit.swap_used(&mut self.files).map(|bytes| bytes as f64);
            }
            other => {
                // A limit that may not be read is not the machine's size.
                sample.memory_limit_bytes = match other {
                    Err(why) if *why != Absent::NotSupported => Err(*why),
                    _ => total,
                };
                sample.memory_used_bytes = of_host(|memory| memory.used);
                sample.swap_used_bytes = of_host(|memory| memory.swap_used);
            }
        }
    }

    fn pressure(&mut self, sample: &mut HostSample, limits: &Limits, at: MonoTime) {
        let pressures = kept(self.pressure, at, PRESSURE_KEEPS).unwrap_or_else(|| {
            let pressures = self.pressures(limits);
            self.pressure = Some((at, pressures));
            pressures
        });
        sample.psi_scope = pressures.scope;
        sample.psi_cpu_some_ratio = pressures.cpu_some;
        sample.psi_io_some_ratio = pressures.io_some;
        sample.psi_io_full_ratio = pressures.io_full;
        sample.psi_memory_full_ratio = pressures.memory_full;
    }

    /// Our own group's pressure where any of it can be read, else the host's.
    fn pressures(&mut self, limits: &Limits) -> Pressures {
        let host = self.files.path("/proc/pressure");
        let own = limits
            .pressure
            .clone()
            .map(|own| (own, PsiScope::Cgroup, ".pressure"));
        let mut why = Absent::NotSupported;
        for (folder, scope, suffix) in own.into_iter().chain([(host, PsiScope::Host, "")]) {
            let mut read = |what: &str| match self
                .files
                .read_again(&folder.join(format!("{what}{suffix}")), LONGEST)
            {
                Ok(text) => Ok(system::pressure(&text)),
                Err(why) => Err(why),
            };
            let (cpu, io, memory) = (read("cpu"), read("io"), read("memory"));
            let known = |ratio: Option<f64>| ratio.ok_or(Absent::NotReported);
            if cpu.is_ok() || io.is_ok() || memory.is_ok() {
                return Pressures {
                    scope: Ok(scope),
                    cpu_some: cpu.and_then(|cpu| known(cpu.some)),
                    io_some: io.and_then(|io| known(io.some)),
                    io_full: io.and_then(|io| known(io.full)),
                    memory_full: memory.and_then(|memory| known(memory.full)),
                };
            }
            if let Err(reason) = cpu {
                why = reason;
            }
        }
        Pressures {
            scope: Err(why),
            cpu_some: Err(why),
            io_some: Err(why),
            io_full: Err(why),
            memory_full: Err(why),
        }
    }

    fn throttling(&mut self, sample: &mut HostSample, limits: &Limits) {
        sample.cpu_quota_cores = limits.quota_cores;
        let periods = match &limits.cpu_stat {
            Some(path) => match self.files.read_again(path, LONGEST) {
                // A group without the CPU controller has the file, but no periods in it.
                Ok(text) => cgroup::cpu_periods(&text).ok_or(Absent::NotSupported),
                Err(why) => Err(why),
            },
            None => Err(Absent::NotSupported),
        };
        sample.cgroup_throttled_ratio = match self.periods.step_one(periods) {
            // Periods only pass while something runs under a quota: in none, none was throttled.
            Ok([0, _]) if limits.quota_cores.is_ok() => Ok(0.0),
            Ok([0, _]) => Err(Absent::NotSupported),
            Ok([all, throttled]) => share(throttled, all),
            Err(why) => Err(why),
        };
    }

    fn network(&mut self, sample: &mut HostSample, layout: &mut Layout, seconds: Option<f64>) {
        let all = self
            .files
            .read("/proc/net/dev")
            .map(|text| traffic::interfaces(&text));
        let counted = match all {
            Ok(mut all) => {
                if all.len() != layout.names.len()
                    || all.keys().any(|name| !layout.names.contains(name))
                {
                    layout.names = all.keys().cloned().collect();
                    layout.outward = traffic::outward(&self.files, &layout.names);
                }
                all.retain(|name, _| layout.outward.contains(name));
                if all.is_empty() {
                    Err(Absent::NotSupported)
                } else {
                    Ok(all)
                }
            }
            Err(why) => Err(why),
        };
        let grown = self.network.step(counted);
        sample.net_rx_bytes_per_s = per_second(grown.map(|[received, _]| received), seconds);
        sample.net_tx_bytes_per_s = per_second(grown.map(|[_, sent]| sent), seconds);
        let segments = match self.files.read("/proc/net/snmp") {
            Ok(text) => traffic::tcp_segments(&text).ok_or(Absent::NotReported),
            Err(why) => Err(why),
        };
        let grown = self.tcp.step_one(segments);
        sample.tcp_segments = grown.map(|[sent, _]| sent as f64);
        sample.tcp_retransmit_ratio = grown.and_then(|[sent, again]| share(again, sent));
    }

    fn storage(&mut self, sample: &mut HostSample, seconds: Option<f64>) {
        let disks = self
            .files
            .read("/proc/diskstats")
            .map(|text| traffic::disks(&text));
        let disks = disks.and_then(|disks| {
            if disks.is_empty() {
                Err(Absent::NotSupported)
            } else {
                Ok(disks)
            }
        });
        let grown = self.disks.step(disks);
        sample.disk_read_bytes_per_s = per_second(grown.map(|[read, _]| read), seconds);
        sample.disk_write_bytes_per_s = per_second(grown.map(|[_, written]| written), seconds);
    }

    fn infiniband(
        &mut self,
        sample: &mut HostSample,
        ports: &Reading<Vec<PathBuf>>,
        seconds: Option<f64>,
    ) {
        let (bytes, errors) = match ports {
            Ok(ports) => (
                traffic::infiniband_bytes(&mut self.files, ports),
                traffic::infiniband_errors(&mut self.files, ports),
            ),
            Err(why) => (Err(*why), Err(*why)),
        };
        let grown = self.infiniband.step(bytes);
        sample.infiniband_rx_bytes_per_s = per_second(grown.map(|[received, _]| received), seconds);
        sample.infiniband_tx_bytes_per_s = per_second(grown.map(|[_, sent]| sent), seconds);
        sample.infiniband_errors = self
            .infiniband_errors
            .step(errors)
            .map(|[errors]| errors as f64);
    }
}

impl HostSource for HostProbe {
    fn sample(&mut self) -> HostSample {
        let at = (self.clock)();
        let seconds = self
            .last
            .replace(at)
            .map(|last| at.seconds_since(last))
            .filter(|seconds| *seconds > 0.0);
        let mut layout = self.layout(at);
        let mut sample = HostSample::default();
        self.cpu(&mut sample, at);
        self.memory(&mut sample, &layout.limits);
        self.pressure(&mut sample, &layout.limits, at);
        self.throttling(&mut sample, &layout.limits);
        self.network(&mut sample, &mut layout, seconds);
        self.storage(&mut sample, seconds);
        self.infiniband(&mut sample, &layout.ports, seconds);
        self.layout = Some(layout);
        sample
    }

    fn host(&self) -> Host {
        self.host.clone()
    }

    fn processes(&mut self, pids: &[(u32, bool)]) -> Vec<Process> {
        let now = Now {
            at: (self.clock)(),
            boot: self.host.boot,
            in_pid_namespace: self.host.in_pid_namespace,
        };
        self.processes.look(&mut self.files, now, pids)
    }
}

/// What was read at an instant, unless it is older than it keeps.
fn kept<T: Copy>(read: Option<(MonoTime, T)>, now: MonoTime, keeps: f64) -> Option<T> {
    let fresh = |at: MonoTime| (0.0..keeps).contains(&now.seconds_since(at));
    read.filter(|(at, _)| fresh(*at)).map(|(_, value)| value)
}

/// A part of a whole; of nothing there is no share.
fn share(part: u64, whole: u64) -> Reading<f64> {
    if whole == 0 {
        Err(Absent::NotReported)
    } else {
        Ok(part as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests;
