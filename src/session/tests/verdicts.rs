//! Verdicts through the session: what the rules are shown, what comes of it, and that a cut changes nothing.

use super::*;
use crate::verdict::RuleSet;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a device does for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Work,
    Rest,
    Spin,
    Narrow,
    Brake,
    Hot,
    Capped,
    Bursts,
    Frozen,
    Nothing,
}

const DOINGS: [Doing; 10] = [
    Doing::Work,
    Doing::Rest,
    Doing::Spin,
    Doing::Narrow,
    Doing::Brake,
    Doing::Hot,
    Doing::Capped,
    Doing::Bursts,
    Doing::Frozen,
    Doing::Nothing,
];

fn said_by(doing: Doing, second: u64) -> Vec<(Metric, f64)> {
    use Metric as M;
    let noise = ((second * 7919) % 17) as f64 * 0.13;
    let mut list = vec![
        (M::Utilization, 0.97),
        (M::MemoryActivity, 0.3),
        (M::PowerAverage, 270.0 + noise),
        (M::LimitEnforced, 300.0),
        (M::LimitDefault, 300.0),
        (M::CoreTemperature, 60.0),
        (M::ThresholdSlowdown, 90.0),
        (M::SmClock, 1410.0),
        (M::SmClockMax, 1410.0),
        (M::Reasons, 0.0),
        (M::PcieGenerationBefore, 4.0),
        (M::PcieGenerationAfter, 4.0),
        (M::PcieWidthBefore, 16.0),
        (M::PcieWidthAfter, 16.0),
        (M::PcieGenerationMax, 4.0),
        (M::PcieWidthMax, 16.0),
        (M::MemoryUsed, 60e9),
        (M::MemoryTotal, 85.8e9),
    ];
    let mut set = |metric, value| {
        list.retain(|(m, _)| *m != metric);
        list.push((metric, value));
    };
    match doing {
        Doing::Work => {}
        Doing::Rest => {
            set(M::Utilization, 0.0);
            set(M::PowerAverage, 60.0 + noise);
        }
        Doing::Spin => {
            set(M::Utilization, 1.0);
            set(M::MemoryActivity, 0.0);
            set(M::PowerAverage, 62.0 + 0.1 * noise);
        }
        Doing::Narrow => {
            set(M::PcieWidthBefore, 8.0);
            set(M::PcieWidthAfter, 8.0);
        }
        Doing::Brake => set(M::Reasons, 128.0),
        Doing::Hot => set(M::Reasons, 32.0),
        Doing::Capped => {
            set(M::LimitEnforced, 200.0);
            set(M::PowerAverage, 199.0 + 0.1 * noise);
            set(M::Reasons, 4.0);
        }
        Doing::Bursts if second % 10 < 5 => {
            set(M::Utilization, 0.0);
            set(M::PowerAverage, 65.0 + noise);
        }
        Doing::Bursts => {}
        Doing::Frozen => set(M::PowerAverage, 270.125),
        Doing::Nothing => list.clear(),
    }
    list
}

fn run(world: &mut World, doing: Doing, seconds: u64) -> DeviceView {
    for _ in 0..seconds {
        let list: Vec<_> = said_by(doing, world.seconds)
            .into_iter()
            .map(|(m, v)| (m, Ok(v)))
            .collect();
        world.sample(&card(0), &list);
        world.tick();
    }
    world.session.snapshot().unwrap().devices.remove(0)
}

#[test]
fn a_cause_comes_with_events_and_goes_into_the_past() {
    let mut world = World::of([card(0)]);
    run(&mut world, Doing::Work, 60);
    let view = run(&mut world, Doing::Brake, 30);
    assert_eq!(
        (
            view.verdict.cause,
            view.verdict.state,
            view.verdict.confidence
        ),
        (Cause::PowerBrake, VerdictState::Throttled, Confidence::Sure)
    );
    assert!(view.verdict.counts);
    assert_eq!(view.word, StateWord::Braked);
    assert_eq!(view.episodes.len(), 1);
    let view = run(&mut world, Doing::Work, 30);
    assert_eq!(view.verdict.cause, Cause::None);
    let picture = world.session.snapshot().unwrap();
    let past: Vec<Cause> = picture.past.iter().map(|e| e.cause).collect();
    assert_eq!(past, [Cause::PowerBrake]);
    assert!((28.0..=31.0).contains(&picture.past[0].seconds));
    let said: Vec<&str> = (picture.events.iter())
        .filter(|e| e.kind == EventKind::Verdict)
        .map(|e| &*e.text)
        .collect();
    assert_eq!(
        said,
        [
            "0 Card: power_brake is suspected",
            "0 Card: power_brake is sure",
            "0 Card: power_brake has ended"
        ]
    );
}

#[test]
fn a_device_that_says_nothing_is_unknown_and_never_idle() {
    let mut world = World::of([card(0)]);
    run(&mut world, Doing::Rest, 30);
    let view = run(&mut world, Doing::Nothing, 900);
    assert_eq!(view.verdict.cause, Cause::Unknown);
    assert_eq!(view.verdict.state, VerdictState::Unknown);
    assert!(!view.verdict.counts);
}

#[test]
fn a_hang_that_nobody_watches_any_more_is_not_called_a_hang() {
    let mut world = World::of([card(0)]);
    run(&mut world, Doing::Work, 60);
    let view = run(&mut world, Doing::Spin, 310);
    assert_eq!(view.verdict.cause, Cause::CollectiveWait);
    assert_eq!(view.verdict.confidence, Confidence::Sure);
    world.after(3600);
    let picture = world.session.snapshot().unwrap();
    assert_ne!(picture.devices[0].verdict.cause, Cause::CollectiveWait);
    let hang = picture.past.last().unwrap();
    assert!(hang.end.is_some() && hang.seconds < 320.0, "{hang:?}");
}

