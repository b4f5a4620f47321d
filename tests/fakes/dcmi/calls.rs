//! The exported calls, as the vendor's header declares them.
//!
//! Safety of all of it: like DCMI, this library trusts its caller that a pointer which is not null points to memory of the
//! type, or length, that the header states.

use crate::small::{devices, whole as number_of};
use crate::state::{INVALID_PARAMETER, NOT_SUPPORTED, Place, answer, code, init, library};
use std::ffi::{c_char, c_int, c_uint, c_ulong};
use toml::{Table, Value};

#[repr(C)]
pub struct ChipInfo {
    chip_type: [u8; 32],
    chip_name: [u8; 32],
    chip_ver: [u8; 32],
    aicore_cnt: c_uint,
}

#[repr(C)]
pub struct ChipInfoV2 {
    first: ChipInfo,
    npu_name: [u8; 32],
}

#[repr(C)]
pub struct PcieInfo {
    deviceid: c_uint,
    venderid: c_uint,
    subvenderid: c_uint,
    subdeviceid: c_uint,
    bdf_deviceid: c_uint,
    bdf_busid: c_uint,
    bdf_funcid: c_uint,
}

#[repr(C)]
pub struct PcieInfoAll {
    venderid: c_uint,
    subvenderid: c_uint,
    deviceid: c_uint,
    subdeviceid: c_uint,
    domain: c_int,
    bdf_busid: c_uint,
    bdf_deviceid: c_uint,
    bdf_funcid: c_uint,
    reserve: [u8; 32],
}

#[repr(C)]
pub struct MultiUtilization {
    aic_util: c_uint,
    aiv_util: c_uint,
    aicore_util: c_uint,
    npu_util: c_uint,
    reserved: [c_uint; 8],
}

#[repr(C)]
pub struct HbmInfo {
    memory_size: u64,
    freq: c_uint,
    memory_usage: u64,
    temp: c_int,
    bandwith_util_rate: c_uint,
}

#[repr(C)]
pub struct MemoryInfo {
    memory_size: u64,
    memory_available: u64,
    freq: c_uint,
    hugepagesize: c_ulong,
    hugepages_total: c_ulong,
    hugepages_free: c_ulong,
    utiliza: c_uint,
    reserve: [u8; 60],
}

#[repr(C)]
pub struct EccInfo {
    enable_flag: c_int,
    single_bit_error_cnt: c_uint,
    double_bit_error_cnt: c_uint,
    total_single_bit_error_cnt: c_uint,
    total_double_bit_error_cnt: c_uint,
    single_bit_isolated_pages_cnt: c_uint,
    double_bit_isolated_pages_cnt: c_uint,
}

#[repr(C)]
pub struct ProcMemInfo {
    proc_id: c_int,
    proc_mem_usage: c_ulong,
}

const _: () = {
    assert!(size_of::<ChipInfo>() == 100);
    assert!(size_of::<ChipInfoV2>() == 132);
    assert!(size_of::<PcieInfo>() == 28);
    assert!(size_of::<PcieInfoAll>() == 64);
    assert!(size_of::<MultiUtilization>() == 48);
    assert!(size_of::<HbmInfo>() == 32);
    assert!(size_of::<MemoryInfo>() == 112);
    assert!(size_of::<EccInfo>() == 28);
    assert!(size_of::<ProcMemInfo>() == 16);
    assert!(std::mem::offset_of!(HbmInfo, bandwith_util_rate) == 28);
    assert!(std::mem::offset_of!(MemoryInfo, utiliza) == 48);
    assert!(std::mem::offset_of!(PcieInfoAll, domain) == 16);
};

pub(crate) type Done = Result<(), c_int>;

