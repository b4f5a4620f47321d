//! NVIDIA devices, and others whose library exports NVML's names.
//!
//! `ffi` makes the library's calls safe, `unit` remembers what a device does not answer; the other modules say which
//! questions are asked when.

mod devices;
mod events;
mod fault;
mod ffi;
mod gpm;
mod library;
mod presence;
mod processes;
mod sample;
mod slow;
mod unit;
mod xid;

use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, ProbeHint, ProbeReport, ProbeStatus, Reading,
    Readings,
};
use crate::probe::dynamic::wait_for_last_calls;
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use fault::{Fault, LIB_RM_VERSION_MISMATCH};
use ffi::{EventSet, Label, Library};
use library::Loaded;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use unit::{Round, Unit, locked};

/// NVML, opened as often as it takes.
pub struct Nvidia {
    options: VendorOptions,
    session: RwLock<Option<Arc<Session>>>,
    /// The library stays loaded from one opening to the next.
    loaded: Mutex<Option<Loaded>>,
}

/// The library, open, with its devices.
struct Session {
    units: Vec<Arc<Unit>>,
    /// Made by the first wait; `None` where no device reports events.
    events: OnceLock<Option<EventSet>>,
}

impl Nvidia {
    /// Nothing is loaded before [`Vendor::open`].
    #[must_use]
    pub const fn new(options: VendorOptions) -> Self {
        Self {
            options,
            session: RwLock::new(None),
            loaded: Mutex::new(None),
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
        let session = self.session()?;
        session
            .units
            .iter()
            .find(|unit| unit.device.id == *device)
            .cloned()
    }

    /// Lets go of the library, and waits a while for calls that are under way.
    fn let_go(&self) {
        let Some(old) = self.replace(None) else {
            return;
        };
        let library = old.units.first().map(|unit| Arc::downgrade(&unit.library));
        drop(old);
        if let Some(library) = library {
            wait_for_last_calls(&library);
        }
    }

    fn report(&self, status: ProbeStatus, hint: ProbeHint) -> ProbeReport {
        ProbeReport {
            vendor: self.options.vendor,
            library: Arc::from(library::asked_for(&self.options)),
            path: None,
            version: None,
            status,
            code: None,
            message: None,
            hint,
        }
    }

    fn look(&self) -> presence::Presence {
        presence::look(&self.options.root, self.options.vendor)
    }

    /// The report of a library that was loaded and then said no.
    fn failed(&self, fault: Fault, tried: &str, path: Option<&str>) -> Box<ProbeReport> {
        let (status, hint) = self.look().judge(fault);
        let mut report = self.report(status, hint);
        report.path = path.map(Arc::from);
        report.code = fault.code();
        report.message = Some(Arc::from(format!("{tried}: {fault}")));
        Box::new(report)
    }

    /// The library that is loaded already, else one that can be.
    fn load(&self) -> Result<Loaded, Box<ProbeReport>> {
        let mut kept = locked(&self.loaded);
        if let Some(loaded) = &*kept {
            return Ok(loaded.clone());
        }
        let loaded = library::load(&self.options).map_err(|refused| {
            let mut report = match refused.forbidden {
                true => self.report(ProbeStatus::NoPermission, ProbeHint::Permission),
                false => self.report(ProbeStatus::NoLibrary, self.look().hint()),
            };
            report.message = Some(Arc::from(refused.message));
            Box::new(report)
        })?;
        *kept = Some(loaded.clone());
        Ok(loaded)
    }

    fn start(&self, loaded: &Loaded) -> Result<Arc<Library>, Box<ProbeReport>> {
        Library::init(Arc::clone(&loaded.table))
            .map(Arc::new)
            .map_err(|fault| {
                if matches!(fault, Fault::Missing | Fault::Code(LIB_RM_VERSION_MISMATCH)) {
                    // Another file may lie there by now: the next opening loads it.
                    *locked(&self.loaded) = None;
                }
                self.failed(fault, "initialising the library", loaded.path.as_deref())
            })
    }

    /// A report of a library that works; what it refused to list is said.
    fn opened(&self, listing: &devices::Listing) -> ProbeReport {
        let mut report = match listing.units.is_empty() {
            false => self.report(ProbeStatus::Ok, ProbeHint::Nothing),
            true => self.report(ProbeStatus::NoDevice, self.look().hint()),
        };
        let refused: Vec<String> = listing
            .refused
            .iter()
            .map(|(index, fault)| format!("device {index}: {fault}"))
            .collect();
        report.message = match (refused.is_empty(), listing.units.is_empty()) {
            (false, _) => Some(Arc::from(refused.join("; "))),
            (true, true) => Some(Arc::from("the library works and lists no device")),
            (true, false) => None,
        };
        report
    }
}

impl Drop for Nvidia {
    /// The library stays loaded: some cannot be unloaded (those written in Go, as NVIDIA's own mock), and the
    /// process ends soon.
    fn drop(&mut self) {
        if let Some(loaded) = locked(&self.loaded).take() {
            std::mem::forget(loaded);
        }
    }
}

/// Whether session or handle are dead: nothing answered, and not for the sake of one odd call.
fn is_dead(round: &Round<'_>) -> bool {
    let name = || round.unit.library.label(round.unit.handle, Label::Name);
    match round.dead() {
        0 => false,
        1 | 2 => name().is_err(),
        _ => true,
    }
}

/// How a round of questions went.
fn answer(round: &Round<'_>) -> Answer {
    match round.lost() {
        Some(fault) => Answer::Lost(fault.absent()),
        None if is_dead(round) || round.unit.outdated.load(Ordering::Relaxed) => Answer::Reopen,
        None => Answer::Answered,
    }
}

impl Vendor for Nvidia {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        self.let_go();
        let loaded = self.load()?;
        let library = self.start(&loaded)?;
        let path = loaded.path;
        let listing = devices::list(&library, self.options.vendor)
            .map_err(|fault| self.failed(fault, "listing the devices", path.as_deref()))?;
        if let (true, Some((_, fault))) = (listing.units.is_empty(), listing.refused.first()) {
            return Err(self.failed(*fault, "opening the first device", path.as_deref()));
        }
        let mut report = self.opened(&listing);
        report.path = path;
        report.version = library
            .library_version()
            .ok()
            .map(|version| Arc::from(version.trim()));
        let devices: Vec<Arc<Device>> = listing
            .units
            .iter()
            .map(|unit| Arc::clone(&unit.device))
            .collect();
        self.replace(Some(Session {
            units: listing.units,
            events: OnceLock::new(),
        }));
        Ok(Opened { report, devices })
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        if self.session().is_none() {
            return Answer::Reopen;
        }
        let Some(unit) = self.unit(device) else {
            return Answer::Lost(Absent::Lost);
        };
        let round = Round::new(&unit);
        sample::sample(&round, readings);
        answer(&round)
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            slow::sample(&Round::new(&unit), readings);
        }
    }

    fn needs_blocking_pcie(&self, device: &DeviceId) -> bool {
        self.unit(device)
            .is_some_and(|unit| unit.blocking_pcie.load(Ordering::Relaxed))
    }

    fn sample_blocking_pcie(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            sample::sample_blocking_pcie(&Round::new(&unit), readings);
        }
    }

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        let unit = self.unit(device).ok_or(Absent::Lost)?;
        processes::list(&Round::new(&unit))
    }

    fn wait_events(&self, timeout: Duration) -> Option<Vec<Event>> {
        let Some(session) = self.session().filter(|session| !session.units.is_empty()) else {
            // Between two openings, or before there is a device.
            std::thread::sleep(timeout);
            return Some(Vec::new());
        };
        let set = session.events.get_or_init(|| events::register(&session));
        Some(events::wait(&session, set.as_ref()?, timeout))
    }

    fn close(&self) {
        drop(self.replace(None));
    }
}
