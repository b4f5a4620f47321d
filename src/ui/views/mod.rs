//! Views: pure functions of (state, size, look).

mod charts;
mod chrome;
mod device;
mod facts;
mod help;
mod meter;
mod nothing;
mod overview;
mod table;
mod verdicts;

use super::Look;
use super::theme::Role;
use crate::app::{App, View};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

/// Draws the whole screen.
pub fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    ground(look, area, buf);
    match app.view() {
        View::Overview => overview::draw(app, look, area, buf),
        View::Device => device::draw(app, look, area, buf),
        View::Verdicts => verdicts::draw(app, look, area, buf),
        View::Meter => meter::draw(app, look, area, buf),
        View::Help => help::draw(app, look, area, buf),
        View::Nothing => nothing::draw(app, look, area, buf),
    }
    if look.charset.is_ascii() {
        only_ascii(area, buf);
    }
}

/// Blanks on the theme's ground, whatever was there.
fn ground(look: &Look, area: Rect, buf: &mut Buffer) {
    let mut blank = Cell::default();
    blank.set_style(look.style(Role::Ground).patch(look.style(Role::Text)));
    for y in area.top()..area.bottom() {
        let (start, end) = (
            buf.index_of(area.left(), y),
            buf.index_of(area.right() - 1, y),
        );
        if let Some(row) = buf.content.get_mut(start..=end) {
            row.fill(blank.clone());
        }
    }
}

/// Names from outside may hold anything; where only ASCII can be shown, the rest is a question mark.
fn only_ascii(area: Rect, buf: &mut Buffer) {
    for position in area.positions() {
        if let Some(cell) = buf.cell_mut(position)
            && !cell.symbol().is_ascii()
        {
            cell.set_symbol("?");
        }
    }
}
