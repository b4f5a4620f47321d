//! Where the library is looked for, and from which file it came.

use super::ffi::Table;
use crate::model::Vendor;
use crate::probe::dynamic::{NotLoaded, file_of};
use crate::probe::vendor::VendorOptions;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories beside the loader's own, from the distributions, the container runtimes and WSL2.
const DIRECTORIES: &[&str] = &[
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/nvidia/lib64",
    "usr/local/nvidia/lib",
    "usr/lib/wsl/lib",
    "run/opengl-driver/lib",
];
/// The unversioned name belongs to development packages and stubs.
const NAME: &str = "libnvidia-ml.so.1";
/// Each driver of the Windows host has a directory here.
const WSL_DRIVERS: &str = "usr/lib/wsl/drivers";
const COREX_NAME: &str = "libixml.so";
const COREX_DIRECTORIES: &[&str] = &["usr/local/corex/lib64", "usr/local/corex/lib"];

/// The library as it is asked for, in words.
pub(super) fn asked_for(options: &VendorOptions) -> String {
    match &options.library {
        Some(path) => path.display().to_string(),
        None => default_name(options.vendor).to_owned(),
    }
}

const fn default_name(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Iluvatar => COREX_NAME,
        _ => NAME,
    }
}

/// What to try, in turn. Under another root the loader's own way is not ours.
fn candidates(options: &VendorOptions) -> Vec<OsString> {
    if let Some(path) = &options.library {
        return vec![path.clone().into_os_string()];
    }
    let name = default_name(options.vendor);
    let directories = match options.vendor {
        Vendor::Iluvatar => COREX_DIRECTORIES,
        _ => DIRECTORIES,
    };
    let mut found = Vec::new();
    if options.root == Path::new("/") {
        found.push(OsString::from(name));
    }
    let mut files: Vec<PathBuf> = directories
        .iter()
        .map(|directory| options.root.join(directory).join(name))
        .collect();
    if let Ok(entries) = fs::read_dir(options.root.join(WSL_DRIVERS)) {
        let mut drivers: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path().join(name)))
            .collect();
        drivers.sort();
        files.extend(drivers);
    }
    found.extend(
        files
            .into_iter()
            .filter(|file| file.exists() && !is_stub(file))
            .map(PathBuf::into_os_string),
    );
    found
}

/// The toolkit's stand-in for linking, which lists nothing.
fn is_stub(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "stubs")
}

/// A library that was loaded, and its file.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) table: Arc<Table>,
    pub(super) path: Option<Arc<str>>,
}

/// Loads the first library that can be loaded and is no stub.
pub(super) fn load(options: &VendorOptions) -> Result<Loaded, NotLoaded> {
    let candidates = candidates(options);
    let mut complaints = Vec::new();
    for candidate in &candidates {
        match Table::load(candidate) {
            Ok(table) => {
                let path = table.address().and_then(file_of);
                match &path {
                    Some(file) if options.library.is_none() && is_stub(Path::new(file)) => {
                        complaints.push(format!("{file} is a stub for linking"));
                    }
                    _ => {
                        return Ok(Loaded {
                            table: Arc::new(table),
                            path: path.map(Arc::from),
                        });
                    }
                }
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    Err(NotLoaded::of(
        options,
        default_name(options.vendor),
        complaints,
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn options(root: &Path) -> VendorOptions {
        VendorOptions {
            library: None,
            measure_pcie: false,
            root: root.to_owned(),
            vendor: Vendor::Nvidia,
        }
    }

    #[test]
    fn under_a_root_only_its_files_are_tried_and_never_stubs() {
        let root = tempfile::tempdir().unwrap();
        for directory in [
            "usr/lib/wsl/lib",
            "usr/lib/wsl/drivers/nv_1",
            "usr/lib/stubs",
        ] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
            fs::write(root.path().join(directory).join(NAME), "no library").unwrap();
        }
        let found = candidates(&options(root.path()));
        let expected: Vec<OsString> = ["usr/lib/wsl/lib", "usr/lib/wsl/drivers/nv_1"]
            .iter()
            .map(|d| root.path().join(d).join(NAME).into_os_string())
            .collect();
        assert_eq!(found, expected);
        assert!(is_stub(Path::new(
            "/usr/local/cuda/lib64/stubs/libnvidia-ml.so"
        )));
        let refused = load(&options(root.path())).err().unwrap();
        assert!(refused.message.starts_with("looked for libnvidia-ml.so.1"));
        assert!(refused.message.contains("file too short") || refused.message.contains("invalid"));
    }

    #[test]
    fn an_explicit_path_is_the_only_candidate() {
        let mut options = options(Path::new("/"));
        options.library = Some(PathBuf::from("/nowhere/libixml.so"));
        assert_eq!(
            candidates(&options),
            [OsString::from("/nowhere/libixml.so")]
        );
        assert_eq!(asked_for(&options), "/nowhere/libixml.so");
        let refused = load(&options).err().unwrap();
        assert!(
            refused.message.contains("/nowhere/libixml.so"),
            "{}",
            refused.message
        );
    }
}
