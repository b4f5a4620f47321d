//! What stands around a vendor's devices: kernel, distribution, firmware, toolkit and frameworks, as files under the root
//! say. Whoever changes the vendor, or the image, sees what else has changed. Nothing is run and nothing is imported.

use super::host::jobs;
use super::share::Surroundings as Shares;
use super::vendor::{Answer, Opened, Vendor};
use crate::model::{
    Absent, Device, DeviceId, DeviceProcess, Event, FIRMWARE_RANGE, Metric, PciAddress,
    ProbeReport, Reading, Readings, Vendor as VendorName,
};
use crate::text::clean;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes read of a file; all of them are of a few lines.
const LONGEST: u64 = 16 * 1024;
/// Characters kept of a value.
const KEPT: usize = 120;
/// What has not been read by then is left out.
const PATIENCE: Duration = Duration::from_millis(500);
/// Entries looked at in a folder: an image with everything has some thousand packages.
const ENTRIES: usize = 20_000;

/// Folders of Python packages; a `*` stands for the rest of a name. Not those below /home, which often lies on another
/// machine.
const PACKAGES: &[&str] = &[
    "usr/lib/python3*/*-packages",
    "usr/lib64/python3*/*-packages",
    "usr/local/lib/python3*/*-packages",
    "usr/local/python3*/lib/python3*/*-packages",
    "opt/conda/lib/python3*/*-packages",
    "opt/conda/envs/*/lib/python3*/*-packages",
    "opt/venv/lib/python3*/*-packages",
    "root/miniconda3/lib/python3*/*-packages",
    "root/miniconda3/envs/*/lib/python3*/*-packages",
];

/// A name of a fact, the files that may say it, and what stands before it in a line; empty: the first line is it.
struct Source {
    vendor: Option<VendorName>,
    name: &'static str,
    files: &'static [&'static str],
    key: &'static str,
}

const SOURCES: &[Source] = &[
    Source {
        vendor: None,
        name: "kernel",
        files: &["proc/sys/kernel/osrelease"],
        key: "",
    },
    Source {
        vendor: None,
        name: "distribution",
        files: &["etc/os-release", "usr/lib/os-release"],
        key: "PRETTY_NAME=",
    },
    Source {
        vendor: Some(VendorName::Ascend),
        name: "firmware",
        files: &["usr/local/Ascend/firmware/version.info"],
        key: "Version=",
    },
    Source {
        vendor: Some(VendorName::Ascend),
        name: FIRMWARE_RANGE,
        files: &["usr/local/Ascend/driver/version.info"],
        key: "compatible_version_fw=",
    },
    Source {
        vendor: Some(VendorName::Ascend),
        name: "cann",
        files: &[
            "usr/local/Ascend/ascend-toolkit/latest/version.info",
            "usr/local/Ascend/cann/version.info",
        ],
        key: "Version=",
    },
    Source {
        vendor: Some(VendorName::Ascend),
        name: "cann",
        files: &["usr/local/Ascend/ascend-toolkit/latest/*/ascend_toolkit_install.info"],
        key: "version=",
    },
    Source {
        vendor: Some(VendorName::Amd),
        name: "rocm",
        files: &["opt/rocm/.info/version"],
        key: "",
    },
];

/// Which packages matter for whom.
const FRAMEWORKS: &[(Option<VendorName>, &str)] = &[
    (None, "torch"),
    (Some(VendorName::Ascend), "torch_npu"),
    (Some(VendorName::Ascend), "mindspore"),
    (Some(VendorName::Cambricon), "torch_mlu"),
    (Some(VendorName::Gaudi), "habana_torch_plugin"),
];

/// Firmware files of a Gaudi, the first that is there.
const GAUDI_FIRMWARE: &[&str] = &["fw_os_ver", "cpucp_ver"];

/// A probe whose devices say what stands around them.
pub struct WithEnvironment {
    inner: Arc<dyn Vendor>,
    vendor: VendorName,
    root: PathBuf,
    /// The numbers that nodes of devices have in /dev.
    nodes: Mutex<Vec<(DeviceId, Option<u32>)>>,
    /// Somebody looks at the jobs' processes, or hangs there.
    looking: Arc<AtomicBool>,
}

