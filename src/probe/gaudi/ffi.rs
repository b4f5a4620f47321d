//! HLML's calls as safe functions: each returns its value or a [`Fault`]. All `unsafe` of the Gaudi probe is here.
//! Layouts and codes are those of `hlml.h` (HabanaAI/gohlml).
#![allow(unsafe_code)]

use super::fault::{ALREADY_INITIALIZED, Fault};
use crate::probe::dynamic::Dynamic;
use crate::probe::twofold::NotOpened;
use crate::probe::vendor::VendorOptions;
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::sync::Arc;

/// The library's name for loaders.
pub(super) const NAME: &str = "libhlml.so";
/// Intel's packages put it where no loader looks.
const DIRECTORIES: &[&str] = &[
    "usr/lib/habanalabs",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
    "usr/lib",
];

/// A device of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle(*mut c_void);

// SAFETY: a handle is a token that only the library looks behind.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Bytes. Unlike NVML, what is free stands first.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) free: u64,
    pub(super) total: u64,
    pub(super) used: u64,
}
const _: () = assert!(size_of::<Memory>() == 24 && offset_of!(Memory, total) == 8);

/// Where a device is on the bus; the texts may fill their places.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PciInfo {
    bus: u32,
    pub(super) bus_id: [u8; 15],
    device: u32,
    domain: u32,
    /// Device id above, vendor id below.
    pub(super) id: u32,
    pub(super) link_speed: [u8; 10],
    link_width: [u8; 10],
}
const _: () = {
    assert!(size_of::<PciInfo>() == 52);
    assert!(offset_of!(PciInfo, bus_id) == 4 && offset_of!(PciInfo, device) == 20);
    assert!(offset_of!(PciInfo, id) == 28 && offset_of!(PciInfo, link_speed) == 32);
};

/// A call with a device and one number out.
type Ask<T> = unsafe extern "C" fn(*mut c_void, *mut T) -> u32;
/// One with a kind before the number.
type AskKind<T> = unsafe extern "C" fn(*mut c_void, u32, *mut T) -> u32;
/// A text of a device.
type AskText = unsafe extern "C" fn(*mut c_void, *mut c_char, u32) -> u32;
/// A text of the library.
type Text = unsafe extern "C" fn(*mut c_char, u32) -> u32;

macro_rules! functions {
    ($($field:ident: $type:ty = $symbol:literal,)*) => {
        /// The library's functions, as far as it has them.
        struct Functions { $($field: Option<$type>,)* }

        impl Functions {
            fn of(library: &mut Dynamic) -> Self {
                // SAFETY: the types are those of the header.
                Self { $($field: unsafe { library.function::<$type>($symbol) },)* }
            }
        }
    };
}

functions! {
    // Not hlml_init_with_flags, which turns the library's logging on.
    init: unsafe extern "C" fn() -> u32 = c"hlml_init",
    shutdown: unsafe extern "C" fn() -> u32 = c"hlml_shutdown",
    count: unsafe extern "C" fn(*mut u32) -> u32 = c"hlml_device_get_count",
    handle: unsafe extern "C" fn(u32, *mut *mut c_void) -> u32 = c"hlml_device_get_handle_by_index",
    version: Text = c"hlml_get_hlml_version",
    driver: Text = c"hlml_get_driver_version",
    name: AskText = c"hlml_device_get_name",
    uuid: AskText = c"hlml_device_get_uuid",
    serial: AskText = c"hlml_device_get_serial",
    pci_info: Ask<PciInfo> = c"hlml_device_get_pci_info",
    module_id: Ask<u32> = c"hlml_device_get_module_id",
    minor: Ask<u32> = c"hlml_device_get_minor_number",
    power: Ask<u32> = c"hlml_device_get_power_usage",
    limit_default: Ask<u32> = c"hlml_device_get_power_management_default_limit",
    temperature: AskKind<u32> = c"hlml_device_get_temperature",
    threshold: AskKind<u32> = c"hlml_device_get_temperature_threshold",
    utilization: Ask<u32> = c"hlml_device_get_utilization_rates",
    memory: Ask<Memory> = c"hlml_device_get_memory_info",
    clock: AskKind<u32> = c"hlml_device_get_clock_info",
    clock_max: AskKind<u32> = c"hlml_device_get_max_clock_info",
    reasons: Ask<u64> = c"hlml_device_get_current_clocks_throttle_reasons",
    energy: Ask<u64> = c"hlml_device_get_total_energy_consumption",
    generation: Ask<u32> = c"hlml_device_get_curr_pcie_link_generation",
    width: Ask<u32> = c"hlml_device_get_curr_pcie_link_width",
    replays: Ask<u32> = c"hlml_device_get_pcie_replay_counter",
    ecc: unsafe extern "C" fn(*mut c_void, u32, u32, *mut u64) -> u32 = c"hlml_device_get_total_ecc_errors",
    rows: unsafe extern "C" fn(*mut c_void, u32, *mut u32, *mut c_void) -> u32 = c"hlml_device_get_replaced_rows",
    rows_pending: Ask<u32> = c"hlml_device_get_replaced_rows_pending_status",
}

