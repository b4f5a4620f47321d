//! `nameplate compare`: two recordings of the same job side by side, or what two jobs computed.

use super::args::{Compare, Format};
use super::folded;
use super::words::CatalogueWords;
use super::{CliError, Settings, World};
use crate::model::ComparedTensor;
use crate::publish::{Side, TensorCheck, TextOptions, compare_json, compare_text, tensors_text};
use crate::session::Tally;
use crate::tensors::{Tensors, TensorsError, compare};
use crate::text::Catalogue;
use std::fs::File;
use std::path::Path;

/// Exit code where a tensor is outside the tolerance, as a bill that is outside its own.
const OUTSIDE: u8 = 4;

/// Reads both, writes the document, answers with the exit code.
pub(super) fn run(args: &Compare, settings: &Settings, world: &mut World) -> Result<u8, CliError> {
    let sides = match (&args.a, &args.b) {
        (Some(a), Some(b)) => Some((side(a, settings)?, side(b, settings)?)),
        _ => None,
    };
    let tensors = match args.tensors.as_slice() {
        [x, y] => Some((x, y, compared(x, y, args.tolerance)?)),
        _ => None,
    };
    let names = tensors.as_ref().map(|(x, y, list)| {
        let name = |path: &Path| path.display().to_string();
        (name(x), name(y), list)
    });
    let check = names.as_ref().map(|(a, b, tensors)| TensorCheck {
        a,
        b,
        tolerance: args.tolerance,
        tensors,
    });
    let sides = sides.as_ref().map(|(a, b)| (a, b));
    match args.format {
        Format::Json => world.say_json(&compare_json(sides, check.as_ref(), (world.now)()))?,
        Format::Text => world.say(&text(sides, check.as_ref(), settings))?,
    }
    Ok(match check {
        Some(check) if check.failed() > 0 => OUTSIDE,
        _ => 0,
    })
}

fn text(
    sides: Option<(&Side, &Side)>,
    check: Option<&TensorCheck<'_>>,
    settings: &Settings,
) -> String {
    let t = Catalogue::new(settings.screen.lang);
    let ascii = settings.screen.ascii;
    let words = CatalogueWords::new(t, ascii);
    let options = TextOptions {
        ascii,
        ..TextOptions::default()
    };
    let sides = sides.map(|(a, b)| compare_text(a, b, &words, &t, options));
    let check = check.map(|check| tensors_text(check, &t, options));
    let parts: Vec<String> = sides.into_iter().chain(check).collect();
    parts.join("\n")
}

fn side(path: &Path, settings: &Settings) -> Result<Side, CliError> {
    let mut tally = Tally::default();
    let mut take = |session: &_, seconds| tally.take(session, seconds);
    let folded = folded::file("compare", path, &[], settings, &mut take)?;
    let refused = |what: &str| CliError::Failed(format!("compare: {}: {what}", path.display()));
    if !folded.timed {
        return Err(refused(
            "its lines have no times; next: log with a timestamp (--query-gpu=timestamp,...; dmon -o DT)",
        ));
    }
    let snapshot = folded.session.snapshot();
    let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.devices.is_empty()) else {
        return Err(refused(
            "there is no accelerator in it; next: check the file",
        ));
    };
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

fn compared(x: &Path, y: &Path, tolerance: f64) -> Result<Vec<ComparedTensor>, CliError> {
    let failed = |path: &Path, error: TensorsError| {
        let (place, next) = (path.display(), "check the path, or write the file again");
        CliError::Failed(format!("compare: {place}: {error}; next: {next}"))
    };
    let open = |path: &Path| {
        let file = File::open(path).map_err(TensorsError::from);
        file.and_then(Tensors::open).map_err(|e| failed(path, e))
    };
    let (mut a, mut b) = (open(x)?, open(y)?);
    compare(&mut a, &mut b, tolerance)
        .map_err(|(second, error)| failed(if second { y } else { x }, error))
}
