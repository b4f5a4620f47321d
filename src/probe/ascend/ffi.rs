//! libdcmi's calls as safe functions: each returns its value or a [`Fault`]. All `unsafe` of the Ascend probe is here.
//!
//! Layouts and signatures are those of `dcmi_interface_api.h` (hicann/driver), checked by compiling against it on x86-64
//! Linux. Every symbol is looked up on its own: they come and go between driver generations. One library has the calls of
//! both generations, by card and chip (`dcmi_*`) and by device (`dcmiv2_*`, Ascend 950), whatever the hardware: which of
//! them work, only `dcmi_init` tells.
#![allow(unsafe_code)]

use super::fault::{Fault, NOT_SUPPORTED, check};
use super::gate::Gate;
use super::layout::{
    ChipInfo, Die, EccInfo, HbmInfo, Info, MemoryInfo, MultiUtilization, PcieBandwidth, PcieInfo,
    PcieInfoV1, ProcessMemory,
};
use crate::probe::dynamic::{Dynamic, NotLoaded};
use crate::probe::vendor::VendorOptions;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// As the loader knows it.
pub(super) const NAME: &str = "libdcmi.so";
/// Where drivers and container runtimes put it.
pub(super) const DIRECTORIES: &[&str] = &[
    "usr/local/Ascend/driver/lib64/driver",
    "usr/local/dcmi",
    "usr/local/Ascend/driver/lib64",
];

/// The most cards there are. A list with less room is refused, not cut.
const CARDS: usize = 64;
/// The most processes that one device lists.
const PROCESSES: usize = 32;
/// The most error codes that one device has.
const CODES: usize = 128;

/// Where a device is: by card and chip, or by the newer generation's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Chip { card: c_int, chip: c_int },
    Device(c_int),
}

/// A card's id with the places of its chips.
pub(super) type Card = (c_int, Result<Vec<Place>, Fault>);

/// What a chip is, in the driver's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chip {
    /// `910B3`.
    pub(super) name: String,
    pub(super) version: String,
    /// `Ascend910_9391`; empty with older drivers.
    pub(super) npu_name: String,
    pub(super) aicores: u32,
}

/// Commands of `dcmi_get_device_info`: the module "low power".
const LOW_POWER: c_int = 8;

/// Defines the calls about one device: by card and chip (with an older name of the same layout where there is one), and by
/// the newer generation's number where it has such a call. Pointers are passed as references, which are the same to C.
macro_rules! device_calls {
    ($($name:ident($($arg:ident: $type:ty),*) = $first:literal $(else $older:literal)? $(, $second:literal)?;)*) => {
        /// What the library has of them.
        // SAFETY: types only; `load` says why they are the right ones.
        struct DeviceCalls {
            $($name: (
                Option<unsafe extern "C" fn(c_int, c_int $(, $type)*) -> c_int>,
                Option<unsafe extern "C" fn(c_int $(, $type)*) -> c_int>,
            ),)*
        }

        impl DeviceCalls {
            fn load(library: &mut Dynamic) -> Self {
                Self {$(
                    // SAFETY: the types are those of the header.
                    $name: unsafe { (
                        library.function($first)$(.or_else(|| library.function($older)))?,
                        None$(.or_else(|| library.function($second)))?,
                    ) },
                )*}
            }
        }

        impl Dcmi {
            $(fn $name(&self, place: Place $(, $arg: $type)*) -> Result<(), Fault> {
                let _turn = self.gate.enter().ok_or(Fault::Busy)?;
                match place {
                    Place::Chip { card, chip } => {
                        let call = self.device.$name.0.ok_or(Fault::Missing)?;
                        // SAFETY: the signature is the header's; every pointer is to a live value of its type and size.
                        check(unsafe { call(card, chip $(, $arg)*) })
                    }
                    Place::Device(device) => {
                        let call = self.device.$name.1.ok_or(Fault::Missing)?;
                        // SAFETY: as above.
                        check(unsafe { call(device $(, $arg)*) })
                    }
                }
            })*
        }
    };
}

