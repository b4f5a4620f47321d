//! The NVIDIA probe when something happens: devices lost, drivers loaded anew, instances made, calls that hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use nameplate::model::{
    Absent, DeviceId, DeviceKind, EventKind, Metric, ProbeHint, ProbeStatus, Readings,
};
use nameplate::probe::vendor::{Answer, Vendor};
use nvml_wrapper::Nvml;

use super::nvidia::{CALLS, all, nvidia, open};
use crate::support::nvml::FakeNvml;

#[test]
fn a_lost_device_says_so_alone_and_its_xid_is_told() {
    let fake = FakeNvml::over("lost", CALLS);
    let (nvidia, opened) = open(&fake);
    let (lost, other) = (&opened.devices[5].id, &opened.devices[4].id);
    assert_eq!(nvidia.wait_events(Duration::ZERO), Some(Vec::new()));
    let mut readings = Readings::default();
    let answers: Vec<Answer> = (0..4).map(|_| nvidia.sample(lost, &mut readings)).collect();
    assert_eq!(answers[0], Answer::Answered);
    assert_eq!(answers[3], Answer::Lost(Absent::Lost));
    assert_eq!(readings.get(Metric::PowerUsage), Err(Absent::Lost));
    assert_eq!(
        nvidia.sample(other, &mut Readings::default()),
        Answer::Answered
    );
    let events = nvidia.wait_events(Duration::ZERO).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].kind, EventKind::Xid);
    assert_eq!(events[0].device.as_ref(), Some(lost));
    assert_eq!(events[0].data, [("code".into(), "79".into())]);
    assert!(events[0].text.contains("off the bus"), "{}", events[0].text);
    // It comes back at 80 s: asking it anew moves the counted clock.
    let back = (0..12).any(|_| nvidia.sample(lost, &mut readings) == Answer::Answered);
    assert!(back);
    assert!(readings.get(Metric::PowerUsage).is_ok());
}

#[test]
fn after_a_reload_the_library_is_opened_again_and_devices_keep_their_ids() {
    let fake = FakeNvml::over("reload", "clock = 'calls'\nstep = 4.0\n");
    // Keeps the fake's timeline while the probe lets go of the library.
    let keeper = Nvml::builder()
        .lib_path(fake.library().as_os_str())
        .init()
        .unwrap();
    let clock = keeper.device_by_index(0).unwrap();
    let (nvidia, before) = open(&fake);
    let id = before.devices[0].id.clone();
    for _ in 0..8 {
        clock.utilization_rates().unwrap();
    }
    let mut readings = Readings::default();
    assert_eq!(nvidia.sample(&id, &mut readings), Answer::Reopen);
    assert!(readings.get(Metric::PowerUsage).is_err());
    let report = nvidia.open().unwrap_err();
    assert_eq!(
        (report.status, report.code),
        (ProbeStatus::NoDevice, Some(9))
    );
    assert_eq!(nvidia.sample(&id, &mut readings), Answer::Reopen);
    let again = (0..20).find_map(|_| {
        let _ = clock.utilization_rates();
        nvidia.open().ok()
    });
    let after = again.unwrap();
    assert_eq!(after.devices[7].id, id);
    assert_eq!(after.devices[7].index, 7);
    assert_eq!(nvidia.sample(&id, &mut readings), Answer::Answered);
    assert!(readings.get(Metric::PowerUsage).is_ok());
}

#[test]
fn instances_stand_under_their_parent_with_what_is_theirs() {
    let fake = FakeNvml::over("mig", CALLS);
    let (nvidia, opened) = open(&fake);
    let kinds: Vec<DeviceKind> = opened.devices.iter().map(|device| device.kind).collect();
    assert_eq!(
        kinds,
        [
            DeviceKind::Device,
            DeviceKind::Instance,
            DeviceKind::Instance
        ]
    );
    let (parent, slice) = (&opened.devices[0], &opened.devices[1]);
    assert_eq!(slice.parent.as_ref(), Some(&parent.id));
    assert_eq!(slice.board, parent.board);
    assert_eq!(slice.pci_address, parent.pci_address);
    assert!(slice.id.0.starts_with("MIG-"), "{}", slice.id);
    assert_eq!(&*slice.name, "NVIDIA H100 80GB HBM3 MIG 3g.40gb");

    let readings = all(&nvidia, &parent.id);
    assert_eq!(readings.get(Metric::Utilization), Err(Absent::NotSupported));
    assert_eq!(
        readings.get(Metric::RemapPending),
        Err(Absent::NotSupported)
    );
    assert_eq!(readings.get(Metric::MigEnabled), Ok(1.0));
    assert!(readings.get(Metric::PowerUsage).is_ok());

    let mut readings = all(&nvidia, &slice.id);
    for metric in [
        Metric::PowerUsage,
        Metric::CoreTemperature,
        Metric::PcieRxBytes,
        Metric::Utilization,
    ] {
        assert_eq!(
            readings.get(metric),
            Err(Absent::NotSupported),
            "{metric:?}"
        );
    }
    assert_eq!(readings.get(Metric::MemoryTotal), Ok(42_412_802_048.0));
    assert!(!nvidia.needs_blocking_pcie(&slice.id));
    let other = &opened.devices[2].id;
    let mut others = all(&nvidia, other);
    let _ = nvidia.wait_events(Duration::from_millis(120));
    nvidia.sample(&slice.id, &mut readings);
    nvidia.sample(other, &mut others);
    assert_eq!(readings.get(Metric::SmActive), Ok(0.91));
    // 117 % by a wrong count of the driver's.
    assert_eq!(others.get(Metric::SmActive), Ok(1.0));

    let mine = nvidia.processes(&slice.id).unwrap();
    assert_eq!(mine.len(), 1);
    assert_eq!(
        (mine[0].pid, mine[0].instance.as_ref()),
        (60_001, Some(&slice.id))
    );
    assert_eq!(mine[0].utilization_ratio, Err(Absent::NotSupported));
    for process in nvidia.processes(&parent.id).unwrap() {
        assert!(process.instance.is_some(), "{process:?}");
    }
}

