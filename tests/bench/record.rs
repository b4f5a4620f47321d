//! What a recording costs and what it gives: bytes at rest, CPU per tick, seeks, the rate of folding, memory, and what a
//! kill loses. Prints the table of assets/docs/recording.md.
//!
//! ```text
//! cargo bench --bench record                          some minutes
//! cargo bench --bench record -- --hours 6 --kills 40  smaller
//! ```
//!
//! A harness of our own: wall times carry noise, and a figure over its budget is marked, not failed.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(missing_docs, reason = "a program")]

use jiff::Timestamp;
use nameplate::app::playback::{Order, Player};
use nameplate::model::*;
use nameplate::record::{Limits, Reader, Record, Writer};
use nameplate::session::{Session, Start};
use nameplate::simulate::Simulation;
use rust_decimal::Decimal;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an A100 has no counter for.
const NOT_ON_A100: [Metric; 13] = [
    Metric::PowerAverage,
    Metric::PowerInstant,
    Metric::SmActive,
    Metric::SmOccupancy,
    Metric::TensorActive,
    Metric::DramActive,
    Metric::GpmPcieRx,
    Metric::GpmPcieTx,
    Metric::GpmNvlinkRx,
    Metric::GpmNvlinkTx,
    Metric::Margin,
    Metric::MarginShutdown,
    Metric::MarginSlowdown,
];
/// Seeks that are measured.
const SEEKS: usize = 60;
/// Recorders that run beside each other while they are killed.
const BESIDE: usize = 6;

fn main() {
    let (mut hours, mut kills) = (48.0, 300);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = || {
            arguments
                .next()
                .and_then(|n| n.parse::<f64>().ok())
                .expect("a number")
        };
        match name.as_str() {
            "--hours" => hours = number(),
            "--kills" => kills = number() as usize,
            // What cargo adds.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::default();
    for (gpm, what, most) in [
        (true, "bytes per device-sample at rest, with GPM", 70.0),
        (false, "bytes per device-sample at rest, A100 set", 40.0),
    ] {
        let path = folder.path().join(format!("{gpm}.nmp"));
        let written = write(&path, gpm, 65.0 / 60.0);
        table.row(what, written.bytes_per_sample(&path), 1, Some(most));
    }
    let path = folder.path().join("long.nmp");
    let began = Instant::now();
    let written = write(&path, false, hours);
    println!(
        "{hours} h x 8 devices were made in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    table.row(&format!("{hours} h x 8 devices, MB"), megabytes, 1, None);
    table.row(
        "the same, bytes per device-sample",
        written.bytes_per_sample(&path),
        1,
        Some(40.0),
    );
    table.row(
        "CPU to write a tick of 8 devices, mean, ms",
        written.cpu_ms / written.ticks as f64,
        3,
        Some(0.5),
    );
    table.row(
        "the dearest tick (a block is sealed), ms",
        written.worst_ms,
        1,
        None,
    );
    seeks(&path, &written, &mut table);
    folds(&path, &mut table);
    diagnosed(&path, &written, &mut table);
    let lost = kill(folder.path(), kills);
    table.row(
        &format!("{kills} kills: lost at most, s"),
        lost.iter().copied().fold(0.0, f64::max),
        2,
        Some(2.0),
    );
    let mean = lost.iter().sum::<f64>() / lost.len().max(1) as f64;
    table.row("lost on average, s", mean, 2, None);
    println!("\n{}", table.text);
}

#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, what: &str, value: f64, decimals: usize, most: Option<f64>) {
        let over = most.is_some_and(|most| value > most);
        let value = format!("{value:.decimals$}");
        let value = if over { format!("**{value}!**") } else { value };
        let most = most.map_or(String::new(), |most| format!("{most}"));
        let row = format!("| {what} | {value} | {most} |\n");
        print!("{row}");
        self.text.push_str(&row);
    }

    fn least(&mut self, what: &str, value: f64, least: f64) {
        let shown = if value < least {
            format!("**{value:.0}!**")
        } else {
            format!("{value:.0}")
        };
        let row = format!("| {what} | {shown} | at least {least:.0} |\n");
        print!("{row}");
        self.text.push_str(&row);
    }
}

