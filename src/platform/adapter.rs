//! Platforms whose answers data cannot describe, read in code. Each is named in its descriptor and listed here.

use super::reader::{About, Facts, Read};
use super::value::{Said, decimal, text, time};
use crate::model::{Gives, PastStart};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde_json::Value as Json;
use std::sync::Arc;

/// An adapter.
pub(super) trait Adapter: Read + Sync {
    /// Its name in descriptors.
    fn name(&self) -> &'static str;
    /// What it reads.
    fn gives(&self) -> Vec<Gives>;
}

/// All of them.
const LIST: [&dyn Adapter; 1] = [&UsageEvents];

/// Events that are looked at.
const EVENTS: usize = 10_000;
/// Runs that are kept of them, the newest.
const RUNS: usize = 16;

/// The adapter of a name.
pub(super) fn of(name: &str) -> Option<&'static dyn Adapter> {
    LIST.iter().copied().find(|adapter| adapter.name() == name)
}

/// `GET /v1/billing/usage`: pairs of events, of which one without an end is what goes on now. The state is the name of
/// what began last and has not ended, and a pair inside another (a wait inside compute) is seen first.
struct UsageEvents;

impl Adapter for UsageEvents {
    fn name(&self) -> &'static str {
        "usage-events"
    }

    fn gives(&self) -> Vec<Gives> {
        vec![Gives::InstanceId, Gives::Price, Gives::State, Gives::Bill]
    }
}

/// What a bill's unit means in seconds.
fn seconds_of(unit: &str) -> Option<Decimal> {
    let seconds = match unit {
        "hour" | "h" | "hours" => 3600,
        "minute" | "min" | "minutes" => 60,
        "second" | "s" | "seconds" => 1,
        _ => return None,
    };
    Some(Decimal::from(seconds))
}

impl Read for UsageEvents {
    fn read(&self, said: &Said, about: &About<'_>) -> Facts {
        let Said::Json(json) = said else {
            return Facts::default();
        };
        let at = |name: &str| {
            json.pointer(name)
                .or_else(|| json.pointer("/bill").and_then(|bill| bill.pointer(name)))
                .filter(|found| !found.is_null())
        };
        let price = at("/unit_price").and_then(decimal).and_then(|price| {
            let unit = at("/unit").and_then(text);
            let unit = seconds_of(unit.as_deref().unwrap_or("hour"))?;
            price.checked_mul(Decimal::from(3600))?.checked_div(unit)
        });
        let mut events: Vec<(Timestamp, Arc<str>)> = json
            .pointer("/events")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .take(EVENTS)
            .filter_map(|event| {
                let at = time(event.get("ts")?, None)?;
                Some((at, text(event.get("event_type")?)?))
            })
            .collect();
        events.sort_by_key(|(at, _)| *at);
        let runs = runs(&events);
        Facts {
            instance_id: at("/instance_id").and_then(text),
            price: price.filter(|price| *price > Decimal::ZERO),
            currency: at("/currency")
                .and_then(text)
                .and_then(|code| code.parse().ok()),
            billing_started: runs
                .last()
                .map(|run| run.begin)
                .filter(|at| *at <= about.now),
            runs: runs.iter().filter_map(Run::over).collect(),
            state: state(&events),
            ..Facts::default()
        }
    }
}

/// What began and has not ended, the newest; `ended` where all has.
fn state(events: &[(Timestamp, Arc<str>)]) -> Option<Arc<str>> {
    let mut open: Vec<&str> = Vec::new();
    for (_, kind) in events {
        follow(&mut open, kind);
    }
    match open.last() {
        Some(name) => Some(Arc::from(*name)),
        None if events.is_empty() => None,
        None => Some(Arc::from("ended")),
    }
}

/// Opens or closes what an event is of.
fn follow<'a>(open: &mut Vec<&'a str>, kind: &'a str) {
    if let Some(name) = kind.strip_suffix("_start") {
        open.push(name);
    } else if let Some(name) = kind.strip_suffix("_end")
        && let Some(place) = open.iter().rposition(|known| *known == name)
    {
        open.remove(place);
    }
}

/// A time in which the instance was billed for something, without a break.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    begin: Timestamp,
    end: Option<Timestamp>,
    compute: Option<Timestamp>,
}

