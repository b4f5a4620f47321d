//! The meter: what the account costs by the tariff, in parts that add up, with projections.

use super::settle::{self, Rental, Settled, amount_of, phase_price};
use super::{Ledger, moved};
use crate::model::{
    Charge, Cost, Extra, ExtraCost, ExtraKind, Flapping, FlappingKind, OfWhich, Phase,
    PhaseSeconds, PriceScope, PriceSource, Settlement,
};
use crate::units::{Money, split_by_largest_remainder};
use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};

const DAY_S: f64 = 86_400.0;
/// Nothing is projected from less than this.
const SHORTEST_S: f64 = 60.0;
/// A budget that lasts longer is not dated.
const LONGEST_S: u32 = 10 * 365 * 86_400;
/// Starts that follow each other this closely, and so many of them, are flapping.
const STARTS: usize = 3;
const STARTS_WINDOW_S: f64 = 2.0 * 3600.0;

/// Price of the instance per hour. A price per device counts once per board: cards are rented, not their dies or
/// slices.
pub(super) fn instance_price(ledger: &Ledger) -> Option<Decimal> {
    let priced = ledger.priced.as_ref()?;
    let boards = ledger.state.boards_billed;
    match priced.price.scope {
        PriceScope::Instance => Some(priced.price.per_hour),
        PriceScope::Device if boards == 0 => None,
        PriceScope::Device => priced.price.per_hour.checked_mul(Decimal::from(boards)),
    }
}

/// What seconds of one board cost, before any rounding of the bill.
pub(super) fn charge(ledger: &Ledger, seconds: f64) -> Option<Charge> {
    let price = instance_price(ledger)?;
    let per_hour = price.checked_div(Decimal::from(ledger.state.boards_billed))?;
    let money = |amount| Money {
        amount,
        currency: ledger.currency().clone(),
    };
    Some(Charge {
        per_hour: money(per_hour),
        amount: money(amount_of(per_hour, seconds)?),
    })
}

/// All that the amounts are made of.
struct Bill<'a> {
    ledger: &'a Ledger,
    rental: Rental<'a>,
    settled: Settled,
    price: Option<Decimal>,
    decimals: u32,
}

