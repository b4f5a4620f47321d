//! The thresholds of the rules as data: each with its default, whose that is, and its place in the configuration
//! (`[verdict.CAUSE] key = value`).

use super::evidence::{Paper, Whose};
use super::verdict::Cause;
use serde::{Deserialize, Serialize};

macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident $cause:ident $key:literal $default:literal $whose:expr;)*) => {
        /// One number that a rule compares with. New ones are appended: a `Start` keeps their place.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Threshold { $($(#[$doc])* $name,)* }

        impl Threshold {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The cause that it belongs to.
            #[must_use]
            pub const fn cause(self) -> Cause {
                match self { $(Self::$name => Cause::$cause,)* }
            }

            /// Its key in the configuration. What ends in `_s` is seconds, in `_c` degrees Celsius, all else a plain
            /// number or a share.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }

            /// What holds where nobody says otherwise.
            #[must_use]
            pub const fn default(self) -> f64 {
                match self { $(Self::$name => $default,)* }
            }

            /// Whose the default is.
            #[must_use]
            pub const fn whose(self) -> Whose {
                match self { $(Self::$name => $whose,)* }
            }
        }
    };
}

thresholds! {
    /// Seconds from the begin to the first suspicion; two polls.
    LostSuspect DeviceLost "suspect_s" 2.0 Whose::OURS;
    /// Seconds until it is sure: a driver that is loaded anew looks the same for a moment.
    LostSure DeviceLost "sure_s" 10.0 Whose::OURS;
    /// How long an XID is news: the first has no earlier zero to be compared with.
    XidNews EccXid "news_s" 600.0 Whose::Paper(Paper::Exporter);
    /// Seconds to suspicion.
    BrakeSuspect PowerBrake "suspect_s" 5.0 Whose::OURS;
    /// Seconds to sure: a hardware slowdown may blink on a change of performance state.
    BrakeSure PowerBrake "sure_s" 10.0 Whose::OURS;
    /// Share of the time under the brake.
    BrakeTime PowerBrake "time_ratio" 0.5 Whose::OURS;
    /// Seconds to suspicion.
    HeatSuspect Thermal "suspect_s" 5.0 Whose::OURS;
    /// Seconds to sure.
    HeatSure Thermal "sure_s" 30.0 Whose::Article;
    /// Temperature that is too hot where a device reports no threshold.
    HeatAlarm Thermal "alarm_c" 82.0 Whose::Article;
    /// Degrees left that are none.
    HeatMargin Thermal "headroom_c" 1.0 Whose::Device;
    /// Share of the time slowed for heat.
    HeatTime Thermal "time_ratio" 0.05 Whose::Paper(Paper::Dcgm);
    /// Seconds to suspicion.
    CapSuspect PowerCap "suspect_s" 10.0 Whose::OURS;
    /// Seconds to sure.
    CapSure PowerCap "sure_s" 60.0 Whose::OURS;
    /// A limit below this share of the default is lowered.
    CapLimit PowerCap "limit_ratio" 0.98 Whose::Plate;
    /// Clocks held for power at less than this share of the limit are held by something else.
    CapHeld PowerCap "held_ratio" 0.80 Whose::OURS;
    /// Seconds to sure.
    DriftSure PowerDrift "sure_s" 3600.0 Whose::Article;
    /// Power below this share of the device's own reference: 240 of 250 W.
    DriftRatio PowerDrift "power_ratio" 0.96 Whose::Article;
    /// Allowance of the CUSUM over 15-minute medians as a share of the reference: 5 of 250 W.
    DriftAllowance PowerDrift "allowance_ratio" 0.02 Whose::OURS;
    /// Decision interval of the CUSUM as a share of the reference: 30 of 250 W. With a
    /// second witness beside it; the facts measured 40 W without one.
    DriftDecision PowerDrift "decision_ratio" 0.12 Whose::OURS;
    /// A reference whose median absolute deviation is larger than this share is too noisy to be held against.
    DriftNoise PowerDrift "noise_ratio" 0.015 Whose::OURS;
    /// Clock below this share of the reference is a second witness.
    DriftClock PowerDrift "clock_ratio" 0.99 Whose::Baseline;
    /// Seconds to suspicion.
    LockedSuspect ClockLocked "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    LockedSure ClockLocked "sure_s" 60.0 Whose::OURS;
    /// Clock below this share of its maximum, or of the device's own reference.
    LockedClock ClockLocked "clock_ratio" 0.95 Whose::Article;
    /// Clock below this share of its maximum that nothing explains.
    LockedLow ClockLocked "low_ratio" 0.70 Whose::OURS;
    /// Seconds to suspicion.
    LinkSuspect PcieLink "suspect_s" 5.0 Whose::OURS;
    /// Seconds to sure: three polls ten seconds apart.
    LinkSure PcieLink "sure_s" 30.0 Whose::OURS;
    /// Seconds to suspicion.
    SaturatedSuspect PcieSaturated "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    SaturatedSure PcieSaturated "sure_s" 60.0 Whose::OURS;
    /// Share of what the link carries.
    SaturatedRatio PcieSaturated "saturation_ratio" 0.80 Whose::OURS;
    /// Work below this: a full link beside much work is no stall.
    SaturatedWork PcieSaturated "work_ratio" 0.40 Whose::OURS;
    /// Seconds to suspicion.
    WaitSuspect CollectiveWait "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure: what is abnormal for five minutes is a fault.
    WaitSure CollectiveWait "sure_s" 300.0 Whose::Paper(Paper::Minder);
    /// Utilization of a waiting kernel.
    WaitBusy CollectiveWait "utilization_ratio" 0.95 Whose::OURS;
    /// Power span up to which a kernel spins: H100 and V100 were seen at 0 to 7 %.
    WaitSpan CollectiveWait "power_span_ratio" 0.10 Whose::OURS;
    /// Power span up to which small cards spin: a T4 at a third.
    WaitSpanSmall CollectiveWait "power_span_small_ratio" 0.45 Whose::OURS;
    /// Standard deviation of power as a share of the limit.
    WaitSpread CollectiveWait "power_spread_ratio" 0.02 Whose::OURS;
    /// Power over limit, where no span can be told, for limits of 250 W and more.
    WaitLimit CollectiveWait "power_limit_ratio" 0.25 Whose::OURS;
    /// Bytes per second over PCIe or NVLink that are background.
    WaitTraffic CollectiveWait "traffic_bytes_per_s" 100e6 Whose::OURS;
    /// Memory or pipes busy up to this are not at work.
    WaitMemory CollectiveWait "memory_activity_ratio" 0.05 Whose::OURS;
    /// Seconds to suspicion.
    StarvedSuspect InputStarved "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    StarvedSure InputStarved "sure_s" 300.0 Whose::OURS;
    /// Share of seconds without work.
    StarvedIdle InputStarved "idle_ratio" 0.15 Whose::Paper(Paper::Ibee);
    /// CPU use of the owners, of what they may use.
    StarvedCpu InputStarved "cpu_ratio" 0.85 Whose::OURS;
    /// Seconds to suspicion.
    QuotaSuspect HostThrottled "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    QuotaSure HostThrottled "sure_s" 60.0 Whose::OURS;
    /// Share of periods at the quota that is worth watching.
    QuotaWatch HostThrottled "watch_ratio" 0.05 Whose::OURS;
    /// Share of periods at the quota that stalls.
    QuotaCall HostThrottled "call_ratio" 0.25 Whose::OURS;
    /// Seconds to suspicion.
    DiskSuspect DiskIo "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    DiskSure DiskIo "sure_s" 60.0 Whose::OURS;
    /// Time in which all tasks waited for storage.
    DiskFull DiskIo "io_full_ratio" 0.05 Whose::OURS;
    /// Seconds to suspicion.
    NetworkSuspect NetworkIo "suspect_s" 30.0 Whose::OURS;
    /// Seconds to sure: two alerts of a minute each.
    NetworkSure NetworkIo "sure_s" 120.0 Whose::Paper(Paper::ByteRobust);
    /// Share of TCP segments sent again.
    NetworkLoss NetworkIo "retransmit_ratio" 0.05 Whose::Article;
    /// Segments in a minute below which a share is noise.
    NetworkSegments NetworkIo "segments" 1000.0 Whose::OURS;
    /// RDMA errors in a minute.
    NetworkRdma NetworkIo "rdma_errors" 10.0 Whose::OURS;
    /// Seconds to suspicion.
    LaunchSuspect LaunchBound "suspect_s" 60.0 Whose::OURS;
    /// Seconds to sure.
    LaunchSure LaunchBound "sure_s" 300.0 Whose::OURS;
    /// SMs busy below this beside full utilization.
    LaunchSm LaunchBound "sm_active_ratio" 0.25 Whose::Paper(Paper::Kempner);
    /// Power span below this, where SM activity is not measured.
    LaunchSpan LaunchBound "power_span_ratio" 0.30 Whose::OURS;
    /// Growth of device memory in each third of two hours, as a share of all of it per hour.
    LeakGrowth MemoryLeak "growth_ratio_per_h" 0.005 Whose::OURS;
    /// Seconds to suspicion.
    SwapSuspect HostMemory "suspect_s" 20.0 Whose::OURS;
    /// Seconds to sure.
    SwapSure HostMemory "sure_s" 60.0 Whose::OURS;
    /// Time in which all tasks waited for memory.
    SwapPressure HostMemory "memory_full_ratio" 0.01 Whose::OURS;
    /// Major faults of the owners per second.
    SwapFaults HostMemory "major_faults_per_s" 100.0 Whose::OURS;
    /// Seconds to suspicion.
    NvlinkSuspect NvlinkDown "suspect_s" 5.0 Whose::OURS;
    /// Seconds to sure.
    NvlinkSure NvlinkDown "sure_s" 30.0 Whose::OURS;
    /// NVLink errors per second that fail a health check.
    NvlinkErrors NvlinkDown "errors_per_s" 100.0 Whose::Paper(Paper::Dcgm);
    /// Seconds to suspicion.
    StragglerSuspect Straggler "suspect_s" 60.0 Whose::OURS;
    /// Seconds to sure.
    StragglerSure Straggler "sure_s" 300.0 Whose::Paper(Paper::Minder);
    /// Slower than the median of the peers by this share.
    StragglerSlower Straggler "slower_ratio" 0.10 Whose::Paper(Paper::Falcon);
    /// Seconds to suspicion.
    PlateSuspect PlateMismatch "suspect_s" 5.0 Whose::OURS;
    /// Seconds to sure.
    PlateSure PlateMismatch "sure_s" 30.0 Whose::OURS;
    /// The driver's default limit below this share of the rated power.
    PlateDefault PlateMismatch "default_ratio" 0.95 Whose::Plate;
    /// Seconds without work before it is said; it counts after `max_idle` in `[thresholds]`.
    IdleSuspect IdleBilled "suspect_s" 60.0 Whose::OURS;
    /// Seconds in which no reading of a busy device changed.
    FrozenSuspect CounterFrozen "suspect_s" 30.0 Whose::OURS;
    /// Seconds to sure.
    FrozenSure CounterFrozen "sure_s" 60.0 Whose::OURS;
    /// Seconds after a process began that are its start-up.
    WarmUpSeconds WarmUp "seconds_s" 600.0 Whose::OURS;
    /// Memory busy from here on is a memory-bound load.
    BoundMemory MemoryBound "memory_activity_ratio" 0.50 Whose::Paper(Paper::Kempner);
    /// Bytes per second that owners write while a checkpoint is stored.
    CheckpointWrites CheckpointPause "write_bytes_per_s" 50e6 Whose::OURS;
    /// A pause shorter than this many times the longest earlier one is not reported.
    PauseLonger EvalPause "longer_ratio" 2.0 Whose::OURS;
    /// Power span from which on idle pipes mean artificial load.
    SmoothingSpan PowerSmoothing "power_span_ratio" 0.50 Whose::OURS;
    /// Pipes busy below this are idle.
    SmoothingPipes PowerSmoothing "pipes_ratio" 0.05 Whose::OURS;
    /// Growth of the memory in use, as a share of all of it, with which a device is woken.
    WakeMemory WarmUp "memory_ratio" 0.02 Whose::OURS;
    /// Power span from which on a device without work is awake.
    WakeSpan WarmUp "power_span_ratio" 0.20 Whose::OURS;
    /// Seconds after waking without any work from which on a start is stalled.
    WakeStalled WarmUp "stalled_s" 60.0 Whose::OURS;
}

