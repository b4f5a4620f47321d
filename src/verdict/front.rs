//! Windows that several rules look through, taken up to date once for each look.

use super::proof::Limits;
use super::seen::Seen;
use super::window::{Bits, Run, Smooth};
use crate::model::{Cause, Threshold as T};
use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// Time constant of the smoothed numbers in seconds: a few of a driver's sample periods.
const TAU_S: f64 = 10.0;
/// Time constant of what must last.
const MINUTE_S: f64 = 60.0;
/// Time constant of a device's own past.
const PAST_S: f64 = 600.0;
/// The same where less is done: in an hour it is the new past.
const LONG_PAST_S: f64 = 3600.0;
/// A second with less utilization than this had no work.
pub(crate) const REST: f64 = 0.10;

pub(crate) const BITS_HEAT: u64 = 0x20 | 0x40;
pub(crate) const BIT_CAP: u64 = 0x4;
pub(crate) const BIT_SET: u64 = 0x2;
pub(crate) const BIT_SLOWED: u64 = 0x8;
pub(crate) const BIT_BRAKE: u64 = 0x80;
pub(crate) const BIT_SYNC: u64 = 0x10;

/// Shared windows of one device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Front {
    /// Looks since the last gap.
    pub(crate) looks: u32,
    pub(crate) utilization: Smooth,
    pub(crate) span: Smooth,
    pub(crate) clock: Smooth,
    pub(crate) sm: Smooth,
    pub(crate) writes: Smooth,
    pub(crate) reads: Smooth,
    pub(crate) owner_cpu: Smooth,
    pub(crate) pressure: Smooth,
    pub(crate) io_full: Smooth,
    pub(crate) memory_full: Smooth,
    pub(crate) faults: Smooth,
    pub(crate) quota: Smooth,
    host_at: Option<MonoTime>,
    /// Over a minute: what is said to be sure must not be a moment's.
    pub(crate) quota_long: Smooth,
    pub(crate) cap_long: Smooth,
    /// Work of this device's own past: the level that a fall is held against. It stands still while less is done.
    pub(crate) past_span: Smooth,
    /// Seconds without work.
    pub(crate) rests: Bits,
    /// Time under each reason, as bits of looks.
    pub(crate) heat: Bits,
    pub(crate) hardware_heat: Bits,
    pub(crate) brake: Bits,
    pub(crate) cap: Bits,
    pub(crate) set: Bits,
    pub(crate) full_rx: Bits,
    pub(crate) full_tx: Bits,
    /// A thread of the owners waits for storage.
    pub(crate) stuck: Bits,
    /// Fully busy at next to no power: power and PCIe bytes since then.
    pub(crate) spin: Option<Spin>,
    reasons_before: [Option<f64>; 5],
    pub(crate) reason_share: [f64; 5],
    /// Without work since.
    pub(crate) idle: Option<MonoTime>,
    pub(crate) frozen: Frozen,
    pub(crate) step: Step,
    pub(crate) wake: Wake,
    /// A known, innocent reason why this device does nothing now.
    pub(crate) pause: Option<Cause>,
}

/// A device that was woken and loaded while we looked, and has not worked yet.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Wake {
    /// It has worked: whatever comes later is no start.
    worked: bool,
    /// Share of its memory in use at the first look.
    empty: Option<f64>,
    /// Since when it is woken.
    pub(crate) since: Option<MonoTime>,
    /// The most memory in use since, as a share of all of it, and the most work by power.
    pub(crate) memory: f64,
    pub(crate) span: f64,
}

/// A stretch at full utilization and next to no power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spin {
    pub(crate) since: MonoTime,
    pub(crate) power: Run,
    pub(crate) traffic: Run,
    missed: u8,
}

/// For how long no reading has changed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Frozen {
    last: [Option<f64>; 6],
    /// Power has had fractions of a watt: a sensor whose noise would show.
    pub(crate) fine: bool,
    pub(crate) same_s: f64,
    pub(crate) same: u32,
}

