//! The Cambricon probe against the fake library: each test proves a trap that its scenario is made of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::{Program, Schema};
use crate::support::small::{Fake, all, expect, implausible};
use nameplate::model::{Absent, Metric as M, ProbeStatus, Reason};
use nameplate::probe::vendor::Answer;
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: f64 = 1024.0 * 1024.0;

/// A single card at work. Handles are never the index.
const X4: &str = "
lib = [6, 5, 40]
[[device]]
handle = 7340
name = 'MLU370-X4'
uuid = '50100000-0000-0000-0000-00c0ffee0001'
sn = 0x4100200300
pci_vendor = 0xcabc
pci_device = 0x0370
domain = 0
bus = 0xb1
slot = 0
function = 0
module = 0xFFFF
slot_id = 3
driver_major = 5
driver_minor = 10
driver_build = 22
power = 112
cap = 140
tdp = 150
machine = 2100
limit_default = 150
limit_min = 60
limit_max = 150
chip_temperature = 61
cluster_temperature = 58
board_temperature = 47
memory_temperature = 55
utilization = 87
memory_total = 23308
memory_used = 15021
memory_reserved = 410
clock = 1300
ddr = 3200
clock_default = 1300
clock_max = 1400
throttle_tdp = 0
throttle_cap = 0
generation = 4
width = 16
generation_max = 4
width_max = 16
read = 20_000_000
write = 4_000_000
read_total = 900_000_000_000
write_total = 100_000_000_000
replays = 4
health = 1
fan = -1
ecc_corrected = 3
ecc_uncorrected = 0
ports = 2
port_up = [1, 0]
port_rx = [1000, 24]
port_tx = [2000, 0]
port_bad = [3, 4]
process = [{ pid = 4711, memory = 15_000_000, ipu = 86 }, { pid = 4711, memory = 1, ipu = 86 }]

[device.fields]
52 = 95
53 = { value = 105, type = 1 }
68 = { value = 90.0, type = 0 }
69 = 85
70 = { value = 29, type = 4 }
71 = 5_000_000
72 = 12_500_000_000
73 = 0
";

/// One device of the scenario with lines laid over it.
fn over(lines: &str) -> String {
    let mut table: toml::Table = X4.parse().unwrap();
    let lines: toml::Table = lines.parse().unwrap();
    let device = table["device"][0].as_table_mut().unwrap();
    device.extend(lines);
    toml::to_string(&table).unwrap()
}

/// Two chips of one board, and one alone.
pub(crate) fn x8(second: &str) -> String {
    let chip = |handle, sn, bus, power| {
        format!(
            "[[device]]\nhandle = {handle}\nname = 'MLU370-X8'\nuuid = 'chip-{handle}'\nsn = {sn}\npower = {power}\n\
             cap = 250\ntdp = 250\nbus = {bus}\ndomain = 0\nslot = 0\nfunction = 0\npci_device = 0x370\n\
             pci_vendor = 0xcabc\nutilization = 0\nmemory_total = 23374\nmemory_used = 0\n"
        )
    };
    let (one, two, other) = (
        chip(91, 500, 0x39, 106),
        chip(17, 500, 0x3d, 107),
        chip(64, 501, 0x51, 111),
    );
    format!("{one}{two}{second}\n{other}")
}

