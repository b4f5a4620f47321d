//! Start, end, versions, and handles.

use std::ffi::{CStr, c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlReturn_t};

use crate::out::{check_version, copy_text, filled, put, put_text, text_of};
use crate::state::{
    Call, INVALID_ARGUMENT, Live, NOT_FOUND, device_call, init, library_call, shutdown,
};
use crate::unit::whole;
use crate::value::{Datum, NOT_SUPPORTED};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> nvmlReturn_t {
    init("nvmlInit")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    init("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    shutdown()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    error_string(result).as_ptr()
}

fn error_string(result: nvmlReturn_t) -> &'static CStr {
    match result {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"GPU access blocked by the operating system",
        18 => c"Driver/library version mismatch",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"vGPU operation not available while ECC is enabled",
        23 => c"Insufficient Resources",
        24 => c"Frequency Not Supported",
        25 => c"Argument version mismatch",
        26 => c"Requested functionality has been deprecated",
        27 => c"System is not ready",
        28 => c"No GPUs were found",
        29 => c"Invalid state",
        _ => c"Unknown Error",
    }
}

fn library_text(live: &Live, key: &str, t: f64) -> Result<Vec<u8>, u32> {
    match live.reading(key, t)? {
        Datum::Text(text) => Ok(text),
        _ => Err(NOT_SUPPORTED),
    }
}

macro_rules! library_texts {
    ($($function:ident, $call:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(out: *mut c_char, length: c_uint) -> nvmlReturn_t {
            library_call(stringify!($function), $call, |live, t| {
                put_text(out, length, &library_text(live, $call, t)?)
            })
        }
    )*};
}

library_texts! {
    nvmlSystemGetDriverVersion, "driver_version";
    nvmlSystemGetNVMLVersion, "nvml_version";
}

macro_rules! cuda_versions {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(out: *mut c_int) -> nvmlReturn_t {
            library_call(stringify!($function), "cuda_version", |live, t| {
                put(out, whole(live.reading("cuda_version", t)?)? as c_int)
            })
        }
    )*};
}

cuda_versions! { nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2 }

#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetDriverBranch(
    out: *mut nvml_wrapper_sys::bindings::nvmlSystemDriverBranchInfo_t,
    _length: c_uint,
) -> nvmlReturn_t {
    library_call("nvmlSystemGetDriverBranch", "driver_branch", |live, t| {
        let info = filled(out)?;
        check_version::<nvml_wrapper_sys::bindings::nvmlSystemDriverBranchInfo_t>(info.version, 1)?;
        copy_text(&mut info.branch, &library_text(live, "driver_branch", t)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetProcessName(
    pid: c_uint,
    out: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    library_call("nvmlSystemGetProcessName", "process_name", |live, _| {
        let mut processes = live.scenario.devices.iter().flat_map(|unit| {
            let on_mig = unit
                .mig
                .iter()
                .flat_map(|mig| mig.processes.iter().flatten());
            unit.processes.iter().flatten().chain(on_mig)
        });
        let process = processes.find(|process| process.pid == pid);
        let name = process.and_then(|p| p.name.as_ref()).ok_or(NOT_FOUND)?;
        put_text(out, length, name.as_bytes())
    })
}

macro_rules! counts {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(out: *mut c_uint) -> nvmlReturn_t {
            library_call(stringify!($function), "count", |live, t| put(out, count(live, t)))
        }
    )*};
}

counts! { nvmlDeviceGetCount nvmlDeviceGetCount_v2 }

fn count(live: &Live, t: f64) -> c_uint {
    let named = live.reading("device_count", t).and_then(whole);
    named.map_or(live.scenario.devices.len() as c_uint, |n| n as c_uint)
}

/// A handle; a device whose calls fail may refuse it, as one that fell off the bus does.
fn put_handle(
    live: &Live,
    place: Option<usize>,
    (call, none): (&str, u32),
    out: *mut nvmlDevice_t,
) -> Result<(), u32> {
    let place = place.ok_or(none)?;
    let behaviour = &live.scenario.devices[place].behaviour;
    match behaviour.error(call, live.now(place), 0) {
        Some(code) if code != 0 => Err(code),
        _ => put(out, live.handle(place, None)),
    }
}

macro_rules! handles_by_index {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(index: c_uint, out: *mut nvmlDevice_t) -> nvmlReturn_t {
            library_call(stringify!($function), "handle_by_index", |live, t| {
                if index >= count(live, t) {
                    return Err(INVALID_ARGUMENT);
                }
                put_handle(live, live.place(index as usize), ("handle_by_index", INVALID_ARGUMENT), out)
            })
        }
    )*};
}

