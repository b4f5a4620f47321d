//! What stays of a device that does not answer, and what does not.

use super::*;

const LOAD: [(Metric, f64); 3] = [
    (Metric::Utilization, 0.9),
    (Metric::PowerUsage, 200.0),
    (Metric::CoreTemperature, 60.0),
];

fn load() -> Vec<(Metric, Reading<f64>)> {
    LOAD.iter().map(|(m, v)| (*m, Ok(*v))).collect()
}

#[test]
fn a_lost_device_keeps_its_row_history_and_meter_while_the_others_go_on() {
    let (gone, fine) = (card(0), card(1));
    let mut world = World::of([gone.clone(), fine.clone()]);
    world.tell(Change::Processes(
        gone.id.clone(),
        Ok(vec![process(7, 1e9)]),
    ));
    for _ in 0..10 {
        world.sample(&gone, &load()).sample(&fine, &load());
        world.tick();
    }
    world.tell(Change::Silent(
        gone.id.clone(),
        Absent::Lost,
        MonoTime(world.mono),
    ));
    let mut view = world.tick();
    for _ in 0..30 {
        world.sample(&fine, &load());
        view = world.tick();
    }
    let [lost, other] = &view.devices[..] else {
        panic!("{}", view.devices.len())
    };
    assert_eq!(
        (lost.word, lost.verdict.state, lost.verdict.cause),
        (StateWord::Lost, VerdictState::Lost, Cause::DeviceLost)
    );
    assert!(lost.verdict.counts);
    assert_eq!(lost.figures.get(Figure::Power).reading, Err(Absent::Lost));
    assert_eq!(lost.readings.get(Metric::PowerUsage), Err(Absent::Lost));
    assert_eq!(lost.processes, Err(Absent::Lost));
    assert_eq!(lost.age_s, Some(31.0));
    // Nine seconds were seen computing; the rest of 40 nobody saw.
    assert_eq!(
        (
            lost.phase,
            lost.phase_seconds.compute,
            lost.phase_seconds.unobserved
        ),
        (Phase::Unobserved, 9.0, 31.0)
    );
    assert_eq!(
        (other.phase_seconds.compute, other.phase_seconds.unobserved),
        (40.0, 0.0),
        "a reading holds for two intervals"
    );
    assert_eq!(other.word, StateWord::Working);
    let history = world.session.series(&gone.id).unwrap();
    let seen = history
        .track(super::super::Track::Power, Duration::from_secs(1))
        .filter(|(_, v)| v.is_some());
    assert_eq!((history.len(), seen.count()), (41, 10));
}

#[test]
fn values_age_then_go() {
    for (silent, why) in [(true, Absent::TimedOut), (false, Absent::Stale)] {
        let mut world = World::of([card(0)]);
        world.read(&LOAD);
        if silent {
            world.tell(Change::Silent(
                card(0).id,
                Absent::TimedOut,
                MonoTime(world.mono),
            ));
        }
        for age in 1..=8u32 {
            let device = world.tick().devices.remove(0);
            let power = device.figures.get(Figure::Power);
            let age = f64::from(age);
            match age {
                1.0 => assert_eq!(
                    (power.ok(), power.age_s),
                    (Some(200.0), 0.0),
                    "one interval is not old"
                ),
                2.0..=5.0 => assert_eq!((power.ok(), power.age_s), (Some(200.0), age)),
                _ => {
                    assert_eq!((power.reading, power.age_s), (Err(why), age));
                    assert_eq!(device.readings.get(Metric::PowerUsage), Err(why));
                }
            }
        }
        let device = world.tick().devices.remove(0);
        assert_eq!(
            device.word,
            if silent {
                StateWord::Silent
            } else {
                StateWord::Unknown
            }
        );
        assert_eq!(
            (device.phase, device.verdict.state),
            (Phase::Unobserved, VerdictState::Unknown)
        );
    }
}

#[test]
fn one_reading_ages_alone() {
    let mut world = World::of([card(0)]);
    world.read(&LOAD);
    for age in 1..=7u32 {
        world.sample(
            &card(0),
            &[
                (Metric::PowerUsage, Err(Absent::TimedOut)),
                (Metric::Utilization, Ok(0.9)),
            ],
        );
        let device = world.tick().devices.remove(0);
        assert_eq!(device.figures.get(Figure::Power).reading.is_ok(), age <= 5);
        assert_eq!(device.figures.get(Figure::Utilization), Value::fresh(0.9));
        assert_eq!(device.age_s, Some(0.0));
    }
    // A held value is no new point of a chart, and no energy.
    let track = world
        .session
        .series(&card(0).id)
        .unwrap()
        .track(super::super::Track::Power, Duration::from_secs(1));
    assert_eq!(
        track.filter(|(_, v)| v.is_some()).count(),
        2,
        "this tick's, and one within its interval"
    );
}

