//! Ground truth: a family of scenarios for every cause, every look-alike and every trap of the facts on diagnosis.
//!
//! Every parameter names the fact that it is from (facts/diagnosis.md by section and card, captures, corpus); what has
//! no source is called ours. Scenarios go through the same [`Tick`] as a live device's. A family's scenarios differ by
//! seed: device, load, onset and severity, half of the severities within 25 % of the threshold on either side. What is
//! below its threshold is nothing wrong.
//!
//! Seeds from [`HELD_BACK`] on are held back: they take devices that the others do not have, and no test prints them one
//! by one.

mod clean;
mod faults;
mod innocent;
mod kit;
mod links;
mod power;
mod stalls;
mod traps;

#[cfg(test)]
mod tests;

pub use clean::clean;
pub use kit::Label;

use super::machine::Machine;
use crate::model::{Cause, DeviceId, Tick};
use kit::{Dice, Draft};

/// From this seed on, scenarios are held back.
pub const HELD_BACK: u64 = 1 << 32;

/// Scenarios of one kind.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The cause that it is about; `none` for what only looks like one.
    pub about: Cause,
    make: fn(&mut Dice) -> Draft,
}

macro_rules! families {
    ($($cause:ident: $($place:ident::$name:ident)+,)*) => {
        static FAMILIES: &[Family] = &[$($(Family {
            name: stringify!($name),
            about: Cause::$cause,
            make: $place::$name,
        },)+)*];
    };
}

families! {
    CollectiveWait: stalls::collective_wait stalls::collective_wait_t4 stalls::collective_wait_one,
    InputStarved: stalls::input_starved stalls::input_starved_subsecond,
    HostThrottled: stalls::host_throttled,
    DiskIo: stalls::disk_io,
    NetworkIo: stalls::network_io_tcp stalls::network_io_rdma stalls::network_io_fallback,
    LaunchBound: stalls::launch_bound,
    PcieSaturated: stalls::pcie_saturated,
    PcieLink: links::pcie_link links::pcie_link_starves,
    NvlinkDown: links::nvlink_down links::nvlink_errors,
    PowerCap: power::power_cap,
    PowerDrift: power::power_drift_ramp power::power_drift_step power::power_drift_bare,
    PowerBrake: power::power_brake,
    Thermal: power::thermal power::thermal_unsaid,
    ClockLocked: power::clock_locked,
    Straggler: power::straggler,
    PlateMismatch: power::plate_mismatch,
    MemoryLeak: faults::memory_leak,
    HostMemory: faults::host_memory,
    EccXid: faults::ecc_xid,
    DeviceLost: faults::device_lost,
    CounterFrozen: faults::counter_frozen,
    IdleBilled: faults::idle_billed,
    Flapping: faults::flapping,
    Unknown: faults::all_silent,
    WarmUp: innocent::warm_up,
    EvalPause: innocent::eval_pause,
    CompilePause: innocent::compile_pause,
    CheckpointPause: innocent::checkpoint_pause,
    WorkChanged: innocent::work_changed,
    Serving: innocent::serving,
    MemoryBound: innocent::memory_bound,
    PowerSmoothing: innocent::power_smoothing,
    None: innocent::sound innocent::full_load innocent::half_power_work links::resting_link links::resting_width
        faults::harmless_xid traps::lagging_power traps::above_limit traps::counter_reset traps::mig
        traps::guest_without_power traps::sentinels traps::desktop_memory traps::sync_boost traps::user_clocks
        traps::idle_bit_at_load traps::slowdown_blips traps::two_processes traps::shared_adapter traps::few_segments
        traps::suspend traps::memory_plateau traps::noisy_reference,
}

/// All families.
#[must_use]
pub fn families() -> &'static [Family] {
    FAMILIES
}

impl Family {
    /// The scenario of a seed.
    #[must_use]
    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut dice = Dice::new(seed, self.name, seed >= HELD_BACK);
        let Draft {
            plan,
            seconds,
            labels,
        } = (self.make)(&mut dice);
        let interval_s = plan.timing.interval_s;
        Scenario {
            family: self.name,
            labels,
            seconds,
            interval_s,
            machine: Machine::new(self.name, seed, plan),
        }
    }
}

/// A scenario that runs, with what is really so.
pub struct Scenario {
    /// The family it is of.
    pub family: &'static str,
    /// What is so, by device and time; where no label holds, nothing is wrong.
    pub labels: Vec<Label>,
    /// How long it lasts.
    pub seconds: f64,
    /// Seconds between ticks.
    pub interval_s: f64,
    machine: Machine,
}

impl Scenario {
    /// The next tick with its second; `None` at the end.
    pub fn tick(&mut self) -> Option<(f64, Tick)> {
        let (second, _) = self.machine.next_second();
        (second <= self.seconds).then(|| (second, self.machine.tick()))
    }

    /// The devices' ids, by index.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceId> {
        let devices = self.machine.devices.iter();
        devices.map(|d| d.identity.id.clone()).collect()
    }
}
