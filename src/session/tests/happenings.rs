//! Events: once, and only when something happened.

use super::*;

fn texts(view: &Snapshot, kind: EventKind) -> Vec<String> {
    view.events
        .iter()
        .filter(|e| e.kind == kind)
        .map(|e| e.text.to_string())
        .collect()
}

#[test]
fn throttling_begins_and_ends_at_the_second_poll() {
    let mut world = World::of([card(0)]);
    let mut kinds_at = Vec::new();
    // A blip, then three polls, a hole of one poll, and the end.
    for bits in [0x40, 0x0, 0x40, 0x40, 0x40, 0x0, 0x40, 0x0, 0x0, 0x0] {
        world.read(&[(Metric::Reasons, f64::from(bits))]);
        kinds_at.push(kinds(&world.session.snapshot().unwrap()).len());
    }
    assert_eq!(kinds_at, [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    let view = world.session.snapshot().unwrap();
    assert_eq!(
        kinds(&view),
        [EventKind::ThrottleBegin, EventKind::ThrottleEnd]
    );
    assert_eq!(&*view.events[0].data[0].1, "hw_thermal_slowdown");
}

#[test]
fn power_cap_and_idle_are_no_events() {
    let mut world = World::of([card(0)]);
    for _ in 0..5 {
        world.read(&[(Metric::Reasons, f64::from(0x1 | 0x2 | 0x4 | 0x10 | 0x100))]);
    }
    assert_eq!(kinds(&world.session.snapshot().unwrap()), []);
}

#[test]
fn a_tick_without_a_sample_is_no_second_poll() {
    let mut world = World::of([card(0)]);
    world.read(&[(Metric::Reasons, 64.0)]);
    world.tick();
    world.sample(&card(0), &[(Metric::Reasons, Err(Absent::TimedOut))]);
    let view = world.tick();
    assert_eq!(kinds(&view), []);
    assert!(
        !view.devices[0]
            .known
            .iter()
            .any(|k| matches!(k.kind, KnownKind::SlowedByHeat { .. }))
    );
}

#[test]
fn a_link_is_told_by_its_width_at_once_and_by_its_generation_in_use() {
    let link = |generation: f64, width: f64, load: f64| {
        [
            (Metric::PcieGenerationBefore, generation),
            (Metric::PcieWidthBefore, width),
            (Metric::Utilization, load),
        ]
    };
    let mut world = World::of([card(0)]);
    let events = |world: &World| texts(&world.session.snapshot().unwrap(), EventKind::LinkChanged);
    // Falls at idle, and is slow for a moment when work begins.
    for (generation, load) in [
        (1.0, 0.0),
        (4.0, 1.0),
        (4.0, 1.0),
        (4.0, 1.0),
        (4.0, 1.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (4.0, 1.0),
    ] {
        world.read(&link(generation, 16.0, load));
    }
    assert_eq!(events(&world), Vec::<String>::new());
    world.read(&link(4.0, 8.0, 1.0));
    assert_eq!(events(&world).len(), 1, "{:?}", events(&world));
    for _ in 0..4 {
        world.read(&link(3.0, 8.0, 1.0));
    }
    assert_eq!(
        events(&world),
        [
            "0 Card: link gen 4 x16 is now gen 4 x8",
            "0 Card: link gen 4 x8 is now gen 3 x8"
        ]
    );
}

#[test]
fn lost_and_recovered_are_told_once() {
    let mut world = World::of([card(0)]);
    world.read(&[]);
    for _ in 0..3 {
        world.tell(Change::Silent(
            card(0).id,
            Absent::Lost,
            MonoTime(1001 * NS),
        ));
        world.tick();
    }
    for _ in 0..2 {
        world.tell(Change::Answers(card(0).id));
        world.read(&[]);
    }
    assert_eq!(
        kinds(&world.session.snapshot().unwrap()),
        [EventKind::Lost, EventKind::Recovered]
    );
}

#[test]
fn a_device_that_is_listed_and_sampled_again_has_recovered() {
    let mut world = World::of([card(0)]);
    world.read(&[]);
    world.tell(Change::Gone(card(0).id)).tick();
    world.tell(Change::Gone(card(0).id)).tick();
    let view = world.tell(Change::Device(Arc::new(card(0)))).tick();
    assert_eq!(
        (view.devices.len(), view.devices[0].word),
        (1, StateWord::Lost)
    );
    let view = world.read(&[(Metric::Utilization, 1.0)]);
    assert_eq!((view.silent, view.word), (None, StateWord::Working));
    assert_eq!(
        kinds(&world.session.snapshot().unwrap()),
        [EventKind::Lost, EventKind::Recovered]
    );
}

#[test]
fn processes_come_and_go() {
    let mut world = World::of([card(0)]);
    let list = |pids: &[u32]| {
        Change::Processes(
            card(0).id,
            Ok(pids.iter().map(|p| process(*p, 1.0)).collect()),
        )
    };
    world.tell(list(&[1, 2])).tick();
    world.tell(list(&[2, 3, 3])).tick();
    let view = world
        .tell(Change::Processes(card(0).id, Err(Absent::NoPermission)))
        .tick();
    assert_eq!(
        kinds(&view),
        [EventKind::ProcessStarted, EventKind::ProcessExited]
    );
    assert_eq!(
        (&*view.events[0].data[0].1, &*view.events[1].data[0].1),
        ("3", "1")
    );
    assert_eq!(view.devices[0].processes, Err(Absent::NoPermission));
}

#[test]
fn a_jump_of_the_wall_clock_is_told_another_boot_is_not() {
    let mut world = World::of([card(0)]);
    world.tick();
    world.seconds += 3600;
    let view = world.tick();
    assert_eq!(
        texts(&view, EventKind::ClockJump),
        ["The wall clock jumped by +3600 s"]
    );
    // Slewing over a night.
    world.seconds += 20;
    assert_eq!(texts(&world.after(40_000), EventKind::ClockJump).len(), 1);
    world.read(&[(Metric::PowerUsage, 300.0)]);
    world.mono = 5 * NS;
    let view = world.tick();
    assert_eq!(texts(&view, EventKind::ClockJump).len(), 1);
    assert!(
        view.devices[0].figures.get(Figure::Power).reading.is_err(),
        "of the boot before"
    );
}

#[test]
fn events_are_shared_until_one_comes_and_only_the_last_thousand_kept() {
    let mut world = World::of([card(0)]);
    for n in 0..1200 {
        world.next.events.push(xid(&card(0), n, 1));
    }
    let long = Event {
        text: "ä".repeat(5000).into(),
        ..xid(&card(0), 9, 1)
    };
    world.next.events.push(long);
    let view = world.tick();
    assert_eq!(view.events.len(), 1000);
    let longest = view.events.iter().map(|event| event.text.len()).max();
    assert_eq!(longest, Some(1024));
    let next = world.tick();
    assert!(Arc::ptr_eq(&view.events, &next.events));
}

#[test]
fn a_driver_becomes_visible_only_where_it_was_missed_before() {
    for (statuses, wanted) in [
        (&[ProbeStatus::Ok][..], None),
        (&[ProbeStatus::Starting, ProbeStatus::Ok], None),
        (
            &[ProbeStatus::Ok, ProbeStatus::Crashed, ProbeStatus::Ok],
            None,
        ),
        (
            &[ProbeStatus::Ok, ProbeStatus::NoLibrary, ProbeStatus::Ok],
            None,
        ),
        (
            &[
                ProbeStatus::NoLibrary,
                ProbeStatus::Starting,
                ProbeStatus::Ok,
            ],
            Some(3),
        ),
        (
            &[
                ProbeStatus::NoDevice,
                ProbeStatus::Ok,
                ProbeStatus::Crashed,
                ProbeStatus::Ok,
            ],
            Some(2),
        ),
    ] {
        let mut world = World::of([]);
        for status in statuses {
            world.tell(Change::Probe(report(*status))).tick();
        }
        let view = world.session.snapshot().unwrap();
        assert_eq!(
            view.startup.now.driver_visible.map(|step| step.at),
            wanted.map(wall),
            "{statuses:?}"
        );
        assert_eq!(view.probes.len(), 1);
    }
}
