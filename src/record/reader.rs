//! Reading a recording back, up to the damage where there is some.

use super::block;
use super::error::RecordError;
use super::schema::{first_crc, meaning, open_for_reading, row_crc};
use super::writer::nanoseconds;
use crate::model::Tick;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What a session stood at before a tick.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRecord {
    /// Number of the tick that follows it.
    pub n: i64,
    /// Wall time of that tick.
    pub at: Timestamp,
    /// It says more than the ticks before it: a new run, or a time in which nothing could be written.
    pub fresh: bool,
    /// The session's own bytes.
    pub body: Vec<u8>,
}

/// One thing of a recording, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Before the tick of the same number.
    Start(StartRecord),
    /// A tick with its number.
    Tick(i64, Box<Tick>),
}

/// An open recording. It may be written while it is read.
pub struct Reader {
    pub(super) db: Connection,
    path: PathBuf,
    first: i64,
}

impl Reader {
    /// Opens a recording.
    ///
    /// # Errors
    /// It cannot be opened, is something else or too new, or is damaged where it begins.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let db = open_for_reading(path)?;
        let (first, crc) = db
            .query_row("SELECT first, crc FROM recording", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
            .map_err(|error| damaged(path, None, &error.to_string()))?;
        if crc != first_crc(first) {
            return Err(damaged(path, None, "its first row is not what was written"));
        }
        Ok(Self {
            db,
            path: path.to_owned(),
            first,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the first tick that the file still has.
    #[must_use]
    pub const fn first(&self) -> i64 {
        self.first
    }

    /// Wall time of the newest tick, where there is any and it can be found.
    ///
    /// # Errors
    /// The file cannot be read there.
    pub fn newest(&self) -> Result<Option<Timestamp>, RecordError> {
        let newest = |query: &str| {
            self.db
                .query_row(query, [], |row| row.get::<_, i64>(0))
                .optional()
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        let at = match newest("SELECT at_ns FROM tail ORDER BY n DESC LIMIT 1")? {
            Some(at) => Some(at),
            None => newest("SELECT last_at_ns FROM blocks ORDER BY first DESC LIMIT 1")?,
        };
        Ok(at.and_then(|at| Timestamp::from_nanosecond(i128::from(at)).ok()))
    }

    /// Number of the first tick of at least this wall time; one past the last where all are earlier.
    ///
    /// # Errors
    /// The file is damaged before that.
    pub fn seek(&self, at: Timestamp) -> Result<i64, RecordError> {
        let block = self
            .db
            .query_row(
                "SELECT min(first) FROM blocks WHERE last_at_ns >= ?1",
                [nanoseconds(at)],
                |row| row.get::<_, Option<i64>>(0),
            )
            .map_err(|e| meaning("reading", &self.path, &e))?;
        let from = match block {
            Some(first) => first,
            None => self.tail_first()?,
        };
        let mut next = from.max(self.first);
        for record in self.records(next) {
            if let Record::Tick(n, tick) = record? {
                next = n;
                if tick.at >= at {
                    return Ok(n);
                }
                next += 1;
            }
        }
        Ok(next)
    }

    fn tail_first(&self) -> Result<i64, RecordError> {
        let query = "SELECT coalesce((SELECT min(n) FROM tail), \
                     (SELECT last + 1 FROM blocks ORDER BY first DESC LIMIT 1), 1)";
        self.db
            .query_row(query, [], |row| row.get(0))
            .map_err(|e| meaning("reading", &self.path, &e))
    }

    /// The last `Start` at or before a tick.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn start_before(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let query = "SELECT n, at_ns, fresh, crc, body FROM starts WHERE n <= ?1 \
                     ORDER BY n DESC, rowid DESC LIMIT 1";
        self.start_of(query, n)
    }

    fn start_at(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let query = "SELECT n, at_ns, fresh, crc, body FROM starts WHERE n = ?1 \
                     ORDER BY rowid DESC LIMIT 1";
        self.start_of(query, n)
    }

    fn start_of(&self, query: &str, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let row = self
            .db
            .query_row(query, [n], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, i64>(3)?,
                    row.get::<_, Vec<u8>>(4)?,
                ))
            })
            .optional()
            .map_err(|e| meaning("reading", &self.path, &e))?;
        let Some((n, at_ns, fresh, crc, packed)) = row else {
            return Ok(None);
        };
        let broken = |what: &str| damaged(&self.path, None, &format!("the start at {n}: {what}"));
        if row_crc(&[n, at_ns, fresh], &packed) != crc {
            return Err(broken("it is not what was written"));
        }
        let body = block::unpack(&packed).map_err(|error| broken(error.0))?;
        let at = Timestamp::from_nanosecond(i128::from(at_ns))
            .map_err(|_| broken("its time is out of range"))?;
        Ok(Some(StartRecord {
            n,
            at,
            fresh: fresh != 0,
            body,
        }))
    }