/// The last step in what a device does.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Step {
    key: u64,
    memory: f64,
    slow_power: Smooth,
    /// When owners or memory changed last.
    pub(crate) owners: Option<MonoTime>,
    /// When power moved to another level last.
    pub(crate) power: Option<MonoTime>,
}

impl Front {
    /// Nobody looked for a while: windows begin anew, the device's own past stays.
    pub(crate) fn after_gap(&mut self) {
        let past = self.past_span;
        *self = Self {
            past_span: past,
            ..Self::default()
        };
    }

    /// Takes a look in.
    pub(crate) fn take(&mut self, seen: &Seen<'_>, limits: &Limits) {
        let dt = seen.dt;
        let least = limits.value(T::CheckpointWrites);
        let stores = seen.owners.writes.is_some_and(|writes| writes >= least);
        self.host(seen, stores);
        if !seen.fresh {
            return;
        }
        self.looks = self.looks.saturating_add(1);
        let tau = TAU_S.max(3.0 * seen.interval_s);
        // What is not read any more is not known any more.
        let smooth = |into: &mut Smooth, value: Option<f64>| match value {
            Some(value) => into.take(value, dt, tau),
            None => into.forget(),
        };
        smooth(&mut self.utilization, seen.utilization);
        smooth(&mut self.span, seen.span);
        smooth(&mut self.clock, seen.clock_mhz);
        smooth(&mut self.sm, seen.sm_active);
        if let Some(utilization) = seen.utilization {
            // What stood still for a known reason is no part of a rhythm.
            if self.pause.is_none() && !stores {
                self.rests.push(utilization < REST);
            }
            let idle = utilization <= limits.compute;
            self.idle = idle.then(|| self.idle.unwrap_or(back(seen.now, dt)));
            // Another process, another past.
            if self.step.is_other(seen) {
                self.past_span.forget();
            }
            if utilization >= 0.5
                && let Some(span) = seen.span
            {
                let past = self.past_span.get(60.0);
                let tau = if past.is_none_or(|past| span > past * 0.9) {
                    PAST_S
                } else {
                    LONG_PAST_S
                };
                self.past_span.take(span, dt, tau);
            }
        }
        self.reasons(seen);
        self.links(seen, limits);
        self.spin(seen, limits);
        self.frozen.take(seen);
        self.step.take(seen);
        self.wake.take(seen, limits);
    }

    /// `stores`: the owners write as much as for a checkpoint.
    fn host(&mut self, seen: &Seen<'_>, stores: bool) {
        let dt = seen.dt;
        // A host that says nothing for some looks is not known any more.
        if seen.host.is_some() {
            self.host_at = Some(seen.now);
        } else if self
            .host_at
            .is_some_and(|at| seen.now.seconds_since(at) > 5.0 * seen.interval_s)
        {
            self.host_at = None;
            for smooth in [
                &mut self.pressure,
                &mut self.io_full,
                &mut self.memory_full,
                &mut self.quota,
                &mut self.quota_long,
            ] {
                smooth.forget();
            }
        }
        let smooth = |into: &mut Smooth, value: Option<f64>| {
            if let Some(value) = value {
                into.take(value, dt, TAU_S.max(2.0 * seen.interval_s));
            }
        };
        smooth(&mut self.writes, seen.owners.writes);
        smooth(&mut self.reads, seen.owners.reads);
        smooth(&mut self.faults, seen.owners.faults);
        smooth(&mut self.owner_cpu, seen.owner_cpu());
        if seen.host.is_some() {
            smooth(&mut self.pressure, seen.host(|h| h.psi_cpu_some_ratio));
            smooth(&mut self.io_full, seen.host(|h| h.psi_io_full_ratio));
            smooth(
                &mut self.memory_full,
                seen.host(|h| h.psi_memory_full_ratio),
            );
            let quota = seen.host(|h| h.cgroup_throttled_ratio);
            smooth(&mut self.quota, quota);
            if let Some(quota) = quota {
                self.quota_long.take(quota, dt, MINUTE_S);
            }
        }
        // Threads are looked for only while the device rests; while it works, none of its owners waits.
        let works = seen.utilization.is_some_and(|u| u >= REST);
        let waits = match seen.owners.waiting {
            Some(waiting) => Some(waiting > 0.0),
            None if seen.owners.listed == Some(0) || (works && seen.owners.ours) => Some(false),
            None => None,
        };
        if let Some(waits) = waits.filter(|_| self.pause.is_none() && !stores) {
            self.stuck.push(waits);
        }
    }

