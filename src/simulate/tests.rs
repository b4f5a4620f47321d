#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! What is checked: the same seed gives the same ticks, sensors are quantised like real ones, and each case shows what
//! it is for.

use super::*;
use crate::model::{Change, Control, Feed, Metric, Plates};
use crate::units::{LinkSpeed, usable_bytes_per_second};
use proptest::prelude::*;
use std::time::Duration;

fn ticks(name: &str, seed: u64, count: usize) -> Vec<Tick> {
    let mut simulation = Simulation::case(name, seed).unwrap();
    (0..count).map(|_| simulation.tick()).collect()
}

/// The ticks within `seconds` before simulated second `until`.
fn window(name: &str, until: f64, seconds: f64) -> Vec<Tick> {
    let mut simulation = Simulation::case(name, 7).unwrap();
    let mut kept = Vec::new();
    while simulation.next_second().0 <= until {
        let tick = simulation.tick();
        if simulation.machine.now_s.unwrap() > until - seconds {
            kept.push(tick);
        }
    }
    kept
}

fn values(ticks: &[Tick], device: usize, metric: Metric) -> Vec<f64> {
    let of = |tick: &Tick| tick.samples[device].readings.get(metric).unwrap();
    ticks.iter().map(of).collect()
}

fn mean(ticks: &[Tick], device: usize, metric: Metric) -> f64 {
    let values = values(ticks, device, metric);
    values.iter().sum::<f64>() / values.len() as f64
}

fn rate(ticks: &[Tick], device: usize, metric: Metric) -> f64 {
    let values = values(ticks, device, metric);
    let seconds = ticks.last().unwrap().mono.seconds_since(ticks[0].mono);
    (values.last().unwrap() - values[0]) / seconds
}

fn assert_in(what: &str, value: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(
        range.contains(&value),
        "{what}: {value} is not in {range:?}"
    );
}

#[test]
fn the_list_tells_the_truth_about_the_cases() {
    let plates = Plates::embedded().unwrap();
    let names: Vec<_> = cases().iter().map(|c| c.name).collect();
    assert_eq!(
        names,
        [
            "healthy",
            "drift",
            "narrow-link",
            "hang",
            "forgotten",
            "starved",
            "thermal",
            "power-cap",
            "disk",
            "mixed"
        ]
    );
    assert!(Simulation::case("nonsense", 1).is_none());
    for case in cases() {
        let mut simulation = Simulation::case(case.name, 1).unwrap();
        assert_eq!(simulation.machine.devices.len(), case.devices as usize);
        assert!(simulation.history_seconds() < case.seconds);
        let causes: Vec<_> = simulation.truths().iter().map(|t| t.cause).collect();
        assert!(causes.contains(&case.cause), "{}: {causes:?}", case.name);
        for i in 0..case.devices {
            assert!(
                simulation.truth_at(i, case.seconds).is_some(),
                "{} {i}",
                case.name
            );
        }
        let mut devices = 0;
        for change in &simulation.tick().changes {
            if let Change::Device(device) = change {
                assert!(device.id.0.starts_with("SIM-"), "{}", device.id);
                let part = simulation.machine.devices[devices as usize].plan.part;
                let memory = Some(part.memory_mib * 1_048_576.0);
                let found = plates.find(device.vendor, &device.name, memory);
                assert!(found.is_some(), "{}", device.name);
                devices += 1;
            }
        }
        assert_eq!(devices, case.devices);
    }
}

#[test]
fn truth_changes_with_time() {
    let simulation = Simulation::case("narrow-link", 1).unwrap();
    let state = |second| simulation.truth_at(3, second).unwrap().state;
    assert_eq!((state(0.0), state(8100.0)), ("degraded", "stalled"));
    assert_eq!(simulation.truth_at(0, 8100.0).unwrap().cause, "none");
    assert_eq!(simulation.truth_at(8, 8100.0), None);
    let hang = Simulation::case("hang", 1).unwrap();
    let culprits = |s| {
        (0..8)
            .filter(|d| hang.truth_at(*d, s).unwrap().culprit)
            .count()
    };
    assert_eq!((culprits(7000.0), culprits(8100.0)), (0, 1));
}

