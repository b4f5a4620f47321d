//! The Gaudi probe against the fake library: each test proves a trap that its scenario is made of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::cambricon::{once, steady};
use crate::support::small::{Fake, all, expect, implausible};
use nameplate::model::{Absent, Metric as M, ProbeStatus, Reason};
use nameplate::probe::vendor::Answer;
use std::path::Path;
use tempfile::TempDir;

/// A card at work. Its module is not its index, and its handle is neither.
pub(crate) const GAUDI2: &str = "
version = '1.20.0-fw-58.1.1'
driver_version = '1.20.0-a1b2c3d'
[[device]]
handle = 0x7f20
name = 'HL-225'
uuid = '01P4-HL3090A0-18-U4V193-22-07-00'
serial = 'AM22000001'
module_id = 5
minor = 2
pci_id = 0x10201da3
bus_id = '0000:cc:00.0'
link_speed = '16.0 GT/s'
link_width = 'x16'
power = 412_500
limit_default = 600_000
temperature = [51, 44]
threshold = [110, 100, 95, 105]
utilization = 97
memory_total = 103_079_215_104
memory_used = 1_073_741_824
clock = [1400]
clock_max = [1600]
reasons = 0
energy = 9_000_000
generation = 4
width = 16
replays = 2
ecc = [1, 7]
rows = [3, 0]
rows_pending = 0
";

/// The device with lines laid over it.
fn over(lines: &str) -> String {
    let mut table: toml::Table = GAUDI2.parse().unwrap();
    let lines: toml::Table = lines.parse().unwrap();
    table["device"][0].as_table_mut().unwrap().extend(lines);
    toml::to_string(&table).unwrap()
}

/// A machine's root with the driver's files of one card.
fn root(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let card = root.path().join("sys/class/accel/accel2/device");
    std::fs::create_dir_all(&card).unwrap();
    for (name, text) in [("vendor", "0x1da3\n"), ("pci_addr", "0000:cc:00.0\n")]
        .iter()
        .chain(files)
    {
        std::fs::write(card.join(name), text).unwrap();
    }
    root
}

#[test]
fn a_card_says_everything_in_base_units() {
    let fake = Fake::hlml(GAUDI2);
    let root = root(&[("max_power", "550000\n"), ("status", "Operational\n")]);
    let probe = fake.probe_at(root.path());
    let opened = probe.open().unwrap();
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    assert_eq!(opened.report.version.as_deref(), Some("1.20.0-fw-58.1.1"));
    assert!(
        opened
            .report
            .path
            .as_deref()
            .unwrap()
            .ends_with("libhlml.so")
    );
    let device = &opened.devices[0];
    assert_eq!(&*device.id.0, "01P4-HL3090A0-18-U4V193-22-07-00");
    assert_eq!((&*device.name, device.index), ("HL-225", 0));
    assert_eq!(device.pci_id, Ok((0x1da3, 0x1020)));
    assert_eq!(device.pci_address.unwrap().to_string(), "0000:cc:00.0");
    assert_eq!(device.driver.as_deref(), Ok("1.20.0-a1b2c3d"));
    let details: Vec<(&str, &str)> = device.details.iter().map(|(n, v)| (&**n, &**v)).collect();
    assert_eq!(
        details,
        [
            ("module_id", "5"),
            ("minor_number", "2"),
            ("serial", "AM22000001")
        ]
    );
    let (answer, readings) = all(&*probe, &device.id);
    assert_eq!(answer, Answer::Answered);
    expect(
        &readings,
        &[
            (M::PowerUsage, Ok(412.5)),
            (M::LimitDefault, Ok(600.0)),
            // The limit that is set stands in the driver's files only.
            (M::LimitEnforced, Ok(550.0)),
            (M::CoreTemperature, Ok(51.0)),
            (M::ThresholdShutdown, Ok(110.0)),
            (M::ThresholdSlowdown, Ok(100.0)),
            (M::ThresholdMemoryMax, Ok(95.0)),
            (M::ThresholdGpuMax, Ok(105.0)),
            (M::Utilization, Ok(0.97)),
            (M::MemoryTotal, Ok(103_079_215_104.0)),
            (M::MemoryUsed, Ok(1_073_741_824.0)),
            (M::SmClock, Ok(1400.0)),
            (M::SmClockMax, Ok(1600.0)),
            (M::Reasons, Ok(0.0)),
            (M::Energy, Ok(9000.0)),
            (M::PcieGenerationBefore, Ok(4.0)),
            (M::PcieWidthBefore, Ok(16.0)),
            (M::PcieReplays, Ok(2.0)),
            (M::EccUncorrected, Ok(1.0)),
            (M::RemapCorrectable, Ok(3.0)),
            (M::RemapUncorrectable, Ok(0.0)),
            (M::RemapPending, Ok(0.0)),
            (M::Health, Ok(0.0)),
            // What has no stated unit is not told.
            (M::SecondsSwPowerCap, Err(Absent::NotReported)),
            (M::PcieRxRate, Err(Absent::NotReported)),
        ],
    );
    assert_eq!(probe.processes(&device.id), Err(Absent::NotSupported));
    // Without the files nobody knows the limit that is set.
    let probe = fake.probe_at(Path::new("/nowhere"));
    let opened = probe.open().unwrap();
    let (_, readings) = all(&*probe, &opened.devices[0].id);
    expect(
        &readings,
        &[
            (M::LimitEnforced, Err(Absent::NotReported)),
            (M::LimitDefault, Ok(600.0)),
            (M::Health, Err(Absent::NotReported)),
        ],
    );
}

