//! One open device.

use super::fault::{Fault, UNKNOWN};
use super::ffi::{Field, Library};
use crate::model::{Absent, Device, Reading};
use crate::probe::round::{Refused, Round, Said as _};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// An open device.
pub(super) struct Unit {
    pub(super) device: Arc<Device>,
    pub(super) library: Arc<Library>,
    pub(super) handle: i32,
    /// Its power and cap are those of a board that it shares.
    pub(super) shares_power: bool,
    /// MLU-Link ports, once counted.
    pub(super) ports: AtomicU32,
    pub(super) refused: Refused,
}

/// A field's number with the type that the library gave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Float(f64),
    Unsigned(u64),
    Signed(i64),
}

impl Number {
    /// What an element says, read by its own type.
    pub(super) fn of(field: &Field) -> Result<Self, Fault> {
        let low = field.value as u32;
        match (field.code, field.kind) {
            (0, 0) => Ok(Self::Float(f64::from_bits(field.value))),
            (0, 1) => Ok(Self::Unsigned(low.into())),
            (0, 2 | 3) => Ok(Self::Unsigned(field.value)),
            (0, 4) => Ok(Self::Signed(low.cast_signed().into())),
            (0, 5 | 6) => Ok(Self::Signed(field.value.cast_signed())),
            (0, _) => Err(Fault::Code(UNKNOWN)),
            (code, _) => Err(Fault::Code(code)),
        }
    }

    /// As a signed whole number.
    pub(super) fn whole(self) -> Reading<i64> {
        match self {
            Self::Float(f) if f.is_finite() => Ok(f as i64),
            Self::Float(_) => Err(Absent::Implausible(0.0)),
            Self::Unsigned(u) => i64::try_from(u).map_err(|_| Absent::Implausible(u as f64)),
            Self::Signed(i) => Ok(i),
        }
    }
}

impl Unit {
    /// Several fields; the answers in the order of the questions.
    pub(super) fn fields(
        &self,
        round: &Round<'_>,
        question: &'static str,
        ids: &[i32],
    ) -> Vec<Reading<Number>> {
        match round.ask(question, || self.library.fields(self.handle, ids)) {
            Ok(fields) => fields
                .iter()
                .map(|field| Number::of(field).map_err(Fault::absent))
                .collect(),
            Err(why) => vec![Err(why); ids.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_by_its_type() {
        let field = |kind, value, code| Field {
            id: 70,
            code,
            value,
            kind,
            latency: 0,
            timestamp: 0,
            scope: 0,
        };
        for (kind, value, number) in [
            (0, 42.5_f64.to_bits(), Number::Float(42.5)),
            (1, 0xFFFF_FFFF_0000_0007, Number::Unsigned(7)),
            (2, u64::MAX, Number::Unsigned(u64::MAX)),
            (4, 0x0000_0000_FFFF_FFFF, Number::Signed(-1)),
            (6, u64::MAX, Number::Signed(-1)),
        ] {
            assert_eq!(Number::of(&field(kind, value, 0)), Ok(number), "{kind}");
        }
        assert_eq!(Number::of(&field(9, 1, 0)), Err(Fault::Code(UNKNOWN)));
        assert_eq!(Number::of(&field(0, 1, 10)), Err(Fault::Code(10)));
        assert_eq!(
            Number::Float(f64::NAN).whole(),
            Err(Absent::Implausible(0.0))
        );
    }
}
