//! What scenarios are made with: seeded choices, the spread of severities, jobs and nodes.

use crate::model::{Cause, Confidence};
use crate::simulate::behaviour::{Activity, Behaviour, Owner};
use crate::simulate::host::Surroundings;
use crate::simulate::noise::Noise;
use crate::simulate::part::Part;
use crate::simulate::plan::{DevicePlan, Plan, Timing, device, training};

/// What is really so with a device for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Index of the device.
    pub device: u32,
    /// From this simulated second on.
    pub from_s: f64,
    /// Up to this one.
    pub until_s: f64,
    /// The cause that the scenario is about, also where it stays below its threshold.
    pub about: Cause,
    /// What is to be said: `none` where `about` stays below its threshold.
    pub cause: Cause,
    /// How far beyond the threshold of `about`, as a multiple of it.
    pub severity: f64,
    /// More than this may not be said: where evidence is missing on purpose.
    pub most: Confidence,
    /// Causes that are as right.
    pub also: Vec<Cause>,
    /// May be suspected, never be sure: what is just below its threshold.
    pub hint: Option<Cause>,
}

impl Label {
    /// A cause beyond its threshold if `severity` is 1 or more; below, nothing is wrong.
    pub(super) fn new(
        device: usize,
        (from_s, until_s): (f64, f64),
        about: Cause,
        severity: f64,
    ) -> Self {
        let holds = severity >= 1.0;
        Self {
            device: device as u32,
            from_s,
            until_s,
            about,
            cause: if holds { about } else { Cause::None },
            severity,
            most: Confidence::Sure,
            also: Vec::new(),
            hint: (!holds).then_some(about),
        }
    }

    pub(super) fn also(mut self, also: &[Cause]) -> Self {
        self.also.extend_from_slice(also);
        self
    }

    pub(super) const fn at_most(mut self, most: Confidence) -> Self {
        self.most = most;
        self
    }
}

/// A scenario before it runs.
pub(super) struct Draft {
    pub(super) plan: Plan,
    pub(super) seconds: f64,
    pub(super) labels: Vec<Label>,
}

impl Draft {
    pub(super) fn new(seconds: f64, devices: Vec<DevicePlan>, labels: Vec<Label>) -> Self {
        Self::paced(1.0, seconds, devices, labels)
    }

    /// With ticks so far apart.
    pub(super) fn paced(
        interval_s: f64,
        seconds: f64,
        devices: Vec<DevicePlan>,
        labels: Vec<Label>,
    ) -> Self {
        let timing = Timing {
            coarse_s: interval_s,
            full_rate: 0.0,
            live: 0.0,
            interval_s,
        };
        Self {
            plan: Plan::new(timing, "python3 train.py", devices, Vec::new()),
            seconds,
            labels,
        }
    }

    pub(super) fn weather(
        mut self,
        weather: impl Fn(f64) -> Surroundings + Send + 'static,
    ) -> Self {
        self.plan.weather = Some(Box::new(weather));
        self
    }

    pub(super) const fn command(mut self, command: &'static str) -> Self {
        self.plan.command = command;
        self
    }
}

/// Seeded choices. Held-back scenarios take their parts from another list.
pub(super) struct Dice {
    noise: Noise,
    held_back: bool,
}

impl Dice {
    /// Each family has a stream of its own.
    pub(super) fn new(seed: u64, family: &str, held_back: bool) -> Self {
        // FNV-1a: the same on every platform and for ever.
        let stream = family
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self {
            noise: Noise::new(seed, stream),
            held_back,
        }
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.noise.uniform()
    }

    /// Spread evenly over orders of magnitude.
    pub(super) fn factor(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.noise.uniform() < share
    }

    pub(super) fn normal(&mut self) -> f64 {
        self.noise.normal()
    }

    pub(super) fn pick<T: Copy>(&mut self, first: T, others: &[T]) -> T {
        let at = (self.noise.uniform() * (others.len() + 1) as f64) as usize;
        at.checked_sub(1)
            .and_then(|i| others.get(i).copied())
            .unwrap_or(first)
    }

