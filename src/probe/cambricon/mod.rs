//! Cambricon devices: through CNDEV (`libcndev.so`), else by what `cnmon` prints.
//!
//! `ffi` makes the library's calls safe, `devices` lists, `sample` says which questions are asked when, `table` reads
//! the tool's tables. What CNDEV refuses (code 10) may depend on a mode, so it is asked again once a minute.

mod cnmon;
mod devices;
mod fault;
mod ffi;
mod sample;
mod table;
mod unit;

use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, ProbeHint, ProbeReport, ProbeStatus, Reading,
    Readings,
};
use crate::probe::dynamic::wait_for_last_calls;
use crate::probe::report;
use crate::probe::round::Round;
use crate::probe::surroundings;
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use fault::{Fault, LOW_DRIVER, NO_DEVICES, NO_DRIVER, NO_PERMISSION};
use ffi::{Library, NAME, NotOpened};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use unit::Unit;

/// Cambricon's PCI vendor id.
const PCI_VENDOR: &str = "0xcabc";
/// What its driver makes.
const NODES: &[&str] = &[
    "dev/cambricon_ctl",
    "dev/cambricon_dev0",
    "proc/driver/cambricon",
];

/// CNDEV or `cnmon`, opened as often as it takes.
pub struct Cambricon {
    options: VendorOptions,
    /// The tool's names, the first that can be started counts.
    tools: Vec<OsString>,
    session: RwLock<Option<Arc<Session>>>,
}

/// What is open.
enum Session {
    Library(Vec<Arc<Unit>>),
    Tool(cnmon::Tool),
}

impl Cambricon {
    /// Nothing is loaded before [`Vendor::open`].
    #[must_use]
    pub fn new(options: VendorOptions) -> Self {
        Self {
            options,
            tools: ["cnmon", "/usr/local/neuware/bin/cnmon"]
                .map(OsString::from)
                .to_vec(),
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
            Session::Tool(_) => None,
        }
    }

    fn hint(&self) -> ProbeHint {
        surroundings::hint(&self.options.root, PCI_VENDOR, NODES)
    }

    fn report(&self, status: ProbeStatus, hint: ProbeHint) -> ProbeReport {
        report::report(&self.options, NAME, status, hint)
    }

    /// The report of a library that was loaded and then said no.
    fn failed(&self, fault: Fault, tried: &str, path: Option<Arc<str>>) -> Box<ProbeReport> {
        let (status, hint) = match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            Fault::Code(LOW_DRIVER) => (ProbeStatus::Mismatch, ProbeHint::InstallDriver),
            Fault::Code(NO_PERMISSION) => (ProbeStatus::NoPermission, ProbeHint::Permission),
            Fault::Code(NO_DRIVER | NO_DEVICES) => (ProbeStatus::NoDevice, self.hint()),
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
        let listing = devices::list(&library)
            .map_err(|fault| self.failed(fault, "listing the devices", path.clone()))?;
        if let (true, Some((_, fault))) = (listing.units.is_empty(), listing.refused.first()) {
            return Err(self.failed(*fault, "opening the first device", path));
        }
        let (devices, refused) = (listing.units.len(), &listing.refused);
        let mut report = report::listed(&self.options, NAME, devices, refused, || self.hint());
        report.path = path;
        report.version = library
            .library_version()
            .ok()
            .map(|[major, minor, build]| Arc::from(format!("{major}.{minor}.{build}")));
        let devices: Vec<Arc<Device>> = listing
            .units
            .iter()
            .map(|unit| Arc::clone(&unit.device))
            .collect();
        self.replace(Some(Session::Library(listing.units)));
        Ok(Opened { report, devices })
    }

    /// By the tool, where there is no library; `None` where there is no tool either, or may not be.
    fn open_tool(&self) -> Option<Opened> {
        if self.options.root != Path::new("/") || self.options.library.is_some() {
            return None;
        }
        let (tool, table) = self.tools.iter().find_map(cnmon::Tool::start)?;
        let mut report = self.report(ProbeStatus::Ok, ProbeHint::Nothing);
        report.library = Arc::from(tool.program.to_string_lossy());
        report.version = table.version;
        report.message = Some(Arc::from(
            "there is no libcndev.so: read from the tool's table",
        ));
        let devices = tool.devices.clone();
        self.replace(Some(Session::Tool(tool)));
        Some(Opened { report, devices })
    }
}

impl Vendor for Cambricon {
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
                .open_tool()
                .ok_or_else(|| report::not_loaded(&self.options, NAME, refused, self.hint())),
        }
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.session().as_deref() {
            None => Answer::Reopen,
            Some(Session::Tool(tool)) => tool.sample(device, readings),
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

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        match self.session().as_deref() {
            Some(Session::Tool(_)) => Err(Absent::NotSupported),
            _ => {
                let unit = self.unit(device).ok_or(Absent::Lost)?;
                sample::processes(&unit, &Round::new(&unit.refused))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::Metric;
    use crate::probe::tool::tests::script;

    #[test]
    fn without_a_library_the_tool_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let table = "\
| CNMON v6.2.29                                                 Driver v6.2.10 |
| 0     /   MLU590-M9    v1.5.0 |         0000:0F:00.0 | 42%                 0 |
|  0%   33C        105 W/ 550 W |  1024 MiB/ 98304 MiB | FULL          Default |
";
        let tool = script(folder.path(), &format!("cat <<'END'\n{table}END\n"));
        let probe = |root: &Path, library: Option<&str>| Cambricon {
            tools: vec!["/nowhere/cnmon".into(), tool.clone().into_os_string()],
            ..Cambricon::new(VendorOptions {
                vendor: crate::model::Vendor::Cambricon,
                root: root.to_owned(),
                library: library.map(Into::into),
                measure_pcie: false,
            })
        };
        let cnmon = probe(Path::new("/"), None);
        let opened = cnmon.open().unwrap();
        assert_eq!(opened.report.version.as_deref(), Some("6.2.29"));
        let device = &opened.devices[0];
        assert_eq!(
            (&*device.id.0, &*device.name),
            ("0000:0f:00.0", "MLU590-M9")
        );
        assert_eq!(device.driver.as_deref(), Ok("6.2.10"));
        let mut readings = Readings::default();
        assert_eq!(cnmon.sample(&device.id, &mut readings), Answer::Answered);
        assert_eq!(readings.get(Metric::PowerUsage), Ok(105.0));
        assert_eq!(readings.get(Metric::Utilization), Ok(0.42));
        assert_eq!(cnmon.processes(&device.id), Err(Absent::NotSupported));
        cnmon.close();
        assert_eq!(cnmon.sample(&device.id, &mut readings), Answer::Reopen);
        // Nothing of this machine is asked under another root, nor where a library was named.
        for probe in [
            probe(folder.path(), None),
            probe(Path::new("/"), Some("/nowhere.so")),
        ] {
            assert_eq!(probe.open().unwrap_err().status, ProbeStatus::NoLibrary);
        }
    }
}
