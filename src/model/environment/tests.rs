#![allow(clippy::unwrap_used)]
use super::*;
use crate::model::{Absent, BoardId, DeviceId, DeviceKind};
use proptest::prelude::*;

fn device(vendor: Vendor, driver: &str, details: &[(&str, &str)]) -> Device {
    Device {
        id: DeviceId("a".into()),
        index: 0,
        vendor,
        name: "a".into(),
        uuid: Err(Absent::NotReported),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Ok(driver.into()),
        board: BoardId("a".into()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: details
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    }
}

fn told(device: &Device) -> Vec<(&'static str, String, String, bool)> {
    let standings = floors(device).into_iter();
    standings
        .map(|s| (s.fact, s.value, s.at_least, s.holds))
        .collect()
}

#[test]
fn every_row_of_the_table_is_read() {
    let rows = EMBEDDED.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(TABLE.len(), rows.count() - 1);
    for floor in TABLE.iter() {
        assert!(floor.vendor != Vendor::Other && !floor.source.is_empty());
        if floor.at_least != "same release" {
            assert!(!tokens(floor.at_least).is_empty(), "{}", floor.at_least);
        }
        assert!(
            floor.from.starts_with('+') || !tokens(floor.from).is_empty(),
            "{}",
            floor.from
        );
        // Every cause is a fact that is looked for, or the driver.
        let facts = environment_facts(floor.vendor);
        for name in [floor.fact, floor.because] {
            assert!(name == "driver" || facts.contains(&name), "{name}");
        }
    }
}

#[test]
fn versions_are_compared_as_their_makers_count() {
    for (less, more) in [
        ("8.0.RC1", "8.0.RC2"),
        ("8.0.RC3", "8.0.0"),
        ("8.0.RC3", "8.1.RC1"),
        ("25.0.rc1.1", "25.0.1"),
        ("24.1.rc3", "25.0.RC1"),
        ("25.0.RC1", "25.0.rc1.1"),
        ("2.4.0", "2.4.0.post2"),
        ("2.4.0.post2", "2.4.0.post10"),
        ("2.4.0.post4", "2.5.1"),
        ("2.6.0rc1", "2.6.0"),
        ("5.9.16", "5.10.0-60.18.0.50.oe2203.aarch64"),
        ("Ubuntu 20.04.6 LTS", "22.04"),
        ("Red Hat Enterprise Linux 8.9 (Ootpa)", "8.10"),
        ("hl-gaudi2-1.17.1-fw-51.2.0-sec-9", "1.18.0"),
        ("450.51", "450.80.02"),
    ] {
        assert_eq!(compare(less, more), Ordering::Less, "{less} < {more}");
        assert_eq!(compare(more, less), Ordering::Greater, "{more} > {less}");
    }
    for (a, b) in [
        ("5.15", "5.15.0"),
        ("2.4.0+cu121", "2.4.0"),
        ("1.12.1-fw-46.0.5", "1.12.1"),
        ("openEuler 22.03 LTS", "22.03"),
    ] {
        assert_eq!(compare(a, b), Ordering::Equal, "{a} = {b}");
    }
    for nothing in ["", "unknown", "-", "é"] {
        assert_eq!(tokens(nothing), [], "{nothing}");
    }
}

#[test]
fn a_kernel_below_the_floor_of_its_distribution_and_driver() {
    let around = |kernel, distribution| [("kernel", kernel), ("distribution", distribution)];
    let gaudi = |driver, kernel, distribution| {
        told(&device(
            Vendor::Gaudi,
            driver,
            &around(kernel, distribution),
        ))
    };
    let row = |fact, value: &str, least: &str, holds| (fact, value.into(), least.into(), holds);
    assert_eq!(
        gaudi("1.21.0-ca59b5a", "5.4.0-150-generic", "Ubuntu 22.04.5 LTS"),
        [
            row("kernel", "5.4.0-150-generic", "5.15", false),
            row("distribution", "Ubuntu 22.04.5 LTS", "22.04", true),
        ]
    );
    // Another release asked for less.
    assert_eq!(
        gaudi("1.15.0", "5.4.0-150-generic", "Ubuntu 22.04.5 LTS")[0],
        row("kernel", "5.4.0-150-generic", "5.4.0", true)
    );
    // Of releases and distributions that the table has not, nothing is said.
    assert_eq!(gaudi("1.23.0", "5.4.0", "Ubuntu 22.04"), []);
    assert_eq!(gaudi("1.21.0", "5.4.0", "Arch Linux"), []);
}

#[test]
fn cann_driver_and_frameworks_of_an_ascend() {
    let details = [
        ("cann", "8.5.0"),
        ("torch_npu", "2.9.0, 2.4.0.post2"),
        ("mindspore", "2.3.1"),
        ("firmware", "7.7.0.1.231"),
        (FIRMWARE_RANGE, "[6.4.0,6.4.99],[7.0.0,7.5.99]"),
    ];
    let ascend = device(Vendor::Ascend, "24.1.rc3", &details);
    let standings = floors(&ascend);
    let driver = &standings[0];
    assert_eq!(
        (driver.fact, driver.because, &*driver.because_value),
        ("driver", "cann", "8.5.0")
    );
    assert_eq!((driver.rule, driver.holds), (FloorRule::Stated, false));
    let row = |fact, value: &str, least: &str, holds| (fact, value.into(), least.into(), holds);
    assert_eq!(
        told(&ascend)[1..],
        [
            // Each of the two installed frameworks has its own.
            row("cann", "8.5.0", "8.0.RC2", true),
            row("cann", "8.5.0", "8.5.0", true),
            row("cann", "8.5.0", "8.0.RC1", true),
            row("driver", "24.1.rc3", "24.1.RC1", true),
            row("firmware", "7.7.0.1.231", "6.4.0", false),
        ]
    );
    let within = device(
        Vendor::Ascend,
        "23.0.7",
        &[
            ("firmware", "7.1.0.11.220"),
            (FIRMWARE_RANGE, "[7.0.0,7.1.99]"),
        ],
    );
    assert_eq!(
        told(&within),
        [row("firmware", "7.1.0.11.220", "7.0.0", true)]
    );
    // A list that cannot be read forbids nothing.
    let garbage = device(
        Vendor::Ascend,
        "23.0.7",
        &[("firmware", "7.1"), (FIRMWARE_RANGE, "[a,b],[]")],
    );
    assert_eq!(told(&garbage), []);
}

#[test]
fn a_build_says_which_cuda_it_is_for() {
    let of = |torch, driver| told(&device(Vendor::Nvidia, driver, &[("torch", torch)]));
    let row = |least: &str, driver: &str, holds| [("driver", driver.into(), least.into(), holds)];
    assert_eq!(
        of("2.4.0+cu121", "470.82.01"),
        row("525.60.13", "470.82.01", false)
    );
    assert_eq!(
        of("2.9.0+cu130", "580.65.06"),
        row("580", "580.65.06", true)
    );
    assert_eq!(of("2.4.0", "470.82.01"), []);
    assert_eq!(of("2.4.0+cpu", "470.82.01"), []);
}

#[test]
fn a_gaudis_firmware_is_of_its_drivers_release() {
    let of = |firmware| {
        let details = [("firmware", firmware)];
        told(&device(Vendor::Gaudi, "1.18.0-ee698fb", &details))
    };
    let row = |firmware: &str, holds| [("firmware", firmware.into(), "1.18.0".into(), holds)];
    let same = "hl-gaudi2-1.18.0-fw-53.1.1-sec-9";
    let older = "hl-gaudi2-1.17.1-fw-51.2.0-sec-9";
    assert_eq!(of(same), row(same, true));
    assert_eq!(of(older), row(older, false));
    assert_eq!(of("unknown"), []);
}

#[test]
fn rocm_supports_distributions_from_a_release_on() {
    let of = |rocm, distribution| {
        let details = [("rocm", rocm), ("distribution", distribution)];
        told(&device(Vendor::Amd, "6.8.5", &details))
    };
    let row =
        |value: &str, least: &str, holds| [("distribution", value.into(), least.into(), holds)];
    let focal = "Ubuntu 20.04.6 LTS";
    assert_eq!(of("6.2.0-66", focal), row(focal, "22.04", false));
    assert_eq!(of("6.1.2-119", focal), row(focal, "20.04", true));
    let plow = "Red Hat Enterprise Linux 9.3 (Plow)";
    assert_eq!(of("6.3.1-48", plow), row(plow, "9.4", false));
}

proptest! {
    #[test]
    fn any_text_is_compared(a in "\\PC{0,24}", b in "([0-9]{0,3}[.+ -]?(rc|post)?){0,5}") {
        prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
        let _ = listed(&a, &b, &a);
    }
}
