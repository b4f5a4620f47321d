//! What the system shows of a vendor's devices without its library: it tells what would help.

use crate::model::ProbeHint;
use std::fs;
use std::path::Path;

/// What would help where a vendor's library is not there, or lists nothing: by the devices of its PCI vendor id
/// (`0xcabc`) and by the `nodes` that its driver makes.
pub(crate) fn hint(root: &Path, pci_vendor: &str, nodes: &[&str]) -> ProbeHint {
    let on_bus = || {
        let devices = fs::read_dir(root.join("sys/bus/pci/devices"));
        let mut devices = devices.into_iter().flatten().flatten();
        devices.any(|device| read(&device.path().join("vendor")).as_deref() == Some(pci_vendor))
    };
    if !on_bus() && !nodes.iter().any(|node| root.join(node).exists()) {
        ProbeHint::NoHardware
    } else if in_container(root) {
        ProbeHint::ContainerWithoutDevices
    } else {
        ProbeHint::InstallDriver
    }
}

fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_lowercase())
}

/// The marks that container engines leave; with cgroup v2 the root on an overlay is often the only one.
pub(crate) fn in_container(root: &Path) -> bool {
    let on_overlay = |line: &str| {
        line.split(' ').nth(4) == Some("/")
            && line
                .split_once(" - ")
                .is_some_and(|(_, kind)| kind.starts_with("overlay "))
    };
    [
        ".dockerenv",
        "run/.containerenv",
        "var/run/secrets/kubernetes.io",
    ]
    .iter()
    .any(|mark| root.join(mark).exists())
        || read(&root.join("proc/1/mountinfo")).is_some_and(|text| text.lines().any(on_overlay))
        || read(&root.join("proc/1/cgroup")).is_some_and(|text| {
            ["docker", "kubepods", "containerd", "libpod", "lxc"]
                .iter()
                .any(|mark| text.contains(mark))
        })
}
