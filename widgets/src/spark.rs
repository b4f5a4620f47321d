//! A small history in one row.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use crate::Glyphs;
use crate::glyphs::LOWER_EIGHTHS;
use crate::paint::Canvas;
use crate::plot::{Scale, gather};
use crate::raster::Raster;

/// How a [`Spark`] draws its values. In ASCII both are the same three levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SparkShape {
    /// Columns of one to eight eighths, one value a cell.
    #[default]
    Blocks,
    /// A braille line, two values a cell, four levels.
    Line,
}

/// A history one row high, for a table cell.
///
/// ```text
/// ▁▁▂▄▆██▇  ▅▄▁   Unicode blocks: zero is the lowest block, absent is blank
/// ⣀⣀⠤⠒⠉⠉  ⠒⠤⣀     Unicode line
/// ...-'''  '-.    ASCII
/// ```
///
/// It takes the same points as a [`Sweep`](crate::Sweep): (position from 0.0 to 1.0 in its window,
/// value), on a scale that the caller fixes. Points of one column are averaged; a column without a
/// value stays blank. A value outside the scale is clamped and drawn in the overflow style.
#[derive(Debug, Clone, PartialEq)]
pub struct Spark<I> {
    points: I,
    range: (f64, f64),
    shape: SparkShape,
    hold: f64,
    style: Style,
    overflow: Style,
    glyphs: Glyphs,
}

impl<I> Spark<I> {
    /// A history of `points` on the scale `range` (bottom, top).
    #[must_use]
    pub const fn new(points: I, range: (f64, f64)) -> Self {
        Self {
            points,
            range,
            shape: SparkShape::Blocks,
            hold: 0.0,
            style: Style::new(),
            overflow: Style::new(),
            glyphs: Glyphs::Unicode,
        }
    }

    /// Blocks or a line.
    #[must_use]
    pub const fn shape(mut self, shape: SparkShape) -> Self {
        self.shape = shape;
        self
    }

    /// The period of the samples as a share of the window; see [`Sweep::hold`](crate::Sweep::hold).
    #[must_use]
    pub const fn hold(mut self, hold: f64) -> Self {
        self.hold = hold;
        self
    }

    /// The style of the values.
    #[must_use]
    pub const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The style of values outside the scale. Unset, they look like the others.
    #[must_use]
    pub const fn overflow_style(mut self, style: Style) -> Self {
        self.overflow = style;
        self
    }

    /// The characters to draw with.
    #[must_use]
    pub const fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

impl<I> Widget for &Spark<I>
where
    I: IntoIterator<Item = (f64, Option<f64>)> + Clone,
{
    fn render(self, area: Rect, buf: &mut Buffer) {
        Widget::render(self.clone(), area, buf);
    }
}

impl<I> Widget for Spark<I>
where
    I: IntoIterator<Item = (f64, Option<f64>)>,
{
    fn render(self, area: Rect, buf: &mut Buffer) {
        let mut canvas = Canvas::new(buf, area);
        let width = canvas.width();
        let Some(scale) = Scale::new(self.range) else {
            return;
        };
        if width == 0 || canvas.height() == 0 {
            return;
        }
        let clamped_style = self.style.patch(self.overflow);
        if self.glyphs == Glyphs::Unicode && self.shape == SparkShape::Blocks {
            let buckets = gather(self.points, usize::from(width), self.hold);
            for (x, bucket) in (0..width).zip(&buckets.columns) {
                let Some(value) = bucket.mean() else { continue };
                let style = if scale.holds(value) {
                    self.style
                } else {
                    clamped_style
                };
                let glyph = LOWER_EIGHTHS[scale.level(value, LOWER_EIGHTHS.len())];
                canvas.put(x, 0, glyph, style);
            }
            return;
        }
        let across = Raster::dots_across(self.glyphs);
        let buckets = gather(self.points, usize::from(width) * across, self.hold);
        let raster = Raster::trace(&buckets.columns, scale, 1, self.glyphs, false);
        for x in 0..width {
            if let Some(mark) = raster.mark(usize::from(x), 0) {
                let style = if mark.clamped {
                    clamped_style
                } else {
                    self.style
                };
                canvas.put(x, 0, mark.glyph, style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::style::Color;

    const RAMP: [Option<f64>; 8] = [
        Some(0.0),
        Some(1.0),
        Some(2.0),
        Some(3.0),
        None,
        Some(5.0),
        Some(f64::NAN),
        Some(7.0),
    ];

    fn points() -> impl Iterator<Item = (f64, Option<f64>)> + Clone {
        (0_u32..).map(|i| f64::from(i) / 8.0).zip(RAMP)
    }

    fn drawn(spark: Spark<impl Iterator<Item = (f64, Option<f64>)>>, width: u16) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, 1));
        spark.render(buf.area, &mut buf);
        buf.content().iter().map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn blocks_stand_from_zero_and_gaps_stay_blank() {
        assert_eq!(drawn(Spark::new(points(), (0.0, 7.0)), 8), "▁▂▃▄ ▆ █");
    }

    #[test]
    fn a_line_has_two_values_a_cell() {
        let spark = Spark::new(points(), (0.0, 7.0)).shape(SparkShape::Line);
        assert_eq!(drawn(spark, 4), "⣀⠤⠐⠈");
    }

    #[test]
    fn ascii_has_three_levels() {
        let spark = Spark::new(points(), (0.0, 7.0)).glyphs(Glyphs::Ascii);
        assert_eq!(drawn(spark, 8), "..-- - '");
    }

    #[test]
    fn a_value_off_the_scale_is_clamped_in_its_own_style() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 2, 1));
        Spark::new([(0.0, Some(9.0)), (0.5, Some(1.0))], (0.0, 2.0))
            .overflow_style(Style::new().fg(Color::Red))
            .render(buf.area, &mut buf);
        assert_eq!((buf[(0, 0)].symbol(), buf[(0, 0)].fg), ("█", Color::Red));
        assert_eq!((buf[(1, 0)].symbol(), buf[(1, 0)].fg), ("▅", Color::Reset));
    }

    #[test]
    fn a_scale_without_room_draws_nothing() {
        assert_eq!(drawn(Spark::new(points(), (7.0, 7.0)), 2), "  ");
    }
}
