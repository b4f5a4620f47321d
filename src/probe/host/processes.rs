//! The processes that own a device, with all that descend from them.

use super::family::Families;
use super::files::{Files, field};
use super::identity::started;
use super::owner::{self, Owner};
use super::process_stat::{self, seconds};
use super::users::{Users, real_uid};
use super::waits::Waits;
use crate::model::{Absent, Process, Reading};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Seconds between two walks over /proc.
const WALK_EVERY: f64 = 5.0;
/// The longest command line that is kept, in bytes.
const LONGEST_COMMAND: u64 = 4096;

/// What is remembered of processes from one call to the next.
#[derive(Debug, Default)]
pub(super) struct Processes {
    families: Option<(MonoTime, BTreeSet<u32>, Families)>,
    /// Counters by PID and start, so that a PID that is used again is another process.
    counters: HashMap<(u32, u64), Counters>,
    /// When the previous call was: on our clock, and in seconds since boot.
    previous: Option<(MonoTime, Option<f64>)>,
    /// Seconds since boot at which the driver first listed a PID.
    first_listed: HashMap<u32, f64>,
    /// PIDs that were processes of ours while the driver listed them.
    seen: HashSet<u32>,
    /// Processes that were seen to hold a device.
    holders: HashSet<(u32, u64)>,
    waits: Waits,
    users: Users,
}

/// What is the same for all processes of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) at: MonoTime,
    pub(super) boot: Reading<Timestamp>,
    pub(super) in_pid_namespace: bool,
}

/// Counters of one process, its children not included.
#[derive(Debug, Clone, Copy)]
struct Counters {
    start_ticks: u64,
    cpu_ticks: u64,
    major_faults: u64,
    /// Bytes (read from, written to) storage.
    io: Reading<[u64; 2]>,
}

/// Sums over a process and its descendants.
struct Sums {
    cpu: Reading<u64>,
    faults: Reading<u64>,
    io: Reading<[u64; 2]>,
}

impl Processes {
    /// What the host says of these PIDs.
    pub(super) fn look(
        &mut self,
        files: &mut Files,
        now: Now,
        pids: &[(u32, bool)],
    ) -> Vec<Process> {
        let wanted: BTreeSet<u32> = pids.iter().map(|(pid, _)| *pid).collect();
        let uptime = uptime(files);
        self.note_listing(&wanted, uptime);
        let owners: HashMap<u32, Owner> = wanted
            .iter()
            .map(|pid| (*pid, self.owner(files, now, *pid)))
            .collect();
        let ours: BTreeSet<u32> = owners
            .iter()
            .filter_map(|(pid, owner)| (*owner == Owner::Ours).then_some(*pid))
            .collect();
        self.seen.extend(&ours);
        self.walk_when_due(files, now.at, &ours);
        let families: HashMap<u32, Vec<u32>> = match &self.families {
            Some((_, _, families)) => ours.iter().map(|pid| (*pid, families.of(*pid))).collect(),
            None => HashMap::new(),
        };
        let counters = read_counters(files, families.values().flatten());
        let searched: BTreeSet<u32> = pids
            .iter()
            .filter(|(_, search)| *search)
            .filter_map(|(pid, _)| families.get(pid))
            .flatten()
            .copied()
            .collect();
        self.waits.look(files, &searched);
        let elapsed = self
            .previous
            .map(|(at, _)| now.at.seconds_since(at))
            .filter(|seconds| *seconds > 0.0);
        let mut all = Vec::with_capacity(wanted.len());
        for pid in wanted {
            let mut process = match owners.get(&pid) {
                Some(Owner::Ours) => self.describe(files, now, pid),
                Some(Owner::Undecided(why)) => nameless(pid, false, *why),
                Some(Owner::Foreign) | None => nameless(pid, true, Absent::NotReported),
            };
            if let Some(members) = families.get(&pid) {
                let sums = self.sums(members, &counters);
                fill_rates(&mut process, &sums, elapsed);
                if pids.contains(&(pid, true)) {
                    (process.waiting_threads, process.wait_channel) = self.waits.of(members);
                }
            }
            all.push(process);
        }
        self.counters = counters
            .into_iter()
            .map(|(pid, one)| ((pid, one.start_ticks), one))
            .collect();
        self.previous = Some((now.at, uptime));
        all
    }