device_calls! {
    get_type(out: &mut c_int) = c"dcmi_get_device_type", c"dcmiv2_get_device_type";
    get_chip_info(out: &mut ChipInfo) = c"dcmi_get_device_chip_info_v2", c"dcmiv2_get_device_chip_info";
    get_chip_info_v1(out: &mut ChipInfo) = c"dcmi_get_device_chip_info";
    get_pcie_info(out: &mut PcieInfo) = c"dcmi_get_device_pcie_info_v2", c"dcmiv2_get_device_pcie_info";
    get_pcie_info_v1(out: &mut PcieInfoV1) = c"dcmi_get_device_pcie_info";
    get_die(kind: c_int, out: &mut Die) = c"dcmi_get_device_die_v2", c"dcmiv2_get_device_die_id";
    get_power(out: &mut c_int) = c"dcmi_get_device_power_info", c"dcmiv2_get_device_power_info";
    get_temperature(out: &mut c_int) = c"dcmi_get_device_temperature", c"dcmiv2_get_device_temperature";
    get_utilization(kind: c_int, out: &mut c_uint) =
        c"dcmi_get_device_utilization_rate", c"dcmiv2_get_device_utilization_rate";
    get_multi_utilization(out: &mut MultiUtilization) =
        c"dcmi_get_device_multi_utilization_rate", c"dcmiv2_get_device_multi_utilization_rate";
    get_hbm(out: &mut HbmInfo) = c"dcmi_get_device_hbm_info" else c"dcmi_get_hbm_info", c"dcmiv2_get_device_hbm_info";
    get_memory(out: &mut MemoryInfo) = c"dcmi_get_device_memory_info_v3";
    get_frequency(kind: c_int, out: &mut c_uint) = c"dcmi_get_device_frequency", c"dcmiv2_get_device_frequency";
    get_info(module: c_int, command: c_uint, out: &mut Info, size: &mut c_uint) =
        c"dcmi_get_device_info", c"dcmiv2_get_device_info";
    get_health(out: &mut c_uint) = c"dcmi_get_device_health", c"dcmiv2_get_device_health";
    get_ecc(kind: c_int, out: &mut EccInfo) = c"dcmi_get_device_ecc_info", c"dcmiv2_get_device_ecc_info";
    get_processes(out: &mut [ProcessMemory; PROCESSES], count: &mut c_int) =
        c"dcmi_get_device_resource_info", c"dcmiv2_get_device_proc_mem_info";
    get_codes(count: &mut c_int, out: &mut [c_uint; CODES], room: c_uint) =
        c"dcmi_get_device_errorcode_v2", c"dcmiv2_get_device_error_code_list";
    get_pcie_bandwidth(out: &mut PcieBandwidth) = c"dcmi_get_pcie_link_bandwidth_info";
    get_code_text(code: c_uint, out: &mut [u8; 256], room: c_int) =
        c"dcmi_get_device_errorcode_string", c"dcmiv2_get_device_error_info";
}

/// Defines the calls about the library, a card or a number.
macro_rules! plain_calls {
    ($($name:ident($($arg:ident: $type:ty),*) = $first:literal $(else $older:literal)?;)*) => {
        /// What the library has of them.
        // SAFETY: types only; `load` says why they are the right ones.
        struct PlainCalls { $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)* }

        impl PlainCalls {
            fn load(library: &mut Dynamic) -> Self {
                Self {$(
                    // SAFETY: the types are those of the header.
                    $name: unsafe { library.function($first)$(.or_else(|| library.function($older)))? },
                )*}
            }
        }

        impl Dcmi {
            $(fn $name(&self $(, $arg: $type)*) -> Result<(), Fault> {
                let _turn = self.gate.enter().ok_or(Fault::Busy)?;
                let call = self.plain.$name.ok_or(Fault::Missing)?;
                // SAFETY: the signature is the header's; every pointer is to a live value of its type and size.
                check(unsafe { call($($arg),*) })
            })*
        }
    };
}

