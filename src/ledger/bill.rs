//! From seconds to money: rounding by the quantum, parts that add up, projections.

use super::{Ledger, moved};
use crate::model::{Charge, Config, Cost, OfWhich, Phase, PhaseSeconds, PriceScope, PriceSource};
use crate::units::{Money, split_by_largest_remainder};
use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};

/// Sums of floating-point seconds may exceed a whole quantum by this much without starting another.
const SLACK_S: f64 = 1e-6;

const HOUR_S: Decimal = Decimal::from_parts(3600, 0, 0, false, 0);

/// The span rounded up to whole quanta: a quantum that has begun is billed (`second` bills begun seconds).
pub(super) fn billed_seconds(span: f64, quantum: f64) -> f64 {
    ((span - SLACK_S).max(0.0) / quantum).ceil() * quantum
}

/// Price of the instance per hour. A price per device counts once per board: cards are rented, not their dies or
/// slices.
fn instance_price(config: &Config, boards: u32) -> Option<Decimal> {
    let price = config.price.as_ref()?;
    match price.scope {
        PriceScope::Instance => Some(price.per_hour),
        PriceScope::Device if boards == 0 => None,
        PriceScope::Device => price.per_hour.checked_mul(Decimal::from(boards)),
    }
}

fn amount_of(per_hour: Decimal, seconds: f64) -> Option<Decimal> {
    Decimal::try_from(seconds)
        .ok()?
        .checked_mul(per_hour)?
        .checked_div(HOUR_S)
}

/// What seconds of one board cost, before any rounding of the bill.
pub(super) fn charge(ledger: &Ledger, seconds: f64) -> Option<Charge> {
    let boards = ledger.state.boards_billed;
    let price = instance_price(&ledger.config, boards)?;
    let per_hour = price.checked_div(Decimal::from(boards))?;
    let money = |amount| Money {
        amount,
        currency: ledger.config.currency.clone(),
    };
    Some(Charge {
        per_hour: money(per_hour),
        amount: money(amount_of(per_hour, seconds)?),
    })
}

pub(super) fn cost(ledger: &Ledger, now: Timestamp) -> Option<Cost> {
    let (config, state) = (&ledger.config, &ledger.state);
    let billing_start = state.start?;
    let span = ledger.span(now);
    // Where a named start is still to come, edges count from it.
    let origin = moved(now.max(billing_start.at), -span);
    let quantum = config.granularity.seconds();
    let billed = billed_seconds(span, quantum);
    let rounding = (billed - span).max(0.0);
    let phases = state.instance.phase_seconds(span);
    let price = instance_price(config, state.boards_billed);
    let decimals = config.currency.decimals();
    // Rounded here, once, so that amount and parts are the same money everywhere.
    let amount = price
        .and_then(|p| amount_of(p, billed))
        .map(|a| a.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero));
    Some(Cost {
        currency: config.currency.clone(),
        price_per_hour: price,
        price_scope: config
            .price
            .as_ref()
            .map_or(PriceScope::Instance, |p| p.scope),
        price_source: config
            .price
            .as_ref()
            .map_or(PriceSource::None, |p| p.source),
        rule: format!("started_{}s", config.granularity.word()),
        granularity: config.granularity,
        billing_start,
        span_seconds: span,
        billed_seconds: billed,
        rounding_seconds: rounding,
        amount,
        phase_seconds: phases,
        phase_amounts: amount.and_then(|a| phase_amounts(a, &phases, rounding, decimals)),
        any_compute_seconds: state.any_compute,
        idle_held_seconds: state.instance.idle_held,
        of_which: OfWhich::default(),
        available_ratio: (state.looked > 0.0 && state.boards_billed > 0)
            .then(|| state.available / state.looked),
        effective_price_per_compute_hour: amount.and_then(|a| per_compute_hour(a, phases.compute)),
        projected_day_amount: price.and_then(|p| p.checked_mul(Decimal::from(24))),
        next_edge: Some(moved(origin, billed.max(quantum))),
        budget: config.budget,
        budget_reached: price
            .zip(config.budget)
            .and_then(|(p, b)| budget_reached(p, b, quantum))
            .map(|at_second| moved(origin, at_second)),
    })
}

/// The amount over the phases and the rounding, in the order of `Phase::ALL`.
fn phase_amounts(
    amount: Decimal,
    phases: &PhaseSeconds,
    rounding: f64,
    decimals: u32,
) -> Option<[Decimal; 6]> {
    let mut shares = Phase::ALL.map(|p| phases.get(p)).to_vec();
    shares.push(rounding);
    split_by_largest_remainder(amount, &shares, decimals)
        .try_into()
        .ok()
}

/// What an hour of compute really costs; absent before the first second of it.
fn per_compute_hour(amount: Decimal, compute: f64) -> Option<Decimal> {
    if compute < 1.0 {
        return None;
    }
    let hours = Decimal::try_from(compute).ok()?.checked_div(HOUR_S)?;
    amount.checked_div(hours)
}

/// Seconds after the start at which the amount first reaches the budget: the begin of the quantum that does.
fn budget_reached(per_hour: Decimal, budget: Decimal, quantum: f64) -> Option<f64> {
    let per_quantum = amount_of(per_hour, quantum).filter(|p| *p > Decimal::ZERO)?;
    let quanta = budget.checked_div(per_quantum)?.ceil();
    let begun = (quanta - Decimal::ONE).max(Decimal::ZERO);
    Some(f64::try_from(begun).ok()? * quantum)
}
