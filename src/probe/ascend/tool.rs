//! `npu-smi`, where the library cannot be loaded: its table, read at a slow pace on a thread of its own.
//!
//! One call takes hundreds of milliseconds, so that the readings of a tick are those of the newest table: new with the first
//! tick after it, and held with their age until the next.

use super::devices::{Common, Identity};
use super::sample::{set_link, set_memory, set_power};
use super::table::{self, Row, Table};
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceProcess, Metric, Reading, Readings};
use crate::probe::vendor::Answer;
use crate::probe::{pcie, plausible, tool};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// From the end of one call to the begin of the next.
const PACE: Duration = Duration::from_secs(3);
/// A child that runs longer is killed.
const LIMIT: Duration = Duration::from_secs(5);
/// A table older than this says nothing of now.
const OLD: Duration = Duration::from_secs(15);
/// Where the driver and container runtimes put it.
const PLACES: [&str; 2] = ["/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi"];
const MIB: f64 = 1_048_576.0;

/// The tool as this system has it.
pub(super) fn find() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH");
    let folders = on_path.iter().flat_map(std::env::split_paths);
    PLACES
        .iter()
        .map(PathBuf::from)
        .chain(folders.map(|folder| folder.join("npu-smi")))
        .find(|path| path.is_absolute() && path.is_file())
}

/// Why the tool gave no table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) message: String,
    /// The library's code that it named.
    pub(super) code: Option<i32>,
    timed_out: bool,
}

impl Failed {
    const fn plain(message: String) -> Self {
        Self {
            message,
            code: None,
            timed_out: false,
        }
    }
}

/// Runs `npu-smi info` once. One that refuses says why where others print.
fn run(path: &Path, limit: Duration) -> Result<Table, Failed> {
    let mut command = Command::new(path);
    command.arg("info").env("LC_ALL", "C");
    let (_, text) = tool::run(command, limit).map_err(|error| Failed {
        timed_out: error.kind() == ErrorKind::TimedOut,
        ..Failed::plain(format!("{}: {error}", path.display()))
    })?;
    table::parse(&text).map_err(|refused| Failed {
        code: refused.code,
        ..Failed::plain(refused.to_string())
    })
}

/// The newest table.
#[derive(Debug)]
struct Latest {
    /// Why the last call gave none.
    table: Result<Table, Failed>,
    at: Instant,
    /// Counts calls.
    number: u64,
}

/// One device of the table.
#[derive(Debug)]
struct Known {
    device: Arc<Device>,
    npu: u32,
    chip: u32,
    /// The table that was last read for it.
    read: AtomicU64,
    /// The chip that says the power of the whole card, where one says it for all.
    card_power: Option<u32>,
}

/// The tool, with the devices of its first table.
#[derive(Debug)]
pub(super) struct Tool {
    root: PathBuf,
    known: Vec<Known>,
    latest: Mutex<Latest>,
}

impl Tool {
    /// Runs the tool once, lists what it shows, and goes on asking it for as long as this is held.
    ///
    /// # Errors
    /// It gave no table.
    pub(super) fn open(path: &Path, root: &Path) -> Result<(Arc<Self>, Table), Failed> {
        let table = run(path, LIMIT)?;
        let tool = Arc::new(Self::of(table.clone(), root));
        let (held, path) = (Arc::downgrade(&tool), path.to_owned());
        std::thread::Builder::new()
            .name("npu-smi".to_owned())
            .spawn(move || go_on(&held, &path))
            .map_err(|error| Failed::plain(error.to_string()))?;
        Ok((tool, table))
    }

