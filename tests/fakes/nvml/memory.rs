//! Memory, and its faults.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlDevice_t, nvmlEccErrorCounts_t, nvmlMemory_t, nvmlMemory_v2_t,
    nvmlReturn_t,
};

use crate::out::{check_version, filled, put, slice};
use crate::state::{Call, INSUFFICIENT_SIZE, INVALID_ARGUMENT, device_call};

/// total, reserved, used, free; free is the rest where the scenario does not name it.
fn sizes(call: &Call, reserved: i128) -> Result<[u64; 4], u32> {
    let total = call.int("memory_total")?;
    let used = call.int("memory_used")?;
    let free = call
        .int("memory_free")
        .unwrap_or((total - used - reserved).max(0));
    Ok([total, reserved, used, free].map(|bytes| bytes as u64))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryInfo(
    device: nvmlDevice_t,
    out: *mut nvmlMemory_t,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetMemoryInfo", "memory_info", |call| {
        // Version 1 counts what is reserved as used, and was there before it was told apart.
        let reserved = call.int("memory_reserved").unwrap_or(0);
        let [total, reserved, used, free] = sizes(call, reserved)?;
        put(
            out,
            nvmlMemory_t {
                total,
                free,
                used: used.saturating_add(reserved),
            },
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    out: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetMemoryInfo_v2",
        "memory_info_v2",
        |call| {
            let info = filled(out)?;
            check_version::<nvmlMemory_v2_t>(info.version, 2)?;
            let reserved = call.int("memory_reserved")?;
            [info.total, info.reserved, info.used, info.free] = sizes(call, reserved)?;
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetBAR1MemoryInfo(
    device: nvmlDevice_t,
    out: *mut nvmlBAR1Memory_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetBAR1MemoryInfo",
        "bar1_memory_info",
        |call| {
            let (total, used) = (call.int("bar1_total")?, call.int("bar1_used")?);
            let free = call.int("bar1_free").unwrap_or((total - used).max(0));
            put(
                out,
                nvmlBAR1Memory_t {
                    bar1Total: total as u64,
                    bar1Free: free as u64,
                    bar1Used: used as u64,
                },
            )
        },
    )
}

const ECC: [[&str; 2]; 2] = [
    ["ecc_corrected_volatile", "ecc_corrected_aggregate"],
    ["ecc_uncorrected_volatile", "ecc_uncorrected_aggregate"],
];

fn ecc_key(error: c_uint, counter: c_uint) -> Result<&'static str, u32> {
    let counters = ECC.get(error as usize).ok_or(INVALID_ARGUMENT)?;
    counters
        .get(counter as usize)
        .copied()
        .ok_or(INVALID_ARGUMENT)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: nvmlDevice_t,
    error: c_uint,
    counter: c_uint,
    out: *mut c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetTotalEccErrors",
        "total_ecc_errors",
        |call| put(out, call.int(ecc_key(error, counter)?)? as c_ulonglong),
    )
}

fn ecc_at(call: &Call, error: c_uint, counter: c_uint, place: &str) -> Result<u64, u32> {
    let key = format!("{}_{place}", ecc_key(error, counter)?);
    Ok(call.int(&key)? as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: nvmlDevice_t,
    error: c_uint,
    counter: c_uint,
    location: c_uint,
    out: *mut c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetMemoryErrorCounter",
        "memory_error_counter",
        |call| {
            let place = match location {
                0 => "l1",
                1 => "l2",
                2 => "dram",
                3 => "register",
                // Texture memory and its shared part are one key.
                4 | 5 => "texture",
                6 => "cbu",
                7 => "sram",
                _ => return Err(INVALID_ARGUMENT),
            };
            put(out, ecc_at(call, error, counter, place)?)
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetDetailedEccErrors(
    device: nvmlDevice_t,
    error: c_uint,
    counter: c_uint,
    out: *mut nvmlEccErrorCounts_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetDetailedEccErrors",
        "detailed_ecc_errors",
        |call| {
            let at = |place| ecc_at(call, error, counter, place);
            put(
                out,
                nvmlEccErrorCounts_t {
                    l1Cache: at("l1")?,
                    l2Cache: at("l2")?,
                    deviceMemory: at("dram")?,
                    registerFile: at("register")?,
                },
            )
        },
    )
}

fn retired(
    call: &Call,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
) -> Result<usize, u32> {
    let key = match cause {
        0 => "retired_pages_sbe",
        1 => "retired_pages_dbe",
        _ => return Err(INVALID_ARGUMENT),
    };
    let pages = call.int(key)? as usize;
    let count = filled(count)?;
    let room = std::mem::replace(count, pages as c_uint) as usize;
    if room < pages {
        return Err(INSUFFICIENT_SIZE);
    }
    for (i, address) in slice(addresses, pages)?.iter_mut().enumerate() {
        *address = 0x1_0000 * (i as c_ulonglong + 1);
    }
    Ok(pages)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetRetiredPages(
    device: nvmlDevice_t,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetRetiredPages",
        "retired_pages",
        |call| retired(call, cause, count, addresses).map(|_| ()),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetRetiredPages_v2(
    device: nvmlDevice_t,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
    timestamps: *mut c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetRetiredPages_v2",
        "retired_pages",
        |call| {
            let pages = retired(call, cause, count, addresses)?;
            // A time of 0 is the driver's own answer for a retirement whose time it does not know.
            slice(timestamps, pages)?.fill(0);
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetRemappedRows(
    device: nvmlDevice_t,
    corrected: *mut c_uint,
    uncorrected: *mut c_uint,
    pending: *mut c_uint,
    failure: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetRemappedRows",
        "remapped_rows",
        |call| {
            put(corrected, call.int("remapped_corrected")? as c_uint)?;
            put(uncorrected, call.int("remapped_uncorrected")? as c_uint)?;
            put(pending, call.int("remapped_pending")? as c_uint)?;
            put(failure, call.int("remapped_failure")? as c_uint)
        },
    )
}