#[test]
fn sensors_are_quantised_and_counters_only_grow() {
    for case in cases() {
        let ticks = ticks(case.name, 3, 300);
        for (slot, _) in ticks[0].samples.iter().enumerate() {
            for metric in Metric::ALL.iter().filter(|m| m.is_counter()) {
                if ticks[0].samples[slot].readings.get(*metric).is_ok() {
                    let values = values(&ticks, slot, *metric);
                    assert!(values.is_sorted(), "{} {slot} {metric:?}", case.name);
                }
            }
            for tick in &ticks {
                let readings = &tick.samples[slot].readings;
                let get = |metric| readings.get(metric).unwrap();
                let percent = get(Metric::Utilization) * 100.0;
                assert!((percent - percent.round()).abs() < 1e-9);
                assert_eq!(get(Metric::CoreTemperature).fract(), 0.0);
                // One device of the mixed node tells no power.
                if let Ok(watts) = readings.get(Metric::PowerUsage) {
                    assert!((watts * 1000.0 - (watts * 1000.0).round()).abs() < 1e-6);
                    assert!(watts > 0.0);
                }
                assert!(get(Metric::MemoryUsed) < get(Metric::MemoryTotal));
                assert_eq!(get(Metric::SmClock) % 15.0, 0.0);
                assert!(get(Metric::SmClock) <= get(Metric::SmClockMax));
            }
        }
    }
}

#[test]
fn no_link_carries_more_than_it_can() {
    let ticks = window("narrow-link", 8100.0, 900.0);
    for slot in 0..8 {
        let (generation, width) = (
            mean(&ticks, slot, Metric::PcieGenerationAfter) as u8,
            mean(&ticks, slot, Metric::PcieWidthAfter) as u8,
        );
        let usable = usable_bytes_per_second(LinkSpeed { generation, width }).unwrap();
        for metric in [Metric::PcieRxBytes, Metric::PcieTxBytes] {
            for pair in ticks.windows(2) {
                assert_in("bytes per second", rate(pair, slot, metric), 0.0..=usable);
            }
        }
    }
}

#[test]
fn healthy_works_at_nine_tenths_of_the_plate() {
    let ticks = window("healthy", 8100.0, 90.0);
    for slot in 0..8 {
        assert_in(
            "power",
            mean(&ticks, slot, Metric::PowerUsage) / 700.0,
            0.83..=0.92,
        );
        assert_in(
            "utilization",
            mean(&ticks, slot, Metric::Utilization),
            0.96..=1.0,
        );
        assert_in("margin", mean(&ticks, slot, Metric::Margin), 20.0..=35.0);
        assert_in(
            "memory activity",
            mean(&ticks, slot, Metric::MemoryActivity),
            0.07..=0.11,
        );
    }
}

#[test]
fn drift_loses_22_watts_at_the_same_utilization() {
    for (hours, watts, clock) in [
        (1.0, 249.4, 1366.0),
        (18.0, 239.0, 1320.0),
        (36.0, 228.0, 1272.0),
    ] {
        let ticks = window("drift", hours * 3600.0, 3000.0);
        assert_in(
            "power",
            mean(&ticks, 0, Metric::PowerUsage),
            watts - 4.0..=watts + 4.0,
        );
        assert_in(
            "utilization",
            mean(&ticks, 0, Metric::Utilization),
            0.91..=0.93,
        );
        assert_in(
            "clock",
            mean(&ticks, 0, Metric::SmClock),
            clock - 12.0..=clock + 12.0,
        );
        assert_in(
            "limit",
            mean(&ticks, 0, Metric::LimitEnforced),
            250.0..=250.0,
        );
        let capped = rate(&ticks, 0, Metric::SecondsSwPowerCap);
        let share = 0.05 + 0.6 * hours / 36.0;
        assert_in("capped", capped, share - 0.05..=share + 0.05);
    }
}

