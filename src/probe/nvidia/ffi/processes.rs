//! Process lists and their use of a device.

use super::{Fault, Handle, Library, call};
use crate::probe::nvidia::fault::{INSUFFICIENT_SIZE, NOT_FOUND};
use nvml_wrapper_sys::bindings as sys;
use std::ffi::{c_uint, c_ulonglong};

/// Rows that a list has room for at first: more processes than devices usually see.
const ROOM: usize = 128;

/// Which of a device's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ProcessList {
    Compute,
    Graphics,
    Mps,
}

/// A row of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct ProcessRow {
    pub(in super::super) pid: u32,
    /// Bytes; all ones where the driver does not know.
    pub(in super::super) memory: u64,
    pub(in super::super) gpu_instance: u32,
    pub(in super::super) compute_instance: u32,
}

/// A process's use of a device at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct UseRow {
    pub(in super::super) pid: u32,
    /// µs since 1970.
    pub(in super::super) at: u64,
    /// Percent.
    pub(in super::super) sm: u32,
}

/// Calls with a pre-sized list; where it is too small, once more with the room that the driver asks for and
/// some for newcomers.
fn sized<T: Copy>(
    empty: T,
    mut ask: impl FnMut(&mut c_uint, *mut T) -> Result<(), Fault>,
) -> Result<Vec<T>, Fault> {
    let mut rows = vec![empty; ROOM];
    let mut count = ROOM as c_uint;
    let mut done = ask(&mut count, rows.as_mut_ptr());
    if done == Err(Fault::Code(INSUFFICIENT_SIZE)) {
        let room = (count as usize).clamp(ROOM, 1 << 16) + 64;
        rows = vec![empty; room];
        count = room as c_uint;
        done = ask(&mut count, rows.as_mut_ptr());
    }
    done?;
    rows.truncate(count as usize);
    Ok(rows)
}

impl Library {
    /// One of the lists of a device or instance.
    pub(in super::super) fn processes(
        &self,
        Handle(device): Handle,
        list: ProcessList,
    ) -> Result<Vec<ProcessRow>, Fault> {
        let empty = sys::nvmlProcessInfo_t {
            pid: 0,
            usedGpuMemory: 0,
            gpuInstanceId: 0,
            computeInstanceId: 0,
        };
        let rows = sized(empty, |count, rows| match list {
            ProcessList::Compute => {
                call!(
                    self,
                    nvmlDeviceGetComputeRunningProcesses_v3(device, count, rows)
                )
            }
            ProcessList::Graphics => {
                call!(
                    self,
                    nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, rows)
                )
            }
            ProcessList::Mps => {
                call!(
                    self,
                    nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count, rows)
                )
            }
        })?;
        Ok(rows
            .into_iter()
            .map(|row| ProcessRow {
                pid: row.pid,
                memory: row.usedGpuMemory,
                gpu_instance: row.gpuInstanceId,
                compute_instance: row.computeInstanceId,
            })
            .collect())
    }

    /// What processes used of the device since an instant (µs since 1970). No row is an empty list.
    pub(in super::super) fn process_use(
        &self,
        Handle(device): Handle,
        since: u64,
    ) -> Result<Vec<UseRow>, Fault> {
        let empty = sys::nvmlProcessUtilizationSample_t {
            pid: 0,
            timeStamp: 0,
            smUtil: 0,
            memUtil: 0,
            encUtil: 0,
            decUtil: 0,
        };
        let rows = sized(empty, |count, rows| {
            call!(
                self,
                nvmlDeviceGetProcessUtilization(device, rows, count, since as c_ulonglong)
            )
        });
        match rows {
            Err(Fault::Code(NOT_FOUND)) => Ok(Vec::new()),
            rows => Ok(rows?
                .into_iter()
                .map(|row| UseRow {
                    pid: row.pid,
                    at: row.timeStamp,
                    sm: row.smUtil,
                })
                .collect()),
        }
    }
}
