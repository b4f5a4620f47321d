//! The NVIDIA probe against the fake library: each scenario proves the trap that it is made of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::time::Duration;

use nameplate::model::{
    Absent, DeviceId, Metric, ProbeStatus, Reading, Readings, Vendor as VendorName,
};
use nameplate::probe::nvidia::Nvidia;
use nameplate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};

use crate::support::nvml::FakeNvml;

/// A counted clock, so that no test waits for the time to pass.
pub(crate) const CALLS: &str = "clock = 'calls'\nstep = 10.0\n";

pub(crate) fn nvidia(fake: &FakeNvml) -> Nvidia {
    Nvidia::new(VendorOptions {
        library: Some(fake.library()),
        measure_pcie: false,
        root: PathBuf::from("/"),
        vendor: VendorName::Nvidia,
    })
}

pub(crate) fn open(fake: &FakeNvml) -> (Nvidia, Opened) {
    let nvidia = nvidia(fake);
    let opened = nvidia.open().unwrap_or_else(|report| panic!("{report:?}"));
    (nvidia, opened)
}

/// The slow readings and one sweep.
pub(crate) fn all(nvidia: &Nvidia, id: &DeviceId) -> Readings {
    let mut readings = Readings::default();
    nvidia.sample_slow(id, &mut readings);
    assert_eq!(nvidia.sample(id, &mut readings), Answer::Answered);
    readings
}

fn first(fake: &FakeNvml) -> (Nvidia, Opened, Readings) {
    let (nvidia, opened) = open(fake);
    let readings = all(&nvidia, &opened.devices[0].id);
    (nvidia, opened, readings)
}

fn near(reading: Reading<f64>, expected: f64, slack: f64) -> bool {
    reading.is_ok_and(|value| (value - expected).abs() <= slack)
}

fn expect(readings: &Readings, table: &[(Metric, Reading<f64>)]) {
    for (metric, expected) in table {
        assert_eq!(readings.get(*metric), *expected, "{metric:?}");
    }
}

#[test]
fn a_hopper_says_everything_in_base_units() {
    let fake = FakeNvml::over("steady-h100-8", CALLS);
    let (nvidia, opened, readings) = first(&fake);
    assert_eq!(opened.report.status, ProbeStatus::Ok);
    assert_eq!(opened.report.version.as_deref(), Some("13.590.48.01"));
    let path = opened.report.path.as_deref().unwrap();
    assert!(path.ends_with("libnvidia-ml.so.1"), "{path}");
    assert_eq!(opened.devices.len(), 8);
    let device = &opened.devices[0];
    assert_eq!(&*device.name, "NVIDIA H100 80GB HBM3");
    assert_eq!(device.uuid.as_deref(), Ok(&*device.id.0));
    assert_eq!(device.pci_id, Ok((0x10de, 0x2330)));
    assert_eq!(device.power_usage_is_average, Some(true));
    assert_eq!(
        (device.c2c, device.unified_memory, device.virtual_share),
        (false, false, false)
    );
    assert!(
        device
            .details
            .iter()
            .any(|(name, value)| &**name == "cuda" && &**value == "13.1")
    );
    assert!(near(readings.get(Metric::PowerUsage), 641.0, 30.0));
    assert!(near(readings.get(Metric::CoreTemperature), 60.0, 4.0));
    assert!(near(readings.get(Metric::Margin), 25.0, 4.0));
    expect(
        &readings,
        &[
            (Metric::LimitEnforced, Ok(700.0)),
            (Metric::LimitDefault, Ok(700.0)),
            (Metric::LimitMin, Ok(200.0)),
            (Metric::MarginShutdown, Ok(-8.0)),
            (Metric::MarginSlowdown, Ok(-2.0)),
            (Metric::EccEnabled, Ok(1.0)),
            (Metric::ThresholdShutdown, Err(Absent::NotSupported)),
            (Metric::ApplicationClock, Err(Absent::NotSupported)),
            (Metric::MemoryTotal, Ok(85_520_809_984.0)),
            (Metric::MemoryReserved, Ok(502_267_904.0)),
            (Metric::SecondsSwPowerCap, Ok(7_015.662_857)),
            (Metric::SecondsHwThermal, Ok(0.0)),
            (Metric::ReasonsSupported, Ok(511.0)),
            (Metric::RecoveryAction, Ok(0.0)),
            (Metric::PcieGenerationBefore, Ok(5.0)),
            (Metric::PcieWidthAfter, Ok(16.0)),
            (Metric::PcieCounterBits, Ok(64.0)),
            (Metric::PcieReplays, Ok(9.0)),
            (Metric::NvlinkLinks, Ok(18.0)),
            (Metric::NvlinkUp, Ok(18.0)),
            (Metric::NvlinkSpeed, Ok(18.0 * 26_562e6)),
            (Metric::NvlinkErrors, Ok(0.0)),
            (Metric::MigEnabled, Ok(0.0)),
            (Metric::Persistence, Ok(1.0)),
            (Metric::EccCorrected, Ok(0.0)),
            (Metric::ModulePower, Err(Absent::NotSupported)),
            (Metric::Fan, Err(Absent::NotSupported)),
            (Metric::SmActive, Err(Absent::NotReported)),
        ],
    );
    assert!(readings.get(Metric::NvlinkRxBytes).unwrap() >= 126e9 * 1024.0);
    assert!(readings.get(Metric::PcieRxBytes).unwrap() >= 911.2e9);
    assert!(!nvidia.needs_blocking_pcie(&device.id));
}

