//! The `platforms` document (contract.md section 5), and the same for people.

use super::head;
use super::number::{rounded, timestamp};
use super::platform::platform_json;
use crate::model::{
    Candidate, DetectedBy, Gives, Need, PlatformReport, PlatformStatus, PriceScope, Step, StepKind,
    StepResult,
};
use crate::text::{Catalogue, clean};
use crate::units::{Money, format_span};
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// How the platform was looked for, and what came of it.
#[must_use]
pub fn platforms_json(report: &PlatformReport, at: Timestamp) -> Json {
    let mut map = head("platforms", at);
    let chosen = report.chosen.as_ref();
    let platform = report.platform.as_ref();
    for (name, value) in [
        ("asked_network", json!(report.asked_network)),
        ("chosen", json!(chosen.map(|(name, _)| clean(name)))),
        ("chosen_by", json!(chosen.map(|(_, by)| by.word()))),
        (
            "platform",
            platform.map_or(Json::Null, |view| platform_json(view, at)),
        ),
        (
            "candidates",
            report.candidates.iter().map(candidate_json).collect(),
        ),
    ] {
        map.insert(name.to_owned(), value);
    }
    Json::Object(map)
}

fn candidate_json(candidate: &Candidate) -> Json {
    json!({
        "name": clean(&candidate.name),
        "title": clean(&candidate.title),
        "descriptor": clean(&candidate.descriptor),
        "source": clean(&candidate.source),
        "detected": candidate.detected,
        "steps": candidate.steps.iter().map(step_json).collect::<Vec<_>>(),
        "gives": candidate.gives.iter().map(|gives| gives.word()).collect::<Vec<_>>(),
        "adapter": candidate.adapter,
        "needs": candidate.needs.iter().map(need_json).collect::<Vec<_>>(),
    })
}

fn step_json(step: &Step) -> Json {
    json!({
        "step": step.kind.word(),
        "what": clean(&step.what),
        "result": step.result.word(),
        "http_status": step.http_status,
        "ms": step.ms.map(|ms| rounded(ms, 1)),
        "text": step.text.as_deref().map(clean),
    })
}

fn need_json(need: &Need) -> Json {
    json!({
        "key": clean(&need.key),
        "found": need.found,
        "where": need.place.as_deref().map(clean),
    })
}

/// For people: what was found and why where `check`, else the platforms that are known.
#[must_use]
pub fn platforms_text(
    report: &PlatformReport,
    problems: &[String],
    check: bool,
    t: &Catalogue,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let chosen = report.chosen.as_ref().and_then(|(name, by)| {
        let candidate = report.candidates.iter().find(|one| one.name == *name)?;
        Some((candidate, *by))
    });
    match chosen {
        Some((candidate, by)) => {
            lines.push(
                t.platform_found(&candidate.title, known_by(by, t))
                    .into_owned(),
            );
            says(report, t, &mut lines);
            keys(candidate, t, &mut lines);
        }
        None => lines.push(t.platform_none().into_owned()),
    }
    lines.push(String::new());
    if check {
        steps(
            report,
            chosen.map(|(candidate, _)| candidate),
            t,
            &mut lines,
        );
    } else {
        list(report, t, &mut lines);
        lines.push(String::new());
        lines.push(t.platform_check_hint().into_owned());
    }
    lines.extend(
        problems
            .iter()
            .map(|problem| t.platform_file_problem(problem).into_owned()),
    );
    let lines: Vec<String> = lines
        .iter()
        .flat_map(|line| fit(clean(line).trim_end()))
        .collect();
    format!("{}\n", lines.join("\n"))
}

/// Columns of a line.
const WIDTH: usize = 80;