#[test]
fn a_new_instance_makes_the_list_anew() {
    let fake = FakeNvml::over(
        "mig",
        &format!("{CALLS}[[device]]\nutil_gpu = 50\nutil_memory = 5\n"),
    );
    let (nvidia, opened) = open(&fake);
    let id = &opened.devices[0].id;
    let mut readings = Readings::default();
    for _ in 0..3 {
        assert_eq!(nvidia.sample(id, &mut readings), Answer::Answered);
    }
    nvidia.sample_slow(id, &mut readings);
    assert_eq!(nvidia.sample(id, &mut readings), Answer::Reopen);
}

#[test]
fn a_library_that_does_not_start_says_why() {
    for (code, status) in [
        (9, ProbeStatus::NoDevice),
        (18, ProbeStatus::Mismatch),
        (4, ProbeStatus::NoPermission),
    ] {
        let fake = FakeNvml::over("steady-a100-8", &format!("init_error = {code}\n"));
        let report = nvidia(&fake).open().unwrap_err();
        assert_eq!((report.status, report.code), (status, Some(code)));
        assert!(report.path.is_some());
        assert!(
            report
                .message
                .as_deref()
                .unwrap()
                .contains(&format!("NVML code {code}"))
        );
    }
    let fake = FakeNvml::new("driver_version = '580.95.05'\n");
    let opened = nvidia(&fake).open().unwrap();
    assert_eq!(opened.report.status, ProbeStatus::NoDevice);
    assert_ne!(opened.report.hint, ProbeHint::Nothing);
}

#[test]
fn threads_do_not_wait_for_another_device() {
    let fake = FakeNvml::over("blocked", "");
    let (nvidia, opened) = open(&fake);
    let nvidia = std::sync::Arc::new(nvidia);
    // One thread a device, as the probe process does it; the one that is blocked is left alone.
    let (tell, told) = std::sync::mpsc::channel();
    for device in &opened.devices {
        let (nvidia, tell, id) = (
            std::sync::Arc::clone(&nvidia),
            tell.clone(),
            device.id.clone(),
        );
        std::thread::spawn(move || {
            let answer = nvidia.sample(&id, &mut Readings::default());
            let _ = tell.send((id, answer));
        });
    }
    for _ in 1..opened.devices.len() {
        let (_, answer) = told.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(answer, Answer::Answered);
    }
    // The library stays loaded for the thread that hangs in it.
    std::mem::forget(nvidia);
    std::mem::forget(fake);
}

#[test]
fn one_odd_call_of_a_silent_device_does_not_reopen_the_library() {
    let fake = FakeNvml::over("unsupported", "[[device]]\npower_usage = { error = 999 }\n");
    let (nvidia, opened) = open(&fake);
    let mut readings = Readings::default();
    for _ in 0..2 {
        let answer = nvidia.sample(&opened.devices[0].id, &mut readings);
        assert_eq!(answer, Answer::Answered);
        assert_eq!(readings.get(Metric::PowerUsage), Err(Absent::NotReported));
    }
}

#[test]
fn opening_again_lists_the_same_devices_and_closing_ends_it() {
    let fake = FakeNvml::named("steady-a100-8");
    let (nvidia, opened) = open(&fake);
    let again = nvidia.open().unwrap();
    assert_eq!(opened.devices, again.devices);
    assert_eq!(opened.report, again.report);
    nvidia.close();
    let answer = nvidia.sample(&opened.devices[0].id, &mut Readings::default());
    assert_eq!(answer, Answer::Reopen);
    let unknown = DeviceId("GPU-of-another-machine".into());
    let again = nvidia.open().unwrap();
    assert_eq!(again.devices.len(), 8);
    let answer = nvidia.sample(&unknown, &mut Readings::default());
    assert_eq!(answer, Answer::Lost(Absent::Lost));
}

#[test]
fn a_library_that_was_replaced_is_loaded_anew() {
    let fake = FakeNvml::over("steady-a100-8", "init_error = 18\n");
    let nvidia = nvidia(&fake);
    let report = nvidia.open().unwrap_err();
    assert_eq!(report.status, ProbeStatus::Mismatch);
    assert_eq!(report.hint, ProbeHint::Restart);
    fake.replace("driver_version = '590.48.01'\n[[device]]\nname = 'NVIDIA H200'\n");
    let opened = nvidia.open().unwrap();
    assert_eq!(&*opened.devices[0].name, "NVIDIA H200");
}

#[test]
fn gpm_is_never_asked_for_two_devices_at_once() {
    // The fake ends the process where it is.
    let fake = FakeNvml::over(
        "steady-h100-8",
        "gpm_parallel_crash = true\n[[device]]\n[device.latency_us]\ngpm_sample_get = 2000\n",
    );
    let (nvidia, opened) = open(&fake);
    std::thread::scope(|scope| {
        for device in &opened.devices {
            scope.spawn(|| {
                let mut readings = Readings::default();
                for _ in 0..3 {
                    assert_eq!(nvidia.sample(&device.id, &mut readings), Answer::Answered);
                }
            });
        }
    });
}
