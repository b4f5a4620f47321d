//! Memory, errors, devices that go away, sensors that stand still, and devices that nobody uses.

use super::kit::{Dice, Draft, Label, running};
use crate::model::{Absent, Cause, Readings};
use crate::simulate::behaviour::{Activity, Owner, Stress};
use crate::simulate::host::Surroundings;
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, V100};
use crate::simulate::plan::Incident;
use std::sync::Mutex;

const HOUR: f64 = 3600.0;

/// Facts section 9: growth over 0.5 % of the capacity an hour over 120 min, also in steps of 256 MiB; 800 and 1600 MiB/h
/// on 80 GB are found, 400 mostly not.
pub(super) fn memory_leak(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &V100], &H200);
    let severity = dice.severity(6.0);
    let capacity = part.memory_mib / 1024.0;
    let per_hour = 0.005 * severity * capacity;
    let (owned, steps) = (dice.owned(), dice.chance(0.4));
    let begin = 0.3 * HOUR;
    let end = begin + 3.2 * HOUR;
    let work = dice.training(part);
    let start = capacity * dice.between(0.3, 0.6);
    let at = move |t: f64| {
        let grown = per_hour * (t - begin).max(0.0) / HOUR;
        let grown = if steps {
            // 256 MiB on 80 GB.
            (grown / capacity * 320.0).floor() / 320.0 * capacity
        } else {
            grown
        };
        Activity {
            memory_gib: start + grown,
            ..work
        }
    };
    let label = Label::new(0, (begin, end), Cause::MemoryLeak, severity);
    Draft::paced(10.0, end, vec![running(part, 0, owned, at)], vec![label])
}

/// Card C18: swap in use and growing, memory pressure (full) over 1 %, over 100 major faults a second.
pub(super) fn host_memory(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&H100], &L40S);
    let (severity, begin, owned) = (dice.severity(8.0), dice.onset(), dice.owned());
    let work = dice.training(part);
    let held = if severity < 1.0 {
        0.02
    } else {
        dice.between(0.2, 0.5)
    };
    let end = begin + 420.0;
    let at = move |t: f64| {
        if t < begin {
            return work;
        }
        let slower = super::kit::slowed(work, part, held);
        Activity {
            utilization: work.utilization * (1.0 - held),
            owner: Some(Owner {
                major_faults_per_s: 100.0 * severity,
                ..Owner::WORKS
            }),
            ..slower
        }
    };
    let label = Label::new(0, (begin, end), Cause::HostMemory, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label]).weather(move |t| Surroundings {
        memory_pressure: if t >= begin { 0.01 * severity } else { 0.0 },
        swap_gib: if t >= begin {
            1.0 + (t - begin) * 0.02 * severity
        } else {
            0.3
        },
        ..Surroundings::QUIET
    })
}

/// Card C14: an uncorrected error, a failed remap, or an XID that must be acted on (48, 62, 64, 95, 119, 120).
pub(super) fn ecc_xid(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &A100_PCIE], &H200);
    let (begin, owned) = (dice.between(120.0, 400.0).round(), dice.owned());
    let work = dice.training(part);
    let kind = dice.pick(0, &[1, 2]);
    let code = dice.pick(48, &[62, 64, 95, 119, 120]);
    let end = begin + 180.0;
    let at = move |t: f64| Activity {
        stress: Stress {
            uncorrected: if t >= begin && kind == 0 { 2.0 } else { 0.0 },
            remap_failed: t >= begin && kind == 1,
            ..Stress::default()
        },
        ..work
    };
    let label = Label::new(0, (begin, end), Cause::EccXid, 2.0);
    let mut draft = Draft::new(end, vec![running(part, 0, owned, at)], vec![label]);
    if kind == 2 {
        draft.plan.incidents = vec![(begin, Incident::Xid(0, code))];
    }
    draft
}

/// Facts section 4: XIDs 13, 31 and 43 are the application's, 63 and 92 information; corrected errors are corrected.
pub(super) fn harmless_xid(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let (begin, owned) = (dice.between(120.0, 400.0).round(), dice.owned());
    let work = dice.training(part);
    let code = dice.pick(13, &[31, 43, 63, 92]);
    let at = move |t: f64| Activity {
        stress: Stress {
            corrected: if t >= begin { 3.0 } else { 1.0 },
            ..Stress::default()
        },
        ..work
    };
    let end = begin + 240.0;
    let label = Label::new(0, (0.0, end), Cause::None, 1.0);
    let mut draft = Draft::new(end, vec![running(part, 0, owned, at)], vec![label]);
    draft.plan.incidents = vec![(begin, Incident::Xid(0, code))];
    draft
}

