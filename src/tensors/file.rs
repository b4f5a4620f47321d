//! A file of tensors: where each lies, and its bytes.

use super::error::TensorsError;
use super::kind::Kind;
use super::{npy, safetensors};
use std::io::{self, Read, Seek, SeekFrom};

/// One tensor of a file, at a place that was checked against the file's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// As the file names it; empty in a file that names none.
    pub name: String,
    /// What its elements are.
    pub kind: Kind,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Bytes from the begin of the file.
    pub(super) begin: u64,
    /// Most significant byte first.
    pub(super) big_endian: bool,
    /// The first dimension runs fastest.
    pub(super) fortran: bool,
}

impl Tensor {
    /// How many elements it has.
    #[must_use]
    pub fn elements(&self) -> u64 {
        // Checked when the header was read.
        self.shape.iter().product()
    }
}

/// How many elements a shape has, and their bytes.
pub(super) fn sizes(shape: &[u64], kind: Kind) -> Option<(u64, u64)> {
    let elements = shape
        .iter()
        .try_fold(1u64, |n, side| n.checked_mul(*side))?;
    Some((elements, elements.checked_mul(kind.bytes() as u64)?))
}

/// An open file of tensors.
#[derive(Debug)]
pub struct Tensors<R> {
    source: R,
    tensors: Vec<Tensor>,
    /// The tensors have names.
    pub(super) named: bool,
}

impl<R: Read + Seek> Tensors<R> {
    /// Reads the header of a safetensors or npy file.
    ///
    /// # Errors
    /// It is neither, or its header says what cannot be.
    pub fn open(mut source: R) -> Result<Self, TensorsError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let mut first = [0; 8];
        match source.read_exact(&mut first) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return TensorsError::refused("it is neither safetensors nor npy: too short");
            }
            other => other?,
        }
        let named = !first.starts_with(npy::MAGIC);
        let tensors = if named {
            safetensors::header(&mut source, u64::from_le_bytes(first), length)?
        } else {
            let [.., major, _] = first;
            vec![npy::header(&mut source, major, length)?]
        };
        Ok(Self {
            source,
            tensors,
            named,
        })
    }

    /// Its tensors, in the order of their names.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Fills `bytes` from a place of a tensor.
    pub(super) fn read(
        &mut self,
        tensor: &Tensor,
        element: u64,
        bytes: &mut [u8],
    ) -> Result<(), TensorsError> {
        let at = tensor.begin + element * tensor.kind.bytes() as u64;
        self.source.seek(SeekFrom::Start(at))?;
        Ok(self.source.read_exact(bytes)?)
    }
}

/// Exactly so many bytes of a header.
pub(super) fn header_bytes(source: &mut impl Read, length: u64) -> Result<Vec<u8>, TensorsError> {
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        TensorsError::refused("its header ends too early")
    }
}