impl WithEnvironment {
    /// Adds to the devices of a vendor's probe what files under `root` say.
    #[must_use]
    pub fn new(inner: Arc<dyn Vendor>, vendor: VendorName, root: &Path) -> Self {
        Self {
            inner,
            vendor,
            root: root.to_owned(),
            nodes: Mutex::default(),
            looking: Arc::default(),
        }
    }

    /// What the jobs on a device do, in a thread of its own: the files of a process that hangs in the kernel may hang, too.
    fn look_at_jobs(&self, device: &DeviceId, readings: &mut Readings) {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let number = nodes.iter().find(|(id, _)| id == device);
        let number = number.and_then(|(_, number)| *number);
        drop(nodes);
        let mut seen = None;
        if !self.looking.swap(true, Ordering::AcqRel) {
            let (root, looking) = (self.root.clone(), Arc::clone(&self.looking));
            let (sender, answer) = channel();
            let started = std::thread::Builder::new()
                .name("jobs".to_owned())
                .spawn(move || {
                    let mut readings = Readings::default();
                    jobs::look(&root, number, &mut readings);
                    looking.store(false, Ordering::Release);
                    let _ = sender.send(readings);
                });
            match started {
                Ok(_) => seen = answer.recv_timeout(PATIENCE).ok(),
                Err(_) => self.looking.store(false, Ordering::Release),
            }
        }
        for metric in JOBS {
            let reading = seen
                .as_ref()
                .map_or(Err(Absent::TimedOut), |seen| seen.get(metric));
            readings.set(metric, reading);
        }
    }
}

/// What is read of jobs.
const JOBS: [Metric; 2] = [Metric::ForkedWorkers, Metric::ReducePrecision];

/// The number of a device's node, where its probe knows it.
fn node(device: &Device) -> (DeviceId, Option<u32>) {
    let mut details = device.details.iter();
    let number = details.find(|(name, _)| &**name == "physical_id");
    let number = number.and_then(|(_, value)| value.parse().ok());
    (device.id.clone(), number)
}

impl Vendor for WithEnvironment {
    fn open(&self) -> Result<Opened, Box<ProbeReport>> {
        let mut opened = self.inner.open()?;
        let (root, vendor) = (self.root.clone(), self.vendor);
        let devices = opened.devices.clone();
        let (sender, answer) = channel();
        // A disk or a card that hangs must not keep the devices off the screen.
        let reader = std::thread::Builder::new().name("environment".to_owned());
        let started = reader.spawn(move || {
            // That a device is a share matters more than what is installed beside it, and is quickly said.
            let shares = Shares::look(&root, std::env::vars_os());
            let mut devices = devices;
            devices.iter_mut().for_each(|device| shares.mark(device));
            sender.send(devices.clone())?;
            sender.send(described(&root, vendor, devices))
        });
        let end = Instant::now() + PATIENCE;
        while started.is_ok()
            && let Ok(told) = answer.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            opened.devices = told;
        }
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        *nodes = opened.devices.iter().map(|device| node(device)).collect();
        drop(nodes);
        Ok(opened)
    }

    fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        self.inner.sample(device, readings)
    }

    fn sample_slow(&self, device: &DeviceId, readings: &mut Readings) {
        self.inner.sample_slow(device, readings);
        if self.vendor == VendorName::Ascend {
            self.look_at_jobs(device, readings);
        }
    }

    fn needs_blocking_pcie(&self, device: &DeviceId) -> bool {
        self.inner.needs_blocking_pcie(device)
    }

    fn sample_blocking_pcie(&self, device: &DeviceId, readings: &mut Readings) {
        self.inner.sample_blocking_pcie(device, readings);
    }

    fn processes(&self, device: &DeviceId) -> Reading<Vec<DeviceProcess>> {
        self.inner.processes(device)
    }

    fn wait_events(&self, timeout: Duration) -> Option<Vec<Event>> {
        self.inner.wait_events(timeout)
    }

    fn close(&self) {
        self.inner.close();
    }
}

type Fact = (Arc<str>, Arc<str>);

