//! Days of clean mixed work: jobs that start and end, checkpoints, evaluations, servers, idle hours.
//!
//! The marginals are AcmeTrace's (facts 2c, A100 of 400 W): power 63 W at p10, 66 at p25, 96 to 101 at p50, 290 to 372 at
//! p75, 395 to 404 at p90, 408 to 413 at p95, 437 to 440 at p99; utilization 97 to 99 % at the median and 10 % or less in
//! 32 to 35 % of samples. Other parts take the same places in their own spans.

use super::Scenario;
use super::kit::{Dice, Draft, Label, pulse, running, span_w, wander};
use crate::model::Cause;
use crate::simulate::behaviour::{Activity, Owner};
use crate::simulate::machine::Machine;
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, Part};
use crate::simulate::plan::training;
use std::sync::Arc;

/// Share of samples below a power, A100.
const POWER_W: [(f64, f64); 9] = [
    (0.0, 61.0),
    (0.10, 63.0),
    (0.25, 66.0),
    (0.50, 98.0),
    (0.75, 330.0),
    (0.90, 400.0),
    (0.95, 411.0),
    (0.99, 438.0),
    (1.0, 442.0),
];
/// Up to here an A100 of the fleet does nothing.
const IDLE_W: f64 = 68.0;
const MINUTE: f64 = 60.0;
const DAY: f64 = 86_400.0;

/// What a lane does for a while.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// No process, or one that keeps memory.
    Idle { held: bool },
    /// Somebody at a notebook: bursts without a period, mostly nothing.
    Interactive { wave: f64, phase: f64 },
    /// Requests come and go.
    Serving { wave: f64, phase: f64 },
    /// Steady, with checkpoints and evaluations.
    Training {
        checkpoint: (f64, f64),
        evaluation: (f64, f64),
        loading: f64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    from: f64,
    until: f64,
    job: u32,
    kind: Kind,
    work: Activity,
}

fn quantile(u: f64) -> f64 {
    let above = POWER_W
        .iter()
        .position(|(share, _)| *share >= u)
        .unwrap_or(0)
        .max(1);
    match (POWER_W.get(above - 1), POWER_W.get(above)) {
        (Some((a, low)), Some((b, high))) => low + (high - low) * (u - a) / (b - a),
        _ => IDLE_W,
    }
}

/// One lane's time, from second 0 to `end`.
fn schedule(dice: &mut Dice, part: &Part, end: f64, first_job: u32) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut from = -dice.between(0.0, 300.0) * MINUTE;
    let mut job = first_job;
    while from < end {
        let watts = quantile(dice.between(0.0, 1.0));
        let (kind, work, minutes) = drawn(dice, part, watts);
        let until = from + minutes * MINUTE;
        segments.push(Segment {
            from,
            until,
            job,
            kind,
            work,
        });
        from = until;
        job += 1;
        if !matches!(kind, Kind::Idle { .. }) {
            // Between two jobs nothing runs for a little while.
            let pause = dice.between(0.3, 6.0) * MINUTE;
            segments.push(Segment {
                from,
                until: from + pause,
                job,
                kind: Kind::Idle { held: false },
                work,
            });
            from += pause;
        }
    }
    segments
}

