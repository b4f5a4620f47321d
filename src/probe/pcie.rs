//! The PCI bus as sysfs shows it: the way from a device to its root port, and accelerators without their library.

use super::drm;
use crate::model::{Hop, PciAddress};
use std::fs;
use std::path::{Path, PathBuf};

/// An accelerator on the bus, whether or not a driver has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub address: PciAddress,
    /// PCI vendor id, `0x10de`.
    pub vendor_id: u16,
    /// PCI device id.
    pub device_id: u16,
    /// Base class, subclass and interface, `0x030200`.
    pub class: u32,
    /// The kernel driver that has it.
    pub driver: Option<String>,
}

/// The device and each bridge above it up to the root port, the device first. Empty where sysfs under `root` does
/// not have the device.
#[must_use]
pub fn path(root: &Path, address: PciAddress) -> Vec<Hop> {
    let folders = folders(root, address).into_iter();
    folders
        .map(|(folder, address)| hop(&folder, address))
        .collect()
}

/// The folders of a device and of each bridge above it.
fn folders(root: &Path, address: PciAddress) -> Vec<(PathBuf, PciAddress)> {
    let Ok(root) = root.canonicalize() else {
        return Vec::new();
    };
    let entry = root.join("sys/bus/pci/devices").join(address.to_string());
    let Ok(device) = entry.canonicalize() else {
        return Vec::new();
    };
    device
        .ancestors()
        .take_while(|folder| folder.starts_with(&root) && *folder != root)
        .map_while(|folder| Some((folder.to_path_buf(), full_address(folder)?)))
        .collect()
}

/// The link of the device alone, as it is now. `None` where sysfs under `root` does not have the device.
pub(crate) fn link(root: &Path, address: PciAddress) -> Option<Hop> {
    let folder = root.join("sys/bus/pci/devices").join(address.to_string());
    folder.is_dir().then(|| hop(&folder, address))
}

/// A link as files of sysfs say it: generation and width.
pub(super) type Link = (Option<u8>, Option<u8>);

/// The bridges above a device. What a device says of its own link is that of a switch on the card, or nothing that is so;
/// the least of the bridges is what goes through.
#[derive(Debug)]
pub(super) struct Upstream {
    device: PathBuf,
    bridges: Vec<PathBuf>,
    /// A virtual machine's bridges: what they say means nothing.
    pub(super) emulated: bool,
}

impl Upstream {
    /// Where `folder` is that of the device itself.
    pub(super) fn of(root: &Path, address: PciAddress, folder: &Path) -> Self {
        let above = folders(root, address).into_iter().skip(1);
        let bridges: Vec<PathBuf> = above.map(|(folder, _)| folder).collect();
        Self {
            device: folder.to_path_buf(),
            emulated: bridges.iter().any(|bridge| {
                let id = |name| hex(&fs::read_to_string(bridge.join(name)).ok()?);
                is_emulated(id("vendor"), id("device"))
            }),
            bridges,
        }
    }

    /// The link in use.
    pub(super) fn now(&self) -> Link {
        self.least("current_link_speed", "current_link_width")
    }

    /// The most that the bridges could have.
    pub(super) fn most(&self) -> Link {
        self.least("max_link_speed", "max_link_width")
    }

    /// What the device says of its own link, in use and at most.
    pub(super) fn own(&self) -> (Link, Link) {
        let link = |speed, width| {
            let folder = &self.device;
            (
                read(folder, speed, generation),
                read(folder, width, self::width),
            )
        };
        (
            link("current_link_speed", "current_link_width"),
            link("max_link_speed", "max_link_width"),
        )
    }

    fn least(&self, speed: &str, width: &str) -> Link {
        if self.emulated {
            return (None, None);
        }
        let bridges = || self.bridges.iter();
        (
            bridges()
                .filter_map(|folder| read(folder, speed, generation))
                .min(),
            bridges()
                .filter_map(|folder| read(folder, width, self::width))
                .min(),
        )
    }
}

fn read(folder: &Path, name: &str, of: fn(&str) -> Option<u8>) -> Option<u8> {
    of(&fs::read_to_string(folder.join(name)).ok()?)
}

