//! Shares of a card in the view: how much of it was given, and that what is told is the whole card's.

use super::device::DeviceState;
use crate::model::{Device, Figure, Figures, Known, KnownKind, Level, Value};

/// Sets the part that was given: as the driver or the scheduler says, else the memory given of what the model has.
pub(crate) fn set(device: &Device, card_bytes: Option<f64>, figures: &mut Figures) {
    let of_card = |card: f64| Some(device.share_memory()? / card);
    let ratio = device
        .share_ratio()
        .or_else(|| of_card(card_bytes.filter(|bytes| *bytes > 0.0)?))
        .filter(|ratio| *ratio <= 1.0);
    if let Some(ratio) = ratio
        && figures.get(Figure::Share).reading.is_err()
    {
        figures.set(Figure::Share, Value::fresh(ratio));
    }
}

/// That a device is a share.
pub(crate) fn known(state: &DeviceState, figures: &Figures) -> Option<Known> {
    let device = &state.device;
    let whole = device.memory_is_the_cards(figures.get(Figure::MemoryTotal).ok());
    let kind = KnownKind::ShareOfCard {
        kind: device.share()?,
        ratio: figures.get(Figure::Share).ok(),
        of_memory: device.share_memory().filter(|_| whole),
    };
    Some(Known {
        level: Level::Info,
        kind,
    })
}