plain_calls! {
    init_v1() = c"dcmi_init";
    init_v2() = c"dcmiv2_init";
    // The two lists have their first two arguments the other way round.
    list_cards(count: &mut c_int, list: &mut [c_int; CARDS], room: c_int) =
        c"dcmi_get_card_list" else c"dcmi_get_card_num_list";
    list_devices(list: &mut [c_int; CARDS], count: &mut c_int, room: c_int) = c"dcmiv2_get_device_list";
    count_chips(card: c_int, chips: &mut c_int, mcu: &mut c_int, cpu: &mut c_int) = c"dcmi_get_device_id_in_card";
    // Older, and with the management controller.
    count_devices(card: c_int, out: &mut c_int) = c"dcmi_get_device_num_in_card";
    logic_id_v1(out: &mut c_int, card: c_int, chip: c_int) = c"dcmi_get_device_logic_id";
    physical_id_v1(logic: c_uint, out: &mut c_uint) = c"dcmi_get_device_phyid_from_logicid";
    physical_id_v2(device: c_int, out: &mut c_uint) = c"dcmiv2_get_chip_phy_id_by_dev_id";
    driver_version_v1(out: &mut [u8; 64], room: c_uint) = c"dcmi_get_driver_version";
    driver_version_v2(out: &mut [u8; 64], room: c_uint) = c"dcmiv2_get_driver_version";
    version_v1(out: &mut [u8; 64], room: c_uint) = c"dcmi_get_dcmi_version";
    version_v2(out: &mut [u8; 64], room: c_uint) = c"dcmiv2_get_dcmi_version";
    get_card_power(card: c_int, out: &mut c_int) = c"dcmi_mcu_get_power_info";
}

/// The loaded library. It is never unloaded, and has no call that shuts it down.
pub(super) struct Dcmi {
    device: DeviceCalls,
    plain: PlainCalls,
    gate: Gate,
    /// The newer generation's calls are those that work.
    by_device: AtomicBool,
    /// Its file, where the system tells.
    pub(super) path: Option<Arc<str>>,
}

/// The text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default());
    crate::text::clean(&text).trim().to_owned()
}

/// The first `count` of a list; a count that cannot be is a fault.
fn listed<T: Copy>(list: &[T], count: c_int) -> Result<Vec<T>, Fault> {
    let part = usize::try_from(count).ok().and_then(|n| list.get(..n));
    part.map(<[T]>::to_vec).ok_or(Fault::Count(count))
}

impl Dcmi {
    /// Loads the library; nothing is initialised.
    ///
    /// # Errors
    /// None can be loaded.
    pub(super) fn load(options: &VendorOptions) -> Result<Self, NotLoaded> {
        let mut library = Dynamic::open(options, NAME, DIRECTORIES)?;
        Ok(Self {
            device: DeviceCalls::load(&mut library),
            plain: PlainCalls::load(&mut library),
            gate: Gate::default(),
            by_device: AtomicBool::new(false),
            path: library.path.clone(),
        })
    }

    /// Initialises it, and finds out which generation's calls work: `dcmi_init` refuses a 950, `dcmiv2_init` everything else.
    pub(super) fn init(&self) -> Result<(), Fault> {
        let first = self.init_v1();
        if !matches!(first, Err(Fault::Missing | Fault::Code(NOT_SUPPORTED))) {
            self.by_device.store(false, Ordering::Relaxed);
            return first;
        }
        match self.init_v2() {
            Err(Fault::Missing) => first,
            second => {
                self.by_device.store(true, Ordering::Relaxed);
                second
            }
        }
    }

    /// Waits until no call has the turn, or has lost it: listing goes wrong with the first call that gets none.
    pub(super) fn settle(&self) {
        self.gate.settle();
    }

    fn is_by_device(&self) -> bool {
        self.by_device.load(Ordering::Relaxed)
    }

    /// The cards' ids, which are values and have gaps, or with the newer generation the devices' numbers.
    fn ids(&self) -> Result<Vec<c_int>, Fault> {
        let (mut list, mut count) = ([0; CARDS], 0);
        match self.is_by_device() {
            true => self.list_devices(&mut list, &mut count, CARDS as c_int)?,
            false => self.list_cards(&mut count, &mut list, CARDS as c_int)?,
        }
        listed(&list, count)
    }

    /// The places of the devices of each card, in the library's order; a card that does not say how many chips it has is
    /// given with the fault.
    ///
    /// # Errors
    /// There is no list.
    pub(super) fn cards(&self) -> Result<Vec<Card>, Fault> {
        let chips = |card| {
            let (mut chips, mut mcu, mut cpu) = (0, 0, 0);
            match self.count_chips(card, &mut chips, &mut mcu, &mut cpu) {
                Err(Fault::Missing | Fault::Code(NOT_SUPPORTED)) => {
                    self.count_devices(card, &mut chips)?;
                }
                counted => counted?,
            }
            // The MCU's id is the next after the chips'; no card has more than a handful.
            if !(0..=16).contains(&chips) {
                return Err(Fault::Count(chips));
            }
            Ok((0..chips).map(|chip| Place::Chip { card, chip }).collect())
        };
        let ids = self.ids()?;
        Ok(match self.is_by_device() {
            true => ids
                .into_iter()
                .map(|id| (id, Ok(vec![Place::Device(id)])))
                .collect(),
            false => ids.into_iter().map(|card| (card, chips(card))).collect(),
        })
    }

