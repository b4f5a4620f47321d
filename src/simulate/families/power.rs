//! Clocks and power that are held back: caps, drift, brakes, heat, locks, one slow card, a card that is not what it says.

use super::kit::{Dice, Draft, Label, running};
use crate::model::{Absent, Cause, Confidence, Metric, Readings};
use crate::simulate::behaviour::{Activity, Drift, Stress};
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, Part, V100};
use crate::simulate::plan::DevicePlan;

const HOUR: f64 = 3600.0;

/// Card C7, bit 0x4: a limit below the default that the work runs into. The severity is what the work wants over the
/// limit: under 1 the limit does not bind.
pub(super) fn power_cap(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &L40S);
    let (severity, begin, owned) = (dice.severity(1.9), dice.onset(), dice.owned());
    let work = dice.training(part);
    let limit =
        (work.power_w.unwrap_or(part.plate_w) / severity).clamp(part.limit_min_w, part.plate_w);
    let end = begin + 420.0;
    let at = move |t: f64| Activity {
        stress: Stress {
            limit_w: (t >= begin).then_some(limit.round()),
            ..Stress::default()
        },
        ..work
    };
    let label = Label::new(0, (begin, end), Cause::PowerCap, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label])
}

/// The articles' card: 250 W at 92 %, the same work.
fn article_work(part: &Part) -> Activity {
    Activity {
        utilization: 0.92,
        power_w: Some(part.plate_w),
        clock_ratio: 0.97,
        capped_ratio: 0.05,
        rx_bytes_per_s: 2.1e9,
        ..crate::simulate::plan::training(part, 1.0, 33.0)
    }
}

fn cool(mut device: DevicePlan) -> DevicePlan {
    // 62 °C at 250 W: a passive card in a server's air.
    device.condition.c_per_w = 35.0 / device.part.plate_w;
    device
}

/// Card C7 and facts section 9: the articles' ramp, 250 W to 228 W (91.2 %) over 36 h at 92 % utilization, ticks a minute
/// apart, clock falling, the cap's counter running. It is past the 4 % threshold (240 W) after 16.4 h.
pub(super) fn power_drift_ramp(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&A100_PCIE], &A100_PCIE);
    let drift = Drift {
        work: article_work(part),
        begin: 0.0,
        end: 36.0 * HOUR,
        final_w: 228.0,
    };
    let label = Label::new(0, (0.0, 36.0 * HOUR), Cause::PowerDrift, 2.2);
    let device = cool(running(part, 0, dice.owned(), drift));
    Draft::paced(60.0, 36.0 * HOUR, vec![device], vec![label])
}

/// Facts section 9: a step after hours of sound work (there -22 W of 250); threshold 4 % for 1 h, with a clock that falls.
pub(super) fn power_drift_step(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&A100_SXM, &V100], &L40S);
    let severity = dice.severity(3.0);
    let begin = dice.between(4.6, 6.0) * HOUR;
    let end = begin + 2.5 * HOUR;
    let work = article_work(part);
    let device = cool(running(
        part,
        0,
        dice.owned(),
        step(work, part, begin, severity),
    ));
    let label = Label::new(0, (begin, end), Cause::PowerDrift, severity);
    Draft::paced(30.0, end, vec![device], vec![label])
}

fn step(work: Activity, part: &Part, begin: f64, severity: f64) -> Drift {
    Drift {
        work,
        begin,
        end: begin + 60.0,
        final_w: part.plate_w * (1.0 - 0.04 * severity),
    }
}

/// Card C7: "without a clock drop or reason bit it is not down-clocking": a log that has neither, and no peers. It may be
/// suspected and not more.
pub(super) fn power_drift_bare(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&A100_SXM], &V100);
    let begin = dice.between(4.6, 6.0) * HOUR;
    let end = begin + 2.5 * HOUR;
    let mut device = cool(running(
        part,
        0,
        dice.owned(),
        step(article_work(part), part, begin, 2.2),
    ));
    device.lens = Some(Box::new(|_, readings: &mut Readings| {
        for metric in [
            Metric::SmClock,
            Metric::MemoryClock,
            Metric::Reasons,
            Metric::ReasonsSupported,
            Metric::SecondsSwPowerCap,
            Metric::SecondsSwThermal,
            Metric::SecondsHwThermal,
            Metric::SecondsPowerBrake,
            Metric::SecondsSyncBoost,
            Metric::PcieRxBytes,
            Metric::PcieTxBytes,
        ] {
            readings.set(metric, Err(Absent::NotReported));
        }
    }));
    let label = Label::new(0, (begin, end), Cause::PowerDrift, 2.2).at_most(Confidence::Likely);
    Draft::paced(30.0, end, vec![device], vec![label])
}

