//! Accelerators that stand on the bus and that no probe reads here: who makes them, and what is missing.

use super::drm::{AMD, INTEL};
use super::pcie::{self, Found};
use crate::model::{ProbeHint, ProbeReport, ProbeStatus, Vendor};
use std::path::Path;
use std::sync::Arc;

/// Addresses that a report names; of more, their number is enough.
const NAMED: usize = 4;

/// Who makes accelerators with this PCI vendor id.
struct Maker {
    id: u16,
    vendor: Vendor,
    name: &'static str,
    /// The library that tells of its devices, or the vendor's word where there is none.
    library: &'static str,
    /// Whether this program can read them where driver and library are there.
    has_probe: bool,
}

const fn readable(id: u16, vendor: Vendor, name: &'static str, library: &'static str) -> Maker {
    Maker {
        id,
        vendor,
        name,
        library,
        has_probe: true,
    }
}

const fn unread(id: u16, vendor: Vendor, name: &'static str, library: &'static str) -> Maker {
    Maker {
        id,
        vendor,
        name,
        library,
        has_probe: false,
    }
}

/// By PCI vendor id (pci-ids.ucw.cz; MetaX, T-Head and Moore Threads as their own tools' results show them).
const MAKERS: &[Maker] = &[
    readable(0x10de, Vendor::Nvidia, "NVIDIA", "libnvidia-ml.so.1"),
    readable(AMD, Vendor::Amd, "AMD", "amd"),
    readable(INTEL, Vendor::Intel, "Intel", "intel"),
    readable(0x19e5, Vendor::Ascend, "Huawei Ascend", "libdcmi.so"),
    readable(0xcabc, Vendor::Cambricon, "Cambricon", "libcndev.so"),
    readable(0x1da3, Vendor::Gaudi, "Intel Gaudi", "libhlml.so"),
    readable(0x1e3e, Vendor::Iluvatar, "Iluvatar CoreX", "libixml.so"),
    unread(0x9999, Vendor::Metax, "MetaX", "libmxsml.so"),
    unread(0x1ed5, Vendor::MooreThreads, "Moore Threads", "libmtml.so"),
    unread(0x1e36, Vendor::Enflame, "Enflame", "libefml.so"),
    unread(0x1d22, Vendor::Kunlun, "Kunlunxin", "libxpuml.so"),
    unread(0x1ded, Vendor::Thead, "T-Head", "libhgml.so"),
    unread(0x1d94, Vendor::Hygon, "Hygon DCU", "librocm_smi64.so"),
    unread(0x1e52, Vendor::Tenstorrent, "Tenstorrent", "tenstorrent"),
    unread(0x1ae0, Vendor::Tpu, "Google TPU", "libtpuinfo.so"),
    unread(0x1d0f, Vendor::Neuron, "AWS Neuron", "neuron"),
];

/// A report for each vendor whose devices are on the bus under `root` and whose probe does not run. Reads a few files of each
/// PCI device: some milliseconds, so nothing for the screen's thread.
pub(super) fn reports(root: &Path, running: &[Vendor]) -> Vec<ProbeReport> {
    let all = pcie::accelerators(root);
    MAKERS
        .iter()
        .filter(|maker| !running.contains(&maker.vendor))
        .filter_map(|maker| {
            let theirs: Vec<&Found> = all.iter().filter(|one| one.vendor_id == maker.id).collect();
            (!theirs.is_empty()).then(|| report(maker, &theirs))
        })
        .collect()
}

