//! The command line: parse, settle what holds, run one command, answer with its exit code.
//!
//! The program is a function of its arguments and a [`World`]; nothing here prints on its own.

pub mod args;
mod background;
mod compare;
pub mod config;
mod demo;
mod diagnose;
mod error;
mod export;
mod folded;
mod foreign;
mod later;
pub mod libraries;
mod linear;
mod lines;
mod live;
mod log;
mod once;
mod pages;
mod past;
mod platform;
mod probe;
mod record;
mod recorder;
mod screen;
mod settings;
mod shared;
mod signals;
mod small;
mod source;
mod stream;
pub mod value;
mod words;

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod diagnose_tests;
#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests;

pub use error::CliError;
pub use settings::{PlatformSettings, ScreenSettings, Settings};
pub use shared::Shared;
pub use words::CatalogueWords;

use crate::text::clean;
use args::{Cli, Command};
use clap::{CommandFactory as _, FromArgMatches as _};
use config::Folders;
use std::ffi::OsString;
use std::io::Write;

/// Reads a variable of the environment.
pub type Env = Box<dyn Fn(&str) -> Option<String>>;

/// What the program reaches of the outside, besides its source of ticks.
pub struct World {
    /// Reads a variable of the environment.
    pub env: Env,
    /// The user's folders.
    pub folders: Folders,
    /// Where documents go.
    pub stdout: Box<dyn Write + Send>,
    /// Where the one line of a failure goes.
    pub stderr: Box<dyn Write>,
    /// Wall time.
    pub now: fn() -> jiff::Timestamp,
}

impl World {
    /// This process's own.
    #[must_use]
    pub fn real() -> Self {
        Self {
            env: Box::new(|name| std::env::var(name).ok()),
            folders: Folders::find(),
            stdout: Box::new(std::io::stdout()),
            stderr: Box::new(std::io::stderr()),
            now: jiff::Timestamp::now,
        }
    }

    /// Writes to stdout at once.
    ///
    /// # Errors
    /// The reader is gone, or the write failed.
    pub fn say(&mut self, text: &str) -> Result<(), CliError> {
        self.stdout
            .write_all(text.as_bytes())
            .and_then(|()| self.stdout.flush())
            .map_err(CliError::writing)
    }

    /// Writes one JSON document as a line to stdout.
    ///
    /// # Errors
    /// As [`World::say`].
    pub fn say_json(&mut self, document: &serde_json::Value) -> Result<(), CliError> {
        self.say(&format!("{document}\n"))
    }

    /// Writes lines to stderr; nobody is left to hear of a failure there.
    fn complain(&mut self, text: &str) {
        let _ = self
            .stderr
            .write_all(text.as_bytes())
            .and_then(|()| self.stderr.flush());
    }
}

/// Runs the program: `arguments` with the program's name first. Answers with the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, world: &mut World) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(told) = probe::told(&arguments) {
        return probe::run_probe(told);
    }
    let mut cli = match parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, world),
    };
    let command = cli.0.command.take();
    let result = cli
        .0
        .shared
        .settle(&cli.1)
        .and_then(|()| dispatch(command, &cli.0.shared, world));
    match result {
        Ok(code) => code,
        Err(CliError::ClosedPipe) => 0,
        Err(error) => {
            // Problems of a file stand one a line; everything else is one line.
            let text: Vec<_> = error
                .to_string()
                .lines()
                .map(|line| clean(line).into_owned())
                .collect();
            world.complain(&format!("nameplate: {}\n", text.join("\n")));
            error.exit_code()
        }
    }
}

/// The arguments, and where each came from. A variable that is set to nothing says nothing.
fn parse(arguments: Vec<OsString>) -> Result<(Cli, clap::ArgMatches), clap::Error> {
    let mut command = Cli::command();
    command = command.mut_args(|arg| {
        let empty = |name| std::env::var_os(name).is_some_and(|value| value.is_empty());
        if arg.get_env().is_some_and(empty) {
            arg.env(clap::builder::Resettable::Reset)
        } else {
            arg
        }
    });
    let matches = command.try_get_matches_from(arguments)?;
    Ok((Cli::from_arg_matches(&matches)?, matches))
}

/// Help and version are what was asked for; all else is wrong usage.
fn usage(error: &clap::Error, world: &mut World) -> u8 {
    let text = error.render().to_string();
    if error.use_stderr() {
        world.complain(&text);
    } else if let Err(CliError::System { .. }) = world.say(&text) {
        return 1;
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

fn dispatch(command: Option<Command>, shared: &Shared, world: &mut World) -> Result<u8, CliError> {
    // What needs no settings works with a broken configuration too.
    match &command {
        Some(Command::Config(args)) => return small::config(args, shared, world).map(|()| 0),
        Some(Command::Completions { shell }) => {
            return small::completions(*shell, world).map(|()| 0);
        }
        Some(Command::Man) => return small::man(world).map(|()| 0),
        _ => {}
    }
    let (_, file) = config::load_any(shared.config.as_deref(), &world.folders)?;
    if let Some(folder) = &file.state_dir {
        world.folders.state = Some(folder.clone());
    }
    let settings = Settings::merge(shared, file, &world.folders, &world.env);
    log::start(world);
    match command {
        None => screen::run(screen::Started::Live, &settings, world)?,
        Some(Command::Demo(args)) => demo::run(&args, &settings, world)?,
        Some(Command::Once(args)) => {
            once::live(args.format, &settings, world)?;
        }
        Some(Command::Stream(args)) => stream::live(&args, &settings, world)?,
        Some(Command::Record(args)) if args.background => background::start(&args, world)?,
        Some(Command::Record(args)) if args.status => background::status(&args, world)?,
        Some(Command::Record(args)) if args.stop => background::stop(&args, world)?,
        Some(Command::Record(args)) => {
            let rented = platform::Rented::new(&settings, world)?;
            record::run(source::live(&settings, &rented), &args, world)?;
        }
        Some(Command::Replay(args)) => {
            screen::run(screen::Started::Replay(&args), &settings, world)?;
        }
        Some(Command::Export(args)) => export::run(&args, &settings, world)?,
        Some(Command::Diagnose(args)) => return diagnose::run(&args, &settings, world),
        Some(Command::Compare(args)) => return compare::run(&args, &settings, world),
        Some(Command::Themes) => small::themes(&settings, world)?,
        Some(Command::Platforms(args)) => platform::run(&args, &settings, world)?,
        Some(other) => return Err(later::not_in_this_version(&other)),
    }
    Ok(0)
}
