//! The command line as a user meets it: arguments in; exit code, stdout and stderr out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::args::{Format, Stream};
use super::config::{FileSettings, Folders};
use super::source::Source;
use super::*;
use crate::model::*;
use crate::units::MonoTime;
use clap::Parser as _;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A writer that can be looked into, or that is closed.
#[derive(Clone, Default)]
pub(super) struct Pipe {
    text: Arc<Mutex<Vec<u8>>>,
    closed_after: Option<usize>,
}

impl Pipe {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.text.lock().unwrap();
        if self.closed_after.is_some_and(|limit| text.len() >= limit) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A world without a home, with its stdout and stderr.
pub(super) fn world(folder: Option<&Path>) -> (World, Pipe, Pipe) {
    let (stdout, stderr) = (Pipe::default(), Pipe::default());
    let world = World {
        env: Box::new(|name| (name == "TERM").then(|| "xterm".to_owned())),
        folders: Folders {
            config: folder.map(Path::to_owned),
            state: None,
        },
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        now: || jiff::Timestamp::UNIX_EPOCH,
    };
    (world, stdout, stderr)
}

/// Exit code, stdout, stderr.
pub(super) fn answer(arguments: &[&str], folder: Option<&Path>) -> (u8, String, String) {
    let (mut world, stdout, stderr) = world(folder);
    let arguments = ["nameplate"].iter().chain(arguments).map(OsString::from);
    let code = run(arguments, &mut world);
    (code, stdout.text(), stderr.text())
}

#[test]
fn the_tree_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_help_with_examples() {
    fn check(command: &mut clap::Command, path: &str) {
        let help = command.render_long_help().to_string();
        assert!(help.contains("Examples:"), "{path} has no examples");
        assert!(command.get_about().is_some(), "{path} says nothing");
        for inner in command.get_subcommands_mut() {
            let name = inner.get_name().to_owned();
            if !inner.is_hide_set() && name != "help" {
                check(inner, &format!("{path} {name}"));
            }
        }
    }
    let mut command = Cli::command();
    command.build();
    check(&mut command, "nameplate");
}

#[test]
fn contract_commands_and_flags_parse() {
    for line in [
        "",
        "demo",
        "demo drift --list --format json",
        "once --format table",
        "stream --for 10s --count 3",
        "record -o a.nmp --for 1h",
        "record --background",
        "record --status",
        "record --stop",
        "replay a.csv --speed 60 --at 2026-03-01T00:00:00Z",
        "export a.csv --to jsonl",
        "export a.nmp --to csv --every 1m --from 2026-03-01T00:00:00Z --until 2026-03-02T00:00:00Z",
        "diagnose",
        "diagnose a.csv --for 5m --format json",
        "doctor --format json",
        "audit a.nmp --bill b.csv --rule runpod --format csv",
        "run --budget 5 --max-idle 10m --stop-on device_lost -- python -c pass",
        "run --attach 4242 --report r.json",
        "compare a b --tensors x y",
        "platforms check --no-platform --format json",
        "platforms --format json",
        "serve",
        "config",
        "config check f.toml",
        "themes",
        "completions zsh",
        "man",
        "once --interval 0.5s --config f --price 2.99 --currency EUR --granularity hour --since 2026-03-01T00:00:00Z \
         --budget 200 --theme light --ascii --color 256 --linear --lang zh-CN --tz Asia/Shanghai --nvml-library /l.so \
         --root /r --no-platform --platform aws --platform-url http://127.0.0.1 --no-record",
        "--price-per-device 1 once",
    ] {
        let arguments = ["nameplate"].into_iter().chain(line.split_whitespace());
        if let Err(error) = Cli::try_parse_from(arguments) {
            assert!(error.exit_code() == 0, "{line}: {error}");
        }
    }
}

#[test]
fn wrong_usage_is_2() {
    for line in [
        "once --price 1 --price-per-device 2",
        "--price 1 once --price-per-device 2",
        "once --interval 0.05s",
        "once --interval 61s",
        "once --format yaml",
        "once --since yesterday",
        "stream --count 0",
        "nonsense",
        "audit a.nmp",
        "run",
        "once --color blue",
    ] {
        let (code, stdout, stderr) = answer(&line.split_whitespace().collect::<Vec<_>>(), None);
        assert_eq!(code, 2, "{line}: {stderr}");
        assert_eq!(stdout, "", "{line}");
        assert!(!stderr.is_empty(), "{line}");
    }
}

#[test]
fn help_and_version_are_0() {
    for line in ["--help", "-h", "--version", "once --help", "help stream"] {
        let (code, stdout, stderr) = answer(&line.split_whitespace().collect::<Vec<_>>(), None);
        assert_eq!((code, stderr.as_str()), (0, ""), "{line}");
        assert!(!stdout.is_empty(), "{line}");
    }
}

#[test]
fn what_is_not_built_says_so_in_one_line() {
    for line in [
        "doctor --format json",
        "audit x --bill y --format json",
        "run -- true",
        "serve",
    ] {
        let words: Vec<_> = line.split_whitespace().collect();
        let (code, stdout, stderr) = answer(&words, None);
        assert_eq!((code, stdout.as_str()), (1, ""), "{line}");
        assert!(
            stderr.starts_with(&format!("nameplate: {}: not in this version; ", words[0])),
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let (code, stdout, _) = answer(
        &["platforms", "check", "--no-platform", "--format", "json"],
        None,
    );
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (code, &document["chosen"], &document["asked_network"]),
        (0, &serde_json::Value::Null, &false.into())
    );
}

#[test]
fn small_commands_write_text() {
    for (line, part) in [
        ("themes", "dark\nlight\nmono\n"),
        ("completions bash", "_nameplate"),
        ("man", ".TH"),
        ("config", "[thresholds]"),
        ("platforms", "by detection and tariff only"),
        (
            "platforms check --no-platform",
            "No platform was found here.",
        ),
    ] {
        let (code, stdout, stderr) = answer(&line.split_whitespace().collect::<Vec<_>>(), None);
        assert_eq!((code, stderr.as_str()), (0, ""), "{line}");
        assert!(stdout.contains(part), "{line}: {stdout}");
    }
}

#[test]
fn a_broken_configuration_is_named_and_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "[screen]\n\nthem = \"dark\"\ninterval = \"9h\"\n").unwrap();
    let place = path.display();
    let first = format!("nameplate: {place}:3: unknown key them in [screen]; did you mean theme?");
    let (code, _, stderr) = answer(&["themes"], Some(folder.path()));
    assert_eq!(
        (code, stderr),
        (
            1,
            format!("{first} (and 1 more; run `nameplate config check`)\n")
        )
    );
    let (code, stdout, stderr) = answer(&["config", "check"], Some(folder.path()));
    assert_eq!((code, stdout.as_str()), (1, ""));
    let second = format!("{place}:4: interval in [screen]: \"9h\" is not between 0.1s and 60s");
    assert_eq!(stderr, format!("{first}\n{second}\n"));
    let (code, stdout, _) = answer(&["config"], Some(folder.path()));
    assert_eq!(code, 0);
    std::fs::write(&path, stdout).unwrap();
    let (code, stdout, _) = answer(&["config", "check"], Some(folder.path()));
    assert_eq!((code, stdout), (0, format!("{place}: nothing wrong\n")));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for line in ["--help", "config", "man", "platforms --format json"] {
        let (mut world, _, stderr) = world(None);
        world.stdout = Box::new(Pipe {
            closed_after: Some(0),
            ..Pipe::default()
        });
        let code = run(
            ["nameplate"]
                .into_iter()
                .chain(line.split_whitespace())
                .map(OsString::from),
            &mut world,
        );
        assert_eq!((code, stderr.text().as_str()), (0, ""), "{line}");
    }
}