    /// 0 NPU, 1 MCU, 2 CPU.
    pub(super) fn kind(&self, place: Place) -> Result<c_int, Fault> {
        let mut kind = 0;
        self.get_type(place, &mut kind).map(|()| kind)
    }

    /// Counts over all cards.
    pub(super) fn logic_id(&self, place: Place) -> Result<c_int, Fault> {
        match place {
            Place::Device(device) => Ok(device),
            Place::Chip { card, chip } => {
                let mut logic = 0;
                self.logic_id_v1(&mut logic, card, chip).map(|()| logic)
            }
        }
    }

    /// The N of `/dev/davinciN`.
    pub(super) fn physical_id(&self, logic: c_int) -> Result<c_uint, Fault> {
        let mut physical = 0;
        match self.is_by_device() {
            true => self.physical_id_v2(logic, &mut physical)?,
            false => self.physical_id_v1(logic.cast_unsigned(), &mut physical)?,
        }
        Ok(physical)
    }

    pub(super) fn chip(&self, place: Place) -> Result<Chip, Fault> {
        let mut info = ChipInfo::default();
        if let Err(fault) = self.get_chip_info(place, &mut info) {
            self.get_chip_info_v1(place, &mut info).map_err(|_| fault)?;
        }
        Ok(Chip {
            name: text(&info.name),
            version: text(&info.version),
            npu_name: text(&info.npu_name),
            aicores: info.aicores,
        })
    }

    pub(super) fn pcie(&self, place: Place) -> Result<PcieInfo, Fault> {
        let mut info = PcieInfo::default();
        let Err(fault) = self.get_pcie_info(place, &mut info) else {
            return Ok(info);
        };
        let mut old = PcieInfoV1::default();
        self.get_pcie_info_v1(place, &mut old).map_err(|_| fault)?;
        Ok(PcieInfo {
            vendor: old.vendor,
            device: old.device,
            bus: old.bus,
            slot: old.slot,
            function: old.function,
            ..PcieInfo::default()
        })
    }

    /// The unique id of the chip's compute die.
    pub(super) fn die(&self, place: Place) -> Result<Die, Fault> {
        const VDIE: c_int = 1;
        let mut die = Die::default();
        self.get_die(place, VDIE, &mut die).map(|()| die)
    }

    /// Of the driver.
    pub(super) fn driver_version(&self) -> Result<String, Fault> {
        let mut version = [0; 64];
        match self.is_by_device() {
            true => self.driver_version_v2(&mut version, 64)?,
            false => self.driver_version_v1(&mut version, 64)?,
        }
        Ok(text(&version))
    }

    /// Of the library.
    pub(super) fn version(&self) -> Result<String, Fault> {
        let mut version = [0; 64];
        match self.is_by_device() {
            true => self.version_v2(&mut version, 64)?,
            false => self.version_v1(&mut version, 64)?,
        }
        Ok(text(&version))
    }

    /// In tenths of a watt. The driver exports an item named "power_limit" first: on some boards this might be a limit.
    pub(super) fn power(&self, place: Place) -> Result<c_int, Fault> {
        let mut power = 0;
        self.get_power(place, &mut power).map(|()| power)
    }

    /// A whole card's, by its management controller, in tenths of a watt.
    pub(super) fn card_power(&self, place: Place) -> Result<c_int, Fault> {
        let Place::Chip { card, .. } = place else {
            return Err(Fault::Missing);
        };
        let mut power = 0;
        self.get_card_power(card, &mut power).map(|()| power)
    }

    /// In degrees.
    pub(super) fn temperature(&self, place: Place) -> Result<c_int, Fault> {
        let mut degrees = 0;
        self.get_temperature(place, &mut degrees).map(|()| degrees)
    }

