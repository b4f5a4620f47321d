//! What the running screen costs, measured from outside on a pseudo-terminal against the fake NVIDIA library:
//!
//! ```text
//! cargo bench --bench screen                         every case; prints the table of assets/docs/performance.md
//! cargo bench --bench screen -- --only 64 --seconds 10
//! cargo bench --bench screen -- --command "top -d 1" --data PID     any other full-screen program, as it is
//! ```
//!
//! Nothing here is a test: wall times carry noise, and a figure over its budget is marked, not failed.
//! What each column means is printed under the table.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(missing_docs, reason = "a program")]

#[path = "../support/nvml.rs"]
mod nvml;
mod pty;
mod setting;
mod table;
mod tree;

use nvml::FakeNvml;
use portable_pty::CommandBuilder;
use pty::Run;
use setting::{build_fake, command};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tree::Tree;

/// One set-up.
struct Case {
    name: &'static str,
    devices: u64,
    /// The one call that is slow on real hardware.
    pcie_ms: u64,
    /// The byte counters answer "not supported", so that only the slow call is left.
    no_counters: bool,
    /// No value changes.
    frozen: bool,
    /// Every call waits for the one before, and a process list takes 4.5 ms, as one public report has it.
    one_lock: bool,
}

const FAST: Case = Case {
    name: "8 devices",
    devices: 8,
    pcie_ms: 0,
    no_counters: false,
    frozen: false,
    one_lock: false,
};

const CASES: &[Case] = &[
    FAST,
    Case {
        name: "8, 20 ms",
        pcie_ms: 20,
        ..FAST
    },
    Case {
        name: "64 devices",
        devices: 64,
        ..FAST
    },
    Case {
        name: "64, 20 ms",
        devices: 64,
        pcie_ms: 20,
        ..FAST
    },
    Case {
        name: "64, 20 ms, no counters",
        devices: 64,
        pcie_ms: 20,
        no_counters: true,
        ..FAST
    },
    Case {
        name: "8, one lock, slow lists",
        pcie_ms: 20,
        one_lock: true,
        ..FAST
    },
    Case {
        name: "8, nothing changes",
        frozen: true,
        ..FAST
    },
];

impl Case {
    /// The scenario, laid over eight healthy devices.
    fn scenario(&self) -> String {
        let mut toml = if self.one_lock {
            "global_lock = true\n".to_owned()
        } else {
            String::new()
        };
        toml += &format!("[[device]]\ncount = {}\n", self.devices);
        if self.frozen {
            toml += "power_usage = 372000\ntemperature = 61\nclock_graphics = 1395\nclock_sm = 1395\nutil_gpu = 98\n\
                     util_memory = 63\npcie_tx = 0\npcie_rx = 0\n";
        }
        let list_us = if self.one_lock { 4500 } else { 0 };
        toml += &format!(
            "[device.latency_us]\npcie_throughput = {}\ncompute_processes = {list_us}\ngraphics_processes = {list_us}\n\
             mps_processes = {list_us}\n",
            self.pcie_ms * 1000
        );
        if self.no_counters {
            toml +=
                "[device.fields]\npcie_tx_bytes = { error = 3 }\npcie_rx_bytes = { error = 3 }\n";
        }
        if self.frozen {
            toml += "[device.fields]\nmemory_temperature = 66\npower_instant = 372000\npcie_tx_bytes = 1\n\
                     pcie_rx_bytes = 1\n\"nvlink_tx_kib.*\" = 1\n\"nvlink_rx_kib.*\" = 1\n\"nvlink_tx_kib.all\" = 1\n\
                     \"nvlink_rx_kib.all\" = 1\n";
        }
        toml
    }
}

/// What was measured in one case. Absent is `None`, never 0.
#[derive(Default)]
struct Measured {
    name: String,
    devices: Option<u64>,
    first_text_ms: Option<f64>,
    full_frame_ms: Option<f64>,
    data_ms: Option<f64>,
    refreshes_per_s: Option<f64>,
    cpu_ms_per_refresh: f64,
    bytes_per_refresh: f64,
    bytes_per_s: f64,
    frames_per_refresh: f64,
    reads_per_refresh: f64,
    write_calls_per_s: f64,
    peak_mb: f64,
    processes: usize,
    threads: usize,
    calls_per_refresh: Option<f64>,
    pcie_calls_per_refresh: Option<f64>,
    process_lists_per_s: Option<f64>,
    key_median_ms: Option<f64>,
    key_worst_ms: Option<f64>,
    quit_ms: Option<f64>,
    frozen: bool,
}

struct Options {
    command: Option<Vec<String>>,
    data: Option<String>,
    only: Option<String>,
    seconds: u64,
    size: (u16, u16),
    keys: (String, String),
    quit: String,
    show: bool,
}