#[test]
fn a_card_says_everything_in_base_units() {
    let fake = Fake::cndev(X4);
    let (probe, opened) = fake.open();
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    assert_eq!(opened.report.version.as_deref(), Some("6.5.40"));
    assert!(
        opened
            .report
            .path
            .as_deref()
            .unwrap()
            .ends_with("libcndev.so")
    );
    let device = &opened.devices[0];
    assert_eq!(&*device.id.0, "50100000-0000-0000-0000-00c0ffee0001");
    assert_eq!((&*device.name, device.index), ("MLU370-X4", 0));
    assert_eq!(device.pci_id, Ok((0xcabc, 0x0370)));
    assert_eq!(device.pci_address.unwrap().to_string(), "0000:b1:00.0");
    assert_eq!(device.driver.as_deref(), Ok("5.10.22"));
    assert_eq!(device.board.0, device.id.0);
    let details: Vec<(&str, &str)> = device.details.iter().map(|(n, v)| (&**n, &**v)).collect();
    assert_eq!(details, [("serial", "4100200300"), ("slot", "3")]);
    let (answer, readings) = all(&*probe, &device.id);
    assert_eq!(answer, Answer::Answered);
    expect(
        &readings,
        &[
            (M::PowerUsage, Ok(112.0)),
            (M::BoardPower, Err(Absent::NotSupported)),
            (M::LimitEnforced, Ok(140.0)),
            (M::RatedPower, Ok(150.0)),
            (M::LimitDefault, Ok(150.0)),
            (M::LimitMin, Ok(60.0)),
            (M::LimitMax, Ok(150.0)),
            (M::CoreTemperature, Ok(61.0)),
            (M::MemoryTemperature, Ok(55.0)),
            (M::ThresholdSlowdown, Ok(95.0)),
            (M::ThresholdShutdown, Ok(105.0)),
            (M::ThresholdGpuMax, Ok(90.0)),
            (M::ThresholdMemoryMax, Ok(85.0)),
            (M::Margin, Ok(29.0)),
            (M::Utilization, Ok(0.87)),
            (M::MemoryTotal, Ok(23_308.0 * MIB)),
            (M::MemoryUsed, Ok(15_021.0 * MIB)),
            (M::MemoryReserved, Ok(410.0 * MIB)),
            (M::SmClock, Ok(1300.0)),
            (M::SmClockMax, Ok(1400.0)),
            // The library tells the memory's transfer rate, which is no clock.
            (M::MemoryClock, Err(Absent::NotReported)),
            (M::Reasons, Ok(0.0)),
            (M::Energy, Ok(5000.0)),
            (M::SecondsSwPowerCap, Ok(12.5)),
            (M::SecondsSwThermal, Ok(0.0)),
            (M::PcieGenerationBefore, Ok(4.0)),
            (M::PcieWidthBefore, Ok(16.0)),
            (M::PcieGenerationMax, Ok(4.0)),
            (M::PcieWidthMax, Ok(16.0)),
            (M::PcieBothBytes, Ok(1e12)),
            (M::PcieBothRate, Ok(24e6 * 50.0)),
            (M::PcieRxBytes, Err(Absent::NotReported)),
            (M::PcieReplays, Ok(4.0)),
            (M::Health, Ok(0.0)),
            (M::Fan, Err(Absent::NotSupported)),
            (M::EccCorrected, Ok(3.0)),
            (M::EccUncorrected, Ok(0.0)),
            (M::NvlinkLinks, Ok(2.0)),
            (M::NvlinkUp, Ok(1.0)),
            (M::NvlinkRxBytes, Ok(1024.0)),
            (M::NvlinkTxBytes, Ok(2000.0)),
            (M::NvlinkErrors, Ok(7.0)),
        ],
    );
    let processes = probe.processes(&device.id).unwrap();
    let [process] = &processes[..] else {
        panic!("{processes:?}")
    };
    assert_eq!(process.memory_bytes, Ok(15_000_000.0 * 1024.0));
    assert_eq!((process.pid, process.utilization_ratio), (4711, Ok(0.86)));
}

#[test]
fn reasons_are_told_in_the_words_of_all_vendors() {
    let fake = Fake::cndev(&over(
        "throttle_tdp = 1\nthrottle_lock = 1\nthrottle_thermal = 1\nhealth = 0",
    ));
    let (probe, opened) = fake.open();
    let (_, readings) = all(&*probe, &opened.devices[0].id);
    let expected = Reason::POWER_CAP | Reason::CLOCKS_SET | Reason::SW_THERMAL;
    expect(
        &readings,
        &[
            (M::Reasons, Ok(expected as f64)),
            (M::VendorReasons, Ok(f64::from(0b10_1001))),
            (M::Health, Ok(2.0)),
        ],
    );
}

#[test]
fn two_chips_of_one_board_count_its_power_once() {
    let fake = Fake::cndev(&x8(""));
    let (probe, opened) = fake.open();
    let boards: Vec<&str> = opened.devices.iter().map(|d| &*d.board.0).collect();
    assert_eq!(boards, ["board-1f4", "board-1f4", "chip-64"]);
    for (place, own, board) in [
        (0, Err(Absent::NotSupported), Ok(106.0)),
        (1, Err(Absent::NotSupported), Ok(107.0)),
        (2, Ok(111.0), Err(Absent::NotSupported)),
    ] {
        let (_, readings) = all(&*probe, &opened.devices[place].id);
        expect(&readings, &[(M::PowerUsage, own), (M::BoardPower, board)]);
    }
    // Chips that tell different draws tell their own.
    let fake = Fake::cndev(&x8("").replace("power = 107", "power = 180"));
    let (probe, opened) = fake.open();
    assert_eq!(opened.devices[0].board, opened.devices[1].board);
    let (_, readings) = all(&*probe, &opened.devices[1].id);
    expect(&readings, &[(M::PowerUsage, Ok(180.0))]);
    // One serial number on two boards, as the topology knows.
    let fake = Fake::cndev(&x8("topology_board = 9"));
    let (_, opened) = fake.open();
    assert_ne!(opened.devices[0].board, opened.devices[1].board);
}

