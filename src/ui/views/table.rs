//! The table of devices: one row each, utilization dim beside work, power as a bar of the plate.
//!
//! ```text
//!      device             now  of plate                limit   plate  head  pcie ↓    ↑  link     util  work   mem  state
//!   0  H100 80GB HBM3   612 W  █████████████████▍··    700   700 W   28°      3%   1%  5 x16   98%   71%   61G  working
//! ▌ 3  H100 80GB HBM3   214 W  ██████▏·············    700   700 W   41°     97%   2%  5 x8/16 99%    6%   52G  doubtful
//! ```

use super::meter::{phase_role, phase_word};
use crate::app::{App, words};
use crate::model::{DeviceKind, DeviceView, Figure, KnownKind, Level, Snapshot, StateWord, Value};
use crate::text::clean_width;
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::row;
use crate::ui::theme::Role;
use nameplate_widgets::{Bar, Column, Columns, Slot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// Columns in the order they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Mark,
    Index,
    Vendor,
    Name,
    Power,
    Bar,
    Limit,
    Plate,
    Head,
    Down,
    Up,
    Link,
    Utilization,
    Work,
    Memory,
    Phase,
    State,
}

/// A lower priority leaves first when the screen is narrow. Vendors stand there where there are several.
fn columns(picture: &Snapshot) -> Vec<(Cell, Column)> {
    let vendor = |view: &DeviceView| view.device.vendor;
    let first = picture.devices.first().map(vendor);
    let several = picture.devices.iter().any(|d| Some(vendor(d)) != first);
    let mut columns = vec![
        (Cell::Mark, Column::left(1).priority(255)),
        (Cell::Index, Column::right(2).priority(250).lead(0)),
        (Cell::Name, Column::left(14).up_to(18).priority(120).lead(1)),
        (Cell::Power, Column::right(6).priority(240)),
        (Cell::Bar, Column::left(10).up_to(40).priority(110)),
        (Cell::Limit, Column::right(5).priority(40)),
        (Cell::Plate, Column::right(6).priority(60)),
        (Cell::Head, Column::right(4).priority(200)),
        (Cell::Down, Column::right(6).priority(190)),
        (Cell::Up, Column::right(4).priority(130)),
        (Cell::Link, Column::left(7).priority(90).lead(1)),
        (Cell::Utilization, Column::right(4).priority(160)),
        (Cell::Work, Column::right(4).priority(210)),
        (Cell::Memory, Column::right(4).priority(140)),
        (Cell::Phase, Column::left(10).priority(30)),
        (Cell::State, Column::left(9).priority(245)),
    ];
    if several {
        columns.insert(2, (Cell::Vendor, Column::left(9).priority(50).lead(1)));
    }
    columns
}

/// What of a name tells models apart: the vendor is known from the rest.
pub(super) fn short_name(name: &str) -> &str {
    [
        "NVIDIA GeForce ",
        "NVIDIA ",
        "Tesla ",
        "AMD Instinct ",
        "AMD Radeon ",
        "Ascend ",
    ]
    .iter()
    .find_map(|prefix| name.strip_prefix(prefix))
    .unwrap_or(name)
}

