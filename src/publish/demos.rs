//! The list of demo cases as a document.

use super::head;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

/// One case of the demo, as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoCase {
    /// Its name on the command line.
    pub name: String,
    /// One line: what is shown.
    pub title: String,
    /// Simulated seconds until it has shown everything.
    pub seconds: f64,
    /// How many devices it simulates.
    pub devices: u32,
    /// Whose devices they resemble.
    pub vendor: String,
    /// The cause that it simulates (contract.md section 4).
    pub cause: String,
}

/// The `demos` document. `simulated` stands in each case, so that none is ever taken for a real one.
#[must_use]
pub fn demos_json(cases: &[DemoCase], at: Timestamp) -> Json {
    let mut map = head("demos", at);
    let list: Vec<Json> = cases
        .iter()
        .map(|case| {
            json!({
                "name": case.name,
                "title": case.title,
                "seconds": super::number::rounded(case.seconds, 3),
                "devices": case.devices,
                "vendor": case.vendor,
                "cause": case.cause,
                "simulated": true,
            })
        })
        .collect();
    map.insert("demos".to_owned(), list.into());
    Json::Object(map)
}
