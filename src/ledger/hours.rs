//! The account by hours of the clock, so that it can be told when time was wasted. Bounded: the oldest hours go.

use super::account::Seen;
use crate::model::{Hour, Phase, Worth};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Hours kept: 31 days, as long as a month.
const HOURS: usize = 744;
const HOUR_S: f64 = 3600.0;

/// What one step adds for the instance: the mean over its boards, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Parts {
    seen: [f64; 4],
    held: f64,
    stalled: f64,
    throttled: f64,
}

impl Parts {
    pub(super) fn add(&mut self, seen: &Seen, seconds: f64) {
        let place = match seen.phase {
            Phase::Compute => 0,
            Phase::IoWait => 1,
            Phase::Queue => 2,
            Phase::Idle => 3,
            Phase::Unobserved => return,
        };
        if let Some(sum) = self.seen.get_mut(place) {
            *sum += seconds;
        }
        if seen.phase == Phase::Idle && seen.held {
            self.held += seconds;
        }
        match seen.worth {
            Some(Worth::Stalled) => self.stalled += seconds,
            Some(Worth::Throttled) => self.throttled += seconds,
            Some(Worth::Fine) | None => {}
        }
    }

    fn take(&mut self, other: &Self, share: f64) {
        for (sum, more) in self.seen.iter_mut().zip(other.seen) {
            *sum += more * share;
        }
        self.held += other.held * share;
        self.stalled += other.stalled * share;
        self.throttled += other.throttled * share;
    }

    fn hour(&self, hour: i32) -> Hour {
        let ms = |seconds: f64| (seconds * 1e3).round() as u32;
        Hour {
            hour,
            seen_ms: self.seen.map(ms),
            held_ms: ms(self.held),
            stalled_ms: ms(self.stalled),
            throttled_ms: ms(self.throttled),
        }
    }

    fn of(hour: &Hour) -> Self {
        let seconds = |ms: u32| f64::from(ms) / 1e3;
        Self {
            seen: hour.seen_ms.map(seconds),
            held: seconds(hour.held_ms),
            stalled: seconds(hour.stalled_ms),
            throttled: seconds(hour.throttled_ms),
        }
    }
}

/// Hours that are over, and the one that goes on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Hours {
    over: Arc<Vec<Hour>>,
    open: Option<(i32, Parts)>,
}

impl Hours {
    /// Books what was seen in the `seconds` before `end`; a step over an hour's edge is shared out.
    pub(super) fn book(&mut self, end: Timestamp, seconds: f64, parts: &Parts) {
        if seconds <= 0.0 {
            return;
        }
        let mut until = end.as_duration().as_secs_f64();
        let mut left = seconds;
        while left > 1e-9 {
            // The hour that the last of these seconds lies in; an edge belongs to the hour before it.
            let hour = ((until / HOUR_S).ceil() - 1.0) as i32;
            let here = left.min(until - f64::from(hour) * HOUR_S).max(1e-9);
            self.open_at(hour).take(parts, here / seconds);
            left -= here;
            until -= here;
        }
    }

    /// The sums of an hour, which becomes the open one; whichever was open is put away.
    fn open_at(&mut self, hour: i32) -> &mut Parts {
        if self.open.is_none_or(|(open, _)| open != hour) {
            self.close();
            let over = Arc::make_mut(&mut self.over);
            let parts = match over.binary_search_by_key(&hour, |h| h.hour) {
                Ok(place) => Parts::of(&over.remove(place)),
                Err(_) => Parts::default(),
            };
            self.open = Some((hour, parts));
        }
        &mut self.open.get_or_insert((hour, Parts::default())).1
    }

    fn close(&mut self) {
        let Some((hour, parts)) = self.open.take() else {
            return;
        };
        let over = Arc::make_mut(&mut self.over);
        if let Err(place) = over.binary_search_by_key(&hour, |h| h.hour) {
            over.insert(place, parts.hour(hour));
        }
        let surplus = over.len().saturating_sub(HOURS);
        over.drain(..surplus);
    }

    /// The wall clock was wrong by so many seconds: what was booked happened so much later.
    pub(super) fn shift(&mut self, seconds: f64) {
        let hours = (seconds / HOUR_S).round();
        if hours == 0.0 {
            return;
        }
        let moved = |hour: i32| hour.saturating_add(hours as i32);
        for hour in Arc::make_mut(&mut self.over) {
            hour.hour = moved(hour.hour);
        }
        self.open = self.open.map(|(hour, parts)| (moved(hour), parts));
    }

    /// Hours that are over, the oldest first.
    pub(super) fn over(&self) -> &Arc<Vec<Hour>> {
        &self.over
    }

    /// The hour that goes on.
    pub(super) fn open(&self) -> Option<Hour> {
        self.open.map(|(hour, parts)| parts.hour(hour))
    }
}
