//! Accelerators that no probe reads, through the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::contract::{Program, Schema};
use crate::support::machine::Machine;
use serde_json::Value as Json;
use std::process::Output;

fn run(machine: &Machine, args: &[&str]) -> Output {
    let root = machine.root().to_str().unwrap();
    let all = [args, &["--no-platform", "--no-record", "--root", root]].concat();
    Program::new(&all).output()
}

fn metax(machine: &Machine) {
    for slot in 1..6 {
        let folder = format!("sys/bus/pci/devices/0000:0{slot}:00.0");
        machine.fill(
            &folder,
            &[
                ("vendor", "0x9999"),
                ("device", "0x4083"),
                ("class", "0x038000"),
            ],
        );
    }
}

#[test]
fn devices_without_a_reader_are_told_where_there_is_nothing_else() {
    let machine = Machine::new();
    metax(&machine);
    let output = run(&machine, &["once", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let probes = document["probes"].as_array().unwrap();
    let vendors: Vec<&str> = probes
        .iter()
        .map(|p| p["vendor"].as_str().unwrap())
        .collect();
    assert_eq!(vendors, ["nvidia", "metax"]);
    assert_eq!(probes[1]["status"], "no_library");
    assert_eq!(
        probes[1]["message"],
        "5 of MetaX on the PCI bus (0000:01:00.0, 0000:02:00.0, 0000:03:00.0, 0000:04:00.0, ...): no kernel driver has them, this version cannot read them"
    );
    assert_eq!(probes[1]["next"], "its own tool reads them: mx-smi");
}

#[test]
fn devices_without_a_reader_are_told_beside_those_that_are_read() {
    let machine = Machine::new();
    metax(&machine);
    let folder = machine.card(0, &[], "0000:83:00.0", "1002:74a1");
    machine.fill(&folder, &[("hwmon/hwmon1/power1_input", "140000000")]);
    let output = run(&machine, &["once"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("AMD Instinct") && text.contains("MetaX"),
        "{text}"
    );
    let output = run(&machine, &["diagnose", "--for", "1s", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(Schema::of("diagnosis").check(&document), [""; 0]);
    let blind = document["cannot_see"].as_array().unwrap();
    let vendor = blind
        .iter()
        .find(|one| one["evidence"] == "devices")
        .unwrap();
    assert_eq!(vendor["how"], "its own tool reads them: mx-smi");
}
