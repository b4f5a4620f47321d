//! The Ascend probe when something happens: cards that drop, codes that come, calls that hang, an NPU that is held; and the
//! whole program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::ascend::{A3, MIB, VERSIONS, a2, device, eight, narrow_link, sampled};
use crate::cambricon::{once, steady};
use crate::contract::Program;
use crate::stage::{BEGAN, Stage};
use crate::support::small::{Fake, all, expect};
use jiff::SignedDuration;
use nameplate::app::keymap::Key;
use nameplate::model::{
    Absent, Change, Event, EventKind, Metric as M, ProbeHint, ProbeStatus, Sample, Tick,
};
use nameplate::probe::vendor::{Answer, Vendor};
use nameplate::units::MonoTime;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn what_is_not_supported_or_not_allowed_says_so_and_is_not_asked_each_tick() {
    let bare = device(0, 0, &["name = '910A'", "bus = 0xc1", "temperature = 40"]);
    let fake = Fake::dcmi(&bare);
    let (probe, opened) = fake.open();
    let id = &opened.devices[0].id;
    expect(
        &sampled(&*probe, id),
        &[
            (M::CoreTemperature, Ok(40.0)),
            (M::PowerUsage, Err(Absent::NotSupported)),
            (M::Utilization, Err(Absent::NotSupported)),
            (M::MemoryTotal, Err(Absent::NotSupported)),
            (M::Health, Err(Absent::NotSupported)),
        ],
    );
    // What was refused once is not asked again soon.
    fake.write(&(bare.clone() + "power = 700\n"));
    let readings = sampled(&*probe, id);
    assert_eq!(readings.get(M::PowerUsage), Err(Absent::NotSupported));
    let errors = "errors = { power = -8002, health = -8013, temperature = -8006, hbm = -8012 }";
    let fake = Fake::dcmi(&a2(0, errors));
    let (probe, opened) = fake.open();
    let id = &opened.devices[0].id;
    expect(
        &sampled(&*probe, id),
        &[
            (M::PowerUsage, Err(Absent::NoPermission)),
            (M::Health, Err(Absent::NotReported)),
            (M::CoreTemperature, Err(Absent::TimedOut)),
            (M::MemoryTotal, Err(Absent::Lost)),
            (M::Utilization, Ok(0.96)),
        ],
    );
    fake.write(&a2(0, ""));
    expect(
        &sampled(&*probe, id),
        &[
            // Asked again slowly.
            (M::PowerUsage, Err(Absent::NoPermission)),
            (M::Health, Err(Absent::NotReported)),
            // Asked again at once.
            (M::CoreTemperature, Ok(58.0)),
            (M::MemoryTotal, Ok(65_536.0 * MIB)),
        ],
    );
}

#[test]
fn a_card_that_drops_is_lost_alone_and_comes_back() {
    let fake = Fake::dcmi(&eight());
    let (probe, opened) = fake.open();
    let dropped = (0..8).fold(String::new(), |text, card| {
        text + &a2(
            card,
            if card == 5 {
                "errors = { all = -8012 }"
            } else {
                ""
            },
        )
    });
    fake.write(&dropped);
    let (lost, other) = (&opened.devices[5].id, &opened.devices[4].id);
    let (answer, readings) = all(&*probe, lost);
    assert_eq!(answer, Answer::Lost(Absent::Lost));
    assert_eq!(readings.get(M::PowerUsage), Err(Absent::Lost));
    sampled(&*probe, other);
    fake.write(&eight());
    sampled(&*probe, lost);
    // A card that is gone when the library is opened is told with its code.
    fake.write(&dropped);
    let opened = probe.open().unwrap();
    assert_eq!(opened.devices.len(), 7);
    let message = opened.report.message.unwrap();
    assert_eq!(
        message.as_ref(),
        "NPU 5: the device is not ready (DCMI code -8012)"
    );
}

#[test]
fn a_library_that_fails_at_everything_is_opened_again() {
    let fake = Fake::dcmi(&eight());
    let (probe, opened) = fake.open();
    fake.write(&format!("errors = {{ all = -8005 }}\n{}", eight()));
    let id = &opened.devices[0].id;
    assert_eq!(all(&*probe, id).0, Answer::Reopen);
    assert!(probe.open().is_err());
    assert_eq!(all(&*probe, id).0, Answer::Reopen);
    fake.write(&eight());
    assert_eq!(probe.open().unwrap().devices.len(), 8);
    sampled(&*probe, id);
    probe.close();
}

fn events(probe: &dyn Vendor) -> Vec<Event> {
    probe.wait_events(Duration::ZERO).unwrap()
}