fn report(maker: &Maker, found: &[&Found]) -> ProbeReport {
    let addresses: Vec<String> = found
        .iter()
        .take(NAMED)
        .map(|one| one.address.to_string())
        .collect();
    let more = if found.len() > NAMED { ", ..." } else { "" };
    let driver = found.iter().find_map(|one| one.driver.as_deref());
    let has = match driver {
        Some(driver) => format!("the kernel driver {} has them", crate::text::clean(driver)),
        None => "no kernel driver has them".to_owned(),
    };
    let lacks = match (maker.has_probe, driver) {
        (false, _) => "this version cannot read them",
        (true, None) => "so they cannot be read",
        (true, Some(_)) => "what tells of them is missing here",
    };
    let message = format!(
        "{} of {} on the PCI bus ({}{more}): {has}, {lacks}",
        found.len(),
        maker.name,
        addresses.join(", "),
    );
    ProbeReport {
        vendor: maker.vendor,
        library: Arc::from(maker.library),
        path: None,
        version: None,
        status: ProbeStatus::NoLibrary,
        code: None,
        message: Some(Arc::from(message)),
        hint: match (maker.has_probe, driver) {
            (false, _) => ProbeHint::NoReader,
            (true, None) => ProbeHint::InstallDriver,
            (true, Some(_)) => ProbeHint::InstallLibrary,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    fn bus(devices: &[(&str, &str, &str, &str)]) -> Tree {
        let tree = Tree::new(&[]);
        for (address, vendor, device, class) in devices {
            for (name, text) in [("vendor", vendor), ("device", device), ("class", class)] {
                tree.write(&format!("/sys/bus/pci/devices/{address}/{name}"), text);
            }
        }
        tree
    }

    #[test]
    fn each_vendor_without_a_running_probe_is_told_once() {
        let tree = bus(&[
            ("0000:0e:00.0", "0x9999", "0x4000", "0x038000"),
            ("0000:0f:00.0", "0x9999", "0x4000", "0x038000"),
            ("0000:3d:00.0", "0x1ed5", "0x0300", "0x030200"),
            ("0000:c1:00.0", "0x19e5", "0xd802", "0x120000"),
            ("0000:c2:00.0", "0x19e5", "0x1822", "0x020000"), // a network card
            ("0000:c3:00.0", "0x19e5", "0x1711", "0x030000"), // a server's VGA
            ("0000:00:0b.0", "0x8086", "0x7d1d", "0x120000"), // a processor's own
            ("0000:10:1e.0", "0x1d0f", "0x7164", "0x088000"),
            ("0000:00:05.0", "0x1d0f", "0xec20", "0x020000"), // a network card
            ("0000:00:04.0", "0x1ae0", "0x0042", "0x020000"), // a network card
            ("0000:00:06.0", "0x1ae0", "0x0063", "0xff0000"),
            ("0000:83:00.0", "0x1002", "0x74a1", "0x120000"),
            ("0000:65:00.0", "0x1002", "0x164e", "0x030000"), // a processor's own
            ("0000:00:02.0", "0x8086", "0x4680", "0x038000"), // a processor's own
        ]);
        tree.link(
            "/sys/bus/pci/devices/0000:c1:00.0/driver",
            "../../drivers/devdrv",
        );
        let words = |running: &[Vendor]| -> Vec<&'static str> {
            let reports = reports(tree.root(), running);
            reports.iter().map(|report| report.vendor.word()).collect()
        };
        assert_eq!(
            words(&[Vendor::Nvidia]),
            ["amd", "ascend", "metax", "moorethreads", "tpu", "neuron"]
        );
        assert_eq!(
            words(&[Vendor::Nvidia, Vendor::Amd, Vendor::Ascend]),
            ["metax", "moorethreads", "tpu", "neuron"]
        );
        let all = reports(tree.root(), &[]);
        let of = |vendor| all.iter().find(|report| report.vendor == vendor);
        let said = |vendor| of(vendor).map(|r| (r.hint, r.message.as_deref().unwrap_or_default()));
        assert_eq!(
            said(Vendor::Metax),
            Some((
                ProbeHint::NoReader,
                "2 of MetaX on the PCI bus (0000:0e:00.0, 0000:0f:00.0): no kernel driver has them, this version cannot read them"
            ))
        );
        assert_eq!(
            said(Vendor::Ascend),
            Some((
                ProbeHint::InstallLibrary,
                "1 of Huawei Ascend on the PCI bus (0000:c1:00.0): the kernel driver devdrv has them, what tells of them is missing here"
            ))
        );
        assert_eq!(
            of(Vendor::Amd).map(|r| r.hint),
            Some(ProbeHint::InstallDriver)
        );
        assert_eq!(reports(Path::new("/no/such/root"), &[]), []);
    }
}
