//! PCIe throughput, NVLink, C2C.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{nvmlC2cModeInfo_v1_t, nvmlDevice_t, nvmlReturn_t};

use crate::out::{filled, put};
use crate::state::{Call, INVALID_ARGUMENT, device_call};
use crate::value::NOT_SUPPORTED;

/// `NVML_NVLINK_MAX_LINKS`.
const MAX_LINKS: c_uint = 18;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPcieThroughput(
    device: nvmlDevice_t,
    counter: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetPcieThroughput",
        "pcie_throughput",
        |call| {
            let key = match counter {
                0 => "pcie_tx",
                1 => "pcie_rx",
                _ => return Err(INVALID_ARGUMENT),
            };
            put(out, call.int(key)? as c_uint)
        },
    )
}

/// A link that the device has, or why not.
fn check_link(call: &Call, link: c_uint) -> Result<(), u32> {
    match call.int("nvlink_count") {
        _ if link >= MAX_LINKS => Err(INVALID_ARGUMENT),
        Ok(count) if i128::from(link) < count => Ok(()),
        Ok(_) => Err(NOT_SUPPORTED),
        Err(code) => Err(code),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkState(
    device: nvmlDevice_t,
    link: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetNvLinkState", "nvlink_state", |call| {
        check_link(call, link)?;
        put(out, c_uint::from(!call.unit.nvlink_down.contains(&link)))
    })
}

macro_rules! per_link {
    ($($function:ident, $call:literal, $key:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, link: c_uint, out: *mut c_uint) -> nvmlReturn_t {
            device_call(device, stringify!($function), $call, |call| {
                check_link(call, link)?;
                put(out, call.int($key)? as c_uint)
            })
        }
    )*};
}

per_link! {
    nvmlDeviceGetNvLinkVersion, "nvlink_version", "nvlink_version";
    nvmlDeviceGetNvLinkRemoteDeviceType, "nvlink_remote_type", "nvlink_remote_type";
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkErrorCounter(
    device: nvmlDevice_t,
    link: c_uint,
    counter: c_uint,
    out: *mut c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetNvLinkErrorCounter",
        "nvlink_error_counter",
        |call| {
            check_link(call, link)?;
            let key = match counter {
                0 => "nvlink_replay_errors",
                1 => "nvlink_recovery_errors",
                2 => "nvlink_crc_flit_errors",
                3 => "nvlink_crc_data_errors",
                _ => return Err(INVALID_ARGUMENT),
            };
            put(out, call.int(key)? as c_ulonglong)
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetC2cModeInfoV(
    device: nvmlDevice_t,
    out: *mut nvmlC2cModeInfo_v1_t,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetC2cModeInfoV", "c2c_mode", |call| {
        filled(out)?.isC2cEnabled = call.int("c2c_mode")? as c_uint;
        Ok(())
    })
}