#[test]
fn idle_and_starved_are_told_apart_by_their_rhythm() {
    let mut world = World::of([card(0)]);
    run(&mut world, Doing::Work, 60);
    let view = run(&mut world, Doing::Rest, 700);
    assert_eq!(
        (view.verdict.cause, view.verdict.counts),
        (Cause::IdleBilled, true)
    );
    let mut world = World::of([card(0)]);
    run(&mut world, Doing::Work, 60);
    let view = run(&mut world, Doing::Bursts, 120);
    assert_eq!(view.verdict.cause, Cause::InputStarved);
    assert_eq!(
        view.verdict.confidence,
        Confidence::Suspect,
        "no host to ask"
    );
}

#[test]
fn a_rule_that_was_left_out_says_nothing() {
    let mut world = World::of([card(0)]);
    world.session = world
        .session
        .with_rules(RuleSet::all().without(Cause::PowerBrake));
    run(&mut world, Doing::Work, 60);
    let view = run(&mut world, Doing::Brake, 30);
    assert_ne!(view.verdict.cause, Cause::PowerBrake);
}

#[test]
fn a_slice_has_no_link_of_its_own_and_a_card_under_mig_is_not_idle() {
    let (whole, part) = (card(0), slice(&card(0), 1));
    let mut world = World::of([whole.clone(), part.clone()]);
    for _ in 0..900 {
        let second = world.seconds;
        let list: Vec<_> = said_by(Doing::Narrow, second)
            .into_iter()
            .filter(|(m, _)| !matches!(m, Metric::Utilization | Metric::MemoryActivity))
            .map(|(m, v)| (m, Ok(v)))
            .collect();
        world.sample(&part, &list);
        let on = [
            (Metric::MigEnabled, Ok(1.0)),
            (Metric::PowerAverage, Ok(200.5)),
        ];
        world.sample(&whole, &on);
        world.tick();
    }
    for device in world.session.snapshot().unwrap().devices {
        assert_eq!(device.verdict.cause, Cause::Unknown, "{}", device.device.id);
        assert_ne!(device.verdict.state, VerdictState::Idle);
    }
}

#[test]
fn a_device_with_an_error_that_is_lost_now_is_lost_with_its_cause() {
    let mut world = World::of([card(0)]);
    let card = card(0);
    let load = |world: &mut World| {
        let now: Vec<_> = said_by(Doing::Work, world.seconds)
            .into_iter()
            .map(|(m, v)| (m, Ok(v)))
            .collect();
        world.sample(&card, &now);
        world.tick().devices.remove(0).verdict
    };
    load(&mut world);
    world.next.events.push(xid(&card, 48, 1));
    load(&mut world);
    let verdict = load(&mut world);
    assert_eq!(
        (verdict.cause, verdict.state),
        (Cause::EccXid, VerdictState::Degraded)
    );
    let gone = Change::Silent(card.id.clone(), Absent::Lost, MonoTime(world.mono));
    world.tell(gone);
    let verdict = world.tick().devices.remove(0).verdict;
    assert_eq!(
        (verdict.cause, verdict.state),
        (Cause::DeviceLost, VerdictState::Lost)
    );
    assert!(
        verdict.counts && verdict.also.contains(&Cause::EccXid),
        "{verdict:?}"
    );
}

fn said(session: &Session) -> String {
    format!(
        "{:?}",
        session.snapshot().map(|s| (s.devices, s.past, s.events))
    )
}

fn stored(start: &Start) -> Start {
    postcard::from_bytes(&postcard::to_allocvec(start).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Stretches of faults, cut anywhere: the half that goes on says what the whole says.
    #[test]
    fn verdicts_from_the_middle_are_the_same(
        stretches in vec((0..DOINGS.len(), 3u64..80, prop::bool::weighted(0.1)), 3..9),
        cut in 0.0..1.0f64,
    ) {
        let mut world = World::of([card(0), card(1)]);
        let total: u64 = stretches.iter().map(|(_, seconds, _)| seconds).sum();
        let cut = (total as f64 * cut) as u64;
        let mut halves: Option<Session> = None;
        let mut n = 0;
        for (doing, seconds, gap) in &stretches {
            for _ in 0..*seconds {
                let second = world.seconds;
                let mut tick = empty();
                std::mem::swap(&mut tick, &mut world.next);
                let jump = if *gap && n % 50 == 7 { 40 } else { 1 };
                world.seconds += jump;
                world.mono += jump * NS;
                tick.seq = n + 1;
                tick.at = wall(world.seconds as i64);
                tick.mono = MonoTime(world.mono);
                for (index, doing) in [(0, DOINGS[*doing]), (1, Doing::Work)] {
                    let list: Vec<_> = said_by(doing, second + u64::from(index))
                        .into_iter()
                        .map(|(m, v)| (m, Ok(v)))
                        .collect();
                    tick.samples.push(Sample {
                        device: card(index).id,
                        at: tick.mono,
                        readings: readings(&list),
                    });
                }
                if n == cut {
                    let start = stored(&world.session.start());
                    halves = Some(Session::new(start, plates(), SourceKind::Live));
                }
                world.session.fold(&tick);
                if let Some(halves) = &mut halves {
                    halves.fold(&tick);
                    if n % 7 == 0 {
                        prop_assert_eq!(said(&world.session), said(halves));
                    }
                }
                n += 1;
            }
        }
        if let Some(halves) = halves {
            prop_assert_eq!(said(&world.session), said(&halves));
            prop_assert_eq!(
                postcard::to_allocvec(&world.session.start()).unwrap(),
                postcard::to_allocvec(&halves.start()).unwrap()
            );
        }
    }
}
