//! Who has a card open, by what the kernel says of the open files (`/proc/PID/fdinfo`, the kernel's drm-usage-stats).

use super::sysfs;
use crate::model::{Absent, DeviceProcess, PciAddress, Reading};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One look serves all cards: they are asked one after another.
const FRESH: Duration = Duration::from_secs(2);
/// Open files of a process that are looked at.
const FILES_MAX: usize = 4096;
/// Engines that compute or draw; copies and video do not make a card busy.
const ENGINES: [&str; 5] = ["gfx", "compute", "render", "rcs", "ccs"];

/// One open file of a card. Copies of it in other processes have the same client id.
#[derive(Debug, Clone, PartialEq)]
struct Client {
    pid: u32,
    address: PciAddress,
    id: u64,
    memory_bytes: Option<f64>,
    /// Engine, its busy count, and the count it is a part of (nanoseconds have none).
    engines: Vec<(String, f64, Option<f64>)>,
}

/// The open files of the cards of some drivers.
pub(super) struct Clients {
    root: PathBuf,
    drivers: &'static [&'static str],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    looked: Option<Instant>,
    clients: Vec<Client>,
    shares: HashMap<(PciAddress, u64), f64>,
    /// Files of other users could not be read.
    denied: bool,
}

impl Clients {
    pub(super) fn new(root: &Path, drivers: &'static [&'static str]) -> Self {
        Self {
            root: root.to_path_buf(),
            drivers,
            state: Mutex::default(),
        }
    }

    /// The processes that have a card open, by PID.
    ///
    /// # Errors
    /// There are none that may be looked at, and others may not.
    pub(super) fn of(&self, address: PciAddress) -> Reading<Vec<DeviceProcess>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.is_none_or(|looked| looked.elapsed() >= FRESH) {
            state.look(&self.root, self.drivers, Instant::now());
        }
        let mut processes: BTreeMap<u32, DeviceProcess> = BTreeMap::new();
        for client in state.clients.iter().filter(|c| c.address == address) {
            let process = processes
                .entry(client.pid)
                .or_insert_with(|| DeviceProcess {
                    pid: client.pid,
                    memory_bytes: Err(Absent::NotReported),
                    utilization_ratio: Err(Absent::NotReported),
                    instance: None,
                    graphics: client.only_draws(),
                });
            let add = |sum: &mut Reading<f64>, more: Option<f64>| {
                if let Some(more) = more {
                    *sum = Ok(sum.unwrap_or(0.0) + more);
                }
            };
            add(&mut process.memory_bytes, client.memory_bytes);
            let share = state.shares.get(&(address, client.id)).copied();
            add(&mut process.utilization_ratio, share);
            process.graphics &= client.only_draws();
        }
        match processes.is_empty() && state.denied {
            true => Err(Absent::NoPermission),
            false => Ok(processes.into_values().collect()),
        }
    }
}

impl State {
    fn look(&mut self, root: &Path, drivers: &[&str], now: Instant) {
        let before = self.looked.replace(now);
        let (clients, denied) = scan(root, drivers);
        let seconds = before.map(|before| now.duration_since(before).as_secs_f64());
        self.shares = clients
            .iter()
            .filter_map(|client| {
                let same = |c: &&Client| c.address == client.address && c.id == client.id;
                let old = self.clients.iter().find(same)?;
                let share = client.share(old, seconds?)?;
                Some(((client.address, client.id), share))
            })
            .collect();
        (self.clients, self.denied) = (clients, denied);
    }
}

impl Client {
    /// The share of its busiest engine since an earlier look.
    fn share(&self, before: &Self, seconds: f64) -> Option<f64> {
        let shares = self.engines.iter().filter_map(|(engine, busy, total)| {
            let (_, old, of) = before.engines.iter().find(|(name, ..)| name == engine)?;
            let whole = match (total, of) {
                (Some(total), Some(of)) => total - of,
                _ => seconds * 1e9,
            };
            let share = (busy - old) / whole;
            (whole > 0.0 && (0.0..=1.1).contains(&share)).then_some(share.min(1.0))
        });
        shares.reduce(f64::max)
    }

    fn only_draws(&self) -> bool {
        let busy = |names: &[&str]| {
            let mut engines = self.engines.iter();
            engines.any(|(name, busy, _)| names.contains(&name.as_str()) && *busy > 0.0)
        };
        busy(&["gfx", "render", "rcs"]) && !busy(&["compute", "ccs"])
    }
}

/// All open files of their cards, each once, and whether any process's could not be looked at.
fn scan(root: &Path, drivers: &[&str]) -> (Vec<Client>, bool) {
    let (mut clients, mut known, mut denied) = (Vec::new(), HashSet::new(), false);
    let processes = fs::read_dir(root.join("proc"))
        .into_iter()
        .flatten()
        .flatten();
    for process in processes {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let files = match fs::read_dir(process.path().join("fdinfo")) {
            Ok(files) => files,
            Err(error) => {
                denied |= sysfs::why(&error) == Absent::NoPermission;
                continue;
            }
        };
        for file in files.flatten().take(FILES_MAX) {
            // A name is read more quickly than a file, and tells of nearly all that they are no cards.
            let target = fs::read_link(process.path().join("fd").join(file.file_name()));
            if target.is_ok_and(|target| !target.starts_with("/dev/dri")) {
                continue;
            }
            let client = sysfs::text(&file.path())
                .ok()
                .and_then(|text| parse(pid, &text, drivers));
            if let Some(client) = client
                && known.insert((client.address, client.id))
            {
                clients.push(client);
            }
        }
    }
    (clients, denied)
}

