//! The meter: what this rental costs and what it was spent on.
//!
//! ```text
//!  $865.90 since 28 Nov 23:52 (platform)              $23.92/h by the second, platform, 14 s ago
//!  ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//!
//!                       time     share      money
//!   compute         30:58:12    85.5 %    $740.72   $27.96 per compute hour
//!     stalled        1:18:03     3.6 %     $31.10
//!   idle             3:52:40    10.7 %     $92.49   2h 40m of it held: memory kept, no work
//! ────────────────────────────────────────────────────────────────────────────────────────────────
//!   wasted per hour, last 36 h
//!   $24/h ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ price
//!       0 ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⡇     ⣇⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀
//!   day $574.08   30 days $17,222   wasted $41.20 a day   availability 99.96 %
//!   energy 163 kWh   carbon 41 to 68 kg (US 2023, PUE 1.07 to 1.3)
//! ```

mod foot;
mod line;
mod panel;
mod rows;

pub(super) use line::{line, phase_role, phase_word, ribbon, source_word};

use super::{chrome, facts};
use crate::app::{App, MeterPanel};
use crate::model::{Cost, PriceSource, Snapshot, Tariff};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, write_line, write_right};
use crate::ui::theme::Role;
use crate::units::{Money, format_span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use rust_decimal::Decimal;

/// Lines of a panel below which it says nothing, and lines that a chart takes at most.
const LEAST_PANEL: u16 = 4;
const MOST_CHART: u16 = 12;

/// An amount in the currency of the meter; where only ASCII can be shown, with its code instead of a sign outside it.
pub(super) fn money(cost: &Cost, look: &Look, amount: Decimal) -> String {
    let currency = cost.currency.clone();
    written(&Money { amount, currency }, look)
}

fn written(money: &Money, look: &Look) -> String {
    match money.currency.sign() {
        Some(sign) if look.charset.is_ascii() && !sign.is_ascii() => {
            format!("{} {}", money.to_decimal_string(), money.currency)
        }
        _ => money.to_string(),
    }
}

/// Draws the view.
pub(super) fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let Some(picture) = app.picture() else { return };
    let Some(cost) = &picture.cost else {
        let text = look.text.meter_not_begun();
        write_line(
            buf,
            row(body, 1),
            &[
                ("  ", look.style(Role::Muted)),
                (&text, look.style(Role::Muted)),
            ],
        );
        return;
    };
    let mut plan = Plan::of(picture, cost, look, body);
    if matches!(app.meter_panel(), MeterPanel::Hours | MeterPanel::Days) {
        plan.panel = plan.panel.min(MOST_CHART);
    }
    let mut y = 0;
    let mut next = |lines: u16| {
        let height = lines.min(body.height.saturating_sub(y));
        let area = Rect {
            y: body.y + y,
            height,
            ..body
        };
        y += height;
        area
    };
    let _ = next(plan.air);
    head(picture, cost, look, next(1), buf);
    let bar = inset(next(1));
    ribbon(cost, look, bar, buf);
    let _ = next(plan.air);
    rows::draw(picture, cost, look, next(plan.rows), buf);
    facts::rule(look, row(next(plan.rule), 0), buf);
    let panel_at = next(plan.panel);
    if plan.panel >= LEAST_PANEL {
        panel::draw(app.meter_panel(), picture, cost, look, panel_at, buf);
    }
    foot::draw(picture, cost, look, next(plan.foot), buf);
}

fn inset(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    }
}

/// How the lines are given out: head and table first, then the foot, the panel, air last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    air: u16,
    rows: u16,
    rule: u16,
    panel: u16,
    foot: u16,
}

impl Plan {
    fn of(picture: &Snapshot, cost: &Cost, look: &Look, body: Rect) -> Self {
        let rows = rows::count(cost);
        let foot = foot::count(picture, cost, look, body.width);
        let left = body.height.saturating_sub(2 + rows + foot);
        let (rule, panel) = if left > LEAST_PANEL {
            (1, left - 1)
        } else {
            (u16::from(left > 0), 0)
        };
        // A tall screen gives lines to air.
        let air = u16::from(panel >= LEAST_PANEL + 3);
        Self {
            air,
            rows,
            rule,
            panel: panel - 2 * air,
            foot,
        }
    }
}

