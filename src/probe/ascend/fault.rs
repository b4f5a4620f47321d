//! DCMI's return codes, and what each means to a reading.

use crate::model::Absent;

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The library does not export the call.
    #[error("the library lacks this call")]
    Missing,
    /// Another call hangs in the library, and this one did not get its turn.
    #[error("another call into the library does not come back")]
    Busy,
    /// It worked, and said that there are so many of what it lists, which cannot be.
    #[error("a count of {0}, which cannot be")]
    Count(i32),
    /// The library's own code.
    #[error("{text} (DCMI code {0})", text = code_text(*.0))]
    Code(i32),
}

pub(super) const NO_PERMISSION: i32 = -8002;
pub(super) const INNER: i32 = -8005;
pub(super) const TIMEOUT: i32 = -8006;
pub(super) const BAD_ID: i32 = -8007;
pub(super) const DEVICE_NOT_THERE: i32 = -8008;
pub(super) const NOT_READY: i32 = -8012;
pub(super) const NOT_IN_CONTAINER: i32 = -8013;
pub(super) const OCCUPIED: i32 = -8020;
pub(super) const NOT_SUPPORTED: i32 = -8255;

impl Fault {
    /// The reason that a reading shows.
    pub(super) const fn absent(self) -> Absent {
        match self {
            Self::Missing => Absent::NoLibrary,
            Self::Busy => Absent::TimedOut,
            Self::Count(count) => Absent::Implausible(count as f64),
            Self::Code(code) => match code {
                NOT_SUPPORTED => Absent::NotSupported,
                NO_PERMISSION => Absent::NoPermission,
                TIMEOUT => Absent::TimedOut,
                BAD_ID | DEVICE_NOT_THERE | NOT_READY => Absent::Lost,
                _ => Absent::NotReported,
            },
        }
    }

    /// Whether the same question gets the same answer for a while. "Not in a container" is also how the driver says that a
    /// device is busy, so that no answer lasts for ever.
    pub(super) const fn lasting(self) -> bool {
        matches!(
            self,
            Self::Missing | Self::Code(NOT_SUPPORTED | NO_PERMISSION | NOT_IN_CONTAINER)
        )
    }

    /// Whether the device itself is gone, if it answers nothing else either.
    pub(super) const fn lost(self) -> bool {
        matches!(self, Self::Code(BAD_ID | DEVICE_NOT_THERE | NOT_READY))
    }

    /// The driver's code, where there is one.
    pub(super) const fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Missing | Self::Busy | Self::Count(_) => None,
        }
    }
}

/// Zero or a fault.
pub(super) const fn check(code: i32) -> Result<(), Fault> {
    match code {
        0 => Ok(()),
        code => Err(Fault::Code(code)),
    }
}

/// The header's names, in words.
const fn code_text(code: i32) -> &'static str {
    match code {
        -8001 => "invalid parameter",
        NO_PERMISSION => "no permission",
        -8003 => "memory operation failed",
        -8004 => "secure function failed",
        INNER => "inner error",
        TIMEOUT => "time-out",
        BAD_ID => "invalid device id",
        DEVICE_NOT_THERE => "the device is not there",
        -8009 => "ioctl failed",
        -8010 => "sending a message failed",
        -8011 => "receiving a message failed",
        NOT_READY => "the device is not ready",
        NOT_IN_CONTAINER => "not in a container, or busy",
        -8014 => "file operation failed",
        -8015 | -8016 => "the device is being reset",
        -8017 => "the device is being upgraded",
        OCCUPIED => "the device is occupied",
        -8022 => "only some resources are there",
        -8023 => "no such configuration",
        NOT_SUPPORTED => "not supported",
        _ => "unknown error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart() {
        for (code, absent, lasting, lost) in [
            (NOT_SUPPORTED, Absent::NotSupported, true, false),
            (NO_PERMISSION, Absent::NoPermission, true, false),
            (NOT_IN_CONTAINER, Absent::NotReported, true, false),
            (TIMEOUT, Absent::TimedOut, false, false),
            (NOT_READY, Absent::Lost, false, true),
            (DEVICE_NOT_THERE, Absent::Lost, false, true),
            (INNER, Absent::NotReported, false, false),
            (-1, Absent::NotReported, false, false),
        ] {
            let fault = Fault::Code(code);
            assert_eq!(
                (fault.absent(), fault.lasting(), fault.lost()),
                (absent, lasting, lost),
                "{code}"
            );
        }
        assert_eq!(Fault::Busy.absent(), Absent::TimedOut);
        assert_eq!(
            Fault::Code(INNER).to_string(),
            "inner error (DCMI code -8005)"
        );
    }
}
