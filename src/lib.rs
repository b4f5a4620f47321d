//! nameplate

pub mod text;
pub mod ui;
