//! Verdicts in documents: the numbers, what was turned down, what to do next.

use super::Words;
use super::number::{by_name, rounded, time_or_null};
use crate::model::{DeviceView, Evidence, Rejected};
use crate::text::clean;
use serde_json::{Value as Json, json};

/// `verdict` of a device under the contract's names.
pub(super) fn verdict_json(view: &DeviceView, words: &dyn Words) -> Json {
    let verdict = &view.verdict;
    let mut document = json!({
        "state": verdict.state.word(),
        "cause": verdict.cause.word(),
        "confidence": verdict.confidence.word(),
        "since": time_or_null(verdict.since),
        "counts": verdict.counts,
        "sentence": clean(&words.verdict(view)),
        "evidence": evidence_json(&verdict.evidence),
        "rejected": rejected_json(&verdict.rejected, words),
        "next": next_json(&words.next(view)),
        "also": verdict.also.iter().map(|cause| cause.word()).collect::<Vec<_>>(),
    });
    // Only where waiting would make it sure.
    if let (Some(map), Some(seconds)) = (document.as_object_mut(), verdict.sure_in_s) {
        map.insert("sure_in_s".to_owned(), rounded(seconds, 3));
    }
    document
}

/// `evidence`: each number with its threshold and whose that is.
pub(super) fn evidence_json(list: &[Evidence]) -> Vec<Json> {
    let one = |evidence: &Evidence| {
        let metric = evidence.witness.metric();
        json!({
            "metric": metric,
            "kind": evidence.witness.kind().word(),
            "value": by_name(metric, evidence.value),
            "unit": evidence.witness.unit(),
            "comparison": evidence.comparison.sign(),
            "threshold": by_name(metric, evidence.threshold),
            "whose": evidence.whose.to_string(),
            "window_s": rounded(evidence.window_s, 3),
        })
    };
    list.iter().map(one).collect()
}

/// `rejected`: look-alikes and why they are none.
pub(super) fn rejected_json(list: &[Rejected], words: &dyn Words) -> Vec<Json> {
    list.iter()
        .map(|rejected| {
            json!({"cause": rejected.cause.word(), "why": clean(&words.rejected(rejected))})
        })
        .collect()
}

/// `next`: what to do, with a command where there is one.
pub(super) fn next_json(steps: &[(String, Option<String>)]) -> Vec<Json> {
    steps
        .iter()
        .map(|(text, command)| json!({"text": clean(text), "command": command.as_deref().map(clean)}))
        .collect()
}
