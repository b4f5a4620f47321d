//! Recordings: one SQLite file with everything that is needed to say the same again.
//!
//! The newest ticks stand as small rows, one each; every five minutes they become a block of compressed columns. Beside
//! them: the session's `Start` (its bytes are the caller's), a plain table with a row for each device and minute that
//! `sqlite3` can read, and one for events. [`Writer`] writes, [`Reader`] reads back exactly the same ticks, up to the
//! damage where there is some.

mod aside;
mod block;
mod columns;
mod cursor;
mod error;
mod follow;
mod import;
mod lock;
mod marks;
mod merge;
mod minute_rows;
mod minutes;
mod pace;
mod place;
mod reader;
mod schema;
mod shift;
mod writer;

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;

pub use aside::set_aside;
pub use cursor::{Cursor, Records};
pub use error::RecordError;
pub use follow::Follower;
pub use import::{Import, ImportError, ImportOptions, LogFeed, Warning};
pub use marks::{Mark, Marks};
pub use merge::{Merge, Merged};
pub use minute_rows::{MinuteRow, NamedDevice};
pub use place::{Journal, vanishes_with_container};
pub use reader::{Reader, Record, StartRecord};
pub use schema::SCHEMA_VERSION;
pub use writer::{Limits, Writer};
