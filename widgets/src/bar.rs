//! A horizontal bar of a full scale.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use crate::Glyphs;
use crate::glyphs::LEFT_EIGHTHS;
use crate::paint::Canvas;

/// Ticks a bar can carry.
const MAX_TICKS: usize = 4;

/// Narrowest bar that draws its ticks; below it they would hide the value.
const MIN_WIDTH_FOR_TICKS: u16 = 3;

/// A horizontal bar, one row high, of a value as a share of a full scale.
///
/// ```text
/// █████████████▉▏·····   Unicode: fill in eighths of a cell, a tick, the track
/// ##############|.....   ASCII
/// ███████████████████»   a value past the scale is clamped and marked
/// ····················   no value: the track alone
/// ```
///
/// The value is a share: 0.0 is empty and 1.0 the whole width. `None`, NaN and the infinities draw
/// the track alone, a negative share is an empty bar, and any share above zero shows at least the
/// smallest block. Only a share of 1.0 fills it.
///
/// Ticks mark other points of the same scale, say a limit below its full end. A tick inside the
/// filled part is drawn over it. When it falls into the cell where the fill ends, which one cell
/// cannot show together, it stands at the near edge of the next cell on its own side.
///
/// ```
/// use nameplate_widgets::{Bar, Glyphs};
/// use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};
///
/// let mut buf = Buffer::empty(Rect::new(0, 0, 10, 1));
/// Bar::new(Some(0.45)).tick(0.7, Style::new()).render(buf.area, &mut buf);
/// assert_eq!(buf, Buffer::with_lines(["████▌··▏··"]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    value: Option<f64>,
    style: Style,
    track: Style,
    overflow: Style,
    ticks: [Option<(f64, Style)>; MAX_TICKS],
    glyphs: Glyphs,
}

impl Bar {
    /// A bar of `value`, the share of the full scale.
    #[must_use]
    pub fn new(value: Option<f64>) -> Self {
        Self {
            value: value.filter(|share| share.is_finite()),
            style: Style::new(),
            track: Style::new(),
            overflow: Style::new(),
            ticks: [None; MAX_TICKS],
            glyphs: Glyphs::default(),
        }
    }

    /// The style of the filled part.
    #[must_use]
    pub const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The style of the empty part.
    #[must_use]
    pub const fn track_style(mut self, style: Style) -> Self {
        self.track = style;
        self
    }

    /// The style of the mark at the end of a bar whose value is above 1.0.
    #[must_use]
    pub const fn overflow_style(mut self, style: Style) -> Self {
        self.overflow = style;
        self
    }

    /// Adds a tick at share `at` of the scale. Up to four; where two share a cell the later wins.
    ///
    /// A share outside 0.0 to 1.0 has no place on the scale and draws nothing.
    #[must_use]
    pub fn tick(mut self, at: f64, style: Style) -> Self {
        if (0.0..=1.0).contains(&at)
            && let Some(free) = self.ticks.iter_mut().find(|tick| tick.is_none())
        {
            *free = Some((at, style));
        }
        self
    }

    /// The characters to draw with.
    #[must_use]
    pub const fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

/// How far a bar is filled, in eighths of a cell.
#[derive(Clone, Copy)]
struct Fill {
    eighths: u32,
}

impl Fill {
    /// The fill of `width` cells by `share`: whole eighths for Unicode, whole cells for ASCII.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=8 * u16::MAX"
    )]
    fn of(share: f64, width: u16, glyphs: Glyphs) -> Self {
        let share = share.clamp(0.0, 1.0);
        // Eighths are small enough to round down; the sliver makes up for 0.7 * 10 and its like.
        let (step, rounding) = match glyphs {
            Glyphs::Unicode => (1, 1e-9),
            Glyphs::Ascii => (8, 0.5),
        };
        let steps = u32::from(width) * 8 / step;
        let filled = (share * f64::from(steps) + rounding) as u32;
        // A share above zero is not nothing, and one below the scale's end is not full.
        let least = u32::from(share > 0.0).min(steps);
        let most = if share < 1.0 {
            steps.saturating_sub(1)
        } else {
            steps
        };
        let filled = filled.clamp(least, most.max(least));
        Self {
            eighths: filled * step,
        }
    }

    /// Cells that are wholly filled.
    fn full(self) -> u16 {
        u16::try_from(self.eighths / 8).unwrap_or(u16::MAX)
    }

    /// Eighths filled in the cell after those.
    const fn rest(self) -> usize {
        (self.eighths % 8) as usize
    }
}

