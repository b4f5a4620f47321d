//! Commands from outside: exit codes, where output goes, signals, and what `--root` may read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, reason = "a check that is left out says so")]

use super::contract::{DEADLINE, Program, Schema};
use crate::support::nvml::FakeNvml;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

/// Writes files under a folder.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

/// Arguments, the user's file, exit code, and what the error says.
#[test]
fn failures_have_their_exit_code_and_one_line() {
    let folder = tree(&[]);
    let place = folder.path().to_str().unwrap();
    let table: &[(&[&str], &str, i32, &[&str])] = &[
        (
            &["once", "--price", "1", "--price-per-device", "2"],
            "",
            2,
            &["--price-per-device"],
        ),
        (&["once", "--interval", "50ms"], "", 2, &["0.1s and 60s"]),
        (
            &["once", "--price", "-1"],
            "",
            2,
            &["-1", "is not between 0 and"],
        ),
        (&["stream", "--for", "soon"], "", 2, &["90s, 5m or 36h"]),
        (
            &["once", "--since", "today"],
            "",
            2,
            &["2026-03-01T12:00:00Z"],
        ),
        (&["demo", "narow-link"], "", 2, &["narrow-link", "next:"]),
        (
            &["once"],
            "[price]\nper_hor = 2\n",
            1,
            &["config.toml:2:", "per_hor", "did you mean per_hour?"],
        ),
        (
            &["stream"],
            "[scren]\n",
            1,
            &["config.toml:1:", "did you mean screen?"],
        ),
        (
            &["config", "check"],
            "\n[screen]\ninterval = \"90s\"\n",
            1,
            &["config.toml:3:", "interval"],
        ),
        (
            &["once", "--config", "/nowhere/x.toml"],
            "",
            1,
            &["/nowhere/x.toml", "next:"],
        ),
        (&["once", "--config", place], "", 1, &[place, "next:"]),
        (
            &["once", "--root", place],
            "",
            1,
            &["no accelerator", "next:"],
        ),
        (&["doctor"], "", 1, &["not in this version"]),
    ];
    for (args, file, code, says) in table {
        let output = Program::new(args).file(file).output();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {text}");
        for part in *says {
            assert!(text.contains(part), "{args:?}: {text}");
        }
        if *code == 1 {
            assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
        }
    }
}

#[test]
fn without_an_accelerator_the_document_is_written() {
    let root = tree(&[]);
    let root = root.path().to_str().unwrap();
    let args = ["once", "--format", "json", "--price", "3", "--root", root];
    let output = Program::new(&args).output();
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    assert_eq!(document["devices"], Json::Array(Vec::new()));
    let probe = &document["probes"][0];
    assert_eq!(probe["status"], "no_library");
    assert!(probe["message"].is_string() && probe["next"].is_string());
    assert_eq!(document["cost"]["available_ratio"], Json::Null);
    assert_eq!(document["energy"], Json::Null);
}

#[test]
fn other_documents_fit_their_schemas() {
    for (args, name) in [
        (["demo", "--list", "--format", "json"], "demos"),
        (["platforms", "check", "--format", "json"], "platforms"),
    ] {
        let output = Program::new(&args).env("LANG", "zh_CN.UTF-8").output();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(Schema::of(name).check(&json(&output)), [""; 0]);
        assert!(output.stdout.is_ascii(), "{name} is in English");
    }
    let list = Program::new(&["demo", "--list"]).output();
    let text = String::from_utf8(list.stdout).unwrap();
    for case in ["healthy", "drift", "narrow-link", "hang", "forgotten"] {
        let has = |line: &str| line.split_once("  ").is_some_and(|(name, _)| name == case);
        assert!(text.lines().any(has), "{case} in {text}");
    }
}

