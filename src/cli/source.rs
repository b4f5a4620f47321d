//! Where ticks come from.

use super::{CliError, Settings};
use crate::model::{Feed, Plates, SourceKind};
use crate::publish::DemoCase;
use crate::session::{Session, Start};
use std::sync::Arc;

/// A source that has not been started, and what it is.
pub(super) struct Source {
    /// Yields ticks.
    pub(super) feed: Box<dyn Feed>,
    /// What its ticks are.
    pub(super) kind: SourceKind,
}

/// The probes of this host.
///
/// # Errors
/// They cannot be set up.
pub(super) fn live(_settings: &Settings) -> Result<Source, CliError> {
    Err(CliError::Failed("the probes are not wired yet".to_owned()))
}

/// The simulation of a case.
///
/// # Errors
/// There is no such case.
pub(super) fn demo(_case: Option<&str>, _settings: &Settings) -> Result<Source, CliError> {
    Err(CliError::Failed("the simulation is not wired yet".to_owned()))
}

/// The cases of the demo.
pub(super) fn demo_cases() -> Vec<DemoCase> {
    Vec::new()
}

/// A session at its beginning, for the ticks of a source.
///
/// # Errors
/// The embedded table of plates cannot be read.
pub(super) fn session(kind: SourceKind, settings: &Settings) -> Result<Session, CliError> {
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Session::new(Start::new(settings.config.clone()), Arc::new(plates), kind))
}
