//! A thin connected line in the dots of character cells.

use std::ops::Range;

use crate::Glyphs;
use crate::plot::{Bucket, Scale};

/// Dot rows of one dot column that are set, both included, counted down from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stroke {
    top: usize,
    bottom: usize,
    /// The row of the value itself; the rest is what joins it to the column before.
    at: usize,
    above: bool,
    below: bool,
}

/// One drawn cell of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) glyph: char,
    /// It shows a value that lies outside the scale and was clamped.
    pub(crate) clamped: bool,
}

/// A line over a grid of cells: braille dots (2 by 4 a cell), or in ASCII one column of three
/// levels (`'`, `-`, `.`) with `|` where the line crosses a cell.
///
/// A column is joined to the one before it by dots of its own, so that a new value never changes
/// an older column, and not at all when the one before is empty.
pub(crate) struct Raster {
    strokes: Vec<Option<Stroke>>,
    glyphs: Glyphs,
    rows: usize,
}

impl Raster {
    /// Dot columns of a cell.
    pub(crate) const fn dots_across(glyphs: Glyphs) -> usize {
        match glyphs {
            Glyphs::Unicode => 2,
            Glyphs::Ascii => 1,
        }
    }

    /// Dot rows of a cell.
    pub(crate) const fn dots_down(glyphs: Glyphs) -> usize {
        match glyphs {
            Glyphs::Unicode => 4,
            Glyphs::Ascii => 3,
        }
    }

    /// The line of `columns`, one for each dot column, over `rows` rows of cells. With `extent`
    /// each column also covers the lowest and highest value that fell into it.
    pub(crate) fn trace(
        columns: &[Bucket],
        scale: Scale,
        rows: u16,
        glyphs: Glyphs,
        extent: bool,
    ) -> Self {
        let rows = usize::from(rows) * Self::dots_down(glyphs);
        let mut before = None;
        let strokes = columns.iter().map(|column| {
            let value = column.mean().filter(|_| rows > 0);
            let stroke = value.map(|value| {
                let (low, high) = if extent {
                    (column.low, column.high)
                } else {
                    (value, value)
                };
                let at = scale.row(value, rows);
                let (mut top, mut bottom) = (at, at);
                if extent {
                    (top, bottom) = (scale.row(high, rows), scale.row(low, rows));
                }
                if let Some(from) = before {
                    if from < at {
                        top = top.min(from + 1);
                    } else if from > at {
                        bottom = bottom.max(from - 1);
                    }
                }
                let (above, below) = (scale.is_below(high), scale.is_above(low));
                Stroke {
                    top,
                    bottom,
                    at,
                    above,
                    below,
                }
            });
            before = stroke.map(|stroke| stroke.at);
            stroke
        });
        Self {
            strokes: strokes.collect(),
            glyphs,
            rows,
        }
    }

    /// The strokes of the dot columns of cell column `x`.
    fn strokes(&self, x: usize) -> &[Option<Stroke>] {
        let across = Self::dots_across(self.glyphs);
        let from = (x * across).min(self.strokes.len());
        let to = (from + across).min(self.strokes.len());
        &self.strokes[from..to]
    }

    /// The rows of cells that the line touches in cell column `x`.
    pub(crate) fn touched(&self, x: usize) -> Range<usize> {
        let down = Self::dots_down(self.glyphs);
        let strokes = self.strokes(x).iter().flatten();
        let ends = strokes.map(|stroke| (stroke.top, stroke.bottom));
        let ends = ends.reduce(|(top, bottom), (other, lower)| (top.min(other), bottom.max(lower)));
        ends.map_or(0..0, |(top, bottom)| top / down..bottom / down + 1)
    }

    /// What the line draws into cell (`x`, `y`), if anything.
    pub(crate) fn mark(&self, x: usize, y: usize) -> Option<Mark> {
        let down = Self::dots_down(self.glyphs);
        let (first, last) = (y * down, y * down + down - 1);
        let mut mask = 0_u32;
        let mut level = None;
        let mut clamped = false;
        for (across, stroke) in self.strokes(x).iter().enumerate() {
            let Some(stroke) = stroke else { continue };
            if stroke.bottom < first || stroke.top > last {
                continue;
            }
            for row in stroke.top.max(first)..=stroke.bottom.min(last) {
                mask |= BRAILLE[across][row - first];
            }
            if (first..=last).contains(&stroke.at) {
                level = Some(stroke.at - first);
            }
            clamped |= stroke.above && first == 0;
            clamped |= stroke.below && last + 1 == self.rows;
        }
        if mask == 0 {
            return None;
        }
        let glyph = match self.glyphs {
            Glyphs::Unicode => char::from_u32(0x2800 + mask)?,
            Glyphs::Ascii => level.map_or('|', |level| ASCII_LEVELS[level]),
        };
        Some(Mark { glyph, clamped })
    }
}

/// Bits of the braille dots: by dot column, then by row from the top.
const BRAILLE: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The three levels of an ASCII cell, from the top.
const ASCII_LEVELS: [char; 3] = ['\'', '-', '.'];
