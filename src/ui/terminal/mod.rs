//! The real terminal: entering and leaving it, drawing to it with few bytes, its keys and its signals.

mod backend;
mod input;
mod pen;
mod screen;
mod signals;

#[cfg(test)]
mod backend_tests;

pub use backend::Lean;

pub use screen::is_hangup;
