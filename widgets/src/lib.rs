//! Reusable [ratatui](https://docs.rs/ratatui) widgets: bars with ticks, sweep charts with gaps,
//! ribbons of shares, one-line histories and fixed columns.
//!
//! They know nothing of what they show. Every colour is a [`Style`](ratatui_core::style::Style)
//! and every word a string that the caller passes; only the drawing glyphs live here, each with
//! an ASCII twin chosen by [`Glyphs`].
//!
//! Three rules hold for all of them:
//!
//! - **Absent is not zero.** `None`, NaN and the infinities draw no value at all, and a line never
//!   crosses a gap.
//! - **Nothing autoscales.** The caller fixes every scale; what lies outside it is clamped and
//!   marked as such.
//! - **Nothing panics and nothing leaks.** Any size from 0×0 up and any number is fine, and no cell
//!   outside the given area is touched.
//!
//! | widget | shows |
//! |---|---|
//! | [`Bar`] | one value of a full scale, with ticks |
//! | [`Sweep`] | a line chart on fixed axes with named ceiling and limits |
//! | [`Spark`] | a small history in one row |
//! | [`Ribbon`] | shares of a whole in one row |
//! | [`Columns`] | which table columns fit, and where |
//! | [`SweepWindow`] | which stretch of time a sweeping chart shows |

mod bar;
mod columns;
mod glyphs;
mod paint;
mod plot;
mod raster;
mod ribbon;
mod spark;
mod sweep;
mod window;

#[cfg(test)]
mod proofs;

pub use bar::Bar;
pub use columns::{Align, Column, Columns, Slot};
pub use glyphs::Glyphs;
pub use ribbon::{Ribbon, Slice, allot};
pub use spark::{Spark, SparkShape};
pub use sweep::{Limit, Sweep};
pub use window::SweepWindow;
