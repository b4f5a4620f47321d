//! `nameplate stream`: a JSON line per tick until stopped.

use super::args::Stream;
use super::lines::LineWriter;
use super::live::{Outlet, Plan, Watching};
use super::once::all_have_answered;
use super::signals::{Signals, until};
#[cfg(test)]
use super::source::Source;
use super::source::session;
use super::words::CatalogueWords;
use super::{CliError, Settings, World};
use crate::app::{News, Recording};
use crate::model::{Control, FeedHandle, SourceKind, Tick};
use crate::publish::{EventCursor, name_recorder, snapshot_json_since};
use crate::session::Session;
use crate::text::{Catalogue, Lang, clean};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

/// Ticks that may wait for a slow reader; what comes on top is a gap, and the meter says so.
const WAITING: usize = 256;

/// Lines wait so long for the first answer of the devices.
const PATIENCE: Duration = Duration::from_secs(5);

/// A signal waits so long for a reader that takes nothing; then the program ends all the same.
const GRACE: Duration = Duration::from_secs(2);

/// Of this host: from its recorder's file where one runs, else from our own probes.
pub(super) fn live(args: &Stream, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    let plan = Plan::new(settings, world, false)?;
    let session = session(SourceKind::Live, settings.config.clone())?;
    let file = plan.file.as_ref().ok().cloned();
    let begin = move |outlet: Outlet| Watching::start(plan, outlet).map(|watching| watching.feed);
    write(session, file, begin, args, world)
}

/// Of any source.
#[cfg(test)]
pub(super) fn run(source: Source, args: &Stream, world: &mut World) -> Result<(), CliError> {
    let session = session(source.kind, source.config)?;
    let feed = source.feed;
    let begin = move |outlet: Outlet| feed.start(Box::new(move |tick| outlet(News::Tick(tick))));
    write(session, None, begin, args, world)
}

fn starting(operation: &str, source: std::io::Error) -> CliError {
    CliError::System {
        operation: operation.to_owned(),
        source,
        next: "check the limits on processes, threads and open files (ulimit -a)",
    }
}

/// Writes lines until the count, the time, a signal or the reader ends it; each line is whole. `file`: the recording that
/// ticks are read from where another process records.
fn write(
    session: Session,
    file: Option<PathBuf>,
    begin: impl FnOnce(Outlet) -> std::io::Result<FeedHandle>,
    args: &Stream,
    world: &mut World,
) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| starting("starting the stream", error))?;
    let (sender, news) = channel(WAITING);
    let stdout = std::mem::replace(&mut world.stdout, Box::new(std::io::sink()));
    let lines =
        LineWriter::start(stdout).map_err(|error| starting("starting the stream", error))?;
    let handle = begin(Arc::new(move |news| {
        !matches!(sender.try_send(news), Err(TrySendError::Closed(_)))
    }))
    .map_err(|error| starting("starting the probes", error))?;
    let result = runtime.block_on(async {
        let mut signals =
            Signals::new().map_err(|error| starting("listening for signals", error))?;
        let mut stream = Lines {
            session,
            file,
            recorder: None,
            cursor: EventCursor::default(),
            written: 0,
        };
        let end = stream
            .write(news, args, &lines, &mut signals, world)
            .await?;
        let asked = matches!(end, End::Asked);
        tokio::select! {
            (stdout, result) = lines.finish() => {
                world.stdout = stdout;
                result.map_err(CliError::writing)
            }
            () = patience(&mut signals, asked) => Ok(()),
        }
    });
    handle.tell(Control::Stop);
    result
}

/// Why there are no more lines.
enum End {
    /// A signal said so.
    Asked,
    /// All is written that was to be, or nothing can be written any more.
    Done,
}

/// Waits until a reader that takes nothing has been waited for long enough since the signal to end.
async fn patience(signals: &mut Signals, asked: bool) {
    if !asked {
        signals.any().await;
    }
    tokio::time::sleep(GRACE).await;
}

struct Lines {
    session: Session,
    file: Option<PathBuf>,
    /// The process whose recording is read.
    recorder: Option<u32>,
    cursor: EventCursor,
    written: u64,
}

impl Lines {
    async fn write(
        &mut self,
        mut news: Receiver<News>,
        args: &Stream,
        lines: &LineWriter,
        signals: &mut Signals,
        world: &mut World,
    ) -> Result<End, CliError> {
        let begun = Instant::now();
        let end = args.span.and_then(|span| begun.checked_add(span));
        let mut waiting = VecDeque::new();
        loop {
            let next = match waiting.pop_front() {
                Some(next) => Some(next),
                None => tokio::select! {
                    biased;
                    () = signals.any() => return Ok(End::Asked),
                    () = until(end) => return Ok(End::Done),
                    next = news.recv() => next,
                },
            };
            let Some(next) = next else {
                return match self.written {
                    0 => Err(CliError::NoSample {
                        command: "stream",
                        seconds: begun.elapsed().as_secs_f64().round(),
                    }),
                    _ => Ok(End::Done),
                };
            };
            let tick = match next {
                News::Tick(tick) => tick,
                News::All(all) => {
                    waiting.extend(all);
                    continue;
                }
                other => {
                    self.hear(other, world);
                    continue;
                }
            };
            let Some(line) = self.line(&tick, begun.elapsed() > PATIENCE) else {
                continue;
            };
            tokio::select! {
                biased;
                taken = lines.write(line) => if !taken { return Ok(End::Done) },
                () = signals.any() => return Ok(End::Asked),
                () = until(end) => return Ok(End::Done),
            }
            self.written += 1;
            if args.count.is_some_and(|count| self.written >= count) {
                return Ok(End::Done);
            }
        }
    }

    /// Takes in what is no tick. What happened before the first line is not of this stream.
    fn hear(&mut self, news: News, world: &mut World) {
        match news {
            News::Session(session) => {
                self.session = *session;
                if let Some(snapshot) = self.session.snapshot() {
                    self.cursor.advance(&snapshot);
                }
            }
            News::Start(start) => self.session.take_up(*start),
            News::Notice(text) => world.complain(&format!("nameplate: stream: {}\n", clean(&text))),
            News::Recording(Recording::Other(pid)) => {
                self.recorder = Some(pid);
                world.complain(&format!(
                    "nameplate: stream: as process {pid} records it; the driver is not asked again\n"
                ));
            }
            News::Recording(_) => self.recorder = None,
            _ => {}
        }
    }

    /// Folds a tick and makes its line. There is none before the devices have answered for the first time: a line
    /// without devices would read as a host without any.
    fn line(&mut self, tick: &Tick, out_of_patience: bool) -> Option<String> {
        self.session.fold(tick);
        let snapshot = self.session.snapshot()?;
        if self.written == 0 && !out_of_patience && !all_have_answered(&snapshot) {
            return None;
        }
        let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
        let events = self.cursor.advance(&snapshot);
        let mut document = snapshot_json_since(&snapshot, "stream", &words, events);
        if let (Some(pid), Some(file)) = (self.recorder, &self.file) {
            name_recorder(&mut document, pid, file);
        }
        Some(format!("{document}\n"))
    }
}
