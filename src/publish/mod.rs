//! What leaves the program for other programs and for pipes: JSON documents under the contract's names, and plain text.
//!
//! Every document has `schema: "nameplate/1"`; within it fields are only added. A value that is not there is `null`, and
//! `absent` of its object names the reason.

mod cost;
mod demos;
mod device;
mod events;
mod fields;
mod number;
mod platform;
mod platforms;
#[cfg(test)]
pub(crate) mod sample;
mod snapshot;
mod table;
mod text;

pub use demos::{DemoCase, demos_json};
pub use events::EventCursor;
pub use number::timestamp;
pub use platforms::{platforms_json, platforms_text};
pub use snapshot::{snapshot_json, snapshot_json_since};
pub use table::{table_header, table_rows};
pub use text::{TextOptions, snapshot_text};

use crate::model::{DeviceView, PlatformView, ProbeReport, StateWord};
use serde_json::{Map, Value as Json};

/// The version of the documents; fields are only added within it.
pub const SCHEMA: &str = "nameplate/1";

/// Sentences about what is known, from whoever knows the language. JSON documents are given an English one.
pub trait Words {
    /// The worst thing that is known of a device, as one sentence; never empty.
    fn known(&self, device: &DeviceView) -> String;

    /// What to do about it: a text, and a command where there is one.
    fn next(&self, device: &DeviceView) -> Vec<(String, Option<String>)>;

    /// What would help a probe that does not work.
    fn probe_next(&self, probe: &ProbeReport) -> Option<String>;

    /// How a probe fares.
    fn probe_status(&self, probe: &ProbeReport) -> String;

    /// What the platform says, piece by piece.
    fn platform(&self, view: &PlatformView, at: jiff::Timestamp) -> Vec<String>;

    /// The state of a device's row in one word.
    fn state(&self, word: StateWord) -> String;
}

/// The fields that every document begins with.
fn head(document: &str, at: jiff::Timestamp) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("schema".to_owned(), SCHEMA.into());
    map.insert("document".to_owned(), document.into());
    map.insert("nameplate".to_owned(), env!("CARGO_PKG_VERSION").into());
    map.insert("at".to_owned(), timestamp(at).into());
    map
}