/// All thresholds as they hold: the defaults, and what the configuration says otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Thresholds {
    changed: Vec<(Threshold, f64)>,
}

impl Thresholds {
    /// Sets one; a number that is not finite or negative changes nothing.
    pub fn set(&mut self, threshold: Threshold, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        self.changed.retain(|(which, _)| *which != threshold);
        self.changed.push((threshold, value));
        self.changed.sort_by_key(|(which, _)| *which);
    }

    /// The number, and whose it is: the configuration's where that says one.
    #[must_use]
    pub fn get(&self, threshold: Threshold) -> (f64, Whose) {
        self.changed
            .iter()
            .find(|(which, _)| *which == threshold)
            .map_or((threshold.default(), threshold.whose()), |(_, value)| {
                (*value, Whose::Config)
            })
    }

    /// What the configuration says otherwise.
    #[must_use]
    pub fn changed(&self) -> &[(Threshold, f64)] {
        &self.changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_once_for_each_cause_and_defaults_are_numbers() {
        for (n, a) in Threshold::ALL.iter().enumerate() {
            assert!(a.default().is_finite() && a.default() >= 0.0, "{a:?}");
            for b in Threshold::ALL.iter().skip(n + 1) {
                assert!((a.cause(), a.key()) != (b.cause(), b.key()), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn what_the_configuration_says_is_the_configurations() {
        let mut all = Thresholds::default();
        assert_eq!(all.get(Threshold::DriftRatio), (0.96, Whose::Article));
        all.set(Threshold::DriftRatio, 0.9);
        all.set(Threshold::DriftRatio, 0.93);
        all.set(Threshold::HeatAlarm, f64::NAN);
        assert_eq!(all.get(Threshold::DriftRatio), (0.93, Whose::Config));
        assert_eq!(all.get(Threshold::HeatAlarm), (82.0, Whose::Article));
        assert_eq!(all.changed().len(), 1);
    }
}
