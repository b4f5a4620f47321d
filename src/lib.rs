//! nameplate: a full-screen terminal monitor for rented accelerators.
//!
//! The program is a library function that takes its world as arguments; `ARCHITECTURE.md` tells how the house is built.

pub mod app;
pub mod cli;
pub mod ledger;
pub mod model;
pub mod platform;
pub mod probe;
pub mod publish;
pub mod record;
pub mod session;
pub mod simulate;
pub mod tensors;
pub mod text;
pub mod ui;
pub mod units;
pub mod verdict;