#[test]
fn text_keeps_to_80_columns_and_to_the_locale() {
    for scenario in ["garbage", "mig", "narrow-link", "gb10"] {
        let fake = FakeNvml::named(scenario);
        for (lang, locale) in [("en", "C.UTF-8"), ("zh-CN", "C.UTF-8"), ("en", "C")] {
            let args = [
                "once",
                "--lang",
                lang,
                "--price",
                "2.5",
                "--currency",
                "CNY",
            ];
            let output = Program::new(&args)
                .env("LANG", locale)
                .on(&fake, 0.0)
                .output();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.lines().count() > 5, "{scenario}: {text}");
            for line in text.lines() {
                assert!(line.width() <= 80, "{} columns: {line}", line.width());
                assert!(!line.contains(char::is_control), "{line:?}");
            }
            assert!(locale != "C" || text.is_ascii(), "{text}");
        }
    }
}

/// Instances are counted anew under each parent, and their names end where they differ.
#[test]
fn instances_have_a_number_and_a_name_of_their_own() {
    let fake = FakeNvml::named("mig");
    for args in [&["once"][..], &["diagnose", "--for", "1s"]] {
        let output = Program::new(args).on(&fake, 0.0).output();
        let text = String::from_utf8(output.stdout).unwrap();
        for (number, once) in [("  0  ", 2), ("0/0  ", 2), ("0/1  ", 2)] {
            let lines = text.lines().filter(|line| line.starts_with(number)).count();
            let wanted = if args[0] == "once" { once } else { 1 };
            assert_eq!(lines, wanted, "{number:?} in {text}");
        }
        let profiles = ["0/0  MIG 3g.40gb  ", "0/1  MIG 2g.20gb  "];
        assert!(
            args[0] != "once" || profiles.iter().all(|p| text.contains(p)),
            "{text}"
        );
    }
}

#[test]
fn text_that_needs_no_device_keeps_to_80_columns() {
    for lang in ["en", "zh-CN"] {
        for args in [
            &["platforms"][..],
            &["platforms", "check"],
            &["demo", "--list"],
            &["themes"],
        ] {
            let output = Program::new(args).env("NAMEPLATE_LANG", lang).output();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.lines().count() >= 3, "{args:?}: {text}");
            for line in text.lines() {
                assert!(line.width() <= 80, "{} columns: {line}", line.width());
            }
        }
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn stream(fake: &FakeNvml) -> Self {
        let mut program = Program::new(&["stream", "--interval", "0.1s"]).on(fake, 0.0);
        Self(program.command.stdout(Stdio::piped()).spawn().unwrap())
    }

    fn interrupt(&self) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    }

    /// The exit code.
    fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        panic!("it does not end");
    }
}

#[test]
fn ctrl_c_ends_a_stream_with_a_whole_line() {
    let fake = FakeNvml::named("idle");
    let mut stream = Running::stream(&fake);
    let mut lines = BufReader::new(stream.0.stdout.take().unwrap());
    let mut text = String::new();
    lines.read_line(&mut text).unwrap();
    stream.interrupt();
    lines.read_to_string(&mut text).unwrap();
    assert_eq!(stream.ended(), Some(0));
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        serde_json::from_str::<Json>(line).unwrap();
    }
}

#[test]
fn ctrl_c_ends_a_stream_whose_reader_takes_nothing() {
    let fake = FakeNvml::named("steady-a100-8");
    let mut stream = Running::stream(&fake);
    let mut stdout = stream.0.stdout.take().unwrap();
    // The first byte says that it writes; the rest fills the pipe.
    stdout.read_exact(&mut [0]).unwrap();
    stream.interrupt();
    assert_eq!(stream.ended(), Some(0));
}

