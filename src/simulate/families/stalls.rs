//! Devices that could work and do not: collectives, input, host, storage, network, launches, a full link.

use super::kit::{Dice, Draft, Label, pulse, running, slowed, span_w, waits};
use crate::model::Cause;
use crate::simulate::behaviour::{Activity, Owner};
use crate::simulate::host::Surroundings;
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, Part, T4, V100};
use crate::units::usable_bytes_per_second;

/// Card C1, facts 2b: util 100 %, H100 at 100 to 152 W, V100 at 66 to 71 W, elsewhere 2 to 7.5 % of the span; counters
/// flat. The threshold is the time until one may be sure, 300 s (Minder: abnormal for over 5 min): waits that end
/// before that may be suspected only. The odd rank is at 0 % (libgpuarray 387).
pub(super) fn collective_wait(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&V100, &A100_SXM], &H200);
    hang(dice, part)
}

/// Facts 2b: a T4 spins at 40 to 41 W of 70, which no share of the limit separates from work.
pub(super) fn collective_wait_t4(dice: &mut Dice) -> Draft {
    hang(dice, &T4)
}

/// nccl 1550: the inverse: one card spins at 100 % and 152 W, the others keep their model at 0 % and 129 to 137 W.
pub(super) fn collective_wait_one(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let begin = dice.between(660.0, 900.0).round();
    let end = begin + dice.between(380.0, 560.0).round();
    let owned = dice.owned();
    let lone = dice.pick(0_usize, &[1, 2]);
    let mut labels = Vec::new();
    let devices = (0..3).map(|slot| {
        let work = dice.training(part);
        let hung = if slot == lone {
            Activity {
                utilization: 1.0,
                sm_active: 0.15,
                power_w: Some(span_w(part, dice.between(0.02, 0.05))),
                memory_gib: work.memory_gib,
                flat: true,
                owner: Some(Owner::SPINS),
                ..Activity::NOTHING
            }
        } else {
            Activity::held(work.memory_gib)
        };
        let label = Label::new(slot, (begin, end), Cause::CollectiveWait, 1.5);
        labels.push(if slot == lone {
            label
        } else {
            label.also(&[Cause::IdleBilled, Cause::None])
        });
        running(
            part,
            slot,
            owned,
            move |t: f64| if t >= begin { hung } else { work },
        )
    });
    let devices = devices.collect();
    Draft::new(end, devices, labels)
}

fn spin_w(dice: &mut Dice, part: &Part) -> f64 {
    match part.name {
        name if name == H100.name => dice.between(100.0, 152.0),
        name if name == V100.name => dice.between(66.0, 71.0),
        name if name == T4.name => dice.between(40.0, 41.0),
        _ => span_w(part, dice.between(0.02, 0.075)),
    }
}

fn hang(dice: &mut Dice, part: &'static Part) -> Draft {
    let severity = dice.severity(3.0);
    let begin = dice.between(660.0, 1000.0).round();
    let end = begin + 300.0 * severity;
    let seconds = end + if severity < 1.0 { 240.0 } else { 0.0 };
    let odd = dice.pick(Some(1), &[None]);
    let owned = dice.owned();
    let about = Cause::CollectiveWait;
    let mut labels = Vec::new();
    let devices = (0..3).map(|slot| {
        let work = dice.training(part);
        let spins = if odd == Some(slot) {
            Activity {
                flat: true,
                ..Activity::held(work.memory_gib)
            }
        } else {
            Activity {
                utilization: 1.0,
                sm_active: 0.15,
                power_w: Some(spin_w(dice, part)),
                memory_gib: work.memory_gib,
                flat: true,
                owner: Some(Owner::SPINS),
                ..Activity::NOTHING
            }
        };
        let label = Label::new(slot, (begin, end), about, severity);
        labels.push(if odd == Some(slot) {
            label.also(&[Cause::IdleBilled, Cause::None])
        } else {
            label
        });
        let at = move |t: f64| {
            if (begin..end).contains(&t) {
                spins
            } else {
                work
            }
        };
        running(part, slot, owned, at)
    });
    let devices = devices.collect();
    Draft::new(seconds, devices, labels)
}