/// Texts of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Name,
    Uuid,
    Serial,
}

/// The calls that give one whole number, in the library's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Getter {
    ModuleId,
    /// N of `/dev/accel/accelN`.
    Minor,
    /// mW.
    Power,
    /// mW.
    LimitDefault,
    /// °C of the chip.
    Temperature,
    /// °C: 0 shut-down, 1 slow-down, 2 memory's maximum, 3 the chip's maximum.
    Threshold(u32),
    /// Percent of the past second.
    Utilization,
    /// MHz of the SoC, the only clock since Gaudi.
    Clock,
    ClockMax,
    /// Bit 0 power, bit 1 heat.
    Reasons,
    /// mJ.
    Energy,
    /// Only root is told.
    Generation,
    Width,
    Replays,
    /// Uncorrected, since the driver was loaded.
    EccUncorrected,
    /// 0 several single-bit errors, 1 a double-bit error.
    Rows(u32),
    RowsPending,
}

/// The library, initialised; shut down when the last who may have a call under way lets go of it.
pub(super) struct Library {
    functions: Functions,
    /// Its file, where the system tells.
    pub(super) path: Option<Arc<str>>,
    _dynamic: Dynamic,
}

fn check(code: u32) -> Result<(), Fault> {
    match code {
        0 => Ok(()),
        code => Err(Fault::Code(code)),
    }
}

/// The text up to its end mark, or to the end of its place; bytes that are not UTF-8 are replaced.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// A text that the library writes.
fn written(call: impl FnOnce(*mut c_char, u32) -> u32) -> Result<String, Fault> {
    let mut room = [0_u8; 256];
    check(call(room.as_mut_ptr().cast(), 255))?;
    Ok(text_of(&room))
}

impl Library {
    /// Loads and initialises it.
    pub(super) fn open(options: &VendorOptions) -> Result<Self, NotOpened<Fault>> {
        let mut dynamic =
            Dynamic::open(options, NAME, DIRECTORIES).map_err(NotOpened::NotLoaded)?;
        let functions = Functions::of(&mut dynamic);
        let path = dynamic.path.clone();
        // SAFETY: the header's signature.
        let init = functions.init.map(|init| check(unsafe { init() }));
        match init.unwrap_or(Err(Fault::Missing)) {
            Ok(()) | Err(Fault::Code(ALREADY_INITIALIZED)) => Ok(Self {
                functions,
                path,
                _dynamic: dynamic,
            }),
            Err(fault) => Err(NotOpened::Refused(fault, path)),
        }
    }

    /// How many devices it lists.
    pub(super) fn count(&self) -> Result<u32, Fault> {
        let count = self.functions.count.ok_or(Fault::Missing)?;
        let mut out = 0;
        // SAFETY: the pointer is to a live number.
        check(unsafe { count(&raw mut out) })?;
        Ok(out)
    }

    /// The device at a position of the list.
    pub(super) fn handle(&self, index: u32) -> Result<Handle, Fault> {
        let handle = self.functions.handle.ok_or(Fault::Missing)?;
        let mut out = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check(unsafe { handle(index, &raw mut out) })?;
        Ok(Handle(out))
    }

    /// The library's version.
    pub(super) fn version(&self) -> Result<String, Fault> {
        let version = self.functions.version.ok_or(Fault::Missing)?;
        // SAFETY: the room is as large as is said.
        written(|out, room| unsafe { version(out, room) })
    }

