//! A comparison as plain text:
//!
//! ```text
//! A  RECORDING a.nmp
//!    8 x NVIDIA H100 80GB HBM3
//!    2026-03-01T12:00:00.000Z to 2026-03-02T12:00:00.000Z, watched for 24h 00m, every 1 s
//! B  RECORDING b.nmp
//!    ...
//!
//!                                               A             B     B of A
//! compute                                 20h 10m       23h 40m      117 %
//! cost of an hour of compute               $23.92        ¥96.00         --
//! power of the plate, mean                   87 %          71 %       82 %
//! ```

use super::Words;
use super::compare::{Cell, Row, Side, rows};
use super::number::timestamp;
use super::text::{Page, TextOptions, amount_text, phase_word};
use crate::model::{Phase, SourceKind};
use crate::text::{Catalogue, clean};
use crate::units::format_span;
use unicode_width::UnicodeWidthStr as _;

/// Columns of A, of B and of B's share of A; what is left is the name's.
const WIDTHS: [usize; 3] = [14, 14, 11];
/// What stands where a value is not there.
const ABSENT: &str = "--";

/// The comparison in the language of the catalogue; no line is wider than the options say.
#[must_use]
pub fn compare_text(
    a: &Side,
    b: &Side,
    words: &dyn Words,
    t: &Catalogue,
    options: TextOptions,
) -> String {
    let mut page = Page::new(options);
    side(&mut page, "A  ", a, t);
    side(&mut page, "B  ", b, t);
    page.line("");
    let name_width = options.width.saturating_sub(WIDTHS.iter().sum());
    let mut line = |name: &str, cells: [String; 3]| {
        let mut line = pad(name_width, name, false);
        for (cell, width) in cells.iter().zip(WIDTHS) {
            line.push_str(&pad(width, cell, true));
        }
        page.line(&line);
    };
    let share = t.compare_share().into_owned();
    line("", ["A".to_owned(), "B".to_owned(), share]);
    for row in rows(a, b) {
        // A reason or phase that neither side knows is no news.
        if row.a.is_err() && row.b.is_err() {
            continue;
        }
        let show = |cell: &_| cell_text(&row.figure, cell, options.ascii);
        let cell = |cell: &Result<Cell, _>| cell.as_ref().map_or_else(|_| ABSENT.to_owned(), show);
        let ratio = row.ratio().map(|r| format!("{:.0} %", r * 100.0));
        let ratio = ratio.unwrap_or_else(|_| ABSENT.to_owned());
        line(&label(&row, words, t), [cell(&row.a), cell(&row.b), ratio]);
    }
    for (name, side) in [("A", a), ("B", b)] {
        for (line, text) in &side.warnings {
            let text = match line {
                0 => clean(text).into_owned(),
                line => t.diagnosis_line(line, clean(text)).into_owned(),
            };
            page.wrap(&format!("{name}  "), &text);
        }
    }
    page.finish()
}

fn side(page: &mut Page, prefix: &str, side: &Side, t: &Catalogue) {
    let file = match &side.snapshot.source {
        SourceKind::Log { file, zone } => {
            t.diagnosis_log(clean(file), side.format.unwrap_or_default(), zone)
        }
        _ => t.diagnosis_recording(side.file()),
    };
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for view in &side.snapshot.devices {
        let name = clean(&view.device.name).into_owned();
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    let kinds = kinds.into_iter();
    let kinds = kinds.map(|(name, count)| t.compare_devices(count, name).into_owned());
    page.wrap(prefix, &file);
    page.flow("   ", &kinds.collect::<Vec<_>>());
    if let Some((from, to)) = side.span {
        let span = format_span(side.observed_seconds);
        let interval = format!("{} s", (side.interval_s * 1e3).round() / 1e3);
        let line = t.diagnosis_watched(timestamp(from), timestamp(to), span, interval);
        page.wrap("   ", &line);
    }
}

fn label(row: &Row, words: &dyn Words, t: &Catalogue) -> String {
    let phase = |word: &str| {
        let found = Phase::ALL.iter().find(|p| p.word() == word);
        found.map_or_else(|| t.compare_rounding(), |p| phase_word(*p, t))
    };
    let text = match row.figure.split_once('.') {
        Some(("phase_seconds", word)) => phase(word),
        Some(("phase_amounts", word)) => t.compare_amount_of(phase(word)),
        Some((_, word)) => t.compare_throttle(words.throttle(word)),
        None => match row.figure.as_str() {
            "observed_seconds" => t.compare_observed(),
            "span_seconds" => t.compare_span(),
            "amount" => t.compare_amount(),
            "effective_price_per_compute_hour" => t.compare_compute_hour(),
            "power_ratio" => t.compare_power_mean(),
            "power_ratio_p95" => t.compare_power_p95(),
            "utilization_ratio" => t.compare_utilization(),
            "work_ratio" => t.compare_work(),
            "throttled_ratio" => t.compare_throttled_share(),
            "throttled_seconds" => t.compare_throttled(),
            "energy_kwh" => t.compare_energy(),
            _ => t.compare_energy_hour(),
        },
    };
    text.into_owned()
}

fn cell_text(figure: &str, cell: &Cell, ascii: bool) -> String {
    match cell {
        Cell::Money(amount, currency) => amount_text(*amount, currency, ascii),
        Cell::Number(number) if figure.contains("_ratio") => format!("{:.0} %", number * 100.0),
        Cell::Number(number) if figure.contains("kwh") => format!("{number:.3} kWh"),
        Cell::Number(number) => format_span(*number),
    }
}

/// Text in a column: right or left.
fn pad(width: usize, text: &str, right: bool) -> String {
    let blank = " ".repeat(width.saturating_sub(text.width()));
    if right {
        format!("{blank}{text}")
    } else {
        format!("{text}{blank}")
    }
}