/// Card C2, facts 2e: a sawtooth between 80 to 100 % and 0, workers at 100 % of the CPU; threshold 15 % of seconds
/// below 10 % over 5 min or 20 periods.
pub(super) fn input_starved(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&H100, &A100_SXM], &L40S);
    let severity = dice.severity(4.5);
    let (off, period) = (0.15 * severity, dice.between(9.0, 32.0));
    let work = dice.training(part);
    let (begin, owned, workers) = (dice.onset(), dice.owned(), dice.pick(8.0, &[12.0, 16.0]));
    let busy = Owner {
        cpu_cores: workers * if severity < 1.0 { 0.8 } else { 0.99 },
        ..Owner::WORKS
    };
    let at = move |t: f64| {
        let work = Activity {
            owner: Some(busy),
            ..work
        };
        if t >= begin && !pulse(t - begin, period, 1.0 - off) {
            waits(work, busy)
        } else {
            work
        }
    };
    let pressure = if severity < 1.0 { 0.02 } else { 0.35 };
    starved(
        dice,
        (begin, begin + 840.0),
        severity,
        vec![running(part, 0, owned, at)],
        (workers, pressure),
    )
}

/// Card C2's trap: gaps shorter than a second leave a mean utilization of 40 to 90 % without swing; the power span and
/// GPM show them. Threshold: input waits for 15 % of the step (10 to 20 %, ibee.ai).
pub(super) fn input_starved_subsecond(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_PCIE], &H200);
    let severity = dice.severity(4.0);
    let wait = 0.15 * severity;
    let work = dice.training(part);
    let (begin, owned, workers) = (dice.onset(), dice.owned(), dice.pick(8.0, &[12.0, 16.0]));
    let busy = Owner {
        cpu_cores: workers * if severity < 1.0 { 0.8 } else { 0.99 },
        ..Owner::WORKS
    };
    let at = move |t: f64| {
        let work = Activity {
            owner: Some(busy),
            ..work
        };
        if t < begin {
            return work;
        }
        Activity {
            utilization: work.utilization * (1.0 - wait),
            ..slowed(work, part, wait)
        }
    };
    let pressure = if severity < 1.0 { 0.02 } else { 0.35 };
    starved(
        dice,
        (begin, begin + 840.0),
        severity,
        vec![running(part, 0, owned, at)],
        (workers, pressure),
    )
}

fn starved(
    dice: &mut Dice,
    span: (f64, f64),
    severity: f64,
    devices: Vec<crate::simulate::plan::DevicePlan>,
    (quota_cores, cpu_pressure): (f64, f64),
) -> Draft {
    let label = Label::new(0, span, Cause::InputStarved, severity);
    let pressure = cpu_pressure * dice.between(0.8, 1.2);
    Draft::new(span.1, devices, vec![label]).weather(move |t| Surroundings {
        quota_cores,
        cpu_pressure: if t >= span.0 { pressure } else { 0.01 },
        ..Surroundings::QUIET
    })
}

/// Card C3: throttled periods over 25 % (5 % is for watching), the device fed in fits.
pub(super) fn host_throttled(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &A100_PCIE], &L40S);
    let severity = dice.severity(3.6);
    let ratio = 0.25 * severity;
    let off = if severity < 1.0 {
        0.10 * severity
    } else {
        0.2 + 0.3 * ratio
    };
    let (begin, owned, period) = (dice.onset(), dice.owned(), dice.between(6.0, 18.0));
    let quota_cores = dice.pick(4.0, &[8.0, 16.0]);
    let work = dice.training(part);
    let busy = Owner {
        cpu_cores: quota_cores * 0.97,
        ..Owner::WORKS
    };
    let end = begin + 480.0;
    let at = move |t: f64| {
        let work = Activity {
            owner: Some(busy),
            ..work
        };
        if t >= begin && !pulse(t - begin, period, 1.0 - off) {
            waits(work, busy)
        } else {
            work
        }
    };
    let label = Label::new(0, (begin, end), Cause::HostThrottled, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label]).weather(move |t| Surroundings {
        quota_cores,
        throttled_ratio: if t >= begin { ratio } else { 0.0 },
        cpu_pressure: if t >= begin { 0.3 * ratio } else { 0.0 },
        ..Surroundings::QUIET
    })
}

