//! Lists the devices and MIG instances, with all that stays the same while the library is open.

use super::fault::{Fault, NOT_FOUND};
use super::ffi::{FieldQuery, Getter, Handle, Label, Library};
use super::unit::{NO_INSTANCE, Slice, Unit, UnitFacts};
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceKind, PciAddress, Reading, Vendor};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the library lists.
pub(super) struct Listing {
    /// Slices after their parent.
    pub(super) units: Vec<Arc<Unit>>,
    /// Positions of the list that gave no device, with the reason.
    pub(super) refused: Vec<(u32, Fault)>,
}

/// What is the same for all devices.
struct Common<'a> {
    library: &'a Arc<Library>,
    vendor: Vendor,
    driver: Reading<Arc<str>>,
    cuda: Option<String>,
    new_fields: bool,
}

/// Asks for everything that identifies the devices.
///
/// # Errors
/// There is no list.
pub(super) fn list(library: &Arc<Library>, vendor: Vendor) -> Result<Listing, Fault> {
    let driver = library.driver_version().map_err(Fault::absent);
    let common = Common {
        library,
        vendor,
        new_fields: driver.as_deref().is_ok_and(has_new_fields),
        driver: driver.map(|text| cleaned(&text)),
        cuda: library
            .cuda_version()
            .ok()
            .map(|(major, minor)| format!("{major}.{minor}")),
    };
    let mut refused = Vec::new();
    let mut handles = Vec::new();
    for index in 0..library.count()? {
        match library.device(index) {
            Ok(handle) => handles.push((index, handle)),
            Err(fault) => refused.push((index, fault)),
        }
    }
    let boards = shared_boards(library, &handles);
    let mut taken = HashSet::new();
    let mut units = Vec::new();
    for (index, handle) in handles {
        let mut device = common.device(index, handle, &mut taken);
        if let Some(board) = boards.get(&index) {
            device.board = BoardId(Arc::from(board.as_str()));
        }
        common.add(device, handle, &mut taken, &mut units);
    }
    Ok(Listing { units, refused })
}

/// Drivers from 580.82 on number the fields 251 to 273 anew.
fn has_new_fields(driver: &str) -> bool {
    let mut parts = driver
        .trim()
        .split('.')
        .map(|part| part.parse::<u32>().ok());
    let major = parts.next().flatten();
    let minor = parts.next().flatten();
    (major, minor) >= (Some(580), Some(82))
}

/// Without control and bidirectional characters, trimmed.
fn cleaned(text: &str) -> Arc<str> {
    Arc::from(crate::text::clean(text).trim())
}

/// The boards that carry several of the devices, by the devices' positions.
fn shared_boards(library: &Library, handles: &[(u32, Handle)]) -> HashMap<u32, String> {
    let numbers: Vec<(u32, u64)> = handles
        .iter()
        .filter(|(_, handle)| library.get(*handle, Getter::MultiGpuBoard) == Ok(1))
        .filter_map(|(index, handle)| {
            Some((*index, library.get(*handle, Getter::BoardNumber).ok()?))
        })
        .collect();
    numbers
        .iter()
        .filter(|(_, number)| numbers.iter().filter(|(_, other)| other == number).count() > 1)
        .map(|(index, number)| (*index, format!("board-{number:#x}")))
        .collect()
}

