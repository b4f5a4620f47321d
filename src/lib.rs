//! nameplate
