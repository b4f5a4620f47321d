//! Huawei Ascend neural processors, by DCMI (`libdcmi.so`), else by what `npu-smi` prints.
//!
//! `ffi` makes the library's calls safe and lets them in one at a time (`gate`), `unit` remembers what a device does not
//! answer, `devices` lists, `sample` says which questions are asked when, `events` tells of error codes that come and go;
//! `table` reads npu-smi's text and `tool` runs it. DCMI has no link state (sysfs has) and no byte counters.

#[cfg(test)]
mod captures;
mod devices;
mod events;
mod fault;
mod ffi;
mod gate;
mod layout;
mod presence;
mod reasons;
mod sample;
mod table;
mod tool;
mod traffic;
mod unit;

use super::vendor::{Answer, Opened, Vendor, VendorOptions};
use crate::model::{
    Absent, DeviceId, DeviceProcess, Event, Metric, ProbeHint, ProbeReport, ProbeStatus, Reading,
    Readings,
};
use devices::Listing;
use events::Events;
use fault::Fault;
use ffi::Dcmi;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tool::Tool;
use traffic::Meter;
pub(crate) use traffic::serve as serve_traffic;
use unit::{Question, Round, Unit};

/// DCMI, opened as often as it takes.
pub struct Ascend {
    options: VendorOptions,
    source: RwLock<Source>,
    /// The library stays loaded from one opening to the next.
    loaded: Mutex<Option<Arc<Dcmi>>>,
    /// It was initialised, which is done once.
    initialised: AtomicBool,
    events: Events,
    /// Measures PCIe traffic, where that was asked for.
    meter: Option<Meter>,
}

/// Where readings come from.
#[derive(Clone)]
enum Source {
    /// Nowhere yet, or not any more.
    Closed,
    Library(Arc<[Arc<Unit>]>),
    Tool(Arc<Tool>),
}

impl Ascend {
    /// Nothing is loaded before [`Vendor::open`].
    #[must_use]
    pub fn new(options: VendorOptions) -> Self {
        Self {
            meter: options.measure_pcie.then(|| Meter::new(&options)),
            options,
            source: RwLock::new(Source::Closed),
            loaded: Mutex::new(None),
            initialised: AtomicBool::new(false),
            events: Events::default(),
        }
    }

    fn source(&self) -> Source {
        let source = self.source.read().unwrap_or_else(PoisonError::into_inner);
        source.clone()
    }

    fn replace(&self, new: Source) {
        let mut source = self.source.write().unwrap_or_else(PoisonError::into_inner);
        *source = new;
    }

    fn unit(&self, device: &DeviceId) -> Option<Arc<Unit>> {
        match self.source() {
            Source::Library(units) => units.iter().find(|unit| unit.device.id == *device).cloned(),
            _ => None,
        }
    }

    fn report(&self, status: ProbeStatus, hint: ProbeHint) -> ProbeReport {
        let library = match &self.options.library {
            Some(path) => path.display().to_string(),
            None => ffi::NAME.to_owned(),
        };
        ProbeReport {
            vendor: self.options.vendor,
            library: library.into(),
            path: None,
            version: None,
            status,
            code: None,
            message: None,
            hint,
        }
    }

    /// The report of a library that was loaded and then said no.
    fn failed(&self, fault: Fault, tried: &str, library: &Dcmi) -> Box<ProbeReport> {
        let (status, hint) = presence::look(&self.options.root).judge(fault);
        let mut report = self.report(status, hint);
        report.path = library.path.clone();
        report.code = fault.code();
        report.message = Some(format!("{tried}: {fault}{}", held(hint)).into());
        Box::new(report)
    }

    /// The library that is loaded already, else one that can be.
    fn load(&self) -> Result<Arc<Dcmi>, Box<ProbeReport>> {
        let mut kept = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*kept {
            return Ok(Arc::clone(library));
        }
        let library = Dcmi::load(&self.options).map_err(|refused| {
            let (status, hint) = match refused.forbidden {
                true => (ProbeStatus::NoPermission, ProbeHint::Permission),
                false => {
                    let hint = presence::hint_without_library(&self.options, &refused.message);
                    (ProbeStatus::NoLibrary, hint)
                }
            };
            let mut report = self.report(status, hint);
            report.message = Some(refused.message.into());
            Box::new(report)
        })?;
        Ok(Arc::clone(kept.insert(Arc::new(library))))
    }