    /// The driver's version.
    pub(super) fn driver(&self) -> Result<String, Fault> {
        let driver = self.functions.driver.ok_or(Fault::Missing)?;
        // SAFETY: as above.
        written(|out, room| unsafe { driver(out, room) })
    }

    /// One of a device's texts.
    pub(super) fn label(&self, Handle(device): Handle, label: Label) -> Result<String, Fault> {
        let functions = &self.functions;
        let function = match label {
            Label::Name => functions.name,
            Label::Uuid => functions.uuid,
            Label::Serial => functions.serial,
        };
        let function = function.ok_or(Fault::Missing)?;
        // SAFETY: the room is as large as is said.
        written(|out, room| unsafe { function(device, out, room) })
    }

    fn ask<T: Default>(&self, function: Option<Ask<T>>, device: Handle) -> Result<T, Fault> {
        let function = function.ok_or(Fault::Missing)?;
        let mut out = T::default();
        // SAFETY: the pointer is to a live value of the call's type.
        check(unsafe { function(device.0, &raw mut out) })?;
        Ok(out)
    }

    fn ask_kind(
        &self,
        function: Option<AskKind<u32>>,
        device: Handle,
        kind: u32,
    ) -> Result<u64, Fault> {
        let function = function.ok_or(Fault::Missing)?;
        let mut out = 0;
        // SAFETY: as above.
        check(unsafe { function(device.0, kind, &raw mut out) })?;
        Ok(out.into())
    }

    /// Where a device is on the bus.
    pub(super) fn pci_info(&self, device: Handle) -> Result<PciInfo, Fault> {
        self.ask(self.functions.pci_info, device)
    }

    /// Device memory.
    pub(super) fn memory(&self, device: Handle) -> Result<Memory, Fault> {
        self.ask(self.functions.memory, device)
    }

    /// One number of a device.
    pub(super) fn get(&self, device: Handle, getter: Getter) -> Result<u64, Fault> {
        const SOC: u32 = 0;
        const ON_CHIP: u32 = 0;
        let f = &self.functions;
        let narrow = |function| self.ask(function, device).map(u64::from);
        match getter {
            Getter::ModuleId => narrow(f.module_id),
            Getter::Minor => narrow(f.minor),
            Getter::Power => narrow(f.power),
            Getter::LimitDefault => narrow(f.limit_default),
            Getter::Temperature => self.ask_kind(f.temperature, device, ON_CHIP),
            Getter::Threshold(which) => self.ask_kind(f.threshold, device, which),
            Getter::Utilization => narrow(f.utilization),
            Getter::Clock => self.ask_kind(f.clock, device, SOC),
            Getter::ClockMax => self.ask_kind(f.clock_max, device, SOC),
            Getter::Reasons => self.ask(f.reasons, device),
            Getter::Energy => self.ask(f.energy, device),
            Getter::Generation => narrow(f.generation),
            Getter::Width => narrow(f.width),
            Getter::Replays => narrow(f.replays),
            Getter::EccUncorrected => self.ecc(device),
            Getter::Rows(cause) => self.rows(device, cause),
            Getter::RowsPending => narrow(f.rows_pending),
        }
    }

    fn ecc(&self, Handle(device): Handle) -> Result<u64, Fault> {
        const UNCORRECTED: u32 = 1;
        const VOLATILE: u32 = 0;
        let ecc = self.functions.ecc.ok_or(Fault::Missing)?;
        let mut out = 0;
        // SAFETY: the pointer is to a live number.
        check(unsafe { ecc(device, UNCORRECTED, VOLATILE, &raw mut out) })?;
        Ok(out)
    }

    fn rows(&self, Handle(device): Handle, cause: u32) -> Result<u64, Fault> {
        let rows = self.functions.rows.ok_or(Fault::Missing)?;
        let mut out = 0;
        // SAFETY: the pointer is to a live number; without room for addresses it tells their number only.
        check(unsafe { rows(device, cause, &raw mut out, std::ptr::null_mut()) })?;
        Ok(out.into())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(shutdown) = self.functions.shutdown {
            // SAFETY: initialised by `open`, and nobody has a call under way: whoever has holds this.
            let _ = unsafe { shutdown() };
        }
    }
}
