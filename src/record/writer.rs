//! Writing a recording.

use super::block::{self, Packing};
use super::error::RecordError;
use super::lock::Lock;
use super::minutes::Minutes;
use super::place::{Journal, journal_at};
use super::schema::{first_crc, guarded, meaning, open_for_writing, row_crc};
use crate::model::{Change, MinutePoint, Tick};
use crate::units::MonoTime;
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rows wait at most so long before they are in the file: what a kill costs.
const FLUSH_S: f64 = 1.0;
/// The row of the current minute is renewed so often.
const MINUTE_ROW_S: f64 = 10.0;
/// A block is sealed early where it has this many samples (many devices, short intervals), so that memory stays flat.
const SEAL_SAMPLES: usize = 20_000;

/// How much is kept, and in what portions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Blocks older than this go.
    pub keep: Duration,
    /// The oldest blocks go when the file holds more bytes than this.
    pub bytes: u64,
    /// Rows become a block after so long.
    pub seal: Duration,
    /// A `Start` is due so often.
    pub start: Duration,
}

impl Default for Limits {
    /// 30 days, 1 GiB, blocks of five minutes, a `Start` every 20 minutes: whoever seeks folds from one of them.
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 86_400),
            bytes: 1 << 30,
            seal: Duration::from_secs(300),
            start: Duration::from_secs(1200),
        }
    }
}

/// A tick that is not in the file yet.
struct Waiting {
    n: i64,
    at_ns: i64,
    body: Vec<u8>,
    events: Vec<(String, Option<String>, &'static str, String)>,
    devices: Vec<(String, u32, String, &'static str)>,
}

/// The rows that are no block yet: number and instant of the first and the last, and all of them.
struct Tail {
    first: (i64, i64),
    last: (i64, i64),
    packing: Packing,
}

/// Writes one file. The only writer that the file has: others are refused while this one lives.
pub struct Writer {
    pub(super) db: Connection,
    path: PathBuf,
    journal: Journal,
    limits: Limits,
    /// Number of the next tick.
    next: i64,
    /// What it was when the file was opened.
    opened_at: i64,
    waiting: Vec<Waiting>,
    flushed: Option<MonoTime>,
    minute_written: Option<MonoTime>,
    started: Option<MonoTime>,
    tail_began: Option<MonoTime>,
    tail_samples: usize,
    minutes: Minutes,
    _lock: Lock,
}

impl Writer {
    /// Opens a recording to go on with it, or makes one. What an earlier writer left in rows is sealed.
    ///
    /// # Errors
    /// Another process writes it; it is something else, damaged or too new; the system refuses.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, RecordError> {
        let lock = Lock::take(path)?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let journal = journal_at(folder.unwrap_or(Path::new(".")));
        let db = open_for_writing(path, journal)?;
        let mut writer = Self {
            db,
            path: path.to_owned(),
            journal,
            limits,
            next: 1,
            opened_at: 1,
            waiting: Vec::new(),
            flushed: None,
            minute_written: None,
            started: None,
            tail_began: None,
            tail_samples: 0,
            minutes: Minutes::default(),
            _lock: lock,
        };
        writer.next = writer.last()? + 1;
        writer.opened_at = writer.next;
        writer.seal()?;
        Ok(writer)
    }

    /// Ticks that this writer has put into the file, or will at the next flush.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        u64::try_from(self.next - self.opened_at).unwrap_or(0)
    }

    /// How it is journalled, as its place allows.
    #[must_use]
    pub const fn journal(&self) -> Journal {
        self.journal
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The PID of the process that writes a recording at present.
    #[must_use]
    pub fn holder(path: &Path) -> Option<u32> {
        Lock::holder(path)
    }

    /// Whether the process of this number, as it is seen from here, is the one that writes a recording.
    #[must_use]
    pub fn is_held_by(path: &Path, pid: u32) -> bool {
        Lock::is_open_in(path, pid)
    }

    /// Whether the next tick is to have a `Start` before it.
    #[must_use]
    pub fn start_due(&self, mono: MonoTime) -> bool {
        self.started
            .is_none_or(|at| mono.seconds_since(at) >= self.limits.start.as_secs_f64())
    }

    /// Stores what the session stood at before the next tick. `fresh`: it says more than the ticks before it (a new
    /// run, or a time in which nothing could be written), so a reader takes it up.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn start(&mut self, tick: &Tick, fresh: bool, body: &[u8]) -> Result<(), RecordError> {
        // Blocks begin where a Start stands, so that old ones can go without breaking what follows.
        self.flush()?;
        self.seal()?;
        let packed = block::pack(body).map_err(|e| self.failed("packing", &e.to_string()))?;
        let at_ns = nanoseconds(tick.at);
        let crc = row_crc(&[self.next, at_ns, i64::from(fresh)], &packed);
        self.db
            .execute(
                "INSERT INTO starts VALUES (?1, ?2, ?3, ?4, ?5)",
                params![self.next, at_ns, fresh, crc, packed],
            )
            .map_err(|e| meaning("writing to", &self.path, &e))?;
        self.started = Some(tick.mono);
        self.prune(at_ns)
    }