#[test]
fn a_stream_ends_quietly_with_its_reader() {
    let fake = FakeNvml::named("idle");
    let mut stream = Running::stream(&fake);
    let mut lines = BufReader::new(stream.0.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    drop(lines);
    assert_eq!(stream.ended(), Some(0));
}

const HOST: &[(&str, &str)] = &[
    ("proc/sys/kernel/hostname", "rented-17\n"),
    ("proc/loadavg", "2.50 1.00 0.50 1/100 4242\n"),
    (
        "proc/meminfo",
        "MemTotal: 1000000 kB\nMemAvailable: 400000 kB\nSwapTotal: 100 kB\nSwapFree: 90 kB\n",
    ),
    (
        "proc/stat",
        "cpu  100 0 0 100 0 0 0 0 0 0\nbtime 1772366400\n",
    ),
    (
        "proc/pressure/io",
        "some avg10=20.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=15.00 avg60=0.00 avg300=0.00 total=8\n",
    ),
];

#[test]
fn another_root_is_read_alone() {
    let root = tree(HOST);
    let fake = FakeNvml::named("idle");
    let trace = root.path().join("trace.txt");
    let place = root.path().to_str().unwrap();
    let args = ["once", "--format", "json", "--root", place];
    let tracer = ["strace", "-f", "-qq", "-e", "trace=%file", "-o"];
    let front: Vec<&str> = tracer.into_iter().chain(trace.to_str()).collect();
    let path = std::env::var("PATH").unwrap_or_default();
    let traced = Program::under(&front, &args)
        .env("PATH", &path)
        .on(&fake, 0.0);
    let home = traced.home.path().to_owned();
    let output = match can_trace() {
        true => traced.output(),
        false => Program::new(&args).on(&fake, 0.0).output(),
    };
    let document = json(&output);
    for (pointer, expected) in [
        ("/host/name", Json::from("rented-17")),
        ("/host/load1", 2.5.into()),
        ("/host/memory_used_bytes", 614_400_000.into()),
        ("/host/swap_used_bytes", 10_240.into()),
        ("/host/psi_io_some_ratio", 0.2.into()),
        ("/host/psi_io_full_ratio", 0.15.into()),
        ("/host/psi_cpu_some_ratio", Json::Null),
        ("/host/absent/psi_cpu_some_ratio", "not_supported".into()),
        ("/host/net_rx_bytes_per_s", Json::Null),
        ("/startup/boot", "2026-03-01T12:00:00.000Z".into()),
        ("/cost/billing_started_source", "boot".into()),
        ("/cost/estimated", true.into()),
    ] {
        assert_eq!(document.pointer(pointer), Some(&expected), "{pointer}");
    }
    match std::fs::read_to_string(&trace) {
        Ok(calls) => only_under(&calls, &[root.path(), fake.dir(), &home]),
        Err(_) => println!("ignored: what is read is not traced, strace cannot be used here"),
    }
}

fn can_trace() -> bool {
    let mut strace = std::process::Command::new("strace");
    let tried = strace.args(["-f", "-qq", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Every file that was asked for lies in these folders, belongs to the loader, or is the program's own.
fn only_under(calls: &str, folders: &[&Path]) {
    const OWN: [&str; 5] = ["/lib", "/usr/lib", "/etc/ld.so", "/proc/self/", "/dev/null"];
    let program = Path::new(env!("CARGO_BIN_EXE_nameplate"));
    let mut asked = 0;
    for call in calls.lines().filter(|line| !line.contains("execve(")) {
        let Some(file) = call.split('"').nth(1).filter(|f| f.starts_with('/')) else {
            continue;
        };
        asked += 1;
        let ours = folders.iter().any(|folder| Path::new(file).starts_with(folder))
            || OWN.iter().any(|own| file.starts_with(own))
            // The fake library reads its scenarios; the program looks itself up.
            || file.contains("/fakes/nvml/scenarios/")
            || Path::new(file).starts_with(program.parent().unwrap());
        // realpath goes up the folders.
        let above = folders.iter().any(|folder| folder.starts_with(file));
        assert!(ours || above, "{file} was read: {call}");
    }
    assert!(asked > 20, "only {asked} files were asked for");
}
