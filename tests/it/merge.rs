//! Two recordings of one instance as one: the same session as that of all their ticks, and no second twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jiff::{SignedDuration, Timestamp};
use nameplate::model::*;
use nameplate::record::{Limits, Merge, Merged, Reader, Writer};
use nameplate::session::{Session, Start};
use nameplate::simulate::Simulation;
use nameplate::units::MonoTime;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

fn config() -> Config {
    Config {
        price: Some(Price {
            per_hour: Decimal::new(299, 2),
            scope: PriceScope::Device,
            source: PriceSource::Flag,
        }),
        ..Config::default()
    }
}

/// So many ticks of one second, the first with all introductions; and those introductions.
fn simulated(count: usize) -> (Vec<Tick>, Vec<Change>) {
    let began: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
    let mut simulation = Simulation::case("narrow-link", 3)
        .unwrap()
        .beginning_at(began);
    let introductions = simulation.tick().changes;
    let mut ticks: Vec<Tick> = std::iter::repeat_with(|| simulation.tick())
        .filter(|tick| tick.interval.as_secs() == 1)
        .take(count)
        .collect();
    ticks[0].changes.splice(0..0, introductions.iter().cloned());
    (ticks, introductions)
}

/// What one recorder wrote of some of the ticks: with a session of its own, which begins with them.
fn record(path: &Path, ticks: &[Tick], parts: &[Range<usize>], introductions: &[Change]) -> Writer {
    let limits = Limits {
        seal: Duration::from_secs(15),
        start: Duration::from_secs(40),
        ..Limits::default()
    };
    let mut writer = Writer::open(path, limits).unwrap();
    let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
    let mut first = true;
    for part in parts {
        let mut fresh = true;
        for n in part.clone() {
            let mut tick = ticks[n].clone();
            if first && n > 0 {
                tick.changes.splice(0..0, introductions.iter().cloned());
            }
            if fresh || writer.start_due(tick.mono) {
                let start = session.start().to_bytes().unwrap();
                writer.start(&tick, fresh, &start).unwrap();
            }
            session.fold(&tick);
            writer.append(&tick).unwrap();
            writer.gather(&tick, &session.minute_points()).unwrap();
            (first, fresh) = (false, false);
        }
    }
    writer
}

fn readers(paths: &[PathBuf]) -> Vec<Reader> {
    paths
        .iter()
        .map(|path| Reader::open(path).unwrap())
        .collect()
}

/// The session of the merge, and the numbers of its ticks.
fn merged(paths: &[PathBuf]) -> (Session, Vec<u64>) {
    let merge = Merge::new(readers(paths)).unwrap();
    let first = merge.first_start().unwrap().unwrap();
    let mut session = Session::new(
        Start::from_bytes(&first.body).unwrap(),
        plates(),
        SourceKind::Live,
    );
    let mut numbers = Vec::new();
    for next in merge {
        match next.unwrap() {
            Merged::Start { start, whole } => {
                let start = Start::from_bytes(&start.body).unwrap();
                if whole {
                    session.take_up(start);
                } else if start.config != *session.config() {
                    session.configure(start.config);
                }
            }
            Merged::Tick(tick) => {
                session.fold(&tick);
                numbers.push(tick.seq);
            }
        }
    }
    (session, numbers)
}

fn said(session: &Session) -> (Vec<u8>, String) {
    (
        session.start().to_bytes().unwrap(),
        format!("{:?}", session.snapshot()),
    )
}

/// What a kill leaves: the files as they are.
fn killed(path: &Path) -> PathBuf {
    let copy = path.with_extension("killed.nmp");
    let wal = |path: &Path| format!("{}-wal", path.display());
    std::fs::copy(path, &copy).unwrap();
    std::fs::copy(wal(path), wal(&copy)).unwrap();
    copy
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_a_merge_is_the_fold_of_all_ticks(
        begin in 1_usize..110,
        more in 0_usize..60,
        pause in 10_usize..60,
        paused in 0_usize..40,
        kill in any::<bool>(),
    ) {
        let (ticks, introductions) = simulated(120);
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.nmp"), folder.path().join("b.nmp"));
        let end = (begin + more).min(ticks.len());
        // The first recorder misses some seconds on the way; the second one begins later.
        let parts = [0..pause.min(end), (pause + paused).min(end)..end];
        let first = record(&a, &ticks, &parts, &introductions);
        let whole = begin..ticks.len();
        let second = record(&b, &ticks, std::slice::from_ref(&whole), &introductions);
        let b = if kill { killed(&b) } else { second.close().unwrap(); b };
        first.close().unwrap();
        let there = |n: &usize| parts.iter().any(|part| part.contains(n)) || *n >= begin;
        let all: Vec<usize> = (0..ticks.len()).filter(there).collect();
        let mut union = Session::new(Start::new(config()), plates(), SourceKind::Live);
        all.iter().for_each(|n| union.fold(&ticks[*n]));
        let (session, numbers) = merged(&[a.clone(), b.clone()]);
        let expected: Vec<u64> = all.iter().map(|n| ticks[*n].seq).collect();
        prop_assert_eq!(&numbers, &expected, "each second once");
        prop_assert_eq!(said(&session), said(&union));
        let (back, same) = merged(&[b, a]);
        prop_assert_eq!(same, expected, "whatever their order");
        prop_assert_eq!(said(&back), said(&union));
    }

    #[test]
    fn two_recorders_that_look_at_other_instants_give_no_second_twice(late_ms in 0_u64..1000, begin in 1_usize..60, end in 1_usize..60) {
        let (ticks, introductions) = simulated(60);
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.nmp"), folder.path().join("b.nmp"));
        let late: Vec<Tick> = ticks.iter().cloned().map(|mut tick| {
            tick.at += SignedDuration::from_millis(late_ms as i64);
            tick.mono = MonoTime(tick.mono.0 + late_ms * 1_000_000);
            for sample in &mut tick.samples {
                sample.at = MonoTime(sample.at.0 + late_ms * 1_000_000);
            }
            tick
        }).collect();
        record(&a, &ticks, std::slice::from_ref(&(0..end)), &introductions).close().unwrap();
        record(&b, &late, std::slice::from_ref(&(begin..60)), &introductions).close().unwrap();
        let instants: Vec<MonoTime> = Merge::new(readers(&[b, a])).unwrap().filter_map(|next| match next.unwrap() {
            Merged::Tick(tick) => Some(tick.mono),
            Merged::Start { .. } => None,
        }).collect();
        for two in instants.windows(2) {
            let apart = two[1].seconds_since(two[0]);
            prop_assert!(apart >= 0.5, "{apart}");
        }
        prop_assert!(instants.len() >= 60.min(end + 60 - begin) - 1);
    }
}

