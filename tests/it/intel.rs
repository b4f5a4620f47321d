//! Intel's probe over machines made of files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::contract::{Program, Schema};
use crate::support::machine::{Machine, captures};
use nameplate::model::{
    Absent, Device, Metric, ProbeStatus, Reading, Readings, Vendor as VendorName,
};
use nameplate::probe::intel::Intel;
use nameplate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use std::path::Path;
use std::sync::Arc;

const PORT: &str = "0000:40:01.0";
const SWITCH: &str = "0000:41:00.0";
const CARD: &str = "0000:43:00.0";

fn open(root: &Path) -> (Intel, Opened) {
    let intel = Intel::new(VendorOptions {
        vendor: VendorName::Intel,
        root: root.to_path_buf(),
        library: None,
        measure_pcie: false,
    });
    let opened = intel.open().unwrap();
    (intel, opened)
}

fn all(intel: &Intel, device: &Arc<Device>) -> Readings {
    let mut readings = Readings::default();
    intel.sample_slow(&device.id, &mut readings);
    assert_eq!(intel.sample(&device.id, &mut readings), Answer::Answered);
    readings
}

fn expect(readings: &Readings, table: &[(Metric, Reading<f64>)]) {
    for (metric, expected) in table {
        assert_eq!(readings.get(*metric), *expected, "{metric:?}");
    }
}

/// A Max 1550 on xe, whose own link says nothing that is so.
fn max() -> (Machine, String) {
    let machine = Machine::new();
    let folder = machine.card(1, &[PORT, SWITCH], CARD, "8086:0bd5");
    let top = "sys/devices/pci0000:00";
    machine.link(
        &format!("{top}/{PORT}"),
        ("32.0 GT/s PCIe", "8"),
        ("32.0 GT/s PCIe", "16"),
    );
    machine.link(
        &format!("{top}/{PORT}/{SWITCH}"),
        ("32.0 GT/s PCIe", "8"),
        ("32.0 GT/s PCIe", "16"),
    );
    machine.link(&folder, ("2.5 GT/s PCIe", "1"), ("2.5 GT/s PCIe", "1"));
    machine.fill(
        &folder,
        &[
            ("hwmon/hwmon3/name", "xe"),
            ("hwmon/hwmon3/energy1_label", "card"),
            ("hwmon/hwmon3/energy1_input", "7000000000"),
            ("hwmon/hwmon3/energy2_label", "pkg"),
            ("hwmon/hwmon3/energy2_input", "5000000000"),
            ("hwmon/hwmon3/power1_max", "0"),
            ("hwmon/hwmon3/power1_cap", "550000000"),
            ("hwmon/hwmon3/power1_rated_max", "600000000"),
            ("hwmon/hwmon3/temp3_label", "vram"),
            ("hwmon/hwmon3/temp3_input", "58000"),
            ("hwmon/hwmon3/temp3_crit", "105000"),
            ("hwmon/hwmon3/temp5_label", "pkg"),
            ("hwmon/hwmon3/temp5_input", "71000"),
            ("hwmon/hwmon3/temp5_crit", "100000"),
            ("hwmon/hwmon3/temp5_emergency", "125000"),
            ("tile0/gt0/freq0/act_freq", "1550"),
            ("tile0/gt0/freq0/rp0_freq", "1600"),
            ("tile0/gt0/gtidle/idle_residency_ms", "500"),
            ("tile0/gt0/freq0/throttle/status", "1"),
            ("tile0/gt0/freq0/throttle/reason_pl1", "1"),
            ("tile0/gt0/freq0/throttle/reason_thermal", "0"),
            ("tile1/gt1/freq0/act_freq", "1600"),
            ("tile1/gt1/freq0/rp0_freq", "1600"),
            ("tile1/gt1/gtidle/idle_residency_ms", "90000000"),
            ("tile1/gt1/freq0/throttle/reason_prochot", "1"),
        ],
    );
    machine.put("proc/sys/kernel/osrelease", "6.14.0-27-generic\n");
    machine.put(
        "proc/900/fdinfo/5",
        "drm-driver:\txe\ndrm-client-id:\t8\ndrm-pdev:\t0000:43:00.0\ndrm-resident-vram0:\t2 GiB\ndrm-resident-vram1:\t1 GiB\n",
    );
    (machine, folder)
}

