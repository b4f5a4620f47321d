//! The meter in documents.

use super::fields::Fields;
use super::number::{money, price, rounded, time_or_null, timestamp};
use crate::model::{
    Absent, Carbon, Cost, Energy, Flapping, Phase, PhaseSeconds, StartSteps, Startup,
};
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
pub(super) fn phase_amounts(cost: &Cost) -> Option<Vec<Decimal>> {
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
    fields.option("price_age_s", cost.price_age_s.map(|s| rounded(s, 0)), none);
    fields.option("price_at", cost.price_at.map(timestamp), none);
    fields.put("rule", crate::text::clean(&cost.tariff.rule).into_owned());
    fields.put("rule_verified", cost.tariff.verified);
    fields.put("settlement", cost.tariff.settlement.word());
    fields.put("granularity", cost.tariff.granularity().word());
    fields.put("billing_started", timestamp(cost.billing_start.at));
    fields.put("billing_started_source", cost.billing_start.source.word());
    fields.put("estimated", cost.billing_start.source.is_estimate());
    fields.put("span_seconds", rounded(cost.span_seconds, 3));
    fields.put("unbilled_seconds", rounded(cost.unbilled_seconds, 3));
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
    fields.put("utilization_seconds", rounded(cost.utilization_seconds, 3));
    fields.option(
        "work_seconds",
        cost.work_seconds.map(|(sum, _)| rounded(sum, 3)),
        none,
    );
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
    fields.option(
        "projected_month_amount",
        cost.projected_month_amount.map(|a| money(a, currency)),
        none,
    );
    fields.option(
        "wasted_day_amount",
        cost.wasted_day_amount.map(|a| money(a, currency)),
        none,
    );
    fields.option("next_edge", cost.next_edge.map(timestamp), none);
    let extra = |e: &crate::model::ExtraCost| json!({"kind": e.kind.word(), "amount": money(e.amount, currency)});
    fields.put("extras", cost.extras.iter().map(extra).collect::<Json>());
    fields.option(
        "total_amount",
        cost.total_amount.map(|a| money(a, currency)),
        none,
    );
    let flapping = cost.flapping.iter().map(|f| flapping_json(f, cost));
    fields.put("flapping", flapping.collect::<Json>());
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

fn flapping_json(flapping: &Flapping, cost: &Cost) -> Json {
    json!({
        "kind": flapping.kind.word(),
        "cycles": flapping.cycles,
        "period_s": rounded(flapping.period_s, 0),
        "window_s": rounded(flapping.window_s, 0),
        "wasted_seconds": rounded(flapping.wasted_s, 0),
        "wasted_amount": flapping.amount.map(|a| money(a, &cost.currency)),
    })
}

/// Emissions of that energy.
pub(super) fn carbon_json(carbon: &Carbon) -> Json {
    let [low, likely, high] = carbon.pue;
    json!({
        "g_low": rounded(carbon.g_low, 3),
        "g": rounded(carbon.g, 3),
        "g_high": rounded(carbon.g_high, 3),
        "intensity_g_per_kwh": rounded(carbon.intensity_g_per_kwh, 3),
        "pue": rounded(likely, 3),
        "pue_low": rounded(low, 3),
        "pue_high": rounded(high, 3),
        "pue_source": crate::text::clean(&carbon.pue_source),
        "source": crate::text::clean(&carbon.source),
        "year": carbon.year,
    })
}

/// `startup` of a snapshot: this start's times with their sources, and earlier starts on this machine.
pub(super) fn startup_json(startup: &Startup) -> Json {
    let Json::Object(mut map) = steps_json(&startup.now) else {
        return Json::Null;
    };
    let earlier = startup.earlier.iter().map(|past| {
        let mut steps = steps_json(&past.steps);
        if let Some(map) = steps.as_object_mut() {
            map.insert("first_seen".to_owned(), timestamp(past.first_at).into());
            map.insert("last_seen".to_owned(), timestamp(past.last_at).into());
        }
        steps
    });
    map.insert("earlier".to_owned(), earlier.collect());
    Json::Object(map)
}

fn steps_json(steps: &StartSteps) -> Json {
    let mut map = Map::new();
    for (name, step) in steps.named() {
        map.insert(name.to_owned(), time_or_null(step.map(|s| s.at)));
    }
    let sources = steps.named().into_iter();
    let sources: Map<String, Json> = sources
        .filter_map(|(name, step)| Some((name.to_owned(), step?.source.word().into())))
        .collect();
    map.insert("sources".to_owned(), sources.into());
    let until = steps
        .until_compute_s()
        .map_or(Json::Null, |s| rounded(s, 3));
    map.insert("seconds_until_compute".to_owned(), until);
    Json::Object(map)
}
