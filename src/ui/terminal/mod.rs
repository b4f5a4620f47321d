//! The real terminal: entering and leaving it, drawing to it with few bytes, its keys and its signals.

mod backend;
mod input;
mod motion;
mod pen;
mod screen;
mod shadow;
mod signals;
mod typed;

#[cfg(test)]
mod backend_tests;

pub use backend::Lean;
pub use input::{Input, InputError};
pub use screen::{Screen, ScreenError, Tty, install_panic_hook, is_dumb, is_hangup, restore};
pub use signals::{ReaderEnd, Signal, Signals, suspend};
pub use typed::{Asked, Typed};
