//! The child's side of a probe process.

use crate::model::Vendor;
use crate::probe::vendor::VendorOptions;
use crate::probe::{WithEnvironment, serve_from_stdin, vendors};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// What the parent tells a probe: all that it needs, as it reads no configuration and no environment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    vendor: Vendor,
    root: PathBuf,
    library: Option<PathBuf>,
    pcie: Pcie,
}

/// What a probe does about PCIe traffic that only a blocking call tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Pcie {
    /// It leaves it alone.
    #[default]
    Off,
    /// It starts a process that measures.
    On,
    /// It is that process.
    Meter,
}

/// The arguments of `nameplate probe --vendor V --root DIR [--library PATH]` as `source` gives them; `None` for all
/// else, which the command line's own reader answers. Not by that reader, because its code and tables are a
/// megabyte of memory that a probe would hold for days.
pub(super) fn told(arguments: &[OsString]) -> Option<Told> {
    let [_, probe, pairs @ ..] = arguments else {
        return None;
    };
    let mut told = Told {
        vendor: Vendor::Nvidia,
        root: PathBuf::from("/"),
        library: None,
        pcie: Pcie::Off,
    };
    let (pairs, rest) = pairs.as_chunks::<2>();
    if probe != "probe" || !rest.is_empty() {
        return None;
    }
    for [flag, value] in pairs {
        match flag.to_str()? {
            "--vendor" => {
                let word = value.to_str()?;
                told.vendor = Some(Vendor::of_word(word)).filter(|vendor| vendor.word() == word)?;
            }
            "--root" => told.root = value.into(),
            "--library" => told.library = Some(value.into()),
            "--pcie" => {
                told.pcie = match value.to_str()? {
                    "on" => Pcie::On,
                    "meter" => Pcie::Meter,
                    _ => return None,
                };
            }
            _ => return None,
        }
    }
    Some(told)
}

/// Runs the probe of one vendor until its parent closes the pipe. Answers with the exit code.
pub(super) fn run_probe(told: Told) -> u8 {
    let options = VendorOptions {
        library: told.library,
        root: told.root.clone(),
        vendor: told.vendor,
        measure_pcie: told.pcie == Pcie::On,
    };
    if told.pcie == Pcie::Meter {
        return ended(vendors::measure_pcie(&options));
    }
    let Some(probe) = vendors::probe(options) else {
        tracing::warn!(
            vendor = told.vendor.word(),
            "there is no probe for this vendor"
        );
        return 1;
    };
    super::pages::keep_small();
    let probe = WithEnvironment::new(probe, told.vendor, &told.root);
    ended(serve_from_stdin(Arc::new(probe)))
}

/// The exit code of a probe that came to its end.
fn ended<E: std::fmt::Display>(end: Result<(), E>) -> u8 {
    match end {
        Ok(()) => 0,
        Err(error) => {
            // Its stderr is the probe's log.
            tracing::warn!(%error, "the probe ended");
            1
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn of(line: &str) -> Option<Told> {
        told(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_probe_takes_what_its_parent_gives_and_nothing_else() {
        let all = of("n probe --vendor iluvatar --root /r --library /l.so").unwrap();
        assert_eq!(all.vendor, Vendor::Iluvatar);
        assert_eq!((all.root, all.library), ("/r".into(), Some("/l.so".into())));
        assert_eq!(of("n probe --pcie meter").unwrap().pcie, Pcie::Meter);
        assert_eq!(of("n probe").unwrap().pcie, Pcie::Off);
        assert_eq!(of("n probe").unwrap().root, PathBuf::from("/"));
        for other in [
            "n",
            "n once",
            "n probe --help",
            "n probe --root",
            "n probe --vendor acme",
            "n probe --price 2",
            "n probe --pcie often",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
