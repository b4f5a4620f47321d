//! A session cut at any point, stored and taken up again says the same as one that went through.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A device's slot with some of its readings, by the metric's place.
type Said = (u32, Vec<(usize, Reading<f64>)>);

/// One tick as chance has it.
#[derive(Debug, Clone)]
struct Beat {
    passed_ms: u64,
    jump_s: i64,
    boots: bool,
    samples: Vec<Said>,
    changes: Vec<Change>,
    host: Option<f64>,
    xid: Option<(u32, u32)>,
}

fn reading(metric: usize) -> BoxedStrategy<(usize, Reading<f64>)> {
    let number = match Metric::ALL[metric] {
        Metric::Utilization | Metric::SmActive => (0.0..1.0f64).boxed(),
        Metric::Reasons => {
            prop_oneof![Just(0.0), Just(4.0), Just(64.0), Just(128.0), Just(512.0)].boxed()
        }
        Metric::PcieGenerationBefore | Metric::PcieGenerationAfter => {
            (1u8..6).prop_map(f64::from).boxed()
        }
        Metric::PcieWidthBefore | Metric::PcieWidthAfter => {
            prop_oneof![Just(8.0), Just(16.0)].boxed()
        }
        Metric::PcieCounterBits => prop_oneof![Just(32.0), Just(64.0)].boxed(),
        m if m.is_counter() => (0.0..1e10f64).boxed(),
        _ => (0.0..700.0f64).boxed(),
    };
    prop_oneof![
        8 => number.prop_map(Ok),
        1 => Just(Err(Absent::NotSupported)),
        1 => Just(Err(Absent::TimedOut)),
        1 => Just(Err(Absent::Implausible(4_294_967_295.0))),
        1 => Just(Ok(f64::NAN)),
    ]
    .prop_map(move |reading| (metric, reading))
    .boxed()
}

fn some_device() -> impl Strategy<Value = Device> {
    (0u32..4, any::<bool>(), any::<bool>()).prop_map(|(n, small, part)| {
        let mut device = if part { slice(&card(n), 7) } else { card(n) };
        if small {
            device.name = "Small".into();
        }
        device
    })
}

fn change() -> impl Strategy<Value = Change> {
    let id = || some_device().prop_map(|d| d.id);
    let list = vec(
        (1u32..6, 0.0..1e9f64).prop_map(|(pid, bytes)| process(pid, bytes)),
        0..3,
    );
    let hosts = vec(
        (
            1u32..6,
            any::<bool>(),
            prop_oneof![Just(Ok(0)), Just(Ok(2)), Just(Err(Absent::NotReported))],
        ),
        0..4,
    );
    let status = prop_oneof![
        Just(ProbeStatus::Ok),
        Just(ProbeStatus::NoLibrary),
        Just(ProbeStatus::Crashed)
    ];
    prop_oneof![
        4 => some_device().prop_map(|d| Change::Device(Arc::new(d))),
        3 => (id(), prop_oneof![3 => list.prop_map(Ok), 1 => Just(Err(Absent::NoPermission))])
            .prop_map(|(id, list)| Change::Processes(id, list)),
        2 => hosts.prop_map(|l| {
            Change::HostProcesses(l.into_iter().map(|(p, f, w)| host_process(p, f, w)).collect())
        }),
        1 => (-9000i64..0).prop_map(|s| Change::Host(Host { boot: Ok(wall(s)), ..Host::default() })),
        1 => status.prop_map(|s| Change::Probe(report(s))),
        2 => (id(), any::<bool>(), 900u64..1100).prop_map(|(id, lost, at)| {
            Change::Silent(id, if lost { Absent::Lost } else { Absent::TimedOut }, MonoTime(at * NS))
        }),
        2 => id().prop_map(Change::Answers),
        1 => id().prop_map(Change::Gone),
    ]
}

fn beat() -> impl Strategy<Value = Beat> {
    let sample = (
        0u32..4,
        vec((0..Metric::COUNT).prop_flat_map(reading), 0..40),
    );
    (
        prop_oneof![12 => 900u64..1100, 1 => 2500u64..30_000],
        prop_oneof![20 => Just(0i64), 1 => -4000i64..4000],
        prop::bool::weighted(0.02),
        vec(sample, 0..4),
        vec(change(), 0..3),
        prop::option::of(0.0..0.3f64),
        prop::option::weighted(0.1, (0u32..4, prop_oneof![Just(13u32), Just(79), Just(45)])),
    )
        .prop_map(
            |(passed_ms, jump_s, boots, samples, changes, host, xid)| Beat {
                passed_ms,
                jump_s,
                boots,
                samples,
                changes,
                host,
                xid,
            },
        )
}

