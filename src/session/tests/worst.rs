//! The first sentence on real models: it is the worst that is known, and what only looks like a fault is none.

use super::*;
use crate::session::derive::Moment;
use crate::session::known::slow_polls;
use Metric as M;
use rust_decimal::Decimal;

/// A device of a real model after some seconds of the same readings, with the embedded plates and a price of
/// 8.00 USD an hour for the instance.
fn real(name: &str, seconds: usize, list: &[(Metric, f64)]) -> DeviceView {
    let device = named(name);
    priced([device.clone()], &device, seconds, list)
        .devices
        .remove(0)
}

fn priced<const N: usize>(
    devices: [Device; N],
    device: &Device,
    seconds: usize,
    list: &[(Metric, f64)],
) -> Snapshot {
    let config = Config {
        price: Some(Price {
            per_hour: Decimal::from(8),
            scope: PriceScope::Instance,
            source: PriceSource::Flag,
        }),
        ..Config::default()
    };
    let start = Start::new(config);
    let mut world = World::with(start.clone(), devices);
    world.session = Session::new(
        start,
        Arc::new(Plates::embedded().unwrap()),
        SourceKind::Live,
    );
    world.tell(Change::Processes(
        device.id.clone(),
        Ok(vec![process(7, 2e9)]),
    ));
    let list: Vec<_> = list.iter().map(|(m, v)| (*m, Ok(*v))).collect();
    let mut view = None;
    for _ in 0..seconds {
        world.sample(device, &list);
        view = Some(world.tick());
    }
    view.unwrap()
}

fn limits(watts: f64) -> [(Metric, f64); 2] {
    [(M::LimitEnforced, watts), (M::LimitDefault, watts)]
}

fn link(generation: [f64; 2], width: [f64; 2]) -> [(Metric, f64); 4] {
    [
        (M::PcieGenerationBefore, generation[0]),
        (M::PcieGenerationMax, generation[1]),
        (M::PcieWidthBefore, width[0]),
        (M::PcieWidthMax, width[1]),
    ]
}

/// What looks like a fault and is none: nothing above information is said, and the row says "working".
#[test]
fn look_alikes_are_no_alarm() {
    type Look = (&'static str, &'static str, Vec<(Metric, f64)>);
    let x8 = |name, watts, generation| -> Look {
        let list = [
            &limits(watts)[..],
            &link([generation; 2], [8.0, 16.0]),
            &[(M::Utilization, 0.96), (M::PowerUsage, watts * 0.9)],
        ];
        ("x8 in clouds", name, list.concat())
    };
    let h100 = |more: &[(Metric, f64)]| [&limits(700.0)[..], more].concat();
    let looks: Vec<Look> = vec![
        x8("Tesla T4", 70.0, 3.0),
        x8("NVIDIA A10G", 300.0, 4.0),
        x8("NVIDIA L4", 72.0, 4.0),
        x8("NVIDIA L40S", 350.0, 4.0),
        (
            "a T4 spins at 58 % of its limit, and so does honest work",
            "Tesla T4",
            [
                &limits(70.0)[..],
                &[(M::Utilization, 1.0), (M::PowerUsage, 40.6)],
            ]
            .concat(),
        ),
        (
            "power cap at the default limit under full load",
            "NVIDIA H100 80GB HBM3",
            h100(&[
                (M::Utilization, 1.0),
                (M::PowerUsage, 695.0),
                (M::Reasons, 4.0),
                (M::SmClock, 1700.0),
                (M::SmClockMax, 1980.0),
            ]),
        ),
        (
            "draw above the limit",
            "NVIDIA H100 80GB HBM3",
            h100(&[(M::Utilization, 1.0), (M::PowerUsage, 770.0)]),
        ),
        (
            "serving",
            "NVIDIA H100 80GB HBM3",
            h100(&[(M::Utilization, 0.29), (M::PowerUsage, 180.0)]),
        ),
        (
            "memory-bound",
            "NVIDIA H100 80GB HBM3",
            h100(&[
                (M::Utilization, 1.0),
                (M::PowerUsage, 180.0),
                (M::SmActive, 0.18),
                (M::DramActive, 0.72),
            ]),
        ),
        (
            "a sharded fine-tune at 36 %",
            "NVIDIA H100 80GB HBM3",
            h100(&[(M::Utilization, 1.0), (M::PowerUsage, 252.0)]),
        ),
        (
            "clocks set by hand, a peer of the sync group, the idle bit during load",
            "NVIDIA H100 80GB HBM3",
            h100(&[
                (M::Utilization, 1.0),
                (M::PowerUsage, 600.0),
                (M::Reasons, 19.0),
                (M::ApplicationClock, 1200.0),
            ]),
        ),
        (
            "a desktop in P8 that draws",
            "NVIDIA GeForce RTX 4090",
            [
                &limits(450.0)[..],
                &link([1.0, 4.0], [16.0, 16.0]),
                &[
                    (M::Utilization, 0.15),
                    (M::PowerUsage, 30.0),
                    (M::PerformanceState, 8.0),
                ],
            ]
            .concat(),
        ),
    ];
    for (what, name, list) in looks {
        let view = real(name, 6, &list);
        assert_eq!(view.known[0].level, Level::Info, "{what}: {:?}", view.known);
        assert_eq!(view.word, StateWord::Working, "{what}: {:?}", view.known);
    }
}