/// Amount and begin at the left, price with rule, source and age at the right; on narrow screens what fits.
fn head(picture: &Snapshot, cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let (muted, strong, text) = (
        look.style(Role::Muted),
        look.style(Role::Strong),
        look.style(Role::Text),
    );
    let source = source_word(cost.billing_start.source, t);
    let source = if cost.billing_start.source.is_estimate() {
        format!("{source}, {}", t.meter_estimated())
    } else {
        source.into_owned()
    };
    let since = format!(" {}", t.meter_since(line::when(cost, look), source));
    let amount = match cost.amount {
        Some(amount) => money(cost, look, amount),
        None => t
            .meter_seconds_only(format_span(cost.span_seconds))
            .into_owned(),
    };
    let end = write_line(
        buf,
        area,
        &[(" ", muted), (&amount, strong), (&since, muted)],
    );
    let (price, notes) = price(picture, cost, look);
    for keep in (0..=notes.len()).rev() {
        let rest: String = notes
            .iter()
            .take(keep)
            .map(|note| format!(", {note}"))
            .collect();
        let rest = match rest.strip_prefix(", ") {
            Some(rest) => format!(" {rest} "),
            None => " ".to_owned(),
        };
        let pieces: [(&str, Style); 2] = [(&price, text), (&rest, muted)];
        if write_right(buf, area, end + 2, &pieces) {
            return;
        }
    }
}

/// The price, and how it is billed, where it is from, how old it is.
fn price(picture: &Snapshot, cost: &Cost, look: &Look) -> (String, Vec<String>) {
    let t = look.text;
    let Some(per_hour) = cost.price_per_hour else {
        let spot = picture.platform.as_ref().and_then(|v| v.platform.spot) == Some(true);
        let why = if spot {
            t.meter_no_spot_price()
        } else {
            t.meter_no_price()
        };
        return (why.into_owned(), Vec::new());
    };
    let price = t.unit_per_hour(money(cost, look, per_hour)).into_owned();
    let source = match cost.price_source {
        PriceSource::Flag => t.meter_source_flag().into_owned(),
        PriceSource::Config => t.meter_source_config().into_owned(),
        PriceSource::Platform => (picture.platform.as_ref()).map_or_else(
            || t.meter_source_platform().into_owned(),
            |view| view.platform.title.to_string(),
        ),
        PriceSource::Catalogue => t.meter_source_list().into_owned(),
        PriceSource::None => String::new(),
    };
    let mut notes = vec![by_quantum(&cost.tariff, look), source];
    match (cost.price_source, cost.price_age_s) {
        (_, Some(age)) => notes.push(t.meter_ago(format_span(age)).into_owned()),
        (PriceSource::Catalogue, None) => notes.push(t.meter_age_unknown().into_owned()),
        _ => {}
    }
    (price, notes)
}

/// In what steps it is billed.
fn by_quantum(tariff: &Tariff, look: &Look) -> String {
    let t = look.text;
    let quantum = match tariff.quantum_s {
        1 => t.meter_by_second(),
        60 => t.meter_by_minute(),
        3600 => t.meter_by_hour(),
        other => t.meter_by_span(format_span(f64::from(other))),
    };
    if tariff.verified {
        quantum.into_owned()
    } else {
        format!("{quantum} ({})", t.meter_unverified())
    }
}

/// A span as hours, minutes and seconds: `30:58:12`.
pub(super) fn clock_span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "--".to_owned();
    }
    let whole = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

/// A share of a span in percent, one decimal.
pub(super) fn share(seconds: f64, span: f64, look: &Look) -> String {
    if span > 0.0 {
        format!("{:.1} %", seconds / span * 100.0)
    } else {
        look.glyph(Glyph::Absent).to_owned()
    }
}
