//! `nameplate demo`: the screen on simulated devices, or the list of cases.

use super::args::{Demo, Format};
use super::{CliError, Settings, World, screen, source};
use crate::publish::demos_json;

/// Lists the cases, or shows one.
pub(super) fn run(args: &Demo, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    if !args.list {
        return screen::run(screen::Started::Demo(args.case.as_deref()), settings, world);
    }
    let cases = source::demo_cases();
    match args.format {
        Format::Json => {
            let now = (world.now)();
            world.say_json(&demos_json(&cases, now))
        }
        Format::Text => {
            let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
            let lines: String = cases
                .iter()
                .map(|case| format!("{:width$}  {}\n", case.name, case.title))
                .collect();
            world.say(&lines)
        }
    }
}