/// The lines of an open file of one of the drivers'.
fn parse(pid: u32, text: &str, drivers: &[&str]) -> Option<Client> {
    let rows: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    if !drivers.contains(rows.get("drm-driver")?) {
        return None;
    }
    let count = |value: &str| value.split_whitespace().next()?.parse::<u64>().ok();
    let engines = ENGINES.iter().filter_map(|engine| {
        let get = |kind: &str| rows.get(format!("{kind}-{engine}").as_str());
        let busy = get("drm-engine").or_else(|| get("drm-cycles"))?;
        let total = get("drm-total-cycles").and_then(|value| count(value));
        Some((
            (*engine).to_owned(),
            count(busy)? as f64,
            total.map(|n| n as f64),
        ))
    });
    Some(Client {
        pid,
        address: rows.get("drm-pdev")?.parse().ok()?,
        id: count(rows.get("drm-client-id")?)?,
        memory_bytes: memory(&rows),
        engines: engines.collect(),
    })
}

/// Device memory: what is resident, else what the older key says, else what was allocated.
fn memory(rows: &HashMap<&str, &str>) -> Option<f64> {
    ["drm-resident-", "drm-memory-", "drm-total-"]
        .iter()
        .find_map(|kind| {
            let regions = rows.iter().filter_map(|(key, value)| {
                let region = key.strip_prefix(kind)?;
                let region = region.trim_end_matches(|c: char| c.is_ascii_digit());
                matches!(region, "vram" | "local").then(|| bytes(value))?
            });
            regions.reduce(|sum, more| sum + more)
        })
}

/// `65536 KiB`; without a unit, bytes. More than any device has is none.
fn bytes(value: &str) -> Option<f64> {
    let mut parts = value.split_whitespace();
    let number = parts.next()?.parse::<u64>().ok()? as f64;
    let unit = match parts.next() {
        None => 1.0,
        Some("KiB") => 1024.0,
        Some("MiB") => 1_048_576.0,
        Some("GiB") => 1_073_741_824.0,
        Some(_) => return None,
    };
    sysfs::within(number * unit, 1.0, &sysfs::MEMORY).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    fn amd(id: u32, vram: u64, busy_ns: u64) -> String {
        format!(
            "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t{id}\ndrm-pdev:\t0000:83:00.0\npasid:\t9\n\
             drm-memory-vram:\t{vram} KiB\ndrm-memory-gtt: \t512 KiB\ndrm-engine-gfx:\t{busy_ns} ns\n\
             drm-engine-compute:\t0 ns\n"
        )
    }

    #[test]
    fn each_open_file_counts_once_and_shares_are_of_the_time_between() {
        let tree = Tree::new(&[
            ("/proc/12/fdinfo/3", &amd(5, 1000, 1_000_000_000)),
            ("/proc/12/fdinfo/4", &amd(5, 1000, 1_000_000_000)),
            ("/proc/13/fdinfo/3", &amd(5, 1000, 1_000_000_000)),
            ("/proc/14/fdinfo/9", &amd(6, 24, 0)),
            ("/proc/14/fdinfo/8", "drm-driver:\ti915\n"),
            ("/proc/self/fdinfo/3", "garbage"),
        ]);
        tree.link("/proc/14/fd/9", "/dev/dri/renderD128");
        let mut state = State::default();
        let begin = Instant::now();
        state.look(tree.root(), &["amdgpu"], begin);
        assert_eq!(state.clients.len(), 2);
        assert!(state.shares.is_empty());
        for pid in [12, 13] {
            tree.write(
                &format!("/proc/{pid}/fdinfo/3"),
                &amd(5, 1000, 3_000_000_000),
            );
        }
        tree.remove("/proc/12/fdinfo/4");
        state.look(tree.root(), &["amdgpu"], begin + Duration::from_secs(4));
        let address = "83:00.0".parse().unwrap();
        assert_eq!(state.shares.get(&(address, 5)), Some(&0.5));
        // Not a card's.
        tree.remove("/proc/14/fd/9");
        tree.link("/proc/14/fd/9", "/var/log/syslog");
        state.look(tree.root(), &["amdgpu"], begin + Duration::from_secs(8));
        assert_eq!(state.clients.len(), 1);
    }

    #[test]
    fn cycles_are_a_part_of_all_cycles() {
        let xe = |busy: u32, total: u32| {
            let text = format!(
                "drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:09:00.0\ndrm-total-vram0:\t90 MiB\n\
                 drm-resident-vram0:\t30 MiB\ndrm-cycles-ccs:\t{busy}\ndrm-total-cycles-ccs:\t{total}\n"
            );
            parse(7, &text, &["xe"]).unwrap()
        };
        let (before, now) = (xe(100, 1000), xe(350, 2000));
        assert_eq!(now.share(&before, 99.0), Some(0.25));
        assert_eq!(now.memory_bytes, Some(30.0 * 1_048_576.0));
        assert_eq!(before.share(&now, 1.0), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(drm-(driver|pdev|client-id|memory-vram|engine-gfx)?: ?[0-9a-z:. ]{0,24}\n){0,6}") {
            let _ = parse(1, &text, &["amdgpu"]);
        }
    }
}
