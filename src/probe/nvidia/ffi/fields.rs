//! `nvmlDeviceGetFieldValues`: many values in one call, each with its own type and return code.

use super::{Fault, Handle, Library, call};
use crate::probe::nvidia::fault::UNKNOWN;
use nvml_wrapper_sys::bindings as sys;

/// One field to ask for: its number as this driver means it, and its scope (link, module, or 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct FieldQuery {
    pub(in super::super) id: u32,
    pub(in super::super) scope: u32,
}

/// A field's number with the type that the driver gave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum FieldNumber {
    Float(f64),
    /// With its width in bits.
    Unsigned(u64, u32),
    Signed(i64, u32),
}

impl FieldNumber {
    /// As a whole number that is never negative. Signed types of a counter are read as what they are.
    pub(in super::super) fn unsigned(self) -> Option<u64> {
        match self {
            Self::Float(f) if f >= 0.0 && f.is_finite() => Some(f as u64),
            Self::Float(_) => None,
            Self::Unsigned(u, _) => Some(u),
            Self::Signed(i, _) => u64::try_from(i).ok(),
        }
    }

    /// As a signed number: which type a driver uses for negative values is not written down, so an unsigned
    /// one is read as two's complement of its width.
    pub(in super::super) fn signed(self) -> Option<i64> {
        match self {
            Self::Float(f) if f.is_finite() => Some(f as i64),
            Self::Float(_) => None,
            Self::Unsigned(u, 32) => Some(i64::from((u as u32).cast_signed())),
            Self::Unsigned(u, 16) => Some(i64::from((u as u16).cast_signed())),
            Self::Unsigned(u, _) => Some(u.cast_signed()),
            Self::Signed(i, _) => Some(i),
        }
    }

    /// Width of the type in bits: the modulus of a counter that wraps.
    pub(in super::super) const fn bits(self) -> u32 {
        match self {
            Self::Float(_) => 64,
            Self::Unsigned(_, bits) | Self::Signed(_, bits) => bits,
        }
    }

    /// As it came, for the reader.
    pub(in super::super) fn raw(self) -> f64 {
        match self {
            Self::Float(f) => f,
            Self::Unsigned(u, _) => u as f64,
            Self::Signed(i, _) => i as f64,
        }
    }
}

fn number(value: &sys::nvmlFieldValue_t) -> Result<FieldNumber, Fault> {
    if value.nvmlReturn != 0 {
        return Err(Fault::Code(value.nvmlReturn));
    }
    let raw = value.value;
    // A `c_ulong` has 32 bits on some targets.
    #[allow(clippy::unnecessary_cast)]
    // SAFETY: all members of the union are plain numbers, whose every bit pattern is a value; the whole union
    // was zeroed before the call, so no byte is uninitialised.
    unsafe {
        Ok(match value.valueType {
            0 => FieldNumber::Float(raw.dVal),
            1 => FieldNumber::Unsigned(u64::from(raw.uiVal), 32),
            2 => FieldNumber::Unsigned(raw.ulVal as u64, std::ffi::c_ulong::BITS),
            3 => FieldNumber::Unsigned(raw.ullVal, 64),
            4 => FieldNumber::Signed(raw.sllVal, 64),
            5 => FieldNumber::Signed(i64::from(raw.siVal), 32),
            6 => FieldNumber::Unsigned(u64::from(raw.usVal), 16),
            _ => return Err(Fault::Code(UNKNOWN)),
        })
    }
}

impl Library {
    /// The fields' answers, in the order of the questions.
    ///
    /// # Errors
    /// Why the whole call failed.
    pub(in super::super) fn fields(
        &self,
        Handle(device): Handle,
        queries: &[FieldQuery],
    ) -> Result<Vec<Result<FieldNumber, Fault>>, Fault> {
        let mut values: Vec<sys::nvmlFieldValue_t> = queries
            .iter()
            .map(|query| sys::nvmlFieldValue_t {
                fieldId: query.id,
                scopeId: query.scope,
                timestamp: 0,
                latencyUsec: 0,
                valueType: 0,
                // Stays where a driver passes a field over.
                nvmlReturn: UNKNOWN,
                value: sys::nvmlValue_t { ullVal: 0 },
            })
            .collect();
        let count = i32::try_from(values.len()).unwrap_or(i32::MAX);
        call!(
            self,
            nvmlDeviceGetFieldValues(device, count, values.as_mut_ptr())
        )?;
        Ok(values.iter().map(number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(kind: u32, value: sys::nvmlValue_t) -> Result<FieldNumber, Fault> {
        number(&sys::nvmlFieldValue_t {
            fieldId: 0,
            scopeId: 0,
            timestamp: 0,
            latencyUsec: 0,
            valueType: kind,
            nvmlReturn: 0,
            value,
        })
    }

    #[test]
    fn every_type_is_read() {
        let minus_eight = u64::from((-8_i32).cast_unsigned());
        for (kind, value, signed, bits) in [
            (0, sys::nvmlValue_t { dVal: 3.0 }, 3, 64),
            (
                1,
                sys::nvmlValue_t {
                    ullVal: minus_eight,
                },
                -8,
                32,
            ),
            (2, sys::nvmlValue_t { ullVal: 7 }, 7, 64),
            (3, sys::nvmlValue_t { ullVal: 9 }, 9, 64),
            (4, sys::nvmlValue_t { sllVal: -2 }, -2, 64),
            (
                5,
                sys::nvmlValue_t {
                    ullVal: minus_eight,
                },
                -8,
                32,
            ),
            (6, sys::nvmlValue_t { ullVal: 65_533 }, -3, 16),
        ] {
            let number = decoded(kind, value).unwrap_or(FieldNumber::Float(f64::NAN));
            assert_eq!(number.signed(), Some(signed), "type {kind}");
            assert_eq!(number.bits(), bits, "type {kind}");
        }
        assert!(decoded(7, sys::nvmlValue_t { ullVal: 1 }).is_err());
    }

    #[test]
    fn counters_never_turn_negative() {
        assert_eq!(
            FieldNumber::Unsigned(4_294_967_288, 32).unsigned(),
            Some(4_294_967_288)
        );
        assert_eq!(FieldNumber::Signed(-8, 32).unsigned(), None);
        assert_eq!(FieldNumber::Float(f64::NAN).unsigned(), None);
    }
}
