//! AMD's cards, Instinct and Radeon, by the kernel's own files: no library, and no device node is opened.
//!
//! `blob` reads the firmware's metrics, `cards` finds the cards and what they are, `throttle` tells why clocks are held
//! back, `sample` and `slow` say which file is read when, `smi` is for systems whose /sys shows no card.

mod blob;
mod cards;
mod processes;
mod sample;
mod slow;
mod smi;
mod throttle;
mod told;
mod traffic;

use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, Metric, ProbeHint, ProbeReport, ProbeStatus,
    Reading, Readings, Vendor as VendorName,
};
use crate::probe::clients::Clients;
use crate::probe::drm::{self, Card};
use crate::probe::pcie::Upstream;
use crate::probe::refusals::Refusals;
use crate::probe::sysfs::{self, Hwmon};
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use smi::Tool;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use throttle::History;
use told::Told;

/// AMD's probe.
pub struct Amd {
    options: VendorOptions,
    units: RwLock<Vec<Arc<Unit>>>,
    /// Cards that only the vendor's tool knows.
    told: RwLock<Vec<Told>>,
    tool: Tool,
    clients: Clients,
}

/// One card.
struct Unit {
    device: Arc<Device>,
    card: Card,
    hwmon: Option<Hwmon>,
    upstream: Upstream,
    /// Another card of its package tells power, energy and limit.
    repeats: bool,
    refusals: Refusals<&'static str>,
    history: Mutex<History>,
    traffic: Mutex<traffic::Unit>,
}

impl Unit {
    fn new(device: Device, card: &Card, hwmon: Option<Hwmon>, upstream: Upstream) -> Self {
        Self {
            device: Arc::new(device),
            card: card.clone(),
            hwmon,
            upstream,
            repeats: false,
            refusals: Refusals::default(),
            history: Mutex::default(),
            traffic: Mutex::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.card.device.join(name)
    }

    /// A number of the device's folder, unless it was refused lately.
    fn number(&self, name: &'static str) -> Reading<f64> {
        self.asked(name, || sysfs::number(&self.path(name)))
    }

    /// A number of its hwmon folder, unless it was refused lately.
    fn hwmon(&self, name: &'static str) -> Reading<f64> {
        let hwmon = self.hwmon.as_ref().ok_or(Absent::NotSupported)?;
        self.asked(name, || hwmon.number(name))
    }

    fn asked<T>(&self, name: &'static str, ask: impl FnOnce() -> Reading<T>) -> Reading<T> {
        let lasting = |why| why == Absent::NotSupported;
        self.refusals.ask(name, lasting, ask)
    }

    fn bytes(&self) -> Reading<Vec<u8>> {
        sysfs::bytes(&self.path("gpu_metrics"))
    }

    /// Reading a card that sleeps would wake it.
    fn sleeps(&self) -> bool {
        let status = sysfs::text(&self.path("power/runtime_status"));
        status.is_ok_and(|status| status == "suspended" || status == "suspending")
    }

    /// The driver still has it, and it is the driver's that listed it.
    fn is_there(&self) -> bool {
        self.path("uevent").exists() && self.hwmon.as_ref().is_none_or(Hwmon::is_there)
    }
}

impl Amd {
    /// Nothing is read before [`Vendor::open`].
    #[must_use]
    pub fn new(options: VendorOptions) -> Self {
        Self {
            clients: Clients::new(&options.root, &["amdgpu"]),
            options,
            units: RwLock::default(),
            told: RwLock::default(),
            tool: Tool::default(),
        }
    }

    fn unit(&self, device: &DeviceId) -> Option<Arc<Unit>> {
        let units = self.units.read().unwrap_or_else(PoisonError::into_inner);
        units.iter().find(|unit| unit.device.id == *device).cloned()
    }

    fn told(&self, device: &DeviceId) -> Option<Told> {
        let told = self.told.read().unwrap_or_else(PoisonError::into_inner);
        told.iter().find(|told| told.device.id == *device).cloned()
    }

    /// What the vendor's tool lists, where /sys has nothing. It blocks while the tool runs.
    fn ask_the_tool(&self, listing: &cards::Listing) -> Vec<Told> {
        let nothing = listing.units.is_empty() && listing.others == 0;
        match nothing && only_the_tool_knows(&self.options.root) {
            true => told::devices(&smi::list(), &self.options.root),
            false => Vec::new(),
        }
    }

