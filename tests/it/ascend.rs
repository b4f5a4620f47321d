//! The Ascend probe against the fake library: each test proves a trap that its scenario is made of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::small::{Fake, all, expect, implausible};
use nameplate::model::{Absent, Metric as M, ProbeStatus, Readings, Reason};
use nameplate::probe::vendor::{Answer, Vendor};
use std::fmt::Write as _;
use std::path::Path;

pub(crate) const MIB: f64 = 1024.0 * 1024.0;
pub(crate) const VERSIONS: &str = "driver_version = '25.2.1'\ndcmi_version = '24.0.2'\n";

/// What a 910B3 answers at work.
const A2: &str = "
name = '910B3'
version = 'V1'
npu_name = 'Ascend910B3'
aicores = 20
device_id = 0xd802
health = 0
power = 3124
temperature = 58
frequency_7 = 1800
frequency_9 = 1800
utilization_2 = 96
multi = { aicore = 96, vector = 31, npu = 97 }
hbm = { size = 65536, used = 51230, frequency = 1600, temperature = 61, bandwidth = 44 }
reasons = 0
rated_power = 350000
ecc_2 = { enabled = 1, single = 3, double = 1, single_pages = 1, double_pages = 1 }
processes = [{ pid = 41237, bytes = 50331648000 }]
codes = []
";

/// A 910C's chip. Only the first of a card's two has a power.
pub(crate) const A3: &str = "
name = 'Ascend910'
npu_name = 'Ascend910_9391'
health = 0
temperature = 41
frequency_7 = 1650
frequency_9 = 1800
multi = { aicore = 80, vector = 12, npu = 81 }
hbm = { size = 65536, used = 31800, frequency = 1600, temperature = 44, bandwidth = 20 }
rated_power = 600000
";

/// A 310P3 of the card with two, which share a bus id and tell no power.
const DUO: &str = "
name = '310P3'
health = 0
temperature = 47
frequency_7 = 1080
frequency_9 = 1080
utilization_2 = 12
utilization_5 = 7
bus = 0x81
mcu_power = 621
";

/// A device of a scenario.
pub(crate) fn device(card: usize, chip: usize, values: &[&str]) -> String {
    let mut text = format!("[[device]]\ncard = {card}\nchip = {chip}\n");
    for value in values {
        writeln!(text, "{value}").unwrap();
    }
    text
}

/// A 910B3 as card `card`; what `over` says stands in the place of its own.
pub(crate) fn a2(card: usize, over: &str) -> String {
    let bus = format!("bus = {}", 0xc1 + card);
    let die = format!("die = [0x1a2b3c4d, {card}, 0x20, 0x30, 0x40]");
    let own = [A2.trim(), &bus, &die].join("\n");
    let is_over = |line: &str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        over.lines()
            .any(|other| other.split('=').next().unwrap_or_default().trim() == name)
    };
    let kept: Vec<&str> = own.lines().filter(|line| !is_over(line)).collect();
    device(card, 0, &[&kept.join("\n"), over])
}

pub(crate) fn eight() -> String {
    (0..8).fold(VERSIONS.to_owned(), |text, card| text + &a2(card, ""))
}

fn detail<'a>(device: &'a nameplate::model::Device, name: &str) -> Option<&'a str> {
    let mut details = device.details.iter();
    let (_, value) = details.find(|(own, _)| &**own == name)?;
    Some(value)
}

pub(crate) fn sampled(probe: &dyn Vendor, id: &nameplate::model::DeviceId) -> Readings {
    let (answer, readings) = all(probe, id);
    assert_eq!(answer, Answer::Answered);
    readings
}