impl Bill<'_> {
    /// Rounded here, once, so that amount and parts are the same money everywhere.
    fn round(&self, amount: Decimal) -> Decimal {
        amount.round_dp_with_strategy(self.decimals, RoundingStrategy::MidpointAwayFromZero)
    }

    fn amount(&self) -> Option<Decimal> {
        Some(self.round(self.rental.amount(self.price?)?))
    }

    /// The amount over the phases and the rounding, in the order of `Phase::ALL`.
    fn phase_amounts(&self, amount: Decimal) -> Option<[Decimal; 6]> {
        let costs = self.rental.list_costs(self.price?, &self.settled)?;
        let mut shares: Vec<f64> = costs
            .iter()
            .filter_map(|c| f64::try_from(*c).ok())
            .collect();
        if shares.iter().all(|share| *share <= 0.0) {
            // A price of zero beside a payment in advance: by time.
            shares = Phase::ALL.map(|p| self.rental.phases.get(p)).to_vec();
            shares.push(self.settled.rounding);
        }
        split_by_largest_remainder(amount, &shares, self.decimals)
            .try_into()
            .ok()
    }

    fn extras(&self) -> Vec<ExtraCost> {
        let tariff = self.rental.tariff;
        let so_far = |extra: &Extra| {
            let amount = match extra.kind {
                ExtraKind::Storage => amount_of(extra.price, self.rental.span)?,
                ExtraKind::Traffic => Decimal::try_from(self.ledger.state.traffic_bytes / 1e9)
                    .ok()?
                    .checked_mul(extra.price)?,
            };
            Some(ExtraCost {
                kind: extra.kind,
                amount: self.round(amount),
            })
        };
        tariff.extras.iter().filter_map(so_far).collect()
    }

    /// Amount and extras after so many more seconds of use; traffic as it is now.
    fn total_after(&self, seconds: f64) -> Option<Decimal> {
        let later = self.rental.later(seconds);
        let mut sum = later.amount(self.price?)?;
        for extra in &self.rental.tariff.extras {
            let part = match extra.kind {
                ExtraKind::Storage => amount_of(extra.price, later.span)?,
                ExtraKind::Traffic => Decimal::try_from(self.ledger.state.traffic_bytes / 1e9)
                    .ok()?
                    .checked_mul(extra.price)?,
            };
            sum = sum.checked_add(part)?;
        }
        Some(sum)
    }

    /// What the next seconds of use cost.
    fn projected(&self, seconds: f64) -> Option<Decimal> {
        self.total_after(seconds)?
            .checked_sub(self.total_after(0.0)?)
    }

    /// Seconds from the end of the span at which the total first reaches the budget: negative where it has.
    fn budget_after(&self, budget: Decimal) -> Option<f64> {
        let tariff = self.rental.tariff;
        let plain = tariff.tiers.is_empty()
            && tariff.prepaid.is_none()
            && tariff.upfront.is_none()
            && tariff.extras.is_empty()
            && tariff.settlement == Settlement::End
            && self.settled.unbilled <= 0.0;
        if plain {
            // The begin of the quantum that does it.
            let quantum = f64::from(tariff.quantum_s.max(1));
            let per_quantum = amount_of(self.price?, quantum).filter(|p| *p > Decimal::ZERO)?;
            let quanta = budget.checked_div(per_quantum)?.ceil();
            let begun = (quanta - Decimal::ONE).max(Decimal::ZERO);
            return Some(f64::try_from(begun).ok()? * quantum - self.rental.span);
        }
        let reached =
            |seconds: u32| (self.total_after(f64::from(seconds))).is_some_and(|sum| sum >= budget);
        if reached(0) || !reached(LONGEST_S) {
            return None;
        }
        let (mut low, mut high) = (0, LONGEST_S);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reached(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(f64::from(high))
    }

    /// A part of a phase's amount, by its seconds.
    fn part(&self, whole: Option<Decimal>, seconds: f64, of: f64) -> Option<Decimal> {
        if of <= 0.0 {
            return Some(Decimal::ZERO);
        }
        let share = Decimal::try_from((seconds / of).clamp(0.0, 1.0)).ok()?;
        Some(self.round(whole?.checked_mul(share)?))
    }

    fn of_which(&self, parts: Option<&[Decimal; 6]>) -> OfWhich {
        let Some((stalled, throttled)) = self.ledger.state.instance.of_which() else {
            return OfWhich::default();
        };
        let compute = self.rental.phases.compute;
        let whole = parts.map(|parts| parts[0]);
        OfWhich {
            stalled_s: Some(stalled),
            stalled_amount: self.part(whole, stalled, compute),
            throttled_s: Some(throttled),
            throttled_amount: self.part(whole, throttled, compute),
        }
    }

    /// What was wasted, in the mean of a day: io-wait, queue, idle and stalled compute.
    fn wasted_day(&self, parts: Option<&[Decimal; 6]>, of_which: &OfWhich) -> Option<Decimal> {
        let [_, io_wait, queue, idle, ..] = parts?;
        let wasted = *io_wait + *queue + *idle + of_which.stalled_amount.unwrap_or_default();
        if self.rental.span < SHORTEST_S {
            return None;
        }
        wasted.checked_mul(Decimal::try_from(DAY_S / self.rental.span).ok()?)
    }

    /// Seconds that a use of so many seconds would be billed beyond itself.
    fn over(&self, seconds: f64) -> f64 {
        let tariff = self.rental.tariff;
        let billed = settle::rounded(seconds, tariff).max(f64::from(tariff.minimum_s));
        (billed - seconds).max(0.0)
    }

    fn flapping(&self, now: Timestamp) -> Vec<Flapping> {
        let money = |seconds: f64| {
            let amount = amount_of(self.price?, seconds)?;
            Some(self.round(amount))
        };
        let mut found = Vec::new();
        if let Some(swing) = self.ledger.state.swings.swinging() {
            let each = self.over(swing.above_s) + self.start_up();
            let wasted_s = f64::from(swing.cycles) * each;
            found.push(Flapping {
                kind: FlappingKind::Utilization,
                cycles: swing.cycles,
                period_s: swing.period_s,
                window_s: super::flapping::Swings::WINDOW_S,
                wasted_s,
                amount: money(wasted_s),
            });
        }
        found.extend(self.flapping_starts(now, money));
        found
    }

    /// How long a start of this instance takes until it computes: this one's, else the mean of earlier ones.
    fn start_up(&self) -> f64 {
        let startup = self.ledger.startup();
        let earlier = startup.earlier.iter().map(|past| past.steps);
        let known: Vec<f64> = earlier
            .chain([startup.now])
            .filter_map(|steps| steps.until_compute_s())
            .collect();
        if known.is_empty() {
            return 0.0;
        }
        known.iter().sum::<f64>() / known.len() as f64
    }

    /// Short lives one after another: each costs the rest of its last quantum and its start-up.
    fn flapping_starts(
        &self,
        now: Timestamp,
        money: impl Fn(f64) -> Option<Decimal>,
    ) -> Option<Flapping> {
        let recent = |at: Timestamp| now.duration_since(at).as_secs_f64() <= STARTS_WINDOW_S;
        let lives: Vec<_> = (self.ledger.state.starts.earlier().iter())
            .filter(|past| recent(past.began()))
            .collect();
        if lives.len() + 1 < STARTS {
            return None;
        }
        let first = lives.first()?.began();
        let bill = |past: &crate::model::PastStart| past.steps.billing_started.map(|s| s.at);
        let mut wasted_s = 0.0;
        for (place, life) in lives.iter().enumerate() {
            let next = lives.get(place + 1).and_then(|next| bill(next));
            let next = next.or(self.ledger.state.start.map(|s| s.at));
            // Reboots under one bill end no quantum.
            if bill(life) != next {
                wasted_s += self.over(life.last_at.duration_since(life.began()).as_secs_f64());
            }
            wasted_s += life.steps.until_compute_s().unwrap_or(0.0);
        }
        let cycles = u32::try_from(lives.len()).ok()?;
        Some(Flapping {
            kind: FlappingKind::Starts,
            cycles,
            period_s: now.duration_since(first).as_secs_f64() / f64::from(cycles),
            window_s: STARTS_WINDOW_S,
            wasted_s,
            amount: money(wasted_s),
        })
    }
}

