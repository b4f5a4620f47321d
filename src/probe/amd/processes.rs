//! Who is on a card: those that have it open, and those that the compute driver (KFD) keeps memory for.

use super::Unit;
use crate::model::{Absent, DeviceProcess, PciAddress, Reading};
use crate::probe::clients::Clients;
use crate::probe::sysfs::{self, MEMORY, within};
use std::fs;
use std::path::Path;

/// The processes of a card. KFD's list is the host's: in a container some of its PIDs are not ours.
pub(super) fn list(root: &Path, clients: &Clients, unit: &Unit) -> Reading<Vec<DeviceProcess>> {
    let opened = clients.of(unit.card.address);
    let kept = kfd(root, unit.card.address);
    let mut list = match opened {
        Ok(list) => list,
        Err(_) if !kept.is_empty() => Vec::new(),
        Err(why) => return Err(why),
    };
    for (pid, bytes) in kept {
        match list.iter_mut().find(|process| process.pid == pid) {
            // Memory that both know of is the same memory.
            Some(process) => {
                process.memory_bytes = Ok(process.memory_bytes.map_or(bytes, |b| b.max(bytes)));
                process.graphics = false;
            }
            None => list.push(DeviceProcess {
                pid,
                memory_bytes: Ok(bytes),
                utilization_ratio: Err(Absent::NotReported),
                instance: None,
                graphics: false,
            }),
        }
    }
    Ok(list)
}

/// Bytes that compute processes hold on a card, over its partitions.
fn kfd(root: &Path, address: PciAddress) -> Vec<(u32, f64)> {
    let kfd = root.join("sys/class/kfd/kfd");
    let numbers = numbers(&kfd, address);
    let names: Vec<String> = numbers.iter().map(|id| format!("vram_{id}")).collect();
    let processes = fs::read_dir(kfd.join("proc"))
        .into_iter()
        .flatten()
        .flatten();
    processes
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let held = names.iter().filter_map(|name| {
                let raw = sysfs::number(&process.path().join(name)).ok()?;
                within(raw, 1.0, &MEMORY).ok()
            });
            let bytes: f64 = held.sum();
            (bytes > 0.0).then_some((pid, bytes))
        })
        .collect()
}

/// KFD's numbers of a card: its nodes say where they are. A partition's function is its own, so that the slot counts.
fn numbers(kfd: &Path, address: PciAddress) -> Vec<u32> {
    let nodes = fs::read_dir(kfd.join("topology/nodes"))
        .into_iter()
        .flatten()
        .flatten();
    nodes
        .filter_map(|node| {
            let id = sysfs::text(&node.path().join("gpu_id"))
                .ok()?
                .parse()
                .ok()?;
            let properties = sysfs::text(&node.path().join("properties")).ok()?;
            let property = |name: &str| {
                let mut rows = properties.lines().filter_map(|line| line.split_once(' '));
                rows.find(|(key, _)| *key == name)?
                    .1
                    .trim()
                    .parse::<u32>()
                    .ok()
            };
            let location = property("location_id")?;
            let slot = (
                property("domain").unwrap_or(0),
                location >> 8 & 0xFF,
                location >> 3 & 0x1F,
            );
            let ours = (address.domain, address.bus.into(), address.device.into());
            (id != 0 && slot == ours).then_some(id)
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn memory_of_all_partitions_of_a_card_is_summed() {
        let tree = Tree::new(&[
            ("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n"),
            (
                "/sys/class/kfd/kfd/topology/nodes/0/properties",
                "cpu_cores_count 64\nlocation_id 0\ndomain 0\n",
            ),
            ("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "41012\n"),
            (
                "/sys/class/kfd/kfd/topology/nodes/1/properties",
                "location_id 33536\ndomain 0\n",
            ),
            ("/sys/class/kfd/kfd/topology/nodes/2/gpu_id", "7007\n"),
            (
                "/sys/class/kfd/kfd/topology/nodes/2/properties",
                "location_id 33537\ndomain 0\n",
            ),
            ("/sys/class/kfd/kfd/proc/77/vram_41012", "1000\n"),
            ("/sys/class/kfd/kfd/proc/77/vram_7007", "24\n"),
            ("/sys/class/kfd/kfd/proc/77/vram_9", "5\n"),
            ("/sys/class/kfd/kfd/proc/78/vram_41012", "0\n"),
            (
                "/sys/class/kfd/kfd/proc/79/vram_41012",
                "18446744073709551615\n",
            ),
        ]);
        let at = |address: &str| kfd(tree.root(), address.parse().unwrap());
        assert_eq!(at("0000:83:00.0"), [(77, 1024.0)]);
        assert_eq!(at("0000:84:00.0"), []);
    }
}
