//! Platforms whose answers data cannot describe, read in code. Each is named in its descriptor and listed here.

use super::reader::{About, Facts, Read};
use super::value::{Said, decimal, text, time};
use crate::model::Gives;
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
        let events: Vec<(Timestamp, Arc<str>)> = json
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
        Facts {
            instance_id: at("/instance_id").and_then(text),
            price: price.filter(|price| *price > Decimal::ZERO),
            currency: at("/currency")
                .and_then(text)
                .and_then(|code| code.parse().ok()),
            billing_started: events
                .iter()
                .map(|(at, _)| *at)
                .min()
                .filter(|at| *at <= about.now),
            state: state(events),
            ..Facts::default()
        }
    }
}

/// What began and has not ended, the newest; `ended` where all has.
fn state(mut events: Vec<(Timestamp, Arc<str>)>) -> Option<Arc<str>> {
    events.sort_by_key(|(at, _)| *at);
    let mut open: Vec<&str> = Vec::new();
    for (_, kind) in &events {
        if let Some(name) = kind.strip_suffix("_start") {
            open.push(name);
        } else if let Some(name) = kind.strip_suffix("_end")
            && let Some(place) = open.iter().rposition(|known| *known == name)
        {
            open.remove(place);
        }
    }
    match open.last() {
        Some(name) => Some(Arc::from(*name)),
        None if events.is_empty() => None,
        None => Some(Arc::from("ended")),
    }
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
