//! Where each figure comes from.

use super::*;
use Metric as M;

fn value(view: &DeviceView, figure: Figure) -> Option<f64> {
    view.figures.get(figure).ok()
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-9 * b.abs().max(1.0))
}

#[test]
fn power_comes_from_the_average_first() {
    let all = [
        (M::PowerAverage, 200.0),
        (M::PowerUsage, 210.0),
        (M::PowerInstant, 220.0),
        (M::BoardPower, 300.0),
        (M::ModulePower, 400.0),
    ];
    let expected = [
        (200.0, "average", "gpu"),
        (210.0, "average", "gpu"),
        (220.0, "instant", "gpu"),
        (300.0, "average", "board"),
        (400.0, "unknown", "module"),
    ];
    for (skip, (watts, kind, scope)) in expected.into_iter().enumerate() {
        let view = World::of([card(0)]).read(&all[skip..]);
        assert_eq!(
            (
                value(&view, Figure::Power),
                view.power_kind,
                view.power_scope
            ),
            (Some(watts), kind, scope)
        );
    }
    let view = World::of([card(0)]).read(&[]);
    assert_eq!(
        view.figures.get(Figure::Power).reading,
        Err(Absent::NotReported)
    );
}

#[test]
fn a_module_is_not_held_against_the_plate_of_the_device_on_it() {
    let view = World::of([card(0)]).read(&[
        (M::ModulePower, 600.0),
        (M::ModuleLimit, 1000.0),
        (M::LimitDefault, 300.0),
        (M::LimitEnforced, 300.0),
    ]);
    assert_eq!(value(&view, Figure::PowerRatio), None);
    assert_eq!(value(&view, Figure::PowerLimitRatio), Some(0.6));
    assert_eq!(value(&view, Figure::Work), None);
    assert!(
        !view
            .known
            .iter()
            .any(|k| matches!(k.kind, KnownKind::LimitBelowPlate { .. }))
    );
}

#[test]
fn the_plate_is_the_drivers_default_else_the_tables() {
    for (name, default, plate, source, rated) in [
        (
            "Card",
            Some(250.0),
            Some(250.0),
            Some("driver_default"),
            Some(300.0),
        ),
        ("Card", None, Some(300.0), Some("table"), Some(300.0)),
        ("Doubted", None, Some(300.0), Some("table"), None),
        ("Unplated", None, None, None, None),
        ("Nobody's", None, None, None, None),
        (
            "Nobody's",
            Some(80.0),
            Some(80.0),
            Some("driver_default"),
            None,
        ),
    ] {
        let mut list = vec![(M::PowerUsage, 60.0)];
        list.extend(default.map(|d| (M::LimitDefault, d)));
        let view = World::of([named(name)]).read(&list);
        assert_eq!(value(&view, Figure::PlatePower), plate, "{name}");
        assert_eq!(view.plate_power_source, source, "{name}");
        assert_eq!(value(&view, Figure::RatedPower), rated, "{name}");
        assert_eq!(view.rated_power_source.is_some(), rated.is_some());
        assert_eq!(value(&view, Figure::PowerRatio).is_some(), plate.is_some());
    }
}

#[test]
fn what_the_driver_calls_rated_comes_before_the_table() {
    for (name, default, plate, source) in [
        ("Card", None, 350.0, "driver_rated"),
        ("Nobody's", Some(320.0), 320.0, "driver_default"),
    ] {
        let mut list = vec![(M::PowerUsage, 60.0), (M::RatedPower, 350.0)];
        list.extend(default.map(|d| (M::LimitDefault, d)));
        let view = World::of([named(name)]).read(&list);
        assert_eq!(value(&view, Figure::PlatePower), Some(plate), "{name}");
        assert_eq!(view.plate_power_source, Some(source));
        assert_eq!(value(&view, Figure::RatedPower), Some(350.0), "{name}");
        assert_eq!(view.rated_power_source.as_deref(), Some("driver"));
    }
}