fn drawn(dice: &mut Dice, part: &Part, watts: f64) -> (Kind, Activity, f64) {
    // The A100's place in its span, on this part.
    let share = ((watts - 66.0) / (400.0 - 66.0)).clamp(0.0, 1.12);
    let work = Activity {
        // At full utilization under 25 % of the SMs would be launches that bind (facts section 3): not clean.
        sm_active: 0.27 + 0.45 * share.min(1.0),
        tensor_active: 0.02 + 0.44 * share.min(1.0),
        dram_active: 0.08 + 0.3 * share.min(1.0),
        power_w: Some(span_w(part, share)),
        rx_bytes_per_s: dice.factor(2e7, 2.5e9),
        tx_bytes_per_s: dice.factor(1e7, 6e8),
        ..training(
            part,
            1.0,
            (part.memory_mib / 1024.0 * dice.between(0.3, 0.9)).floor(),
        )
    };
    if watts < IDLE_W {
        let held = dice.chance(0.5);
        return (Kind::Idle { held }, work, dice.factor(15.0, 1200.0));
    }
    if watts < 130.0 {
        if dice.chance(0.5) {
            let kind = Kind::Interactive {
                wave: dice.between(20.0, 150.0),
                phase: dice.between(0.0, 1e6),
            };
            let busy = Activity {
                utilization: dice.between(0.12, 0.6),
                sm_active: 0.12,
                ..work
            };
            return (kind, busy, dice.factor(30.0, 900.0));
        }
        let serves = Activity {
            utilization: dice.between(0.24, 0.35),
            sm_active: 0.16,
            tensor_active: 0.05,
            dram_active: 0.2,
            rx_bytes_per_s: 4e6,
            tx_bytes_per_s: 3e6,
            ..work
        };
        let kind = Kind::Serving {
            wave: dice.between(60.0, 1500.0),
            phase: dice.between(0.0, 1e6),
        };
        return (kind, serves, dice.factor(60.0, 900.0));
    }
    let utilization = if dice.chance(0.8) {
        dice.between(0.93, 1.0)
    } else {
        dice.between(0.55, 0.93)
    };
    let mut trains = Activity {
        utilization,
        nvlink_bytes_per_s: 0.3 * part.nvlinks * part.nvlink_bytes_per_s * dice.between(0.1, 1.0),
        ..work
    };
    if share < 0.75 && dice.chance(0.3) {
        // Decode: bound by memory, 40 to 75 % of the span (card C6).
        trains.dram_active = dice.between(0.55, 0.8);
        trains.sm_active = dice.between(0.3, 0.48);
        trains.power_w = Some(span_w(part, share.clamp(0.42, 0.74)));
        trains.stress.memory_activity = Some(trains.dram_active * 0.95);
    }
    let kind = Kind::Training {
        // A length of 10 to 120 s, a period of 15 to 90 min (card C11).
        checkpoint: (dice.between(15.0, 90.0) * MINUTE, dice.between(10.0, 90.0)),
        evaluation: (
            dice.between(25.0, 120.0) * MINUTE,
            dice.between(20.0, 180.0),
        ),
        loading: dice.between(15.0, 420.0),
    };
    (kind, trains, dice.factor(20.0, 1100.0))
}

fn at(segment: &Segment, part: &Part, t: f64) -> Activity {
    let (into, work) = (t - segment.from, segment.work);
    let job = |owner: Owner| {
        Some(Owner {
            job: segment.job,
            ..owner
        })
    };
    match segment.kind {
        Kind::Idle { held: false } => Activity::NOTHING,
        Kind::Idle { held: true } => Activity {
            owner: job(Owner::SLEEPS),
            ..Activity::held(work.memory_gib)
        },
        Kind::Interactive { wave, phase } => {
            let now = if wander(into, wave, phase) > 0.2 {
                work
            } else {
                Activity::held(work.memory_gib)
            };
            Activity {
                owner: job(Owner {
                    cpu_cores: 0.7,
                    read_bytes_per_s: 2e6,
                    ..Owner::WORKS
                }),
                ..now
            }
        }
        Kind::Serving { wave, phase } => {
            let sway = 1.0 + 0.15 * wander(into, wave, phase);
            Activity {
                utilization: work.utilization * sway,
                sm_active: work.sm_active * sway,
                dram_active: work.dram_active * sway,
                rx_bytes_per_s: work.rx_bytes_per_s * sway,
                owner: job(Owner {
                    cpu_cores: 2.0,
                    read_bytes_per_s: 0.0,
                    state: 'S',
                    ..Owner::WORKS
                }),
                ..work
            }
        }
        Kind::Training {
            checkpoint,
            evaluation,
            loading,
        } => trains(segment, part, into, (checkpoint, evaluation, loading)),
    }
}

type Pauses = ((f64, f64), (f64, f64), f64);