    /// In percent; `kind` is the header's number.
    pub(super) fn utilization(&self, place: Place, kind: u8) -> Result<c_uint, Fault> {
        let mut percent = 0;
        self.get_utilization(place, kind.into(), &mut percent)
            .map(|()| percent)
    }

    pub(super) fn multi_utilization(&self, place: Place) -> Result<MultiUtilization, Fault> {
        let mut rates = MultiUtilization::default();
        self.get_multi_utilization(place, &mut rates)
            .map(|()| rates)
    }

    pub(super) fn hbm(&self, place: Place) -> Result<HbmInfo, Fault> {
        let mut info = HbmInfo::default();
        self.get_hbm(place, &mut info).map(|()| info)
    }

    /// DDR.
    pub(super) fn memory(&self, place: Place) -> Result<MemoryInfo, Fault> {
        let mut info = MemoryInfo::default();
        self.get_memory(place, &mut info).map(|()| info)
    }

    /// In MHz; `kind` is the header's number.
    pub(super) fn frequency(&self, place: Place, kind: u8) -> Result<c_uint, Fault> {
        let mut megahertz = 0;
        self.get_frequency(place, kind.into(), &mut megahertz)
            .map(|()| megahertz)
    }

    /// Why the clock is held back: the vendor's mask.
    pub(super) fn reasons(&self, place: Place) -> Result<u64, Fault> {
        const DOWN_CLOCK: c_uint = 9;
        let (mut info, mut size) = (Info::default(), 8);
        self.get_info(place, LOW_POWER, DOWN_CLOCK, &mut info, &mut size)?;
        let [mask, ..] = info;
        Ok(mask)
    }

    /// The rated power; the vendor's pages give no unit.
    pub(super) fn rated_power(&self, place: Place) -> Result<u32, Fault> {
        const POWER: c_uint = 10;
        let (mut info, mut size) = (Info::default(), 36);
        self.get_info(place, LOW_POWER, POWER, &mut info, &mut size)?;
        let [[a, b, c, d, ..], ..] = info.map(u64::to_ne_bytes);
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }

    /// 0 healthy, 1 to 3 faults; all ones where the device is not there.
    pub(super) fn health(&self, place: Place) -> Result<c_uint, Fault> {
        let mut health = 0;
        self.get_health(place, &mut health).map(|()| health)
    }

    /// `kind` is 0 for DDR, 2 for HBM.
    pub(super) fn ecc(&self, place: Place, kind: u8) -> Result<EccInfo, Fault> {
        let mut info = EccInfo::default();
        self.get_ecc(place, kind.into(), &mut info).map(|()| info)
    }

    pub(super) fn processes(&self, place: Place) -> Result<Vec<ProcessMemory>, Fault> {
        let (mut list, mut count) = ([ProcessMemory::default(); PROCESSES], 0);
        self.get_processes(place, &mut list, &mut count)?;
        listed(&list, count)
    }

    /// The error codes that are set now.
    /// PCIe traffic over so many milliseconds, for which it blocks.
    pub(super) fn traffic(&self, place: Place, window_ms: c_int) -> Result<PcieBandwidth, Fault> {
        let mut info = PcieBandwidth {
            profiling_time: window_ms,
            ..PcieBandwidth::default()
        };
        self.get_pcie_bandwidth(place, &mut info)?;
        Ok(info)
    }

    pub(super) fn codes(&self, place: Place) -> Result<Vec<c_uint>, Fault> {
        let (mut list, mut count) = ([0; CODES], 0);
        self.get_codes(place, &mut count, &mut list, CODES as c_uint)?;
        listed(&list, count)
    }

    /// What the driver says of an error code.
    pub(super) fn code_text(&self, place: Place, code: c_uint) -> Result<String, Fault> {
        let mut said = [0; 256];
        self.get_code_text(place, code, &mut said, 256)?;
        Ok(text(&said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_at_their_nul_and_lists_at_their_count() {
        assert_eq!(text(b"910B3\0rest"), "910B3");
        assert_eq!(text(b" \x1b[31m910B3 "), "910B3");
        assert_eq!(text(b""), "");
        assert_eq!(listed(&[1, 2, 3], 2), Ok(vec![1, 2]));
        assert_eq!(listed(&[1], -1), Err(Fault::Count(-1)));
        assert_eq!(listed(&[1], 2), Err(Fault::Count(2)));
    }
}
