//! From seconds to billed seconds and money by a tariff: rounding, settlements, discounts, payments in advance.

use crate::model::{Hour, Phase, PhasePrice, PhaseSeconds, Rounding, Settlement, Tariff};
use jiff::Timestamp;
use rust_decimal::Decimal;

/// Sums of floating-point seconds may exceed a whole quantum by this much without starting another.
const SLACK_S: f64 = 1e-6;
const CLOCK_HOUR_S: f64 = 3600.0;

/// Seconds in an hour, as a decimal.
pub(super) const HOUR_S: Decimal = Decimal::from_parts(3600, 0, 0, false, 0);

/// Seconds rounded to quanta. Monotone: more seconds are never billed as fewer.
pub(super) fn rounded(seconds: f64, tariff: &Tariff) -> f64 {
    let quantum = f64::from(tariff.quantum_s.max(1));
    match tariff.rounding {
        Rounding::Up => ((seconds - SLACK_S).max(0.0) / quantum).ceil() * quantum,
        Rounding::Nearest => (seconds.max(0.0) / quantum).round() * quantum,
        Rounding::None => seconds.max(0.0),
    }
}

/// A rental as far as its bill goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rental<'a> {
    pub(super) tariff: &'a Tariff,
    /// When billing began, as its settlements count.
    pub(super) origin: Timestamp,
    pub(super) span: f64,
    /// Of the whole span; they add up to it.
    pub(super) phases: PhaseSeconds,
    /// The account by hours, where a settlement has to know in which hour something was not billed.
    pub(super) over: &'a [Hour],
    pub(super) open: Option<&'a Hour>,
}

/// Billed seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settled {
    pub(super) billed: f64,
    pub(super) unbilled: f64,
    pub(super) rounding: f64,
}