#[test]
fn a_card_of_two_tiles_says_everything_in_base_units() {
    let (machine, _) = max();
    let (intel, opened) = open(machine.root());
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    let device = &opened.devices[0];
    assert_eq!(&*device.name, "Intel Data Center GPU Max 1550");
    assert_eq!(&*device.id.0, CARD);
    assert_eq!(device.driver.as_deref(), Ok("6.14.0-27-generic"));
    assert_eq!(device.power_usage_is_average, Some(true));
    expect(
        &all(&intel, device),
        &[
            (Metric::Energy, Ok(7000.0)),
            (Metric::PowerUsage, Err(Absent::NotReported)),
            (Metric::LimitEnforced, Ok(550.0)),
            (Metric::RatedPower, Ok(600.0)),
            (Metric::CoreTemperature, Ok(71.0)),
            (Metric::MemoryTemperature, Ok(58.0)),
            (Metric::ThresholdSlowdown, Ok(100.0)),
            (Metric::ThresholdShutdown, Ok(125.0)),
            (Metric::ThresholdMemoryMax, Ok(105.0)),
            (Metric::SmClock, Ok(1600.0)),
            (Metric::SmClockMax, Ok(1600.0)),
            (Metric::Utilization, Err(Absent::NotReported)),
            // Power limit and PROCHOT.
            (Metric::Reasons, Ok((4_u64 | 1 << 36) as f64)),
            (Metric::PcieGenerationAfter, Ok(5.0)),
            (Metric::PcieWidthAfter, Ok(8.0)),
            (Metric::PcieWidthMax, Ok(16.0)),
            (Metric::MemoryTotal, Err(Absent::NotSupported)),
        ],
    );
    let processes = intel.processes(&device.id).unwrap();
    let gib = 1024.0 * 1024.0 * 1024.0;
    assert_eq!(
        (processes[0].pid, processes[0].memory_bytes),
        (900, Ok(3.0 * gib))
    );
}

#[test]
fn power_and_time_awake_are_of_the_time_between_two_polls() {
    let (machine, folder) = max();
    let (intel, opened) = open(machine.root());
    let device = &opened.devices[0];
    all(&intel, device);
    // No part slept since, and the counter has not gone on.
    let readings = all(&intel, device);
    expect(
        &readings,
        &[
            (Metric::Utilization, Ok(1.0)),
            (Metric::PowerUsage, Err(Absent::TimedOut)),
        ],
    );
    machine.fill(&folder, &[("hwmon/hwmon3/energy1_input", "7000100000")]);
    let watts = all(&intel, device).get(Metric::PowerUsage);
    assert!(watts.is_ok_and(|watts| watts > 0.0), "{watts:?}");
    // Asleep: nothing is read, and what comes after begins anew.
    machine.put(&format!("{folder}/power/runtime_status"), "suspended\n");
    expect(
        &all(&intel, device),
        &[
            (Metric::Energy, Err(Absent::NotReported)),
            (Metric::RatedPower, Err(Absent::NotReported)),
        ],
    );
    machine.put(&format!("{folder}/power/runtime_status"), "active\n");
    expect(
        &all(&intel, device),
        &[(Metric::PowerUsage, Err(Absent::NotReported))],
    );
}