/// Devices with what stands around them, beside what their probe has said itself.
fn described(root: &Path, vendor: VendorName, mut devices: Vec<Arc<Device>>) -> Vec<Arc<Device>> {
    let shared = facts(root, vendor);
    for device in &mut devices {
        let own = firmware(root, device);
        let known = |name: &str| device.details.iter().any(|(known, _)| &**known == name);
        let all = shared.iter().cloned().chain(own);
        let new: Vec<Fact> = all.filter(|(name, _)| !known(name)).collect();
        Arc::make_mut(device).details.extend(new);
    }
    devices
}

/// What is the same for all devices of a vendor.
fn facts(root: &Path, vendor: VendorName) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for source in SOURCES {
        let mine = source.vendor.is_none_or(|of| of == vendor);
        if !mine || facts.iter().any(|(name, _)| &**name == source.name) {
            continue;
        }
        let files = source.files.iter().flat_map(|pattern| found(root, pattern));
        if let Some(value) = files.into_iter().find_map(|file| value(&file, source.key)) {
            facts.push((source.name.into(), value));
        }
    }
    facts.extend(frameworks(root, vendor));
    facts
}

/// The value behind a key in a small file, without quotes.
fn value(path: &Path, key: &str) -> Option<Arc<str>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let value = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(key))?;
    let cleaned = clean(value.trim().trim_matches('"'));
    let kept: String = cleaned.chars().take(KEPT).collect();
    (!kept.is_empty()).then(|| kept.into())
}

/// Versions of the packages that matter, of all environments of the image.
fn frameworks(root: &Path, vendor: VendorName) -> Vec<Fact> {
    let wanted: Vec<&str> = FRAMEWORKS
        .iter()
        .filter(|(of, _)| of.is_none_or(|of| of == vendor))
        .map(|(_, name)| *name)
        .collect();
    let mut versions: Vec<Vec<String>> = vec![Vec::new(); wanted.len()];
    for folder in PACKAGES.iter().flat_map(|pattern| found(root, pattern)) {
        for entry in names(&folder) {
            let Some((name, version)) = entry
                .strip_suffix(".dist-info")
                .and_then(|stem| stem.split_once('-'))
            else {
                continue;
            };
            let name = name.replace('-', "_").to_lowercase();
            let Some(place) = wanted.iter().position(|wanted| *wanted == name) else {
                continue;
            };
            let version: String = clean(version).chars().take(KEPT).collect();
            if let Some(list) = versions.get_mut(place)
                && !list.contains(&version)
            {
                list.push(version);
            }
        }
    }
    let told = wanted
        .iter()
        .zip(versions)
        .filter(|(_, list)| !list.is_empty());
    told.map(|(name, list)| ((*name).into(), list.join(", ").into()))
        .collect()
}

/// The firmware of one Gaudi, by the address that its node says.
fn firmware(root: &Path, device: &Device) -> Option<Fact> {
    let address = device.pci_address.ok()?;
    if device.vendor != VendorName::Gaudi {
        return None;
    }
    let nodes = ["sys/class/accel/*/device", "sys/class/habanalabs/*"];
    let node = nodes
        .iter()
        .flat_map(|pattern| found(root, pattern))
        .find(|node| {
            let said = value(&node.join("pci_addr"), "");
            said.and_then(|text| text.parse::<PciAddress>().ok()) == Some(address)
        })?;
    let value = GAUDI_FIRMWARE
        .iter()
        .find_map(|file| value(&node.join(file), ""))?;
    Some(("firmware".into(), value))
}

/// The names in a folder, in their order.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.take(ENTRIES).flatten();
    let mut names: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// The paths that a pattern stands for; each of its names has one `*` at most.
