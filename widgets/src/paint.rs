//! Writing into a buffer without leaving an area.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, text::Span};

/// Display width of `text` in cells, saturated.
pub(crate) fn text_width(text: &str) -> u16 {
    let width = if is_plain(text) {
        text.len()
    } else {
        Span::raw(text).width()
    };
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// Printable ASCII: a byte is a cell, and nothing has to be segmented.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// A buffer seen through an area that lies inside it: coordinates count from the area's corner,
/// and what falls outside is dropped.
pub(crate) struct Canvas<'b> {
    buf: &'b mut Buffer,
    area: Rect,
}

impl<'b> Canvas<'b> {
    /// The part of `area` that the buffer has.
    pub(crate) fn new(buf: &'b mut Buffer, area: Rect) -> Self {
        let area = area.intersection(buf.area);
        Self { buf, area }
    }

    pub(crate) const fn width(&self) -> u16 {
        self.area.width
    }

    pub(crate) const fn height(&self) -> u16 {
        self.area.height
    }

    /// Puts one narrow character.
    pub(crate) fn put(&mut self, x: u16, y: u16, glyph: char, style: Style) {
        if x >= self.area.width || y >= self.area.height {
            return;
        }
        // Inside the area, so neither sum can overflow and the cell exists.
        if let Some(cell) = self.buf.cell_mut((self.area.x + x, self.area.y + y)) {
            cell.set_char(glyph).set_style(style);
        }
    }

    /// Puts `glyph` into every cell of `from..to` on row `y`.
    pub(crate) fn run(&mut self, from: u16, to: u16, y: u16, glyph: char, style: Style) {
        for x in from..to.min(self.area.width) {
            self.put(x, y, glyph, style);
        }
    }

    /// Writes `text` into at most `width` cells from `x` on; a longer one is cut at its right.
    pub(crate) fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) {
        if x >= self.area.width || y >= self.area.height {
            return;
        }
        let width = width.min(self.area.width - x);
        if is_plain(text) {
            for (at, glyph) in (x..x + width).zip(text.chars()) {
                self.put(at, y, glyph, style);
            }
            return;
        }
        let (x, y) = (self.area.x + x, self.area.y + y);
        self.buf.set_stringn(x, y, text, usize::from(width), style);
    }
}