#[test]
fn a_lost_device_keeps_its_row_and_comes_back() {
    let fake = Fake::cndev(X4);
    let (probe, opened) = fake.open();
    let id = &opened.devices[0].id;
    for code in [18, 11] {
        fake.write(&over(&format!("errors = {{ all = {code} }}")));
        let (answer, readings) = all(&*probe, id);
        assert_eq!(answer, Answer::Lost(Absent::Lost), "{code}");
        expect(&readings, &[(M::PowerUsage, Err(Absent::Lost))]);
        fake.write(X4);
        let (answer, readings) = all(&*probe, id);
        assert_eq!(answer, Answer::Answered);
        expect(&readings, &[(M::PowerUsage, Ok(112.0))]);
    }
    // A driver that was loaded anew: the library has to be opened again.
    fake.write(&over("errors = { all = 4 }"));
    assert_eq!(all(&*probe, id).0, Answer::Reopen);
    fake.write(X4);
    let opened = probe.open().unwrap();
    assert_eq!(all(&*probe, &opened.devices[0].id).0, Answer::Answered);
}

#[test]
fn what_is_refused_is_absent_for_its_reason_and_never_zero() {
    for (code, why) in [
        (10, Absent::NotSupported),
        (3, Absent::NotSupported),
        (13, Absent::NoPermission),
        (17, Absent::TimedOut),
    ] {
        let fake = Fake::cndev(&over(&format!(
            "errors = {{ power = {code}, memory = {code}, processes = {code} }}"
        )));
        let (probe, opened) = fake.open();
        let (answer, readings) = all(&*probe, &opened.devices[0].id);
        assert_eq!(answer, Answer::Answered);
        expect(
            &readings,
            &[
                (M::PowerUsage, Err(why)),
                (M::RatedPower, Err(why)),
                (M::MemoryUsed, Err(why)),
                (M::MemoryTotal, Err(why)),
                (M::Utilization, Ok(0.87)),
            ],
        );
        assert_eq!(probe.processes(&opened.devices[0].id), Err(why));
    }
    // A device that knows nothing but its name.
    let fake = Fake::cndev("[[device]]\nhandle = 3\nname = 'MLU220'\n");
    let (probe, opened) = fake.open();
    assert_eq!(&*opened.devices[0].id.0, "cambricon-unnamed-0");
    let (_, readings) = all(&*probe, &opened.devices[0].id);
    for metric in M::ALL {
        assert!(
            readings.get(*metric).is_err() || *metric == M::NvlinkLinks,
            "{metric:?} {:?}",
            readings.get(*metric)
        );
    }
}

