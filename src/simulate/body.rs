//! A simulated device's body: limits, heat, counters, noise, and the quantising of real sensors.

use super::behaviour::{Activity, Stress};
use super::noise::{Noise, Wander};
use super::part::Part;
use crate::model::{Absent, Metric, Readings};
use crate::units::{LinkSpeed, usable_bytes_per_second};

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

/// Heat follows power with this delay. No measured value is known; a minute is what heat sinks of this size suggest.
const HEAT_S: f64 = 60.0;
/// A full link carries a little less than the best copies do.
const LINK_FULL: f64 = 0.985;

const IDLE: u64 = 0x1;
const POWER_CAP: u64 = 0x4;
const HW_SLOWDOWN: u64 = 0x8;
const SW_THERMAL: u64 = 0x20;
const HW_THERMAL: u64 = 0x40;
/// Clock given up for a share of power that is given up: 500 to 447 W went with 1880 to 1739 MHz on a card that was too
/// hot (corpus s01).
const CLOCK_FOR_POWER: f64 = 0.7;

/// What is peculiar to one device rather than to its model.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) limit_w: f64,
    pub(super) link: LinkSpeed,
    pub(super) inlet_c: f64,
    /// Heat path: degrees over the inlet for each watt.
    pub(super) c_per_w: f64,
}

/// State that goes on from tick to tick.
#[derive(Debug, Clone)]
pub(super) struct Body {
    part: &'static Part,
    condition: Condition,
    noise: Noise,
    /// Minutes-long wander of power: phi 0.97 a minute, 0.6 % of the plate (facts: 1.5 W of 250).
    slow: Wander,
    /// Step-to-step unrest.
    fast: Wander,
    core_c: f64,
    memory_c: f64,
    energy_j: f64,
    capped_s: f64,
    /// Seconds under sync boost, software thermal, hardware thermal, power brake.
    held_s: [f64; 4],
    link_errors: f64,
    /// Share of power that heat takes away now.
    hot_cut: f64,
    rx_bytes: f64,
    tx_bytes: f64,
    nvlink_bytes: f64,
}

impl Body {
    pub(super) fn new(part: &'static Part, condition: Condition, mut noise: Noise) -> Self {
        let slow = Wander::new(1970.0, 0.006 * part.plate_w, &mut noise);
        let fast = Wander::new(4.0, 1.0, &mut noise);
        let core_c = condition.inlet_c + condition.c_per_w * part.bare_idle_w;
        Self {
            part,
            slow,
            fast,
            core_c,
            memory_c: core_c + 2.0,
            // The driver was loaded before we came: counters do not begin at 0.
            energy_j: 5.4e7 + 1e6 * noise.uniform(),
            capped_s: (100.0 * noise.uniform()).floor(),
            held_s: [0.0; 4],
            link_errors: 0.0,
            hot_cut: 0.0,
            rx_bytes: (4e13 * noise.uniform()).floor(),
            tx_bytes: (2e13 * noise.uniform()).floor(),
            nvlink_bytes: (9e14 * noise.uniform()).floor(),
            condition,
            noise,
        }
    }

    /// Has been at this activity for long before the first look.
    pub(super) fn settle(&mut self, activity: &Activity) {
        let watts = activity.power_w.unwrap_or(self.part.resident_idle_w);
        let settles = self.condition.inlet_c + self.c_per_w(&activity.stress) * watts;
        self.core_c = settles.min(self.slows_at().0);
        self.memory_c = self.core_c - 3.0;
    }

    /// The driver was loaded anew: its counters begin at 0.
    pub(super) fn reset(&mut self) {
        (self.energy_j, self.capped_s, self.held_s) = (0.0, 0.0, [0.0; 4]);
        (self.rx_bytes, self.tx_bytes, self.nvlink_bytes) = (0.0, 0.0, 0.0);
        self.link_errors = 0.0;
    }

    /// Where software begins to slow the core for heat, and where hardware cuts it.
    fn slows_at(&self) -> (f64, f64) {
        match self.part.thresholds_c {
            Some([_, slowdown, core_max, _]) => (core_max, slowdown),
            // Margin 0 and -2 °C.
            None => (self.part.margin_sum_c - 2.0, self.part.margin_sum_c),
        }
    }

    fn c_per_w(&self, stress: &Stress) -> f64 {
        self.condition.c_per_w + stress.hotter_c / self.part.plate_w
    }

