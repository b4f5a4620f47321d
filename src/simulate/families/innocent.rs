//! What only looks like a fault: pauses, other work, work that needs little power.

use super::kit::{Dice, Draft, Label, pulse, running, span_w, waits, wander};
use crate::model::Cause;
use crate::simulate::behaviour::{Activity, Checkpoints, Owner, StartUp, Steady};
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, Part, V100};
use crate::simulate::plan::Incident;

/// Nothing wrong; the word fits, `none` as well.
fn innocent(device: usize, span: (f64, f64), cause: Cause) -> Label {
    Label::new(device, span, cause, 1.0).also(&[Cause::None])
}

/// Card C11: the first 10 min after the process began: loading, one thread that compiles, memory that grows.
pub(super) fn warm_up(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &L40S);
    let work = dice.training(part);
    let start = StartUp {
        work: Steady(work),
        process: 20.0,
        compute: dice.between(150.0, 560.0),
    };
    let device = running(part, 0, 0.0, start);
    Draft::new(
        900.0,
        vec![device],
        vec![innocent(0, (20.0, 620.0), Cause::WarmUp)],
    )
}

/// Card C11: another level of power for a minute or two, which comes again. The first one cannot be known for what it is.
pub(super) fn eval_pause(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &H200);
    let (owned, period, length) = (
        dice.owned(),
        dice.between(420.0, 700.0),
        dice.between(50.0, 130.0),
    );
    let work = dice.training(part);
    let utilization = dice.between(0.55, 0.97);
    let share = dice.between(0.25, 0.5);
    let at = move |t: f64| {
        if pulse(t, period, length / period) {
            Activity {
                utilization,
                sm_active: share * 0.8,
                tensor_active: share * 0.4,
                power_w: Some(span_w(part, share)),
                nvlink_bytes_per_s: 1e8,
                ..work
            }
        } else {
            work
        }
    };
    let seconds = 3.2 * period;
    let labels = (1..=3).map(|n| {
        let end = f64::from(n) * period;
        let cause = if n == 1 {
            Cause::None
        } else {
            Cause::EvalPause
        };
        Label {
            about: Cause::EvalPause,
            ..innocent(0, (end - length, end), cause)
        }
    });
    Draft::new(seconds, vec![running(part, 0, owned, at)], labels.collect())
}

/// Card C11: a compiler runs on one thread at 100 %, device memory grows, the device waits; over 30 to 90 s in mid-run.
pub(super) fn compile_pause(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &L40S);
    let (owned, begin, length) = (
        dice.owned(),
        dice.between(660.0, 800.0).round(),
        dice.between(30.0, 90.0).round(),
    );
    let work = dice.training(part);
    let compiles = Owner {
        cpu_cores: 1.0,
        read_bytes_per_s: 0.0,
        ..Owner::WORKS
    };
    let at = move |t: f64| {
        let into = t - begin;
        if (0.0..length).contains(&into) {
            Activity {
                memory_gib: work.memory_gib + 2.0 * into / length,
                ..waits(work, compiles)
            }
        } else if into >= length {
            Activity {
                memory_gib: work.memory_gib + 2.0,
                ..work
            }
        } else {
            work
        }
    };
    let label = innocent(0, (begin, begin + length), Cause::CompilePause);
    Draft::new(
        begin + length + 240.0,
        vec![running(part, 0, owned, at)],
        vec![label],
    )
}

/// Card C11: device memory goes up the link, threads wait for storage for 10 to 120 s, with a period.
pub(super) fn checkpoint_pause(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &H200);
    let (owned, period, length) = (
        dice.owned(),
        dice.between(400.0, 700.0),
        dice.between(10.0, 120.0),
    );
    let work = dice.training(part);
    let first = dice.between(200.0, 350.0);
    let behaviour = Checkpoints {
        work: Steady(work),
        first,
        period,
        length,
    };
    let labels = (0..3).map(|n| {
        let begin = first + f64::from(n) * period;
        innocent(0, (begin, begin + length), Cause::CheckpointPause)
    });
    Draft::new(
        first + 2.9 * period,
        vec![running(part, 0, owned, behaviour)],
        labels.collect(),
    )
}