impl Options {
    fn read() -> Result<Self, String> {
        let mut options = Self {
            command: None,
            data: None,
            only: None,
            seconds: 20,
            size: (200, 50),
            keys: ("\x1b[B".to_owned(), "\x1b[A".to_owned()),
            quit: "q".to_owned(),
            show: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            // What cargo adds.
            if name == "--bench" {
                continue;
            }
            if name == "--show" {
                options.show = true;
                continue;
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--command" => {
                    options.command = Some(value.split_whitespace().map(str::to_owned).collect())
                }
                "--data" => options.data = Some(value),
                "--only" => options.only = Some(value),
                "--seconds" => {
                    options.seconds = value.parse().map_err(|_| format!("--seconds {value}?"))?
                }
                "--quit" => options.quit = value,
                "--keys" => {
                    let (one, two) = value.split_once(',').ok_or("--keys ONE,OTHER")?;
                    options.keys = (one.to_owned(), two.to_owned());
                }
                "--size" => {
                    let size = value
                        .split_once('x')
                        .and_then(|(c, l)| Some((c.parse().ok()?, l.parse().ok()?)));
                    options.size = size.ok_or_else(|| format!("--size {value}?"))?;
                }
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }

    /// Whether the screen shows device data: the mark, or a name and a number of watts.
    fn has_data(&self, text: &str) -> bool {
        match &self.data {
            Some(mark) => text.contains(mark.as_str()),
            None => text.contains("A100") && has_watts(text),
        }
    }
}

/// A digit, perhaps a space, and `W`.
fn has_watts(text: &str) -> bool {
    text.match_indices('W').any(|(at, _)| {
        let before = text[..at].strip_suffix(' ').unwrap_or(&text[..at]);
        before.ends_with(|c: char| c.is_ascii_digit())
    })
}

fn main() {
    let options = match Options::read() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            std::process::exit(2);
        }
    };
    let mut rows = Vec::new();
    if let Some(words) = &options.command {
        let home = tempfile::tempdir().unwrap();
        let start = || command(&words[0], &words[1..], home.path());
        rows.push(measure(&words.join(" "), &options, &start, None));
        println!("{}", table::plain(&rows));
        return;
    }
    build_fake();
    let program = env!("CARGO_BIN_EXE_nameplate");
    for case in CASES {
        if options
            .only
            .as_ref()
            .is_some_and(|only| !case.name.contains(only.as_str()))
        {
            continue;
        }
        eprintln!("measuring: {}", case.name);
        let fake = FakeNvml::over("steady-a100-8", &case.scenario());
        let home = tempfile::tempdir().unwrap();
        let library = fake.library().display().to_string();
        let start = || {
            let mut command = command(
                program,
                &[
                    "--nvml-library",
                    &library,
                    "--no-platform",
                    "--interval",
                    "1s",
                ],
                home.path(),
            );
            for (name, value) in fake.env() {
                command.env(name, value);
            }
            // Writing them is work of the fake's in a process of ours: seldom.
            command.env("NAMEPLATE_FAKE_NVML_COUNTS_S", "5");
            command
        };
        let mut row = measure(case.name, &options, &start, Some(&fake));
        row.devices = Some(case.devices);
        row.frozen = case.frozen;
        rows.push(row);
    }
    let once = once_ms(program);
    println!("{}", table::markdown(&rows, once, options.size));
}

fn measure(
    name: &str,
    options: &Options,
    start: &dyn Fn() -> CommandBuilder,
    fake: Option<&FakeNvml>,
) -> Measured {
    let mut measured = Measured {
        name: name.to_owned(),
        ..Measured::default()
    };
    let mut starts: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        let mut run = Run::start(start(), options.size).unwrap();
        let mut found = [None; 2];
        while run.now() < Duration::from_secs(6) && !run.ended() {
            std::thread::sleep(Duration::from_millis(300));
            found = run.first([&|t: &str| !t.trim().is_empty(), &|t: &str| {
                options.has_data(t)
            }]);
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        for (list, at) in starts.iter_mut().zip(found) {
            list.extend(at.map(ms));
        }
        run.quit(&options.quit, Duration::from_secs(5));
    }
    measured.first_text_ms = median(&mut starts[0]);
    measured.data_ms = median(&mut starts[1]);
    steady(&mut measured, options, start, fake);
    measured
}

