//! The library's calls as safe functions: each returns its value or a [`Fault`]. All `unsafe` of the NVIDIA
//! probe is here and in the modules below.
//!
//! Loading, initialising, versions and the list of devices go through `nvml-wrapper`. The readings go through the
//! symbols of the same library (`Nvml::lib`): the wrapper zeroes the scope of fields, drops bits, value types and
//! event types that it does not know, takes no name that is not UTF-8, and lacks calls.
#![allow(unsafe_code)]

mod events;
mod fields;
mod gpm;
mod identity;
mod processes;

pub(super) use events::{EventSet, RawEvent};
pub(super) use fields::{FieldNumber, FieldQuery};
pub(super) use gpm::GpmSample;
pub(super) use identity::Label;
pub(super) use processes::{ProcessList, ProcessRow, UseRow};

use super::fault::{Fault, INSUFFICIENT_SIZE};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::NvmlLib;
use std::ffi::{OsStr, OsString, c_uint};
use std::sync::Arc;

/// A device or instance of the library. It stays valid until the library is shut down or the instance removed;
/// the library answers a dead one with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle(sys::nvmlDevice_t);

// SAFETY: a handle is a token that only the library looks behind, and NVML's calls are thread-safe.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A loaded library, which need not be initialised. It holds the file in memory over every opening: the wrapper lets
/// go of it at each shutdown and each failed start, and some libraries cannot be unloaded.
pub(super) struct Table {
    functions: NvmlLib,
    name: OsString,
}

// SAFETY: the table holds function pointers of a library whose calls are thread-safe.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The library, initialised. The wrapper shuts it down when this is dropped; whoever has a call under way holds it
/// (every unit does), so nothing is shut down behind a call that hangs.
pub(super) struct Library {
    nvml: Nvml,
    _table: Arc<Table>,
}

/// One call through the wrapper's symbols; a missing symbol or a code other than 0 is a fault.
macro_rules! call {
    ($library:expr, $symbol:ident ( $($argument:expr),* $(,)? )) => {
        match $library.nvml.lib().$symbol.as_ref() {
            // SAFETY: the signature is the header's; every pointer passed is to a live value of its type.
            Ok(function) => $crate::probe::nvidia::ffi::check(unsafe { function($($argument),*) }),
            Err(_) => Err($crate::probe::nvidia::fault::Fault::Missing),
        }
    };
}
use call;

fn check(code: sys::nvmlReturn_t) -> Result<(), Fault> {
    match code {
        0 => Ok(()),
        code => Err(Fault::Code(code)),
    }
}

/// A structure's version word: its size and the version's number.
const fn version_of<T>(version: u32) -> u32 {
    (size_of::<T>() as u32) | (version << 24)
}

/// Defines the calls with a device and one number out, by name.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $symbol:ident $(else $older:ident)? ($($argument:expr),*);)*) => {
        /// The calls that give one whole number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Getter { $($(#[$doc])* $name,)* }

        impl Getter {
            /// How many there are.
            pub(super) const COUNT: usize = [$(Self::$name,)*].len();
        }

        impl Library {
            /// Asks one number of a device, in NVML's own unit.
            pub(super) fn get(&self, Handle(device): Handle, getter: Getter) -> Result<u64, Fault> {
                match getter {
                    $(Getter::$name => {
                        let mut out: $type = 0;
                        let done = call!(self, $symbol(device $(, $argument)*, &mut out));
                        $(let done = match done {
                            Err(fault) if fault.lasting() => call!(self, $older(device, &mut out)),
                            done => done,
                        };)?
                        done.map(|()| u64::from(out))
                    })*
                }
            }
        }
    };
}

const SM: sys::nvmlClockType_t = 1;
const MEMORY: sys::nvmlClockType_t = 2;
const CORRECTED: sys::nvmlMemoryErrorType_t = 0;
const UNCORRECTED: sys::nvmlMemoryErrorType_t = 1;
const VOLATILE: sys::nvmlEccCounterType_t = 0;

