//! The header of a safetensors file: eight bytes of length, then JSON with each tensor's kind, shape and place.

use super::error::TensorsError;
use super::file::{Tensor, header_bytes, sizes};
use super::kind::Kind;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::io::Read;

/// Longest header that is read. The format allows 100 MB; models with thousands of tensors have one or two.
const LONGEST: u64 = 32 << 20;
/// What a header may have beside tensors.
const METADATA: &str = "__metadata__";

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// All entries in the header's order; a name that comes twice stays twice.
struct Entries(Vec<(String, Entry)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        entries.push((name, map.next_value()?));
                    }
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// The tensors that a header of `length` bytes names, in the order of their names.
pub(super) fn header(
    source: &mut impl Read,
    length: u64,
    file: u64,
) -> Result<Vec<Tensor>, TensorsError> {
    let Some(data) = length.checked_add(8).filter(|end| *end <= file) else {
        return TensorsError::refused(format!(
            "it is neither safetensors nor npy: a header of {length} bytes does not fit into {file}"
        ));
    };
    if length > LONGEST {
        return TensorsError::refused(format!("a header of {length} bytes is too long"));
    }
    let bytes = header_bytes(source, length)?;
    let Entries(entries) = serde_json::from_slice(&bytes)
        .or_else(|error| TensorsError::refused(format!("its header is no safetensors: {error}")))?;
    let mut places = Vec::with_capacity(entries.len());
    let mut tensors = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let (tensor, end) = placed(name, entry, data, file)?;
        if tensor.begin < end {
            places.push((tensor.begin, end));
        }
        tensors.push(tensor);
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return TensorsError::refused("two of its tensors overlap");
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(twice) = tensors.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return TensorsError::refused(format!("tensor {:?} is in it twice", twice[0].name));
    }
    Ok(tensors)
}

/// A tensor at its place in the file, and where it ends.
fn placed(name: String, entry: Entry, data: u64, file: u64) -> Result<(Tensor, u64), TensorsError> {
    let refused = |what: &str| TensorsError::refused(format!("tensor {name:?}: {what}"));
    let Some(kind) = Kind::of_word(&entry.dtype) else {
        return refused(&format!("elements of kind {:?} are not read", entry.dtype));
    };
    let Some((_, bytes)) = sizes(&entry.shape, kind) else {
        return refused("its shape is larger than any file");
    };
    let [begin, end] = entry.data_offsets;
    let span = end.checked_sub(begin);
    let places = begin.checked_add(data).zip(end.checked_add(data));
    let Some((begin, end)) = places.filter(|(_, end)| *end <= file) else {
        return refused("it lies outside the file");
    };
    if span != Some(bytes) {
        return refused(&format!(
            "its shape takes {bytes} bytes, its place has others"
        ));
    }
    let tensor = Tensor {
        name,
        kind,
        shape: entry.shape,
        begin,
        big_endian: false,
        fortran: false,
    };
    Ok((tensor, end))
}
