//! `record`, `export` and `replay` as a user meets them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::args::Record;
use super::recorder::Recorder;
use super::tests::{answer, one_device, source, tick, world};
use super::{record, screen};
use crate::app::playback::{Order, Player, Remark};
use crate::app::{Action, App, Effect, Past};
use crate::model::*;
use crate::session::{Session, Start};
use crate::simulate::Simulation;
use crate::text::{Catalogue, Lang};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn arguments(output: &Path) -> Record {
    Record {
        output: Some(output.to_owned()),
        background: false,
        status: false,
        stop: false,
        detached: false,
        span: None,
    }
}

fn recorded(ticks: Vec<Tick>, path: &Path) -> (String, String) {
    let (mut world, stdout, stderr) = world(None);
    record::run(source(ticks), &arguments(path), &mut world).unwrap();
    (stdout.text(), stderr.text())
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

fn export(path: &Path, more: &str) -> (u8, String, String) {
    let path = path.to_str().unwrap();
    let arguments: Vec<&str> = ["export", path]
        .into_iter()
        .chain(more.split(' '))
        .collect();
    answer(&arguments, None)
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    (folder, path)
}

#[test]
fn a_recording_says_where_it_is_and_what_is_in_it() {
    let (_folder, path) = file();
    let (stdout, stderr) = recorded(one_device(), &path);
    let said = super::recorder::place_warning(&path)
        .map(|warning| format!("nameplate: record: {warning}\n"));
    assert_eq!(stderr, said.unwrap_or_default());
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with(&format!("recording into {}; process ", path.display())));
    assert_eq!(
        lines[1],
        format!("4 ticks of 1 devices are in {}", path.display())
    );
}

#[test]
fn an_export_has_the_documents_names_and_the_streams_lines() {
    let (_folder, path) = file();
    recorded(simulated(130), &path);
    let (code, stdout, stderr) = export(&path, "--to csv");
    assert_eq!((code, stderr.as_str()), (0, ""));
    let mut reader = csv::Reader::from_reader(stdout.as_bytes());
    let header = reader.headers().unwrap().clone();
    for name in [
        "at",
        "power_w",
        "pcie.rx_bytes_per_s",
        "phase_seconds.unobserved",
        "headroom_c",
    ] {
        assert!(header.iter().any(|h| h == name), "{name}");
    }
    assert_eq!(reader.records().filter(Result::is_ok).count(), 130 * 8);
    let (code, stdout, _) = export(&path, "--to jsonl --every 1m");
    let documents: Vec<serde_json::Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(code, 0);
    assert!((2..=4).contains(&documents.len()), "{}", documents.len());
    for document in &documents {
        assert_eq!(document["source"], "recording");
        assert_eq!(document["file"], path.to_str().unwrap());
        assert_eq!(document["mode"], "export");
        assert_eq!(document["devices"].as_array().unwrap().len(), 8);
    }
    let all = export(&path, "--to jsonl").1;
    let at = |n: usize| -> String {
        let document: serde_json::Value =
            serde_json::from_str(all.lines().nth(n).unwrap()).unwrap();
        document["at"].as_str().unwrap().to_owned()
    };
    let span = format!("--to jsonl --from {} --until {}", at(40), at(49));
    let (code, part, _) = export(&path, &span);
    let without_events = |text: &str| -> Vec<serde_json::Value> {
        text.lines()
            .map(|line| {
                let mut document: serde_json::Value = serde_json::from_str(line).unwrap();
                document.as_object_mut().unwrap().remove("events");
                document
            })
            .collect()
    };
    assert_eq!(code, 0);
    assert_eq!(
        without_events(&part),
        without_events(&all)[40..50],
        "the same, meter included"
    );
}

#[test]
fn what_cannot_be_exported_is_one_line_with_a_next_step() {
    let (_folder, path) = file();
    std::fs::write(&path, "timestamp, index, power.draw [W]\n").unwrap();
    let (code, stdout, stderr) = export(&path, "--to csv");
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (1, "", 1));
    assert!(stderr.contains(": no row stands in it; next: "), "{stderr}");
    let (code, _, stderr) = export(Path::new("/nowhere/a.nmp"), "--to csv");
    assert_eq!((code, stderr.lines().count()), (1, 1), "{stderr}");
}

/// Takes ticks in, and gives what the session says at their end.
fn run(path: &Path, ticks: Vec<Tick>) -> Snapshot {
    let mut recorder = Recorder::open(path, Config::default()).unwrap();
    for tick in ticks {
        recorder.take(tick).unwrap();
    }
    let snapshot = recorder.session().snapshot().unwrap();
    recorder.close().unwrap();
    snapshot
}

