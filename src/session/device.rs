//! What the session remembers of one device.

use super::derive::Moment;
use super::held::Held;
use super::rate::{Growth, Rate};
use super::thermal::Thermal;
use crate::model::{
    Absent, Device, DeviceProcess, Hop, Metric, Phase, Reading, Sample, Value, VerdictState,
};
use crate::units::{LinkSpeed, MonoTime, raw_bytes_per_second};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Byte counters count headers too: a full link can show up to 1.2 times what copies reach, and never more than
/// this share of the raw rate.
const COUNTER_CEILING: f64 = 1.3;

/// Power while a process keeps memory and nothing runs, averaged over the seconds seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ResidentIdle {
    seconds: f64,
    mean_w: f64,
}

impl ResidentIdle {
    /// Learned after this many seconds.
    const ENOUGH_S: f64 = 60.0;

    fn take(&mut self, watts: f64, seconds: f64) {
        self.seconds += seconds;
        self.mean_w += (watts - self.mean_w) * seconds / self.seconds.max(1e-9);
    }

    /// Watts, once enough seconds were seen.
    pub(crate) fn watts(&self) -> Option<f64> {
        (self.seconds >= Self::ENOUGH_S).then_some(self.mean_w)
    }
}

/// The counters of time under each throttle reason, in the contract's names.
pub(crate) const REASON_COUNTERS: [(Metric, &str); 5] = [
    (Metric::SecondsSwPowerCap, "sw_power_cap"),
    (Metric::SecondsSyncBoost, "sync_boost"),
    (Metric::SecondsSwThermal, "sw_thermal_slowdown"),
    (Metric::SecondsHwThermal, "hw_thermal_slowdown"),
    (Metric::SecondsPowerBrake, "hw_power_brake_slowdown"),
];

/// Everything kept of one device between two ticks; part of Start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeviceState {
    pub(crate) device: Arc<Device>,
    pub(crate) held: Held,
    pub(crate) sampled: Option<MonoTime>,
    pub(crate) silent: Option<(Absent, MonoTime)>,
    pub(crate) path: Vec<Hop>,
    pub(crate) processes: Reading<Vec<DeviceProcess>>,
    pub(crate) processes_at: Option<MonoTime>,
    pub(crate) pcie_rx: Rate,
    pub(crate) pcie_tx: Rate,
    pub(crate) nvlink_rx: Rate,
    pub(crate) nvlink_tx: Rate,
    pub(crate) reasons: [Growth; REASON_COUNTERS.len()],
    pub(crate) energy: Growth,
    /// Joules by integrating power, for devices without a counter.
    pub(crate) energy_by_power_j: f64,
    pub(crate) resident_idle: ResidentIdle,
    pub(crate) thermal: Thermal,
    /// The phase of the last observed second.
    pub(crate) phase: Phase,
    pub(crate) state: Shown,
    /// Without work since.
    pub(crate) idle_since: Option<MonoTime>,
    /// Fully busy at little power since.
    pub(crate) doubtful_since: Option<MonoTime>,
    pub(crate) xid: Option<(u32, Timestamp)>,
    /// Throttle bits of the newest poll, of the one before, and those announced as begun.
    pub(crate) bits_now: u64,
    pub(crate) bits_before: u64,
    pub(crate) bits_begun: u64,
    /// Polls under load in which the generation was below its maximum, in a row.
    pub(crate) slow_polls: u8,
    /// Link as last announced.
    pub(crate) link: Option<(u8, u8)>,
}

/// The state that the verdict shows, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) state: VerdictState,
    pub(crate) since: Option<Timestamp>,
}

impl DeviceState {
    pub(crate) fn new(device: Arc<Device>) -> Self {
        Self {
            device,
            held: Held::default(),
            sampled: None,
            silent: None,
            path: Vec::new(),
            processes: Err(Absent::NotReported),
            processes_at: None,
            pcie_rx: Rate::default(),
            pcie_tx: Rate::default(),
            nvlink_rx: Rate::default(),
            nvlink_tx: Rate::default(),
            reasons: Default::default(),
            energy: Growth::default(),
            energy_by_power_j: 0.0,
            resident_idle: ResidentIdle::default(),
            thermal: Thermal::default(),
            phase: Phase::Unobserved,
            state: Shown { state: VerdictState::Unknown, since: None },
            idle_since: None,
            doubtful_since: None,
            xid: None,
            bits_now: 0,
            bits_before: 0,
            bits_begun: 0,
            slow_polls: 0,
            link: None,
        }
    }