/// The long run: warm up, a window in which nobody touches it, keys, the end.
fn steady(
    measured: &mut Measured,
    options: &Options,
    start: &dyn Fn() -> CommandBuilder,
    fake: Option<&FakeNvml>,
) {
    let mut run = Run::start(start(), options.size).unwrap();
    let warm = Duration::from_secs(if options.seconds < 10 { 3 } else { 6 });
    std::thread::sleep(warm);
    if run.ended() {
        println!(
            "{}: the program has ended:\n{}",
            measured.name,
            run.screen_at(warm).trim()
        );
        return;
    }
    let filled = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let held = filled(&run.screen_at(warm));
    let [full] = run.first([&|text: &str| filled(text) * 10 >= held * 6]);
    measured.full_frame_ms = full.map(ms);
    let calls = fake.map(Calls::read);
    let mut tree = Tree::follow(run.pid());
    let from = run.now();
    while run.now() < from + Duration::from_secs(options.seconds) {
        // Seldom, as each look wakes caches and takes locks of whom it looks at.
        std::thread::sleep(Duration::from_secs(1));
        tree.look();
    }
    let until = run.now();
    let calls = calls.and_then(|before| fake.map(|fake| Calls::read(fake).since(&before)));
    let seconds = (until - from).as_secs_f64();
    let devices = measured_devices(fake);
    measured.refreshes_per_s = calls
        .as_ref()
        .and_then(|c| Some(c.rate(|n| n == UTILIZATION)? / devices?));
    // Without counts: once a second, as it was asked for.
    let refreshes = measured.refreshes_per_s.unwrap_or(1.0) * seconds;
    let traffic = run.traffic(from, until);
    measured.cpu_ms_per_refresh = tree.cpu_seconds() * 1e3 / refreshes;
    measured.bytes_per_refresh = traffic.bytes as f64 / refreshes;
    measured.bytes_per_s = traffic.bytes as f64 / seconds;
    measured.frames_per_refresh = traffic.frames as f64 / refreshes;
    measured.reads_per_refresh = traffic.reads as f64 / refreshes;
    measured.write_calls_per_s = tree.write_calls() as f64 / seconds;
    if let (Some(calls), Some(rate)) = (&calls, measured.refreshes_per_s) {
        measured.calls_per_refresh = calls.rate(|_| true).map(|r| r / rate);
        measured.pcie_calls_per_refresh = calls
            .rate(|n| n == "nvmlDeviceGetPcieThroughput")
            .map(|r| r / rate);
        measured.process_lists_per_s = calls.rate(|n| n.contains("RunningProcesses"));
    }
    press_keys(measured, options, &mut run);
    tree.look();
    measured.peak_mb = tree.peak_mb();
    (measured.processes, measured.threads) = tree.size();
    if options.show {
        println!("{}", run.screen_at(until));
    }
    measured.quit_ms = run.quit(&options.quit, Duration::from_secs(5)).map(ms);
}

/// Sixteen presses at times that drift through the interval.
fn press_keys(measured: &mut Measured, options: &Options, run: &mut Run) {
    let mut waits = Vec::new();
    for press in 0..16 {
        std::thread::sleep(Duration::from_millis(437));
        let key = if press % 2 == 0 {
            &options.keys.0
        } else {
            &options.keys.1
        };
        let before = run.now();
        run.press(key);
        waits.extend(
            run.next_output(before, Duration::from_secs(5))
                .map(|at| ms(at - before)),
        );
    }
    measured.key_worst_ms = waits.iter().copied().reduce(f64::max);
    measured.key_median_ms = median(&mut waits);
}

const UTILIZATION: &str = "nvmlDeviceGetUtilizationRates";

/// Calls of the library by name, as of an instant: it writes them once a second.
struct Calls {
    at: SystemTime,
    counts: BTreeMap<String, u64>,
}

impl Calls {
    fn read(fake: &FakeNvml) -> Self {
        let file = fake.dir().join("counts.txt");
        let at = std::fs::metadata(file)
            .and_then(|m| m.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            at,
            counts: fake.counts(),
        }
    }

    fn since(self, before: &Self) -> Rates {
        let seconds = self
            .at
            .duration_since(before.at)
            .unwrap_or_default()
            .as_secs_f64();
        let counts = self
            .counts
            .into_iter()
            .filter(|(name, _)| !name.starts_with("max_"));
        let counts = counts
            .map(|(name, count)| {
                let earlier = before.counts.get(&name).copied().unwrap_or(0);
                (name, count.saturating_sub(earlier))
            })
            .collect();
        Rates { seconds, counts }
    }
}

/// Calls within a span.
struct Rates {
    seconds: f64,
    counts: BTreeMap<String, u64>,
}

impl Rates {
    /// Calls a second, of the functions that are wanted; absent where nothing was counted at all.
    fn rate(&self, wanted: impl Fn(&str) -> bool) -> Option<f64> {
        if self.counts.is_empty() || self.seconds < 1.0 {
            return None;
        }
        let calls: u64 = self
            .counts
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(_, count)| count)
            .sum();
        Some(calls as f64 / self.seconds)
    }
}

/// How many devices the fake lists, from its own scenario.
fn measured_devices(fake: Option<&FakeNvml>) -> Option<f64> {
    let text = std::fs::read_to_string(fake?.dir().join("libnvidia-ml.so.1.toml")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("count = "))?;
    line.trim().parse().ok()
}

/// `once` as a whole process: median of five.
fn once_ms(program: &str) -> Option<f64> {
    let fake = FakeNvml::over(
        "steady-a100-8",
        "[[device]]\ncount = 8\n[device.latency_us]\ncompute_processes = 0\n",
    );
    let home = tempfile::tempdir().ok()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let status = Command::new(program)
            .args([
                "once",
                "--format",
                "json",
                "--no-platform",
                "--nvml-library",
            ])
            .arg(fake.library())
            .env("HOME", home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if status.is_ok_and(|s| s.success()) {
            times.push(ms(begun.elapsed()));
        }
    }
    median(&mut times)
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