#[test]
fn a_second_run_goes_on_with_the_meter_of_the_first() {
    let (_folder, path) = file();
    let all = simulated(200);
    let (first, rest) = all.split_at(80);
    let before = run(&path, first.to_vec());
    // 60 seconds without a recorder. The next run's source introduces its devices again.
    let mut rest = rest[60..].to_vec();
    rest[0].changes.extend(first[0].changes.iter().cloned());
    let after = run(&path, rest);
    let seconds = |snapshot: &Snapshot| snapshot.cost.clone().unwrap().phase_seconds;
    let (before, after) = (seconds(&before), seconds(&after));
    let looked = |s: &PhaseSeconds| s.total() - s.unobserved;
    let more = looked(&after) - looked(&before);
    assert!((more - 59.0).abs() < 2.0, "{before:?} {after:?}");
    assert!(
        (after.unobserved - before.unobserved - 61.0).abs() < 2.0,
        "{before:?} {after:?}"
    );
}

#[test]
fn another_boot_begins_anew_and_devices_that_are_no_longer_listed_are_gone() {
    let (_folder, path) = file();
    run(&path, one_device());
    let mut other = crate::publish::sample::device_view(1, Absent::NotReported).device;
    std::sync::Arc::make_mut(&mut other).id = DeviceId("GPU-other".into());
    let later = |seq: u64| tick(100 + seq, Vec::new(), Vec::new());
    let mut ticks: Vec<Tick> = (0..10).map(later).collect();
    ticks[1].changes.push(Change::Device(other.clone()));
    let same_boot = run(&path, ticks.clone());
    let listed: Vec<&DeviceId> = same_boot.devices.iter().map(|d| &d.device.id).collect();
    assert!(listed.contains(&&other.id));
    let former = same_boot.devices.iter().find(|d| d.device.id != other.id);
    assert!(
        former.is_none_or(|d| matches!(d.silent, Some((Absent::Lost, _)))),
        "{former:?}"
    );
    for tick in &mut ticks {
        tick.at = tick
            .at
            .checked_add(jiff::SignedDuration::from_hours(5))
            .unwrap();
    }
    let other_boot = run(&path, ticks);
    assert_eq!(other_boot.devices.len(), 1);
}

/// A player on a recording of 130 ticks; and what live had said.
fn opened(path: &Path) -> (Player, Snapshot) {
    let live = run(path, simulated(130));
    (screen::player(path).unwrap(), live)
}

#[test]
fn a_replay_says_at_its_end_what_live_did() {
    let (_folder, path) = file();
    let (mut player, live) = opened(&path);
    assert!(player.obey(&Order::Last, &mut || true));
    let frame = player.frame(true).unwrap();
    let back = &frame.snapshot;
    assert_eq!(format!("{:?}", back.devices), format!("{:?}", live.devices));
    assert_eq!(format!("{:?}", back.cost), format!("{:?}", live.cost));
    assert_eq!((back.at, back.source.word()), (live.at, "recording"));
    assert_eq!(back.source, SourceKind::Recording("a.nmp".to_owned()));
    assert_eq!(frame.remark, Remark::End);
}

#[test]
fn space_holds_a_replay_and_plus_and_minus_change_its_speed() {
    let (_folder, path) = file();
    let (mut player, _) = opened(&path);
    let session = Session::new(
        Start::new(Config::default()),
        Arc::new(Plates::embedded().unwrap()),
        SourceKind::Recording("a.nmp".to_owned()),
    );
    let second = std::time::Duration::from_secs(1);
    let mut app = App::new(session, second * 5, second * 900)
        .with_speed(60.0)
        .with_past(Past::Replay);
    app.show(player.frame(false).unwrap());
    let t = Catalogue::new(Lang::En);
    assert_eq!(app.interval(), second, "the recording's own");
    let speed = |speed| Some(Effect::Play(Order::Speed(speed)));
    assert_eq!(app.update(Action::Faster, t), speed(300.0));
    assert_eq!(app.update(Action::Pause, t), speed(0.0));
    assert_eq!(app.update(Action::Slower, t), None, "while it is held");
    assert_eq!(app.update(Action::Pause, t), speed(60.0));
    for _ in 0..20 {
        app.update(Action::Faster, t);
    }
    assert_eq!(app.speed(), 10_000.0);
    assert_eq!(app.update(Action::Faster, t), None);
}

#[test]
fn what_cannot_be_replayed_is_told_before_the_screen_is_taken() {
    let (_folder, path) = file();
    std::fs::write(&path, "not a recording\n").unwrap();
    let (code, stdout, stderr) = answer(&["replay", path.to_str().unwrap()], None);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (1, "", 1));
    assert!(
        stderr.contains(", line 1: not a log that is read here; next: "),
        "{stderr}"
    );
}
