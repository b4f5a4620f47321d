//! Calls of one device and one value, or one value by type.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlMarginTemperature_t, nvmlReturn_t, nvmlTemperature_t, nvmlUtilization_t,
    nvmlViolationTime_t,
};

use crate::out::{check_version, filled, put, put_text};
use crate::state::{Call, INVALID_ARGUMENT, device_call};

macro_rules! texts {
    ($($function:ident, $key:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut c_char, length: c_uint) -> nvmlReturn_t {
            device_call(device, stringify!($function), $key, |call| {
                put_text(out, length, &call.text($key)?)
            })
        }
    )*};
}

texts! {
    nvmlDeviceGetName, "name";
    nvmlDeviceGetUUID, "uuid";
    nvmlDeviceGetSerial, "serial";
    nvmlDeviceGetBoardPartNumber, "board_part_number";
    nvmlDeviceGetVbiosVersion, "vbios_version";
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGspFirmwareVersion(
    device: nvmlDevice_t,
    out: *mut c_char,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetGspFirmwareVersion",
        "gsp_firmware_version",
        // The header asks for a buffer of 0x40 bytes.
        |call| put_text(out, 0x40, &call.text("gsp_firmware_version")?),
    )
}

macro_rules! numbers {
    ($($function:ident, $call:literal, $key:literal, $type:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut $type) -> nvmlReturn_t {
            device_call(device, stringify!($function), $call, |call| put(out, call.int($key)? as $type))
        }
    )*};
}

numbers! {
    nvmlDeviceGetMinorNumber, "minor_number", "minor_number", c_uint;
    nvmlDeviceGetModuleId, "module_id", "module_id", c_uint;
    nvmlDeviceGetBoardId, "board_id", "board_id", c_uint;
    nvmlDeviceGetMultiGpuBoard, "multi_gpu_board", "multi_gpu_board", c_uint;
    nvmlDeviceGetArchitecture, "architecture", "architecture", c_uint;
    nvmlDeviceGetBrand, "brand", "brand", c_uint;
    nvmlDeviceGetNumGpuCores, "num_gpu_cores", "num_cores", c_uint;
    nvmlDeviceGetMemoryBusWidth, "memory_bus_width", "memory_bus_width", c_uint;
    nvmlDeviceGetIrqNum, "irq_num", "irq_num", c_uint;
    nvmlDeviceGetNumaNodeId, "numa_node_id", "numa_node_id", c_uint;
    nvmlDeviceGetBusType, "bus_type", "bus_type", c_uint;
    nvmlDeviceGetPowerSource, "power_source", "power_source", c_uint;
    nvmlDeviceGetPowerUsage, "power_usage", "power_usage", c_uint;
    nvmlDeviceGetPowerManagementMode, "power_management_mode", "power_management_mode", c_uint;
    nvmlDeviceGetPowerManagementLimit, "power_limit", "power_limit", c_uint;
    nvmlDeviceGetPowerManagementDefaultLimit, "power_default_limit", "power_default_limit", c_uint;
    nvmlDeviceGetEnforcedPowerLimit, "enforced_power_limit", "enforced_power_limit", c_uint;
    nvmlDeviceGetTotalEnergyConsumption, "energy", "energy", c_ulonglong;
    nvmlDeviceGetFanSpeed, "fan_speed", "fan_speed", c_uint;
    nvmlDeviceGetNumFans, "num_fans", "num_fans", c_uint;
    nvmlDeviceGetPerformanceState, "performance_state", "performance_state", c_uint;
    nvmlDeviceGetPowerState, "performance_state", "performance_state", c_uint;
    nvmlDeviceGetCurrentClocksEventReasons, "event_reasons", "event_reasons", c_ulonglong;
    nvmlDeviceGetCurrentClocksThrottleReasons, "event_reasons", "event_reasons", c_ulonglong;
    nvmlDeviceGetSupportedClocksEventReasons, "supported_event_reasons", "supported_event_reasons", c_ulonglong;
    nvmlDeviceGetSupportedClocksThrottleReasons, "supported_event_reasons", "supported_event_reasons", c_ulonglong;
    nvmlDeviceGetPersistenceMode, "persistence_mode", "persistence_mode", c_uint;
    nvmlDeviceGetVirtualizationMode, "virtualization_mode", "virtualization_mode", c_uint;
    nvmlDeviceGetComputeMode, "compute_mode", "compute_mode", c_uint;
    nvmlDeviceGetDisplayActive, "display_active", "display_active", c_uint;
    nvmlDeviceGetDisplayMode, "display_mode", "display_mode", c_uint;
    nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen", "pcie_gen", c_uint;
    nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", "pcie_width", c_uint;
    nvmlDeviceGetMaxPcieLinkGeneration, "pcie_max_gen", "pcie_max_gen", c_uint;
    nvmlDeviceGetMaxPcieLinkWidth, "pcie_max_width", "pcie_max_width", c_uint;
    nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie_gpu_max_gen", "pcie_gpu_max_gen", c_uint;
    nvmlDeviceGetPcieSpeed, "pcie_speed", "pcie_speed", c_uint;
    nvmlDeviceGetPcieLinkMaxSpeed, "pcie_max_speed", "pcie_max_speed", c_uint;
    nvmlDeviceGetPcieReplayCounter, "pcie_replay_counter", "pcie_replay", c_uint;
    nvmlDeviceGetSupportedEventTypes, "supported_event_types", "event_types", c_ulonglong;
    nvmlDeviceGetRetiredPagesPendingStatus, "retired_pages_pending", "retired_pages_pending", c_uint;
}

