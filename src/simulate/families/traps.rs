//! The traps of facts section 7: what a driver says that is not so, and what is so and is no fault.

use super::kit::{Dice, Draft, Label, pulse, running, span_w};
use crate::model::{Absent, Cause, Metric, Readings};
use crate::simulate::behaviour::{Activity, Owner, Stress};
use crate::simulate::host::Surroundings;
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, Part, RTX_4090, V100};
use crate::simulate::plan::{Incident, Lens};

/// One device at sound work with something odd about it, which is no fault.
fn odd(
    dice: &mut Dice,
    seconds: f64,
    part: &'static Part,
    stress: impl Fn(f64) -> Stress + Send + 'static,
) -> Draft {
    let owned = dice.owned();
    let work = dice.training(part);
    let at = move |t: f64| Activity {
        stress: stress(t),
        ..work
    };
    let label = Label::new(0, (0.0, seconds), Cause::None, 1.0);
    Draft::new(seconds, vec![running(part, 0, owned, at)], vec![label])
}

fn through(mut draft: Draft, lens: Lens) -> Draft {
    if let Some(device) = draft.plan.devices.first_mut() {
        device.lens = Some(lens);
    }
    draft
}

/// Facts 2a: an L40S at 100 % and 145 W, then at 9 % and 110 W: utilization and power are of different windows.
pub(super) fn lagging_power(dice: &mut Dice) -> Draft {
    let part = dice.part(&L40S, &[&A100_PCIE], &L40S);
    let (owned, period, lag) = (
        dice.owned(),
        dice.between(30.0, 60.0),
        dice.between(3.0, 7.0),
    );
    let work = dice.training(part);
    let at = move |t: f64| {
        let busy = pulse(t, period, 0.85);
        let drawn = pulse(t - lag, period, 0.85);
        let utilization = if busy { work.utilization } else { 0.08 };
        let share = if drawn { 0.55 } else { 0.15 };
        Activity {
            utilization,
            power_w: Some(span_w(part, share)),
            ..work
        }
    };
    let label = Label::new(0, (0.0, 600.0), Cause::None, 1.0);
    Draft::new(600.0, vec![running(part, 0, owned, at)], vec![label])
}

/// Facts 2a: cards are above their nameplate by up to 10 % for long (A100 fleet: p99 440 of 400 W).
pub(super) fn above_limit(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let over = dice.between(1.01, 1.10);
    let watts = part.plate_w * over;
    let draft = odd(dice, 600.0, part, |_| Stress::default());
    through(
        draft,
        Box::new(move |t, readings: &mut Readings| {
            let wave = 1.0 + 0.004 * (t * 0.7).sin();
            let mw = (watts * wave * 1000.0).round() / 1000.0;
            readings.set(Metric::PowerUsage, Ok(mw));
            if readings.get(Metric::PowerAverage).is_ok() {
                readings.set(Metric::PowerAverage, Ok(mw));
                readings.set(Metric::PowerInstant, Ok(mw));
            }
        }),
    )
}

/// The driver is loaded anew while we look: counters begin at 0.
pub(super) fn counter_reset(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let at = dice.between(100.0, 500.0).round();
    let mut draft = odd(dice, 720.0, part, |_| Stress::default());
    draft.plan.incidents = vec![(at, Incident::Reset(0))];
    draft
}

/// Facts 2a: under MIG there is no utilization, load or not (H100 at 434 W): nothing may be called idle, nothing stalled.
pub(super) fn mig(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let mut draft = odd(dice, 900.0, part, |_| Stress::default());
    for label in &mut draft.labels {
        label.also = vec![Cause::Unknown];
    }
    through(
        draft,
        Box::new(|_, readings: &mut Readings| {
            for metric in [
                Metric::Utilization,
                Metric::MemoryActivity,
                Metric::SmActive,
                Metric::SmOccupancy,
                Metric::TensorActive,
                Metric::DramActive,
            ] {
                readings.set(metric, Err(Absent::NotSupported));
            }
            readings.set(Metric::MigEnabled, Ok(1.0));
        }),
    )
}

/// A guest of a card sees no power, clock limits or temperature of its own (facts section 7).
pub(super) fn guest_without_power(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&V100], &L40S);
    let mut draft = odd(dice, 900.0, part, |_| Stress::default());
    if let Some(device) = draft.plan.devices.first_mut() {
        device.virtual_share = true;
    }
    through(
        draft,
        Box::new(|_, readings: &mut Readings| {
            for metric in [
                Metric::PowerUsage,
                Metric::PowerAverage,
                Metric::PowerInstant,
                Metric::LimitEnforced,
                Metric::LimitDefault,
                Metric::Energy,
                Metric::CoreTemperature,
                Metric::Margin,
            ] {
                readings.set(metric, Err(Absent::NotSupported));
            }
        }),
    )
}