    /// Takes a sample: held values, rates and growths.
    pub(crate) fn take(&mut self, sample: &Sample, interval_s: f64) {
        let seconds = self.sampled.map(|before| sample.at.seconds_since(before));
        let observed = seconds.filter(|s| *s > 0.0 && *s <= 2.0 * interval_s);
        self.held.take(sample.at, &sample.readings);
        self.sampled = Some(sample.at);
        self.bits_before = self.bits_now;
        self.bits_now = self.held.readings().get(Metric::Reasons).map_or(0, |bits| bits as u64);
        let ok = |metric: Metric| sample.readings.get(metric).ok();
        self.take_link_counters(sample);
        for ((metric, _), growth) in REASON_COUNTERS.iter().zip(&mut self.reasons) {
            if let Some(value) = ok(*metric) {
                growth.take(value);
            }
        }
        if let Some(joules) = ok(Metric::Energy) {
            self.energy.take(joules);
        }
        let power = self.power(sample.at, interval_s).0.ok();
        if let (Some(watts), Some(seconds)) = (power, observed) {
            self.energy_by_power_j += watts * seconds;
            let idle = ok(Metric::Utilization) == Some(0.0);
            let fastest = ok(Metric::PerformanceState).is_none_or(|p| p == 0.0);
            if idle && fastest && self.memory_held().is_some() {
                self.resident_idle.take(watts, seconds);
            }
        }
    }

    fn take_link_counters(&mut self, sample: &Sample) {
        let ok = |metric: Metric| sample.readings.get(metric).ok();
        let bits = ok(Metric::PcieCounterBits).map(|b| b as u32);
        let ceiling = self.link().and_then(raw_bytes_per_second).map(|raw| raw * COUNTER_CEILING);
        for (rate, metric) in
            [(&mut self.pcie_rx, Metric::PcieRxBytes), (&mut self.pcie_tx, Metric::PcieTxBytes)]
        {
            match ok(metric) {
                Some(value) => rate.take(value, sample.at, bits, ceiling),
                None => rate.forget(),
            }
        }
        for (rate, metric) in
            [(&mut self.nvlink_rx, Metric::NvlinkRxBytes), (&mut self.nvlink_tx, Metric::NvlinkTxBytes)]
        {
            match ok(metric) {
                Some(value) => rate.take(value, sample.at, Some(64), None),
                None => rate.forget(),
            }
        }
    }

    /// The link of the last sample: the larger of what was read before and after the counters.
    pub(crate) fn link(&self) -> Option<LinkSpeed> {
        let get = |metric| self.held.readings().get(metric).ok();
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (one, other) => one.or(other),
        };
        let generation = larger(get(Metric::PcieGenerationBefore), get(Metric::PcieGenerationAfter))?;
        let width = larger(get(Metric::PcieWidthBefore), get(Metric::PcieWidthAfter))?;
        Some(LinkSpeed { generation: generation as u8, width: width as u8 })
    }

    /// Power now with its kind and scope: the one-second average where the driver has one, so that history keeps one kind.
    pub(crate) fn power(&self, now: MonoTime, interval_s: f64) -> (Value, &'static str, &'static str) {
        let value = |metric| self.held.value(metric, now, interval_s, self.silence());
        let usage_kind = match self.device.power_usage_is_average {
            Some(true) => "average",
            Some(false) => "instant",
            None => "unknown",
        };
        let ways = [
            (Metric::PowerAverage, "average", "gpu"),
            (Metric::PowerUsage, usage_kind, "gpu"),
            (Metric::PowerInstant, "instant", "gpu"),
            (Metric::ModulePower, "unknown", "module"),
        ];
        for (metric, kind, scope) in ways {
            let value = value(metric);
            if value.reading.is_ok() {
                return (value, kind, scope);
            }
        }
        (value(Metric::PowerUsage), "unknown", "gpu")
    }

    /// Why the device gives no samples at present.
    pub(crate) fn silence(&self) -> Option<Absent> {
        self.silent.map(|(why, _)| why)
    }

    /// Bytes kept by processes of this device, where any is known to hold memory.
    pub(crate) fn memory_held(&self) -> Option<f64> {
        let processes = self.processes.as_ref().ok()?;
        let held: f64 = processes.iter().filter_map(|p| p.memory_bytes.ok()).sum();
        (!processes.is_empty()).then_some(held)
    }

    /// Utilization read within the last two intervals: what is older does not say what a second was spent on.
    pub(crate) fn fresh_utilization(&self, moment: Moment) -> Option<f64> {
        let value = self.held.value(Metric::Utilization, moment.now, moment.interval_s, self.silence());
        value.ok().filter(|_| value.age_s <= 2.0 * moment.interval_s)
    }
}