pub(crate) fn put<T>(out: *mut T, value: T) -> Done {
    if out.is_null() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: not null; see the module.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes the items of a list that has room for `room`.
fn put_list<T>(out: *mut T, room: usize, items: Vec<T>) -> Done {
    if out.is_null() || items.len() > room {
        return Err(INVALID_PARAMETER);
    }
    for (n, item) in items.into_iter().enumerate() {
        // SAFETY: not null, and below its length; see the module.
        unsafe { out.add(n).write(item) };
    }
    Ok(())
}

fn put_text(out: *mut u8, room: usize, text: &str) -> Done {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    put_list(out, room, bytes)
}

fn whole(value: &Value) -> Result<i64, c_int> {
    value.as_integer().ok_or(NOT_SUPPORTED)
}

/// A number of a table; 0 where it is not named.
pub(crate) fn part(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_integer).unwrap_or(0)
}

fn unsigned(place: Place, key: &str, out: *mut c_uint) -> c_int {
    code(answer(place, key).and_then(|value| put(out, whole(&value)? as c_uint)))
}

fn signed(place: Place, key: &str, out: *mut c_int) -> c_int {
    code(answer(place, key).and_then(|value| put(out, whole(&value)? as c_int)))
}

fn padded(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(text.bytes().take(31)) {
        *to = from;
    }
    bytes
}

fn chip_info(place: Place) -> Result<ChipInfo, c_int> {
    let text = |key| match answer(place, key) {
        Ok(Value::String(text)) => Ok(padded(&text)),
        Ok(_) | Err(NOT_SUPPORTED) => Ok([0; 32]),
        Err(code) => Err(code),
    };
    Ok(ChipInfo {
        chip_type: padded("Ascend"),
        chip_name: match text("name")? {
            name if name == [0; 32] => return Err(NOT_SUPPORTED),
            name => name,
        },
        chip_ver: text("version")?,
        aicore_cnt: answer(place, "aicores")
            .and_then(|n| whole(&n))
            .unwrap_or(0) as c_uint,
    })
}

fn chip_info_v2(place: Place, out: *mut ChipInfoV2) -> c_int {
    code(chip_info(place).and_then(|first| {
        let npu_name = match answer(place, "npu_name") {
            Ok(Value::String(name)) => padded(&name),
            _ => [0; 32],
        };
        put(out, ChipInfoV2 { first, npu_name })
    }))
}

fn pcie_info(place: Place) -> Result<PcieInfoAll, c_int> {
    let bdf_busid = whole(&answer(place, "bus")?)? as c_uint;
    let number = |key| answer(place, key).and_then(|n| whole(&n)).unwrap_or(0);
    Ok(PcieInfoAll {
        venderid: 0x19e5,
        subvenderid: 0x0200,
        deviceid: number("device_id") as c_uint,
        subdeviceid: 0x0100,
        domain: number("domain") as c_int,
        bdf_busid,
        bdf_deviceid: number("slot") as c_uint,
        bdf_funcid: number("function") as c_uint,
        reserve: [0; 32],
    })
}

fn pcie_info_all(place: Place, out: *mut PcieInfoAll) -> c_int {
    code(pcie_info(place).and_then(|info| put(out, info)))
}

fn die(place: Place, kind: c_int, out: *mut c_uint) -> c_int {
    const VDIE: c_int = 1;
    if kind != VDIE {
        return INVALID_PARAMETER;
    }
    code(answer(place, "die").and_then(|value| {
        let words = value.as_array().ok_or(NOT_SUPPORTED)?;
        let words = words.iter().map(|word| Ok(whole(word)? as c_uint));
        put_list(out, 5, words.collect::<Result<_, c_int>>()?)
    }))
}

fn multi(place: Place, out: *mut MultiUtilization) -> c_int {
    code(answer(place, "multi").and_then(|value| {
        let percent = |key| part(&value, key) as c_uint;
        put(
            out,
            MultiUtilization {
                aic_util: percent("aicore"),
                aiv_util: percent("vector"),
                aicore_util: percent("aicore"),
                npu_util: percent("npu"),
                reserved: [0; 8],
            },
        )
    }))
}

fn hbm(place: Place, out: *mut HbmInfo) -> c_int {
    code(answer(place, "hbm").and_then(|value| {
        put(
            out,
            HbmInfo {
                memory_size: part(&value, "size") as u64,
                freq: part(&value, "frequency") as c_uint,
                memory_usage: part(&value, "used") as u64,
                temp: part(&value, "temperature") as c_int,
                bandwith_util_rate: part(&value, "bandwidth") as c_uint,
            },
        )
    }))
}

