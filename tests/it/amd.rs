//! AMD's probe over machines made of files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::contract::{Program, Schema};
use crate::support::amd_machines::{BRIDGE, blob, folder, mi300x, mi300x_blob, radeon};
use crate::support::machine::Machine;
use nameplate::model::{
    Absent, Device, Metric, ProbeHint, ProbeStatus, Reading, Readings, Vendor as VendorName,
};
use nameplate::probe::amd::Amd;
use nameplate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn open(root: &Path) -> (Amd, Opened) {
    let amd = Amd::new(VendorOptions {
        vendor: VendorName::Amd,
        root: root.to_path_buf(),
        library: None,
        measure_pcie: false,
    });
    let opened = amd.open().unwrap();
    (amd, opened)
}

/// The slow readings and one sweep.
pub(crate) fn all(amd: &Amd, device: &Arc<Device>) -> Readings {
    let mut readings = Readings::default();
    amd.sample_slow(&device.id, &mut readings);
    assert_eq!(amd.sample(&device.id, &mut readings), Answer::Answered);
    readings
}

fn expect(readings: &Readings, table: &[(Metric, Reading<f64>)]) {
    for (metric, expected) in table {
        let reading = readings.get(*metric);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        let same = match (reading, *expected) {
            (Ok(a), Ok(b)) => near(a, b),
            (a, b) => a == b,
        };
        assert!(same, "{metric:?}: {reading:?}, not {expected:?}");
    }
}

#[test]
fn an_instinct_says_everything_in_base_units() {
    let machine = mi300x();
    let (amd, opened) = open(machine.root());
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    assert_eq!(opened.report.version.as_deref(), Some("6.12.12"));
    let device = &opened.devices[0];
    assert_eq!(&*device.name, "AMD Instinct MI300X OAM");
    assert_eq!(&*device.id.0, "GPU-7a1c5e0b3d2f4a68");
    assert_eq!(device.pci_id, Ok((0x1002, 0x74a1)));
    let has = |name: &str, value: &str| {
        device
            .details
            .iter()
            .any(|(n, v)| (&**n, &**v) == (name, value))
    };
    assert!(
        has("vbios", "113-M3000100-102")
            && has("rocm", "6.4.1-83")
            && has("compute_partition", "SPX")
    );
    let readings = all(&amd, device);
    expect(
        &readings,
        &[
            (Metric::PowerInstant, Ok(612.0)),
            (Metric::PowerAverage, Err(Absent::NotSupported)),
            (Metric::LimitEnforced, Ok(650.0)),
            (Metric::LimitDefault, Ok(750.0)),
            (Metric::LimitMax, Ok(750.0)),
            (Metric::LimitMin, Err(Absent::NotReported)),
            (Metric::Energy, Ok(10.0)),
            (Metric::CoreTemperature, Ok(91.0)),
            (Metric::MemoryTemperature, Ok(74.0)),
            (Metric::ThresholdSlowdown, Ok(100.0)),
            (Metric::ThresholdShutdown, Ok(110.0)),
            (Metric::ThresholdMemoryMax, Ok(105.0)),
            (Metric::SmClock, Ok(1480.0)),
            (Metric::SmClockMax, Ok(2100.0)),
            (Metric::MemoryClock, Ok(1300.0)),
            (Metric::Utilization, Ok(0.97)),
            (Metric::MemoryActivity, Ok(0.55)),
            (Metric::MemoryUsed, Ok(151_397_597_184.0)),
            (Metric::MemoryTotal, Ok(206_141_652_992.0)),
            (Metric::EccUncorrected, Ok(2.0)),
            (Metric::EccCorrected, Ok(12.0)),
            // The card's own link is narrower than its bridge says.
            (Metric::PcieGenerationAfter, Ok(5.0)),
            (Metric::PcieWidthAfter, Ok(8.0)),
            (Metric::PcieGenerationMax, Ok(5.0)),
            (Metric::PcieWidthMax, Ok(16.0)),
            (Metric::PcieReplays, Ok(4.0)),
            (Metric::PcieBothRate, Err(Absent::NotReported)),
            (Metric::Reasons, Err(Absent::NotReported)),
            (Metric::SmActive, Err(Absent::NotSupported)),
        ],
    );
    assert!(!amd.needs_blocking_pcie(&device.id));
    let processes = amd.processes(&device.id).unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!(
        (processes[0].pid, processes[0].memory_bytes),
        (4100, Ok(150e9))
    );
}

