//! `compare` as a user meets it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::args::Record;
use super::record;
use super::tests::{answer, source, world};
use crate::model::Tick;
use crate::simulate::Simulation;
use serde_json::Value as Json;
use std::path::Path;
use unicode_width::UnicodeWidthStr as _;

/// The end of a simulated case, where its work goes on at full rate.
fn simulated(case: &str, count: usize) -> Vec<Tick> {
    let mut simulation = Simulation::case(case, 3)
        .unwrap()
        .beginning_at("2026-03-01T08:00:00Z".parse().unwrap());
    let introductions = simulation.tick().changes;
    let mut ticks: Vec<Tick> = std::iter::repeat_with(|| simulation.tick())
        .filter(|tick| tick.interval.as_secs() == 1)
        .take(count)
        .collect();
    ticks[0].changes.splice(0..0, introductions);
    ticks
}

fn recorded(case: &str, count: usize, path: &Path) -> String {
    let (mut world, ..) = world(None);
    let arguments = Record {
        output: Some(path.to_owned()),
        background: false,
        status: false,
        stop: false,
        detached: false,
        span: None,
    };
    record::run(source(simulated(case, count)), &arguments, &mut world).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(super) fn check(name: &str, document: &Json) {
    let mut compiler = boon::Compiler::new();
    for name in [name, "snapshot"] {
        let path = format!("{}/assets/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let json = serde_json::from_str(&text).unwrap();
        compiler
            .add_resource(&format!("{name}.json"), json)
            .unwrap();
    }
    let mut schemas = boon::Schemas::new();
    let index = compiler
        .compile(&format!("{name}.json"), &mut schemas)
        .unwrap();
    if let Err(error) = schemas.validate(document, index) {
        panic!("{error:#}\n{document:#}");
    }
}

fn row<'a>(document: &'a Json, figure: &str) -> &'a Json {
    let rows = document["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["figure"] == figure);
    found.unwrap_or_else(|| panic!("{figure} in {document:#}"))
}

#[test]
fn two_recordings_of_different_machines_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let a = recorded("healthy", 130, &folder.path().join("a.nmp"));
    let b = recorded("power-cap", 90, &folder.path().join("b.nmp"));
    let (code, stdout, stderr) = answer(&["compare", &a, &b, "--format", "json"], None);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let document: Json = serde_json::from_str(&stdout).unwrap();
    check("compare", &document);
    assert_eq!(document["a"]["devices"].as_array().unwrap().len(), 8);
    assert_eq!(document["b"]["devices"].as_array().unwrap().len(), 4);
    assert_eq!(document["a"]["whole"]["compute_seconds"], 8.0 * 129.0);
    let compute = row(&document, "phase_seconds.compute");
    assert_eq!(
        (&compute["a"], &compute["b"]),
        (&129.0.into(), &89.0.into())
    );
    assert_eq!(compute["difference"], -40.0);
    // 400 W cards at 280 W beside 700 W cards near their plate.
    let number = |figure: &str, side: &str| row(&document, figure)[side].as_f64().unwrap();
    assert!((0.8..0.95).contains(&number("power_ratio", "a")));
    assert!((0.6..0.75).contains(&number("power_ratio", "b")));
    assert!(number("power_ratio_p95", "b") >= number("power_ratio", "b"));
    assert!(number("throttled_ratio", "b") > number("throttled_ratio", "a"));
    assert!(number("throttle_seconds.sw_power_cap", "b") > 0.0);
    assert!(number("energy_kwh_per_compute_hour", "a") > 4.0);
    // Both cost 2.99 an hour from the boot on: the shorter recording saw less of it compute.
    let price = row(&document, "effective_price_per_compute_hour");
    assert!(price["difference"].is_string() && price["ratio"].as_f64().unwrap() > 1.0);
}

#[test]
fn what_one_side_lacks_is_null_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let a = recorded("healthy", 60, &folder.path().join("a.nmp"));
    let b = folder.path().join("gpu.csv");
    let rows: String = (0..60)
        .map(|s| format!("2026/03/01 12:00:{s:02}.000, 0, GPU-a, Some Card, 92 %\n"))
        .collect();
    std::fs::write(
        &b,
        format!("timestamp, index, uuid, name, utilization.gpu [%]\n{rows}"),
    )
    .unwrap();
    let b = b.to_str().unwrap();
    let arguments = ["compare", &a, b, "--tz", "UTC", "--format", "json"];
    let (code, stdout, stderr) = answer(&arguments, None);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let document: Json = serde_json::from_str(&stdout).unwrap();
    check("compare", &document);
    for figure in ["power_ratio", "amount", "energy_kwh", "throttled_seconds"] {
        let row = row(&document, figure);
        assert!(row["a"].is_number() || row["a"].is_string(), "{row}");
        assert!(row["b"].is_null() && row["ratio"].is_null(), "{row}");
        assert_eq!(row["absent"]["b"], "not_reported", "{row}");
    }
    assert_eq!(row(&document, "utilization_ratio")["b"], 0.92);
    for lang in ["en", "zh-CN"] {
        let arguments = ["compare", &a, b, "--tz", "UTC", "--lang", lang];
        let (_, text, _) = answer(&arguments, None);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(text.contains("8 x NVIDIA H100 80GB HBM3"), "{text}");
        assert!(text.contains("--"), "{text}");
    }
}