/// Draws titles and as many rows as fit, the selected one among them. Gives the lines used.
pub(super) fn draw(
    app: &App,
    picture: &Snapshot,
    look: &Look,
    area: Rect,
    buf: &mut Buffer,
) -> u16 {
    let columns = columns(picture);
    let plain: Vec<Column> = columns.iter().map(|(_, c)| *c).collect();
    let slots = Columns::new(&plain).gap(1).fit(area.width);
    let titles = if area.height > 1 { 1 } else { 0 };
    let room = usize::from(area.height - titles);
    // What is not there has its lines before the last of what is.
    let unlisted: Vec<String> = unlisted(picture).take(room / 2).collect();
    let room = room - unlisted.len();
    let rows = app.rows();
    let selected = app.selected_index();
    let at = rows.iter().position(|place| Some(*place) == selected);
    let first = first_row(at.unwrap_or(0), rows.len(), room);
    let shown = rows.len().saturating_sub(first).min(room);
    let mut outside = more(first, rows.len() - first - shown, look);
    if !app.filter().is_empty() {
        let filter = crate::text::clean(app.filter());
        let filtered = look
            .text
            .overview_filtered(filter, rows.len(), picture.devices.len());
        outside = format!("{filtered} {outside}").trim_end().to_owned();
    }
    if titles == 1 {
        // The count of rows outside stands at the right end, in place of the titles there.
        let taken = area
            .right()
            .saturating_sub(u16::try_from(outside.width()).unwrap_or(0));
        crate::ui::look::write_right(
            buf,
            row(area, 0),
            area.x,
            &[(&outside, look.style(Role::Accent))],
        );
        for slot in slots
            .iter()
            .filter(|slot| outside.is_empty() || slot.area(area).right() <= taken)
        {
            if let Some((cell, _)) = columns.get(slot.index) {
                let title = title(*cell, look);
                let title = clean_width(&title, usize::from(slot.width), look.charset.is_ascii());
                slot.draw(buf, row(area, 0), &title, look.style(Role::Muted));
            }
        }
    }
    let placed = rows.iter().skip(first).take(room);
    let views = placed.filter_map(|place| Some((*place, picture.devices.get(*place)?)));
    for (line, (place, view)) in views.enumerate() {
        let line = row(area, titles + u16::try_from(line).unwrap_or(u16::MAX));
        let is_selected = selected == Some(place);
        if is_selected {
            buf.set_style(line, look.style(Role::Select));
        }
        for slot in &slots {
            if let Some((cell, _)) = columns.get(slot.index) {
                draw_cell(*cell, view, is_selected, look, slot, line, buf);
            }
        }
    }
    let used = titles + u16::try_from(shown).unwrap_or(u16::MAX);
    for (line, text) in (used..).zip(&unlisted) {
        let pieces = [
            ("    ", look.style(Role::Muted)),
            (text.as_str(), look.style(Role::Lost)),
        ];
        crate::ui::look::write_line(buf, row(area, line), &pieces);
    }
    used + u16::try_from(unlisted.len()).unwrap_or(0)
}

/// What a library that works could not list: devices that have no row.
pub(super) fn unlisted(picture: &Snapshot) -> impl Iterator<Item = String> {
    picture.probes.iter().filter_map(|probe| {
        let said = probe.unlisted()?;
        Some(format!("{}: {said}", probe.vendor.word()))
    })
}

/// First row to show, so that the selected one stands in view with some context.
fn first_row(selected: usize, count: usize, room: usize) -> usize {
    if count <= room || room == 0 {
        return 0;
    }
    selected.saturating_sub(room / 2).min(count - room)
}

/// How many rows lie outside.
fn more(above: usize, below: usize, look: &Look) -> String {
    let part = |count: usize, glyph| (count > 0).then(|| format!("{} {count}", look.glyph(glyph)));
    let parts: Vec<String> = [part(above, Glyph::MoreAbove), part(below, Glyph::MoreBelow)]
        .into_iter()
        .flatten()
        .collect();
    parts.join(" ")
}

fn title(cell: Cell, look: &Look) -> Cow<'static, str> {
    let t = look.text;
    match cell {
        Cell::Mark | Cell::Index => Cow::Borrowed(""),
        Cell::Vendor => t.overview_vendor(),
        Cell::Name => t.overview_device(),
        Cell::Power => t.overview_now(),
        Cell::Bar => t.overview_of_plate(),
        Cell::Limit => t.overview_limit(),
        Cell::Plate => t.overview_plate(),
        Cell::Head => t.overview_head(),
        // The twin of the arrow is wider: with it the column's own title has no room.
        Cell::Down if look.charset.is_ascii() => Cow::Borrowed(look.glyph(Glyph::ArrowDown)),
        Cell::Down => t.overview_pcie(look.glyph(Glyph::ArrowDown)),
        Cell::Up => Cow::Borrowed(look.glyph(Glyph::ArrowUp)),
        Cell::Link => t.overview_link(),
        Cell::Utilization => t.overview_util(),
        Cell::Work => t.overview_work(),
        Cell::Memory => t.overview_mem(),
        Cell::Phase => t.overview_phase(),
        Cell::State => t.overview_state(),
    }
}

