//! Columns of a block: whole numbers and readings, without loss, as small as delta, bit packing and runs make them.
//!
//! Everything read here may be damaged: nothing is believed before it was checked, and nothing panics.

use crate::model::{Absent, Reading};

/// Numbers that fit are stored as whole ones divided by the first of these that loses nothing: drivers report
/// milliwatts, hundredths, nanoseconds.
const SCALES: [f64; 7] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9];
/// Numbers that are no such fraction: bit patterns.
const RAW: u8 = 255;
/// Whole numbers beyond this are not exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

const VARINT_DELTA: u8 = 0;
const VARINT_SECOND: u8 = 1;
const PACKED_DELTA: u8 = 2;
const PACKED_SECOND: u8 = 3;
const PACKED_VALUE: u8 = 4;

/// Bytes that make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Broken(pub(super) &'static str);

/// What is left to read of a block.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    #[cfg(test)]
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Broken> {
        let (head, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(Broken("the block ends too early"))?;
        self.0 = rest;
        Ok(head)
    }

    /// All that is left.
    pub(super) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Broken> {
        self.take(1)?
            .first()
            .copied()
            .ok_or(Broken("the block ends too early"))
    }

    pub(super) fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken("a number is too long"))
    }

    /// A count of at most `most`.
    pub(super) fn count(&mut self, most: usize) -> Result<usize, Broken> {
        usize::try_from(self.varint()?)
            .ok()
            .filter(|count| *count <= most)
            .ok_or(Broken("a count is too large"))
    }

    fn word(&mut self) -> Result<u64, Broken> {
        let bytes = self.take(8)?;
        bytes
            .try_into()
            .map(u64::from_le_bytes)
            .map_err(|_| Broken("the block ends too early"))
    }
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

const fn varint_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Differences of each value to the one before, the first to zero.
fn deltas(values: &[i64]) -> Vec<i64> {
    let before = std::iter::once(0).chain(values.iter().copied());
    values
        .iter()
        .zip(before)
        .map(|(v, b)| v.wrapping_sub(b))
        .collect()
}

fn sums(deltas: &mut [i64]) {
    let mut sum = 0_i64;
    for delta in deltas {
        sum = sum.wrapping_add(*delta);
        *delta = sum;
    }
}

/// Writes whole numbers in the smallest of the forms.
pub(super) fn put_ints(out: &mut Vec<u8>, values: &[i64]) {
    let first = deltas(values);
    let second = deltas(&first);
    let varints = |of: &[i64]| of.iter().map(|v| varint_bytes(zigzag(*v))).sum::<usize>();
    let candidates = [
        (VARINT_DELTA, varints(&first)),
        (VARINT_SECOND, varints(&second)),
        (PACKED_DELTA, packed_bytes(&first)),
        (PACKED_SECOND, packed_bytes(&second)),
        (PACKED_VALUE, packed_bytes(values)),
    ];
    let form = candidates
        .iter()
        .min_by_key(|(_, bytes)| *bytes)
        .map_or(VARINT_DELTA, |(form, _)| *form);
    out.push(form);
    match form {
        PACKED_DELTA => pack(out, &first),
        PACKED_SECOND => pack(out, &second),
        PACKED_VALUE => pack(out, values),
        VARINT_SECOND => second.iter().for_each(|v| put_varint(out, zigzag(*v))),
        _ => first.iter().for_each(|v| put_varint(out, zigzag(*v))),
    }
}

/// Reads `count` whole numbers.
pub(super) fn ints(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<i64>, Broken> {
    let form = bytes.byte()?;
    let mut values = match form {
        VARINT_DELTA | VARINT_SECOND => (0..count)
            .map(|_| bytes.varint().map(unzigzag))
            .collect::<Result<Vec<_>, _>>()?,
        PACKED_DELTA | PACKED_SECOND | PACKED_VALUE => unpack(bytes, count)?,
        _ => return Err(Broken("a column has an unknown form")),
    };
    match form {
        VARINT_DELTA | PACKED_DELTA => sums(&mut values),
        VARINT_SECOND | PACKED_SECOND => {
            sums(&mut values);
            sums(&mut values);
        }
        _ => {}
    }
    Ok(values)
}

/// The first value stands alone (a column of differences begins with the value itself), the least of the others next,
/// and how many bits each of them needs above it.
fn packing(values: &[i64]) -> Option<(i64, i64, u32)> {
    let (first, rest) = values.split_first()?;
    let least = rest.iter().copied().min().unwrap_or(0);
    let widest = rest
        .iter()
        .map(|v| v.wrapping_sub(least) as u64)
        .max()
        .unwrap_or(0);
    Some((*first, least, 64 - widest.leading_zeros()))
}

fn packed_bytes(values: &[i64]) -> usize {
    packing(values).map_or(0, |(first, least, bits)| {
        varint_bytes(zigzag(first))
            + varint_bytes(zigzag(least))
            + 1
            + ((values.len() - 1) * bits as usize).div_ceil(8)
    })
}

fn pack(out: &mut Vec<u8>, values: &[i64]) {
    let Some((first, least, bits)) = packing(values) else {
        return;
    };
    put_varint(out, zigzag(first));
    put_varint(out, zigzag(least));
    out.push(bits as u8);
    let (mut held, mut held_bits) = (0_u128, 0_u32);
    for value in values.iter().skip(1) {
        held |= u128::from(value.wrapping_sub(least) as u64) << held_bits;
        held_bits += bits;
        while held_bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            held_bits -= 8;
        }
    }
    if held_bits > 0 {
        out.push(held as u8);
    }
}

