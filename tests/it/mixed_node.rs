//! One node of five vendors, through the whole program: four libraries at the C ABI and the kernel's files of a fifth, each
//! in a probe process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::ascend::{VERSIONS, a2};
use crate::cambricon::x8;
use crate::contract::{Program, Schema};
use crate::gaudi::GAUDI2;
use crate::support::machine::Machine;
use crate::support::nvml::FakeNvml;
use crate::support::small::Fake;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Two partitions of one package.
fn package() -> Machine {
    let machine = Machine::new();
    for function in 0..2_u32 {
        let address = format!("0000:83:00.{function}");
        let folder = machine.card(function, &[], &address, "1002:74a1");
        machine.fill(
            &folder,
            &[
                ("hwmon/hwmon1/power1_input", "400000000"),
                ("unique_id", "1234567890abcdef"),
            ],
        );
    }
    machine
}

#[test]
fn five_vendors_stand_in_one_table_and_a_board_counts_once() {
    let nvidia = FakeNvml::named("thermal");
    let ascend = Fake::dcmi(&(VERSIONS.to_owned() + &a2(0, "") + &a2(1, "")));
    let (cambricon, gaudi, amd) = (Fake::cndev(&x8("")), Fake::hlml(GAUDI2), package());
    let root = amd.root().to_str().unwrap();
    let common = [
        "--no-platform",
        "--no-record",
        "--root",
        root,
        "--price",
        "24",
    ];
    let mut program = Program::new(&[&["once", "--format", "json"], &common[..]].concat());
    for (flag, library) in [
        ("--nvml-library", nvidia.library()),
        ("--dcmi-library", ascend.library()),
        ("--cndev-library", cambricon.library()),
        ("--hlml-library", gaudi.library()),
    ] {
        program.command.arg(flag).arg(library);
    }
    let output = program.output();
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let mut table = String::new();
    for probe in document["probes"].as_array().unwrap() {
        let (vendor, status) = (&probe["vendor"], &probe["status"]);
        writeln!(table, "probe {vendor} {status}").unwrap();
    }
    for device in document["devices"].as_array().unwrap() {
        let fields = [
            "vendor",
            "name",
            "power_scope",
            "plate_power_w",
            "slowdown_c",
        ];
        let said = fields.map(|field| device[field].to_string()).join(" ");
        writeln!(table, "{said}").unwrap();
    }
    for board in document["boards"].as_array().unwrap() {
        let devices = board["devices"].as_array().unwrap().len();
        let limit = &board["power_limit_w"];
        writeln!(table, "board of {devices}, limit {limit}").unwrap();
    }
    insta::assert_snapshot!(table);
}
