//! GPM: metrics between two samples of a device.

use super::{Fault, Handle, Library, call};
use nvml_wrapper_sys::bindings as sys;
use std::sync::Arc;

/// One sample, freed when dropped.
pub(in super::super) struct GpmSample {
    library: Arc<Library>,
    raw: sys::nvmlGpmSample_t,
}

// SAFETY: the buffer is owned, and used by one call at a time.
unsafe impl Send for GpmSample {}

impl GpmSample {
    /// Takes a sample of a device, or of one instance (`Some(gpu_instance)`) through its parent.
    pub(in super::super) fn take(
        library: &Arc<Library>,
        Handle(device): Handle,
        instance: Option<u32>,
    ) -> Result<Self, Fault> {
        let mut raw: sys::nvmlGpmSample_t = std::ptr::null_mut();
        call!(library, nvmlGpmSampleAlloc(&mut raw))?;
        let sample = Self {
            library: Arc::clone(library),
            raw,
        };
        match instance {
            None => call!(library, nvmlGpmSampleGet(device, sample.raw)),
            Some(instance) => call!(library, nvmlGpmMigSampleGet(device, instance, sample.raw)),
        }?;
        Ok(sample)
    }

    /// The metrics between an earlier sample and this one, in the order of `ids`.
    pub(in super::super) fn since<const N: usize>(
        &self,
        earlier: &Self,
        ids: [u32; N],
    ) -> Result<[Result<f64, Fault>; N], Fault> {
        const { assert!(N <= 210, "the structure has room for 210 metrics") };
        // SAFETY: the structure holds plain numbers and pointers, for which all zeroes is a value. It is boxed
        // because it takes 8 KiB.
        let mut request: Box<sys::nvmlGpmMetricsGet_t> = Box::new(unsafe { std::mem::zeroed() });
        request.version = 1;
        request.numMetrics = N as u32;
        request.sample1 = earlier.raw;
        request.sample2 = self.raw;
        for (metric, id) in request.metrics.iter_mut().zip(ids) {
            metric.metricId = id;
        }
        call!(self.library, nvmlGpmMetricsGet(&mut *request))?;
        let mut answers = [Err(Fault::Missing); N];
        for (answer, metric) in answers.iter_mut().zip(&request.metrics) {
            *answer = match metric.nvmlReturn {
                0 => Ok(metric.value),
                code => Err(Fault::Code(code)),
            };
        }
        Ok(answers)
    }
}

impl Drop for GpmSample {
    fn drop(&mut self) {
        let _ = call!(self.library, nvmlGpmSampleFree(self.raw));
    }
}

impl Library {
    /// Whether the device has GPM at all.
    pub(in super::super) fn gpm_support(&self, Handle(device): Handle) -> Result<bool, Fault> {
        let mut out = sys::nvmlGpmSupport_t {
            version: 1,
            isSupportedDevice: 0,
        };
        call!(self, nvmlGpmQueryDeviceSupport(device, &mut out))?;
        Ok(out.isSupportedDevice != 0)
    }
}
