//! The boot clock.

use crate::units::MonoTime;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Now on `CLOCK_BOOTTIME`: goes on during a suspend, never jumps, the same in every process of the host.
pub(crate) fn boot_now() -> MonoTime {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    MonoTime(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    )
}

/// The instant `elapsed` ago.
pub(crate) fn boot_ago(elapsed: Duration) -> MonoTime {
    boot_now().minus(elapsed)
}