struct Written {
    ticks: usize,
    samples: usize,
    cpu_ms: f64,
    worst_ms: f64,
    first: Timestamp,
    last: Timestamp,
}

impl Written {
    fn bytes_per_sample(&self, path: &Path) -> f64 {
        std::fs::metadata(path).unwrap().len() as f64 / self.samples as f64
    }
}

fn config() -> Config {
    Config {
        price: Some(Price {
            per_hour: Decimal::new(299, 2),
            scope: PriceScope::Device,
            source: PriceSource::Flag,
        }),
        ..Config::default()
    }
}

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

/// On-CPU milliseconds of this thread.
fn cpu_ms() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// Records eight simulated devices at work, as a recorder does: noise of the driver's resolution, processes every five
/// seconds.
fn write(path: &Path, gpm: bool, hours: f64) -> Written {
    let began: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
    let mut source = Simulation::case("healthy", 7).unwrap().beginning_at(began);
    let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
    let mut writer = Writer::open(path, Limits::default()).unwrap();
    let mut written = Written {
        ticks: 0,
        samples: 0,
        cpu_ms: 0.0,
        worst_ms: 0.0,
        first: began,
        last: began,
    };
    let wanted = (hours * 3600.0) as usize;
    while written.ticks < wanted {
        let mut tick = source.tick();
        if !gpm {
            for sample in &mut tick.samples {
                for metric in NOT_ON_A100 {
                    sample.readings.set(metric, Err(Absent::NotSupported));
                }
            }
        }
        if !tick.seq.is_multiple_of(5) {
            tick.changes
                .retain(|c| !matches!(c, Change::HostProcesses(_)));
        }
        if tick.interval > Duration::from_secs(1) {
            session.fold(&tick);
            continue;
        }
        if written.ticks == 0 {
            written.first = tick.at;
        }
        written.last = tick.at;
        written.ticks += 1;
        written.samples += tick.samples.len();
        let due = writer.start_due(tick.mono);
        let start = due.then(|| session.start());
        session.fold(&tick);
        let points = session.minute_points();
        let before = cpu_ms();
        if let Some(start) = start {
            writer
                .start(&tick, written.ticks == 1, &start.to_bytes().unwrap())
                .unwrap();
        }
        writer.append(&tick).unwrap();
        writer.gather(&tick, &points).unwrap();
        let cost = cpu_ms() - before;
        written.cpu_ms += cost;
        written.worst_ms = written.worst_ms.max(cost);
    }
    writer.close().unwrap();
    written
}

/// The next number without a pattern, 0 to 1.
fn chance(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn seeks(path: &Path, written: &Written, table: &mut Table) {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let span = written.last.duration_since(written.first).as_secs_f64();
    let (mut times, mut charts) = (Vec::new(), Vec::new());
    for n in 0..SEEKS {
        // The dearest instants, too: just before the next Start.
        let share = if n < 3 {
            [0.0, 1.0, 0.9999][n]
        } else {
            chance(&mut state)
        };
        let by = jiff::SignedDuration::try_from_secs_f64(span * share).unwrap();
        let at = written.first + by;
        let began = Instant::now();
        let source = SourceKind::Recording("long.nmp".to_owned());
        let mut player = Player::open(path, plates(), source).unwrap();
        assert!(player.obey(&Order::At(at), &mut || true));
        let frame = player.frame(true).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1e3);
        assert!(frame.snapshot.at >= at);
        player.fill_charts(&mut || true);
        let _ = player.frame(true);
        charts.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    charts.sort_by(f64::total_cmp);
    table.row(
        "open and seek to any instant, median, ms",
        times[times.len() / 2],
        1,
        Some(100.0),
    );
    table.row(
        "open and seek, the slowest of 60, ms",
        times[times.len() - 1],
        1,
        Some(100.0),
    );
    table.row(
        "until charts reach back, the slowest, ms",
        charts[charts.len() - 1],
        1,
        None,
    );
}

/// Peak and present resident memory, MB.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kb = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    (kb("VmHWM:") / 1e3, kb("VmRSS:") / 1e3)
}

