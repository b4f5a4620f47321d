//! The lower half: what was wasted by hours or days, the account of each device, or the starts.

use super::{clock_span, money, share};
use crate::app::MeterPanel;
use crate::model::{Cost, Hour, Phase, Snapshot, StartSteps, StepSource};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, write_line};
use crate::ui::theme::Role;
use crate::units::format_span;
use nameplate_widgets::Sweep;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr as _;

const HOUR_S: f64 = 3600.0;
/// Hours and days shown.
const HOURS: i64 = 36;
const DAYS: i64 = 31;
/// Columns for the figures at the left.
const GUTTER: u16 = 10;

pub(super) fn draw(
    panel: MeterPanel,
    picture: &Snapshot,
    cost: &Cost,
    look: &Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let title = match panel {
        MeterPanel::Hours => look.text.meter_wasted_hours(HOURS),
        MeterPanel::Days => look.text.meter_wasted_days(DAYS),
        MeterPanel::Devices => look.text.meter_by_device(),
        MeterPanel::Starts => look.text.meter_starts(),
    };
    write_line(
        buf,
        row(area, 0),
        &[
            ("  ", look.style(Role::Muted)),
            (&title, look.style(Role::Text)),
        ],
    );
    let rest = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    match panel {
        MeterPanel::Hours => chart(&by_hour(picture, cost), cost, look, 1.0, rest, buf),
        MeterPanel::Days => chart(&by_day(picture, cost, look), cost, look, 24.0, rest, buf),
        MeterPanel::Devices => devices(picture, cost, look, rest, buf),
        MeterPanel::Starts => starts(picture, look, rest, buf),
    }
}

/// Wasted seconds of each bar, the oldest first; `None` where nobody looked.
type Bars = Vec<Option<f64>>;

fn hours(cost: &Cost) -> impl Iterator<Item = &Hour> {
    cost.hours.iter().chain(cost.this_hour.as_ref())
}

fn by_hour(picture: &Snapshot, cost: &Cost) -> Bars {
    let newest = picture.at.as_second().div_euclid(3600);
    let mut bars = vec![None; HOURS as usize];
    for hour in hours(cost).filter(|hour| hour.seen_s() > 0.0) {
        let place = i64::from(hour.hour) - (newest - HOURS + 1);
        if let Some(bar) = usize::try_from(place)
            .ok()
            .and_then(|place| bars.get_mut(place))
        {
            *bar = Some(hour.wasted_s());
        }
    }
    bars
}

/// Days of the zone of the screen: one with a change of the clocks has 23 or 25 hours.
fn by_day(picture: &Snapshot, cost: &Cost, look: &Look) -> Bars {
    let day = |at: jiff::Timestamp| at.to_zoned_datetime(look.zone.clone()).date();
    let mut sums: BTreeMap<_, f64> = BTreeMap::new();
    for hour in hours(cost).filter(|hour| hour.seen_s() > 0.0) {
        if let Some(begin) = hour.begin() {
            *sums.entry(day(begin)).or_default() += hour.wasted_s();
        }
    }
    let mut bars = Vec::new();
    let mut date = day(picture.at);
    for _ in 0..DAYS {
        bars.push(sums.get(&date).copied());
        let Ok(before) = date.yesterday() else { break };
        date = before;
    }
    bars.reverse();
    bars
}

/// Money per bar where there is a price, else the share of time. `hours` are in a bar.
fn chart(bars: &Bars, cost: &Cost, look: &Look, hours: f64, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let count = bars.len().max(1) as f64;
    let price = cost
        .price_per_hour
        .and_then(|price| f64::try_from(price).ok());
    let top = price.unwrap_or(1.0).max(0.01) * if price.is_some() { hours } else { 1.0 };
    let value = |seconds: f64| match price {
        Some(price) => seconds / HOUR_S * price,
        None => seconds / (hours * HOUR_S),
    };
    let points = bars
        .iter()
        .enumerate()
        .map(|(n, bar)| ((n as f64 + 0.5) / count, bar.map(value)));
    let (figure, name) = match cost.price_per_hour {
        Some(price) if hours > 1.0 => {
            let day = price.checked_mul(Decimal::from(24)).unwrap_or(price);
            (money(cost, look, day.round_dp(0)), t.meter_price_day())
        }
        Some(price) => (money(cost, look, price), t.meter_price_hour()),
        None => ("100 %".to_owned(), t.meter_all_of_it()),
    };
    let begin = if hours > 1.0 {
        format!("-{DAYS} d")
    } else {
        format!("-{HOURS} h")
    };
    let now = t.meter_now();
    let inner = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(4),
        ..area
    };
    Sweep::new(points, (0.0, top))
        .ceiling(&figure, &name)
        .bottom("0")
        .times(&begin, &now)
        .gutter(GUTTER)
        .hold(1.0 / count + 1e-6)
        .style(look.style(Role::Idle))
        .overflow_style(look.style(Role::Idle))
        .label_style(look.style(Role::ChartAxis))
        .rule_style(look.style(Role::ChartCeiling))
        .glyphs(look.widgets())
        .render(inner, buf);
}