#[test]
fn a_share_or_a_slice_has_no_nameplate() {
    let share = Device {
        virtual_share: true,
        ..card(0)
    };
    let view = World::of([share]).read(&[(M::PowerUsage, 60.0), (M::CoreTemperature, 50.0)]);
    assert_eq!(value(&view, Figure::PlatePower), None);
    assert_eq!(value(&view, Figure::Headroom), None);
    // A card that containers share is a whole card to the driver, but for its memory.
    let shared = |given: &str| Device {
        virtual_share: true,
        details: vec![
            (ShareKind::DETAIL.into(), "hami".into()),
            (ShareKind::MEMORY.into(), given.into()),
        ],
        ..card(0)
    };
    let list = [(M::PowerUsage, 60.0), (M::MemoryTotal, 20e9)];
    for (given, ratio, of_memory) in [
        ("20000000000", 20e9 / 80e9, None),
        ("4000000000", 4e9 / 80e9, Some(4e9)),
    ] {
        let view = World::of([shared(given)]).read(&list);
        assert_eq!(value(&view, Figure::PowerRatio), Some(0.2));
        assert_eq!(value(&view, Figure::Share), Some(ratio));
        let kind = ShareKind::Hami;
        let said = KnownKind::ShareOfCard {
            kind,
            ratio: Some(ratio),
            of_memory,
        };
        assert_eq!(view.known.last().map(|k| &k.kind), Some(&said));
        assert!(view.known.len() > 1, "{:?}", view.known);
    }
    let part = slice(&card(0), 0);
    let mut world = World::of([part.clone()]);
    world.sample(&part, &[(M::CoreTemperature, Ok(50.0))]);
    let view = world.tick().devices.remove(0);
    assert_eq!(
        (
            value(&view, Figure::RatedPower),
            value(&view, Figure::Headroom)
        ),
        (None, None)
    );
}

#[test]
fn headroom_is_the_margin_else_the_threshold_else_the_table() {
    let all = [
        (M::Margin, 26.0),
        (M::ThresholdSlowdown, 89.0),
        (M::CoreTemperature, 50.0),
    ];
    for (skip, headroom, source) in [
        (0, 26.0, "margin"),
        (1, 39.0, "threshold"),
        (2, 40.0, "table"),
    ] {
        let view = World::of([card(0)]).read(&all[skip..]);
        assert_eq!(
            (value(&view, Figure::Headroom), view.headroom_source),
            (Some(headroom), Some(source))
        );
    }
    let view = World::of([named("Unplated")]).read(&[(M::CoreTemperature, 50.0)]);
    assert_eq!(
        (value(&view, Figure::Headroom), view.headroom_source),
        (None, None)
    );
    // Already over it: negative, not zero.
    let view = World::of([card(0)]).read(&[(M::Margin, -2.0)]);
    assert_eq!(value(&view, Figure::Headroom), Some(-2.0));
}

const GEN4: [(Metric, f64); 6] = [
    (M::PcieGenerationBefore, 4.0),
    (M::PcieGenerationAfter, 4.0),
    (M::PcieWidthBefore, 16.0),
    (M::PcieWidthAfter, 16.0),
    (M::PcieGenerationMax, 4.0),
    (M::PcieWidthMax, 16.0),
];

fn gen4(more: &[(Metric, f64)]) -> Vec<(Metric, f64)> {
    GEN4.iter().chain(more).copied().collect()
}