/// Card C9: threads in D state, our cgroup's io pressure (full) over 5 %, utilization low or in a sawtooth. Local disks
/// and network file systems differ in where threads wait.
pub(super) fn disk_io(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&V100, &H100], &A100_SXM);
    let severity = dice.severity(9.0);
    let full = 0.05 * severity;
    let off = if severity < 1.0 {
        0.08 * severity
    } else {
        dice.between(0.35, 0.95)
    };
    let (begin, owned, period) = (dice.onset(), dice.owned(), dice.between(8.0, 30.0));
    let channel = dice.pick(
        "folio_wait_bit_common",
        &[
            "io_schedule",
            "rpc_wait_bit_killable",
            "nfs_wait_on_request",
            "request_wait_answer",
        ],
    );
    let threads = dice.between(1.0, 9.0) as u32;
    let work = dice.training(part);
    let stuck = Owner {
        state: 'D',
        waiting: Some((threads, channel)),
        cpu_cores: 0.4,
        read_bytes_per_s: dice.between(18e6, 90e6),
        ..Owner::WORKS
    };
    let end = begin + 420.0;
    let at = move |t: f64| {
        if t >= begin && !pulse(t - begin, period, 1.0 - off) {
            waits(work, stuck)
        } else {
            work
        }
    };
    let label = Label::new(0, (begin, end), Cause::DiskIo, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label]).weather(move |t| Surroundings {
        // The host's figure for `some` is what is set; `full` is six tenths of it.
        io_pressure: if t >= begin { full / 0.6 } else { 0.004 },
        ..Surroundings::QUIET
    })
}

/// A job whose ranks wait for each other over the network: full utilization, a rhythm in every counter, 20 to 40 % of
/// the power span (a fine-tune over 16 cards at 36 % of the limit is sound, facts 2c; this is less than its own past).
fn over_network(
    dice: &mut Dice,
    part: &'static Part,
    begin: f64,
    wait: f64,
) -> Vec<crate::simulate::plan::DevicePlan> {
    let owned = dice.owned();
    let node = (0..2).map(|slot| {
        let work = dice.training(part);
        let at = move |t: f64| {
            if t < begin {
                work
            } else {
                Activity {
                    utilization: if wait > 0.0 { 1.0 } else { work.utilization },
                    ..slowed(work, part, wait)
                }
            }
        };
        running(part, slot, owned, at)
    });
    node.collect()
}

/// Card C10: more than 5 % of at least 1000 TCP segments sent again, over 60 s.
pub(super) fn network_io_tcp(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let severity = dice.severity(5.0);
    let again = 0.05 * severity;
    let (begin, segments) = (dice.onset(), dice.factor(4e3, 9e4));
    let wait = if severity < 1.0 {
        0.0
    } else {
        dice.between(0.55, 0.8)
    };
    let end = begin + 420.0;
    let labels = (0..2).map(|slot| Label::new(slot, (begin, end), Cause::NetworkIo, severity));
    Draft::new(end, over_network(dice, part, begin, wait), labels.collect()).weather(move |t| {
        Surroundings {
            segments,
            retransmit_ratio: if t >= begin { again } else { 0.0008 },
            net_rx_bytes_per_s: segments * 1400.0,
            net_tx_bytes_per_s: segments * 1400.0,
            ..Surroundings::QUIET
        }
    })
}

