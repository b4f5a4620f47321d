//! `nameplate compare`: two recordings of the same job side by side.

use super::args::{Compare, Format};
use super::folded;
use super::words::CatalogueWords;
use super::{CliError, Settings, World};
use crate::publish::{Side, TextOptions, compare_json, compare_text};
use crate::session::Tally;
use crate::text::Catalogue;
use std::path::Path;

/// Folds both, writes the document, answers with the exit code.
pub(super) fn run(args: &Compare, settings: &Settings, world: &mut World) -> Result<u8, CliError> {
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        recordings((a, b), args.format, settings, world)?;
    }
    Ok(0)
}

fn recordings(
    (a, b): (&Path, &Path),
    format: Format,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    let (a, b) = (side(a, settings)?, side(b, settings)?);
    if format == Format::Json {
        return world.say_json(&compare_json(&a, &b, (world.now)()));
    }
    let t = Catalogue::new(settings.screen.lang);
    let ascii = settings.screen.ascii;
    let words = CatalogueWords::new(t, ascii);
    let options = TextOptions {
        ascii,
        ..TextOptions::default()
    };
    world.say(&compare_text(&a, &b, &words, &t, options))
}

fn side(path: &Path, settings: &Settings) -> Result<Side, CliError> {
    let mut tally = Tally::default();
    let mut take = |session: &_, seconds| tally.take(session, seconds);
    let folded = folded::file("compare", path, &[], settings, &mut take)?;
    let place = path.display();
    if !folded.timed {
        return Err(CliError::Failed(format!(
            "compare: {place}: its lines have no times; next: log with a timestamp \
             (--query-gpu=timestamp,...; dmon -o DT)"
        )));
    }
    let none =
        |what: &str| CliError::Failed(format!("compare: {place}: {what}; next: check the file"));
    let snapshot = folded.session.snapshot();
    let snapshot = snapshot.ok_or_else(|| none("there is no tick in it"))?;
    if snapshot.devices.is_empty() {
        return Err(none("there is no accelerator in it"));
    }
    let (devices, whole) = tally.finish(&folded.session);
    Ok(Side {
        snapshot,
        format: folded.format,
        span: folded.times.span,
        observed_seconds: folded.times.observed_s,
        interval_s: folded.interval_s,
        devices,
        whole,
        warnings: folded.warnings,
    })
}
