//! Why a log is not read.

use std::io;

/// A log that cannot be read, or not further. One line, without the file's name: whoever knows it puts it in front.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What stands there is not read, for this reason.
    #[error("{}{reason}", place(*line))]
    Refused {
        /// Line number from 1; 0 where it is about the whole file.
        line: u64,
        /// Why.
        reason: String,
        /// What would help.
        next: &'static str,
    },
    /// The file could not be opened or read.
    #[error("{operation} failed: {source}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

fn place(line: u64) -> String {
    match line {
        0 => String::new(),
        line => format!("line {line}: "),
    }
}

/// What is said where nothing better is known.
pub(super) const KNOWN: &str = "logs that are read: nvidia-smi --query-gpu with --format=csv, nvidia-smi dmon, \
                                gpu_log.jsonl, nameplate stream";

impl ImportError {
    /// A refusal.
    pub(super) fn at(line: u64, reason: impl Into<String>, next: &'static str) -> Self {
        Self::Refused {
            line,
            reason: reason.into(),
            next,
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn next(&self) -> &'static str {
        match self {
            Self::Refused { next, .. } => next,
            Self::Io { .. } => "check the path and its permissions",
        }
    }
}