handles_by_index! { nvmlDeviceGetHandleByIndex nvmlDeviceGetHandleByIndex_v2 }

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    library_call("nvmlDeviceGetHandleByUUID", "handle_by_uuid", |live, t| {
        let wanted = text_of(uuid)?;
        for (place, gpu) in live.scenario.devices.iter().enumerate() {
            if gpu.text("uuid", t).is_ok_and(|uuid| uuid == wanted) {
                return put_handle(live, Some(place), ("handle_by_uuid", NOT_FOUND), out);
            }
            let mig = gpu
                .mig
                .iter()
                .position(|mig| mig.text("uuid", t).is_ok_and(|uuid| uuid == wanted));
            if mig.is_some() {
                return put(out, live.handle(place, mig));
            }
        }
        Err(NOT_FOUND)
    })
}

macro_rules! handles_by_text {
    ($($function:ident, $call:literal, $key:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(wanted: *const c_char, out: *mut nvmlDevice_t) -> nvmlReturn_t {
            library_call(stringify!($function), $call, |live, t| {
                let wanted = text_of(wanted)?;
                let place = live.scenario.devices.iter().position(|gpu| {
                    gpu.text($key, t).is_ok_and(|own| same_address(&own, wanted))
                });
                put_handle(live, place, ($call, NOT_FOUND), out)
            })
        }
    )*};
}

handles_by_text! {
    nvmlDeviceGetHandleByPciBusId, "handle_by_pci_bus_id", "pci_bus_id";
    nvmlDeviceGetHandleByPciBusId_v2, "handle_by_pci_bus_id", "pci_bus_id";
    nvmlDeviceGetHandleBySerial, "handle_by_serial", "serial";
}

/// Equal without case, and without the leading zeros that an 8-digit PCI domain has more than a
/// 4-digit one.
fn same_address(own: &[u8], wanted: &[u8]) -> bool {
    let bare = |text: &[u8]| {
        let zeros = text.iter().take_while(|b| **b == b'0').count();
        text[zeros..].to_ascii_lowercase()
    };
    bare(own) == bare(wanted)
}

macro_rules! pci_infos {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut nvmlPciInfo_t) -> nvmlReturn_t {
            device_call(device, stringify!($function), "pci_info", |call| pci_info(call, out))
        }
    )*};
}

pci_infos! { nvmlDeviceGetPciInfo nvmlDeviceGetPciInfo_v2 nvmlDeviceGetPciInfo_v3 }

fn pci_info(call: &Call, out: *mut nvmlPciInfo_t) -> Result<(), u32> {
    let address = String::from_utf8_lossy(&call.text("pci_bus_id")?).into_owned();
    let parts: Vec<u32> = address
        .split([':', '.'])
        .filter_map(|part| u32::from_str_radix(part, 16).ok())
        .collect();
    let [domain, bus, slot, _function] = parts[..] else {
        return Err(INVALID_ARGUMENT);
    };
    let info = filled(out)?;
    let legacy = format!("{domain:04X}:{bus:02X}:{slot:02X}.0");
    copy_text(&mut info.busIdLegacy, legacy.as_bytes());
    copy_text(&mut info.busId, address.as_bytes());
    (info.domain, info.bus, info.device) = (domain, bus, slot);
    // The ids are part of the same answer, and zero is no vendor's id.
    info.pciDeviceId = call.int("pci_device_id").unwrap_or(0) as u32;
    info.pciSubSystemId = call.int("pci_subsystem_id").unwrap_or(0) as u32;
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, out: *mut c_uint) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetIndex", "index", |call| {
        let index = call.mig.or_else(|| call.live.index_of(call.gpu.index));
        put(out, index.ok_or(NOT_FOUND)? as c_uint)
    })
}
