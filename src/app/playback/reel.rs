//! A recording and the session at one of its ticks: goes on, goes back, finds a time or an event. No thread, no clock.

use super::PlaybackError;
use crate::model::{Event, Plates, SourceKind, Tick};
use crate::record::{Cursor, Reader, Record, StartRecord};
use crate::session::{Session, Start};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Ticks that are folded between two looks at whether the place is still wanted.
const SLICE: i64 = 256;
/// Wall time less boot clock tells one boot from another; clocks are set by less than this.
const SAME_BOOT_S: f64 = 60.0;
/// More intervals than this without a tick are a gap.
pub(super) const GAP_INTERVALS: f64 = 3.0;

/// Asked again and again on a long way: whether the place is still wanted.
pub(super) type Wanted<'a> = &'a mut dyn FnMut() -> bool;

/// When a tick was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) at: Timestamp,
    pub(super) mono: MonoTime,
    pub(super) interval: Duration,
}

impl Stamp {
    fn of(tick: &Tick) -> Self {
        Self {
            at: tick.at,
            mono: tick.mono,
            interval: tick.interval,
        }
    }

    /// Whether the next tick comes so late that something is missing between them.
    pub(super) fn is_gap_before(&self, next: &Self) -> bool {
        let passed = next.mono.seconds_since(self.mono);
        let interval = next.interval.max(self.interval).as_secs_f64();
        !(0.0..=GAP_INTERVALS * interval).contains(&passed)
    }

    fn same_boot(&self, other: &Self) -> bool {
        let boot = |s: &Self| s.at.as_nanosecond() as f64 / 1e9 - s.mono.0 as f64 / 1e9;
        (boot(self) - boot(other)).abs() <= SAME_BOOT_S
    }
}

/// An open recording and its session at one tick.
pub(super) struct Reel {
    pub(super) reader: Reader,
    plates: Arc<Plates>,
    source: SourceKind,
    pub(super) session: Session,
    cursor: Cursor,
    /// A fresh Start that stands before the tick that waits.
    fresh: Option<StartRecord>,
    /// Read, and not folded yet.
    waiting: Option<Box<Tick>>,
    /// Number of the newest tick that was folded, and its time.
    pub(super) n: i64,
    pub(super) newest: Option<Stamp>,
    pub(super) before: Option<Stamp>,
    /// The session was folded from this tick on; charts may reach further back.
    folded_from: i64,
    charts_whole: bool,
}

impl Reel {
    /// Opens a recording at its first tick.
    pub(super) fn open(
        path: &std::path::Path,
        plates: Arc<Plates>,
        source: SourceKind,
    ) -> Result<Self, PlaybackError> {
        let reader = Reader::open(path)?;
        let first = reader.first();
        let record = reader.start_before(first)?.ok_or(PlaybackError::Empty)?;
        let session = Session::new(
            Start::from_bytes(&record.body)?,
            plates.clone(),
            source.clone(),
        );
        let mut reel = Self {
            cursor: reader.cursor(record.n),
            reader,
            plates,
            source,
            session,
            fresh: None,
            waiting: None,
            n: first - 1,
            newest: None,
            before: None,
            folded_from: first,
            charts_whole: true,
        };
        match reel.fold_next()? {
            true => Ok(reel),
            false => Err(PlaybackError::Empty),
        }
    }

    /// The tick that comes next, where it is written already.
    pub(super) fn peek(&mut self) -> Result<Option<&Tick>, PlaybackError> {
        while self.waiting.is_none() {
            match self.reader.read(&mut self.cursor) {
                None => return Ok(None),
                Some(Err(error)) => return Err(error.into()),
                // The one that the session was begun with stands before the first tick, too.
                Some(Ok(Record::Start(start))) if start.fresh && start.n > self.folded_from => {
                    self.fresh = Some(start);
                }
                Some(Ok(Record::Start(_))) => {}
                Some(Ok(Record::Tick(_, tick))) => self.waiting = Some(tick),
            }
        }
        Ok(self.waiting.as_deref())
    }

    /// Folds the tick that comes next; `false` where there is none.
    pub(super) fn fold_next(&mut self) -> Result<bool, PlaybackError> {
        self.peek()?;
        let Some(tick) = self.waiting.take() else {
            return Ok(false);
        };
        if let Some(fresh) = self.fresh.take() {
            self.session.take_up(Start::from_bytes(&fresh.body)?);
        }
        self.session.fold(&tick);
        self.n = self.cursor.next_number() - 1;
        self.before = self.newest.replace(Stamp::of(&tick));
        Ok(true)
    }

    /// Goes to a tick, or to the nearest that there is: on from here, or from the `Start` before it, whichever is
    /// nearer. `false` where it was not wanted any more on the way.
    pub(super) fn seek(&mut self, n: i64, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        let last = self.reader.last()?.unwrap_or(self.n);
        let n = n.clamp(self.reader.first(), last.max(self.reader.first()));
        if n == self.n {
            return Ok(true);
        }
        let start = self.reader.start_before(n)?.ok_or(PlaybackError::Empty)?;
        if n > self.n && start.n <= self.n + 1 {
            return self.fold_to(n, wanted);
        }
        let (charts, then) = (self.session.all_series().clone(), self.newest);
        self.begin_at(&start)?;
        if !self.fold_to(n, wanted)? {
            return Ok(false);
        }
        if self.before.is_none() {
            self.before = self.reader.tick(self.n - 1)?.as_ref().map(Stamp::of);
        }
        if let (Some(then), Some(now)) = (then, self.newest)
            && then.same_boot(&now)
            && then.mono >= now.mono
        {
            // Going back: the charts of later reach back to before what was folded.
            self.session.remember(&charts);
        }
        Ok(true)
    }

