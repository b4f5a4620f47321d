//! A fake `libcndev.so` at the C ABI. It writes by the byte offsets of `cndev.h`, not by the probe's own structures, so
//! that a mistake in those shows. Calls and codes as there: structure first, handle last, versions before the call.
//!
//! Beside what `small` reads: `version` (6), the newest version of the interface that it knows, and `lib = [6, 5, 40]`;
//! of each device `handle`, and the values that `write` names.
#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::missing_safety_doc,
    non_snake_case
)]

#[path = "../small/mod.rs"]
mod small;

use small::{device_call, devices, library_call, put, scenario, text, whole};
use std::ffi::{CString, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};
use toml::{Table, Value};

const UNSUPPORTED_VERSION: i32 = 3;
const UNINITIALIZED: i32 = 4;
const INVALID_DEVICE: i32 = 6;
const NO_SPACE: i32 = 9;
const NOT_SUPPORTED: i32 = 10;

/// How often it was initialised less how often it was released.
static OPEN: AtomicI32 = AtomicI32::new(0);

/// A value of a device with its place and type: key, offset, type.
type Place = (&'static str, usize, Kind);

#[derive(Clone, Copy)]
enum Kind {
    I32,
    U16,
    U64,
    Text(usize),
}
use Kind::{I32, Text, U16, U64};

fn answer(result: Result<(), i32>) -> i32 {
    result.err().unwrap_or(0)
}

fn find(handle: i32) -> impl Fn(&[Table]) -> Option<Table> {
    move |devices| {
        let mut devices = devices.iter();
        devices
            .find(|device| whole(device, "handle") == Some(handle.into()))
            .cloned()
    }
}

fn device(call: &str, handle: i32) -> Result<Table, i32> {
    if OPEN.load(Ordering::SeqCst) <= 0 {
        return Err(UNINITIALIZED);
    }
    device_call(call, find(handle), INVALID_DEVICE)
}

unsafe fn check_version(out: *mut c_void) -> Result<(), i32> {
    let known = whole(&scenario(), "version").unwrap_or(6);
    // SAFETY: the caller's structure begins with its version.
    let version = unsafe { out.cast::<i32>().read() };
    match (1..=known).contains(&version.into()) {
        true => Ok(()),
        false => Err(UNSUPPORTED_VERSION),
    }
}

/// Writes the values that the device has; without the first of them the call is not supported.
unsafe fn write(table: &Table, out: *mut c_void, places: &[Place]) -> Result<(), i32> {
    let (first, ..) = places[0];
    if !table.contains_key(first) {
        return Err(NOT_SUPPORTED);
    }
    for (key, offset, kind) in places {
        let raw = whole(table, key);
        // SAFETY: the offsets are inside of the structure that the call takes.
        unsafe {
            match (kind, raw) {
                (I32, Some(raw)) => put(out, *offset, raw as i32),
                (U16, Some(raw)) => put(out, *offset, raw as u16),
                (U64, Some(raw)) => put(out, *offset, raw),
                (Text(room), _) => {
                    let bytes = text(table, key).unwrap_or_default().as_bytes();
                    for (place, byte) in bytes.iter().take(*room).enumerate() {
                        put(out, offset + place, *byte);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

macro_rules! calls {
    ($($symbol:ident $call:literal $versioned:literal [$($key:literal @ $offset:literal $kind:expr),*];)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(out: *mut c_void, handle: i32) -> i32 {
            let run = || -> Result<(), i32> {
                let table = device($call, handle)?;
                if $versioned {
                    // SAFETY: the caller's pointer is to the call's structure.
                    unsafe { check_version(out) }?;
                }
                // SAFETY: as above.
                unsafe { write(&table, out, &[$(($key, $offset, $kind)),*]) }
            };
            answer(run())
        }
    )* };
}

calls! {
    cndevGetUUID "uuid" true ["uuid" @ 4 Text(37)];
    cndevGetCardSN "sn" true ["sn" @ 8 U64, "mother_board_sn" @ 16 U64];
    cndevGetDevicePowerInfo "power" false ["power" @ 0 I32, "cap" @ 4 I32, "machine" @ 8 I32, "tdp" @ 12 I32];
    cndevGetPowerInfo "power" true ["power" @ 4 I32, "cap" @ 8 I32, "machine" @ 16 I32, "tdp" @ 24 U16];
    cndevGetPowerManagementDefaultLimitation "limit_default" true ["limit_default" @ 4 U16];
    cndevGetPowerManagementLimitationRange "limit_range" true ["limit_min" @ 4 U16, "limit_max" @ 8 U16];
    cndevGetTemperatureInfo "temperature" true ["board_temperature" @ 4 I32, "cluster_temperature" @ 8 I32,
        "chip_temperature" @ 120 I32, "memory_temperature" @ 132 I32];
    cndevGetDeviceUtilizationInfo "utilization" true ["utilization" @ 4 I32];
    cndevGetMemoryUsageV2 "memory" false ["memory_total" @ 0 U64, "memory_used" @ 8 U64, "memory_reserved" @ 16 U64];
    cndevGetMemoryUsage "memory" true ["memory_total" @ 8 U64, "memory_used" @ 16 U64];
    cndevGetFrequencyInfo "frequency" true ["clock" @ 4 I32, "ddr" @ 8 I32, "clock_default" @ 56 I32, "clock_max" @ 64 I32];
    cndevGetPerformanceThrottleReason "throttle" true ["throttle_tdp" @ 4 I32, "throttle_cap" @ 8 I32,
        "throttle_clock" @ 12 I32, "throttle_lock" @ 16 I32, "throttle_brake" @ 20 I32, "throttle_thermal" @ 24 I32];
    cndevGetCurrentPCIInfo "link" true ["generation" @ 4 I32, "width" @ 8 I32];
    cndevGetMaxPCIInfo "link_max" true ["generation_max" @ 4 I32, "width_max" @ 8 I32];
    cndevGetPCIeInfoV2 "pci" false ["pci_device" @ 4 I32, "pci_vendor" @ 8 U16, "domain" @ 12 I32, "bus" @ 16 I32,
        "slot" @ 20 I32, "function" @ 24 I32, "module" @ 28 U16, "slot_id" @ 30 U16];
    cndevGetPCIeInfo "pci" true ["pci_device" @ 8 I32, "pci_vendor" @ 12 U16, "domain" @ 16 I32, "bus" @ 20 I32,
        "slot" @ 24 I32, "function" @ 28 I32];
    cndevGetPCIethroughputV2 "traffic" false ["read" @ 0 U64, "write" @ 8 U64, "read_total" @ 16 U64, "write_total" @ 24 U64];
    cndevGetPCIethroughput "traffic" true ["read" @ 8 U64, "write" @ 16 U64];
    cndevGetPcieReplayCounter "replays" true ["replays" @ 4 I32];
    cndevGetCardHealthState "health" true ["health" @ 4 I32, "device_state" @ 8 I32, "driver_state" @ 12 I32];
    cndevGetFanSpeedInfo "fan" true ["fan" @ 4 I32];
    cndevGetECCInfo "ecc" true ["ecc_corrected" @ 40 U64, "ecc_uncorrected" @ 48 U64];
    cndevGetVersionInfo "driver" true ["driver_major" @ 16 I32, "driver_minor" @ 20 I32, "driver_build" @ 24 I32];
}

#[unsafe(no_mangle)]
pub extern "C" fn cndevInit(_reserved: i32) -> i32 {
    let result = library_call("init").map(|_| {
        OPEN.fetch_add(1, Ordering::SeqCst);
    });
    answer(result)
}

#[unsafe(no_mangle)]
pub extern "C" fn cndevRelease() -> i32 {
    OPEN.fetch_sub(1, Ordering::SeqCst);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetDeviceCount(out: *mut c_void) -> i32 {
    let run = || {
        library_call("count")?;
        // SAFETY: 8 bytes, the version first.
        unsafe {
            check_version(out)?;
            put(out, 4, devices().len() as u32);
        }
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetDeviceHandleByIndex(index: i32, out: *mut i32) -> i32 {
    let run = || {
        library_call("handle")?;
        let devices = devices();
        let device = devices.get(index as usize).ok_or(INVALID_DEVICE)?;
        let handle = whole(device, "handle").unwrap_or_default();
        device_call("handle", find(handle as i32), INVALID_DEVICE)?;
        // SAFETY: the caller's number.
        unsafe { out.write(handle as i32) };
        Ok(())
    };
    answer(run())
}

/// Names that were given away, which stay for good.
static NAMES: Mutex<Vec<CString>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
pub extern "C" fn cndevGetCardNameStringByDevId(handle: i32) -> *const c_char {
    let Ok(table) = device("name", handle) else {
        return std::ptr::null();
    };
    let Some(name) = text(&table, "name").and_then(|name| CString::new(name).ok()) else {
        return std::ptr::null();
    };
    let pointer = name.as_ptr();
    if let Ok(mut names) = NAMES.lock() {
        names.push(name);
    }
    pointer
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetLibVersion(out: *mut c_void) -> i32 {
    let run = || {
        let table = library_call("lib_version")?;
        let parts = table.get("lib").and_then(Value::as_array);
        let parts = parts.ok_or(NOT_SUPPORTED)?;
        // SAFETY: 16 bytes, the version first.
        unsafe {
            check_version(out)?;
            for (place, part) in parts.iter().take(3).enumerate() {
                put(out, 4 + 4 * place, part.as_integer().unwrap_or(0) as u32);
            }
        }
        Ok(())
    };
    answer(run())
}

/// Devices of one `sn` are on one board, and those of one `topology_board`, where that is named.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevTopologyGetRelationship(
    out: *mut c_void,
    one: i32,
    other: i32,
) -> i32 {
    let run = || {
        let (one, other) = (device("topology", one)?, device("topology", other)?);
        let on = |table: &Table| whole(table, "topology_board").or_else(|| whole(table, "sn"));
        let internal = on(&one).is_some() && on(&one) == on(&other);
        // SAFETY: 8 bytes, the version first.
        unsafe {
            check_version(out)?;
            put(out, 4, if internal { 1 } else { 5 });
        }
        Ok(())
    };
    answer(run())
}

/// `fields.71 = 5000` is a u64, `{ value = -3, type = 4 }` of that type, `{ error = 10 }` has its own code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevDeviceGetFieldValues(
    handle: i32,
    count: i32,
    out: *mut c_void,
) -> i32 {
    let run = || {
        let table = device("fields", handle)?;
        for place in 0..count as usize {
            // SAFETY: `count` elements of 48 bytes.
            unsafe {
                let element = out.cast::<u8>().add(48 * place).cast::<c_void>();
                let id = element.cast::<i32>().read();
                let field = table.get("fields").and_then(|f| f.get(id.to_string()));
                let own = field.and_then(Value::as_table);
                let code = own.and_then(|own| whole(own, "error"));
                match (field, code) {
                    (None, _) => put(element, 4, NOT_SUPPORTED),
                    (_, Some(code)) => put(element, 4, code as i32),
                    (Some(field), None) => put_field(element, own, field),
                }
            }
        }
        Ok(())
    };
    answer(run())
}

/// A number of a table, whole or not.
fn number(table: &Table, key: &str) -> Option<f64> {
    let value = table.get(key)?;
    value
        .as_float()
        .or_else(|| Some(value.as_integer()? as f64))
}

unsafe fn put_field(element: *mut c_void, own: Option<&Table>, field: &Value) {
    let kind = own.and_then(|own| whole(own, "type")).unwrap_or(2) as i32;
    let value = own.and_then(|own| number(own, "value"));
    let whole = own.map_or_else(|| field.as_integer(), |own| whole(own, "value"));
    // SAFETY: an element of 48 bytes.
    unsafe {
        put(element, 4, 0_i32);
        match kind {
            0 => put(element, 8, value.unwrap_or_default()),
            // What lies behind a short value means nothing.
            1 | 4 => {
                put(element, 8, u64::MAX);
                put(element, 8, whole.unwrap_or_default() as i32);
            }
            _ => put(element, 8, whole.unwrap_or_default()),
        }
        put(element, 16, kind);
    }
}

/// Fills a list of rows; `rows` writes one.
unsafe fn list(
    call: &str,
    count: *mut u32,
    out: *mut c_void,
    handle: i32,
    size: usize,
    row: impl Fn(*mut c_void, &Table),
) -> Result<(), i32> {
    let table = device(call, handle)?;
    let rows = table.get("process").and_then(Value::as_array).cloned();
    let rows = rows.ok_or(NOT_SUPPORTED)?;
    // SAFETY: the caller's number, and as many elements as it says.
    unsafe {
        let room = count.read() as usize;
        count.write(rows.len() as u32);
        if rows.len() > room {
            return Err(NO_SPACE);
        }
        for (place, table) in rows.iter().enumerate() {
            let element = out.cast::<u8>().add(size * place).cast::<c_void>();
            check_version(element)?;
            row(element, table.as_table().unwrap_or(&Table::new()));
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetProcessInfo(
    count: *mut u32,
    out: *mut c_void,
    handle: i32,
) -> i32 {
    // SAFETY: the caller's list.
    let done = unsafe {
        list("processes", count, out, handle, 24, |row, table| {
            put(row, 4, whole(table, "pid").unwrap_or(0) as u32);
            put(row, 8, whole(table, "memory").unwrap_or(0));
        })
    };
    answer(done)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetProcessUtilization(
    count: *mut u32,
    out: *mut c_void,
    handle: i32,
) -> i32 {
    // SAFETY: the caller's list.
    let done = unsafe {
        list("process_use", count, out, handle, 28, |row, table| {
            put(row, 4, whole(table, "pid").unwrap_or(0) as u32);
            put(row, 8, whole(table, "ipu").unwrap_or(0) as u32);
        })
    };
    answer(done)
}

#[unsafe(no_mangle)]
pub extern "C" fn cndevGetMLULinkPortNumber(handle: i32) -> i32 {
    let ports = device("ports", handle).map(|table| whole(&table, "ports").unwrap_or(0));
    ports.map_or(0, |ports| ports as i32)
}

/// What `port_up`, `port_rx` and so on say for each port.
fn port_value(call: &str, handle: i32, port: i32, key: &str) -> Result<i64, i32> {
    const INVALID_LINK: i32 = 11;
    let table = device(call, handle)?;
    let values = table
        .get(key)
        .and_then(Value::as_array)
        .ok_or(NOT_SUPPORTED)?;
    let value = values.get(port as usize).and_then(Value::as_integer);
    value.ok_or(INVALID_LINK)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetMLULinkStatus(out: *mut c_void, handle: i32, port: i32) -> i32 {
    let run = || {
        let up = port_value("port_status", handle, port, "port_up")?;
        // SAFETY: 12 bytes, the version first.
        unsafe {
            check_version(out)?;
            put(out, 4, up as i32);
        }
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetMLULinkBasicCounter(
    out: *mut c_void,
    handle: i32,
    port: i32,
) -> i32 {
    let run = || {
        let rx = port_value("port_bytes", handle, port, "port_rx")?;
        let tx = port_value("port_bytes", handle, port, "port_tx")?;
        // SAFETY: 256 bytes.
        unsafe {
            put(out, 0, rx);
            put(out, 16, tx);
        }
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cndevGetMLULinkErrorCounter(
    out: *mut c_void,
    handle: i32,
    port: i32,
) -> i32 {
    let run = || {
        let errors = port_value("port_errors", handle, port, "port_bad")?;
        // SAFETY: 128 bytes; bad packets received.
        unsafe { put(out, 16, errors) };
        Ok(())
    };
    answer(run())
}