/// Numbers that mean "no number": DCGM's 9223372036854775794, 4294967295 of 32 bits; a second or two at a time.
pub(super) fn sentinels(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let every = dice.between(20.0, 90.0);
    let draft = odd(dice, 900.0, part, |_| Stress::default());
    through(
        draft,
        Box::new(move |t, readings: &mut Readings| {
            if t.rem_euclid(every) >= 2.0 {
                return;
            }
            // As the probe hands on what it knows to be none.
            for (metric, raw) in [
                (Metric::PowerUsage, 4_294_967.295),
                (Metric::PowerAverage, 4_294_967.295),
                (Metric::Utilization, 42_949_672.95),
                (Metric::CoreTemperature, 4_294_967_295.0),
                (Metric::Energy, 9_223_372_036_854_775_794.0),
                (Metric::SmClock, 4_294_967_295.0),
            ] {
                readings.set(metric, Err(Absent::Implausible(raw)));
            }
        }),
    )
}

/// Facts 2a: a desktop card shows 9 to 23 % of memory utilization while it rests.
pub(super) fn desktop_memory(dice: &mut Dice) -> Draft {
    let share = dice.between(0.09, 0.23);
    let rests = Activity {
        stress: Stress {
            memory_activity: Some(share),
            performance_state: 8.0,
            ..Stress::default()
        },
        ..Activity::held(0.6)
    };
    let owned = dice.owned();
    let label = Label::new(0, (0.0, 480.0), Cause::None, 1.0).also(&[Cause::IdleBilled]);
    Draft::new(
        480.0,
        vec![running(&RTX_4090, 0, owned, move |_: f64| rests)],
        vec![label],
    )
}

/// Bit 0x10: another card of the sync group holds this one's clock for a while.
pub(super) fn sync_boost(dice: &mut Dice) -> Draft {
    let part = dice.part(&V100, &[&A100_SXM], &H100);
    let begin = dice.between(200.0, 700.0).round();
    let share = dice.between(0.2, 0.9);
    odd(dice, 1200.0, part, move |t| Stress {
        reasons: if t >= begin && pulse(t, 10.0, share) {
            0x10
        } else {
            0
        },
        synced_ratio: if t >= begin { share } else { 0.0 },
        ..Stress::default()
    })
}

/// Application clocks that the user set: clock, setting and bit 0x2 agree from the first look on.
pub(super) fn user_clocks(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&V100, &H100], &A100_PCIE);
    let share = dice.between(0.72, 0.93);
    let clock = (part.sm_clock_mhz * share / 15.0).round() * 15.0;
    let owned = dice.owned();
    let work = dice.training(part);
    let at = move |_: f64| Activity {
        clock_ratio: clock / part.sm_clock_mhz,
        power_w: work.power_w.map(|w| w * share.powf(1.2)),
        stress: Stress {
            reasons: 0x2,
            ..Stress::default()
        },
        ..work
    };
    let label = Label::new(0, (0.0, 900.0), Cause::None, 1.0);
    let draft = Draft::new(900.0, vec![running(part, 0, owned, at)], vec![label]);
    through(
        draft,
        Box::new(move |_, readings: &mut Readings| {
            readings.set(Metric::ApplicationClock, Ok(clock));
        }),
    )
}

/// Bit 0x1 in the middle of full load (captured on a 2080S).
pub(super) fn idle_bit_at_load(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&L40S], &V100);
    let every = dice.between(2.0, 9.0);
    odd(dice, 600.0, part, move |t| Stress {
        reasons: u64::from(t.rem_euclid(every) < every * 0.5),
        ..Stress::default()
    })
}

/// Bit 0x8 for one poll, as at a change of the performance state.
pub(super) fn slowdown_blips(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &V100], &L40S);
    let every = dice.between(25.0, 120.0).round();
    odd(dice, 900.0, part, move |t| Stress {
        reasons: if t.rem_euclid(every) < 1.0 { 0x8 } else { 0 },
        ..Stress::default()
    })
}

