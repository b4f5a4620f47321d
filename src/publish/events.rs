//! Events in documents, and which of them a stream has already written.

use super::number::timestamp;
use crate::model::{Event, Snapshot};
use crate::text::clean;
use serde_json::{Map, Value as Json, json};

/// Remembers the last event that was written, so that each line of a stream has only those that are new to it.
#[derive(Debug, Default)]
pub struct EventCursor {
    last: Option<Event>,
}

impl EventCursor {
    /// The events of this snapshot that no earlier call has returned; moves on to its newest.
    /// Where the last one has left the snapshot's window, all of the window is new.
    pub fn advance<'a>(&mut self, snapshot: &'a Snapshot) -> &'a [Event] {
        let events = snapshot.events.as_slice();
        let seen = self
            .last
            .as_ref()
            .and_then(|last| events.iter().rposition(|event| event == last))
            .map_or(0, |index| index + 1);
        if let Some(newest) = events.last() {
            self.last = Some(newest.clone());
        }
        events.get(seen..).unwrap_or_default()
    }
}

/// One event (contract.md section 3).
pub(super) fn event_json(event: &Event) -> Json {
    let data: Map<String, Json> = event
        .data
        .iter()
        .map(|(name, value)| (clean(name).into_owned(), clean(value).into()))
        .collect();
    json!({
        "at": timestamp(event.at),
        "device": event.device.as_ref().map(|id| clean(&id.0)),
        "kind": event.kind.word(),
        "text": clean(&event.text),
        "data": data,
    })
}
