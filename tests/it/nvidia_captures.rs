//! Every captured model through the NVIDIA probe: what the capture has is read, what it has not is absent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use nameplate::model::{Absent, Device, DeviceKind, Metric, Reading, Readings};
use toml::{Table, Value};

use super::nvidia::{all, open};
use crate::support::capture;

/// Metric, key of the scenario or of its `fields`, and what one of the scenario's units is in ours.
const KEYS: &[(Metric, &[&str], f64)] = &[
    (Metric::PowerUsage, &["power_usage"], 1e-3),
    (Metric::PowerAverage, &["fields.power_average"], 1e-3),
    (Metric::PowerInstant, &["fields.power_instant"], 1e-3),
    (
        Metric::LimitEnforced,
        &["enforced_power_limit", "fields.power_current_limit"],
        1e-3,
    ),
    (
        Metric::LimitDefault,
        &["power_default_limit", "fields.power_default_limit"],
        1e-3,
    ),
    (
        Metric::LimitMin,
        &["power_min_limit", "fields.power_min_limit"],
        1e-3,
    ),
    (
        Metric::LimitMax,
        &["power_max_limit", "fields.power_max_limit"],
        1e-3,
    ),
    (
        Metric::LimitRequested,
        &["power_limit", "fields.power_requested_limit"],
        1e-3,
    ),
    (Metric::Energy, &["energy", "fields.energy"], 1e-3),
    (Metric::CoreTemperature, &["temperature"], 1.0),
    (
        Metric::MemoryTemperature,
        &["fields.memory_temperature"],
        1.0,
    ),
    (Metric::Margin, &["margin_temperature"], 1.0),
    (Metric::ThresholdShutdown, &["threshold_shutdown"], 1.0),
    (Metric::ThresholdSlowdown, &["threshold_slowdown"], 1.0),
    (Metric::ThresholdGpuMax, &["threshold_gpu_max"], 1.0),
    (Metric::ThresholdMemoryMax, &["threshold_mem_max"], 1.0),
    (Metric::MarginShutdown, &["fields.margin_shutdown"], 1.0),
    (Metric::MarginSlowdown, &["fields.margin_slowdown"], 1.0),
    (Metric::MarginMemoryMax, &["fields.margin_mem_max"], 1.0),
    (Metric::MarginGpuMax, &["fields.margin_gpu_max"], 1.0),
    (Metric::ApplicationMemoryClock, &["app_clock_memory"], 1.0),
    (Metric::EccEnabled, &["ecc_mode"], 1.0),
    (Metric::SmClock, &["clock_sm"], 1.0),
    (Metric::SmClockMax, &["max_clock_sm"], 1.0),
    (Metric::MemoryClock, &["clock_memory"], 1.0),
    (Metric::MemoryClockMax, &["max_clock_memory"], 1.0),
    (Metric::ApplicationClock, &["app_clock_graphics"], 1.0),
    (Metric::PerformanceState, &["performance_state"], 1.0),
    (Metric::Reasons, &["event_reasons"], 1.0),
    (Metric::SecondsSwPowerCap, &["fields.sw_power_cap_ns"], 1e-9),
    (Metric::SecondsSyncBoost, &["fields.sync_boost_ns"], 1e-9),
    (
        Metric::SecondsSwThermal,
        &["fields.251", "fields.269"],
        1e-9,
    ),
    (
        Metric::SecondsHwThermal,
        &["fields.252", "fields.270"],
        1e-9,
    ),
    (
        Metric::SecondsPowerBrake,
        &["fields.253", "fields.271"],
        1e-9,
    ),
    (Metric::Utilization, &["util_gpu"], 1e-2),
    (Metric::MemoryActivity, &["util_memory"], 1e-2),
    (Metric::MemoryTotal, &["memory_total"], 1.0),
    (Metric::MemoryUsed, &["memory_used"], 1.0),
    (Metric::Bar1Total, &["bar1_total"], 1.0),
    (Metric::EccCorrected, &["ecc_corrected_volatile"], 1.0),
    (Metric::EccUncorrected, &["ecc_uncorrected_volatile"], 1.0),
    (
        Metric::RemapCorrectable,
        &["remapped_corrected", "fields.remapped_corrected"],
        1.0,
    ),
    (
        Metric::RemapUncorrectable,
        &["remapped_uncorrected", "fields.remapped_uncorrected"],
        1.0,
    ),
    (
        Metric::RemapPending,
        &["remapped_pending", "fields.remapped_pending"],
        1.0,
    ),
    (
        Metric::RemapFailure,
        &["remapped_failure", "fields.remapped_failure"],
        1.0,
    ),
    (
        Metric::RetiredPages,
        &["retired_pages_sbe+retired_pages_dbe"],
        1.0,
    ),
    (
        Metric::RetiredPending,
        &["retired_pages_pending", "fields.retired_pending"],
        1.0,
    ),
    (Metric::PcieGenerationBefore, &["pcie_gen"], 1.0),
    (Metric::PcieWidthAfter, &["pcie_width"], 1.0),
    (Metric::PcieGenerationMax, &["pcie_max_gen"], 1.0),
    (Metric::PcieWidthMax, &["pcie_max_width"], 1.0),
    (Metric::PcieGenerationDevice, &["pcie_gpu_max_gen"], 1.0),
    (
        Metric::PcieReplays,
        &["pcie_replay", "fields.pcie_replay"],
        1.0,
    ),
    (Metric::RecoveryAction, &["fields.recovery_action"], 1.0),
    (Metric::MigEnabled, &["mig_mode"], 1.0),
    (Metric::Persistence, &["persistence_mode"], 1.0),
    (Metric::Fan, &["fan_speed"], 1e-2),
    (Metric::PcieRxBytes, &["fields.pcie_rx_bytes"], 1.0),
    (Metric::NvlinkRxBytes, &["fields.nvlink_rx_kib.all"], 1024.0),
    (Metric::SmActive, &["gpm.sm"], 1e-2),
];

