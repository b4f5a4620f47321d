//! A fake `libhlml.so` at the C ABI. It writes by the byte offsets of `hlml.h`, not by the probe's own structures, so that
//! a mistake in those shows. Handles are pointers that mean nothing: `handle` of each device, beside what `small` reads;
//! of the library `version` and `driver_version`.
#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::missing_safety_doc,
    non_snake_case
)]

#[path = "../small/mod.rs"]
mod small;

use small::{device_call, devices, library_call, put, text, whole};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use toml::{Table, Value};

const UNINITIALIZED: i32 = 1;
const INVALID_ARGUMENT: i32 = 2;
const NOT_SUPPORTED: i32 = 3;
const ALREADY_INITIALIZED: i32 = 5;
const INSUFFICIENT_SIZE: i32 = 7;

static OPEN: AtomicBool = AtomicBool::new(false);

fn answer(result: Result<(), i32>) -> u32 {
    result.err().unwrap_or(0).cast_unsigned()
}

fn device(call: &str, handle: *mut c_void) -> Result<Table, i32> {
    if !OPEN.load(Ordering::SeqCst) {
        return Err(UNINITIALIZED);
    }
    let handle = handle.addr() as i64;
    let find = |devices: &[Table]| {
        let mut devices = devices.iter();
        devices
            .find(|device| whole(device, "handle") == Some(handle))
            .cloned()
    };
    device_call(call, find, INVALID_ARGUMENT)
}

/// Writes a text with its end mark.
unsafe fn put_text(out: *mut c_char, room: u32, text: Option<&str>) -> Result<(), i32> {
    let bytes = text.ok_or(NOT_SUPPORTED)?.as_bytes();
    if bytes.len() >= room as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    for (place, byte) in bytes.iter().chain([&0]).enumerate() {
        // SAFETY: the caller has that much room.
        unsafe { put(out.cast(), place, *byte) };
    }
    Ok(())
}

/// Writes the bytes of a text into a place of so many, without an end mark where they fill it.
unsafe fn put_bytes(out: *mut c_void, offset: usize, room: usize, text: Option<&str>) {
    for (place, byte) in text.unwrap_or_default().bytes().take(room).enumerate() {
        // SAFETY: inside of the caller's structure.
        unsafe { put(out, offset + place, byte) };
    }
}

macro_rules! numbers {
    ($($symbol:ident $key:literal $type:ty;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(handle: *mut c_void, out: *mut $type) -> u32 {
            let run = || {
                let table = device($key, handle)?;
                let value = whole(&table, $key).ok_or(NOT_SUPPORTED)?;
                // SAFETY: the caller's number.
                unsafe { out.write(value as $type) };
                Ok(())
            };
            answer(run())
        }
    )* };
}

numbers! {
    hlml_device_get_module_id "module_id" u32;
    hlml_device_get_minor_number "minor" u32;
    hlml_device_get_power_usage "power" u32;
    hlml_device_get_power_management_default_limit "limit_default" u32;
    hlml_device_get_utilization_rates "utilization" u32;
    hlml_device_get_current_clocks_throttle_reasons "reasons" u64;
    hlml_device_get_total_energy_consumption "energy" u64;
    hlml_device_get_curr_pcie_link_generation "generation" u32;
    hlml_device_get_curr_pcie_link_width "width" u32;
    hlml_device_get_pcie_replay_counter "replays" u32;
    hlml_device_get_replaced_rows_pending_status "rows_pending" u32;
}

/// A number of a list, by its kind.
unsafe fn kind_of(handle: *mut c_void, key: &str, kind: u32, out: *mut u32) -> u32 {
    let run = || {
        let table = device(key, handle)?;
        let values = table.get(key).and_then(Value::as_array);
        let value = values.and_then(|values| values.get(kind as usize)?.as_integer());
        // SAFETY: the caller's number.
        unsafe { out.write(value.ok_or(NOT_SUPPORTED)? as u32) };
        Ok(())
    };
    answer(run())
}

macro_rules! kinds {
    ($($symbol:ident $key:literal;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(handle: *mut c_void, kind: u32, out: *mut u32) -> u32 {
            // SAFETY: the caller's number.
            unsafe { kind_of(handle, $key, kind, out) }
        }
    )* };
}

