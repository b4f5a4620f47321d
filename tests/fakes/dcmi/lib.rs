//! A fake `libdcmi.so` at the C ABI, with the layouts of the vendor's header a second time, so that a mistake in the probe's
//! shows. Beside what `small` reads: `generation` (2 for an Ascend 950's calls), `driver_version`, `dcmi_version`; of each
//! device `card` and `chip`, and the values that `calls` names.
//!
//! Before `dcmi_init` every call is an inner error (-8005), and two calls at once are an invalid parameter (-8001): the library
//! is not documented as thread-safe.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::missing_safety_doc)]

mod calls;
#[path = "../small/mod.rs"]
#[allow(dead_code, reason = "each library uses its part")]
mod small;
mod state;
mod traffic;
