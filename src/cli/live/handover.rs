//! What becomes of the recording when the screen that kept it ends.

use super::super::background::spawn;
use super::super::config::AfterLogout;
use super::super::{CliError, Settings, World};
use super::Closed;
use crate::text::clean;
use std::ffi::OsString;

/// Leaves a recorder in the background, where that is wanted: as the configuration says, else while a price is known. One
/// line says what records now.
///
/// # Errors
/// It does not begin.
pub(in crate::cli) fn hand_over(
    closed: &Closed,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    let path = clean(&closed.path.to_string_lossy()).into_owned();
    if let Some(failure) = &closed.failure {
        return Err(CliError::Failed(failure.clone()));
    }
    if !goes_on(closed, settings.after_logout) {
        // Whoever closed the terminal reads no line.
        let _ = world.say(&format!(
            "nothing records now; {} ticks are in {path}; `nameplate record --background` goes on with it\n",
            closed.ticks
        ));
        return Ok(());
    }
    // The screen's own arguments are all flags of every command.
    let arguments = ["record", "--detached"].map(OsString::from);
    let arguments = arguments.into_iter().chain(std::env::args_os().skip(1));
    let pid = spawn(&closed.path, arguments.collect(), world)?;
    let _ = world.say(&format!(
        "process {pid} goes on recording into {path}; `nameplate record --stop` ends it\n"
    ));
    Ok(())
}

/// A recorder of nothing is of no use, whatever the configuration says.
fn goes_on(closed: &Closed, after: Option<AfterLogout>) -> bool {
    closed.devices > 0
        && match after {
            Some(AfterLogout::Record) => true,
            Some(AfterLogout::Stop) => false,
            None => closed.price_known,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_as_the_configuration_says_else_while_a_price_is_known() {
        let closed = |devices, price_known| Closed {
            path: "a.nmp".into(),
            ticks: 3,
            devices,
            price_known,
            failure: None,
        };
        assert!(goes_on(&closed(8, true), None));
        assert!(!goes_on(&closed(8, false), None));
        assert!(goes_on(&closed(8, false), Some(AfterLogout::Record)));
        assert!(!goes_on(&closed(8, true), Some(AfterLogout::Stop)));
        assert!(!goes_on(&closed(0, true), Some(AfterLogout::Record)));
    }
}