fn unpack(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<i64>, Broken> {
    let Some(others) = count.checked_sub(1) else {
        return Ok(Vec::new());
    };
    let first = unzigzag(bytes.varint()?);
    let least = unzigzag(bytes.varint()?);
    let bits = u32::from(bytes.byte()?);
    if bits > 64 {
        return Err(Broken("a column has too many bits"));
    }
    let mut packed = bytes.take((others * bits as usize).div_ceil(8))?.iter();
    let mask = (1_u128 << bits) - 1;
    let (mut held, mut held_bits) = (0_u128, 0_u32);
    let mut values = Vec::with_capacity(count);
    values.push(first);
    for _ in 0..others {
        while held_bits < bits {
            let byte = packed.next().ok_or(Broken("the block ends too early"))?;
            held |= u128::from(*byte) << held_bits;
            held_bits += 8;
        }
        values.push(least.wrapping_add((held & mask) as u64 as i64));
        held >>= bits;
        held_bits -= bits;
    }
    Ok(values)
}

/// The number of a reason in a recording; never given to another one.
const fn code(why: Absent) -> u8 {
    match why {
        Absent::NotSupported => 1,
        Absent::NoPermission => 2,
        Absent::NoLibrary => 3,
        Absent::Lost => 4,
        Absent::TimedOut => 5,
        Absent::Implausible(_) => 6,
        Absent::Stale => 7,
        Absent::NotReported => 8,
        Absent::Transition => 9,
    }
}

fn reason(code: u8, bytes: &mut Bytes<'_>) -> Result<Absent, Broken> {
    Ok(match code {
        1 => Absent::NotSupported,
        2 => Absent::NoPermission,
        3 => Absent::NoLibrary,
        4 => Absent::Lost,
        5 => Absent::TimedOut,
        6 => Absent::Implausible(f64::from_bits(bytes.word()?)),
        7 => Absent::Stale,
        8 => Absent::NotReported,
        9 => Absent::Transition,
        _ => return Err(Broken("a reason is unknown")),
    })
}

/// What a run of readings has in common: zero for values, else why there are none, with the bits of what cannot be.
fn kind(reading: &Reading<f64>) -> (u8, u64) {
    match reading {
        Ok(_) => (0, 0),
        Err(Absent::Implausible(raw)) => (6, raw.to_bits()),
        Err(why) => (code(*why), 0),
    }
}

/// Writes readings: runs of values and reasons, then the values.
pub(super) fn put_readings(out: &mut Vec<u8>, readings: &[Reading<f64>]) {
    let runs = readings.chunk_by(|a, b| kind(a) == kind(b));
    put_varint(out, runs.clone().count() as u64);
    for run in runs {
        let (code, raw) = run.first().map_or((0, 0), kind);
        put_varint(out, run.len() as u64);
        out.push(code);
        if code == 6 {
            out.extend(raw.to_le_bytes());
        }
    }
    let values: Vec<f64> = readings.iter().filter_map(|r| r.ok()).collect();
    if !values.is_empty() {
        put_numbers(out, &values);
    }
}

/// Reads `count` readings.
pub(super) fn readings(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<Reading<f64>>, Broken> {
    let mut all: Vec<Reading<f64>> = Vec::with_capacity(count);
    let mut values = 0;
    for _ in 0..bytes.count(count)? {
        let length = bytes.count(count - all.len())?;
        let reading = match bytes.byte()? {
            0 => {
                values += length;
                Ok(0.0)
            }
            code => Err(reason(code, bytes)?),
        };
        all.resize(all.len() + length, reading);
    }
    if all.len() != count {
        return Err(Broken("a column has too few readings"));
    }
    if values > 0 {
        let slots = all.iter_mut().filter_map(|r| r.as_mut().ok());
        for (slot, number) in slots.zip(numbers(bytes, values)?) {
            *slot = number;
        }
    }
    Ok(all)
}

/// The whole number that gives this value back when divided by the scale.
fn whole(value: f64, scale: f64) -> Option<i64> {
    let whole = Some((value * scale).round())
        .filter(|w| w.abs() < EXACT)
        .map(|w| w as i64)?;
    (whole as f64 / scale)
        .to_bits()
        .eq(&value.to_bits())
        .then_some(whole)
}

fn put_numbers(out: &mut Vec<u8>, values: &[f64]) {
    let scaled = SCALES.iter().enumerate().find_map(|(index, scale)| {
        let wholes: Option<Vec<i64>> = values.iter().map(|v| whole(*v, *scale)).collect();
        wholes.map(|wholes| (index, wholes))
    });
    let Some((index, mut wholes)) = scaled else {
        out.push(RAW);
        let mut before = 0;
        for value in values {
            let changed = value.to_bits() ^ before;
            before = value.to_bits();
            let bytes = 8 - changed.leading_zeros() as usize / 8;
            out.push(bytes as u8);
            out.extend(changed.to_le_bytes().iter().take(bytes));
        }
        return;
    };
    // Memory comes in mebibytes, clocks in steps: the common divisor is stored once.
    let step = wholes
        .iter()
        .fold(0, |a, b| gcd(a, b.unsigned_abs()))
        .max(1);
    wholes.iter_mut().for_each(|w| *w /= step as i64);
    out.push(index as u8);
    put_varint(out, step);
    put_ints(out, &wholes);
}

fn numbers(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<f64>, Broken> {
    let form = bytes.byte()?;
    if form == RAW {
        let mut before = 0_u64;
        return (0..count)
            .map(|_| {
                let length = usize::from(bytes.byte()?).min(9);
                let mut word = [0_u8; 8];
                word.get_mut(..length)
                    .ok_or(Broken("a number is too long"))?
                    .copy_from_slice(bytes.take(length)?);
                before ^= u64::from_le_bytes(word);
                Ok(f64::from_bits(before))
            })
            .collect();
    }
    let scale = SCALES
        .get(usize::from(form))
        .ok_or(Broken("a column has an unknown scale"))?;
    let step = bytes.varint()? as i64;
    let wholes = ints(bytes, count)?;
    Ok(wholes
        .iter()
        .map(|w| w.wrapping_mul(step) as f64 / scale)
        .collect())
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn reading() -> impl Strategy<Value = Reading<f64>> {
        prop_oneof![
            4 => (0..800_000i64).prop_map(|mw| Ok(mw as f64 / 1000.0)),
            2 => (0..80u32).prop_map(|gib| Ok(f64::from(gib) * 1_073_741_824.0)),
            1 => any::<f64>().prop_filter("a number", |v| !v.is_nan()).prop_map(Ok),
            1 => Just(Ok(-0.0)),
            1 => Just(Err(Absent::TimedOut)),
            1 => Just(Err(Absent::NotSupported)),
            1 => any::<f64>().prop_filter("a number", |v| !v.is_nan()).prop_map(|v| Err(Absent::Implausible(v))),
        ]
    }

    proptest! {
        #[test]
        fn whole_numbers_come_back(values in vec(prop_oneof![any::<i64>(), -50..50i64], 0..80)) {
            let mut out = Vec::new();
            put_ints(&mut out, &values);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(ints(&mut bytes, values.len()).unwrap(), values);
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn readings_come_back_to_the_bit(column in vec(reading(), 0..80)) {
            let mut out = Vec::new();
            put_readings(&mut out, &column);
            let mut bytes = Bytes::new(&out);
            let back = readings(&mut bytes, column.len()).unwrap();
            prop_assert!(bytes.is_empty());
            let bits = |all: &[Reading<f64>]| all.iter().map(|r| (kind(r), r.map_or(0, f64::to_bits))).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&column));
        }

        #[test]
        fn any_bytes_are_read_or_refused(noise in vec(any::<u8>(), 0..200), count in 0..500usize) {
            let _ = ints(&mut Bytes::new(&noise), count);
            let _ = readings(&mut Bytes::new(&noise), count);
        }
    }

    #[test]
    fn steady_columns_are_small() {
        let bytes = |column: &[Reading<f64>]| {
            let mut out = Vec::new();
            put_readings(&mut out, column);
            out.len()
        };
        assert!(bytes(&vec![Err(Absent::NotSupported); 300]) <= 4);
        assert!(bytes(&vec![Ok(400.0); 300]) <= 12);
        let counter: Vec<_> = (0..300).map(|n| Ok(f64::from(n) * 1.5e9)).collect();
        assert!(bytes(&counter) <= 20);
    }
}