#[test]
fn reasons_are_told_in_the_words_of_all_vendors() {
    for (raw, words) in [
        (1, Reason::POWER_CAP),
        (2, Reason::SW_THERMAL),
        (3, Reason::POWER_CAP | Reason::SW_THERMAL),
        // Bit 2 is no power cap, as it is in NVML's mask.
        (4, 0),
    ] {
        let fake = Fake::hlml(&over(&format!("reasons = {raw}")));
        let (probe, opened) = fake.open();
        let (_, readings) = all(&*probe, &opened.devices[0].id);
        expect(
            &readings,
            &[
                (M::Reasons, Ok(words as f64)),
                (M::VendorReasons, Ok(f64::from(raw))),
            ],
        );
    }
}

#[test]
fn a_lost_device_keeps_its_row_and_comes_back() {
    let fake = Fake::hlml(GAUDI2);
    let (probe, opened) = fake.open();
    let id = &opened.devices[0].id;
    for code in [15, 11] {
        fake.write(&over(&format!("errors = {{ all = {code} }}")));
        let (answer, readings) = all(&*probe, id);
        assert_eq!(answer, Answer::Lost(Absent::Lost), "{code}");
        expect(&readings, &[(M::PowerUsage, Err(Absent::Lost))]);
        fake.write(GAUDI2);
        assert_eq!(all(&*probe, id).0, Answer::Answered);
    }
    // A driver that was loaded anew: the library has to be opened again.
    fake.write(&over("errors = { all = 9 }"));
    assert_eq!(all(&*probe, id).0, Answer::Reopen);
    fake.write(GAUDI2);
    let opened = probe.open().unwrap();
    assert_eq!(all(&*probe, &opened.devices[0].id).0, Answer::Answered);
    probe.close();
    assert_eq!(all(&*probe, id).0, Answer::Reopen);
}

#[test]
fn what_is_refused_is_absent_for_its_reason_and_never_zero() {
    for (code, why) in [
        (3, Absent::NotSupported),
        (10, Absent::TimedOut),
        (21, Absent::NotReported),
        (49, Absent::NotReported),
    ] {
        let lines = format!("errors = {{ power = {code}, memory = {code}, threshold = {code} }}");
        let fake = Fake::hlml(&over(&lines));
        let (probe, opened) = fake.open();
        let (answer, readings) = all(&*probe, &opened.devices[0].id);
        assert_eq!(answer, Answer::Answered);
        expect(
            &readings,
            &[
                (M::PowerUsage, Err(why)),
                (M::MemoryUsed, Err(why)),
                (M::MemoryTotal, Err(why)),
                (M::ThresholdSlowdown, Err(why)),
                (M::Utilization, Ok(0.97)),
            ],
        );
    }
    // A device that knows nothing, on a library that knows less.
    let fake = Fake::hlml("[[device]]\nhandle = 3\n").without(&["hlml_device_get_power_usage"]);
    let (probe, opened) = fake.open();
    let device = &opened.devices[0];
    assert_eq!(
        (&*device.id.0, &*device.name),
        ("gaudi-unnamed-0", "unknown")
    );
    let (_, readings) = all(&*probe, &device.id);
    for metric in M::ALL {
        assert!(readings.get(*metric).is_err(), "{metric:?}");
    }
    expect(&readings, &[(M::PowerUsage, Err(Absent::NoLibrary))]);
}

