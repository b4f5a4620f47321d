//! What the kernel driver shows in sysfs: the limit that is set, which HLML does not tell, and, where there is neither
//! library nor tool, what else there is. Each file is a message to the card's firmware.

use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, Metric, PciAddress, Reading, Readings, Vendor,
};
use crate::probe::plausible;
use crate::probe::vendor::Answer;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Habana's PCI vendor id.
pub(super) const PCI_VENDOR: &str = "0x1da3";

/// A card's folder: `/sys/class/accel/accelN/device`, or `/sys/class/habanalabs/hlN` of older drivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    folder: PathBuf,
    /// N of its node.
    pub(super) minor: u32,
    pub(super) address: Option<PciAddress>,
    /// `/dev/accel/accelN` or `/dev/hlN` under the root.
    node: PathBuf,
}

/// All cards under a root, by their numbers.
pub(super) fn cards(root: &Path) -> Vec<Card> {
    let new = numbered(&root.join("sys/class/accel"), "accel").into_iter();
    let new = new.map(|(minor, path)| {
        (
            minor,
            path.join("device"),
            format!("dev/accel/accel{minor}"),
        )
    });
    // Other vendors' devices are in the new class, too.
    let new = new.filter(|(_, folder, _)| {
        fs::read_to_string(folder.join("vendor")).is_ok_and(|id| id.trim() == PCI_VENDOR)
    });
    let old = numbered(&root.join("sys/class/habanalabs"), "hl").into_iter();
    let old = old.map(|(minor, path)| (minor, path, format!("dev/hl{minor}")));
    let card = |(minor, folder, node): (u32, PathBuf, String)| Card {
        address: text(&folder, "pci_addr").ok().and_then(|t| t.parse().ok()),
        folder,
        minor,
        node: root.join(node),
    };
    let all: Vec<Card> = new.map(card).collect();
    match all.is_empty() {
        true => old.map(card).collect(),
        false => all,
    }
}

/// The entries of a folder that are a word and a number.
fn numbered(folder: &Path, word: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry
                .file_name()
                .to_str()?
                .strip_prefix(word)?
                .parse()
                .ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found
}

fn text(folder: &Path, name: &str) -> Reading<String> {
    match fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(crate::text::clean(text.trim()).into_owned()),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::NotFound => Absent::NotSupported,
            io::ErrorKind::PermissionDenied => Absent::NoPermission,
            // ENODEV: the card is not operational.
            _ => Absent::NotReported,
        }),
    }
}

fn number(folder: &Path, name: &str, read: impl Fn(i64) -> Reading<f64>) -> Reading<f64> {
    let text = text(folder, name)?;
    text.parse().map_or(Err(Absent::NotReported), read)
}

impl Card {
    /// The limit that is set, W.
    pub(super) fn limit(&self) -> Reading<f64> {
        number(&self.folder, "max_power", |milliwatts| {
            plausible::unsigned(milliwatts, plausible::watts)
        })
    }

    /// The driver's word: `Operational`, `Malfunction`, `In reset`...
    fn status(&self) -> Reading<String> {
        text(&self.folder, "status")
    }

    /// What that says of its health: only two words are known to mean something.
    pub(super) fn health(&self) -> Reading<f64> {
        match self.status()?.as_str() {
            "Operational" => Ok(0.0),
            "Malfunction" => Ok(3.0),
            _ => Err(Absent::NotReported),
        }
    }

    /// Whether its node is there and may not be used.
    pub(super) fn forbidden(&self) -> bool {
        use rustix::fs::{Access, access};
        access(&self.node, Access::READ_OK | Access::WRITE_OK) == Err(rustix::io::Errno::ACCESS)
    }

    /// The card as a device. Its name is the chip's, not the product's: sysfs does not have that.
    pub(super) fn device(&self) -> Device {
        let id = self.address.map_or_else(
            || format!("gaudi-unnamed-{}", self.minor),
            |address| address.to_string(),
        );
        let id: Arc<str> = Arc::from(id);
        let word = |name| text(&self.folder, name).map(Arc::<str>::from);
        Device {
            board: BoardId(Arc::clone(&id)),
            id: DeviceId(id),
            index: self.minor,
            vendor: Vendor::Gaudi,
            name: word("device_type").unwrap_or_else(|_| Arc::from("unknown")),
            uuid: Err(Absent::NotReported),
            pci_address: self.address.ok_or(Absent::NotReported),
            pci_id: Err(Absent::NotReported),
            driver: word("driver_ver"),
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details: Vec::new(),
        }
    }

    /// The card's sensors: `hwmon/hwmonN` in its folder or in its device's.
    fn sensors(&self) -> Option<PathBuf> {
        ["hwmon", "device/hwmon"].iter().find_map(|place| {
            let mut found = numbered(&self.folder.join(place), "hwmon");
            found.pop().map(|(_, path)| path)
        })
    }

