//! Plain facts and the word of a row: each can be reached, each stops at its threshold.

use super::*;
use Metric as M;

/// What is said after some seconds of the same readings.
fn said(device: Device, seconds: usize, list: &[(Metric, f64)]) -> DeviceView {
    let mut world = World::of([device.clone()]);
    let list: Vec<_> = list.iter().map(|(m, v)| (*m, Ok(*v))).collect();
    let mut view = None;
    for _ in 0..seconds {
        world.sample(&device, &list);
        view = Some(world.tick().devices.remove(0));
    }
    view.unwrap()
}

fn has(view: &DeviceView, test: fn(&KnownKind) -> bool) -> bool {
    view.known.iter().any(|k| test(&k.kind))
}

const WORK: [(Metric, f64); 4] = [
    (M::Utilization, 0.9),
    (M::PowerUsage, 250.0),
    (M::LimitEnforced, 300.0),
    (M::LimitDefault, 300.0),
];

fn with(more: &[(Metric, f64)]) -> Vec<(Metric, f64)> {
    let kept = WORK
        .iter()
        .filter(|(m, _)| !more.iter().any(|(n, _)| n == m));
    kept.chain(more).copied().collect()
}

fn link(generation: f64, width: f64) -> [(Metric, f64); 4] {
    [
        (M::PcieGenerationBefore, generation),
        (M::PcieWidthBefore, width),
        (M::PcieGenerationMax, 4.0),
        (M::PcieWidthMax, 16.0),
    ]
}