#[test]
fn garbage_is_kept_out_with_the_number_as_it_came() {
    let lines = "power = -1\ncap = 0xFFFFFFFF\ntdp = 0\nutilization = 250\nchip_temperature = 2112\nclock = -7\n\
                 memory_total = -1\nmemory_used = 5\nwidth = 3\ngeneration = 0\nread_total = -9\nthrottle_tdp = 7\n\
                 fan = 400\nhealth = 5\nports = 9999\nuuid = '01234567890123456789012345678901234567890'\n\
                 name = \"MLU\\u001b[31m370\"\nprocess = [{ pid = -1, memory = 1 }]\n\
                 [fields]\n70 = 99999\n71 = 0\n52 = { value = -1, type = 5 }\n72 = { value = -5, type = 6 }\n53 = { value = 1, type = 77 }\n";
    let fake = Fake::cndev(&over(lines));
    let (probe, opened) = fake.open();
    let device = &opened.devices[0];
    // 37 bytes and no end mark: what lies behind is no part of it.
    assert_eq!(
        device.uuid.as_deref(),
        Ok("0123456789012345678901234567890123456")
    );
    assert_eq!(&*device.name, "MLU370");
    let (answer, readings) = all(&*probe, &device.id);
    assert_eq!(answer, Answer::Answered);
    expect(
        &readings,
        &[
            (M::PowerUsage, implausible(-1.0)),
            (M::LimitEnforced, implausible(-1.0)),
            (M::RatedPower, implausible(0.0)),
            (M::Utilization, implausible(250.0)),
            (M::CoreTemperature, implausible(2112.0)),
            (M::SmClock, implausible(-7.0)),
            (M::MemoryTotal, implausible(-1.0)),
            (M::MemoryUsed, implausible(-1.0)),
            (M::PcieWidthBefore, implausible(3.0)),
            (M::PcieGenerationBefore, implausible(0.0)),
            (M::PcieBothBytes, implausible(-9.0)),
            (M::Reasons, implausible(7.0)),
            (M::VendorReasons, implausible(7.0)),
            (M::Fan, implausible(400.0)),
            (M::Health, implausible(5.0)),
            (M::NvlinkLinks, implausible(9999.0)),
            (M::Margin, implausible(99_999.0)),
            (M::Energy, implausible(0.0)),
            (M::ThresholdSlowdown, implausible(-1.0)),
            (M::ThresholdShutdown, Err(Absent::NotReported)),
            (M::SecondsSwPowerCap, implausible(-5.0)),
        ],
    );
    assert_eq!(
        probe.processes(&device.id),
        Err(Absent::Implausible(f64::from(u32::MAX)))
    );
}

#[test]
fn an_older_library_is_asked_in_its_own_version_and_by_its_own_calls() {
    let fake = Fake::cndev(&format!("version = 5\n{X4}")).without(&[
        "cndevGetDevicePowerInfo",
        "cndevGetMemoryUsageV2",
        "cndevGetPCIeInfoV2",
        "cndevGetPCIethroughputV2",
        "cndevGetPerformanceThrottleReason",
        "cndevDeviceGetFieldValues",
        "cndevGetLibVersion",
        "cndevGetMLULinkErrorCounter",
    ]);
    let (probe, opened) = fake.open();
    assert_eq!(opened.report.version, None);
    let device = &opened.devices[0];
    assert_eq!(device.pci_address.unwrap().to_string(), "0000:b1:00.0");
    let (_, readings) = all(&*probe, &device.id);
    expect(
        &readings,
        &[
            (M::PowerUsage, Ok(112.0)),
            (M::LimitEnforced, Ok(140.0)),
            (M::RatedPower, Ok(150.0)),
            (M::LimitDefault, Ok(150.0)),
            (M::MemoryTotal, Ok(23_308.0 * MIB)),
            (M::PcieBothBytes, Err(Absent::NoLibrary)),
            (M::PcieBothRate, Ok(24e6 * 50.0)),
            (M::Reasons, Err(Absent::NoLibrary)),
            (M::Margin, Err(Absent::NoLibrary)),
            (M::CoreTemperature, Ok(61.0)),
            (M::NvlinkUp, Ok(1.0)),
            (M::NvlinkErrors, Err(Absent::NoLibrary)),
        ],
    );
    assert_eq!(probe.processes(&device.id).unwrap().len(), 1);
    // One so old that devices go by their index.
    let fake = Fake::cndev(&over("handle = 0")).without(&["cndevGetDeviceHandleByIndex"]);
    let (probe, opened) = fake.open();
    assert_eq!(all(&*probe, &opened.devices[0].id).0, Answer::Answered);
}

#[test]
fn a_list_that_has_grown_is_asked_for_again() {
    let rows: Vec<String> = (1..=40)
        .map(|pid| format!("{{ pid = {pid}, memory = 1024, ipu = 1 }}"))
        .collect();
    let fake = Fake::cndev(&over(&format!("process = [{}]", rows.join(", "))));
    let (probe, opened) = fake.open();
    assert_eq!(probe.processes(&opened.devices[0].id).unwrap().len(), 40);
}

