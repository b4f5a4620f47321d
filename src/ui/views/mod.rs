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

use super::Look;
use super::theme::Role;
use crate::app::{App, View};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Block;
use ratatui::widgets::Widget;

/// Draws the whole screen.
pub fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    Block::new()
        .style(look.style(Role::Ground).patch(look.style(Role::Text)))
        .render(area, buf);
    match app.view() {
        View::Overview => overview::draw(app, look, area, buf),
        View::Device => device::draw(app, look, area, buf),
        View::Meter => meter::draw(app, look, area, buf),
        View::Help => help::draw(app, look, area, buf),
        View::Nothing => nothing::draw(app, look, area, buf),
    }
    if look.charset.is_ascii() {
        only_ascii(area, buf);
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