pub(super) fn cost(ledger: &Ledger, now: Timestamp) -> Option<Cost> {
    let state = &ledger.state;
    let billing_start = state.start?;
    let span = ledger.span(now);
    // Where a named start is still to come, edges count from it.
    let end = now.max(billing_start.at);
    let phases = state.instance.phase_seconds(span);
    let open = state.hours.open();
    let rental = Rental {
        tariff: &ledger.tariff,
        origin: moved(end, -span),
        span,
        phases,
        over: state.hours.over(),
        open: open.as_ref(),
    };
    let bill = Bill {
        ledger,
        rental,
        settled: rental.settle(),
        price: instance_price(ledger),
        decimals: ledger.currency().decimals(),
    };
    let amount = bill.amount();
    let phase_amounts = amount.and_then(|a| bill.phase_amounts(a));
    let of_which = bill.of_which(phase_amounts.as_ref());
    let extras = bill.extras();
    let extra_sum: Decimal = extras.iter().map(|extra| extra.amount).sum();
    // A budget in another currency is not converted: it says nothing here.
    let budget = ledger
        .config
        .budget
        .filter(|_| *ledger.currency() == ledger.config.currency);
    let priced = ledger.priced.as_ref();
    let price_at = priced.and_then(|p| p.at);
    Some(Cost {
        currency: ledger.currency().clone(),
        price_per_hour: bill.price,
        price_scope: priced.map_or(PriceScope::Instance, |p| p.price.scope),
        price_source: priced.map_or(PriceSource::None, |p| p.price.source),
        price_at,
        price_age_s: price_at.map(|at| now.duration_since(at).as_secs_f64().max(0.0)),
        tariff: ledger.tariff.clone(),
        billing_start,
        span_seconds: span,
        unbilled_seconds: bill.settled.unbilled,
        billed_seconds: bill.settled.billed,
        rounding_seconds: bill.settled.rounding,
        amount,
        phase_seconds: phases,
        phase_amounts,
        phase_prices: bill.price.and_then(|price| {
            let prices: Vec<Decimal> = Phase::ALL
                .iter()
                .filter_map(|phase| phase_price(&ledger.tariff, *phase, price))
                .collect();
            prices.try_into().ok()
        }),
        any_compute_seconds: state.any_compute,
        idle_held_seconds: state.instance.idle_held,
        utilization_seconds: state.instance.utilization_seconds,
        work_seconds: Some(state.instance.work_seconds).filter(|(_, known)| *known > 0.0),
        available_ratio: (state.looked > 0.0 && state.boards_billed > 0)
            .then(|| state.available / state.looked),
        effective_price_per_compute_hour: amount.and_then(|a| per_compute_hour(a, &phases)),
        projected_day_amount: bill.projected(DAY_S),
        projected_month_amount: bill.projected(30.0 * DAY_S),
        wasted_day_amount: bill.wasted_day(phase_amounts.as_ref(), &of_which),
        of_which,
        next_edge: (rental.next_edge(&bill.settled)).map(|ahead| moved(end, ahead)),
        total_amount: amount.and_then(|a| a.checked_add(extra_sum)),
        extras,
        budget,
        budget_reached: budget
            .and_then(|b| bill.budget_after(b))
            .map(|ahead| moved(end, ahead)),
        flapping: bill.flapping(now),
        hours: state.hours.over().clone(),
        this_hour: open,
    })
}

/// What an hour of compute really costs; absent before the first second of it.
fn per_compute_hour(amount: Decimal, phases: &PhaseSeconds) -> Option<Decimal> {
    if phases.compute < 1.0 {
        return None;
    }
    let hours = Decimal::try_from(phases.compute)
        .ok()?
        .checked_div(settle::HOUR_S)?;
    amount.checked_div(hours)
}
