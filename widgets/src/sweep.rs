//! A line chart on fixed axes that is drawn in place.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use crate::Glyphs;
use crate::paint::{Canvas, text_width};
use crate::plot::{Scale, column_of, gather};
use crate::raster::Raster;

/// Fewest cells a line is drawn in; a gutter that leaves less is given up.
const MIN_PLOT: u16 = 4;

/// A named horizontal line of a [`Sweep`] below its ceiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit<'a> {
    value: f64,
    name: &'a str,
    figure: &'a str,
    style: Style,
}

impl<'a> Limit<'a> {
    /// A line at `value` of the chart's scale. One outside the scale is not drawn.
    #[must_use]
    pub const fn new(value: f64, style: Style) -> Self {
        Self {
            value,
            name: "",
            figure: "",
            style,
        }
    }

    /// What the line is, written over it where the data leaves room: at its right end, else at
    /// its left.
    #[must_use]
    pub const fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// The value as text, for the gutter.
    #[must_use]
    pub const fn figure(mut self, figure: &'a str) -> Self {
        self.figure = figure;
        self
    }
}

/// A line chart over a fixed window of time, on a scale that the caller fixes.
///
/// ```text
/// power 700 W ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ plate    title, figure of the ceiling, its name
///       ⠤⠤⠴⠦⠴⠶⠶⡄                       the line, in braille dots
///   500 ┈┈┈┈┈┈┈⠧⣄⡀┈┈┈┈┈┈┈┈┈┈┈┈ limit   a limit, under the line
///     0          ⠉⠙⠲⢤⣀   ⣀⣠⣤           figure of the bottom; a gap stays a gap
///       -15m               now         times, the newest under its column
/// ```
///
/// Points are (position from 0.0 to 1.0 in the window, value). Several in one dot column are
/// averaged. A column that holds no value stays empty and the line does not cross it. Values
/// outside the scale are clamped to its edge and drawn in the overflow style.
///
/// A column is joined to the one before with dots of its own, so with positions from a
/// [`SweepWindow`](crate::SweepWindow) a new value changes the newest column only.
///
/// The ceiling takes the first row when it has a text and there are two rows or more, the times
/// take the last from three rows on. In ASCII a cell has three levels (`'`, `-`, `.`).
///
/// ```
/// use nameplate_widgets::Sweep;
/// use ratatui_core::{buffer::Buffer, layout::Rect, widgets::Widget};
///
/// let points = [(0.0, Some(0.0)), (0.25, Some(7.0)), (0.5, None), (0.75, Some(7.0))];
/// let mut buf = Buffer::empty(Rect::new(0, 0, 10, 3));
/// Sweep::new(points, (0.0, 7.0))
///     .ceiling("7", "max")
///     .bottom("0")
///     .gutter(2)
///     .hold(0.25)
///     .render(buf.area, &mut buf);
/// assert_eq!(
///     buf,
///     Buffer::with_lines([
///         "7 ┈┈┈┈ max",
///         "    ⡇   ⠁ ",
///         "0 ⣀⣀⠇     ",
///     ])
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep<'a, I> {
    points: I,
    range: (f64, f64),
    style: Style,
    overflow: Style,
    label: Style,
    rule: Style,
    title: (&'a str, Style),
    ceiling: (&'a str, &'a str),
    bottom: &'a str,
    times: (&'a str, &'a str),
    limits: &'a [Limit<'a>],
    gutter: u16,
    hold: f64,
    extent: bool,
    newest: Option<f64>,
    glyphs: Glyphs,
}

impl<'a, I> Sweep<'a, I> {
    /// A chart of `points` on the scale `range` (bottom, ceiling). A range whose ceiling is not
    /// above its bottom has no place for a value, so only the frame is drawn.
    #[must_use]
    pub const fn new(points: I, range: (f64, f64)) -> Self {
        Self {
            points,
            range,
            style: Style::new(),
            overflow: Style::new(),
            label: Style::new(),
            rule: Style::new(),
            title: ("", Style::new()),
            ceiling: ("", ""),
            bottom: "",
            times: ("", ""),
            limits: &[],
            gutter: 0,
            hold: 0.0,
            extent: false,
            newest: None,
            glyphs: Glyphs::Unicode,
        }
    }

    /// The style of the line.
    #[must_use]
    pub const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The style, over the line's own, of cells that show a value clamped to the scale.
    #[must_use]
    pub const fn overflow_style(mut self, style: Style) -> Self {
        self.overflow = style;
        self
    }

    /// The style of figures, names and times.
    #[must_use]
    pub const fn label_style(mut self, style: Style) -> Self {
        self.label = style;
        self
    }

    /// The style of the ceiling's line.
    #[must_use]
    pub const fn rule_style(mut self, style: Style) -> Self {
        self.rule = style;
        self
    }

    /// A title at the left end of the first row, before the ceiling's figure.
    #[must_use]
    pub const fn title(mut self, title: &'a str, style: Style) -> Self {
        self.title = (title, style);
        self
    }