    /// Lets `seconds` pass with this activity and reads the sensors at their end.
    pub(super) fn step(&mut self, activity: &Activity, seconds: f64) -> Readings {
        let part = self.part;
        let mut out = Readings::absent(Absent::NotSupported);
        let watts = self.power(activity, seconds, &mut out);
        self.heat(watts, seconds, &activity.stress, &mut out);
        self.work(activity, &mut out);
        self.link(activity, seconds, &mut out);
        self.memory(activity, &mut out);
        for metric in [
            Metric::RemapCorrectable,
            Metric::RemapUncorrectable,
            Metric::RemapPending,
            Metric::RecoveryAction,
            Metric::MigEnabled,
        ] {
            out.set(metric, Ok(0.0));
        }
        let stress = &activity.stress;
        out.set(Metric::EccUncorrected, Ok(stress.uncorrected));
        out.set(Metric::EccCorrected, Ok(stress.corrected));
        out.set(
            Metric::RemapFailure,
            Ok(f64::from(u8::from(stress.remap_failed))),
        );
        out.set(
            Metric::PerformanceState,
            Ok(self.performance_state(activity)),
        );
        out.set(Metric::Persistence, Ok(1.0));
        out.set(Metric::EccEnabled, Ok(1.0));
        if part.nvlinks > 0.0 {
            self.nvlink(activity, seconds, &mut out);
        }
        out
    }

    /// Desktop cards rest in P8, those of data centres stay in P0 (facts 2a).
    fn performance_state(&self, activity: &Activity) -> f64 {
        if self.part.desktop && activity.power_w.is_none() {
            8.0
        } else {
            activity.stress.performance_state
        }
    }

    /// Share of power that must go for the core not to get hotter than it may.
    fn too_hot(&self, wanted: f64, stress: &Stress) -> f64 {
        let (limit_c, _) = self.slows_at();
        let most = (limit_c - self.condition.inlet_c) / self.c_per_w(stress);
        if self.core_c >= limit_c - 0.3 && wanted > most {
            1.0 - most / wanted
        } else {
            0.0
        }
    }

    fn power(&mut self, activity: &Activity, seconds: f64, out: &mut Readings) -> f64 {
        let stress = &activity.stress;
        let part = self.part;
        let limit = stress.limit_w.unwrap_or(self.condition.limit_w);
        let idle = if activity.owner.is_some() {
            part.resident_idle_w
        } else {
            part.bare_idle_w
        };
        let wanted = activity.power_w.unwrap_or(idle);
        self.hot_cut = self.too_hot(wanted.min(limit * 0.976), stress);
        let (slow, fast) = (
            self.slow.step(seconds, &mut self.noise),
            self.fast.step(seconds, &mut self.noise),
        );
        let white = self.noise.normal();
        // Work strays, idling and spinning hardly: under 2 % of the limit is the facts' mark of a hang.
        let works = activity.power_w.is_some() && !activity.flat;
        // The facts' deviation is of work near its plate; less power strays less.
        let share = (wanted / (0.5 * part.plate_w)).min(1.0);
        let stray = if works {
            (slow + fast * 0.008 * part.plate_w) * share
        } else {
            slow * 0.15
        };
        let held_back = wanted > limit;
        // The limiter keeps the average a few watts under the limit.
        let mean = if held_back { limit * 0.976 } else { wanted } * (1.0 - self.hot_cut);
        let average = (mean + stray + white).max(part.bare_idle_w * 0.9);
        let average = if held_back {
            average.min(limit * 1.01)
        } else {
            average
        };
        // H100 under load: 629 W average beside 588 W instantaneous; without the average's window the sensor of older
        // parts is calmer.
        let spread = match (works, part.hopper) {
            (true, true) => 0.03,
            (true, false) => 0.008,
            (false, _) => 0.004,
        };
        let instant = average + spread * part.plate_w * self.noise.normal();
        self.energy_j += average * seconds;
        let share = if held_back {
            0.93
        } else {
            activity.capped_ratio
        };
        self.capped_s += share * seconds;
        let capped = self.noise.uniform() < share;
        let quiet = activity.utilization <= 0.0;
        let slowed = self.hot_cut > 0.004;
        let burns = self.core_c > self.slows_at().1;
        let reasons = if quiet { IDLE } else { 0 }
            | if capped { POWER_CAP } else { 0 }
            | if slowed { SW_THERMAL } else { 0 }
            | if burns { HW_THERMAL | HW_SLOWDOWN } else { 0 }
            | stress.reasons;
        for (sum, share) in self.held_s.iter_mut().zip([
            stress.synced_ratio,
            f64::from(u8::from(slowed)),
            f64::from(u8::from(burns)),
            stress.braked_ratio,
        ]) {
            *sum += share * seconds;
        }
        let [synced, slowed, burned, braked] = self.held_s;
        let milli = |w: f64| Ok((w * 1000.0).round() / 1000.0);
        out.set(
            Metric::PowerUsage,
            milli(if part.hopper { average } else { instant }),
        );
        if part.hopper {
            out.set(Metric::PowerAverage, milli(average));
            out.set(
                Metric::PowerInstant,
                milli(instant.max(part.bare_idle_w * 0.9)),
            );
        }
        for (metric, value) in [
            (Metric::LimitEnforced, limit),
            (Metric::LimitRequested, limit),
            (Metric::LimitDefault, part.plate_w),
            (Metric::LimitMin, part.limit_min_w),
            (Metric::LimitMax, part.plate_w),
            (Metric::Reasons, reasons as f64),
            (Metric::ReasonsSupported, f64::from(0x1ff_u16)),
            (Metric::SecondsSyncBoost, synced),
            (Metric::SecondsSwThermal, slowed),
            (Metric::SecondsHwThermal, burned),
            (Metric::SecondsPowerBrake, braked),
        ] {
            out.set(metric, Ok(value));
        }
        out.set(Metric::Energy, milli(self.energy_j));
        out.set(
            Metric::SecondsSwPowerCap,
            Ok((self.capped_s * 1e6).round() / 1e6),
        );
        self.clock(activity, held_back, wanted, out);
        average
    }