getters! {
    PowerUsage: u32 = nvmlDeviceGetPowerUsage();
    LimitEnforced: u32 = nvmlDeviceGetEnforcedPowerLimit();
    LimitRequested: u32 = nvmlDeviceGetPowerManagementLimit();
    LimitDefault: u32 = nvmlDeviceGetPowerManagementDefaultLimit();
    Energy: u64 = nvmlDeviceGetTotalEnergyConsumption();
    ThresholdShutdown: u32 = nvmlDeviceGetTemperatureThreshold(0);
    ThresholdSlowdown: u32 = nvmlDeviceGetTemperatureThreshold(1);
    ThresholdMemoryMax: u32 = nvmlDeviceGetTemperatureThreshold(2);
    ThresholdGpuMax: u32 = nvmlDeviceGetTemperatureThreshold(3);
    SmClock: u32 = nvmlDeviceGetClockInfo(SM);
    MemoryClock: u32 = nvmlDeviceGetClockInfo(MEMORY);
    SmClockMax: u32 = nvmlDeviceGetMaxClockInfo(SM);
    MemoryClockMax: u32 = nvmlDeviceGetMaxClockInfo(MEMORY);
    /// Application clocks are set for the graphics domain, which the SMs follow.
    ApplicationClock: u32 = nvmlDeviceGetApplicationsClock(0);
    ApplicationMemoryClock: u32 = nvmlDeviceGetApplicationsClock(MEMORY);
    PerformanceState: u32 = nvmlDeviceGetPerformanceState();
    Reasons: u64 = nvmlDeviceGetCurrentClocksEventReasons else nvmlDeviceGetCurrentClocksThrottleReasons();
    ReasonsSupported: u64 = nvmlDeviceGetSupportedClocksEventReasons else nvmlDeviceGetSupportedClocksThrottleReasons();
    EccCorrected: u64 = nvmlDeviceGetTotalEccErrors(CORRECTED, VOLATILE);
    EccUncorrected: u64 = nvmlDeviceGetTotalEccErrors(UNCORRECTED, VOLATILE);
    PcieGeneration: u32 = nvmlDeviceGetCurrPcieLinkGeneration();
    PcieWidth: u32 = nvmlDeviceGetCurrPcieLinkWidth();
    PcieGenerationMax: u32 = nvmlDeviceGetMaxPcieLinkGeneration();
    PcieWidthMax: u32 = nvmlDeviceGetMaxPcieLinkWidth();
    PcieGenerationDevice: u32 = nvmlDeviceGetGpuMaxPcieLinkGeneration();
    PcieReplays: u32 = nvmlDeviceGetPcieReplayCounter();
    /// Device to host over 20 ms, in KB/s; blocks as long.
    PcieTxKilobytes: u32 = nvmlDeviceGetPcieThroughput(0);
    /// Host to device, likewise.
    PcieRxKilobytes: u32 = nvmlDeviceGetPcieThroughput(1);
    RetiredPending: u32 = nvmlDeviceGetRetiredPagesPendingStatus();
    Persistence: u32 = nvmlDeviceGetPersistenceMode();
    Fan: u32 = nvmlDeviceGetFanSpeed();
    Architecture: u32 = nvmlDeviceGetArchitecture();
    Virtualization: u32 = nvmlDeviceGetVirtualizationMode();
    BoardNumber: u32 = nvmlDeviceGetBoardId();
    MultiGpuBoard: u32 = nvmlDeviceGetMultiGpuBoard();
    MigDevicesMax: u32 = nvmlDeviceGetMaxMigDeviceCount();
    GpuInstance: u32 = nvmlDeviceGetGpuInstanceId();
    ComputeInstance: u32 = nvmlDeviceGetComputeInstanceId();
    EventTypes: u64 = nvmlDeviceGetSupportedEventTypes();
}

/// Device memory in bytes. `reserved` only where the driver tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) total: u64,
    pub(super) used: u64,
    pub(super) reserved: Option<u64>,
}

