//! A probe of two ways: a library that lists devices, and what stands in for it where it cannot be loaded (the vendor's tool,
//! the kernel's files). What opening, asking and reporting have in common is here; a vendor gives the [`Parts`].

use super::dynamic::{NotLoaded, wait_for_last_calls};
use super::report;
use super::round::{Refused, Round, Said};
use super::vendor::{Answer, Opened, Vendor, VendorOptions};
use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, ProbeHint, ProbeReport, ProbeStatus, Reading,
    Readings,
};
use std::fmt::Display;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A device that a library has open.
pub(crate) trait Unit: Send + Sync + 'static {
    /// The library.
    type Library: Send + Sync;

    /// Which device it is.
    fn device(&self) -> &Arc<Device>;
    /// Who has it open.
    fn library(&self) -> &Arc<Self::Library>;
    /// What it was found not to answer.
    fn refused(&self) -> &Refused;
    /// The readings of a tick.
    fn sample(&self, round: &Round<'_>, readings: &mut Readings);
    /// The readings that change rarely.
    fn sample_slow(&self, round: &Round<'_>, readings: &mut Readings);

    /// The processes on it.
    ///
    /// # Errors
    /// Why there is no list.
    fn processes(&self, _: &Round<'_>) -> Reading<Vec<DeviceProcess>> {
        Err(Absent::NotSupported)
    }
}

/// What stands in for a library. Processes are none of what it tells.
pub(crate) trait StandIn: Send + Sync {
    /// The readings of a tick.
    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer;
}

/// What a library lists.
pub(crate) struct Listing<U, F> {
    pub(crate) units: Vec<Arc<U>>,
    /// Positions of the list that gave no device, with the reason.
    pub(crate) refused: Vec<(u32, F)>,
}

/// Why a library could not be opened.
pub(crate) enum NotOpened<F> {
    NotLoaded(NotLoaded),
    /// It was loaded, and then said no; with its file.
    Refused(F, Option<Arc<str>>),
}

/// What a vendor's probe of two ways is made of.
pub(crate) trait Parts: Send + Sync + 'static {
    /// The library's name for loaders.
    const NAME: &'static str;
    /// What the library has open.
    type Unit: Unit;
    /// What it says no with.
    type Fault: Said + Display;

    /// What is to be opened.
    fn options(&self) -> &VendorOptions;
    /// What would help where nothing is there.
    fn hint(&self) -> ProbeHint;
    /// How it stands with a library that says no, and what would help.
    fn judge(&self, fault: Self::Fault) -> (ProbeStatus, ProbeHint);
    /// The library's own number for a fault.
    fn code(fault: Self::Fault) -> Option<i32>;
    /// Loads and initialises the library.
    ///
    /// # Errors
    /// It cannot be loaded, or says no.
    fn load(&self) -> Result<LibraryOf<Self>, NotOpened<Self::Fault>>;
    /// Asks for everything that identifies the devices.
    ///
    /// # Errors
    /// There is no list.
    fn list(
        &self,
        library: &Arc<LibraryOf<Self>>,
    ) -> Result<Listing<Self::Unit, Self::Fault>, Self::Fault>;
    /// The library's file and version.
    fn about(library: &LibraryOf<Self>) -> (Option<Arc<str>>, Option<Arc<str>>);
    /// What stands in for the library with its devices, and the report of it (made from the one that is given); `None` where
    /// there is nothing, or nothing may be.
    fn stand_in(&self, report: ProbeReport) -> Option<(Box<dyn StandIn>, Opened)>;
}

type LibraryOf<P> = <<P as Parts>::Unit as Unit>::Library;

/// The probe, opened as often as it takes.
pub(crate) struct Twofold<P: Parts> {
    parts: P,
    session: RwLock<Option<Arc<Session<P::Unit>>>>,
}

/// What is open.
enum Session<U> {
    Library(Vec<Arc<U>>),
    StandIn(Box<dyn StandIn>),
}

impl<P: Parts> Twofold<P> {
    /// Nothing is loaded before [`Vendor::open`].
    pub(crate) const fn new(parts: P) -> Self {
        Self {
            parts,
            session: RwLock::new(None),
        }
    }

