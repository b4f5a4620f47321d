//! Which vendors' probes there are, and which of them are worth a process on this machine.

use super::amd::{self, Amd};
use super::ascend::Ascend;
use super::cambricon;
use super::gaudi;
use super::intel::{self, Intel};
use super::nvidia::Nvidia;
use super::vendor::{Vendor, VendorOptions};
use crate::model::Vendor as VendorName;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Where a machine shows that a vendor's devices or library are there: a few names, and small files that the kernel
/// answers by itself.
#[derive(Debug)]
struct Traces {
    vendor: VendorName,
    /// The library as the probe asks for it; empty where it reads files.
    library: &'static str,
    /// Files and folders under the root; any of them will do.
    paths: &'static [&'static str],
    /// Looks at devices that need no library.
    is_here: fn(&Path) -> bool,
}

/// Beside NVIDIA's, which is always started: whose absence is told, too.
const TRACES: &[Traces] = &[
    Traces {
        vendor: VendorName::Iluvatar,
        library: "libixml.so",
        paths: &[
            "usr/local/corex/lib64/libixml.so",
            "usr/local/corex/lib/libixml.so",
        ],
        is_here: |_| false,
    },
    Traces {
        vendor: VendorName::Ascend,
        library: "libdcmi.so",
        paths: &[
            "usr/local/Ascend/driver/lib64/driver/libdcmi.so",
            "usr/local/dcmi/libdcmi.so",
            "usr/local/Ascend/driver/lib64/libdcmi.so",
            "usr/local/bin/npu-smi",
            "usr/local/sbin/npu-smi",
            // Also there in a container without any device of its own.
            "dev/davinci_manager",
        ],
        is_here: |_| false,
    },
    Traces {
        vendor: VendorName::Cambricon,
        library: "libcndev.so",
        paths: &[
            "usr/local/neuware/lib64/libcndev.so",
            "usr/local/neuware/bin/cnmon",
            "proc/driver/cambricon",
            "dev/cambricon_ctl",
            "dev/cambricon_dev0",
        ],
        is_here: |_| false,
    },
    Traces {
        vendor: VendorName::Gaudi,
        library: "libhlml.so",
        paths: &[
            "usr/lib/habanalabs/libhlml.so",
            "sys/class/habanalabs",
            "sys/module/habanalabs",
            "dev/hl0",
        ],
        is_here: |_| false,
    },
    Traces {
        vendor: VendorName::Amd,
        library: "",
        paths: &[],
        is_here: amd::is_here,
    },
    Traces {
        vendor: VendorName::Intel,
        library: "",
        paths: &[],
        is_here: intel::is_here,
    },
];

/// Where loaders look besides the variable.
const DIRECTORIES: &[&str] = &[
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/lib",
];

/// The vendors whose probes are worth a process: NVIDIA's, those that are `named` by a library of their own, and those
/// of whom something is there under `root`. `loader_path` is `LD_LIBRARY_PATH`, where it counts. Some dozens of looks at
/// names, a fraction of a millisecond.
#[must_use]
pub fn worth_starting(
    root: &Path,
    loader_path: Option<&OsString>,
    named: impl Fn(VendorName) -> bool,
) -> Vec<VendorName> {
    let loader_path = loader_path.filter(|_| root == Path::new("/"));
    let on_path = |library: &str| {
        loader_path
            .into_iter()
            .flat_map(|path| std::env::split_paths(path))
            .any(|folder| folder.join(library).is_file())
    };
    let there = |traces: &Traces| {
        named(traces.vendor)
            || traces.paths.iter().any(|path| root.join(path).exists())
            || (traces.is_here)(root)
            || !traces.library.is_empty()
                && (on_path(traces.library)
                    || DIRECTORIES
                        .iter()
                        .any(|folder| root.join(folder).join(traces.library).is_file()))
    };
    let others = TRACES.iter().filter(|traces| there(traces));
    std::iter::once(VendorName::Nvidia)
        .chain(others.map(|traces| traces.vendor))
        .collect()
}

/// The library of a vendor as its probe asks for it; the vendor's word where it reads files.
#[must_use]
pub fn library_name(vendor: VendorName) -> &'static str {
    let traces = TRACES.iter().find(|traces| traces.vendor == vendor);
    match traces.map(|traces| traces.library) {
        Some("") => vendor.word(),
        Some(library) => library,
        None => "libnvidia-ml.so.1",
    }
}

/// A vendor's probe; `None` for vendors that have none.
#[must_use]
pub fn probe(options: VendorOptions) -> Option<Arc<dyn Vendor>> {
    match options.vendor {
        VendorName::Nvidia | VendorName::Iluvatar => Some(Arc::new(Nvidia::new(options))),
        VendorName::Ascend => Some(Arc::new(Ascend::new(options))),
        VendorName::Cambricon => Some(Arc::new(cambricon::probe(options))),
        VendorName::Gaudi => Some(Arc::new(gaudi::probe(options))),
        VendorName::Amd => Some(Arc::new(Amd::new(options))),
        VendorName::Intel => Some(Arc::new(Intel::new(options))),
        _ => None,
    }
}

/// Measures PCIe traffic for a vendor's probe until that ends: the process that such a probe starts for itself.
///
/// # Errors
/// This vendor has no such process, or it cannot go on.
pub fn measure_pcie(options: &VendorOptions) -> std::io::Result<()> {
    match options.vendor {
        VendorName::Ascend => super::ascend::serve_traffic(options),
        vendor => Err(std::io::Error::other(format!(
            "{}: PCIe traffic needs no process of its own",
            vendor.word()
        ))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn only_what_left_a_trace_is_started() {
        let tree = Tree::new(&[]);
        let of = |path: Option<&str>, named: &[VendorName]| {
            let path = path.map(OsString::from);
            worth_starting(tree.root(), path.as_ref(), |vendor| named.contains(&vendor))
        };
        assert_eq!(of(None, &[]), [VendorName::Nvidia]);
        // Under another root the loader's path is not ours.
        assert_eq!(of(Some("/usr/lib"), &[]), [VendorName::Nvidia]);
        assert_eq!(
            of(None, &[VendorName::Iluvatar]),
            [VendorName::Nvidia, VendorName::Iluvatar]
        );
        tree.write("/usr/local/corex/lib/libixml.so", "");
        assert_eq!(of(None, &[]), [VendorName::Nvidia, VendorName::Iluvatar]);
    }

    #[test]
    fn every_vendor_with_traces_has_a_probe() {
        for traces in TRACES {
            let options = VendorOptions {
                vendor: traces.vendor,
                root: "/nowhere".into(),
                library: None,
                measure_pcie: false,
            };
            assert!(probe(options).is_some(), "{:?}", traces.vendor);
        }
    }
}