/// Two values of one call; one that is not supported takes both along.
fn pair(call: &Call, first: &str, second: &str) -> Result<(i128, i128), u32> {
    Ok((call.int(first)?, call.int(second)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetCudaComputeCapability",
        "cuda_compute_capability",
        |call| {
            let (own_major, own_minor) = pair(call, "cuda_major", "cuda_minor")?;
            put(major, own_major as c_int)?;
            put(minor, own_minor as c_int)
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPowerManagementLimitConstraints(
    device: nvmlDevice_t,
    min: *mut c_uint,
    max: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetPowerManagementLimitConstraints",
        "power_limit_constraints",
        |call| {
            let (least, most) = pair(call, "power_min_limit", "power_max_limit")?;
            put(min, least as c_uint)?;
            put(max, most as c_uint)
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetEccMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetEccMode", "ecc_mode", |call| {
        let current_mode = call.int("ecc_mode")?;
        let pending_mode = call.int("ecc_pending").unwrap_or(current_mode);
        put(current, current_mode as c_uint)?;
        put(pending, pending_mode as c_uint)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    sensor: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetTemperature", "temperature", |call| {
        // One sensor: the GPU die.
        if sensor != 0 {
            return Err(INVALID_ARGUMENT);
        }
        put(out, call.int("temperature")? as c_uint)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTemperatureV(
    device: nvmlDevice_t,
    out: *mut nvmlTemperature_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetTemperatureV",
        "temperature_v",
        |call| {
            let info = filled(out)?;
            check_version::<nvmlTemperature_t>(info.version, 1)?;
            if info.sensorType != 0 {
                return Err(INVALID_ARGUMENT);
            }
            info.temperature = call.int("temperature")? as c_int;
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMarginTemperature(
    device: nvmlDevice_t,
    out: *mut nvmlMarginTemperature_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetMarginTemperature",
        "margin_temperature",
        |call| {
            let info = filled(out)?;
            check_version::<nvmlMarginTemperature_t>(info.version, 1)?;
            info.marginTemperature = call.int("margin_temperature")? as c_int;
            Ok(())
        },
    )
}

/// The key at the place of a C enum's value.
fn by_type(keys: &[&'static str], kind: c_uint) -> Result<&'static str, u32> {
    keys.get(kind as usize).copied().ok_or(INVALID_ARGUMENT)
}

macro_rules! by_types {
    ($($function:ident, $call:literal, $type:ty, $keys:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, kind: c_uint, out: *mut $type) -> nvmlReturn_t {
            device_call(device, stringify!($function), $call, |call| {
                put(out, call.int(by_type(&$keys, kind)?)? as $type)
            })
        }
    )*};
}

const CLOCKS: [&str; 4] = ["clock_graphics", "clock_sm", "clock_memory", "clock_video"];

by_types! {
    nvmlDeviceGetTemperatureThreshold, "temperature_threshold", c_uint, [
        "threshold_shutdown", "threshold_slowdown", "threshold_mem_max", "threshold_gpu_max",
        "threshold_acoustic_min", "threshold_acoustic_curr", "threshold_acoustic_max", "threshold_gps",
    ];
    nvmlDeviceGetClockInfo, "clock_info", c_uint, CLOCKS;
    nvmlDeviceGetMaxClockInfo, "max_clock_info", c_uint,
        ["max_clock_graphics", "max_clock_sm", "max_clock_memory", "max_clock_video"];
    // The SM clock follows the graphics clock.
    nvmlDeviceGetApplicationsClock, "applications_clock", c_uint,
        ["app_clock_graphics", "app_clock_graphics", "app_clock_memory"];
    nvmlDeviceGetDefaultApplicationsClock, "default_applications_clock", c_uint,
        ["default_app_clock_graphics", "default_app_clock_graphics", "default_app_clock_memory"];
    nvmlDeviceGetMaxCustomerBoostClock, "max_customer_boost_clock", c_uint,
        ["boost_clock_graphics", "boost_clock_sm", "boost_clock_memory", "boost_clock_video"];
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetClock(
    device: nvmlDevice_t,
    kind: c_uint,
    id: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetClock", "clock", |call| {
        let keys: &[&str] = match id {
            0 => &CLOCKS,
            1 => &[
                "app_clock_graphics",
                "app_clock_graphics",
                "app_clock_memory",
            ],
            2 => &[
                "default_app_clock_graphics",
                "default_app_clock_graphics",
                "default_app_clock_memory",
            ],
            3 => &[
                "boost_clock_graphics",
                "boost_clock_sm",
                "boost_clock_memory",
                "boost_clock_video",
            ],
            _ => return Err(INVALID_ARGUMENT),
        };
        put(out, call.int(by_type(keys, kind)?)? as c_uint)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetViolationStatus(
    device: nvmlDevice_t,
    policy: c_uint,
    out: *mut nvmlViolationTime_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetViolationStatus",
        "violation_status",
        |call| {
            let key = match policy {
                10 => "violation_total_app_clocks",
                11 => "violation_total_base_clocks",
                policy => by_type(
                    &[
                        "violation_power",
                        "violation_thermal",
                        "violation_sync_boost",
                        "violation_board_limit",
                        "violation_low_utilization",
                        "violation_reliability",
                    ],
                    policy,
                )?,
            };
            let violation = call.int(key)? as c_ulonglong;
            let info = filled(out)?;
            info.referenceTime = (call.t * 1e6) as c_ulonglong;
            info.violationTime = violation;
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    out: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetUtilizationRates",
        "utilization_rates",
        |call| {
            let (gpu, memory) = (call.int("util_gpu")?, call.int("util_memory")?);
            put(
                out,
                nvmlUtilization_t {
                    gpu: gpu as c_uint,
                    memory: memory as c_uint,
                },
            )
        },
    )
}

macro_rules! engine_utilizations {
    ($($function:ident, $call:literal, $key:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut c_uint, period_us: *mut c_uint) -> nvmlReturn_t {
            device_call(device, stringify!($function), $call, |call| {
                let (share, period) = pair(call, $key, "util_sampling_period")?;
                put(out, share as c_uint)?;
                put(period_us, period as c_uint)
            })
        }
    )*};
}

engine_utilizations! {
    nvmlDeviceGetEncoderUtilization, "encoder_utilization", "util_encoder";
    nvmlDeviceGetDecoderUtilization, "decoder_utilization", "util_decoder";
    nvmlDeviceGetJpgUtilization, "jpg_utilization", "util_jpg";
    nvmlDeviceGetOfaUtilization, "ofa_utilization", "util_ofa";
}