    pub(super) fn of(table: Table, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            known: known(&table),
            latest: Mutex::new(Latest {
                table: Ok(table),
                at: Instant::now(),
                number: 1,
            }),
        }
    }

    pub(super) fn devices(&self) -> Vec<Arc<Device>> {
        self.known
            .iter()
            .map(|known| Arc::clone(&known.device))
            .collect()
    }

    fn locked(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, table: Result<Table, Failed>) {
        let mut latest = self.locked();
        latest.number += 1;
        latest.at = Instant::now();
        latest.table = table;
    }

    fn find(&self, device: &DeviceId) -> Option<&Known> {
        self.known.iter().find(|known| known.device.id == *device)
    }

    pub(super) fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        let Some(known) = self.find(device) else {
            return Answer::Lost(Absent::Lost);
        };
        let link = known.device.pci_address.ok();
        let link = link.and_then(|address| pcie::link(&self.root, address));
        let latest = self.locked();
        let Ok(table) = &latest.table else {
            return Answer::Lost(Absent::TimedOut);
        };
        if latest.at.elapsed() > OLD {
            return Answer::Lost(Absent::TimedOut);
        }
        let Some(row) = row_of(table, known.npu, known.chip) else {
            return Answer::Lost(Absent::Lost);
        };
        read(row, readings);
        let says = known.card_power.unwrap_or(known.chip);
        let says = row_of(table, known.npu, says);
        let power = says.map_or(Err(Absent::NotReported), watts);
        set_power(readings, known.card_power.is_some(), power);
        if known.read.swap(latest.number, Ordering::Relaxed) == latest.number {
            // Said before: it stays, with its age.
            for metric in Metric::ALL {
                if readings.get(*metric).is_ok() {
                    readings.set(*metric, Err(Absent::Stale));
                }
            }
        }
        drop(latest);
        set_link(readings, link.as_ref());
        Answer::Answered
    }

    /// The processes of the newest table.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        let known = self.find(device).ok_or(Absent::Lost)?;
        let latest = self.locked();
        let table = latest.table.as_ref().map_err(|_| Absent::TimedOut)?;
        let ours = table
            .processes
            .iter()
            .filter(|process| (process.npu, process.chip) == (known.npu, known.chip));
        Ok(ours
            .map(|process| DeviceProcess {
                pid: process.pid,
                memory_bytes: process
                    .memory
                    .map(|mib| mib as f64 * MIB)
                    .ok_or(Absent::NotReported),
                utilization_ratio: Err(Absent::NotSupported),
                instance: None,
                graphics: false,
            })
            .collect())
    }
}

/// Asks the tool again and again, until nobody holds what it is asked for.
fn go_on(held: &Weak<Tool>, path: &Path) {
    let mut pause = PACE;
    loop {
        std::thread::sleep(pause);
        if held.strong_count() == 0 {
            return;
        }
        let table = run(path, LIMIT);
        // One that timed out may not have ended: the next is not started soon.
        pause = match &table {
            Err(failed) if failed.timed_out => PACE * 20,
            _ => PACE,
        };
        let Some(tool) = held.upgrade() else { return };
        tool.take(table);
    }
}

fn row_of(table: &Table, npu: u32, chip: u32) -> Option<&Row> {
    let mut rows = table.rows.iter();
    rows.find(|row| (row.npu, row.chip) == (npu, chip))
}

/// The devices of a table. Their id is the bus id: the table has no other that is the same tomorrow.
fn known(table: &Table) -> Vec<Known> {
    let version = table.version.as_deref().map(Arc::from);
    let common = Common {
        driver: version.ok_or(Absent::NotReported),
    };
    let mut taken = HashSet::new();
    let mut known: Vec<Known> = Vec::new();
    for row in &table.rows {
        let card = || table.rows.iter().filter(|other| other.npu == row.npu);
        let board: Option<BoardId> = known
            .iter()
            .find(|other| other.npu == row.npu)
            .map(|other| other.device.board.clone());
        let identity = Identity {
            npu: row.npu,
            chip: row.chip,
            name: row.name.clone(),
            has_ddr: row.memory.is_some_and(|(_, total)| total > 0),
            uuid: Err(Absent::NotReported),
            address: Ok(row.bus),
            pci_id: Err(Absent::NotReported),
            board,
        };
        // Where not every chip of a card has a power, the first one's is the card's.
        let one_says_it = card().count() > 1 && card().any(|row| row.watts.is_none());
        let device = common.device(identity, known.len(), Vec::new(), &mut taken);
        known.push(Known {
            device: Arc::new(device),
            npu: row.npu,
            chip: row.chip,
            read: AtomicU64::new(0),
            card_power: card().next().filter(|_| one_says_it).map(|row| row.chip),
        });
    }
    known
}

fn said(value: Option<f64>) -> Reading<f64> {
    value.ok_or(Absent::NotSupported)
}

fn watts(row: &Row) -> Reading<f64> {
    let watts = said(row.watts)?;
    match watts > 0.0 {
        true => plausible::watts((watts * 1000.0).round() as u64)
            .map_err(|_| Absent::Implausible(watts)),
        false => Err(Absent::Implausible(watts)),
    }
}

