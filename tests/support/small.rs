//! A small fake library for one test (tests/fakes/small): a copy of the built example with its scenario beside it,
//! which may be written again at any time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::nvml::{built, take_out};
use nameplate::model::{Absent, DeviceId, Metric, Reading, Readings, Vendor as VendorName};
use nameplate::probe::vendor::{Answer, Opened, Vendor, VendorOptions};
use nameplate::probe::vendors;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A library with a scenario, in a folder that goes with it.
pub(crate) struct Fake {
    dir: TempDir,
    vendor: VendorName,
    file: &'static str,
}

impl Fake {
    pub(crate) fn cndev(toml: &str) -> Self {
        Self::new(VendorName::Cambricon, "cndev_fake", "libcndev.so", toml)
    }

    pub(crate) fn dcmi(toml: &str) -> Self {
        Self::new(VendorName::Ascend, "dcmi_fake", "libdcmi.so", toml)
    }

    pub(crate) fn hlml(toml: &str) -> Self {
        Self::new(VendorName::Gaudi, "hlml_fake", "libhlml.so", toml)
    }

    fn new(vendor: VendorName, example: &str, file: &'static str, toml: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(built(example), dir.path().join(file)).unwrap();
        let fake = Self { dir, vendor, file };
        fake.write(toml);
        fake
    }

    /// Another scenario from the next call on.
    pub(crate) fn write(&self, toml: &str) {
        toml.parse::<toml::Table>().expect(toml);
        // Never half of it: the library may be reading.
        let whole = self.dir.path().join("next.toml");
        std::fs::write(&whole, toml).unwrap();
        std::fs::rename(whole, self.dir.path().join(format!("{}.toml", self.file))).unwrap();
    }

    /// Without these symbols, as an older library.
    pub(crate) fn without(self, symbols: &[&str]) -> Self {
        take_out(&self.library(), symbols);
        self
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.dir.path().join(self.file)
    }

    /// The real probe on it.
    pub(crate) fn probe_at(&self, root: &Path) -> Arc<dyn Vendor> {
        let options = VendorOptions {
            vendor: self.vendor,
            root: root.to_owned(),
            library: Some(self.library()),
            measure_pcie: false,
        };
        vendors::probe(options).unwrap()
    }

    pub(crate) fn open(&self) -> (Arc<dyn Vendor>, Opened) {
        let probe = self.probe_at(Path::new("/"));
        let opened = probe.open().unwrap_or_else(|report| panic!("{report:?}"));
        (probe, opened)
    }
}

/// The slow readings and one sweep.
pub(crate) fn all(probe: &dyn Vendor, id: &DeviceId) -> (Answer, Readings) {
    let mut readings = Readings::default();
    probe.sample_slow(id, &mut readings);
    (probe.sample(id, &mut readings), readings)
}

/// Fails with all that is not as the table says.
pub(crate) fn expect(readings: &Readings, table: &[(Metric, Reading<f64>)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter(|(metric, expected)| readings.get(*metric) != *expected)
        .map(|(metric, expected)| (metric, readings.get(*metric), expected))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A number that cannot be, as the source said it.
pub(crate) const fn implausible(raw: f64) -> Reading<f64> {
    Err(Absent::Implausible(raw))
}