#[test]
fn nonsense_is_told_and_goes_nowhere() {
    let mut world = World::of([card(0)]);
    world.read(&LOAD);
    world.read(&LOAD);
    let raw = Absent::Implausible(3_700_000.0);
    world.sample(
        &card(0),
        &[
            (Metric::PowerUsage, Err(raw)),
            (Metric::Utilization, Err(raw)),
        ],
    );
    let view = world.tick();
    assert_eq!(view.devices[0].figures.get(Figure::Power).reading, Err(raw));
    assert_eq!(
        (view.devices[0].word, view.devices[0].phase),
        (StateWord::Unknown, Phase::Unobserved)
    );
    assert!((view.energy.unwrap().kwh * 3.6e6 - 200.0).abs() < 1e-6);
}

#[test]
fn without_a_first_sample_nothing_is_claimed() {
    let mut world = World::of([]);
    let view = world
        .tell(Change::Probe(report(ProbeStatus::Starting)))
        .tick();
    assert!(view.devices.is_empty() && view.energy.is_none());
    // Billing goes on; all of it is unobserved, and without a price it is seconds only.
    let cost = view.cost.unwrap();
    assert!(cost.amount.is_none() && cost.phase_seconds.total() == cost.phase_seconds.unobserved);
    assert_eq!(view.host_sample, HostSample::default());
    let device = world
        .tell(Change::Device(Arc::new(card(0))))
        .tick()
        .devices
        .remove(0);
    assert_eq!(
        (device.word, device.phase, device.age_s),
        (StateWord::Unknown, Phase::Unobserved, None)
    );
    assert_eq!(device.known[0].kind, KnownKind::Nothing);
    assert_eq!(device.verdict.cause, Cause::Unknown);
    assert_eq!(device.phase_seconds.io_wait, None);
}

#[test]
fn io_wait_is_null_where_no_owner_can_be_seen() {
    let own = |waiting| vec![host_process(7, false, waiting)];
    let unseen = Err(Absent::NotReported);
    for (owners, hosts, load, psi, phase, seen) in [
        (vec![], vec![], 0.0, None, Phase::Queue, true),
        // Before the first process it is start-up, whatever the disks do.
        (
            vec![],
            vec![],
            0.0,
            Some((PsiScope::Cgroup, 0.5)),
            Phase::Queue,
            true,
        ),
        (vec![7], own(Ok(2)), 0.0, None, Phase::IoWait, true),
        (vec![7], own(Ok(0)), 0.0, None, Phase::Idle, true),
        (vec![7], own(unseen), 0.0, None, Phase::Idle, false),
        (vec![7], own(unseen), 0.9, None, Phase::Compute, true),
        (
            vec![7],
            vec![host_process(7, true, Ok(2))],
            0.0,
            None,
            Phase::Idle,
            false,
        ),
        (vec![7], vec![], 0.0, None, Phase::Idle, false),
        (
            vec![7],
            vec![],
            0.0,
            Some((PsiScope::Cgroup, 0.5)),
            Phase::IoWait,
            true,
        ),
        (
            vec![7],
            vec![],
            0.0,
            Some((PsiScope::Cgroup, 0.1)),
            Phase::Idle,
            true,
        ),
        (
            vec![7],
            vec![],
            0.0,
            Some((PsiScope::Host, 0.5)),
            Phase::Idle,
            false,
        ),
    ] {
        let mut world = World::of([card(0)]);
        let list: Vec<_> = owners.iter().map(|pid| process(*pid, 1e9)).collect();
        world
            .tell(Change::Processes(card(0).id, Ok(list)))
            .tell(Change::HostProcesses(hosts.clone()));
        for _ in 0..2 {
            world.next.host = psi.map(|(scope, some)| HostSample {
                psi_scope: Ok(scope),
                psi_io_some_ratio: Ok(some),
                ..HostSample::default()
            });
            world.read(&[(Metric::Utilization, load)]);
        }
        let device = world.session.snapshot().unwrap().devices.remove(0);
        let seconds = device.phase_seconds;
        assert_eq!(
            (device.phase, seconds.io_wait.is_some()),
            (phase, seen),
            "{owners:?} {hosts:?} {load} {psi:?}"
        );
        assert_eq!(seconds.get(phase), 1.0);
    }
}

