//! The driver's event set.

use super::{Fault, Handle, Library, call};
use nvml_wrapper_sys::bindings as sys;
use std::sync::Arc;
use std::time::Duration;

/// One event as the library gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct RawEvent {
    pub(in super::super) device: Handle,
    pub(in super::super) kind: u64,
    pub(in super::super) data: u64,
    pub(in super::super) gpu_instance: u32,
    pub(in super::super) compute_instance: u32,
}

/// A set of registrations, freed when dropped.
pub(in super::super) struct EventSet {
    library: Arc<Library>,
    raw: sys::nvmlEventSet_t,
}

// SAFETY: the set is a token of a library whose calls are thread-safe.
unsafe impl Send for EventSet {}
// SAFETY: as above.
unsafe impl Sync for EventSet {}

impl EventSet {
    pub(in super::super) fn create(library: &Arc<Library>) -> Result<Self, Fault> {
        let mut raw: sys::nvmlEventSet_t = std::ptr::null_mut();
        call!(library, nvmlEventSetCreate(&mut raw))?;
        Ok(Self {
            library: Arc::clone(library),
            raw,
        })
    }

    /// Adds a device with the given types of event.
    pub(in super::super) fn register(
        &self,
        Handle(device): Handle,
        kinds: u64,
    ) -> Result<(), Fault> {
        call!(
            self.library,
            nvmlDeviceRegisterEvents(device, kinds, self.raw)
        )
    }

    /// The next event. `TIMEOUT` where none came; it may come early.
    pub(in super::super) fn wait(&self, timeout: Duration) -> Result<RawEvent, Fault> {
        const NONE: u32 = u32::MAX;
        let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let mut data = sys::nvmlEventData_t {
            device: std::ptr::null_mut(),
            eventType: 0,
            eventData: 0,
            gpuInstanceId: NONE,
            computeInstanceId: NONE,
        };
        call!(
            self.library,
            nvmlEventSetWait_v2(self.raw, &mut data, timeout)
        )?;
        Ok(RawEvent {
            device: Handle(data.device),
            kind: data.eventType,
            data: data.eventData,
            gpu_instance: data.gpuInstanceId,
            compute_instance: data.computeInstanceId,
        })
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        let _ = call!(self.library, nvmlEventSetFree(self.raw));
    }
}