/// Card C12: power, memory and traffic move in one second, together: another phase of the same job, or another job.
pub(super) fn work_changed(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &A100_PCIE], &L40S);
    let (owned, begin) = (dice.owned(), dice.between(660.0, 1000.0).round());
    let first = dice.training(part);
    let share = dice.between(0.35, 0.7);
    let memory_gib = first.memory_gib * dice.between(0.5, 0.8);
    let other_job = dice.chance(0.5);
    let then = Activity {
        utilization: dice.between(0.86, 0.97),
        sm_active: share * 0.85,
        tensor_active: share * 0.4,
        dram_active: share * 0.6,
        power_w: Some(span_w(part, share)),
        memory_gib: memory_gib.floor(),
        rx_bytes_per_s: first.rx_bytes_per_s * 1.6,
        nvlink_bytes_per_s: 0.0,
        owner: Some(Owner {
            job: u32::from(other_job),
            ..Owner::WORKS
        }),
        ..first
    };
    let at = move |t: f64| if t >= begin { then } else { first };
    let label = innocent(0, (begin, begin + 900.0), Cause::WorkChanged);
    Draft::new(
        begin + 900.0,
        vec![running(part, 0, owned, at)],
        vec![label],
    )
}

/// Facts 2c: an LLM server at 159 to 205 of 700 W and 24 to 35 % utilization is at work; requests come and go.
pub(super) fn serving(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let owned = dice.owned();
    let power = dice.between(159.0, 205.0) / 700.0 * part.plate_w;
    let (utilization, wave, phase) = (
        dice.between(0.25, 0.34),
        dice.between(40.0, 200.0),
        dice.between(0.0, 1e6),
    );
    let at = move |t: f64| {
        let sway = 1.0 + 0.15 * wander(t, wave, phase);
        Activity {
            utilization: (utilization * sway).clamp(0.20, 0.40),
            sm_active: 0.16 * sway,
            tensor_active: 0.05 * sway,
            dram_active: 0.22 * sway,
            power_w: Some(power * sway.clamp(0.93, 1.08)),
            memory_gib: (part.memory_mib / 1024.0 * 0.9).floor(),
            rx_bytes_per_s: 4e6,
            tx_bytes_per_s: 3e6,
            nvlink_bytes_per_s: 0.02 * part.nvlinks * part.nvlink_bytes_per_s,
            owner: Some(Owner {
                cpu_cores: 2.2,
                read_bytes_per_s: 0.0,
                state: 'S',
                ..Owner::WORKS
            }),
            ..Activity::NOTHING
        }
    };
    let label = innocent(0, (0.0, 1200.0), Cause::Serving);
    Draft::new(1200.0, vec![running(part, 0, owned, at)], vec![label])
        .command("python3 -m vllm.entrypoints.openai.api_server")
}

/// Card C6: DRAM active 50 % or more, SM under 50 %, 40 to 75 % of the span, steady: decode, not a stall. V100 decode drew
/// 180 to 200 of 300 W (facts 2c).
pub(super) fn memory_bound(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &V100], &H200);
    let owned = dice.owned();
    let (dram, sm, share) = (
        dice.between(0.55, 0.85),
        dice.between(0.25, 0.45),
        dice.between(0.42, 0.72),
    );
    let mut decode = Activity {
        utilization: dice.between(0.93, 1.0),
        sm_active: sm,
        tensor_active: 0.08,
        dram_active: dram,
        power_w: Some(span_w(part, share)),
        memory_gib: (part.memory_mib / 1024.0 * 0.85).floor(),
        rx_bytes_per_s: 3e7,
        tx_bytes_per_s: 2e7,
        owner: Some(Owner {
            cpu_cores: 1.6,
            read_bytes_per_s: 0.0,
            ..Owner::WORKS
        }),
        ..Activity::NOTHING
    };
    decode.stress.memory_activity = Some(dram * 0.95);
    let label = innocent(0, (0.0, 900.0), Cause::MemoryBound);
    Draft::new(
        900.0,
        vec![running(part, 0, owned, move |_: f64| decode)],
        vec![label],
    )
    .command("python3 -m sglang.launch_server")
}

