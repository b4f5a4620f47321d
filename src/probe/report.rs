//! What vendors' probes report alike.

use super::dynamic::NotLoaded;
use super::vendor::VendorOptions;
use crate::model::{ProbeHint, ProbeReport, ProbeStatus};
use std::fmt::Display;
use std::sync::Arc;

/// A report of the library of this name, or of the one that is named in its place.
pub(crate) fn report(
    options: &VendorOptions,
    name: &str,
    status: ProbeStatus,
    hint: ProbeHint,
) -> ProbeReport {
    let library = options.library.as_ref();
    ProbeReport {
        vendor: options.vendor,
        library: library.map_or_else(|| name.into(), |path| path.display().to_string().into()),
        path: None,
        version: None,
        status,
        code: None,
        message: None,
        hint,
    }
}

/// Of one that could not be loaded; `hint` is what would help where it is not there.
pub(crate) fn not_loaded(
    options: &VendorOptions,
    name: &str,
    refused: NotLoaded,
    hint: ProbeHint,
) -> Box<ProbeReport> {
    let (status, hint) = match refused.forbidden {
        true => (ProbeStatus::NoPermission, ProbeHint::Permission),
        false => (ProbeStatus::NoLibrary, hint),
    };
    let mut report = report(options, name, status, hint);
    report.message = Some(Arc::from(refused.message));
    Box::new(report)
}

/// Of one that works; what it refused to list is said. `hint` is what would help where it lists nothing.
pub(crate) fn listed(
    options: &VendorOptions,
    name: &str,
    devices: usize,
    refused: &[(u32, impl Display)],
    hint: impl FnOnce() -> ProbeHint,
) -> ProbeReport {
    let mut report = match devices {
        0 => report(options, name, ProbeStatus::NoDevice, hint()),
        _ => report(options, name, ProbeStatus::Ok, ProbeHint::Nothing),
    };
    let said: Vec<String> = refused
        .iter()
        .map(|(index, fault)| format!("device {index}: {fault}"))
        .collect();
    report.message = match (said.is_empty(), devices) {
        (false, _) => Some(Arc::from(said.join("; "))),
        (true, 0) => Some(Arc::from("the library works and lists no device")),
        (true, _) => None,
    };
    report
}
