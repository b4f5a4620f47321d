//! The list of devices, and which of them share a board.

use super::fault::Fault;
use super::ffi::{CardSn, DriverVersion, Library, OldPci, Pci, Power, Uuid};
use super::unit::Unit;
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceKind, PciAddress, Reading, Vendor};
use crate::probe::round::{Refused, Said as _};
use crate::probe::twofold::Listing;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// More than any machine holds; a larger count is garbage.
const MOST: u32 = 1024;
/// Two chips of one board report the board's draw, which moves between two readings.
const SAME_DRAW: f64 = 0.05;
const SAME_DRAW_W: f64 = 3.0;

/// Where a device is on the bus, and its other numbers there.
struct Bus {
    address: Option<PciAddress>,
    id: (u16, u16),
    module: Option<u16>,
    slot: Option<u16>,
}

/// Asks for everything that identifies the devices.
///
/// # Errors
/// There is no list.
pub(super) fn list(library: &Arc<Library>) -> Result<Listing<Unit, Fault>, Fault> {
    let count = library.count()?;
    let mut refused = Vec::new();
    let mut found = Vec::new();
    for index in 0..count.min(MOST) {
        match library.handle(index.cast_signed()) {
            Ok(handle) => found.push((index, handle)),
            Err(fault) => refused.push((index, fault)),
        }
    }
    let serials: Vec<Option<u64>> = found.iter().map(|(_, h)| serial(library, *h)).collect();
    let boards = boards(&serials, |a, b| {
        let (one, other) = (found.get(a)?.1, found.get(b)?.1);
        library
            .relation(one, other)
            .ok()
            .map(|relation| relation == 1)
    });
    let mut taken = HashSet::new();
    let mut units: Vec<Unit> = found
        .iter()
        .zip(&serials)
        .map(|((index, handle), serial)| unit(library, *index, *handle, *serial, &mut taken))
        .collect();
    for board in 0..units.len() {
        let mates: Vec<&mut Unit> = units
            .iter_mut()
            .zip(&boards)
            .filter_map(|(unit, of)| (*of == board).then_some(unit))
            .collect();
        if mates.len() > 1 {
            share(library, mates, serials.get(board).copied().flatten());
        }
    }
    Ok(Listing {
        units: units.into_iter().map(Arc::new).collect(),
        refused,
    })
}

/// Makes one board of several devices.
fn share(library: &Library, mates: Vec<&mut Unit>, serial: Option<u64>) {
    let first = mates.first().map_or("", |unit| &*unit.device.id.0);
    let board = serial.map_or_else(
        || format!("board-of-{first}"),
        |serial| format!("board-{serial:x}"),
    );
    let board = BoardId(Arc::from(board));
    let handles: Vec<i32> = mates.iter().map(|unit| unit.handle).collect();
    let shares_power = tell_the_same(library, &handles);
    for unit in mates {
        Arc::make_mut(&mut unit.device).board = board.clone();
        unit.shares_power = shares_power;
    }
}

/// The board's serial number; all zeros and all ones are none.
fn serial(library: &Library, handle: i32) -> Option<u64> {
    let serial: CardSn = library.versioned(library.functions.serial, handle).ok()?;
    Some(serial.sn).filter(|sn| *sn != 0 && *sn != u64::MAX)
}

/// For each device the first one of its board. One board is what has one serial number, unless the topology denies
/// it; where a number is missing, what the topology calls internal.
fn boards(serials: &[Option<u64>], internal: impl Fn(usize, usize) -> Option<bool>) -> Vec<usize> {
    let mut boards: Vec<usize> = Vec::new();
    for (place, serial) in serials.iter().enumerate() {
        let is_mate = |other: &usize| {
            let on_board = || internal(*other, place);
            match serial.zip(serials.get(*other).copied().flatten()) {
                Some((one, other)) => one == other && on_board() != Some(false),
                None => on_board() == Some(true),
            }
        };
        let mate = (0..place).find(is_mate);
        let board = mate.and_then(|mate| boards.get(mate).copied());
        boards.push(board.unwrap_or(place));
    }
    boards
}

/// Whether devices of one board tell the same draw and cap: then it is the board's, and each tells all of it.
fn tell_the_same(library: &Library, handles: &[i32]) -> bool {
    let told: Vec<(f64, i32)> = handles
        .iter()
        .filter_map(|handle| {
            let power = power(library, *handle).ok()?;
            Some((f64::from(power.usage), power.cap))
        })
        .collect();
    let Some((usage, cap)) = told.first().copied() else {
        return false;
    };
    told.len() == handles.len()
        && told.iter().all(|(other, other_cap)| {
            *other_cap == cap && (other - usage).abs() <= (usage * SAME_DRAW).max(SAME_DRAW_W)
        })
}

/// Draw, cap and TDP; by the older call where the library lacks the newer one.
pub(super) fn power(library: &Library, handle: i32) -> Result<Power, Fault> {
    match library.plain(library.functions.power, handle) {
        Err(Fault::Missing) => {
            let old = library.versioned(library.functions.old_power, handle)?;
            Ok(Power {
                usage: old.usage,
                cap: old.cap,
                machine: old.machine,
                tdp: old.tdp.into(),
                max: 0,
                rest: [0; 16],
            })
        }
        power => power,
    }
}

