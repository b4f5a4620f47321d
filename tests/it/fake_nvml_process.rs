//! What the fake NVML library does to the process that it is loaded into.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use nvml_wrapper::Nvml;

use crate::support::nvml::FakeNvml;

/// Not a test of its own: what [`child`] runs in a process where the library may do its worst.
#[test]
#[ignore = "is run by others in a process of its own"]
fn sweep_in_a_child() {
    let Some(library) = std::env::var_os("FAKE_NVML_CHILD") else {
        return;
    };
    let nvml = Nvml::builder().lib_path(&library).init().unwrap();
    for index in 0..nvml.device_count().unwrap() {
        let device = nvml.device_by_index(index).unwrap();
        device.power_usage().unwrap();
        device.utilization_rates().unwrap();
    }
}

fn child(fake: &FakeNvml) -> Output {
    let arguments = [
        "--ignored",
        "--exact",
        "fake_nvml_process::sweep_in_a_child",
        "--nocapture",
    ];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(arguments)
        .envs(fake.env())
        .env("FAKE_NVML_CHILD", fake.library());
    command.output().unwrap()
}

#[test]
fn calls_are_counted() {
    let fake = FakeNvml::named("steady-a100-8");
    assert!(child(&fake).status.success());
    let counts = fake.counts();
    assert_eq!(counts["nvmlDeviceGetPowerUsage"], 8);
    let inits = ["nvmlInit_v2", "nvmlInitWithFlags"].map(|name| counts.get(name).unwrap_or(&0));
    assert_eq!(inits.into_iter().sum::<u64>(), 1);
    assert_eq!(counts["nvmlShutdown"], 1);
    assert_eq!(counts["max_in_flight"], 1);
}

#[test]
fn a_library_that_prints_dirties_the_process() {
    let output = child(&FakeNvml::named("noisy"));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("\u{1b}[2J"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("infoROM is corrupted"));
}

#[test]
fn a_library_that_crashes_takes_the_process() {
    for (how, signal) in [("segv", 11), ("abort", 6)] {
        let crash = format!("[[crash]]\ncall = 'utilization_rates'\nhow = '{how}'\n");
        let fake = FakeNvml::over("steady-a100-8", &crash);
        assert_eq!(child(&fake).status.signal(), Some(signal));
    }
}
