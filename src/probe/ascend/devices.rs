//! Lists the devices, with all that stays the same while the library is open.

use super::fault::{Fault, NOT_SUPPORTED};
use super::ffi::{Chip, Dcmi, Place};
use super::layout::PcieInfo;
use super::unit::Unit;
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceKind, PciAddress, Reading, Vendor};
use std::collections::HashSet;
use std::sync::Arc;

/// What the library lists.
pub(super) struct Listing {
    pub(super) units: Vec<Arc<Unit>>,
    /// What is listed and gave no device, with the reason.
    pub(super) refused: Vec<String>,
}

/// The type of a neural processor; management controllers and CPUs are listed beside them.
const NPU: i32 = 0;

/// Asks for everything that identifies the devices.
///
/// # Errors
/// There is no list.
pub(super) fn list(library: &Arc<Dcmi>) -> Result<Listing, Fault> {
    let common = Common {
        driver: said(library.driver_version().map_err(Fault::absent)),
    };
    let mut listing = Listing {
        units: Vec::new(),
        refused: Vec::new(),
    };
    let mut taken = HashSet::new();
    for (card, places) in library.cards()? {
        match places {
            Ok(places) => {
                common.add_card(library, card, &places, &mut taken, &mut listing);
            }
            Err(fault) => listing.refused.push(format!("NPU {card}: {fault}")),
        }
    }
    Ok(listing)
}

fn said(text: Reading<String>) -> Reading<Arc<str>> {
    match text {
        Ok(text) if text.is_empty() => Err(Absent::NotReported),
        text => text.map(Arc::from),
    }
}

/// What is the same for all devices.
pub(super) struct Common {
    pub(super) driver: Reading<Arc<str>>,
}

/// What tells one device from the others.
pub(super) struct Identity {
    pub(super) npu: u32,
    pub(super) chip: u32,
    /// As the driver says it.
    pub(super) name: String,
    /// It has DDR beside its HBM, where that was asked.
    pub(super) has_ddr: bool,
    pub(super) uuid: Reading<Arc<str>>,
    pub(super) address: Reading<PciAddress>,
    pub(super) pci_id: Reading<(u16, u16)>,
    /// Of the first chip of its card; `None` for that one itself.
    pub(super) board: Option<BoardId>,
}

/// The driver's name, but for one that is ambiguous: the first-generation Ascend 910 of bin B is called `910B` like the A2
/// generation as a whole (whose chips are 910B1 to 910B4), and only the first has DDR.
pub(super) fn model_name(name: &str, has_ddr: bool) -> String {
    match name {
        "" => "unknown".to_owned(),
        "910B" if !has_ddr => "910B (A2)".to_owned(),
        name => name.to_owned(),
    }
}

impl Common {
    /// The device of an identity; `further` are its own details.
    pub(super) fn device(
        &self,
        identity: Identity,
        index: usize,
        further: Vec<(&'static str, Option<String>)>,
        taken: &mut HashSet<Arc<str>>,
    ) -> Device {
        let Identity { npu, chip, .. } = identity;
        let address: Option<Arc<str>> = identity
            .address
            .ok()
            .map(|address| Arc::from(address.to_string()));
        // The two chips of a 310P Duo have one bus id.
        let beside = address
            .as_ref()
            .map(|address| Arc::from(format!("{address}/{chip}")));
        let nameless: Arc<str> = Arc::from(format!("ascend-npu-{npu}-{chip}"));
        let id = [identity.uuid.clone().ok(), address, beside]
            .into_iter()
            .flatten()
            .find(|id| !taken.contains(id))
            .unwrap_or(nameless);
        taken.insert(Arc::clone(&id));
        let details = [
            ("npu", Some(npu.to_string())),
            ("chip", Some(chip.to_string())),
        ]
        .into_iter()
        .chain(further)
        .filter_map(|(name, value)| {
            let value = value.filter(|value| !value.is_empty())?;
            Some((Arc::from(name), Arc::from(value)))
        })
        .collect();
        Device {
            board: identity.board.unwrap_or_else(|| BoardId(Arc::clone(&id))),
            id: DeviceId(id),
            index: u32::try_from(index).unwrap_or(u32::MAX),
            vendor: Vendor::Ascend,
            name: model_name(&identity.name, identity.has_ddr).into(),
            uuid: identity.uuid,
            pci_address: identity.address,
            pci_id: identity.pci_id,
            driver: self.driver.clone(),
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details,
        }
    }

    fn add_card(
        &self,
        library: &Arc<Dcmi>,
        card: i32,
        places: &[Place],
        taken: &mut HashSet<Arc<str>>,
        listing: &mut Listing,
    ) {
        let mut chips = Vec::new();
        for (place, chip) in places.iter().zip(0_u32..) {
            match library.kind(*place) {
                Ok(NPU) | Err(Fault::Missing | Fault::Code(NOT_SUPPORTED)) => {
                    chips.push((*place, chip));
                }
                Ok(_) => {}
                Err(fault) => {
                    let refused = format!("NPU {card} chip {chip}: {fault}");
                    listing.refused.push(refused);
                }
            }
        }
        // With a 910C only the first chip answers, for both; with a 310P Duo none does.
        let card_power = match chips.as_slice() {
            [(first, _), (second, _), ..] => library.power(*second).is_err().then_some(*first),
            _ => None,
        };
        let mut board = None;
        for (place, chip) in &chips {
            let asked = Asked::of(library, *place);
            let identity = Identity {
                npu: card.cast_unsigned(),
                chip: *chip,
                name: asked.chip.name.clone(),
                has_ddr: asked.has_ddr,
                uuid: asked.uuid.clone(),
                address: asked.pcie.and_then(|info| address(&info)),
                pci_id: asked.pcie.and_then(|info| pci_id(&info)),
                board: board.clone(),
            };
            let index = listing.units.len();
            let device = self.device(identity, index, asked.details(library), taken);
            board.get_or_insert_with(|| device.board.clone());
            let (device, library) = (Arc::new(device), Arc::clone(library));
            let unit = Unit::new(device, library, *place, card_power);
            listing.units.push(Arc::new(unit));
        }
    }
}

/// What one chip says of itself.
struct Asked {
    chip: Chip,
    has_ddr: bool,
    uuid: Reading<Arc<str>>,
    pcie: Reading<PcieInfo>,
    logic: Option<i32>,
}

impl Asked {
    fn of(library: &Dcmi, place: Place) -> Self {
        let chip = library.chip(place).unwrap_or_default();
        Self {
            has_ddr: chip.name == "910B" && library.memory(place).is_ok_and(|ddr| ddr.size > 0),
            uuid: uuid(library, place),
            pcie: library.pcie(place).map_err(Fault::absent),
            logic: library.logic_id(place).ok(),
            chip,
        }
    }

