//! What the elements of a tensor are, and how bytes become numbers.

/// The kind of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names that safetensors gives them
pub enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    /// Four bits of exponent, no infinity.
    F8E4m3,
    F8E5m2,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::F8E4m3,
        Self::F8E5m2,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::Bool,
    ];

    /// The name in a safetensors header.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::F8E4m3 => "F8_E4M3",
            Self::F8E5m2 => "F8_E5M2",
            Self::I64 => "I64",
            Self::I32 => "I32",
            Self::I16 => "I16",
            Self::I8 => "I8",
            Self::U64 => "U64",
            Self::U32 => "U32",
            Self::U16 => "U16",
            Self::U8 => "U8",
            Self::Bool => "BOOL",
        }
    }

    /// The kind of a safetensors name.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F8E4m3 | Self::F8E5m2 | Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }

    /// Whole numbers, which are compared exactly.
    pub(super) const fn is_whole(self) -> bool {
        matches!(
            self,
            Self::I64
                | Self::I32
                | Self::I16
                | Self::I8
                | Self::U64
                | Self::U32
                | Self::U16
                | Self::U8
                | Self::Bool
        )
    }

    /// One element's bits, the least significant byte first.
    fn bits(element: &[u8], big_endian: bool) -> u64 {
        let place = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if big_endian {
            element.iter().fold(0, place)
        } else {
            element.iter().rev().fold(0, place)
        }
    }

    /// Elements as floats. Whole numbers of 64 bits lose their last digits.
    pub(super) fn floats(self, bytes: &[u8], big_endian: bool, out: &mut Vec<f64>) {
        out.clear();
        let elements = bytes.chunks_exact(self.bytes());
        let bits = elements.map(|element| Self::bits(element, big_endian));
        match self {
            Self::F64 => out.extend(bits.map(f64::from_bits)),
            Self::F32 => out.extend(bits.map(|b| f64::from(f32::from_bits(b as u32)))),
            Self::F16 => out.extend(bits.map(|b| f16(b as u16))),
            Self::Bf16 => out.extend(bits.map(|b| f64::from(f32::from_bits((b as u32) << 16)))),
            // The upper half of an F16.
            Self::F8E5m2 => out.extend(bits.map(|b| f16((b as u16) << 8))),
            Self::F8E4m3 => out.extend(bits.map(|b| e4m3(b as u8))),
            _ => out.extend(bits.map(|b| self.whole(b) as f64)),
        }
    }

    /// Elements as whole numbers, exactly.
    pub(super) fn wholes(self, bytes: &[u8], big_endian: bool, out: &mut Vec<i128>) {
        out.clear();
        let elements = bytes.chunks_exact(self.bytes());
        out.extend(elements.map(|element| self.whole(Self::bits(element, big_endian))));
    }

    fn whole(self, bits: u64) -> i128 {
        match self {
            Self::I64 => i128::from(bits as i64),
            Self::I32 => i128::from(bits as i32),
            Self::I16 => i128::from(bits as i16),
            Self::I8 => i128::from(bits as i8),
            _ => i128::from(bits),
        }
    }
}

/// Half precision: 1 bit of sign, 5 of exponent, 10 of fraction.
fn f16(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match bits >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-14),
        0x1f if bits & 0x3ff == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// The E4M3 of accelerators: one NaN, no infinity.
fn e4m3(bits: u8) -> f64 {
    let fraction = f64::from(bits & 0x7) / 8.0;
    let magnitude = match bits >> 3 & 0xf {
        0 => fraction * 2f64.powi(-6),
        0xf if bits & 0x7 == 0x7 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 7),
    };
    if bits & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_kind_are_numbers() {
        let one = |kind: Kind, bytes: &[u8]| {
            let mut out = Vec::new();
            kind.floats(bytes, false, &mut out);
            out
        };
        assert_eq!(one(Kind::F64, &1.5f64.to_le_bytes()), [1.5]);
        assert_eq!(
            one(Kind::F32, &(-0.1f32).to_le_bytes()),
            [f64::from(-0.1f32)]
        );
        // 1, the largest, the smallest, minus infinity.
        let halves = [0x00, 0x3c, 0xff, 0x7b, 0x01, 0x00, 0x00, 0xfc];
        let wanted = [1.0, 65504.0, 2f64.powi(-24), f64::NEG_INFINITY];
        assert_eq!(one(Kind::F16, &halves), wanted);
        assert!(one(Kind::F16, &[0x01, 0x7c])[0].is_nan());
        assert_eq!(one(Kind::Bf16, &[0x80, 0x3f, 0x40, 0xc0]), [1.0, -3.0]);
        assert_eq!(
            one(Kind::F8E4m3, &[0x38, 0x7e, 0x01]),
            [1.0, 448.0, 2f64.powi(-9)]
        );
        assert!(one(Kind::F8E4m3, &[0xff])[0].is_nan());
        assert_eq!(one(Kind::F8E5m2, &[0x3c, 0xbc, 0x7b]), [1.0, -1.0, 57344.0]);
        assert_eq!(one(Kind::I8, &[0xff, 0x7f]), [-1.0, 127.0]);
        assert_eq!(one(Kind::U16, &[0xff, 0xff]), [65535.0]);
        assert_eq!(one(Kind::Bool, &[0, 1]), [0.0, 1.0]);
        let mut big = Vec::new();
        Kind::I64.wholes(&[0x80, 0, 0, 0, 0, 0, 0, 0], true, &mut big);
        assert_eq!(big, [i128::from(i64::MIN)]);
    }
}
