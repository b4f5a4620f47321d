//! The meter line: money first, then seconds by phase; wide screens add the ribbon.
//!
//! ```text
//!  $865.90 so far at $23.92/h    compute 30h 58m   io-wait 1h 02m   idle 3h 52m $92.49   unobserved 16m
//!  ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//! ```

use crate::model::{BillingStartSource, Cost, Phase};
use crate::text::Catalogue;
use crate::ui::Look;
use crate::ui::look::{write_line, write_right};
use crate::ui::theme::Role;
use crate::units::{Money, format_span};
use nameplate_widgets::{Ribbon, Slice};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// The word of a phase.
pub(super) fn phase_word(phase: Phase, t: Catalogue) -> Cow<'static, str> {
    match phase {
        Phase::Compute => t.state_compute(),
        Phase::IoWait => t.state_io_wait(),
        Phase::Queue => t.state_queue(),
        Phase::Idle => t.state_phase_idle(),
        Phase::Unobserved => t.state_unobserved(),
    }
}

/// The role of a phase.
pub(super) fn phase_role(phase: Phase) -> Role {
    match phase {
        Phase::Compute => Role::Compute,
        Phase::IoWait => Role::IoWait,
        Phase::Queue => Role::Queue,
        Phase::Idle => Role::Idle,
        Phase::Unobserved => Role::Unobserved,
    }
}

pub(super) fn source_word(source: BillingStartSource, t: Catalogue) -> Cow<'static, str> {
    match source {
        BillingStartSource::Flag => t.meter_source_flag(),
        BillingStartSource::Config => t.meter_source_config(),
        BillingStartSource::Platform => t.meter_source_platform(),
        BillingStartSource::Container => t.meter_source_container(),
        BillingStartSource::Boot => t.meter_source_boot(),
        BillingStartSource::FirstSample => t.meter_source_first_sample(),
    }
}

/// Draws the line.
pub(super) fn line(cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let (muted, text) = (look.style(Role::Muted), look.style(Role::Text));
    let money = |amount| Money { amount, currency: cost.currency.clone() }.to_string();
    let estimated = cost.billing_start.source.is_estimate();
    let head = match (cost.amount, cost.price_per_hour) {
        (Some(amount), Some(price)) => {
            let rate = format!("{}/h", money(price));
            if estimated {
                t.meter_so_far_estimated(money(amount), rate)
            } else {
                t.meter_so_far(money(amount), rate)
            }
        }
        _ => t.meter_seconds_only(format_span(cost.span_seconds)),
    };
    // The amount is what is read first; its sentence is dim around it.
    let strong = look.style(Role::Strong);
    let amount = cost.amount.map(money);
    let mut pieces: Vec<(String, Style)> = vec![(" ".to_owned(), muted)];
    match amount.as_deref().and_then(|a| Some((a, head.split_once(a)?))) {
        Some((amount, (before, after))) => pieces.extend([
            (before.to_owned(), muted),
            (amount.to_owned(), strong),
            (after.to_owned(), muted),
        ]),
        None => pieces.push((head.clone().into_owned(), strong)),
    }
    let start = t.meter_since(when(cost, look), source_word(cost.billing_start.source, t));
    let mut phases = Vec::new();
    for phase in Phase::ALL {
        phases.extend(phase_pieces(cost, phase, look, &money));
    }
    let width = |pieces: &[(String, Style)]| pieces.iter().map(|(s, _)| s.width()).sum::<usize>();
    let used = width(&pieces);
    let room = usize::from(area.width);
    for chunk in phases.chunks(3) {
        if width(&pieces) + width(chunk) <= room {
            pieces.extend_from_slice(chunk);
        }
    }
    let _ = used;
    let refs: Vec<(&str, Style)> = pieces.iter().map(|(s, style)| (s.as_str(), *style)).collect();
    let end = write_line(buf, area, &refs);
    let hint = if cost.price_per_hour.is_none() { t.meter_no_price() } else { start.clone() };
    if !write_right(buf, area, end + 2, &[(&hint, muted), (" ", text)]) && cost.price_per_hour.is_none() {
        write_right(buf, area, end + 2, &[(&start, muted), (" ", text)]);
    }
}

/// Space, word and figure of a phase; nothing where it has no second, or cannot be seen.
fn phase_pieces(
    cost: &Cost,
    phase: Phase,
    look: &Look,
    money: &impl Fn(rust_decimal::Decimal) -> String,
) -> Vec<(String, Style)> {
    let seconds = cost.phase_seconds.get(phase);
    if seconds < 1.0 {
        return Vec::new();
    }
    let place = Phase::ALL.iter().position(|p| *p == phase);
    let amount = place.and_then(|place| cost.phase_amounts.as_ref()?.get(place).copied());
    let wasted = phase != Phase::Compute;
    let figure = match amount.filter(|_| wasted) {
        Some(amount) => format!(" {} {}", format_span(seconds), money(amount)),
        None => format!(" {}", format_span(seconds)),
    };
    let role = if wasted { phase_role(phase) } else { Role::Text };
    vec![
        ("   ".to_owned(), look.style(Role::Muted)),
        (phase_word(phase, look.text).into_owned(), look.style(Role::Muted)),
        (figure, look.style(role)),
    ]
}

/// Begin of billing: the time today, else with its day.
fn when(cost: &Cost, look: &Look) -> String {
    let format = if cost.span_seconds < 20.0 * 3600.0 { "%H:%M" } else { "%d %b %H:%M" };
    look.time(cost.billing_start.at, format)
}

/// Draws the ribbon of phases.
pub(super) fn ribbon(cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let slices: Vec<Slice> = Phase::ALL
        .iter()
        .map(|phase| {
            let letter = match phase {
                Phase::Compute => '=',
                Phase::IoWait => 'w',
                Phase::Queue => 'q',
                Phase::Idle => 'i',
                Phase::Unobserved => '.',
            };
            Slice::new(cost.phase_seconds.get(*phase), look.style(phase_role(*phase)), letter)
        })
        .collect();
    Ribbon::new(&slices).glyphs(look.widgets()).render(area, buf);
}