    fn report(&self, listing: &cards::Listing) -> ProbeReport {
        let root = &self.options.root;
        let others = listing.others;
        let left_out = format!("{others} more of this host have no device node here: not ours");
        let none = listing.units.is_empty();
        let (status, hint, message) = match (none, others) {
            (false, 0) => (ProbeStatus::Ok, ProbeHint::Nothing, None),
            (false, _) => (ProbeStatus::Ok, ProbeHint::Nothing, Some(left_out)),
            (true, 0) if root.join("sys/module/amdgpu").exists() => (
                ProbeStatus::NoDevice,
                ProbeHint::NoHardware,
                Some("the amdgpu driver is loaded and has no card that computes".to_owned()),
            ),
            (true, 0) => (
                ProbeStatus::NoDevice,
                ProbeHint::InstallDriver,
                Some("/sys/class/drm has no card of AMD".to_owned()),
            ),
            (true, _) => (
                ProbeStatus::NoDevice,
                ProbeHint::ContainerWithoutDevices,
                Some(left_out),
            ),
        };
        let first = listing.units.first();
        ProbeReport {
            vendor: VendorName::Amd,
            library: Arc::from(VendorName::Amd.word()),
            path: (!none).then(|| Arc::from("/sys/class/drm")),
            version: first.and_then(|unit| unit.device.driver.clone().ok()),
            status,
            code: None,
            message: message.map(Arc::from),
            hint,
        }
    }
}

impl Vendor for Amd {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        let listing = cards::list(&self.options.root);
        let told = self.ask_the_tool(&listing);
        let mut report = self.report(&listing);
        if !told.is_empty() {
            (report.status, report.hint) = (ProbeStatus::Ok, ProbeHint::Nothing);
            report.message = Some(Arc::from(
                "/sys shows no card: read by amd-smi every few seconds",
            ));
        }
        let units = listing.units.iter().map(|unit| &unit.device);
        let devices = units.chain(told.iter().map(|told| &told.device));
        let devices = devices.cloned().collect();
        *self.units.write().unwrap_or_else(PoisonError::into_inner) = listing.units;
        *self.told.write().unwrap_or_else(PoisonError::into_inner) = told;
        Ok(Opened { report, devices })
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.unit(device) {
            Some(unit) => sample::sample(&unit, readings),
            None => match self.told(device) {
                Some(told) => told.sample(&self.tool, readings),
                None => Answer::Reopen,
            },
        }
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            slow::sample(&unit, readings);
        } else if let Some(told) = self.told(device) {
            told.sample_slow(readings);
        }
    }

    fn needs_blocking_pcie(&self, device: &DeviceId) -> bool {
        self.unit(device)
            .is_some_and(|unit| sample::counts_messages(&unit))
    }

    fn sample_blocking_pcie(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            sample::messages(&unit, readings);
        }
    }

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        if let Some(told) = self.told(device) {
            return self.clients.of(told.device.pci_address?);
        }
        let unit = self.unit(device).ok_or(Absent::Lost)?;
        processes::list(&self.options.root, &self.clients, &unit)
    }

    fn wait_events(&self, _: Duration) -> Option<Vec<Event>> {
        None
    }

    fn close(&self) {}
}

/// Whether AMD's cards are here: for their sake this probe is worth a process.
pub(super) fn is_here(root: &Path) -> bool {
    drm::has_card(root, drm::AMD) || only_the_tool_knows(root)
}

/// The compute driver is there, and /sys shows no card at all. Under another root no tool is run.
fn only_the_tool_knows(root: &Path) -> bool {
    root == Path::new("/") && root.join("dev/kfd").exists() && drm::cards(root, drm::AMD).is_empty()
}

/// What one part of the readings leaves to the other: all that is neither set here nor there is not supported.
fn not_supported(readings: &mut Readings, but: &[Metric]) {
    for metric in Metric::ALL.iter().filter(|metric| !but.contains(metric)) {
        readings.set(*metric, Err(Absent::NotSupported));
    }
}