/// The lesser of two, or the one that is known.
pub(super) fn lesser(a: Option<u8>, b: Option<u8>) -> Option<u8> {
    a.into_iter().chain(b).min()
}

/// A folder that is a PCI function, `0000:19:00.0`; a root complex (`pci0000:00`) is none.
fn full_address(folder: &Path) -> Option<PciAddress> {
    let name = folder.file_name()?.to_str()?;
    let address: PciAddress = name.parse().ok()?;
    (address.to_string() == name).then_some(address)
}

fn hop(folder: &Path, address: PciAddress) -> Hop {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    // Newer kernels wake a device to read its link.
    let sleeps = text("power/runtime_status").is_some_and(|status| status.trim() == "suspended");
    let link = |name| (!sleeps).then(|| text(name))?;
    let speed = |name| link(name).and_then(|text| generation(&text));
    let lanes = |name| link(name).and_then(|text| width(&text));
    let id = |name| text(name).and_then(|text| hex(&text));
    Hop {
        address,
        generation: speed("current_link_speed"),
        width: lanes("current_link_width"),
        generation_max: speed("max_link_speed"),
        width_max: lanes("max_link_width"),
        emulated: is_emulated(id("vendor"), id("device")),
    }
}

/// PCI vendor ids of hypervisors (pci-ids.ucw.cz): Red Hat's QEMU and virtio, QEMU's own, VMware, Microsoft, Xen,
/// VirtualBox, Parallels.
const HYPERVISORS: [u32; 8] = [
    0x1b36, 0x1af4, 0x1234, 0x15ad, 0x1414, 0x5853, 0x80ee, 0x1ab8,
];

/// Real bridges of 2008 that QEMU imitates for guests (`ioh3420`, `x3130-upstream`, `xio3130-downstream`); no
/// accelerator that is rented out sits behind a real one.
const IMITATED: [(u32, u32); 3] = [(0x8086, 0x3420), (0x104c, 0x8232), (0x104c, 0x8233)];

fn is_emulated(vendor: Option<u32>, device: Option<u32>) -> bool {
    let Some(vendor) = vendor else { return false };
    HYPERVISORS.contains(&vendor)
        || device.is_some_and(|device| IMITATED.contains(&(vendor, device)))
}

/// `16.0 GT/s PCIe` and `2.5 GT/s` (older kernels) as a generation; `Unknown` and other rates are none.
fn generation(text: &str) -> Option<u8> {
    let rate = text.trim().split_once(" GT/s")?.0;
    match rate {
        "2.5" => Some(1),
        "5.0" | "5" => Some(2),
        "8.0" | "8" => Some(3),
        "16.0" | "16" => Some(4),
        "32.0" | "32" => Some(5),
        "64.0" | "64" => Some(6),
        "128.0" | "128" => Some(7),
        _ => None,
    }
}

/// Lanes; 0 (no link) and 255 or 63 (unknown) are none.
fn width(text: &str) -> Option<u8> {
    lanes(text.trim().trim_start_matches('x').parse().ok()?)
}

/// A width that links have.
pub(super) fn lanes(lanes: u8) -> Option<u8> {
    matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32).then_some(lanes)
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// Every accelerator on the bus under `root`, by address. Empty where there is no PCI bus.
#[must_use]
pub fn accelerators(root: &Path) -> Vec<Found> {
    let Ok(entries) = fs::read_dir(root.join("sys/bus/pci/devices")) else {
        return Vec::new();
    };
    let mut all: Vec<Found> = entries
        .flatten()
        .filter_map(|entry| found(&entry.path()))
        .filter(is_accelerator)
        .collect();
    all.sort_by_key(|found| found.address);
    all
}

fn found(folder: &Path) -> Option<Found> {
    let id = |name: &str| hex(&fs::read_to_string(folder.join(name)).ok()?);
    let driver = fs::read_link(folder.join("driver")).ok();
    Some(Found {
        address: full_address(folder)?,
        vendor_id: id("vendor")?.try_into().ok()?,
        device_id: id("device")?.try_into().ok()?,
        class: id("class")?,
        driver: driver.and_then(|link| Some(link.file_name()?.to_str()?.to_owned())),
    })
}