    /// Initialises the library unless it works already: what a second time does is not documented.
    fn start(&self, library: &Dcmi) -> Result<(), Fault> {
        let works = || library.cards().is_ok_and(|cards| !cards.is_empty());
        if self.initialised.load(Ordering::Relaxed) && works() {
            return Ok(());
        }
        library.init()?;
        self.initialised.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn open_library(&self, library: &Arc<Dcmi>) -> Result<Opened, Box<ProbeReport>> {
        library.settle();
        self.start(library)
            .map_err(|fault| self.failed(fault, "initialising DCMI", library))?;
        let listing = devices::list(library)
            .map_err(|fault| self.failed(fault, "listing the cards", library))?;
        let mut report = self.listed(&listing);
        report.path = library.path.clone();
        report.version = library.version().ok().map(Arc::from);
        let units: Arc<[Arc<Unit>]> = listing.units.into();
        let devices = units.iter().map(|unit| Arc::clone(&unit.device)).collect();
        self.replace(Source::Library(units));
        Ok(Opened { report, devices })
    }

    /// The report of a library that works; what it listed and could not be opened is said.
    fn listed(&self, listing: &Listing) -> ProbeReport {
        let mut report = match listing.units.is_empty() {
            false => self.report(ProbeStatus::Ok, ProbeHint::Nothing),
            true => {
                let hint = presence::look(&self.options.root).hint();
                self.report(ProbeStatus::NoDevice, hint)
            }
        };
        report.message = match (listing.refused.is_empty(), listing.units.is_empty()) {
            (false, _) => Some(listing.refused.join("; ").into()),
            (true, true) => Some("the library works and lists no device".into()),
            (true, false) => None,
        };
        report
    }

    /// The tool in the library's place, where it is there and nothing was asked for by name.
    fn open_tool(&self, without: Box<ProbeReport>) -> Result<Opened, Box<ProbeReport>> {
        let ours = self.options.root == Path::new("/") && self.options.library.is_none();
        let Some(path) = ours.then(tool::find).flatten() else {
            return Err(without);
        };
        let why = without.message.as_deref().unwrap_or_default().to_owned();
        match Tool::open(&path, &self.options.root) {
            Ok((tool, table)) => {
                let mut report = self.report(ProbeStatus::Ok, ProbeHint::Nothing);
                report.library = "npu-smi".into();
                report.path = Some(path.display().to_string().into());
                report.version = table.version.map(Arc::from);
                report.message =
                    Some(format!("{why}; read from npu-smi every few seconds instead").into());
                let devices = tool.devices();
                self.replace(Source::Tool(tool));
                Ok(Opened { report, devices })
            }
            Err(failed) => {
                let mut report = without;
                report.code = failed.code;
                if let Some(code) = failed.code {
                    let seen = presence::look(&self.options.root);
                    (report.status, report.hint) = seen.judge(Fault::Code(code));
                }
                report.message =
                    Some(format!("{why}; {}{}", failed.message, held(report.hint)).into());
                Err(report)
            }
        }
    }
}

/// What a start that failed most likely means.
const fn held(hint: ProbeHint) -> &'static str {
    match hint {
        ProbeHint::HeldElsewhere => ": NPU held by another container",
        _ => "",
    }
}

impl Vendor for Ascend {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        self.replace(Source::Closed);
        match self.load() {
            Ok(library) => self.open_library(&library),
            Err(report) => self.open_tool(report),
        }
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.source() {
            Source::Closed => Answer::Reopen,
            Source::Tool(tool) => tool.sample(device, readings),
            Source::Library(_) => {
                let Some(unit) = self.unit(device) else {
                    return Answer::Lost(Absent::Lost);
                };
                let round = Round::new(&unit);
                sample::sample(&round, &self.options.root, readings);
                round.answer()
            }
        }
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            sample::sample_slow(&Round::new(&unit), readings);
        }
    }

    /// The library measures PCIe traffic in whole GB/s, on bare metal and in privileged containers, and not while a profiler
    /// runs. It is asked only on request.
    fn needs_blocking_pcie(&self, device: &DeviceId) -> bool {
        self.meter.is_some() && self.unit(device).is_some()
    }

    fn sample_blocking_pcie(&self, device: &DeviceId, readings: &mut Readings) {
        let (Some(meter), Some(unit)) = (&self.meter, self.unit(device)) else {
            return;
        };
        let round = Round::new(&unit);
        let traffic = round.ask(Question::Traffic, |_, place| meter.measure(place));
        let [received, sent] = match traffic {
            Ok(traffic) => traffic.rates(),
            Err(why) => [Err(why); 2],
        };
        readings.set(Metric::PcieRxRate, received);
        readings.set(Metric::PcieTxRate, sent);
    }

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        if let Source::Tool(tool) = self.source() {
            return tool.processes(device);
        }
        let unit = self.unit(device).ok_or(Absent::Lost)?;
        let round = Round::new(&unit);
        self.events.look(&round);
        sample::processes(&round)
    }

    fn wait_events(&self, timeout: Duration) -> Option<Vec<Event>> {
        Some(self.events.wait(timeout))
    }

    fn close(&self) {
        self.replace(Source::Closed);
        if let Some(meter) = &self.meter {
            meter.stop();
        }
    }
}