    fn details(&self, library: &Dcmi) -> Vec<(&'static str, Option<String>)> {
        let physical = self.logic.and_then(|logic| library.physical_id(logic).ok());
        let cores = self.chip.aicores;
        vec![
            ("logic_id", self.logic.map(|id| id.to_string())),
            ("physical_id", physical.map(|id| id.to_string())),
            ("soc", Some(self.chip.npu_name.clone())),
            ("chip_version", Some(self.chip.version.clone())),
            (
                "aicores",
                (1..=1024).contains(&cores).then(|| cores.to_string()),
            ),
        ]
    }
}

/// The compute die's id, as npu-smi writes it but for the blanks. None but zeros is none.
fn uuid(library: &Dcmi, place: Place) -> Reading<Arc<str>> {
    let die = library.die(place).map_err(Fault::absent)?;
    if die.iter().all(|word| matches!(*word, 0 | u32::MAX)) {
        return Err(Absent::NotReported);
    }
    Ok(Arc::from(die.map(|word| format!("{word:08X}")).join("-")))
}

fn address(info: &PcieInfo) -> Reading<PciAddress> {
    let part = |number: u32, below: u32| {
        u8::try_from(number)
            .ok()
            .filter(|part| u32::from(*part) < below)
            .ok_or(Absent::Implausible(number.into()))
    };
    if info.vendor == 0 && info.bus == 0 {
        return Err(Absent::NotReported);
    }
    Ok(PciAddress {
        domain: u32::try_from(info.domain).map_err(|_| Absent::Implausible(info.domain.into()))?,
        bus: part(info.bus, 256)?,
        device: part(info.slot, 32)?,
        function: part(info.function, 8)?,
    })
}

fn pci_id(info: &PcieInfo) -> Reading<(u16, u16)> {
    let part = |id: u32| {
        u16::try_from(id)
            .ok()
            .filter(|id| *id != 0)
            .ok_or(Absent::NotReported)
    };
    Ok((part(info.vendor)?, part(info.device)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_names_are_told_apart() {
        for (name, has_ddr, model) in [
            ("910B3", false, "910B3"),
            ("910B", true, "910B"),
            ("910B", false, "910B (A2)"),
            ("310P3", true, "310P3"),
            ("", false, "unknown"),
        ] {
            assert_eq!(model_name(name, has_ddr), model);
        }
    }

    #[test]
    fn addresses_that_cannot_be_are_absent() {
        let info = PcieInfo {
            vendor: 0x19e5,
            device: 0xd802,
            bus: 0xc1,
            ..PcieInfo::default()
        };
        let written = address(&info).map(|address| address.to_string());
        assert_eq!(written.as_deref(), Ok("0000:c1:00.0"));
        assert_eq!(pci_id(&info), Ok((0x19e5, 0xd802)));
        let bad = PcieInfo { bus: 300, ..info };
        assert_eq!(address(&bad), Err(Absent::Implausible(300.0)));
        assert_eq!(address(&PcieInfo::default()), Err(Absent::NotReported));
    }
}