/// A guest's share of a card, by the name that vGPU profiles have (`GRID A100-8C`, `NVIDIA A16-16Q`).
fn is_share_name(name: &str) -> bool {
    let profile = || {
        let (_, tail) = name.rsplit_once('-')?;
        let digits = tail.strip_suffix(['A', 'B', 'C', 'Q'])?;
        Some(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    name.starts_with("GRID ") || profile().unwrap_or(false)
}

/// Parts that share the host's memory, as far as their names tell.
fn is_soc_name(name: &str) -> bool {
    ["GB10", "Orin", "Thor", "Xavier", "Tegra", "Jetson", "nvgpu"]
        .iter()
        .any(|part| name.split([' ', '-', '(', ')']).any(|word| word == *part))
}

fn is_superchip_name(name: &str) -> bool {
    ["GH200", "GB200", "GB300"]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether the plain power reading is a one-second average: so it is from Ampere on, except for GA100 (nvml.h).
fn power_is_average(
    architecture: Option<u64>,
    pci_id: Reading<(u16, u16)>,
    name: &str,
) -> Option<bool> {
    const AMPERE: u64 = 7;
    const UNKNOWN: u64 = 0xFFFF_FFFF;
    match architecture? {
        UNKNOWN => None,
        AMPERE => Some(!match pci_id {
            // GA100's device ids are 0x2080 to 0x20ff.
            Ok((_, device)) => (0x2080..=0x20FF).contains(&device),
            Err(_) => ["A100", "A800", "A30"]
                .iter()
                .any(|part| name.split([' ', '-']).any(|word| word == *part)),
        }),
        architecture => Some(architecture > AMPERE),
    }
}

fn architecture_name(number: u64) -> Option<&'static str> {
    Some(match number {
        2 => "Kepler",
        3 => "Maxwell",
        4 => "Pascal",
        5 => "Volta",
        6 => "Turing",
        7 => "Ampere",
        8 => "Ada",
        9 => "Hopper",
        10 => "Blackwell",
        13 => "Rubin",
        _ => return None,
    })
}

impl Common<'_> {
    /// The UUID, else the PCI address; where the driver gives neither, or the same twice, the best that is left.
    fn id(
        &self,
        uuid: &Reading<Arc<str>>,
        address: &Reading<PciAddress>,
        index: u32,
        taken: &mut HashSet<Arc<str>>,
    ) -> DeviceId {
        let address: Option<Arc<str>> = address.as_ref().ok().map(|a| Arc::from(a.to_string()));
        let nameless: Arc<str> = Arc::from(format!("{}-unnamed-{index}", self.vendor.word()));
        let id = [uuid.clone().ok(), address]
            .into_iter()
            .flatten()
            .find(|id| !taken.contains(id))
            .unwrap_or(nameless);
        taken.insert(Arc::clone(&id));
        DeviceId(id)
    }

    fn label(&self, handle: Handle, label: Label) -> Reading<Arc<str>> {
        let text = self.library.label(handle, label).map_err(Fault::absent)?;
        match cleaned(&text) {
            text if text.is_empty() => Err(Absent::NotReported),
            text => Ok(text),
        }
    }

    fn device(&self, index: u32, handle: Handle, taken: &mut HashSet<Arc<str>>) -> Device {
        let library = self.library;
        let name = self
            .label(handle, Label::Name)
            .unwrap_or_else(|_| Arc::from("unknown"));
        let uuid = self.label(handle, Label::Uuid);
        let pci = library.pci_info(handle).map_err(Fault::absent);
        let pci_address = pci
            .as_ref()
            .map_err(|why| *why)
            .and_then(|info| info.bus_id.parse().map_err(|_: String| Absent::NotReported));
        let pci_id = pci.map(|info| info.id);
        let id = self.id(&uuid, &pci_address, index, taken);
        let architecture = library.get(handle, Getter::Architecture).ok();
        let no_total = match library.memory(handle) {
            Ok(memory) => memory.total == 0,
            Err(fault) => fault.lasting(),
        };
        let virtualization = library.get(handle, Getter::Virtualization).ok();
        Device {
            board: BoardId(Arc::clone(&id.0)),
            id,
            index,
            vendor: self.vendor,
            uuid,
            pci_address,
            pci_id,
            driver: self.driver.clone(),
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: power_is_average(architecture, pci_id, &name),
            unified_memory: no_total && is_soc_name(&name),
            c2c: self.has_c2c(handle) || is_superchip_name(&name),
            virtual_share: virtualization == Some(2) || is_share_name(&name),
            details: self.details(handle, architecture, virtualization),
            name,
        }
    }

    /// The driver says that the C2C link is on, or counts such links.
    fn has_c2c(&self, handle: Handle) -> bool {
        const C2C_LINK_COUNT: FieldQuery = FieldQuery { id: 170, scope: 0 };
        self.library.c2c_mode(handle).unwrap_or(false)
            || self
                .library
                .fields(handle, &[C2C_LINK_COUNT])
                .is_ok_and(|answers| {
                    let links = answers.first().and_then(|answer| answer.ok()?.unsigned());
                    links.is_some_and(|links| (1..64).contains(&links))
                })
    }

    fn details(
        &self,
        handle: Handle,
        architecture: Option<u64>,
        virtualization: Option<u64>,
    ) -> Vec<(Arc<str>, Arc<str>)> {
        let label = |label| self.label(handle, label).ok();
        let capability = self.library.compute_capability(handle).ok();
        let virtualization = virtualization.and_then(|mode| match mode {
            1 => Some("pass-through"),
            2 => Some("vGPU guest"),
            3 | 4 => Some("vGPU host"),
            _ => None,
        });
        [
            (
                "architecture",
                architecture.and_then(architecture_name).map(Arc::from),
            ),
            (
                "compute_capability",
                capability.map(|(major, minor)| Arc::from(format!("{major}.{minor}"))),
            ),
            ("cuda", self.cuda.as_deref().map(Arc::from)),
            ("serial", label(Label::Serial)),
            ("part_number", label(Label::PartNumber)),
            ("vbios", label(Label::Vbios)),
            ("virtualization", virtualization.map(Arc::from)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((Arc::from(name), value?)))
        .collect()
    }

    /// Adds a device and, where MIG is on, its instances.
    fn add(
        &self,
        device: Device,
        handle: Handle,
        taken: &mut HashSet<Arc<str>>,
        units: &mut Vec<Arc<Unit>>,
    ) {
        let library = self.library;
        let device = Arc::new(device);
        let mut slices = Vec::new();
        let mut slice_units = Vec::new();
        for (index, instance) in instances(library, handle) {
            let number = |getter| {
                let number = library.get(instance, getter).ok();
                number
                    .and_then(|n| u32::try_from(n).ok())
                    .unwrap_or(NO_INSTANCE)
            };
            let slice = Arc::new(self.slice(&device, index, instance, taken));
            let gpu_instance = number(Getter::GpuInstance);
            slices.push(Slice {
                id: slice.id.clone(),
                gpu_instance,
                compute_instance: number(Getter::ComputeInstance),
            });
            let facts = UnitFacts {
                handle: instance,
                slice_of: Some((handle, gpu_instance)),
                slices: Vec::new(),
                superchip: false,
                new_fields: self.new_fields,
            };
            slice_units.push(Arc::new(Unit::new(slice, library, facts)));
        }
        let facts = UnitFacts {
            handle,
            slice_of: None,
            slices,
            superchip: device.c2c && !device.unified_memory,
            new_fields: self.new_fields,
        };
        units.push(Arc::new(Unit::new(device, library, facts)));
        units.extend(slice_units);
    }

    fn slice(
        &self,
        parent: &Device,
        index: u32,
        handle: Handle,
        taken: &mut HashSet<Arc<str>>,
    ) -> Device {
        let name = self
            .label(handle, Label::Name)
            .unwrap_or_else(|_| Arc::from(format!("{} MIG {index}", parent.name)));
        let uuid = self.label(handle, Label::Uuid);
        let id = match &uuid {
            Ok(uuid) if !taken.contains(uuid) => DeviceId(Arc::clone(uuid)),
            _ => DeviceId(Arc::from(format!("{}/mig-{index}", parent.id))),
        };
        taken.insert(Arc::clone(&id.0));
        Device {
            id,
            index,
            name,
            uuid,
            parent: Some(parent.id.clone()),
            kind: DeviceKind::Instance,
            power_usage_is_average: None,
            unified_memory: false,
            details: Vec::new(),
            ..parent.clone()
        }
    }
}

/// The MIG instances of a device with their positions; none where MIG is off.
pub(super) fn instances(library: &Library, handle: Handle) -> Vec<(u32, Handle)> {
    if library.mig_mode(handle) != Ok(true) {
        return Vec::new();
    }
    // No board has more than 7 GPU instances of up to 8 compute instances.
    let positions = library
        .get(handle, Getter::MigDevicesMax)
        .unwrap_or(0)
        .min(64) as u32;
    (0..positions)
        .map_while(|index| match library.instance(handle, index) {
            Ok(instance) => Some(Some((index, instance))),
            Err(Fault::Code(NOT_FOUND)) => Some(None),
            Err(_) => None,
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_numbers_begin_with_580_82() {
        for (driver, new) in [
            ("535.104.05", false),
            ("580.65.06", false),
            ("580.82.07", true),
            ("580.95.05", true),
            ("590.44.01", true),
            ("610.57", true),
            ("", false),
            ("x.y", false),
        ] {
            assert_eq!(has_new_fields(driver), new, "{driver}");
        }
    }

    #[test]
    fn names_tell_shares_and_socs() {
        for (name, share, soc) in [
            ("GRID A100X-40C", true, false),
            ("NVIDIA A16-16Q", true, false),
            ("NVIDIA A100-SXM4-80GB", false, false),
            ("NVIDIA GB10", false, true),
            ("Orin (nvgpu)", false, true),
            ("NVIDIA Thor", false, true),
            ("NVIDIA GB100", false, false),
        ] {
            assert_eq!(is_share_name(name), share, "{name}");
            assert_eq!(is_soc_name(name), soc, "{name}");
        }
    }

    #[test]
    fn the_plain_power_reading_is_an_average_from_ampere_on_but_for_ga100() {
        for (architecture, pci, name, average) in [
            (
                Some(7),
                Ok((0x10de, 0x20b2)),
                "NVIDIA A100-SXM4-80GB",
                Some(false),
            ),
            (Some(7), Ok((0x10de, 0x2237)), "NVIDIA A10G", Some(true)),
            (
                Some(7),
                Err(Absent::NotSupported),
                "NVIDIA A30",
                Some(false),
            ),
            (Some(7), Err(Absent::NotSupported), "NVIDIA A40", Some(true)),
            (Some(6), Ok((0x10de, 0x1eb8)), "Tesla T4", Some(false)),
            (Some(9), Ok((0x10de, 0x2330)), "NVIDIA H100", Some(true)),
            (Some(0xFFFF_FFFF), Ok((0x10de, 1)), "x", None),
            (None, Ok((0x10de, 1)), "x", None),
        ] {
            assert_eq!(power_is_average(architecture, pci, name), average, "{name}");
        }
    }

    #[test]
    fn texts_are_cleaned() {
        assert_eq!(
            &*cleaned(" NVIDIA\u{1b}[31m \u{202e}H100\n "),
            "NVIDIA H100"
        );
    }
}
