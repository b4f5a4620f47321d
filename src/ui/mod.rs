//! The screen: roles and themes, glyphs with their twins, views. A view is a pure function of state, size and theme.

pub mod glyphs;
mod look;
pub mod run;
mod tape;
pub mod terminal;
pub mod theme;
pub mod views;

pub use look::Look;
pub use tape::Tape;
pub(crate) use tape::played;
