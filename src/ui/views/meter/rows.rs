//! The table of phases: seconds, share, money, and what is to be said of each.

use super::{clock_span, money, phase_role, phase_word, share};
use crate::model::{Cost, Phase, Snapshot, StepSource};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, write_line};
use crate::ui::theme::Role;
use crate::units::format_span;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rust_decimal::Decimal;
use unicode_width::UnicodeWidthStr as _;

const WORD: usize = 16;
const TIME: usize = 11;
const SHARE: usize = 9;
const MONEY: usize = 12;

/// One line of the table.
struct Line {
    word: String,
    role: Role,
    seconds: Option<f64>,
    amount: Option<Decimal>,
    /// The first matters most; one that does not fit is left out, never cut.
    notes: Vec<String>,
}

/// Titles, phases, the two parts of compute, and the rounding where there is any.
pub(super) fn count(cost: &Cost) -> u16 {
    8 + u16::from(cost.rounding_seconds >= 1.0)
}

pub(super) fn draw(picture: &Snapshot, cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let muted = look.style(Role::Muted);
    let titles = format!(
        "  {}{}{}{}",
        " ".repeat(WORD),
        right(&t.meter_column_time(), TIME),
        right(&t.meter_column_share(), SHARE),
        right(&t.meter_column_money(), MONEY)
    );
    write_line(buf, row(area, 0), &[(&titles, muted)]);
    for (n, line) in lines(picture, cost, look).iter().enumerate() {
        let at = row(area, u16::try_from(n + 1).unwrap_or(u16::MAX));
        draw_line(line, cost, look, at, buf);
    }
}

fn draw_line(line: &Line, cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let absent = || look.glyph(Glyph::Absent).to_owned();
    let (muted, text) = (look.style(Role::Muted), look.style(Role::Text));
    let time = line.seconds.map_or_else(absent, clock_span);
    let part = line
        .seconds
        .map_or_else(absent, |s| share(s, cost.span_seconds, look));
    let amount = match line.amount {
        Some(amount) => money(cost, look, amount),
        None => absent(),
    };
    let fill = WORD.saturating_sub(line.word.width());
    let mut room = usize::from(area.width).saturating_sub(2 + WORD + TIME + SHARE + MONEY + 3);
    let mut note = String::new();
    for part in &line.notes {
        let part = if note.is_empty() {
            part.clone()
        } else {
            format!(", {part}")
        };
        if part.width() > room {
            break;
        }
        room -= part.width();
        note.push_str(&part);
    }
    write_line(
        buf,
        area,
        &[
            ("  ", muted),
            (&line.word, look.style(line.role)),
            (&" ".repeat(fill), muted),
            (&right(&time, TIME), text),
            (&right(&part, SHARE), muted),
            (&right(&amount, MONEY), text),
            ("   ", muted),
            (&note, muted),
        ],
    );
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

fn lines(picture: &Snapshot, cost: &Cost, look: &Look) -> Vec<Line> {
    let t = look.text;
    let mut lines = Vec::new();
    for (place, phase) in Phase::ALL.iter().enumerate() {
        let amount = cost
            .phase_amounts
            .and_then(|parts| parts.get(place).copied());
        let seconds = match phase {
            Phase::IoWait => cost.phase_seconds.io_wait,
            phase => Some(cost.phase_seconds.get(*phase)),
        };
        let free = !cost.tariff.phase(*phase).is_billed();
        let notes = if free {
            vec![t.meter_note_free().into_owned()]
        } else {
            notes(*phase, picture, cost, look)
        };
        lines.push(Line {
            word: phase_word(*phase, t).into_owned(),
            role: phase_role(*phase),
            amount: amount.filter(|_| seconds.is_some()),
            seconds,
            notes,
        });
        if *phase == Phase::Compute {
            lines.extend(parts(cost, look));
        }
    }
    if cost.rounding_seconds >= 1.0 {
        lines.push(Line {
            word: t.meter_rounding().into_owned(),
            role: Role::Muted,
            seconds: Some(cost.rounding_seconds),
            amount: cost.phase_amounts.and_then(|parts| parts.last().copied()),
            notes: (cost.next_edge.iter())
                .map(|at| t.meter_note_edge(look.time(*at, "%H:%M:%S")).into_owned())
                .collect(),
        });
    }
    lines
}

/// The parts of compute that were not worth their money.
fn parts(cost: &Cost, look: &Look) -> [Line; 2] {
    let t = look.text;
    let of = &cost.of_which;
    let notes: Vec<String> = (of.stalled_s.is_none())
        .then(|| t.meter_note_not_judged().into_owned())
        .into_iter()
        .collect();
    [
        Line {
            word: format!("  {}", t.meter_stalled()),
            role: Role::Stalled,
            seconds: of.stalled_s,
            amount: of.stalled_amount,
            notes: notes.clone(),
        },
        Line {
            word: format!("  {}", t.meter_throttled()),
            role: Role::Throttled,
            seconds: of.throttled_s,
            amount: of.throttled_amount,
            notes,
        },
    ]
}

fn notes(phase: Phase, picture: &Snapshot, cost: &Cost, look: &Look) -> Vec<String> {
    let t = look.text;
    match phase {
        Phase::Compute => compute(cost, look),
        Phase::IoWait if cost.phase_seconds.io_wait.is_none() => {
            vec![t.meter_note_io_unseen().into_owned()]
        }
        Phase::Queue => startup(picture, look),
        Phase::Idle if cost.idle_held_seconds >= 1.0 => vec![
            t.meter_note_held(format_span(cost.idle_held_seconds))
                .into_owned(),
            t.meter_note_kept().into_owned(),
        ],
        Phase::Unobserved if cost.phase_seconds.unobserved >= 1.0 => {
            vec![t.meter_note_unobserved().into_owned()]
        }
        Phase::IoWait | Phase::Idle | Phase::Unobserved => Vec::new(),
    }
}

fn compute(cost: &Cost, look: &Look) -> Vec<String> {
    let t = look.text;
    let per_hour = cost
        .effective_price_per_compute_hour
        .map(|price| t.meter_note_per_hour(money(cost, look, price)).into_owned());
    let looked = cost.span_seconds - cost.phase_seconds.unobserved;
    let integral = (looked >= 1.0).then(|| {
        let percent = |sum: f64, of: f64| format!("{:.0} %", sum / of * 100.0);
        let used = percent(cost.utilization_seconds, looked);
        match cost.work_seconds.filter(|(_, known)| *known >= 1.0) {
            Some((work, known)) => t.meter_note_integrals(used, percent(work, known)),
            None => t.meter_note_integral(used),
        }
        .into_owned()
    });
    per_hour.into_iter().chain(integral).collect()
}

/// When the first process came, and the first second of compute, counted from the begin of billing.
fn startup(picture: &Snapshot, look: &Look) -> Vec<String> {
    let t = look.text;
    let steps = &picture.startup.now;
    let Some(begin) = steps.billing_started else {
        return Vec::new();
    };
    let after = |step: crate::model::StartStep| {
        let seconds = step.at.duration_since(begin.at).as_secs_f64();
        (step.source != StepSource::Already && seconds >= 0.0).then(|| format_span(seconds))
    };
    let notes = [
        (steps.first_process.and_then(after)).map(|s| t.meter_note_process(s).into_owned()),
        (steps.first_compute.and_then(after)).map(|s| t.meter_note_first(s).into_owned()),
    ];
    notes.into_iter().flatten().collect()
}
