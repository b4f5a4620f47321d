//! Cards that only the vendor's tool knows.

use super::cards;
use super::smi::{Listed, Tool};
use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, Metric, PciAddress, Readings, Vendor,
};
use crate::probe::drm;
use crate::probe::vendor::Answer;
use std::path::Path;
use std::sync::Arc;

/// What is told once.
const ONCE: [Metric; 6] = [
    Metric::LimitEnforced,
    Metric::LimitMax,
    Metric::LimitMin,
    Metric::ThresholdSlowdown,
    Metric::ThresholdShutdown,
    Metric::ThresholdMemoryMax,
];

/// A card, with its limits as the tool told them.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) device: Arc<Device>,
    gpu: u64,
    limits: Readings,
    /// Another card of its package tells power and limits.
    repeats: bool,
}

/// The devices of the tool's list. Functions of one slot are partitions of a package.
pub(super) fn devices(list: &[Listed], root: &Path) -> Vec<Told> {
    let driver = cards::driver(root);
    let mut all: Vec<Told> = Vec::new();
    for (index, listed) in (0..).zip(list) {
        let id: Arc<str> = match listed.address {
            Some(address) => Arc::from(address.to_string()),
            None => Arc::from(format!("amd-{}", listed.gpu)),
        };
        let slot = |address: PciAddress| (address.domain, address.bus, address.device);
        let package = all.iter().find(|told| {
            let known = told.device.pci_address.ok().map(slot);
            known.is_some() && known == listed.address.map(slot)
        });
        let board = package.map_or_else(
            || BoardId(Arc::clone(&id)),
            |first| first.device.board.clone(),
        );
        let repeats = package.is_some();
        let device = Device {
            id: DeviceId(id),
            index,
            vendor: Vendor::Amd,
            name: Arc::from(listed.name.as_deref().unwrap_or("AMD GPU")),
            uuid: Err(Absent::NotReported),
            pci_address: listed.address.ok_or(Absent::NotReported),
            pci_id: listed
                .id
                .map(|id| (drm::AMD, id))
                .ok_or(Absent::NotReported),
            driver: driver.clone(),
            board,
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details: Vec::new(),
        };
        all.push(Told {
            device: Arc::new(device),
            gpu: listed.gpu,
            limits: listed.limits.clone(),
            repeats,
        });
    }
    all
}

impl Told {
    /// What the tool said last, once.
    pub(super) fn sample(&self, tool: &Tool, readings: &mut Readings) -> Answer {
        let newest = tool.take(self.gpu);
        for metric in Metric::ALL.iter().filter(|metric| !ONCE.contains(metric)) {
            readings.set(*metric, newest.get(*metric));
        }
        if self.repeats {
            readings.set(Metric::PowerUsage, Err(Absent::NotSupported));
        }
        Answer::Answered
    }

    /// Limits and thresholds.
    pub(super) fn sample_slow(&self, readings: &mut Readings) {
        for metric in ONCE {
            let limit = metric == Metric::LimitEnforced;
            readings.set(
                metric,
                match self.repeats && limit {
                    true => Err(Absent::NotSupported),
                    false => self.limits.get(metric),
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::amd::smi::listed;

    #[test]
    fn partitions_that_the_tool_lists_share_a_board() {
        let text = r#"[
            {"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X OAM"}, "bus": {"bdf": "0000:05:00.0"}},
            {"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X OAM"}, "bus": {"bdf": "0000:05:00.1"}},
            {"gpu": 2, "asic": {"market_name": "N/A"}, "bus": "N/A"}
        ]"#;
        let all = devices(&listed(text), Path::new("/no/such/root"));
        let boards: Vec<&str> = all.iter().map(|told| &*told.device.board.0).collect();
        assert_eq!(boards, ["0000:05:00.0", "0000:05:00.0", "amd-2"]);
        let repeats: Vec<bool> = all.iter().map(|told| told.repeats).collect();
        assert_eq!(repeats, [false, true, false]);
        assert_eq!(&*all[2].device.name, "AMD GPU");
    }
}