    /// Bits are a look at one instant; the driver's counters see what falls between two looks.
    fn reasons(&mut self, seen: &Seen<'_>) {
        for ((before, now), share) in self
            .reasons_before
            .iter_mut()
            .zip(seen.reason_s)
            .zip(&mut self.reason_share)
        {
            *share = match (*before, now) {
                (Some(before), Some(now)) if seen.dt > 0.0 => {
                    ((now - before) / seen.dt).clamp(0.0, 1.0)
                }
                _ => 0.0,
            };
            *before = now.or(*before);
        }
        let [cap, _, software, hardware, brake] = self.reason_share;
        let counted = seen.reason_s.iter().any(Option::is_some);
        if seen.reason_s[0].is_some() {
            self.cap_long.take(cap, seen.dt, MINUTE_S);
        }
        if seen.bits.is_none() && !counted {
            return;
        }
        let bits = seen.bits.unwrap_or(0);
        let some = 0.5;
        self.heat
            .push(bits & BITS_HEAT != 0 || software > some || hardware > some);
        self.hardware_heat.push(bits & 0x40 != 0 || hardware > some);
        let slowed = bits & BIT_SLOWED != 0 && bits & BITS_HEAT == 0;
        self.brake
            .push(bits & BIT_BRAKE != 0 || slowed || brake > some);
        self.cap.push(bits & BIT_CAP != 0 || cap > some);
        self.set.push(bits & BIT_SET != 0);
    }

    fn links(&mut self, seen: &Seen<'_>, limits: &Limits) {
        let full = limits.value(T::SaturatedRatio);
        // A sum that fills both ways to this share fills one of them at least.
        if let Some(rx) = seen.rx_saturation.or(seen.summed()) {
            self.full_rx.push(rx >= full);
        }
        if let Some(tx) = seen.tx_saturation {
            self.full_tx.push(tx >= full);
        }
    }

    fn spin(&mut self, seen: &Seen<'_>, limits: &Limits) {
        let (Some(utilization), Some(power)) = (seen.utilization, seen.power_w) else {
            return;
        };
        let spins = utilization >= limits.value(T::WaitBusy) && is_spin_power(seen, limits);
        if spins {
            let spin = self.spin.get_or_insert(Spin {
                since: back(seen.now, seen.dt),
                power: Run::default(),
                traffic: Run::default(),
                missed: 0,
            });
            spin.missed = 0;
            spin.power.take(power);
            // What no counter tells is not taken for no traffic.
            let (pcie, nvlink) = (seen.pcie(), seen.nvlink_bytes_per_s);
            if pcie.is_some() || nvlink.is_some() {
                spin.traffic
                    .take(pcie.unwrap_or(0.0) + nvlink.unwrap_or(0.0));
            }
        } else if let Some(spin) = &mut self.spin {
            // A single odd sample ends no hang: utilization and power are of different windows.
            spin.missed += 1;
            if spin.missed > 1 {
                self.spin = None;
            }
        }
    }
}

/// The instant so many seconds before.
pub(crate) fn back(now: MonoTime, seconds: f64) -> MonoTime {
    MonoTime(now.0.saturating_sub((seconds.max(0.0) * 1e9) as u64))
}

/// A limit up to this many watts is a small card's, which spins at more of its span: a T4 at 40 of 70 W.
pub(crate) const SMALL_W: f64 = 150.0;
/// The share of the limit speaks from here on.
const LIMIT_SPEAKS_W: f64 = 250.0;

