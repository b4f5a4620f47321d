//! The recording beside the screen: its worker is started when somebody looks into it, and ends when nobody does.

use crate::app::playback::{Handle, Order, Played, Player, start};
use crate::model::{Plates, SourceKind};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// A recording that can be looked into, also while it is written.
pub struct Tape {
    path: PathBuf,
    plates: Arc<Plates>,
    source: SourceKind,
    worker: Option<Worker>,
}

struct Worker {
    handle: Handle,
    /// The newest of what came; what was not looked at in time is gone.
    played: watch::Receiver<Option<Played>>,
}

impl Tape {
    /// The recording at a path. `source` is what its pictures say they are of.
    #[must_use]
    pub const fn new(path: PathBuf, plates: Arc<Plates>, source: SourceKind) -> Self {
        Self {
            path,
            plates,
            source,
            worker: None,
        }
    }

    /// Plays a recording that is open already, from where `first` says, at a speed.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn play(&mut self, player: Player, first: Order, speed: f64) -> std::io::Result<()> {
        self.begin(move || Ok(player), first, speed)
    }

    fn begin(
        &mut self,
        open: impl FnOnce() -> Result<Player, crate::app::playback::PlaybackError> + Send + 'static,
        first: Order,
        speed: f64,
    ) -> std::io::Result<()> {
        let (sender, played) = watch::channel(None);
        let sink = Box::new(move |news| {
            sender.send_replace(Some(news));
            !sender.is_closed()
        });
        let handle = start(open, first, speed, sink)?;
        self.worker = Some(Worker { handle, played });
        Ok(())
    }

    /// Asks for something. Nothing of it happens on this thread.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(super) fn ask(&mut self, order: Order) -> std::io::Result<()> {
        match (&self.worker, order) {
            (_, Order::Stop) => self.worker = None,
            (Some(worker), order) => worker.handle.tell(order),
            (None, order) => {
                let (path, plates) = (self.path.clone(), self.plates.clone());
                let source = self.source.clone();
                self.begin(move || Player::open(&path, plates, source), order, 0.0)?;
            }
        }
        Ok(())
    }
}

/// The next thing that comes of the recording; never, where nobody looks into one.
pub(crate) async fn played(tape: Option<&mut Tape>) -> Played {
    let worker = tape.and_then(|tape| tape.worker.as_mut());
    let Some(worker) = worker else {
        return std::future::pending().await;
    };
    loop {
        if worker.played.changed().await.is_err() {
            return std::future::pending().await;
        }
        if let Some(played) = worker.played.borrow_and_update().clone() {
            return played;
        }
    }
}
