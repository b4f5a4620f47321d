//! NVML's return codes, and what each means to a reading.

use crate::model::Absent;
use nvml_wrapper::error::NvmlError;

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The library does not export the call.
    #[error("the library lacks this call")]
    Missing,
    /// The library's own code.
    #[error("{text} (NVML code {0})", text = code_text(*.0))]
    Code(u32),
}

pub(super) const UNINITIALIZED: u32 = 1;
pub(super) const INVALID_ARGUMENT: u32 = 2;
pub(super) const NOT_SUPPORTED: u32 = 3;
pub(super) const NO_PERMISSION: u32 = 4;
pub(super) const NOT_FOUND: u32 = 6;
pub(super) const INSUFFICIENT_SIZE: u32 = 7;
pub(super) const DRIVER_NOT_LOADED: u32 = 9;
pub(super) const TIMEOUT: u32 = 10;
pub(super) const LIBRARY_NOT_FOUND: u32 = 12;
pub(super) const FUNCTION_NOT_FOUND: u32 = 13;
pub(super) const GPU_IS_LOST: u32 = 15;
pub(super) const RESET_REQUIRED: u32 = 16;
pub(super) const OPERATING_SYSTEM: u32 = 17;
pub(super) const LIB_RM_VERSION_MISMATCH: u32 = 18;
pub(super) const ARGUMENT_VERSION_MISMATCH: u32 = 25;
pub(super) const DEPRECATED: u32 = 26;
pub(super) const UNKNOWN: u32 = 999;

impl Fault {
    /// The reason that a reading shows.
    pub(super) const fn absent(self) -> Absent {
        match self {
            Self::Missing => Absent::NoLibrary,
            Self::Code(code) => match code {
                NOT_SUPPORTED | FUNCTION_NOT_FOUND | ARGUMENT_VERSION_MISMATCH | DEPRECATED => {
                    Absent::NotSupported
                }
                NO_PERMISSION | OPERATING_SYSTEM => Absent::NoPermission,
                TIMEOUT => Absent::TimedOut,
                GPU_IS_LOST | RESET_REQUIRED => Absent::Lost,
                _ => Absent::NotReported,
            },
        }
    }

    /// Whether the same question gets the same answer until the library is opened anew.
    pub(super) const fn lasting(self) -> bool {
        matches!(
            self,
            Self::Missing
                | Self::Code(
                    NOT_SUPPORTED | FUNCTION_NOT_FOUND | ARGUMENT_VERSION_MISMATCH | DEPRECATED
                )
        )
    }

    /// Whether the device itself is gone.
    pub(super) const fn lost(self) -> bool {
        matches!(self, Self::Code(GPU_IS_LOST | RESET_REQUIRED))
    }

    /// Whether the session or the handle is dead, if nothing else answers either. One call alone may well say
    /// "unknown error" on a healthy device.
    pub(super) const fn dead_session(self) -> bool {
        matches!(
            self,
            Self::Code(
                UNINITIALIZED
                    | INVALID_ARGUMENT
                    | DRIVER_NOT_LOADED
                    | LIB_RM_VERSION_MISMATCH
                    | UNKNOWN
            )
        )
    }

    /// The driver's code, where there is one.
    pub(super) fn code(self) -> Option<i32> {
        match self {
            Self::Missing => None,
            Self::Code(code) => i32::try_from(code).ok(),
        }
    }
}