    /// The ceiling's value as text, for its left end, and its name, for the right end.
    #[must_use]
    pub const fn ceiling(mut self, figure: &'a str, name: &'a str) -> Self {
        self.ceiling = (figure, name);
        self
    }

    /// The bottom's value as text, for the gutter.
    #[must_use]
    pub const fn bottom(mut self, figure: &'a str) -> Self {
        self.bottom = figure;
        self
    }

    /// The texts under the window's start and under its newest column.
    #[must_use]
    pub const fn times(mut self, start: &'a str, newest: &'a str) -> Self {
        self.times = (start, newest);
        self
    }

    /// Horizontal lines at other values. The line of the data goes over them.
    #[must_use]
    pub const fn limits(mut self, limits: &'a [Limit<'a>]) -> Self {
        self.limits = limits;
        self
    }

    /// Cells kept free at the left of the line for figures.
    #[must_use]
    pub const fn gutter(mut self, gutter: u16) -> Self {
        self.gutter = gutter;
        self
    }

    /// The period of the samples as a share of the window.
    ///
    /// Where samples are fewer than dot columns, each stands for the columns up to the next one,
    /// provided that the next is no further off than this. A failed sample between ends it. Unset,
    /// a sample fills its own column only. Leave some room for jitter (1.5 periods, say).
    #[must_use]
    pub const fn hold(mut self, hold: f64) -> Self {
        self.hold = hold;
        self
    }

    /// Draws each column from its lowest to its highest value instead of its mean alone.
    #[must_use]
    pub const fn extent(mut self, extent: bool) -> Self {
        self.extent = extent;
        self
    }

    /// Where the newest column is, from 0.0 to 1.0, when that is not the largest position of the
    /// points.
    #[must_use]
    pub const fn newest(mut self, newest: f64) -> Self {
        self.newest = Some(newest);
        self
    }

    /// The characters to draw with.
    #[must_use]
    pub const fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

/// The rows and columns of a chart's parts.
#[derive(Clone, Copy)]
struct Frame {
    /// Left edge and width of the line's part.
    left: u16,
    width: u16,
    /// First row and number of rows of the line's part.
    top: u16,
    rows: u16,
    /// Row of the times.
    times: Option<u16>,
}

impl<I> Widget for &Sweep<'_, I>
where
    I: IntoIterator<Item = (f64, Option<f64>)> + Clone,
{
    fn render(self, area: Rect, buf: &mut Buffer) {
        Widget::render(self.clone(), area, buf);
    }
}

impl<'a, I> Widget for Sweep<'a, I>
where
    I: IntoIterator<Item = (f64, Option<f64>)>,
{
    fn render(self, area: Rect, buf: &mut Buffer) {
        let mut canvas = Canvas::new(buf, area);
        if canvas.width() == 0 || canvas.height() == 0 {
            return;
        }
        let (points, look) = self.split();
        let frame = look.frame(&canvas);
        if frame.top > 0 {
            look.draw_ceiling(&mut canvas);
        }
        let across = Raster::dots_across(look.glyphs);
        let buckets = gather(points, usize::from(frame.width) * across, look.hold);
        if let Some(scale) = Scale::new(look.range) {
            let raster = Raster::trace(
                &buckets.columns,
                scale,
                frame.rows,
                look.glyphs,
                look.extent,
            );
            for limit in look.limits.iter().filter(|limit| scale.holds(limit.value)) {
                look.draw_limit(&mut canvas, frame, scale, &raster, limit);
            }
            look.draw_line(&mut canvas, frame, &raster);
        }
        look.draw_bottom(&mut canvas, frame);
        if let Some(row) = frame.times {
            let newest = look.newest.or(buckets.newest);
            look.draw_times(&mut canvas, frame, row, newest);
        }
    }
}

impl<'a, I> Sweep<'a, I> {
    /// Parts the points from what is drawn around them.
    fn split(self) -> (I, Sweep<'a, ()>) {
        let look = Sweep {
            points: (),
            range: self.range,
            style: self.style,
            overflow: self.overflow,
            label: self.label,
            rule: self.rule,
            title: self.title,
            ceiling: self.ceiling,
            bottom: self.bottom,
            times: self.times,
            limits: self.limits,
            gutter: self.gutter,
            hold: self.hold,
            extent: self.extent,
            newest: self.newest,
            glyphs: self.glyphs,
        };
        (self.points, look)
    }
}

