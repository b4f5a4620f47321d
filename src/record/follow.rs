//! A recording that another process writes, read as it grows.

use super::error::RecordError;
use super::reader::{Reader, Record, StartRecord};
use super::schema::{meaning, row_crc};
use crate::model::Tick;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Follows the end of a recording. Between two looks it holds nothing of the file that the writer would wait for.
pub struct Follower {
    path: PathBuf,
    reader: Reader,
    /// Which file stood under that name: another one may take its place.
    file: Option<(u64, u64)>,
    /// Number of the tick that comes next.
    next: i64,
}

impl Follower {
    /// Opens a recording; nothing is read yet.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = identity(path);
        Ok(Self {
            reader: Reader::open(path)?,
            path: path.to_owned(),
            file,
            next: 1,
        })
    }

    /// Goes to a `Start` from which on at least so much of the newest time is there, or all that there is, and gives it.
    /// `None`: there is no tick yet.
    ///
    /// # Errors
    /// The file cannot be read there.
    pub fn begin(&mut self, history: Duration) -> Result<Option<StartRecord>, RecordError> {
        let Some(newest) = self.reader.newest()? else {
            return Ok(None);
        };
        let since = newest.checked_sub(history).unwrap_or(Timestamp::MIN);
        let since = i64::try_from(since.as_nanosecond()).unwrap_or(i64::MIN);
        let number = |query: &str, at: &[i64]| -> Result<Option<i64>, RecordError> {
            self.reader
                .db
                .query_row(query, rusqlite::params_from_iter(at), |row| row.get(0))
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        let n = match number("SELECT max(n) FROM starts WHERE at_ns <= ?1", &[since])? {
            Some(n) => Some(n),
            None => number("SELECT min(n) FROM starts", &[])?,
        };
        let Some(start) = n
            .map(|n| self.reader.start_before(n))
            .transpose()?
            .flatten()
        else {
            return Ok(None);
        };
        self.next = start.n;
        Ok(Some(start))
    }

    /// How many ticks are in the file that were not read yet.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn waiting(&self) -> Result<u64, RecordError> {
        let last: Option<i64> = self
            .reader
            .db
            .query_row(
                "SELECT coalesce((SELECT max(n) FROM tail), (SELECT last FROM blocks ORDER BY first DESC LIMIT 1))",
                [],
                |row| row.get(0),
            )
            .map_err(|e| meaning("reading", &self.path, &e))?;
        Ok(last.map_or(0, |last| {
            u64::try_from(last.saturating_sub(self.next).saturating_add(1)).unwrap_or(0)
        }))
    }

    /// At most so many of the ticks that come next, with the `Start`s between them.
    ///
    /// # Errors
    /// The file cannot be read there at present, or is damaged there.
    pub fn read(&mut self, most: usize) -> Result<Vec<Record>, RecordError> {
        let mut records = Vec::new();
        for (n, tick) in self.rows(most)? {
            if let Some(start) = self.start_at(n)? {
                records.push(Record::Start(start));
            }
            records.push(Record::Tick(n, Box::new(tick)));
            self.next = n + 1;
        }
        if !records.is_empty() {
            return Ok(records);
        }
        // No row of this number: it is in a block, or not there yet.
        let mut ticks = 0;
        let mut inside = self.reader.records(self.next);
        while ticks < most
            && let Some(record) = inside.next()
        {
            let record = record?;
            if let Record::Tick(n, _) = &record {
                ticks += 1;
                self.next = n + 1;
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Whether another file stands under this name now, or none.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        identity(&self.path) != self.file
    }

    /// Ticks that are still rows, without a gap from the next one on.
    fn rows(&self, most: usize) -> Result<Vec<(i64, Tick)>, RecordError> {
        let failed = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        let mut query = self
            .reader
            .db
            .prepare("SELECT n, at_ns, crc, body FROM tail WHERE n >= ?1 ORDER BY n LIMIT ?2")
            .map_err(failed)?;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = query.query([self.next, limit]).map_err(failed)?;
        let mut ticks = Vec::new();
        let mut next = self.next;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || -> rusqlite::Result<(i64, i64, i64, Vec<u8>)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            };
            let (n, at_ns, crc, body) = read().map_err(failed)?;
            let whole = n == next && row_crc(&[n, at_ns], &body) == crc;
            // The rest is read as everything is, and damage told as such.
            let Some(tick) = postcard::from_bytes(&body).ok().filter(|_| whole) else {
                break;
            };
            ticks.push((n, tick));
            next += 1;
        }
        Ok(ticks)
    }

    fn start_at(&self, n: i64) -> Result<Option<StartRecord>, RecordError> {
        let there = self
            .reader
            .db
            .query_row("SELECT 1 FROM starts WHERE n = ?1 LIMIT 1", [n], |_| Ok(()))
            .optional()
            .map_err(|e| meaning("reading", &self.path, &e))?;
        match there {
            Some(()) => self.reader.start_before(n),
            None => Ok(None),
        }
    }
}

/// The file under a name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}
