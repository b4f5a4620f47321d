//! Running a program to its end.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

/// Runs a program to its end; what it writes is kept.
pub(crate) fn output(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.output().unwrap()
}
