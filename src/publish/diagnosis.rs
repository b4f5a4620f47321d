//! The diagnosis document: verdicts with evidence, and every episode of a time that was watched.

use super::cost::cost_json;
use super::device::device_json;
use super::number::{money, rounded, time_or_null, timestamp};
use super::verdict::{evidence_json, next_json, rejected_json};
use super::{Words, head};
use crate::model::{
    CannotSee, Confidence, DeviceKind, DeviceView, Episode, Event, EventKind, Phase, Snapshot,
    SourceKind,
};
use crate::text::clean;
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use serde_json::{Map, Value as Json, json};

/// What was watched, and how.
#[derive(Debug, Clone)]
pub struct Diagnosis<'a> {
    /// The view at the end.
    pub snapshot: &'a Snapshot,
    /// When the document is written.
    pub at: Timestamp,
    /// What kind of log was read (`nvidia_smi_csv`...).
    pub format: Option<&'a str>,
    /// Begin and end of what was watched; `None` in a log without times.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Seconds of it that somebody looked at.
    pub observed_seconds: f64,
    /// Time between two ticks.
    pub interval_s: f64,
    /// The zone in which times were read that name none, and where that is known from: `log`, `flag` or `local`.
    pub timezone: (&'a str, &'a str),
    /// What was left out, or taken with a grain of salt: line number (0: the whole file) and text.
    pub warnings: &'a [(u64, String)],
}

/// What came of it, for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosisResult {
    /// Nothing counts.
    Ok,
    /// Something counts.
    Suspected,
    /// Something that counts is sure.
    Certain,
}

impl DiagnosisResult {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Suspected => "suspected",
            Self::Certain => "certain",
        }
    }

    /// The contract's exit code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Suspected => 3,
            Self::Certain => 4,
        }
    }
}

impl Diagnosis<'_> {
    /// All episodes, those that have ended first, each with its device where that is still there.
    pub(super) fn episodes(&self) -> Vec<(&Episode, Option<&DeviceView>)> {
        let devices = &self.snapshot.devices;
        let of = |episode: &Episode| devices.iter().find(|view| view.device.id == episode.device);
        let past = self
            .snapshot
            .past
            .iter()
            .map(|episode| (episode, of(episode)));
        let now = devices
            .iter()
            .flat_map(|view| view.episodes.iter().map(move |e| (e, Some(view))));
        let mut all: Vec<_> = past.chain(now).collect();
        all.sort_by_key(|(episode, _)| episode.begin);
        all
    }

    /// What came of it: verdicts as they stand, and episodes that have ended.
    #[must_use]
    pub fn result(&self) -> DiagnosisResult {
        let graded = |counts: bool, confidence: Confidence| match (counts, confidence) {
            (false, _) => DiagnosisResult::Ok,
            (true, Confidence::Sure) => DiagnosisResult::Certain,
            (true, _) => DiagnosisResult::Suspected,
        };
        let verdicts = self.snapshot.devices.iter().map(|view| {
            let verdict = &view.verdict;
            graded(verdict.counts, verdict.confidence)
        });
        let episodes = self.episodes();
        let episodes = episodes.iter().map(|(e, _)| graded(e.counts, e.confidence));
        verdicts
            .chain(episodes)
            .max()
            .unwrap_or(DiagnosisResult::Ok)
    }

    /// What an episode cost: its seconds at its board's equal share of the price, where the device is the board.
    pub(super) fn amount(&self, episode: &Episode) -> Option<Decimal> {
        let view = self
            .snapshot
            .devices
            .iter()
            .find(|v| v.device.id == episode.device)?;
        let whole = |other: &&DeviceView| {
            other.device.board == view.device.board && other.device.kind == DeviceKind::Device
        };
        if view.device.kind != DeviceKind::Device
            || self.snapshot.devices.iter().filter(whole).count() != 1
        {
            return None;
        }
        let price = self.snapshot.cost.as_ref()?.price_per_hour?;
        let boards = Decimal::from(self.snapshot.boards.len().max(1));
        let hours = Decimal::from_f64(episode.seconds / 3600.0)?;
        (price / boards).checked_mul(hours)
    }

    /// Notes that somebody left in the time that was watched.
    pub(super) fn marks(&self) -> impl Iterator<Item = &Event> {
        let within = |at: Timestamp| self.span.is_some_and(|(from, to)| from <= at && at <= to);
        let events = self.snapshot.events.iter();
        events.filter(move |event| event.kind == EventKind::Mark && within(event.at))
    }

    pub(super) fn is_timed(&self) -> bool {
        self.span.is_some()
    }
}

