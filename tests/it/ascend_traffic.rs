//! PCIe traffic of Ascend devices, which only a call tells that blocks: on request, beside the ticks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::ascend::{a2, narrow_link};
use crate::contract::{DEADLINE, Program, Schema};
use crate::support::small::Fake;
use serde_json::Value as Json;
use std::path::Path;
use std::time::{Duration, Instant};

/// A card with a link of 4 by 16 and this traffic, in GB/s.
const TRAFFIC: &str =
    "pcie = { tx_p = 3, tx_np = 50, tx_cpl = 4, rx_p = 10, rx_np = 50, rx_cpl = 1 }";

/// The snapshots of a stream over some seconds.
fn stream(fake: &Fake, root: &Path, count: &str, flags: &[&str], file: &str) -> Vec<Json> {
    let args = [
        "stream",
        "--count",
        count,
        "--interval",
        "0.5s",
        "--no-record",
        "--root",
        root.to_str().unwrap(),
        "--dcmi-library",
        fake.library().to_str().unwrap(),
    ]
    .map(str::to_owned);
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .chain(flags.iter().copied())
        .collect();
    let output = Program::new(&args).file(file).output();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &lines {
        assert_eq!(Schema::of("snapshot").check(line), Vec::<String>::new());
    }
    lines
}

/// Processes that have this fake library in their command line still, a while after the program has ended: nobody waits
/// for a probe.
fn left(fake: &Fake) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let left = running(fake);
        if left.is_empty() || begin.elapsed() > DEADLINE {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn running(fake: &Fake) -> Vec<String> {
    let name = fake.library().to_str().unwrap().to_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    commands.filter(|command| command.contains(&name)).collect()
}

#[test]
fn it_is_measured_only_where_that_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    narrow_link(root.path(), "0000:c1:00.0");
    let fake = Fake::dcmi(&a2(0, TRAFFIC));
    let lines = stream(&fake, root.path(), "2", &[], "");
    let device = &lines.last().unwrap()["devices"][0];
    assert_eq!(device["pcie"]["rx_bytes_per_s"], Json::Null);
    assert_eq!(device["absent"]["pcie.rx_bytes_per_s"], "not_reported");
    for (flags, file) in [
        (&["--dcmi-pcie"][..], ""),
        (&[], "[ascend]\nmeasure_pcie = true\n"),
    ] {
        let lines = stream(&fake, root.path(), "4", flags, file);
        let pcie = &lines.last().unwrap()["devices"][0]["pcie"];
        assert_eq!(pcie["rx_bytes_per_s"], 11e9, "{pcie}");
        assert_eq!(pcie["tx_bytes_per_s"], 7e9);
        assert_eq!(pcie["method"], "getter");
        // Of a link of x8.
        assert!(
            pcie["rx_saturation_ratio"].as_f64().unwrap() > 0.6,
            "{pcie}"
        );
    }
    assert_eq!(left(&fake), Vec::<String>::new(), "nothing is left running");
}

#[test]
fn a_measurement_that_never_ends_holds_up_nothing() {
    let root = tempfile::tempdir().unwrap();
    let cards = [
        a2(0, TRAFFIC),
        a2(1, "blocks = ['pcie']"),
        a2(2, "errors = { pcie = -8002 }"),
    ];
    let fake = Fake::dcmi(&cards.concat());
    let lines = stream(&fake, root.path(), "8", &["--dcmi-pcie"], "");
    assert_eq!(lines.len(), 8);
    for line in &lines {
        for device in line["devices"].as_array().unwrap() {
            assert_eq!(device["power_w"], 312.4, "every tick has every device");
        }
        assert_eq!(line["dropped"], 0);
    }
    let devices = &lines.last().unwrap()["devices"];
    assert_eq!(devices[0]["pcie"]["rx_bytes_per_s"], 11e9);
    for (place, why) in [(1, "timed_out"), (2, "no_permission")] {
        assert_eq!(devices[place]["absent"]["pcie.rx_bytes_per_s"], why);
    }
    assert_eq!(
        left(&fake),
        Vec::<String>::new(),
        "the one that hung was ended"
    );
}
