//! Reading on from a place.

use super::error::RecordError;
use super::reader::{Reader, Record, damaged};
use super::schema::one_line;
use crate::model::Tick;
use jiff::Timestamp;
use std::collections::VecDeque;

/// A place in a recording, from which it is read on. Memory is that of one block.
#[derive(Debug)]
pub struct Cursor {
    next: i64,
    ready: VecDeque<Tick>,
    start_told: bool,
    after: Option<Timestamp>,
    damaged: bool,
}

impl Cursor {
    /// Number of the tick that comes next.
    #[must_use]
    pub const fn next_number(&self) -> i64 {
        self.next
    }
}

impl Reader {
    /// A place before a tick, or before the first that the file has.
    #[must_use]
    pub fn cursor(&self, from: i64) -> Cursor {
        Cursor {
            next: from.max(self.first()),
            ready: VecDeque::new(),
            start_told: false,
            after: None,
            damaged: false,
        }
    }

    /// What comes next, in order. `None` at what is written by now: later there may be more. After damage there is one
    /// error, and nothing.
    pub fn read(&self, cursor: &mut Cursor) -> Option<Result<Record, RecordError>> {
        if cursor.damaged {
            return None;
        }
        if cursor.ready.is_empty() {
            match self.portion(cursor.next) {
                Ok(ticks) if ticks.is_empty() => return None,
                Ok(ticks) => cursor.ready = ticks,
                Err(what) => {
                    cursor.damaged = true;
                    return Some(Err(damaged(&self.path, cursor.after, &what)));
                }
            }
            // Starts stand where blocks begin, nowhere else.
            cursor.start_told = false;
        }
        if !cursor.start_told {
            cursor.start_told = true;
            match self.start_at(cursor.next) {
                Ok(Some(start)) => return Some(Ok(Record::Start(start))),
                Ok(None) => {}
                Err(error) => {
                    cursor.damaged = true;
                    let error = match error {
                        RecordError::Damaged { what, .. } => {
                            damaged(&self.path, cursor.after, &what)
                        }
                        other => other,
                    };
                    return Some(Err(error));
                }
            }
        }
        let tick = cursor.ready.pop_front()?;
        cursor.after = Some(tick.at);
        cursor.next += 1;
        Some(Ok(Record::Tick(cursor.next - 1, Box::new(tick))))
    }

    /// Whether rows were lost behind the last that can be read: a page whose count of rows is damaged says nothing of
    /// it to a query, but its bytes do not add up. `None` where all do.
    fn lost_rows(&self) -> Option<String> {
        let check = |table: &str| {
            let query = format!("PRAGMA quick_check({table})");
            let said = self.db.query_row(&query, [], |row| row.get::<_, String>(0));
            let text = match said {
                Ok(text) if text == "ok" => return None,
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
            Some(one_line(&text))
        };
        check("tail").or_else(|| check("blocks"))
    }

    /// Everything from a tick on, in order, up to what is written by now or to the damage.
    #[must_use]
    pub fn records(&self, from: i64) -> Records<'_> {
        Records {
            reader: self,
            cursor: self.cursor(from),
            over: false,
        }
    }
}

/// The records of a recording from a tick on.
pub struct Records<'a> {
    reader: &'a Reader,
    cursor: Cursor,
    over: bool,
}

impl Records<'_> {
    /// Number of the tick that comes next.
    #[must_use]
    pub const fn next_number(&self) -> i64 {
        self.cursor.next_number()
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let record = self.reader.read(&mut self.cursor);
        self.over = record.is_none();
        if !self.over || self.cursor.damaged {
            return record;
        }
        let what = self.reader.lost_rows()?;
        Some(Err(damaged(&self.reader.path, self.cursor.after, &what)))
    }
}