#[test]
fn a_910b_says_everything_in_base_units() {
    let fake = Fake::dcmi(&eight());
    let (probe, opened) = fake.open();
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    assert_eq!(opened.report.version.as_deref(), Some("24.0.2"));
    assert!(
        opened
            .report
            .path
            .as_deref()
            .unwrap()
            .ends_with("libdcmi.so")
    );
    assert_eq!(opened.devices.len(), 8);
    let device = &opened.devices[3];
    assert_eq!(&*device.name, "910B3");
    assert_eq!(
        &*device.id.0,
        "1A2B3C4D-00000003-00000020-00000030-00000040"
    );
    assert_eq!(device.pci_address.unwrap().to_string(), "0000:c4:00.0");
    assert_eq!(device.pci_id, Ok((0x19e5, 0xd802)));
    assert_eq!(device.driver.as_deref(), Ok("25.2.1"));
    assert_eq!(device.board.0, device.id.0);
    for (name, value) in [
        ("npu", "3"),
        ("chip", "0"),
        ("logic_id", "3"),
        ("physical_id", "3"),
        ("soc", "Ascend910B3"),
        ("aicores", "20"),
    ] {
        assert_eq!(detail(device, name), Some(value), "{name}");
    }
    expect(
        &sampled(&*probe, &device.id),
        &[
            (M::PowerUsage, Ok(312.4)),
            (M::BoardPower, Err(Absent::NotSupported)),
            (M::RatedPower, Ok(350.0)),
            (M::CoreTemperature, Ok(58.0)),
            (M::MemoryTemperature, Ok(61.0)),
            (M::SmClock, Ok(1800.0)),
            (M::SmClockMax, Ok(1800.0)),
            (M::MemoryClock, Ok(1600.0)),
            (M::Utilization, Ok(0.96)),
            (M::MemoryActivity, Ok(0.44)),
            (M::MemoryUsed, Ok(51_230.0 * MIB)),
            (M::MemoryTotal, Ok(65_536.0 * MIB)),
            (M::Reasons, Ok(0.0)),
            (M::VendorReasons, Ok(0.0)),
            (M::Health, Ok(0.0)),
            (M::EccEnabled, Ok(1.0)),
            (M::EccCorrected, Ok(3.0)),
            (M::EccUncorrected, Ok(1.0)),
            (M::RetiredPages, Ok(2.0)),
            // Nobody says so: neither is guessed.
            (M::LimitEnforced, Err(Absent::NotReported)),
            (M::ThresholdSlowdown, Err(Absent::NotReported)),
            (M::PcieRxBytes, Err(Absent::NotReported)),
        ],
    );
    let processes = probe.processes(&device.id).unwrap();
    let told: Vec<_> = processes.iter().map(|p| (p.pid, p.memory_bytes)).collect();
    assert_eq!(told, [(41_237, Ok(50_331_648_000.0))]);
    assert!(!probe.needs_blocking_pcie(&device.id));
}

#[test]
fn cards_ids_are_values_with_gaps() {
    for (cards, buses) in [
        (&[2][..], &["0000:c3:00.0"][..]),
        (&[4, 6], &["0000:c5:00.0", "0000:c7:00.0"]),
    ] {
        let scenario: String = cards.iter().map(|card| a2(*card, "")).collect();
        let fake = Fake::dcmi(&scenario);
        let (probe, opened) = fake.open();
        let found: Vec<String> = opened
            .devices
            .iter()
            .map(|device| device.pci_address.unwrap().to_string())
            .collect();
        assert_eq!(found, buses);
        assert_eq!(
            detail(&opened.devices[0], "npu"),
            Some(&*cards[0].to_string())
        );
        assert_eq!(opened.devices[0].index, 0);
        sampled(&*probe, &opened.devices[cards.len() - 1].id);
    }
}

#[test]
fn only_neural_processors_are_devices() {
    let scenario = a2(0, "") + &device(0, 1, &["type = 1", "power = 99"]);
    let fake = Fake::dcmi(&scenario);
    // The older call counts the management controller, too.
    let older = Fake::dcmi(&scenario).without(&["dcmi_get_device_id_in_card"]);
    for fake in [fake, older] {
        let (_, opened) = fake.open();
        assert_eq!(opened.devices.len(), 1);
        assert_eq!(opened.report.message, None);
    }
}