#[test]
fn time_under_a_cause_is_a_share_of_the_firmware_s_steps() {
    let machine = mi300x();
    let (amd, opened) = open(machine.root());
    let device = &opened.devices[0];
    all(&amd, device);
    machine.put(&format!("{}/gpu_metrics", folder()), mi300x_blob(2000, 900));
    let readings = all(&amd, device);
    expect(&readings, &[(Metric::Reasons, Ok(4.0))]);
    assert!(readings.get(Metric::SecondsSwPowerCap).unwrap() > 0.0);
    assert_eq!(readings.get(Metric::SecondsSwThermal), Ok(0.0));
}

/// Two packages of two dies, of which the first tells the power.
fn mi250x() -> Machine {
    let machine = Machine::new();
    for (n, address, watts) in [
        (0, "0000:c1:00.0", "128000000"),
        (1, "0000:c6:00.0", "0"),
        (2, "0000:c9:00.0", "140000000"),
        (3, "0000:ce:00.0", ""),
    ] {
        let folder = machine.card(n, &[], address, "1002:7408");
        machine.fill(
            &folder,
            &[
                ("hwmon/hwmon1/power1_average", watts),
                ("hwmon/hwmon1/power1_cap", "560000000"),
                ("gpu_busy_percent", "100"),
            ],
        );
    }
    machine
}

#[test]
fn of_two_dies_the_first_tells_the_package_s_power() {
    let machine = mi250x();
    let (amd, opened) = open(machine.root());
    let boards: Vec<&str> = opened
        .devices
        .iter()
        .map(|device| &*device.board.0)
        .collect();
    assert_eq!(
        boards,
        [
            "0000:c1:00.0",
            "0000:c1:00.0",
            "0000:c9:00.0",
            "0000:c9:00.0"
        ]
    );
    assert_eq!(&*opened.devices[0].name, "AMD Instinct MI250X");
    let power = |n: usize| {
        let readings = all(&amd, &opened.devices[n]);
        expect(&readings, &[(Metric::Utilization, Ok(1.0))]);
        (
            readings.get(Metric::PowerAverage),
            readings.get(Metric::LimitEnforced),
        )
    };
    assert_eq!(power(0), (Ok(128.0), Ok(560.0)));
    assert_eq!(
        power(1),
        (Err(Absent::NotSupported), Err(Absent::NotSupported))
    );
    assert_eq!(power(3), power(1));
}

#[test]
fn partitions_of_a_package_are_one_board_whose_power_counts_once() {
    let machine = Machine::new();
    for function in 0..3_u32 {
        let folder = machine.card(
            function,
            &[],
            &format!("0000:83:00.{function}"),
            "1002:74a1",
        );
        machine.fill(
            &folder,
            &[
                ("hwmon/hwmon1/power1_input", "400000000"),
                ("unique_id", "1234567890abcdef"),
            ],
        );
    }
    let (amd, opened) = open(machine.root());
    let ids: Vec<&str> = opened.devices.iter().map(|device| &*device.id.0).collect();
    assert_eq!(
        ids,
        ["GPU-1234567890abcdef", "0000:83:00.1", "0000:83:00.2"]
    );
    for (device, power) in opened.devices.iter().zip([
        Ok(400.0),
        Err(Absent::NotSupported),
        Err(Absent::NotSupported),
    ]) {
        assert_eq!(&*device.board.0, ids[0]);
        assert_eq!(all(&amd, device).get(Metric::PowerInstant), power);
    }
}

#[test]
fn a_radeon_s_link_is_that_of_the_slot_not_of_its_own_switch() {
    let (machine, folder) = radeon();
    machine.put(
        &format!("{folder}/gpu_metrics"),
        blob(
            3,
            120,
            &[(6, 63), (16, 41), (22, 70), (54, 2300), (74, 16), (76, 160)],
            &[],
        ),
    );
    let (amd, opened) = open(machine.root());
    assert_eq!(&*opened.devices[0].name, "AMD Radeon RX 7900 XTX");
    expect(
        &all(&amd, &opened.devices[0]),
        &[
            (Metric::PcieGenerationBefore, Ok(3.0)),
            (Metric::PcieWidthBefore, Ok(4.0)),
            (Metric::PcieGenerationMax, Ok(4.0)),
            (Metric::PcieWidthMax, Ok(16.0)),
            (Metric::PowerAverage, Ok(70.0)),
            (Metric::CoreTemperature, Ok(63.0)),
            (Metric::Utilization, Ok(0.41)),
            (Metric::SmClock, Ok(2300.0)),
            (Metric::Fan, Ok(0.25)),
            (Metric::Energy, Err(Absent::NotSupported)),
        ],
    );
}

