//! The structures of `dcmi_interface_api.h`, as C lays them out.

use std::ffi::{c_int, c_uint, c_ulong};

/// `dcmi_chip_info_v2`; the older structure ends before `npu_name`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChipInfo {
    pub(super) kind: [u8; 32],
    pub(super) name: [u8; 32],
    pub(super) version: [u8; 32],
    pub(super) aicores: c_uint,
    pub(super) npu_name: [u8; 32],
}

/// `dcmi_pcie_info_all`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PcieInfo {
    pub(super) vendor: c_uint,
    pub(super) subvendor: c_uint,
    pub(super) device: c_uint,
    pub(super) subdevice: c_uint,
    pub(super) domain: c_int,
    pub(super) bus: c_uint,
    pub(super) slot: c_uint,
    pub(super) function: c_uint,
    pub(super) reserved: [u8; 32],
}

/// `dcmi_pcie_info`, of older drivers: another order, and no domain.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PcieInfoV1 {
    pub(super) device: c_uint,
    pub(super) vendor: c_uint,
    pub(super) subvendor: c_uint,
    pub(super) subdevice: c_uint,
    pub(super) slot: c_uint,
    pub(super) bus: c_uint,
    pub(super) function: c_uint,
}

/// `dcmi_multi_utilization_info`, in percent.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MultiUtilization {
    pub(super) aic: c_uint,
    pub(super) vector: c_uint,
    pub(super) aicore: c_uint,
    pub(super) npu: c_uint,
    pub(super) reserved: [c_uint; 8],
}

/// `dcmi_hbm_info`: sizes in MiB (the driver divides its KiB by 1024), MHz, degrees, percent.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HbmInfo {
    pub(super) size: u64,
    pub(super) frequency: c_uint,
    pub(super) used: u64,
    pub(super) temperature: c_int,
    pub(super) bandwidth: c_uint,
}

/// `dcmi_get_memory_info_stru`, third version: DDR, sizes in MiB.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryInfo {
    pub(super) size: u64,
    pub(super) available: u64,
    pub(super) frequency: c_uint,
    pub(super) huge_page_size: c_ulong,
    pub(super) huge_pages: c_ulong,
    pub(super) huge_pages_free: c_ulong,
    pub(super) used_percent: c_uint,
    pub(super) reserved: [u8; 60],
}

/// `dcmi_ecc_info` with room for the two fields that some drivers add.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EccInfo {
    pub(super) enabled: c_int,
    /// Since the driver was started.
    pub(super) single: c_uint,
    pub(super) double: c_uint,
    pub(super) single_ever: c_uint,
    pub(super) double_ever: c_uint,
    pub(super) single_pages: c_uint,
    pub(super) double_pages: c_uint,
    pub(super) room: [c_uint; 9],
}

/// `dcmi_proc_mem_info`: a process of the host, and bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessMemory {
    pub(super) pid: c_int,
    pub(super) bytes: c_ulong,
}

/// `dcmi_pcie_link_bandwidth_info`: least, most and mean of each, in megabytes per millisecond; the latency in nanoseconds.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PcieBandwidth {
    /// In: how long is measured, in milliseconds. The call blocks for as long.
    pub(super) profiling_time: c_int,
    pub(super) tx_p: [c_uint; 3],
    pub(super) tx_np: [c_uint; 3],
    pub(super) tx_cpl: [c_uint; 3],
    pub(super) tx_np_latency: [c_uint; 3],
    pub(super) rx_p: [c_uint; 3],
    pub(super) rx_np: [c_uint; 3],
    pub(super) rx_cpl: [c_uint; 3],
}

/// `dcmi_die_id`.
pub(super) type Die = [c_uint; 5];
/// The buffer of `dcmi_get_device_info`.
pub(super) type Info = [u64; 8];

const _: () = {
    assert!(size_of::<ChipInfo>() == 132);
    assert!(size_of::<PcieInfo>() == 64);
    assert!(size_of::<PcieInfoV1>() == 28);
    assert!(size_of::<MultiUtilization>() == 48);
    assert!(size_of::<HbmInfo>() == 32);
    assert!(size_of::<MemoryInfo>() == 112);
    assert!(size_of::<EccInfo>() == 64);
    assert!(size_of::<ProcessMemory>() == 16);
    assert!(size_of::<PcieBandwidth>() == 88);
    assert!(std::mem::offset_of!(PcieBandwidth, rx_cpl) == 76);
    assert!(size_of::<Die>() == 20);
};

impl Default for MemoryInfo {
    fn default() -> Self {
        Self {
            size: 0,
            available: 0,
            frequency: 0,
            huge_page_size: 0,
            huge_pages: 0,
            huge_pages_free: 0,
            used_percent: 0,
            reserved: [0; 60],
        }
    }
}