/// Yields prepared ticks, then ends.
pub(super) struct Script(pub(super) Vec<Tick>);

impl Feed for Script {
    fn start(self: Box<Self>, mut sink: Sink) -> io::Result<FeedHandle> {
        let (control, _) = std::sync::mpsc::channel();
        std::thread::spawn(move || self.0.into_iter().all(&mut sink));
        Ok(FeedHandle { control })
    }
}

pub(super) fn tick(seq: u64, changes: Vec<Change>, samples: Vec<Sample>) -> Tick {
    Tick {
        seq,
        at: jiff::Timestamp::from_second(1_772_366_673 + seq as i64).unwrap(),
        mono: MonoTime(seq * 1_000_000_000),
        interval: Duration::from_secs(1),
        dropped: 0,
        samples,
        host: None,
        changes,
        events: Vec::new(),
    }
}

fn report(status: ProbeStatus) -> Change {
    Change::Probe(ProbeReport {
        vendor: Vendor::Nvidia,
        library: "libnvidia-ml.so.1".into(),
        path: None,
        version: None,
        status,
        code: None,
        message: None,
        hint: ProbeHint::Unknown,
    })
}

/// A probe that starts, then lists one device that draws 300 W, then 400 W.
pub(super) fn one_device() -> Vec<Tick> {
    let device = crate::publish::sample::device_view(0, Absent::NotReported).device;
    let sample = |seq: u64, watts: f64| {
        let mut readings = Readings::default();
        readings.set(Metric::PowerUsage, Ok(watts));
        readings.set(Metric::PowerAverage, Ok(watts));
        Sample {
            device: device.id.clone(),
            at: MonoTime(seq * 1_000_000_000),
            readings,
        }
    };
    vec![
        tick(1, vec![report(ProbeStatus::Starting)], Vec::new()),
        tick(
            2,
            vec![report(ProbeStatus::Ok), Change::Device(device.clone())],
            vec![sample(2, 300.0)],
        ),
        tick(3, Vec::new(), vec![sample(3, 400.0)]),
        tick(4, Vec::new(), vec![sample(4, 500.0)]),
    ]
}

