//! What a line of a log says, before it is a tick.

use crate::model::{
    Absent, Change, Device, DeviceId, Event, HostSample, Metric, PciAddress, Reading, Vendor,
};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// What a line says of which device it is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Identity {
    pub(super) index: Option<u32>,
    pub(super) uuid: Option<Arc<str>>,
    pub(super) pci: Option<PciAddress>,
    pub(super) name: Option<Arc<str>>,
    pub(super) driver: Option<Arc<str>>,
    pub(super) vbios: Option<Arc<str>>,
    pub(super) pci_id: Option<(u16, u16)>,
    pub(super) vendor: Option<Vendor>,
}

impl Identity {
    /// The device's key: its UUID, else its PCI address, else its place in the list, else that it is the log's only one.
    pub(super) fn id(&self) -> DeviceId {
        DeviceId(match (&self.uuid, self.pci, self.index) {
            (Some(uuid), _, _) => uuid.clone(),
            (None, Some(pci), _) => pci.to_string().into(),
            (None, None, Some(index)) => format!("index:{index}").into(),
            (None, None, None) => "log:only".into(),
        })
    }
}

/// The readings of one device in one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: DeviceId,
    pub(super) identity: Identity,
    /// The device as the log describes it itself, where it does.
    pub(super) device: Option<Arc<Device>>,
    pub(super) values: Vec<(Metric, Reading<f64>)>,
    /// Why the device did not answer at all, where the line says so.
    pub(super) silent: Option<Absent>,
}

impl Row {
    pub(super) fn new(identity: Identity, values: Vec<(Metric, Reading<f64>)>) -> Self {
        let lost = values
            .iter()
            .any(|(_, reading)| *reading == Err(Absent::Lost));
        let answers = values.iter().any(|(_, reading)| reading.is_ok());
        Self {
            id: identity.id(),
            identity,
            device: None,
            silent: (lost && !answers).then_some(Absent::Lost),
            values,
        }
    }

    /// A total order of what two lines say of the same instant, so that it does not matter which came first.
    pub(super) fn weight(&self) -> Vec<(u8, u64)> {
        let bits = |(metric, reading): &(Metric, Reading<f64>)| match reading {
            Ok(value) => (*metric as u8, value.to_bits()),
            Err(_) => (*metric as u8, 0),
        };
        self.values.iter().map(bits).collect()
    }
}

/// How a line that is a tick by itself numbers it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whole {
    pub(super) seq: u64,
    pub(super) interval: Duration,
    pub(super) dropped: u64,
}

/// What one line says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Entry {
    /// Its number.
    pub(super) line: u64,
    /// When; `None` in a log without times.
    pub(super) at: Option<Timestamp>,
    pub(super) rows: Vec<Row>,
    pub(super) host: Option<Box<HostSample>>,
    pub(super) changes: Vec<Change>,
    pub(super) events: Vec<Event>,
    /// It is a tick of its own.
    pub(super) whole: Option<Whole>,
}

/// What was not read, or was read with a grain of salt, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line number from 1; 0 where it is about the whole file.
    pub line: u64,
    /// One English line.
    pub text: String,
}

/// Warnings that are kept one by one.
const WARNINGS_KEPT: usize = 50;

/// Collects warnings; a log that is all wrong does not fill memory.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<Warning>,
    more: u64,
}

impl Warnings {
    pub(super) fn add(&mut self, line: u64, text: impl Into<String>) {
        if self.kept.len() < WARNINGS_KEPT {
            self.kept.push(Warning {
                line,
                text: text.into(),
            });
        } else {
            self.more += 1;
        }
    }

    /// All of them, and how many more there were.
    pub(super) fn list(&self) -> Vec<Warning> {
        let mut list = self.kept.clone();
        if self.more > 0 {
            list.push(Warning {
                line: 0,
                text: format!("{} more lines of this kind", self.more),
            });
        }
        list
    }
}