/// Whether the draw is that of a kernel that spins. Before resident-idle power is learned, the share of the limit
/// speaks as well: estimates of it differ by model.
fn is_spin_power(seen: &Seen<'_>, limits: &Limits) -> bool {
    let limit = seen.limit_w.or(seen.plate_w);
    let small = limit.is_some_and(|l| l < SMALL_W);
    let span = limits.value(if small { T::WaitSpanSmall } else { T::WaitSpan });
    let by_limit = !seen.span_learned
        && limit.is_some_and(|l| l >= LIMIT_SPEAKS_W)
        && seen
            .power_of_limit()
            .is_some_and(|r| r <= limits.value(T::WaitLimit));
    seen.span.is_some_and(|s| s <= span) || by_limit
}

impl Frozen {
    fn take(&mut self, seen: &Seen<'_>) {
        let now = [
            seen.power_w,
            seen.energy_j,
            seen.temperature_c,
            seen.clock_mhz,
            seen.pcie(),
            seen.utilization,
        ];
        self.fine |= seen.power_w.is_some_and(|w| w.fract() != 0.0);
        if now == self.last && now.iter().any(Option::is_some) {
            self.same_s += seen.dt;
            self.same = self.same.saturating_add(1);
        } else {
            (self.same_s, self.same) = (0.0, 0);
        }
        self.last = now;
    }
}

impl Wake {
    /// Both must be seen, memory taken and clocks awake: either alone is somebody's idle context, or a sensor's.
    fn take(&mut self, seen: &Seen<'_>, limits: &Limits) {
        let (Some(utilization), Some(used), Some(total)) = (
            seen.utilization,
            seen.memory_used,
            seen.memory_total.filter(|t| *t > 0.0),
        ) else {
            return;
        };
        self.worked |= utilization > limits.compute;
        if self.worked {
            self.since = None;
            return;
        }
        let used = used / total;
        let empty = *self.empty.get_or_insert(used);
        let span = seen.span.unwrap_or(0.0);
        let loaded = used - empty >= limits.value(T::WakeMemory);
        if self.since.is_none() && loaded && span >= limits.value(T::WakeSpan) {
            self.since = Some(back(seen.now, seen.dt));
        }
        if self.since.is_some() {
            self.memory = self.memory.max(used);
            self.span = self.span.max(span);
        }
    }
}

impl Step {
    /// Whether the owners are others than at the last look, or have just begun.
    fn is_other(&self, seen: &Seen<'_>) -> bool {
        let other = self.key != 0 && seen.owners.key != 0 && self.key != seen.owners.key;
        other || seen.owners.youngest_s.is_some_and(|age| age < 20.0)
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let used = seen.memory_used.unwrap_or(self.memory);
        let total = seen.memory_total.unwrap_or(f64::INFINITY);
        let moved = self.memory > 0.0 && (used - self.memory).abs() > 0.02 * total;
        let other = self.key != 0 && seen.owners.key != 0 && self.key != seen.owners.key;
        if moved || other {
            self.owners = Some(seen.now);
        }
        self.memory = used;
        if seen.owners.key != 0 {
            self.key = seen.owners.key;
        }
        if let Some(power) = seen.power_w {
            let limit = seen.limit_w.or(seen.plate_w).unwrap_or(f64::INFINITY);
            if self
                .slow_power
                .get(15.0)
                .is_some_and(|level| (power - level).abs() > 0.08 * limit)
            {
                self.power = Some(seen.now);
            }
            self.slow_power.take(power, seen.dt, 30.0);
        }
    }

    /// Seconds since owners or memory and power moved, together.
    pub(crate) fn age_s(&self, now: MonoTime) -> Option<f64> {
        let (owners, power) = (self.owners?, self.power?);
        let apart = owners.seconds_since(power).abs();
        (apart <= 60.0).then(|| now.seconds_since(owners.min(power)))
    }
}