#[test]
fn gpm_speaks_of_the_time_between_two_samples() {
    let fake = FakeNvml::over("steady-h100-8", CALLS);
    let (nvidia, opened, mut readings) = first(&fake);
    let id = &opened.devices[0].id;
    // A second sample at once is too close to say anything: the readings stay.
    nvidia.sample(id, &mut readings);
    assert_eq!(readings.get(Metric::SmActive), Err(Absent::NotReported));
    assert_eq!(
        nvidia
            .wait_events(Duration::from_millis(120))
            .map(|e| e.len()),
        Some(0)
    );
    nvidia.sample(id, &mut readings);
    assert!(near(readings.get(Metric::SmActive), 0.935, 0.05));
    assert!(near(readings.get(Metric::TensorActive), 0.618, 0.1));
    assert!(near(
        readings.get(Metric::GpmPcieRx),
        5270.0 * 1_048_576.0,
        2e9
    ));
    assert!(readings.get(Metric::GpmPcieRx).unwrap() > readings.get(Metric::GpmPcieTx).unwrap());
}

#[test]
fn an_a100_has_no_gpm_and_an_instantaneous_power_reading() {
    let fake = FakeNvml::over("steady-a100-8", CALLS);
    let (_nvidia, opened, readings) = first(&fake);
    assert_eq!(opened.devices[0].power_usage_is_average, Some(false));
    expect(
        &readings,
        &[
            (Metric::PowerAverage, Err(Absent::NotSupported)),
            (Metric::ThresholdShutdown, Ok(92.0)),
            (Metric::ThresholdSlowdown, Ok(89.0)),
            (Metric::ThresholdGpuMax, Ok(85.0)),
            (Metric::ThresholdMemoryMax, Ok(95.0)),
            (Metric::Margin, Err(Absent::NotSupported)),
            (Metric::MarginShutdown, Err(Absent::NotSupported)),
            (Metric::SmActive, Err(Absent::NotSupported)),
            (Metric::ApplicationClock, Ok(1095.0)),
        ],
    );
    assert!(readings.get(Metric::PowerInstant).is_ok());
}

