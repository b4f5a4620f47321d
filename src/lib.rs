//! nameplate

pub mod text;