/// Card C10: RDMA bypasses TCP, which stays clean while the adapters' error counters rise and work falls.
pub(super) fn network_io_rdma(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let (begin, errors) = (dice.onset(), dice.factor(20.0, 900.0));
    let wait = dice.between(0.55, 0.8);
    let bytes = dice.between(4e9, 2e10);
    let end = begin + 420.0;
    let labels = (0..2).map(|slot| Label::new(slot, (begin, end), Cause::NetworkIo, 2.0));
    Draft::new(end, over_network(dice, part, begin, wait), labels.collect()).weather(move |t| {
        Surroundings {
            infiniband: Some(if t >= begin {
                (bytes * (1.0 - wait), errors)
            } else {
                (bytes, 0.0)
            }),
            ..Surroundings::QUIET
        }
    })
}

/// Card C10: the collective fell back to TCP: the network card is busy, InfiniBand carries nothing (llm-foundry 336:
/// 100 % on all cards, eight times slower).
pub(super) fn network_io_fallback(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let wait = dice.between(0.75, 0.88);
    let end = 600.0;
    let bytes = dice.between(0.9e9, 2.6e9);
    let labels = (0..2).map(|slot| Label::new(slot, (0.0, end), Cause::NetworkIo, 2.0));
    Draft::new(end, over_network(dice, part, 0.0, wait), labels.collect()).weather(move |_| {
        Surroundings {
            segments: bytes / 8e3,
            net_rx_bytes_per_s: bytes,
            net_tx_bytes_per_s: bytes,
            infiniband: Some((0.0, 0.0)),
            ..Surroundings::QUIET
        }
    })
}

/// Facts section 3 ("busy, low SM use": SM under 25 % at full utilization) and section 5 (one thread at 100 % of a core
/// spins in launches): small kernels keep the rhythm of the work.
pub(super) fn launch_bound(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&H100], &H200);
    let severity = dice.severity(4.0);
    let sm = 0.25 / severity;
    let owned = dice.owned();
    let end = 900.0;
    let work = dice.training(part);
    let small = Activity {
        utilization: dice.between(0.93, 1.0),
        sm_active: sm,
        tensor_active: sm * 0.15,
        dram_active: sm * 0.4,
        power_w: Some(span_w(part, (sm * dice.between(0.8, 1.1)).min(0.5))),
        rx_bytes_per_s: 3e8,
        nvlink_bytes_per_s: 0.0,
        owner: Some(Owner {
            cpu_cores: 1.02,
            read_bytes_per_s: 5e6,
            ..Owner::WORKS
        }),
        ..work
    };
    let label = Label::new(0, (0.0, end), Cause::LaunchBound, severity);
    Draft::new(
        end,
        vec![running(part, 0, owned, move |_: f64| small)],
        vec![label],
    )
}

/// Card C5: 80 % or more of what the link carries for at least 30 s while the power span is under 40 %. Above that it is
/// a prefetch that overlaps well. The severity is the span's.
pub(super) fn pcie_saturated(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_PCIE, &A100_SXM], &L40S);
    let severity = dice.severity(4.0);
    let share = 0.40 / severity;
    let usable = usable_bytes_per_second(part.link).unwrap_or(0.0);
    let full = usable * dice.between(0.87, 0.97);
    let (begin, owned) = (dice.onset(), dice.owned());
    let work = dice.training(part);
    let up = dice.chance(0.25);
    let streams = Activity {
        utilization: dice.between(0.9, 1.0),
        sm_active: share * 0.8,
        tensor_active: share * 0.4,
        dram_active: share * 0.5,
        power_w: Some(span_w(part, share)),
        rx_bytes_per_s: if up { 1e9 } else { full },
        tx_bytes_per_s: if up { full } else { 0.5e9 },
        owner: Some(Owner {
            cpu_cores: 1.3,
            ..Owner::WORKS
        }),
        ..work
    };
    let end = begin + 300.0;
    let at = move |t: f64| if t >= begin { streams } else { work };
    let label = Label::new(0, (begin, end), Cause::PcieSaturated, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label])
}
