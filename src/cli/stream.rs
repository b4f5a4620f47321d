//! `nameplate stream`: a JSON line per tick until stopped.

use super::args::Stream;
use super::once::all_have_answered;
use super::signals::{Signals, until};
use super::source::{Source, session};
use super::words::CatalogueWords;
use super::{CliError, World};
use crate::model::{Control, Tick};
use crate::publish::{EventCursor, snapshot_json_since};
use crate::session::Session;
use crate::text::{Catalogue, Lang};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

/// Ticks that may wait for a slow reader; what comes on top is a gap, and the meter says so.
const WAITING: usize = 256;

/// Lines wait so long for the first answer of the devices.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes lines until the count, the time, a signal or the reader ends it; each line is whole.
pub(super) fn run(source: Source, args: &Stream, world: &mut World) -> Result<(), CliError> {
    let starting = |operation: &str, source| CliError::System {
        operation: operation.to_owned(),
        source,
        next: "check the limits on processes, threads and open files (ulimit -a)",
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| starting("starting the stream", error))?;
    let (sender, ticks) = channel(WAITING);
    let session = session(source.kind, source.config)?;
    let handle = source
        .feed
        .start(Box::new(move |tick| {
            !matches!(sender.try_send(tick), Err(TrySendError::Closed(_)))
        }))
        .map_err(|error| starting("starting the probes", error))?;
    let result = runtime.block_on(async {
        let mut signals =
            Signals::new().map_err(|error| starting("listening for signals", error))?;
        Lines {
            session,
            cursor: EventCursor::default(),
            written: 0,
            world,
        }
        .write(ticks, args, &mut signals)
        .await
    });
    handle.tell(Control::Stop);
    result
}

struct Lines<'w> {
    session: Session,
    cursor: EventCursor,
    written: u64,
    world: &'w mut World,
}

impl Lines<'_> {
    async fn write(
        mut self,
        mut ticks: Receiver<Tick>,
        args: &Stream,
        signals: &mut Signals,
    ) -> Result<(), CliError> {
        let begun = Instant::now();
        let end = args.span.and_then(|span| begun.checked_add(span));
        loop {
            let tick = tokio::select! {
                biased;
                () = signals.any() => return Ok(()),
                () = until(end) => return Ok(()),
                tick = ticks.recv() => tick,
            };
            match tick {
                Some(tick) => self.line(&tick, begun.elapsed() > PATIENCE)?,
                None if self.written == 0 => {
                    return Err(CliError::NoSample {
                        command: "stream",
                        seconds: begun.elapsed().as_secs_f64().round(),
                    });
                }
                None => return Ok(()),
            }
            if args.count.is_some_and(|count| self.written >= count) {
                return Ok(());
            }
        }
    }

    /// Folds a tick and writes its line. There is none before the devices have answered for the first time: a line
    /// without devices would read as a host without any.
    fn line(&mut self, tick: &Tick, out_of_patience: bool) -> Result<(), CliError> {
        self.session.fold(tick);
        let Some(snapshot) = self.session.snapshot() else {
            return Ok(());
        };
        if self.written == 0 && !out_of_patience && !all_have_answered(&snapshot) {
            return Ok(());
        }
        let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
        let events = self.cursor.advance(&snapshot);
        self.world
            .say_json(&snapshot_json_since(&snapshot, "stream", &words, events))?;
        self.written += 1;
        Ok(())
    }
}