#[test]
fn one_missing_tick_is_filled_from_the_other_file() {
    let (ticks, introductions) = simulated(120);
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.nmp"), folder.path().join("b.nmp"));
    let close = |writer: Writer| writer.close().unwrap();
    close(record(&a, &ticks, &[0..10, 11..26], &introductions));
    close(record(
        &b,
        &ticks,
        std::slice::from_ref(&(1..120)),
        &introductions,
    ));
    let (_, numbers) = merged(&[a, b]);
    let all: Vec<u64> = ticks.iter().map(|tick| tick.seq).collect();
    assert_eq!(numbers, all);
}

#[test]
fn a_clock_that_was_set_back_counts_no_hour_twice() {
    let (mut ticks, introductions) = simulated(100);
    for tick in &mut ticks[50..] {
        tick.at -= SignedDuration::from_hours(1);
    }
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.nmp"), folder.path().join("b.nmp"));
    record(&a, &ticks, &[0..40, 60..80], &introductions)
        .close()
        .unwrap();
    record(&b, &ticks, std::slice::from_ref(&(30..100)), &introductions)
        .close()
        .unwrap();
    let (_, numbers) = merged(&[a, b]);
    let all: Vec<u64> = ticks.iter().map(|tick| tick.seq).collect();
    assert_eq!(numbers, all);
}

#[test]
fn a_note_in_a_second_that_is_left_out_is_kept() {
    let (mut ticks, introductions) = simulated(60);
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.nmp"), folder.path().join("b.nmp"));
    let note = |text: &str, at| Event {
        at,
        device: None,
        kind: EventKind::Mark,
        text: text.into(),
        data: Vec::new(),
    };
    let at = ticks[35].at;
    let both = note("both", ticks[20].at);
    ticks[20].events.push(both);
    record(&a, &ticks, std::slice::from_ref(&(0..40)), &introductions)
        .close()
        .unwrap();
    ticks[35].events.push(note("second only", at));
    record(&b, &ticks, std::slice::from_ref(&(10..60)), &introductions)
        .close()
        .unwrap();
    let (session, _) = merged(&[a, b]);
    let notes: Vec<String> = session
        .events()
        .iter()
        .filter(|event| event.kind == EventKind::Mark)
        .map(|event| event.text.to_string())
        .collect();
    assert_eq!(notes, ["both", "second only"]);
}

fn export(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nameplate"));
    let output = command.arg("export").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn several_recordings_are_exported_as_one() {
    let (ticks, introductions) = simulated(90);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (a, b, both) = (path("a.nmp"), path("b.nmp"), path("both.nmp"));
    record(&a, &ticks, std::slice::from_ref(&(0..50)), &introductions)
        .close()
        .unwrap();
    record(&b, &ticks, std::slice::from_ref(&(40..90)), &introductions)
        .close()
        .unwrap();
    let (a, b, both) = (
        a.to_str().unwrap(),
        b.to_str().unwrap(),
        both.to_str().unwrap(),
    );
    let (code, csv, stderr) = export(&[a, b, "--to", "csv"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(csv.lines().count(), 1 + 90 * 8);
    assert_eq!(export(&[b, a, "--to", "csv"]).1, csv);
    let (code, stdout, stderr) = export(&[a, b, "--to", "nmp", "-o", both]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, format!("90 ticks are in {both}\n"));
    assert_eq!(export(&[both, "--to", "csv"]).1, csv, "the meter included");
    // Not over a file that is there, not without one, not two instances as one.
    let (code, _, stderr) = export(&[a, b, "--to", "nmp", "-o", both]);
    assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert_eq!(export(&[a, b, "--to", "nmp"]).0, Some(2));
    let other = path("other.nmp");
    let mut foreign = introductions.clone();
    for change in &mut foreign {
        if let Change::Device(device) = change {
            let id = DeviceId(Arc::from(format!("{}-else", device.id)));
            *device = Arc::new(Device {
                id,
                ..Device::clone(device)
            });
        }
    }
    record(&other, &ticks[1..], std::slice::from_ref(&(1..9)), &foreign)
        .close()
        .unwrap();
    let (code, stdout, stderr) = export(&[a, other.to_str().unwrap(), "--to", "csv"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("not of one instance; next: "), "{stderr}");
}
