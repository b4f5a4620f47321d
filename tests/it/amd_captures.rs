//! Captured cards and synthetic blobs through AMD's probe, against what was read from them by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::amd::{all, open};
use crate::support::machine::{Machine, captures};
use nameplate::model::{Absent, Metric, Reading, Readings};
use std::path::Path;

/// Folder, and what is read: clock of the core, power, core and memory temperature, activity, width.
type Row = (&'static str, [Reading<f64>; 6]);

const NONE: Reading<f64> = Err(Absent::NotSupported);

#[rustfmt::skip]
const TREES: &[Row] = &[
    ("sysfs-rx6900xt", [Ok(500.0), Ok(36.0), Ok(59.0), Ok(54.0), Ok(0.03), Ok(16.0)]),
    ("sysfs-rx7600s", [Ok(1200.0), Ok(1.0), Ok(54.0), Ok(60.0), Ok(0.0), Ok(8.0)]),
    ("sysfs-rx7800xt", [Ok(2011.0), Ok(32.0), Ok(31.0), Ok(48.0), Ok(0.24), Ok(16.0)]),
    // These have no blob, and those of the last two are of processors.
    ("sysfs-rx7900xtx", [Ok(31.0), Ok(68.0), Ok(61.0), Ok(68.0), Ok(0.03), Ok(16.0)]),
    ("sysfs-rx9070", [Ok(900.0), Ok(49.0), Ok(52.0), Ok(72.0), Ok(0.25), Ok(16.0)]),
    ("sysfs-vega56", [Ok(26.0), Ok(8.0), Ok(38.0), Ok(39.0), Ok(0.0), Ok(16.0)]),
    ("sysfs-phoenix", [Ok(800.0), Ok(3.103), Ok(25.0), NONE, Ok(0.0), Ok(16.0)]),
    ("sysfs-strixpoint", [Ok(848.0), Ok(9.087), Ok(38.0), NONE, Ok(0.03), Ok(16.0)]),
];

/// Synthetic blob, and power, hotspot, memory, activity, width.
#[rustfmt::skip]
const BLOBS: &[(&str, [Reading<f64>; 5])] = &[
    ("v1_3_all_unset", [NONE, NONE, NONE, NONE, Err(Absent::NotReported)]),
    ("v1_4_mi300x_idle", [Ok(132.0), Ok(34.0), Ok(30.0), Ok(0.0), Ok(16.0)]),
    ("v1_5_mi300x_busy", [Ok(710.0), Ok(78.0), Ok(62.0), Ok(0.99), Ok(16.0)]),
    ("v1_6_mi300x_link_x8", [Ok(750.0), Ok(96.0), Ok(88.0), Ok(1.0), Ok(8.0)]),
    ("v1_7_mi300x_busy", [Ok(745.0), Ok(95.0), Ok(86.0), Ok(1.0), Ok(16.0)]),
    ("v1_9_unsupported", [NONE, NONE, NONE, NONE, Err(Absent::NotReported)]),
];

fn machine(tree: &Path) -> Machine {
    let machine = Machine::new();
    machine.copy(tree, "sys/class/drm");
    for entry in std::fs::read_dir(machine.root().join("sys/class/drm"))
        .unwrap()
        .flatten()
    {
        let bin = entry.path().join("device/gpu_metrics.bin");
        if bin.exists() {
            std::fs::rename(&bin, bin.with_extension("")).unwrap();
        }
    }
    machine
}

fn power(readings: &Readings) -> Reading<f64> {
    readings
        .get(Metric::PowerAverage)
        .or(readings.get(Metric::PowerInstant))
}

#[test]
fn captured_cards_are_read_as_by_hand() {
    let Some(folder) = captures("amd") else {
        return;
    };
    for (name, expected) in TREES {
        let machine = machine(&folder.join(name));
        let (amd, opened) = open(machine.root());
        assert_eq!(opened.devices.len(), 1, "{name}");
        let readings = all(&amd, &opened.devices[0]);
        let seen = [
            readings.get(Metric::SmClock),
            power(&readings),
            readings.get(Metric::CoreTemperature),
            readings.get(Metric::MemoryTemperature),
            readings.get(Metric::Utilization),
            readings.get(Metric::PcieWidthAfter),
        ];
        assert_eq!(seen, *expected, "{name}");
    }
}

/// A card whose only file of readings is a synthetic blob.
fn with_blob(folder: &Path, name: &str) -> (Machine, String) {
    let machine = Machine::new();
    let card = machine.card(0, &[], "0000:83:00.0", "1002:74a1");
    put_blob(&machine, &card, folder, name);
    (machine, card)
}

fn put_blob(machine: &Machine, card: &str, folder: &Path, name: &str) {
    let file = folder.join(format!("synthetic/gpu_metrics_{name}.hex"));
    let text = std::fs::read_to_string(file).unwrap();
    let digits: Vec<char> = text.trim().chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    machine.put(&format!("{card}/gpu_metrics"), bytes);
}

#[test]
fn synthetic_blobs_are_read_as_they_were_made() {
    let Some(folder) = captures("amd") else {
        return;
    };
    for (name, expected) in BLOBS {
        let (machine, _) = with_blob(&folder, name);
        let (amd, opened) = open(machine.root());
        let readings = all(&amd, &opened.devices[0]);
        let seen = [
            power(&readings),
            readings.get(Metric::CoreTemperature),
            readings.get(Metric::MemoryTemperature),
            readings.get(Metric::Utilization),
            readings.get(Metric::PcieWidthAfter),
        ];
        assert_eq!(seen, *expected, "{name}");
    }
}

#[test]
fn the_two_samples_of_a_throttled_card_give_their_shares() {
    let Some(folder) = captures("amd") else {
        return;
    };
    let (machine, card) = with_blob(&folder, "v1_6_mi300x_throttled_t0");
    let (amd, opened) = open(machine.root());
    all(&amd, &opened.devices[0]);
    put_blob(&machine, &card, &folder, "v1_6_mi300x_throttled_t1");
    let readings = all(&amd, &opened.devices[0]);
    // 80 % under the power limit and 5 % too hot.
    assert_eq!(readings.get(Metric::Reasons), Ok(f64::from(0x4 | 0x20)));
    let seconds = |metric| readings.get(metric).unwrap();
    let ratio = seconds(Metric::SecondsSwPowerCap) / seconds(Metric::SecondsSwThermal);
    assert!((ratio - 16.0).abs() < 1e-6);
}