    fn clock(&mut self, activity: &Activity, held_back: bool, wanted: f64, out: &mut Readings) {
        let part = self.part;
        let cut = if held_back {
            // Near its limit a card gives up about half as much clock as power.
            1.0 - 0.5 * (1.0 - activity.stress.limit_w.unwrap_or(self.condition.limit_w) / wanted)
        } else {
            1.0
        };
        let cut = cut * (1.0 - CLOCK_FOR_POWER * self.hot_cut);
        let rests = part.desktop && activity.power_w.is_none();
        let clock = if activity.owner.is_some() && !rests {
            let unrest = if cut < 1.0 || activity.capped_ratio > 0.0 {
                8.0
            } else {
                0.0
            };
            part.sm_clock_mhz * activity.clock_ratio * cut + unrest * self.noise.normal()
        } else {
            part.idle_clock_mhz
        };
        let step = (clock.min(part.sm_clock_mhz) / 15.0).round() * 15.0;
        out.set(Metric::SmClock, Ok(step));
        out.set(Metric::SmClockMax, Ok(part.sm_clock_mhz));
        out.set(Metric::MemoryClock, Ok(part.memory_clock_mhz));
        out.set(Metric::MemoryClockMax, Ok(part.memory_clock_mhz));
    }

    fn heat(&mut self, watts: f64, seconds: f64, stress: &Stress, out: &mut Readings) {
        let part = self.part;
        let settles = self.condition.inlet_c + self.c_per_w(stress) * watts;
        let towards = 1.0 - (-seconds / HEAT_S).exp();
        self.core_c += (settles - self.core_c) * towards;
        if settles > self.slows_at().0 {
            // The regulator sees it coming, however far apart the ticks are.
            self.core_c = self.core_c.min(self.slows_at().0 + 0.4);
        }
        self.memory_c += (settles - 3.0 - self.memory_c) * towards;
        // Integer sensor with 0.4 °C of noise (facts section 9).
        let core = self.core_c + 0.4 * self.noise.normal();
        out.set(Metric::CoreTemperature, Ok(core.round()));
        out.set(Metric::MemoryTemperature, Ok(self.memory_c.round()));
        match part.thresholds_c {
            Some([shutdown, slowdown, core_max, memory_max]) => {
                out.set(Metric::ThresholdShutdown, Ok(shutdown));
                out.set(Metric::ThresholdSlowdown, Ok(slowdown));
                out.set(Metric::ThresholdGpuMax, Ok(core_max));
                out.set(Metric::ThresholdMemoryMax, Ok(memory_max));
            }
            None => {
                // A hotter hidden spot: the sum falls by 2 °C under load.
                let sum = part.margin_sum_c - 2.0 * watts / part.plate_w;
                out.set(Metric::Margin, Ok((sum - core).floor()));
                out.set(Metric::MarginShutdown, Ok(-8.0));
                out.set(Metric::MarginSlowdown, Ok(-2.0));
                out.set(Metric::MarginGpuMax, Ok(0.0));
            }
        }
    }

