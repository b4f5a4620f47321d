//! The calls into a vendor's library, and what comes back.

use super::PathReader;
use super::coordinator::Message;
use super::inbox::Post;
use crate::model::{Device, DeviceId, DeviceProcess, Hop, Metric, ProbeReport, Reading, Readings};
use crate::probe::clock::boot_now;
use crate::probe::vendor::{Answer, Opened, Vendor};
use crate::units::MonoTime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call to make.
pub(super) enum Call {
    /// Open the library.
    Open,
    /// The readings that do not block, into these.
    Sample(DeviceId, Readings),
    /// The readings that change rarely, and the way to the root port.
    Slow(Arc<Device>),
    /// The PCIe rates by blocking calls.
    Pcie(DeviceId),
    /// The process list.
    Processes(DeviceId),
}

/// Which call, without its data.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    Open,
    Sample(DeviceId),
    Slow(DeviceId),
    Pcie(DeviceId),
    Processes(DeviceId),
}

impl Call {
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Open => Key::Open,
            Self::Sample(id, _) => Key::Sample(id.clone()),
            Self::Slow(device) => Key::Slow(device.id.clone()),
            Self::Pcie(id) => Key::Pcie(id.clone()),
            Self::Processes(id) => Key::Processes(id.clone()),
        }
    }
}

/// What came back.
pub(super) enum Outcome {
    Opened(Result<Opened, Box<ProbeReport>>),
    Sampled {
        device: DeviceId,
        at: MonoTime,
        readings: Readings,
        answer: Answer,
        /// Its PCIe rates can only be had by blocking calls; known once it was sampled.
        needs_pcie: bool,
    },
    Slow {
        device: DeviceId,
        readings: Readings,
        path: Vec<Hop>,
    },
    Pcie(DeviceId, [Reading<f64>; 2]),
    Processes(DeviceId, Reading<Vec<DeviceProcess>>),
    Panicked(Key),
}

/// Makes a call.
pub(super) type Work = Arc<dyn Fn(Call) -> Outcome + Send + Sync>;

/// What makes the calls of this vendor. A panic in a call ends that call only.
pub(super) fn work(vendor: Arc<dyn Vendor>, root: PathBuf, path: PathReader) -> Work {
    Arc::new(move |call| {
        let key = call.key();
        catch_unwind(AssertUnwindSafe(|| make(&*vendor, &root, &path, call)))
            .unwrap_or(Outcome::Panicked(key))
    })
}

fn make(vendor: &dyn Vendor, root: &std::path::Path, path: &PathReader, call: Call) -> Outcome {
    match call {
        Call::Open => Outcome::Opened(vendor.open()),
        Call::Sample(id, mut readings) => {
            let answer = vendor.sample(&id, &mut readings);
            Outcome::Sampled {
                at: boot_now(),
                needs_pcie: vendor.needs_blocking_pcie(&id),
                device: id,
                readings,
                answer,
            }
        }
        Call::Slow(device) => {
            let mut readings = Readings::default();
            vendor.sample_slow(&device.id, &mut readings);
            let path = match (device.parent.as_ref(), device.pci_address) {
                (None, Ok(address)) => path(root, address),
                _ => Vec::new(),
            };
            Outcome::Slow {
                device: device.id.clone(),
                readings,
                path,
            }
        }
        Call::Pcie(id) => {
            let mut readings = Readings::default();
            vendor.sample_blocking_pcie(&id, &mut readings);
            let rates = [Metric::PcieRxRate, Metric::PcieTxRate].map(|m| readings.get(m));
            Outcome::Pcie(id, rates)
        }
        Call::Processes(id) => {
            let list = vendor.processes(&id);
            Outcome::Processes(id, list)
        }
    }
}

/// How long one wait for events may take.
const EVENT_WAIT: Duration = Duration::from_secs(2);

/// Hands the driver's events on until there are none to come, or nobody wants them.
pub(super) fn forward_events(vendor: &dyn Vendor, post: &Post) {
    loop {
        let begun = Instant::now();
        let waited = catch_unwind(AssertUnwindSafe(|| vendor.wait_events(EVENT_WAIT)));
        match waited {
            Ok(Some(events)) if events.is_empty() => {
                // A library that is being opened again answers at once: never a busy loop.
                if begun.elapsed() < EVENT_WAIT / 2 {
                    std::thread::sleep(EVENT_WAIT / 4);
                }
            }
            Ok(Some(events)) => {
                if post.send(Message::Events(events)).is_err() {
                    return;
                }
            }
            Ok(None) | Err(_) => return,
        }
    }
}
