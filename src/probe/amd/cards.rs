//! Which cards there are, what they are called, and which of them share a package.

use super::Unit;
use super::blob;
use super::sample;
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceKind, Reading, Vendor};
use crate::probe::drm::{self, Card};
use crate::probe::pcie::Upstream;
use crate::probe::sysfs::{self, Hwmon};
use crate::text::clean;
use std::path::Path;
use std::sync::Arc;

/// Names of cards whose board does not tell it (pci.ids, libdrm's amdgpu.ids).
const NAMES: &[(u16, &str)] = &[
    (0x66a1, "AMD Instinct MI50/MI60"),
    (0x738c, "AMD Instinct MI100"),
    (0x738e, "AMD Instinct MI100"),
    (0x7408, "AMD Instinct MI250X"),
    (0x740c, "AMD Instinct MI250X/MI250"),
    (0x740f, "AMD Instinct MI210"),
    (0x74a0, "AMD Instinct MI300A"),
    (0x74a1, "AMD Instinct MI300X"),
    (0x74a2, "AMD Instinct MI308X"),
    (0x74a5, "AMD Instinct MI325X"),
    (0x74b5, "AMD Instinct MI300X VF"),
    (0x74b9, "AMD Instinct MI325X VF"),
    (0x75a0, "AMD Instinct MI350X"),
    (0x75a3, "AMD Instinct MI355X"),
];
/// Packages of two dies, each a card.
const TWO_DIES: [u16; 2] = [0x7408, 0x740c];
/// The CPU's memory is the card's.
const MI300A: u16 = 0x74a0;
/// SR-IOV functions, as guests have them. Each is a whole card of these: no share, so that nameplates apply.
const GUESTS: [u16; 2] = [0x74b5, 0x74b9];

/// What is listed.
pub(super) struct Listing {
    pub(super) units: Vec<Arc<Unit>>,
    /// Cards of this host that have no device node here.
    pub(super) others: usize,
}

/// Lists the cards under a root.
pub(super) fn list(root: &Path) -> Listing {
    let (cards, others) = drm::ours(root, drm::computing(root, drm::AMD));
    let driver = driver(root);
    let names = sysfs::text(&root.join("usr/share/libdrm/amdgpu.ids")).unwrap_or_default();
    let mut units: Vec<Unit> = Vec::new();
    for (index, card) in (0..).zip(&cards) {
        let taken = |id: &str| units.iter().any(|unit| &*unit.device.id.0 == id);
        let mut device = device(root, card, index, &names, taken);
        device.driver.clone_from(&driver);
        let package = package(&units, card);
        let hwmon = Hwmon::of(&card.device);
        let mut unit = Unit::new(
            device,
            card,
            hwmon,
            Upstream::of(root, card.address, &card.device),
        );
        // Of two dies only the first tells the package's power; a partition repeats it.
        if let Some(first) = package.filter(|first| {
            first.card.address.function != card.address.function || !has_power(&unit)
        }) {
            unit.device = Arc::new(Device {
                board: first.device.board.clone(),
                ..(*unit.device).clone()
            });
            unit.repeats = true;
        }
        units.push(unit);
    }
    let units = units.into_iter().map(Arc::new).collect();
    Listing { units, others }
}

/// The card listed before that is of the same package: another function of the same PCI device (a partition), or the
/// first die of two.
fn package<'a>(before: &'a [Unit], card: &Card) -> Option<&'a Unit> {
    let last = before.last()?;
    let slot = |card: &Card| (card.address.domain, card.address.bus, card.address.device);
    let partition = slot(&last.card) == slot(card);
    let die = TWO_DIES.contains(&card.id) && last.card.id == card.id && !last.repeats;
    if partition && last.repeats {
        return before
            .iter()
            .find(|unit| unit.device.board == last.device.board);
    }
    (partition || die).then_some(last)
}

/// Whether a die of two is the one that tells the power.
fn has_power(unit: &Unit) -> bool {
    let blob = unit
        .bytes()
        .ok()
        .and_then(|bytes| blob::decode(&bytes).ok());
    sample::power(unit, blob.as_ref()).is_ok()
}

/// The module's own version (ROCm's driver), else the kernel's.
pub(super) fn driver(root: &Path) -> Reading<Arc<str>> {
    let module = sysfs::text(&root.join("sys/module/amdgpu/version"));
    let kernel = || sysfs::text(&root.join("proc/sys/kernel/osrelease"));
    let version = module
        .or_else(|_| kernel())
        .map_err(|_| Absent::NotReported)?;
    Ok(Arc::from(clean(&version).trim()))
}

fn device(
    root: &Path,
    card: &Card,
    index: u32,
    names: &str,
    taken: impl Fn(&str) -> bool,
) -> Device {
    let said = |name: &str| {
        let text = sysfs::text(&card.device.join(name)).ok()?;
        let text = clean(&text);
        let text = text.trim();
        (!text.is_empty() && text != "N/A").then(|| text.to_owned())
    };
    // As ROCm writes it, and takes it in ROCR_VISIBLE_DEVICES.
    let uuid = said("unique_id")
        .filter(|id| id.bytes().any(|b| b != b'0'))
        .map(|id| Arc::from(format!("GPU-{id}")))
        .ok_or(Absent::NotReported);
    let address = card.address.to_string();
    let id: Arc<str> = match &uuid {
        Ok(uuid) if !taken(uuid) => Arc::clone(uuid),
        _ => Arc::from(address),
    };
    let rocm = sysfs::text(&root.join("opt/rocm/.info/version")).ok();
    let guest = GUESTS.contains(&card.id);
    let details = [
        ("virtualization", guest.then(|| "SR-IOV guest".to_owned())),
        ("vbios", said("vbios_version")),
        ("serial", said("serial_number")),
        ("rocm", rocm.map(|text| clean(&text).trim().to_owned())),
        ("compute_partition", said("current_compute_partition")),
        ("memory_partition", said("current_memory_partition")),
    ];
    Device {
        id: DeviceId(Arc::clone(&id)),
        index,
        vendor: Vendor::Amd,
        name: Arc::from(said("product_name").unwrap_or_else(|| name(card, names))),
        uuid,
        pci_address: Ok(card.address),
        pci_id: Ok((drm::AMD, card.id)),
        driver: Err(Absent::NotReported),
        board: BoardId(id),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: card.id == MI300A,
        c2c: card.id == MI300A,
        virtual_share: false,
        details: details
            .into_iter()
            .filter_map(|(name, value)| Some((Arc::from(name), Arc::from(value?))))
            .collect(),
    }
}

/// A card's name by its ids: our table's, else that of libdrm's (`device, revision, name`).
fn name(card: &Card, names: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(id, _)| *id == card.id) {
        return (*name).to_owned();
    }
    let revision = sysfs::text(&card.device.join("revision"));
    let revision = revision.ok().and_then(|text| sysfs::hexadecimal(&text));
    let row = names.lines().find_map(|line| {
        let mut parts = line.splitn(3, ',').map(str::trim);
        let device = sysfs::hexadecimal(parts.next()?)?;
        let variant = sysfs::hexadecimal(parts.next()?)?;
        (device == u32::from(card.id) && Some(variant) == revision).then(|| parts.next())?
    });
    row.map_or_else(
        || format!("AMD GPU {:04x}", card.id),
        |name| clean(name).trim().to_owned(),
    )
}
