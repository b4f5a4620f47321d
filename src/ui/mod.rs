//! The screen: what is seen and how it reaches the terminal.

pub mod terminal;
