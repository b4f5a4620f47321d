//! `nameplate diagnose`: verdicts with their evidence, live for a while or from a file.

use super::args::{Diagnose, Format};
use super::live::{Outlet, Plan, Watching};
use super::once::all_have_answered;
use super::recorder::{decoded, failure};
use super::signals::{Signals, until};
use super::source;
use super::words::CatalogueWords;
use super::{CliError, Settings, World, foreign};
use crate::app::{News, Recording};
use crate::model::{Config, Control, FeedHandle, Plates, Snapshot, SourceKind, Tick};
use crate::publish::{Diagnosis, TextOptions, diagnosis_json, diagnosis_text};
use crate::record::{Reader, Record, StartRecord};
use crate::session::{Session, Start};
use crate::text::{Catalogue, Lang, clean};
use crate::units::{MonoTime, format_span};
use jiff::Timestamp;
use std::io::IsTerminal as _;
use std::path::Path;
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
        Some(file) if foreign::is_recording(file) => recording(file, settings)?,
        Some(file) => log(file, args, settings)?,
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

/// Folds ticks and counts the seconds that somebody looked at.
struct Watch {
    session: Session,
    span: Option<(Timestamp, Timestamp)>,
    last: Option<(MonoTime, Duration)>,
    observed_s: f64,
}

impl Watch {
    fn new(session: Session) -> Self {
        Self {
            session,
            span: None,
            last: None,
            observed_s: 0.0,
        }
    }

    fn take(&mut self, tick: &Tick) {
        self.session.fold(tick);
        if let Some((before, interval)) = self.last {
            let passed = tick.mono.seconds_since(before);
            let most = 2.0 * tick.interval.max(interval).as_secs_f64();
            if (0.0..=most).contains(&passed) {
                self.observed_s += passed;
            }
        }
        self.last = Some((tick.mono, tick.interval));
        let begin = self.span.map_or(tick.at, |(begin, _)| begin);
        self.span = Some((begin, tick.at));
    }

    /// Takes in what this host's source tells.
    fn hear(&mut self, news: News, world: &mut World) {
        match news {
            News::Tick(tick) => self.take(&tick),
            News::All(all) => all.into_iter().for_each(|news| self.hear(news, world)),
            News::Session(session) => {
                self.session = *session;
                self.last = None;
            }
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
        self.last.is_some()
            && self
                .session
                .snapshot()
                .as_ref()
                .is_some_and(all_have_answered)
    }

    /// The view at the end, of whatever is there.
    fn finish(&self, settings: &Settings) -> Option<Watched> {
        Some(Watched {
            snapshot: self.session.snapshot()?,
            format: None,
            span: self.span,
            observed_s: self.observed_s,
            interval_s: self
                .last
                .map_or(1.0, |(_, interval)| interval.as_secs_f64()),
            timezone: zone(settings),
            warnings: Vec::new(),
        })
    }
}

/// The zone that times are shown in.
fn zone(settings: &Settings) -> (String, &'static str) {
    match settings.screen.tz.as_str() {
        "local" => (local_zone(), "local"),
        given => (given.to_owned(), "flag"),
    }
}

fn local_zone() -> String {
    let zone = jiff::tz::TimeZone::system();
    zone.iana_name().unwrap_or("local").to_owned()
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
    let mut watch = Watch::new(session);
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
    let mut end = Instant::now().checked_add(span + FIRST_WAIT);
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

/// Reads a recording to its end, or to its damage, which is told.
fn recording(file: &Path, settings: &Settings) -> Result<Watched, CliError> {
    let failed = |error| failure("diagnose", &error);
    let reader = Reader::open(file).map_err(failed)?;
    let Some(start) = reader.start_before(reader.first()).map_err(failed)? else {
        return Err(CliError::Failed(format!(
            "diagnose: {} has no ticks yet; next: let `nameplate record` run for a second",
            file.display()
        )));
    };
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    let plates = Arc::new(plates);
    let session = |record: &StartRecord| -> Result<Session, CliError> {
        let mut start = decoded("diagnose", record)?;
        priced(&mut start.config, &settings.config);
        let kind = SourceKind::Recording(file.display().to_string());
        Ok(Session::new(start, plates.clone(), kind))
    };
    let mut watch = Watch::new(session(&start)?);
    let mut damage = None;
    for record in reader.records(start.n) {
        match record {
            Ok(Record::Start(fresh)) if fresh.fresh && fresh.n > start.n => {
                watch.session = session(&fresh)?;
            }
            Ok(Record::Start(_)) => {}
            Ok(Record::Tick(_, tick)) => watch.take(&tick),
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
    }
    let Some(mut watched) = watch.finish(settings) else {
        return Err(damage.map_or_else(
            || CliError::Failed(format!("diagnose: {} has no ticks yet", file.display())),
            failed,
        ));
    };
    watched
        .warnings
        .extend(damage.map(|error| (0, error.to_string())));
    Ok(watched)
}

/// What the user says of price and billing holds for a recording too.
fn priced(config: &mut Config, told: &Config) {
    if told.price.is_some() {
        config.price.clone_from(&told.price);
        config.currency.clone_from(&told.currency);
    }
    config.since = told.since.or(config.since);
}

/// Reads a log to its end.
fn log(file: &Path, args: &Diagnose, settings: &Settings) -> Result<Watched, CliError> {
    let mut log = foreign::open("diagnose", file, &args.columns, settings)?;
    let timed = log.import.is_timed();
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    let start = Start::new(log.config(settings));
    let kind = log.kind(&log.file);
    let mut watch = Watch::new(Session::new(start, Arc::new(plates), kind));
    for tick in &mut log.import {
        watch.take(&tick.map_err(|error| foreign::refused("diagnose", &log.file, &error))?);
    }
    let mut watched = watch
        .finish(settings)
        .ok_or_else(|| CliError::Failed(format!("diagnose: {}: no row stands in it", log.file)))?;
    watched.format = Some(log.import.format());
    watched.span = watched.span.filter(|_| timed);
    watched.timezone = (log.zone.name.clone(), log.zone.source);
    if let Some(interval) = log.import.interval() {
        watched.interval_s = interval.as_secs_f64();
    }
    let warnings = log.import.warnings().into_iter();
    watched.warnings = warnings.map(|w| (w.line, w.text)).collect();
    Ok(watched)
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