fn ticks(beats: &[Beat]) -> Vec<Tick> {
    let (mut mono, mut at) = (1000 * NS, wall(0));
    let mut ticks = Vec::new();
    for (n, beat) in beats.iter().enumerate() {
        mono += beat.passed_ms * 1_000_000;
        at = at
            + SignedDuration::from_millis(beat.passed_ms as i64)
            + SignedDuration::from_secs(beat.jump_s);
        if beat.boots {
            mono /= 2;
        }
        let mut tick = Tick {
            seq: n as u64 + 1,
            at,
            mono: MonoTime(mono),
            changes: beat.changes.clone(),
            ..empty()
        };
        for (device, list) in &beat.samples {
            let mut all = Readings::absent(Absent::NotSupported);
            for (metric, reading) in list {
                all.set(Metric::ALL[*metric], *reading);
            }
            tick.samples.push(Sample {
                device: card(*device).id,
                at: tick.mono,
                readings: all,
            });
        }
        tick.host = beat.host.map(|some| HostSample {
            psi_scope: Ok(PsiScope::Cgroup),
            psi_io_some_ratio: Ok(some),
            ..HostSample::default()
        });
        tick.events.extend(beat.xid.map(|(d, code)| Event {
            at,
            ..xid(&card(d), code, 0)
        }));
        ticks.push(tick);
    }
    ticks
}

fn config() -> Config {
    Config {
        price: Some(Price {
            per_hour: rust_decimal::Decimal::new(1280, 2),
            scope: PriceScope::Device,
            source: PriceSource::Flag,
        }),
        ..Config::default()
    }
}

/// All that a snapshot says; debug text shows every number exactly.
fn said(session: &Session) -> String {
    format!("{:#?}", session.snapshot())
}

fn stored(start: &Start) -> Start {
    postcard::from_bytes(&postcard::to_allocvec(start).unwrap()).unwrap()
}

