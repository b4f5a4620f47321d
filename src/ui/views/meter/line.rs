//! The meter line of the overview: money first, then seconds by phase; wide screens add the ribbon.
//!
//! ```text
//!  $865.90 so far at $23.92/h    compute 30h 58m   io-wait 1h 02m   idle 3h 52m $92.49   unobserved 16m
//!  ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//! ```

use crate::model::{BillingStartSource, Cost, Phase};
use crate::text::Catalogue;
use crate::ui::Look;
use crate::ui::look::write_line;
use crate::ui::theme::Role;
use crate::units::format_span;
use nameplate_widgets::{Ribbon, Slice};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// The word of a phase.
pub(in crate::ui::views) fn phase_word(phase: Phase, t: Catalogue) -> Cow<'static, str> {
    match phase {
        Phase::Compute => t.state_compute(),
        Phase::IoWait => t.state_io_wait(),
        Phase::Queue => t.state_queue(),
        Phase::Idle => t.state_phase_idle(),
        Phase::Unobserved => t.state_unobserved(),
    }
}

/// The role of a phase.
pub(in crate::ui::views) fn phase_role(phase: Phase) -> Role {
    match phase {
        Phase::Compute => Role::Compute,
        Phase::IoWait => Role::IoWait,
        Phase::Queue => Role::Queue,
        Phase::Idle => Role::Idle,
        Phase::Unobserved => Role::Unobserved,
    }
}

pub(in crate::ui::views) fn source_word(
    source: BillingStartSource,
    t: Catalogue,
) -> Cow<'static, str> {
    match source {
        BillingStartSource::Flag => t.meter_source_flag(),
        BillingStartSource::Config => t.meter_source_config(),
        BillingStartSource::Platform => t.meter_source_platform(),
        BillingStartSource::Container => t.meter_source_container(),
        BillingStartSource::Boot => t.meter_source_boot(),
        BillingStartSource::FirstSample => t.meter_source_first_sample(),
    }
}

/// Columns from which on wasted phases show their money too.
const WIDE: u16 = 110;