#[test]
fn error_codes_that_come_and_go_are_events() {
    let texts = "code_texts = { 8C084E00 = 'node type=adda, event state=Heartbeat Lost.' }";
    let with = |codes: &str| a2(0, &format!("codes = {codes}\n{texts}"));
    let fake = Fake::dcmi(&with("[0x80C98009]"));
    let (probe, opened) = fake.open();
    let id = &opened.devices[0].id;
    assert_eq!(events(&*probe), []);
    let look = |codes: &str| {
        fake.write(&with(codes));
        probe.processes(id).unwrap();
        let told = events(&*probe);
        assert!(told.iter().all(|event| event.kind == EventKind::Notice));
        assert!(told.iter().all(|event| event.device.as_ref() == Some(id)));
        let texts = told.iter().map(|event| event.text.to_string());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(
        look("[0x80C98009]"),
        ["error code 80C98009 was set already"]
    );
    assert_eq!(look("[0x80C98009]"), Vec::<String>::new());
    assert_eq!(
        look("[0x8C084E00, 0x8C084E00]"),
        [
            "error code 8C084E00 is set: node type=adda, event state=Heartbeat Lost.",
            "error code 80C98009 is cleared",
        ]
    );
    // What was told is not told again after the library was opened anew.
    probe.open().unwrap();
    assert_eq!(look("[0x8C084E00]"), Vec::<String>::new());
    assert_eq!(look("[]"), ["error code 8C084E00 is cleared"]);
}

#[test]
fn a_call_that_does_not_return_holds_up_no_other_device_for_long() {
    let fake = Fake::dcmi(&eight());
    let (probe, opened) = fake.open();
    let blocked = (0..8).fold(String::new(), |text, card| {
        text + &a2(card, if card == 2 { "blocks = ['power']" } else { "" })
    });
    fake.write(&blocked);
    let hung = {
        let (probe, id) = (Arc::clone(&probe), opened.devices[2].id.clone());
        std::thread::spawn(move || all(&*probe, &id).0)
    };
    let other = &opened.devices[3].id;
    // At first the others get no turn: they are late, and no worse. Then they go on beside it.
    let begin = Instant::now();
    let mut readings = sampled(&*probe, other);
    while readings.get(M::PowerUsage) != Ok(312.4) {
        let told = readings.get(M::PowerUsage);
        assert_eq!(told, Err(Absent::TimedOut));
        assert!(begin.elapsed() < Duration::from_secs(30));
        readings = sampled(&*probe, other);
    }
    assert!(!hung.is_finished());
    fake.write(&eight());
    assert_eq!(hung.join().unwrap(), Answer::Answered);
}

#[test]
fn calls_go_one_after_the_other() {
    let fake = Fake::dcmi(&eight());
    let (probe, opened) = fake.open();
    std::thread::scope(|scope| {
        for device in &opened.devices {
            scope.spawn(|| {
                for _ in 0..20 {
                    let (answer, readings) = all(&*probe, &device.id);
                    assert_eq!(answer, Answer::Answered);
                    // Two at once are refused by the fake, which would be "not reported".
                    let told = readings.get(M::PowerUsage);
                    assert!(matches!(told, Ok(_) | Err(Absent::TimedOut)), "{told:?}");
                }
            });
        }
    });
}

#[test]
fn a_device_that_another_container_holds_says_so() {
    let root = tempfile::tempdir().unwrap();
    let node = root.path().join("dev/davinci_manager");
    std::fs::create_dir_all(node.parent().unwrap()).unwrap();
    std::fs::write(node, "").unwrap();
    for (code, status, hint, words) in [
        (
            -8005,
            ProbeStatus::NoPermission,
            ProbeHint::HeldElsewhere,
            "NPU held by another container",
        ),
        (
            -8020,
            ProbeStatus::NoPermission,
            ProbeHint::HeldElsewhere,
            "NPU held by another container",
        ),
        (
            -8002,
            ProbeStatus::NoPermission,
            ProbeHint::Permission,
            "no permission",
        ),
    ] {
        let fake = Fake::dcmi(&format!("errors = {{ init = {code} }}"));
        let report = fake.probe_at(root.path()).open().unwrap_err();
        assert_eq!((report.status, report.hint), (status, hint), "{code}");
        assert_eq!(report.code, Some(code));
        let message = report.message.unwrap();
        assert!(message.starts_with("initialising DCMI: "), "{message}");
        assert!(message.contains(words), "{message}");
    }
    let fake = Fake::dcmi("");
    let opened = fake.probe_at(Path::new("/nowhere")).open().unwrap();
    assert_eq!(opened.report.status, ProbeStatus::NoDevice);
    assert_eq!(opened.report.hint, ProbeHint::NoHardware);
}

#[test]
fn the_whole_program_shows_a_held_back_card_and_a_card_of_two_chips() {
    let held_back = a2(0, "reasons = 0x404\ntemperature = 94\nfrequency_7 = 1100");
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    narrow_link(root, "0000:c1:00.0");
    let fake = Fake::dcmi(&(VERSIONS.to_owned() + &held_back));
    let document = once("--dcmi-library", &fake, root);
    let probes = document["probes"].as_array().unwrap();
    let ours = probes
        .iter()
        .find(|probe| probe["vendor"] == "ascend")
        .unwrap();
    assert_eq!(
        (&ours["status"], &ours["version"]),
        (&"ok".into(), &"24.0.2".into())
    );
    insta::assert_snapshot!(steady(&document["devices"][0]));
    let chips = [
        device(0, 0, &[A3, "bus = 0x9d", "power = 4821"]),
        device(0, 1, &[A3, "bus = 0x9f"]),
    ];
    let document = once("--dcmi-library", &Fake::dcmi(&chips.concat()), root);
    let boards = document["boards"].as_array().unwrap();
    assert_eq!(boards.len(), 1);
    assert_eq!(boards[0]["power_w"], 482.1);
    assert_eq!(document["devices"][1]["power_scope"], "board");
}

#[test]
fn the_whole_program_says_who_holds_the_npu() {
    let fake = Fake::dcmi("errors = { init = -8020 }");
    let document = once("--dcmi-library", &fake, Path::new("/nowhere"));
    let probes = document["probes"].as_array().unwrap();
    let ours = probes
        .iter()
        .find(|probe| probe["vendor"] == "ascend")
        .unwrap();
    assert_eq!(ours["status"], "no_permission");
    let message = ours["message"].as_str().unwrap();
    assert!(message.contains("held by another container"), "{message}");
    assert!(ours["next"].as_str().unwrap().contains("--privileged"));
}

/// What the probe says of a scenario, as ticks.
fn ticks(fake: &Fake, count: u64) -> Vec<Tick> {
    ticks_of(&*fake.probe_at(Path::new("/")), count)
}

/// The same of any probe.
pub(crate) fn ticks_of(probe: &dyn Vendor, count: u64) -> Vec<Tick> {
    let opened = probe.open().unwrap();
    (1..=count)
        .map(|second| {
            let mono = MonoTime(1_000_000_000_000_000 + second * 1_000_000_000);
            let samples = opened.devices.iter().map(|device| Sample {
                device: device.id.clone(),
                at: mono,
                readings: all(probe, &device.id).1,
            });
            let devices = opened.devices.iter().cloned().map(Change::Device);
            Tick {
                seq: second,
                at: BEGAN + SignedDuration::from_secs(second.cast_signed()),
                mono,
                interval: Duration::from_secs(1),
                dropped: 0,
                samples: samples.collect(),
                host: None,
                changes: devices.filter(|_| second == 1).collect(),
                events: Vec::new(),
            }
        })
        .collect()
}

#[test]
fn the_screen_shows_a_single_card_and_a_card_of_two_chips() {
    let scenario = [
        VERSIONS.to_owned(),
        a2(0, ""),
        a2(
            1,
            "reasons = 0x404\ntemperature = 94\nfrequency_7 = 1100\npower = 2310",
        ),
        device(2, 0, &[A3, "bus = 0x9d", "power = 4821"]),
        device(2, 1, &[A3, "bus = 0x9f"]),
    ];
    let mut stage = Stage::live(&ticks(&Fake::dcmi(&scenario.concat()), 20));
    insta::assert_snapshot!("ascend_overview_120x40", stage.text(120, 40));
    stage.press(Key::Enter);
    insta::assert_snapshot!("ascend_device_120x40", stage.text(120, 40));
}

/// The loader's library is broken, and the tool is on the path.
#[test]
fn the_whole_program_reads_npu_smi_where_the_library_cannot_be_loaded() {
    let usual = ["bin/npu-smi", "sbin/npu-smi", "dcmi/libdcmi.so"];
    if usual
        .iter()
        .any(|path| Path::new("/usr/local").join(path).exists())
    {
        #[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
        {
            eprintln!("ignored: this host has Ascend's own tools");
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libdcmi.so"), "no library").unwrap();
    let table = "\
| npu-smi 24.1.rc3                 Version: 24.1.rc3                              |
| 3     910B4     | OK            | 171.5       52                0    / 0        |
| 0               | 0000:42:00.0  | 61          0    / 0          20480/ 32768    |
";
    std::fs::write(folder.path().join("table"), table).unwrap();
    // Another process writes it: a child of some other test would hold the file open, and nobody could run it.
    let made = std::process::Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\ncat \"$0.txt\"' >npu-smi && chmod 755 npu-smi && mv table npu-smi.txt"])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    let folder = folder.path().to_str().unwrap();
    let mut program = Program::new(&["once", "--format", "json", "--no-record"])
        .env("LD_LIBRARY_PATH", folder)
        .env("PATH", &format!("{folder}:/usr/bin:/bin"));
    let output = program.command.output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours = document["probes"].as_array().unwrap();
    let ours = ours
        .iter()
        .find(|probe| probe["vendor"] == "ascend")
        .unwrap();
    assert_eq!(
        (&ours["status"], &ours["library"]),
        (&"ok".into(), &"npu-smi".into())
    );
    assert!(ours["message"].as_str().unwrap().contains("file too short"));
    let device = &document["devices"][0];
    assert_eq!(device["id"], "0000:42:00.0");
    assert_eq!(
        (&device["name"], &device["power_w"]),
        (&"910B4".into(), &171.5.into())
    );
    assert_eq!(device["utilization_ratio"], 0.61);
}