#[test]
fn the_older_driver_has_other_names() {
    let machine = Machine::new();
    let folder = machine.card(0, &[], "0000:56:00.0", "8086:56c0");
    machine.fill(
        &folder,
        &[
            ("hwmon/hwmon2/energy1_input", "40000000"),
            ("hwmon/hwmon2/power1_max", "150000000"),
            ("hwmon/hwmon2/temp1_input", "44000"),
        ],
    );
    for (gt, clock) in [("gt0", "1950"), ("gt1", "800")] {
        machine.fill(
            &format!("sys/class/drm/card0/gt/{gt}"),
            &[
                ("rps_act_freq_mhz", clock),
                ("rps_RP0_freq_mhz", "2050"),
                ("throttle_reason_status", "1"),
                ("throttle_reason_thermal", "1"),
            ],
        );
    }
    let (intel, opened) = open(machine.root());
    assert_eq!(&*opened.devices[0].name, "Intel Data Center GPU Flex 170");
    expect(
        &all(&intel, &opened.devices[0]),
        &[
            (Metric::Energy, Ok(40.0)),
            (Metric::LimitEnforced, Ok(150.0)),
            (Metric::CoreTemperature, Ok(44.0)),
            (Metric::SmClock, Ok(1950.0)),
            (Metric::SmClockMax, Ok(2050.0)),
            (Metric::Reasons, Ok(32.0)),
            (Metric::Utilization, Err(Absent::NotSupported)),
            // Its own link is not to be believed, and no bridge is known.
            (Metric::PcieWidthAfter, Err(Absent::NotReported)),
        ],
    );
}

#[test]
fn a_processor_s_own_graphics_are_left_out() {
    let machine = Machine::new();
    machine.card(0, &[], "0000:00:02.0", "8086:a780");
    let opened = open(machine.root()).1;
    assert_eq!(
        (opened.devices.len(), opened.report.status),
        (0, ProbeStatus::NoDevice)
    );
}

#[test]
fn what_cannot_be_is_absent() {
    let (machine, folder) = max();
    machine.fill(
        &folder,
        &[
            ("hwmon/hwmon3/energy1_input", "0"),
            ("hwmon/hwmon3/power1_cap", "4294967295000000"),
            ("hwmon/hwmon3/temp5_input", "-40000"),
            ("tile0/gt0/freq0/act_freq", "\u{1b}[2J"),
            ("tile1/gt1/freq0/act_freq", "4294967295"),
            ("tile0/gt0/freq0/throttle/reason_pl1", "yes"),
        ],
    );
    let (intel, opened) = open(machine.root());
    expect(
        &all(&intel, &opened.devices[0]),
        &[
            (Metric::Energy, Err(Absent::NotReported)),
            (
                Metric::LimitEnforced,
                Err(Absent::Implausible(4_294_967_295_000_000.0)),
            ),
            (Metric::CoreTemperature, Err(Absent::Implausible(-40_000.0))),
            (Metric::SmClock, Err(Absent::Implausible(4_294_967_295.0))),
            (Metric::Reasons, Ok((1_u64 << 36) as f64)),
        ],
    );
    machine.remove(&folder);
    assert_eq!(
        intel.sample(&opened.devices[0].id, &mut Readings::default()),
        Answer::Reopen
    );
}

#[test]
fn a_captured_card_is_read_as_by_hand() {
    let Some(captures) = captures("intel-gaudi") else {
        return;
    };
    let machine = Machine::new();
    machine.copy(&captures.join("sysfs-b580"), "sys/class/drm");
    let (intel, opened) = open(machine.root());
    assert_eq!(&*opened.devices[0].name, "Intel Arc B580");
    expect(
        &all(&intel, &opened.devices[0]),
        &[
            (Metric::Energy, Ok(11_031.745_544)),
            (Metric::LimitEnforced, Ok(190.0)),
            (Metric::CoreTemperature, Ok(54.0)),
            (Metric::MemoryTemperature, Ok(56.0)),
            (Metric::ThresholdSlowdown, Ok(100.0)),
            (Metric::ThresholdShutdown, Ok(125.0)),
            (Metric::RatedPower, Err(Absent::NotSupported)),
            (Metric::PcieWidthAfter, Err(Absent::NotReported)),
        ],
    );
}

#[test]
fn the_program_shows_a_card() {
    let (machine, _) = max();
    let root = machine.root().to_str().unwrap();
    let args = [
        "once",
        "--format",
        "json",
        "--no-platform",
        "--no-record",
        "--root",
        root,
    ];
    let output = Program::new(&args).output();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let mut device = document["devices"][0].clone();
    for passing in [
        "verdict",
        "utilization_seconds",
        "work_seconds",
        "phase_seconds",
        "age_s",
        "processes",
    ] {
        device.as_object_mut().unwrap().remove(passing);
    }
    insta::assert_snapshot!("intel_max", serde_json::to_string_pretty(&device).unwrap());
}