    fn work(&mut self, activity: &Activity, out: &mut Readings) {
        let busy = activity.utilization > 0.0;
        let stray = if busy && !activity.flat {
            0.006 * self.noise.normal()
        } else {
            0.0
        };
        let percent = |v: f64| Ok((v.clamp(0.0, 1.0) * 100.0).round() / 100.0);
        out.set(Metric::Utilization, percent(activity.utilization + stray));
        // 7 to 11 % under compute-bound load: the driver's figure says little.
        let memory = activity.stress.memory_activity;
        let memory = memory.unwrap_or(activity.dram_active * 0.25);
        out.set(Metric::MemoryActivity, percent(memory));
        if !self.part.hopper {
            return;
        }
        for (metric, value) in [
            (Metric::SmActive, activity.sm_active),
            (Metric::SmOccupancy, activity.sm_active * 0.42),
            (Metric::TensorActive, activity.tensor_active),
            (Metric::DramActive, activity.dram_active),
        ] {
            let stray = if value > 0.0 && !activity.flat {
                value * 0.02 * self.noise.normal()
            } else {
                0.0
            };
            let ratio = (value + stray).clamp(0.0, 1.0);
            out.set(metric, Ok((ratio * 1e4).round() / 1e4));
        }
    }

    fn link(&mut self, activity: &Activity, seconds: f64, out: &mut Readings) {
        let part = self.part;
        let mut link = activity.stress.link.unwrap_or(self.condition.link);
        if part.desktop && activity.power_w.is_none() {
            // P8 has generation 1 (open-gpu-kernel-modules 731).
            link.generation = 1;
        }
        let most = usable_bytes_per_second(link).unwrap_or(0.0) * LINK_FULL;
        let mut rate = |wanted: f64| {
            let unrest = if wanted > most { 0.012 } else { 0.05 };
            let background = 60e3 * (1.0 + 0.2 * self.noise.normal());
            (wanted.min(most * 0.985) * (1.0 + unrest * self.noise.normal())).clamp(0.0, most)
                + background
        };
        let (rx, tx) = (rate(activity.rx_bytes_per_s), rate(activity.tx_bytes_per_s));
        self.rx_bytes += (rx * seconds).round();
        self.tx_bytes += (tx * seconds).round();
        for (metric, value) in [
            (Metric::PcieGenerationBefore, f64::from(link.generation)),
            (Metric::PcieGenerationAfter, f64::from(link.generation)),
            (Metric::PcieWidthBefore, f64::from(link.width)),
            (Metric::PcieWidthAfter, f64::from(link.width)),
            (Metric::PcieGenerationMax, f64::from(part.link.generation)),
            (
                Metric::PcieGenerationDevice,
                f64::from(part.link.generation),
            ),
            (Metric::PcieWidthMax, f64::from(part.link.width)),
            (Metric::PcieRxBytes, self.rx_bytes),
            (Metric::PcieTxBytes, self.tx_bytes),
            (Metric::PcieCounterBits, 64.0),
            (Metric::PcieReplays, 9.0),
            (Metric::PcieCorrectable, 0.0),
            (Metric::PcieNonFatal, 0.0),
            (Metric::PcieFatal, 0.0),
        ] {
            out.set(metric, Ok(value));
        }
        if part.hopper {
            out.set(Metric::GpmPcieRx, Ok((rx / MIB).round() * MIB));
            out.set(Metric::GpmPcieTx, Ok((tx / MIB).round() * MIB));
        }
    }

    fn nvlink(&mut self, activity: &Activity, seconds: f64, out: &mut Readings) {
        let part = self.part;
        let unrest = if activity.flat {
            0.0
        } else {
            0.04 * self.noise.normal()
        };
        self.nvlink_bytes += (activity.nvlink_bytes_per_s * (1.0 + unrest) * seconds)
            .max(0.0)
            .round();
        let up = (part.nvlinks - activity.stress.links_down).max(0.0);
        self.link_errors += activity.stress.link_errors_per_s * seconds;
        for (metric, value) in [
            (Metric::NvlinkLinks, part.nvlinks),
            (Metric::NvlinkUp, up),
            (Metric::NvlinkRxBytes, self.nvlink_bytes),
            (Metric::NvlinkTxBytes, self.nvlink_bytes),
            (Metric::NvlinkSpeed, up * part.nvlink_bytes_per_s),
            (Metric::NvlinkErrors, self.link_errors.floor()),
        ] {
            out.set(metric, Ok(value));
        }
    }

    fn memory(&self, activity: &Activity, out: &mut Readings) {
        let part = self.part;
        // A driver counts a little even with no process.
        let guest = activity.owner.map_or(0.0, |owner| owner.guest_gib);
        let used = ((activity.memory_gib + guest) * GIB / MIB).floor() + 4.0;
        for (metric, mib) in [
            (
                Metric::MemoryUsed,
                used.min(part.memory_mib - part.reserved_mib),
            ),
            (Metric::MemoryTotal, part.memory_mib),
            (Metric::MemoryReserved, part.reserved_mib),
            (Metric::Bar1Used, used.min(part.bar1_mib)),
            (Metric::Bar1Total, part.bar1_mib),
        ] {
            out.set(metric, Ok(mib * MIB));
        }
    }
}