/// Card C16: lost for 2 polls or more, with XID 79 or without; one poll that brings nothing is no loss.
pub(super) fn device_lost(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &V100], &H200);
    let (severity, begin, owned) = (
        dice.severity(60.0),
        dice.between(200.0, 700.0).round(),
        dice.owned(),
    );
    let work = dice.training(part);
    let end = begin + if severity < 1.0 { 60.0 } else { 120.0 };
    let mut label = Label::new(0, (begin, end), Cause::DeviceLost, severity);
    let peer = dice.training(part);
    let devices = vec![
        running(part, 0, owned, move |_: f64| work),
        running(part, 1, owned, move |_: f64| peer),
    ];
    let incidents = if severity < 1.0 {
        vec![(begin, Incident::Skip(0, 1))]
    } else if dice.chance(0.3) {
        vec![(begin, Incident::Gone(0))]
    } else {
        let xid = dice.chance(0.6).then_some((begin, Incident::Xid(0, 79)));
        if xid.is_some() {
            // 79 is an XID to act on as well.
            label.also.push(Cause::EccXid);
        }
        let lost = (begin, Incident::Silent(0, Absent::Lost));
        xid.into_iter().chain([lost]).collect()
    };
    let mut draft = Draft::new(end, devices, vec![label]);
    draft.plan.incidents = incidents;
    draft
}

/// Card C16's look-alike: all calls fail at once (driver reload, a container that lost its devices) and come back:
/// meanwhile nothing is known, and nothing is idle.
pub(super) fn all_silent(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let (begin, owned) = (dice.between(200.0, 400.0).round(), dice.owned());
    let end = begin + dice.between(40.0, 200.0).round();
    let devices = (0..2).map(|slot| {
        let work = dice.training(part);
        running(part, slot, owned, move |_: f64| work)
    });
    let devices = devices.collect();
    let labels = (0..2)
        .map(|slot| Label::new(slot, (begin, end), Cause::Unknown, 2.0).also(&[Cause::DeviceLost]));
    let mut draft = Draft::new(end + 90.0, devices, labels.collect());
    draft.plan.incidents = vec![
        (begin, Incident::Silent(0, Absent::TimedOut)),
        (begin, Incident::Silent(1, Absent::TimedOut)),
        (end, Incident::Answers(0)),
        (end, Incident::Answers(1)),
    ];
    draft
}

/// A driver that repeats itself: no reading moves any more, not even the milliwatts of a working card, whose sensor has
/// 1 W of noise (facts section 9). Threshold: 30 polls in a row, ours.
pub(super) fn counter_frozen(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &L40S);
    let (severity, begin, owned) = (
        dice.severity(12.0),
        dice.between(660.0, 900.0).round(),
        dice.owned(),
    );
    let end = begin + 30.0 * severity;
    let work = dice.training(part);
    let mut device = running(part, 0, owned, move |_: f64| work);
    let frozen: Mutex<Option<Readings>> = Mutex::new(None);
    device.lens = Some(Box::new(move |t, readings: &mut Readings| {
        if !(begin..end).contains(&t) {
            return;
        }
        if let Ok(mut frozen) = frozen.lock() {
            readings.clone_from(frozen.get_or_insert_with(|| readings.clone()));
        }
    }));
    let label = Label::new(0, (begin, end), Cause::CounterFrozen, severity).also(&[Cause::Unknown]);
    Draft::new(end + 60.0, vec![device], vec![label])
}

/// Card C19: 10 % or less of utilization with a live allocation; the articles' idle limit is 10 min. The severity is the
/// time's. Some keep a process, some have none.
pub(super) fn idle_billed(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &A100_PCIE], &L40S);
    let severity = dice.severity(3.0);
    let (begin, owned) = (dice.between(0.0, 300.0).round(), dice.owned());
    let end = begin + 600.0 * severity;
    let work = dice.training(part);
    let rests = match dice.pick(0, &[1, 2]) {
        0 => Activity::NOTHING,
        1 => Activity::held(work.memory_gib),
        _ => Activity {
            utilization: dice.between(0.01, 0.06),
            sm_active: 0.01,
            ..Activity::held(work.memory_gib)
        },
    };
    let at = move |t: f64| {
        if (begin..end).contains(&t) {
            rests
        } else {
            work
        }
    };
    let label = Label::new(0, (begin, end), Cause::IdleBilled, severity);
    Draft::new(end + 60.0, vec![running(part, 0, owned, at)], vec![label])
}

/// Section 9: utilization around a scaler's line of 30 % (28 to 32 %, every 5 min), 10 crossings in 2 h. The severity is
/// the swing over the 1 point of the hysteresis.
pub(super) fn flapping(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&A100_SXM], &L40S);
    let severity = dice.severity(3.0);
    let (owned, period) = (dice.owned(), dice.between(280.0, 420.0));
    let end = 3.0 * HOUR;
    let swing = 0.01 * severity;
    let at = move |t: f64| {
        let up = super::kit::pulse(t, period, 0.5);
        let utilization = 0.30 + if up { swing } else { -swing };
        Activity {
            utilization,
            sm_active: utilization * 0.6,
            tensor_active: 0.1,
            dram_active: 0.2,
            power_w: Some(super::kit::span_w(part, 0.2)),
            memory_gib: 20.0,
            rx_bytes_per_s: 2e8,
            owner: Some(Owner::WORKS),
            ..Activity::NOTHING
        }
    };
    let label = Label::new(0, (0.0, end), Cause::Flapping, severity).also(&[Cause::Serving]);
    Draft::paced(10.0, end, vec![running(part, 0, owned, at)], vec![label])
        .command("python3 -m vllm.entrypoints")
}
