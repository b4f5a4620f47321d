//! CNDEV's return codes, and what each means to a reading.

use crate::model::Absent;
use crate::probe::round::Said;

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The library does not export the call.
    #[error("the library lacks this call")]
    Missing,
    /// The library's own code.
    #[error("{text} (CNDEV code {0})", text = code_text(*.0))]
    Code(i32),
}

pub(super) const NO_DRIVER: i32 = 1;
pub(super) const LOW_DRIVER: i32 = 2;
pub(super) const API_VERSION: i32 = 3;
const UNINITIALIZED: i32 = 4;
const DEVICE_ID: i32 = 6;
pub(super) const UNKNOWN: i32 = 7;
pub(super) const NO_SPACE: i32 = 9;
const NOT_SUPPORTED: i32 = 10;
const LINK: i32 = 11;
pub(super) const NO_DEVICES: i32 = 12;
pub(super) const NO_PERMISSION: i32 = 13;
const TIME_OUT: i32 = 17;
const IN_PROBLEM: i32 = 18;

impl Fault {
    /// The library's code, where there is one.
    pub(super) const fn code(self) -> Option<i32> {
        match self {
            Self::Missing => None,
            Self::Code(code) => Some(code),
        }
    }
}

impl Said for Fault {
    fn absent(self) -> Absent {
        match self {
            Self::Missing => Absent::NoLibrary,
            Self::Code(API_VERSION | NOT_SUPPORTED) => Absent::NotSupported,
            Self::Code(NO_PERMISSION) => Absent::NoPermission,
            Self::Code(TIME_OUT) => Absent::TimedOut,
            Self::Code(LINK | IN_PROBLEM) => Absent::Lost,
            Self::Code(_) => Absent::NotReported,
        }
    }

    fn lost(self) -> bool {
        matches!(self, Self::Code(LINK | IN_PROBLEM))
    }

    fn dead(self) -> bool {
        matches!(
            self,
            Self::Code(NO_DRIVER | UNINITIALIZED | DEVICE_ID | UNKNOWN)
        )
    }
}

/// What a code says, in few words.
const fn code_text(code: i32) -> &'static str {
    match code {
        NO_DRIVER => "the kernel driver is not loaded",
        LOW_DRIVER => "the kernel driver is too old for the library",
        API_VERSION => "the library knows no such version of the call",
        UNINITIALIZED => "not initialized",
        DEVICE_ID => "no such device",
        UNKNOWN => "unknown error",
        NOT_SUPPORTED => "not supported",
        LINK => "no such link",
        NO_DEVICES => "no device",
        NO_PERMISSION => "no permission",
        TIME_OUT => "timeout",
        IN_PROBLEM => "the device is in trouble",
        _ => "error",
    }
}
