//! `nameplate diagnose`: verdicts with their evidence, live for a while or from a file.

use super::args::{Diagnose, Format};
use super::folded::{self, Folded, Times};
use super::live::{Outlet, Plan, Watching};
use super::once::all_have_answered;
use super::signals::{Signals, until};
use super::source;
use super::words::CatalogueWords;
use super::{CliError, Settings, World};
use crate::app::{News, Recording};
use crate::model::{Control, FeedHandle, Snapshot, SourceKind, Tick};
use crate::publish::{Diagnosis, TextOptions, diagnosis_json, diagnosis_text};
use crate::session::Session;
use crate::text::{Catalogue, Lang, clean};
use crate::units::format_span;
use jiff::Timestamp;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

/// So much longer than the watch itself the first answer of the devices may take.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// Ticks that may wait while one is folded.
const WAITING: usize = 256;

/// Watches or reads, writes the document, answers with the exit code.
pub(super) fn run(args: &Diagnose, settings: &Settings, world: &mut World) -> Result<u8, CliError> {
    let watched = match args.file.as_deref() {
        None => {
            if std::io::stderr().is_terminal() {
                let t = Catalogue::new(settings.screen.lang);
                let span = format_span(args.span.as_secs_f64());
                world.complain(&format!("{}\n", t.diagnosis_watching(span)));
            }
            let plan = Plan::new(settings, world, false)?;
            let session = source::session(SourceKind::Live, settings.config.clone())?;
            let begin = |outlet| Watching::start(plan, outlet).map(|watching| watching.feed);
            live(session, begin, args.span, settings, world)?
        }
        Some(file) => {
            let folded = folded::file("diagnose", file, &args.columns, settings, &mut |_, _| {})?;
            Watched::of(folded).ok_or(CliError::NoSample {
                command: "diagnose",
                seconds: 0.0,
            })?
        }
    };
    write(&watched, args.format, settings, world)
}

/// What was seen.
pub(super) struct Watched {
    snapshot: Snapshot,
    format: Option<&'static str>,
    /// `None` where there were no times.
    span: Option<(Timestamp, Timestamp)>,
    observed_s: f64,
    interval_s: f64,
    timezone: (String, &'static str),
    warnings: Vec<(u64, String)>,
}

impl Watched {
    /// The view at the end; `None` before the first tick.
    fn of(folded: Folded) -> Option<Self> {
        Some(Self {
            snapshot: folded.session.snapshot()?,
            format: folded.format,
            span: folded.times.span.filter(|_| folded.timed),
            observed_s: folded.times.observed_s,
            interval_s: folded.interval_s,
            timezone: folded.timezone,
            warnings: folded.warnings,
        })
    }
}

/// Folds ticks and counts the seconds that somebody looked at.
struct Watch {
    session: Session,
    times: Times,
    /// A tick has come since the watch began.
    answered: bool,
}

impl Watch {
    fn take(&mut self, tick: &Tick) {
        self.session.fold(tick);
        self.times.take(tick);
        self.answered = true;
    }

    /// Takes in what this host's source tells.
    fn hear(&mut self, news: News, world: &mut World) {
        match news {
            News::Tick(tick) => self.take(&tick),
            News::All(all) => all.into_iter().for_each(|news| self.hear(news, world)),
            News::Session(session) => self.session = *session,
            News::Start(start) => self.session.take_up(*start),
            News::Notice(text) => {
                world.complain(&format!("nameplate: diagnose: {}\n", clean(&text)));
            }
            News::Recording(Recording::Other(pid)) => world.complain(&format!(
                "nameplate: diagnose: as process {pid} records it; the driver is not asked again\n"
            )),
            News::Recording(_) | News::Behind(_) => {}
        }
    }

    /// Whether a tick has come since the watch began, and all devices have answered.
    fn has_answered(&self) -> bool {
        self.answered
            && self
                .session
                .snapshot()
                .as_ref()
                .is_some_and(all_have_answered)
    }