fn bus(library: &Library, handle: i32) -> Result<Bus, Fault> {
    let pci: Pci = match library.plain(library.functions.pci, handle) {
        Err(Fault::Missing) => {
            let old: OldPci = library.versioned(library.functions.old_pci, handle)?;
            Pci {
                subsystem: old.subsystem,
                device_id: old.device_id,
                vendor: old.vendor,
                subvendor: old.subvendor,
                domain: old.domain,
                bus: old.bus,
                device: old.device,
                function: old.function,
                module: u16::MAX,
                slot: u16::MAX,
                rest: [0; 8],
            }
        }
        pci => pci?,
    };
    let part = |number: u32, below: u8| u8::try_from(number).ok().filter(|n| *n < below);
    let address = || {
        Some(PciAddress {
            domain: pci.domain,
            bus: u8::try_from(pci.bus).ok()?,
            device: part(pci.device, 32)?,
            function: part(pci.function, 8)?,
        })
    };
    let told = |number: u16| Some(number).filter(|n| *n != u16::MAX);
    Ok(Bus {
        address: address(),
        id: (pci.vendor, pci.device_id as u16),
        module: told(pci.module),
        slot: told(pci.slot),
    })
}

/// The text of a UUID, which has no end mark where it fills its place.
fn uuid_text(bytes: &[u8]) -> Reading<Arc<str>> {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    cleaned(&String::from_utf8_lossy(bytes)).ok_or(Absent::NotReported)
}

/// Without control and bidirectional characters, trimmed; `None` where nothing is left.
fn cleaned(text: &str) -> Option<Arc<str>> {
    let text = crate::text::clean(text);
    Some(text.trim())
        .filter(|text| !text.is_empty())
        .map(Arc::from)
}

fn driver(library: &Library, handle: i32) -> Result<Arc<str>, Fault> {
    let version: DriverVersion = library.versioned(library.functions.driver_version, handle)?;
    let [major, minor, build] = version.driver;
    Ok(Arc::from(format!("{major}.{minor}.{build}")))
}

fn unit(
    library: &Arc<Library>,
    index: u32,
    handle: i32,
    serial: Option<u64>,
    taken: &mut HashSet<Arc<str>>,
) -> Unit {
    let name = library.name(handle).ok().and_then(|name| cleaned(&name));
    let uuid = library
        .versioned(library.functions.uuid, handle)
        .map_err(Fault::absent)
        .and_then(|uuid: Uuid| uuid_text(&uuid.uuid));
    let bus = bus(library, handle).map_err(Fault::absent);
    let pci_address = bus.as_ref().map_err(|why| *why);
    let pci_address = pci_address.and_then(|bus| bus.address.ok_or(Absent::NotReported));
    let address = || Some(Arc::from(pci_address.ok()?.to_string()));
    // Where the driver gives neither, or the same twice, the best that is left.
    let id = [uuid.clone().ok(), address()]
        .into_iter()
        .flatten()
        .find(|id| !taken.contains(id))
        .unwrap_or_else(|| Arc::from(format!("cambricon-unnamed-{index}")));
    taken.insert(Arc::clone(&id));
    let (module, slot) = bus
        .as_ref()
        .map_or((None, None), |bus| (bus.module, bus.slot));
    let details = [
        ("serial", serial.map(|sn| format!("{sn:x}"))),
        ("module_id", module.map(|id| id.to_string())),
        ("slot", slot.map(|slot| slot.to_string())),
    ];
    let device = Device {
        board: BoardId(Arc::clone(&id)),
        id: DeviceId(id),
        index,
        vendor: Vendor::Cambricon,
        name: name.unwrap_or_else(|| Arc::from("unknown")),
        uuid,
        pci_address,
        pci_id: bus.map(|bus| bus.id),
        driver: driver(library, handle).map_err(Fault::absent),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: details
            .into_iter()
            .filter_map(|(name, value)| Some((Arc::from(name), Arc::from(value?))))
            .collect(),
    };
    Unit {
        device: Arc::new(device),
        library: Arc::clone(library),
        handle,
        shares_power: false,
        ports: AtomicU32::new(0),
        refused: Refused::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_serial_number_is_one_board_unless_the_topology_denies_it() {
        let none = |_, _| None;
        let same = [Some(7), Some(7), Some(8), None];
        assert_eq!(boards(&same, none), [0, 0, 2, 3]);
        assert_eq!(boards(&same, |_, _| Some(false)), [0, 1, 2, 3]);
        assert_eq!(
            boards(&[None, None, None], |a, b| Some((a, b) == (1, 2))),
            [0, 1, 1]
        );
    }

    #[test]
    fn a_uuid_ends_with_its_place_or_at_a_zero() {
        assert_eq!(uuid_text(b"2030-ab\0rest").as_deref(), Ok("2030-ab"));
        assert_eq!(uuid_text(&[b'a'; 37]).as_deref(), Ok(&*"a".repeat(37)));
        assert_eq!(uuid_text(&[0; 37]), Err(Absent::NotReported));
        assert_eq!(uuid_text(b"a\x1b[31mb").as_deref(), Ok("ab"));
    }
}
