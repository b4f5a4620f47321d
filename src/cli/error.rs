//! Why a command could not do its work, and its exit code.

use super::config::ConfigError;
use std::io;

/// Why a command ends without having done its work. The text is one line: operation, place, next step.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Wrong usage.
    #[error("{0}")]
    Usage(String),
    /// A command whose part is not built yet.
    #[error("{command}: not in this version; {instead}")]
    NotInThisVersion {
        /// Which command.
        command: &'static str,
        /// What can be done instead.
        instead: &'static str,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No accelerator answered; the document was written all the same.
    #[error(
        "once: no accelerator was found; next: see `probes` in `nameplate once --format json`, or try `nameplate demo`"
    )]
    NoAccelerator,
    /// Nothing came from the source in time.
    #[error(
        "{command}: no sample came within {seconds} s; next: see the log, or try `nameplate demo`"
    )]
    NoSample {
        /// Which command.
        command: &'static str,
        /// How long it waited.
        seconds: f64,
    },
    /// An operation of the system failed.
    #[error("{operation} failed: {source}; next: {next}")]
    System {
        /// What was tried, with its place.
        operation: String,
        /// Why it failed.
        #[source]
        source: io::Error,
        /// What to do.
        next: &'static str,
    },
    /// Another process records into the file.
    #[error("{0}")]
    Busy(String),
    /// Something else, as one line.
    #[error("{0}")]
    Failed(String),
    /// The reader of stdout went away: the end of `nameplate stream | head -1`, not a failure.
    #[error("stdout was closed")]
    ClosedPipe,
}

impl CliError {
    /// Exit code (contract.md section 1).
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Usage(_) => 2,
            _ => 1,
        }
    }

    /// A failure to write to stdout.
    #[must_use]
    pub fn writing(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::System {
                operation: "writing to stdout".to_owned(),
                source: error,
                next: "check where the output goes",
            }
        }
    }
}
