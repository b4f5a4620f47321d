//! Logs as data: each case of tests/scenarios/logs is read as it says, or refused with its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::order::WINDOW;
use super::{Import, ImportError, ImportOptions};
use crate::model::{Absent, Change, Config, Metric, Plates, SourceKind, Tick};
use crate::session::{Session, Start};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    log: String,
    #[serde(default = "utc")]
    zone: String,
    columns: Option<Vec<String>>,
    refused: Option<String>,
    #[serde(default)]
    format: String,
    #[serde(default = "yes")]
    timed: bool,
    needs_zone: Option<bool>,
    #[serde(default)]
    ticks: usize,
    #[serde(default)]
    devices: Vec<String>,
    interval_s: Option<f64>,
    observed_s: Option<f64>,
    first: Option<String>,
    #[serde(default)]
    silent: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    readings: Vec<(usize, String, String, Wanted)>,
}

#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Wanted {
    Number(f64),
    Absent(String),
}

fn utc() -> String {
    "UTC".to_owned()
}

const fn yes() -> bool {
    true
}

fn options(zone: &str, columns: Option<Vec<String>>) -> ImportOptions {
    ImportOptions {
        zone: TimeZone::get(zone).unwrap(),
        columns,
    }
}

fn open(log: &[u8]) -> Result<Import, ImportError> {
    let source = std::io::Cursor::new(log.to_vec());
    Import::open(Box::new(source), &options("UTC", None))
}

/// All ticks of a log, or why it is not read.
fn ticks(log: &[u8]) -> Result<Vec<Tick>, ImportError> {
    open(log)?.collect()
}

/// Seconds that a session looked at, and those that it did not.
fn seconds(ticks: &[Tick]) -> (f64, f64) {
    let plates = Arc::new(Plates::embedded().unwrap());
    let source = SourceKind::Log {
        file: "a".to_owned(),
        zone: "UTC".to_owned(),
    };
    let mut session = Session::new(Start::new(Config::default()), plates, source);
    for tick in ticks {
        session.fold(tick);
    }
    let cost = session.snapshot().and_then(|snapshot| snapshot.cost);
    cost.map_or((0.0, 0.0), |cost| {
        let unobserved = cost.phase_seconds.unobserved;
        (cost.phase_seconds.total() - unobserved, unobserved)
    })
}

fn check(case: &Case) {
    let name = &case.name;
    let log = case
        .log
        .strip_suffix('\n')
        .map_or(case.log.clone(), |log| format!("{log}\n"));
    let opened = Import::open(
        Box::new(std::io::Cursor::new(log.into_bytes())),
        &options(&case.zone, case.columns.clone()),
    );
    let read = opened.and_then(|mut import| {
        let ticks: Vec<Tick> = import.by_ref().collect::<Result<_, _>>()?;
        Ok((import, ticks))
    });
    let (import, ticks) = match (read, &case.refused) {
        (Err(error), Some(refused)) => {
            let text = error.to_string();
            assert!(text.starts_with(refused.as_str()), "{name}: {text}");
            assert!(
                !text.contains('\n') && !error.next().is_empty(),
                "{name}: {text}"
            );
            return;
        }
        (Err(error), None) => panic!("{name}: {error}"),
        (Ok(_), Some(refused)) => panic!("{name}: was read, and not refused with {refused}"),
        (Ok(read), None) => read,
    };
    assert_eq!(import.format(), case.format, "{name}");
    assert_eq!(import.is_timed(), case.timed, "{name}");
    if let Some(needs) = case.needs_zone {
        assert_eq!(import.needs_zone(), needs, "{name}");
    }
    assert_eq!(ticks.len(), case.ticks, "{name}: ticks");
    let changes = || ticks.iter().flat_map(|tick| &tick.changes);
    let devices: Vec<&str> = changes()
        .filter_map(|change| match change {
            Change::Device(device) => Some(&*device.id.0),
            _ => None,
        })
        .collect();
    assert_eq!(devices, case.devices, "{name}: devices");
    let silent: Vec<&str> = changes()
        .filter_map(|change| match change {
            Change::Silent(id, Absent::Lost, _) => Some(&*id.0),
            _ => None,
        })
        .collect();
    assert_eq!(silent, case.silent, "{name}: silent");
    if let Some(interval) = case.interval_s {
        let inferred = import.interval().unwrap().as_secs_f64();
        assert!(
            (inferred - interval).abs() < 0.01,
            "{name}: every {inferred} s"
        );
    }
    if let Some(first) = &case.first {
        assert_eq!(&ticks[0].at.to_string(), first, "{name}");
    }
    if let Some(observed) = case.observed_s {
        assert!(
            (seconds(&ticks).0 - observed).abs() < 1e-6,
            "{name}: {:?}",
            seconds(&ticks)
        );
    }
    if !case.timed {
        assert_eq!(seconds(&ticks), (0.0, 0.0), "{name}");
    }
    let warnings = import.warnings();
    assert_eq!(warnings.len(), case.warnings.len(), "{name}: {warnings:?}");
    for (warning, wanted) in warnings.iter().zip(&case.warnings) {
        assert!(warning.text.contains(wanted), "{name}: {}", warning.text);
    }
    for (tick, device, metric, wanted) in &case.readings {
        let sample = ticks[*tick]
            .samples
            .iter()
            .find(|s| *s.device.0 == **device);
        let sample = sample.unwrap_or_else(|| panic!("{name}: no {device} in tick {tick}"));
        let metric = Metric::ALL
            .iter()
            .find(|m| m.key() == metric)
            .expect(metric);
        let place = format!("{name}: tick {tick}, {device}, {}", metric.key());
        match (sample.readings.get(*metric), wanted) {
            (Ok(is), Wanted::Number(wanted)) => {
                assert!((is - wanted).abs() < 1e-6, "{place}: {is}")
            }
            (Err(why), Wanted::Absent(wanted)) => assert_eq!(why.word(), wanted, "{place}"),
            (is, wanted) => panic!("{place}: {is:?}, not {wanted:?}"),
        }
    }
}

