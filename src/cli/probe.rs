//! The child's side of a probe process.

use super::args::Probe;
use super::shared::Shared;
use crate::model::Vendor;
use crate::probe::nvidia::{Nvidia, NvidiaOptions};
use crate::probe::serve_from_stdin;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs the probe of one vendor until its parent closes the pipe. It reads no configuration: its parent hands on what it
/// needs as flags (`--nvml-library`, `--root`). Answers with the exit code.
pub(super) fn run_probe(args: &Probe, shared: &Shared) -> u8 {
    let vendor = match args.vendor.as_str() {
        "nvidia" => Vendor::Nvidia,
        "iluvatar" => Vendor::Iluvatar,
        _ => return 2,
    };
    let nvidia = Nvidia::new(NvidiaOptions {
        library: shared.nvml_library.clone(),
        root: shared.root.clone().unwrap_or_else(|| PathBuf::from("/")),
        vendor,
    });
    match serve_from_stdin(Arc::new(nvidia)) {
        Ok(()) => 0,
        Err(error) => {
            // Its stderr is the probe's log.
            tracing::warn!(%error, "the probe ended");
            1
        }
    }
}
