//! Graphics and compute cards as the kernel's DRM lists them.

use super::sysfs;
use crate::model::PciAddress;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// PCI vendor id of AMD.
pub(super) const AMD: u16 = 0x1002;
/// PCI vendor id of Intel.
pub(super) const INTEL: u16 = 0x8086;

/// A card with a kernel driver.
#[derive(Debug, Clone)]
pub(super) struct Card {
    /// `/sys/class/drm/cardN`.
    pub(super) node: PathBuf,
    /// The folder of its PCI device.
    pub(super) device: PathBuf,
    /// Where it is on the bus.
    pub(super) address: PciAddress,
    /// Its PCI device id.
    pub(super) id: u16,
}

/// Whether an AMD device id is that of a card: those of processors lie outside (libdrm's amdgpu.ids, pci.ids).
pub(super) const fn is_amd_card(id: u16) -> bool {
    matches!(id, 0x6600..0x8000)
}

/// The cards of a vendor, by address. A partition's card has no PCI device of its own and is not among them.
pub(super) fn cards(root: &Path, vendor: u16) -> Vec<Card> {
    let Ok(home) = root.canonicalize() else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(home.join("sys/class/drm")) else {
        return Vec::new();
    };
    let mut cards: Vec<Card> = entries
        .flatten()
        .filter(|entry| is_card(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| card(&home, entry.path(), vendor))
        .collect();
    cards.sort_by_key(|card| card.address);
    cards.dedup_by_key(|card| card.address);
    cards
}

/// `card0`, not `card0-DP-1`.
fn is_card(name: &str) -> bool {
    let digits = name.strip_prefix("card").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn card(home: &Path, node: PathBuf, vendor: u16) -> Option<Card> {
    let device = node.join("device").canonicalize().ok()?;
    if !device.starts_with(home) {
        return None;
    }
    let id = |name: &str| sysfs::hexadecimal(&sysfs::text(&device.join(name)).ok()?);
    let uevent = sysfs::text(&device.join("uevent")).unwrap_or_default();
    let said = |key: &str| {
        let mut lines = uevent.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    let pair = said("PCI_ID").and_then(|pair| pair.split_once(':'));
    let of_pair = |part: Option<&str>| part.and_then(sysfs::hexadecimal);
    let whose = id("vendor").or_else(|| of_pair(pair.map(|(vendor, _)| vendor)))?;
    if whose != u32::from(vendor) {
        return None;
    }
    let which = id("device").or_else(|| of_pair(pair.map(|(_, device)| device)))?;
    Some(Card {
        address: said("PCI_SLOT_NAME")
            .or_else(|| device.file_name()?.to_str())?
            .parse()
            .ok()?,
        id: which.try_into().ok()?,
        node,
        device,
    })
}

/// The render nodes in a folder.
fn nodes(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("renderD"))
        .collect()
}

/// The cards whose device node is here, and how many others there are: sysfs shows a container all cards of its host,
/// whoever rents them. Where there are no nodes at all, or none is known of a card, nothing is known against it.
pub(super) fn ours(root: &Path, cards: Vec<Card>) -> (Vec<Card>, usize) {
    let here = nodes(&root.join("dev/dri"));
    let all = cards.len();
    let is_ours = |card: &Card| {
        let own = nodes(&card.device.join("drm"));
        here.is_empty() || own.is_empty() || own.iter().any(|node| here.contains(node))
    };
    let ours: Vec<Card> = cards.into_iter().filter(is_ours).collect();
    let others = all - ours.len();
    (ours, others)
}

impl Card {
    /// Graphics that are part of the processor, told without waking anything: Intel's sit on bus 0.
    pub(super) fn is_integrated(&self, vendor: u16) -> bool {
        match vendor {
            INTEL => self.address.domain == 0 && self.address.bus == 0,
            _ => !is_amd_card(self.id),
        }
    }
}

/// A card of the vendor that computes: for its sake a probe is worth a process.
pub(super) fn has_card(root: &Path, vendor: u16) -> bool {
    !computing(root, vendor).is_empty()
}

/// The cards that count. A processor's own graphics do not, but for AMD's where there is nothing else: some of those are
/// rented out for their large memory.
pub(super) fn computing(root: &Path, vendor: u16) -> Vec<Card> {
    let (integrated, discrete): (Vec<Card>, Vec<Card>) = cards(root, vendor)
        .into_iter()
        .partition(|card| card.is_integrated(vendor));
    let alone = vendor == AMD
        && discrete.is_empty()
        && !root.join("sys/module/nvidia").exists()
        && cards(root, INTEL)
            .iter()
            .all(|card| card.is_integrated(INTEL));
    if alone { integrated } else { discrete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    fn add(tree: &Tree, card: &str, address: &str, id: &str) {
        let device = format!("/sys/devices/{address}");
        let uevent = format!("PCI_CLASS=30000\nPCI_ID={id}\nPCI_SLOT_NAME={address}\n");
        tree.write(&format!("{device}/uevent"), &uevent);
        tree.link(
            &format!("/sys/class/drm/{card}/device"),
            &format!("../../../devices/{address}"),
        );
    }

    fn addresses(cards: &[Card]) -> Vec<String> {
        cards.iter().map(|card| card.address.to_string()).collect()
    }

    #[test]
    fn a_processor_s_own_graphics_do_not_count_beside_others() {
        let tree = Tree::new(&[("/sys/class/drm/version", "drm 1.1.0")]);
        add(&tree, "card1", "0000:64:00.0", "1002:164E");
        assert_eq!(addresses(&computing(tree.root(), AMD)), ["0000:64:00.0"]);
        tree.write("/sys/module/nvidia/version", "590");
        assert!(!has_card(tree.root(), AMD));
        add(&tree, "card0", "0000:03:00.0", "1002:744C");
        add(&tree, "card0-DP-1", "0000:04:00.0", "1002:744C");
        assert_eq!(addresses(&computing(tree.root(), AMD)), ["0000:03:00.0"]);
        add(&tree, "card2", "0000:00:02.0", "8086:A780");
        assert!(!has_card(tree.root(), INTEL));
    }

    #[test]
    fn a_card_without_a_node_here_is_somebody_else_s() {
        let tree = Tree::new(&[]);
        for (n, address) in [(0, "0000:03:00.0"), (1, "0000:43:00.0")] {
            add(&tree, &format!("card{n}"), address, "1002:74A1");
            let node = format!("/sys/devices/{address}/drm/renderD{}/dev", 128 + n);
            tree.write(&node, "226:128");
        }
        let all = || cards(tree.root(), AMD);
        assert_eq!(ours(tree.root(), all()).1, 0);
        tree.write("/dev/dri/renderD129", "");
        let (ours, others) = ours(tree.root(), all());
        assert_eq!(
            (addresses(&ours), others),
            (vec!["0000:43:00.0".to_owned()], 1)
        );
    }
}
