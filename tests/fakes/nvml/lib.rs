//! A fake `libnvidia-ml.so.1` at the C ABI: what it answers is data, a scenario in TOML.
//!
//! The program opens it like the real library (`--nvml-library`), so that the code from `dlopen` to
//! return codes is the code that runs on a rented machine. A value that the scenario does not name
//! answers `NVML_ERROR_NOT_SUPPORTED`; a call that the real library has and this one lacks is
//! missing, like on an old driver, and never a stub that succeeds. The format of a scenario is in
//! `scenario.rs`.
#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::missing_safety_doc,
    non_snake_case
)]

mod beside;
mod counts;
mod events;
mod fields;
mod getters;
mod gpm;
mod keys;
mod links;
mod memory;
mod mig;
mod out;
mod processes;
mod scenario;
mod state;
mod system;
mod unit;
mod value;