    /// Everything from a tick on, in order. Memory is that of one block. Ends at what is written by now; after damage
    /// there is one error, and nothing.
    #[must_use]
    pub fn records(&self, from: i64) -> Records<'_> {
        Records {
            reader: self,
            next: from.max(self.first),
            ready: VecDeque::new(),
            start_told: false,
            after: None,
            over: false,
        }
    }

    /// The ticks that begin with this number, as they stand together in the file.
    fn portion(&self, n: i64) -> Result<VecDeque<Tick>, String> {
        // One view of the file: a writer may make a block of the rows between two queries.
        let _view = self
            .db
            .unchecked_transaction()
            .map_err(|error| error.to_string())?;
        let block = self
            .db
            .query_row(
                "SELECT first, last, first_at_ns, last_at_ns, crc, body FROM blocks WHERE first <= ?1 \
                 ORDER BY first DESC LIMIT 1",
                [n],
                |row| {
                    let numbers = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
                    Ok((numbers, row.get::<_, i64>(4)?, row.get::<_, Vec<u8>>(5)?))
                },
            )
            .optional()
            .map_err(|error| error.to_string())?;
        if let Some((numbers, crc, body)) = block
            && n <= numbers[1]
        {
            if row_crc(&numbers, &body) != crc {
                return Err(format!("block {} is not what was written", numbers[0]));
            }
            let mut ticks =
                VecDeque::from(block::decode(&body).map_err(|error| error.to_string())?);
            let stored = i64::try_from(ticks.len()).unwrap_or(i64::MAX);
            if stored != numbers[1] - numbers[0] + 1 {
                return Err(format!("block {} lacks ticks", numbers[0]));
            }
            let skipped = usize::try_from(n - numbers[0]).unwrap_or(0);
            ticks.drain(..skipped.min(ticks.len()));
            return Ok(ticks);
        }
        self.row(n)
    }

    /// One tick that is still a row. None: either the recording ends here, or something is missing.
    fn row(&self, n: i64) -> Result<VecDeque<Tick>, String> {
        let row = self
            .db
            .query_row(
                "SELECT at_ns, crc, body FROM tail WHERE n = ?1",
                [n],
                |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, i64>(1)?,
                        row.get::<_, Vec<u8>>(2)?,
                    ))
                },
            )
            .optional()
            .map_err(|error| error.to_string())?;
        let Some((at_ns, crc, body)) = row else {
            let later: i64 = self
                .db
                .query_row(
                    "SELECT (SELECT count(*) FROM tail WHERE n > ?1) + \
                     (SELECT count(*) FROM (SELECT 1 FROM blocks WHERE first > ?1 LIMIT 1))",
                    [n],
                    |row| row.get(0),
                )
                .map_err(|error| error.to_string())?;
            return if later > 0 {
                Err(format!("tick {n} is missing"))
            } else {
                Ok(VecDeque::new())
            };
        };
        let tick = postcard::from_bytes(&body).ok();
        tick.filter(|_| row_crc(&[n, at_ns], &body) == crc)
            .map(|tick| VecDeque::from([tick]))
            .ok_or_else(|| format!("row {n} is not what was written"))
    }
}

fn damaged(path: &Path, after: Option<Timestamp>, what: &str) -> RecordError {
    RecordError::Damaged {
        path: path.to_owned(),
        after,
        what: what.to_owned(),
    }
}

/// The records of a recording from a tick on.
pub struct Records<'a> {
    reader: &'a Reader,
    next: i64,
    ready: VecDeque<Tick>,
    start_told: bool,
    after: Option<Timestamp>,
    over: bool,
}

impl Records<'_> {
    /// Number of the tick that comes next.
    #[must_use]
    pub const fn next_number(&self) -> i64 {
        self.next
    }

    fn damage(&mut self, what: &str) -> RecordError {
        self.over = true;
        damaged(&self.reader.path, self.after, what)
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        if self.ready.is_empty() {
            match self.reader.portion(self.next) {
                Ok(ticks) if ticks.is_empty() => {
                    self.over = true;
                    return None;
                }
                Ok(ticks) => self.ready = ticks,
                Err(what) => return Some(Err(self.damage(&what))),
            }
            // Starts stand where blocks begin, nowhere else.
            self.start_told = false;
        }
        if !self.start_told {
            self.start_told = true;
            match self.reader.start_at(self.next) {
                Ok(Some(start)) => return Some(Ok(Record::Start(start))),
                Ok(None) => {}
                Err(RecordError::Damaged { what, .. }) => return Some(Err(self.damage(&what))),
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        let tick = self.ready.pop_front()?;
        self.after = Some(tick.at);
        self.next += 1;
        Some(Ok(Record::Tick(self.next - 1, Box::new(tick))))
    }
}
