//! Live sources: the vendors' libraries in processes of their own, and the host.
//!
//! The screen's process holds [`Live`]: it starts each probe process through [`Reexec`], polls it once an interval over a
//! socket pair ([`wire`]), and yields ticks. The probe process runs [`serve_from_stdin`] around a [`vendor::Vendor`].

pub mod amd;
pub mod ascend;
mod backoff;
pub mod cambricon;
mod clients;
mod clock;
mod drm;
mod dynamic;
mod environment;
pub mod gaudi;
pub mod host;
pub mod host_source;
mod host_worker;
pub mod intel;
mod live;
pub mod nvidia;
pub mod pcie;
mod plausible;
mod process;
mod refusals;
mod report;
mod round;
mod seen;
mod share;
mod supervise;
mod surroundings;
mod sysfs;
mod tool;
mod twofold;
pub mod vendor;
pub mod vendors;
pub mod wire;

#[cfg(test)]
mod tree;

pub(crate) use clock::boot_now;
pub use environment::WithEnvironment;
pub use host::HostProbe;
pub use host_source::HostSource;
pub use live::{Live, LiveOptions};
pub use process::{PathReader, serve, serve_from_stdin};
pub use supervise::{Launch, Launched, ProbeSpec, Reexec};
