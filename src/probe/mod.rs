//! Live sources: the vendors' libraries in processes of their own, and the host.

pub mod host;
pub mod host_source;
pub mod pcie;
pub mod vendor;

#[cfg(test)]
mod tree;
