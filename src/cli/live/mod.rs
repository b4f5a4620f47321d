//! The ticks of this host, wherever they come from: the file of a recorder that runs already, else our own probes; and the
//! recording that the screen keeps of them.
//!
//! One thread, the conductor, decides and is steered. While it follows a recorder it reads that one's file; else the
//! probes' ticks go from their own thread to the screen and, over a bounded channel, to the keeper, whose thread writes.
//! Nothing of this runs on the screen's thread, and no disk can hold up a tick.

mod conduct;
mod follow;
pub(super) mod handover;
mod keep;
#[cfg(test)]
mod tests;

pub(super) use follow::Following;
pub(super) use keep::Closed;

use super::platform::Rented;
use super::recorder::in_folder;
use super::source;
use super::{CliError, Settings, World};
use crate::app::News;
use crate::model::{Config, Feed, FeedHandle, Plates, Vendor};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Takes what is told, from any thread; answers `false` when nobody wants more. Never blocks.
pub(super) type Outlet = Arc<dyn Fn(News) -> bool + Send + Sync>;

/// What is to be watched, and whether a recording is kept of it.
pub(super) struct Plan {
    /// Starts the probes of this host.
    pub(super) probes: Box<dyn Fn() -> Box<dyn Feed> + Send>,
    /// The host's own recording, where there can be one; or why there can be none.
    pub(super) file: Result<PathBuf, String>,
    /// Whether we record where nobody else does.
    pub(super) record: bool,
    /// What the session folds with.
    pub(super) config: Config,
    /// How far the charts of a recorder that is followed are to reach back: none are needed for documents.
    pub(super) history: Duration,
    /// The interval that somebody asked for.
    pub(super) asked: Option<Duration>,
    /// The library whose devices are meant: a recorder of another one's is not followed.
    pub(super) library: String,
    /// The known devices.
    pub(super) plates: Arc<Plates>,
    /// What is told of recorders.
    pub(super) text: crate::text::Catalogue,
}

impl Plan {
    /// As settings say. A host under another root has no recording here, and nothing outside of it is read.
    ///
    /// # Errors
    /// The embedded table of plates cannot be read, or the platform that was named is not known.
    pub(super) fn new(settings: &Settings, world: &World, record: bool) -> Result<Self, CliError> {
        let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
        let file = match &world.folders.state {
            _ if settings.is_rooted() => Err("another root is looked at".to_owned()),
            None => Err("there is no home for a state folder".to_owned()),
            Some(folder) => Ok(in_folder(folder)),
        };
        let probes = settings.clone();
        let rented = Rented::new(settings, world)?;
        Ok(Self {
            probes: Box::new(move || source::live(&probes, &rented).feed),
            record: record && settings.record && !settings.is_rooted(),
            file,
            history: if record {
                settings.config.history
            } else {
                Duration::ZERO
            },
            config: settings.config.clone(),
            asked: settings.apart,
            library: source::library(Vendor::Nvidia, settings).into_owned(),
            plates: Arc::new(plates),
            text: crate::text::Catalogue::new(settings.screen.lang),
        })
    }
}

/// Ticks that come.
pub(super) struct Watching {
    /// Steers them.
    pub(super) feed: FeedHandle,
    ended: Receiver<Option<Closed>>,
}

impl Watching {
    /// Begins. Returns at once.
    ///
    /// # Errors
    /// There can be no thread.
    pub(super) fn start(plan: Plan, outlet: Outlet) -> std::io::Result<Self> {
        let (control, orders) = channel();
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("conductor".to_owned())
            .spawn(move || {
                let closed = conduct::conduct(&plan, &orders, &outlet);
                // Nobody may be left to hear it.
                let _ = end.send(closed);
            })?;
        Ok(Self {
            feed: FeedHandle { control },
            ended,
        })
    }

    /// Ends it, and tells what became of the recording, where it was ours. `Err`: the disk does not answer.
    pub(super) fn end(self, patience: Duration) -> Result<Option<Closed>, ()> {
        self.feed.tell(crate::model::Control::Stop);
        self.ended.recv_timeout(patience).map_err(|_| ())
    }
}
