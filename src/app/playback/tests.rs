//! A recording is shown as live was, wherever orders lead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::model::*;
use crate::record::{Limits, Writer};
use crate::session::{Session, Start};
use crate::simulate::Simulation;
use jiff::SignedDuration;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::path::PathBuf;
use std::sync::mpsc::channel;

/// A recording with what live said at each tick, and what its charts showed.
struct Recorded {
    _folder: tempfile::TempDir,
    path: PathBuf,
    live: Vec<(Snapshot, String)>,
    writer: Option<Writer>,
}

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

fn config(cents: i64) -> Config {
    Config {
        price: Some(Price {
            per_hour: Decimal::new(cents, 2),
            scope: PriceScope::Device,
            source: PriceSource::Flag,
        }),
        history: Duration::from_secs(90),
        ..Config::default()
    }
}

fn limits() -> Limits {
    Limits {
        seal: Duration::from_secs(20),
        start: Duration::from_secs(60),
        ..Limits::default()
    }
}

fn simulated(count: usize) -> Vec<Tick> {
    let began: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
    let mut simulation = Simulation::case("narrow-link", 3)
        .unwrap()
        .beginning_at(began);
    let introductions = simulation.tick().changes;
    let mut ticks: Vec<Tick> = std::iter::repeat_with(|| simulation.tick())
        .filter(|tick| tick.interval.as_secs() == 1)
        .take(count)
        .collect();
    ticks[0].changes.splice(0..0, introductions);
    ticks
}

fn mark(tick: &mut Tick, text: &str) {
    tick.events.push(Event {
        at: tick.at,
        device: None,
        kind: EventKind::Mark,
        text: text.into(),
        data: Vec::new(),
    });
}

/// 400 ticks: from the 150th on for 100 s nobody records but the session goes on (a full disk), and then the price is
/// another one; two notes.
fn recorded(limits: Limits) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut ticks = simulated(400);
    mark(&mut ticks[40], "first");
    mark(&mut ticks[320], "second");
    let mut session = Session::new(Start::new(config(299)), plates(), SourceKind::Live);
    let mut writer = Writer::open(&path, limits).unwrap();
    let mut live = Vec::new();
    for (n, tick) in ticks.iter().enumerate() {
        let missing = (150..250).contains(&n);
        if n == 250 {
            session.configure(config(399));
        }
        if !missing && (n == 250 || writer.start_due(tick.mono)) {
            let start = session.start().to_bytes().unwrap();
            writer.start(tick, n == 0 || n == 250, &start).unwrap();
        }
        session.fold(tick);
        let snapshot = session.snapshot().unwrap();
        if !missing {
            writer.append(tick).unwrap();
            writer.gather(tick, &session.minute_points()).unwrap();
            live.push((snapshot, format!("{:?}", session.all_series())));
        }
    }
    Recorded {
        _folder: folder,
        path,
        live,
        writer: Some(writer),
    }
}

fn player(recorded: &Recorded) -> Player {
    let source = SourceKind::Recording("a.nmp".to_owned());
    Player::open(&recorded.path, plates(), source).unwrap()
}

fn go(player: &mut Player, order: Order) -> Frame {
    assert!(player.obey(&order, &mut || true));
    player.frame(true).unwrap()
}

/// The frame says what live said at its time.
fn as_live(frame: &Frame, recorded: &Recorded) -> usize {
    let same = |(live, _): &(Snapshot, String)| live.at == frame.snapshot.at;
    let place = recorded.live.iter().position(same).unwrap();
    let (live, back) = (&recorded.live[place].0, &frame.snapshot);
    assert_eq!(format!("{:?}", back.devices), format!("{:?}", live.devices));
    assert_eq!(format!("{:?}", back.cost), format!("{:?}", live.cost));
    assert_eq!(back.events, live.events);
    assert_eq!(back.source.word(), "recording");
    place
}

