//! A recording on the screen: the one that is replayed, or the past of what is live.
//!
//! A worker reads the file and folds it, and publishes frames: what the screen draws of one instant. It is told orders,
//! and the newest frame counts. Nothing of it runs on the screen's thread.

mod minutes;
mod pace;
mod player;
mod reel;
mod worker;

#[cfg(test)]
mod tests;

pub use player::Player;
pub use worker::{Handle, Played, PlayedSink, start};

use crate::model::{DeviceId, Snapshot};
use crate::record::RecordError;
use crate::session::{Series, StartError};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The slowest and the fastest: recorded seconds for each real one.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=10_000.0;

/// What the worker is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// So many recorded seconds for each real one; zero holds.
    Speed(f64),
    /// The first tick at or after an instant.
    At(Timestamp),
    /// So many seconds forward, or back where negative.
    Shift(f64),
    /// So many ticks forward, or back where negative.
    Ticks(i64),
    /// Where the recording begins.
    First,
    /// Its newest tick.
    Last,
    /// The next instant at which something happened (`true`), or the last one before.
    Event(bool),
    /// End.
    Stop,
}

/// What is to be said of the place.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Remark {
    /// Nothing.
    #[default]
    Nothing,
    /// The recording begins here.
    Begin,
    /// It ends here.
    End,
    /// Nothing was recorded between these two.
    Gap(Timestamp, Timestamp),
    /// Nothing happened any more after (`true`) or before this.
    NoEvent(bool),
    /// The file cannot be read further, for this reason.
    Damaged(String),
}

/// How finely the place is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grain {
    /// Every tick.
    #[default]
    Ticks,
    /// A row for each minute is all that is kept.
    Minutes,
}

/// What the screen draws of one instant of a recording.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The view at that instant.
    pub snapshot: Arc<Snapshot>,
    /// What the charts show.
    pub series: Arc<BTreeMap<DeviceId, Series>>,
    /// How far the charts reach back.
    pub span: Duration,
    /// What is to be said of it.
    pub remark: Remark,
    /// How finely it is recorded.
    pub grain: Grain,
    /// It stands still, for now or for good.
    pub standing: bool,
}

/// Why a recording cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum PlaybackError {
    /// The file.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What the session stood at.
    #[error("the recording cannot be taken up: {0}")]
    Start(#[from] StartError),
    /// There is no tick in it.
    #[error("the recording has no ticks yet")]
    Empty,
}