pub(super) fn source(ticks: Vec<Tick>) -> Source {
    Source {
        feed: Box::new(Script(ticks)),
        kind: SourceKind::Live,
        config: settings().config,
        speed: 1.0,
    }
}

pub(super) fn settings() -> Settings {
    let cli = Cli::try_parse_from(["nameplate", "--price", "2.99"]).unwrap();
    let env = |name: &str| (name == "TERM").then(|| "xterm".to_owned());
    Settings::merge(
        &cli.shared,
        FileSettings::default(),
        &Folders::default(),
        env,
    )
}

#[test]
fn once_takes_two_samples_and_writes_one_document() {
    let (mut world, stdout, _) = world(None);
    once::run(source(one_device()), Format::Json, &settings(), &mut world).unwrap();
    assert_eq!(stdout.text().lines().count(), 1);
    let document: serde_json::Value = serde_json::from_str(&stdout.text()).unwrap();
    assert_eq!(document["seq"], 3);
    assert_eq!(document["mode"], "once");
    assert_eq!(document["devices"][0]["power_w"], 400.0);
    assert_eq!(document["cost"]["price_per_hour"], "2.99");
}

#[test]
fn once_without_an_accelerator_fails_and_still_writes() {
    for (format, part) in [
        (Format::Json, "\"no_library\""),
        (Format::Text, "No accelerator was found"),
    ] {
        let ticks = vec![
            tick(1, vec![report(ProbeStatus::NoLibrary)], Vec::new()),
            tick(2, Vec::new(), Vec::new()),
        ];
        let (mut world, stdout, _) = world(None);
        let error = once::run(source(ticks), format, &settings(), &mut world).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(stdout.text().contains(part), "{}", stdout.text());
    }
    let (mut world, _, _) = world(None);
    let error = once::run(source(Vec::new()), Format::Json, &settings(), &mut world).unwrap_err();
    assert!(matches!(error, CliError::NoSample { .. }), "{error}");
}

fn stream_args(line: &str) -> Stream {
    let arguments = ["nameplate", "stream"]
        .into_iter()
        .chain(line.split_whitespace());
    match Cli::try_parse_from(arguments).unwrap().command {
        Some(Command::Stream(args)) => args,
        _ => unreachable!(),
    }
}

#[test]
fn a_stream_begins_with_the_first_answer_and_counts_lines() {
    for (line, seqs) in [("", vec![2, 3, 4]), ("--count 2", vec![2, 3])] {
        let (mut world, stdout, _) = world(None);
        stream::run(source(one_device()), &stream_args(line), &mut world).unwrap();
        let written: Vec<i64> = stdout
            .text()
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"]
                    .as_i64()
                    .unwrap()
            })
            .collect();
        assert_eq!(written, seqs, "{line}");
    }
}

#[test]
fn a_stream_ends_when_its_reader_goes() {
    let (mut world, _, _) = world(None);
    world.stdout = Box::new(Pipe {
        closed_after: Some(10),
        ..Pipe::default()
    });
    let error = stream::run(source(one_device()), &stream_args(""), &mut world).unwrap_err();
    assert!(matches!(error, CliError::ClosedPipe), "{error}");
}