impl Run {
    fn over(&self) -> Option<PastStart> {
        Some(PastStart::told(self.begin, self.end?, self.compute))
    }
}

/// The runs that events in their order tell of: one phase after another without a break is one run.
fn runs(events: &[(Timestamp, Arc<str>)]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, kind) in events {
        let before = open.len();
        follow(&mut open, kind);
        if before == 0 && !open.is_empty() {
            let goes_on = (runs.last_mut()).filter(|run| run.end == Some(*at));
            match goes_on {
                Some(run) => run.end = None,
                None => runs.push(Run {
                    begin: *at,
                    end: None,
                    compute: None,
                }),
            }
        }
        let Some(run) = runs.last_mut() else { continue };
        if &**kind == "compute_start" {
            run.compute.get_or_insert(*at);
        }
        if before > 0 && open.is_empty() {
            run.end = Some(*at);
        }
    }
    let most = runs.len().saturating_sub(RUNS);
    runs.drain(..most);
    runs
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn read(json: Json) -> Facts {
        let now = "2026-11-29T08:00:00Z".parse().unwrap();
        UsageEvents.read(&Said::Json(json), &About { now, name: None })
    }

    #[test]
    fn what_has_begun_and_not_ended_is_the_state() {
        let event = |kind: &str, ts: &str| json!({"event_type": kind, "ts": ts});
        let mut events = vec![
            event("queue_start", "2026-11-29T12:00:00+08:00"),
            event("queue_end", "2026-11-29T12:04:10+08:00"),
            event("compute_start", "2026-11-29T12:04:10+08:00"),
            event("io_wait_start", "2026-11-29T12:40:00+08:00"),
        ];
        let facts = read(json!({
            "instance_id": "i-1", "currency": "CNY", "unit_price": 12.8, "unit": "hour", "events": events,
        }));
        assert_eq!(facts.state.as_deref(), Some("io_wait"));
        assert_eq!(facts.price, Some(Decimal::new(128, 1)));
        assert_eq!(
            facts.billing_started.unwrap().to_string(),
            "2026-11-29T04:00:00Z"
        );
        events.push(event("io_wait_end", "2026-11-29T12:47:30+08:00"));
        assert_eq!(
            read(json!({"events": events})).state.as_deref(),
            Some("compute")
        );
        events.push(event("compute_end", "2026-11-29T13:53:58+08:00"));
        assert_eq!(
            read(json!({"events": events})).state.as_deref(),
            Some("ended")
        );
    }

    /// Two short lives and one that goes on: each a pair of its own, whatever was inside.
    #[test]
    fn starts_and_stops_are_lives_of_their_own() {
        let event = |kind: &str, minute: &str| json!({"event_type": kind, "ts": format!("2026-11-29T07:{minute}:00Z")});
        let facts = read(json!({"events": [
            event("compute_start", "10"), event("compute_end", "14"),
            event("queue_start", "20"), event("queue_end", "21"),
            event("compute_start", "21"), event("io_wait_start", "22"), event("io_wait_end", "23"),
            event("compute_end", "25"),
            event("queue_start", "30"),
        ]}));
        let at = |text: &str| -> Timestamp { format!("2026-11-29T07:{text}:00Z").parse().unwrap() };
        let lives = [
            PastStart::told(at("10"), at("14"), Some(at("10"))),
            PastStart::told(at("20"), at("25"), Some(at("21"))),
        ];
        assert_eq!(facts.runs, lives);
        assert_eq!(facts.billing_started, Some(at("30")));
        let event = lives[1].event(at("31"), "Usage API");
        assert_eq!(PastStart::of_event(&event), Some(lives[1]));
        assert_eq!(
            &*event.text,
            "Usage API: it ran for 5m 00s from 2026-11-29T07:20:00Z"
        );
    }

    #[test]
    fn units_of_prices_are_minded_and_nonsense_is_nothing() {
        let by_second =
            read(json!({"bill": {"unit_price": "0.002", "currency": "USD"}, "unit": "second"}));
        assert_eq!(by_second.price.unwrap().normalize().to_string(), "7.2");
        for odd in [
            json!({}),
            json!([1]),
            json!({"events": [{"ts": 5}], "unit_price": "x"}),
            json!({"unit_price": 1, "unit": "fortnight"}),
        ] {
            assert_eq!(read(odd), Facts::default());
        }
    }
}