    /// A part: held-back scenarios have one that the others do not.
    pub(super) fn part(
        &mut self,
        first: &'static Part,
        others: &[&'static Part],
        held_back: &'static Part,
    ) -> &'static Part {
        let shown = self.pick(first, others);
        if self.held_back { held_back } else { shown }
    }

    /// A multiple of the threshold: half of them within 25 % of it on either side, a tenth below, the rest beyond.
    pub(super) fn severity(&mut self, most: f64) -> f64 {
        let roll = self.noise.uniform();
        if roll < 0.5 {
            self.between(0.75, 1.25)
        } else if roll < 0.6 {
            self.between(0.4, 0.75)
        } else {
            self.factor(1.25, most)
        }
    }

    /// When the fault begins: mostly after 11 to 18 minutes of sound work, for a third before the first look (a device
    /// without history).
    pub(super) fn onset(&mut self) -> f64 {
        if self.chance(0.33) {
            0.0
        } else {
            self.between(660.0, 1080.0).round()
        }
    }

    /// For how long a job had been running when the first look was taken.
    pub(super) fn owned(&mut self) -> f64 {
        self.between(1500.0, 40_000.0).round()
    }

    /// Sound training on a part; devices and jobs do not draw alike.
    pub(super) fn training(&mut self, part: &Part) -> Activity {
        let level = self.between(0.9, 1.03);
        let gib = self.between(0.45, 0.85) * part.memory_mib / 1024.0;
        let utilization = self.between(0.95, 0.99);
        let nvlink = 0.35 * part.nvlinks * part.nvlink_bytes_per_s * self.between(0.6, 1.2);
        Activity {
            utilization,
            nvlink_bytes_per_s: nvlink,
            ..training(part, level, gib.floor())
        }
    }
}

/// Watts at a share of the span between resident-idle power and plate (facts section 3).
pub(super) fn span_w(part: &Part, share: f64) -> f64 {
    part.resident_idle_w + share * (part.plate_w - part.resident_idle_w)
}

/// A device whose job began before the first look.
pub(super) fn running(
    part: &'static Part,
    slot: usize,
    owned_for_s: f64,
    behaviour: impl Behaviour + 'static,
) -> DevicePlan {
    DevicePlan {
        owned_for_s,
        ..device(part, slot, Box::new(behaviour))
    }
}

/// Whether a pulse is on at `t`: `share` of each `period`, at its end.
pub(super) fn pulse(t: f64, period: f64, share: f64) -> bool {
    t.rem_euclid(period) >= period * (1.0 - share)
}

/// Irregular ups and downs within -1 to 1: random values every `step` seconds with straight lines between them. Requests
/// come without a period.
pub(super) fn wander(t: f64, step: f64, phase: f64) -> f64 {
    let place = t / step + phase;
    let value = |at: f64| 2.0 * Noise::new(at as u64, 31).uniform() - 1.0;
    let (low, into) = (place.floor(), place.fract());
    value(low) * (1.0 - into) + value(low + 1.0) * into
}

/// The same work, held up for `wait` of each second by something outside the device.
pub(super) fn slowed(work: Activity, part: &Part, wait: f64) -> Activity {
    let done = 1.0 - wait;
    let full = work.power_w.unwrap_or(part.resident_idle_w);
    Activity {
        sm_active: work.sm_active * done,
        tensor_active: work.tensor_active * done,
        dram_active: work.dram_active * done,
        power_w: Some(part.resident_idle_w + (full - part.resident_idle_w) * done),
        rx_bytes_per_s: work.rx_bytes_per_s * done,
        tx_bytes_per_s: work.tx_bytes_per_s * done,
        nvlink_bytes_per_s: work.nvlink_bytes_per_s * done,
        ..work
    }
}

/// Nothing runs, the job keeps its memory and waits in the way given.
pub(super) fn waits(work: Activity, owner: Owner) -> Activity {
    Activity {
        utilization: 0.01,
        sm_active: 0.004,
        rx_bytes_per_s: 2e6,
        memory_gib: work.memory_gib,
        owner: Some(owner),
        stress: work.stress,
        ..Activity::NOTHING
    }
}