fn draw_cell(
    cell: Cell,
    view: &DeviceView,
    selected: bool,
    look: &Look,
    slot: &Slot,
    line: Rect,
    buf: &mut Buffer,
) {
    let get = |figure| view.figures.get(figure);
    let state = Look::role_of(view.word);
    let unit = |text: &str, value: Value, role: Role| -> (String, Style) {
        (text.to_owned(), look.style(role_of_value(value, role)))
    };
    let (text, style) = match cell {
        Cell::Mark if selected => (
            look.glyph(Glyph::Selected).to_owned(),
            look.style(Role::SelectedMark),
        ),
        Cell::Mark => return,
        Cell::Index if selected => (view.device.index.to_string(), look.style(Role::Accent)),
        Cell::Index => (view.device.index.to_string(), look.style(Role::Muted)),
        Cell::Vendor => (
            view.device.vendor.word().to_owned(),
            look.style(Role::Muted),
        ),
        Cell::Name => (name(view, slot.width, look), look.style(Role::Text)),
        Cell::Power => {
            let power = get(Figure::Power);
            unit(
                &look.number(power, |w| format!("{w:.0} W")),
                power,
                Role::Strong,
            )
        }
        Cell::Bar => return draw_bar(view, look, slot.area(line), buf),
        Cell::Limit => {
            let limit = get(Figure::PowerLimit);
            let role = if has(view, |k| matches!(k, KnownKind::LimitBelowPlate { .. })) {
                Role::Limit
            } else {
                Role::Muted
            };
            unit(&look.number(limit, |w| format!("{w:.0}")), limit, role)
        }
        Cell::Plate => {
            let plate = get(Figure::PlatePower);
            // A row of the table of plates that nobody verified is marked, in the room that there is.
            let write = |w: f64| match view.plate_unverified {
                true if w >= 1000.0 => format!("{w:.0}?"),
                true => format!("{w:.0} W?"),
                false => format!("{w:.0} W"),
            };
            unit(&look.number(plate, write), plate, Role::Plate)
        }
        Cell::Head => {
            let head = get(Figure::Headroom);
            let hot = has(view, |k| {
                matches!(k, KnownKind::Hot { .. } | KnownKind::SlowedByHeat { .. })
            });
            let degree = look.glyph(Glyph::Degree);
            unit(
                &look.number(head, |c| format!("{c:.0}{degree}")),
                head,
                if hot { Role::Warn } else { Role::Text },
            )
        }
        Cell::Down if only_the_sum(view) => {
            let (text, style) = saturation(view, Figure::PcieBothSaturation, true, look);
            (format!("{}{text}", look.glyph(Glyph::Sum)), style)
        }
        Cell::Down => saturation(view, Figure::PcieRxSaturation, true, look),
        Cell::Up => saturation(view, Figure::PcieTxSaturation, false, look),
        Cell::Link => link(view, look),
        Cell::Utilization => {
            let utilization = get(Figure::Utilization);
            unit(&look.percent(utilization), utilization, Role::Muted)
        }
        Cell::Work => {
            let work = get(Figure::Work);
            let role = match view.word {
                StateWord::Doubtful => Role::Bad,
                StateWord::Idle | StateWord::Held => Role::Muted,
                _ => Role::Strong,
            };
            unit(&look.percent(work), work, role)
        }
        Cell::Memory => {
            let used = get(Figure::MemoryUsed);
            unit(&look.number(used, gigabytes), used, Role::Muted)
        }
        Cell::Phase => (
            phase_word(view.phase, look.text).into_owned(),
            look.style(phase_role(view.phase)),
        ),
        Cell::State => (
            words::state(view.word, look.text).into_owned(),
            look.style(state),
        ),
    };
    let style = if selected {
        look.style(Role::Select).patch(style)
    } else {
        style
    };
    slot.draw(buf, line, &text, style);
}

/// Absent values are dim; what was not read in this tick is dim too.
fn role_of_value(value: Value, role: Role) -> Role {
    match value.reading {
        Ok(_) if value.age_s > 0.0 => Role::Muted,
        Ok(_) => role,
        Err(_) => Role::Faint,
    }
}

fn has(view: &DeviceView, test: impl Fn(&KnownKind) -> bool) -> bool {
    view.known.iter().any(|k| test(&k.kind))
}

