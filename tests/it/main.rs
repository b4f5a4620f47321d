//! The integration tests: one binary, a module per subject.
//!
//! The fake libraries are examples. `cargo test` builds them; with `--test it` alone, say
//! `cargo test --examples --test it`.

mod fake_nvml;
#[path = "../support/mod.rs"]
mod support;
