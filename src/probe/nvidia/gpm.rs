//! GPM: what the device did between two ticks.

use super::ffi::GpmSample;
use super::unit::{Call, GpmState, Round, locked};
use crate::model::{Absent, Metric, Reading, Readings};
use crate::probe::plausible;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// GPM of several devices at once has crashed drivers, so only one device is in it at a time.
static TURN: Turn = Turn {
    busy: Mutex::new(false),
    free: Condvar::new(),
};
/// A device does not wait longer than this for another's GPM: the other may hang.
const PATIENCE: Duration = Duration::from_millis(250);
/// Two samples closer than this say nothing (nvml.h).
const APART: Duration = Duration::from_millis(100);
const MIB: f64 = 1_048_576.0;

struct Turn {
    busy: Mutex<bool>,
    free: Condvar,
}

/// Held while a device is in GPM.
struct InTurn;

impl Turn {
    fn take(&'static self) -> Option<InTurn> {
        let busy = locked(&self.busy);
        let (mut busy, _) = self
            .free
            .wait_timeout_while(busy, PATIENCE, |busy| *busy)
            .unwrap_or_else(PoisonError::into_inner);
        match *busy {
            true => None,
            false => {
                *busy = true;
                Some(InTurn)
            }
        }
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        *locked(&TURN.busy) = false;
        TURN.free.notify_one();
    }
}

/// What a GPM number is.
#[derive(Clone, Copy)]
enum Kind {
    Percent,
    PcieMib,
    NvlinkMib,
}

/// Metric, GPM's id, kind. PCIe and NVLink RX and TX are the device's.
const METRICS: [(Metric, u32, Kind); 8] = [
    (Metric::SmActive, 2, Kind::Percent),
    (Metric::SmOccupancy, 3, Kind::Percent),
    (Metric::TensorActive, 5, Kind::Percent),
    (Metric::DramActive, 10, Kind::Percent),
    (Metric::GpmPcieTx, 20, Kind::PcieMib),
    (Metric::GpmPcieRx, 21, Kind::PcieMib),
    (Metric::GpmNvlinkRx, 60, Kind::NvlinkMib),
    (Metric::GpmNvlinkTx, 61, Kind::NvlinkMib),
];

/// Takes a sample and sets the eight readings since the previous one. Where too little time has passed, the
/// readings stay.
pub(super) fn sample(round: &Round<'_>, readings: &mut Readings) {
    let mut state = locked(&round.unit.gpm);
    let all = |readings: &mut Readings, why| {
        for (metric, _, _) in METRICS {
            readings.set(metric, Err(why));
        }
    };
    if matches!(*state, GpmState::Unasked) {
        match supported(round) {
            Ok(()) => *state = GpmState::Ready(None),
            Err(why) => {
                all(readings, why);
                if matches!(why, Absent::NotSupported | Absent::NoLibrary) {
                    *state = GpmState::Refused(why);
                }
                return;
            }
        }
    }
    match &mut *state {
        GpmState::Unasked => {}
        GpmState::Refused(why) => all(readings, *why),
        GpmState::Ready(Some((at, _))) if at.elapsed() < APART => {}
        GpmState::Ready(previous) => {
            if let Err(why) = advance(round, previous, readings) {
                all(readings, why);
                if why == Absent::NotSupported {
                    *state = GpmState::Refused(why);
                }
            }
        }
    }
}

fn supported(round: &Round<'_>) -> Reading<()> {
    // The whole device answers for its slices.
    let of = round.unit.slice_of.map(|(parent, _)| parent);
    let support = round.call(Call::GpmSupport, |library, device| {
        library.gpm_support(of.unwrap_or(device))
    })?;
    match support {
        true => Ok(()),
        false => Err(Absent::NotSupported),
    }
}

fn advance(
    round: &Round<'_>,
    previous: &mut Option<(Instant, GpmSample)>,
    readings: &mut Readings,
) -> Reading<()> {
    let unit = round.unit;
    let _turn = TURN.take().ok_or(Absent::TimedOut)?;
    let (device, instance) = match unit.slice_of {
        Some((parent, instance)) => (parent, Some(instance)),
        None => (unit.handle, None),
    };
    let now = GpmSample::take(&unit.library, device, instance).map_err(|fault| fault.absent())?;
    let earlier = previous.take();
    let answers = match &earlier {
        None => Err(Absent::NotReported),
        Some((_, earlier)) => now
            .since(earlier, METRICS.map(|(_, id, _)| id))
            .map_err(|fault| fault.absent()),
    };
    *previous = Some((Instant::now(), now));
    let answers = answers?;
    for ((metric, _, kind), answer) in METRICS.into_iter().zip(answers) {
        let value = answer
            .map_err(|fault| fault.absent())
            .and_then(|raw| match kind {
                Kind::Percent => plausible::gpm_ratio(raw, instance.is_some()),
                Kind::PcieMib => plausible::pcie_rate(raw * MIB),
                Kind::NvlinkMib => plausible::nvlink_rate(raw * MIB),
            });
        readings.set(metric, value);
    }
    Ok(())
}