fn memory(place: Place, out: *mut MemoryInfo) -> c_int {
    code(answer(place, "memory").and_then(|value| {
        put(
            out,
            MemoryInfo {
                memory_size: part(&value, "size") as u64,
                memory_available: part(&value, "available") as u64,
                freq: part(&value, "frequency") as c_uint,
                hugepagesize: 2048,
                hugepages_total: 0,
                hugepages_free: 0,
                utiliza: 0,
                reserve: [0; 60],
            },
        )
    }))
}

/// Only the module "low power": 9 why the clock is held back (8 bytes), 10 the rated power (36 bytes).
fn info(place: Place, module: c_int, command: c_uint, out: *mut u8, size: *mut c_uint) -> c_int {
    let (key, length) = match (module, command) {
        (8, 9) => ("reasons", 8),
        (8, 10) => ("rated_power", 36),
        _ => return NOT_SUPPORTED,
    };
    // SAFETY: null, or a number; see the module.
    if unsafe { size.as_ref() } != Some(&length) {
        return INVALID_PARAMETER;
    }
    code(answer(place, key).and_then(|value| {
        let mut bytes = whole(&value)?.to_le_bytes().to_vec();
        if length == 36 {
            bytes.truncate(4);
            bytes.resize(36, 0);
        }
        put_list(out, 36, bytes)
    }))
}

fn ecc(place: Place, kind: c_int, out: *mut EccInfo) -> c_int {
    code(answer(place, &format!("ecc_{kind}")).and_then(|value| {
        let count = |key| part(&value, key) as c_uint;
        put(
            out,
            EccInfo {
                enable_flag: part(&value, "enabled") as c_int,
                single_bit_error_cnt: count("single"),
                double_bit_error_cnt: count("double"),
                total_single_bit_error_cnt: count("single").wrapping_add(100),
                total_double_bit_error_cnt: count("double").wrapping_add(10),
                single_bit_isolated_pages_cnt: count("single_pages"),
                double_bit_isolated_pages_cnt: count("double_pages"),
            },
        )
    }))
}

/// The count is output only: the caller has room for 32. A scenario's `process_count` is said in its place.
fn processes(place: Place, out: *mut ProcMemInfo, count: *mut c_int) -> c_int {
    code(answer(place, "processes").and_then(|value| {
        let rows = value.as_array().ok_or(NOT_SUPPORTED)?;
        let rows: Vec<ProcMemInfo> = rows
            .iter()
            .map(|row| ProcMemInfo {
                proc_id: part(row, "pid") as c_int,
                proc_mem_usage: part(row, "bytes") as c_ulong,
            })
            .collect();
        let told = answer(place, "process_count").and_then(|n| whole(&n));
        put(count, told.unwrap_or(rows.len() as i64) as c_int)?;
        put_list(out, 32, rows)
    }))
}

fn codes(place: Place, count: *mut c_int, out: *mut c_uint, room: c_uint) -> c_int {
    code(answer(place, "codes").and_then(|value| {
        let list = value.as_array().ok_or(NOT_SUPPORTED)?.iter();
        let list: Vec<c_uint> = list
            .filter_map(Value::as_integer)
            .map(|n| n as c_uint)
            .collect();
        put(count, list.len() as c_int)?;
        put_list(out, room as usize, list)
    }))
}

fn code_text(place: Place, number: c_uint, out: *mut u8, room: c_int) -> c_int {
    code(answer(place, "code_texts").and_then(|value| {
        let text = value.get(format!("{number:08X}")).and_then(Value::as_str);
        put_text(out, room as usize, text.ok_or(NOT_SUPPORTED)?)
    }))
}

fn version(second: bool, key: &str, out: *mut u8, room: c_uint) -> c_int {
    code(library(second, key).and_then(|scenario| {
        let version = scenario.get(key).and_then(Value::as_str);
        match room >= 64 {
            true => put_text(out, room as usize, version.ok_or(NOT_SUPPORTED)?),
            false => Err(INVALID_PARAMETER),
        }
    }))
}

