//! GPM: two samples, and the metrics between them.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t, nvmlReturn_t,
};

use crate::counts;
use crate::out::{filled, put};
use crate::state::{
    Call, INVALID_ARGUMENT, Live, NOT_FOUND, SUCCESS, VERSION_MISMATCH, device_call, end_process,
    library_call,
};
use crate::unit::Unit;
use crate::value::NOT_SUPPORTED;

/// What `nvmlGpmSampleGet` leaves in a sample.
#[derive(Clone, Copy, Default)]
struct Sample {
    /// Device, MIG instance and second.
    taken: Option<(usize, Option<usize>, f64)>,
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmQueryDeviceSupport(
    device: nvmlDevice_t,
    out: *mut nvmlGpmSupport_t,
) -> nvmlReturn_t {
    device_call(device, "nvmlGpmQueryDeviceSupport", "gpm_support", |call| {
        let support = filled(out)?;
        if support.version != 1 {
            return Err(VERSION_MISMATCH);
        }
        support.isSupportedDevice = call.int("gpm_support")? as c_uint;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmQueryIfStreamingEnabled(
    device: nvmlDevice_t,
    out: *mut c_uint,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlGpmQueryIfStreamingEnabled",
        "gpm_streaming",
        |call| put(out, call.int("gpm_streaming")? as c_uint),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmSampleAlloc(out: *mut nvmlGpmSample_t) -> nvmlReturn_t {
    library_call("nvmlGpmSampleAlloc", "gpm_sample_alloc", |_, _| {
        if out.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        put(out, Box::into_raw(Box::<Sample>::default()).cast())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> nvmlReturn_t {
    let _flight = counts::enter("nvmlGpmSampleFree");
    if sample.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: made by nvmlGpmSampleAlloc, and the caller frees it once.
    drop(unsafe { Box::from_raw(sample.cast::<Sample>()) });
    SUCCESS
}

/// Real drivers have died of GPM calls for several devices at once.
fn check_alone(live: &Live) {
    if live.scenario.gpm_parallel_crash && counts::gpm_in_flight() > 1 {
        counts::flush();
        end_process("segv");
    }
}

fn take(call: &Call, mig: Option<usize>, out: nvmlGpmSample_t) -> Result<(), u32> {
    check_alone(call.live);
    if call.int("gpm_support").unwrap_or(0) == 0 {
        return Err(NOT_SUPPORTED);
    }
    filled(out.cast::<Sample>())?.taken = Some((call.gpu.index, mig, call.t));
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> nvmlReturn_t {
    device_call(device, "nvmlGpmSampleGet", "gpm_sample_get", |call| {
        take(call, call.mig, sample)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmMigSampleGet(
    device: nvmlDevice_t,
    gpu_instance: c_uint,
    sample: nvmlGpmSample_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlGpmMigSampleGet",
        "gpm_mig_sample_get",
        |call| {
            let mig =
                call.gpu.mig.iter().position(|mig| {
                    mig.int("gpu_instance_id", call.t) == Ok(i128::from(gpu_instance))
                });
            take(call, Some(mig.ok_or(NOT_FOUND)?), sample)
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmMetricsGet(out: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t {
    library_call("nvmlGpmMetricsGet", "gpm_metrics_get", |live, _| {
        check_alone(live);
        let get = filled(out)?;
        if get.version != 1 {
            return Err(VERSION_MISMATCH);
        }
        let (one, two) = (
            filled(get.sample1.cast::<Sample>())?,
            filled(get.sample2.cast::<Sample>())?,
        );
        let (Some((device, mig, _)), Some((other, other_mig, t))) = (one.taken, two.taken) else {
            return Err(INVALID_ARGUMENT);
        };
        if (device, mig) != (other, other_mig) {
            return Err(INVALID_ARGUMENT);
        }
        let gpu = &live.scenario.devices[device];
        let unit = mig.and_then(|mig| gpu.mig.get(mig)).unwrap_or(gpu);
        let metrics = get
            .metrics
            .get_mut(..get.numMetrics as usize)
            .ok_or(INVALID_ARGUMENT)?;
        for metric in metrics {
            match value(unit, metric.metricId, t) {
                Ok(value) => (metric.nvmlReturn, metric.value) = (SUCCESS, value),
                Err(code) => metric.nvmlReturn = code,
            }
        }
        Ok(())
    })
}

/// A metric at the second sample.
fn value(unit: &Unit, id: u32, t: f64) -> Result<f64, u32> {
    unit.gpm
        .get(&id)
        .ok_or(NOT_SUPPORTED)
        .and_then(|value| value.number(unit.at(t)))
}