/// Card C20: power held up with tensor and DRAM near 0 (XID 162 to 165): power alone cannot judge here.
pub(super) fn power_smoothing(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&H100], &H200);
    let (owned, begin, length) = (
        dice.owned(),
        dice.between(660.0, 800.0).round(),
        dice.between(60.0, 240.0).round(),
    );
    let work = dice.training(part);
    let power = span_w(part, dice.between(0.5, 0.75));
    let at = move |t: f64| {
        if (begin..begin + length).contains(&t) {
            Activity {
                sm_active: 0.4,
                tensor_active: 0.003,
                dram_active: 0.004,
                power_w: Some(power),
                nvlink_bytes_per_s: 2e7,
                rx_bytes_per_s: 1e7,
                tx_bytes_per_s: 1e7,
                ..work
            }
        } else {
            work
        }
    };
    let label = innocent(0, (begin, begin + length), Cause::PowerSmoothing).also(&[Cause::Unknown]);
    let mut draft = Draft::new(
        begin + length + 120.0,
        vec![running(part, 0, owned, at)],
        vec![label],
    );
    draft.plan.incidents = vec![(begin, Incident::Xid(0, 162))];
    draft
}

/// Facts 2c: a fine-tune over 16 cards at 250 of 700 W (36 %) is sound: full utilization, a rhythm in the counters, and
/// it always was so.
pub(super) fn half_power_work(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let owned = dice.owned();
    let share = dice.between(0.17, 0.4);
    let node = (0..2).map(|slot| {
        let work = dice.training(part);
        let steady = Activity {
            sm_active: share * dice.between(1.0, 1.4) + 0.12,
            tensor_active: share * 0.5,
            dram_active: share * 0.8 + 0.08,
            power_w: Some(span_w(part, share * dice.between(0.97, 1.03))),
            ..work
        };
        running(part, slot, owned, move |_: f64| steady)
    });
    let node = node.collect();
    let labels = (0..2).map(|slot| Label::new(slot, (0.0, 1200.0), Cause::None, 1.0));
    Draft::new(1200.0, node, labels.collect())
}

/// Full work at the default limit, which the cap's bit and counter show all the time: `none`, not a cap (contract 4).
pub(super) fn full_load(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &A100_PCIE], &L40S);
    let (owned, over) = (dice.owned(), dice.between(1.01, 1.15));
    let work = dice.training(part);
    let hard = Activity {
        utilization: 1.0,
        power_w: Some(part.plate_w * over),
        ..work
    };
    let label = Label::new(0, (0.0, 900.0), Cause::None, 1.0);
    Draft::new(
        900.0,
        vec![running(part, 0, owned, move |_: f64| hard)],
        vec![label],
    )
}

/// Sound training, from the first look or with history, on every part.
pub(super) fn sound(dice: &mut Dice) -> Draft {
    let part: &'static Part = dice.part(&H100, &[&A100_SXM, &A100_PCIE, &V100], &L40S);
    let owned = dice.owned();
    let node = (0..2).map(|slot| {
        let work = dice.training(part);
        running(part, slot, owned, move |_: f64| work)
    });
    let node = node.collect();
    let labels = (0..2).map(|slot| Label::new(slot, (0.0, 1500.0), Cause::None, 1.0));
    Draft::new(1500.0, node, labels.collect())
}