#[test]
fn a_device_without_an_owner_waits_only_while_nobody_computes() {
    let mut world = World::of([card(0), card(1)]);
    world
        .tell(Change::Processes(card(0).id, Ok(vec![])))
        .tell(Change::Processes(card(1).id, Ok(vec![process(7, 1e9)])))
        .tell(Change::HostProcesses(vec![host_process(7, false, Ok(0))]));
    for (load, phases) in [
        (0.9, [Phase::Idle, Phase::Compute]),
        (0.0, [Phase::IoWait, Phase::IoWait]),
    ] {
        world.next.host = Some(HostSample {
            psi_scope: Ok(PsiScope::Cgroup),
            psi_io_some_ratio: Ok(0.5),
            ..HostSample::default()
        });
        for (index, load) in [(0, 0.0), (1, load)] {
            world.sample(&card(index), &[(Metric::Utilization, Ok(load))]);
        }
        let seen: Vec<Phase> = world.tick().devices.iter().map(|d| d.phase).collect();
        assert_eq!(seen, phases, "{load}");
    }
}

#[test]
fn a_process_outside_never_has_a_local_name() {
    let mut world = World::of([card(0)]);
    world.tell(Change::Processes(
        card(0).id,
        Ok(vec![process(7, 1e9), process(8, 1e9)]),
    ));
    world.tell(Change::HostProcesses(vec![
        host_process(8, false, Ok(0)),
        host_process(7, true, Ok(0)),
    ]));
    let list = world.tick().devices.remove(0).processes.unwrap();
    let host = list[0].host.as_ref().unwrap();
    assert!(
        host.foreign
            && host.name.is_err()
            && host.command.is_err()
            && host.user.is_err()
            && host.started.is_err()
    );
    assert_eq!(list[1].host.as_ref().unwrap().name.as_deref(), Ok("train"));
}

#[test]
fn an_instance_that_was_taken_down_leaves_a_device_stays() {
    let (whole, part) = (card(0), slice(&card(0), 0));
    let mut world = World::of([part.clone(), whole.clone()]);
    world.sample(&whole, &[(Metric::MigEnabled, Ok(1.0))]);
    let view = world.tick();
    assert_eq!(
        view.devices
            .iter()
            .map(|d| d.device.id.clone())
            .collect::<Vec<_>>(),
        [whole.id.clone(), part.id.clone()]
    );
    assert_eq!(view.devices[0].mig, Some((true, vec![part.id.clone()])));
    assert_eq!((view.boards.len(), view.boards[0].devices.len()), (1, 2));
    world
        .tell(Change::Gone(part.id.clone()))
        .tell(Change::Gone(whole.id.clone()));
    let view = world.tick();
    assert_eq!(view.devices.len(), 1);
    assert!(world.session.series(&part.id).is_none() && world.session.series(&whole.id).is_some());
}

#[test]
fn what_can_grow_is_bounded() {
    let mut world = World::of([]);
    world.tell(Change::Device(Arc::new(card(0))));
    world.tell(Change::Silent(card(0).id, Absent::Lost, MonoTime(0)));
    for n in 1..1100 {
        world.tell(Change::Device(Arc::new(card(n))));
    }
    let long = Process {
        command: Ok("x".repeat(1 << 20).into()),
        ..host_process(1, false, Ok(0))
    };
    world.tell(Change::HostProcesses(vec![long; 5000]));
    world.tell(Change::Processes(
        card(1).id,
        Ok(vec![process(1, 1.0); 3000]),
    ));
    let view = world.tick();
    assert_eq!(view.devices.len(), 1024);
    assert!(
        !view.devices.iter().any(|d| d.device.id == card(0).id),
        "the one lost for longest makes room"
    );
    let list = view.devices[0].processes.as_ref().unwrap();
    assert_eq!(list.len(), 1024);
    assert!(
        list[0]
            .host
            .as_ref()
            .unwrap()
            .command
            .as_ref()
            .unwrap()
            .len()
            <= 4096
    );
}

#[test]
fn the_host_goes_stale_like_a_device() {
    let mut world = World::of([]);
    world.next.host = Some(HostSample {
        load1: Ok(2.0),
        cpu_ratio: Err(Absent::NoPermission),
        ..HostSample::default()
    });
    assert_eq!(world.tick().host_sample.load1, Ok(2.0));
    let view = world.after(4);
    assert_eq!((view.host_sample.load1, view.host_age_s), (Ok(2.0), 4.0));
    let view = world.after(2);
    assert_eq!(
        (view.host_sample.load1, view.host_sample.cpu_ratio),
        (Err(Absent::Stale), Err(Absent::NoPermission))
    );
}
