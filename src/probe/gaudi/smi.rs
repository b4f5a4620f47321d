//! The devices by `hl-smi`, where there is no library: one long-lived child that prints a line for each card every few
//! seconds, read by a thread of its own, which starts it again where it ends.

use super::devices::id;
use super::lines::{COLUMNS, Row, parse};
use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, Metric, Reading, Readings, Vendor,
};
use crate::probe::backoff::{self, Backoff};
use crate::probe::plausible;
use crate::probe::tool;
use crate::probe::vendor::Answer;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Seconds between two lines of a card.
const PERIOD_S: u64 = 2;
/// How long the first list may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// A line older than this is told no more; a child that was silent for so long hangs.
const OLDEST: Duration = Duration::from_secs(8);
/// No line is longer.
const LINE: u64 = 1 << 14;

/// What the tool sets.
const METRICS: [Metric; 6] = [
    Metric::PowerUsage,
    Metric::LimitEnforced,
    Metric::CoreTemperature,
    Metric::Utilization,
    Metric::MemoryUsed,
    Metric::MemoryTotal,
];

/// The tool, running until this goes.
pub(super) struct Smi {
    pub(super) program: OsString,
    pub(super) devices: Vec<Arc<Device>>,
    shared: Arc<Shared>,
    /// Its end is the thread's.
    _running: Sender<()>,
}

struct Shared {
    /// The child that runs, and since when.
    child: Mutex<Option<(Child, Instant)>>,
    newest: Mutex<Newest>,
    /// No child is to be started any more.
    stopped: AtomicBool,
}

/// The newest line of each card, by its index.
type Newest = HashMap<u32, (Instant, Row)>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn command(program: &OsString) -> Command {
    let mut command = Command::new(program);
    command.args(["-Q", &COLUMNS.join(","), "-f", "csv,noheader"]);
    command
}

impl Smi {
    /// The tool with its first list; `None` where it cannot be run or lists nothing.
    pub(super) fn start(program: &OsString) -> Option<Self> {
        let text = tool::output(command(program), PATIENCE).ok()?;
        let rows: Vec<Row> = text
            .lines()
            .filter_map(|line| parse(&COLUMNS, line))
            .collect();
        if rows.is_empty() {
            return None;
        }
        let now = Instant::now();
        let devices = devices(&rows);
        let newest = rows.into_iter().map(|row| (row.index, (now, row)));
        let shared = Arc::new(Shared {
            child: Mutex::new(None),
            newest: Mutex::new(newest.collect()),
            stopped: AtomicBool::new(false),
        });
        let (running, ended) = channel();
        let (name, of) = (program.clone(), Arc::clone(&shared));
        std::thread::Builder::new()
            .name("hl-smi".to_owned())
            .spawn(move || of.keep(&name, &ended))
            .ok()?;
        Some(Self {
            program: program.clone(),
            devices,
            shared,
            _running: running,
        })
    }

    /// The readings of the newest line.
    pub(super) fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        let Some(known) = self.devices.iter().find(|known| known.id == *device) else {
            return Answer::Lost(Absent::Lost);
        };
        let newest = locked(&self.shared.newest);
        let fresh = |at: &Instant| at.elapsed() <= OLDEST;
        match newest.get(&known.index) {
            Some((at, row)) if fresh(at) => {
                fill(row, readings);
                Answer::Answered
            }
            // Where the others go on, this one is gone.
            _ if newest.values().any(|(at, _)| fresh(at)) => Answer::Lost(Absent::Lost),
            // It hangs, or is being started again.
            _ => {
                self.shared.end(|since| since.elapsed() > OLDEST);
                Answer::Lost(Absent::TimedOut)
            }
        }
    }
}