kinds! {
    hlml_device_get_temperature "temperature";
    hlml_device_get_temperature_threshold "threshold";
    hlml_device_get_clock_info "clock";
    hlml_device_get_max_clock_info "clock_max";
}

macro_rules! texts {
    ($($symbol:ident $key:literal;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(handle: *mut c_void, out: *mut c_char, room: u32) -> u32 {
            let run = || {
                let table = device($key, handle)?;
                // SAFETY: the caller's room.
                unsafe { put_text(out, room, text(&table, $key)) }
            };
            answer(run())
        }
    )* };
}

texts! {
    hlml_device_get_name "name";
    hlml_device_get_uuid "uuid";
    hlml_device_get_serial "serial";
}

#[unsafe(no_mangle)]
pub extern "C" fn hlml_init() -> u32 {
    let run = || {
        library_call("init")?;
        match OPEN.swap(true, Ordering::SeqCst) {
            true => Err(ALREADY_INITIALIZED),
            false => Ok(()),
        }
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub extern "C" fn hlml_shutdown() -> u32 {
    OPEN.store(false, Ordering::SeqCst);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_get_hlml_version(out: *mut c_char, room: u32) -> u32 {
    let run = || {
        let table = library_call("version")?;
        // SAFETY: the caller's room.
        unsafe { put_text(out, room, text(&table, "version")) }
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_get_driver_version(out: *mut c_char, room: u32) -> u32 {
    let run = || {
        let table = library_call("driver_version")?;
        // SAFETY: the caller's room.
        unsafe { put_text(out, room, text(&table, "driver_version")) }
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_count(out: *mut u32) -> u32 {
    let run = || {
        library_call("count")?;
        // SAFETY: the caller's number.
        unsafe { out.write(devices().len() as u32) };
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_handle_by_index(index: u32, out: *mut *mut c_void) -> u32 {
    let run = || {
        library_call("handle")?;
        let devices = devices();
        let device = devices.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        let handle = whole(device, "handle").unwrap_or_default();
        // SAFETY: the caller's handle.
        unsafe { out.write(std::ptr::without_provenance_mut(handle as usize)) };
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_pci_info(handle: *mut c_void, out: *mut c_void) -> u32 {
    let run = || {
        let table = device("pci", handle)?;
        let id = whole(&table, "pci_id").ok_or(NOT_SUPPORTED)?;
        // SAFETY: 52 bytes.
        unsafe {
            put_bytes(out, 4, 15, text(&table, "bus_id"));
            put(out, 28, id as u32);
            put_bytes(out, 32, 10, text(&table, "link_speed"));
            put_bytes(out, 42, 10, text(&table, "link_width"));
        }
        Ok(())
    };
    answer(run())
}

/// Free, total, used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_memory_info(handle: *mut c_void, out: *mut c_void) -> u32 {
    let run = || {
        let table = device("memory", handle)?;
        let total = whole(&table, "memory_total").ok_or(NOT_SUPPORTED)?;
        let used = whole(&table, "memory_used").ok_or(NOT_SUPPORTED)?;
        // SAFETY: 24 bytes.
        unsafe {
            put(out, 0, total.wrapping_sub(used));
            put(out, 8, total);
            put(out, 16, used);
        }
        Ok(())
    };
    answer(run())
}

/// Only uncorrected errors (kind 1) are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_total_ecc_errors(
    handle: *mut c_void,
    kind: u32,
    counter: u32,
    out: *mut u64,
) -> u32 {
    let run = || {
        let table = device("ecc", handle)?;
        let values = table.get("ecc").and_then(Value::as_array);
        let value = values.filter(|_| kind == 1);
        let value = value.and_then(|values| values.get(counter as usize)?.as_integer());
        // SAFETY: the caller's number.
        unsafe { out.write(value.ok_or(NOT_SUPPORTED)? as u64) };
        Ok(())
    };
    answer(run())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hlml_device_get_replaced_rows(
    handle: *mut c_void,
    cause: u32,
    count: *mut u32,
    _addresses: *mut c_void,
) -> u32 {
    // SAFETY: the caller's number.
    unsafe { kind_of(handle, "rows", cause, count) }
}
