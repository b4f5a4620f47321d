//! `nameplate` and `nameplate demo`: the screen on a source.

use super::args::Replay;
use super::linear;
use super::live::handover::hand_over;
use super::live::{Outlet, Plan, Watching};
use super::platform::Rented;
use super::recorder::failure;
use super::source::{self, Source, session};
use super::{CliError, Settings, World, foreign};
use crate::app::playback::{Order, PlaybackError, Player};
use crate::app::{App, News, Past};
use crate::model::{Config, FeedHandle, Plates, SourceKind};
use crate::session::{Session, Start};
use crate::text::{Catalogue, clean};
use crate::ui::glyphs::Charset;
use crate::ui::run::{Running, Wanted, run as run_screen};
use crate::ui::terminal::{install_panic_hook, is_dumb};
use crate::ui::theme::{Depth, Theme};
use crate::ui::{Look, Tape};
use jiff::tz::TimeZone;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
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
    if matches!(started, Started::Live) {
        Rented::new(settings, world)?;
    }
    let mut watching: Option<Watching> = None;
    let look = look(settings, world)?;
    let zone = look.zone.clone();
    install_panic_hook();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| CliError::System {
            operation: "starting the screen".to_owned(),
            source,
            next: "check the limits on open files (ulimit -n)",
        })?;
    super::pages::keep_small();
    let stdout = is_linear(settings, world)
        .then(|| std::mem::replace(&mut world.stdout, Box::new(std::io::sink())));
    let world_of = &*world;
    let mut start = |wanted: Wanted| {
        // What was watched before has been told to end; its file is closed before it is opened again.
        if wanted == Wanted::First
            && let Some(before) = watching.take()
        {
            let _ = before.end(PATIENCE);
        }
        let opened = match (wanted, first.take()) {
            (Wanted::First, Some(opened)) => Ok(opened),
            (Wanted::First, None) => open(started, settings),
            (Wanted::Demo, _) => source::demo(None, settings).map(Opened::Source),
        };
        let running = opened.and_then(|opened| match opened {
            Opened::Live => watch(settings, world_of, &zone).map(|(running, watched)| {
                watching = Some(watched);
                running
            }),
            Opened::Source(source) => begin(source, settings),
            Opened::Replay(player, args) => begin_replay(*player, args, &zone),
        });
        running.map_err(|error| error.to_string())
    };
    let (stdout, result) = match stdout {
        Some(stdout) => runtime.block_on(linear::run(&settings.screen, &zone, &mut start, stdout)),
        None => {
            let result = runtime.block_on(run_screen(&look, &mut start));
            (
                None,
                result.map_err(|error| CliError::Failed(error.to_string())),
            )
        }
    };
    // Leaving a runtime waits for its threads; nothing is waited for on the way out.
    runtime.shutdown_background();
    let ended = watching.map(|watching| watching.end(PATIENCE));
    if let Some(stdout) = stdout {
        world.stdout = stdout;
    }
    result?;
    match ended {
        Some(Ok(Some(closed))) => hand_over(&closed, settings, world),
        Some(Err(())) => Err(CliError::Failed(
            "the recording could not be closed in time, and nothing records now; next: see whether its disk answers"
                .to_owned(),
        )),
        Some(Ok(None)) | None => Ok(()),
    }
}

/// Whether it speaks one line after another: as somebody wants it, or because the terminal can do nothing else.
fn is_linear(settings: &Settings, world: &mut World) -> bool {
    let term = (world.env)("TERM");
    let dumb = std::io::stdout().is_terminal() && is_dumb(term.as_deref());
    if dumb && !settings.screen.linear {
        world.complain(&format!(
            "nameplate: this terminal cannot move its cursor (TERM is {:?}): one line after another, as with --linear\n",
            term.unwrap_or_default()
        ));
    }
    dumb || settings.screen.linear
}

/// What was opened and is not shown yet.
#[allow(clippy::large_enum_variant, reason = "there is one")]
enum Opened<'a> {
    /// This host, whose ticks may come from a recorder.
    Live,
    /// A demo or a log.
    Source(Source),
    Replay(Box<Player>, &'a Replay),
}