#[test]
fn currencies_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let a = recorded("healthy", 20, &folder.path().join("a.nmp"));
    // A stream's lines bring their own price.
    let (_, lines, _) = answer(&["export", &a, "--to", "jsonl"], None);
    let b = folder.path().join("b.jsonl");
    std::fs::write(
        &b,
        lines.replace("\"currency\":\"USD\"", "\"currency\":\"CNY\""),
    )
    .unwrap();
    let arguments = ["compare", &a, b.to_str().unwrap(), "--format", "json"];
    let (_, stdout, stderr) = answer(&arguments, None);
    assert_eq!(stderr, "");
    let document: Json = serde_json::from_str(&stdout).unwrap();
    check("compare", &document);
    let amount = row(&document, "amount");
    assert!(
        amount["a"].is_string() && amount["b"].is_string(),
        "{amount}"
    );
    assert_eq!(amount["absent"]["difference"], "not_supported");
    assert_eq!(amount["absent"]["ratio"], "not_supported");
}

#[test]
fn damaged_and_foreign_files_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let a = recorded("healthy", 20, &folder.path().join("a.nmp"));
    let foreign = folder.path().join("b.bin");
    std::fs::write(&foreign, [0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]).unwrap();
    let truncated = folder.path().join("c.nmp");
    let bytes = std::fs::read(&a).unwrap();
    std::fs::write(&truncated, &bytes[..bytes.len() / 8]).unwrap();
    let nowhere = folder.path().join("nowhere.nmp");
    for path in [&foreign, &truncated, &nowhere] {
        let path = path.to_str().unwrap();
        let (code, stdout, stderr) = answer(&["compare", &a, path], None);
        let said = (code, stdout.as_str(), stderr.lines().count());
        assert_eq!(said, (1, "", 1), "{path}: {stderr}");
        assert!(
            stderr.contains("compare") && stderr.contains("next: "),
            "{stderr}"
        );
    }
    let (code, _, stderr) = answer(&["compare", &a], None);
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn tensors_pass_or_fail_with_their_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, last: f32| {
        let values = [3.0f32, 4.0, last].map(f32::to_le_bytes).concat();
        let header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\
                      \"\\u001b[31mx\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}";
        let length = (header.len() as u64).to_le_bytes();
        let path = folder.path().join(name);
        std::fs::write(&path, [&length[..], header.as_bytes(), &values].concat()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (file("a", 1.0), file("b", 1.5));
    let arguments = ["compare", "--tensors", &a, &b, "--format", "json"];
    let (code, stdout, stderr) = answer(&arguments, None);
    assert_eq!((code, stderr.as_str()), (4, ""));
    let document: Json = serde_json::from_str(&stdout).unwrap();
    check("compare", &document);
    assert!(document["a"].is_null());
    let tensors = &document["tensors"];
    assert_eq!(tensors["counts"], serde_json::json!({"pass": 1, "fail": 1}));
    let worst = &tensors["tensors"][0];
    assert_eq!(
        (&worst["why"], &worst["l2_error_ratio"]),
        (&"outside".into(), &0.5.into())
    );
    assert_eq!(worst["largest_difference"], 0.5);
    let wide = ["compare", "--tensors", &a, &b, "--tolerance", "0.5"];
    let (code, text, _) = answer(&wide, None);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("passed") && !text.contains('\u{1b}'),
        "{text}"
    );
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    let recording = recorded("healthy", 20, &folder.path().join("a.nmp"));
    let both = [
        "compare",
        &recording,
        &recording,
        "--tensors",
        &a,
        &a,
        "--format",
        "json",
    ];
    let (code, stdout, _) = answer(&both, None);
    let document: Json = serde_json::from_str(&stdout).unwrap();
    check("compare", &document);
    assert_eq!((code, &document["tensors"]["result"]), (0, &"pass".into()));
    assert!(document["a"].is_object());
    let (code, stdout, stderr) = answer(&["compare", "--tensors", &a, &recording], None);
    assert_eq!(
        (code, stdout.as_str(), stderr.lines().count()),
        (1, "", 1),
        "{stderr}"
    );
    assert!(stderr.contains("neither safetensors nor npy"), "{stderr}");
}