#[test]
fn revisions_that_are_not_known_leave_what_hwmon_says() {
    for (format, content) in [(1, 0), (1, 9), (2, 1), (3, 0)] {
        let (machine, folder) = radeon();
        let mut bytes = blob(content, 120, &[(6, 63), (10, 99), (22, 99)], &[]);
        bytes[2] = format;
        machine.put(&format!("{folder}/gpu_metrics"), bytes);
        let (amd, opened) = open(machine.root());
        expect(
            &all(&amd, &opened.devices[0]),
            &[
                (Metric::PowerAverage, Ok(68.0)),
                (Metric::CoreTemperature, Ok(61.0)),
                (Metric::SmClock, Ok(2219.0)),
                (Metric::Reasons, Err(Absent::NotSupported)),
            ],
        );
    }
}

#[test]
fn a_blob_that_is_torn_twice_leaves_what_hwmon_says() {
    let (machine, folder) = radeon();
    let whole = blob(3, 120, &[(6, 63), (22, 99)], &[]);
    machine.put(&format!("{folder}/gpu_metrics"), &whole[..60]);
    let (amd, opened) = open(machine.root());
    let hwmon = [
        (Metric::PowerAverage, Ok(68.0)),
        (Metric::CoreTemperature, Ok(61.0)),
    ];
    expect(&all(&amd, &opened.devices[0]), &hwmon);
    // It is read again with the next tick.
    machine.put(&format!("{folder}/gpu_metrics"), &whole);
    let firmware = [
        (Metric::PowerAverage, Ok(99.0)),
        (Metric::CoreTemperature, Ok(63.0)),
    ];
    expect(&all(&amd, &opened.devices[0]), &firmware);
}

#[test]
fn a_card_that_sleeps_is_not_read() {
    let machine = mi300x();
    machine.put(&format!("{}/power/runtime_status", folder()), "suspended\n");
    // Reading this would never end.
    machine.block(&format!("{}/gpu_metrics", folder()));
    machine.block(&format!("{}/hwmon/hwmon5/power1_cap", folder()));
    machine.block(&format!("{}/current_link_speed", folder()));
    let (amd, opened) = open(machine.root());
    let readings = all(&amd, &opened.devices[0]);
    for metric in [
        Metric::PowerInstant,
        Metric::CoreTemperature,
        Metric::LimitDefault,
        Metric::MemoryTotal,
    ] {
        assert_eq!(readings.get(metric), Err(Absent::NotReported), "{metric:?}");
    }
    let path = nameplate::probe::pcie::path(machine.root(), "0000:83:00.0".parse().unwrap());
    let widths: Vec<_> = path.iter().map(|hop| hop.width).collect();
    assert_eq!(widths, [None, Some(16)]);
}

#[test]
fn in_a_guest_only_the_card_s_firmware_knows_the_link() {
    let machine = mi300x();
    machine.fill(
        &format!("sys/devices/pci0000:00/{BRIDGE}"),
        &[("vendor", "0x1b36"), ("device", "0x000c")],
    );
    let (amd, opened) = open(machine.root());
    expect(
        &all(&amd, &opened.devices[0]),
        &[
            (Metric::PcieWidthAfter, Ok(8.0)),
            (Metric::PcieWidthMax, Err(Absent::NotReported)),
        ],
    );
    let (machine, folder) = radeon();
    machine.fill(
        "sys/devices/pci0000:00/0000:00:01.0",
        &[("vendor", "0x1b36")],
    );
    machine.put(
        &format!("{folder}/gpu_metrics"),
        blob(3, 120, &[(74, 16), (76, 160)], &[]),
    );
    let (amd, opened) = open(machine.root());
    expect(
        &all(&amd, &opened.devices[0]),
        &[(Metric::PcieWidthAfter, Err(Absent::NotReported))],
    );
}

#[test]
fn messages_are_counted_where_the_driver_counts_them() {
    let (machine, folder) = radeon();
    machine.put(&format!("{folder}/pcie_bw"), "1000000 2000 256\n");
    let (amd, opened) = open(machine.root());
    let id = &opened.devices[0].id;
    assert!(amd.needs_blocking_pcie(id));
    let mut readings = Readings::default();
    amd.sample_blocking_pcie(id, &mut readings);
    expect(
        &readings,
        &[
            (Metric::PcieRxRate, Ok(256e6)),
            (Metric::PcieTxRate, Ok(512e3)),
        ],
    );
    for (text, why) in [
        ("", Absent::NotReported),
        ("1 2", Absent::NotReported),
        (
            "18446744073709551615 0 256",
            Absent::Implausible(18_446_744_073_709_551_615.0 * 256.0),
        ),
    ] {
        machine.put(&format!("{folder}/pcie_bw"), text);
        amd.sample_blocking_pcie(id, &mut readings);
        expect(&readings, &[(Metric::PcieRxRate, Err(why))]);
    }
}

