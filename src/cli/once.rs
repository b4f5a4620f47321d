//! `nameplate once`: one snapshot of two samples, so that rates exist.

use super::args::Format;
use super::live::{Following, Plan};
use super::platform::Rented;
use super::source::{self, Source, session};
use super::words::CatalogueWords;
use super::{CliError, Settings, World};
use crate::app::News;
use crate::model::{Control, ProbeStatus, Snapshot, SourceKind};
use crate::publish::{TextOptions, name_recorder, snapshot_json, snapshot_text};
use crate::session::Session;
use crate::text::{Catalogue, Lang};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Time between the two samples, unless `--interval` says another.
const APART: Duration = Duration::from_millis(200);

/// How long devices may take to answer; then the document says what is known.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of this host: what its recorder has read, where one runs, else two samples of our own.
pub(super) fn live(format: Format, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    let plan = Plan::new(settings, world, false)?;
    let read = Following::open(&plan).ok().and_then(|recorder| {
        let pid = recorder.pid();
        Some((pid, recorded(recorder, &plan)?))
    });
    let Some((pid, snapshot)) = read else {
        let rented = Rented::new(settings, world)?;
        return run(source::live(settings, &rented), format, settings, world);
    };
    let recorder = plan.file.as_deref().ok().map(|file| (pid, file));
    world.complain(&format!(
        "nameplate: once: as process {pid} records it; the driver was not asked again\n"
    ));
    write(&snapshot, recorder, format, settings, world)
}

/// Takes the samples, writes the document, fails where there was no accelerator.
pub(super) fn run(
    source: Source,
    format: Format,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    let snapshot = observe(source, settings.apart.unwrap_or(APART))?;
    write(&snapshot, None, format, settings, world)
}

/// `recorder`: process and file that it was read from.
fn write(
    snapshot: &Snapshot,
    recorder: Option<(u32, &Path)>,
    format: Format,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    match format {
        Format::Json => {
            let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
            let mut document = snapshot_json(snapshot, "once", &words);
            if let Some((pid, file)) = recorder {
                name_recorder(&mut document, pid, file);
            }
            world.say_json(&document)?;
        }
        Format::Text => {
            let t = Catalogue::new(settings.screen.lang);
            let ascii = settings.screen.ascii;
            let words = CatalogueWords::new(t, ascii);
            let options = TextOptions {
                ascii,
                ..TextOptions::default()
            };
            world.say(&snapshot_text(snapshot, &words, &t, options))?;
        }
    }
    if snapshot.devices.is_empty() {
        Err(CliError::NoAccelerator)
    } else {
        Ok(())
    }
}

/// The newest that a recorder has, as soon as it is complete. `None`: it says nothing new.
fn recorded(mut recorder: Following, plan: &Plan) -> Option<Snapshot> {
    let mut session = recorder.take_session();
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let snapshot = session.as_ref().and_then(Session::snapshot);
        if recorder.is_fresh()
            && let Some(snapshot) = snapshot.filter(all_have_answered)
        {
            return Some(snapshot);
        }
        std::thread::sleep(recorder.left().min(APART));
        for news in recorder.look(plan) {
            session = heard(session, news, plan);
        }
    }
    None
}

fn heard(session: Option<Session>, news: News, plan: &Plan) -> Option<Session> {
    match news {
        News::Session(session) => Some(*session),
        News::Start(start) => match session {
            Some(mut session) => {
                session.take_up(*start);
                Some(session)
            }
            None => Some(Session::new(*start, plan.plates.clone(), SourceKind::Live)),
        },
        News::Tick(tick) => session.map(|mut session| {
            session.fold(&tick);
            session
        }),
        _ => session,
    }
}

/// Folds ticks until every device has been read twice or is known to be silent.
fn observe(source: Source, apart: Duration) -> Result<Snapshot, CliError> {
    let mut session = session(source.kind, source.config)?;
    let (sender, ticks) = channel();
    let handle = source
        .feed
        .start(Box::new(move |tick| sender.send(tick).is_ok()))
        .map_err(|error| CliError::System {
            operation: "starting the probes".to_owned(),
            source: error,
            next: "check the limits on processes and threads (ulimit -u)",
        })?;
    handle.tell(Control::Interval(apart));
    let patience = PATIENCE + apart * 2;
    let deadline = Instant::now() + patience;
    let mut rounds = 0;
    while let Ok(tick) = ticks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        session.fold(&tick);
        if session.snapshot().as_ref().is_some_and(all_have_answered) {
            rounds += 1;
        }
        // The platform is waited for as well: what it costs belongs to the document.
        if rounds >= 2 && !session.is_looking_for_platform() {
            break;
        }
    }
    handle.tell(Control::Stop);
    session.snapshot().ok_or(CliError::NoSample {
        command: "once",
        seconds: patience.as_secs_f64(),
    })
}

/// Whether the probes have said what there is, and each device has been read or is known to be silent.
pub(super) fn all_have_answered(snapshot: &Snapshot) -> bool {
    let settled = !snapshot.probes.is_empty()
        && snapshot
            .probes
            .iter()
            .all(|p| p.status != ProbeStatus::Starting);
    settled
        && snapshot
            .devices
            .iter()
            .all(|view| view.age_s.is_some() || view.silent.is_some())
}