/// The document (contract.md section 5). `words` are English, whatever the language of the screen.
#[must_use]
pub fn diagnosis_json(diagnosis: &Diagnosis<'_>, words: &dyn Words) -> Json {
    let snapshot = diagnosis.snapshot;
    let mut map = head("diagnosis", diagnosis.at);
    let mut put = |name: &str, value: Json| {
        map.insert(name.to_owned(), value);
    };
    let seconds = |value: f64| {
        if diagnosis.is_timed() {
            rounded(value, 3)
        } else {
            Json::Null
        }
    };
    let file = match &snapshot.source {
        SourceKind::Recording(file) | SourceKind::Log { file, .. } => Some(clean(file)),
        SourceKind::Live | SourceKind::Demo(_) => None,
    };
    put("source", snapshot.source.word().into());
    put("file", file.into());
    put("format", diagnosis.format.into());
    put("from", time_or_null(diagnosis.span.map(|(from, _)| from)));
    put("to", time_or_null(diagnosis.span.map(|(_, to)| to)));
    put("observed_seconds", seconds(diagnosis.observed_seconds));
    put("interval_s", seconds(diagnosis.interval_s));
    put("timezone", clean(diagnosis.timezone.0).into());
    put("timezone_source", diagnosis.timezone.1.into());
    put("result", diagnosis.result().word().into());
    let device = |view: &DeviceView| {
        let mut json = device_json(view, snapshot, words);
        if !diagnosis.is_timed() {
            without_seconds(&mut json);
        }
        json
    };
    put("devices", snapshot.devices.iter().map(device).collect());
    let episodes = diagnosis.episodes();
    let episodes = episodes
        .into_iter()
        .map(|(episode, view)| episode_json(diagnosis, episode, view, words));
    put("episodes", episodes.collect());
    let blind = words.cannot_see(snapshot);
    put("cannot_see", blind.iter().map(cannot_see_json).collect());
    let cost = snapshot.cost.as_ref().filter(|_| diagnosis.is_timed());
    put("cost", cost.map_or(Json::Null, cost_json));
    let marks = diagnosis
        .marks()
        .map(|mark| json!({"at": timestamp(mark.at), "text": clean(&mark.text)}));
    put("marks", marks.collect());
    let warnings = diagnosis.warnings.iter().map(|(line, text)| {
        let line = (*line > 0).then_some(*line);
        json!({"line": line, "text": clean(text)})
    });
    put("warnings", warnings.collect());
    Json::Object(map)
}

fn episode_json(
    diagnosis: &Diagnosis<'_>,
    episode: &Episode,
    view: Option<&DeviceView>,
    words: &dyn Words,
) -> Json {
    let currency = diagnosis.snapshot.cost.as_ref().map(|cost| &cost.currency);
    let amount = diagnosis.amount(episode).zip(currency);
    let next = view
        .map(|view| words.episode_next(episode, view))
        .unwrap_or_default();
    let time = |at: Timestamp| {
        if diagnosis.is_timed() {
            timestamp(at).into()
        } else {
            Json::Null
        }
    };
    let seconds = if diagnosis.is_timed() {
        rounded(episode.seconds, 3)
    } else {
        Json::Null
    };
    json!({
        "device": clean(&episode.device.0),
        "index": view.map(|view| view.device.index),
        "cause": episode.cause.word(),
        "state": episode.state.word(),
        "confidence": episode.confidence.word(),
        "counts": episode.counts,
        "begin": time(episode.begin),
        "suspect_at": time(episode.suspect_at),
        "sure_at": episode.sure_at.map_or(Json::Null, time),
        "end": episode.end.map_or(Json::Null, time),
        "seconds": seconds,
        "amount": amount.map(|(amount, currency)| money(amount, currency)),
        "currency": amount.map(|(_, currency)| currency.code()),
        "sentence": clean(&words.episode(episode)),
        "evidence": evidence_json(&episode.evidence),
        "rejected": rejected_json(&episode.rejected, words),
        "next": next_json(&next),
    })
}

fn cannot_see_json(blind: &CannotSee) -> Json {
    json!({
        "evidence": blind.evidence,
        "devices": blind.devices.iter().map(|id| clean(&id.0)).collect::<Vec<_>>(),
        "reason": clean(&blind.reason),
        "how": clean(&blind.how),
    })
}

/// A device of a log without times: no seconds and no begin are told of it.
fn without_seconds(device: &mut Json) {
    let Some(map) = device.as_object_mut() else {
        return;
    };
    let nulls: Map<String, Json> = Phase::ALL
        .iter()
        .map(|phase| (phase.word().to_owned(), Json::Null))
        .collect();
    map.insert("phase_seconds".to_owned(), nulls.into());
    map.insert("throttle_seconds".to_owned(), Map::new().into());
    if let Some(absent) = map.get_mut("absent").and_then(Json::as_object_mut) {
        for phase in Phase::ALL {
            let path = format!("phase_seconds.{}", phase.word());
            absent.insert(path, "not_reported".into());
        }
    }
    if let Some(verdict) = map.get_mut("verdict").and_then(Json::as_object_mut) {
        verdict.insert("since".to_owned(), Json::Null);
        verdict.remove("sure_in_s");
    }
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