/// A cell of the table of devices, on its side.
fn cell(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// The account of each device; the most wasted first where not all fit.
fn devices(picture: &Snapshot, cost: &Cost, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let muted = look.style(Role::Muted);
    let titles: String = [
        (t.state_compute(), 22),
        (t.state_io_wait(), 10),
        (t.state_queue_short(), 10),
        (t.state_phase_idle(), 10),
        (t.state_unobserved_short(), 10),
        (t.meter_column_busy(), 7),
        (t.overview_work(), 7),
    ]
    .iter()
    .map(|(title, width)| cell(title, *width))
    .collect();
    write_line(buf, row(area, 0), &[(&titles, muted)]);
    let mut views: Vec<_> = picture.devices.iter().collect();
    if views.len() + 1 > usize::from(area.height) {
        let compute = |seconds: f64| std::cmp::Reverse((seconds * 1e3) as i64);
        views.sort_by_key(|view| compute(view.phase_seconds.total() - view.phase_seconds.compute));
    }
    for (n, view) in views.iter().enumerate() {
        let seconds = &view.phase_seconds;
        let looked = seconds.total() - seconds.unobserved;
        let absent = look.glyph(Glyph::Absent);
        let time = |phase| cell(&clock_span(seconds.get(phase)), 10);
        let io_wait = match seconds.io_wait {
            Some(_) => time(Phase::IoWait),
            None => cell(absent, 10),
        };
        let percent = |sum: Option<(f64, f64)>| {
            let text = sum.filter(|(_, of)| *of > 0.0);
            cell(
                &text.map_or(absent.to_owned(), |(sum, of)| {
                    format!("{:.0}%", sum / of * 100.0)
                }),
                7,
            )
        };
        let line: String = [
            cell(&clock_span(seconds.compute), 10),
            io_wait,
            time(Phase::Queue),
            time(Phase::Idle),
            time(Phase::Unobserved),
            percent(Some((view.utilization_seconds, looked))),
            percent(view.work_seconds),
        ]
        .concat();
        let name = format!("{:>4}  ", view.device.index);
        let part = cell(&share(seconds.compute, cost.span_seconds, look), 6);
        let at = row(area, u16::try_from(n + 1).unwrap_or(u16::MAX));
        write_line(
            buf,
            at,
            &[
                (&name, muted),
                (&part, muted),
                (&line, look.style(Role::Text)),
            ],
        );
    }
}

/// The steps of this start with their sources, and earlier starts, the newest first.
fn starts(picture: &Snapshot, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let (muted, text) = (look.style(Role::Muted), look.style(Role::Text));
    let now = &picture.startup.now;
    let names = [
        t.meter_step_billing(),
        t.meter_step_boot(),
        t.meter_step_driver(),
        t.meter_step_process(),
        t.meter_step_compute(),
    ];
    let mut y = 0;
    for (name, (_, step)) in names.iter().zip(now.named()) {
        let fill = " ".repeat(18_usize.saturating_sub(name.width()));
        let (time, note) = match step {
            Some(step) => (
                look.time(step.at, "%d %b %H:%M:%S"),
                step_source(step.source, look),
            ),
            None => (
                look.glyph(Glyph::Absent).to_owned(),
                t.meter_step_unknown().into_owned(),
            ),
        };
        let at = row(area, y);
        write_line(
            buf,
            at,
            &[
                ("    ", muted),
                (name, muted),
                (&fill, muted),
                (&time, text),
                ("  ", muted),
                (&note, muted),
            ],
        );
        y += 1;
    }
    for past in picture.startup.earlier.iter().rev() {
        let began = look.time(past.began(), "%d %b %H:%M");
        let lasted = format_span(past.last_at.duration_since(past.began()).as_secs_f64());
        let sentence = t.meter_past_start(began, lasted, until(&past.steps, look));
        write_line(buf, row(area, y), &[("    ", muted), (&sentence, muted)]);
        y += 1;
    }
}

fn until(steps: &StartSteps, look: &Look) -> String {
    match steps.until_compute_s() {
        Some(seconds) => look
            .text
            .meter_note_first(format_span(seconds))
            .into_owned(),
        None => look.text.meter_step_unknown().into_owned(),
    }
}

fn step_source(source: StepSource, look: &Look) -> String {
    let t = look.text;
    match source {
        StepSource::Billing(source) => super::source_word(source, t).into_owned(),
        StepSource::Kernel => t.meter_from_kernel().into_owned(),
        StepSource::Driver => t.meter_from_driver().into_owned(),
        StepSource::Process => t.meter_from_process().into_owned(),
        StepSource::List => t.meter_from_list().into_owned(),
        StepSource::Utilization => t.meter_from_utilization().into_owned(),
        StepSource::Already => t.meter_from_already().into_owned(),
    }
}
