//! A machine made of files: /sys, /proc and /dev under a folder that goes away with the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder that stands for `/`.
pub(crate) struct Machine(tempfile::TempDir);

/// The captures of a vendor; None, and a line that says so, where there are none.
pub(crate) fn captures(vendor: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/captures")
        .join(vendor);
    if folder.is_dir() {
        return Some(folder);
    }
    #[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
    {
        eprintln!("ignored: no captures of {vendor} beside the project");
    }
    None
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        full
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::write(self.at(path), text).unwrap();
    }

    /// Files of one folder.
    pub(crate) fn fill(&self, folder: &str, files: &[(&str, &str)]) {
        for (name, text) in files {
            self.put(&format!("{folder}/{name}"), format!("{text}\n"));
        }
    }

    pub(crate) fn remove(&self, path: &str) {
        let full = self.root().join(path);
        match full.is_dir() {
            true => fs::remove_dir_all(full).unwrap(),
            false => fs::remove_file(full).unwrap(),
        }
    }

    /// A file whose opening blocks.
    pub(crate) fn block(&self, path: &str) {
        let full = self.at(path);
        let _ = fs::remove_file(&full);
        let made = std::process::Command::new("mkfifo").arg(&full).status();
        assert!(made.unwrap().success());
    }

    /// A card below bridges, the topmost first. Answers with its folder.
    pub(crate) fn card(&self, n: u32, bridges: &[&str], address: &str, id: &str) -> String {
        let mut folder = "sys/devices/pci0000:00".to_owned();
        for hop in bridges.iter().chain([&address]) {
            folder = format!("{folder}/{hop}");
            let link = self.at(&format!("sys/bus/pci/devices/{hop}"));
            let _ = fs::remove_file(&link);
            symlink(format!("../../../../{folder}"), link).unwrap();
        }
        self.put(
            &format!("{folder}/uevent"),
            format!("PCI_ID={id}\nPCI_SLOT_NAME={address}\n"),
        );
        let (vendor, device) = id.split_once(':').unwrap();
        self.fill(
            &folder,
            &[
                ("vendor", &format!("0x{vendor}")),
                ("device", &format!("0x{device}")),
                ("class", "0x120000"),
            ],
        );
        let node = self.at(&format!("sys/class/drm/card{n}/device"));
        symlink(format!("../../../../{folder}"), node).unwrap();
        folder
    }

    /// Link and vendor of a bridge or card.
    pub(crate) fn link(&self, folder: &str, now: (&str, &str), most: (&str, &str)) {
        self.fill(
            folder,
            &[
                ("current_link_speed", now.0),
                ("current_link_width", now.1),
                ("max_link_speed", most.0),
                ("max_link_width", most.1),
            ],
        );
    }

    /// Copies a folder of a capture.
    pub(crate) fn copy(&self, from: &Path, to: &str) {
        for entry in fs::read_dir(from).unwrap().flatten() {
            let name = format!("{to}/{}", entry.file_name().to_str().unwrap());
            match entry.path().is_dir() {
                true => self.copy(&entry.path(), &name),
                false => self.put(&name, fs::read(entry.path()).unwrap()),
            }
        }
    }
}
