//! What leaves the program for other programs and for pipes: JSON documents under the contract's names, and plain text.
//!
//! Every document has `schema: "nameplate/1"`; within it fields are only added. A value that is not there is `null`, and
//! `absent` of its object names the reason.

mod compare;
mod compare_tensors;
mod compare_text;
mod cost;
mod demos;
mod device;
mod diagnosis;
mod diagnosis_text;
mod environment;
mod events;
mod fields;
mod linear;
mod number;
mod platform;
mod platforms;
#[cfg(test)]
pub(crate) mod sample;
mod snapshot;
mod table;
mod text;
mod verdict;

pub use compare::{Side, compare_json};
pub use compare_tensors::{TensorCheck, tensors_text};
pub use compare_text::compare_text;
pub use demos::{DemoCase, demos_json};
pub use diagnosis::{Diagnosis, DiagnosisResult, diagnosis_json};
pub use diagnosis_text::diagnosis_text;
pub use events::EventCursor;
pub use linear::{linear_changes, linear_text};
pub use number::timestamp;
pub use platforms::{platforms_json, platforms_text};
pub use snapshot::{name_recorder, snapshot_json, snapshot_json_since};
pub use table::{table_header, table_rows};
pub use text::{TextOptions, snapshot_text};

use crate::model::{CannotSee, Cause, Confidence, Evidence, Snapshot};
use crate::model::{DeviceView, Episode, PlatformView, ProbeReport, Rejected, StateWord};
use serde_json::{Map, Value as Json};

/// The version of the documents; fields are only added within it.
pub const SCHEMA: &str = "nameplate/1";

/// Sentences about what is known, from whoever knows the language. JSON documents are given an English one.
pub trait Words {
    /// The worst thing that is known of a device, as one sentence; never empty.
    fn known(&self, device: &DeviceView) -> String;

    /// The verdict on a device as one sentence with its numbers; where no rule speaks, the worst that is known.
    fn verdict(&self, device: &DeviceView) -> String;

    /// What to do about it: a text, and a command where there is one.
    fn next(&self, device: &DeviceView) -> Vec<(String, Option<String>)>;

    /// An episode as one sentence with its numbers.
    fn episode(&self, episode: &Episode) -> String;

    /// What to do about an episode of this device.
    fn episode_next(&self, episode: &Episode, device: &DeviceView)
    -> Vec<(String, Option<String>)>;

    /// A number with its threshold: what was measured, the number, the threshold, whose that is.
    fn evidence(&self, evidence: &Evidence) -> [String; 4];

    /// A cause in a few words.
    fn cause(&self, cause: Cause) -> String;

    /// How sure a verdict is, in a word.
    fn confidence(&self, confidence: Confidence) -> String;

    /// Which evidence is out of reach, and how to get it.
    fn cannot_see(&self, snapshot: &Snapshot) -> Vec<CannotSee>;

    /// Why a look-alike was turned down.
    fn rejected(&self, rejected: &Rejected) -> String;

    /// What would help a probe that does not work.
    fn probe_next(&self, probe: &ProbeReport) -> Option<String>;

    /// How a probe fares.
    fn probe_status(&self, probe: &ProbeReport) -> String;

    /// What the platform says, piece by piece.
    fn platform(&self, view: &PlatformView, at: jiff::Timestamp) -> Vec<String>;

    /// A throttle reason by its name in the documents, in words.
    fn throttle(&self, name: &str) -> String;

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