#[test]
fn traffic_is_by_counters_else_gpm_else_the_getter() {
    let gpm = [(M::GpmPcieRx, 2e9), (M::GpmPcieTx, 1e9)];
    let getter = [(M::PcieRxRate, 3e9), (M::PcieTxRate, 4e9)];
    let mut world = World::of([card(0)]);
    for (counter, method, rx, tx) in [
        (Some(0.0), "gpm", 2e9, 1e9),
        (Some(5e9), "counter", 5e9, 5e9),
        // A reset gives no rate this time.
        (Some(1e9), "gpm", 2e9, 1e9),
        (Some(2e9), "counter", 1e9, 1e9),
        (None, "gpm", 2e9, 1e9),
    ] {
        let mut list = gen4(&[gpm, getter].concat());
        list.extend(
            counter
                .into_iter()
                .flat_map(|c| [(M::PcieRxBytes, c), (M::PcieTxBytes, c)]),
        );
        list.push((M::PcieCounterBits, 64.0));
        let view = world.read(&list);
        assert_eq!(view.pcie_method, Some(method), "{counter:?}");
        assert!(
            close(value(&view, Figure::PcieRx), rx) && close(value(&view, Figure::PcieTx), tx),
            "{counter:?}"
        );
    }
    let view = World::of([card(0)]).read(&gen4(&getter));
    assert_eq!(
        (view.pcie_method, value(&view, Figure::PcieRx)),
        (Some("getter"), Some(3e9))
    );
    let view = World::of([card(0)]).read(&GEN4);
    assert_eq!(
        (view.pcie_method, value(&view, Figure::PcieRx)),
        (None, None)
    );
}

#[test]
fn a_device_that_does_not_tell_directions_apart_has_their_sum() {
    let mut world = World::of([card(0)]);
    let at = |bytes: f64| gen4(&[(M::PcieBothBytes, bytes)]);
    let view = world.read(&at(1e12));
    assert_eq!(
        view.figures.get(Figure::PcieBoth).reading,
        Err(Absent::NotReported)
    );
    let view = world.read(&at(1e12 + 25.5e9));
    assert_eq!(view.pcie_method, Some("counter"));
    assert!(close(value(&view, Figure::PcieBoth), 25.5e9));
    let full = value(&view, Figure::PcieBothSaturation).unwrap();
    assert!((full - 0.5).abs() < 0.01, "{full}");
    assert_eq!(value(&view, Figure::PcieRx), None);
    // More than both directions of the link can carry.
    let view = world.read(&at(3e12));
    assert_eq!(value(&view, Figure::PcieBoth), None);
    let view = World::of([card(0)]).read(&gen4(&[(M::PcieBothRate, 5e9)]));
    assert_eq!(view.pcie_method, Some("getter"));
    assert_eq!(value(&view, Figure::PcieBoth), Some(5e9));
}

#[test]
fn a_narrow_counter_wraps_once_and_no_more() {
    // Gen 1 x1 cannot wrap 32 bits within a second, gen 4 x16 can.
    let slow = [
        (M::PcieGenerationBefore, 1.0),
        (M::PcieWidthBefore, 1.0),
        (M::PcieCounterBits, 32.0),
    ];
    let fast = [
        (M::PcieGenerationBefore, 4.0),
        (M::PcieWidthBefore, 16.0),
        (M::PcieCounterBits, 32.0),
    ];
    for (link, rate) in [(slow, Some(1e8)), (fast, None)] {
        let mut world = World::of([card(0)]);
        let at = |bytes: f64| [link.as_slice(), &[(M::PcieRxBytes, bytes)]].concat();
        world.read(&at(4_294_967_296.0 - 4e7));
        let view = world.read(&at(6e7));
        assert_eq!(value(&view, Figure::PcieRx), rate);
    }
}

#[test]
fn an_answer_that_is_late_keeps_the_rate_with_its_age() {
    let mut world = World::of([card(0)]);
    let at = |bytes: f64| gen4(&[(M::PcieRxBytes, bytes), (M::PcieCounterBits, 64.0)]);
    world.read(&at(0.0));
    world.read(&at(1e9));
    for seconds in [1.0, 2.0] {
        world.sample(&card(0), &[(M::PcieRxBytes, Err(Absent::TimedOut))]);
        let view = world.tick().devices.remove(0);
        let rx = view.figures.get(Figure::PcieRx);
        assert_eq!(
            (rx.ok(), rx.age_s),
            (Some(1e9), if seconds > 1.0 { seconds } else { 0.0 })
        );
    }
    assert!(
        close(value(&world.read(&at(7e9)), Figure::PcieRx), 2e9),
        "over the three seconds since"
    );
}