#[test]
fn numbers_that_cannot_be_are_absent_and_kept() {
    let fake = FakeNvml::over("garbage", CALLS);
    let (nvidia, opened) = open(&fake);
    let implausible = |raw| Err(Absent::Implausible(raw));
    let all_ones = 4_294_967_295.0;
    let readings = all(&nvidia, &opened.devices[0].id);
    expect(
        &readings,
        &[
            (Metric::Utilization, implausible(all_ones)),
            (Metric::MemoryActivity, implausible(all_ones)),
            (Metric::PowerUsage, implausible(all_ones)),
            (Metric::PowerInstant, implausible(2_147_483_632.0)),
            (Metric::PcieGenerationBefore, implausible(0.0)),
            (Metric::PcieWidthBefore, implausible(0.0)),
            (Metric::MemoryTemperature, implausible(0.0)),
            (Metric::Energy, implausible(9_223_372_036_854_775_794_f64)),
            (Metric::PerformanceState, Err(Absent::NotReported)),
        ],
    );
    assert!(matches!(
        readings.get(Metric::MemoryUsed),
        Err(Absent::Implausible(_))
    ));
    assert!(readings.get(Metric::MemoryTotal).is_ok());
    let readings = all(&nvidia, &opened.devices[1].id);
    expect(
        &readings,
        &[
            (Metric::Utilization, implausible(808.0)),
            (Metric::PowerUsage, implausible(0.0)),
            (Metric::CoreTemperature, implausible(255.0)),
            (Metric::SmClock, implausible(all_ones)),
            (Metric::PcieGenerationBefore, implausible(all_ones)),
            (Metric::PcieWidthBefore, implausible(255.0)),
            (Metric::Energy, implausible(0.0)),
        ],
    );
    let readings = all(&nvidia, &opened.devices[2].id);
    expect(
        &readings,
        &[
            (Metric::Utilization, implausible(101.0)),
            (Metric::MemoryActivity, Ok(0.63)),
            (Metric::PowerUsage, Ok(372.0)),
            (Metric::CoreTemperature, Ok(61.0)),
        ],
    );
    assert!(opened.devices[2].name.starts_with("NV"));
    let processes = nvidia.processes(&opened.devices[2].id).unwrap();
    assert!(processes.iter().all(|p| p.pid != 0));
    let one = processes.iter().find(|p| p.pid == 41_237).unwrap();
    assert_eq!(one.memory_bytes, Err(Absent::NotReported));
    assert_eq!(one.utilization_ratio, Err(Absent::NotReported));
}

#[test]
fn a_device_with_nothing_to_say_is_a_row_of_reasons() {
    let fake = FakeNvml::over("unsupported", CALLS);
    let (nvidia, opened, readings) = first(&fake);
    for metric in Metric::ALL {
        assert!(
            readings.get(*metric).is_err(),
            "{metric:?}: {:?}",
            readings.get(*metric)
        );
    }
    let device = &opened.devices[0];
    assert!(device.virtual_share);
    assert!(!device.unified_memory);
    assert_eq!(device.power_usage_is_average, None);
    assert!(nvidia.needs_blocking_pcie(&device.id));
    let mut readings = readings;
    nvidia.sample_blocking_pcie(&device.id, &mut readings);
    assert_eq!(readings.get(Metric::PcieRxRate), Err(Absent::NotSupported));
    assert_eq!(nvidia.wait_events(Duration::ZERO), None);
}

#[test]
fn what_is_not_supported_once_is_not_asked_again() {
    let errors = "[[device]]\nfan_speed = 40\n[device.errors]\n\
                  fan_speed = { code = 3, until_calls = 1 }\n\
                  temperature_v = { code = 27, until_calls = 1 }\n\
                  power_usage = { code = 999, until_calls = 1 }\n";
    let fake = FakeNvml::over("steady-a100-8", &format!("{CALLS}{errors}"));
    let (nvidia, opened) = open(&fake);
    let id = &opened.devices[0].id;
    let mut readings = Readings::default();
    // One "unknown error" among answers is that reading's own.
    assert_eq!(nvidia.sample(id, &mut readings), Answer::Answered);
    expect(
        &readings,
        &[
            (Metric::Fan, Err(Absent::NotSupported)),
            (Metric::CoreTemperature, Err(Absent::NotReported)),
            (Metric::PowerUsage, Err(Absent::NotReported)),
        ],
    );
    nvidia.sample(id, &mut readings);
    assert_eq!(readings.get(Metric::Fan), Err(Absent::NotSupported));
    assert!(readings.get(Metric::CoreTemperature).is_ok());
    assert!(readings.get(Metric::PowerUsage).is_ok());
}

#[test]
fn an_older_library_is_asked_by_older_names() {
    let fake = FakeNvml::over("steady-a100-8", CALLS).without(&[
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetMarginTemperature",
        "nvmlGpmQueryDeviceSupport",
    ]);
    let (_nvidia, _opened, readings) = first(&fake);
    assert!(readings.get(Metric::MemoryUsed).is_ok());
    assert_eq!(
        readings.get(Metric::MemoryReserved),
        Err(Absent::NotSupported)
    );
    assert_eq!(readings.get(Metric::Reasons), Ok(0.0));
    assert!(readings.get(Metric::CoreTemperature).is_ok());
    assert_eq!(readings.get(Metric::Margin), Err(Absent::NoLibrary));
    assert_eq!(readings.get(Metric::SmActive), Err(Absent::NoLibrary));
}

