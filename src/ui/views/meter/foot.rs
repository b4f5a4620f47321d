//! What follows from the account: projections, budget, energy, what else is billed, what swings.

use super::{money, written};
use crate::model::{
    BillingStartSource, Carbon, Cost, ExtraKind, FlappingKind, PriceScope, PriceSource, Snapshot,
};
use crate::ui::Look;
use crate::ui::look::{row, write_line};
use crate::ui::theme::Role;
use crate::units::{Money, format_span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

/// Lines at most.
const MOST: usize = 6;

/// Columns between two statements.
const GAP: &str = "   ";

/// Statements that stay whole, in lines that fit.
fn lines(picture: &Snapshot, cost: &Cost, look: &Look, width: u16) -> Vec<Vec<(String, Role)>> {
    let room = usize::from(width.saturating_sub(3));
    let mut lines: Vec<Vec<(String, Role)>> = Vec::new();
    for group in [
        money_group(cost, look),
        platform_group(picture, cost, look),
        energy_group(picture, look),
        bill_group(cost, look),
        warnings(cost, look),
    ] {
        let mut used = room + 1;
        for (text, role) in group {
            let wide = text.width() + GAP.len();
            if used + wide > room + GAP.len() {
                lines.push(Vec::new());
                used = 0;
            }
            used += wide;
            if let Some(line) = lines.last_mut() {
                line.push((text, role));
            }
        }
    }
    lines.truncate(MOST);
    lines
}

pub(super) fn count(picture: &Snapshot, cost: &Cost, look: &Look, width: u16) -> u16 {
    u16::try_from(lines(picture, cost, look, width).len()).unwrap_or(u16::MAX)
}

pub(super) fn draw(picture: &Snapshot, cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    for (n, line) in lines(picture, cost, look, area.width).iter().enumerate() {
        let mut pieces = vec![("  ", look.style(Role::Muted))];
        for (text, role) in line {
            pieces.extend([
                (text.as_str(), look.style(*role)),
                (GAP, look.style(Role::Muted)),
            ]);
        }
        let at = row(area, u16::try_from(n).unwrap_or(u16::MAX));
        write_line(buf, at, &pieces);
    }
}

fn money_group(cost: &Cost, look: &Look) -> Vec<(String, Role)> {
    let t = look.text;
    let text = |amount| money(cost, look, amount);
    let mut said = Vec::new();
    let mut say =
        |sentence: std::borrow::Cow<'static, str>, role| said.push((sentence.into_owned(), role));
    if let Some(amount) = cost.projected_day_amount {
        say(t.meter_day(text(amount)), Role::Text);
    }
    if let Some(amount) = cost.projected_month_amount {
        say(t.meter_month(text(amount)), Role::Text);
    }
    if let Some(amount) = cost.wasted_day_amount {
        let role = if amount.is_zero() {
            Role::Text
        } else {
            Role::Idle
        };
        say(t.meter_wasted_day(text(amount)), role);
    }
    if let (Some(budget), Some(amount)) = (cost.budget, cost.total_amount) {
        match cost.budget_reached {
            _ if amount > budget => say(t.meter_budget_over(text(amount - budget)), Role::Bad),
            Some(at) => say(
                t.meter_budget_at(text(budget), look.time(at, "%d %b %H:%M")),
                Role::Warn,
            ),
            None => say(t.meter_budget_far(text(budget)), Role::Text),
        }
    }
    if let Some(ratio) = cost.available_ratio {
        let role = if ratio < 0.999 {
            Role::Warn
        } else {
            Role::Text
        };
        // Cut, not rounded: 100 % is only what was never missing.
        let percent = (ratio * 10_000.0).floor() / 100.0;
        say(t.meter_available(format_args!("{percent:.2} %")), role);
    }
    said
}

/// What the platform says it costs and since when, where the account goes by something else: the two can be compared.
fn platform_group(picture: &Snapshot, cost: &Cost, look: &Look) -> Vec<(String, Role)> {
    let t = look.text;
    let Some(platform) = picture.platform.as_ref().map(|view| &view.platform) else {
        return Vec::new();
    };
    let price = platform.price.as_ref();
    let price = price.filter(|_| cost.price_source != PriceSource::Platform);
    let since = platform.billing_started;
    let since = since.filter(|_| cost.billing_start.source != BillingStartSource::Platform);
    let differs = price.is_some_and(|price| {
        let same = price.currency == cost.currency && price.scope == PriceScope::Instance;
        same && cost
            .price_per_hour
            .is_some_and(|ours| ours != price.per_hour)
    });
    let price = price.map(|price| {
        let money = Money {
            amount: price.per_hour,
            currency: price.currency.clone(),
        };
        match price.scope {
            PriceScope::Instance => t.platform_price(written(&money, look)),
            PriceScope::Device => t.platform_price_each(written(&money, look)),
        }
    });
    let since = since.map(|at| t.platform_since(look.time(at, "%d %b %H:%M")));
    let said: Vec<_> = price.into_iter().chain(since).collect();
    if said.is_empty() {
        return Vec::new();
    }
    let sentence = t.meter_platform_says(&platform.title, said.join(", "));
    let role = if differs { Role::Warn } else { Role::Text };
    vec![(sentence.into_owned(), role)]
}

fn energy_group(picture: &Snapshot, look: &Look) -> Vec<(String, Role)> {
    let t = look.text;
    let mut said = Vec::new();
    if let Some(energy) = &picture.energy {
        let kwh = kwh(energy.kwh);
        let sentence = if energy.estimated {
            t.meter_energy_estimated(kwh)
        } else {
            t.meter_energy(kwh)
        };
        said.push((sentence.into_owned(), Role::Text));
    }
    match &picture.carbon {
        Some(carbon) => said.push((carbon_text(carbon, look), Role::Text)),
        None if picture.energy.is_some() => {
            said.push((t.meter_carbon_unknown().into_owned(), Role::Muted));
        }
        None => {}
    }
    if picture.devices.iter().any(|view| view.device.virtual_share) {
        said.push((t.meter_whole_cards().into_owned(), Role::Muted));
    }
    said
}

fn kwh(kwh: f64) -> String {
    if kwh < 10.0 {
        format!("{kwh:.2}")
    } else {
        format!("{kwh:.0}")
    }
}

fn mass(grams: f64) -> String {
    if grams < 1000.0 {
        format!("{grams:.0} g")
    } else if grams < 10_000.0 {
        format!("{:.1} kg", grams / 1000.0)
    } else {
        format!("{:.0} kg", grams / 1000.0)
    }
}

fn carbon_text(carbon: &Carbon, look: &Look) -> String {
    let t = look.text;
    let [low, _, high] = carbon.pue;
    let range = |low: String, high: String| {
        if low == high {
            low
        } else {
            t.meter_range(low, high).into_owned()
        }
    };
    let grams = range(mass(carbon.g_low), mass(carbon.g_high));
    let pue = range(format!("{low}"), format!("{high}"));
    let pue = match carbon.pue_of() {
        Some(whose) => t.meter_pue_of(pue, whose).into_owned(),
        None => pue,
    };
    let place = match carbon.year {
        Some(year) => format!("{} {year}", carbon.place),
        None => t.meter_source_config().into_owned(),
    };
    t.meter_carbon(grams, place, pue).into_owned()
}

fn bill_group(cost: &Cost, look: &Look) -> Vec<(String, Role)> {
    let t = look.text;
    let text = |amount| money(cost, look, amount);
    let mut said = Vec::new();
    let rule = if cost.tariff.verified {
        t.meter_rule(&cost.tariff.rule)
    } else {
        t.meter_rule_unverified(&cost.tariff.rule)
    };
    if cost.tariff.is_platforms {
        said.push((rule.into_owned(), Role::Muted));
    }
    match (cost.tariff.stopped_per_hour, &cost.tariff.stopped) {
        (Some(amount), _) => {
            let sentence = t.meter_stopped(t.unit_per_hour(text(amount)));
            said.push((sentence.into_owned(), Role::Muted));
        }
        (None, Some(words)) => {
            said.push((t.meter_stopped(words).into_owned(), Role::Muted));
        }
        (None, None) => {}
    }
    for extra in &cost.extras {
        let sentence = match extra.kind {
            ExtraKind::Storage => t.meter_storage(text(extra.amount)),
            ExtraKind::Traffic => t.meter_traffic(text(extra.amount)),
        };
        said.push((sentence.into_owned(), Role::Text));
    }
    if let Some(total) = cost.total_amount.filter(|_| !cost.extras.is_empty()) {
        said.push((t.meter_total(text(total)).into_owned(), Role::Strong));
    }
    said
}

fn warnings(cost: &Cost, look: &Look) -> Vec<(String, Role)> {
    let t = look.text;
    let sentence = |flapping: &crate::model::Flapping| {
        let wasted = match flapping.amount {
            Some(amount) => money(cost, look, amount),
            None => format_span(flapping.wasted_s),
        };
        let (cycles, period) = (flapping.cycles, format_span(flapping.period_s));
        match flapping.kind {
            FlappingKind::Starts => t.meter_flapping_starts(cycles, period, wasted),
            FlappingKind::Utilization => t.meter_flapping_utilization(cycles, period, wasted),
        }
        .into_owned()
    };
    cost.flapping
        .iter()
        .map(|f| (sentence(f), Role::Warn))
        .collect()
}