#[test]
fn a_link_that_moves_while_it_is_measured_has_no_saturation() {
    let mut list = gen4(&[(M::PcieRxRate, 6e9)]);
    list[1].1 = 3.0;
    let view = World::of([card(0)]).read(&list);
    assert_eq!(
        view.figures.get(Figure::PcieRxSaturation).reading,
        Err(Absent::Transition)
    );
    assert_eq!(
        view.figures.get(Figure::PcieTxSaturation).reading,
        Err(Absent::NotReported),
        "never measured"
    );
    assert_eq!(
        (
            value(&view, Figure::PcieRx),
            value(&view, Figure::PcieGeneration)
        ),
        (Some(6e9), Some(4.0))
    );
    let view = World::of([card(0)]).read(&gen4(&[(M::PcieRxRate, 12.75e9)]));
    assert!((value(&view, Figure::PcieRxSaturation).unwrap() - 0.5).abs() < 0.01);
}

#[test]
fn a_maximum_below_what_runs_is_none() {
    for (max, own, shown) in [
        (Some(4.0), Some(6.0), 6.0),
        (Some(4.0), None, 6.0),
        (None, Some(6.0), 6.0),
        (None, Some(5.0), 6.0),
    ] {
        let mut list = vec![
            (M::PcieGenerationBefore, 6.0),
            (M::PcieWidthBefore, 16.0),
            (M::Utilization, 1.0),
        ];
        list.extend(max.map(|m| (M::PcieGenerationMax, m)));
        list.extend(own.map(|m| (M::PcieGenerationDevice, m)));
        let view = World::of([card(0)]).read(&list);
        assert_eq!(
            value(&view, Figure::PcieGenerationMax),
            Some(shown),
            "{max:?} {own:?}"
        );
    }
}

#[test]
fn work_is_measured_else_learned_else_estimated() {
    let busy = [
        (M::Utilization, 1.0),
        (M::LimitEnforced, 300.0),
        (M::LimitDefault, 300.0),
        (M::PowerUsage, 178.5),
    ];
    let view = World::of([card(0)]).read(&[busy.as_slice(), &[(M::SmActive, 0.4)]].concat());
    assert_eq!(
        (value(&view, Figure::Work), view.work_ratio_source),
        (Some(0.4), Some("gpm"))
    );
    let view = World::of([card(0)]).read(&busy);
    assert!(
        close(value(&view, Figure::Work), 0.5),
        "from 19 % of the plate on"
    );
    assert_eq!(view.work_ratio_source, Some("estimated"));
    let mut world = World::of([card(0)]);
    world.tell(Change::Processes(card(0).id, Ok(vec![process(7, 1e9)])));
    for _ in 0..70 {
        world.read(&[(M::Utilization, 0.0), (M::PowerUsage, 100.0)]);
    }
    let view = world.read(&[
        (M::Utilization, 1.0),
        (M::LimitEnforced, 300.0),
        (M::PowerUsage, 200.0),
    ]);
    assert_eq!(
        (value(&view, Figure::Work), view.work_ratio_source),
        (Some(0.5), Some("power_span"))
    );
    // A limit at resident-idle power separates nothing.
    let view = world.read(&[
        (M::Utilization, 1.0),
        (M::LimitEnforced, 100.0),
        (M::PowerUsage, 99.0),
    ]);
    assert_eq!(
        (value(&view, Figure::Work), view.work_ratio_source),
        (None, None)
    );
}

#[test]
fn a_soc_without_limits_has_power_and_no_ratio() {
    let view = World::of([named("Unplated")]).read(&[(M::PowerUsage, 12.0), (M::Utilization, 0.9)]);
    assert_eq!(value(&view, Figure::Power), Some(12.0));
    for figure in [
        Figure::PowerLimit,
        Figure::PlatePower,
        Figure::PowerRatio,
        Figure::PowerLimitRatio,
        Figure::Work,
    ] {
        assert_eq!(value(&view, figure), None, "{figure:?}");
    }
    assert_eq!(view.word, StateWord::Working);
}