/// The whole recording through the program: read, folded with all rules, every episode in a document. The best of three.
fn diagnosed(path: &Path, written: &Written, table: &mut Table) {
    let seconds = (0..3).map(|_| {
        let began = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_nameplate"))
            .args(["diagnose", path.to_str().unwrap(), "--format", "json"])
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let seconds = began.elapsed().as_secs_f64();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let observed = document["observed_seconds"].as_f64().unwrap();
        assert!(observed >= 0.99 * written.ticks as f64, "{observed} s");
        seconds
    });
    let best = seconds.fold(f64::INFINITY, f64::min);
    table.row("diagnosed by the program, s", best, 2, Some(5.0));
}

fn folds(path: &Path, table: &mut Table) {
    let reader = Reader::open(path).unwrap();
    let start = reader.start_before(1).unwrap().unwrap();
    let mut session = Session::new(
        Start::from_bytes(&start.body).unwrap(),
        plates(),
        SourceKind::Live,
    );
    // The peak so far is another part's.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (began, cpu) = (Instant::now(), cpu_ms());
    let (mut samples, mut ticks, mut early) = (0, 0, None);
    for record in reader.records(1) {
        if let Record::Tick(_, tick) = record.unwrap() {
            session.fold(&tick);
            samples += tick.samples.len();
            ticks += 1;
            if ticks == 3600 {
                early = Some(memory().0);
            }
        }
    }
    let wall = began.elapsed().as_secs_f64();
    table.least(
        "read and folded, device-samples a second",
        samples as f64 / wall,
        200_000.0,
    );
    table.least(
        "the same per second of CPU",
        samples as f64 / ((cpu_ms() - cpu) / 1e3),
        200_000.0,
    );
    if let Some(early) = early {
        table.row("peak memory after the first hour of it, MB", early, 1, None);
        table.row("peak memory after all of it, MB", memory().0, 1, None);
    }
}

/// Kills recorders at random instants; seconds between each kill and the newest tick that its file then has.
fn kill(folder: &Path, count: usize) -> Vec<f64> {
    let program = std::env::current_exe().unwrap();
    let program = program
        .parent()
        .and_then(Path::parent)
        .unwrap()
        .join("nameplate");
    let root = folder.join("root");
    std::fs::create_dir_all(&root).unwrap();
    let each = count.div_ceil(BESIDE);
    let run = |place: usize| {
        let (program, root) = (&program, &root);
        let path = folder.join(format!("killed-{place}.nmp"));
        let state = folder.join(format!("state-{place}"));
        move || {
            let mut chance_state = 0x2545_f491_4f6c_dd1d ^ (place as u64 + 1) << 32;
            let mut lost = Vec::new();
            for _ in 0..each {
                let mut child = Command::new(program)
                    .args(["record", "--interval", "0.1s", "-o"])
                    .arg(&path)
                    .arg("--root")
                    .arg(root)
                    .env("XDG_STATE_HOME", &state)
                    .env("XDG_CONFIG_HOME", &state)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let begun = Timestamp::now();
                std::thread::sleep(Duration::from_secs_f64(2.5 * chance(&mut chance_state)));
                let now = Timestamp::now();
                child.kill().unwrap();
                child.wait().unwrap();
                let Some(newest) = newest(&path) else {
                    continue;
                };
                // A recorder that was killed before its first tick had nothing to lose.
                if newest > begun {
                    lost.push(now.duration_since(newest).as_secs_f64().max(0.0));
                }
            }
            lost
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..BESIDE).map(|place| scope.spawn(run(place))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// The newest tick of a file after a kill, all of which is read.
fn newest(path: &Path) -> Option<Timestamp> {
    if std::fs::metadata(path).ok()?.len() == 0 {
        return None;
    }
    let reader = Reader::open(path).ok()?;
    let mut newest = None;
    for record in reader.records(1) {
        if let Record::Tick(_, tick) = record.expect("a kill damages nothing") {
            newest = Some(tick.at);
        }
    }
    newest
}
