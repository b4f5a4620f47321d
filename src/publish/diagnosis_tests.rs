#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::sample::{self, PlainWords, at};
use super::super::{TextOptions, diagnosis_text};
use super::*;
use crate::model::{
    Cause, Comparison, DeviceId, Evidence, Rejected, VerdictState, Whose, Why, Witness,
};
use crate::text::{Catalogue, Lang};
use boon::{Compiler, Schemas};
use jiff::tz::TimeZone;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr as _;

fn check(document: &Json) {
    let mut compiler = Compiler::new();
    for name in ["diagnosis", "snapshot"] {
        let path = format!("{}/assets/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let json = serde_json::from_str(&text).unwrap();
        compiler
            .add_resource(&format!("{name}.json"), json)
            .unwrap();
    }
    let mut schemas = Schemas::new();
    let index = compiler.compile("diagnosis.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(document, index) {
        panic!("{error:#}\n{document:#}");
    }
}

fn evidence() -> Evidence {
    Evidence {
        witness: Witness::PowerOfReference,
        value: 0.912,
        comparison: Comparison::Less,
        threshold: 0.96,
        whose: Whose::Article,
        window_s: 3600.0,
    }
}

fn episode(device: &DeviceId, confidence: Confidence, end: Option<Timestamp>) -> Episode {
    Episode {
        device: device.clone(),
        cause: Cause::PowerDrift,
        state: VerdictState::Throttled,
        confidence,
        counts: true,
        begin: at(-3_600_000),
        suspect_at: at(-1_800_000),
        sure_at: (confidence == Confidence::Sure).then(|| at(-600_000)),
        end,
        seconds: 3600.0,
        evidence: vec![evidence()],
        rejected: vec![Rejected {
            cause: Cause::WorkChanged,
            why: Why::Against(evidence()),
        }],
    }
}

/// A snapshot whose first device drifts, and did before.
fn drifting(confidence: Confidence) -> Snapshot {
    let mut snapshot = sample::snapshot();
    let id = snapshot.devices[0].device.id.clone();
    let now = episode(&id, confidence, None);
    let verdict = &mut snapshot.devices[0].verdict;
    verdict.cause = now.cause;
    verdict.state = now.state;
    verdict.confidence = confidence;
    verdict.counts = true;
    verdict.evidence.clone_from(&now.evidence);
    verdict.rejected.clone_from(&now.rejected);
    verdict.sure_in_s = (confidence != Confidence::Sure).then_some(2400.0);
    snapshot.devices[0].episodes = vec![now];
    let mut past = episode(&id, Confidence::Suspect, Some(at(-7_000_000)));
    past.begin = at(-9_000_000);
    past.seconds = 2000.0;
    snapshot.past = Arc::new(vec![past]);
    snapshot
}

fn diagnosis<'a>(snapshot: &'a Snapshot, warnings: &'a [(u64, String)]) -> Diagnosis<'a> {
    Diagnosis {
        snapshot,
        at: at(1000),
        format: None,
        span: Some((at(-10_000_000), at(0))),
        observed_seconds: 9999.0,
        interval_s: 1.0,
        timezone: ("Asia/Shanghai", "flag"),
        warnings,
    }
}

#[test]
fn the_document_fits_its_schema_and_says_what_is_counted() {
    for (confidence, result, code) in [
        (Confidence::Sure, "certain", 4),
        (Confidence::Suspect, "suspected", 3),
    ] {
        let snapshot = drifting(confidence);
        let warnings = [
            (7, "the last line is cut off".to_owned()),
            (0, "x".to_owned()),
        ];
        let diagnosis = diagnosis(&snapshot, &warnings);
        let document = diagnosis_json(&diagnosis, &PlainWords);
        check(&document);
        assert_eq!(document["result"], result);
        assert_eq!(diagnosis.result().exit_code(), code);
        assert_eq!(document["warnings"][0]["line"], 7);
        assert_eq!(document["warnings"][1]["line"], Json::Null);
        let episodes = document["episodes"].as_array().unwrap();
        assert_eq!(episodes.len(), 2);
        assert_eq!(episodes[0]["end"], "2026-03-01T10:07:53.000Z");
        assert_eq!(episodes[1]["end"], Json::Null);
        assert_eq!(
            episodes[1]["sure_at"].is_null(),
            confidence != Confidence::Sure
        );
    }
    let snapshot = sample::snapshot();
    let document = diagnosis_json(&diagnosis(&snapshot, &[]), &PlainWords);
    check(&document);
    assert_eq!(document["result"], "ok");
}

#[test]
fn an_episode_costs_its_boards_share_of_the_price() {
    let snapshot = drifting(Confidence::Sure);
    let diagnosis = diagnosis(&snapshot, &[]);
    let document = diagnosis_json(&diagnosis, &PlainWords);
    let cost = snapshot.cost.as_ref().unwrap();
    let share = cost.price_per_hour.unwrap() / Decimal::from(snapshot.boards.len());
    let amount = document["episodes"][1]["amount"].as_str().unwrap();
    assert_eq!(amount, share.round_dp(2).to_string());
    assert_eq!(document["episodes"][1]["currency"], "USD");
}

#[test]
fn without_times_nothing_is_said_of_seconds() {
    let snapshot = drifting(Confidence::Suspect);
    let diagnosis = Diagnosis {
        span: None,
        ..diagnosis(&snapshot, &[])
    };
    let document = diagnosis_json(&diagnosis, &PlainWords);
    check(&document);
    for path in ["/from", "/to", "/observed_seconds", "/interval_s", "/cost"] {
        assert!(document.pointer(path).unwrap().is_null(), "{path}");
    }
    let device = &document["devices"][0];
    assert!(device["verdict"]["since"].is_null());
    assert!(device["phase_seconds"]["compute"].is_null());
    assert_eq!(device["absent"]["phase_seconds.compute"], "not_reported");
    assert!(document["episodes"][0]["begin"].is_null());
}

fn text(diagnosis: &Diagnosis<'_>, lang: Lang, ascii: bool) -> String {
    let options = TextOptions { width: 80, ascii };
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    diagnosis_text(
        diagnosis,
        &zone,
        &PlainWords,
        &Catalogue::new(lang),
        options,
    )
}

#[test]
fn the_text_fits_80_columns_and_says_what_it_rests_on() {
    let snapshot = drifting(Confidence::Suspect);
    let warnings = [(7, "the last line is cut off: left out".to_owned())];
    let diagnosis = diagnosis(&snapshot, &warnings);
    for lang in [Lang::En, Lang::ZhCn] {
        for line in text(&diagnosis, lang, false).lines() {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
    }
    let page = text(&diagnosis, Lang::En, true);
    assert!(page.is_ascii(), "{page}");
    insta::assert_snapshot!(page);
}