#[test]
fn a_gb10_shares_the_host_s_memory() {
    let fake = FakeNvml::over("gb10", CALLS);
    let (nvidia, opened, readings) = first(&fake);
    assert!(opened.devices[0].unified_memory);
    let held = 95_884_165_939.0 + 41_943_040.0;
    expect(
        &readings,
        &[
            (Metric::MemoryUsed, Ok(held)),
            (Metric::MemoryTotal, Err(Absent::NotSupported)),
            (Metric::LimitEnforced, Err(Absent::NotSupported)),
            (Metric::LimitDefault, Err(Absent::NotSupported)),
            (Metric::PcieWidthBefore, Err(Absent::NotSupported)),
            (Metric::MemoryClock, Err(Absent::NotSupported)),
        ],
    );
    assert_eq!(
        opened.devices[0].pci_address.unwrap().to_string(),
        "000f:01:00.0"
    );
    let processes = nvidia.processes(&opened.devices[0].id).unwrap();
    let drawing: Vec<_> = processes
        .iter()
        .filter(|p| p.graphics)
        .map(|p| p.pid)
        .collect();
    assert_eq!(drawing, [2044]);
}

#[test]
fn a_gh200_has_a_module_and_a_c2c_link() {
    let fake = FakeNvml::over("gh200", CALLS);
    let (_nvidia, opened, readings) = first(&fake);
    assert!(opened.devices[0].c2c);
    assert!(near(readings.get(Metric::ModulePower), 688.0, 90.0));
    expect(
        &readings,
        &[
            (Metric::ModuleLimit, Ok(1000.0)),
            (Metric::LimitEnforced, Ok(700.0)),
            (Metric::LimitDefault, Ok(900.0)),
            (Metric::PcieWidthBefore, Ok(1.0)),
            (Metric::NvlinkRxBytes, Err(Absent::NotSupported)),
            (Metric::RemapUncorrectable, Ok(1.0)),
        ],
    );
}

#[test]
fn a_narrow_link_is_read_as_it_is() {
    let fake = FakeNvml::over("narrow-link", CALLS);
    let (nvidia, opened, readings) = first(&fake);
    expect(
        &readings,
        &[
            (Metric::PcieWidthBefore, Ok(8.0)),
            (Metric::PcieWidthAfter, Ok(8.0)),
            (Metric::PcieWidthMax, Ok(16.0)),
            (Metric::NvlinkRxBytes, Err(Absent::NotSupported)),
            (Metric::NvlinkSpeed, Err(Absent::NotSupported)),
        ],
    );
    assert!(!nvidia.needs_blocking_pcie(&opened.devices[0].id));
}

#[test]
fn without_counters_and_gpm_pcie_is_read_by_blocking_calls() {
    let fake = FakeNvml::over(
        "v64",
        &format!(
            "{CALLS}[[device]]\ncount = 1\npcie_rx = 2000\npcie_tx = 500\nretired_pages_sbe = 3\nretired_pages_dbe = 1\nviolation_power = 5000000000\n"
        ),
    );
    let (nvidia, opened, mut readings) = first(&fake);
    let id = &opened.devices[0].id;
    assert!(nvidia.needs_blocking_pcie(id));
    // Retired pages and counters come by call where the fields are refused.
    assert_eq!(readings.get(Metric::SecondsSwPowerCap), Ok(5.0));
    assert_eq!(readings.get(Metric::RetiredPages), Ok(4.0));
    nvidia.sample_blocking_pcie(id, &mut readings);
    assert_eq!(readings.get(Metric::PcieRxRate), Ok(2_000_000.0));
    assert_eq!(readings.get(Metric::PcieTxRate), Ok(500_000.0));
}

