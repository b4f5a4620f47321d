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

use crate::model::{Absent, Device, DeviceId, ProbeHint, ProbeReport, ProbeStatus, Readings};
use crate::probe::round::{Refused, Round};
use crate::probe::surroundings;
use crate::probe::twofold::{self, Listing, NotOpened, Parts, StandIn, Twofold};
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use fault::{DRIVER_NOT_LOADED, Fault};
use ffi::Library;
use files::{Card, PCI_VENDOR};
use sample::Unit;
use smi::Smi;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// What the kernel driver makes.
const NODES: &[&str] = &["dev/accel/accel0", "dev/hl0", "sys/class/habanalabs/hl0"];

/// HLML, `hl-smi` or sysfs, opened as often as it takes. Nothing is loaded before [`Vendor::open`].
#[must_use]
pub fn probe(options: VendorOptions) -> impl Vendor {
    Twofold::new(Gaudi {
        options,
        tool: "hl-smi".into(),
    })
}

struct Gaudi {
    options: VendorOptions,
    tool: OsString,
}

impl Parts for Gaudi {
    const NAME: &'static str = ffi::NAME;
    type Unit = Unit;
    type Fault = Fault;

    fn options(&self) -> &VendorOptions {
        &self.options
    }

    fn hint(&self) -> ProbeHint {
        surroundings::hint(&self.options.root, PCI_VENDOR, NODES)
    }

    /// The library has no code for "no permission": the nodes tell.
    fn judge(&self, fault: Fault) -> (ProbeStatus, ProbeHint) {
        let cards = files::cards(&self.options.root);
        match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            _ if cards.iter().any(Card::forbidden) => {
                (ProbeStatus::NoPermission, ProbeHint::Permission)
            }
            Fault::Code(DRIVER_NOT_LOADED) => (ProbeStatus::NoDevice, self.hint()),
            Fault::Code(_) => (ProbeStatus::NoDevice, ProbeHint::Unknown),
        }
    }

    fn code(fault: Fault) -> Option<i32> {
        fault.code()
    }

    fn load(&self) -> Result<Library, NotOpened<Fault>> {
        Library::open(&self.options)
    }

    fn list(&self, library: &Arc<Library>) -> Result<Listing<Unit, Fault>, Fault> {
        devices::list(library, &self.options.root)
    }

    fn about(library: &Library) -> (Option<Arc<str>>, Option<Arc<str>>) {
        let version = library.version().ok();
        let version = version.map(|version| Arc::from(crate::text::clean(version.trim())));
        (library.path.clone(), version)
    }

    /// The tool, which is asked on this machine only, else the driver's files.
    fn stand_in(&self, mut report: ProbeReport) -> Option<(Box<dyn StandIn>, Opened)> {
        if self.options.library.is_some() {
            return None;
        }
        let tool = (self.options.root == Path::new("/")).then(|| Smi::start(&self.tool));
        if let Some(smi) = tool.flatten() {
            report.library = Arc::from(smi.program.to_string_lossy());
            report.message = Some("there is no libhlml.so: read from the tool's lines".into());
            let devices = smi.devices.clone();
            return Some((Box::new(smi), Opened { report, devices }));
        }
        let cards: Vec<(Arc<Device>, Card)> = files::cards(&self.options.root)
            .into_iter()
            .map(|card| (Arc::new(card.device()), card))
            .collect();
        report.library = "sysfs".into();
        report.message = Some("there is no libhlml.so: read from the driver's files".into());
        let devices: Vec<_> = cards.iter().map(|(device, _)| Arc::clone(device)).collect();
        (!devices.is_empty())
            .then(|| -> (Box<dyn StandIn>, _) { (Box::new(cards), Opened { report, devices }) })
    }
}

impl twofold::Unit for Unit {
    type Library = Library;

    fn device(&self) -> &Arc<Device> {
        &self.device
    }

    fn library(&self) -> &Arc<Library> {
        &self.library
    }

    fn refused(&self) -> &Refused {
        &self.refused
    }

    fn sample(&self, round: &Round<'_>, readings: &mut Readings) {
        sample::sample(self, round, readings);
    }

    fn sample_slow(&self, round: &Round<'_>, readings: &mut Readings) {
        sample::sample_slow(self, round, readings);
    }
}

impl StandIn for Smi {
    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        Self::sample(self, device, readings)
    }
}

impl StandIn for Vec<(Arc<Device>, Card)> {
    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        let card = self.iter().find(|(known, _)| known.id == *device);
        card.map_or(Answer::Lost(Absent::Lost), |(_, card)| {
            card.sample(readings)
        })
    }
}