/// Fully busy, clocks held for power, far below the limit.
fn held(more: &[(Metric, f64)]) -> Vec<(Metric, f64)> {
    let list = [
        (M::Utilization, 0.99),
        (M::PowerUsage, 200.0),
        (M::Reasons, 4.0),
        (M::SmClock, 1100.0),
        (M::SmClockMax, 1410.0),
        (M::PerformanceState, 0.0),
    ];
    let kept = list
        .iter()
        .filter(|(m, _)| !more.iter().any(|(n, _)| n == m));
    with(&kept.chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn every_fact_has_two_sides() {
    type Test = fn(&KnownKind) -> bool;
    let link_at =
        |generation, width, more: &[(Metric, f64)]| [&link(generation, width)[..], more].concat();
    type Said = Vec<(Metric, f64)>;
    type Case = (&'static str, Test, Level, StateWord, Said, Said);
    let cases: Vec<Case> = vec![
        (
            "recovery",
            |k| matches!(k, KnownKind::RecoveryAction { action: 1 }),
            Level::Bad,
            StateWord::Faulty,
            vec![(M::RecoveryAction, 1.0)],
            vec![(M::RecoveryAction, 0.0)],
        ),
        (
            "ecc",
            |k| matches!(k, KnownKind::Uncorrected { .. }),
            Level::Bad,
            StateWord::Faulty,
            vec![(M::EccUncorrected, 1.0)],
            vec![(M::EccUncorrected, 0.0)],
        ),
        (
            "remap failed",
            |k| matches!(k, KnownKind::Remap { failed: true }),
            Level::Bad,
            StateWord::Faulty,
            vec![(M::RemapFailure, 1.0)],
            vec![(M::RemapFailure, 0.0)],
        ),
        (
            "remap pending",
            |k| matches!(k, KnownKind::Remap { failed: false }),
            Level::Warn,
            StateWord::Faulty,
            vec![(M::RemapPending, 1.0)],
            vec![(M::RetiredPending, 0.0)],
        ),
        (
            "unhealthy",
            |k| matches!(k, KnownKind::Unhealthy { grave: true }),
            Level::Bad,
            StateWord::Faulty,
            vec![(M::Health, 3.0)],
            vec![(M::Health, 0.0)],
        ),
        (
            "brake",
            |k| matches!(k, KnownKind::Braked),
            Level::Bad,
            StateWord::Braked,
            vec![(M::Reasons, 128.0)],
            vec![(M::Reasons, 4.0)],
        ),
        (
            "hardware",
            |k| matches!(k, KnownKind::Braked),
            Level::Bad,
            StateWord::Braked,
            vec![(M::Reasons, 8.0)],
            vec![(M::Reasons, 72.0)],
        ),
        (
            "heat",
            |k| matches!(k, KnownKind::SlowedByHeat { .. }),
            Level::Bad,
            StateWord::Hot,
            vec![(M::Reasons, 32.0)],
            vec![(M::Reasons, 8.0)],
        ),
        (
            "hot",
            |k| matches!(k, KnownKind::Hot { .. }),
            Level::Warn,
            StateWord::Hot,
            vec![(M::Margin, 3.0)],
            vec![(M::Margin, 4.0)],
        ),
        (
            "hot by the software's threshold",
            |k| matches!(k, KnownKind::Hot { headroom_c } if *headroom_c == 2.0),
            Level::Warn,
            StateWord::Hot,
            vec![
                (M::CoreTemperature, 83.0),
                (M::ThresholdSlowdown, 93.0),
                (M::ThresholdGpuMax, 85.0),
            ],
            vec![
                (M::CoreTemperature, 83.0),
                (M::ThresholdGpuMax, 85.0),
                (M::Margin, 10.0),
            ],
        ),
        (
            "hot memory",
            |k| matches!(k, KnownKind::MemoryHot { .. }),
            Level::Warn,
            StateWord::Hot,
            vec![(M::MemoryTemperature, 93.0), (M::ThresholdMemoryMax, 95.0)],
            vec![(M::MemoryTemperature, 91.0), (M::ThresholdMemoryMax, 95.0)],
        ),
        (
            "held below the limit",
            |k| matches!(k, KnownKind::HeldBelowLimit { .. }),
            Level::Warn,
            StateWord::Capped,
            held(&[]),
            held(&[(M::PowerUsage, 250.0)]),
        ),
        (
            "narrow",
            |k| {
                matches!(
                    k,
                    KnownKind::Narrow {
                        width: 8,
                        width_max: 16,
                        ..
                    }
                )
            },
            Level::Warn,
            StateWord::Narrow,
            link_at(4.0, 8.0, &[]),
            link_at(4.0, 16.0, &[]),
        ),
        (
            "slow",
            |k| {
                matches!(
                    k,
                    KnownKind::Slow {
                        generation: 1,
                        generation_max: 4,
                        ..
                    }
                )
            },
            Level::Warn,
            StateWord::Narrow,
            link_at(1.0, 16.0, &[]),
            link_at(1.0, 16.0, &[(M::Utilization, 0.05)]),
        ),
        (
            "full down",
            |k| matches!(k, KnownKind::LinkFull { down: true, .. }),
            Level::Warn,
            StateWord::Working,
            link_at(4.0, 16.0, &[(M::PcieRxRate, 22e9)]),
            link_at(4.0, 16.0, &[(M::PcieRxRate, 21e9)]),
        ),
        (
            "full up",
            |k| matches!(k, KnownKind::LinkFull { down: false, .. }),
            Level::Warn,
            StateWord::Working,
            link_at(4.0, 16.0, &[(M::PcieTxRate, 22e9)]),
            link_at(4.0, 16.0, &[(M::PcieTxRate, 21e9)]),
        ),
        (
            "limit",
            |k| matches!(k, KnownKind::LimitBelowPlate { .. }),
            Level::Warn,
            StateWord::Capped,
            vec![(M::LimitEnforced, 280.0)],
            vec![(M::LimitEnforced, 295.0)],
        ),
        (
            "default",
            |k| matches!(k, KnownKind::DefaultBelowRated { .. }),
            Level::Warn,
            StateWord::Working,
            vec![(M::LimitDefault, 280.0), (M::LimitEnforced, 280.0)],
            vec![(M::LimitDefault, 290.0), (M::LimitEnforced, 290.0)],
        ),
        (
            "doubtful",
            |k| matches!(k, KnownKind::BusyAtLowPower { .. }),
            Level::Bad,
            StateWord::Doubtful,
            vec![(M::Utilization, 0.99), (M::PowerUsage, 75.0)],
            vec![(M::Utilization, 0.90), (M::PowerUsage, 75.0)],
        ),
        (
            "doubtful by GPM",
            |k| matches!(k, KnownKind::BusyAtLowPower { .. }),
            Level::Bad,
            StateWord::Doubtful,
            vec![
                (M::Utilization, 0.99),
                (M::SmActive, 0.1),
                (M::PowerUsage, 120.0),
            ],
            vec![
                (M::Utilization, 0.99),
                (M::SmActive, 0.2),
                (M::PowerUsage, 120.0),
            ],
        ),
        (
            "memory",
            |k| matches!(k, KnownKind::MemoryFull { .. }),
            Level::Info,
            StateWord::Working,
            vec![(M::MemoryUsed, 97.0), (M::MemoryTotal, 100.0)],
            vec![(M::MemoryUsed, 96.0), (M::MemoryTotal, 100.0)],
        ),
        (
            "links down",
            |k| matches!(k, KnownKind::LinksDown { up: 17, links: 18 }),
            Level::Info,
            StateWord::Working,
            vec![(M::NvlinkLinks, 18.0), (M::NvlinkUp, 17.0)],
            vec![(M::NvlinkLinks, 18.0), (M::NvlinkUp, 18.0)],
        ),
        (
            "idle",
            |k| matches!(k, KnownKind::Idle { .. }),
            Level::Info,
            StateWord::Idle,
            vec![(M::Utilization, 0.10)],
            vec![(M::Utilization, 0.11)],
        ),
        (
            "fine",
            |k| matches!(k, KnownKind::Fine { .. }),
            Level::Info,
            StateWord::Working,
            vec![],
            vec![(M::EccUncorrected, 1.0)],
        ),
    ];
    for (name, test, level, word, yes, no) in cases {
        let view = said(card(0), 5, &with(&yes));
        let fact = view.known.iter().find(|k| test(&k.kind));
        assert_eq!(
            fact.map(|k| k.level),
            Some(level),
            "{name}: {:?}",
            view.known
        );
        assert_eq!(view.word, word, "{name}: {:?}", view.known);
        let view = said(card(0), 5, &with(&no));
        assert!(!has(&view, test), "{name}: {:?}", view.known);
        assert!(
            view.known.is_sorted_by(|a, b| a.level >= b.level),
            "worst first"
        );
    }
}

#[test]
fn worst_comes_first() {
    let view = said(
        card(0),
        5,
        &with(&[
            (M::MemoryUsed, 99.0),
            (M::MemoryTotal, 100.0),
            (M::LimitEnforced, 200.0),
            (M::EccUncorrected, 2.0),
        ]),
    );
    let levels: Vec<Level> = view.known.iter().map(|k| k.level).collect();
    assert_eq!(levels, [Level::Bad, Level::Warn, Level::Info]);
    let words = [
        StateWord::Working,
        StateWord::Idle,
        StateWord::Held,
        StateWord::Capped,
        StateWord::Narrow,
        StateWord::Unknown,
        StateWord::Hot,
        StateWord::Doubtful,
        StateWord::Braked,
        StateWord::Silent,
        StateWord::Faulty,
        StateWord::Lost,
    ];
    assert!(
        words
            .windows(2)
            .all(|w| super::super::worse(w[1], w[0]) && !super::super::worse(w[0], w[1]))
    );
}

#[test]
fn a_blip_of_hardware_slowdown_is_nothing() {
    let mut world = World::of([card(0)]);
    for bits in [0.0, 8.0, 0.0, 128.0, 0.0] {
        let view = world.read(&with(&[(M::Reasons, bits)]));
        assert_eq!(view.word, StateWord::Working, "{bits}");
    }
    let view = world.read(&with(&[(M::Reasons, 8.0)]));
    assert_eq!(
        view.throttle,
        Ok(vec!["hw_slowdown".to_owned()]),
        "yet it is shown as set"
    );
}

#[test]
fn a_power_cap_at_idle_is_no_alarm() {
    let view = said(
        card(0),
        5,
        &[
            (M::Utilization, 0.0),
            (M::PowerUsage, 30.0),
            (M::Reasons, 5.0),
        ],
    );
    assert_eq!((view.word, view.known.len()), (StateWord::Idle, 1));
}

#[test]
fn busy_at_little_power_takes_three_seconds() {
    let spin = with(&[(M::Utilization, 1.0), (M::PowerUsage, 75.0)]);
    assert_eq!(said(card(0), 3, &spin).word, StateWord::Working);
    assert_eq!(said(card(0), 4, &spin).word, StateWord::Doubtful);
    let mut world = World::of([card(0)]);
    world.read(&spin);
    world.read(&spin);
    world.sample(
        &card(0),
        &spin.iter().map(|(m, v)| (*m, Ok(*v))).collect::<Vec<_>>(),
    );
    assert_eq!(
        world.after(100).devices[0].word,
        StateWord::Working,
        "nobody saw it between"
    );
}

#[test]
fn xids_of_the_application_are_no_fault_and_hide_none() {
    for (codes, level, word) in [
        (&[13][..], Level::Info, StateWord::Working),
        (&[79], Level::Bad, StateWord::Faulty),
        (&[79, 45], Level::Bad, StateWord::Faulty),
        (&[45, 79], Level::Bad, StateWord::Faulty),
    ] {
        let mut world = World::of([card(0)]);
        world.tick();
        world
            .next
            .events
            .extend(codes.iter().map(|code| xid(&card(0), *code, 2)));
        let view = world.read(&WORK);
        let fact = view
            .known
            .iter()
            .find(|k| matches!(k.kind, KnownKind::Xid { .. }))
            .unwrap();
        assert_eq!((fact.level, view.word), (level, word), "{codes:?}");
        world.after(600);
        assert_eq!(
            world.read(&WORK).word,
            StateWord::Working,
            "news for ten minutes"
        );
    }
}

#[test]
fn a_narrow_link_says_what_it_carries_and_which_bridge_sets_it() {
    let device = named("Small");
    let mut world = World::of([device.clone()]);
    let hop = |bus: u8, width_max: u8, emulated| Hop {
        address: PciAddress {
            domain: 0,
            bus,
            device: 0,
            function: 0,
        },
        generation: Some(3),
        width: Some(8),
        generation_max: Some(3),
        width_max: Some(width_max),
        emulated,
    };
    world.tell(Change::Path(
        device.id.clone(),
        vec![hop(3, 16, false), hop(2, 8, true), hop(1, 8, false)],
    ));
    let view = world.read(&[
        (M::PcieGenerationBefore, 3.0),
        (M::PcieWidthBefore, 8.0),
        (M::PcieGenerationMax, 3.0),
        (M::PcieWidthMax, 16.0),
        (M::Utilization, 0.9),
    ]);
    let Known {
        level: Level::Warn,
        kind:
            KnownKind::Narrow {
                width: 8,
                width_max: 16,
                bridge,
                usable,
                usual: false,
            },
    } = &view.known[0]
    else {
        panic!("{:?}", view.known)
    };
    assert_eq!(bridge.as_deref(), Some("0000:01:00.0"));
    assert!(
        (usable.unwrap() - 6.15e9).abs() < 5e7,
        "half of what x16 carries"
    );
}

#[test]
fn a_superchips_single_lane_is_by_design() {
    let device = Device {
        c2c: true,
        ..card(0)
    };
    let list = with(&[
        (M::PcieGenerationBefore, 4.0),
        (M::PcieWidthBefore, 1.0),
        (M::PcieWidthMax, 16.0),
    ]);
    assert_eq!(said(device, 5, &list).word, StateWord::Working);
    let list = with(&[
        (M::PcieGenerationBefore, 4.0),
        (M::PcieWidthBefore, 1.0),
        (M::PcieWidthMax, 1.0),
    ]);
    assert_eq!(said(named("Unplated"), 5, &list).word, StateWord::Working);
}

#[test]
fn a_slice_without_utilization_is_unknown_never_idle() {
    let (whole, part) = (card(0), slice(&card(0), 0));
    let mut world = World::of([whole.clone(), part.clone()]);
    let mut view = None;
    for _ in 0..5 {
        world.sample(
            &whole,
            &[
                (M::PowerUsage, Ok(100.0)),
                (M::Utilization, Err(Absent::NotSupported)),
            ],
        );
        world.sample(
            &part,
            &[
                (M::MemoryUsed, Ok(1e9)),
                (M::Utilization, Err(Absent::NotSupported)),
            ],
        );
        view = Some(world.tick());
    }
    for device in &view.unwrap().devices {
        assert_eq!(
            (device.phase, device.word),
            (Phase::Unobserved, StateWord::Unknown)
        );
        assert_eq!(
            (device.verdict.state, device.phase_seconds.idle),
            (VerdictState::Unknown, 0.0)
        );
    }
}

#[test]
fn idle_is_held_where_a_process_keeps_memory() {
    for (list, word) in [
        (Ok(vec![process(7, 1e9)]), StateWord::Held),
        (Ok(vec![process(7, 0.0)]), StateWord::Idle),
        (Ok(vec![]), StateWord::Idle),
        (Err(Absent::NoPermission), StateWord::Idle),
    ] {
        let mut world = World::of([card(0)]);
        world.tell(Change::Processes(card(0).id, list));
        assert_eq!(world.read(&[(M::Utilization, 0.0)]).word, word);
    }
}

#[test]
fn billed_without_a_process_is_start_up() {
    let mut world = World::of([card(0)]);
    world.tell(Change::Processes(card(0).id, Ok(vec![])));
    world.tell(Change::Host(Host {
        boot: Ok(wall(-99)),
        ..Host::default()
    }));
    let view = world.read(&[(M::Utilization, 0.0)]);
    assert_eq!(
        view.known[0].kind,
        KnownKind::StartUp {
            seconds: 100.0,
            charge: None
        }
    );
    assert_eq!((view.phase, view.word), (Phase::Queue, StateWord::Idle));
}

#[test]
fn a_device_past_its_deadline_is_silent_since() {
    let mut world = World::of([card(0)]);
    world.read(&WORK);
    world.tell(Change::Silent(
        card(0).id,
        Absent::TimedOut,
        MonoTime(world.mono),
    ));
    let view = world.after(3).devices.remove(0);
    assert_eq!(
        (view.word, &view.known[0].kind),
        (StateWord::Silent, &KnownKind::Silent { seconds: 3.0 })
    );
}