/// A line that is too long, broken between two of its columns, else between words; what follows stands under the third.
fn fit(line: &str) -> Vec<String> {
    let third = columns_of(line).nth(2).unwrap_or(4).min(WIDTH / 2);
    let mut lines = Vec::new();
    let mut rest = line.to_owned();
    while rest.width() > WIDTH {
        let begins = rest.len() - rest.trim_start().len();
        // The last gap that leaves a line short enough.
        let mut at = None;
        let mut columns = 0;
        for (place, c) in rest.char_indices() {
            let two = rest.get(place..).is_some_and(|tail| tail.starts_with("  "));
            let wide = at.is_some_and(|(_, two)| two);
            if c == ' ' && place > begins.max(third) && columns <= WIDTH && (two || !wide) {
                at = Some((place, two));
            }
            columns += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        }
        let Some((place, _)) = at else { break };
        let tail = rest.split_off(place);
        lines.push(rest.trim_end().to_owned());
        rest = format!("{}{}", " ".repeat(third), tail.trim_start());
    }
    lines.push(rest);
    lines
}

/// The columns at which what is set apart by two blanks begins.
fn columns_of(line: &str) -> impl Iterator<Item = usize> {
    let begins = move |(place, c): (usize, char)| {
        let before = line.get(..place)?;
        (c != ' ' && (before.is_empty() || before.ends_with("  "))).then(|| before.width())
    };
    line.char_indices().filter_map(begins)
}

fn known_by(by: DetectedBy, t: &Catalogue) -> Cow<'static, str> {
    match by {
        DetectedBy::Flag => t.platform_by_flag(),
        DetectedBy::Config => t.platform_by_config(),
        DetectedBy::Environment => t.platform_by_environment(),
        DetectedBy::Pid1Environment => t.platform_by_pid1_environment(),
        DetectedBy::Dmi => t.platform_by_dmi(),
        DetectedBy::Metadata => t.platform_by_metadata(),
    }
}

