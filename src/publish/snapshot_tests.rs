#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::sample::{self, PlainWords};
use super::super::{DemoCase, EventCursor, demos_json, platforms_json};
use super::*;
use crate::model::{Figure, Figures, Value};
use boon::{Compiler, SchemaIndex, Schemas};
use proptest::prelude::*;
use std::sync::Arc;

/// Compiles a schema of `assets/schema`.
fn schema(name: &str) -> (Schemas, SchemaIndex) {
    let path = format!("{}/assets/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the schema is there");
    let mut compiler = Compiler::new();
    compiler
        .add_resource(
            "schema.json",
            serde_json::from_str(&text).expect("it is JSON"),
        )
        .expect("a resource");
    let mut schemas = Schemas::new();
    let index = compiler
        .compile("schema.json", &mut schemas)
        .expect("it is a schema");
    (schemas, index)
}

fn check(name: &str, document: &Json) {
    let (schemas, index) = schema(name);
    if let Err(error) = schemas.validate(document, index) {
        panic!("{name}: {error:#}\n{document:#}");
    }
}

fn document() -> Json {
    snapshot_json(&sample::snapshot(), "once", &PlainWords)
}

#[test]
fn documents_fit_their_schemas() {
    check("snapshot", &document());
    check(
        "snapshot",
        &snapshot_json(&sample::empty_snapshot(), "once", &PlainWords),
    );
    let case = DemoCase {
        name: "drift".to_owned(),
        title: "power falls".to_owned(),
        seconds: 130_000.0,
        devices: 1,
        vendor: "nvidia".to_owned(),
        cause: "power_drift".to_owned(),
    };
    check("demos", &demos_json(&[case], sample::at(0)));
    check(
        "platforms",
        &platforms_json(&sample::platform_report(), sample::at(0)),
    );
}

#[test]
fn a_schema_refuses_what_the_contract_does_not_say() {
    let (schemas, index) = schema("snapshot");
    for (pointer, wrong) in [
        ("/devices/0/phase", json!("busy")),
        ("/devices/0/power_w", json!("612")),
        ("/devices/0/pcie/generation", json!(4.5)),
        ("/devices/0/absent", json!({"power_w": "unknown"})),
        ("/cost/amount", json!(38.4)),
        ("/at", json!("2026-03-01T12:04:33Z")),
    ] {
        let mut document = document();
        *document.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(schemas.validate(&document, index).is_err(), "{pointer}");
    }
    let mut document = document();
    document["devices"][0]
        .as_object_mut()
        .unwrap()
        .remove("xid");
    assert!(
        schemas.validate(&document, index).is_err(),
        "a field is missing"
    );
}

/// Every null of a device has its reason, and every reason stands at a null.
#[test]
fn nulls_and_reasons_belong_together() {
    fn nulls(prefix: &str, value: &Json, found: &mut Vec<String>) {
        let Json::Object(map) = value else { return };
        for (name, value) in map {
            let path = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}.{name}")
            };
            match value {
                // A device that is not a part of another has no parent; a verdict may have no begin.
                Json::Null if path != "parent" && path != "verdict.since" => found.push(path),
                other => nulls(&path, other, found),
            }
        }
    }
    let document = document();
    let objects = [
        &document["host"],
        &document["cost"],
        &document["boards"][0],
        &document["devices"][0]["processes"][0],
    ];
    for object in document["devices"]
        .as_array()
        .unwrap()
        .iter()
        .chain(objects)
    {
        let mut found = Vec::new();
        nulls("", object, &mut found);
        found.retain(|path| path != "instance");
        found.sort();
        let mut reasons: Vec<String> = object["absent"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        reasons.sort();
        assert_eq!(found, reasons);
    }
}

#[test]
fn figures_stand_under_their_paths() {
    let document = document();
    let device = &document["devices"][0];
    assert_eq!(device["power_w"], 612.123);
    assert_eq!(device["work_ratio"], 0.3);
    assert_eq!(device["pcie"]["rx_bytes_per_s"], 1_665_000_000_u64);
    assert_eq!(device["nvlink"]["links"], 18);
    assert_eq!(device["absent"]["nvlink.errors"], "not_supported");
    assert_eq!(
        device["age_s"],
        json!({"memory_temperature_c": 12.0, "processes": 4.2})
    );
    assert_eq!(device["absent_detail"]["energy_j"], json!({"raw": 1.8e19}));
    assert_eq!(device["processes"][0]["name"], "python");
    let silent = &document["devices"][1];
    assert_eq!(silent["nvlink"], Json::Null);
    assert_eq!(silent["absent"]["nvlink"], "timed_out");
    assert_eq!(silent["absent"]["pcie.width"], "timed_out");
    assert_eq!(
        silent["absent_detail"]["power_w"],
        json!({"since": "2026-03-01T12:04:03.120Z"})
    );
}

