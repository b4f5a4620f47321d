//! MIG: instances as handles of their own.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t, nvmlReturn_t};

use crate::out::put;
use crate::state::{INVALID_ARGUMENT, NOT_FOUND, device_call};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetMigMode", "mig_mode", |call| {
        let mode = call.int("mig_mode")?;
        put(current, mode as c_uint)?;
        put(pending, call.int("mig_pending").unwrap_or(mode) as c_uint)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMaxMigDeviceCount(
    device: nvmlDevice_t,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetMaxMigDeviceCount",
        "mig_max_count",
        |call| put(out, call.int("mig_max_count")? as c_uint),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: c_uint,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "mig_handle_by_index",
        |call| {
            if i128::from(index) >= call.int("mig_max_count")? || call.mig.is_some() {
                return Err(INVALID_ARGUMENT);
            }
            let place = index as usize;
            let unit = call.gpu.mig.get(place).ok_or(NOT_FOUND)?;
            match unit.window.is_some_and(|window| window.holds(call.t, 0)) {
                true => put(out, call.live.handle(call.gpu.index, Some(place))),
                false => Err(NOT_FOUND),
            }
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: nvmlDevice_t,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
        "mig_parent",
        |call| {
            call.mig.ok_or(INVALID_ARGUMENT)?;
            put(out, call.live.handle(call.gpu.index, None))
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceIsMigDeviceHandle(
    device: nvmlDevice_t,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceIsMigDeviceHandle",
        "is_mig_handle",
        |call| put(out, c_uint::from(call.mig.is_some())),
    )
}

macro_rules! instance_ids {
    ($($function:ident, $key:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut c_uint) -> nvmlReturn_t {
            device_call(device, stringify!($function), $key, |call| put(out, call.int($key)? as c_uint))
        }
    )*};
}

instance_ids! {
    nvmlDeviceGetGpuInstanceId, "gpu_instance_id";
    nvmlDeviceGetComputeInstanceId, "compute_instance_id";
}

macro_rules! attributes {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(device: nvmlDevice_t, out: *mut nvmlDeviceAttributes_t) -> nvmlReturn_t {
            device_call(device, stringify!($function), "attributes", |call| {
                let count = |key| call.int(key).map(|n| n as c_uint);
                put(out, nvmlDeviceAttributes_t {
                    multiprocessorCount: count("mig_sm_count")?,
                    sharedCopyEngineCount: count("mig_copy_engines")?,
                    sharedDecoderCount: count("mig_decoders")?,
                    sharedEncoderCount: count("mig_encoders")?,
                    sharedJpegCount: count("mig_jpegs")?,
                    sharedOfaCount: count("mig_ofas")?,
                    gpuInstanceSliceCount: count("mig_gpu_slices")?,
                    computeInstanceSliceCount: count("mig_compute_slices")?,
                    memorySizeMB: call.int("mig_memory_mb")? as u64,
                })
            })
        }
    )*};
}

attributes! { nvmlDeviceGetAttributes nvmlDeviceGetAttributes_v2 }