#[test]
fn narrow_link_is_busy_and_stalled() {
    let ticks = window("narrow-link", 8100.0, 180.0);
    let of = |slot, metric| mean(&ticks, slot, metric);
    assert_in("utilization", of(3, Metric::Utilization), 0.98..=1.0);
    assert_in("power", of(3, Metric::PowerUsage) / 700.0, 0.28..=0.34);
    assert_in("work", of(3, Metric::SmActive), 0.05..=0.07);
    assert_eq!(
        (of(3, Metric::PcieWidthAfter), of(3, Metric::PcieWidthMax)),
        (8.0, 16.0)
    );
    assert_in(
        "saturation",
        rate(&ticks, 3, Metric::PcieRxBytes) / 27.75e9,
        0.95..=0.99,
    );
    assert_in("capped", of(5, Metric::PowerUsage), 480.0..=500.0);
    assert!(
        values(&ticks, 5, Metric::Reasons)
            .iter()
            .any(|r| *r as u64 & 4 != 0)
    );
    assert_in("held", of(6, Metric::PowerUsage), 125.0..=140.0);
    assert_in("hot", of(7, Metric::Margin), 1.0..=3.0);
    let before = window("narrow-link", 7500.0, 180.0);
    assert_in(
        "power before",
        mean(&before, 3, Metric::PowerUsage),
        570.0..=640.0,
    );
    let mut simulation = Simulation::case("narrow-link", 1).unwrap();
    let first = simulation.tick();
    let narrow = simulation.device_id(3).unwrap().clone();
    let path = first.changes.iter().find_map(|change| match change {
        Change::Path(id, hops) if *id == narrow => Some(hops.clone()),
        _ => None,
    });
    let path = path.unwrap();
    assert_eq!(path[1].address.to_string(), "0000:17:00.0");
    let widths: Vec<_> = path.iter().map(|hop| hop.width.unwrap()).collect();
    assert_eq!(widths, [8, 8, 16, 16]);
    assert_eq!((path[0].width_max, path[1].width_max), (Some(16), Some(8)));
}

#[test]
fn hang_spins_with_flat_counters() {
    let ticks = window("hang", 8100.0, 120.0);
    for slot in 0..8 {
        let power = values(&ticks, slot, Metric::PowerUsage);
        let average = power.iter().sum::<f64>() / power.len() as f64;
        let variance =
            power.iter().map(|p| (p - average).powi(2)).sum::<f64>() / power.len() as f64;
        assert_in("power", average / 700.0, 0.135..=0.225);
        assert!(variance.sqrt() < 0.02 * 700.0);
        assert!(rate(&ticks, slot, Metric::PcieRxBytes) < 1e6);
        assert_eq!(rate(&ticks, slot, Metric::NvlinkRxBytes), 0.0);
        let busy = if slot == 5 { 0.0 } else { 1.0 };
        assert_eq!(mean(&ticks, slot, Metric::Utilization), busy);
    }
}

#[test]
fn forgotten_keeps_its_memory() {
    let ticks = window("forgotten", 8100.0, 300.0);
    for slot in 0..4 {
        assert_eq!(mean(&ticks, slot, Metric::Utilization), 0.0);
        assert!(mean(&ticks, slot, Metric::MemoryUsed) > 60.0 * 1_073_741_824.0);
        assert_in("power", mean(&ticks, slot, Metric::PowerUsage), 70.0..=82.0);
    }
}

#[test]
fn starved_swings_while_the_cpu_is_full() {
    let ticks = window("starved", 8100.0, 300.0);
    for slot in 0..4 {
        let utilization = values(&ticks, slot, Metric::Utilization);
        let idle = utilization.iter().filter(|u| **u < 0.1).count() as f64;
        assert_in("idle", idle / utilization.len() as f64, 0.3..=0.7);
    }
    let host = ticks.last().unwrap().host.as_ref().unwrap();
    assert_eq!(host.cpu_quota_cores, Ok(8.0));
    assert!(host.psi_cpu_some_ratio.unwrap() > 0.2);
}

#[test]
fn thermal_holds_its_maximum_at_less_power_and_clock() {
    let ticks = window("thermal", 8100.0, 300.0);
    let of = |slot, metric| mean(&ticks, slot, metric);
    assert_in("temperature", of(2, Metric::CoreTemperature), 84.0..=86.0);
    assert_in("margin", of(2, Metric::Margin), -1.5..=1.5);
    let share = of(2, Metric::PowerUsage) / of(0, Metric::PowerUsage);
    assert_in("power", share, 0.6..=0.9);
    assert!(of(2, Metric::SmClock) < 0.95 * of(0, Metric::SmClock));
    assert!(
        values(&ticks, 2, Metric::Reasons)
            .iter()
            .all(|r| *r as u64 & 0x20 != 0)
    );
    assert_in(
        "slowed",
        rate(&ticks, 2, Metric::SecondsSwThermal),
        0.99..=1.0,
    );
}

