//! What orders do to the place in a recording. No thread, no clock: the worker has both.

use super::reel::{Reel, Wanted};
use super::{Frame, Grain, Order, PlaybackError, Remark, minutes};
use crate::model::{Plates, SourceKind, Tick};
use jiff::{SignedDuration, Timestamp};
use std::path::Path;
use std::sync::Arc;

/// An open recording at one of its instants.
pub struct Player {
    reel: Reel,
    source: SourceKind,
    /// Where the place lies before all ticks: a minute.
    minute: Option<Timestamp>,
    /// The tick that was on its way when a newer order came: what is relative counts from there.
    aim: Option<i64>,
    remark: Remark,
}

impl Player {
    /// Opens a recording at its first tick. `source` is what its pictures say they are of.
    ///
    /// # Errors
    /// It cannot be read, or has no ticks.
    pub fn open(
        path: &Path,
        plates: Arc<Plates>,
        source: SourceKind,
    ) -> Result<Self, PlaybackError> {
        Ok(Self {
            reel: Reel::open(path, plates, source.clone())?,
            source,
            minute: None,
            aim: None,
            remark: Remark::Nothing,
        })
    }

    /// How far charts of ticks reach back.
    #[must_use]
    pub fn history(&self) -> std::time::Duration {
        self.reel.session.config().history
    }

