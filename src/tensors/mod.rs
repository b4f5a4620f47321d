//! Tensors that two jobs wrote: how far they are from each other, read in pieces so that memory stays flat.
//!
//! Two formats are read: safetensors (names, kinds and places in a JSON header) and npy (one array). What a header says is
//! checked against the file before anything is believed.

mod compare;
mod error;
mod file;
mod kind;
mod npy;
mod safetensors;

#[cfg(test)]
mod tests;

pub use compare::compare;
pub use error::TensorsError;
pub use file::{Tensor, Tensors};
pub use kind::Kind;
