//! The command that shows a thing once more, of the tool that comes with the device's driver.

use crate::model::{Device, Vendor};
use crate::text::Catalogue;
use std::borrow::Cow;

/// What is to be looked at, or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Power,
    Clocks,
    Health,
    Memory,
    Topology,
    /// Links between devices.
    Links,
    /// Sets clocks free.
    ReleaseClocks,
    /// What the kernel says.
    Kernel,
}

/// The command for a device; `None` where no tool of its vendor's is known to do it.
pub(super) fn command(about: About, device: &Device, t: Catalogue) -> Option<Cow<'static, str>> {
    let index = device.index;
    match device.vendor {
        Vendor::Nvidia => Some(match about {
            About::Power => t.findings_next_power(index),
            About::Clocks => t.findings_next_clocks(index),
            About::Health => t.findings_next_health(index),
            About::Memory => t.verdict_run_memory(index),
            About::Topology => t.verdict_run_topology(),
            About::Links => t.verdict_run_nvlink(index),
            About::ReleaseClocks => t.verdict_run_reset_clocks(index),
            About::Kernel => t.findings_next_kernel(),
        }),
        Vendor::Ascend => ascend(about, device, t),
        _ => (about == About::Kernel).then(|| t.findings_next_kernel_log()),
    }
}

/// npu-smi counts cards, whose numbers have gaps.
fn ascend(about: About, device: &Device, t: Catalogue) -> Option<Cow<'static, str>> {
    let mut details = device.details.iter();
    let npu = details.find(|(name, _)| &**name == "npu");
    let npu = npu.map_or_else(|| device.index.to_string(), |(_, npu)| npu.to_string());
    Some(t.findings_next_ascend(
        match about {
            About::Power => "power",
            About::Clocks => "common",
            About::Health => "health",
            About::Memory => "proc-mem",
            About::Kernel => return Some(t.findings_next_kernel_log()),
            About::Topology | About::Links | About::ReleaseClocks => return None,
        },
        npu,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Absent, BoardId, DeviceId, DeviceKind};
    use crate::text::Lang;
    use std::sync::Arc;

    fn device(vendor: Vendor) -> Device {
        let id: Arc<str> = Arc::from("x");
        Device {
            id: DeviceId(Arc::clone(&id)),
            index: 1,
            vendor,
            name: Arc::from("x"),
            uuid: Err(Absent::NotReported),
            pci_address: Err(Absent::NotReported),
            pci_id: Err(Absent::NotReported),
            driver: Err(Absent::NotReported),
            board: BoardId(id),
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details: vec![(Arc::from("npu"), Arc::from("6"))],
        }
    }

    #[test]
    fn no_vendor_s_device_gets_another_vendor_s_command() {
        let t = Catalogue::new(Lang::En);
        let of = |vendor, about| command(about, &device(vendor), t).map(Cow::into_owned);
        let told = |text: &str| Some(text.to_owned());
        for (vendor, about, expected) in [
            (
                Vendor::Nvidia,
                About::Power,
                told("nvidia-smi -q -i 1 -d POWER"),
            ),
            (
                Vendor::Ascend,
                About::Health,
                told("npu-smi info -t health -i 6"),
            ),
            (Vendor::Ascend, About::ReleaseClocks, None),
            (Vendor::Cambricon, About::Health, None),
            (Vendor::Cambricon, About::Kernel, told("dmesg | tail -n 50")),
        ] {
            assert_eq!(of(vendor, about), expected, "{vendor:?}");
        }
    }
}