#[test]
fn logs_are_read_as_their_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/logs");
    let mut read = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let cases: Cases = toml::from_str(&text).unwrap();
        cases.case.iter().for_each(check);
        read += cases.case.len();
    }
    assert!(read > 30, "{read}");
}

/// A log of two devices: the n-th second's utilization of each, by a rule.
fn log_of(seconds: usize, busy: impl Fn(usize, usize) -> usize) -> Vec<String> {
    let mut rows = Vec::new();
    for second in 0..seconds {
        for device in 0..2 {
            let (m, s) = (second / 60, second % 60);
            let util = busy(second, device);
            rows.push(format!(
                "2026/03/01 12:{m:02}:{s:02}.{device:03}, {device}, {util} %, {}.00 W",
                60 + 2 * util
            ));
        }
    }
    rows
}

const HEADER: &str = "timestamp, index, utilization.gpu [%], power.draw [W]\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_and_duplicates_of_rows_change_no_seconds(
        length in 2usize..120,
        seed in any::<u64>(),
        doubles in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..200),
    ) {
        let rows = log_of(length, |second, device| {
            ((seed >> ((second + device) % 60)) & 1) as usize * 90
        });
        let plain = ticks(format!("{HEADER}{}\n", rows.join("\n")).as_bytes()).unwrap();
        let mut mixed = rows.clone();
        for double in doubles {
            mixed.push(double.get(&rows).clone());
        }
        for (a, b) in swaps {
            let (a, b) = (a.index(mixed.len()), b.index(mixed.len()));
            mixed.swap(a, b);
        }
        let mixed = ticks(format!("{HEADER}{}\n", mixed.join("\n")).as_bytes()).unwrap();
        prop_assert_eq!(seconds(&plain), seconds(&mixed));
        prop_assert_eq!(plain.len(), mixed.len());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = ticks(&bytes);
    }

    #[test]
    fn any_rows_are_read_or_refused(
        rows in prop::collection::vec("[-0-9./:, %WCMiBPN\\[\\]A]{0,60}", 0..12),
        header in "(timestamp, index, utilization.gpu \\[%\\], power.draw \\[W\\]|#Date Time gpu pwr sm|index,utilization.gpu)",
    ) {
        if let Ok(ticks) = ticks(format!("{header}\n{}\n", rows.join("\n")).as_bytes()) {
            for sample in ticks.iter().flat_map(|tick| &tick.samples) {
                for metric in Metric::ALL {
                    prop_assert!(sample.readings.get(*metric).is_ok_and(f64::is_finite) || sample.readings.get(*metric).is_err());
                }
            }
        }
    }

    #[test]
    fn an_absent_cell_is_never_a_number(
        cell in prop::sample::select(vec!["[N/A]", "N/A", "[Not Supported]", "ERR!", "", "-", "[Unknown Error]", "[GPU is lost]"]),
        place in 0usize..2,
    ) {
        let cells = if place == 0 { format!("{cell}, 100.00 W") } else { format!("50 %, {cell}") };
        let log = format!("{HEADER}2026/03/01 12:00:00.000, 0, {cells}\n");
        let ticks = ticks(log.as_bytes()).unwrap();
        let metric = if place == 0 { Metric::Utilization } else { Metric::PowerUsage };
        prop_assert!(ticks[0].samples[0].readings.get(metric).is_err());
    }

    #[test]
    fn any_json_is_read_or_refused(
        text in "\\{(\"(gpu|util|power|ts|gpus|name|index|x)\": ?(\"\\PC{0,8}\"|-?[0-9]{1,12}|null|true|\\[\\{\"util\": 3\\}\\]|\\{\"util\": 5\\}),? ?){0,6}\\}?",
    ) {
        let _ = ticks(text.as_bytes());
        let _ = ticks(format!("{text}\n{text}\n").as_bytes());
    }
}

#[test]
fn a_row_too_late_for_the_window_is_left_out_and_told() {
    let mut rows = log_of(1200, |_, _| 90);
    rows.push("2026/03/01 12:00:00.000, 0, 90 %, 240.00 W".to_owned());
    assert!(rows.len() > 2 * WINDOW);
    let mut import = open(format!("{HEADER}{}\n", rows.join("\n")).as_bytes()).unwrap();
    assert_eq!(import.by_ref().map(Result::unwrap).count(), 1200);
    let warnings = import.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].line, 2402);
}

#[test]
fn the_interval_follows_the_log() {
    let mut rows = Vec::new();
    for minute in 0..60 {
        rows.push(format!(
            "2026/03/01 10:{minute:02}:00.000, 0, 90 %, 240.00 W"
        ));
    }
    rows.extend(
        log_of(120, |_, _| 90)
            .into_iter()
            .filter(|row| row.contains(", 0, ")),
    );
    let ticks = ticks(format!("{HEADER}{}\n", rows.join("\n")).as_bytes()).unwrap();
    assert_eq!(ticks[10].interval.as_secs(), 60);
    assert_eq!(ticks.last().unwrap().interval.as_secs(), 1);
}

#[test]
fn packed_files_say_how_to_unpack_them() {
    let error = open(b"\x1f\x8b\x08\x00").unwrap_err();
    assert_eq!(error.to_string(), "it is compressed");
    assert!(error.next().contains("gunzip -c"));
}