#[test]
fn power_cap_cuts_power_and_clock_but_not_utilization() {
    let ticks = window("power-cap", 8100.0, 300.0);
    let of = |slot, metric| mean(&ticks, slot, metric);
    for slot in 0..4 {
        assert_in("power", of(slot, Metric::PowerUsage), 260.0..=283.0);
        assert_in("utilization", of(slot, Metric::Utilization), 0.96..=1.0);
        assert!(of(slot, Metric::SmClock) < 0.95 * of(slot, Metric::SmClockMax));
        assert_eq!(of(slot, Metric::LimitDefault), 400.0);
    }
}

#[test]
fn disk_waits_in_the_kernel() {
    let ticks = window("disk", 8100.0, 300.0);
    let waits = |tick: &Tick| {
        tick.changes.iter().any(|change| match change {
            Change::HostProcesses(list) => list.iter().any(|p| {
                p.state == Ok('D') && p.wait_channel.as_deref() == Ok("rpc_wait_bit_killable")
            }),
            _ => false,
        })
    };
    let share = ticks.iter().filter(|tick| waits(tick)).count() as f64 / ticks.len() as f64;
    assert_in("waiting", share, 0.8..=1.0);
    let pressure = ticks
        .last()
        .unwrap()
        .host
        .as_ref()
        .unwrap()
        .psi_io_full_ratio;
    assert!(pressure.unwrap() > 0.2);
}

#[test]
fn history_is_full_before_the_screen_opens() {
    let mut simulation = Simulation::case("narrow-link", 1).unwrap();
    let mut last: Option<Tick> = None;
    let mut full_rate = 0;
    while simulation.next_second().0 <= simulation.history_seconds() {
        let tick = simulation.tick();
        if let Some(last) = &last {
            // No gap of more than two intervals, so that the meter has observed all of it.
            let passed = tick.mono.seconds_since(last.mono);
            assert!(passed <= 2.0 * last.interval.max(tick.interval).as_secs_f64());
        }
        full_rate += u32::from(tick.interval == Duration::from_secs(1));
        last = Some(tick);
    }
    assert_eq!(full_rate, 900);
}

#[test]
fn a_feed_gives_history_at_once_and_obeys() {
    let (tell, told) = std::sync::mpsc::channel();
    let simulation = Simulation::case("drift", 1).unwrap();
    let sink = Box::new(move |tick: Tick| tell.send(tick).is_ok());
    let handle = Box::new(simulation).start(sink).unwrap();
    handle.tell(Control::Mark("here".to_owned()));
    let mut ticks = told.iter();
    let marked = ticks.find(|t| !t.events.is_empty()).unwrap();
    assert!(marked.seq > 361, "361 ticks are history");
    assert_eq!(&*marked.events[0].text, "here");
    assert!(
        marked.at < Timestamp::now(),
        "the case ends now, it lies in the past"
    );
    handle.tell(Control::Stop);
    // Ends only because the source does.
    let _ = ticks.count();
}

#[test]
fn pace_follows_interval_and_speed() {
    let mut simulation = Simulation::case("healthy", 1).unwrap();
    let mut after = |order| {
        simulation.obey(order);
        (simulation.machine.timing.interval_s, simulation.speed)
    };
    assert_eq!(
        after(Control::Interval(Duration::from_millis(500))),
        (0.5, 1.0)
    );
    assert_eq!(after(Control::Speed(10.0)), (5.0, 10.0));
    assert_eq!(after(Control::Speed(6000.0)), (60.0, 6000.0));
    assert_eq!(after(Control::Speed(f64::NAN)), (60.0, 6000.0));
    assert_eq!(after(Control::Speed(0.0)), (60.0, 6000.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_seed_gives_the_same_ticks(which in 0..cases().len(), seed in any::<u64>(), count in 1usize..60) {
        let name = cases()[which].name;
        let first = ticks(name, seed, count);
        prop_assert_eq!(&first, &ticks(name, seed, count));
        let mut other = Simulation::case(name, seed).unwrap().beginning_at(Timestamp::UNIX_EPOCH);
        for tick in &first {
            prop_assert_eq!(tick, &other.tick());
        }
        let foreign = ticks(name, seed ^ 1, count);
        prop_assert_ne!(&first.last().unwrap().samples, &foreign.last().unwrap().samples);
    }
}