/// Card C17: bit 0x80 (with 0x8) for 10 s or more, clock at half or less; V100 under a BMC's brake ran at 382 of 1530 MHz
/// (corpus, hw-power-brake-v100-idrac). Shorter ones are blips.
pub(super) fn power_brake(dice: &mut Dice) -> Draft {
    let part = dice.part(&V100, &[&A100_SXM, &H100], &H200);
    let (severity, begin, owned) = (
        dice.severity(40.0),
        dice.between(660.0, 900.0).round(),
        dice.owned(),
    );
    let end = begin + 10.0 * severity;
    let work = dice.training(part);
    let clock = dice.between(0.25, 0.5);
    let at = move |t: f64| {
        if !(begin..end).contains(&t) {
            return work;
        }
        Activity {
            clock_ratio: clock,
            stress: Stress {
                reasons: 0x88,
                braked_ratio: 1.0,
                ..Stress::default()
            },
            ..braked(work, part, clock)
        }
    };
    let label = Label::new(0, (begin, end), Cause::PowerBrake, severity);
    Draft::new(end + 120.0, vec![running(part, 0, owned, at)], vec![label])
}

/// The same kernels at a lower clock: as busy, at less power.
fn braked(work: Activity, part: &Part, clock: f64) -> Activity {
    let full = work.power_w.unwrap_or(part.resident_idle_w);
    Activity {
        power_w: Some(part.resident_idle_w + (full - part.resident_idle_w) * clock.powf(1.4)),
        rx_bytes_per_s: work.rx_bytes_per_s * clock,
        tx_bytes_per_s: work.tx_bytes_per_s * clock,
        nvlink_bytes_per_s: work.nvlink_bytes_per_s * clock,
        ..work
    }
}

/// Card C8: heat that the card must give way to: it holds its own maximum, gives up power and clock, and says so (corpus
/// s01: 84 to 85 °C, 600 W limit, 447 W). The severity is the rise over the inlet at full power, over the rise that is
/// left up to 1 °C of margin.
pub(super) fn thermal(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_PCIE, &A100_SXM], &L40S);
    let (severity, begin, owned) = (dice.severity(1.9), dice.onset(), dice.owned());
    let work = dice.training(part);
    let end = begin + 700.0;
    let mut device = running(part, 0, owned, move |_: f64| work);
    let inlet = dice.between(24.0, 36.0);
    device.condition.inlet_c = inlet;
    let most = part.thresholds_c.map_or(part.margin_sum_c - 2.0, |t| t[2]);
    let watts = work.power_w.unwrap_or(part.plate_w);
    let rise = severity * (most - 1.0 - inlet);
    // Degrees at full plate beyond what the device's own heat path gives.
    let hotter_c = (rise / watts - device.condition.c_per_w) * part.plate_w;
    let at = move |t: f64| Activity {
        stress: Stress {
            hotter_c: if t >= begin { hotter_c } else { 0.0 },
            ..Stress::default()
        },
        ..work
    };
    device.behaviour = Box::new(at);
    let label = Label::new(0, (begin, end), Cause::Thermal, severity);
    Draft::new(end, vec![device], vec![label])
}

/// Card C8: a device without thresholds, margin or reasons: over 82 °C for 30 s is the articles' alarm. The severity is
/// the time's.
pub(super) fn thermal_unsaid(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_PCIE, &[&V100], &A100_SXM);
    let (severity, begin, owned) = (
        dice.severity(12.0),
        dice.between(660.0, 900.0).round(),
        dice.owned(),
    );
    let end = begin + 30.0 * severity;
    let work = dice.training(part);
    let hot_c = dice.between(84.0, 92.0).round();
    let mut device = running(part, 0, owned, move |_: f64| work);
    device.name = Some("NVIDIA Graphics Device");
    device.lens = Some(Box::new(move |t, readings: &mut Readings| {
        for metric in [
            Metric::Margin,
            Metric::ThresholdGpuMax,
            Metric::ThresholdSlowdown,
            Metric::ThresholdShutdown,
            Metric::MarginSlowdown,
            Metric::MarginShutdown,
            Metric::MarginGpuMax,
            Metric::Reasons,
            Metric::SecondsSwThermal,
            Metric::SecondsHwThermal,
        ] {
            readings.set(metric, Err(Absent::NotSupported));
        }
        // Half a degree a second; above 82 °C from begin to end.
        let above = ((t - begin).min(end - t) * 0.5 + 82.5).min(hot_c);
        if let Ok(cool) = readings.get(Metric::CoreTemperature) {
            readings.set(Metric::CoreTemperature, Ok(above.round().max(cool)));
        }
    }));
    let label = Label::new(0, (begin, end), Cause::Thermal, severity);
    Draft::new(end + 60.0, vec![device], vec![label])
}