#[test]
fn money_adds_up() {
    let cost = &document()["cost"];
    assert_eq!(cost["amount"], "38.40");
    assert_eq!(
        cost["phase_amounts"],
        json!({"compute": "21.82", "io_wait": "7.55", "queue": "0.00", "idle": "0.00", "unobserved": "0.00", "rounding": "9.03"})
    );
    assert_eq!(cost["idle_amount"], "0.00");
    assert_eq!(cost["estimated"], true);
}

#[test]
fn only_seconds_are_known_without_a_price() {
    let mut snapshot = sample::snapshot();
    if let Some(cost) = &mut snapshot.cost {
        cost.price_per_hour = None;
        cost.amount = None;
        cost.phase_amounts = None;
        cost.phase_seconds.io_wait = None;
    }
    let document = snapshot_json(&snapshot, "once", &PlainWords);
    check("snapshot", &document);
    assert_eq!(document["cost"]["idle_amount"], Json::Null);
    assert_eq!(document["cost"]["phase_seconds"]["io_wait"], Json::Null);
    assert_eq!(document["cost"]["span_seconds"], 8260.0);
}

#[test]
fn an_old_host_sample_is_stale() {
    let mut snapshot = sample::snapshot();
    snapshot.host_age_s = 3.0;
    let document = snapshot_json(&snapshot, "once", &PlainWords);
    assert_eq!(document["host"]["age_s"]["cpu_ratio"], 3.0);
    snapshot.host_age_s = 6.0;
    let document = snapshot_json(&snapshot, "once", &PlainWords);
    assert_eq!(document["host"]["cpu_ratio"], Json::Null);
    assert_eq!(document["host"]["absent"]["cpu_ratio"], "stale");
    assert_eq!(
        document["host"]["absent"]["swap_used_bytes"],
        "not_reported"
    );
    check("snapshot", &document);
}

#[test]
fn a_stream_writes_each_event_once() {
    let mut snapshot = sample::snapshot();
    let mut cursor = EventCursor::default();
    assert_eq!(cursor.advance(&snapshot).len(), 2);
    assert_eq!(cursor.advance(&snapshot).len(), 0);
    snapshot.events = Arc::new(vec![sample::event(2), sample::event(3), sample::event(1)]);
    assert_eq!(
        cursor.advance(&snapshot),
        [sample::event(3), sample::event(1)]
    );
    snapshot.events = Arc::new(vec![sample::event(7)]);
    assert_eq!(cursor.advance(&snapshot).len(), 1);
}

proptest! {
    /// Whatever the figures are, the document is JSON that fits the schema.
    #[test]
    fn any_figure_fits(values in proptest::collection::vec(0.0f64..1e18, Figure::ALL.len()), absent in any::<u64>()) {
        let mut snapshot = sample::snapshot();
        let mut figures = Figures::default();
        for (i, (figure, value)) in Figure::ALL.iter().zip(values).enumerate() {
            let value = if absent >> i & 1 == 1 { Value::absent(Absent::Implausible(value)) } else { Value::fresh(value) };
            figures.set(*figure, value);
        }
        snapshot.devices[0].figures = figures;
        check("snapshot", &snapshot_json(&snapshot, "once", &PlainWords));
    }
}

#[test]
fn a_notice_has_its_time_left_and_steers_no_terminal() {
    let platform = &document()["platform"];
    assert_eq!(platform["age_s"], json!(14.0));
    let notice = &platform["notices"][0];
    // Due at 12:06:33, told at 12:04:33.120.
    assert_eq!(notice["seconds_left"], json!(119.9));
    assert!(!notice["text"].as_str().unwrap().contains('\u{1b}'));
    assert_eq!(platform["claims"]["device_count"], json!(8));
    assert_eq!(platform["claims"]["temperature_c"], json!(null));
}
