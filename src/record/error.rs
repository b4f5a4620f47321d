//! Why a recording cannot be written or read.

use std::path::PathBuf;

/// Why a recording cannot be written or read. Each names its file.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be opened or made.
    #[error("opening the recording {} failed: {reason}", .path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another process writes it.
    #[error("{} is being recorded by process {}", .path.display(), pid_word(*.pid))]
    Busy {
        /// Which file.
        path: PathBuf,
        /// Whose PID the lock names; a lock that was just taken names none yet.
        pid: Option<u32>,
    },
    /// It is some other file.
    #[error("{} is not a recording", .path.display())]
    NotARecording {
        /// Which file.
        path: PathBuf,
    },
    /// It was written by a later version.
    #[error("{} has format {found}, and this version knows formats up to {known}", .path.display())]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// There is no room, or the medium does not take it at present: worth trying again.
    #[error("writing to {} is not possible at present: {reason}", .path.display())]
    Full {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is damaged; what stands before the place was read.
    #[error("{} is damaged {}: {what}", .path.display(), place_words(*.after))]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Wall time of the last tick before the damage.
        after: Option<jiff::Timestamp>,
        /// What is wrong there.
        what: String,
    },
    /// Something else failed.
    #[error("{operation} the recording {} failed: {reason}", .path.display())]
    Failed {
        /// What was tried.
        operation: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

fn pid_word(pid: Option<u32>) -> String {
    pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string())
}

fn place_words(after: Option<jiff::Timestamp>) -> String {
    after.map_or_else(
        || "from its beginning".to_owned(),
        |at| format!("after {at:.3}"),
    )
}
