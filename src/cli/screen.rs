//! `nameplate` and `nameplate demo`: the screen on a source.

use super::args::Replay;
use super::live::handover::hand_over;
use super::live::{Outlet, Plan, Watching};
use super::source::{self, Source, session};
use super::{CliError, Settings, World};
use crate::app::{App, News};
use crate::model::SourceKind;
use crate::text::Catalogue;
use crate::ui::Look;
use crate::ui::glyphs::Charset;
use crate::ui::run::{Running, Wanted, run as run_screen};
use crate::ui::terminal::{Options, install_panic_hook};
use crate::ui::theme::{Depth, Theme};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;

/// How long a recording may take to be closed.
const PATIENCE: Duration = Duration::from_millis(3500);

/// What the screen was started for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Started<'a> {
    /// The probes of this host.
    Live,
    /// A case of the demo.
    Demo(Option<&'a str>),
    /// A recording.
    Replay(&'a Replay),
}

/// Draws a source until the user quits.
pub(super) fn run(
    started: Started<'_>,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    // Wrong names are told before the screen is taken.
    let mut first = Some(open(started, settings)?);
    let mut watching: Option<Watching> = None;
    let look = look(settings, world)?;
    install_panic_hook();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| CliError::System {
            operation: "starting the screen".to_owned(),
            source,
            next: "check the limits on open files (ulimit -n)",
        })?;
    let options = Options {
        term: (world.env)("TERM"),
    };
    let world_of = &*world;
    let mut start = |wanted: Wanted| {
        // What was watched before has been told to end; its file is closed before it is opened again.
        if wanted == Wanted::First
            && let Some(before) = watching.take()
        {
            let _ = before.end(PATIENCE);
        }
        let source = match (wanted, first.take()) {
            (Wanted::First, Some(source)) => Ok(source),
            (Wanted::First, None) => open(started, settings),
            (Wanted::Demo, _) => source::demo(None, settings).map(Some),
        };
        let running = match source {
            Ok(Some(source)) => begin(source, settings),
            Ok(None) => watch(settings, world_of).map(|(running, watched)| {
                watching = Some(watched);
                running
            }),
            Err(error) => Err(error),
        };
        running.map_err(|error| error.to_string())
    };
    let result = runtime.block_on(run_screen(&options, &look, &mut start));
    // Leaving a runtime waits for its threads; nothing is waited for on the way out.
    runtime.shutdown_background();
    let ended = watching.map(|watching| watching.end(PATIENCE));
    result.map_err(|error| CliError::Failed(error.to_string()))?;
    match ended {
        Some(Ok(Some(closed))) => hand_over(&closed, settings, world),
        Some(Err(())) => Err(CliError::Failed(
            "the recording could not be closed in time, and nothing records now; next: see whether its disk answers"
                .to_owned(),
        )),
        Some(Ok(None)) | None => Ok(()),
    }
}

/// The source that was asked for; `None` for this host, whose ticks may come from a recorder.
fn open(started: Started<'_>, settings: &Settings) -> Result<Option<Source>, CliError> {
    match started {
        Started::Live => Ok(None),
        Started::Demo(case) => source::demo(case, settings).map(Some),
        Started::Replay(args) => source::replay(args, settings).map(Some),
    }
}

/// Watches this host.
fn watch(settings: &Settings, world: &World) -> Result<(Running, Watching), CliError> {
    let plan = Plan::new(settings, world, true)?;
    let session = session(SourceKind::Live, settings.config.clone())?;
    let (sender, news) = unbounded_channel();
    let outlet: Outlet = Arc::new(move |news| sender.send(news).is_ok());
    let watching = Watching::start(plan, outlet).map_err(|source| CliError::System {
        operation: "starting the source".to_owned(),
        source,
        next: "check the limits on processes and threads (ulimit -u)",
    })?;
    let app = App::new(session, settings.interval, settings.config.history);
    let feed = watching.feed.clone();
    Ok((Running { app, news, feed }, watching))
}

fn begin(source: Source, settings: &Settings) -> Result<Running, CliError> {
    let history = source.config.history;
    let session = match source.start {
        Some(start) => source::session_from(source.kind, start)?,
        None => session(source.kind, source.config)?,
    };
    let (sender, news) = unbounded_channel();
    let feed = source
        .feed
        .start(Box::new(move |tick| sender.send(News::Tick(tick)).is_ok()))
        .map_err(|source| CliError::System {
            operation: "starting the source".to_owned(),
            source,
            next: "check the limits on processes and threads (ulimit -u)",
        })?;
    let app = App::new(session, settings.interval, history).with_speed(source.speed);
    Ok(Running { app, news, feed })
}

/// Theme, glyphs, words and zone of this terminal.
fn look(settings: &Settings, world: &World) -> Result<Look, CliError> {
    let screen = &settings.screen;
    let depth = Depth::detect(&world.env, screen.color);
    let theme = Theme::load(&screen.theme, screen.themes.as_deref(), depth).map_err(|error| {
        CliError::Usage(format!(
            "--theme: {error}; next: `nameplate themes` names them"
        ))
    })?;
    let charset = if screen.ascii {
        Charset::Ascii
    } else {
        Charset::Unicode
    };
    Ok(Look {
        theme,
        charset,
        text: Catalogue::new(screen.lang.for_terminal(screen.ascii)),
        zone: super::value::zone(&screen.tz)
            .map_err(|error| CliError::Usage(format!("--tz: {error}")))?,
    })
}