impl Rental<'_> {
    /// The same rental after so many more seconds of compute.
    pub(super) fn later(&self, seconds: f64) -> Self {
        let mut phases = self.phases;
        phases.add(Phase::Compute, seconds);
        Self {
            span: self.span + seconds,
            phases,
            ..*self
        }
    }

    /// Seconds of phases that are not billed.
    fn unbilled(&self) -> f64 {
        let free = Phase::ALL
            .iter()
            .filter(|phase| !self.tariff.phase(**phase).is_billed());
        free.map(|phase| self.phases.get(*phase)).sum()
    }

    /// Rounds what is billed, as a whole or hour by hour.
    pub(super) fn settle(&self) -> Settled {
        let unbilled = self.unbilled().min(self.span);
        let billable = self.span - unbilled;
        let by_rule = match self.tariff.settlement {
            Settlement::End => rounded(billable, self.tariff),
            Settlement::Hour if unbilled < SLACK_S => self.hour_by_hour(),
            Settlement::Hour => self.hour_by_hour_of(billable),
        };
        let least = if self.span > 0.0 {
            f64::from(self.tariff.minimum_s)
        } else {
            0.0
        };
        let billed = by_rule.max(least);
        Settled {
            billed,
            unbilled,
            rounding: billed - billable,
        }
    }

    /// Seconds from an instant to the next edge of an hour in the platform's zone.
    fn until_edge(&self, at_s: f64) -> f64 {
        let local = at_s + f64::from(self.tariff.offset_s);
        CLOCK_HOUR_S - local.rem_euclid(CLOCK_HOUR_S)
    }

    /// Everything is billed: the first hour's rest, whole hours, and what has begun of this one.
    fn hour_by_hour(&self) -> f64 {
        let head = self
            .until_edge(self.origin.as_duration().as_secs_f64())
            .min(self.span);
        let whole = ((self.span - head) / CLOCK_HOUR_S).floor();
        let tail = self.span - head - whole * CLOCK_HOUR_S;
        let round = |seconds| rounded(seconds, self.tariff);
        round(head) + whole * round(CLOCK_HOUR_S) + round(tail)
    }

    /// Each hour that is remembered is rounded on its own less what was not billed in it; hours that are not
    /// remembered any more are rounded as one.
    fn hour_by_hour_of(&self, billable: f64) -> f64 {
        let begin = self.origin.as_duration().as_secs_f64();
        let end = begin + self.span;
        let mut known = 0.0;
        let mut sum = 0.0;
        for hour in self.over.iter().chain(self.open) {
            let from = f64::from(hour.hour) * CLOCK_HOUR_S;
            let covered = (end.min(from + CLOCK_HOUR_S) - begin.max(from)).max(0.0);
            let seen = [Phase::Compute, Phase::IoWait, Phase::Queue, Phase::Idle];
            let unseen = covered - hour.seen_s().min(covered);
            let part: f64 = seen
                .iter()
                .map(|phase| (*phase, hour.seconds(*phase)))
                .chain([(Phase::Unobserved, unseen)])
                .filter(|(phase, _)| self.tariff.phase(*phase).is_billed())
                .map(|(_, seconds)| seconds)
                .sum();
            let part = part.min(covered);
            known += part;
            sum += rounded(part, self.tariff);
        }
        sum + rounded((billable - known).max(0.0), self.tariff)
    }

    /// When billed seconds grow next, in seconds from the end of the span; `None` where they grow all the time.
    pub(super) fn next_edge(&self, settled: &Settled) -> Option<f64> {
        let quantum = f64::from(self.tariff.quantum_s.max(1));
        let ahead = match self.tariff.rounding {
            Rounding::None => return None,
            Rounding::Up => settled.rounding,
            Rounding::Nearest => settled.rounding + quantum / 2.0,
        };
        let ahead = if ahead < SLACK_S && self.span < SLACK_S {
            quantum
        } else {
            ahead.max(0.0)
        };
        Some(match self.tariff.settlement {
            Settlement::End => ahead,
            Settlement::Hour => {
                let end = self.origin.as_duration().as_secs_f64() + self.span;
                let edge = self.until_edge(end);
                let in_hour = (CLOCK_HOUR_S - edge).min(self.span);
                (rounded(in_hour, self.tariff) - in_hour).clamp(0.0, edge)
            }
        })
    }

    /// What each phase and the rounding cost before discounts, in the order of `Phase::ALL` with the rounding last.
    pub(super) fn list_costs(&self, price: Decimal, settled: &Settled) -> Option<[Decimal; 6]> {
        let mut costs = [Decimal::ZERO; 6];
        for (cost, phase) in costs.iter_mut().zip(Phase::ALL) {
            let per_hour = phase_price(self.tariff, phase, price)?;
            *cost = amount_of(per_hour, self.phases.get(phase))?;
        }
        *costs.last_mut()? = amount_of(price, settled.rounding)?;
        Some(costs)
    }

    /// Seconds at the full price: phases by their share, and the rounding; what has a price of its own stands beside.
    fn full_seconds(&self, settled: &Settled) -> Option<Decimal> {
        let exact =
            |p: &PhasePrice| matches!(p, PhasePrice::Share(s) if s.is_zero() || *s == Decimal::ONE);
        if self.tariff.phases.iter().all(exact) {
            // Exact, however the phases lie.
            return Decimal::try_from(settled.billed).ok();
        }
        let mut sum = Decimal::try_from(settled.rounding).ok()?;
        for (phase, price) in Phase::ALL.iter().zip(&self.tariff.phases) {
            if let PhasePrice::Share(share) = price {
                let seconds = Decimal::try_from(self.phases.get(*phase)).ok()?;
                sum = sum.checked_add(seconds.checked_mul(*share)?)?;
            }
        }
        Some(sum)
    }

    /// The amount, not rounded to the currency yet. Discounts and time paid in advance go by seconds at the full price.
    /// It is monotone in time where phases are billed in full or not at all; else up to one quantum, whose rest is
    /// billed in full.
    pub(super) fn amount(&self, price: Decimal) -> Option<Decimal> {
        let (tariff, settled) = (self.tariff, self.settle());
        let full = self.full_seconds(&settled)?;
        let advance = match tariff.prepaid {
            Some(prepaid) => full.min(Decimal::try_from(prepaid.time.as_secs_f64()).ok()?),
            None => Decimal::ZERO,
        };
        let seconds = self
            .effective(full)?
            .checked_sub(self.effective(advance)?)?;
        let mut amount = price.checked_mul(seconds)?.checked_div(HOUR_S)?;
        for (phase, price) in Phase::ALL.iter().zip(&tariff.phases) {
            if let PhasePrice::PerHour(own) = price {
                amount = amount.checked_add(amount_of(*own, self.phases.get(*phase))?)?;
            }
        }
        if let Some(prepaid) = tariff.prepaid {
            let whole = Decimal::try_from(prepaid.time.as_secs_f64().max(1.0)).ok()?;
            let used = prepaid.amount.checked_mul(advance)?.checked_div(whole)?;
            amount = amount.checked_add(used)?;
        }
        if let Some(upfront) = tariff.upfront {
            let term = upfront.term.as_secs_f64().max(1.0);
            let gone = Decimal::try_from((self.span / term).min(1.0)).ok()?;
            amount = amount.checked_add(upfront.amount.checked_mul(gone)?)?;
        }
        Some(if self.span > 0.0 {
            amount.max(tariff.minimum_amount)
        } else {
            amount
        })
    }

    /// Seconds weighted by the discounts that hold for them.
    fn effective(&self, full: Decimal) -> Option<Decimal> {
        let (mut sum, mut from, mut factor) = (Decimal::ZERO, Decimal::ZERO, Decimal::ONE);
        for tier in &self.tariff.tiers {
            let after = Decimal::try_from(tier.after.as_secs_f64()).ok()?;
            if after >= full {
                break;
            }
            sum = sum.checked_add((after - from).checked_mul(factor)?)?;
            (from, factor) = (after, tier.factor);
        }
        (full - from).checked_mul(factor)?.checked_add(sum)
    }
}

/// What an hour of a phase costs.
pub(super) fn phase_price(tariff: &Tariff, phase: Phase, price: Decimal) -> Option<Decimal> {
    match tariff.phase(phase) {
        PhasePrice::Share(share) => price.checked_mul(share),
        PhasePrice::PerHour(own) => Some(own),
    }
}

/// What seconds cost at a price per hour.
pub(super) fn amount_of(per_hour: Decimal, seconds: f64) -> Option<Decimal> {
    Decimal::try_from(seconds)
        .ok()?
        .checked_mul(per_hour)?
        .checked_div(HOUR_S)
}
