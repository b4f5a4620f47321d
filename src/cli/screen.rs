//! `nameplate` and `nameplate demo`: the screen on a source.

use super::args::Replay;
use super::source::{self, Source, session};
use super::{CliError, Settings, World};
use crate::app::App;
use crate::text::Catalogue;
use crate::ui::glyphs::Charset;
use crate::ui::run::{RunError, Running, Wanted, run as run_screen};
use crate::ui::terminal::{Options, install_panic_hook};
use crate::ui::theme::{Depth, Theme};
use crate::ui::{Look, terminal};
use tokio::sync::mpsc::unbounded_channel;

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
    world: &World,
) -> Result<(), CliError> {
    // Wrong names are told before the screen is taken.
    let mut first = Some(open(started, settings, world)?);
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
    let mut start = |wanted: Wanted| {
        let source = match (wanted, first.take()) {
            (Wanted::First, Some(source)) => Ok(source),
            (Wanted::First, None) => open(started, settings, world),
            (Wanted::Demo, _) => source::demo(None, settings),
        };
        source
            .and_then(|source| begin(source, settings))
            .map_err(|error| error.to_string())
    };
    let result = runtime.block_on(run_screen(&options, &look, &mut start));
    // Leaving a runtime waits for its threads; nothing is waited for on the way out.
    runtime.shutdown_background();
    result.map_err(|error| match error {
        RunError::Screen(
            terminal::ScreenError::NotATerminal | terminal::ScreenError::Dumb { .. },
        ) => CliError::Failed(error.to_string()),
        other => CliError::Failed(other.to_string()),
    })
}

fn open(started: Started<'_>, settings: &Settings, world: &World) -> Result<Source, CliError> {
    match started {
        Started::Live => source::live(settings, world),
        Started::Demo(case) => source::demo(case, settings),
        Started::Replay(args) => source::replay(args),
    }
}

fn begin(source: Source, settings: &Settings) -> Result<Running, CliError> {
    let history = source.config.history;
    let session = match source.start {
        Some(start) => source::session_from(source.kind, start)?,
        None => session(source.kind, source.config)?,
    };
    let (sender, ticks) = unbounded_channel();
    let feed = source
        .feed
        .start(Box::new(move |tick| sender.send(tick).is_ok()))
        .map_err(|source| CliError::System {
            operation: "starting the source".to_owned(),
            source,
            next: "check the limits on processes and threads (ulimit -u)",
        })?;
    let app = App::new(session, settings.interval, history).with_speed(source.speed);
    Ok(Running { app, ticks, feed })
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