    fn note_listing(&mut self, wanted: &BTreeSet<u32>, uptime: Option<f64>) {
        self.first_listed.retain(|pid, _| wanted.contains(pid));
        self.seen.retain(|pid| wanted.contains(pid));
        self.holders.retain(|(pid, _)| wanted.contains(pid));
        if let Some(uptime) = uptime {
            for pid in wanted {
                self.first_listed.entry(*pid).or_insert(uptime);
            }
        }
    }

    /// Whether the driver's PID is a process of ours.
    fn owner(&mut self, files: &mut Files, now: Now, pid: u32) -> Owner {
        // Uptime and start are both cut to hundredths of a second.
        const ROUNDING: f64 = 0.02;
        let text = match files.read(&format!("/proc/{pid}/stat")) {
            Ok(text) => text,
            // The driver may list a process a little longer than it lives.
            Err(Absent::NotSupported) if self.seen.contains(&pid) => {
                return Owner::Undecided(Absent::NotReported);
            }
            Err(Absent::NotSupported) => return owner::of_missing(files, pid),
            Err(why) => return Owner::Undecided(why),
        };
        let Some(stat) = process_stat::read(&text) else {
            return Owner::Undecided(Absent::NotReported);
        };
        let (start_ticks, zombie) = (stat.start_ticks, stat.state == 'Z');
        let listed = self.first_listed.get(&pid);
        if listed.is_some_and(|listed| seconds(start_ticks) > listed + ROUNDING) {
            return Owner::Foreign;
        }
        if !now.in_pid_namespace || self.holders.contains(&(pid, start_ticks)) {
            return Owner::Ours;
        }
        // A zombie holds nothing any more, so nothing can be told from what it holds.
        let owner = if zombie {
            Owner::Undecided(Absent::NotReported)
        } else {
            owner::by_holdings(files, pid)
        };
        if owner == Owner::Ours {
            self.holders.insert((pid, start_ticks));
        }
        owner
    }

    fn walk_when_due(&mut self, files: &mut Files, at: MonoTime, ours: &BTreeSet<u32>) {
        if ours.is_empty() {
            self.families = None;
            return;
        }
        let fresh = self.families.as_ref().is_some_and(|(walked, pids, _)| {
            pids == ours && (0.0..WALK_EVERY).contains(&at.seconds_since(*walked))
        });
        if !fresh {
            self.families = Some((at, ours.clone(), Families::walk(files)));
        }
    }

    /// Everything but the rates.
    fn describe(&mut self, files: &mut Files, now: Now, pid: u32) -> Process {
        let mut process = nameless(pid, false, Absent::NotReported);
        match files.read(&format!("/proc/{pid}/stat")) {
            Ok(text) => {
                if let Some(stat) = process_stat::read(&text) {
                    process.name = cleaned(stat.name);
                    process.state = Ok(stat.state);
                    process.started = now.boot.and_then(|boot| started(boot, stat.start_ticks));
                }
            }
            // It ended between two looks.
            Err(Absent::NotSupported) => return process,
            Err(why) => return nameless(pid, false, why),
        }
        let path = files.path(&format!("/proc/{pid}/cmdline"));
        process.command = match files.read_at_most(&path, LONGEST_COMMAND) {
            Ok(text) => cleaned(text.replace('\0', " ").trim()),
            Err(why) => Err(why),
        };
        let uid = match files.read(&format!("/proc/{pid}/status")) {
            Ok(text) => real_uid(&text).ok_or(Absent::NotReported),
            Err(why) => Err(why),
        };
        process.user = uid.map(|uid| self.users.name(files, uid));
        process
    }

