//! The program: hooks, parse, run, exit code.

use nameplate::cli::{World, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is reported with its place; where that cannot be set up, Rust's own report does.
    let _ = color_eyre::install();
    ExitCode::from(run(std::env::args_os(), &mut World::real()))
}
