//! A log as a source: its ticks in its own time, or faster.

use super::Import;
use crate::model::{Feed, FeedHandle, Sink};
use crate::record::pace::Pace;
use jiff::Timestamp;
use std::sync::mpsc::channel;

/// Yields the ticks of a log.
pub struct LogFeed {
    import: Import,
    shown_from: Option<Timestamp>,
    speed: f64,
}

impl LogFeed {
    /// Ticks before `shown_from` come at once, then `speed` logged seconds in each real one.
    #[must_use]
    pub const fn new(import: Import, shown_from: Option<Timestamp>, speed: f64) -> Self {
        Self {
            import,
            shown_from,
            speed,
        }
    }
}

impl Feed for LogFeed {
    fn start(self: Box<Self>, sink: Sink) -> std::io::Result<FeedHandle> {
        let (control, orders) = channel();
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                let mut sink = sink;
                let mut pace = Pace::new(self.speed, orders);
                for tick in self.import {
                    // What cannot be read ends the replay where it is: the picture stays, as at the end of the file.
                    let Ok(tick) = tick else { break };
                    let shown = self.shown_from.is_none_or(|from| tick.at >= from);
                    let wanted = if shown {
                        pace.wait_for(&tick)
                    } else {
                        pace.stands_at(tick.mono);
                        true
                    };
                    if !wanted || !sink(tick) {
                        break;
                    }
                }
            })?;
        Ok(FeedHandle { control })
    }
}
