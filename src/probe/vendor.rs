//! The seam between the probe process and a vendor's library.

use crate::model::Vendor as VendorName;
use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, ProbeReport, Reading, Readings,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a vendor's probe is to open.
#[derive(Debug, Clone)]
pub struct VendorOptions {
    /// Whose devices.
    pub vendor: VendorName,
    /// The root under which the system is looked at; `/` outside of tests.
    pub root: PathBuf,
    /// This library instead of the one that the system has.
    pub library: Option<PathBuf>,
    /// Measure PCIe traffic even where that takes a call that blocks and a process of its own (Ascend).
    pub measure_pcie: bool,
}

/// What opening a vendor's library gave.
#[derive(Debug, Clone)]
pub struct Opened {
    /// How it went; `status` is `Ok` or `NoDevice`.
    pub report: ProbeReport,
    /// Devices and instances, instances after their parent.
    pub devices: Vec<Arc<Device>>,
}

/// How a device answered a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// It answered, at least in part.
    Answered,
    /// It is gone (off the bus, reset required): keep its row, ask again with back-off.
    Lost(Absent),
    /// The library itself has to be opened again (driver reload, `Unknown Error`, uninitialised).
    Reopen,
}

/// A vendor's library inside the probe process. All calls may block for ever; the probe process sees to deadlines.
/// Implementations are shared between threads; a call for one device never waits for a call for another
/// beyond what the vendor's library itself does.
pub trait Vendor: Send + Sync + 'static {
    /// Opens the library (again) and lists the devices.
    ///
    /// # Errors
    /// The report that says why there is nothing.
    fn open(&self) -> Result<Opened, Box<ProbeReport>>;

    /// The readings that do not block, of one device, into `readings` (slots not asked for stay as they are).
    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer;

    /// Readings that change rarely (limits' range, thresholds, per-link NVLink, remapped rows...) of one device.
    /// Called about every 30 s, off the sweep, and once before the first sample is due.
    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings);

    /// Whether PCIe rates of this device can only be had by calls that block about 20 ms each.
    fn needs_blocking_pcie(&self, device: &DeviceId) -> bool;

    /// These calls: sets `PcieRxRate` and `PcieTxRate`. Run in a pool of four.
    fn sample_blocking_pcie(&self, device: &DeviceId, readings: &mut Readings);

    /// The driver's process list of a device. Called about every 5 s, off the sweep.
    ///
    /// # Errors
    /// Why there is no list.
    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>>;

    /// Waits up to `timeout` for the driver's events (XID and the like). Runs on a thread of its own; a vendor
    /// without events returns `None` at once and is not asked again.
    fn wait_events(&self, timeout: Duration) -> Option<Vec<Event>>;

    /// Shuts the library down. Called once, at the end.
    fn close(&self);
}
