//! Live sources: the vendors' libraries in processes of their own, and the host.

pub mod nvidia;
pub mod vendor;
