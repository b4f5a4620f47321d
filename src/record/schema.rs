//! The file: tables, pragmas, and what SQLite's answers mean for us.

use super::error::RecordError;
use super::place::Journal;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// The format that this version writes; it reads all before it.
pub const SCHEMA_VERSION: i64 = 1;
/// Says to `file` and to us whose it is ("NMPL").
const APPLICATION_ID: i64 = 0x4e4d_504c;

/// `n` counts ticks from 1 without a gap; where nothing was recorded, time jumps and `n` does not.
const TABLES: &str = "
CREATE TABLE recording (id INTEGER PRIMARY KEY CHECK (id = 1), first INTEGER NOT NULL, program TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE starts (n INTEGER NOT NULL, at_ns INTEGER NOT NULL, fresh INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX starts_n ON starts (n);
CREATE TABLE tail (n INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE blocks (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, first_at_ns INTEGER NOT NULL, last_at_ns INTEGER NOT NULL, samples INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX blocks_at ON blocks (last_at_ns, first);
CREATE TABLE events (n INTEGER NOT NULL, at TEXT NOT NULL, device TEXT, kind TEXT NOT NULL, text TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE devices (device TEXT PRIMARY KEY, device_index INTEGER NOT NULL, name TEXT NOT NULL, vendor TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE minutes (
    at TEXT NOT NULL, device TEXT NOT NULL, seconds REAL NOT NULL, samples INTEGER NOT NULL,
    power_w REAL, power_max_w REAL, energy_j REAL, temperature_max_c REAL, headroom_min_c REAL, utilization_ratio REAL, work_ratio REAL,
    memory_used_max_bytes INTEGER, clock_mhz REAL, pcie_rx_bytes_per_s REAL, pcie_tx_bytes_per_s REAL,
    nvlink_rx_bytes_per_s REAL, nvlink_tx_bytes_per_s REAL,
    compute_s REAL NOT NULL, io_wait_s REAL, queue_s REAL NOT NULL, idle_s REAL NOT NULL, unobserved_s REAL NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (at, device)
) WITHOUT ROWID;
";

/// Whether the tables are described as this format describes them, each with a page of its own: what is damaged there
/// gives no rows, and no error either.
pub(super) fn tables_are_whole(db: &Connection) -> rusqlite::Result<bool> {
    let mut query = db.prepare("SELECT sql, rootpage FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let (mut said, mut pages) = (Vec::new(), Vec::<i64>::new());
    for row in rows {
        let (sql, page) = row?;
        said.push(sql);
        pages.push(page);
    }
    let mut meant: Vec<&str> = TABLES.split(';').map(str::trim).collect();
    meant.retain(|statement| !statement.is_empty());
    said.sort_unstable();
    meant.sort_unstable();
    pages.sort_unstable();
    let all = pages.len();
    pages.dedup();
    Ok(said == meant && pages.len() == all)
}

/// How long a statement waits for another process that has the file.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens a file for writing, making it (mode 0600) where there is none.
pub(super) fn open_for_writing(path: &Path, journal: Journal) -> Result<Connection, RecordError> {
    let opening = |reason: String| RecordError::Open {
        path: path.to_owned(),
        reason,
    };
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| opening(error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|e| meaning("opening", path, &e))?;
    let set_up = || -> rusqlite::Result<()> {
        db.busy_timeout(PATIENCE)?;
        // SQLite's own 2 MB are for queries that we do not ask.
        db.pragma_update(None, "cache_size", -256)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        // What the rows of the tail leave can be given back when the file is closed. Only counts in a new file.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        let mode = match journal {
            Journal::Ahead => "WAL",
            Journal::Rollback { .. } => "DELETE",
        };
        db.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))
    };
    set_up().map_err(|e| meaning("opening", path, &e))?;
    if version(&db, path)?.is_none() {
        let make = || -> rusqlite::Result<()> {
            db.execute_batch("BEGIN IMMEDIATE")?;
            db.execute_batch(TABLES)?;
            db.execute(
                "INSERT INTO recording VALUES (1, 1, ?1, ?2)",
                (env!("CARGO_PKG_VERSION"), first_crc(1)),
            )?;
            db.pragma_update(None, "application_id", APPLICATION_ID)?;
            db.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            db.execute_batch("COMMIT")
        };
        make().map_err(|e| meaning("making", path, &e))?;
    }
    Ok(db)
}

/// Opens a file for reading, also while it is written, and where its folder cannot be written to.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, RecordError> {
    if let Err(error) = std::fs::File::open(path) {
        return Err(RecordError::Open {
            path: path.to_owned(),
            reason: error.to_string(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |name: &Path, flags: OpenFlags| -> Result<Connection, RecordError> {
        let failed = |e| meaning("reading", path, &e);
        let db = Connection::open_with_flags(name, flags).map_err(failed)?;
        db.busy_timeout(PATIENCE).map_err(failed)?;
        db.pragma_update(None, "cache_size", -256).map_err(failed)?;
        // Without it, SQLite refuses a truncated file as a whole; with it, it reads what is there.
        db.pragma_update(None, "writable_schema", true)
            .map_err(failed)?;
        match version(&db, path)? {
            Some(_) => Ok(db),
            None => Err(RecordError::NotARecording {
                path: path.to_owned(),
            }),
        }
    };
    let first = open(path, flags);
    match (&first, immutable_name(path)) {
        // A log without its shared memory in a folder that is read-only: nobody writes there.
        (Err(RecordError::Failed { .. } | RecordError::Full { .. }), Some(name)) => {
            open(Path::new(&name), flags | OpenFlags::SQLITE_OPEN_URI).or(first)
        }
        _ => first,
    }
}

/// The file as an address that tells SQLite to lock nothing and expect no change.
fn immutable_name(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let mut name = String::from("file:");
    for byte in path.to_str()?.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name.push_str("?immutable=1");
    Some(name)
}

/// The file's format; `None` for a file that is still empty.
fn version(db: &Connection, path: &Path) -> Result<Option<i64>, RecordError> {
    let pragma = |name| {
        db.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(|e| meaning("reading", path, &e))
    };
    let found = pragma("user_version")?;
    let id = pragma("application_id")?;
    if id == 0 && found == 0 && pragma("page_count")? <= 1 {
        return Ok(None);
    }
    if id != APPLICATION_ID {
        return Err(RecordError::NotARecording {
            path: path.to_owned(),
        });
    }
    if found > SCHEMA_VERSION || found < 1 {
        return Err(RecordError::TooNew {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        });
    }
    Ok(Some(found))
}

/// What an answer of SQLite means for the recording.
pub(super) fn meaning(
    operation: &'static str,
    path: &Path,
    error: &rusqlite::Error,
) -> RecordError {
    let path = path.to_owned();
    let reason = one_line(&error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::DatabaseBusy) => {
            RecordError::Full { path, reason }
        }
        Some(ErrorCode::NotADatabase) => RecordError::NotARecording { path },
        Some(ErrorCode::DatabaseCorrupt) => RecordError::Damaged {
            path,
            after: None,
            what: reason,
        },
        _ => RecordError::Failed {
            operation,
            path,
            reason,
        },
    }
}

/// SQLite says some things in several lines, and quotes those of a damaged file.
pub(super) fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("; ")
}

/// Guards a row: numbers first, so that a block cannot stand in another's place.
pub(super) fn row_crc(numbers: &[i64], body: &[u8]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(body);
    i64::from(hasher.finalize())
}

/// Guards a plain row: its columns, in the table's order.
pub(super) fn columns_crc(columns: &[Value]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for column in columns {
        let (kind, bytes): (u8, &[u8]) = match column {
            Value::Null => (0, &[]),
            Value::Integer(number) => (1, &number.to_le_bytes()),
            // SQLite has one zero.
            Value::Real(number) => (2, &(number + 0.0).to_le_bytes()),
            Value::Text(text) => (3, text.as_bytes()),
            Value::Blob(bytes) => (4, bytes),
        };
        hasher.update(&[kind]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    i64::from(hasher.finalize())
}

/// A plain row with its guard behind it, for writing.
pub(super) fn guarded(mut columns: Vec<Value>) -> Vec<Value> {
    columns.push(Value::Integer(columns_crc(&columns)));
    columns
}

/// The columns of a plain row of the guarded table, all of them; `None` where they are not what was written.
pub(super) fn sound(
    row: &rusqlite::Row<'_>,
    columns: usize,
) -> rusqlite::Result<Option<Vec<Value>>> {
    let values = (0..columns)
        .map(|n| row.get(n))
        .collect::<rusqlite::Result<Vec<Value>>>()?;
    let crc: Value = row.get(columns)?;
    Ok((crc == Value::Integer(columns_crc(&values))).then_some(values))
}

/// Guards the number of the first tick that the file still has.
pub(super) fn first_crc(first: i64) -> i64 {
    row_crc(&[first], b"first")
}
