//! The last time in which a device was not observed, and what its counters tell of it, as the session's event says.

use crate::model::{DeviceId, EventKind, Snapshot};
use jiff::Timestamp;

/// A time that nobody observed. Absent numbers are those that no counter tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// When it ended.
    pub until: Timestamp,
    /// How long it was.
    pub seconds: Option<f64>,
    /// From the energy counter.
    pub mean_power_w: Option<f64>,
    /// Seconds under each throttle reason, by the documents' names.
    pub reasons_s: Vec<(String, f64)>,
    /// Host to device.
    pub pcie_rx_bytes: Option<f64>,
    /// Device to host.
    pub pcie_tx_bytes: Option<f64>,
}

impl Gap {
    /// The last one of a device that a picture knows of.
    #[must_use]
    pub fn last(picture: &Snapshot, device: &DeviceId) -> Option<Self> {
        let events = picture.events.iter().rev();
        let mut mine = events
            .filter(|event| event.kind == EventKind::Gap && event.device.as_ref() == Some(device));
        let event = mine.next()?;
        let parsed = |value: &str| value.parse().ok().filter(|number: &f64| number.is_finite());
        let number = |name: &str| {
            let (_, value) = event.data.iter().find(|(known, _)| &**known == name)?;
            parsed(value)
        };
        let reasons = event.data.iter().filter_map(|(name, value)| {
            let reason = name.strip_suffix("_s")?;
            Some((reason.to_owned(), parsed(value)?))
        });
        Some(Self {
            until: event.at,
            seconds: number("seconds"),
            mean_power_w: number("mean_power_w"),
            reasons_s: reasons.collect(),
            pcie_rx_bytes: number("pcie_rx_bytes"),
            pcie_tx_bytes: number("pcie_tx_bytes"),
        })
    }
}