/// Card C7 and corpus clock-stuck-gb10: util 96 %, clock 799 where 2281 is usual, cool, no reason bit, P0. Threshold 5 %
/// below the clock of the same work, or below what was set for it.
pub(super) fn clock_locked(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &A100_PCIE], &H200);
    let severity = dice.severity(13.0);
    let clock = 1.0 - 0.05 * severity;
    let (begin, owned) = (dice.onset(), dice.owned());
    let work = dice.training(part);
    let end = begin + 600.0;
    let at = move |t: f64| {
        if t < begin {
            return work;
        }
        Activity {
            clock_ratio: clock,
            ..braked(work, part, clock)
        }
    };
    let mut device = running(part, 0, owned, at);
    let application = part.sm_clock_mhz;
    device.lens = Some(Box::new(move |_, readings: &mut Readings| {
        readings.set(Metric::ApplicationClock, Ok(application));
    }));
    let label =
        Label::new(0, (begin, end), Cause::ClockLocked, severity).also(&[Cause::PowerDrift]);
    Draft::new(end, vec![device], vec![label])
}

/// Card C13: one of four peers is slower by a multiple of 10 % (FALCON's check), shown by its clock; the others wait for
/// it and draw a little less. Continuity 5 min.
pub(super) fn straggler(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM], &H200);
    let severity = dice.severity(3.5);
    let slow = 0.10 * severity;
    let (begin, owned) = (dice.onset(), dice.owned());
    let odd = dice.pick(0_usize, &[1, 2, 3]);
    let base = dice.training(part);
    let end = begin + 720.0;
    let devices = (0..4).map(|slot| {
        let level = 1.0 + 0.012 * dice.normal();
        let work = Activity {
            power_w: base.power_w.map(|w| w * level),
            ..base
        };
        let at = move |t: f64| {
            if t < begin {
                work
            } else if slot == odd {
                Activity {
                    clock_ratio: 1.0 - slow,
                    ..braked(work, part, 1.0 - slow)
                }
            } else {
                super::kit::slowed(work, part, slow * 0.5)
            }
        };
        running(part, slot, owned, at)
    });
    let devices = devices.collect();
    let labels = (0..4_usize).map(|slot| {
        if slot == odd {
            Label::new(slot, (begin, end), Cause::Straggler, severity)
                .also(&[Cause::ClockLocked, Cause::PowerDrift])
        } else {
            // Who waits for a straggler has nothing wrong of its own.
            Label::new(slot, (begin, end), Cause::None, 1.0)
        }
    });
    Draft::new(end, devices, labels.collect())
}

/// A card that is not what its name says: a default limit or a memory below the nameplate by a multiple of 5 %
/// (SuperBench: more than 5 % below the baseline is flagged; the table's figures are the baseline).
pub(super) fn plate_mismatch(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_SXM, &V100], &H200);
    let severity = dice.severity(6.0);
    let (owned, memory) = (dice.owned(), dice.chance(0.5));
    let work = dice.training(part);
    let keep = 1.0 - 0.05 * severity;
    let limit = (part.plate_w * keep).round();
    let mut device = running(part, 0, owned, move |_: f64| Activity {
        power_w: work.power_w.map(|w| w * keep.min(0.9)),
        memory_gib: 12.0,
        ..work
    });
    if !memory {
        device.condition.limit_w = limit;
    }
    let total = (part.memory_mib * keep).floor() * 1_048_576.0;
    device.lens = Some(Box::new(move |_, readings: &mut Readings| {
        if memory {
            readings.set(Metric::MemoryTotal, Ok(total));
        } else {
            readings.set(Metric::LimitDefault, Ok(limit));
            readings.set(Metric::LimitMax, Ok(limit));
        }
    }));
    let label =
        Label::new(0, (0.0, 420.0), Cause::PlateMismatch, severity).also(&[Cause::PowerCap]);
    Draft::new(420.0, vec![device], vec![label])
}