    /// What the files tell.
    pub(super) fn sample(&self, readings: &mut Readings) -> Answer {
        let none = || Err(Absent::NotSupported);
        let sensors = self.sensors();
        let sensor = |name, read: fn(i64) -> Reading<f64>| {
            sensors
                .as_ref()
                .map_or_else(none, |folder| number(folder, name, read))
        };
        // A message that failed reads as 0, which is no draw.
        let power = sensor("power1_input", |microwatts| {
            plausible::unsigned(microwatts / 1000, plausible::watts)
        });
        // Where there are several sensors, which one is the chip's is not said.
        let temperature = match sensor("temp2_input", |raw| Ok(raw as f64)) {
            Err(Absent::NotSupported) => sensor("temp1_input", |millidegrees| {
                plausible::celsius_above_zero(millidegrees / 1000)
            }),
            _ => Err(Absent::NotReported),
        };
        let clock = |name, read: fn(u64) -> Reading<f64>| {
            number(&self.folder, name, |raw| plausible::unsigned(raw, read))
        };
        for (metric, value) in [
            (Metric::PowerUsage, power),
            (Metric::LimitEnforced, self.limit()),
            (Metric::CoreTemperature, temperature),
            (
                Metric::SmClock,
                clock("clk_cur_freq_mhz", plausible::megahertz),
            ),
            (
                Metric::SmClockMax,
                clock("clk_max_freq_mhz", plausible::megahertz_max),
            ),
            (Metric::Health, self.health()),
            (Metric::Utilization, none()),
            (Metric::MemoryUsed, none()),
            (Metric::MemoryTotal, none()),
        ] {
            readings.set(metric, value);
        }
        match self.status() {
            Ok(word) if word != "Operational" => Answer::Lost(Absent::Lost),
            _ => Answer::Answered,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn the_files_of_both_drivers_are_read() {
        let new = "/sys/class/accel/accel1/device";
        let old = "/sys/class/habanalabs/hl1";
        for (folder, vendor) in [(new, "0x1da3\n"), (old, "0x1da3\n")] {
            let tree = Tree::new(&[("/sys/class/accel/accel0/device/vendor", "0x8086\n")]);
            for (name, text) in [
                ("vendor", vendor),
                ("pci_addr", "0000:43:00.0\n"),
                ("device_type", "GAUDI2\n"),
                ("driver_ver", "1.20.0-abc\n"),
                ("status", "Operational\n"),
                ("max_power", "550000\n"),
                ("clk_cur_freq_mhz", "1400\n"),
                ("clk_max_freq_mhz", "1600\n"),
                ("hwmon/hwmon3/power1_input", "221000000\n"),
                ("hwmon/hwmon3/temp1_input", "47000\n"),
            ] {
                tree.write(&format!("{folder}/{name}"), text);
            }
            let cards = cards(tree.root());
            let [card] = &cards[..] else {
                panic!("{cards:?}")
            };
            let device = card.device();
            assert_eq!((&*device.id.0, &*device.name), ("0000:43:00.0", "GAUDI2"));
            assert_eq!(device.driver.as_deref(), Ok("1.20.0-abc"));
            let read = || {
                let mut readings = Readings::default();
                let answer = card.sample(&mut readings);
                (answer, readings)
            };
            let (answer, readings) = read();
            assert_eq!(answer, Answer::Answered);
            for (metric, value) in [
                (Metric::PowerUsage, Ok(221.0)),
                (Metric::LimitEnforced, Ok(550.0)),
                (Metric::CoreTemperature, Ok(47.0)),
                (Metric::SmClock, Ok(1400.0)),
                (Metric::SmClockMax, Ok(1600.0)),
                (Metric::Health, Ok(0.0)),
                (Metric::Utilization, Err(Absent::NotSupported)),
                (Metric::MemoryTotal, Err(Absent::NotSupported)),
            ] {
                assert_eq!(readings.get(metric), value, "{metric:?}");
            }
            // A message that failed is no draw of nothing; a second sensor makes it unclear which is the chip's.
            tree.write(&format!("{folder}/hwmon/hwmon3/power1_input"), "0\n");
            tree.write(&format!("{folder}/hwmon/hwmon3/temp2_input"), "39000\n");
            tree.write(&format!("{folder}/max_power"), "garbage\n");
            tree.write(&format!("{folder}/status"), "Malfunction\n");
            let (answer, readings) = read();
            assert_eq!(answer, Answer::Lost(Absent::Lost));
            for (metric, value) in [
                (Metric::PowerUsage, Err(Absent::Implausible(0.0))),
                (Metric::LimitEnforced, Err(Absent::NotReported)),
                (Metric::CoreTemperature, Err(Absent::NotReported)),
                (Metric::Health, Ok(3.0)),
            ] {
                assert_eq!(readings.get(metric), value, "{metric:?}");
            }
        }
    }
}
