//! What the system shows of the devices without the library: it tells what would help.

use super::fault::{
    BAD_ID, DEVICE_NOT_THERE, Fault, INNER, NO_PERMISSION, NOT_READY, NOT_SUPPORTED, OCCUPIED,
};
use super::ffi;
use crate::model::{ProbeHint, ProbeStatus};
use crate::probe::surroundings::in_container;
use crate::probe::vendor::VendorOptions;
use crate::probe::{dynamic, pcie};
use std::fs;
use std::path::Path;

/// Huawei, which makes much else: only accelerators count.
const PCI_VENDOR: u16 = 0x19e5;

/// What was seen under a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence {
    /// A device is on the PCI bus, or a node of the driver is there.
    device: bool,
    container: bool,
}

/// Looks around under `root`.
pub(super) fn look(root: &Path) -> Presence {
    let has_node = || {
        let entries = fs::read_dir(root.join("dev")).into_iter().flatten();
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("davinci"))
    };
    let on_bus = || {
        let found = pcie::accelerators(root);
        found.iter().any(|found| found.vendor_id == PCI_VENDOR)
    };
    Presence {
        device: has_node() || on_bus(),
        container: in_container(root),
    }
}

/// What would help where the library cannot be loaded, by what the loader said.
pub(super) fn hint_without_library(options: &VendorOptions, said: &str) -> ProbeHint {
    let candidates = dynamic::candidates(options, ffi::NAME, ffi::DIRECTORIES);
    let is_there = candidates.iter().any(|file| Path::new(file).is_file());
    match &options.library {
        // It is there, but not what it needs in turn.
        _ if is_there && said.contains("cannot open shared object file") => ProbeHint::LibraryPath,
        Some(_) => ProbeHint::Unknown,
        None => look(&options.root).hint(),
    }
}

impl Presence {
    /// What would help where nothing is listed.
    pub(super) const fn hint(&self) -> ProbeHint {
        match (self.device, self.container) {
            (false, _) => ProbeHint::NoHardware,
            (true, true) => ProbeHint::ContainerWithoutDevices,
            (true, false) => ProbeHint::InstallDriver,
        }
    }

    /// How a fault of the library's start reads, and what would help. A device belongs to one container at a time: in a
    /// second one the start fails with "inner error" or "occupied".
    pub(super) const fn judge(&self, fault: Fault) -> (ProbeStatus, ProbeHint) {
        match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            Fault::Busy => (ProbeStatus::TimedOut, ProbeHint::Unknown),
            Fault::Code(OCCUPIED) => (ProbeStatus::NoPermission, ProbeHint::HeldElsewhere),
            Fault::Code(INNER) if self.device => {
                (ProbeStatus::NoPermission, ProbeHint::HeldElsewhere)
            }
            Fault::Code(NO_PERMISSION) => (ProbeStatus::NoPermission, ProbeHint::Permission),
            Fault::Code(INNER | NOT_SUPPORTED | BAD_ID | DEVICE_NOT_THERE | NOT_READY) => {
                (ProbeStatus::NoDevice, self.hint())
            }
            Fault::Code(_) | Fault::Count(_) => (ProbeStatus::NoDevice, ProbeHint::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Vendor;
    use crate::probe::tree::Tree;

    fn put_device(tree: &Tree, class: &str) {
        for (file, text) in [("vendor", "0x19e5"), ("device", "0xd802"), ("class", class)] {
            tree.write(&format!("/sys/bus/pci/devices/0000:c1:00.0/{file}"), text);
        }
    }

    #[test]
    fn each_kind_of_machine_gets_its_hint() {
        let tree = Tree::new(&[]);
        let hint = |tree: &Tree| look(tree.root()).hint();
        assert_eq!(hint(&tree), ProbeHint::NoHardware);
        // A network card, of which every Kunpeng server has some.
        put_device(&tree, "0x020000");
        assert_eq!(hint(&tree), ProbeHint::NoHardware);
        put_device(&tree, "0x120000");
        assert_eq!(hint(&tree), ProbeHint::InstallDriver);
        let tree = Tree::new(&[("/dev/davinci11", ""), ("/.dockerenv", "")]);
        assert_eq!(hint(&tree), ProbeHint::ContainerWithoutDevices);
    }

    #[test]
    fn a_library_that_lacks_another_one_gets_its_way() {
        let tree = Tree::new(&[("/dev/davinci0", "")]);
        let mut options = VendorOptions {
            vendor: Vendor::Ascend,
            root: tree.root().to_owned(),
            library: None,
            measure_pcie: false,
        };
        let lacks = "libdrvdsmi_host.so: cannot open shared object file: No such file or directory";
        let hint = |options: &VendorOptions| hint_without_library(options, lacks);
        assert_eq!(hint(&options), ProbeHint::InstallDriver);
        tree.write("/usr/local/dcmi/libdcmi.so", "");
        assert_eq!(hint(&options), ProbeHint::LibraryPath);
        assert_eq!(
            hint_without_library(&options, "file too short"),
            ProbeHint::InstallDriver
        );
        options.library = Some("/nowhere/libdcmi.so".into());
        assert_eq!(hint(&options), ProbeHint::Unknown);
    }

    #[test]
    fn the_start_s_codes_are_told_apart() {
        let there = Presence {
            device: true,
            container: true,
        };
        let nothing = Presence {
            device: false,
            ..there
        };
        for (seen, code, status, hint) in [
            (
                there,
                INNER,
                ProbeStatus::NoPermission,
                ProbeHint::HeldElsewhere,
            ),
            (nothing, INNER, ProbeStatus::NoDevice, ProbeHint::NoHardware),
            (
                nothing,
                OCCUPIED,
                ProbeStatus::NoPermission,
                ProbeHint::HeldElsewhere,
            ),
            (
                there,
                NO_PERMISSION,
                ProbeStatus::NoPermission,
                ProbeHint::Permission,
            ),
            (
                there,
                NOT_SUPPORTED,
                ProbeStatus::NoDevice,
                ProbeHint::ContainerWithoutDevices,
            ),
            (there, -8017, ProbeStatus::NoDevice, ProbeHint::Unknown),
        ] {
            assert_eq!(seen.judge(Fault::Code(code)), (status, hint), "{code}");
        }
    }
}
