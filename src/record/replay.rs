//! A recording as a source: its ticks again, in its own time or faster.

use super::error::RecordError;
use super::reader::{Reader, Record};
use crate::model::{Control, Feed, FeedHandle, Sink, Tick};
use crate::units::MonoTime;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A stretch of more intervals than this without a tick (no recorder ran, another boot) passes like one interval.
const GAP_INTERVALS: f64 = 3.0;
/// Speeds that are taken; zero holds.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=10_000.0;

/// Yields the ticks of a file from a `Start` on.
pub struct Replay {
    path: PathBuf,
    from: i64,
    shown_from: i64,
    speed: f64,
}

impl Replay {
    /// Ticks from number `from` (that of a `Start`) come at once up to `shown_from`, then `speed` recorded seconds in
    /// each real one.
    #[must_use]
    pub const fn new(path: PathBuf, from: i64, shown_from: i64, speed: f64) -> Self {
        Self {
            path,
            from,
            shown_from,
            speed,
        }
    }
}

impl Feed for Replay {
    fn start(self: Box<Self>, sink: Sink) -> std::io::Result<FeedHandle> {
        let (control, orders) = channel();
        std::thread::Builder::new()
            .name("replay".to_owned())
            .spawn(move || {
                // Damage ends the replay where it is: the picture stays, as at the end of the file.
                let _ = run(&self, sink, Pace::new(self.speed, orders));
            })?;
        Ok(FeedHandle { control })
    }
}

fn run(replay: &Replay, mut sink: Sink, mut pace: Pace) -> Result<(), RecordError> {
    let reader = Reader::open(&replay.path)?;
    for record in reader.records(replay.from) {
        let Record::Tick(n, tick) = record? else {
            continue;
        };
        let wanted = if n <= replay.shown_from {
            pace.stands_at(tick.mono);
            true
        } else {
            pace.wait_for(&tick)
        };
        if !wanted || !sink(*tick) {
            break;
        }
    }
    Ok(())
}

/// When the next tick is due.
pub(super) struct Pace {
    orders: Receiver<Control>,
    speed: f64,
    /// An instant of the recording and when it was shown; moved when the speed changes.
    fixed: Option<(MonoTime, Instant)>,
    newest: Option<MonoTime>,
}

impl Pace {
    pub(super) const fn new(speed: f64, orders: Receiver<Control>) -> Self {
        Self {
            orders,
            speed,
            fixed: None,
            newest: None,
        }
    }

    pub(super) fn stands_at(&mut self, mono: MonoTime) {
        self.newest = Some(mono);
        self.fixed = None;
    }

    /// Real time from now until a tick is due; `None` while time is held.
    fn left(&mut self, tick: &Tick) -> Option<Duration> {
        if self.speed <= 0.0 {
            return None;
        }
        let (mono, shown) = *self
            .fixed
            .get_or_insert((self.newest.unwrap_or(tick.mono), Instant::now()));
        let after = tick.mono.seconds_since(mono).max(0.0) / self.speed;
        let due = Duration::try_from_secs_f64(after).unwrap_or_default();
        Some(due.saturating_sub(shown.elapsed()))
    }

    /// Waits until a tick is due; `false` when nothing more is wanted.
    pub(super) fn wait_for(&mut self, tick: &Tick) -> bool {
        let passed = self.newest.map_or(0.0, |n| tick.mono.seconds_since(n));
        if !(0.0..=GAP_INTERVALS * tick.interval.as_secs_f64()).contains(&passed) {
            self.stands_at(tick.mono.minus(tick.interval));
        }
        loop {
            let left = self.left(tick);
            let order = match left {
                Some(left) => self.orders.recv_timeout(left),
                None => self
                    .orders
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Control::Speed(speed)) if speed == 0.0 || SPEEDS.contains(&speed) => {
                    self.speed = speed;
                    self.fixed = None;
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.newest = Some(tick.mono);
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::{plain, short, write};
    use super::super::{Replay, Writer};
    use super::*;
    use std::sync::mpsc::Receiver;

    fn replayed(
        from: i64,
        shown_from: i64,
        speed: f64,
    ) -> (FeedHandle, Receiver<Tick>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nmp");
        let mut writer = Writer::open(&path, short()).unwrap();
        write(&mut writer, &plain(40));
        writer.close().unwrap();
        let (sender, ticks) = channel();
        let handle = Box::new(Replay::new(path, from, shown_from, speed))
            .start(Box::new(move |tick| sender.send(tick).is_ok()))
            .unwrap();
        (handle, ticks, folder)
    }

    #[test]
    fn a_replay_gives_all_ticks_from_its_start_on_and_ends() {
        let (_handle, ticks, _folder) = replayed(1, 35, 10_000.0);
        assert_eq!(ticks.iter().collect::<Vec<_>>(), plain(40));
        let (_handle, ticks, _folder) = replayed(31, 40, 1.0);
        assert_eq!(ticks.iter().collect::<Vec<_>>(), plain(40)[30..]);
    }

    #[test]
    fn time_can_be_held_and_the_replay_ended() {
        let (handle, ticks, _folder) = replayed(1, 5, 0.1);
        let first: Vec<Tick> = ticks.iter().take(5).collect();
        assert_eq!(first, plain(40)[..5]);
        handle.tell(Control::Speed(0.0));
        handle.tell(Control::Speed(f64::NAN));
        handle.tell(Control::Speed(10_000.0));
        assert_eq!(ticks.iter().count(), 35);
        let (handle, ticks, _folder) = replayed(1, 5, 0.1);
        handle.tell(Control::Stop);
        assert!(ticks.iter().count() <= 6);
    }
}