#[test]
fn a_poor_slot_is_held_against_the_plate() {
    let slow = [
        &limits(400.0)[..],
        &link([3.0, 3.0], [8.0, 8.0]),
        &[(M::Utilization, 0.9), (M::PowerUsage, 300.0)],
    ]
    .concat();
    let view = real("NVIDIA A100-SXM4-80GB", 6, &slow);
    assert!(
        matches!(
            view.known[..],
            [
                Known {
                    kind: KnownKind::Narrow {
                        width: 8,
                        width_max: 16,
                        usual: false,
                        ..
                    },
                    ..
                },
                Known {
                    kind: KnownKind::Slow {
                        generation: 3,
                        generation_max: 4,
                        ..
                    },
                    ..
                },
            ]
        ),
        "{:?}",
        view.known
    );
    let gh200 = Device {
        c2c: true,
        ..named("NVIDIA GH200 480GB")
    };
    let list = [
        &limits(900.0)[..],
        &link([4.0, 5.0], [1.0, 1.0]),
        &[(M::Utilization, 0.9), (M::PowerUsage, 600.0)],
    ]
    .concat();
    let view = priced([gh200.clone()], &gh200, 6, &list).devices.remove(0);
    assert!(
        !view
            .known
            .iter()
            .any(|k| matches!(k.kind, KnownKind::Narrow { .. })),
        "{:?}",
        view.known
    );
}

#[test]
fn idle_devices_are_idle_whatever_their_link() {
    for (name, watts, generation, width) in [
        ("NVIDIA GeForce RTX 3090", 350.0, [1.0, 4.0], [16.0, 16.0]),
        ("NVIDIA A40", 300.0, [1.0, 4.0], [16.0, 16.0]),
        ("Tesla T4", 70.0, [3.0, 3.0], [8.0, 16.0]),
    ] {
        let list = [
            &limits(watts)[..],
            &link(generation, width),
            &[
                (M::Utilization, 0.0),
                (M::PowerUsage, watts * 0.1),
                (M::MemoryActivity, 0.23),
                (M::Reasons, 5.0),
            ],
        ]
        .concat();
        let view = real(name, 6, &list);
        assert!(
            matches!(view.known[0].kind, KnownKind::Idle { .. }),
            "{name}: {:?}",
            view.known
        );
    }
}

#[test]
fn spinning_cards_are_doubtful() {
    for (name, limit, power, sm) in [
        ("NVIDIA H100 80GB HBM3", 700.0, 100.0, None),
        ("NVIDIA H100 80GB HBM3", 700.0, 152.0, None),
        // A spin on every SM reads as active.
        ("NVIDIA H100 80GB HBM3", 700.0, 152.0, Some(0.98)),
        ("NVIDIA H100 80GB HBM3", 700.0, 214.0, Some(0.06)),
        ("Tesla V100-SXM2-32GB", 300.0, 66.0, None),
        ("Tesla V100-SXM2-32GB", 300.0, 71.0, None),
    ] {
        let mut list = limits(limit).to_vec();
        list.extend([(M::Utilization, 1.0), (M::PowerUsage, power)]);
        list.extend(sm.map(|sm| (M::SmActive, sm)));
        let view = real(name, 6, &list);
        assert!(
            matches!(view.known[0].kind, KnownKind::BusyAtLowPower { .. }),
            "{name} {power} {sm:?}: {:?}",
            view.known
        );
    }
}

#[test]
fn a_generation_takes_two_seconds_and_three_polls_at_least() {
    for (interval_s, polls) in [(0.1, 21), (0.5, 5), (1.0, 3), (10.0, 3)] {
        let moment = Moment {
            now: MonoTime(0),
            interval_s,
        };
        assert_eq!(slow_polls(moment), polls, "{interval_s}");
    }
}

#[test]
fn idle_money_is_the_devices_share_of_the_time_that_was_seen() {
    let list = [&limits(700.0)[..], &[(M::Utilization, 0.0)]].concat();
    let money = |cents: i64| Decimal::new(cents, 2);
    let charge = |view: &DeviceView| match &view.known[0].kind {
        KnownKind::Idle { charge, .. } | KnownKind::StartUp { charge, .. } => charge.clone(),
        other => panic!("{other:?}"),
    };
    let devices = [card(0), card(1)];
    let view = priced(devices.clone(), &devices[0], 91, &list);
    let seen = charge(&view.devices[0]).unwrap();
    assert_eq!(seen.per_hour.amount, money(400), "two boards share it");
    assert_eq!(seen.amount.amount, money(10), "90 s of an hour");
    let mut twin = card(1);
    twin.board = card(0).board;
    let view = priced([card(0), twin], &devices[0], 91, &list);
    assert_eq!(charge(&view.devices[0]), None, "half a board has no price");
}