    fn begin_at(&mut self, start: &StartRecord) -> Result<(), PlaybackError> {
        let state = Start::from_bytes(&start.body)?;
        self.session = Session::new(state, self.plates.clone(), self.source.clone());
        self.cursor = self.reader.cursor(start.n);
        (self.fresh, self.waiting) = (None, None);
        (self.newest, self.before) = (None, None);
        (self.n, self.folded_from) = (start.n - 1, start.n);
        self.charts_whole = false;
        Ok(())
    }

    fn fold_to(&mut self, n: i64, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        while self.n < n {
            if self.n % SLICE == 0 && !wanted() {
                return Ok(false);
            }
            if !self.fold_next()? {
                break;
            }
        }
        Ok(true)
    }

    /// Folds what lies before the `Start` that the session began with, as far as charts reach back. The session stays
    /// as it is. `false` where it was not wanted any more on the way; then there is still something to do.
    pub(super) fn fill_charts(&mut self, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        if self.charts_whole {
            return Ok(true);
        }
        let history = self.session.config().history;
        let oldest = self.reader.shifted(self.n, -history.as_secs_f64())?;
        let start = self.reader.start_before(oldest)?;
        if let Some(start) = start.filter(|start| start.n < self.folded_from) {
            let state = Start::from_bytes(&start.body)?;
            let mut earlier = Session::new(state, self.plates.clone(), self.source.clone());
            let mut cursor = self.reader.cursor(start.n);
            while cursor.next_number() < self.folded_from {
                match self.reader.read(&mut cursor) {
                    Some(Ok(Record::Start(fresh))) if fresh.fresh && fresh.n > start.n => {
                        earlier.take_up(Start::from_bytes(&fresh.body)?);
                    }
                    Some(Ok(Record::Start(_))) => {}
                    Some(Ok(Record::Tick(n, tick))) => {
                        earlier.fold(&tick);
                        if n % SLICE == 0 && !wanted() {
                            return Ok(false);
                        }
                    }
                    // Damage before this place is told when it is played.
                    Some(Err(_)) | None => break,
                }
            }
            self.session.remember(earlier.all_series());
        }
        self.charts_whole = true;
        Ok(true)
    }

    /// Whether charts may still reach further back.
    pub(super) const fn lacks_charts(&self) -> bool {
        !self.charts_whole
    }

    /// Goes to the next tick at which something happened. `None` where it was not wanted any more; `false` where
    /// nothing follows: it stays then.
    pub(super) fn next_event(&mut self, wanted: Wanted<'_>) -> Result<Option<bool>, PlaybackError> {
        let (Some(now), here) = (self.newest, self.n) else {
            return Ok(Some(false));
        };
        let mut place = here;
        loop {
            // A Start knows what happened before it, where it goes on with the session before it.
            let next = self.reader.start_after(place)?;
            let known = match &next {
                Some(start) if !start.fresh => Some(Start::from_bytes(&start.body)?),
                _ => None,
            };
            if let (Some(start), Some(known)) = (&next, &known) {
                if let Some(at) = first_after(known.events(), now.at) {
                    let n = self.reader.near(here, at)?;
                    return Ok(self.seek(n, wanted)?.then_some(true));
                }
                place = start.n;
                continue;
            }
            if place > self.n && !self.seek(place, wanted)? {
                return Ok(None);
            }
            let end = next.as_ref().map_or(i64::MAX, |start| start.n);
            loop {
                if self.session.events().last().is_some_and(|e| e.at > now.at) && self.n > here {
                    return Ok(Some(true));
                }
                if self.n % SLICE == 0 && !wanted() {
                    return Ok(None);
                }
                if self.n + 1 >= end || !self.fold_next()? {
                    break;
                }
            }
            match next {
                Some(start) => place = start.n,
                None => return Ok(self.seek(here, wanted)?.then_some(false)),
            }
        }
    }

    /// Goes to the last tick before this one at which something happened; answers as [`Reel::next_event`].
    pub(super) fn previous_event(
        &mut self,
        wanted: Wanted<'_>,
    ) -> Result<Option<bool>, PlaybackError> {
        let (Some(now), here) = (self.newest, self.n) else {
            return Ok(Some(false));
        };
        loop {
            let before: Vec<Timestamp> = self
                .session
                .events()
                .iter()
                .rev()
                .map(|event| event.at)
                .filter(|at| *at < now.at)
                .collect();
            for at in before {
                let mut n = self.reader.near(here, at)?;
                // An event between two ticks is seen with the second.
                if self.reader.time_of(n)?.is_some_and(|found| found < at) {
                    n += 1;
                }
                if n < here {
                    return Ok(self.seek(n, wanted)?.then_some(true));
                }
            }
            // This session knows of nothing before; the one before it may.
            let fresh = self.reader.fresh_before(self.n)?;
            let Some(fresh) = fresh.filter(|start| start.n > self.reader.first()) else {
                return Ok(self.seek(here, wanted)?.then_some(false));
            };
            if !self.seek(fresh.n - 1, wanted)? {
                return Ok(None);
            }
        }
    }

    /// Whether the newest tick follows a time in which nothing was recorded: from when to when.
    pub(super) fn gap(&self) -> Option<(Timestamp, Timestamp)> {
        let (before, now) = (self.before?, self.newest?);
        before.is_gap_before(&now).then_some((before.at, now.at))
    }
}

fn first_after(events: &[Event], at: Timestamp) -> Option<Timestamp> {
    events
        .iter()
        .map(|event| event.at)
        .filter(|e| *e > at)
        .min()
}
