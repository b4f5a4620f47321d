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
    Device, DeviceId, DeviceProcess, ProbeHint, ProbeReport, ProbeStatus, Reading, Readings,
};
use crate::probe::round::{Refused, Round};
use crate::probe::surroundings;
use crate::probe::twofold::{self, Listing, NotOpened, Parts, StandIn, Twofold};
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use fault::{Fault, LOW_DRIVER, NO_DEVICES, NO_DRIVER, NO_PERMISSION};
use ffi::Library;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use unit::Unit;

/// Cambricon's PCI vendor id.
const PCI_VENDOR: &str = "0xcabc";
/// What its driver makes.
const NODES: &[&str] = &[
    "dev/cambricon_ctl",
    "dev/cambricon_dev0",
    "proc/driver/cambricon",
];

/// CNDEV or `cnmon`, opened as often as it takes. Nothing is loaded before [`Vendor::open`].
#[must_use]
pub fn probe(options: VendorOptions) -> impl Vendor {
    Twofold::new(Cambricon {
        options,
        tools: ["cnmon", "/usr/local/neuware/bin/cnmon"]
            .map(OsString::from)
            .to_vec(),
    })
}

struct Cambricon {
    options: VendorOptions,
    /// The tool's names, the first that can be started counts.
    tools: Vec<OsString>,
}

impl Parts for Cambricon {
    const NAME: &'static str = ffi::NAME;
    type Unit = Unit;
    type Fault = Fault;

    fn options(&self) -> &VendorOptions {
        &self.options
    }

    fn hint(&self) -> ProbeHint {
        surroundings::hint(&self.options.root, PCI_VENDOR, NODES)
    }

    fn judge(&self, fault: Fault) -> (ProbeStatus, ProbeHint) {
        match fault {
            Fault::Missing => (ProbeStatus::NoLibrary, ProbeHint::Unknown),
            Fault::Code(LOW_DRIVER) => (ProbeStatus::Mismatch, ProbeHint::InstallDriver),
            Fault::Code(NO_PERMISSION) => (ProbeStatus::NoPermission, ProbeHint::Permission),
            Fault::Code(NO_DRIVER | NO_DEVICES) => (ProbeStatus::NoDevice, self.hint()),
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
        devices::list(library)
    }

    fn about(library: &Library) -> (Option<Arc<str>>, Option<Arc<str>>) {
        let version = library.library_version().ok();
        let version =
            version.map(|[major, minor, build]| format!("{major}.{minor}.{build}").into());
        (library.path.clone(), version)
    }

    /// The tool, which is asked on this machine only.
    fn stand_in(&self, mut report: ProbeReport) -> Option<(Box<dyn StandIn>, Opened)> {
        if self.options.root != Path::new("/") || self.options.library.is_some() {
            return None;
        }
        let (tool, table) = self.tools.iter().find_map(cnmon::Tool::start)?;
        report.library = Arc::from(tool.program.to_string_lossy());
        report.version = table.version;
        report.message = Some("there is no libcndev.so: read from the tool's table".into());
        let devices = tool.devices.clone();
        Some((Box::new(tool), Opened { report, devices }))
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

    fn processes(&self, round: &Round<'_>) -> Reading<Vec<DeviceProcess>> {
        sample::processes(self, round)
    }
}

impl StandIn for cnmon::Tool {
    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        Self::sample(self, device, readings)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{Absent, Metric};
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
        let probe = |root: &Path, library: Option<&str>| {
            Twofold::new(Cambricon {
                tools: vec!["/nowhere/cnmon".into(), tool.clone().into_os_string()],
                options: VendorOptions {
                    vendor: crate::model::Vendor::Cambricon,
                    root: root.to_owned(),
                    library: library.map(Into::into),
                    measure_pcie: false,
                },
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
