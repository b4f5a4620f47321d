//! Why a file of tensors is not read.

use std::io;

/// Why a file of tensors is not read, as one line without its name.
#[derive(Debug, thiserror::Error)]
pub enum TensorsError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not in its form.
    #[error("{0}")]
    Refused(String),
}

impl TensorsError {
    pub(super) fn refused<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Self::Refused(what.into()))
    }
}