#[test]
fn nvlink_is_half_the_tables_total_where_the_driver_says_nothing() {
    let links = [(M::NvlinkRxBytes, 0.0), (M::NvlinkTxBytes, 0.0)];
    let mut world = World::of([card(0)]);
    world.read(&links);
    let view = world.read(&[(M::NvlinkRxBytes, 30e9), (M::NvlinkTxBytes, 60e9)]);
    assert_eq!(value(&view, Figure::NvlinkPlate), Some(300e9));
    assert_eq!(
        value(&view, Figure::NvlinkSaturation),
        Some(0.2),
        "the busier direction"
    );
    let view = World::of([card(0)]).read(&[(M::GpmNvlinkRx, 5e9), (M::NvlinkSpeed, 50e9)]);
    assert_eq!(
        (
            value(&view, Figure::NvlinkRx),
            value(&view, Figure::NvlinkSaturation)
        ),
        (Some(5e9), Some(0.1))
    );
}

#[test]
fn time_to_throttle_needs_a_minute_and_an_end_below_zero() {
    for (end, wanted) in [(-9.0, true), (8.0, false)] {
        let mut world = World::of([card(0)]);
        let mut first = None;
        for second in 0..150u32 {
            let headroom: f64 = end + (40.0 - end) * (-f64::from(second) / 90.0).exp();
            let view = world.read(&[(M::Margin, headroom.round()), (M::PowerUsage, 290.0)]);
            if value(&view, Figure::TimeToThrottle).is_some() {
                first = first.or(Some(second));
            }
        }
        assert_eq!(first.is_some_and(|s| s >= 60), wanted, "{first:?}");
        // Without a reading of this instant there is none.
        assert!(
            world.tick().devices[0]
                .figures
                .get(Figure::TimeToThrottle)
                .age_s
                == 0.0
        );
        let view = world.tick().devices.remove(0);
        assert_eq!(value(&view, Figure::TimeToThrottle), None);
    }
}

#[test]
fn energy_counts_cards_once_and_leaves_out_what_cannot_be() {
    let (whole, part) = (card(0), slice(&card(0), 0));
    let mut world = World::of([whole.clone(), part.clone()]);
    for joules in [1000.0, 1300.0, 1e15, 1e15, 500.0, 800.0] {
        for device in [&whole, &part] {
            world.sample(device, &[(M::Energy, Ok(joules))]);
        }
        world.tick();
    }
    let energy = world.session.snapshot().unwrap().energy.unwrap();
    assert!((energy.kwh * 3.6e6 - 600.0).abs() < 1e-6, "{energy:?}");
    assert_eq!(energy.scope, "gpu");
    // Without a counter, power over the seconds that were seen.
    let mut world = World::of([card(0)]);
    for _ in 0..11 {
        world.read(&[(M::PowerUsage, 360.0)]);
    }
    assert!((world.session.snapshot().unwrap().energy.unwrap().kwh - 0.001).abs() < 1e-12);
}

#[test]
fn a_board_whose_devices_all_tell_its_power_counts_once() {
    let two = [0, 1].map(|index| Device {
        board: BoardId("board-1".into()),
        ..card(index)
    });
    let mut world = World::of(two.clone());
    for _ in 0..11 {
        for device in &two {
            let list = [
                (M::BoardPower, Ok(180.0)),
                (M::LimitEnforced, Ok(250.0)),
                (M::LimitDefault, Ok(250.0)),
            ];
            world.sample(device, &list);
        }
        world.tick();
    }
    let view = world.session.snapshot().unwrap();
    assert_eq!(view.devices[1].power_scope, "board");
    let [board] = &view.boards[..] else {
        panic!("{:?}", view.boards)
    };
    let told = [board.power_w, board.power_limit_w, board.plate_power_w].map(|v| v.ok());
    assert_eq!(told, [Some(180.0), Some(250.0), Some(250.0)]);
    assert!((view.energy.unwrap().kwh - 0.0005).abs() < 1e-12);
}