#[test]
fn held_back_for_heat_and_power_in_the_words_of_all_vendors() {
    let scenario = [
        a2(0, "reasons = 0x404"),
        a2(1, "reasons = 0x40000000"),
        a2(2, "reasons = -1"),
        a2(3, "reasons = 1"),
    ];
    let fake = Fake::dcmi(&scenario.concat());
    let (probe, opened) = fake.open();
    let told = |n: usize| {
        let readings = sampled(&*probe, &opened.devices[n].id);
        (readings.get(M::Reasons), readings.get(M::VendorReasons))
    };
    let both = (Reason::SW_THERMAL | Reason::POWER_CAP) as f64;
    assert_eq!(told(0), (Ok(both), Ok(f64::from(0x404))));
    // Held back for a reason without a name is not "not held back".
    let unknown = f64::from(0x4000_0000);
    assert_eq!(told(1), (implausible(unknown), Ok(unknown)));
    assert_eq!(told(2).1, implausible(u64::MAX as f64));
    assert_eq!(told(3).0, Ok(Reason::IDLE as f64));
}

#[test]
fn a_910c_counts_its_card_once() {
    let chips = [
        device(
            0,
            0,
            &[A3, "bus = 0x9d", "power = 4821", "die = [1, 1, 1, 1, 1]"],
        ),
        device(0, 1, &[A3, "bus = 0x9f", "die = [1, 1, 1, 1, 2]"]),
        device(
            1,
            0,
            &[A3, "bus = 0xa1", "power = 4790", "die = [1, 1, 1, 1, 3]"],
        ),
        device(1, 1, &[A3, "bus = 0xa3", "die = [1, 1, 1, 1, 4]"]),
    ];
    let fake = Fake::dcmi(&chips.concat());
    let (probe, opened) = fake.open();
    let boards: Vec<&str> = opened.devices.iter().map(|d| &*d.board.0).collect();
    let ids: Vec<&str> = opened.devices.iter().map(|d| &*d.id.0).collect();
    assert_eq!(boards, [ids[0], ids[0], ids[2], ids[2]]);
    assert!(
        opened
            .devices
            .iter()
            .all(|device| &*device.name == "Ascend910")
    );
    assert_eq!(detail(&opened.devices[3], "soc"), Some("Ascend910_9391"));
    for (device, watts) in opened.devices.iter().zip([482.1, 482.1, 479.0, 479.0]) {
        expect(
            &sampled(&*probe, &device.id),
            &[
                (M::BoardPower, Ok(watts)),
                (M::PowerUsage, Err(Absent::NotSupported)),
                // A chip's or a card's: that is not said.
                (M::RatedPower, Err(Absent::NotSupported)),
                (M::Utilization, Ok(0.8)),
            ],
        );
    }
}

#[test]
fn two_310p_share_a_bus_id_and_have_ddr() {
    let chips = [
        device(
            4,
            0,
            &[
                DUO,
                "memory = { size = 44280, available = 2549, frequency = 4266 }",
            ],
        ),
        device(
            4,
            1,
            &[
                DUO,
                "memory = { size = 43693, available = 42186, frequency = 4266 }",
            ],
        ),
    ];
    let fake = Fake::dcmi(&chips.concat());
    let (probe, opened) = fake.open();
    let ids: Vec<&str> = opened.devices.iter().map(|d| &*d.id.0).collect();
    assert_eq!(ids, ["0000:81:00.0", "0000:81:00.0/1"]);
    assert_eq!(opened.devices[1].uuid, Err(Absent::NotSupported));
    assert!(opened.devices.iter().all(|device| &*device.name == "310P3"));
    expect(
        &sampled(&*probe, &opened.devices[1].id),
        &[
            (M::BoardPower, Ok(62.1)),
            (M::MemoryTotal, Ok(43_693.0 * MIB)),
            (M::MemoryUsed, Ok(1507.0 * MIB)),
            (M::MemoryClock, Ok(4266.0)),
            (M::MemoryTemperature, Err(Absent::NotSupported)),
            (M::MemoryActivity, Ok(0.07)),
            (M::Utilization, Ok(0.12)),
            (M::Reasons, Err(Absent::NotSupported)),
            (M::EccUncorrected, Err(Absent::NotSupported)),
        ],
    );
    let single = device(4, 0, &[DUO, "memory = { size = 21525, available = 19686 }"]);
    let fake = Fake::dcmi(&single);
    let (probe, opened) = fake.open();
    assert_eq!(&*opened.devices[0].name, "310P3");
    let readings = sampled(&*probe, &opened.devices[0].id);
    assert_eq!(readings.get(M::PowerUsage), Ok(62.1));
}