fn card_of(device: &Table) -> c_int {
    number_of(device, "card").unwrap_or(0) as c_int
}

/// The cards, each once, in the scenario's order.
fn cards() -> Vec<c_int> {
    let mut cards: Vec<c_int> = devices().iter().map(card_of).collect();
    cards.dedup();
    cards
}

/// Exports a call of both generations.
macro_rules! both {
    ($($first:ident, $second:ident ($($arg:ident: $type:ty),*) = $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $first(card_id: c_int, device_id: c_int $(, $arg: $type)*) -> c_int {
            $body(Place::Chip(card_id, device_id) $(, $arg)*)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $second(dev_id: c_int $(, $arg: $type)*) -> c_int {
            $body(Place::Device(dev_id) $(, $arg)*)
        }
    )*};
}

both! {
    dcmi_get_device_type, dcmiv2_get_device_type(out: *mut c_int) = |place, out| match signed(place, "type", out) {
        NOT_SUPPORTED => code(put(out, 0)),
        code => code,
    };
    dcmi_get_device_chip_info_v2, dcmiv2_get_device_chip_info(out: *mut ChipInfoV2) = chip_info_v2;
    dcmi_get_device_pcie_info_v2, dcmiv2_get_device_pcie_info(out: *mut PcieInfoAll) = pcie_info_all;
    dcmi_get_device_die_v2, dcmiv2_get_device_die_id(kind: c_int, out: *mut c_uint) = die;
    dcmi_get_device_power_info, dcmiv2_get_device_power_info(out: *mut c_int) = |p, out| signed(p, "power", out);
    dcmi_get_device_temperature, dcmiv2_get_device_temperature(out: *mut c_int) =
        |p, out| signed(p, "temperature", out);
    dcmi_get_device_utilization_rate, dcmiv2_get_device_utilization_rate(kind: c_int, out: *mut c_uint) =
        |p, kind: c_int, out| unsigned(p, &format!("utilization_{kind}"), out);
    dcmi_get_device_multi_utilization_rate, dcmiv2_get_device_multi_utilization_rate(out: *mut MultiUtilization) = multi;
    dcmi_get_device_hbm_info, dcmiv2_get_device_hbm_info(out: *mut HbmInfo) = hbm;
    dcmi_get_device_frequency, dcmiv2_get_device_frequency(kind: c_int, out: *mut c_uint) =
        |p, kind: c_int, out| unsigned(p, &format!("frequency_{kind}"), out);
    dcmi_get_device_info, dcmiv2_get_device_info(main: c_int, sub: c_uint, out: *mut u8, size: *mut c_uint) = info;
    dcmi_get_device_health, dcmiv2_get_device_health(out: *mut c_uint) = |p, out| unsigned(p, "health", out);
    dcmi_get_device_ecc_info, dcmiv2_get_device_ecc_info(kind: c_int, out: *mut EccInfo) = ecc;
    dcmi_get_device_resource_info, dcmiv2_get_device_proc_mem_info(out: *mut ProcMemInfo, count: *mut c_int) = processes;
    dcmi_get_device_errorcode_v2, dcmiv2_get_device_error_code_list(count: *mut c_int, out: *mut c_uint, room: c_uint) =
        codes;
    dcmi_get_device_errorcode_string, dcmiv2_get_device_error_info(number: c_uint, out: *mut u8, room: c_int) = code_text;
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_init() -> c_int {
    init(false)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmiv2_init() -> c_int {
    init(true)
}

/// The count comes first here, and a list with less room than there are cards is refused.
fn list_cards(count: *mut c_int, list: *mut c_int, room: c_int) -> c_int {
    code(library(false, "card_list").and_then(|_| {
        put(count, cards().len() as c_int)?;
        put_list(list, room as usize, cards())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_card_list(count: *mut c_int, list: *mut c_int, room: c_int) -> c_int {
    list_cards(count, list, room)
}

/// The older name.
#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_card_num_list(
    count: *mut c_int,
    list: *mut c_int,
    room: c_int,
) -> c_int {
    list_cards(count, list, room)
}

/// The list comes first here.
#[unsafe(no_mangle)]
pub extern "C" fn dcmiv2_get_device_list(
    list: *mut c_int,
    count: *mut c_int,
    room: c_int,
) -> c_int {
    code(library(true, "card_list").and_then(|_| {
        let devices = devices().len() as c_int;
        put(count, devices)?;
        put_list(list, room as usize, (0..devices).collect())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_id_in_card(
    id: c_int,
    chips: *mut c_int,
    mcu: *mut c_int,
    cpu: *mut c_int,
) -> c_int {
    code(answer(Place::Chip(id, 0), "card").and_then(|_| {
        let devices = devices();
        let is_chip =
            |device: &&Table| card_of(device) == id && number_of(device, "type").unwrap_or(0) == 0;
        let count = devices.iter().filter(is_chip).count();
        put(chips, count as c_int)?;
        put(mcu, count as c_int)?;
        put(cpu, -1)
    }))
}

/// With the management controller, as the older call counts.
#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_num_in_card(id: c_int, count: *mut c_int) -> c_int {
    code(answer(Place::Chip(id, 0), "card").and_then(|_| {
        let devices = devices();
        let ours = devices.iter().filter(|device| card_of(device) == id);
        put(count, ours.count() as c_int)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_logic_id(out: *mut c_int, id: c_int, device: c_int) -> c_int {
    code(library(false, "logic_id").and_then(|_| {
        let devices = devices();
        let before = devices.iter().take_while(|other| card_of(other) != id);
        put(out, before.count() as c_int + device)
    }))
}

/// As on a machine of which we have the devices from the first card's on.
fn physical(second: bool, logic: c_int, out: *mut c_uint) -> c_int {
    code(library(second, "physical_id").and_then(|_| {
        let first = devices().first().map_or(0, card_of);
        put(out, (first + logic) as c_uint)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_phyid_from_logicid(logic: c_uint, out: *mut c_uint) -> c_int {
    physical(false, logic as c_int, out)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmiv2_get_chip_phy_id_by_dev_id(device: c_int, out: *mut c_uint) -> c_int {
    physical(true, device, out)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_chip_info(
    card_id: c_int,
    device_id: c_int,
    out: *mut ChipInfo,
) -> c_int {
    code(chip_info(Place::Chip(card_id, device_id)).and_then(|info| put(out, info)))
}

/// The older structure, in its own order.
#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_pcie_info(
    card_id: c_int,
    device_id: c_int,
    out: *mut PcieInfo,
) -> c_int {
    code(pcie_info(Place::Chip(card_id, device_id)).and_then(|all| {
        put(
            out,
            PcieInfo {
                deviceid: all.deviceid,
                venderid: all.venderid,
                subvenderid: all.subvenderid,
                subdeviceid: all.subdeviceid,
                bdf_deviceid: all.bdf_deviceid,
                bdf_busid: all.bdf_busid,
                bdf_funcid: all.bdf_funcid,
            },
        )
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_device_memory_info_v3(
    card_id: c_int,
    device_id: c_int,
    out: *mut MemoryInfo,
) -> c_int {
    memory(Place::Chip(card_id, device_id), out)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_mcu_get_power_info(id: c_int, out: *mut c_int) -> c_int {
    signed(Place::Chip(id, 0), "mcu_power", out)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_driver_version(out: *mut c_char, room: c_uint) -> c_int {
    version(false, "driver_version", out.cast(), room)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmiv2_get_driver_version(out: *mut c_char, room: c_uint) -> c_int {
    version(true, "driver_version", out.cast(), room)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_dcmi_version(out: *mut c_char, room: c_uint) -> c_int {
    version(false, "dcmi_version", out.cast(), room)
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmiv2_get_dcmi_version(out: *mut c_char, room: c_uint) -> c_int {
    version(true, "dcmi_version", out.cast(), room)
}
