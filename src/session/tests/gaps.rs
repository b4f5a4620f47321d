//! What counters tell of a time in which nobody looked.

use super::*;

const HOUR: u64 = 3600;

fn counters(joules: f64, capped: f64, bytes: f64) -> Vec<(Metric, Reading<f64>)> {
    vec![
        (Metric::PowerUsage, Ok(200.0)),
        (Metric::Utilization, Ok(1.0)),
        (Metric::Energy, Ok(joules)),
        (Metric::SecondsSwPowerCap, Ok(capped)),
        (Metric::SecondsHwThermal, Ok(4.0)),
        (Metric::PcieCounterBits, Ok(64.0)),
        (Metric::PcieRxBytes, Ok(bytes)),
        (Metric::PcieTxBytes, Ok(bytes / 2.0)),
        (Metric::PcieGenerationMax, Ok(4.0)),
        (Metric::PcieWidthMax, Ok(16.0)),
        // Idle links are slow: what passes in the gap may be more.
        (Metric::PcieGenerationBefore, Ok(1.0)),
        (Metric::PcieGenerationAfter, Ok(1.0)),
        (Metric::PcieWidthBefore, Ok(16.0)),
        (Metric::PcieWidthAfter, Ok(16.0)),
    ]
}

/// The gap's event, and what the ledger says of its seconds.
fn told(
    before: &[(Metric, Reading<f64>)],
    after: &[(Metric, Reading<f64>)],
    seconds: u64,
) -> (Vec<Event>, PhaseSeconds, PhaseSeconds) {
    let mut world = World::of([card(0)]);
    world.sample(&card(0), before);
    world.tick();
    world.sample(&card(0), before);
    let first = world.tick().devices.remove(0).phase_seconds;
    world.sample(&card(0), after);
    let mut view = world.after(seconds);
    let events = view.events.iter().filter(|e| e.kind == EventKind::Gap);
    let events = events.cloned().collect();
    (events, first, view.devices.remove(0).phase_seconds)
}

fn data(events: &[Event]) -> Vec<(&str, &str)> {
    assert_eq!(events.len(), 1);
    events[0]
        .data
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect()
}

#[test]
fn counters_stand_beside_the_gap_and_its_seconds_stay_unobserved() {
    let before = counters(1e6, 10.0, 1e12);
    let after = counters(1e6 + 250.0 * HOUR as f64, 1210.0, 1e12 + 36e12);
    let (events, first, then) = told(&before, &after, HOUR);
    assert_eq!(
        data(&events),
        [
            ("seconds", "3600.000"),
            ("energy_j", "900000"),
            ("mean_power_w", "250.0"),
            ("sw_power_cap_s", "1200.0"),
            ("pcie_rx_bytes", "36000000000000"),
            ("pcie_tx_bytes", "18000000000000"),
        ]
    );
    let text = &events[0].text;
    assert!(
        text.starts_with(
            "0 Card was not observed for 1h 00m; its counters tell: 250 W on average, "
        ),
        "{text}"
    );
    assert_eq!(events[0].device, Some(card(0).id));
    assert!(
        (then.unobserved - first.unobserved - HOUR as f64).abs() < 1.5,
        "{then:?}"
    );
    assert!(
        (then.compute - first.compute).abs() < 1.5,
        "a mean is no phase: {then:?}"
    );
}

#[test]
fn counters_that_cannot_be_believed_tell_nothing() {
    let before = counters(1e6, 10.0, 1e12);
    let only = |after: &[(Metric, Reading<f64>)]| -> Vec<String> {
        let (events, ..) = told(&before, after, HOUR);
        let names = data(&events).into_iter().map(|(name, _)| name.to_owned());
        names.filter(|name| name != "seconds").collect()
    };
    let with = |metric: Metric, reading| {
        let mut after = counters(1.9e6, 1210.0, 2e12);
        after.retain(|(known, _)| *known != metric);
        after.push((metric, reading));
        after
    };
    let all = [
        "energy_j",
        "mean_power_w",
        "sw_power_cap_s",
        "pcie_rx_bytes",
        "pcie_tx_bytes",
    ];
    assert_eq!(only(&counters(1.9e6, 1210.0, 2e12)), all);
    // More than any device draws, a counter that stands still, an absent one, the driver's word for no value.
    for reading in [
        Ok(1e15),
        Ok(1e6),
        Err(Absent::TimedOut),
        Err(Absent::Implausible(4_294_967_295.0)),
    ] {
        assert_eq!(
            only(&with(Metric::Energy, reading)),
            all[2..],
            "{reading:?}"
        );
    }
    // More seconds under a reason than there were; more bytes than the best link carries.
    assert!(!only(&with(Metric::SecondsSwPowerCap, Ok(9000.0))).contains(&all[2].to_owned()));
    assert!(!only(&with(Metric::PcieRxBytes, Ok(1e18))).contains(&all[3].to_owned()));
    // A counter that may have wrapped.
    assert_eq!(only(&with(Metric::PcieCounterBits, Ok(32.0))), all[..3]);
    // One that stepped back: the driver was loaded anew, and nothing is known of any.
    assert_eq!(only(&with(Metric::Energy, Ok(9e5))), [""; 0]);
    assert_eq!(only(&with(Metric::SecondsHwThermal, Ok(1.0))), [""; 0]);
    let (events, ..) = told(&before, &with(Metric::Energy, Ok(9e5)), HOUR);
    assert!(
        events[0].text.ends_with("; no counter tells of it"),
        "{}",
        events[0].text
    );
}

#[test]
fn a_late_tick_is_no_gap_and_another_boot_tells_nothing() {
    let (before, after) = (counters(1e6, 10.0, 1e12), counters(1.001e6, 11.0, 1.1e12));
    for seconds in [1, 2, 9] {
        assert!(told(&before, &after, seconds).0.is_empty(), "{seconds}");
    }
    let mut world = World::of([card(0)]);
    world.sample(&card(0), &before);
    world.tick();
    world.mono = 5 * NS;
    world.sample(&card(0), &after);
    let view = world.after(100);
    assert!(!kinds(&view).contains(&EventKind::Gap));
}
