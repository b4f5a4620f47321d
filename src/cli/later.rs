//! Commands whose part is not built yet: they parse their flags and say so.

use super::CliError;
use super::args::Command;

/// The answer of a command that this version lacks.
pub(super) fn not_in_this_version(command: &Command) -> CliError {
    let (command, instead) = match command {
        Command::Doctor(_) => (
            "doctor",
            "`nameplate once` says what is already known of each device",
        ),
        Command::Audit(_) => (
            "audit",
            "`nameplate once --format json` has the meter under `cost`",
        ),
        Command::Run(_) => (
            "run",
            "start the command by itself, and `nameplate stream` beside it",
        ),
        Command::Serve(_) => ("serve", "`nameplate stream` writes JSON lines"),
        _ => ("command", "see `nameplate --help`"),
    };
    CliError::NotInThisVersion { command, instead }
}
