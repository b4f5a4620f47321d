//! HLML's return codes, and what each means to a reading.

use crate::model::Absent;
use crate::probe::round::Said;

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The library does not export the call.
    #[error("the library lacks this call")]
    Missing,
    /// The library's own code.
    #[error("{text} (HLML code {0})", text = code_text(*.0))]
    Code(u32),
}

const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
pub(super) const ALREADY_INITIALIZED: u32 = 5;
pub(super) const NOT_FOUND: u32 = 6;
pub(super) const INSUFFICIENT_SIZE: u32 = 7;
pub(super) const DRIVER_NOT_LOADED: u32 = 9;
const TIMEOUT: u32 = 10;
/// As pyhlml has it; the header says 15.
const OLD_LOST: u32 = 11;
const LOST: u32 = 15;
const UNKNOWN: u32 = 49;

impl Fault {
    /// The library's code, where there is one.
    pub(super) fn code(self) -> Option<i32> {
        match self {
            Self::Missing => None,
            Self::Code(code) => i32::try_from(code).ok(),
        }
    }
}

impl Said for Fault {
    fn absent(self) -> Absent {
        match self {
            Self::Missing => Absent::NoLibrary,
            Self::Code(NOT_SUPPORTED) => Absent::NotSupported,
            Self::Code(TIMEOUT) => Absent::TimedOut,
            Self::Code(LOST | OLD_LOST) => Absent::Lost,
            Self::Code(_) => Absent::NotReported,
        }
    }

    fn lost(self) -> bool {
        matches!(self, Self::Code(LOST | OLD_LOST))
    }

    fn dead(self) -> bool {
        matches!(
            self,
            Self::Code(UNINITIALIZED | INVALID_ARGUMENT | DRIVER_NOT_LOADED | UNKNOWN)
        )
    }
}

/// What a code says, in few words.
const fn code_text(code: u32) -> &'static str {
    match code {
        UNINITIALIZED => "not initialized",
        INVALID_ARGUMENT => "invalid argument",
        NOT_SUPPORTED => "not supported",
        NOT_FOUND => "not found",
        INSUFFICIENT_SIZE => "insufficient size",
        DRIVER_NOT_LOADED => "the kernel driver is not loaded",
        TIMEOUT => "timeout",
        LOST | OLD_LOST => "the device is lost",
        UNKNOWN => "unknown error",
        _ => "error",
    }
}