    /// What the members' counters grew by. A member that began since the previous call counts whole; one that is
    /// new to us but older gives nothing yet; what a member did between the previous call and its end is lost.
    fn sums(&self, members: &[u32], counters: &HashMap<u32, Counters>) -> Sums {
        let none = Err(Absent::NotReported);
        let mut sums = Sums {
            cpu: none,
            faults: none,
            io: Err(Absent::NotReported),
        };
        let Some((_, previous_uptime)) = self.previous else {
            return sums;
        };
        let mut io_denied = None;
        for (position, pid) in members.iter().enumerate() {
            let Some(now) = counters.get(pid) else {
                continue;
            };
            let began = |uptime: f64| seconds(now.start_ticks) > uptime;
            let before = match self.counters.get(&(*pid, now.start_ticks)) {
                Some(before) => *before,
                None if position > 0 && previous_uptime.is_some_and(began) => Counters {
                    cpu_ticks: 0,
                    major_faults: 0,
                    io: now.io.map(|_| [0, 0]),
                    ..*now
                },
                None => continue,
            };
            add(
                &mut sums.cpu,
                now.cpu_ticks.saturating_sub(before.cpu_ticks),
            );
            add(
                &mut sums.faults,
                now.major_faults.saturating_sub(before.major_faults),
            );
            match (now.io, before.io) {
                (Ok([read, written]), Ok([read_before, written_before])) => {
                    let [sum_read, sum_written] = sums.io.unwrap_or_default();
                    sums.io = Ok([
                        sum_read.saturating_add(read.saturating_sub(read_before)),
                        sum_written.saturating_add(written.saturating_sub(written_before)),
                    ]);
                }
                (Err(why), _) => io_denied = io_denied.or(Some(why)),
                _ => {}
            }
        }
        // A sum that leaves a member out would be too small.
        if let Some(why) = io_denied {
            sums.io = Err(why);
        }
        sums
    }
}

fn add(sum: &mut Reading<u64>, more: u64) {
    *sum = Ok(sum.unwrap_or(0).saturating_add(more));
}

fn fill_rates(process: &mut Process, sums: &Sums, elapsed: Option<f64>) {
    let Some(elapsed) = elapsed else { return };
    let rate = |sum: u64| sum as f64 / elapsed;
    process.cpu_cores = sums.cpu.map(|ticks| seconds(ticks) / elapsed);
    process.major_faults_per_s = sums.faults.map(rate);
    process.read_bytes_per_s = sums.io.map(|[read, _]| rate(read));
    process.write_bytes_per_s = sums.io.map(|[_, written]| rate(written));
}

fn read_counters<'a>(
    files: &mut Files,
    members: impl Iterator<Item = &'a u32>,
) -> HashMap<u32, Counters> {
    let mut all = HashMap::new();
    for pid in members.copied().collect::<BTreeSet<_>>() {
        let Ok(text) = files.read(&format!("/proc/{pid}/stat")) else {
            continue;
        };
        let Some(stat) = process_stat::read(&text) else {
            continue;
        };
        let mut counters = Counters {
            start_ticks: stat.start_ticks,
            cpu_ticks: stat.cpu_ticks,
            major_faults: stat.major_faults,
            io: Ok([0, 0]),
        };
        // A zombie reads nothing any more, and its file cannot be read by its own user.
        if stat.state != 'Z' {
            counters.io = match files.read(&format!("/proc/{pid}/io")) {
                Ok(text) => io(&text).ok_or(Absent::NotReported),
                Err(why) => Err(why),
            };
        }
        all.insert(pid, counters);
    }
    all
}

/// Bytes (read, written) that went to storage, not to the page cache.
fn io(text: &str) -> Option<[u64; 2]> {
    Some([field(text, "read_bytes")?, field(text, "write_bytes")?])
}

fn uptime(files: &mut Files) -> Option<f64> {
    let text = files.read("/proc/uptime").ok()?;
    let uptime: f64 = text.split_whitespace().next()?.parse().ok()?;
    uptime.is_finite().then_some(uptime)
}

fn cleaned(text: &str) -> Reading<Arc<str>> {
    let text = crate::text::clean(text);
    if text.is_empty() {
        Err(Absent::NotReported)
    } else {
        Ok(Arc::from(&*text))
    }
}

/// A process of which nothing is known.
fn nameless(pid: u32, foreign: bool, why: Absent) -> Process {
    Process {
        pid,
        foreign,
        name: Err(why),
        command: Err(why),
        user: Err(why),
        state: Err(why),
        started: Err(why),
        cpu_cores: Err(why),
        read_bytes_per_s: Err(why),
        write_bytes_per_s: Err(why),
        major_faults_per_s: Err(why),
        waiting_threads: Err(Absent::NotReported),
        wait_channel: Err(Absent::NotReported),
    }
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