impl Table {
    /// Loads a library, by name through the system's loader or by path, without initialising it.
    ///
    /// # Errors
    /// The loader's words.
    pub(super) fn load(name: &OsStr) -> Result<Self, String> {
        // SAFETY: the caller names a management library; running its initialisers is what was asked for.
        let loaded = unsafe { NvmlLib::new(name) };
        let functions = loaded.map_err(|error| error.to_string())?;
        Ok(Self {
            functions,
            name: name.to_owned(),
        })
    }

    /// The address of one of its functions, to find its file among the mappings.
    pub(super) fn address(&self) -> Option<usize> {
        let init = self.functions.nvmlInit_v2.as_ref().ok()?;
        Some(*init as usize)
    }
}

impl Library {
    /// Initialises a loaded library.
    pub(super) fn init(table: Arc<Table>) -> Result<Self, Fault> {
        let nvml = Nvml::builder().lib_path(&table.name).init()?;
        Ok(Self {
            nvml,
            _table: table,
        })
    }

    /// Core temperature in °C, signed where the driver can.
    pub(super) fn temperature(&self, Handle(device): Handle) -> Result<i32, Fault> {
        let mut info = sys::nvmlTemperature_t {
            version: version_of::<sys::nvmlTemperature_t>(1),
            sensorType: 0,
            temperature: 0,
        };
        match call!(self, nvmlDeviceGetTemperatureV(device, &mut info)) {
            Ok(()) => return Ok(info.temperature),
            Err(fault) if fault.lasting() => {}
            Err(fault) => return Err(fault),
        }
        let mut out: c_uint = 0;
        call!(self, nvmlDeviceGetTemperature(device, 0, &mut out))?;
        Ok(out.cast_signed())
    }

    /// Degrees to the nearest slowdown threshold.
    pub(super) fn margin(&self, Handle(device): Handle) -> Result<i32, Fault> {
        let mut info = sys::nvmlMarginTemperature_t {
            version: version_of::<sys::nvmlMarginTemperature_t>(1),
            marginTemperature: 0,
        };
        call!(self, nvmlDeviceGetMarginTemperature(device, &mut info))?;
        Ok(info.marginTemperature)
    }

    /// Lowest and highest limit that can be set, mW.
    pub(super) fn limit_range(&self, Handle(device): Handle) -> Result<(u32, u32), Fault> {
        let (mut low, mut high) = (0, 0);
        call!(
            self,
            nvmlDeviceGetPowerManagementLimitConstraints(device, &mut low, &mut high)
        )?;
        Ok((low, high))
    }

    /// Percent of the last period with a kernel resident, and with memory traffic.
    pub(super) fn utilization(&self, Handle(device): Handle) -> Result<(u32, u32), Fault> {
        let mut out = sys::nvmlUtilization_t { gpu: 0, memory: 0 };
        call!(self, nvmlDeviceGetUtilizationRates(device, &mut out))?;
        Ok((out.gpu, out.memory))
    }

    /// Device memory; the older call where the driver lacks the newer one.
    pub(super) fn memory(&self, Handle(device): Handle) -> Result<Memory, Fault> {
        let mut new = sys::nvmlMemory_v2_t {
            version: version_of::<sys::nvmlMemory_v2_t>(2),
            total: 0,
            reserved: 0,
            free: 0,
            used: 0,
        };
        match call!(self, nvmlDeviceGetMemoryInfo_v2(device, &mut new)) {
            Ok(()) => {
                return Ok(Memory {
                    total: new.total,
                    used: new.used,
                    reserved: Some(new.reserved),
                });
            }
            Err(fault) if fault.lasting() => {}
            Err(fault) => return Err(fault),
        }
        let mut old = sys::nvmlMemory_t {
            total: 0,
            free: 0,
            used: 0,
        };
        call!(self, nvmlDeviceGetMemoryInfo(device, &mut old))?;
        Ok(Memory {
            total: old.total,
            used: old.used,
            reserved: None,
        })
    }