/// What a row says beside the power, in our units.
fn read(row: &Row, readings: &mut Readings) {
    readings.set(
        Metric::CoreTemperature,
        said(row.celsius).and_then(|celsius| plausible::celsius(celsius.round() as i64)),
    );
    readings.set(
        Metric::Utilization,
        said(row.percent).and_then(|percent| match (0.0..=100.0).contains(&percent) {
            true => Ok(percent / 100.0),
            false => Err(Absent::Implausible(percent)),
        }),
    );
    let is_any = |pair: &(u64, u64)| pair.1 > 0;
    let memory = row.hbm.filter(is_any).or(row.memory.filter(is_any));
    let memory = memory.ok_or(Absent::NotSupported);
    let (used, total) = (memory.map(|m| m.0), memory.map(|m| m.1));
    set_memory(readings, total, used);
    readings.set(
        Metric::Health,
        match row.health.as_str() {
            "OK" => Ok(0.0),
            "Warning" => Ok(1.0),
            "Alarm" => Ok(2.0),
            "Critical" => Ok(3.0),
            _ => Err(Absent::NotReported),
        },
    );
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::probe::tool::tests::script;

    const TABLE: &str = "\
| npu-smi 25.3.rc1                 Version: 25.3.rc1                                             |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 4     Ascend910           | OK            | 302.5       41                0    / 0             |
| 0     8                   | 0000:91:00.0  | 64          0    / 0          51200/ 65536         |
| 4     Ascend910           | Alarm         | -           43                0    / 0             |
| 1     9                   | 0000:93:00.0  | 250         0    / 0          70000/ 65536         |
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
| 4       1                 | 77            | python                   | 1024                    |
";

    #[test]
    fn a_table_becomes_devices_readings_and_processes() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(folder.path(), &format!("cat <<'END'\n{TABLE}END"));
        let (tool, table) = Tool::open(&path, folder.path()).unwrap();
        assert_eq!(table.version.as_deref(), Some("25.3.rc1"));
        let devices = tool.devices();
        let ids: Vec<&str> = devices.iter().map(|device| &*device.id.0).collect();
        assert_eq!(ids, ["0000:91:00.0", "0000:93:00.0"]);
        assert!(devices.iter().all(|device| &*device.board.0 == ids[0]));
        let mut readings = Readings::default();
        assert_eq!(tool.sample(&devices[0].id, &mut readings), Answer::Answered);
        for (metric, reading) in [
            (Metric::BoardPower, Ok(302.5)),
            (Metric::PowerUsage, Err(Absent::NotSupported)),
            (Metric::CoreTemperature, Ok(41.0)),
            (Metric::Utilization, Ok(0.64)),
            (Metric::MemoryUsed, Ok(51_200.0 * MIB)),
            (Metric::Health, Ok(0.0)),
            (Metric::PcieWidthBefore, Err(Absent::NotReported)),
        ] {
            assert_eq!(readings.get(metric), reading, "{metric:?}");
        }
        // The same table again is old news.
        assert_eq!(tool.sample(&devices[0].id, &mut readings), Answer::Answered);
        assert_eq!(readings.get(Metric::Utilization), Err(Absent::Stale));
        assert_eq!(readings.get(Metric::PowerUsage), Err(Absent::NotSupported));
        let mut readings = Readings::default();
        tool.sample(&devices[1].id, &mut readings);
        for (metric, reading) in [
            (Metric::BoardPower, Ok(302.5)),
            (Metric::Utilization, Err(Absent::Implausible(250.0))),
            (Metric::MemoryUsed, Err(Absent::Implausible(70_000.0))),
            (Metric::Health, Ok(2.0)),
        ] {
            assert_eq!(readings.get(metric), reading, "{metric:?}");
        }
        let processes = tool.processes(&devices[1].id).unwrap();
        assert_eq!(processes.len(), 1);
        assert_eq!(processes[0].memory_bytes, Ok(1024.0 * MIB));
    }

    #[test]
    fn a_device_that_is_not_in_the_newest_table_is_lost() {
        let tool = Tool::of(table::parse(TABLE).unwrap(), Path::new("/nowhere"));
        let devices = tool.devices();
        let mut short = table::parse(TABLE).unwrap();
        short.rows.truncate(1);
        tool.take(Ok(short));
        let mut readings = Readings::default();
        assert_eq!(tool.sample(&devices[0].id, &mut readings), Answer::Answered);
        assert_eq!(
            tool.sample(&devices[1].id, &mut readings),
            Answer::Lost(Absent::Lost)
        );
        tool.take(Err(Failed::plain("no".into())));
        assert_eq!(
            tool.sample(&devices[0].id, &mut readings),
            Answer::Lost(Absent::TimedOut)
        );
    }

    #[test]
    fn a_child_that_hangs_is_killed_and_one_that_refuses_is_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let hangs = script(folder.path(), "exec sleep 3600");
        let failed = run(&hangs, Duration::from_millis(1)).unwrap_err();
        assert!(failed.timed_out, "{failed:?}");
        let refuses = script(
            folder.path(),
            "echo 'dcmi module initialize failed. ret is -8005'; exit 1",
        );
        let failed = run(&refuses, LIMIT).unwrap_err();
        assert_eq!(failed.code, Some(-8005));
        let none = run(Path::new("/nowhere/npu-smi"), LIMIT).unwrap_err();
        assert!(none.message.starts_with("/nowhere/npu-smi: "));
    }
}