impl From<NvmlError> for Fault {
    /// Back to the library's code: the wrapper's names are one to one, and codes without a name keep their number.
    fn from(error: NvmlError) -> Self {
        use NvmlError as E;
        let code = match error {
            E::FailedToLoadSymbol(_) | E::LibloadingError(_) => return Self::Missing,
            E::UnexpectedVariant(code) => code,
            E::Uninitialized => UNINITIALIZED,
            E::InvalidArg => INVALID_ARGUMENT,
            E::NotSupported => NOT_SUPPORTED,
            E::NoPermission => NO_PERMISSION,
            #[allow(deprecated)]
            E::AlreadyInitialized => 5,
            E::NotFound => NOT_FOUND,
            E::InsufficientSize(_) => INSUFFICIENT_SIZE,
            E::InsufficientPower => 8,
            E::DriverNotLoaded => DRIVER_NOT_LOADED,
            E::Timeout => TIMEOUT,
            E::IrqIssue => 11,
            E::LibraryNotFound => LIBRARY_NOT_FOUND,
            E::FunctionNotFound => FUNCTION_NOT_FOUND,
            E::CorruptedInfoROM => 14,
            E::GpuLost => GPU_IS_LOST,
            E::ResetRequired => RESET_REQUIRED,
            E::OperatingSystem => OPERATING_SYSTEM,
            E::LibRmVersionMismatch => LIB_RM_VERSION_MISMATCH,
            E::InUse => 19,
            E::InsufficientMemory => 20,
            E::NoData => 21,
            E::VgpuEccNotSupported => 22,
            // The wrapper's own complaints, about texts and arguments.
            E::Unknown
            | E::Utf8Error(_)
            | E::NulError(_)
            | E::StringTooLong { .. }
            | E::IncorrectBits(_)
            | E::SetReleaseFailed
            | E::GetPciInfoFailed
            | E::PciInfoToCFailed => UNKNOWN,
        };
        Self::Code(code)
    }
}

/// What a code says, in few words.
const fn code_text(code: u32) -> &'static str {
    match code {
        UNINITIALIZED => "not initialized",
        INVALID_ARGUMENT => "invalid argument",
        NOT_SUPPORTED => "not supported",
        NO_PERMISSION => "no permission",
        NOT_FOUND => "not found",
        INSUFFICIENT_SIZE => "insufficient size",
        DRIVER_NOT_LOADED => "the kernel driver is not loaded",
        TIMEOUT => "timeout",
        LIBRARY_NOT_FOUND => "a library of the driver was not found",
        FUNCTION_NOT_FOUND => "the driver is older than the call",
        GPU_IS_LOST => "the device has fallen off the bus",
        RESET_REQUIRED => "the device needs a reset",
        OPERATING_SYSTEM => "the operating system blocked the device",
        LIB_RM_VERSION_MISMATCH => "driver and library versions differ",
        ARGUMENT_VERSION_MISMATCH => "argument version mismatch",
        DEPRECATED => "the call was withdrawn",
        UNKNOWN => "unknown error",
        _ => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_is_lost_on_the_way_through_the_wrapper() {
        for code in (1..=30).chain([999]) {
            let through = Fault::from(NvmlError::from(code));
            assert_eq!(through, Fault::Code(code));
        }
    }

    #[test]
    fn each_code_has_its_reason() {
        for (fault, absent, lasting) in [
            (Fault::Missing, Absent::NoLibrary, true),
            (Fault::Code(NOT_SUPPORTED), Absent::NotSupported, true),
            (Fault::Code(DEPRECATED), Absent::NotSupported, true),
            (Fault::Code(FUNCTION_NOT_FOUND), Absent::NotSupported, true),
            (Fault::Code(NO_PERMISSION), Absent::NoPermission, false),
            (Fault::Code(GPU_IS_LOST), Absent::Lost, false),
            (Fault::Code(RESET_REQUIRED), Absent::Lost, false),
            (Fault::Code(UNKNOWN), Absent::NotReported, false),
            (Fault::Code(27), Absent::NotReported, false),
        ] {
            assert_eq!(fault.absent(), absent, "{fault}");
            assert_eq!(fault.lasting(), lasting, "{fault}");
        }
        assert!(Fault::Code(UNKNOWN).dead_session());
        assert!(!Fault::Code(UNKNOWN).lost());
        assert_eq!(
            Fault::Code(UNKNOWN).to_string(),
            "unknown error (NVML code 999)"
        );
    }
}