#[test]
fn counters_say_how_wide_they_are() {
    let fields = "[[device]]\n[device.fields]\n\
                  pcie_rx_bytes = { value = 4294967290, type = 'u32' }\n\
                  pcie_tx_bytes = { value = 4294967295, type = 'u32' }\n";
    let fake = FakeNvml::over("steady-a100-8", &format!("{CALLS}{fields}"));
    let (_nvidia, _opened, readings) = first(&fake);
    expect(
        &readings,
        &[
            (Metric::PcieRxBytes, Ok(4_294_967_290.0)),
            (
                Metric::PcieTxBytes,
                Err(Absent::Implausible(4_294_967_295.0)),
            ),
            (Metric::PcieCounterBits, Ok(32.0)),
        ],
    );
}

#[test]
fn a_device_that_just_woke_is_not_busy() {
    let fake = FakeNvml::over(
        "idle",
        &format!("{CALLS}[[device]]\ncount = 1\nutil_gpu = 100\n"),
    );
    let (_nvidia, _opened, readings) = first(&fake);
    assert_eq!(
        readings.get(Metric::Utilization),
        Err(Absent::Implausible(100.0))
    );
    let fake = FakeNvml::over(
        "steady-a100-8",
        &format!("{CALLS}[[device]]\nutil_gpu = 100\n"),
    );
    let (_nvidia, _opened, readings) = first(&fake);
    assert_eq!(readings.get(Metric::Utilization), Ok(1.0));
}

#[test]
fn processes_share_a_device_by_their_own_numbers() {
    let fake = FakeNvml::over("foreign-pids", CALLS);
    let (nvidia, opened) = open(&fake);
    let processes = nvidia.processes(&opened.devices[0].id).unwrap();
    let told: Vec<_> = processes.iter().map(|p| p.pid).collect();
    assert!(told.contains(&3_912_044) && told.contains(&1), "{told:?}");
    let busy = processes.iter().find(|p| p.pid == 3_912_044).unwrap();
    assert_eq!(busy.memory_bytes, Ok(36_496_736_256.0));
    assert_eq!(busy.utilization_ratio, Ok(0.97));
}

#[test]
fn devices_of_one_board_share_it() {
    let board = "[[device]]\ncount = 3\nmulti_gpu_board = 1\nboard_id = { each = [7, 7, 8] }\n";
    let fake = FakeNvml::over("steady-a100-8", &format!("{CALLS}{board}"));
    let (_nvidia, opened) = open(&fake);
    assert_eq!(opened.devices[0].board, opened.devices[1].board);
    assert_eq!(opened.devices[2].board.0, opened.devices[2].id.0);
}

#[test]
fn a_t4_tells_retired_pages_and_no_remapped_rows() {
    let fake = FakeNvml::over("t4-x8", CALLS);
    let (_nvidia, opened, readings) = first(&fake);
    assert_eq!(opened.devices[0].power_usage_is_average, Some(false));
    expect(
        &readings,
        &[
            (Metric::RetiredPages, Ok(1.0)),
            (Metric::RetiredPending, Ok(0.0)),
            (Metric::RemapPending, Err(Absent::NotSupported)),
            (Metric::SecondsSwPowerCap, Ok(9.0)),
            (Metric::SecondsHwThermal, Err(Absent::NotSupported)),
            (Metric::PcieWidthBefore, Ok(8.0)),
            (Metric::MemoryTemperature, Err(Absent::NotSupported)),
            (Metric::NvlinkLinks, Err(Absent::NotSupported)),
        ],
    );
}

#[test]
fn a_link_that_is_not_supported_is_one_fewer() {
    for told in ["18", "'not_supported'"] {
        let fake = FakeNvml::over(
            "steady-h100-8",
            &format!(
                "{CALLS}[[device]]\nnvlink_count = 12\nnvlink_down = [3]\n[device.fields]\n\
                 nvlink_count = {told}\n'nvlink_state.*' = 'not_supported'\n"
            ),
        );
        let (nvidia, opened, readings) = first(&fake);
        expect(
            &readings,
            &[
                (Metric::NvlinkLinks, Ok(12.0)),
                (Metric::NvlinkUp, Ok(11.0)),
            ],
        );
        // One link's refusal does not silence the others the next time.
        let readings = all(&nvidia, &opened.devices[0].id);
        assert_eq!(readings.get(Metric::NvlinkUp), Ok(11.0), "{told}");
    }
}
