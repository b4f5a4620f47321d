//! The list of devices and what they are called.

use super::{Fault, Handle, Library, call};
use nvml_wrapper::{cuda_driver_version_major, cuda_driver_version_minor};
use nvml_wrapper_sys::bindings as sys;
use std::ffi::{c_char, c_uint};

/// Room for the longest text that the header allows, 96 bytes, and to spare.
const TEXT: usize = 128;

/// What the bus knows of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct PciInfo {
    /// As NVML writes it, `00000000:19:00.0`.
    pub(in super::super) bus_id: String,
    /// PCI vendor and device id.
    pub(in super::super) id: (u16, u16),
}

/// Texts that a device tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Label {
    Name,
    Uuid,
    Serial,
    Vbios,
    PartNumber,
}

/// The text up to its end mark; bytes that are not UTF-8 are replaced.
fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer
        .iter()
        .map(|c| c.to_ne_bytes()[0])
        .take_while(|b| *b != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Library {
    /// The driver's version.
    pub(in super::super) fn driver_version(&self) -> Result<String, Fault> {
        Ok(self.nvml.sys_driver_version()?)
    }

    /// The library's own version.
    pub(in super::super) fn library_version(&self) -> Result<String, Fault> {
        Ok(self.nvml.sys_nvml_version()?)
    }

    /// The highest CUDA version that the driver supports, major and minor.
    pub(in super::super) fn cuda_version(&self) -> Result<(i32, i32), Fault> {
        let version = self.nvml.sys_cuda_driver_version()?;
        Ok((
            cuda_driver_version_major(version),
            cuda_driver_version_minor(version),
        ))
    }

    /// How many devices the library lists.
    pub(in super::super) fn count(&self) -> Result<u32, Fault> {
        Ok(self.nvml.device_count()?)
    }

    /// The device at a position of the list.
    pub(in super::super) fn device(&self, index: u32) -> Result<Handle, Fault> {
        let device = self.nvml.device_by_index(index)?;
        // SAFETY: the handle is only used with the library that gave it, which outlives the units that hold it.
        Ok(Handle(unsafe { device.handle() }))
    }

    /// The MIG instance at a position; `NOT_FOUND` where the position is free.
    pub(in super::super) fn instance(
        &self,
        Handle(parent): Handle,
        index: u32,
    ) -> Result<Handle, Fault> {
        let mut out: sys::nvmlDevice_t = std::ptr::null_mut();
        call!(
            self,
            nvmlDeviceGetMigDeviceHandleByIndex(parent, index, &mut out)
        )?;
        Ok(Handle(out))
    }

    /// One of a device's texts.
    pub(in super::super) fn label(
        &self,
        Handle(device): Handle,
        label: Label,
    ) -> Result<String, Fault> {
        let mut buffer: [c_char; TEXT] = [0; TEXT];
        let (out, room) = (buffer.as_mut_ptr(), TEXT as c_uint);
        match label {
            Label::Name => call!(self, nvmlDeviceGetName(device, out, room)),
            Label::Uuid => call!(self, nvmlDeviceGetUUID(device, out, room)),
            Label::Serial => call!(self, nvmlDeviceGetSerial(device, out, room)),
            Label::Vbios => call!(self, nvmlDeviceGetVbiosVersion(device, out, room)),
            Label::PartNumber => call!(self, nvmlDeviceGetBoardPartNumber(device, out, room)),
        }?;
        Ok(text_of(&buffer))
    }

    /// Where the device sits on the bus.
    pub(in super::super) fn pci_info(&self, Handle(device): Handle) -> Result<PciInfo, Fault> {
        let mut info = sys::nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        call!(self, nvmlDeviceGetPciInfo_v3(device, &mut info))?;
        Ok(PciInfo {
            bus_id: text_of(&info.busId),
            id: (
                (info.pciDeviceId & 0xFFFF) as u16,
                (info.pciDeviceId >> 16) as u16,
            ),
        })
    }

    /// CUDA compute capability, major and minor.
    pub(in super::super) fn compute_capability(
        &self,
        Handle(device): Handle,
    ) -> Result<(i32, i32), Fault> {
        let (mut major, mut minor) = (0, 0);
        call!(
            self,
            nvmlDeviceGetCudaComputeCapability(device, &mut major, &mut minor)
        )?;
        Ok((major, minor))
    }
}
