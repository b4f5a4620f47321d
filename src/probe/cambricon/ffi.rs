//! CNDEV's calls as safe functions: each returns its structure or a [`Fault`]. All `unsafe` of the Cambricon probe is
//! here. Layouts, argument order and codes are those of `cndev.h` (Cambricon/mlu-exporter, API versions 5 and 6): the
//! structure comes first, the handle last, and a structure that begins with a version must have it before the call.
#![allow(unsafe_code)]

use super::fault::{API_VERSION, Fault, NO_SPACE};
use crate::probe::dynamic::Dynamic;
use crate::probe::twofold::NotOpened;
use crate::probe::vendor::VendorOptions;
use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::sync::Arc;

/// The library's name for loaders.
pub(super) const NAME: &str = "libcndev.so";
/// Where Cambricon's packages and images put it.
const DIRECTORIES: &[&str] = &[
    "usr/local/neuware/lib64",
    "usr/local/neuware/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
];

/// The versions of the interface, the newest first.
const VERSIONS: [i32; 2] = [6, 5];

/// A structure of whole numbers, for which all zeros are a value.
pub(super) trait Layout: Copy {}

/// One that begins with the interface's version.
pub(super) trait Versioned: Layout {
    /// Sets it.
    fn set_version(&mut self, version: i32);
}

/// Defines structures with the size and the places that the header gives them, checked when this is compiled.
macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident $size:literal { $($field:ident: $type:ty = $offset:literal,)* })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $name { $(pub(super) $field: $type,)* }
        const _: () = {
            assert!(size_of::<$name>() == $size);
            $(assert!(offset_of!($name, $field) == $offset);)*
        };
        impl Layout for $name {}
    )* };
}

macro_rules! versioned {
    ($($name:ident)*) => { $(
        impl Versioned for $name {
            fn set_version(&mut self, version: i32) {
                self.version = version;
            }
        }
    )* };
}