    fn session(&self) -> Option<Arc<Session<P::Unit>>> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        session.clone()
    }

    fn replace(&self, new: Option<Session<P::Unit>>) -> Option<Arc<Session<P::Unit>>> {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *session, new.map(Arc::new))
    }

    fn unit(&self, device: &DeviceId) -> Option<Arc<P::Unit>> {
        match &*self.session()? {
            Session::Library(units) => {
                let mut units = units.iter();
                units.find(|unit| unit.device().id == *device).cloned()
            }
            Session::StandIn(_) => None,
        }
    }

    fn report(&self, status: ProbeStatus, hint: ProbeHint) -> ProbeReport {
        report::report(self.parts.options(), P::NAME, status, hint)
    }

    /// The report of a library that was loaded and then said no.
    fn failed(&self, fault: P::Fault, tried: &str, path: Option<Arc<str>>) -> Box<ProbeReport> {
        let (status, hint) = self.parts.judge(fault);
        let mut report = self.report(status, hint);
        report.path = path;
        report.code = P::code(fault);
        report.message = Some(format!("{tried}: {fault}").into());
        Box::new(report)
    }

    fn open_library(&self, library: LibraryOf<P>) -> Result<Opened, Box<ProbeReport>> {
        let (path, version) = P::about(&library);
        let listing = self
            .parts
            .list(&Arc::new(library))
            .map_err(|fault| self.failed(fault, "listing the devices", path.clone()))?;
        if let (true, Some((_, fault))) = (listing.units.is_empty(), listing.refused.first()) {
            return Err(self.failed(*fault, "opening the first device", path));
        }
        let (count, refused) = (listing.units.len(), &listing.refused);
        let hint = || self.parts.hint();
        let mut report = report::listed(self.parts.options(), P::NAME, count, refused, hint);
        (report.path, report.version) = (path, version);
        let units = listing.units.iter();
        let devices = units.map(|unit| Arc::clone(unit.device())).collect();
        self.replace(Some(Session::Library(listing.units)));
        Ok(Opened { report, devices })
    }
}

impl<P: Parts> Vendor for Twofold<P> {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        let old = self.replace(None);
        let library = match old.as_deref() {
            Some(Session::Library(units)) => units.first().map(|u| Arc::downgrade(u.library())),
            _ => None,
        };
        drop(old);
        if let Some(library) = library {
            wait_for_last_calls(&library);
        }
        match self.parts.load() {
            Ok(library) => self.open_library(library),
            Err(NotOpened::Refused(fault, path)) => {
                Err(self.failed(fault, "initialising the library", path))
            }
            Err(NotOpened::NotLoaded(refused)) => {
                let report = self.report(ProbeStatus::Ok, ProbeHint::Nothing);
                let Some((stand_in, opened)) = self.parts.stand_in(report) else {
                    let options = self.parts.options();
                    let hint = self.parts.hint();
                    return Err(report::not_loaded(options, P::NAME, refused, hint));
                };
                self.replace(Some(Session::StandIn(stand_in)));
                Ok(opened)
            }
        }
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.session().as_deref() {
            None => Answer::Reopen,
            Some(Session::StandIn(stand_in)) => stand_in.sample(device, readings),
            Some(Session::Library(_)) => {
                let Some(unit) = self.unit(device) else {
                    return Answer::Lost(Absent::Lost);
                };
                let round = Round::new(unit.refused());
                unit.sample(&round, readings);
                round.answer()
            }
        }
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            unit.sample_slow(&Round::new(unit.refused()), readings);
        }
    }

    fn needs_blocking_pcie(&self, _device: &DeviceId) -> bool {
        false
    }

    fn sample_blocking_pcie(&self, _device: &DeviceId, _readings: &mut Readings) {}

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        match self.session().as_deref() {
            Some(Session::StandIn(_)) => Err(Absent::NotSupported),
            _ => {
                let unit = self.unit(device).ok_or(Absent::Lost)?;
                unit.processes(&Round::new(unit.refused()))
            }
        }
    }

    fn wait_events(&self, _timeout: Duration) -> Option<Vec<Event>> {
        None
    }

    fn close(&self) {
        drop(self.replace(None));
    }
}
