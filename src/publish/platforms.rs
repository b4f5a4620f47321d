//! The `platforms` document of a version that asks no platform: nothing was asked, nothing was chosen.

use super::head;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

/// The document that says that nothing was looked for.
#[must_use]
pub fn platforms_json(at: Timestamp) -> Json {
    let mut map = head("platforms", at);
    for (name, value) in [
        ("asked_network", json!(false)),
        ("chosen", Json::Null),
        ("chosen_by", Json::Null),
        ("platform", Json::Null),
        ("candidates", json!([])),
    ] {
        map.insert(name.to_owned(), value);
    }
    Json::Object(map)
}
