//! `diagnose`, and logs in `export` and `replay`, as a user meets them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::args::Format;
use super::diagnose::{live, write};
use super::tests::{answer, one_device, settings, source, world};
use super::words::CatalogueWords;
use crate::model::*;
use crate::publish::snapshot_json;
use crate::session::{Session, Start};
use crate::simulate::Simulation;
use crate::text::{Catalogue, Lang};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const CSV: &str = "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W], enforced.power.limit [W]\n\
2026/03/01 12:00:00.000, 0, GPU-a, NVIDIA H100 80GB HBM3, 92 %, 612.00 W, 700.00 W\n\
2026/03/01 12:00:01.000, 0, GPU-a, NVIDIA H100 80GB HBM3, 0 %, 130.00 W, 700.00 W\n\
2026/03/01 12:00:02.000, 0, GPU-a, NVIDIA H100 80GB HBM3, 0 %, 131.00 W, 700.00 W\n";

fn log(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("gpu.csv");
    std::fs::write(&path, text).unwrap();
    let name = path.to_str().unwrap().to_owned();
    (folder, name)
}

fn document(arguments: &[&str]) -> (u8, Json) {
    let (code, stdout, stderr) = answer(arguments, None);
    assert_eq!(stderr, "");
    (code, serde_json::from_str(&stdout).unwrap())
}

#[test]
fn a_log_is_diagnosed_with_its_zone_and_its_price() {
    let (_folder, file) = log(CSV);
    let arguments = [
        "diagnose",
        &file,
        "--tz",
        "Asia/Shanghai",
        "--price",
        "3.60",
        "--format",
        "json",
    ];
    let (code, document) = document(&arguments);
    assert_eq!(code, 0);
    for (path, wanted) in [
        ("/document", Json::from("diagnosis")),
        ("/source", "log".into()),
        ("/format", "nvidia_smi_csv".into()),
        ("/from", "2026-03-01T04:00:00.000Z".into()),
        ("/to", "2026-03-01T04:00:02.000Z".into()),
        ("/observed_seconds", 2.0.into()),
        ("/interval_s", 1.0.into()),
        ("/timezone", "Asia/Shanghai".into()),
        ("/timezone_source", "flag".into()),
        ("/result", "ok".into()),
        ("/devices/0/id", "GPU-a".into()),
        ("/devices/0/utilization_ratio", 0.0.into()),
        ("/devices/0/power_w", 131.0.into()),
        ("/devices/0/clock_mhz", Json::Null),
        ("/devices/0/absent/clock_mhz", "not_reported".into()),
        ("/cost/price_per_hour", "3.60".into()),
    ] {
        assert_eq!(document.pointer(path), Some(&wanted), "{path}");
    }
    let blind = document["cannot_see"].as_array().unwrap();
    let clock = blind
        .iter()
        .find(|b| b["evidence"] == "clock_max_ratio")
        .unwrap();
    assert!(
        clock["how"].as_str().unwrap().contains("clocks.sm"),
        "{clock}"
    );
}

#[test]
fn a_log_without_times_is_diagnosed_and_neither_exported_nor_replayed() {
    let (_folder, file) =
        log("index, utilization.gpu [%], power.draw [W]\n0, 100 %, 600.00 W\n0, 99 %, 601.00 W\n");
    let (_, document) = document(&["diagnose", &file, "--format", "json"]);
    assert!(document["from"].is_null() && document["observed_seconds"].is_null());
    assert_eq!(document["devices"][0]["power_w"], 601.0);
    for command in [&["export", &file, "--to", "csv"][..], &["replay", &file]] {
        let (code, stdout, stderr) = answer(command, None);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (1, "", 1));
        assert!(
            stderr.contains("its lines have no times; next: "),
            "{stderr}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line_and_nothing_else() {
    for (text, wanted) in [
        ("a,b\n1,2\n", "line 1: not a log that is read here"),
        (
            "timestamp, index, utilization.gpu [%]\n2026/03/01 12:00:00.000, 0, 5 %, 7\n",
            "line 2: 4 values under 3 names",
        ),
        ("2026/03/01 12:00:00.000, 0, 92\n", "line 1: no header"),
        ("", ": it is empty"),
    ] {
        let (_folder, file) = log(text);
        for command in [
            &["diagnose", &file, "--format", "json"][..],
            &["export", &file, "--to", "jsonl"],
            &["replay", &file],
        ] {
            let (code, stdout, stderr) = answer(command, None);
            assert_eq!(
                (code, stdout.as_str(), stderr.lines().count()),
                (1, "", 1),
                "{stderr}"
            );
            assert!(
                stderr.contains(wanted) && stderr.contains("; next: "),
                "{stderr}"
            );
        }
    }
    let (code, _, stderr) = answer(&["diagnose", "nowhere.csv"], None);
    assert!(code == 1 && stderr.contains("nowhere.csv"), "{stderr}");
}

#[test]
fn a_log_is_exported_with_its_times_and_reasons() {
    let (_folder, file) = log(&format!("{CSV}2026/03/01 12:0"));
    let (code, stdout, stderr) = answer(&["export", &file, "--to", "csv", "--tz", "UTC"], None);
    assert_eq!((code, stdout.lines().count()), (0, 4));
    assert!(
        stdout
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("2026-03-01T12:00:00.000Z,1.0,GPU-a,0,")
    );
    assert!(
        stderr.contains("gpu.csv, line 5: the last line is cut off"),
        "{stderr}"
    );
}

#[test]
fn the_user_may_name_the_columns() {
    let (_folder, file) =
        log("2026/03/01 12:00:00.000, 0, 92, 228.12\n2026/03/01 12:00:01.000, 0, 93, 228.10\n");
    let columns = "timestamp,index,utilization.gpu,power.draw";
    let (_, document) = document(&["diagnose", &file, "--columns", columns, "--format", "json"]);
    assert_eq!(document["devices"][0]["power_w"], 228.1);
}

#[test]
fn the_text_says_the_log_and_its_zone_and_fits() {
    let (_folder, file) = log(CSV);
    let (code, stdout, _) = answer(
        &["diagnose", &file, "--tz", "Asia/Shanghai", "--ascii"],
        None,
    );
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("LOG ") && stdout.contains("Asia/Shanghai"),
        "{stdout}"
    );
    assert!(
        stdout.contains("12:00:00"),
        "times stand in the zone: {stdout}"
    );
    assert!(stdout.lines().all(|line| line.len() <= 80), "{stdout}");
}

