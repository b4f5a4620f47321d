//! The thread that plays a recording: orders in, frames out.

use super::pace::Pace;
use super::{Frame, Order, PlaybackError, Player, SPEEDS};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// No two frames follow each other sooner than this: what lies between is not looked at by anybody.
const FRAME: Duration = Duration::from_millis(50);
/// An order is not given up for a newer one before it had so long: keys that repeat show something on the way.
const PATIENCE: Duration = Duration::from_millis(250);

/// What comes of a recording.
#[derive(Debug, Clone)]
pub enum Played {
    /// Something to draw.
    Frame(Frame),
    /// It cannot be shown, for this reason.
    Failed(String),
}

/// Takes what comes, the newest of which counts; answers `false` when nobody wants more. Never blocks.
pub type PlayedSink = Box<dyn FnMut(Played) -> bool + Send>;

/// Steers a worker. Dropping it ends the worker; nothing waits for it.
#[derive(Debug, Clone)]
pub struct Handle {
    orders: Sender<Order>,
}

impl Handle {
    /// Asks for something; a worker that has ended does not mind.
    pub fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

/// Starts a worker on what `open` gives, which runs there too. It obeys `first` and goes on at `speed`; zero holds.
///
/// # Errors
/// A thread cannot be started.
pub fn start(
    open: impl FnOnce() -> Result<Player, PlaybackError> + Send + 'static,
    first: Order,
    speed: f64,
    mut sink: PlayedSink,
) -> std::io::Result<Handle> {
    let (orders, receiver) = channel();
    std::thread::Builder::new()
        .name("playback".to_owned())
        .spawn(move || match open() {
            Ok(player) => {
                let mut worker = Worker {
                    player,
                    orders: receiver,
                    pending: VecDeque::from([first]),
                    pace: Pace::new(speed),
                    standing: speed <= 0.0,
                    shown: None,
                    unshown: false,
                    sink,
                };
                while worker.turn() {}
            }
            Err(error) => {
                sink(Played::Failed(error.to_string()));
            }
        })?;
    Ok(Handle { orders })
}

struct Worker {
    player: Player,
    orders: Receiver<Order>,
    pending: VecDeque<Order>,
    pace: Pace,
    standing: bool,
    shown: Option<Instant>,
    /// Something was folded that was not shown yet.
    unshown: bool,
    sink: PlayedSink,
}

impl Worker {
    /// One thing after the other; `false` when it is over.
    fn turn(&mut self) -> bool {
        if !self.hear() {
            return false;
        }
        if let Some(order) = self.pending.pop_front() {
            return self.obey(&order);
        }
        if !self.fill() {
            return false;
        }
        match (self.pending.is_empty(), self.standing) {
            (false, _) => true,
            (true, true) => self.wait(None),
            (true, false) => self.play(),
        }
    }

    /// Takes in what was asked meanwhile.
    fn hear(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.pending.push_back(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Waits for an order, or so long.
    fn wait(&mut self, most: Option<Duration>) -> bool {
        if !self.pending.is_empty() {
            return true;
        }
        let order = match most {
            Some(most) => self.orders.recv_timeout(most),
            None => self
                .orders
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(order) => self.pending.push_back(order),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn obey(&mut self, order: &Order) -> bool {
        let arrived = match order {
            Order::Stop => return false,
            Order::Speed(speed) => {
                if *speed == 0.0 {
                    self.standing = true;
                } else if SPEEDS.contains(speed) {
                    self.standing = false;
                    self.pace.at_speed(*speed);
                }
                true
            }
            order => {
                self.pace.anew();
                let Self {
                    player,
                    orders,
                    pending,
                    ..
                } = self;
                let began = Instant::now();
                player.obey(order, &mut || {
                    while let Ok(order) = orders.try_recv() {
                        pending.push_back(order);
                    }
                    pending.is_empty() || began.elapsed() < PATIENCE
                })
            }
        };
        !arrived || self.show()
    }

    fn show(&mut self) -> bool {
        self.shown = Some(Instant::now());
        self.unshown = false;
        match self.player.frame(self.standing) {
            Some(frame) => (self.sink)(Played::Frame(frame)),
            None => true,
        }
    }

    /// While nothing else is to be done, charts are made to reach as far back as they should.
    fn fill(&mut self) -> bool {
        if !self.player.lacks_charts() {
            return true;
        }
        let Self {
            player,
            orders,
            pending,
            ..
        } = self;
        let filled = player.fill_charts(&mut || {
            while let Ok(order) = orders.try_recv() {
                pending.push_back(order);
            }
            pending.is_empty()
        });
        !filled || self.show()
    }

    /// Folds what is due, and shows the newest of it.
    fn play(&mut self) -> bool {
        let now = Instant::now();
        let due = match self.player.peek() {
            Some(tick) => Some((self.pace.left(tick, now), tick.mono)),
            None => None,
        };
        let recent = self
            .shown
            .is_some_and(|shown| now.duration_since(shown) < FRAME);
        match due {
            Some((left, mono)) if left.is_zero() => {
                self.player.advance();
                self.pace.stands_at(mono);
                self.unshown = true;
                recent || self.show()
            }
            Some((left, _)) => {
                // A frame that was left out is shown before the wait, where the wait is long enough to see it.
                if self.unshown && left >= FRAME && !self.show() {
                    return false;
                }
                self.wait(Some(left))
            }
            None => {
                // Rows by the minute pass like ticks of a minute; at the end it stands still.
                self.standing = !self.player.advance();
                self.show() && (self.standing || self.wait(Some(self.minute())))
            }
        }
    }

    /// How long a minute takes at this speed.
    fn minute(&self) -> Duration {
        Duration::try_from_secs_f64(60.0 / self.pace.speed.max(1e-9)).unwrap_or(Duration::MAX)
    }
}