    /// BAR1 in use and in all, bytes.
    pub(super) fn bar1(&self, Handle(device): Handle) -> Result<(u64, u64), Fault> {
        let mut out = sys::nvmlBAR1Memory_t {
            bar1Total: 0,
            bar1Free: 0,
            bar1Used: 0,
        };
        call!(self, nvmlDeviceGetBAR1MemoryInfo(device, &mut out))?;
        Ok((out.bar1Used, out.bar1Total))
    }

    /// Whether MIG is on now.
    pub(super) fn mig_mode(&self, Handle(device): Handle) -> Result<bool, Fault> {
        let (mut current, mut pending) = (0, 0);
        call!(
            self,
            nvmlDeviceGetMigMode(device, &mut current, &mut pending)
        )?;
        Ok(current == 1)
    }

    /// Whether ECC is on now.
    pub(super) fn ecc_mode(&self, Handle(device): Handle) -> Result<bool, Fault> {
        let (mut current, mut pending) = (0, 0);
        call!(
            self,
            nvmlDeviceGetEccMode(device, &mut current, &mut pending)
        )?;
        Ok(current == 1)
    }

    /// Whether the C2C link to the CPU is in use.
    pub(super) fn c2c_mode(&self, Handle(device): Handle) -> Result<bool, Fault> {
        let mut out = sys::nvmlC2cModeInfo_v1_t { isC2cEnabled: 0 };
        call!(self, nvmlDeviceGetC2cModeInfoV(device, &mut out))?;
        Ok(out.isC2cEnabled == 1)
    }

    /// Time in ns that a performance policy held the clocks down, since the driver was loaded.
    pub(super) fn violation(&self, Handle(device): Handle, policy: u32) -> Result<u64, Fault> {
        let mut out = sys::nvmlViolationTime_t {
            referenceTime: 0,
            violationTime: 0,
        };
        call!(self, nvmlDeviceGetViolationStatus(device, policy, &mut out))?;
        Ok(out.violationTime)
    }

    /// Whether an NVLink is up.
    pub(super) fn link_up(&self, Handle(device): Handle, link: u32) -> Result<bool, Fault> {
        let mut out = 0;
        call!(self, nvmlDeviceGetNvLinkState(device, link, &mut out))?;
        Ok(out == 1)
    }

    /// How many pages were retired for a cause: 0 several single-bit errors, 1 a double-bit error.
    pub(super) fn retired_pages(&self, Handle(device): Handle, cause: u32) -> Result<u64, Fault> {
        let mut count = 0;
        // Without room for addresses it tells their number only.
        match call!(
            self,
            nvmlDeviceGetRetiredPages(device, cause, &mut count, std::ptr::null_mut())
        ) {
            Ok(()) | Err(Fault::Code(INSUFFICIENT_SIZE)) => Ok(count.into()),
            Err(fault) => Err(fault),
        }
    }

    /// One of a link's error counters: 0 replay, 1 recovery, 2 CRC of flits, 3 CRC of data.
    pub(super) fn link_errors(
        &self,
        Handle(device): Handle,
        link: u32,
        counter: u32,
    ) -> Result<u64, Fault> {
        let mut out = 0;
        call!(
            self,
            nvmlDeviceGetNvLinkErrorCounter(device, link, counter, &mut out)
        )?;
        Ok(out)
    }

    /// Rows remapped (correctable, uncorrectable), pending and failed.
    pub(super) fn remapped_rows(&self, Handle(device): Handle) -> Result<[u32; 4], Fault> {
        let [mut correctable, mut uncorrectable, mut pending, mut failed] = [0; 4];
        call!(
            self,
            nvmlDeviceGetRemappedRows(
                device,
                &mut correctable,
                &mut uncorrectable,
                &mut pending,
                &mut failed
            )
        )?;
        Ok([correctable, uncorrectable, pending, failed])
    }
}