fn order() -> impl Strategy<Value = Order> {
    let began: Timestamp = "2026-03-01T07:59:00Z".parse().unwrap();
    prop_oneof![
        Just(Order::First),
        Just(Order::Last),
        any::<bool>().prop_map(Order::Event),
        (-700.0..700.0).prop_map(Order::Shift),
        (-40_i64..40).prop_map(Order::Ticks),
        (0_i64..9000).prop_map(move |s| Order::At(began + SignedDuration::from_secs(s))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn wherever_orders_lead_it_says_what_live_said(orders in proptest::collection::vec(order(), 1..12), closes in any::<bool>()) {
        let mut recorded = recorded(limits());
        if closes {
            recorded.writer.take().unwrap().close().unwrap();
        }
        let mut player = player(&recorded);
        for order in orders {
            let frame = go(&mut player, order);
            as_live(&frame, &recorded);
            player.advance();
            as_live(&player.frame(false).unwrap(), &recorded);
        }
    }
}

#[test]
fn charts_reach_as_far_back_as_live_ones_did() {
    let recorded = recorded(limits());
    let mut player = player(&recorded);
    for at in [145, 130, 290, 20, 299, 160] {
        let frame = go(&mut player, Order::At(recorded.live[at].0.at));
        assert_eq!(as_live(&frame, &recorded), at);
        assert!(player.fill_charts(&mut || true));
        assert!(!player.lacks_charts());
        let frame = player.frame(true).unwrap();
        // What was folded while nothing was recorded is in no file.
        if !(150..250).contains(&at) {
            assert_eq!(format!("{:?}", frame.series), recorded.live[at].1, "{at}");
        }
    }
}

#[test]
fn steps_ends_gaps_and_ticks_are_told() {
    let recorded = recorded(limits());
    let mut player = player(&recorded);
    let at = |n: usize| recorded.live[n].0.at;
    assert_eq!(as_live(&player.frame(true).unwrap(), &recorded), 0);
    let shown = |frame: &Frame| (as_live(frame, &recorded), frame.remark.clone());
    let nothing = Remark::Nothing;
    assert_eq!(
        shown(&go(&mut player, Order::Shift(60.0))),
        (60, nothing.clone())
    );
    assert_eq!(
        shown(&go(&mut player, Order::Ticks(5))),
        (65, nothing.clone())
    );
    assert_eq!(
        shown(&go(&mut player, Order::Ticks(-4))),
        (61, nothing.clone())
    );
    assert_eq!(
        shown(&go(&mut player, Order::Shift(-600.0))),
        (0, Remark::Begin)
    );
    // Into the time that nobody recorded.
    let gap = Remark::Gap(at(149), at(150));
    let inside = at(149) + SignedDuration::from_secs(50);
    assert_eq!(
        shown(&go(&mut player, Order::At(inside))),
        (150, gap.clone())
    );
    assert_eq!(
        shown(&go(&mut player, Order::Shift(-10.0))),
        (149, nothing.clone())
    );
    assert_eq!(shown(&go(&mut player, Order::Shift(10.0))), (150, gap));
    assert_eq!(shown(&go(&mut player, Order::Last)), (299, Remark::End));
    assert_eq!(shown(&go(&mut player, Order::Ticks(1))), (299, Remark::End));
    assert_eq!(shown(&go(&mut player, Order::Ticks(-1))), (298, nothing));
}

#[test]
fn events_are_found_one_after_the_other_both_ways() {
    let recorded = recorded(limits());
    let mut player = player(&recorded);
    let mut events: Vec<Timestamp> = recorded.live[299].0.events.iter().map(|e| e.at).collect();
    events.dedup();
    let kept: Vec<Timestamp> = recorded.live.iter().map(|(live, _)| live.at).collect();
    let places: Vec<usize> = events
        .iter()
        .filter_map(|at| kept.iter().position(|kept| kept >= at))
        .filter(|place| *place > 0)
        .collect();
    let mut forward = Vec::new();
    loop {
        let frame = go(&mut player, Order::Event(true));
        if frame.remark == Remark::NoEvent(true) {
            break;
        }
        forward.push(as_live(&frame, &recorded));
    }
    assert!(
        forward.contains(&40) && forward.contains(&220),
        "the notes: {forward:?}"
    );
    for place in &places {
        assert!(
            forward.contains(place),
            "{place} of {places:?} in {forward:?}"
        );
    }
    go(&mut player, Order::Last);
    let mut back = Vec::new();
    loop {
        let frame = go(&mut player, Order::Event(false));
        if frame.remark == Remark::NoEvent(false) {
            break;
        }
        back.push(as_live(&frame, &recorded));
    }
    back.reverse();
    back.retain(|place| *place > 0);
    assert_eq!(back, forward);
}

#[test]
fn where_the_ticks_have_gone_minutes_are_shown_and_then_it_ends() {
    let limits = Limits {
        keep: Duration::from_secs(100),
        ..limits()
    };
    let recorded = recorded(limits);
    let mut player = player(&recorded);
    let first = player.frame(true).unwrap();
    assert!(
        as_live(&first, &recorded) > 60,
        "the first minutes have gone"
    );
    let frame = go(&mut player, Order::Shift(-60.0));
    assert_eq!(frame.grain, Grain::Minutes);
    assert!(frame.snapshot.at < first.snapshot.at);
    assert_eq!(frame.snapshot.devices.len(), 8);
    assert!(
        frame.snapshot.cost.is_none(),
        "what had been billed is not known"
    );
    let power = frame.snapshot.devices[0].figures.get(Figure::Power).ok();
    assert!(power.is_some_and(|watts| watts > 0.0));
    let limit = frame.snapshot.devices[0]
        .figures
        .get(Figure::PowerLimit)
        .ok();
    assert_eq!(limit, None, "no row has it");
    let frame = go(&mut player, Order::First);
    assert_eq!(
        (frame.grain, &frame.remark),
        (Grain::Minutes, &Remark::Begin)
    );
    assert_eq!(frame.snapshot.at, recorded.live[0].0.at);
    let back = go(&mut player, Order::Shift(-3600.0));
    assert_eq!(
        (back.snapshot.at, &back.remark),
        (frame.snapshot.at, &Remark::Begin)
    );
    // Forward again, minute by minute, into the ticks.
    let mut seen = Vec::new();
    while player.frame(true).unwrap().grain == Grain::Minutes {
        seen.push(player.at().unwrap());
        assert!(player.advance());
        assert!(seen.len() < 10);
    }
    assert!(seen.windows(2).all(|two| two[0] < two[1]));
    as_live(&player.frame(true).unwrap(), &recorded);
    // What happened outlives the ticks: the minute of the first note, from either side.
    go(&mut player, Order::First);
    let minute = |frame: &Frame| frame.snapshot.at.as_second().div_euclid(60);
    let noted = recorded.live[40].0.at.as_second().div_euclid(60);
    let mut found = go(&mut player, Order::Event(true));
    for _ in 0..20 {
        if found.grain == Grain::Ticks || minute(&found) >= noted {
            break;
        }
        found = go(&mut player, Order::Event(true));
    }
    let began = recorded.live[0].0.at.as_second().div_euclid(60);
    assert!(
        noted == began || minute(&found) == noted,
        "{}",
        found.snapshot.at
    );
    go(&mut player, Order::At(first.snapshot.at));
    let mut back = go(&mut player, Order::Event(false));
    for _ in 0..20 {
        if back.grain == Grain::Minutes {
            break;
        }
        back = go(&mut player, Order::Event(false));
    }
    assert_eq!(back.grain, Grain::Minutes);
}

#[test]
fn damage_is_told_where_it_is_and_what_lies_elsewhere_is_shown() {
    let mut recorded = recorded(limits());
    recorded.writer.take().unwrap().close().unwrap();
    assert!(spoilt(&recorded.path), "a block was found");
    let mut player = player(&recorded);
    let frame = go(&mut player, Order::At(recorded.live[55].0.at));
    assert!(
        matches!(frame.remark, Remark::Damaged(_)),
        "{:?}",
        frame.remark
    );
    assert!(as_live(&frame, &recorded) < 50);
    let frame = go(&mut player, Order::At(recorded.live[280].0.at));
    assert_eq!(as_live(&frame, &recorded), 280);
}

/// Spoils the block of tick 50, as bytes of the file.
fn spoilt(path: &std::path::Path) -> bool {
    let mut bytes = std::fs::read(path).unwrap();
    let reader = crate::record::Reader::open(path).unwrap();
    let block = reader.block_bytes(50).unwrap();
    drop(reader);
    let piece = &block[block.len() / 2..block.len() / 2 + 32];
    let Some(place) = bytes.windows(32).position(|window| window == piece) else {
        return false;
    };
    bytes[place] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
    true
}

#[test]
fn a_worker_plays_to_the_end_stands_still_and_obeys() {
    let recorded = recorded(limits());
    let ready = player(&recorded);
    let (sender, played) = channel();
    let sink = Box::new(move |news| sender.send(news).is_ok());
    let handle = start(move || Ok(ready), Order::First, 10_000.0, sink).unwrap();
    let frames = || {
        played.iter().map(|played| match played {
            Played::Frame(frame) => frame,
            Played::Failed(reason) => panic!("{reason}"),
        })
    };
    let end = frames().find(|frame| frame.standing).unwrap();
    assert_eq!((as_live(&end, &recorded), end.remark), (299, Remark::End));
    handle.tell(Order::Shift(-120.0));
    let back = frames().find(|frame| frame.remark != Remark::End).unwrap();
    assert_eq!((as_live(&back, &recorded), back.standing), (179, true));
    // Many at once: all of them count.
    (0..5).for_each(|_| handle.tell(Order::Ticks(-1)));
    assert!(frames().any(|frame| as_live(&frame, &recorded) == 174));
    handle.tell(Order::Speed(f64::NAN));
    handle.tell(Order::Speed(0.1));
    assert!(frames().any(|frame| !frame.standing));
    handle.tell(Order::Speed(0.0));
    assert!(frames().any(|frame| frame.standing));
    drop(handle);
    assert!(frames().count() < 5, "and ends");
}

#[test]
fn what_cannot_be_opened_is_told() {
    let (sender, played) = channel();
    let open = || {
        let source = SourceKind::Recording("x".to_owned());
        Player::open(std::path::Path::new("/nowhere/x.nmp"), plates(), source)
    };
    let _handle = start(
        open,
        Order::First,
        0.0,
        Box::new(move |p| sender.send(p).is_ok()),
    )
    .unwrap();
    assert!(
        matches!(played.iter().next(), Some(Played::Failed(reason)) if reason.contains("/nowhere"))
    );
}