/// What the platform said, a line each.
fn says(report: &PlatformReport, t: &Catalogue, lines: &mut Vec<String>) {
    let Some(view) = &report.platform else { return };
    let platform = &view.platform;
    let named: Vec<&str> = [
        platform.instance_id.as_deref(),
        platform.instance_type.as_deref(),
        platform.region.as_deref(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut say = |text: Cow<'static, str>| lines.push(format!("  {text}"));
    if !named.is_empty() {
        say(named.join("  ").into());
    }
    match (&platform.state, platform.billed_by_state) {
        (Some(state), Some(true)) => say(t.platform_state_billed(state)),
        (Some(state), Some(false)) => say(t.platform_state_not_billed(state)),
        (Some(state), None) => say(state.to_string().into()),
        (None, _) => {}
    }
    if view.still_bills {
        say(t.platform_still_bills());
    }
    if let Some(price) = &platform.price {
        let money = Money {
            amount: price.per_hour,
            currency: price.currency.clone(),
        };
        say(match price.scope {
            PriceScope::Instance => t.platform_price(money),
            PriceScope::Device => t.platform_price_each(money),
        });
    }
    if let Some(start) = platform.billing_started {
        say(t.platform_since(timestamp(start)));
    }
    for notice in &platform.notices {
        let due = notice.at.map(timestamp).unwrap_or_default();
        say(format!("{}  {due}", notice.text).into());
    }
    if platform.notices.is_empty() && report.asked_network {
        say(t.platform_no_notices());
    }
    if let Some(age) = view.age_s {
        say(t.platform_age(format_span(age)));
    }
    if let Some(why) = platform.trouble.as_deref().map(|why| t.trouble(why)) {
        say(match view.status {
            PlatformStatus::Refused => t.platform_refused(why),
            _ => t.platform_stale(why),
        });
    }
}

fn keys(candidate: &Candidate, t: &Catalogue, lines: &mut Vec<String>) {
    if let Some(found) = candidate.needs.iter().find(|need| need.found) {
        let place = found.place.as_deref().unwrap_or_default();
        lines.push(format!("  {}", t.platform_key_found(&found.key, place)));
        return;
    }
    if candidate.needs.is_empty() {
        return;
    }
    let names: Vec<&str> = candidate
        .needs
        .iter()
        .map(|need| need.key.as_str())
        .collect();
    lines.push(format!("  {}", t.platform_key_missing(names.join(", "))));
    // A file that is there and not used says why, with the command to type.
    let reasons = candidate
        .needs
        .iter()
        .filter_map(|need| need.place.as_ref());
    lines.extend(reasons.map(|reason| format!("  {}", t.trouble(reason))));
}

/// What was tried: of the chosen one all, of the others what this host itself has.
fn steps(
    report: &PlatformReport,
    chosen: Option<&Candidate>,
    t: &Catalogue,
    lines: &mut Vec<String>,
) {
    let is_request = |step: &&Step| matches!(step.kind, StepKind::Metadata | StepKind::Api);
    if let Some(chosen) = chosen {
        let asked: Vec<&Step> = chosen.steps.iter().filter(is_request).collect();
        if !asked.is_empty() {
            lines.push(t.platform_asked().into_owned());
            lines.extend(asked.into_iter().map(|step| step_line(step, t)));
            lines.push(String::new());
        }
    }
    lines.push(t.platform_looked().into_owned());
    for candidate in &report.candidates {
        for step in &candidate.steps {
            if step.kind == StepKind::Api || chosen.is_some() && is_request(&step) {
                continue;
            }
            lines.push(format!(
                "{}{}",
                padded(&format!("  {}", candidate.name), 14),
                step_line(step, t)
            ));
        }
    }
}

fn step_line(step: &Step, t: &Catalogue) -> String {
    let result = match step.result {
        StepResult::Match => t.platform_result_match(),
        StepResult::NoMatch => t.platform_result_no_match(),
        StepResult::Absent => t.platform_result_absent(),
        StepResult::TimedOut => t.platform_result_timed_out(),
        StepResult::Refused => t.platform_result_refused(),
        StepResult::NotAsked => t.platform_result_not_asked(),
        StepResult::Error => t.platform_result_error(),
    };
    let kind = match step.kind {
        StepKind::Environment => "environment",
        StepKind::Pid1Environment => "/proc/1/environ",
        StepKind::Dmi => "/sys/class/dmi/id",
        StepKind::Metadata | StepKind::Api => "",
    };
    let mut line = format!("  {}  ", padded(&result, 10));
    if !kind.is_empty() {
        line.push_str(&padded(kind, 19));
    }
    line.push_str(&step.what);
    if let Some(status) = step.http_status {
        line.push_str(&format!("  {status}"));
    }
    if let Some(ms) = step.ms {
        line.push_str(&format!("  {ms:.0} ms"));
    }
    if let Some(text) = &step.text {
        line.push_str(&format!("  {}", t.trouble(text)));
    }
    line
}

fn list(report: &PlatformReport, t: &Catalogue, lines: &mut Vec<String>) {
    lines.push(t.platform_known().into_owned());
    for candidate in &report.candidates {
        let only = candidate
            .gives
            .iter()
            .all(|gives| matches!(gives, Gives::InstanceId | Gives::Region));
        let gives: Vec<Cow<'static, str>> =
            candidate.gives.iter().map(|g| gives_word(*g, t)).collect();
        let mut line = padded(&format!("  {}", candidate.name), 14);
        line.push_str(&padded(&candidate.title, 16));
        line.push_str(&if only {
            t.platform_only_tariff().into_owned()
        } else {
            gives.join(", ")
        });
        if candidate.descriptor != "built-in" {
            line.push_str(&format!("  {}", t.platform_own_file(&candidate.descriptor)));
        }
        lines.push(line);
    }
}

fn gives_word(gives: Gives, t: &Catalogue) -> Cow<'static, str> {
    match gives {
        Gives::InstanceId => t.platform_gives_instance_id(),
        Gives::InstanceType => t.platform_gives_instance_type(),
        Gives::Region => t.platform_gives_region(),
        Gives::Price => t.platform_gives_price(),
        Gives::State => t.platform_gives_state(),
        Gives::Notices => t.platform_gives_notices(),
        Gives::Claims => t.platform_gives_claims(),
        Gives::Bill => t.platform_gives_bill(),
    }
}

fn padded(text: &str, width: usize) -> String {
    let blank = width.saturating_sub(text.width()).max(1);
    format!("{text}{}", " ".repeat(blank))
}