#[test]
fn the_link_of_a_user_who_is_not_root_is_read_from_its_text() {
    let fake = Fake::hlml(&over(
        "link_speed = '32GT/s PCI'\nerrors = { generation = 3 }",
    ));
    let (probe, opened) = fake.open();
    let (_, readings) = all(&*probe, &opened.devices[0].id);
    expect(&readings, &[(M::PcieGenerationBefore, Ok(5.0))]);
}

#[test]
fn garbage_is_kept_out_with_the_number_as_it_came() {
    let lines = "power = 0xFFFFFFFF\nlimit_default = 0\ntemperature = [-1]\nthreshold = [0, 4000, 95]\n\
                 utilization = 101\nmemory_total = 100\nmemory_used = -1\nclock = [0xFFFFFFFF]\nclock_max = [0]\n\
                 reasons = -1\nenergy = 0\ngeneration = 9\nwidth = 255\nreplays = 0xFFFFFFFF\nrows_pending = 2\n\
                 bus_id = 'garbage-without'\nname = \"HL-\\u001b[2J225\"\nuuid = '  '\n";
    let fake = Fake::hlml(&over(lines));
    let (probe, opened) = fake.open();
    let device = &opened.devices[0];
    assert_eq!(&*device.name, "HL-225");
    assert_eq!(&*device.id.0, "gaudi-unnamed-0");
    let (answer, readings) = all(&*probe, &device.id);
    assert_eq!(answer, Answer::Answered);
    let all_ones = f64::from(u32::MAX);
    expect(
        &readings,
        &[
            (M::PowerUsage, implausible(all_ones)),
            (M::LimitDefault, implausible(0.0)),
            (M::CoreTemperature, implausible(all_ones)),
            (M::ThresholdShutdown, implausible(0.0)),
            (M::ThresholdSlowdown, implausible(4000.0)),
            (M::ThresholdMemoryMax, Ok(95.0)),
            (M::ThresholdGpuMax, Err(Absent::NotSupported)),
            (M::Utilization, implausible(101.0)),
            (M::MemoryTotal, Ok(100.0)),
            (M::MemoryUsed, implausible(u64::MAX as f64)),
            (M::SmClock, implausible(all_ones)),
            (M::SmClockMax, implausible(0.0)),
            (M::Reasons, implausible(u64::MAX as f64)),
            (M::VendorReasons, implausible(u64::MAX as f64)),
            (M::Energy, implausible(0.0)),
            (M::PcieGenerationBefore, implausible(9.0)),
            (M::PcieWidthBefore, implausible(255.0)),
            (M::PcieReplays, implausible(all_ones)),
            (M::RemapPending, implausible(2.0)),
        ],
    );
}

#[test]
fn a_call_that_does_not_return_holds_up_no_other_device() {
    let two = |first: &str| {
        format!(
            "{}\n[[device]]\nhandle = 99\nname = 'HL-225'\npower = 90000\n",
            over(first)
        )
    };
    let fake = Fake::hlml(&two(""));
    let (probe, opened) = fake.open();
    fake.write(&two("blocks = ['power']"));
    let hung = {
        let (probe, id) = (probe.clone(), opened.devices[0].id.clone());
        std::thread::spawn(move || all(&*probe, &id).0)
    };
    let (answer, readings) = all(&*probe, &opened.devices[1].id);
    assert_eq!(answer, Answer::Answered);
    expect(&readings, &[(M::PowerUsage, Ok(90.0))]);
    assert!(!hung.is_finished());
    // Nor does it hold up another opening, of a library that is still initialised.
    let again = probe.open().unwrap();
    assert_eq!(all(&*probe, &again.devices[1].id).0, Answer::Answered);
    fake.write(&two(""));
    hung.join().unwrap();
}

#[test]
fn a_library_that_says_no_is_reported_with_what_would_help() {
    for code in [9, 49] {
        let fake = Fake::hlml(&format!("errors = {{ init = {code} }}"));
        let report = fake.probe_at(Path::new("/nowhere")).open().unwrap_err();
        assert_eq!(
            (report.status, report.code),
            (ProbeStatus::NoDevice, Some(code))
        );
    }
    let opened = Fake::hlml("")
        .probe_at(Path::new("/nowhere"))
        .open()
        .unwrap();
    assert_eq!(opened.report.status, ProbeStatus::NoDevice);
    let message = opened.report.message.unwrap();
    assert_eq!(&*message, "the library works and lists no device");
}

#[test]
fn the_whole_program_shows_a_card() {
    let root = root(&[("max_power", "550000\n"), ("status", "Operational\n")]);
    let document = once("--hlml-library", &Fake::hlml(GAUDI2), root.path());
    insta::assert_snapshot!(steady(&document["devices"][0]));
}