layouts! {
    Count 8 { version: i32 = 0, number: u32 = 4, }
    /// The text has no end mark.
    Uuid 56 { version: i32 = 0, uuid: [u8; 37] = 4, ncs: u64 = 48, }
    CardSn 24 { version: i32 = 0, sn: u64 = 8, mother_board: u64 = 16, }
    Relation 8 { version: i32 = 0, relation: i32 = 4, }
    /// Watts.
    Power 84 { usage: i32 = 0, cap: i32 = 4, machine: i32 = 8, tdp: i32 = 12, max: i32 = 16, rest: [i32; 16] = 20, }
    /// Watts, of libraries without [`Power`].
    OldPower 28 { version: i32 = 0, usage: i32 = 4, cap: i32 = 8, usage_decimal: i32 = 12, machine: i32 = 16,
        cap_decimal: i32 = 20, tdp: u16 = 24, }
    /// Watts.
    Limit 8 { version: i32 = 0, limit: u16 = 4, decimal: u16 = 6, }
    /// Watts.
    LimitRange 12 { version: i32 = 0, min: u16 = 4, min_decimal: u16 = 6, max: u16 = 8, max_decimal: u16 = 10, }
    /// °C.
    Temperature 148 { version: i32 = 0, board: i32 = 4, cluster: [i32; 20] = 8, memory_die: [i32; 8] = 88, chip: i32 = 120,
        air_in: i32 = 124, air_out: i32 = 128, memory: i32 = 132, rest: [i32; 3] = 136, }
    /// Percent.
    Utilization 328 { version: i32 = 0, average: i32 = 4, core: [i32; 80] = 8, }
    /// MiB.
    Memory 176 { total: i64 = 0, used: i64 = 8, reserved: i64 = 16, virtual_total: i64 = 24, virtual_used: i64 = 32,
        rest: [i64; 17] = 40, }
    /// MiB, of libraries without [`Memory`].
    OldMemory 208 { version: i32 = 0, total: i64 = 8, used: i64 = 16, rest: [i64; 23] = 24, }
    /// MHz; `ddr` is the memory's transfer rate.
    Frequency 68 { version: i32 = 0, board: i32 = 4, ddr: i32 = 8, flags: [u8; 2] = 12, clusters: u16 = 14,
        cluster: [u16; 20] = 16, default: i32 = 56, min: i32 = 60, max: i32 = 64, }
    /// Each 0 or 1: by TDP, by a set cap, by a set maximum clock, by a lock, power brake, heat.
    Throttle 28 { version: i32 = 0, reasons: [i32; 6] = 4, }
    /// `kind` says what `value` is.
    Field 48 { id: i32 = 0, code: i32 = 4, value: u64 = 8, kind: i32 = 16, latency: i64 = 24, timestamp: i64 = 32,
        scope: u32 = 40, }
    Link 12 { version: i32 = 0, generation: i32 = 4, width: i32 = 8, }
    Pci 64 { subsystem: u32 = 0, device_id: u32 = 4, vendor: u16 = 8, subvendor: u16 = 10, domain: u32 = 12, bus: u32 = 16,
        device: u32 = 20, function: u32 = 24, module: u16 = 28, slot: u16 = 30, rest: [u32; 8] = 32, }
    /// Of libraries without [`Pci`].
    OldPci 48 { version: i32 = 0, subsystem: u32 = 4, device_id: u32 = 8, vendor: u16 = 12, subvendor: u16 = 14,
        domain: u32 = 16, bus: u32 = 20, device: u32 = 24, function: u32 = 28, physical_slot: usize = 32, slot: i32 = 40, }
    /// Bytes, in the past 20 ms and since the driver was loaded.
    Traffic 104 { read: i64 = 0, write: i64 = 8, read_total: i64 = 16, write_total: i64 = 24, timestamp: u64 = 32,
        rest: [i64; 8] = 40, }
    /// Bytes in the past 20 ms, of libraries without [`Traffic`].
    OldTraffic 24 { version: i32 = 0, read: i64 = 8, write: i64 = 16, }
    Replays 8 { version: i32 = 0, counter: u32 = 4, }
    Health 16 { version: i32 = 0, health: i32 = 4, device: i32 = 8, driver: i32 = 12, }
    /// Percent; -1 without a fan.
    Fan 60 { version: i32 = 0, speed: i32 = 4, rest: [i32; 13] = 8, }
    Ecc 72 { version: i32 = 0, kinds: [u64; 4] = 8, corrected: u64 = 40, uncorrected: u64 = 48, rest: [u64; 2] = 56, }
    /// KiB.
    Process 24 { version: i32 = 0, pid: u32 = 4, physical: u64 = 8, r#virtual: u64 = 16, }
    /// Percent.
    ProcessUse 28 { version: i32 = 0, pid: u32 = 4, ipu: u32 = 8, jpu: u32 = 12, decode: u32 = 16, encode: u32 = 20,
        memory: u32 = 24, }
    DriverVersion 28 { version: i32 = 0, mcu: [u32; 3] = 4, driver: [u32; 3] = 16, }
    LibraryVersion 16 { version: i32 = 0, parts: [u32; 3] = 4, }
    LinkStatus 12 { version: i32 = 0, active: i32 = 4, serdes: i32 = 8, }
    LinkBytes 256 { rx: u64 = 0, rx_packets: u64 = 8, tx: u64 = 16, rest: [u64; 29] = 24, }
    LinkErrors 128 { corrected: u64 = 0, uncorrected: u64 = 8, rx_bad: u64 = 16, tx_bad: u64 = 24, rest: [u64; 12] = 32, }
}

versioned! {
    Count Uuid CardSn Relation OldPower Limit LimitRange Temperature Utilization OldMemory Frequency Throttle Link OldPci
    OldTraffic Replays Health Fan Ecc Process ProcessUse DriverVersion LibraryVersion LinkStatus
}

/// A structure with room behind it, for a library whose structure has grown.
#[repr(C)]
struct Roomy<T> {
    value: T,
    room: [u64; 64],
}

/// All zeros.
fn zeroed<T: Layout>() -> T {
    // SAFETY: a layout is whole numbers only.
    unsafe { std::mem::zeroed() }
}

/// A call with a structure and a handle.
pub(super) type Ask<T> = unsafe extern "C" fn(*mut T, i32) -> i32;
/// One about a port.
pub(super) type AskPort<T> = unsafe extern "C" fn(*mut T, i32, i32) -> i32;
/// One that fills a list; the number is room in, and rows out.
type AskList<T> = unsafe extern "C" fn(*mut u32, *mut T, i32) -> i32;

macro_rules! functions {
    ($($field:ident: $type:ty = $symbol:literal,)*) => {
        /// The library's functions, as far as it has them.
        pub(super) struct Functions { $(pub(super) $field: Option<$type>,)* }

        impl Functions {
            fn of(library: &mut Dynamic) -> Self {
                // SAFETY: the types are those of the header.
                Self { $($field: unsafe { library.function::<$type>($symbol) },)* }
            }
        }
    };
}

functions! {
    init: unsafe extern "C" fn(i32) -> i32 = c"cndevInit",
    release: unsafe extern "C" fn() -> i32 = c"cndevRelease",
    count: unsafe extern "C" fn(*mut Count) -> i32 = c"cndevGetDeviceCount",
    handle: unsafe extern "C" fn(i32, *mut i32) -> i32 = c"cndevGetDeviceHandleByIndex",
    name: unsafe extern "C" fn(i32) -> *const c_char = c"cndevGetCardNameStringByDevId",
    relation: unsafe extern "C" fn(*mut Relation, i32, i32) -> i32 = c"cndevTopologyGetRelationship",
    fields: unsafe extern "C" fn(i32, i32, *mut Field) -> i32 = c"cndevDeviceGetFieldValues",
    ports: unsafe extern "C" fn(i32) -> i32 = c"cndevGetMLULinkPortNumber",
    processes: AskList<Process> = c"cndevGetProcessInfo",
    process_use: AskList<ProcessUse> = c"cndevGetProcessUtilization",
    library_version: unsafe extern "C" fn(*mut LibraryVersion) -> i32 = c"cndevGetLibVersion",
    driver_version: Ask<DriverVersion> = c"cndevGetVersionInfo",
    uuid: Ask<Uuid> = c"cndevGetUUID",
    serial: Ask<CardSn> = c"cndevGetCardSN",
    pci: Ask<Pci> = c"cndevGetPCIeInfoV2",
    old_pci: Ask<OldPci> = c"cndevGetPCIeInfo",
    power: Ask<Power> = c"cndevGetDevicePowerInfo",
    old_power: Ask<OldPower> = c"cndevGetPowerInfo",
    limit_default: Ask<Limit> = c"cndevGetPowerManagementDefaultLimitation",
    limit_range: Ask<LimitRange> = c"cndevGetPowerManagementLimitationRange",
    temperature: Ask<Temperature> = c"cndevGetTemperatureInfo",
    utilization: Ask<Utilization> = c"cndevGetDeviceUtilizationInfo",
    memory: Ask<Memory> = c"cndevGetMemoryUsageV2",
    old_memory: Ask<OldMemory> = c"cndevGetMemoryUsage",
    frequency: Ask<Frequency> = c"cndevGetFrequencyInfo",
    throttle: Ask<Throttle> = c"cndevGetPerformanceThrottleReason",
    link: Ask<Link> = c"cndevGetCurrentPCIInfo",
    link_max: Ask<Link> = c"cndevGetMaxPCIInfo",
    traffic: Ask<Traffic> = c"cndevGetPCIethroughputV2",
    old_traffic: Ask<OldTraffic> = c"cndevGetPCIethroughput",
    replays: Ask<Replays> = c"cndevGetPcieReplayCounter",
    health: Ask<Health> = c"cndevGetCardHealthState",
    fan: Ask<Fan> = c"cndevGetFanSpeedInfo",
    ecc: Ask<Ecc> = c"cndevGetECCInfo",
    port_status: AskPort<LinkStatus> = c"cndevGetMLULinkStatus",
    port_bytes: AskPort<LinkBytes> = c"cndevGetMLULinkBasicCounter",
    port_errors: AskPort<LinkErrors> = c"cndevGetMLULinkErrorCounter",
}

/// The library, initialised; released when the last who may have a call under way lets go of it.
pub(super) struct Library {
    /// Its functions.
    pub(super) functions: Functions,
    /// Its file, where the system tells.
    pub(super) path: Option<Arc<str>>,
    _dynamic: Dynamic,
}

fn check(code: i32) -> Result<(), Fault> {
    match code {
        0 => Ok(()),
        code => Err(Fault::Code(code)),
    }
}

/// A structure as the library fills it.
fn filled<T: Layout>(value: T, call: impl FnOnce(*mut T) -> i32) -> Result<T, Fault> {
    let mut roomy = Roomy {
        value,
        room: [0; 64],
    };
    check(call((&raw mut roomy).cast()))?;
    Ok(roomy.value)
}

/// The same with each version that the library may know.
fn versioned<T: Versioned>(mut call: impl FnMut(*mut T) -> i32) -> Result<T, Fault> {
    let mut refused = Err(Fault::Code(API_VERSION));
    for version in VERSIONS {
        let mut blank: T = zeroed();
        blank.set_version(version);
        refused = filled(blank, &mut call);
        if !matches!(refused, Err(Fault::Code(API_VERSION))) {
            break;
        }
    }
    refused
}

impl Library {
    /// Loads and initialises it.
    pub(super) fn open(options: &VendorOptions) -> Result<Self, NotOpened<Fault>> {
        let mut dynamic =
            Dynamic::open(options, NAME, DIRECTORIES).map_err(NotOpened::NotLoaded)?;
        let functions = Functions::of(&mut dynamic);
        let path = dynamic.path.clone();
        let init = functions.init.ok_or(Fault::Missing).and_then(|init| {
            // SAFETY: the header's signature; the argument is reserved and 0.
            check(unsafe { init(0) })
        });
        match init {
            Ok(()) => Ok(Self {
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
        // SAFETY: the pointer is to a live structure with room behind it.
        versioned(|out| unsafe { count(out) }).map(|out: Count| out.number)
    }

    /// The handle of a position of the list; libraries without handles take the position.
    pub(super) fn handle(&self, index: i32) -> Result<i32, Fault> {
        let Some(handle) = self.functions.handle else {
            return Ok(index);
        };
        let mut out = 0;
        // SAFETY: the pointer is to a live number.
        check(unsafe { handle(index, &raw mut out) })?;
        Ok(out)
    }

    /// The name of a device.
    pub(super) fn name(&self, handle: i32) -> Result<String, Fault> {
        let name = self.functions.name.ok_or(Fault::Missing)?;
        // SAFETY: the header's signature.
        let text = unsafe { name(handle) };
        if text.is_null() {
            return Err(Fault::Code(super::fault::UNKNOWN));
        }
        // SAFETY: not null, and the library's own text, which ends and stays.
        Ok(unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned())
    }

    /// The library's own version.
    pub(super) fn library_version(&self) -> Result<[u32; 3], Fault> {
        let version = self.functions.library_version.ok_or(Fault::Missing)?;
        // SAFETY: the pointer is to a live structure with room behind it.
        versioned(|out| unsafe { version(out) }).map(|out: LibraryVersion| out.parts)
    }

    /// How two devices are connected: 1 is on one board.
    pub(super) fn relation(&self, one: i32, other: i32) -> Result<i32, Fault> {
        let relation = self.functions.relation.ok_or(Fault::Missing)?;
        // SAFETY: the pointer is to a live structure with room behind it.
        versioned(|out| unsafe { relation(out, one, other) }).map(|out: Relation| out.relation)
    }

    /// A structure without a version.
    pub(super) fn plain<T: Layout>(
        &self,
        function: Option<Ask<T>>,
        handle: i32,
    ) -> Result<T, Fault> {
        let function = function.ok_or(Fault::Missing)?;
        // SAFETY: the pointer is to a live structure with room behind it.
        filled(zeroed(), |out| unsafe { function(out, handle) })
    }

    /// A structure with a version.
    pub(super) fn versioned<T: Versioned>(
        &self,
        function: Option<Ask<T>>,
        handle: i32,
    ) -> Result<T, Fault> {
        let function = function.ok_or(Fault::Missing)?;
        // SAFETY: as above.
        versioned(|out| unsafe { function(out, handle) })
    }

    /// How many MLU-Link ports a device has; below zero is none.
    pub(super) fn ports(&self, handle: i32) -> Result<i32, Fault> {
        let ports = self.functions.ports.ok_or(Fault::Missing)?;
        // SAFETY: the header's signature.
        Ok(unsafe { ports(handle) })
    }

    /// Whether a port is up.
    pub(super) fn port_up(&self, handle: i32, port: i32) -> Result<bool, Fault> {
        let function = self.functions.port_status.ok_or(Fault::Missing)?;
        // SAFETY: the pointer is to a live structure with room behind it.
        versioned(|out| unsafe { function(out, handle, port) })
            .map(|out: LinkStatus| out.active == 1)
    }

    /// What a port counts.
    pub(super) fn port<T: Layout>(
        &self,
        function: Option<AskPort<T>>,
        handle: i32,
        port: i32,
    ) -> Result<T, Fault> {
        let function = function.ok_or(Fault::Missing)?;
        // SAFETY: as above.
        filled(zeroed(), |out| unsafe { function(out, handle, port) })
    }

    /// Several fields in one call, each with its own code.
    pub(super) fn fields(&self, handle: i32, ids: &[i32]) -> Result<Vec<Field>, Fault> {
        let function = self.functions.fields.ok_or(Fault::Missing)?;
        let mut fields: Vec<Field> = ids
            .iter()
            .map(|id| Field {
                id: *id,
                ..zeroed()
            })
            .collect();
        let count = i32::try_from(fields.len()).unwrap_or(i32::MAX);
        // SAFETY: the array has as many elements as are named.
        check(unsafe { function(handle, count, fields.as_mut_ptr()) })?;
        Ok(fields)
    }

    /// A list, with more room as long as the library asks for it.
    pub(super) fn list<T: Versioned>(
        &self,
        function: Option<AskList<T>>,
        handle: i32,
    ) -> Result<Vec<T>, Fault> {
        /// More rows than processes could share a device.
        const MOST: u32 = 4096;
        let function = function.ok_or(Fault::Missing)?;
        let mut version = VERSIONS.into_iter();
        let mut known = version.next().unwrap_or_default();
        let mut room = 16;
        loop {
            let mut blank: T = zeroed();
            blank.set_version(known);
            let mut rows = vec![blank; room as usize];
            let mut count = room;
            // SAFETY: the array has as many elements as `count` says.
            let code = unsafe { function(&raw mut count, rows.as_mut_ptr(), handle) };
            match (check(code), version.clone().next()) {
                (Ok(()), _) => {
                    rows.truncate(count as usize);
                    return Ok(rows);
                }
                (Err(Fault::Code(NO_SPACE)), _) if room < MOST => {
                    // Between two calls more may have come.
                    room = count.clamp(room * 2, MOST);
                }
                (Err(Fault::Code(API_VERSION)), Some(older)) => {
                    known = older;
                    version.next();
                }
                (Err(fault), _) => return Err(fault),
            }
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(release) = self.functions.release {
            // SAFETY: initialised once by `open`, and nobody has a call under way: whoever has holds this.
            let _ = unsafe { release() };
        }
    }
}