fn found(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![root.to_owned()];
    for part in pattern.split('/') {
        paths = match part.split_once('*') {
            None => paths.into_iter().map(|path| path.join(part)).collect(),
            Some((begin, end)) => {
                let fits = |name: &String| {
                    name.len() >= begin.len() + end.len()
                        && name.starts_with(begin)
                        && name.ends_with(end)
                };
                let below = |path: &PathBuf| {
                    let names = names(path).into_iter().filter(fits);
                    names.map(|name| path.join(name)).collect::<Vec<_>>()
                };
                paths.iter().flat_map(below).collect()
            }
        };
    }
    paths
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::probe::tree::Tree;

    fn told(tree: &Tree, vendor: VendorName) -> Vec<(String, String)> {
        let facts = facts(tree.root(), vendor).into_iter();
        facts
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    #[test]
    fn files_say_what_stands_around_the_devices() {
        let tree = Tree::new(&[
            (
                "proc/sys/kernel/osrelease",
                "5.10.0-60.18.0.50.oe2203.aarch64\n",
            ),
            (
                "etc/os-release",
                "NAME=\"openEuler\"\nPRETTY_NAME=\"openEuler 22.03 LTS\u{1b}[31m\"\n",
            ),
            (
                "usr/local/Ascend/firmware/version.info",
                "Version=7.5.0.1.129\nfirmware_version=1.0\n",
            ),
            (
                "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
                "package_name=Ascend-cann-toolkit\nversion=8.0.RC3\n",
            ),
            (
                "usr/local/python3.10.14/lib/python3.10/site-packages/torch_npu-2.4.0.post2.dist-info/METADATA",
                "",
            ),
            (
                "usr/local/python3.10.14/lib/python3.10/site-packages/torch-2.4.0.dist-info/METADATA",
                "",
            ),
            (
                "opt/conda/envs/ms/lib/python3.9/site-packages/mindspore-2.3.1.dist-info/METADATA",
                "",
            ),
            (
                "opt/conda/lib/python3.11/site-packages/torch-2.1.0.dist-info/METADATA",
                "",
            ),
            ("opt/rocm/.info/version", "6.2.0-66\n"),
        ]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let common = [
            pair("kernel", "5.10.0-60.18.0.50.oe2203.aarch64"),
            pair("distribution", "openEuler 22.03 LTS"),
        ];
        let torch = pair("torch", "2.4.0, 2.1.0");
        let ascend = [
            pair("firmware", "7.5.0.1.129"),
            pair("cann", "8.0.RC3"),
            torch.clone(),
            pair("torch_npu", "2.4.0.post2"),
            pair("mindspore", "2.3.1"),
        ];
        assert_eq!(
            told(&tree, VendorName::Ascend),
            [&common[..], &ascend].concat()
        );
        let amd = [pair("rocm", "6.2.0-66"), torch];
        assert_eq!(told(&tree, VendorName::Amd), [&common[..], &amd].concat());
    }

    #[test]
    fn a_gaudis_firmware_is_found_by_its_address() {
        let tree = Tree::new(&[
            ("sys/class/accel/accel0/device/pci_addr", "0000:33:00.0\n"),
            ("sys/class/accel/accel0/device/cpucp_ver", "one\n"),
            ("sys/class/accel/accel1/device/pci_addr", "0000:4d:00.0\n"),
            (
                "sys/class/accel/accel1/device/cpucp_ver",
                "hl-gaudi2-1.18.0\n",
            ),
        ]);
        let mut device = (*crate::probe::process::tests::device("g", 0)).clone();
        device.vendor = VendorName::Gaudi;
        device.pci_address = "0000:4d:00.0"
            .parse()
            .map_err(|_| crate::model::Absent::Lost);
        device.details = vec![("kernel".into(), "its own".into())];
        tree.write("proc/sys/kernel/osrelease", "6.8.0\n");
        let devices = described(tree.root(), VendorName::Gaudi, vec![Arc::new(device)]);
        let details: Vec<(&str, &str)> = devices[0]
            .details
            .iter()
            .map(|(n, v)| (&**n, &**v))
            .collect();
        assert_eq!(
            details,
            [("kernel", "its own"), ("firmware", "hl-gaudi2-1.18.0")]
        );
    }

    #[test]
    fn an_empty_tree_and_garbage_say_nothing() {
        let tree = Tree::new(&[]);
        assert_eq!(told(&tree, VendorName::Ascend), []);
        tree.write("etc/os-release", "PRETTY_NAME=\"\"\n");
        tree.write(
            "usr/local/Ascend/firmware/version.info",
            "\u{1b}]0;x\u{7}\n",
        );
        tree.write("opt/conda/lib", "no folder");
        assert_eq!(told(&tree, VendorName::Ascend), []);
    }
}