impl Shared {
    /// Runs the child again and again, each time later, until nobody holds it any more.
    fn keep(&self, program: &OsString, ended: &Receiver<()>) {
        let mut retry = Backoff::new(backoff::FIRST);
        loop {
            let said = match self.begin(program) {
                Ok(stdout) => {
                    let said = read(stdout, &self.newest);
                    self.end(|_| true);
                    said
                }
                Err(_) => false,
            };
            if said {
                retry.reset();
            }
            let wait = retry.fail(Instant::now());
            if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn begin(&self, program: &OsString) -> io::Result<ChildStdout> {
        let mut running = locked(&self.child);
        if self.stopped.load(Ordering::Acquire) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut child = command(program)
            .args(["-l", &PERIOD_S.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take();
        *running = Some((child, Instant::now()));
        stdout.ok_or_else(|| io::Error::other("it has no output"))
    }

    /// Ends the child that runs, where it is one of those.
    fn end(&self, of: impl FnOnce(Instant) -> bool) {
        let mut running = locked(&self.child);
        if running.as_ref().is_some_and(|(_, since)| of(*since))
            && let Some((mut child, _)) = running.take()
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Smi {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.end(|_| true);
    }
}

/// Takes in lines until there are no more; whether one of them told of a card.
fn read(stdout: impl Read, newest: &Mutex<Newest>) -> bool {
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut said = false;
    loop {
        line.clear();
        match lines.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return said,
            Ok(_) => {}
        }
        if let Some(row) = parse(&COLUMNS, &String::from_utf8_lossy(&line)) {
            let mut newest = locked(newest);
            // A child that makes up cards fills no memory.
            if newest.contains_key(&row.index) {
                said = true;
                newest.insert(row.index, (Instant::now(), row));
            }
        }
    }
}

fn fill(row: &Row, readings: &mut Readings) {
    let number = |value: Option<i64>, read: fn(i64) -> Reading<f64>| {
        value.map_or(Err(Absent::NotReported), read)
    };
    let total = number(row.total, |mib| {
        plausible::mebibytes(mib, plausible::memory_total)
    });
    let used = row
        .used
        .ok_or(Absent::NotReported)
        .and_then(|mib| plausible::mebibytes(mib, |bytes| plausible::memory_part(bytes, &total)));
    let values = [
        number(row.power, plausible::whole_watts),
        number(row.limit, plausible::whole_watts),
        number(row.temperature, plausible::celsius),
        number(row.utilization, |raw| {
            plausible::unsigned(raw, plausible::ratio)
        }),
        total.and(used),
        total,
    ];
    for (metric, value) in METRICS.into_iter().zip(values) {
        readings.set(metric, value);
    }
}

fn devices(rows: &[Row]) -> Vec<Arc<Device>> {
    let mut taken = HashSet::new();
    let mut device = |row: &Row| {
        let uuid = row.uuid.clone().ok_or(Absent::NotReported);
        let pci_address = row.address.ok_or(Absent::NotReported);
        let id = id(&uuid, &pci_address, row.index, &mut taken);
        let module = row.module.map(|module| Arc::from(module.to_string()));
        Arc::new(Device {
            board: BoardId(Arc::clone(&id.0)),
            id,
            index: row.index,
            vendor: Vendor::Gaudi,
            name: row.name.clone().unwrap_or_else(|| Arc::from("unknown")),
            uuid,
            pci_address,
            pci_id: Err(Absent::NotReported),
            driver: row.driver.clone().ok_or(Absent::NotReported),
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details: module
                .map(|module| (Arc::from("module_id"), module))
                .into_iter()
                .collect(),
        })
    };
    rows.iter().map(&mut device).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tool::tests::script;

    const ROW: &str =
        "0, 5, uuid-0, HL-225, 0000:cc:00.0, 1.20.0, 98304 MiB, 1024 MiB, 412 W, 600 W, 51 C, 97 %";

    #[test]
    fn one_child_prints_for_as_long_as_it_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        // The second start, with -l, never ends by itself.
        let lines = format!(
            "echo '{ROW}'\n[ $# = 4 ] || {{ echo $$ >{}/pid; exec sleep 600; }}\n",
            folder.path().display()
        );
        let smi = Smi::start(&script(folder.path(), &lines).into_os_string()).unwrap();
        let device = &smi.devices[0];
        assert_eq!((&*device.id.0, &*device.name), ("uuid-0", "HL-225"));
        assert_eq!(&*device.details[0].1, "5");
        let mut readings = Readings::default();
        assert_eq!(smi.sample(&device.id, &mut readings), Answer::Answered);
        for (metric, value) in [
            (Metric::PowerUsage, Ok(412.0)),
            (Metric::LimitEnforced, Ok(600.0)),
            (Metric::CoreTemperature, Ok(51.0)),
            (Metric::Utilization, Ok(0.97)),
            (Metric::MemoryUsed, Ok(1024.0 * 1_048_576.0)),
        ] {
            assert_eq!(readings.get(metric), value, "{metric:?}");
        }
        // A silent child says nothing of now; a card that is left out alone is gone.
        let old = Instant::now().checked_sub(OLDEST * 2).unwrap();
        let age = |index| {
            let row = parse(&COLUMNS, ROW).unwrap();
            locked(&smi.shared.newest).insert(index, (old, row));
        };
        age(0);
        assert_eq!(
            smi.sample(&device.id, &mut readings),
            Answer::Lost(Absent::TimedOut)
        );
        locked(&smi.shared.newest).insert(1, (Instant::now(), Row::default()));
        assert_eq!(
            smi.sample(&device.id, &mut readings),
            Answer::Lost(Absent::Lost)
        );
        let begin = Instant::now();
        let child = loop {
            if let Some((child, _)) = &*locked(&smi.shared.child) {
                break child.id();
            }
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        };
        drop(smi);
        let gone = || !std::path::Path::new(&format!("/proc/{child}")).exists();
        assert!(gone(), "the child was killed and waited for");
    }

    #[test]
    fn a_tool_that_lists_nothing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let tool = script(folder.path(), "echo 'No devices found'\n");
        assert!(Smi::start(&tool.into_os_string()).is_none());
        assert!(Smi::start(&"/nowhere/hl-smi".into()).is_none());
    }

    #[test]
    fn lines_of_any_length_are_read() {
        let text = format!("{}\n{ROW}\nhalf, a li", "x".repeat(100_000));
        let newest = Mutex::new(HashMap::from([(0, (Instant::now(), Row::default()))]));
        read(text.as_bytes(), &newest);
        assert_eq!(locked(&newest)[&0].1.power, Some(412));
    }
}