#[test]
fn the_first_generation_s_910b_is_told_from_the_second() {
    let old = "name = '910B'\nmemory = { size = 15665, available = 13254, frequency = 1200 }";
    for (over, name) in [(old, "910B"), ("name = '910B'", "910B (A2)")] {
        let (_, opened) = Fake::dcmi(&a2(0, over)).open();
        assert_eq!(&*opened.devices[0].name, name);
    }
}

#[test]
fn the_newer_generation_is_asked_by_number() {
    let fake = Fake::dcmi(&format!("generation = 2\n{}", eight()));
    let (probe, opened) = fake.open();
    assert_eq!(opened.devices.len(), 8);
    assert_eq!(opened.report.version.as_deref(), Some("24.0.2"));
    let device = &opened.devices[5];
    assert_eq!(device.pci_address.unwrap().to_string(), "0000:c6:00.0");
    expect(
        &sampled(&*probe, &device.id),
        &[
            (M::PowerUsage, Ok(312.4)),
            (M::RatedPower, Ok(350.0)),
            (M::Utilization, Ok(0.96)),
            (M::Reasons, Ok(0.0)),
        ],
    );
    assert_eq!(probe.processes(&device.id).map(|list| list.len()), Ok(1));
}

#[test]
fn an_old_library_lacks_calls_and_keeps_the_rest() {
    let fake = Fake::dcmi(&eight()).without(&[
        "dcmi_get_card_list",
        "dcmi_get_device_chip_info_v2",
        "dcmi_get_device_pcie_info_v2",
        "dcmi_get_device_die_v2",
        "dcmi_get_device_multi_utilization_rate",
        "dcmi_get_device_info",
        "dcmi_get_device_ecc_info",
        "dcmi_get_device_type",
        "dcmi_get_device_errorcode_v2",
    ]);
    let (probe, opened) = fake.open();
    assert_eq!(opened.devices.len(), 8);
    let device = &opened.devices[1];
    assert_eq!(&*device.id.0, "0000:c2:00.0");
    assert_eq!(device.pci_id, Ok((0x19e5, 0xd802)));
    assert_eq!(&*device.name, "910B3");
    expect(
        &sampled(&*probe, &device.id),
        &[
            (M::Utilization, Ok(0.96)),
            (M::PowerUsage, Ok(312.4)),
            (M::RatedPower, Err(Absent::NoLibrary)),
            (M::Reasons, Err(Absent::NoLibrary)),
            (M::EccUncorrected, Err(Absent::NoLibrary)),
        ],
    );
    assert!(probe.processes(&device.id).is_ok());
}