fn open<'a>(started: Started<'a>, settings: &Settings) -> Result<Opened<'a>, CliError> {
    match started {
        Started::Live => Ok(Opened::Live),
        Started::Demo(case) => source::demo(case, settings).map(Opened::Source),
        Started::Replay(args) if !foreign::is_recording(&args.file) => {
            source::log(args, settings).map(Opened::Source)
        }
        Started::Replay(args) => Ok(Opened::Replay(Box::new(player(&args.file)?), args)),
    }
}

/// Opens a recording for the screen.
///
/// # Errors
/// It cannot be read, or has no ticks.
pub(super) fn player(path: &Path) -> Result<Player, CliError> {
    let kind = SourceKind::Recording(file_name(path));
    Player::open(path, plates()?, kind).map_err(|error| match error {
        PlaybackError::Record(error) => failure("replay", &error),
        PlaybackError::Start(error) => CliError::Failed(format!(
            "replay: {}: {error}; next: use the version that wrote it",
            path.display()
        )),
        PlaybackError::Empty => CliError::Failed(format!(
            "replay: {} has no ticks yet; next: let `nameplate record` run for a second",
            path.display()
        )),
    })
}

fn plates() -> Result<Arc<Plates>, CliError> {
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Arc::new(plates))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    clean(&name.to_string_lossy()).into_owned()
}

fn no_thread(operation: &str, source: std::io::Error) -> CliError {
    CliError::System {
        operation: operation.to_owned(),
        source,
        next: "check the limits on processes and threads (ulimit -u)",
    }
}

/// Watches this host; what is recorded of it is the past of what is live.
fn watch(
    settings: &Settings,
    world: &World,
    zone: &TimeZone,
) -> Result<(Running, Watching), CliError> {
    let plan = Plan::new(settings, world, true)?;
    let file = plan.file.as_ref().ok();
    let tape = match file.filter(|path| plan.record || path.exists()) {
        Some(path) => Some(tape(path)?),
        None => None,
    };
    let past = if tape.is_some() {
        Past::Kept
    } else {
        Past::None
    };
    let session = session(SourceKind::Live, settings.config.clone())?;
    let (sender, news) = unbounded_channel();
    let outlet: Outlet = Arc::new(move |news| sender.send(news).is_ok());
    let watching =
        Watching::start(plan, outlet).map_err(|error| no_thread("starting the source", error))?;
    let app = App::new(session, settings.interval, settings.config.history)
        .in_zone(zone.clone())
        .with_past(past);
    let feed = watching.feed.clone();
    let running = Running {
        app,
        news,
        feed,
        tape,
    };
    Ok((running, watching))
}

/// A demo or a log on the screen.
fn begin(source: Source, settings: &Settings) -> Result<Running, CliError> {
    let history = source.config.history;
    let session = session(source.kind, source.config)?;
    let (sender, news) = unbounded_channel();
    let feed = source
        .feed
        .start(Box::new(move |tick| sender.send(News::Tick(tick)).is_ok()))
        .map_err(|error| no_thread("starting the source", error))?;
    let app = App::new(session, settings.interval, history).with_speed(source.speed);
    Ok(Running {
        app,
        news,
        feed,
        tape: None,
    })
}

fn tape(path: &Path) -> Result<Tape, CliError> {
    let kind = SourceKind::Recording(file_name(path));
    Ok(Tape::new(PathBuf::from(path), plates()?, kind))
}

/// A recording on the screen: all its pictures come from the worker that plays it.
fn begin_replay(player: Player, args: &Replay, zone: &TimeZone) -> Result<Running, CliError> {
    let history = player.history();
    let mut tape = tape(&args.file)?;
    tape.play(player, args.at.map_or(Order::First, Order::At), args.speed)
        .map_err(|error| no_thread("starting the replay", error))?;
    let session = Session::new(
        Start::new(Config::default()),
        plates()?,
        SourceKind::Recording(file_name(&args.file)),
    );
    let app = App::new(session, std::time::Duration::from_secs(1), history)
        .with_speed(args.speed)
        .in_zone(zone.clone())
        .with_past(Past::Replay);
    // No source stands behind it: nothing comes, and what is told is heard by nobody.
    let (_, news) = unbounded_channel();
    let (control, _) = std::sync::mpsc::channel();
    Ok(Running {
        app,
        news,
        feed: FeedHandle { control },
        tape: Some(tape),
    })
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
