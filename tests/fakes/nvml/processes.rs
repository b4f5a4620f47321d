//! Processes, and their shares.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t,
    nvmlProcessUtilizationInfo_v1_t, nvmlProcessUtilizationSample_t,
    nvmlProcessesUtilizationInfo_t, nvmlProcessesUtilizationInfo_v1_t, nvmlReturn_t,
};

use crate::fields::unix_us;
use crate::out::{check_version, filled, slice};
use crate::state::{Call, INSUFFICIENT_SIZE, NOT_FOUND, device_call};
use crate::unit::Process;
use crate::value::NOT_SUPPORTED;

/// `NVML_VALUE_NOT_AVAILABLE` as memory, and "no instance" as id.
const NO_MEMORY: u64 = u64::MAX;
const NO_INSTANCE: u32 = u32::MAX;

/// A row of a process list, whatever its layout.
struct Row {
    pid: u32,
    memory: u64,
    gi: u32,
    ci: u32,
}

fn rows(call: &Call, kind: &str) -> Result<Vec<Row>, u32> {
    let row = |process: &Process| Row {
        pid: process.pid,
        memory: process
            .value("memory", call.at())
            .map_or(NO_MEMORY, |bytes| bytes as u64),
        gi: process
            .value("gi", call.at())
            .map_or(NO_INSTANCE, |gi| gi as u32),
        ci: process
            .value("ci", call.at())
            .map_or(NO_INSTANCE, |ci| ci as u32),
    };
    let own = call.unit.process_lists(call.t)?;
    let mut rows: Vec<Row> = own.filter(|p| p.kind == kind).map(row).collect();
    // The parent's list names the processes of its instances too.
    if call.mig.is_none() {
        for mig in &call.gpu.mig {
            let inside = mig.process_lists(call.t).into_iter().flatten();
            rows.extend(inside.filter(|p| p.kind == kind).map(row));
        }
    }
    Ok(rows)
}

fn list<T>(
    call: &Call,
    kind: &str,
    count: *mut c_uint,
    infos: *mut T,
    info: fn(Row) -> T,
) -> Result<(), u32> {
    let rows = rows(call, kind)?;
    let count = filled(count)?;
    let room = std::mem::replace(count, rows.len() as c_uint) as usize;
    if room < rows.len() {
        return Err(INSUFFICIENT_SIZE);
    }
    for (out, row) in slice(infos, rows.len())?.iter_mut().zip(rows) {
        *out = info(row);
    }
    Ok(())
}

fn info_v1(row: Row) -> nvmlProcessInfo_v1_t {
    nvmlProcessInfo_v1_t {
        pid: row.pid,
        usedGpuMemory: row.memory,
    }
}

fn info_v2(row: Row) -> nvmlProcessInfo_v2_t {
    nvmlProcessInfo_v2_t {
        pid: row.pid,
        usedGpuMemory: row.memory,
        gpuInstanceId: row.gi,
        computeInstanceId: row.ci,
    }
}

macro_rules! process_lists {
    ($($function:ident, $call:literal, $kind:literal, $type:ty, $info:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, count: *mut c_uint, infos: *mut $type) -> nvmlReturn_t {
            device_call(device, stringify!($function), $call, |call| list(call, $kind, count, infos, $info))
        }
    )*};
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses, "compute_processes", "compute", nvmlProcessInfo_v1_t, info_v1;
    nvmlDeviceGetComputeRunningProcesses_v2, "compute_processes", "compute", nvmlProcessInfo_v2_t, info_v2;
    nvmlDeviceGetComputeRunningProcesses_v3, "compute_processes", "compute", nvmlProcessInfo_t, info_v2;
    nvmlDeviceGetGraphicsRunningProcesses, "graphics_processes", "graphics", nvmlProcessInfo_v1_t, info_v1;
    nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics_processes", "graphics", nvmlProcessInfo_v2_t, info_v2;
    nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes", "graphics", nvmlProcessInfo_t, info_v2;
    nvmlDeviceGetMPSComputeRunningProcesses, "mps_processes", "mps", nvmlProcessInfo_v1_t, info_v1;
    nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps_processes", "mps", nvmlProcessInfo_v2_t, info_v2;
    nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps_processes", "mps", nvmlProcessInfo_t, info_v2;
}

/// Rows of the utilisation buffer younger than `last_seen`. Not supported under MIG.
fn shares(call: &Call, last_seen: u64) -> Result<Vec<nvmlProcessUtilizationInfo_v1_t>, u32> {
    if call.int("mig_mode") == Ok(1) || call.mig.is_some() {
        return Err(NOT_SUPPORTED);
    }
    let now = unix_us() as u64;
    let listed = call.unit.process_lists(call.t)?;
    let row = |process: &Process| {
        let share = |key| process.value(key, call.at()).unwrap_or(0) as c_uint;
        let age = process.value("age", call.at()).unwrap_or(0) as u64;
        nvmlProcessUtilizationInfo_v1_t {
            timeStamp: now.saturating_sub(age * 1_000_000),
            pid: process.pid,
            smUtil: share("sm"),
            memUtil: share("mem"),
            encUtil: share("enc"),
            decUtil: share("dec"),
            jpgUtil: share("jpg"),
            ofaUtil: share("ofa"),
        }
    };
    let active = listed.filter(|process| process.values.contains_key("sm"));
    let samples = call.unit.process_samples.iter();
    let samples = samples.filter(|process| process.window.holds(call.t, 0));
    let rows: Vec<_> = active
        .chain(samples)
        .map(row)
        .filter(|row| row.timeStamp > last_seen)
        .collect();
    match rows.is_empty() {
        true => Err(NOT_FOUND),
        false => Ok(rows),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    samples: *mut nvmlProcessUtilizationSample_t,
    count: *mut c_uint,
    last_seen: c_ulonglong,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetProcessUtilization",
        "process_utilization",
        |call| {
            let rows = shares(call, last_seen)?;
            let count = filled(count)?;
            let room = std::mem::replace(count, rows.len() as c_uint) as usize;
            if samples.is_null() || room < rows.len() {
                return Err(INSUFFICIENT_SIZE);
            }
            for (out, row) in slice(samples, rows.len())?.iter_mut().zip(rows) {
                *out = nvmlProcessUtilizationSample_t {
                    pid: row.pid,
                    timeStamp: row.timeStamp,
                    smUtil: row.smUtil,
                    memUtil: row.memUtil,
                    encUtil: row.encUtil,
                    decUtil: row.decUtil,
                };
            }
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetProcessesUtilizationInfo(
    device: nvmlDevice_t,
    out: *mut nvmlProcessesUtilizationInfo_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetProcessesUtilizationInfo",
        "processes_utilization_info",
        |call| {
            let info = filled(out)?;
            check_version::<nvmlProcessesUtilizationInfo_v1_t>(info.version, 1)?;
            let rows = shares(call, info.lastSeenTimeStamp)?;
            let room = std::mem::replace(&mut info.processSamplesCount, rows.len() as c_uint);
            if info.procUtilArray.is_null() || (room as usize) < rows.len() {
                return Err(INSUFFICIENT_SIZE);
            }
            slice(info.procUtilArray, rows.len())?.copy_from_slice(&rows);
            Ok(())
        },
    )
}