    /// Takes a tick. It is in the file within a second of ticks.
    ///
    /// # Errors
    /// [`RecordError::Full`]: the ticks that waited are lost, and the file is as it was; try again with a fresh
    /// `Start`. Others: give up.
    pub fn append(&mut self, tick: &Tick) -> Result<(), RecordError> {
        let body = postcard::to_allocvec(tick)
            .map_err(|error| self.failed("packing", &error.to_string()))?;
        let events = tick.events.iter().map(|event| {
            let device = event.device.as_ref().map(|id| id.0.to_string());
            let at = format!("{:.3}", event.at);
            (at, device, event.kind.word(), event.text.to_string())
        });
        let devices = tick.changes.iter().filter_map(|change| match change {
            Change::Device(device) => Some((
                device.id.0.to_string(),
                device.index,
                device.name.to_string(),
                device.vendor.word(),
            )),
            _ => None,
        });
        self.waiting.push(Waiting {
            n: self.next,
            at_ns: nanoseconds(tick.at),
            body,
            events: events.collect(),
            devices: devices.collect(),
        });
        self.next += 1;
        self.tail_began.get_or_insert(tick.mono);
        self.tail_samples += tick.samples.len();
        let since = |at| since(tick.mono, at);
        // Half an interval early is better than a whole one late.
        let due = FLUSH_S - tick.interval.as_secs_f64() / 2.0;
        if since(self.flushed) >= due || since(self.flushed) < 0.0 {
            self.flush()?;
            self.flushed = Some(tick.mono);
        }
        let full = since(self.tail_began) >= self.limits.seal.as_secs_f64();
        if self.tail_samples >= SEAL_SAMPLES || full && self.tail_began.is_some() {
            self.flush()?;
            self.seal()?;
            // Blocks go where a Start stands: one is asked for, and what is too much goes before it.
            if self.is_over_limits(nanoseconds(tick.at))? {
                self.started = None;
            }
        }
        Ok(())
    }