fn trains(
    segment: &Segment,
    part: &Part,
    into: f64,
    (checkpoint, evaluation, loading): Pauses,
) -> Activity {
    let work = segment.work;
    let owner = |owner: Owner| {
        Some(Owner {
            job: segment.job,
            ..owner
        })
    };
    if into < loading {
        let loads = Owner {
            cpu_cores: 1.0,
            read_bytes_per_s: 1.5e9,
            ..Owner::WORKS
        };
        return Activity {
            rx_bytes_per_s: 1.6e9,
            owner: owner(loads),
            ..Activity::held(work.memory_gib * into / loading)
        };
    }
    let saved = (into - loading).rem_euclid(checkpoint.0) - (checkpoint.0 - checkpoint.1);
    if saved >= 0.0 {
        let saves = Owner {
            state: 'D',
            waiting: Some((3, "folio_wait_bit_common")),
            cpu_cores: 0.7,
            read_bytes_per_s: 0.0,
            write_bytes_per_s: 1.2e9,
            ..Owner::WORKS
        };
        return Activity {
            tx_bytes_per_s: if saved < checkpoint.1 * 0.15 {
                18e9
            } else {
                2e8
            },
            owner: owner(saves),
            ..Activity::held(work.memory_gib)
        };
    }
    if pulse(into, evaluation.0, evaluation.1 / evaluation.0) {
        let full = work.power_w.unwrap_or(part.resident_idle_w);
        return Activity {
            power_w: Some(part.resident_idle_w + 0.6 * (full - part.resident_idle_w)),
            sm_active: work.sm_active * 0.7,
            tensor_active: work.tensor_active * 0.6,
            nvlink_bytes_per_s: work.nvlink_bytes_per_s * 0.1,
            owner: owner(Owner::WORKS),
            ..work
        };
    }
    Activity {
        owner: owner(Owner::WORKS),
        ..work
    }
}

/// Clean work on one machine of four devices, for so many days: one job over all of them, or one for each. Idle hours
/// are labelled as such; everywhere else a counting verdict is a false alarm.
#[must_use]
pub fn clean(seed: u64, days: f64, interval_s: f64) -> Scenario {
    const DEVICES: usize = 4;
    let mut dice = Dice::new(seed, "clean", false);
    let part: &'static Part = dice.pick(&A100_SXM, &[&A100_SXM, &H100, &A100_PCIE]);
    let end = days * DAY;
    let together = dice.chance(0.4);
    let common = together.then(|| Arc::new(schedule(&mut dice, part, end, 1)));
    let (mut devices, mut labels) = (Vec::new(), Vec::new());
    for slot in 0..DEVICES {
        let lane = common
            .clone()
            .unwrap_or_else(|| Arc::new(schedule(&mut dice, part, end, 1)));
        let level = 1.0 + 0.015 * dice.normal();
        labels.extend(idle_labels(slot, &lane, end));
        devices.push(running(part, slot, 0.0, move |t: f64| {
            let place = lane.partition_point(|segment| segment.until <= t);
            lane.get(place).map_or(Activity::NOTHING, |segment| {
                let now = at(segment, part, t);
                Activity {
                    power_w: now.power_w.map(|w| w * level),
                    ..now
                }
            })
        }));
    }
    let Draft {
        plan,
        seconds,
        labels,
    } = Draft::paced(interval_s, end, devices, labels);
    Scenario {
        family: "clean",
        labels,
        seconds,
        interval_s,
        machine: Machine::new("clean", seed, plan),
    }
}

/// Where a device is let lie, that is what is to be said.
fn idle_labels(slot: usize, lane: &[Segment], end: f64) -> Vec<Label> {
    let lies = |segment: &&Segment| {
        matches!(segment.kind, Kind::Idle { .. } | Kind::Interactive { .. })
            && segment.until > 0.0
            && segment.from < end
    };
    lane.iter()
        .filter(lies)
        .map(|segment| {
            let span = (segment.from.max(0.0), segment.until.min(end));
            Label::new(slot, span, Cause::None, 1.0).also(&[Cause::IdleBilled])
        })
        .collect()
}