fn name(view: &DeviceView, width: u16, look: &Look) -> String {
    let short = short_name(view.device.short_name());
    let text = match view.device.kind {
        DeviceKind::Device => match view.device.shared_by() {
            Some(software) => format!("{software} {short}"),
            None => short.to_owned(),
        },
        DeviceKind::Instance => format!("{} {short}", look.glyph(Glyph::Branch)),
    };
    clean_width(&text, usize::from(width), look.charset.is_ascii()).into_owned()
}

fn draw_bar(view: &DeviceView, look: &Look, area: Rect, buf: &mut Buffer) {
    let figure = |f| view.figures.get(f).ok();
    let plate = figure(Figure::PlatePower).or(figure(Figure::PowerLimit));
    let share = |watts: Option<f64>| Some(watts? / plate.filter(|p| *p > 0.0)?);
    let role = match view.word {
        StateWord::Working | StateWord::Capped | StateWord::Narrow => Role::Bar,
        other => Look::role_of(other),
    };
    let mut bar = Bar::new(share(figure(Figure::Power)))
        .style(look.style(role))
        .track_style(look.style(Role::BarEmpty))
        .overflow_style(look.style(Role::Warn))
        .glyphs(look.widgets());
    if let Some(limit) = share(figure(Figure::PowerLimit)).filter(|l| *l < 0.995) {
        bar = bar.tick(limit, look.style(Role::Limit));
    }
    (&bar).render(area, buf);
}

/// The device does not tell the directions of its traffic apart.
pub(super) fn only_the_sum(view: &DeviceView) -> bool {
    let known = |figure| view.figures.get(figure).reading.is_ok();
    known(Figure::PcieBoth) && !known(Figure::PcieRx) && !known(Figure::PcieTx)
}

fn saturation(view: &DeviceView, figure: Figure, down: bool, look: &Look) -> (String, Style) {
    let value = view.figures.get(figure);
    let full = has(
        view,
        |k| matches!(k, KnownKind::LinkFull { down: d, .. } if *d == down),
    );
    let role = match (full, view.word) {
        (true, StateWord::Doubtful) => Role::Bad,
        (true, _) => Role::Warn,
        (false, _) if down => Role::Text,
        (false, _) => Role::Muted,
    };
    (look.percent(value), look.style(role_of_value(value, role)))
}

/// `5 x16`, or `5 x8/16` where lanes are missing.
fn link(view: &DeviceView, look: &Look) -> (String, Style) {
    let get = |figure| view.figures.get(figure);
    let (generation, width) = (get(Figure::PcieGeneration), get(Figure::PcieWidth));
    let (Some(g), Some(w)) = (generation.ok(), width.ok()) else {
        return (
            look.glyph(Glyph::Absent).to_owned(),
            look.style(Role::Faint),
        );
    };
    let worst = view
        .known
        .iter()
        .find(|k| matches!(k.kind, KnownKind::Narrow { .. } | KnownKind::Slow { .. }))
        .map(|k| {
            if view.word == StateWord::Doubtful {
                Level::Bad
            } else {
                k.level
            }
        });
    let text = match get(Figure::PcieWidthMax).ok() {
        Some(max) if max > w => format!("{g:.0} x{w:.0}/{max:.0}"),
        _ => format!("{g:.0} x{w:.0}"),
    };
    let role = worst.map_or(Role::Muted, Look::role_of_level);
    (text, look.style(role_of_value(width, role)))
}

/// Memory in four columns: `61G`, `512M`.
fn gigabytes(bytes: f64) -> String {
    let gib = bytes / (1024.0 * 1024.0 * 1024.0);
    if gib >= 0.95 || bytes == 0.0 {
        format!("{gib:.0}G")
    } else {
        format!("{:.0}M", gib * 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_always_in_view() {
        for count in [0, 1, 8, 64] {
            for room in 0..50 {
                for selected in 0..count {
                    let first = first_row(selected, count, room);
                    assert!(room == 0 || (first..first + room).contains(&selected));
                    assert!(first + room <= count.max(room));
                }
            }
        }
    }

    #[test]
    fn names_lose_what_says_nothing() {
        assert_eq!(short_name("NVIDIA H100 80GB HBM3"), "H100 80GB HBM3");
        assert_eq!(short_name("Tesla T4"), "T4");
        assert_eq!(short_name("NVIDIA GeForce RTX 4090"), "RTX 4090");
    }
}
