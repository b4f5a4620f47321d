//! Everything known of one device: each value with its source and age, each absent one with its reason.
//!
//! ```text
//!  3  NVIDIA H100 80GB HBM3                              power
//!  identity                                                draw            214 W   average, of the GPU
//!    UUID          GPU-...                                  limit in force  700 W
//!    PCI address   0000:19:00.0                             rated           --      not reported
//! ```

mod environment;
mod gap;
mod links;
mod rows;
mod sections;

use super::chrome;
use crate::app::App;
use crate::ui::Look;
use crate::ui::look::{row, wrap, write_line};
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use rows::{Row, Section};
use unicode_width::UnicodeWidthStr as _;

/// Columns of a section at least.
const LEAST_WIDTH: u16 = 60;
/// Columns of a label.
const LABEL: usize = 22;

/// Draws the view.
pub(super) fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let (Some(picture), Some(view)) = (app.picture(), app.selection()) else {
        return;
    };
    let head = sections::head(view, look, body.width.saturating_sub(4));
    let head_lines = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let sections = sections::of(picture, view, look);
    let columns = (body.width / LEAST_WIDTH).clamp(1, 3);
    let width = body.width / columns;
    let sections = sections
        .into_iter()
        .map(|s| Section {
            rows: unfold(s.rows, width.saturating_sub(1)),
            ..s
        })
        .collect();
    let flowed = flow(sections, usize::from(columns));
    let longest = flowed.iter().map(Vec::len).max().unwrap_or(0);
    let most = u16::try_from(longest)
        .unwrap_or(u16::MAX)
        .saturating_add(head_lines)
        .saturating_sub(body.height);
    app.clamp_scroll(most);
    // The head scrolls away like everything else.
    let scroll = app.scroll();
    for (y, line) in head.iter().skip(usize::from(scroll)).enumerate() {
        draw_row(
            line,
            look,
            row(body, u16::try_from(y).unwrap_or(u16::MAX)),
            buf,
        );
    }
    let used = head_lines.saturating_sub(scroll).min(body.height);
    let body = Rect {
        y: body.y + used,
        height: body.height - used,
        ..body
    };
    let scroll = scroll.saturating_sub(head_lines);
    for (n, lines) in flowed.iter().enumerate() {
        let n = n as u16;
        let column = Rect {
            x: body.x + n * width,
            width: width.saturating_sub(1),
            ..body
        };
        for (y, line) in lines
            .iter()
            .skip(usize::from(scroll))
            .take(usize::from(body.height))
            .enumerate()
        {
            draw_row(
                line,
                look,
                row(column, u16::try_from(y).unwrap_or(u16::MAX)),
                buf,
            );
        }
    }
}

fn draw_row(line: &Row, look: &Look, area: Rect, buf: &mut Buffer) {
    let style = |role| look.style(role);
    let pad = Style::default();
    match line {
        Row::Blank => {}
        Row::Title(text) => {
            write_line(buf, area, &[(" ", pad), (text, style(Role::Strong))]);
        }
        Row::Text(text, role) => {
            write_line(buf, area, &[("   ", pad), (text, style(*role))]);
        }
        Row::Value {
            label,
            value,
            note,
            role,
        } => {
            let fill = " ".repeat(fill(label, value, area.width));
            write_line(
                buf,
                area,
                &[
                    ("   ", pad),
                    (label, style(Role::Muted)),
                    (&fill, pad),
                    (value, style(*role)),
                    ("  ", pad),
                    (note, style(Role::Muted)),
                ],
            );
        }
    }
}

/// Columns between a label and its value: values stand under each other, but one that would be cut moves to the left.
fn fill(label: &str, value: &str, width: u16) -> usize {
    let room = usize::from(width).saturating_sub(3 + label.width() + value.width());
    LABEL.saturating_sub(label.width()).min(room).max(1)
}

/// A note that does not fit beside its value goes on below: half a number would be another number.
fn unfold(rows: Vec<Row>, width: u16) -> Vec<Row> {
    const LEAST: usize = 10;
    let mut unfolded = Vec::new();
    for row in rows {
        let Row::Value {
            label,
            value,
            note,
            role,
        } = row
        else {
            unfolded.push(row);
            continue;
        };
        // What has no room even at its label's side goes on below.
        let most = usize::from(width).saturating_sub(3 + label.width() + 1);
        if value.width() > most && most >= LEAST {
            let indent = label.width() + 1;
            let mut parts = wrap(&value, u16::try_from(most).unwrap_or(u16::MAX)).into_iter();
            let value = parts.next().unwrap_or_default();
            unfolded.push(Row::Value {
                label,
                value,
                note: String::new(),
                role,
            });
            let line = |text: String, role| Row::Text(" ".repeat(indent) + &text, role);
            unfolded.extend(parts.map(|part| line(part, role)));
            let note = Some(note).filter(|note| !note.is_empty());
            unfolded.extend(note.map(|note| line(note, Role::Muted)));
            continue;
        }
        let before = LABEL.max(label.width() + 1) + value.width() + 2;
        let room = usize::from(width).saturating_sub(3 + before);
        if note.width() <= room || room < LEAST {
            unfolded.push(Row::Value {
                label,
                value,
                note,
                role,
            });
            continue;
        }
        let mut notes = wrap(&note, u16::try_from(room).unwrap_or(u16::MAX)).into_iter();
        let note = notes.next().unwrap_or_default();
        unfolded.push(Row::Value {
            label,
            value,
            note,
            role,
        });
        unfolded.extend(
            notes.map(|note| Row::Text(format!("{}{note}", " ".repeat(before)), Role::Muted)),
        );
    }
    unfolded
}

/// Fills columns with whole sections, in order, evenly.
fn flow(sections: Vec<Section>, columns: usize) -> Vec<Vec<Row>> {
    let total: usize = sections.iter().map(|s| s.rows.len() + 2).sum();
    let target = total.div_ceil(columns.max(1));
    let mut flowed: Vec<Vec<Row>> = vec![Vec::new()];
    for section in sections {
        let full = flowed
            .last()
            .is_some_and(|c| !c.is_empty() && c.len() + section.rows.len() / 2 > target);
        if full && flowed.len() < columns {
            flowed.push(Vec::new());
        }
        if let Some(column) = flowed.last_mut() {
            column.push(Row::Title(section.title));
            column.extend(section.rows);
            column.push(Row::Blank);
        }
    }
    flowed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn value(text: &str) -> Row {
        Row::Value {
            label: "UUID".to_owned(),
            value: text.to_owned(),
            note: "so".to_owned(),
            role: Role::Text,
        }
    }

    #[test]
    fn a_value_is_read_whole_in_a_narrow_column() {
        let uuid = "GPU-910a2dec-8902-5cc1-d73a-9a3d941e7ec7";
        assert_eq!(fill("UUID", uuid, 59), 12);
        assert_eq!(fill("UUID", "400 W", 59), LABEL - 4);
        assert_eq!(unfold(vec![value(uuid)], 59).len(), 1);
        let rows = unfold(vec![value(uuid)], 40);
        assert_eq!(rows.len(), 3, "{rows:?}");
        let texts = rows.iter().map(|row| match row {
            Row::Value { value, .. } => value.as_str(),
            Row::Text(text, _) => text.trim_start(),
            Row::Blank | Row::Title(_) => "",
        });
        assert_eq!(texts.collect::<String>(), format!("{uuid}so"));
    }
}
