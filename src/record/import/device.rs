//! The devices of a log: announced when they first appear, and again when more is known of them.

use super::entry::{Identity, Row};
use crate::model::{Absent, BoardId, Change, Device, DeviceId, DeviceKind, PciAddress, Vendor};
use crate::text::clean;
use std::collections::HashMap;
use std::sync::Arc;

/// Devices kept at most; a log that makes up a new one in each line is no log.
const DEVICES_KEPT: usize = 1024;

/// What is known of each device so far.
#[derive(Debug, Default)]
pub(super) struct Devices {
    known: HashMap<DeviceId, (Identity, Arc<Device>)>,
}

impl Devices {
    /// What this row tells that was not known; `None` where nothing is new. `Err` where there are too many devices.
    pub(super) fn announce(&mut self, row: &Row) -> Result<Option<Change>, usize> {
        if let Some((identity, device)) = self.known.get(&row.id) {
            let same = match &row.device {
                Some(told) => told == device,
                None => *identity == row.identity,
            };
            if same {
                return Ok(None);
            }
        }
        let place = self.known.len();
        let before = self
            .known
            .get(&row.id)
            .map(|(identity, _)| identity.clone());
        if before.is_none() && place >= DEVICES_KEPT {
            return Err(DEVICES_KEPT);
        }
        let identity = merged(before.unwrap_or_default(), &row.identity);
        let device = match &row.device {
            Some(told) => told.clone(),
            None => Arc::new(device(&row.id, &identity, place)),
        };
        let told = self
            .known
            .insert(row.id.clone(), (identity, device.clone()));
        let new = told.is_none_or(|(_, before)| before != device);
        Ok(new.then_some(Change::Device(device)))
    }

    /// The device at a PCI address.
    pub(super) fn at(&self, address: PciAddress) -> Option<DeviceId> {
        let found = self
            .known
            .iter()
            .find(|(_, (_, device))| device.pci_address == Ok(address));
        found.map(|(id, _)| id.clone())
    }
}

/// What was known, with what is told now.
fn merged(before: Identity, now: &Identity) -> Identity {
    Identity {
        index: now.index.or(before.index),
        uuid: now.uuid.clone().or(before.uuid),
        pci: now.pci.or(before.pci),
        name: now.name.clone().or(before.name),
        driver: now.driver.clone().or(before.driver),
        vbios: now.vbios.clone().or(before.vbios),
        pci_id: now.pci_id.or(before.pci_id),
        vendor: now.vendor.or(before.vendor),
    }
}

fn device(id: &DeviceId, identity: &Identity, place: usize) -> Device {
    let none = || Err(Absent::NotReported);
    let name = identity.name.as_deref().map(clean);
    let mut details: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    if let Some(vbios) = &identity.vbios {
        details.push(("vbios".into(), clean(vbios).into()));
    }
    let key = match (&identity.uuid, identity.pci, identity.index) {
        (Some(_), ..) | (None, Some(_), _) => None,
        (None, None, Some(_)) => Some("the index in the log, which can change with a reboot"),
        (None, None, None) => Some("none: the log names no device and is taken for one device's"),
    };
    if let Some(key) = key {
        details.push(("key".into(), key.into()));
    }
    Device {
        id: id.clone(),
        index: identity
            .index
            .unwrap_or(u32::try_from(place).unwrap_or(u32::MAX)),
        vendor: identity.vendor.unwrap_or(Vendor::Nvidia),
        name: name.as_deref().unwrap_or("unnamed device").into(),
        uuid: identity.uuid.clone().ok_or(Absent::NotReported),
        pci_address: identity.pci.ok_or(Absent::NotReported),
        pci_id: identity.pci_id.ok_or(Absent::NotReported),
        driver: identity
            .driver
            .as_deref()
            .map_or_else(none, |d| Ok(d.into())),
        board: BoardId(id.0.clone()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details,
    }
}