/// Vendors whose display controllers compute, all of them: MetaX, Moore Threads, Enflame, Kunlunxin, T-Head, Hygon,
/// Tenstorrent, Cambricon, Habana, Iluvatar. (Huawei's are its servers' VGA.)
const DISPLAYS_COMPUTE: [u16; 10] = [
    0x9999, 0x1ed5, 0x1e36, 0x1d22, 0x1ded, 0x1d94, 0x1e52, 0xcabc, 0x1da3, 0x1e3e,
];
/// Google's TPUs (JAX's hardware_utils); its other devices are network cards.
const TPUS: [u16; 9] = [
    0x0027, 0x0056, 0x005e, 0x0062, 0x0063, 0x006f, 0x0076, 0x007c, 0x0083,
];
/// AWS' Inferentia and Trainium (the Neuron driver); its other devices are network cards and disks.
const NEURONS: [u16; 7] = [0x7064, 0x7065, 0x7066, 0x7067, 0x7164, 0x7264, 0x7364];

/// Class codes of the PCI Code and ID Assignment Specification. Display controllers count only from vendors whose
/// cards compute (a mainboard's VGA and a processor's own graphics do not), and Intel's co-processors are its compression
/// engines.
fn is_accelerator(one: &Found) -> bool {
    const NVIDIA: u16 = 0x10de;
    let (class, vendor, device) = (one.class >> 8, one.vendor_id, one.device_id);
    if vendor == drm::AMD && class >> 8 == 0x03 {
        return drm::is_amd_card(device);
    }
    // Parts of the processor: graphics, neural unit.
    if vendor == drm::INTEL && one.address.domain == 0 && one.address.bus == 0 {
        return false;
    }
    match class {
        _ if vendor == 0x1ae0 => TPUS.contains(&device),
        _ if vendor == 0x1d0f => NEURONS.contains(&device),
        // 3D controller; processing accelerator.
        0x0302 | 0x1200 => true,
        0x0300 => vendor == NVIDIA || DISPLAYS_COMPUTE.contains(&vendor),
        // "Other display": Intel's data-centre GPUs as well.
        0x0380 => matches!(vendor, NVIDIA | drm::INTEL) || DISPLAYS_COMPUTE.contains(&vendor),
        0x0b40 => vendor != drm::INTEL,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    const TOP: &str = "/sys/devices/pci0000:16";

    /// A GPU at gen 4 x8 behind a switch, on a root port.
    fn server() -> Tree {
        let tree = Tree::new(&[]);
        let chain = [
            "0000:16:01.0",
            "0000:17:00.0",
            "0000:18:04.0",
            "0000:19:00.0",
        ];
        let links = [
            ("32.0 GT/s PCIe", "16", "32.0 GT/s PCIe", "16", "0x8086"),
            ("16.0 GT/s PCIe", "16", "32.0 GT/s PCIe", "16", "0x1000"),
            ("16.0 GT/s PCIe", "8", "32.0 GT/s PCIe", "16", "0x1000"),
            ("16.0 GT/s PCIe", "8", "16.0 GT/s PCIe", "16", "0x10de"),
        ];
        let mut folder = TOP.to_owned();
        for (address, (speed, width, speed_max, width_max, vendor)) in chain.iter().zip(links) {
            folder = format!("{folder}/{address}");
            for (name, text) in [
                ("current_link_speed", speed),
                ("current_link_width", width),
                ("max_link_speed", speed_max),
                ("max_link_width", width_max),
                ("vendor", vendor),
                ("device", "0x2330"),
                (
                    "class",
                    if vendor == "0x10de" {
                        "0x030200"
                    } else {
                        "0x060400"
                    },
                ),
            ] {
                tree.write(&format!("{folder}/{name}"), &format!("{text}\n"));
            }
            tree.link(
                &format!("/sys/bus/pci/devices/{address}"),
                &format!("../../../..{folder}"),
            );
        }
        tree.link(
            &format!("{folder}/driver"),
            "../../../../../../bus/pci/drivers/nvidia",
        );
        tree
    }

    #[test]
    fn the_path_goes_up_to_the_root_port() {
        let tree = server();
        let hops = path(tree.root(), "19:00.0".parse().unwrap());
        let seen: Vec<_> = hops
            .iter()
            .map(|hop| {
                (
                    hop.address.to_string(),
                    hop.generation,
                    hop.width,
                    hop.generation_max,
                    hop.width_max,
                )
            })
            .collect();
        let all =
            |address: &str, a, b, c, d| (address.to_owned(), Some(a), Some(b), Some(c), Some(d));
        assert_eq!(
            seen,
            [
                all("0000:19:00.0", 4, 8, 4, 16),
                all("0000:18:04.0", 4, 8, 5, 16),
                all("0000:17:00.0", 4, 16, 5, 16),
                all("0000:16:01.0", 5, 16, 5, 16),
            ]
        );
        assert!(hops.iter().all(|hop| !hop.emulated));
        assert_eq!(path(tree.root(), "20:00.0".parse().unwrap()), []);
        assert_eq!(
            path(Path::new("/no/such/root"), "19:00.0".parse().unwrap()),
            []
        );
    }

    #[test]
    fn a_guest_has_emulated_bridges_and_unknown_links() {
        let tree = Tree::new(&[
            ("/sys/devices/pci0000:00/0000:00:02.0/vendor", "0x1b36\n"),
            ("/sys/devices/pci0000:00/0000:00:02.0/device", "0x000c\n"),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/current_link_speed",
                "2.5 GT/s PCIe\n",
            ),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/current_link_width",
                "1\n",
            ),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/vendor",
                "0x10de\n",
            ),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/current_link_speed",
                "Unknown\n",
            ),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/current_link_width",
                "0\n",
            ),
        ]);
        tree.link(
            "/sys/bus/pci/devices/0000:01:00.0",
            "../../../devices/pci0000:00/0000:00:02.0/0000:01:00.0",
        );
        let hops = path(tree.root(), "01:00.0".parse().unwrap());
        let seen: Vec<_> = hops
            .iter()
            .map(|hop| (hop.generation, hop.width, hop.emulated))
            .collect();
        assert_eq!(seen, [(None, None, false), (Some(1), Some(1), true)]);
    }

    #[test]
    fn a_link_out_of_the_root_is_not_followed() {
        let outside = server();
        let tree = Tree::new(&[]);
        let target = format!("{}{TOP}/0000:16:01.0", outside.root().display());
        tree.link("/sys/bus/pci/devices/0000:16:01.0", &target);
        assert_eq!(path(tree.root(), "16:01.0".parse().unwrap()), []);
    }

    #[test]
    fn accelerators_are_found_without_their_library() {
        let tree = server();
        let add = |address: &str, vendor: &str, class: &str| {
            for (name, text) in [("vendor", vendor), ("device", "0x0001"), ("class", class)] {
                tree.write(&format!("/sys/bus/pci/devices/{address}/{name}"), text);
            }
        };
        add("0000:03:00.0", "0x1a03", "0x030000"); // a mainboard's VGA
        add("0000:04:00.0", "0x1da3", "0x120000");
        add("0000:05:00.0", "0x8086", "0x0b4000"); // compression
        add("0000:06:00.0", "0x1002", "0x120000");
        add("0000:07:00.0", "0x10de", "0x060400");
        add("0000:08:00.0", "0x10de", "garbage");
        let all = accelerators(tree.root());
        let seen: Vec<_> = all
            .iter()
            .map(|one| (one.address.bus, one.vendor_id, one.driver.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                (0x04, 0x1da3, None),
                (0x06, 0x1002, None),
                (0x19, 0x10de, Some("nvidia"))
            ]
        );
        assert_eq!(accelerators(Path::new("/no/such/root")), []);
    }

    #[test]
    fn link_texts() {
        for (text, expected) in [
            ("2.5 GT/s PCIe\n", Some(1)),
            ("5 GT/s", Some(2)),
            ("8.0 GT/s PCIe", Some(3)),
            ("64.0 GT/s PCIe", Some(6)),
            ("Unknown speed", None),
            ("Unknown", None),
            ("", None),
            ("3.7 GT/s", None),
        ] {
            assert_eq!(generation(text), expected, "{text}");
        }
        for (text, expected) in [
            ("16\n", Some(16)),
            ("x8", Some(8)),
            ("0", None),
            ("255", None),
            ("63", None),
        ] {
            assert_eq!(width(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,16}") {
            let _ = (generation(&text), width(&text), hex(&text));
        }
    }
}
