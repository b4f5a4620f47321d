//! What is particular to a vendor in what the screen advises: tools, flags, and which command asks the same question.

use crate::model::{DeviceKind, DeviceView, Vendor};
use std::borrow::Cow;

type Text = Cow<'static, str>;

/// The flag that names another library of a vendor's; none where it is read without one.
pub(super) const fn library_flag(vendor: Vendor) -> Option<&'static str> {
    Some(match vendor {
        Vendor::Nvidia | Vendor::Iluvatar => "--nvml-library",
        Vendor::Ascend => "--dcmi-library",
        Vendor::Cambricon => "--cndev-library",
        Vendor::Gaudi => "--hlml-library",
        _ => return None,
    })
}

/// The vendor's own tool, for devices that only it can read.
pub(super) const fn tool(vendor: Vendor) -> Option<&'static str> {
    Some(match vendor {
        Vendor::Metax => "mx-smi",
        Vendor::MooreThreads => "mthreads-gmi",
        Vendor::Enflame => "efsmi",
        Vendor::Kunlun => "xpu-smi",
        Vendor::Hygon => "hy-smi",
        Vendor::Tenstorrent => "tt-smi",
        Vendor::Tpu => "tpu-info",
        Vendor::Neuron => "neuron-top",
        _ => return None,
    })
}

/// The flag that gives a container its devices.
pub(super) const fn container_devices(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Amd => "--device /dev/kfd --device /dev/dri",
        Vendor::Intel => "--device /dev/dri",
        Vendor::Gaudi => "--device /dev/accel",
        _ => "--device",
    }
}

/// What a vendor's program calls a device: its index, or the address of the card for an instance, whose index is another's.
pub(super) fn called(view: &DeviceView) -> String {
    match (view.device.kind, view.device.pci_address) {
        (DeviceKind::Instance, Ok(address)) => address.to_string(),
        _ => view.device.index.to_string(),
    }
}

/// What asks a device of this vendor what a command of the catalogue asks one of NVIDIA's; `None` where nothing does.
/// Commands that are not about NVIDIA's tool or driver stay.
pub(super) fn command(view: &DeviceView, command: Text) -> Option<Text> {
    let (vendor, index) = (view.device.vendor, view.device.index);
    let asks = |what: &str| command.contains(what);
    let nvidia = matches!(vendor, Vendor::Nvidia | Vendor::Iluvatar);
    if nvidia || !(asks("nvidia-smi") || asks("xid")) {
        return Some(command);
    }
    let other = match vendor {
        Vendor::Amd if asks("xid") => "dmesg | grep -i amdgpu".to_owned(),
        Vendor::Amd if asks("POWER") => format!("amd-smi metric -g {index} -p"),
        Vendor::Amd if asks("PERFORMANCE") => format!("amd-smi metric -g {index} -c -t"),
        Vendor::Amd if asks("ECC") => format!("amd-smi metric -g {index} -e"),
        Vendor::Amd if asks("topo") => "amd-smi topology".to_owned(),
        Vendor::Amd if asks("compute-apps") => format!("amd-smi process -g {index}"),
        Vendor::Ascend if asks("POWER") => npu_smi(view, "power"),
        Vendor::Ascend if asks("PERFORMANCE") => npu_smi(view, "common"),
        Vendor::Ascend if asks("ECC") => npu_smi(view, "health"),
        Vendor::Ascend if asks("compute-apps") => npu_smi(view, "proc-mem"),
        Vendor::Intel if asks("xid") => "dmesg | grep -iE 'i915|xe '".to_owned(),
        Vendor::Intel if asks("POWER") || asks("PERFORMANCE") => {
            format!("xpu-smi stats -d {index}")
        }
        _ if asks("xid") => "dmesg | tail -n 100".to_owned(),
        _ => return None,
    };
    Some(other.into())
}

/// npu-smi counts cards, whose numbers have gaps.
fn npu_smi(view: &DeviceView, what: &str) -> String {
    let mut details = view.device.details.iter();
    let npu = details.find(|(name, _)| &**name == "npu");
    let npu = npu.map_or_else(|| view.device.index.to_string(), |(_, npu)| npu.to_string());
    format!("npu-smi info -t {what} -i {npu}")
}

/// Steps with their commands as this device's vendor has them.
pub(super) fn steps(
    view: &DeviceView,
    steps: Vec<(Text, Option<Text>)>,
) -> Vec<(String, Option<String>)> {
    let of = |asked: Option<Text>| asked.and_then(|asked| command(view, asked));
    steps
        .into_iter()
        .map(|(text, asked)| (text.into_owned(), of(asked).map(Cow::into_owned)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::verdicts::next;
    use crate::model::Cause;
    use crate::publish::sample;
    use crate::text::{Catalogue, Lang};

    #[test]
    fn an_instance_is_asked_about_by_its_cards_address() {
        let mut view = sample::device_view(1, crate::model::Absent::NotReported);
        assert_eq!(called(&view), "1");
        let device = std::sync::Arc::make_mut(&mut view.device);
        device.kind = DeviceKind::Instance;
        assert_eq!(called(&view), "0000:19:00.0");
        std::sync::Arc::make_mut(&mut view.device).pci_address = Err(crate::model::Absent::Lost);
        assert_eq!(called(&view), "1");
    }

    #[test]
    fn nobody_else_s_device_is_asked_by_nvidia_s_tool() {
        let t = Catalogue::new(Lang::En);
        let mut snapshot = sample::snapshot();
        let view = &mut snapshot.devices[0];
        for (vendor, cause, commands) in [
            (
                Vendor::Nvidia,
                Cause::PowerCap,
                Some("nvidia-smi -q -i 0 -d POWER"),
            ),
            (Vendor::Amd, Cause::PowerCap, Some("amd-smi metric -g 0 -p")),
            (
                Vendor::Amd,
                Cause::Thermal,
                Some("amd-smi metric -g 0 -c -t"),
            ),
            (
                Vendor::Amd,
                Cause::DeviceLost,
                Some("dmesg | grep -i amdgpu"),
            ),
            (Vendor::Amd, Cause::NvlinkDown, None),
            (Vendor::Intel, Cause::Thermal, Some("xpu-smi stats -d 0")),
            (Vendor::Cambricon, Cause::Thermal, None),
            (
                Vendor::Ascend,
                Cause::PowerCap,
                Some("npu-smi info -t power -i 0"),
            ),
            (
                Vendor::Ascend,
                Cause::DeviceLost,
                Some("dmesg | tail -n 100"),
            ),
            (
                Vendor::Ascend,
                Cause::HostThrottled,
                Some("cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu.max"),
            ),
        ] {
            std::sync::Arc::make_mut(&mut view.device).vendor = vendor;
            let steps = next(cause, &[], view, t);
            let first = steps.iter().find_map(|(_, command)| command.as_deref());
            assert_eq!(first, commands, "{vendor:?} {cause:?}");
        }
    }
}
