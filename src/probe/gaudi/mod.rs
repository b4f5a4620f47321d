//! Intel Gaudi devices: through HLML (`libhlml.so`), else by what `hl-smi` prints, else by the kernel driver's files.
//!
//! `ffi` makes the library's calls safe, `devices` lists, `sample` says which questions are asked when, `files` reads
//! sysfs, `smi` runs the tool and `lines` reads what it prints.

mod devices;
mod fault;
mod ffi;
mod files;
mod lines;
mod sample;
mod smi;

use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, ProbeHint, ProbeReport, ProbeStatus, Reading,
    Readings,
};
use crate::probe::dynamic::wait_for_last_calls;
use crate::probe::report;
use crate::probe::round::Round;
use crate::probe::surroundings;
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use fault::{DRIVER_NOT_LOADED, Fault};
use ffi::{Library, NAME, NotOpened};
use files::{Card, PCI_VENDOR};
use sample::Unit;
use smi::Smi;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// What the kernel driver makes.
const NODES: &[&str] = &["dev/accel/accel0", "dev/hl0", "sys/class/habanalabs/hl0"];

/// HLML, `hl-smi` or sysfs, opened as often as it takes.
pub struct Gaudi {
    options: VendorOptions,
    tool: OsString,
    session: RwLock<Option<Arc<Session>>>,
}

/// What is open.
enum Session {
    Library(Vec<Arc<Unit>>),
    Tool(Smi),
    Files(Vec<(Arc<Device>, Card)>),
}

impl Gaudi {
    /// Nothing is loaded before [`Vendor::open`].
    #[must_use]
    pub fn new(options: VendorOptions) -> Self {
        Self {
            options,
            tool: "hl-smi".into(),
            session: RwLock::new(None),
        }
    }

    fn session(&self) -> Option<Arc<Session>> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        session.clone()
    }

    fn replace(&self, new: Option<Session>) -> Option<Arc<Session>> {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *session, new.map(Arc::new))
    }

    fn unit(&self, device: &DeviceId) -> Option<Arc<Unit>> {
        match &*self.session()? {
            Session::Library(units) => units.iter().find(|u| u.device.id == *device).cloned(),
            _ => None,
        }
    }

    fn hint(&self) -> ProbeHint {
        surroundings::hint(&self.options.root, PCI_VENDOR, NODES)
    }

    fn report(&self, status: ProbeStatus, hint: ProbeHint) -> ProbeReport {
        report::report(&self.options, NAME, status, hint)
    }

    /// The report of a library that was loaded and then said no. It has no code for "no permission": the nodes tell.
    fn failed(&self, fault: Fault, tried: &str, path: Option<Arc<str>>) -> Box<ProbeReport> {
        let cards = files::cards(&self.options.root);
        let (status, hint) = match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            _ if cards.iter().any(Card::forbidden) => {
                (ProbeStatus::NoPermission, ProbeHint::Permission)
            }
            Fault::Code(DRIVER_NOT_LOADED) => (ProbeStatus::NoDevice, self.hint()),
            Fault::Code(_) => (ProbeStatus::NoDevice, ProbeHint::Unknown),
        };
        let mut report = self.report(status, hint);
        report.path = path;
        report.code = fault.code();
        report.message = Some(Arc::from(format!("{tried}: {fault}")));
        Box::new(report)
    }

    fn open_library(&self, library: Library) -> Result<Opened, Box<ProbeReport>> {
        let library = Arc::new(library);
        let path = library.path.clone();
        let listing = devices::list(&library, &self.options.root)
            .map_err(|fault| self.failed(fault, "listing the devices", path.clone()))?;
        if let (true, Some((_, fault))) = (listing.units.is_empty(), listing.refused.first()) {
            return Err(self.failed(*fault, "opening the first device", path));
        }
        let (devices, refused) = (listing.units.len(), &listing.refused);
        let mut report = report::listed(&self.options, NAME, devices, refused, || self.hint());
        report.path = path;
        let version = library.version().ok();
        report.version = version.map(|version| Arc::from(crate::text::clean(version.trim())));
        let devices = listing
            .units
            .iter()
            .map(|unit| Arc::clone(&unit.device))
            .collect();
        self.replace(Some(Session::Library(listing.units)));
        Ok(Opened { report, devices })
    }

    /// Without a library: by the tool, which is asked on this machine only, else by the driver's files.
    fn open_without(&self) -> Option<Opened> {
        if self.options.library.is_some() {
            return None;
        }
        let mut report = self.report(ProbeStatus::Ok, ProbeHint::Nothing);
        let tool = (self.options.root == Path::new("/")).then(|| Smi::start(&self.tool));
        let (session, devices) = if let Some(smi) = tool.flatten() {
            report.library = Arc::from(smi.program.to_string_lossy());
            report.message = Some("there is no libhlml.so: read from the tool's lines".into());
            let devices = smi.devices.clone();
            (Session::Tool(smi), devices)
        } else {
            let cards: Vec<(Arc<Device>, Card)> = files::cards(&self.options.root)
                .into_iter()
                .map(|card| (Arc::new(card.device()), card))
                .collect();
            report.library = "sysfs".into();
            report.message = Some("there is no libhlml.so: read from the driver's files".into());
            let devices: Vec<_> = cards.iter().map(|(device, _)| Arc::clone(device)).collect();
            (Session::Files(cards), devices)
        };
        (!devices.is_empty()).then(|| {
            self.replace(Some(session));
            Opened { report, devices }
        })
    }
}

impl Vendor for Gaudi {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        let old = self.replace(None);
        let library = match old.as_deref() {
            Some(Session::Library(units)) => units.first().map(|u| Arc::downgrade(&u.library)),
            _ => None,
        };
        drop(old);
        if let Some(library) = library {
            wait_for_last_calls(&library);
        }
        match Library::open(&self.options) {
            Ok(library) => self.open_library(library),
            Err(NotOpened::Refused(fault, path)) => {
                Err(self.failed(fault, "initialising the library", path))
            }
            Err(NotOpened::NotLoaded(refused)) => self
                .open_without()
                .ok_or_else(|| report::not_loaded(&self.options, NAME, refused, self.hint())),
        }
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.session().as_deref() {
            None => Answer::Reopen,
            Some(Session::Tool(smi)) => smi.sample(device, readings),
            Some(Session::Files(cards)) => {
                let card = cards.iter().find(|(known, _)| known.id == *device);
                card.map_or(Answer::Lost(Absent::Lost), |(_, card)| {
                    card.sample(readings)
                })
            }
            Some(Session::Library(_)) => {
                let Some(unit) = self.unit(device) else {
                    return Answer::Lost(Absent::Lost);
                };
                let round = Round::new(&unit.refused);
                sample::sample(&unit, &round, readings);
                round.answer()
            }
        }
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            sample::sample_slow(&unit, &Round::new(&unit.refused), readings);
        }
    }

    fn needs_blocking_pcie(&self, _device: &DeviceId) -> bool {
        false
    }

    fn sample_blocking_pcie(&self, _device: &DeviceId, _readings: &mut Readings) {}

    /// HLML has no list of processes.
    fn processes(&self, _device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        Err(Absent::NotSupported)
    }

    fn wait_events(&self, _timeout: Duration) -> Option<Vec<Event>> {
        None
    }

    fn close(&self) {
        drop(self.replace(None));
    }
}
