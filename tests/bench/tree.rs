//! What a process and all its descendants cost, from /proc.

use std::collections::BTreeMap;
use std::path::Path;

/// Counters of one thread or process: where they began for us, and where they stand.
#[derive(Clone, Copy)]
struct Span {
    begin: u64,
    now: u64,
}

/// Follows a process tree. What a thread does between the last look and its end is not seen.
pub(crate) struct Tree {
    root: u32,
    /// On-CPU nanoseconds by thread.
    cpu: BTreeMap<(u32, u32), Span>,
    /// Write calls by process.
    writes: BTreeMap<u32, Span>,
    /// Peak resident kB by process.
    peak_kb: BTreeMap<u32, u64>,
    threads: usize,
    processes: usize,
    looked: bool,
}

impl Tree {
    /// Begins to count: what was used so far is left out.
    pub(crate) fn follow(root: u32) -> Self {
        let mut tree = Self {
            root,
            cpu: BTreeMap::new(),
            writes: BTreeMap::new(),
            peak_kb: BTreeMap::new(),
            threads: 0,
            processes: 0,
            looked: false,
        };
        tree.look();
        tree
    }

    /// Looks at every process and thread.
    pub(crate) fn look(&mut self) {
        let known = self.looked;
        self.looked = true;
        let family = family(self.root);
        self.processes = family.len();
        self.threads = 0;
        for pid in family {
            let base = Path::new("/proc").join(pid.to_string());
            for thread in numbers(&base.join("task")) {
                self.threads += 1;
                let text = std::fs::read_to_string(base.join(format!("task/{thread}/schedstat")))
                    .unwrap_or_default();
                if let Some(used) = text.split(' ').next().and_then(|n| n.parse().ok()) {
                    note(&mut self.cpu, (pid, thread), used, known);
                }
            }
            if let Some(count) = field(&base.join("io"), "syscw:") {
                note(&mut self.writes, pid, count, known);
            }
            if let Some(peak) = field(&base.join("status"), "VmHWM:") {
                let held = self.peak_kb.entry(pid).or_default();
                *held = peak.max(*held);
            }
        }
    }

    /// On-CPU seconds since the start.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.cpu
            .values()
            .map(|s| s.now.saturating_sub(s.begin))
            .sum::<u64>() as f64
            / 1e9
    }

    /// Write calls since the start, those to pipes and files among them.
    pub(crate) fn write_calls(&self) -> u64 {
        self.writes
            .values()
            .map(|s| s.now.saturating_sub(s.begin))
            .sum()
    }

    /// Peak memory of all processes, added up, in MB.
    pub(crate) fn peak_mb(&self) -> f64 {
        self.peak_kb.values().sum::<u64>() as f64 * 1024.0 / 1e6
    }

    /// Processes and threads at the last look.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.processes, self.threads)
    }
}

/// A counter that appears later began at zero.
fn note<K: Ord>(map: &mut BTreeMap<K, Span>, key: K, now: u64, known: bool) {
    map.entry(key)
        .and_modify(|span| span.now = now)
        .or_insert(Span {
            begin: if known { 0 } else { now },
            now,
        });
}

/// A process and its descendants.
fn family(root: u32) -> Vec<u32> {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in numbers(Path::new("/proc")) {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in brackets may hold anything; what follows is plain.
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        if let Some(parent) = parent {
            parents.entry(parent).or_default().push(pid);
        }
    }
    let mut family = vec![root];
    let mut next = 0;
    while let Some(pid) = family.get(next).copied() {
        family.extend(parents.get(&pid).into_iter().flatten());
        next += 1;
    }
    family
}

fn numbers(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

fn field(file: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