    /// Takes what the session made of a tick that was appended, for the rows by the minute. It may come some ticks later.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn gather(&mut self, tick: &Tick, points: &[MinutePoint<'_>]) -> Result<(), RecordError> {
        if self.minutes.is_over(tick.at) {
            self.flush()?;
            self.write_minutes()?;
            self.minutes.turn(tick.at);
        }
        self.minutes.take(tick.at, tick.mono, points);
        if since(tick.mono, self.minute_written) >= MINUTE_ROW_S {
            self.write_minutes()?;
            self.minute_written = Some(tick.mono);
        }
        Ok(())
    }

    /// Whether all that was appended is in the file.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Seals what is there and leaves one plain file.
    ///
    /// # Errors
    /// It cannot be written; what was written before stays.
    pub fn close(mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.write_minutes()?;
        self.seal()?;
        // The room that rows have left is given back; where that fails, the file is only larger.
        let _ = self.give_back();
        // Without the log the file can be copied and read anywhere. A reader that is at work keeps the log; then at least
        // nothing is in it.
        let _ = self
            .db
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = self
            .db
            .pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()));
        Ok(())
    }

    /// Each step gives one page back.
    fn give_back(&self) -> rusqlite::Result<()> {
        let mut vacuum = self.db.prepare("PRAGMA incremental_vacuum")?;
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        Ok(())
    }

    /// Number of the last tick in the file, 0 where there is none.
    fn last(&self) -> Result<i64, RecordError> {
        let newest = |query: &str| -> Result<i64, RecordError> {
            self.db
                .query_row(query, [], |row| row.get::<_, Option<i64>>(0))
                .map(|n| n.unwrap_or(0))
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        let tail = newest("SELECT max(n) FROM tail")?;
        let block =
            newest("SELECT last FROM blocks ORDER BY first DESC LIMIT 1").or_else(|error| {
                match error {
                    RecordError::Failed { .. } => Ok(0),
                    other => Err(other),
                }
            })?;
        let first = newest("SELECT first - 1 FROM recording")?;
        Ok(tail.max(block).max(first))
    }

    /// Puts the waiting rows into the file, all or none. None: they are lost, and their numbers free again.
    fn flush(&mut self) -> Result<(), RecordError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let result = in_transaction(&self.db, |db| {
            let mut row = db.prepare_cached("INSERT INTO tail VALUES (?1, ?2, ?3, ?4)")?;
            for waiting in &self.waiting {
                let crc = row_crc(&[waiting.n, waiting.at_ns], &waiting.body);
                row.execute(params![waiting.n, waiting.at_ns, crc, waiting.body])?;
                for (at, device, kind, text) in &waiting.events {
                    let device = device.clone().map_or(Value::Null, Value::Text);
                    let columns = vec![
                        Value::Integer(waiting.n),
                        Value::Text(at.clone()),
                        device,
                        Value::Text((*kind).to_owned()),
                        Value::Text(text.clone()),
                    ];
                    db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                        .execute(params_from_iter(guarded(columns)))?;
                }
                for device in &waiting.devices {
                    let columns = vec![
                        Value::Text(device.0.clone()),
                        Value::Integer(device.1.into()),
                        Value::Text(device.2.clone()),
                        Value::Text(device.3.to_owned()),
                    ];
                    db.prepare_cached(
                        "INSERT OR REPLACE INTO devices VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params_from_iter(guarded(columns)))?;
                }
            }
            Ok(())
        });
        let first = self.waiting.first().map_or(self.next, |w| w.n);
        self.waiting.clear();
        result.map_err(|error| {
            self.next = first;
            meaning("writing to", &self.path, &error)
        })
    }

    fn write_minutes(&mut self) -> Result<(), RecordError> {
        in_transaction(&self.db, |db| self.minutes.write(db))
            .map_err(|e| meaning("writing to", &self.path, &e))?;
        self.minutes.written();
        Ok(())
    }

    /// Makes a block of the rows, in one transaction.
    fn seal(&mut self) -> Result<(), RecordError> {
        self.tail_began = None;
        self.tail_samples = 0;
        let Some(Tail {
            first: (first_n, first_at),
            last: (last_n, last_at),
            packing,
        }) = self.tail()?
        else {
            return Ok(());
        };
        let samples = packing.samples();
        let body = packing
            .finish()
            .map_err(|error| self.failed("packing", &error.to_string()))?;
        let crc = row_crc(&[first_n, last_n, first_at, last_at], &body);
        in_transaction(&self.db, |db| {
            db.execute(
                "INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    first_n,
                    last_n,
                    first_at,
                    last_at,
                    samples as i64,
                    crc,
                    body
                ],
            )?;
            db.execute("DELETE FROM tail WHERE n <= ?1", [last_n])?;
            Ok(())
        })
        .map_err(|e| meaning("writing to", &self.path, &e))
    }

    /// The rows that are no block yet.
    fn tail(&self) -> Result<Option<Tail>, RecordError> {
        let reading = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        let mut query = self
            .db
            .prepare("SELECT n, at_ns, crc, body FROM tail ORDER BY n")
            .map_err(reading)?;
        let mut rows = query.query([]).map_err(reading)?;
        let mut tail: Option<Tail> = None;
        let mut newest = None;
        while let Some(row) = rows.next().map_err(reading)? {
            let read = || -> rusqlite::Result<(i64, i64, i64, Vec<u8>)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            };
            let (n, at_ns, crc, body) = read().map_err(reading)?;
            let tick: Option<Tick> = postcard::from_bytes(&body).ok();
            let Some(tick) = tick.filter(|_| row_crc(&[n, at_ns], &body) == crc) else {
                return Err(RecordError::Damaged {
                    path: self.path.clone(),
                    after: newest,
                    what: format!("row {n} is not what was written"),
                });
            };
            newest = Some(tick.at);
            let tail = tail.get_or_insert_with(|| Tail {
                first: (n, at_ns),
                last: (n, at_ns),
                packing: Packing::default(),
            });
            tail.last = (n, at_ns);
            tail.packing.take(tick);
        }
        Ok(tail)
    }

    /// Lets the oldest blocks go while they are too old or too many, always up to the next `Start`: what remains begins
    /// with one, and with the ledger in it.
    fn prune(&mut self, now_ns: i64) -> Result<(), RecordError> {
        let reading = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        loop {
            let (too_old, too_many) = (self.is_too_old(now_ns)?, self.is_too_large()?);
            let second = self
                .db
                .query_row(
                    "SELECT min(n) FROM starts WHERE n > (SELECT min(n) FROM starts)",
                    [],
                    |row| row.get::<_, Option<i64>>(0),
                )
                .map_err(reading)?;
            let Some(cut) = second.filter(|_| too_old || too_many) else {
                return if too_many { self.prune_rows() } else { Ok(()) };
            };
            in_transaction(&self.db, |db| {
                db.execute("DELETE FROM blocks WHERE last < ?1", [cut])?;
                db.execute("DELETE FROM starts WHERE n < ?1", [cut])?;
                db.execute(
                    "UPDATE recording SET first = ?1, crc = ?2",
                    [cut, first_crc(cut)],
                )?;
                Ok(())
            })
            .map_err(|e| meaning("writing to", &self.path, &e))?;
        }
    }

    /// There is no block left to go, and the rows that outlive them are too many: the oldest tenth goes.
    fn prune_rows(&mut self) -> Result<(), RecordError> {
        in_transaction(&self.db, |db| {
            db.execute(
                "DELETE FROM events WHERE rowid <= (SELECT min(rowid) + (max(rowid) - min(rowid)) / 10 FROM events)",
                [],
            )?;
            db.execute(
                "DELETE FROM minutes WHERE at <= (SELECT at FROM minutes ORDER BY at LIMIT 1 \
                 OFFSET (SELECT count(*) / 10 FROM minutes))",
                [],
            )?;
            Ok(())
        })
        .map_err(|e| meaning("writing to", &self.path, &e))
    }

    fn is_over_limits(&self, now_ns: i64) -> Result<bool, RecordError> {
        Ok(self.is_too_large()? || self.is_too_old(now_ns)?)
    }

    /// Whether the oldest block is older than is kept.
    fn is_too_old(&self, now_ns: i64) -> Result<bool, RecordError> {
        let keep = i64::try_from(self.limits.keep.as_nanos()).unwrap_or(i64::MAX);
        let oldest = self
            .db
            .query_row(
                "SELECT last_at_ns FROM blocks ORDER BY first LIMIT 1",
                [],
                |row| row.get::<_, i64>(0),
            )
            .optional()
            .map_err(|e| meaning("reading", &self.path, &e))?;
        Ok(oldest.is_some_and(|at| now_ns.saturating_sub(at) > keep))
    }

    /// Whether the pages in use are more than is kept.
    fn is_too_large(&self) -> Result<bool, RecordError> {
        let pragma = |name| {
            self.db
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map_err(|e| meaning("reading", &self.path, &e))
        };
        let used = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
        Ok(u64::try_from(used).is_ok_and(|used| used > self.limits.bytes))
    }

    fn failed(&self, operation: &'static str, reason: &str) -> RecordError {
        RecordError::Failed {
            operation,
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// Seconds since something was done; many where it never was.
fn since(now: MonoTime, at: Option<MonoTime>) -> f64 {
    at.map_or(f64::MAX, |at| now.seconds_since(at))
}

fn in_transaction(
    db: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    db.prepare_cached("BEGIN")?.execute([])?;
    // A failed statement may have ended the transaction itself.
    let undo = || -> rusqlite::Result<()> {
        if !db.is_autocommit() {
            db.execute_batch("ROLLBACK")?;
        }
        Ok(())
    };
    let done = work(db).and_then(|()| db.prepare_cached("COMMIT")?.execute([]).map(|_| ()));
    if done.is_err() {
        undo()?;
    }
    done
}

/// Wall time as the file has it; good until 2262.
pub(super) fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(if at.as_second() < 0 {
        i64::MIN
    } else {
        i64::MAX
    })
}
