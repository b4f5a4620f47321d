//! `nameplate record`: the recorder alone, without a screen.

use super::args::Record;
use super::background::{detach, file_of};
use super::recorder::{Recorder, Turn, event, place_warning};
use super::signals::{Signals, until};
use super::source::Source;
use super::{CliError, World};
use crate::model::{Control, Tick};
use crate::record::Journal;
use crate::text::clean;
use std::path::Path;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

/// Ticks that may wait for a slow disk; what comes on top is a gap, and the meter says so.
const WAITING: usize = 256;

/// Records until the time, a signal or the source ends it; then the file is sealed.
pub(super) fn run(source: Source, args: &Record, world: &mut World) -> Result<(), CliError> {
    let path = file_of(args, world)?;
    if args.detached && !detach(&path)? {
        return Ok(());
    }
    let mut recorder = match args.output {
        Some(_) => Recorder::open(&path, source.config)?,
        None => Recorder::open_own(&path, source.config)?,
    };
    let starting = |operation: &str, source| CliError::System {
        operation: operation.to_owned(),
        source,
        next: "check the limits on processes, threads and open files (ulimit -a)",
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| starting("starting the recorder", error))?;
    let (sender, ticks) = channel(WAITING);
    let handle = source
        .feed
        .start(Box::new(move |tick| {
            !matches!(sender.try_send(tick), Err(TrySendError::Closed(_)))
        }))
        .map_err(|error| starting("starting the probes", error))?;
    let begun = format!(
        "recording into {}; process {}, `kill {}` or Ctrl-C ends it\n",
        shown(&path),
        std::process::id(),
        std::process::id(),
    );
    let warning = place_warning(&path);
    if let Some(warning) = &warning {
        world.complain(&format!("nameplate: record: {warning}\n"));
    }
    let warning = match recorder.aside_warning() {
        Some(aside) => {
            world.complain(&format!("nameplate: record: {aside}\n"));
            Some(warning.map_or_else(|| aside.clone(), |warning| format!("{aside}. {warning}")))
        }
        None => warning,
    };
    if let Journal::Rollback { file_system } = recorder.journal() {
        world.complain(&format!(
            "nameplate: record: the file lies on a network volume ({file_system}): each second is written through, \
             which is slower, and readers wait for a moment\n"
        ));
    }
    // Whoever reads stdout may have gone; the recording goes on.
    let _ = world.say(&begun);
    let result = runtime.block_on(async {
        let mut signals =
            Signals::new().map_err(|error| starting("listening for signals", error))?;
        keep(&mut recorder, ticks, args, warning, &mut signals, world).await
    });
    handle.tell(Control::Stop);
    let ticks = recorder.ticks();
    let devices = recorder
        .session()
        .snapshot()
        .map_or(0, |snapshot| snapshot.devices.len());
    let closed = recorder.close();
    result.and(closed)?;
    let _ = world.say(&format!(
        "{ticks} ticks of {devices} devices are in {}\n",
        shown(&path)
    ));
    Ok(())
}

fn shown(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}

async fn keep(
    recorder: &mut Recorder,
    mut ticks: Receiver<Tick>,
    args: &Record,
    warning: Option<String>,
    signals: &mut Signals,
    world: &mut World,
) -> Result<(), CliError> {
    let end = args.span.and_then(|span| Instant::now().checked_add(span));
    // What happened to the recording itself, for the next tick.
    let mut told = Vec::new();
    let mut warning = warning;
    loop {
        let tick = tokio::select! {
            biased;
            () = signals.any() => return Ok(()),
            () = until(end) => return Ok(()),
            tick = ticks.recv() => tick,
        };
        let Some(mut tick) = tick else { return Ok(()) };
        let at = tick.at;
        told.extend(warning.take().map(|warning| event(at, &warning)));
        tick.events.append(&mut told);
        let turn = recorder.take(tick)?;
        told.extend(turn.as_ref().map(|turn| turn.event(at)));
        told.extend(recorder.marks());
        match turn {
            None => {}
            Some(Turn::Paused(reason)) => world.complain(&format!(
                "nameplate: record: paused since {at:.0}: {}; it goes on by itself when there is room\n",
                clean(&reason)
            )),
            Some(Turn::Resumed) => {
                world.complain(&format!("nameplate: record: goes on since {at:.0}\n"));
            }
        }
    }
}
