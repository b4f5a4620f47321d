//! The screen: colours by role, glyphs with their ASCII twins, and the views.

pub mod glyphs;
pub mod theme;
