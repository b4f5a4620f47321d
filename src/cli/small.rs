//! Commands that only write text: config, themes, completions, man.

use super::args::{Cli, ConfigAction, ConfigArgs};
use super::config::{self, ConfigError, SAMPLE};
use super::{CliError, Settings, Shared, World};
use crate::ui::theme::Theme;
use clap::CommandFactory as _;

/// Prints the sample, or checks a file.
pub(super) fn config(
    args: &ConfigArgs,
    shared: &Shared,
    world: &mut World,
) -> Result<(), CliError> {
    let Some(ConfigAction::Check { file }) = &args.action else {
        return world.say(SAMPLE);
    };
    let named = file.as_deref().or(shared.config.as_deref());
    match config::load_any(named, &world.folders) {
        Ok((Some(path), _)) => world.say(&format!("{}: nothing wrong\n", path.display())),
        Ok((None, _)) => {
            let place = world
                .folders
                .config_file()
                .map_or_else(|| "the user's folder".into(), |p| p.display().to_string());
            world.say(&format!("there is no file at {place}: the defaults hold\n"))
        }
        Err(ConfigError::Invalid { path, problems }) => {
            let lines = problems
                .iter()
                .map(|p| format!("{}:{}: {p}", path.display(), p.line));
            Err(CliError::Failed(lines.collect::<Vec<_>>().join("\n")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Names the themes, the user's own last.
pub(super) fn themes(settings: &Settings, world: &mut World) -> Result<(), CliError> {
    let names = Theme::names(settings.screen.themes.as_deref());
    world.say(&format!("{}\n", names.join("\n")))
}

/// Writes a shell's completions.
pub(super) fn completions(shell: clap_complete::Shell, world: &mut World) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "nameplate", &mut script);
    world.say(&String::from_utf8_lossy(&script))
}

/// Writes the manual page.
pub(super) fn man(world: &mut World) -> Result<(), CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(CliError::writing)?;
    world.say(&String::from_utf8_lossy(&page))
}
