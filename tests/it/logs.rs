//! Logs of other programs from outside: the program on real logs, on standard input, and live until Ctrl-C.
//!
//! The corpus is private input: without it those tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use crate::contract::{DEADLINE, Program, Schema};
use crate::support::nvml::FakeNvml;
use jiff::tz::TimeZone;
use nameplate::model::{DeviceId, Metric, Tick};
use nameplate::record::{Import, ImportOptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A file of the corpus, where it is at hand.
fn corpus(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = folder.join(name);
    if !path.exists() {
        println!("ignored: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn import(path: &Path) -> Result<Vec<Tick>, String> {
    let options = ImportOptions {
        zone: TimeZone::UTC,
        columns: None,
    };
    let file = std::fs::File::open(path).unwrap();
    let import = Import::open(Box::new(file), &options).map_err(|error| error.to_string())?;
    import
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// All values of a metric of one device, in order.
fn values(ticks: &[Tick], device: &str, metric: Metric) -> Vec<f64> {
    let id = DeviceId(device.into());
    let samples = ticks.iter().flat_map(|tick| &tick.samples);
    samples
        .filter(|sample| sample.device == id)
        .filter_map(|sample| sample.readings.get(metric).ok())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn near(is: f64, wanted: f64, slack: f64) {
    assert!((is - wanted).abs() <= slack, "{is}, not {wanted} ± {slack}");
}

fn seconds(ticks: &[Tick]) -> f64 {
    let (first, last) = (ticks.first().unwrap(), ticks.last().unwrap());
    last.at.duration_since(first.at).as_secs_f64()
}

#[test]
fn a_limit_that_changes_inside_one_log_is_read_step_by_step() {
    let Some(path) = corpus("s01-rtxpro6000-server-pl-sweep.csv") else {
        return;
    };
    let ticks = import(&path).unwrap();
    let of = |metric| values(&ticks, "index:8", metric);
    let (limits, watts, clocks) = (
        of(Metric::LimitEnforced),
        of(Metric::PowerUsage),
        of(Metric::SmClock),
    );
    assert_eq!(limits.len(), watts.len());
    for (limit, power, clock) in [
        (300.0, 300.1, 1395.0),
        (350.0, 343.3, 1611.0),
        (400.0, 400.2, 1699.0),
        (450.0, 442.7, 1896.0),
        (500.0, 499.0, 1880.0),
        (550.0, 486.0, 1790.0),
        (600.0, 447.3, 1739.0),
    ] {
        let rows: Vec<usize> = (0..limits.len()).filter(|i| limits[*i] == limit).collect();
        let last = &rows[rows.len() - 25..];
        near(
            mean(&last.iter().map(|i| watts[*i]).collect::<Vec<_>>()),
            power,
            0.1,
        );
        near(
            mean(&last.iter().map(|i| clocks[*i]).collect::<Vec<_>>()),
            clock,
            1.0,
        );
    }
    // Up to 500 W the limit governs, at 550 and 600 W heat does; utilization is not in the log.
    let document = diagnosed(&path, &[]);
    let causes: Vec<&str> = said(&document, 0);
    let capped = ["power_cap"; 5];
    assert_eq!(causes, [&capped[..], &["thermal"; 2]].concat());
    assert!(
        episodes(&document).all(|e| (e["cause"] == "thermal") == e["counts"].as_bool().unwrap())
    );
    let verdict = &document["devices"][0]["verdict"];
    assert_eq!(verdict["cause"], "thermal");
    assert_eq!(verdict["state"], "throttled");
    let sentence = verdict["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("It is too hot"), "{sentence}");
}

fn episodes(document: &Json) -> impl Iterator<Item = &Json> {
    document["episodes"].as_array().unwrap().iter()
}

/// The causes of a device's episodes by their begin.
fn said(document: &Json, index: u64) -> Vec<&str> {
    let of_device =
        episodes(document).filter(|e| e["index"] == document["devices"][index as usize]["index"]);
    of_device.map(|e| e["cause"].as_str().unwrap()).collect()
}

#[test]
fn a_table_without_a_header_whose_columns_can_only_be_one_thing_is_read() {
    let Some(path) = corpus("s02-h80g-llm-host-5s.log") else {
        return;
    };
    let ticks = import(&path).unwrap();
    assert_eq!(ticks.len(), 1657);
    near(seconds(&ticks), 8371.0, 1.0);
    let busy = values(&ticks, "log:only", Metric::Utilization);
    let idle: Vec<f64> = busy.iter().copied().filter(|u| *u < 0.10).collect();
    near(idle.len() as f64 / busy.len() as f64, 0.936, 0.001);
    let used = values(&ticks, "log:only", Metric::MemoryUsed);
    assert!(used.iter().all(|bytes| *bytes == 73_543.0 * 1_048_576.0));
    let watts = values(&ticks, "log:only", Metric::PowerUsage);
    assert_eq!((watts.len(), used.len()), (1657, 1657));
    let last_busy = ticks.iter().rposition(|tick| {
        let utilization = tick.samples[0].readings.get(Metric::Utilization);
        utilization.is_ok_and(|u| u >= 0.10)
    });
    near(seconds(&ticks[last_busy.unwrap()..]), 1164.0, 1.0);
}

#[test]
fn billed_idle_is_told_of_a_card_that_holds_memory() {
    let Some(path) = corpus("s02-h80g-llm-host-5s.log") else {
        return;
    };
    let document = diagnosed(&path, &[]);
    let phases = &document["devices"][0]["phase_seconds"];
    near(phases["idle"].as_f64().unwrap(), 7800.0, 100.0);
    near(document["observed_seconds"].as_f64().unwrap(), 8371.0, 20.0);
}

#[test]
fn an_ordinary_busy_log_without_a_key_is_one_device() {
    let Some(path) = corpus("s04-rtx4090-query-1s.csv") else {
        return;
    };
    let ticks = import(&path).unwrap();
    let busy = values(&ticks, "log:only", Metric::Utilization);
    near(mean(&busy), 0.83, 0.005);
    let low = busy.iter().filter(|u| **u < 0.10).count() as f64;
    near(low / busy.len() as f64, 0.039, 0.001);
    let watts = values(&ticks, "log:only", Metric::PowerUsage);
    near(watts.iter().copied().fold(0.0, f64::max), 332.9, 0.05);
    let document = diagnosed(&path, &[]);
    let device = &document["devices"][0];
    assert!(
        device["power_limit_ratio"].is_null(),
        "the log has no limit"
    );
    assert_eq!(device["plate_power_source"], "table");
    assert_eq!(document["result"], "ok", "healthy");
    let named = said(&document, 0);
    assert!(
        named.iter().all(|cause| *cause == "eval_pause"),
        "{named:?}"
    );
    assert_eq!(device["verdict"]["state"], "working");
}

#[test]
fn a_repeated_header_is_no_row() {
    let Some(path) = corpus("s05-rtx2070-repeated-header.csv") else {
        return;
    };
    let ticks = import(&path).unwrap();
    assert_eq!(ticks.len(), 120);
    let total = values(&ticks, "0000:01:00.0", Metric::MemoryTotal);
    assert_eq!(total.len(), 120);
}

#[test]
fn a_stalled_start_up_is_read_without_work_and_with_watts() {
    let Some(path) = corpus("s17-rtx3090x2-phase-monitor.csv") else {
        return;
    };
    let ticks = import(&path).unwrap();
    for device in ["index:0", "index:1"] {
        assert!(
            values(&ticks, device, Metric::Utilization)
                .iter()
                .all(|u| *u == 0.0)
        );
    }
    let watts = values(&ticks, "index:0", Metric::PowerUsage);
    near(watts.iter().copied().fold(0.0, f64::max), 132.0, 1.0);
    let held = values(&ticks, "index:0", Metric::MemoryUsed);
    let most = held.iter().copied().fold(0.0, f64::max);
    near(most / 1_048_576.0, 1700.0, 1.0);
    // The first was woken and never worked; the second was not used.
    let document = diagnosed(&path, &[]);
    let verdict = |n: usize| {
        let verdict = &document["devices"][n]["verdict"];
        [&verdict["state"], &verdict["cause"], &verdict["confidence"]]
    };
    assert_eq!(verdict(0), ["unknown", "unknown", "suspect"]);
    assert_eq!(verdict(1), ["idle", "idle_billed", "suspect"]);
}

#[test]
fn events_of_a_known_logger_are_read_with_the_hosts_cpu() {
    let Some(path) = corpus("s19-wandb-events.jsonl") else {
        return;
    };
    let ticks = import(&path).unwrap();
    assert_eq!(ticks.len(), 18);
    let busy = values(&ticks, "index:0", Metric::Utilization);
    assert!(busy.iter().all(|u| (0.03..0.08).contains(u)), "{busy:?}");
    let cpu: Vec<f64> = ticks
        .iter()
        .filter_map(|tick| tick.host.as_ref()?.cpu_ratio.ok())
        .collect();
    near(mean(&cpu), 0.70, 0.05);
    assert!(
        values(&ticks, "index:0", Metric::MemoryActivity).is_empty(),
        "zero in every line"
    );
}

#[test]
fn another_vendors_table_is_read_for_all_its_devices() {
    let Some(path) = corpus("s20-amd-8gpu-metric-idle.csv") else {
        return;
    };
    let ticks = import(&path).unwrap();
    let document = diagnosed(&path, &[]);
    assert_eq!(document["devices"].as_array().unwrap().len(), 8);
    assert_eq!(document["devices"][0]["vendor"], "amd");
    let watts = values(&ticks, "index:0", Metric::PowerUsage);
    assert!(
        watts.iter().all(|w| (236.0..248.0).contains(w)),
        "{watts:?}"
    );
    let host: f64 = (0..8)
        .map(|n| mean(&values(&ticks, &format!("index:{n}"), Metric::PowerUsage)))
        .sum();
    near(host, 1930.0, 50.0);
}

#[test]
fn logs_that_cannot_be_read_for_sure_are_refused_with_line_and_reason() {
    for (name, wanted) in [
        (
            "s03-h200-2node-bmc-power.csv",
            "line 1: no column has a reading of a device",
        ),
        (
            "s06-rtx4060laptop-header-mismatch.csv",
            "line 2: 10 values under 9 names",
        ),
        (
            "s07-l40s-smi-tables.log",
            "line 2: tables of plain nvidia-smi",
        ),
        ("s08-dcgm-long-format.csv", "line 1: DCGM's long form"),
        ("s09-h100-node-power-mllog-low.txt", "line 1: an MLPerf log"),
        (
            "s09-h100-node-power-mllog-high.txt",
            "line 1: an MLPerf log",
        ),
        ("s10-a40x4-power-limit-windows.csv", "line 1: "),
        ("s11-codecarbon-emissions.csv", "line 1: "),
        (
            "s12-h100-nvsmi-idle-load-capture.txt",
            "line 2: a capture of nvidia_gpu_exporter",
        ),
        ("s13-rtx4090x2-lspci.txt", "line 1: "),
        (
            "s13-rtx4090x2-nvidia-smi.txt",
            "line 2: tables of plain nvidia-smi",
        ),
        ("s14-a100x384-train.log", "line 1: "),
        ("s15-gentd26-3pods-duty.csv", "line 1: "),
        ("s15-gentd26-3pods-mem.csv", "line 1: "),
        (
            "s16-windows-batch-query.log",
            "line 9: no column says which device",
        ),
        ("s18-watch-ansi-h100.log", "line 1: a terminal recording"),
        ("s21-ascend-npu-info.txt", "line 1: "),
    ] {
        let Some(path) = corpus(name) else { continue };
        let refused = import(&path).expect_err(name);
        assert!(refused.starts_with(wanted), "{name}: {refused}");
        let output = Program::new(&["diagnose", path.to_str().unwrap()]).output();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
        assert!(stderr.contains("; next: "), "{name}: {stderr}");
    }
}

/// The document of a log, which fits its schema; its exit code says the same.
fn diagnosed(path: &Path, more: &[&str]) -> Json {
    let mut arguments = vec!["diagnose", path.to_str().unwrap(), "--format", "json"];
    arguments.extend(more);
    let output = Program::new(&arguments).output();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Json = serde_json::from_slice(&output.stdout).expect(&stderr);
    assert_eq!(
        Schema::of("diagnosis").check(&document),
        Vec::<String>::new()
    );
    let code = match document["result"].as_str().unwrap() {
        "certain" => 4,
        "suspected" => 3,
        _ => 0,
    };
    assert_eq!(output.status.code(), Some(code));
    document
}

#[test]
fn standard_input_is_read_to_its_end() {
    let mut program = Program::new(&["diagnose", "-", "--format", "json", "--tz", "UTC"]);
    let mut child = program
        .command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"#Date Time gpu pwr sm\n#YYYYMMDD HH:MM:SS Idx W %\n 20260301 12:00:00 0 612 99\n 20260301 12:00:01 0 613 99\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["format"], "nvidia_smi_dmon");
    assert_eq!(document["file"], "standard input");
    assert_eq!(document["devices"][0]["power_w"], 613.0);
}

/// However long it was to watch: an hour, or as long as can be said.
#[test]
fn ctrl_c_finishes_a_live_diagnosis() {
    for span in ["1h", "87840h"] {
        finishes_a_live_diagnosis_of(span);
    }
    for beyond in ["87841h", "18446744073709551615s", "99999999999999999999h"] {
        let output = Program::new(&["diagnose", "--for", beyond]).output();
        assert_eq!(output.status.code(), Some(2), "{beyond}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("--for"), "{text}");
    }
}

fn finishes_a_live_diagnosis_of(span: &str) {
    let fake = FakeNvml::named("idle");
    let arguments = [
        "diagnose",
        "--for",
        span,
        "--interval",
        "0.1s",
        "--format",
        "json",
    ];
    let mut program = Program::new(&arguments).on(&fake, 0.0);
    let command = program.command.envs(fake.env());
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    // Sampled over and over: the program watches, and listens for signals since before it did.
    let end = Instant::now() + DEADLINE;
    while fake.counts().values().max().is_none_or(|most| *most < 20) {
        assert!(Instant::now() < end, "it does not sample");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        Schema::of("diagnosis").check(&document),
        Vec::<String>::new()
    );
    assert!(
        matches!(output.status.code(), Some(0 | 3 | 4)),
        "{}",
        output.status
    );
    assert_eq!(document["source"], "live");
    assert!(document["observed_seconds"].as_f64().unwrap() > 0.0);
}

/// Peak memory of the program in kilobytes after so many rows of a log on its standard input.
fn peak_after(rows: i64) -> u64 {
    let mut program = Program::new(&["diagnose", "-", "--format", "json", "--tz", "UTC"]);
    let mut child = program
        .command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    input
        .write_all(b"timestamp, index, utilization.gpu [%], power.draw [W]\n")
        .unwrap();
    for second in 0..rows {
        let at = 1_772_366_673 + second;
        let row = format!("{at}, 0, {} %, 600.00 W\n", 90 + second % 10);
        input.write_all(row.as_bytes()).unwrap();
    }
    input.flush().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak
        .unwrap()
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse()
        .unwrap();
    drop(input);
    child.wait_with_output().unwrap();
    peak
}

#[test]
fn a_long_log_needs_no_more_memory_than_a_short_one() {
    // Past the ring of the charts (15 minutes) and the window in which lines are put in order.
    let (short, long) = (peak_after(5000), peak_after(60_000));
    assert!(
        long < short + 4000,
        "{short} kB after 5000 rows, {long} kB after 60000"
    );
}
