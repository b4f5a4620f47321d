//! From a tick to another one, so much earlier or later.
//!
//! Wall time may be set back within a recording, so that an hour stands in it twice. A step never jumps over such a place:
//! it ends there, and the next one goes on from it.

use super::error::RecordError;
use super::reader::{Reader, damaged};
use super::schema::meaning;
use super::writer::nanoseconds;
use crate::model::Tick;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use std::cmp::Ordering;

/// Clocks are slewed and ticks come late: only a step back of more than this is a clock that was set.
const SET_BACK_NS: i64 = 2_000_000_000;

/// Where a block or the row of a tick stands.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: i64,
    last: i64,
    first_at: i64,
    last_at: i64,
}

impl Reader {
    /// Number of the newest tick; `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read there.
    pub fn last(&self) -> Result<Option<i64>, RecordError> {
        let newest = |query: &str| {
            self.db
                .query_row(query, [], |row| row.get::<_, Option<i64>>(0))
                .optional()
                .map(Option::flatten)
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        let tail = newest("SELECT max(n) FROM tail")?;
        let block = newest("SELECT last FROM blocks ORDER BY first DESC LIMIT 1")?;
        Ok(tail.max(block))
    }

    /// Number of the tick that is so many seconds of wall time after (negative: before) a tick, or of the nearest that
    /// there is: the first or last of the file, or where the clock was set back on the way.
    ///
    /// # Errors
    /// The file is damaged on the way.
    pub fn shifted(&self, n: i64, seconds: f64) -> Result<i64, RecordError> {
        let n = n.max(self.first());
        match self.time_of(n)? {
            Some(at) => {
                let wanted = nanoseconds(at).saturating_add((seconds * 1e9) as i64);
                self.toward(n, nanoseconds(at), wanted)
            }
            None => Ok(self.last()?.unwrap_or(n)),
        }
    }

    /// Going from a tick towards an instant: forward the first tick that is not before it, backward the last one that is
    /// not after it, or the nearest as [`Reader::shifted`] says.
    ///
    /// # Errors
    /// The file is damaged on the way.
    pub fn near(&self, n: i64, at: Timestamp) -> Result<i64, RecordError> {
        let n = n.max(self.first());
        match self.time_of(n)? {
            Some(from) => self.toward(n, nanoseconds(from), nanoseconds(at)),
            None => Ok(self.last()?.unwrap_or(n)),
        }
    }

    fn toward(&self, n: i64, from: i64, wanted: i64) -> Result<i64, RecordError> {
        match wanted.cmp(&from) {
            Ordering::Greater => self.later(n, from, wanted),
            Ordering::Less => self.earlier(n, from, wanted),
            Ordering::Equal => Ok(n),
        }
    }

    fn later(&self, n: i64, from: i64, wanted: i64) -> Result<i64, RecordError> {
        let (mut found, mut before) = (n, from);
        while let Some(span) = self.span(
            found + 1,
            "SELECT first, last, first_at_ns, last_at_ns FROM blocks WHERE last >= ?1 ORDER BY first LIMIT 1",
            "SELECT n, n, at_ns, at_ns FROM tail WHERE n >= ?1 ORDER BY n LIMIT 1",
        )? {
            let begun = span.first <= found;
            if !begun && span.first_at < before - SET_BACK_NS {
                return Ok(span.first);
            }
            // Where the clock was set back within a block its end says nothing.
            let set_back = span.last_at < span.first_at.max(before) - SET_BACK_NS;
            if span.last_at >= wanted || set_back {
                let first = span.first.max(found + 1);
                for (tick, number) in self.portion_at(first)?.iter().zip(first..) {
                    let at = nanoseconds(tick.at);
                    if at >= wanted || at < before - SET_BACK_NS {
                        return Ok(number);
                    }
                    before = at;
                }
            }
            (found, before) = (span.last, span.last_at);
        }
        Ok(found)
    }

    fn earlier(&self, n: i64, from: i64, wanted: i64) -> Result<i64, RecordError> {
        let (mut found, mut after) = (n, from);
        while let Some(span) = self.span(
            found - 1,
            "SELECT first, last, first_at_ns, last_at_ns FROM blocks WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
            "SELECT n, n, at_ns, at_ns FROM tail WHERE n <= ?1 ORDER BY n DESC LIMIT 1",
        )? {
            let begun = span.last >= found;
            if !begun && span.last_at > after + SET_BACK_NS {
                return Ok(span.last);
            }
            let set_back = span.last_at < span.first_at - SET_BACK_NS;
            if span.first_at <= wanted || begun || set_back {
                let ticks = self.portion_at(span.first)?;
                let numbered: Vec<(i64, i64)> =
                    ticks.iter().map(|t| nanoseconds(t.at)).zip(span.first..).collect();
                for (at, number) in numbered.into_iter().rev().filter(|(_, n)| *n < found) {
                    if at <= wanted || at > after + SET_BACK_NS {
                        return Ok(number);
                    }
                    after = at;
                }
            }
            (found, after) = (span.first, span.first_at);
        }
        Ok(found)
    }

    /// The block that has a tick or comes next; where there is none, the row.
    fn span(&self, n: i64, blocks: &str, tail: &str) -> Result<Option<Span>, RecordError> {
        let one = |query: &str| {
            self.db
                .query_row(query, [n], |row| {
                    Ok(Span {
                        first: row.get(0)?,
                        last: row.get(1)?,
                        first_at: row.get(2)?,
                        last_at: row.get(3)?,
                    })
                })
                .optional()
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        // Rows are newer than all blocks.
        let backward = blocks.contains("DESC");
        let (first, second) = if backward {
            (tail, blocks)
        } else {
            (blocks, tail)
        };
        match one(first)? {
            Some(span) => Ok(Some(span)),
            None => one(second),
        }
    }

    fn portion_at(&self, n: i64) -> Result<Vec<Tick>, RecordError> {
        self.portion(n)
            .map(Vec::from)
            .map_err(|what| damaged(&self.path, None, &what))
    }

    /// One tick; `None` where the file does not have it.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn tick(&self, n: i64) -> Result<Option<Tick>, RecordError> {
        if n < self.first() {
            return Ok(None);
        }
        Ok(self.portion_at(n)?.into_iter().next())
    }

    /// Wall time of a tick; `None` where the file does not have it.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn time_of(&self, n: i64) -> Result<Option<Timestamp>, RecordError> {
        Ok(self.tick(n)?.map(|tick| tick.at))
    }
}
