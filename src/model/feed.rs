//! The seam between a source of ticks and whoever folds them.

use super::tick::Tick;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// What a running source can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Another interval from now on.
    Interval(Duration),
    /// A note at this instant.
    Mark(String),
    /// Another speed (simulation, replay): simulated seconds per real second.
    Speed(f64),
    /// End.
    Stop,
}

/// Takes each tick as it comes; answers `false` when nobody wants more. Never blocks.
pub type Sink = Box<dyn FnMut(Tick) -> bool + Send>;

/// Something that yields ticks: live probes, a simulation, a recording, a log.
pub trait Feed: Send {
    /// Starts yielding on a thread of its own; returns at once.
    ///
    /// # Errors
    /// A thread or process could not be started.
    fn start(self: Box<Self>, sink: Sink) -> std::io::Result<FeedHandle>;
}

/// Steers a running source. Dropping it lets the source end by itself; nothing waits for it.
#[derive(Debug, Clone)]
pub struct FeedHandle {
    /// Where to send what it should do.
    pub control: Sender<Control>,
}

impl FeedHandle {
    /// Tells the source something; a source that has ended does not mind.
    pub fn tell(&self, control: Control) {
        let _ = self.control.send(control);
    }
}