impl Widget for Bar {
    fn render(self, area: Rect, buf: &mut Buffer) {
        self.draw(area, buf);
    }
}

impl Widget for &Bar {
    fn render(self, area: Rect, buf: &mut Buffer) {
        self.draw(area, buf);
    }
}

impl Bar {
    fn draw(&self, area: Rect, buf: &mut Buffer) {
        let mut canvas = Canvas::new(buf, area);
        let width = canvas.width();
        if width == 0 || canvas.height() == 0 {
            return;
        }
        let fill = Fill::of(self.value.unwrap_or(0.0), width, self.glyphs);
        self.draw_fill(&mut canvas, fill);
        if width >= MIN_WIDTH_FOR_TICKS {
            for (at, style) in self.ticks.iter().flatten() {
                self.draw_tick(&mut canvas, fill, *at, *style);
            }
        }
        if self.value.is_some_and(|share| share > 1.0) {
            canvas.put(width - 1, 0, self.glyphs.overflow(), self.overflow);
        }
    }

    fn draw_fill(&self, canvas: &mut Canvas<'_>, fill: Fill) {
        let (full, rest) = (fill.full(), fill.rest());
        let block = self.glyphs.pick("█", "#").chars().next().unwrap_or(' ');
        canvas.run(0, full, 0, block, self.style);
        let mut from = full;
        if rest > 0 {
            canvas.put(full, 0, LEFT_EIGHTHS[rest], self.style);
            from = full.saturating_add(1);
        }
        canvas.run(from, canvas.width(), 0, self.glyphs.track(), self.track);
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`at` is a share of 0..=1 and the width a u16"
    )]
    fn draw_tick(&self, canvas: &mut Canvas<'_>, fill: Fill, at: f64, style: Style) {
        let width = canvas.width();
        let spot = at * f64::from(width);
        let mut cell = (spot as u16).min(width - 1);
        let mut within = spot - f64::from(cell);
        if self.glyphs == Glyphs::Ascii {
            canvas.put(cell, 0, '|', style);
            return;
        }
        if cell == fill.full() && fill.rest() > 0 {
            let past = within * 8.0 >= fill.rest() as f64;
            match (past, cell) {
                // The next cell's left edge is the nearest place that shows both.
                (true, _) if cell + 1 < width => (cell, within) = (cell + 1, 0.0),
                // The scale's own end: the fill goes before, and where it leaves just an eighth
                // that eighth is the tick.
                (true, _) => {
                    if let (7, Some(colour)) = (fill.rest(), style.fg) {
                        canvas.put(cell, 0, LEFT_EIGHTHS[7], self.style.bg(colour));
                    }
                    return;
                }
                (false, 0) => return,
                (false, _) => (cell, within) = (cell - 1, 1.0),
            }
        }
        let glyph = match within {
            w if w < 1.0 / 3.0 => '▏',
            w if w < 2.0 / 3.0 => '│',
            _ => '▕',
        };
        // Over the fill, the rest of the cell keeps the fill's colour.
        let style = match self.style.fg {
            Some(colour) if cell < fill.full() => style.bg(colour),
            _ => style,
        };
        canvas.put(cell, 0, glyph, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::style::Color;

    fn drawn(bar: Bar, width: u16) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, 1));
        bar.render(buf.area, &mut buf);
        buf.content().iter().map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn it_fills_in_eighths_over_a_track() {
        assert_eq!(drawn(Bar::new(Some(0.5)), 8), "████····");
        assert_eq!(drawn(Bar::new(Some(0.3)), 8), "██▍·····");
        assert_eq!(drawn(Bar::new(Some(1.0)), 8), "████████");
    }

    #[test]
    fn no_value_is_the_track_alone() {
        for value in [
            None,
            Some(f64::NAN),
            Some(f64::INFINITY),
            Some(f64::NEG_INFINITY),
        ] {
            assert_eq!(drawn(Bar::new(value), 4), "····");
        }
        assert_eq!(drawn(Bar::new(Some(-0.5)), 4), "····");
    }

    #[test]
    fn a_little_is_not_nothing() {
        assert_eq!(drawn(Bar::new(Some(1e-9)), 4), "▏···");
        assert_eq!(drawn(Bar::new(Some(1e-9)).glyphs(Glyphs::Ascii), 4), "#...");
    }

    #[test]
    fn past_the_scale_is_clamped_and_marked() {
        assert_eq!(drawn(Bar::new(Some(1.2)), 4), "███»");
        assert_eq!(drawn(Bar::new(Some(1.2)).glyphs(Glyphs::Ascii), 4), "###+");
    }

    #[test]
    fn a_tick_stands_where_the_fill_leaves_room() {
        let limit = 500.0 / 700.0;
        let bar = Bar::new(Some(488.0 / 700.0)).tick(limit, Style::new());
        assert_eq!(drawn(bar, 20), "█████████████▉▏·····");
        assert_eq!(drawn(bar.glyphs(Glyphs::Ascii), 20), "##############|.....");
        // On ten cells fill and tick meet in cell 6 and 7.
        assert_eq!(drawn(bar, 10), "██████▉▏··");
    }

    #[test]
    fn a_tick_and_the_head_of_the_fill_do_not_hide_each_other() {
        // Both in cell 5: the tick past the fill moves on, the tick passed moves back.
        assert_eq!(
            drawn(Bar::new(Some(0.53)).tick(0.58, Style::new()), 10),
            "█████▎▏···"
        );
        assert_eq!(
            drawn(Bar::new(Some(0.58)).tick(0.51, Style::new()), 10),
            "████▕▊····"
        );
        // The end of the scale next to a nearly full bar.
        let red = Style::new().fg(Color::Red);
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 1));
        Bar::new(Some(0.99))
            .tick(1.0, red)
            .render(buf.area, &mut buf);
        assert_eq!(buf[(9, 0)].symbol(), "▉");
        assert_eq!(buf[(9, 0)].bg, Color::Red);
    }

    #[test]
    fn a_tick_over_the_fill_keeps_its_colour_behind() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 1));
        let bar = Bar::new(Some(0.9)).style(Style::new().fg(Color::Gray));
        bar.tick(0.55, Style::new().fg(Color::Yellow))
            .render(buf.area, &mut buf);
        assert_eq!(buf[(5, 0)].symbol(), "│");
        assert_eq!(
            (buf[(5, 0)].fg, buf[(5, 0)].bg),
            (Color::Yellow, Color::Gray)
        );
    }

    #[test]
    fn ticks_off_the_scale_or_past_the_fourth_draw_nothing() {
        let mut bar = Bar::new(None)
            .tick(-0.1, Style::new())
            .tick(f64::NAN, Style::new());
        for at in [0.1, 0.3, 0.5, 0.7, 0.9] {
            bar = bar.tick(at, Style::new());
        }
        assert_eq!(drawn(bar.glyphs(Glyphs::Ascii), 10), ".|.|.|.|..");
    }

    #[test]
    fn a_tick_at_the_end_stands_at_the_right_edge() {
        assert_eq!(
            drawn(Bar::new(Some(0.5)).tick(1.0, Style::new()), 4),
            "██·▕"
        );
    }
}