#[test]
fn what_cannot_be_is_absent_with_its_value() {
    let machine = mi300x();
    machine.remove(&format!("{}/gpu_metrics", folder()));
    machine.fill(
        &folder(),
        &[
            ("product_name", "\u{1b}[31mAMD\u{202e} Instinct\u{7}"),
            ("mem_info_vram_used", "18446744073709551615"),
            ("mem_info_vram_total", "0"),
            ("gpu_busy_percent", "4294967295"),
            ("hwmon/hwmon5/power1_input", "18446744073709551615"),
            ("hwmon/hwmon5/power1_cap", "18446744073709551615"),
            ("hwmon/hwmon5/temp2_input", "-273150"),
            ("hwmon/hwmon5/temp2_crit", "garbage"),
            ("pp_dpm_sclk", "\u{1b}[2J"),
            ("ras/umc_err_count", "ue: -1"),
            ("ras/gfx_err_count", "ue:"),
        ],
    );
    let (amd, opened) = open(machine.root());
    assert_eq!(&*opened.devices[0].name, "AMD Instinct");
    let huge = 18_446_744_073_709_551_615.0;
    expect(
        &all(&amd, &opened.devices[0]),
        &[
            (Metric::PowerInstant, Err(Absent::Implausible(huge))),
            (Metric::LimitEnforced, Err(Absent::Implausible(huge))),
            (Metric::MemoryUsed, Err(Absent::Implausible(huge))),
            (Metric::MemoryTotal, Err(Absent::NotReported)),
            (
                Metric::Utilization,
                Err(Absent::Implausible(4_294_967_295.0)),
            ),
            (
                Metric::CoreTemperature,
                Err(Absent::Implausible(-273_150.0)),
            ),
            (Metric::ThresholdSlowdown, Err(Absent::NotReported)),
            (Metric::SmClockMax, Err(Absent::NotReported)),
            (Metric::EccUncorrected, Err(Absent::NotSupported)),
        ],
    );
}

#[test]
fn a_driver_that_was_loaded_again_is_opened_again() {
    let machine = mi300x();
    let (amd, opened) = open(machine.root());
    let id = &opened.devices[0].id;
    machine.remove(&format!("{}/hwmon", folder()));
    assert_eq!(amd.sample(id, &mut Readings::default()), Answer::Reopen);
    assert_eq!(amd.open().unwrap().devices.len(), 1);
    assert_eq!(amd.sample(id, &mut Readings::default()), Answer::Answered);
    machine.remove(&folder());
    assert_eq!(amd.sample(id, &mut Readings::default()), Answer::Reopen);
    let opened = amd.open().unwrap();
    assert_eq!(
        (opened.devices.len(), opened.report.status),
        (0, ProbeStatus::NoDevice)
    );
}

#[test]
fn cards_without_a_node_here_are_told_and_left_out() {
    let machine = mi300x();
    machine.put(&format!("{}/drm/renderD128/dev", folder()), "226:128\n");
    machine.put("dev/dri/renderD130", "");
    let opened = open(machine.root()).1;
    assert_eq!(opened.devices.len(), 0);
    assert_eq!(opened.report.hint, ProbeHint::ContainerWithoutDevices);
    assert!(
        opened
            .report
            .message
            .unwrap()
            .starts_with("1 more of this host")
    );
}

fn once(machine: &Machine) -> Json {
    let args = [
        "once",
        "--format",
        "json",
        "--no-platform",
        "--no-record",
        "--root",
        machine.root().to_str().unwrap(),
    ];
    let output = Program::new(&args).output();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    document
}

#[test]
fn the_program_shows_an_instinct() {
    let document = once(&mi300x());
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
    insta::assert_snapshot!("amd_mi300x", serde_json::to_string_pretty(&device).unwrap());
}

#[test]
fn the_program_counts_a_package_s_power_once() {
    let document = once(&mi250x());
    let boards = document["boards"].as_array().unwrap();
    let power: Vec<_> = boards
        .iter()
        .map(|board| {
            (
                board["devices"].as_array().unwrap().len(),
                board["power_w"].as_f64(),
                board["power_limit_w"].as_f64(),
            )
        })
        .collect();
    assert_eq!(
        power,
        [(2, Some(128.0), Some(560.0)), (2, Some(140.0), Some(560.0))]
    );
}

#[test]
fn a_card_whose_file_blocks_holds_up_nothing() {
    let machine = mi300x();
    let folder = machine.card(2, &[], "0000:93:00.0", "1002:74a1");
    machine.fill(&folder, &[("hwmon/hwmon1/power1_input", "140000000")]);
    machine.block(&format!("{folder}/gpu_metrics"));
    let document = once(&machine);
    assert_eq!(document["devices"][0]["power_w"], 612.0);
    assert_eq!(document["devices"][1]["power_w"], Json::Null);
    assert_eq!(document["devices"][1]["absent"]["power_w"], "timed_out");
}
