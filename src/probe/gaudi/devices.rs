//! The list of devices by the library.

use super::fault::Fault;
use super::ffi::{Getter, Handle, Label, Library, text_of};
use super::files::{self, Card};
use super::sample::Unit;
use crate::model::{Absent, BoardId, Device, DeviceId, DeviceKind, PciAddress, Reading, Vendor};
use crate::probe::round::{Refused, Said as _};
use crate::probe::twofold::Listing;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// More than any machine holds; a larger count is garbage.
const MOST: u32 = 1024;

/// Asks for everything that identifies the devices.
///
/// # Errors
/// There is no list.
pub(super) fn list(library: &Arc<Library>, root: &Path) -> Result<Listing<Unit, Fault>, Fault> {
    let count = library.count()?;
    let cards = files::cards(root);
    let mut taken = HashSet::new();
    let mut listing = Listing {
        units: Vec::new(),
        refused: Vec::new(),
    };
    for index in 0..count.min(MOST) {
        match library.handle(index) {
            Ok(handle) => {
                let unit = unit(library, index, handle, &cards, &mut taken);
                listing.units.push(Arc::new(unit));
            }
            Err(fault) => listing.refused.push((index, fault)),
        }
    }
    Ok(listing)
}

/// Without control and bidirectional characters, trimmed.
fn cleaned(text: Result<String, Fault>) -> Reading<Arc<str>> {
    let text = text.map_err(Fault::absent)?;
    match crate::text::clean(&text).trim() {
        "" => Err(Absent::NotReported),
        text => Ok(Arc::from(text)),
    }
}

/// The best of what names a device that no other has.
pub(super) fn id(
    uuid: &Reading<Arc<str>>,
    address: &Reading<PciAddress>,
    index: u32,
    taken: &mut HashSet<Arc<str>>,
) -> DeviceId {
    let address = address.as_ref().ok().map(|a| Arc::from(a.to_string()));
    let id = [uuid.clone().ok(), address]
        .into_iter()
        .flatten()
        .find(|id| !taken.contains(id))
        .unwrap_or_else(|| Arc::from(format!("gaudi-unnamed-{index}")));
    taken.insert(Arc::clone(&id));
    DeviceId(id)
}

fn unit(
    library: &Arc<Library>,
    index: u32,
    handle: Handle,
    cards: &[Card],
    taken: &mut HashSet<Arc<str>>,
) -> Unit {
    let label = |label| cleaned(library.label(handle, label));
    let number = |getter| library.get(handle, getter).ok();
    let uuid = label(Label::Uuid);
    let pci = library.pci_info(handle).map_err(Fault::absent);
    let pci_address = pci.as_ref().map_err(|why| *why).and_then(|pci| {
        let text = text_of(&pci.bus_id);
        text.parse().map_err(|_: String| Absent::NotReported)
    });
    let minor = number(Getter::Minor);
    let card = cards
        .iter()
        .find(|card| {
            card.address
                .is_some_and(|address| pci_address == Ok(address))
        })
        .or_else(|| {
            let mut unplaced = cards.iter().filter(|card| card.address.is_none());
            unplaced.find(|card| minor == Some(card.minor.into()))
        });
    // The index is no module's number: whoever chooses devices by module needs both.
    let details = [
        (
            "module_id",
            number(Getter::ModuleId).map(|n| n.to_string().into()),
        ),
        ("minor_number", minor.map(|n| n.to_string().into())),
        ("serial", label(Label::Serial).ok()),
    ];
    let id = id(&uuid, &pci_address, index, taken);
    let device = Device {
        board: BoardId(Arc::clone(&id.0)),
        id,
        index,
        vendor: Vendor::Gaudi,
        name: label(Label::Name).unwrap_or_else(|_| Arc::from("unknown")),
        uuid,
        pci_address,
        pci_id: pci.map(|pci| ((pci.id & 0xFFFF) as u16, (pci.id >> 16) as u16)),
        driver: cleaned(library.driver()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: details
            .into_iter()
            .filter_map(|(name, value)| Some((Arc::from(name), value?)))
            .collect(),
    };
    Unit {
        device: Arc::new(device),
        library: Arc::clone(library),
        handle,
        forbidden: card.is_some_and(Card::forbidden),
        card: card.cloned(),
        refused: Refused::default(),
    }
}