impl Sweep<'_, ()> {
    fn frame(&self, canvas: &Canvas<'_>) -> Frame {
        let (width, height) = (canvas.width(), canvas.height());
        let left = if width >= self.gutter.saturating_add(MIN_PLOT) {
            self.gutter
        } else {
            0
        };
        let has_head =
            !(self.ceiling.0.is_empty() && self.ceiling.1.is_empty() && self.title.0.is_empty());
        let has_times = !(self.times.0.is_empty() && self.times.1.is_empty());
        let top = u16::from(has_head && height >= 2);
        let foot = u16::from(has_times && height >= 3);
        Frame {
            left,
            width: width - left,
            top,
            rows: height - top - foot,
            times: (foot > 0).then_some(height - 1),
        }
    }

    /// The first row: title, figure, rule, name. The name leaves first when room is short, for
    /// the figure is what the line is read against.
    fn draw_ceiling(&self, canvas: &mut Canvas<'_>) {
        let width = canvas.width();
        let (title, title_style) = self.title;
        let (figure, name) = self.ceiling;
        let mut from = 0_u16;
        if !title.is_empty() {
            canvas.text(0, 0, width, title, title_style);
            from = text_width(title).saturating_add(1).max(self.gutter);
        }
        if !figure.is_empty() {
            let figure_width = text_width(figure);
            if from.saturating_add(figure_width) > width {
                return;
            }
            canvas.text(from, 0, figure_width, figure, self.label);
            from = from.saturating_add(figure_width).saturating_add(1);
        }
        let mut to = width;
        let name_width = text_width(name);
        if name_width > 0 && from.saturating_add(name_width) <= width {
            to = width - name_width;
            canvas.text(to, 0, name_width, name, self.label);
            to = to.saturating_sub(1);
        }
        canvas.run(from, to, 0, self.glyphs.rule(), self.rule);
    }

    fn draw_limit(
        &self,
        canvas: &mut Canvas<'_>,
        frame: Frame,
        scale: Scale,
        raster: &Raster,
        limit: &Limit<'_>,
    ) {
        let down = Raster::dots_down(self.glyphs);
        let cell = scale.row(limit.value, usize::from(frame.rows) * down) / down;
        let Ok(row) = u16::try_from(cell) else { return };
        let y = frame.top + row;
        canvas.run(
            frame.left,
            frame.left + frame.width,
            y,
            self.glyphs.rule(),
            limit.style,
        );
        self.draw_figure(canvas, frame, y, limit.figure);
        let name_width = text_width(limit.name);
        // One blank on either side, of which the edge takes one.
        let needed = name_width.saturating_add(1);
        if name_width == 0 || needed > frame.width {
            return;
        }
        let is_free =
            |from: u16| (from..from + needed).all(|x| raster.mark(usize::from(x), cell).is_none());
        let right = frame.width - needed;
        if is_free(right) {
            canvas.put(frame.left + right, y, ' ', limit.style);
            canvas.text(
                frame.left + right + 1,
                y,
                name_width,
                limit.name,
                limit.style,
            );
        } else if is_free(0) {
            canvas.text(frame.left, y, name_width, limit.name, limit.style);
            canvas.put(frame.left + name_width, y, ' ', limit.style);
        }
    }

    fn draw_line(&self, canvas: &mut Canvas<'_>, frame: Frame, raster: &Raster) {
        let clamped_style = self.style.patch(self.overflow);
        for x in 0..frame.width {
            for cell in raster.touched(usize::from(x)) {
                let (Some(mark), Ok(row)) =
                    (raster.mark(usize::from(x), cell), u16::try_from(cell))
                else {
                    continue;
                };
                let style = if mark.clamped {
                    clamped_style
                } else {
                    self.style
                };
                canvas.put(frame.left + x, frame.top + row, mark.glyph, style);
            }
        }
    }

    fn draw_bottom(&self, canvas: &mut Canvas<'_>, frame: Frame) {
        let last = (frame.top + frame.rows).saturating_sub(1);
        self.draw_figure(canvas, frame, last, self.bottom);
    }

    /// A figure in the gutter, right-aligned with a blank before the line. One that does not fit
    /// is left out: cut, it would be another figure.
    fn draw_figure(&self, canvas: &mut Canvas<'_>, frame: Frame, y: u16, figure: &str) {
        let needed = text_width(figure);
        if needed == 0 || needed >= frame.left {
            return;
        }
        canvas.run(0, frame.left, y, ' ', Style::new());
        canvas.text(frame.left - 1 - needed, y, needed, figure, self.label);
    }

    /// The newest text ends under the newest column; the start's text leaves when they would meet.
    fn draw_times(&self, canvas: &mut Canvas<'_>, frame: Frame, row: u16, newest: Option<f64>) {
        let (start, now) = self.times;
        let newest = newest.filter(|at| (0.0..=1.0).contains(at));
        let mut room = frame.width;
        let now_width = text_width(now);
        if let Some(at) = newest
            && (1..=frame.width).contains(&now_width)
        {
            let column = column_of(at, usize::from(frame.width));
            let end = u16::try_from(column)
                .unwrap_or(frame.width)
                .saturating_add(1);
            let from = end.saturating_sub(now_width);
            canvas.text(frame.left + from, row, now_width, now, self.label);
            room = from.saturating_sub(1);
        }
        let start_width = text_width(start);
        if (1..=room).contains(&start_width) {
            canvas.text(frame.left, row, start_width, start, self.label);
        }
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
