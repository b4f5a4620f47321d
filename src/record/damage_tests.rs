//! Files that are damaged anywhere, and steps in time over a clock that was set back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use super::tests::{as_killed, plain, read, short, write};
use super::*;
use crate::model::{DeviceId, Figure, Figures, MinutePoint, PhaseSeconds, Tick, Value};
use jiff::Timestamp;
use std::path::Path;

/// A small file with all there is: two blocks, Starts, rows that are no block yet, a plain table.
fn small_file(path: &Path) -> Vec<Tick> {
    let all = plain(26);
    let mut writer = Writer::open(path, short()).unwrap();
    write(&mut writer, &all);
    // As after a kill: what is in the log goes into the file, and the rows stay rows.
    let copy = path.with_extension("killed");
    as_killed(path, &copy);
    drop(writer);
    let db = rusqlite::Connection::open(&copy).unwrap();
    for pragma in [
        "PRAGMA journal_mode = DELETE",
        "PRAGMA page_size = 512",
        "VACUUM",
    ] {
        let mut query = db.prepare(pragma).unwrap();
        let mut rows = query.query([]).unwrap();
        while rows.next().unwrap().is_some() {}
    }
    db.close().unwrap();
    std::fs::rename(&copy, path).unwrap();
    let _ = std::fs::remove_file(format!("{}-wal", path.display()));
    let _ = std::fs::remove_file(format!("{}-shm", path.display()));
    all
}

/// What a damaged file gives: a prefix of the ticks as they were, and where it ends early, an error that says after what.
fn check_damaged(bytes: &[u8], copy: &Path, all: &[Tick], what: &str) -> usize {
    std::fs::write(copy, bytes).unwrap();
    let (back, error) = read(copy);
    assert_eq!(back, all[..back.len()], "{what}: a prefix");
    let told = error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(!told.contains('\n'), "{what}: one line: {told}");
    match &error {
        None => assert_eq!(back.len(), all.len(), "{what}: what is missing is told"),
        Some(RecordError::Damaged { after, .. }) if !back.is_empty() => {
            assert_eq!(*after, back.last().map(|tick| tick.at), "{what}");
        }
        Some(_) => {}
    }
    back.len()
}

#[test]
fn every_byte_cut_and_every_byte_flipped_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = small_file(&path);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(read(&path).0, all);
    let parts = 4;
    let counts: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let run = |part: usize| {
            let (bytes, all) = (&bytes, &all);
            let copy = folder.path().join(format!("{part}.nmp"));
            scope.spawn(move || {
                let (mut some, mut whole) = (0, 0);
                for place in (part..bytes.len()).step_by(parts) {
                    let what = format!("cut at {place}");
                    let kept = check_damaged(&bytes[..place], &copy, all, &what);
                    some += usize::from(kept > 0);
                    let mut flipped = bytes.clone();
                    flipped[place] ^= 1 << (place % 8);
                    let what = format!("byte {place} flipped");
                    whole += usize::from(check_damaged(&flipped, &copy, all, &what) == all.len());
                }
                (some, whole)
            })
        };
        let threads: Vec<_> = (0..parts).map(run).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let (some, whole) = counts
        .iter()
        .fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
    println!(
        "of {} files cut short, {some} give what stands before; of as many with a flipped bit, {whole} lose nothing",
        bytes.len()
    );
    assert!(some > 0 && whole > 0 && whole < bytes.len());
}

#[test]
fn a_plain_row_that_was_changed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut writer = Writer::open(&path, short()).unwrap();
    let mut figures = Figures::default();
    let id = DeviceId("GPU-0".into());
    // Numbers that SQLite may store in another form than they were given: whole, negative zero, very small.
    for (figure, value) in [
        (Figure::Power, 300.0),
        (Figure::Temperature, 55.0),
        (Figure::Headroom, -0.0),
        (Figure::Utilization, 1e-7),
        (Figure::MemoryUsed, 8e10),
    ] {
        figures.set(figure, Value::fresh(value));
    }
    for tick in plain(3) {
        writer.append(&tick).unwrap();
        let point = MinutePoint {
            device: &id,
            figures: &figures,
            phase_seconds: PhaseSeconds::default(),
            answers: true,
            sampled: true,
        };
        writer.gather(&tick, &[point]).unwrap();
    }
    writer.close().unwrap();
    let whole = || {
        let reader = Reader::open(&path).unwrap();
        let all = Timestamp::from_second(0).unwrap()..Timestamp::MAX;
        reader.minutes(all.start, all.end)
    };
    assert_eq!(whole().unwrap()[0].power_w, Some(300.0));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE minutes SET power_w = 301", []).unwrap();
    assert!(matches!(whole(), Err(RecordError::Damaged { .. })));
}

#[test]
fn steps_in_time_stop_where_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut all = plain(60);
    for tick in &mut all[25..] {
        tick.at -= jiff::SignedDuration::from_secs(3600);
    }
    let mut writer = Writer::open(&path, short()).unwrap();
    write(&mut writer, &all);
    let reader = Reader::open(&path).unwrap();
    let from = |n, seconds| reader.shifted(n, seconds).unwrap();
    assert_eq!(from(1, 7.0), 8);
    assert_eq!((from(8, -7.0), from(8, -70.0)), (1, 1));
    assert_eq!(
        (from(20, 3.5), from(20, 60.0)),
        (24, 26),
        "a step ends where the clock was set"
    );
    assert_eq!((from(26, 10.0), from(26, 7200.0)), (36, 60));
    assert_eq!((from(30, -2.0), from(30, -60.0)), (28, 25));
    assert_eq!(
        (from(25, -60.0), from(58, 60.0), from(60, 1.0)),
        (1, 60, 60)
    );
    for n in 1..=60_i64 {
        let at = all[n as usize - 1].at;
        assert_eq!(reader.time_of(n).unwrap(), Some(at));
        assert_eq!(reader.near(n, at).unwrap(), n);
    }
    assert_eq!(reader.last().unwrap(), Some(60));
    assert_eq!(reader.time_of(61).unwrap(), None);
}
