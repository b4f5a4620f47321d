//! The header of an npy file: a Python literal with the kind, the order and the shape of one array.

use super::error::TensorsError;
use super::file::{Tensor, header_bytes, sizes};
use super::kind::Kind;
use std::io::Read;

/// How a file begins.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; one of a plain array has 118 bytes.
const LONGEST: u64 = 64 << 10;

/// The array that follows a header of this version.
pub(super) fn header(source: &mut impl Read, major: u8, file: u64) -> Result<Tensor, TensorsError> {
    // Version 1 has two bytes of length, the later ones four; two have been read of neither.
    let width: u64 = match major {
        1 => 2,
        2 | 3 => 4,
        _ => return TensorsError::refused(format!("npy of version {major} is not read")),
    };
    let length = header_bytes(source, width)?;
    let length = length
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte));
    if length > LONGEST {
        return TensorsError::refused(format!("a header of {length} bytes is too long"));
    }
    let bytes = header_bytes(source, length)?;
    let text = String::from_utf8_lossy(&bytes);
    let Some((descr, fortran, shape)) = literal(&text) else {
        return TensorsError::refused("its header is no npy of a plain array");
    };
    let Some((kind, big_endian)) = kind(descr) else {
        return TensorsError::refused(format!("elements of kind {descr:?} are not read"));
    };
    let begin = 8 + width + length;
    let end = sizes(&shape, kind).and_then(|(_, bytes)| bytes.checked_add(begin));
    if end.is_none_or(|end| end > file) {
        return TensorsError::refused("its array is larger than the file");
    }
    let apart = shape.iter().filter(|side| **side > 1).count();
    Ok(Tensor {
        name: String::new(),
        kind,
        begin,
        big_endian,
        // Along one dimension both orders are the same.
        fortran: fortran && apart > 1,
        shape,
    })
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: each key once, in any order.
fn literal(text: &str) -> Option<(&str, bool, Vec<u64>)> {
    let mut rest = text.trim().strip_prefix('{')?;
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start();
        if let Some(end) = rest.strip_prefix('}') {
            return end.is_empty().then_some((descr?, fortran?, shape?));
        }
        let (key, after) = quoted(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" if descr.is_none() => {
                let (word, after) = quoted(rest)?;
                descr = Some(word);
                after
            }
            "fortran_order" if fortran.is_none() => match rest.strip_prefix("False") {
                Some(after) => {
                    fortran = Some(false);
                    after
                }
                None => {
                    fortran = Some(true);
                    rest.strip_prefix("True")?
                }
            },
            "shape" if shape.is_none() => {
                let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
                shape = Some(numbers(inside)?);
                after
            }
            _ => return None,
        };
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text.get(1..)?.split_once(mark)
}

/// `3, 4` or `3,` or nothing.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    // Python 2 wrote long numbers with an L.
    let number = |word: &str| word.trim().trim_end_matches('L').parse().ok();
    text.split(',').map(number).collect()
}

/// `<f4`, `>i8`, `|b1`: order, letter, bytes.
fn kind(descr: &str) -> Option<(Kind, bool)> {
    let (order, word) = descr.split_at_checked(1)?;
    let kind = match word {
        "f8" => Kind::F64,
        "f4" => Kind::F32,
        "f2" => Kind::F16,
        "i8" => Kind::I64,
        "i4" => Kind::I32,
        "i2" => Kind::I16,
        "i1" => Kind::I8,
        "u8" => Kind::U64,
        "u4" => Kind::U32,
        "u2" => Kind::U16,
        "u1" => Kind::U8,
        "b1" => Kind::Bool,
        _ => return None,
    };
    match order {
        "<" | "=" => Some((kind, false)),
        "|" if kind.bytes() == 1 => Some((kind, false)),
        ">" => Some((kind, true)),
        _ => None,
    }
}