/// A plain number of a scenario, or a typed one; none for a return code.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Table(table) => table.get("value").and_then(number),
        _ => None,
    }
}

fn wanted(device: &Table, keys: &[&str]) -> Option<f64> {
    let one = |key: &str| match key.strip_prefix("fields.") {
        Some(field) => device.get("fields")?.get(field).and_then(number),
        None => device.get(key).and_then(number),
    };
    keys.iter()
        .find_map(|keys| keys.split('+').map(one).sum::<Option<f64>>())
}

/// What stands in the way of a reading that the capture seems to give; only these.
fn is_known_trap(metric: Metric, captured: f64, reading: Reading<f64>) -> bool {
    match (metric, reading) {
        // 100 % of an empty device that was just opened.
        (Metric::Utilization, Err(Absent::Implausible(raw))) => {
            (raw / 100.0 - captured).abs() < 1e-9
        }
        // A card in deep sleep, or a host that sees no link.
        (Metric::PcieGenerationBefore | Metric::PcieWidthAfter, Err(Absent::Implausible(raw))) => {
            raw == captured
        }
        _ => false,
    }
}

/// Metrics that other numbers of a capture stand behind, or that are the same number again.
const OTHERS: &[Metric] = &[
    Metric::PcieGenerationAfter,
    Metric::PcieWidthBefore,
    Metric::ReasonsSupported,
    Metric::MemoryReserved,
    Metric::Bar1Used,
    Metric::ModulePower,
    Metric::ModuleLimit,
];

/// What an instance has of its own.
const OF_INSTANCES: &[Metric] = &[
    Metric::MemoryTotal,
    Metric::MemoryUsed,
    Metric::MemoryReserved,
    Metric::Bar1Total,
    Metric::Bar1Used,
];

/// Compares all readings of one device with its table of the scenario; the number of values that were compared.
fn compare(
    device: &Device,
    readings: &Readings,
    captured: &Table,
    wrong: &mut Vec<String>,
) -> usize {
    let mut values = 0;
    for metric in Metric::ALL {
        let reading = readings.get(*metric);
        let row = KEYS.iter().find(|(known, ..)| known == metric);
        let number = row.and_then(|(_, keys, unit)| Some(wanted(captured, keys)? * unit));
        let theirs = device.kind == DeviceKind::Instance && !OF_INSTANCES.contains(metric);
        let right = match number.filter(|_| !theirs) {
            None if OTHERS.contains(metric) && !theirs => true,
            None if device.unified_memory && *metric == Metric::MemoryUsed => true,
            None => reading.is_err(),
            Some(number) => {
                values += 1;
                reading.is_ok_and(|value| (value - number).abs() <= 1e-6 * number.abs())
                    || is_known_trap(*metric, number, reading)
            }
        };
        if !right {
            wrong.push(format!(
                "{} {metric:?}: captured {number:?}, read {reading:?}",
                device.name
            ));
        }
    }
    values
}

#[test]
fn captures_are_read_without_a_false_zero() {
    let Some(folder) = capture::folder() else {
        return;
    };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let (mut captures, mut values) = (0, 0);
    for path in paths {
        let Some(capture) = capture::read(&path) else {
            continue;
        };
        captures += 1;
        let scenario: Table = capture.scenario().parse().unwrap();
        let mut tables: Vec<&Table> = Vec::new();
        for device in scenario["device"].as_array().unwrap() {
            let device = device.as_table().unwrap();
            tables.push(device);
            let instances = device
                .get("mig")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            tables.extend(instances.map(|instance| instance.as_table().unwrap()));
        }
        let fake = capture.fake();
        let (nvidia, opened) = open(&fake);
        assert_eq!(opened.devices.len(), tables.len(), "{}", path.display());
        let mut wrong = Vec::new();
        for (device, captured) in opened.devices.iter().zip(tables) {
            values += compare(device, &all(&nvidia, &device.id), captured, &mut wrong);
        }
        assert!(
            wrong.is_empty(),
            "{}:\n{}",
            path.display(),
            wrong.join("\n")
        );
    }
    assert!(
        captures > 50 && values > 1000,
        "{captures} captures, {values} values"
    );
}