#[test]
fn numbers_that_cannot_be_are_absent_and_kept() {
    let garbage = [
        device(
            0,
            0,
            &[
                "name = \"910B1\\u001b]0;x\\u0007\"",
                "aicores = 4294967295",
                "bus = 0xc1",
                "health = 4294967295",
                "power = 0x7ffd",
                "temperature = 0x7fff",
                "frequency_7 = 4294967295",
                "frequency_9 = 0",
                "multi = { aicore = 101 }",
                "hbm = { size = 65536, used = 65537, bandwidth = 255 }",
                "reasons = 4294967295",
                "rated_power = 350",
                "ecc_2 = { enabled = 7, single = 1, double = 1 }",
                "processes = [{ pid = -1, bytes = 5 }]",
            ],
        ),
        device(
            1,
            0,
            &[
                "bus = 300",
                "die = [0, 0, 0, 0, 0]",
                "health = 9",
                "power = -5",
                "temperature = -300",
                "multi = { aicore = 4294967295 }",
                "hbm = { size = -1, used = 0 }",
                "ecc_2 = { enabled = 1, single = 4294967295, double = 0 }",
                "processes = []",
                "process_count = 33",
            ],
        ),
    ];
    let fake = Fake::dcmi(&garbage.concat());
    let (probe, opened) = fake.open();
    let all_ones = f64::from(u32::MAX);
    let [first, second] = &opened.devices[..] else {
        panic!("{opened:?}")
    };
    assert!(
        !first.name.chars().any(char::is_control),
        "{:?}",
        first.name
    );
    assert_eq!(detail(first, "aicores"), None);
    expect(
        &sampled(&*probe, &first.id),
        &[
            (M::Health, Err(Absent::NotReported)),
            (M::PowerUsage, implausible(f64::from(0x7ffd))),
            (M::CoreTemperature, implausible(f64::from(0x7fff))),
            (M::SmClock, implausible(all_ones)),
            (M::SmClockMax, implausible(0.0)),
            (M::Utilization, implausible(101.0)),
            (M::MemoryUsed, implausible(65_537.0)),
            (M::MemoryActivity, implausible(255.0)),
            (M::MemoryTemperature, implausible(0.0)),
            (M::MemoryClock, implausible(0.0)),
            (M::Reasons, implausible(all_ones)),
            (M::RatedPower, implausible(350.0)),
            (M::EccEnabled, implausible(7.0)),
            (M::EccUncorrected, implausible(7.0)),
        ],
    );
    assert_eq!(probe.processes(&first.id), Err(Absent::Implausible(-1.0)));
    assert_eq!(&*second.name, "unknown");
    assert_eq!(second.pci_address, Err(Absent::Implausible(300.0)));
    assert_eq!(&*second.id.0, "ascend-npu-1-0");
    expect(
        &sampled(&*probe, &second.id),
        &[
            (M::Health, implausible(9.0)),
            (M::PowerUsage, implausible(-5.0)),
            (M::CoreTemperature, implausible(-300.0)),
            (M::Utilization, implausible(all_ones)),
            (M::MemoryTotal, implausible(u64::MAX as f64)),
            (M::EccCorrected, implausible(all_ones)),
            (M::EccUncorrected, Ok(0.0)),
        ],
    );
    assert_eq!(probe.processes(&second.id), Err(Absent::Implausible(33.0)));
}

#[test]
fn a_lone_zero_beside_a_draw_that_no_idle_chip_has_is_no_zero() {
    let zero = "multi = { aicore = 0, vector = 0, npu = 0 }";
    let vector = "multi = { aicore = 0, vector = 40, npu = 40 }";
    for (over, told) in [
        (format!("{zero}\npower = 3124"), implausible(0.0)),
        (format!("{zero}\npower = 990"), Ok(0.0)),
        (format!("{vector}\npower = 3124"), Ok(0.0)),
        // Without a rated power nobody knows what is much.
        (format!("{zero}\npower = 3124\nrated_power = 1"), Ok(0.0)),
    ] {
        let fake = Fake::dcmi(&a2(0, &over));
        let (probe, opened) = fake.open();
        let readings = sampled(&*probe, &opened.devices[0].id);
        assert_eq!(readings.get(M::Utilization), told, "{over}");
    }
}

/// A link of half its width under a root.
pub(crate) fn narrow_link(root: &Path, address: &str) {
    let folder = root.join("sys/bus/pci/devices").join(address);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        ("current_link_speed", "16.0 GT/s PCIe\n"),
        ("current_link_width", "8\n"),
        ("max_link_speed", "16.0 GT/s PCIe\n"),
        ("max_link_width", "16\n"),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn the_link_is_read_from_sysfs_under_the_root() {
    let root = tempfile::tempdir().unwrap();
    narrow_link(root.path(), "0000:c1:00.0");
    let fake = Fake::dcmi(&(a2(0, "") + &a2(1, "")));
    let probe = fake.probe_at(root.path());
    let opened = probe.open().unwrap();
    expect(
        &sampled(&*probe, &opened.devices[0].id),
        &[
            (M::PcieGenerationBefore, Ok(4.0)),
            (M::PcieGenerationAfter, Ok(4.0)),
            (M::PcieWidthBefore, Ok(8.0)),
            (M::PcieWidthAfter, Ok(8.0)),
            (M::PcieGenerationMax, Ok(4.0)),
            (M::PcieWidthMax, Ok(16.0)),
        ],
    );
    let other = sampled(&*probe, &opened.devices[1].id);
    assert_eq!(other.get(M::PcieWidthBefore), Err(Absent::NotReported));
}
