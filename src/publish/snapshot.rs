//! The snapshot document: `once`, and each line of `stream`.

use super::cost::{carbon_json, cost_json, energy_json, startup_json};
use super::device::{board_json, device_json};
use super::events::event_json;
use super::fields::Fields;
use super::number::{by_name, rounded};
use super::platform::platform_json;
use super::{Words, head};
use crate::model::{Absent, Event, ProbeReport, Snapshot, SourceKind};
use crate::text::clean;
use serde_json::{Value as Json, json};
use std::path::Path;

/// The document with all events of the snapshot. `mode` is the command that writes it: `once`, `screen`...
/// `words` are English, whatever the language of the screen.
#[must_use]
pub fn snapshot_json(snapshot: &Snapshot, mode: &str, words: &dyn Words) -> Json {
    snapshot_json_since(snapshot, mode, words, &snapshot.events)
}

/// The document with these events only: a stream writes each event once (see [`EventCursor`](super::EventCursor)).
#[must_use]
pub fn snapshot_json_since(
    snapshot: &Snapshot,
    mode: &str,
    words: &dyn Words,
    events: &[Event],
) -> Json {
    let interval_s = snapshot.interval.as_secs_f64();
    let mut map = head("snapshot", snapshot.at);
    let mut put = |name: &str, value: Json| {
        map.insert(name.to_owned(), value);
    };
    put("seq", snapshot.seq.into());
    put("interval_s", rounded(interval_s, 3));
    put("dropped", snapshot.dropped.into());
    put("mode", mode.into());
    put("source", snapshot.source.word().into());
    let file = match &snapshot.source {
        SourceKind::Recording(file) | SourceKind::Log { file, .. } => Some(clean(file)),
        SourceKind::Live | SourceKind::Demo(_) => None,
    };
    put("file", file.into());
    put("recorder", Json::Null);
    if let SourceKind::Demo(case) = &snapshot.source {
        put("case", clean(case).into());
    }
    put(
        "probes",
        snapshot
            .probes
            .iter()
            .map(|probe| probe_json(probe, words))
            .collect(),
    );
    put("host", host_json(snapshot));
    put(
        "platform",
        snapshot
            .platform
            .as_ref()
            .map_or(Json::Null, |view| platform_json(view, snapshot.at)),
    );
    put("startup", startup_json(&snapshot.startup));
    put(
        "boards",
        snapshot
            .boards
            .iter()
            .map(|board| board_json(board, interval_s))
            .collect(),
    );
    put(
        "devices",
        snapshot
            .devices
            .iter()
            .map(|view| device_json(view, snapshot, words))
            .collect(),
    );
    put("events", events.iter().map(event_json).collect());
    put("cost", snapshot.cost.as_ref().map_or(Json::Null, cost_json));
    put(
        "energy",
        snapshot.energy.as_ref().map_or(Json::Null, energy_json),
    );
    put(
        "carbon",
        snapshot.carbon.as_ref().map_or(Json::Null, carbon_json),
    );
    Json::Object(map)
}

/// Says in a snapshot document that it was read from another process's recording, and from which. Without this its
/// `recorder` is null: the devices were asked by the process that wrote it.
pub fn name_recorder(document: &mut Json, pid: u32, file: &Path) {
    let file = file.to_string_lossy();
    document["recorder"] = json!({"pid": pid, "file": clean(&file)});
}

fn probe_json(probe: &ProbeReport, words: &dyn Words) -> Json {
    json!({
        "vendor": probe.vendor.word(),
        "library": clean(&probe.library),
        "path": probe.path.as_deref().map(clean),
        "version": probe.version.as_deref().map(clean),
        "status": probe.status.word(),
        "message": probe.message.as_deref().map(clean),
        "next": words.probe_next(probe).as_deref().map(clean),
        "code": probe.code,
    })
}

/// The host's part; readings older than five intervals are stale.
fn host_json(snapshot: &Snapshot) -> Json {
    let interval_s = snapshot.interval.as_secs_f64();
    let stale = snapshot.host_age_s > 5.0 * interval_s;
    let mut fields = Fields::new(interval_s);
    fields.reading(
        "name",
        snapshot.host.name.as_deref().map_err(|why| *why),
        |name| clean(name).into_owned(),
    );
    for (name, reading) in snapshot.host_sample.figures() {
        let reading = if stale {
            reading.and(Err(Absent::Stale))
        } else {
            reading
        };
        fields.reading(name, reading, |number| by_name(name, number));
        if reading.is_ok() {
            fields.age(name, snapshot.host_age_s);
        }
    }
    fields.reading("psi_scope", snapshot.host_sample.psi_scope, |scope| {
        scope.word()
    });
    fields.finish(false)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
