//! What the system shows of the vendor's devices without the library: it tells what would help.

use super::fault::{
    DRIVER_NOT_LOADED, Fault, LIB_RM_VERSION_MISMATCH, LIBRARY_NOT_FOUND, NO_PERMISSION,
    OPERATING_SYSTEM, UNKNOWN,
};
use crate::model::{ProbeHint, ProbeStatus, Vendor};
use crate::probe::surroundings::in_container;
use std::fs;
use std::path::Path;

/// PCI classes of accelerators: display (also 3D), processing accelerator, and the old co-processor.
const CLASSES: &[&str] = &["0x03", "0x0b40", "0x12"];

/// What was seen under a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Presence {
    /// Devices of the vendor on the PCI bus.
    pub(super) on_bus: usize,
    /// The kernel driver is loaded.
    pub(super) driver: bool,
    /// Device nodes are there.
    pub(super) nodes: bool,
    /// We run in a container.
    pub(super) container: bool,
}

const fn pci_vendor(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Iluvatar => "0x1e3e",
        _ => "0x10de",
    }
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_lowercase())
}

/// Looks around under `root`.
pub(super) fn look(root: &Path, vendor: Vendor) -> Presence {
    let names = |path: &str| {
        let entries = fs::read_dir(root.join(path)).into_iter().flatten();
        entries.filter_map(Result::ok).map(|entry| entry.path())
    };
    let ours = |device: &Path| {
        read(&device.join("vendor")).as_deref() == Some(pci_vendor(vendor))
            && read(&device.join("class"))
                .is_some_and(|class| CLASSES.iter().any(|c| class.starts_with(c)))
    };
    let is_node = |path: &Path| {
        // `/dev/dxg` is how WSL2 shows the Windows host's devices.
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        name.starts_with("nvidia") || name == "dxg"
    };
    // What other vendors' drivers leave in the system is not known.
    let nvidia = vendor == Vendor::Nvidia;
    Presence {
        on_bus: names("sys/bus/pci/devices").filter(|d| ours(d)).count(),
        driver: nvidia && root.join("proc/driver/nvidia/version").exists(),
        nodes: nvidia && names("dev").any(|path| is_node(&path)),
        container: in_container(root),
    }
}

impl Presence {
    /// What would help where the library is not there, or lists nothing.
    pub(super) const fn hint(&self) -> ProbeHint {
        match self {
            Self {
                on_bus: 0,
                driver: false,
                nodes: false,
                ..
            } => ProbeHint::NoHardware,
            Self {
                container: true, ..
            } => ProbeHint::ContainerWithoutDevices,
            Self { .. } => ProbeHint::InstallDriver,
        }
    }

    /// How a fault of the library's start reads, and what would help.
    pub(super) fn judge(&self, fault: Fault) -> (ProbeStatus, ProbeHint) {
        let Fault::Code(code) = fault else {
            return (ProbeStatus::NoLibrary, ProbeHint::Unknown);
        };
        match code {
            LIB_RM_VERSION_MISMATCH => (ProbeStatus::Mismatch, ProbeHint::Restart),
            LIBRARY_NOT_FOUND => (ProbeStatus::NoLibrary, self.hint()),
            NO_PERMISSION => (ProbeStatus::NoPermission, ProbeHint::Permission),
            OPERATING_SYSTEM if self.container => (
                ProbeStatus::NoPermission,
                ProbeHint::ContainerWithoutDevices,
            ),
            OPERATING_SYSTEM => (ProbeStatus::NoPermission, ProbeHint::Permission),
            UNKNOWN if self.container => (ProbeStatus::NoPermission, ProbeHint::RecreateContainer),
            DRIVER_NOT_LOADED => (ProbeStatus::NoDevice, self.hint()),
            _ => (ProbeStatus::NoDevice, ProbeHint::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn each_kind_of_machine_gets_its_hint() {
        let card = [
            ("sys/bus/pci/devices/0000:19:00.0/vendor", "0x10de\n"),
            ("sys/bus/pci/devices/0000:19:00.0/class", "0x030200\n"),
        ];
        let bridge = [
            ("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n"),
            ("sys/bus/pci/devices/0000:01:00.0/class", "0x068000\n"),
            ("sys/bus/pci/devices/0000:02:00.0/vendor", "0x1a03\n"),
            ("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n"),
        ];
        let docker = [(".dockerenv", "")];
        let pod = [("proc/1/cgroup", "0::/kubepods.slice/x\n")];
        let overlay = [(
            "proc/1/mountinfo",
            "604 603 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/x\n",
        )];
        let driver = [("proc/driver/nvidia/version", "NVRM version: 580.95.05\n")];
        let wsl = [("dev/dxg", "")];
        let none: [(&str, &str); 0] = [];
        for (files, hint) in [
            (none.to_vec(), ProbeHint::NoHardware),
            (bridge.to_vec(), ProbeHint::NoHardware),
            (docker.to_vec(), ProbeHint::NoHardware),
            (card.to_vec(), ProbeHint::InstallDriver),
            (wsl.to_vec(), ProbeHint::InstallDriver),
            (
                [card, [docker[0], docker[0]]].concat(),
                ProbeHint::ContainerWithoutDevices,
            ),
            ([driver, pod].concat(), ProbeHint::ContainerWithoutDevices),
            (
                [driver, overlay].concat(),
                ProbeHint::ContainerWithoutDevices,
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in &files {
                put(root.path(), path, text);
            }
            let seen = look(root.path(), Vendor::Nvidia);
            assert_eq!(seen.hint(), hint, "{files:?}");
        }
    }

    #[test]
    fn the_start_s_codes_are_told_apart() {
        let inside = Presence {
            container: true,
            driver: true,
            ..Presence::default()
        };
        let outside = Presence {
            container: false,
            on_bus: 1,
            ..Presence::default()
        };
        for (presence, code, status, hint) in [
            (outside, 18, ProbeStatus::Mismatch, ProbeHint::Restart),
            (outside, 9, ProbeStatus::NoDevice, ProbeHint::InstallDriver),
            (
                inside,
                9,
                ProbeStatus::NoDevice,
                ProbeHint::ContainerWithoutDevices,
            ),
            (
                inside,
                999,
                ProbeStatus::NoPermission,
                ProbeHint::RecreateContainer,
            ),
            (outside, 999, ProbeStatus::NoDevice, ProbeHint::Unknown),
            (outside, 4, ProbeStatus::NoPermission, ProbeHint::Permission),
            (
                inside,
                17,
                ProbeStatus::NoPermission,
                ProbeHint::ContainerWithoutDevices,
            ),
            (
                outside,
                17,
                ProbeStatus::NoPermission,
                ProbeHint::Permission,
            ),
            (
                inside,
                12,
                ProbeStatus::NoLibrary,
                ProbeHint::ContainerWithoutDevices,
            ),
        ] {
            assert_eq!(presence.judge(Fault::Code(code)), (status, hint), "{code}");
        }
    }
}
