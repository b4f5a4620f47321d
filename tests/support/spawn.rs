//! Starting programs beside tests that open pseudo-terminals.
//!
//! A pseudo-terminal is opened first and marked close-on-exec then: a program that another test starts in between inherits
//! it, and keeps a terminal open whose closing a test waits for.
#![allow(clippy::unwrap_used)]

use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock};

static STARTING: RwLock<()> = RwLock::new(());

/// Starts a program, however that is done, while no pseudo-terminal is being opened.
pub(crate) fn among_many<T>(start: impl FnOnce() -> T) -> T {
    let _one_of_many = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    start()
}

/// Starts a program.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    among_many(|| command.spawn())
}

/// Runs a program to its end; what it writes is kept.
pub(crate) fn output(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn(command).unwrap().wait_with_output().unwrap()
}

/// Opens something while nobody starts a program.
pub(crate) fn alone<T>(open: impl FnOnce() -> T) -> T {
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    open()
}
