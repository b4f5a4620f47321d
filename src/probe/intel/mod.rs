//! Intel's data-centre GPUs and Arc cards, by the kernel's own files (drivers i915 and xe). A processor's own graphics are
//! left out.

mod sample;
mod slow;

use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, DeviceProcess, Event, ProbeHint, ProbeReport,
    ProbeStatus, Reading, Readings, Vendor as VendorName,
};
use crate::probe::clients::Clients;
use crate::probe::drm::{self, Card};
use crate::probe::pcie::Upstream;
use crate::probe::sysfs::{self, Hwmon};
use crate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use crate::text::clean;
use sample::History;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// Names by device id (pci.ids): the kernel gives none.
const NAMES: &[(u16, &str)] = &[
    (0x0b69, "Intel Data Center GPU Max 1450"),
    (0x0bd5, "Intel Data Center GPU Max 1550"),
    (0x0bd6, "Intel Data Center GPU Max 1550"),
    (0x0bd9, "Intel Data Center GPU Max 1100"),
    (0x0bda, "Intel Data Center GPU Max 1100"),
    (0x0bdb, "Intel Data Center GPU Max 1100"),
    (0x56c0, "Intel Data Center GPU Flex 170"),
    (0x56c1, "Intel Data Center GPU Flex 140"),
    (0x5690, "Intel Arc A770M"),
    (0x56a0, "Intel Arc A770"),
    (0x56a1, "Intel Arc A750"),
    (0xe20b, "Intel Arc B580"),
];

/// Intel's probe.
pub struct Intel {
    options: VendorOptions,
    units: RwLock<Vec<Arc<Unit>>>,
    clients: Clients,
}

/// A part of a card with clocks of its own.
struct Gt {
    folder: PathBuf,
    files: &'static Files,
}

/// Where a driver keeps what it says of a part.
struct Files {
    clock: &'static str,
    clock_max: &'static str,
    /// Milliseconds in the sleep state.
    slept: &'static str,
    /// Folder and prefix of the reasons' files.
    reasons: (&'static str, &'static str),
}

const XE: Files = Files {
    clock: "freq0/act_freq",
    clock_max: "freq0/rp0_freq",
    slept: "gtidle/idle_residency_ms",
    reasons: ("freq0/throttle", "reason_"),
};
const I915: Files = Files {
    clock: "rps_act_freq_mhz",
    clock_max: "rps_RP0_freq_mhz",
    slept: "rc6_residency_ms",
    reasons: ("", "throttle_reason_"),
};
/// Before i915 told its parts apart.
const OLD_I915: Files = Files {
    clock: "gt_act_freq_mhz",
    clock_max: "gt_RP0_freq_mhz",
    slept: "power/rc6_residency_ms",
    ..I915
};

/// One card.
struct Unit {
    device: Arc<Device>,
    card: Card,
    hwmon: Option<Hwmon>,
    upstream: Upstream,
    gts: Vec<Gt>,
    history: Mutex<History>,
}

impl Unit {
    fn sleeps(&self) -> bool {
        let status = sysfs::text(&self.card.device.join("power/runtime_status"));
        status.is_ok_and(|status| status == "suspended" || status == "suspending")
    }

    fn is_there(&self) -> bool {
        self.card.device.join("uevent").exists() && self.hwmon.as_ref().is_none_or(Hwmon::is_there)
    }
}

/// Folders below `folder` whose names begin so, in order.
fn folders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn gts(card: &Card) -> Vec<Gt> {
    let part = |folder, files| Gt { folder, files };
    let tiles = folders(&card.device, "tile");
    let xe = tiles.iter().flat_map(|tile| folders(tile, "gt"));
    let i915 = folders(&card.node.join("gt"), "gt").into_iter();
    let parts = xe
        .map(|gt| part(gt, &XE))
        .chain(i915.map(|gt| part(gt, &I915)));
    let parts: Vec<Gt> = parts.collect();
    match parts.is_empty() {
        true => vec![part(card.node.clone(), &OLD_I915)],
        false => parts,
    }
}

impl Intel {
    /// Nothing is read before [`Vendor::open`].
    #[must_use]
    pub fn new(options: VendorOptions) -> Self {
        Self {
            clients: Clients::new(&options.root, &["i915", "xe"]),
            options,
            units: RwLock::default(),
        }
    }

