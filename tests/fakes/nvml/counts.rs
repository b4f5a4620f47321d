//! How often each function was called, for benches and for tests of what a probe asks.
//!
//! Lines `function count` in the file named by `NAMEPLATE_FAKE_NVML_COUNTS`, written once a second (or
//! every `NAMEPLATE_FAKE_NVML_COUNTS_S` seconds, as that costs a fifth of a millisecond) and at shutdown;
//! `max_in_flight` is the most calls that ran at once, `max_gpm_in_flight` the same for GPM calls.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::state::lock;

#[derive(Default)]
struct Counts {
    calls: BTreeMap<&'static str, u64>,
    in_flight: u64,
    gpm_in_flight: u64,
    max_in_flight: u64,
    max_gpm_in_flight: u64,
    written: Option<Instant>,
}

static COUNTS: Mutex<Option<Counts>> = Mutex::new(None);
static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
static EVERY_S: OnceLock<u64> = OnceLock::new();

fn every_s() -> u64 {
    *EVERY_S.get_or_init(|| {
        let text = std::env::var("NAMEPLATE_FAKE_NVML_COUNTS_S").ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(1)
    })
}

/// A call that runs; dropped when it answers.
pub(crate) struct Flight {
    gpm: bool,
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(counts) = lock(&COUNTS).as_mut() {
            counts.in_flight -= 1;
            counts.gpm_in_flight -= u64::from(self.gpm);
        }
    }
}

pub(crate) fn enter(function: &'static str) -> Flight {
    let gpm = function.starts_with("nvmlGpm");
    let mut guard = lock(&COUNTS);
    let counts = guard.get_or_insert_with(Counts::default);
    *counts.calls.entry(function).or_insert(0) += 1;
    counts.in_flight += 1;
    counts.gpm_in_flight += u64::from(gpm);
    counts.max_in_flight = counts.max_in_flight.max(counts.in_flight);
    counts.max_gpm_in_flight = counts.max_gpm_in_flight.max(counts.gpm_in_flight);
    if counts
        .written
        .is_none_or(|at| at.elapsed().as_secs() >= every_s())
    {
        counts.write();
    }
    Flight { gpm }
}

/// GPM calls that run right now.
pub(crate) fn gpm_in_flight() -> u64 {
    lock(&COUNTS).as_ref().map_or(0, |c| c.gpm_in_flight)
}

pub(crate) fn flush() {
    if let Some(counts) = lock(&COUNTS).as_mut() {
        counts.write();
    }
}

impl Counts {
    fn write(&mut self) {
        self.written = Some(Instant::now());
        let path =
            PATH.get_or_init(|| std::env::var_os("NAMEPLATE_FAKE_NVML_COUNTS").map(Into::into));
        let Some(path) = path else {
            return;
        };
        let mut text = String::new();
        for (function, count) in &self.calls {
            let _ = writeln!(text, "{function} {count}");
        }
        let _ = writeln!(text, "max_in_flight {}", self.max_in_flight);
        let _ = writeln!(text, "max_gpm_in_flight {}", self.max_gpm_in_flight);
        // By rename, so that a reader never sees half a file. A failure shows as a missing file.
        let part = path.with_extension("part");
        let _ = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    }
}
