//! The integration tests: one binary, a module per subject.
//!
//! The fake libraries are examples. `cargo test` without target flags builds them; before
//! `cargo test --test it`, say `cargo build --examples`.

mod commands;
mod contract;
mod fake_nvml;
mod fake_nvml_process;
mod hardy;
mod house;
mod nvidia;
mod nvidia_captures;
mod nvidia_states;
mod platform_program;
mod platforms;
mod pty;
mod recorder;
mod recording;
mod refresh;
mod screens;
mod stage;
#[path = "../support/mod.rs"]
mod support;
