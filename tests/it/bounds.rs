//! What a recording is bounded by, and what clocks may do to it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jiff::{SignedDuration, Timestamp};
use nameplate::model::*;
use nameplate::record::{Limits, Reader, Record, Writer};
use nameplate::session::{Session, Start};
use nameplate::simulate::Simulation;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn session() -> Session {
    let plates = Arc::new(Plates::embedded().unwrap());
    Session::new(Start::new(Config::default()), plates, SourceKind::Live)
}

/// A source of one tick a second, its devices known to the session already.
fn source(session: &mut Session) -> impl Iterator<Item = Tick> + use<> {
    let began: Timestamp = "2026-03-01T08:00:20Z".parse().unwrap();
    let mut simulation = Simulation::case("healthy", 7).unwrap().beginning_at(began);
    let mut tick = simulation.tick();
    while tick.interval > Duration::from_secs(1) {
        session.fold(&tick);
        tick = simulation.tick();
    }
    std::iter::once(tick).chain(std::iter::repeat_with(move || simulation.tick()))
}

/// Records as the program does.
fn record(writer: &mut Writer, session: &mut Session, tick: &Tick) {
    if writer.start_due(tick.mono) {
        let start = postcard::to_allocvec(&session.start()).unwrap();
        writer.start(tick, false, &start).unwrap();
    }
    session.fold(tick);
    writer.append(tick).unwrap();
    writer.gather(tick, &session.minute_points()).unwrap();
}

/// What a file gives back from its first tick on: the ticks' number, and the session at its end.
fn folded(path: &Path) -> (usize, Session) {
    let reader = Reader::open(path).unwrap();
    let first = reader.start_before(reader.first()).unwrap().unwrap();
    assert_eq!(first.n, reader.first(), "it begins with a Start");
    let mut session = session();
    session.take_up(postcard::from_bytes(&first.body).unwrap());
    let mut count = 0;
    for record in reader.records(first.n) {
        if let Record::Tick(_, tick) = record.unwrap() {
            session.fold(&tick);
            count += 1;
        }
    }
    (count, session)
}

fn said(session: &Session) -> Vec<u8> {
    postcard::to_allocvec(&session.start()).unwrap()
}

fn rows(path: &Path, query: &str) -> i64 {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_recording_stays_within_its_bytes_and_keeps_minutes_and_meter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let limits = Limits {
        bytes: 600_000,
        seal: Duration::from_secs(30),
        ..Limits::default()
    };
    let mut session = session();
    let mut ticks = source(&mut session);
    let mut writer = Writer::open(&path, limits).unwrap();
    let mut most = 0;
    for _ in 0..2400 {
        record(&mut writer, &mut session, &ticks.next().unwrap());
        most = most.max(std::fs::metadata(&path).unwrap().len());
    }
    // Half a minute of ticks is in the file as rows, five times as large, before they are a block.
    assert!(most < limits.bytes + 300_000, "{most}");
    let (count, back) = folded(&path);
    assert!((100..2300).contains(&count), "{count} ticks are left");
    assert_eq!(said(&back), said(&session), "the meter is whole");
    writer.close().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() <= limits.bytes + 50_000);
    assert!(rows(&path, "SELECT count(DISTINCT at) FROM minutes") >= 40);
    // Less is wanted, and less there is from the first tick on.
    let tight = Limits {
        bytes: 300_000,
        ..limits
    };
    let mut writer = Writer::open(&path, tight).unwrap();
    record(&mut writer, &mut session, &ticks.next().unwrap());
    writer.close().unwrap();
    let (fewer, back) = folded(&path);
    assert!(fewer < count, "{fewer} of {count}");
    assert_eq!(said(&back), said(&session));
}

#[test]
fn blocks_that_are_too_old_go_when_a_recorder_starts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let limits = Limits {
        keep: Duration::from_secs(600),
        seal: Duration::from_secs(60),
        ..Limits::default()
    };
    let mut session = session();
    let mut ticks = source(&mut session);
    let mut writer = Writer::open(&path, limits).unwrap();
    for _ in 0..120 {
        record(&mut writer, &mut session, &ticks.next().unwrap());
    }
    writer.close().unwrap();
    assert_eq!(folded(&path).0, 120);
    for _ in 0..900 {
        session.fold(&ticks.next().unwrap());
    }
    let mut writer = Writer::open(&path, limits).unwrap();
    record(&mut writer, &mut session, &ticks.next().unwrap());
    writer.close().unwrap();
    let (count, back) = folded(&path);
    assert_eq!(count, 1, "15 minutes later, 10 are kept");
    assert_eq!(said(&back), said(&session));
    assert!(rows(&path, "SELECT count(DISTINCT at) FROM minutes") >= 3);
}