fn check(view: &Snapshot) -> Result<(), TestCaseError> {
    for device in &view.devices {
        prop_assert!(!device.known.is_empty());
        for figure in Figure::ALL {
            let value = device.figures.get(*figure);
            prop_assert!(value.age_s.is_finite() && value.age_s >= 0.0);
            prop_assert!(
                value.reading.is_err() || value.ok().is_some_and(f64::is_finite),
                "{figure:?}"
            );
            prop_assert!(
                value.reading.is_err() || value.age_s <= 5.0,
                "{figure:?} {value:?}"
            );
        }
        for metric in Metric::ALL {
            prop_assert!(device.readings.get(*metric).ok().is_none_or(f64::is_finite));
        }
    }
    if let Some(cost) = &view.cost {
        prop_assert!(
            (cost.phase_seconds.total() - cost.span_seconds).abs() < 1e-6,
            "{cost:?}"
        );
        for device in &view.devices {
            prop_assert!((device.phase_seconds.total() - cost.span_seconds).abs() < 1e-6);
        }
        if let (Some(amount), Some(parts)) = (cost.amount, cost.phase_amounts) {
            prop_assert_eq!(parts.iter().sum::<rust_decimal::Decimal>(), amount);
        }
    }
    prop_assert!(
        view.energy
            .is_none_or(|e| e.kwh.is_finite() && e.kwh >= 0.0)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_session_taken_up_in_the_middle_says_the_same(
        beats in vec(beat(), 4..50),
        before in 0.05..0.5f64,
        cut in 0.0..1.0f64,
    ) {
        let ticks = ticks(&beats);
        let first = ((ticks.len() as f64 * before) as usize).max(1);
        let mut past = Session::new(Start::new(config()), plates(), SourceKind::Live);
        ticks[..first].iter().for_each(|t| past.fold(t));
        let start = past.start();
        prop_assert!(start.ledger.is_some(), "a Start that holds something");

        let rest = &ticks[first..];
        let cut = (rest.len() as f64 * cut) as usize;
        let mut whole = Session::new(start.clone(), plates(), SourceKind::Live);
        let mut halves = Session::new(stored(&start), plates(), SourceKind::Live);
        prop_assert_eq!(said(&past), said(&whole), "a Start alone is a view already");
        for (n, tick) in rest.iter().enumerate() {
            if n == cut {
                halves = Session::new(stored(&halves.start()), plates(), SourceKind::Live);
                prop_assert_eq!(said(&whole), said(&halves));
            }
            whole.fold(tick);
            halves.fold(tick);
            prop_assert_eq!(said(&whole), said(&halves));
            check(&whole.snapshot().unwrap())?;
        }
        prop_assert_eq!(whole.start(), halves.start());
        prop_assert_eq!(
            postcard::to_allocvec(&whole.start()).unwrap(),
            postcard::to_allocvec(&halves.start()).unwrap()
        );
    }

    #[test]
    fn what_no_sample_had_is_in_no_figure(beats in vec(beat(), 1..12), never in vec(0..Metric::COUNT, 1..60)) {
        let mut ticks = ticks(&beats);
        for sample in ticks.iter_mut().flat_map(|t| &mut t.samples) {
            for metric in &never {
                sample.readings.set(Metric::ALL[*metric], Err(Absent::NotSupported));
            }
        }
        let never: Vec<Metric> = never.iter().map(|m| Metric::ALL[*m]).collect();
        let lacks = |all: &[Metric]| all.iter().all(|m| never.contains(m));
        let mut session = Session::new(Start::default(), plates(), SourceKind::Live);
        for tick in &ticks {
            session.fold(tick);
            for device in &session.snapshot().unwrap().devices {
                for (figure, from) in SOURCES {
                    prop_assert!(!lacks(from) || device.figures.get(*figure).reading.is_err(), "{figure:?}");
                }
            }
        }
    }
}

/// Figures that are nothing without one of these metrics.
const SOURCES: &[(Figure, &[Metric])] = {
    use Metric as M;
    const POWER: &[Metric] = &[
        M::PowerUsage,
        M::PowerAverage,
        M::PowerInstant,
        M::ModulePower,
    ];
    &[
        (Figure::Power, POWER),
        (Figure::PowerRatio, POWER),
        (Figure::PowerLimitRatio, POWER),
        (Figure::PowerLimit, &[M::LimitEnforced, M::ModuleLimit]),
        (Figure::PowerDefaultLimit, &[M::LimitDefault]),
        (Figure::Energy, &[M::Energy]),
        (Figure::Temperature, &[M::CoreTemperature]),
        (Figure::MemoryTemperature, &[M::MemoryTemperature]),
        (Figure::Headroom, &[M::CoreTemperature, M::Margin]),
        (Figure::Slowdown, &[M::ThresholdSlowdown]),
        (Figure::Utilization, &[M::Utilization]),
        (Figure::MemoryActivity, &[M::MemoryActivity]),
        (Figure::MemoryUsed, &[M::MemoryUsed]),
        (Figure::MemoryTotal, &[M::MemoryTotal]),
        (Figure::Clock, &[M::SmClock]),
        (
            Figure::PcieGeneration,
            &[M::PcieGenerationBefore, M::PcieGenerationAfter],
        ),
        (Figure::PcieWidth, &[M::PcieWidthBefore, M::PcieWidthAfter]),
        (Figure::PcieUsable, &[M::PcieWidthBefore, M::PcieWidthAfter]),
        (
            Figure::PcieRx,
            &[M::PcieRxBytes, M::GpmPcieRx, M::PcieRxRate],
        ),
        (
            Figure::PcieRxSaturation,
            &[M::PcieRxBytes, M::GpmPcieRx, M::PcieRxRate],
        ),
        (
            Figure::PcieTx,
            &[M::PcieTxBytes, M::GpmPcieTx, M::PcieTxRate],
        ),
        (Figure::PcieReplays, &[M::PcieReplays]),
        (Figure::NvlinkRx, &[M::NvlinkRxBytes, M::GpmNvlinkRx]),
        (Figure::NvlinkUp, &[M::NvlinkUp]),
        (Figure::NvlinkErrors, &[M::NvlinkErrors]),
        (Figure::EccUncorrected, &[M::EccUncorrected]),
        (Figure::Share, &[M::Share]),
    ]
};

#[test]
fn numbers_that_are_none_do_not_get_in_by_the_wire() {
    // The wire's form has no guard of its own.
    let bytes = postcard::to_allocvec(&vec![Ok::<f64, Absent>(f64::NAN); Metric::COUNT]).unwrap();
    let bad: Readings = postcard::from_bytes(&bytes).unwrap();
    let mut world = World::of([card(0)]);
    world.tick();
    for _ in 0..3 {
        world.next.samples.push(Sample {
            device: card(0).id,
            at: MonoTime(0),
            readings: bad.clone(),
        });
        let view = world.tick();
        check(&view).unwrap();
        assert!(view.devices[0].figures.get(Figure::Power).reading.is_err());
        assert_eq!(view.energy, None);
    }
}
