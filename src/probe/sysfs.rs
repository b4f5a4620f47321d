//! Small files of the kernel: numbers and texts, each with the reason where there is none.

use crate::model::{Absent, Reading};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// No file that is read here is longer: sysfs gives a page, `gpu_metrics` at most a few KB.
const LONGEST: u64 = 65_536;
/// Watts that a card or its limit can have: the largest has 1.4 kW.
pub(super) const WATTS: RangeInclusive<f64> = 0.001..=5000.0;
/// Degrees Celsius above freezing: sensors that are not there say 0, thresholds that are not set -273.
pub(super) const CELSIUS: RangeInclusive<f64> = 1.0..=200.0;
/// Clocks in MHz.
pub(super) const MEGAHERTZ: RangeInclusive<f64> = 0.0..=20_000.0;
/// Shares in per cent.
pub(super) const PERCENT: RangeInclusive<f64> = 0.0..=100.0;
/// Bytes of a device's memory: up to 16 TiB.
pub(super) const MEMORY: RangeInclusive<f64> = 0.0..=1.8e13;

/// What an error of the kernel says of the value. Drivers answer EPERM and EBUSY while a card is reset or asleep, and
/// ENODEV or EIO when it is dead.
pub(super) fn why(error: &io::Error) -> Absent {
    const EPERM: i32 = 1;
    const EIO: i32 = 5;
    const ENXIO: i32 = 6;
    const EACCES: i32 = 13;
    const EBUSY: i32 = 16;
    const ENODEV: i32 = 19;
    const ETIMEDOUT: i32 = 110;
    match error.raw_os_error() {
        Some(EACCES) => Absent::NoPermission,
        Some(EPERM | EBUSY | ETIMEDOUT) => Absent::TimedOut,
        Some(EIO | ENXIO | ENODEV) => Absent::Lost,
        // ENOENT, EINVAL, ENODATA, EOPNOTSUPP and their like: the driver has no such value.
        _ => Absent::NotSupported,
    }
}

/// A file's bytes.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn bytes(path: &Path) -> Reading<Vec<u8>> {
    let file = File::open(path).map_err(|error| why(&error))?;
    let mut bytes = Vec::new();
    file.take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| why(&error))?;
    Ok(bytes)
}

/// A file's text, trimmed of blanks and NULs.
///
/// # Errors
/// Why it cannot be read, or that it is empty.
pub(super) fn text(path: &Path) -> Reading<String> {
    let bytes = bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    match text.trim_matches(|c: char| c.is_whitespace() || c == '\0') {
        "" => Err(Absent::NotReported),
        text => Ok(text.to_owned()),
    }
}

/// A whole number in decimal.
///
/// # Errors
/// Why it cannot be read; text that is no number is `NotReported`.
pub(super) fn number(path: &Path) -> Reading<f64> {
    let number: i128 = text(path)?.parse().map_err(|_| Absent::NotReported)?;
    Ok(number as f64)
}

/// A number in the unit of the metric; one outside of `range` cannot be, and is kept as the source said it.
///
/// # Errors
/// It is out of range.
pub(super) fn within(raw: f64, unit: f64, range: &RangeInclusive<f64>) -> Reading<f64> {
    let value = raw / unit;
    match range.contains(&value) {
        true => Ok(value),
        false => Err(Absent::Implausible(raw)),
    }
}

/// A zero that stands for "nothing to say".
pub(super) fn unless_zero(raw: f64) -> Reading<f64> {
    match raw == 0.0 {
        true => Err(Absent::NotReported),
        false => Ok(raw),
    }
}

/// A PCI id such as `0x1002`, with or without its `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<u32> {
    let text = text.trim();
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A device's hwmon folder. Its sensors are known by their labels: their numbers differ from card to card.
#[derive(Debug)]
pub(super) struct Hwmon {
    folder: PathBuf,
    /// `temp junction` to `temp2`.
    labels: HashMap<String, String>,
}

impl Hwmon {
    /// The first hwmon folder of a device, where it has one.
    pub(super) fn of(device: &Path) -> Option<Self> {
        let mut folders: Vec<PathBuf> = fs::read_dir(device.join("hwmon"))
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        folders.sort();
        let folder = folders.into_iter().next()?;
        let labels = fs::read_dir(&folder)
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let sensor = name.strip_suffix("_label")?;
                let kind = sensor.trim_end_matches(|c: char| c.is_ascii_digit());
                let label = text(&entry.path()).ok()?;
                Some((format!("{kind} {label}"), sensor.to_owned()))
            })
            .collect();
        Some(Self { folder, labels })
    }

    /// It is still there: a driver that was loaded again has another one.
    pub(super) fn is_there(&self) -> bool {
        self.folder.exists()
    }

    /// `temp2` for `temp` and `junction`.
    pub(super) fn sensor(&self, kind: &str, label: &str) -> Option<&str> {
        self.labels
            .get(&format!("{kind} {label}"))
            .map(String::as_str)
    }

    /// A number of the folder, `power1_cap`.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn number(&self, name: &str) -> Reading<f64> {
        number(&self.folder.join(name))
    }

    /// A number of a sensor that has a label.
    ///
    /// # Errors
    /// There is no such sensor, or it cannot be read.
    pub(super) fn labelled(&self, kind: &str, label: &str, what: &str) -> Reading<f64> {
        let sensor = self.sensor(kind, label).ok_or(Absent::NotSupported)?;
        self.number(&format!("{sensor}_{what}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn errors_of_the_kernel_have_their_reasons() {
        for (code, reason) in [
            (2, Absent::NotSupported),
            (22, Absent::NotSupported),
            (61, Absent::NotSupported),
            (95, Absent::NotSupported),
            (13, Absent::NoPermission),
            (1, Absent::TimedOut),
            (16, Absent::TimedOut),
            (19, Absent::Lost),
            (5, Absent::Lost),
        ] {
            assert_eq!(why(&io::Error::from_raw_os_error(code)), reason, "{code}");
        }
    }

    #[test]
    fn numbers_are_whole_or_absent() {
        let tree = Tree::new(&[
            ("/a", "42\n"),
            ("/b", "-273150\0\n"),
            ("/c", ""),
            ("/d", "18446744073709551615\n"),
            ("/e", "nan"),
            ("/f", "12 34"),
        ]);
        let of = |name: &str| number(&tree.root().join(name));
        assert_eq!(of("a"), Ok(42.0));
        assert_eq!(of("b"), Ok(-273_150.0));
        assert_eq!(of("c"), Err(Absent::NotReported));
        assert_eq!(of("d"), Ok(18_446_744_073_709_551_615.0));
        assert_eq!(of("e"), Err(Absent::NotReported));
        assert_eq!(of("f"), Err(Absent::NotReported));
        assert_eq!(of("no"), Err(Absent::NotSupported));
        assert_eq!(
            within(4_294_967_295.0, 1e5, &WATTS),
            Err(Absent::Implausible(4_294_967_295.0))
        );
    }

    #[test]
    fn sensors_go_by_their_labels() {
        let tree = Tree::new(&[
            ("/d/hwmon/hwmon7/temp3_label", "junction\n"),
            ("/d/hwmon/hwmon7/temp3_input", "61000\n"),
        ]);
        let hwmon = Hwmon::of(&tree.root().join("d")).unwrap();
        assert_eq!(hwmon.labelled("temp", "junction", "input"), Ok(61_000.0));
        assert_eq!(
            hwmon.labelled("temp", "edge", "input"),
            Err(Absent::NotSupported)
        );
        assert!(Hwmon::of(tree.root()).is_none());
    }
}