/// Draws the line.
pub(in crate::ui::views) fn line(cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let (muted, strong) = (look.style(Role::Muted), look.style(Role::Strong));
    let money = |amount| super::money(cost, look, amount);
    let source = source_word(cost.billing_start.source, t);
    let source = if cost.billing_start.source.is_estimate() {
        format!("{source}, {}", t.meter_estimated())
    } else {
        source.into_owned()
    };
    let since = t.meter_since(when(cost, look), source);
    let mut pieces: Vec<(String, Style)> = vec![(" ".to_owned(), muted)];
    match (cost.amount, cost.price_per_hour) {
        (Some(amount), Some(price)) => {
            // The amount is what is read first; its sentence is dim around it.
            let amount = money(amount);
            let sentence = t.meter_so_far(&amount, format!("{}/h", money(price)));
            let (before, after) = sentence
                .split_once(amount.as_str())
                .unwrap_or(("", &sentence));
            pieces.extend([
                (before.to_owned(), muted),
                (amount.clone(), strong),
                (format!("{after} {since}"), muted),
            ]);
        }
        _ => pieces.extend([
            (
                t.meter_seconds_only(format_span(cost.span_seconds))
                    .into_owned(),
                strong,
            ),
            (format!(" {since}"), muted),
        ]),
    }
    // Compute first, then what was wasted, largest first; what does not fit is left out from the end.
    let mut phases: Vec<Phase> = Phase::ALL
        .iter()
        .copied()
        .filter(|p| cost.phase_seconds.get(*p) >= 1.0)
        .collect();
    phases.sort_by(|a, b| {
        let seconds = |p: &Phase| (*p == Phase::Compute, cost.phase_seconds.get(*p));
        seconds(b)
            .partial_cmp(&seconds(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut room = usize::from(area.width).saturating_sub(width(&pieces));
    for phase in phases {
        let chunk = phase_pieces(cost, phase, look, area.width >= WIDE, &money);
        if width(&chunk) > room {
            break;
        }
        room -= width(&chunk);
        pieces.extend(chunk);
    }
    if let Some(budget) = budget(cost, look).filter(|text| text.width() + 3 <= room) {
        room -= budget.width() + 3;
        pieces.push((format!("   {budget}"), muted));
    }
    let hint = t.meter_no_price();
    if cost.price_per_hour.is_none() && hint.width() + 3 <= room {
        pieces.push((format!("   {hint}"), muted));
    }
    let refs: Vec<(&str, Style)> = pieces
        .iter()
        .map(|(s, style)| (s.as_str(), *style))
        .collect();
    write_line(buf, area, &refs);
}

/// When the budget is used up, or by how much it is exceeded.
fn budget(cost: &Cost, look: &Look) -> Option<Cow<'static, str>> {
    let t = look.text;
    let (budget, amount) = (cost.budget?, cost.total_amount?);
    if amount > budget {
        return Some(t.meter_budget_over(super::money(cost, look, amount - budget)));
    }
    let at = cost.budget_reached?;
    Some(t.meter_budget_reached(look.time(at, "%d %b %H:%M")))
}

fn width(pieces: &[(String, Style)]) -> usize {
    pieces.iter().map(|(text, _)| text.width()).sum()
}

/// Space, word and figure of a phase.
fn phase_pieces(
    cost: &Cost,
    phase: Phase,
    look: &Look,
    wide: bool,
    money: &impl Fn(rust_decimal::Decimal) -> String,
) -> Vec<(String, Style)> {
    let seconds = cost.phase_seconds.get(phase);
    let place = Phase::ALL.iter().position(|p| *p == phase);
    let amount = place.and_then(|place| cost.phase_amounts.as_ref()?.get(place).copied());
    let wasted = phase != Phase::Compute;
    let figure = match amount.filter(|_| wasted && wide) {
        Some(amount) => format!(" {} {}", format_span(seconds), money(amount)),
        None => format!(" {}", format_span(seconds)),
    };
    let role = if wasted {
        phase_role(phase)
    } else {
        Role::Text
    };
    let word = match phase {
        Phase::Unobserved if !wide => look.text.state_unobserved_short(),
        Phase::IoWait if !wide => look.text.state_io_short(),
        phase => phase_word(phase, look.text),
    };
    vec![
        ("  ".to_owned(), look.style(Role::Muted)),
        (word.into_owned(), look.style(Role::Muted)),
        (figure, look.style(role)),
    ]
}

/// Begin of billing: the time today, else with its day.
pub(super) fn when(cost: &Cost, look: &Look) -> String {
    let format = if cost.span_seconds < 20.0 * 3600.0 {
        "%H:%M"
    } else {
        "%d %b %H:%M"
    };
    look.time(cost.billing_start.at, format)
}

/// Draws the ribbon of phases; of compute, the parts that were not worth their money stand apart.
pub(in crate::ui::views) fn ribbon(cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let of = &cost.of_which;
    let (stalled, throttled) = (of.stalled_s.unwrap_or(0.0), of.throttled_s.unwrap_or(0.0));
    let mut slices = vec![
        Slice::new(
            cost.phase_seconds.compute - stalled - throttled,
            look.style(Role::Compute),
            '=',
        ),
        Slice::new(stalled, look.style(Role::Stalled), 'x'),
        Slice::new(throttled, look.style(Role::Throttled), 't'),
    ];
    for (phase, letter) in [
        (Phase::IoWait, 'w'),
        (Phase::Queue, 'q'),
        (Phase::Idle, 'i'),
        (Phase::Unobserved, '.'),
    ] {
        let style = look.style(phase_role(phase));
        slices.push(Slice::new(cost.phase_seconds.get(phase), style, letter));
    }
    Ribbon::new(&slices)
        .glyphs(look.widgets())
        .render(area, buf);
}