    /// Wall time of the place.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        self.minute.or(self.reel.newest.map(|stamp| stamp.at))
    }

    /// Goes where an order says. `wanted` is asked on a long way; `false` from it ends the way, and answers `false`.
    pub fn obey(&mut self, order: &Order, wanted: &mut dyn FnMut() -> bool) -> bool {
        self.remark = Remark::Nothing;
        match self.go(order, wanted) {
            Ok(arrived) => arrived,
            Err(error) => {
                self.remark = Remark::Damaged(error.to_string());
                self.aim = None;
                true
            }
        }
    }

    fn go(&mut self, order: &Order, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        self.reel.reader.refresh()?;
        match order {
            Order::Speed(_) | Order::Stop => Ok(true),
            Order::At(at) => self.go_to(*at, false, wanted),
            Order::Shift(seconds) => match self.minute {
                Some(minute) => {
                    let by = SignedDuration::try_from_secs_f64(*seconds).unwrap_or_default();
                    self.go_to(
                        minute.checked_add(by).unwrap_or(minute),
                        *seconds < 0.0,
                        wanted,
                    )
                }
                None => self.shift(*seconds, wanted),
            },
            Order::Ticks(count) => match self.minute {
                Some(minute) => {
                    let by = SignedDuration::from_mins(*count);
                    self.go_to(minute.checked_add(by).unwrap_or(minute), *count < 0, wanted)
                }
                None => {
                    let from = self.aim.unwrap_or(self.reel.n);
                    let n = from.saturating_add(*count);
                    self.land(n, n < from, wanted)
                }
            },
            Order::First => match self.earliest_minute()? {
                Some(first) => self.go_to(first, false, wanted),
                None => self.land(self.reel.reader.first(), true, wanted),
            },
            Order::Last => self.land(i64::MAX, false, wanted),
            Order::Event(forward) => self.event(*forward, wanted),
        }
    }

    fn shift(&mut self, seconds: f64, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        let from = self.aim.unwrap_or(self.reel.n);
        let n = self.reel.reader.shifted(from, seconds)?;
        if seconds < 0.0
            && n <= self.reel.reader.first()
            && let Some(at) = self.reel.reader.time_of(from)?
            && let Ok(at) =
                at.checked_add(SignedDuration::try_from_secs_f64(seconds).unwrap_or_default())
            && self.reel.reader.time_of(n)?.is_some_and(|first| at < first)
        {
            return self.go_to(at, true, wanted);
        }
        self.land(n, seconds < 0.0, wanted)
    }

    /// The first tick at or after an instant; where there are no ticks any more, the minute of it, or the nearest one
    /// after (`back`: before) it.
    fn go_to(
        &mut self,
        at: Timestamp,
        back: bool,
        wanted: Wanted<'_>,
    ) -> Result<bool, PlaybackError> {
        let first = self.reel.reader.first();
        let begins = self.reel.reader.time_of(first)?;
        if begins.is_some_and(|begins| at < begins) {
            if let Some(minute) = self.minute_near(at, back)? {
                self.minute = Some(minute);
                self.aim = None;
                if self.earliest_minute()? == Some(minute) {
                    self.remark = Remark::Begin;
                }
                return Ok(true);
            }
            return self.land(first, true, wanted);
        }
        let n = self.reel.reader.seek(at)?;
        self.land(n, false, wanted)
    }

    /// Goes to a tick, and says what is to be said of it.
    fn land(&mut self, n: i64, back: bool, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        self.minute = None;
        let first = self.reel.reader.first();
        let last = self.reel.reader.last()?.unwrap_or(first);
        self.aim = Some(n.clamp(first, last));
        if !self.reel.seek(n, wanted)? {
            return Ok(false);
        }
        self.aim = None;
        self.remark = match self.reel.gap() {
            _ if n >= last && !back => Remark::End,
            _ if n <= first && back && self.earliest_minute()?.is_none() => Remark::Begin,
            Some((from, to)) => Remark::Gap(from, to),
            None => Remark::Nothing,
        };
        Ok(true)
    }

    fn event(&mut self, forward: bool, wanted: Wanted<'_>) -> Result<bool, PlaybackError> {
        if let Some(minute) = self.minute {
            let next = minute.checked_add(SignedDuration::from_mins(1));
            let from = if forward {
                next.unwrap_or(minute)
            } else {
                minute
            };
            if self.event_among_minutes(from, forward)? {
                return Ok(true);
            }
            if forward {
                return self.land(self.reel.reader.first(), false, wanted);
            }
            self.remark = Remark::NoEvent(false);
            return Ok(true);
        }
        let found = if forward {
            self.reel.next_event(wanted)?
        } else {
            self.reel.previous_event(wanted)?
        };
        if found == Some(false) {
            let first = self.reel.reader.first();
            let begins = self.reel.reader.time_of(first)?.filter(|_| !forward);
            if let Some(begins) = begins
                && self.event_among_minutes(begins, false)?
            {
                return Ok(true);
            }
            self.remark = Remark::NoEvent(forward);
        }
        Ok(found.is_some())
    }

    /// Goes to the minute of the event beside an instant, where its ticks have gone. `false`: there is none.
    fn event_among_minutes(
        &mut self,
        from: Timestamp,
        forward: bool,
    ) -> Result<bool, PlaybackError> {
        let reader = &self.reel.reader;
        let begins = reader.time_of(reader.first())?;
        let found = reader.event_beside(from, forward)?;
        let Some(at) = found.filter(|at| begins.is_none_or(|begins| *at < begins)) else {
            return Ok(false);
        };
        self.minute = self.minute_near(at, true)?.or(self.minute);
        self.remark = Remark::Nothing;
        Ok(self.minute.is_some())
    }

    /// The first minute that has a row before all ticks.
    fn earliest_minute(&self) -> Result<Option<Timestamp>, PlaybackError> {
        Ok(self.minutes()?.map(|(first, _)| first))
    }

    fn minutes(&self) -> Result<Option<(Timestamp, Timestamp)>, PlaybackError> {
        let reader = &self.reel.reader;
        let Some(begins) = reader.time_of(reader.first())? else {
            return Ok(None);
        };
        let before = begins
            .checked_sub(SignedDuration::from_mins(1))
            .unwrap_or(begins);
        Ok(reader.minutes_before(before)?)
    }

    /// The minute with rows of an instant, or the nearest one after (`back`: before) it; none of those after the first
    /// tick.
    fn minute_near(&self, at: Timestamp, back: bool) -> Result<Option<Timestamp>, PlaybackError> {
        let Some((first, last)) = self.minutes()? else {
            return Ok(None);
        };
        if back {
            let before = self.reel.reader.minutes_before(at)?;
            return Ok(Some(before.map_or(first, |(_, nearest)| nearest.min(last))));
        }
        let minute = at.as_second().div_euclid(60) * 60;
        let minute = Timestamp::from_second(minute).unwrap_or(at);
        let found = self.reel.reader.minute_after(minute)?;
        Ok(found.filter(|found| *found <= last))
    }

    /// The tick that is due next when time passes; `None` where none is written, or cannot be read.
    pub fn peek(&mut self) -> Option<&Tick> {
        if self.minute.is_some() {
            return None;
        }
        match self.reel.peek() {
            Ok(tick) => tick,
            Err(error) => {
                self.remark = Remark::Damaged(error.to_string());
                None
            }
        }
    }

    /// Folds the tick that is due next. `false` where the recording ends, and the remark says so.
    pub fn advance(&mut self) -> bool {
        if self.minute.is_some() {
            let mut always = || true;
            return self.obey(&Order::Ticks(1), &mut always);
        }
        match self.reel.fold_next() {
            Ok(true) => {
                self.remark = match self.reel.gap() {
                    Some((from, to)) => Remark::Gap(from, to),
                    None => Remark::Nothing,
                };
                true
            }
            Ok(false) => {
                // Damage was told when the tick was looked for.
                if !matches!(self.remark, Remark::Damaged(_)) {
                    self.remark = Remark::End;
                }
                false
            }
            Err(error) => {
                self.remark = Remark::Damaged(error.to_string());
                false
            }
        }
    }

    /// Whether charts can be made to reach further back.
    #[must_use]
    pub fn lacks_charts(&self) -> bool {
        self.minute.is_none() && self.reel.lacks_charts()
    }

    /// Makes them; `false` where `wanted` ended it.
    pub fn fill_charts(&mut self, wanted: &mut dyn FnMut() -> bool) -> bool {
        // Charts that cannot be read stay short.
        self.reel.fill_charts(wanted).unwrap_or(true)
    }

    /// What is to be drawn of the place.
    #[must_use]
    pub fn frame(&mut self, standing: bool) -> Option<Frame> {
        if let Some(minute) = self.minute {
            match self.minute_frame(minute, standing) {
                Ok(frame) => return Some(frame),
                Err(error) => {
                    self.minute = None;
                    self.remark = Remark::Damaged(error.to_string());
                }
            }
        }
        Some(Frame {
            snapshot: Arc::new(self.reel.session.snapshot()?),
            series: Arc::new(self.reel.session.all_series().clone()),
            span: self.history(),
            remark: self.remark.clone(),
            grain: Grain::Ticks,
            standing,
        })
    }

    fn minute_frame(&self, minute: Timestamp, standing: bool) -> Result<Frame, PlaybackError> {
        let from = minute.checked_sub(minutes::SPAN).unwrap_or(minute);
        let rows = self.reel.reader.minutes(from, minute)?;
        let named = self.reel.reader.devices()?;
        Ok(Frame {
            snapshot: Arc::new(minutes::picture(minute, &rows, &named, self.source.clone())),
            series: Arc::new(minutes::series(&rows)),
            span: minutes::SPAN,
            remark: self.remark.clone(),
            grain: Grain::Minutes,
            standing,
        })
    }
}
