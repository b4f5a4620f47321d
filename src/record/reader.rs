//! Reading a recording back, up to the damage where there is some.

use super::block;
use super::error::RecordError;
use super::schema::{first_crc, meaning, open_for_reading, row_crc, tables_are_whole};
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
    pub(super) path: PathBuf,
    first: i64,
}

/// Rows that are read at a time.
const ROWS: i64 = 64;

impl Reader {
    /// Opens a recording.
    ///
    /// # Errors
    /// It cannot be opened, is something else or too new, or is damaged where it begins.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let mut reader = Self {
            db: open_for_reading(path)?,
            path: path.to_owned(),
            first: 1,
        };
        let whole = tables_are_whole(&reader.db);
        if !whole.map_err(|error| damaged(path, None, &error.to_string()))? {
            return Err(damaged(
                path,
                None,
                "its tables are not described as they were",
            ));
        }
        reader.refresh()?;
        Ok(reader)
    }

    /// Looks again which tick is the first: while a file is written, its oldest blocks may go.
    ///
    /// # Errors
    /// The file is damaged where it begins.
    pub fn refresh(&mut self) -> Result<(), RecordError> {
        let broken = |what: &str| damaged(&self.path, None, what);
        let (first, crc) = self
            .db
            .query_row("SELECT first, crc FROM recording", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
            .map_err(|error| broken(&error.to_string()))?;
        if crc != first_crc(first) {
            return Err(broken("its first row is not what was written"));
        }
        self.first = first;
        Ok(())
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

    pub(super) fn start_at(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let query = "SELECT n, at_ns, fresh, crc, body FROM starts WHERE n = ?1 \
                     ORDER BY rowid DESC LIMIT 1";
        self.start_of(query, n)
    }

    /// The first `Start` after a tick.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn start_after(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let query = "SELECT n, at_ns, fresh, crc, body FROM starts WHERE n > ?1 \
                     ORDER BY n, rowid DESC LIMIT 1";
        self.start_of(query, n)
    }

    /// The last fresh `Start` at or before a tick: where its session begins.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn fresh_before(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let query = "SELECT n, at_ns, fresh, crc, body FROM starts WHERE n <= ?1 AND fresh <> 0 \
                     ORDER BY n DESC, rowid DESC LIMIT 1";
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

    /// The ticks that begin with this number, as they stand together in the file.
    pub(super) fn portion(&self, n: i64) -> Result<VecDeque<Tick>, String> {
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
        self.rows(n)
    }

    /// Ticks that are still rows, some at a time. None: either the recording ends here, or something is missing.
    fn rows(&self, n: i64) -> Result<VecDeque<Tick>, String> {
        let failed = |error: rusqlite::Error| error.to_string();
        let mut query = self
            .db
            .prepare("SELECT n, at_ns, crc, body FROM tail WHERE n >= ?1 ORDER BY n LIMIT ?2")
            .map_err(failed)?;
        let mut rows = query.query([n, ROWS]).map_err(failed)?;
        let mut ticks = VecDeque::new();
        let mut next = n;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || -> rusqlite::Result<(i64, i64, i64, Vec<u8>)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            };
            let (found, at_ns, crc, body) = read().map_err(failed)?;
            let tick = (found == next && row_crc(&[found, at_ns], &body) == crc)
                .then(|| postcard::from_bytes(&body).ok())
                .flatten();
            match tick {
                Some(tick) => ticks.push_back(tick),
                // What stands before it is given first; then it is met again.
                None if !ticks.is_empty() => break,
                None if found == next => return Err(format!("row {n} is not what was written")),
                None => break,
            }
            next += 1;
        }
        if ticks.is_empty() && self.goes_on_after(n)? {
            return Err(format!("tick {n} is missing"));
        }
        Ok(ticks)
    }

    /// The stored bytes of the block with a tick, for tests that spoil it.
    #[cfg(test)]
    pub(crate) fn block_bytes(&self, n: i64) -> Option<Vec<u8>> {
        let query = "SELECT body FROM blocks WHERE first <= ?1 AND last >= ?1";
        self.db.query_row(query, [n], |row| row.get(0)).ok()
    }

    fn goes_on_after(&self, n: i64) -> Result<bool, String> {
        let later: i64 = self
            .db
            .query_row(
                "SELECT (SELECT count(*) FROM tail WHERE n > ?1) + \
                 (SELECT count(*) FROM (SELECT 1 FROM blocks WHERE first > ?1 LIMIT 1))",
                [n],
                |row| row.get(0),
            )
            .map_err(|error| error.to_string())?;
        Ok(later > 0)
    }
}

pub(super) fn damaged(path: &Path, after: Option<Timestamp>, what: &str) -> RecordError {
    RecordError::Damaged {
        path: path.to_owned(),
        after,
        what: what.to_owned(),
    }
}
