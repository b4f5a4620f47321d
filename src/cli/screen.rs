//! `nameplate`: the live screen.

use super::source::Source;
use super::{CliError, Settings, World};

/// Draws a source until the user quits.
pub(super) fn run(source: Source, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    let _ = (source.feed, source.kind, settings, world);
    Err(CliError::Failed("the screen is not wired yet".to_owned()))
}
