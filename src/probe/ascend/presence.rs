//! What the system shows of the devices without the library: it tells what would help.

use super::fault::{
    BAD_ID, DEVICE_NOT_THERE, Fault, INNER, NO_PERMISSION, NOT_READY, NOT_SUPPORTED, OCCUPIED,
};
use super::ffi;
use crate::model::{ProbeHint, ProbeStatus};
use crate::probe::surroundings;
use std::path::Path;

/// Huawei.
const PCI_VENDOR: &str = "0x19e5";
/// The driver's nodes: the manager's, and one for each device that we were given, whatever its number.
const NODES: &[&str] = &[
    "dev/davinci_manager",
    "dev/davinci0",
    "dev/davinci1",
    "dev/davinci2",
    "dev/davinci3",
    "dev/davinci4",
    "dev/davinci5",
    "dev/davinci6",
    "dev/davinci7",
];

/// What was seen under a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence {
    /// What would help if nothing else is known.
    hint: ProbeHint,
    /// The library's file is there, wherever the loader looks.
    library: bool,
}

/// Looks around under `root`.
pub(super) fn look(root: &Path) -> Presence {
    Presence {
        hint: surroundings::hint(root, PCI_VENDOR, NODES),
        library: ffi::DIRECTORIES
            .iter()
            .any(|folder| root.join(folder).join(ffi::NAME).exists()),
    }
}

impl Presence {
    /// What would help where the library cannot be loaded, or lists nothing.
    pub(super) const fn hint(&self, loaded: bool) -> ProbeHint {
        match self.library && !loaded {
            // It is there, but not what it needs in turn.
            true => ProbeHint::LibraryPath,
            false => self.hint,
        }
    }

    /// How a fault of the library's start reads, and what would help. A device belongs to one container at a time: in a
    /// second one the start fails with "inner error" or "occupied".
    pub(super) const fn judge(&self, fault: Fault) -> (ProbeStatus, ProbeHint) {
        match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            Fault::Busy => (ProbeStatus::TimedOut, ProbeHint::Unknown),
            Fault::Code(OCCUPIED) => (ProbeStatus::NoPermission, ProbeHint::HeldElsewhere),
            Fault::Code(INNER) if !matches!(self.hint, ProbeHint::NoHardware) => {
                (ProbeStatus::NoPermission, ProbeHint::HeldElsewhere)
            }
            Fault::Code(NO_PERMISSION) => (ProbeStatus::NoPermission, ProbeHint::Permission),
            Fault::Code(INNER | NOT_SUPPORTED | BAD_ID | DEVICE_NOT_THERE | NOT_READY) => {
                (ProbeStatus::NoDevice, self.hint(true))
            }
            Fault::Code(_) | Fault::Count(_) => (ProbeStatus::NoDevice, ProbeHint::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn each_kind_of_machine_gets_its_hint() {
        let tree = Tree::new(&[]);
        let hints = |tree: &Tree| {
            let seen = look(tree.root());
            [seen.hint(false), seen.hint(true)]
        };
        assert_eq!(hints(&tree), [ProbeHint::NoHardware; 2]);
        tree.write("/dev/davinci0", "");
        assert_eq!(hints(&tree), [ProbeHint::InstallDriver; 2]);
        tree.write("/.dockerenv", "");
        assert_eq!(hints(&tree), [ProbeHint::ContainerWithoutDevices; 2]);
        tree.write("/usr/local/dcmi/libdcmi.so", "");
        assert_eq!(
            hints(&tree),
            [ProbeHint::LibraryPath, ProbeHint::ContainerWithoutDevices]
        );
        let card = "/sys/bus/pci/devices/0000:c1:00.0";
        let tree = Tree::new(&[]);
        for (file, text) in [
            ("vendor", "0x19e5"),
            ("device", "0xd802"),
            ("class", "0x120000"),
        ] {
            tree.write(&format!("{card}/{file}"), text);
        }
        assert_eq!(hints(&tree), [ProbeHint::InstallDriver; 2]);
    }

    #[test]
    fn the_start_s_codes_are_told_apart() {
        let seen = |hint| Presence {
            hint,
            library: true,
        };
        let there = seen(ProbeHint::ContainerWithoutDevices);
        let nothing = seen(ProbeHint::NoHardware);
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