/// Two processes on one device: one of them ends, memory and power step down, the other goes on.
pub(super) fn two_processes(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &L40S);
    let (owned, ends) = (dice.owned(), dice.between(660.0, 900.0).round());
    let work = dice.training(part);
    let share = dice.between(0.45, 0.65);
    let at = move |t: f64| {
        let both = t < ends;
        let owner = Owner {
            guest_gib: if both { 14.0 } else { 0.0 },
            ..Owner::WORKS
        };
        if both {
            Activity {
                owner: Some(owner),
                memory_gib: work.memory_gib.min(24.0),
                ..work
            }
        } else {
            Activity {
                utilization: 0.9,
                power_w: Some(span_w(part, share)),
                sm_active: share * 0.8,
                memory_gib: work.memory_gib.min(24.0),
                owner: Some(owner),
                ..work
            }
        }
    };
    let label = Label::new(0, (0.0, ends + 900.0), Cause::None, 1.0);
    Draft::new(ends + 900.0, vec![running(part, 0, owned, at)], vec![label])
}

/// Section 5: InfiniBand counters are not namespaced: another tenant's bytes and errors while our job does well.
pub(super) fn shared_adapter(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let (begin, errors, bytes) = (
        dice.between(100.0, 500.0),
        dice.factor(5.0, 400.0),
        dice.between(1e9, 2e10),
    );
    odd(dice, 900.0, part, |_| Stress::default()).weather(move |t| Surroundings {
        infiniband: Some(if t >= begin {
            (bytes, errors)
        } else {
            (0.0, 0.0)
        }),
        ..Surroundings::QUIET
    })
}

/// Card C10's trap: half of 40 segments sent again is noise, not a network.
pub(super) fn few_segments(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let (ratio, segments) = (dice.between(0.1, 0.6), dice.between(0.5, 12.0));
    odd(dice, 600.0, part, |_| Stress::default()).weather(move |_| Surroundings {
        segments,
        retransmit_ratio: ratio,
        ..Surroundings::QUIET
    })
}

/// A machine that slept, and a wall clock that was set: those seconds are nobody's.
pub(super) fn suspend(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&H100], &L40S);
    let (sleeps, jumps) = (
        dice.between(200.0, 400.0).round(),
        dice.pick(-3600.0, &[-40.0, 90.0, 7200.0]),
    );
    let asleep = dice.between(120.0, 7200.0).round();
    let mut draft = odd(dice, 900.0 + asleep, part, |_| Stress::default());
    draft.plan.incidents = vec![
        (sleeps, Incident::Gap(asleep)),
        (sleeps + asleep + 200.0, Incident::WallJump(jumps)),
    ];
    draft
}

/// Section 9: memory that grows and stops: an allocator's step, a warm-up with tau 15 or 40 min, slow wander, a plateau.
pub(super) fn memory_plateau(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let owned = dice.owned();
    let work = dice.training(part);
    let kind = dice.pick(0, &[1, 2]);
    let (tau, size) = (dice.pick(900.0, &[2400.0]), dice.between(1.5, 9.0));
    let (step, wave) = (dice.between(2000.0, 9000.0), dice.between(1500.0, 5000.0));
    let at = move |t: f64| {
        let more = match kind {
            0 => size * (1.0 - (-t / tau).exp()),
            1 => size * f64::from(u8::from(t >= step)),
            _ => 0.4 * (t / wave).sin(),
        };
        Activity {
            memory_gib: work.memory_gib * 0.8 + more,
            ..work
        }
    };
    let end = 3.5 * 3600.0;
    let label = Label::new(0, (0.0, end), Cause::None, 1.0);
    Draft::paced(10.0, end, vec![running(part, 0, owned, at)], vec![label])
}

/// Section 9's noise: a reference that wanders by 2 % cannot carry a verdict of drift; no clock falls, no reason is set.
pub(super) fn noisy_reference(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&A100_SXM], &V100);
    let owned = dice.owned();
    let (first, second) = (
        dice.between(9_000.0, 16_000.0),
        dice.between(21_000.0, 40_000.0),
    );
    let watts = part.plate_w * 0.9;
    let work = dice.training(part);
    let at = move |t: f64| Activity {
        power_w: Some(
            watts
                * (1.0
                    + 0.022 * (t / first * std::f64::consts::TAU).sin()
                    + 0.018 * (t / second * std::f64::consts::TAU).sin()),
        ),
        ..work
    };
    let end = 14.0 * 3600.0;
    let label = Label::new(0, (0.0, end), Cause::None, 1.0);
    Draft::paced(30.0, end, vec![running(part, 0, owned, at)], vec![label])
}
