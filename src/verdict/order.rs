//! The order in which causes are decided, and their windows.

use crate::model::{Cause, Threshold as T};

/// First hit wins: faults, brake and heat, hang, link, host, storage and network, starvation, limits, peers, clocks, known
/// pauses, kinds of work, idle (facts on diagnosis, section 8).
pub(crate) const ORDER: [Cause; 33] = [
    Cause::DeviceLost,
    Cause::EccXid,
    Cause::CounterFrozen,
    Cause::PowerBrake,
    Cause::Thermal,
    Cause::CollectiveWait,
    Cause::PcieLink,
    Cause::PcieSaturated,
    Cause::NvlinkDown,
    Cause::HostThrottled,
    Cause::HostMemory,
    Cause::DiskIo,
    Cause::NetworkIo,
    Cause::InputStarved,
    Cause::PlateMismatch,
    Cause::PowerCap,
    Cause::Straggler,
    Cause::ClockLocked,
    Cause::PowerDrift,
    Cause::LaunchBound,
    Cause::MemoryLeak,
    Cause::PanelDisagrees,
    Cause::Flapping,
    Cause::Unknown,
    Cause::WarmUp,
    Cause::CheckpointPause,
    Cause::CompilePause,
    Cause::EvalPause,
    Cause::IdleBilled,
    Cause::WorkChanged,
    Cause::PowerSmoothing,
    Cause::MemoryBound,
    Cause::Serving,
];

/// Where a cause stands in the order.
pub(crate) fn rank(cause: Cause) -> usize {
    ORDER
        .iter()
        .position(|c| *c == cause)
        .unwrap_or(ORDER.len())
}

/// A number of seconds: a threshold that the configuration may change, or fixed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seconds {
    Of(T),
    Fixed(f64),
}

/// The windows of a cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    /// Seconds until it is suspected.
    pub(crate) suspect: Seconds,
    /// Seconds until it is sure.
    pub(crate) sure: Seconds,
    /// Seconds without it until it is over.
    pub(crate) clear_s: f64,
}

const fn of(suspect: T, sure: T, clear_s: f64) -> Windows {
    Windows {
        suspect: Seconds::Of(suspect),
        sure: Seconds::Of(sure),
        clear_s,
    }
}

const fn fixed(suspect: f64, sure: f64, clear_s: f64) -> Windows {
    Windows {
        suspect: Seconds::Fixed(suspect),
        sure: Seconds::Fixed(sure),
        clear_s,
    }
}

/// The table of windows.
pub(crate) const fn windows(cause: Cause) -> Windows {
    match cause {
        Cause::DeviceLost => of(T::LostSuspect, T::LostSure, 0.0),
        Cause::EccXid => fixed(0.0, 0.0, 5.0),
        Cause::PowerBrake => of(T::BrakeSuspect, T::BrakeSure, 4.0),
        Cause::Thermal => of(T::HeatSuspect, T::HeatSure, 15.0),
        Cause::PowerCap => of(T::CapSuspect, T::CapSure, 15.0),
        Cause::PowerDrift => fixed(0.0, 0.0, 300.0),
        Cause::ClockLocked => of(T::LockedSuspect, T::LockedSure, 15.0),
        Cause::PcieLink => of(T::LinkSuspect, T::LinkSure, 10.0),
        Cause::PcieSaturated => of(T::SaturatedSuspect, T::SaturatedSure, 15.0),
        Cause::CollectiveWait => of(T::WaitSuspect, T::WaitSure, 5.0),
        Cause::InputStarved => of(T::StarvedSuspect, T::StarvedSure, 12.0),
        Cause::HostThrottled => of(T::QuotaSuspect, T::QuotaSure, 30.0),
        Cause::DiskIo => of(T::DiskSuspect, T::DiskSure, 40.0),
        Cause::NetworkIo => of(T::NetworkSuspect, T::NetworkSure, 60.0),
        Cause::LaunchBound => of(T::LaunchSuspect, T::LaunchSure, 30.0),
        Cause::MemoryLeak => fixed(0.0, 0.0, 900.0),
        Cause::HostMemory => of(T::SwapSuspect, T::SwapSure, 30.0),
        Cause::NvlinkDown => of(T::NvlinkSuspect, T::NvlinkSure, 15.0),
        Cause::Straggler => of(T::StragglerSuspect, T::StragglerSure, 30.0),
        Cause::PlateMismatch => of(T::PlateSuspect, T::PlateSure, 30.0),
        Cause::IdleBilled => Windows {
            suspect: Seconds::Of(T::IdleSuspect),
            sure: Seconds::Fixed(f64::INFINITY),
            clear_s: 5.0,
        },
        Cause::CounterFrozen => of(T::FrozenSuspect, T::FrozenSure, 0.0),
        Cause::Flapping => fixed(0.0, 0.0, 1200.0),
        Cause::WorkChanged => fixed(5.0, 30.0, 5.0),
        Cause::Serving | Cause::MemoryBound => fixed(60.0, 300.0, 60.0),
        Cause::PowerSmoothing => fixed(20.0, 60.0, 10.0),
        Cause::WarmUp | Cause::CheckpointPause | Cause::CompilePause | Cause::EvalPause => {
            fixed(3.0, 30.0, 3.0)
        }
        Cause::None | Cause::Unknown | Cause::PanelDisagrees => fixed(30.0, 60.0, 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_place() {
        for cause in Cause::ALL {
            let placed = ORDER.contains(&cause);
            assert_eq!(placed, cause != Cause::None, "{cause:?}");
        }
    }
}
