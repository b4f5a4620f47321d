//! The meter in documents.

use super::fields::Fields;
use super::number::{money, price, rounded, timestamp};
use crate::model::{Absent, Cost, Energy, Phase, PhaseSeconds};
use crate::units::split_by_largest_remainder;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Map, Value as Json, json};

/// Seconds by phase; io-wait that cannot be seen is null.
pub(super) fn phase_seconds_json(seconds: &PhaseSeconds) -> Json {
    let mut map = Map::new();
    for phase in Phase::ALL {
        let value = match phase {
            Phase::IoWait => seconds.io_wait.map_or(Json::Null, |s| rounded(s, 3)),
            _ => rounded(seconds.get(phase), 3),
        };
        map.insert(phase.word().to_owned(), value);
    }
    Json::Object(map)
}

/// The parts of an amount, rounded to the currency so that they add up to the rounded amount.
fn phase_amounts(cost: &Cost) -> Option<Vec<Decimal>> {
    let shares: Vec<f64> = cost
        .phase_amounts?
        .iter()
        .map(|part| part.to_f64().unwrap_or(0.0))
        .collect();
    Some(split_by_largest_remainder(
        cost.amount?,
        &shares,
        cost.currency.decimals(),
    ))
}

/// `cost` of a snapshot (contract.md section 3). Prices and amounts are null when only the seconds are known.
pub(super) fn cost_json(cost: &Cost) -> Json {
    let currency = &cost.currency;
    let none = Absent::NotReported;
    let parts = phase_amounts(cost);
    let mut fields = Fields::default();
    fields.put("currency", currency.code());
    fields.option(
        "price_per_hour",
        cost.price_per_hour.map(|p| price(p, currency)),
        none,
    );
    fields.put("price_scope", cost.price_scope.word());
    fields.put("price_source", cost.price_source.word());
    fields.put_absent("price_age_s", none);
    fields.put("rule", crate::text::clean(&cost.rule).into_owned());
    fields.put("granularity", cost.granularity.word());
    fields.put("billing_started", timestamp(cost.billing_start.at));
    fields.put("billing_started_source", cost.billing_start.source.word());
    fields.put("estimated", cost.billing_start.source.is_estimate());
    fields.put("span_seconds", rounded(cost.span_seconds, 3));
    fields.put("billed_seconds", rounded(cost.billed_seconds, 3));
    fields.put("rounding_seconds", rounded(cost.rounding_seconds, 3));
    fields.option("amount", cost.amount.map(|a| money(a, currency)), none);
    fields.put("phase_seconds", phase_seconds_json(&cost.phase_seconds));
    if cost.phase_seconds.io_wait.is_none() {
        fields.put_absent("phase_seconds.io_wait", none);
    }
    fields.option(
        "phase_amounts",
        parts.as_deref().map(|parts| amounts_json(parts, cost)),
        none,
    );
    fields.put("any_compute_seconds", rounded(cost.any_compute_seconds, 3));
    let idle = parts.as_ref().and_then(|parts| parts.get(3));
    fields.option("idle_amount", idle.map(|a| money(*a, currency)), none);
    fields.put("idle_held_seconds", rounded(cost.idle_held_seconds, 3));
    let of = &cost.of_which;
    fields.option(
        "of_which.stalled_s",
        of.stalled_s.map(|s| rounded(s, 3)),
        none,
    );
    fields.option(
        "of_which.stalled_amount",
        of.stalled_amount.map(|a| money(a, currency)),
        none,
    );
    fields.option(
        "of_which.throttled_s",
        of.throttled_s.map(|s| rounded(s, 3)),
        none,
    );
    fields.option(
        "of_which.throttled_amount",
        of.throttled_amount.map(|a| money(a, currency)),
        none,
    );
    fields.option(
        "available_ratio",
        cost.available_ratio.map(|r| rounded(r, 6)),
        none,
    );
    let effective = cost
        .effective_price_per_compute_hour
        .map(|p| money(p, currency));
    fields.option("effective_price_per_compute_hour", effective, none);
    fields.option(
        "projected_day_amount",
        cost.projected_day_amount.map(|a| money(a, currency)),
        none,
    );
    fields.option("next_edge", cost.next_edge.map(timestamp), none);
    fields.option("budget", cost.budget.map(|a| money(a, currency)), none);
    fields.option("budget_reached", cost.budget_reached.map(timestamp), none);
    fields.finish(false)
}

fn amounts_json(parts: &[Decimal], cost: &Cost) -> Json {
    let names = Phase::ALL.iter().map(|p| p.word()).chain(["rounding"]);
    names
        .zip(parts)
        .map(|(name, part)| (name.to_owned(), money(*part, &cost.currency)))
        .collect::<Map<_, _>>()
        .into()
}

/// Energy since the first sample.
pub(super) fn energy_json(energy: &Energy) -> Json {
    json!({"kwh": rounded(energy.kwh, 6), "scope": energy.scope, "estimated": energy.estimated})
}