/// The lines that `stream` writes of a simulation, and the session that wrote them.
fn streamed(case: &str, count: usize) -> (String, Snapshot) {
    let began = "2026-03-01T08:00:00Z".parse().unwrap();
    let mut simulation = Simulation::case(case, 3).unwrap().beginning_at(began);
    let price = Price {
        per_hour: rust_decimal::Decimal::new(299, 2),
        scope: PriceScope::Device,
        source: PriceSource::Flag,
    };
    let config = Config {
        price: Some(price),
        ..Config::default()
    };
    let plates = Arc::new(Plates::embedded().unwrap());
    let mut session = Session::new(Start::new(config), plates, SourceKind::Live);
    let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
    let mut cursor = crate::publish::EventCursor::default();
    let mut lines = String::new();
    for _ in 0..count {
        session.fold(&simulation.tick());
        let snapshot = session.snapshot().unwrap();
        let events = cursor.advance(&snapshot);
        let line = crate::publish::snapshot_json_since(&snapshot, "stream", &words, events);
        lines.push_str(&format!("{line}\n"));
    }
    (lines, session.snapshot().unwrap())
}

#[test]
fn lines_of_stream_read_back_give_the_same_figures() {
    for case in ["narrow-link", "hang", "healthy", "forgotten"] {
        let (lines, live) = streamed(case, 130);
        let (_folder, file) = log(&lines);
        let (_, back) = document(&["diagnose", &file, "--format", "json"]);
        assert_eq!(back["format"], "nameplate_stream");
        let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
        let said = snapshot_json(&live, "once", &words);
        for (was, is) in said["devices"]
            .as_array()
            .unwrap()
            .iter()
            .zip(back["devices"].as_array().unwrap())
        {
            for (key, value) in was.as_object().unwrap() {
                // By which counter a rate was measured is not in the document's readings.
                let same = match key.as_str() {
                    "pcie" => without(value, "method") == without(&is[key], "method"),
                    "phase_seconds" => near(value, &is[key]),
                    "verdict" => ["state", "cause", "confidence", "counts"]
                        .iter()
                        .all(|k| value[*k] == is[key][*k]),
                    _ => value == &is[key],
                };
                assert!(same, "{case}: {key}: {value} is read back as {}", is[key]);
            }
        }
        for key in [
            "price_per_hour",
            "price_source",
            "amount",
            "billing_started",
        ] {
            assert_eq!(said["cost"][key], back["cost"][key], "{case}: {key}");
        }
    }
}

fn without(value: &Json, key: &str) -> Json {
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove(key);
    value
}

/// Times have milliseconds in documents: seconds may differ by as much.
fn near(a: &Json, b: &Json) -> bool {
    a.as_object()
        .unwrap()
        .iter()
        .all(|(key, a)| match (a.as_f64(), b[key].as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() < 0.01,
            (a, b) => a == b,
        })
}

#[test]
fn a_live_diagnosis_ends_with_its_source_and_writes_the_document() {
    let settings = settings();
    let (mut world, stdout, _) = world(None);
    let source = source(one_device());
    let session = super::source::session(source.kind, source.config).unwrap();
    let begin = |outlet: super::live::Outlet| {
        source
            .feed
            .start(Box::new(move |tick| outlet(crate::app::News::Tick(tick))))
    };
    let hour = Duration::from_secs(3600);
    let watched = live(session, begin, hour, &settings, &mut world).unwrap();
    let code = write(&watched, Format::Json, &settings, &mut world).unwrap();
    assert_eq!(code, 0);
    let document: Json = serde_json::from_str(&stdout.text()).unwrap();
    assert_eq!(document["source"], "live");
    assert_eq!(document["devices"][0]["power_w"], 500.0);
    assert_eq!(document["observed_seconds"], 3.0);
}

#[test]
fn notes_of_the_time_that_was_watched_are_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nmp");
    let mut simulation = Simulation::case("healthy", 1).unwrap();
    let mut recorder = super::recorder::Recorder::open(&path, Config::default()).unwrap();
    for n in 0..5 {
        let mut tick = simulation.tick();
        if n == 3 {
            tick.events.push(Event {
                at: tick.at,
                device: None,
                kind: EventKind::Mark,
                text: "loss rose".into(),
                data: Vec::new(),
            });
        }
        recorder.take(tick).unwrap();
    }
    recorder.close().unwrap();
    let file = path.to_str().unwrap();
    let (_, json) = document(&["diagnose", file, "--format", "json"]);
    assert_eq!(json["marks"][0]["text"], "loss rose");
    assert!(json["marks"][0]["at"].is_string());
    let (_, text, _) = answer(&["diagnose", file], None);
    assert!(text.contains(": loss rose"), "{text}");
}