    fn unit(&self, device: &DeviceId) -> Option<Arc<Unit>> {
        let units = self.units.read().unwrap_or_else(PoisonError::into_inner);
        units.iter().find(|unit| unit.device.id == *device).cloned()
    }

    fn list(&self) -> (Vec<Arc<Unit>>, usize) {
        let root = &self.options.root;
        let (cards, others) = drm::ours(root, drm::computing(root, drm::INTEL));
        let kernel = sysfs::text(&root.join("proc/sys/kernel/osrelease"));
        let driver = kernel.map(|text| Arc::from(clean(&text).trim()));
        let units = (0..).zip(cards).map(|(index, card)| {
            let device = device(
                &card,
                index,
                driver.clone().map_err(|_| Absent::NotReported),
            );
            Arc::new(Unit {
                device: Arc::new(device),
                hwmon: Hwmon::of(&card.device),
                upstream: Upstream::of(root, card.address, &card.device),
                gts: gts(&card),
                history: Mutex::default(),
                card,
            })
        });
        (units.collect(), others)
    }
}

fn device(card: &Card, index: u32, driver: Reading<Arc<str>>) -> Device {
    let id: Arc<str> = Arc::from(card.address.to_string());
    let known = NAMES.iter().find(|(id, _)| *id == card.id);
    let name = known.map_or_else(
        || format!("Intel GPU {:04x}", card.id),
        |(_, name)| (*name).to_owned(),
    );
    Device {
        board: BoardId(Arc::clone(&id)),
        id: DeviceId(id),
        index,
        vendor: VendorName::Intel,
        name: Arc::from(name),
        uuid: Err(Absent::NotSupported),
        pci_address: Ok(card.address),
        pci_id: Ok((drm::INTEL, card.id)),
        driver,
        parent: None,
        kind: DeviceKind::Device,
        // From one poll to the next, by the energy counter.
        power_usage_is_average: Some(true),
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

impl Vendor for Intel {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        let (units, others) = self.list();
        let message = match (units.is_empty(), others) {
            (true, 0) => {
                Some("/sys/class/drm has no card of Intel that is not a processor's".to_owned())
            }
            (_, 0) => None,
            (_, others) => Some(format!(
                "{others} more of this host have no device node here: not ours"
            )),
        };
        let (status, hint) = match (units.is_empty(), others) {
            (false, _) => (ProbeStatus::Ok, ProbeHint::Nothing),
            (true, 0) => (ProbeStatus::NoDevice, ProbeHint::NoHardware),
            (true, _) => (ProbeStatus::NoDevice, ProbeHint::ContainerWithoutDevices),
        };
        let first = units.first();
        let report = ProbeReport {
            vendor: VendorName::Intel,
            library: Arc::from(VendorName::Intel.word()),
            path: first.map(|_| Arc::from("/sys/class/drm")),
            version: first.and_then(|unit| unit.device.driver.clone().ok()),
            status,
            code: None,
            message: message.map(Arc::from),
            hint,
        };
        let devices = units.iter().map(|unit| Arc::clone(&unit.device)).collect();
        *self.units.write().unwrap_or_else(PoisonError::into_inner) = units;
        Ok(Opened { report, devices })
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        match self.unit(device) {
            Some(unit) => sample::sample(&unit, readings),
            None => Answer::Reopen,
        }
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        if let Some(unit) = self.unit(device) {
            slow::sample(&unit, readings);
        }
    }

    fn needs_blocking_pcie(&self, _: &DeviceId) -> bool {
        false
    }

    fn sample_blocking_pcie(&self, _: &DeviceId, _: &mut Readings) {}

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        let unit = self.unit(device).ok_or(Absent::Lost)?;
        self.clients.of(unit.card.address)
    }

    fn wait_events(&self, _: Duration) -> Option<Vec<Event>> {
        None
    }

    fn close(&self) {}
}

/// Whether Intel's cards are here: for their sake this probe is worth a process.
pub(super) fn is_here(root: &Path) -> bool {
    drm::has_card(root, drm::INTEL)
}
