//! What the session remembers of one device.

use super::derive::Moment;
use super::held::Held;
use super::rate::{Growth, Rate};
use super::resident::ResidentIdle;
use super::thermal::Thermal;
use crate::model::{
    Absent, Device, DeviceProcess, Hop, Metric, Phase, Reading, Sample, Value, VerdictState,
};
use crate::units::{LinkSpeed, MonoTime, raw_bytes_per_second};
use crate::verdict::Memory;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Byte counters count headers too: a full link can show up to 1.2 times what copies reach, and never more than
/// this share of the raw rate.
const COUNTER_CEILING: f64 = 1.3;
/// Counters further apart than this many intervals give no rate.
const RATE_INTERVALS: f64 = 5.0;
/// No device draws more: the largest module's limit is 2.9 kW. An energy counter that grows faster is wrong.
pub(crate) const ENERGY_CEILING_W: f64 = 20_000.0;
/// Time under a reason grows by at most a second each second, give or take the driver's own clock.
pub(crate) const REASON_CEILING: f64 = 1.1;
/// Device processes and hops kept of one device at most.
pub(crate) const PROCESSES_KEPT: usize = 1024;

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
    /// A sample came in the newest tick.
    pub(crate) polled: bool,
    pub(crate) silent: Option<(Absent, MonoTime)>,
    pub(crate) path: Vec<Hop>,
    pub(crate) processes: Reading<Vec<DeviceProcess>>,
    /// Of the bytes received, or of both directions together where the device does not tell them apart.
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
    /// Fully busy with clocks held for power well below the limit since.
    pub(crate) held_since: Option<MonoTime>,
    pub(crate) xid: Option<(u32, Timestamp)>,
    /// Throttle bits of the newest poll, of the one before, and those announced as begun.
    pub(crate) bits_now: u64,
    pub(crate) bits_before: u64,
    pub(crate) bits_begun: u64,
    /// Polls under load in which the generation was below its maximum, in a row.
    pub(crate) slow_polls: u8,
    /// The generation in use, and for how many polls in a row.
    pub(crate) steady: (u8, u8),
    /// Link as last announced; generation 0 before it was seen in use.
    pub(crate) link: Option<(u8, u8)>,
    /// Which work it did at the last tick, as a number.
    pub(crate) work_key: u64,
    /// What the rules remember of it.
    pub(crate) judged: Option<Box<Memory>>,
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
            polled: false,
            silent: None,
            path: Vec::new(),
            processes: Err(Absent::NotReported),
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
            state: Shown {
                state: VerdictState::Unknown,
                since: None,
            },
            idle_since: None,
            doubtful_since: None,
            held_since: None,
            xid: None,
            bits_now: 0,
            bits_before: 0,
            bits_begun: 0,
            slow_polls: 0,
            steady: (0, 0),
            link: None,
            work_key: 0,
            judged: None,
        }
    }

    /// Takes a sample: held values, rates and growths.
    pub(crate) fn take(&mut self, sample: &Sample, interval_s: f64) {
        let seconds = self.sampled.map(|before| sample.at.seconds_since(before));
        let observed = seconds.filter(|s| *s > 0.0 && *s <= 2.0 * interval_s);
        self.held.take(sample.at, &sample.readings);
        self.sampled = Some(sample.at);
        self.polled = true;
        let ok = |metric: Metric| finite(sample, metric).ok();
        match finite(sample, Metric::Reasons) {
            Ok(bits) => (self.bits_before, self.bits_now) = (self.bits_now, bits as u64),
            Err(why) if why.passing() => {}
            Err(_) => (self.bits_before, self.bits_now) = (0, 0),
        }
        self.take_link_counters(sample, interval_s);
        for ((metric, _), growth) in REASON_COUNTERS.iter().zip(&mut self.reasons) {
            if let Some(value) = ok(*metric) {
                growth.take(value, sample.at, REASON_CEILING);
            }
        }
        if let Some(joules) = ok(Metric::Energy) {
            self.energy.take(joules, sample.at, ENERGY_CEILING_W);
        }
        let power = self.power(sample.at, interval_s).0;
        if let (Some(watts), Some(seconds)) = (power.ok().filter(|_| power.age_s == 0.0), observed)
        {
            self.energy_by_power_j += watts * seconds;
            let idle = ok(Metric::Utilization) == Some(0.0);
            let fastest = ok(Metric::PerformanceState).is_none_or(|p| p == 0.0);
            if idle && fastest && self.holds_memory(sample) {
                self.resident_idle.take(watts, seconds);
            }
        }
    }

    fn take_link_counters(&mut self, sample: &Sample, interval_s: f64) {
        let longest = RATE_INTERVALS * interval_s;
        let bits = self
            .held
            .readings()
            .get(Metric::PcieCounterBits)
            .ok()
            .map(|b| b as u32);
        let ceiling = self
            .link()
            .and_then(raw_bytes_per_second)
            .map(|raw| raw * COUNTER_CEILING);
        let (received, bits, ways) = match finite(sample, Metric::PcieBothBytes).is_ok() {
            true => (Metric::PcieBothBytes, Some(64), 2.0),
            false => (Metric::PcieRxBytes, bits, 1.0),
        };
        for (rate, metric, ways) in [
            (&mut self.pcie_rx, received, ways),
            (&mut self.pcie_tx, Metric::PcieTxBytes, 1.0),
        ] {
            let ceiling = ceiling.map(|one_way| one_way * ways);
            match finite(sample, metric) {
                Ok(value) => rate.take(value, sample.at, bits, ceiling, longest),
                Err(why) if why.passing() => {}
                Err(_) => rate.forget(),
            }
        }
        for (rate, metric) in [
            (&mut self.nvlink_rx, Metric::NvlinkRxBytes),
            (&mut self.nvlink_tx, Metric::NvlinkTxBytes),
        ] {
            match finite(sample, metric) {
                Ok(value) => rate.take(value, sample.at, Some(64), None, longest),
                Err(why) if why.passing() => {}
                Err(_) => rate.forget(),
            }
        }
    }

    /// Nobody looked for more than two intervals: nothing went on meanwhile as far as is known.
    pub(crate) fn after_gap(&mut self, at: Timestamp) {
        (self.idle_since, self.doubtful_since, self.held_since) = (None, None, None);
        (self.bits_before, self.bits_now) = (self.bits_begun, self.bits_begun);
        (self.slow_polls, self.steady) = (0, (0, 0));
        if self.state.state != VerdictState::Lost {
            self.state.since = Some(at);
        }
    }

    /// The boot clock began anew: instants of the other boot, and what was read then, mean nothing any more.
    pub(crate) fn after_boot(&mut self, now: MonoTime) {
        self.held = Held::default();
        (self.sampled, self.thermal) = (None, Thermal::default());
        if let Some(memory) = &mut self.judged {
            memory.after_boot();
        }
        self.processes = Err(Absent::NotReported);
        for rate in [
            &mut self.pcie_rx,
            &mut self.pcie_tx,
            &mut self.nvlink_rx,
            &mut self.nvlink_tx,
        ] {
            rate.forget();
        }
        self.reasons
            .iter_mut()
            .chain([&mut self.energy])
            .for_each(Growth::begin_anew);
        if let Some((_, since)) = &mut self.silent {
            *since = now;
        }
    }

    /// The link of the last sample: the larger of what was read before and after the counters.
    pub(crate) fn link(&self) -> Option<LinkSpeed> {
        let get = |metric| self.held.readings().get(metric).ok();
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (one, other) => one.or(other),
        };
        let generation = larger(
            get(Metric::PcieGenerationBefore),
            get(Metric::PcieGenerationAfter),
        )?;
        let width = larger(get(Metric::PcieWidthBefore), get(Metric::PcieWidthAfter))?;
        Some(LinkSpeed {
            generation: generation as u8,
            width: width as u8,
        })
    }

    /// Power now with its kind and scope: the one-second average where the driver has one, so that history keeps one kind.
    pub(crate) fn power(
        &self,
        now: MonoTime,
        interval_s: f64,
    ) -> (Value, &'static str, &'static str) {
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
            (Metric::BoardPower, usage_kind, "board"),
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

    /// The processes as they are to be shown: those of a device that is lost, or silent for long, are not known.
    pub(crate) fn processes_now(&self, moment: Moment) -> Reading<&[DeviceProcess]> {
        match self.silent {
            Some((why, since))
                if why == Absent::Lost
                    || moment.now.seconds_since(since) > RATE_INTERVALS * moment.interval_s =>
            {
                Err(why)
            }
            _ => self.processes.as_deref().map_err(|why| *why),
        }
    }

    /// Bytes kept by processes of this device, where any is known to hold memory.
    pub(crate) fn memory_held(&self) -> Option<f64> {
        let processes = self.processes.as_ref().ok()?;
        let held: f64 = processes.iter().filter_map(|p| p.memory_bytes.ok()).sum();
        (!processes.is_empty()).then_some(held)
    }

    /// Whether processes keep memory now. Their list comes seldom: where the memory in use is read and is less than what
    /// they are said to hold, they have gone since.
    fn holds_memory(&self, sample: &Sample) -> bool {
        let used = finite(sample, Metric::MemoryUsed).ok();
        self.memory_held()
            .is_some_and(|held| held > 0.0 && used.is_none_or(|used| used >= 0.9 * held))
    }

    /// Utilization read within the last two intervals: what is older does not say what a second was spent on.
    pub(crate) fn fresh_utilization(&self, moment: Moment) -> Option<f64> {
        let value = self.held.value(
            Metric::Utilization,
            moment.now,
            moment.interval_s,
            self.silence(),
        );
        value
            .ok()
            .filter(|_| value.age_s <= 2.0 * moment.interval_s)
    }
}

/// A reading as it came, with numbers that are none refused.
fn finite(sample: &Sample, metric: Metric) -> Reading<f64> {
    sample.readings.get(metric).and_then(|v| {
        if v.is_finite() {
            Ok(v)
        } else {
            Err(Absent::Implausible(0.0))
        }
    })
}