/// A clock that is set and a host that sleeps: what the ticks of each stretch of 300 s are moved by.
#[test]
fn clocks_may_jump_and_hosts_may_sleep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let limits = Limits {
        seal: Duration::from_secs(100),
        ..Limits::default()
    };
    let mut session = session();
    let mut ticks = source(&mut session);
    let mut writer = Writer::open(&path, limits).unwrap();
    let seconds = |session: &Session| session.snapshot().unwrap().cost.unwrap().phase_seconds;
    let looked = |session: &Session| seconds(session).total() - seconds(session).unobserved;
    let before = looked(&session);
    let hours = SignedDuration::from_hours;
    let mut written = Vec::new();
    // +8 h, then 1 h back, then two hours of sleep, in which both clocks go on.
    for (wall, boot) in [
        (hours(0), 0),
        (hours(8), 0),
        (hours(7), 0),
        (hours(9), 7200),
    ] {
        for _ in 0..300 {
            let mut tick = ticks.next().unwrap();
            tick.at += wall;
            tick.mono = tick.mono.plus(Duration::from_secs(boot));
            for sample in &mut tick.samples {
                sample.at = sample.at.plus(Duration::from_secs(boot));
            }
            record(&mut writer, &mut session, &tick);
            written.push(tick);
        }
    }
    let (count, back) = folded(&path);
    assert_eq!(count, 1200);
    assert_eq!(said(&back), said(&session), "also while it is written");
    writer.close().unwrap();
    assert_eq!(said(&folded(&path).1), said(&session));
    let reader = Reader::open(&path).unwrap();
    let read: Vec<Tick> = reader
        .records(1)
        .filter_map(|record| match record.unwrap() {
            Record::Tick(_, tick) => Some(*tick),
            Record::Start(_) => None,
        })
        .collect();
    assert_eq!(read, written);
    // Every second but those of the sleep was looked at, once.
    let more = looked(&session) - before;
    assert!((more - 1199.0).abs() < 1.5, "{more}");
    let jumps: Vec<_> = session
        .events()
        .iter()
        .filter(|event| event.kind == EventKind::ClockJump)
        .map(|event| event.text.to_string())
        .collect();
    assert_eq!(
        jumps,
        [
            "The wall clock jumped by +28800 s",
            "The wall clock jumped by -3600 s"
        ]
    );
    minutes_are_sane(&path);
}

/// Each sample and each second stands in one row, and no row has more than its time.
fn minutes_are_sane(path: &Path) {
    let devices = rows(path, "SELECT count(DISTINCT device) FROM minutes");
    assert_eq!(devices, 8);
    assert_eq!(rows(path, "SELECT sum(samples) FROM minutes"), 1200 * 8);
    let db = rusqlite::Connection::open(path).unwrap();
    let of_one = "FROM minutes WHERE device = (SELECT min(device) FROM minutes)";
    let number = |what: &str| -> f64 {
        db.query_row(&format!("SELECT {what} {of_one}"), [], |row| row.get(0))
            .unwrap()
    };
    let span = number("sum(seconds)");
    assert!((span - (1199.0 + 7200.0)).abs() < 2.0, "{span}");
    let worked = number("sum(compute_s + queue_s + idle_s + coalesce(io_wait_s, 0))");
    assert!((worked - 1199.0).abs() < 3.0, "{worked}");
    let most = number("max(compute_s + queue_s + idle_s + coalesce(io_wait_s, 0) - seconds)");
    assert!(most < 1.1, "{most}");
    assert!(number("min(seconds)") >= 0.0 && number("min(unobserved_s)") >= 0.0);
    // No row hides another, whatever hour the clock says that it is.
    assert_eq!(number("count(DISTINCT at) - count(*)"), 0.0);
    let rows = number("count(*)");
    assert!((20.0..=26.0).contains(&rows), "{rows}");
    let readable = number("count(strftime('%s', at)) - count(*)");
    assert_eq!(readable, 0.0, "SQLite reads every time");
}

/// The same hour twice: a clock that was set back an hour comes by each minute again.
#[test]
fn a_minute_that_comes_twice_has_two_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut session = session();
    let mut ticks = source(&mut session);
    let mut writer = Writer::open(&path, Limits::default()).unwrap();
    for n in 0..600 {
        let mut tick = ticks.next().unwrap();
        if n >= 300 {
            tick.at -= SignedDuration::from_secs(300);
        }
        record(&mut writer, &mut session, &tick);
    }
    writer.close().unwrap();
    assert_eq!(rows(&path, "SELECT sum(samples) FROM minutes"), 600 * 8);
    assert_eq!(
        rows(&path, "SELECT count(*) FROM minutes WHERE at LIKE '%.001Z'") / 8,
        6,
        "again, and a millisecond aside"
    );
}
