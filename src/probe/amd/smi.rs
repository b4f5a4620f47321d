//! `amd-smi`, for systems whose /sys shows no card though the compute driver is there. It takes seconds to start, so that a
//! thread runs it every few seconds, and a tick in between has no new values.

use crate::model::{Absent, Metric, PciAddress, Reading, Readings};
use crate::probe::sysfs::{CELSIUS, MEGAHERTZ, MEMORY, PERCENT, WATTS, unless_zero, within};
use crate::probe::tool;
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the tool is run.
const EVERY: Duration = Duration::from_secs(5);
/// A run that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the tool says once: identity and limits.
const STATIC: &[&str] = &["static", "--json"];
/// What it says again and again: power, temperature, use, memory, clocks, link.
const METRICS: &[&str] = &["metric", "-p", "-t", "-u", "-m", "-c", "-P", "--json"];

/// A card as the tool lists it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    /// The tool's number.
    pub(super) gpu: u64,
    /// Its name.
    pub(super) name: Option<String>,
    /// Where it is.
    pub(super) address: Option<PciAddress>,
    /// PCI device id.
    pub(super) id: Option<u16>,
    /// Limits and thresholds.
    pub(super) limits: Readings,
}

/// The entries of the tool's document: a list, since ROCm 7 inside `gpu_data`. Lines may stand before it.
fn entries(text: &str) -> Vec<Json> {
    let begin = text
        .lines()
        .map(|line| line.as_ptr() as usize - text.as_ptr() as usize)
        .find(|at| text[*at..].trim_start().starts_with(['[', '{']));
    let Some(body) = begin.and_then(|at| text.get(at..)) else {
        return Vec::new();
    };
    // The document may have something behind it as well.
    let mut documents = serde_json::Deserializer::from_str(body).into_iter::<Json>();
    match documents.next() {
        Some(Ok(Json::Array(list))) => list,
        Some(Ok(Json::Object(mut object))) => match object.remove("gpu_data") {
            Some(Json::Array(list)) => list,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A number: plain, as text, or with its unit (`{"value": 140, "unit": "W"}`); else why there is none.
fn number(value: Option<&Json>) -> Reading<f64> {
    match value {
        Some(Json::Object(pair)) => number(pair.get("value")),
        Some(Json::Number(n)) => n.as_f64().ok_or(Absent::NotReported),
        Some(Json::String(text)) if text == "N/A" => Err(Absent::NotSupported),
        Some(Json::String(text)) if text.contains("NO_PERM") => Err(Absent::NoPermission),
        Some(Json::String(text)) => {
            let number = text.trim().parse::<f64>().ok();
            number.filter(|n| n.is_finite()).ok_or(Absent::NotReported)
        }
        _ => Err(Absent::NotSupported),
    }
}

/// The unit that stands beside a number.
fn unit(value: Option<&Json>) -> &str {
    value.and_then(|v| v.get("unit")?.as_str()).unwrap_or("")
}

/// What stands at a path of names.
fn at<'a>(entry: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.')
        .try_fold(entry, |value, name| value.get(name))
}

/// The first of several places that has a number, else the first reason that says more than "no such value".
fn first(entry: &Json, paths: &[&str]) -> Reading<f64> {
    let mut why = Absent::NotSupported;
    for path in paths {
        match number(at(entry, path)) {
            Ok(number) => return Ok(number),
            Err(Absent::NotSupported) => {}
            Err(other) => why = other,
        }
    }
    Err(why)
}

/// The cards of `amd-smi static`, with their limits.
pub(super) fn listed(text: &str) -> Vec<Listed> {
    let word = |entry: &Json, path: &str| {
        let text = at(entry, path)?.as_str()?;
        let text = crate::text::clean(text);
        let text = text.trim();
        (!text.is_empty() && text != "N/A").then(|| text.to_owned())
    };
    let id = |text: String| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    entries(text)
        .iter()
        .filter_map(|entry| {
            Some(Listed {
                gpu: entry.get("gpu")?.as_u64()?,
                name: word(entry, "asic.market_name"),
                address: word(entry, "bus.bdf").and_then(|bdf| bdf.parse().ok()),
                id: word(entry, "asic.device_id").and_then(id),
                limits: limits(entry),
            })
        })
        .collect()
}

/// Limits in the three shapes that versions give them, and thresholds.
fn limits(entry: &Json) -> Readings {
    let mut readings = Readings::absent(Absent::NotSupported);
    let watts = |paths| {
        first(entry, paths)
            .and_then(unless_zero)
            .and_then(|w| within(w, 1.0, &WATTS))
    };
    let degrees = |paths| first(entry, paths).and_then(|c| within(c, 1.0, &CELSIUS));
    for (metric, reading) in [
        (
            Metric::LimitEnforced,
            watts(&[
                "limit.ppt0.socket_power_limit",
                "limit.socket_power",
                "limit.current_power",
            ]),
        ),
        (
            Metric::LimitMax,
            watts(&["limit.ppt0.max_power_limit", "limit.max_power"]),
        ),
        (
            Metric::LimitMin,
            watts(&["limit.ppt0.min_power_limit", "limit.min_power"]),
        ),
        (
            Metric::ThresholdSlowdown,
            degrees(&["limit.slowdown_hotspot_temperature"]),
        ),
        (
            Metric::ThresholdShutdown,
            degrees(&["limit.shutdown_hotspot_temperature"]),
        ),
        (
            Metric::ThresholdMemoryMax,
            degrees(&["limit.slowdown_vram_temperature"]),
        ),
    ] {
        readings.set(metric, reading);
    }
    readings
}

/// The readings of `amd-smi metric`, by the tool's number.
pub(super) fn readings(text: &str) -> HashMap<u64, Readings> {
    let all = entries(text);
    let numbered = all
        .iter()
        .filter_map(|entry| Some((entry.get("gpu")?.as_u64()?, reading(entry))));
    numbered.collect()
}

fn reading(entry: &Json) -> Readings {
    let mut readings = Readings::absent(Absent::NotSupported);
    let share = |path| {
        first(entry, &[path])
            .and_then(|p| within(p, 1.0, &PERCENT))
            .map(|p| p / 100.0)
    };
    let degrees = |paths| first(entry, paths).and_then(|c| within(c, 1.0, &CELSIUS));
    let clock = |path| first(entry, &[path]).and_then(|c| within(c, 1.0, &MEGAHERTZ));
    // Megabytes are 2^20 bytes there: 196592 of an MI300X.
    let bytes = |path| first(entry, &[path]).and_then(|mb| within(mb * 1_048_576.0, 1.0, &MEMORY));
    let power = first(
        entry,
        &[
            "power.socket_power",
            "power.current_socket_power",
            "power.average_socket_power",
        ],
    );
    let width = first(entry, &["pcie.width"]).ok().filter(|w| *w > 0.0);
    let speed = at(entry, "pcie.speed").filter(|speed| unit(Some(speed)) == "GT/s");
    let generation = number(speed).ok().and_then(|speed| {
        let speeds = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
        speeds.iter().position(|known| (speed - known).abs() < 0.01)
    });
    for (metric, reading) in [
        (
            Metric::PowerUsage,
            power
                .and_then(unless_zero)
                .and_then(|w| within(w, 1.0, &WATTS)),
        ),
        (
            Metric::CoreTemperature,
            degrees(&["temperature.hotspot", "temperature.edge"]),
        ),
        (Metric::MemoryTemperature, degrees(&["temperature.mem"])),
        (Metric::Utilization, share("usage.gfx_activity")),
        (Metric::MemoryActivity, share("usage.umc_activity")),
        (Metric::SmClock, clock("clock.gfx_0.clk")),
        (Metric::MemoryClock, clock("clock.mem_0.clk")),
        (Metric::MemoryUsed, bytes("mem_usage.used_vram")),
        (Metric::MemoryTotal, bytes("mem_usage.total_vram")),
        (Metric::PcieWidthAfter, width.ok_or(Absent::NotReported)),
        (
            Metric::PcieGenerationAfter,
            generation
                .map(|n| n as f64 + 1.0)
                .ok_or(Absent::NotReported),
        ),
    ] {
        readings.set(metric, reading);
    }
    readings
}

/// Runs the tool. `None` where it is not there or takes too long; what it prints before it fails counts.
fn run(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("amd-smi");
    command.args(arguments);
    tool::run(command, PATIENCE).ok().map(|(_, text)| text)
}

/// The tool's cards. Blocks for as long as it runs.
pub(super) fn list() -> Vec<Listed> {
    run(STATIC).map(|text| listed(&text)).unwrap_or_default()
}

/// The newest that the tool said.
#[derive(Debug, Clone, Default)]
pub(super) struct Tool(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// When a run began, and whether it is under way.
    begun: Option<Instant>,
    running: bool,
    newest: HashMap<u64, Readings>,
    /// Cards whose newest readings were not taken yet.
    fresh: HashSet<u64>,
}

impl Tool {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The readings of a card: each counts once, in between it has not answered. Never waits.
    pub(super) fn take(&self, gpu: u64) -> Readings {
        let mut state = self.locked();
        if !state.running && state.begun.is_none_or(|begun| begun.elapsed() >= EVERY) {
            state.begun = Some(Instant::now());
            let tool = self.clone();
            let started = std::thread::Builder::new()
                .name("amd-smi".to_owned())
                .spawn(move || tool.accept(&run(METRICS).unwrap_or_default()));
            state.running = started.is_ok();
        }
        let mut readings = match state.newest.get(&gpu) {
            Some(readings) => readings.clone(),
            None => Readings::absent(Absent::NotReported),
        };
        if !state.fresh.remove(&gpu) {
            for metric in Metric::ALL {
                if readings.get(*metric).is_ok() {
                    readings.set(*metric, Err(Absent::TimedOut));
                }
            }
        }
        readings
    }

    fn accept(&self, text: &str) {
        let mut state = self.locked();
        state.running = false;
        state.newest = readings(text);
        state.fresh = state.newest.keys().copied().collect();
    }
}

#[cfg(test)]
#[path = "smi_tests.rs"]
mod tests;
