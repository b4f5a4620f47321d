//! What a device is.

use super::reading::Reading;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// UUID where the vendor gives one, else the PCI address; never an index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub Arc<str>);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Devices that share a power budget or a card.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BoardId(pub Arc<str>);

impl fmt::Display for BoardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Domain, bus, device and function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PciAddress {
    /// PCI domain (segment).
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device (slot), 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    /// As in sysfs: `0000:19:00.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        )
    }
}

impl FromStr for PciAddress {
    type Err = String;

    /// Reads sysfs' and NVML's forms (`0000:19:00.0`, `00000000:19:00.0`) and the short one (`19:00.0`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let complaint = || format!("\"{text}\" is not a PCI address such as 0000:19:00.0");
        let (rest, function) = text.trim().rsplit_once('.').ok_or_else(complaint)?;
        let mut parts = rest.rsplit(':');
        let hex = |part: Option<&str>| u32::from_str_radix(part?, 16).ok();
        let device = hex(parts.next())
            .filter(|d| *d < 32)
            .ok_or_else(complaint)?;
        let bus = hex(parts.next())
            .filter(|b| *b < 256)
            .ok_or_else(complaint)?;
        let domain = match parts.next() {
            Some(part) => hex(Some(part)).ok_or_else(complaint)?,
            None => 0,
        };
        let function = hex(Some(function))
            .filter(|f| *f < 8)
            .ok_or_else(complaint)?;
        if parts.next().is_some() {
            return Err(complaint());
        }
        Ok(Self {
            domain,
            bus: bus as u8,
            device: device as u8,
            function: function as u8,
        })
    }
}

/// Who makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// Huawei Ascend.
    Ascend,
    /// Cambricon.
    Cambricon,
    /// AMD.
    Amd,
    /// Intel Gaudi.
    Gaudi,
    /// Intel GPUs.
    Intel,
    /// Iluvatar CoreX (NVML's names).
    Iluvatar,
    /// A vendor that is only known by its PCI id.
    Other,
    /// MetaX.
    Metax,
    /// Moore Threads.
    MooreThreads,
    /// Enflame.
    Enflame,
    /// Kunlunxin.
    Kunlun,
    /// T-Head.
    Thead,
    /// Hygon DCU.
    Hygon,
    /// Tenstorrent.
    Tenstorrent,
    /// Google's TPU.
    Tpu,
    /// AWS' Inferentia and Trainium.
    Neuron,
}

impl Vendor {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Ascend => "ascend",
            Self::Cambricon => "cambricon",
            Self::Amd => "amd",
            Self::Gaudi => "gaudi",
            Self::Intel => "intel",
            Self::Iluvatar => "iluvatar",
            Self::Other => "other",
            Self::Metax => "metax",
            Self::MooreThreads => "moorethreads",
            Self::Enflame => "enflame",
            Self::Kunlun => "kunlun",
            Self::Thead => "thead",
            Self::Hygon => "hygon",
            Self::Tenstorrent => "tenstorrent",
            Self::Tpu => "tpu",
            Self::Neuron => "neuron",
        }
    }

    /// The vendor of a contract's word.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        [
            Self::Nvidia,
            Self::Ascend,
            Self::Cambricon,
            Self::Amd,
            Self::Gaudi,
            Self::Intel,
            Self::Iluvatar,
            Self::Metax,
            Self::MooreThreads,
            Self::Enflame,
            Self::Kunlun,
            Self::Thead,
            Self::Hygon,
            Self::Tenstorrent,
            Self::Tpu,
            Self::Neuron,
        ]
        .into_iter()
        .find(|vendor| vendor.word() == word)
        .unwrap_or(Self::Other)
    }
}

/// A whole device, or a slice of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceKind {
    /// A device of its own.
    Device,
    /// A MIG instance or its like, under its parent.
    Instance,
}

/// Identity: what changes only when hardware, driver or partitioning change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its key.
    pub id: DeviceId,
    /// Position in the vendor's list; may change over a reboot or driver reload.
    pub index: u32,
    /// Who makes it.
    pub vendor: Vendor,
    /// Name as the driver says it, cleaned.
    pub name: Arc<str>,
    /// UUID.
    pub uuid: Reading<Arc<str>>,
    /// PCI address.
    pub pci_address: Reading<PciAddress>,
    /// PCI vendor and device id, `(0x10de, 0x2330)`.
    pub pci_id: Reading<(u16, u16)>,
    /// Driver version.
    pub driver: Reading<Arc<str>>,
    /// The board it belongs to.
    pub board: BoardId,
    /// The device that it is a slice of.
    pub parent: Option<DeviceId>,
    /// Whole or slice.
    pub kind: DeviceKind,
    /// Whether the driver's plain power reading is a one-second average (`Some(true)`), instantaneous, or unknown.
    pub power_usage_is_average: Option<bool>,
    /// Host and device share one memory, so that totals come from the host.
    pub unified_memory: bool,
    /// The CPU link is not PCIe (C2C): a narrow PCIe link is by design.
    pub c2c: bool,
    /// A share of a card: see [`Device::share`] for whose, and [`Device::has_plate`] for what a nameplate says of it.
    pub virtual_share: bool,
    /// Further identity for the device view, as (name, value): serial, VBIOS, CUDA version, architecture...
    pub details: Vec<(Arc<str>, Arc<str>)>,
}

impl Device {
    /// What of the name tells devices apart: without the maker, and of an instance its profile, because its parent stands
    /// above it.
    #[must_use]
    pub fn short_name(&self) -> &str {
        let profile = match self.kind {
            DeviceKind::Instance => self.name.find(" MIG ").map(|at| at + 1),
            DeviceKind::Device => None,
        };
        let name = profile.and_then(|at| self.name.get(at..));
        name.unwrap_or_else(|| self.name.strip_prefix("NVIDIA ").unwrap_or(&self.name))
    }
}

/// One step on the way from the device to the root port, as sysfs shows it; absent numbers are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// PCI address of this step.
    pub address: PciAddress,
    /// Negotiated generation.
    pub generation: Option<u8>,
    /// Negotiated width.
    pub width: Option<u8>,
    /// Highest generation.
    pub generation_max: Option<u8>,
    /// Highest width.
    pub width_max: Option<u8>,
    /// An emulated bridge of a virtual machine, whose numbers mean nothing.
    pub emulated: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_in_every_form() {
        for text in ["0000:19:00.0", "00000000:19:00.0", "19:00.0"] {
            assert_eq!(
                text.parse::<PciAddress>().map(|a| a.to_string()),
                Ok("0000:19:00.0".to_owned())
            );
        }
        for bad in [
            "",
            "19:00",
            "0000:19:40.0",
            "0000:199:00.0",
            "0000:19:00.9",
            "1:0000:19:00.0",
            "x:y.z",
        ] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = text.parse::<PciAddress>();
        }
    }
}