    /// The view at the end, of whatever is there.
    fn finish(self, settings: &Settings) -> Option<Watched> {
        Watched::of(Folded {
            session: self.session,
            interval_s: self.times.interval_s(),
            times: self.times,
            format: None,
            timed: true,
            timezone: folded::zone(settings),
            warnings: Vec::new(),
        })
    }
}

/// Watches this host for a while, or until a signal: from its recorder's file where one runs, with all that its session
/// has learned, else from our own probes.
pub(super) fn live(
    session: Session,
    begin: impl FnOnce(Outlet) -> std::io::Result<FeedHandle>,
    span: Duration,
    settings: &Settings,
    world: &mut World,
) -> Result<Watched, CliError> {
    let starting = |operation: &str, source| CliError::System {
        operation: operation.to_owned(),
        source,
        next: "check the limits on processes, threads and open files (ulimit -a)",
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| starting("starting the diagnosis", error))?;
    let (sender, news) = channel(WAITING);
    let mut watch = Watch {
        session,
        times: Times::default(),
        answered: false,
    };
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new().map_err(|error| starting("listening for signals", error))?
    };
    let outlet: Outlet =
        Arc::new(move |news| !matches!(sender.try_send(news), Err(TrySendError::Closed(_))));
    let handle = begin(outlet).map_err(|error| starting("starting the probes", error))?;
    let begun = Instant::now();
    runtime.block_on(watch_live(&mut watch, news, span, &mut signals, world));
    handle.tell(Control::Stop);
    let mut watched = watch.finish(settings).ok_or(CliError::NoSample {
        command: "diagnose",
        seconds: begun.elapsed().as_secs_f64().round(),
    })?;
    if watched.snapshot.dropped > 0 {
        let text = format!(
            "{} ticks came too late and are missing",
            watched.snapshot.dropped
        );
        watched.warnings.push((0, text));
    }
    // A device that the library could not list has neither verdict nor row.
    for probe in &watched.snapshot.probes {
        if let Some(said) = probe.unlisted() {
            let text = format!("{}: {said}", probe.vendor.word());
            watched.warnings.push((0, text));
        }
    }
    Ok(watched)
}

/// Folds until the time is over, a signal comes, or nothing more does. The time begins when the devices have answered.
async fn watch_live(
    watch: &mut Watch,
    mut news: Receiver<News>,
    span: Duration,
    signals: &mut Signals,
    world: &mut World,
) {
    // A recorder's ticks come a second's worth at a time.
    let mut end = Instant::now().checked_add(span.saturating_add(FIRST_WAIT));
    let mut answered = false;
    loop {
        let next = tokio::select! {
            biased;
            () = signals.any() => return,
            () = until(end) => return,
            next = news.recv() => next,
        };
        let Some(next) = next else { return };
        watch.hear(next, world);
        if !answered && watch.has_answered() {
            answered = true;
            end = Instant::now().checked_add(span);
        }
    }
}

/// Writes the document and answers with its exit code.
pub(super) fn write(
    watched: &Watched,
    format: Format,
    settings: &Settings,
    world: &mut World,
) -> Result<u8, CliError> {
    let diagnosis = Diagnosis {
        snapshot: &watched.snapshot,
        at: (world.now)(),
        format: watched.format,
        span: watched.span,
        observed_seconds: watched.observed_s,
        interval_s: watched.interval_s,
        timezone: (&watched.timezone.0, watched.timezone.1),
        warnings: &watched.warnings,
    };
    match format {
        Format::Json => {
            let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
            world.say_json(&diagnosis_json(&diagnosis, &words))?;
        }
        Format::Text => {
            let t = Catalogue::new(settings.screen.lang);
            let ascii = settings.screen.ascii;
            let words = CatalogueWords::new(t, ascii);
            let zone = super::value::zone(&settings.screen.tz)
                .map_err(|error| CliError::Usage(format!("diagnose: --tz: {error}")))?;
            let options = TextOptions {
                ascii,
                ..TextOptions::default()
            };
            world.say(&diagnosis_text(&diagnosis, &zone, &words, &t, options))?;
        }
    }
    if watched.snapshot.devices.is_empty() {
        let what = match &watched.snapshot.source {
            SourceKind::Live | SourceKind::Demo(_) => "no accelerator was found".to_owned(),
            SourceKind::Recording(file) | SourceKind::Log { file, .. } => {
                format!("{} has no accelerator in it", clean(file))
            }
        };
        return Err(CliError::Failed(format!(
            "diagnose: {what}; next: `nameplate once` says what was looked for, `nameplate demo` shows one"
        )));
    }
    Ok(diagnosis.result().exit_code())
}