#[test]
fn a_call_that_does_not_return_holds_up_no_other_device() {
    let fake = Fake::cndev(&x8(""));
    let (probe, opened) = fake.open();
    fake.write(&x8("blocks = ['power', 'processes']"));
    let stuck = opened.devices[1].id.clone();
    let hung = {
        let (probe, id) = (probe.clone(), stuck.clone());
        std::thread::spawn(move || (all(&*probe, &id).0, probe.processes(&id)))
    };
    for device in [&opened.devices[0], &opened.devices[2]] {
        assert_eq!(all(&*probe, &device.id).0, Answer::Answered);
    }
    assert!(!hung.is_finished());
    // Nor does it hold up the end, or another opening.
    let begin = Instant::now();
    fake.write(&x8("blocks = ['processes']"));
    let opened = probe.open().unwrap();
    assert_eq!(all(&*probe, &opened.devices[0].id).0, Answer::Answered);
    assert!(begin.elapsed() < Duration::from_secs(30));
    probe.close();
    fake.write(&x8(""));
    let (answer, list) = hung.join().unwrap();
    assert_eq!(answer, Answer::Answered);
    assert!(list.is_err(), "{list:?}");
}

#[test]
fn a_library_that_says_no_is_reported_with_what_would_help() {
    for (code, status) in [
        (1, ProbeStatus::NoDevice),
        (2, ProbeStatus::Mismatch),
        (13, ProbeStatus::NoPermission),
        (7, ProbeStatus::NoDevice),
    ] {
        let fake = Fake::cndev(&format!("errors = {{ init = {code} }}"));
        let report = fake.probe_at(Path::new("/")).open().unwrap_err();
        assert_eq!((report.status, report.code), (status, Some(code)));
        let message = report.message.as_deref().unwrap();
        assert!(
            message.starts_with("initialising the library: "),
            "{message}"
        );
    }
    let fake = Fake::cndev("errors = { handle = 18 }\n[[device]]\nhandle = 1\n");
    let report = fake.probe_at(Path::new("/")).open().unwrap_err();
    assert_eq!(report.code, Some(18));
    let fake = Fake::cndev("");
    let opened = fake.probe_at(Path::new("/")).open().unwrap();
    assert_eq!(opened.report.status, ProbeStatus::NoDevice);
}

/// The documents of the whole program, without what differs from run to run.
pub(crate) fn once(flag: &str, fake: &Fake, root: &Path) -> serde_json::Value {
    let library = fake.library();
    let root = root.to_str().unwrap();
    let args = [
        "once",
        "--format",
        "json",
        "--no-record",
        "--root",
        root,
        flag,
    ];
    let mut program = Program::new(&args);
    program.command.arg(&library);
    let output = program.output();
    let text = String::from_utf8_lossy(&output.stdout);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{error}: {text} {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert_eq!(
        Schema::of("snapshot").check(&document),
        Vec::<String>::new()
    );
    document
}

/// A device of a document, without what depends on the moment: seconds, and rates, which need a second reading in time.
pub(crate) fn steady(device: &serde_json::Value) -> String {
    fn strip(value: &mut serde_json::Value) {
        const MOMENT: [&str; 5] = [
            "_seconds",
            "_per_s",
            "saturation_ratio",
            "method",
            "verdict",
        ];
        let Some(fields) = value.as_object_mut() else {
            return;
        };
        fields.retain(|name, _| !MOMENT.iter().any(|end| name.ends_with(end)));
        fields.values_mut().for_each(strip);
    }
    let mut device = device.clone();
    strip(&mut device);
    serde_json::to_string_pretty(&device).unwrap()
}

#[test]
fn the_whole_program_shows_a_board_once() {
    let root = tempfile::tempdir().unwrap();
    let document = once("--cndev-library", &Fake::cndev(&x8("")), root.path());
    let board = &document["boards"][0];
    assert_eq!(board["devices"].as_array().unwrap().len(), 2);
    assert_eq!(board["power_w"], 107.0);
    assert_eq!(board["power_limit_w"], 250.0);
    assert_eq!(document["devices"][0]["power_scope"], "board");
    assert_eq!(document["devices"][2]["power_scope"], "gpu");
    let document = once("--cndev-library", &Fake::cndev(X4), root.path());
    insta::assert_snapshot!(steady(&document["devices"][0]));
}

#[test]
fn the_whole_program_goes_on_without_a_device_that_hangs() {
    let root = tempfile::tempdir().unwrap();
    let fake = Fake::cndev(&x8("blocks = ['utilization']"));
    let document = once("--cndev-library", &fake, root.path());
    let devices = document["devices"].as_array().unwrap();
    let told: Vec<_> = devices
        .iter()
        .map(|d| d["utilization_ratio"].as_f64())
        .collect();
    assert_eq!(told, [Some(0.0), None, Some(0.0)]);
    assert_eq!(devices[1]["absent"]["utilization_ratio"], "timed_out");
}
