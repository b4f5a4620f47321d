//! A vendor's library, opened at run time.
#![allow(unsafe_code)]

use super::vendor::VendorOptions;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, OsString};
use std::fs;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A library that was loaded. It is never unloaded: calls may hang in it for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Dynamic {
    library: ManuallyDrop<Library>,
    /// Its file, where the system tells.
    pub(crate) path: Option<Arc<str>>,
}

/// Why none was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotLoaded {
    /// What was tried and what the loader said, the most telling first.
    pub(crate) message: String,
    /// A file was there that may not be read.
    pub(crate) forbidden: bool,
}

impl NotLoaded {
    /// From what the loader said of each candidate.
    pub(crate) fn of(options: &VendorOptions, name: &str, mut complaints: Vec<String>) -> Self {
        // The loader's "not found" says less than what a file that is there was refused for, which may be another that it
        // needs in turn.
        complaints.sort_by_key(|complaint| {
            let missing = complaint.split(':').next().unwrap_or_default();
            complaint.contains("No such file") && missing.ends_with(name)
        });
        let looked_for = match (&options.library, options.root.to_str()) {
            (Some(path), _) => path.display().to_string(),
            (None, Some("/")) => format!("{name} of the loader and in the usual directories"),
            (None, _) => format!(
                "{name} in the usual directories under {}",
                options.root.display()
            ),
        };
        let message = match complaints.first() {
            Some(complaint) => format!("looked for {looked_for}: {complaint}"),
            None => format!("looked for {looked_for}: none is there"),
        };
        Self {
            forbidden: complaints.iter().any(|c| c.contains("Permission denied")),
            message,
        }
    }
}

/// What to try, in turn: the one that is named; else the loader's own way, which under another root is not ours, and the
/// directories under the root.
pub(crate) fn candidates(
    options: &VendorOptions,
    name: &str,
    directories: &[&str],
) -> Vec<OsString> {
    if let Some(path) = &options.library {
        return vec![path.clone().into_os_string()];
    }
    let by_loader = (options.root == Path::new("/")).then(|| OsString::from(name));
    let files = directories
        .iter()
        .map(|directory| options.root.join(directory).join(name))
        .filter(|file| file.exists())
        .map(std::path::PathBuf::into_os_string);
    by_loader.into_iter().chain(files).collect()
}

impl Dynamic {
    /// Loads the first candidate that can be loaded.
    ///
    /// # Errors
    /// None can; with what the loader said.
    pub(crate) fn open(
        options: &VendorOptions,
        name: &str,
        directories: &[&str],
    ) -> Result<Self, NotLoaded> {
        let mut complaints = Vec::new();
        for candidate in candidates(options, name, directories) {
            // SAFETY: the caller names a management library; running its initialisers is what was asked for. RTLD_LOCAL keeps
            // its names out of ours.
            match unsafe { Library::open(Some(&candidate), RTLD_NOW | RTLD_LOCAL) } {
                Ok(library) => {
                    return Ok(Self {
                        library: ManuallyDrop::new(library),
                        path: None,
                    });
                }
                Err(error) => complaints.push(error.to_string()),
            }
        }
        Err(NotLoaded::of(options, name, complaints))
    }

    /// One of its functions, `None` where it has none of this name. The first that is found tells the library's file.
    ///
    /// # Safety
    /// `F` is the type of this function: an `unsafe extern "C" fn` with its arguments.
    pub(crate) unsafe fn function<F: Copy>(&mut self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: the caller vouches for the type.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) }.ok()?;
        let function = *symbol;
        if self.path.is_none() {
            self.path = file_of(symbol.as_raw_ptr().addr()).map(Arc::from);
        }
        Some(function)
    }
}

/// How long opening waits for the old library's last calls to return: a library that is in use is not shut down.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// Waits a while until nobody holds a library any more, which a call that is under way does.
pub(crate) fn wait_for_last_calls<T>(library: &Weak<T>) {
    let begin = Instant::now();
    while library.strong_count() > 0 && begin.elapsed() < LAST_CALLS {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The file whose mapping holds an address, from `/proc/self/maps`.
pub(crate) fn file_of(address: usize) -> Option<String> {
    file_in_maps(&fs::read_to_string("/proc/self/maps").ok()?, address)
}

fn file_in_maps(maps: &str, address: usize) -> Option<String> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        let path = rest.find('/').map(|at| &rest[at..])?;
        (from..to).contains(&address).then(|| path.to_owned())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::Vendor;

    #[test]
    fn the_file_is_found_by_address() {
        let maps = "55d0-55e0 r--p 00000000 08:01 1 /bin/x\n\
                    7f00-7f80 r-xp 00000000 08:01 2                          /usr/lib/wsl/lib/libnvidia-ml.so.1\n\
                    7f80-7f90 rw-p 00000000 00:00 0 \n";
        assert_eq!(
            file_in_maps(maps, 0x7f10).as_deref(),
            Some("/usr/lib/wsl/lib/libnvidia-ml.so.1")
        );
        assert_eq!(file_in_maps(maps, 0x7f85), None);
        assert_eq!(file_in_maps(maps, 0x1), None);
        assert_eq!(file_in_maps("garbage\n-\n", 0x1), None);
    }

    #[test]
    fn a_library_that_another_one_lacks_is_named() {
        let options = VendorOptions {
            vendor: Vendor::Ascend,
            root: "/".into(),
            library: None,
            measure_pcie: false,
        };
        let complaints = [
            "libdcmi.so: cannot open shared object file: No such file or directory",
            "libdrvdsmi_host.so: cannot open shared object file: No such file or directory",
        ];
        let refused = NotLoaded::of(&options, "libdcmi.so", complaints.map(String::from).into());
        assert!(refused.message.contains(complaints[1]), "{refused:?}");
    }

    #[test]
    fn a_library_that_is_none_is_refused_with_the_loader_s_words() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("libdcmi.so"), "no library").unwrap();
        let options = |library: Option<&Path>| VendorOptions {
            vendor: Vendor::Ascend,
            root: root.path().to_owned(),
            library: library.map(Path::to_owned),
            measure_pcie: false,
        };
        let refused = Dynamic::open(&options(None), "libdcmi.so", &["", "usr/lib"]).unwrap_err();
        assert!(
            refused
                .message
                .starts_with("looked for libdcmi.so in the usual directories")
        );
        assert!(refused.message.contains("file too short") || refused.message.contains("invalid"));
        let none = Dynamic::open(&options(None), "libdcmi.so", &["usr/lib"]).unwrap_err();
        assert!(none.message.ends_with("none is there"));
        let named = options(Some(Path::new("/nowhere/libdcmi.so")));
        let refused = Dynamic::open(&named, "libdcmi.so", &[]).unwrap_err();
        assert!(refused.message.contains("/nowhere/libdcmi.so"));
        assert!(!refused.forbidden);
    }
}
