//! Frames to bytes: what differs from what the terminal shows, in as few bytes as it understands, in one write per frame.

use std::io::{self, Write};

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::{Rect, Size};

use super::motion::{Cursor, Move};
use super::pen::{self, Pen, decimal, digits};
use super::shadow::{Kind, Shown, hash, word};

/// Begin and end of a synchronized update: the terminal shows the frame when it is whole, or ignores the two.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// What a cell is drawn as.
struct Glyph<'a> {
    text: &'a str,
    width: u16,
    /// A single character: terminals agree about its width.
    simple: bool,
}

/// Keeps a shadow of the terminal and writes the least that turns it into the next frame.
///
/// It stands in place of ratatui's `Terminal`, which keeps two frames and goes over all their cells four times for each
/// refresh: that was half the cost of ours. Nothing is written when nothing changed. Pen and cursor carry over from
/// frame to frame, so nothing else may write to the terminal while this does; if something did, [`Lean::forget`] puts
/// it right.
#[derive(Debug)]
pub struct Lean<W: Write> {
    sink: W,
    out: Vec<u8>,
    size: Size,
    frame: Buffer,
    shadow: Vec<Shown>,
    pen: Option<Pen>,
    cursor: Option<Cursor>,
    cursor_hidden: bool,
    /// The second half of a wide glyph that was just overwritten: it has to become a blank unless it is drawn next.
    orphan: Option<(u16, u16)>,
    /// An erased screen is wanted and not written yet.
    clear: bool,
    bytes: u64,
    writes: u64,
}

impl<W: Write> Lean<W> {
    /// A backend for a terminal of `size` of which nothing is known; it is erased with the first frame.
    pub fn new(sink: W, size: Size) -> Self {
        let mut lean = Self {
            sink,
            out: Vec::new(),
            size,
            frame: Buffer::default(),
            shadow: Vec::new(),
            pen: None,
            cursor: None,
            cursor_hidden: false,
            orphan: None,
            clear: true,
            bytes: 0,
            writes: 0,
        };
        lean.forget();
        lean
    }

    /// Forgets what the terminal shows, so that the next frame erases it first.
    pub fn forget(&mut self) {
        self.out.clear();
        self.pen = None;
        self.cursor = None;
        self.cursor_hidden = false;
        self.orphan = None;
        self.erase_all();
    }

    /// Cells of the terminal.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Takes a new size and forgets.
    pub fn set_size(&mut self, size: Size) {
        self.size = size;
        self.forget();
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// Frames written so far, each in one write as long as the terminal takes it whole.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Where the bytes go.
    pub fn sink_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Draws a frame. `paint` has to paint every cell: it gets the last frame's.
    ///
    /// # Errors
    /// When the terminal cannot be written to; what it shows is forgotten then.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        let mut frame = std::mem::take(&mut self.frame);
        paint(&mut frame);
        if !self.cursor_hidden {
            self.begin();
            self.out.extend_from_slice(b"\x1b[?25l");
            self.cursor_hidden = true;
        }
        let width = usize::from(self.size.width);
        if width > 0 {
            for (y, row) in (0..self.size.height).zip(frame.content.chunks(width)) {
                self.draw_row(y, row);
            }
        }
        self.mend(None);
        self.frame = frame;
        self.flush()
    }

    fn draw_row(&mut self, y: u16, row: &[Cell]) {
        let mut x = 0;
        while let Some(cell) = row.get(usize::from(x)) {
            if let Some(shown) = self.shown(x, y)
                && shown.is(cell)
            {
                x += match shown.kind {
                    Kind::Wide => 2,
                    Kind::Cluster => glyph(cell, self.size.width - x).width,
                    _ => 1,
                };
                continue;
            }
            self.mend(Some((x, y)));
            if is_erasure(cell) {
                let (count, more) = self.erasures(x, y, row);
                self.erase(x, y, count, more);
                x += count;
                continue;
            }
            let (glyph, wanted) = (glyph(cell, self.size.width - x), Pen::of(cell));
            if !self.shows(x, y, &glyph, wanted) {
                self.put(x, y, &glyph, wanted);
            }
            x += glyph.width;
        }
    }

    /// How many cells from `x` on are to be erased, few that are so already between them, and whether the row goes on
    /// being drawn behind them.
    fn erasures(&self, x: u16, y: u16, row: &[Cell]) -> (u16, bool) {
        const FEW: u16 = 4;
        let is_shown = |at: u16, cell: &Cell| self.shown(at, y).is_some_and(|s| s.is(cell));
        let (mut end, mut at) = (x + 1, x + 1);
        while let Some(cell) = row.get(usize::from(at))
            && is_erasure(cell)
            && at - end <= FEW
        {
            at += 1;
            if !self.shown(at - 1, y).is_some_and(Shown::is_erased) {
                end = at;
            }
        }
        let rest = row.get(usize::from(end)..).unwrap_or_default();
        let more = (end..).zip(rest).any(|(at, cell)| !is_shown(at, cell));
        (end - x, more)
    }

    fn erase_all(&mut self) {
        self.clear = true;
        self.frame
            .resize(Rect::from((ratatui::layout::Position::ORIGIN, self.size)));
        self.shadow.clear();
        self.shadow.resize(
            usize::from(self.size.width) * usize::from(self.size.height),
            Shown::ERASED,
        );
    }

    fn at(&self, x: u16, y: u16) -> usize {
        usize::from(y) * usize::from(self.size.width) + usize::from(x)
    }

    fn shown(&self, x: u16, y: u16) -> Option<&Shown> {
        (x < self.size.width)
            .then(|| self.shadow.get(self.at(x, y)))
            .flatten()
    }

    fn is_trail(&self, x: u16, y: u16) -> bool {
        self.shown(x, y).is_some_and(|s| s.kind == Kind::Trail)
    }

    /// Opens the frame, and erases first where that is due.
    fn begin(&mut self) {
        if self.out.is_empty() {
            self.out.extend_from_slice(BEGIN);
        }
        if self.clear {
            self.clear = false;
            // Erasing takes the pen's background with it in many terminals.
            self.set_pen(Pen::PLAIN, true);
            self.out.extend_from_slice(b"\x1b[H\x1b[J");
            self.cursor = Some(Cursor { x: Some(0), y: 0 });
        }
    }

    fn set_pen(&mut self, wanted: Pen, blank: bool) {
        self.pen = Some(pen::change(&mut self.out, self.pen, wanted, blank));
    }

    /// Brings the cursor to a cell; `wanted` is the pen that has to be taken up there anyway.
    fn go(&mut self, x: u16, y: u16, wanted: Option<Pen>) {
        if self.cursor == Some(Cursor { x: Some(x), y }) {
            return;
        }
        let plan = Move::shortest(self.cursor, x, y);
        if !self.write_again(x, y, plan.length(), wanted) {
            plan.write(&mut self.out);
        }
        self.cursor = Some(Cursor { x: Some(x), y });
    }

    /// Crosses a small gap by writing what it already shows, where that is shorter than a move of `limit` bytes.
    fn write_again(&mut self, x: u16, y: u16, limit: usize, wanted: Option<Pen>) -> bool {
        let Some(Cursor {
            x: Some(from),
            y: row,
        }) = self.cursor
        else {
            return false;
        };
        if row != y || from >= x || usize::from(x - from) >= limit {
            return false;
        }
        let gap = self.at(from, y)..self.at(x, y);
        let Some(cells) = self.shadow.get(gap.clone()) else {
            return false;
        };
        if cells.iter().map(|c| c.bytes().len()).sum::<usize>() >= limit {
            return false;
        }
        if !self
            .pen
            .is_some_and(|pen| cells.iter().all(|c| c.fits(pen)))
        {
            let Some(wanted) = wanted.filter(|pen| cells.iter().all(|c| c.fits(*pen))) else {
                return false;
            };
            self.set_pen(wanted, false);
        }
        for cell in &self.shadow[gap] {
            self.out.extend_from_slice(cell.bytes());
        }
        true
    }

    /// Blanks the half glyph left over by the last one drawn, unless the cell at `next` is that half.
    fn mend(&mut self, next: Option<(u16, u16)>) {
        let Some((x, y)) = self.orphan.take() else {
            return;
        };
        if next == Some((x, y)) {
            return;
        }
        let Some(pen) = self.shown(x, y).map(|s| s.pen) else {
            return;
        };
        self.put(
            x,
            y,
            &Glyph {
                text: " ",
                width: 1,
                simple: true,
            },
            pen,
        );
    }

    /// Notes that the first half of the glyph that covers this cell, if one does, was just drawn over.
    fn release(&mut self, x: u16, y: u16) {
        let trail = self.is_trail(x, y);
        self.orphan = trail.then_some((x, y));
        let at = self.at(x, y);
        if let Some(place) = self.shadow.get_mut(at).filter(|_| trail) {
            place.kind = Kind::Unknown;
        }
    }

    /// Draws a glyph and keeps account of it.
    fn put(&mut self, x: u16, y: u16, glyph: &Glyph<'_>, wanted: Pen) {
        let blank = glyph.text == " ";
        self.begin();
        self.go(x, y, (!blank).then_some(wanted));
        if !glyph.simple && glyph.width > 1 {
            // A terminal that thinks it narrow would leave the second cell as it was.
            self.set_pen(wanted, false);
            self.out
                .extend(std::iter::repeat_n(b' ', usize::from(glyph.width)));
            self.cursor = Some(Cursor { x: None, y });
            self.go(x, y, None);
        }
        self.set_pen(wanted, blank);
        self.out.extend_from_slice(glyph.text.as_bytes());
        let end = x + glyph.width;
        self.cursor = Some(Cursor {
            x: (glyph.simple && end < self.size.width).then_some(end),
            y,
        });
        self.account(x, y, glyph);
    }

    fn account(&mut self, x: u16, y: u16, glyph: &Glyph<'_>) {
        self.release(x + glyph.width, y);
        let pen = self.pen.unwrap_or(Pen::PLAIN);
        let mut shown = Shown {
            pen,
            ..Shown::UNKNOWN
        };
        let text = glyph.text.as_bytes();
        (shown.kind, shown.glyph) = match (glyph.simple, glyph.width) {
            (true, 1) => (Kind::Narrow, word(text)),
            (true, _) => (Kind::Wide, word(text)),
            (false, _) => (Kind::Cluster, hash(text)),
        };
        let at = self.at(x, y);
        for (offset, place) in self.shadow[at..]
            .iter_mut()
            .take(usize::from(glyph.width))
            .enumerate()
        {
            *place = if offset == 0 {
                shown
            } else {
                Shown {
                    pen,
                    kind: Kind::Trail,
                    ..Shown::UNKNOWN
                }
            };
        }
    }

    /// Erases `count` cells; `more` says that the row goes on being drawn behind them.
    fn erase(&mut self, mut x: u16, y: u16, mut count: u16, more: bool) {
        while count > 0 && self.shown(x, y).is_some_and(Shown::is_erased) {
            x += 1;
            count -= 1;
        }
        while count > 0 && self.shown(x + count - 1, y).is_some_and(Shown::is_erased) {
            count -= 1;
        }
        if count == 0 {
            return;
        }
        let end = x + count;
        let (start, row_end) = (self.at(end, y), self.at(self.size.width, y));
        let to_end = !more && self.shadow[start..row_end].iter().all(Shown::is_erased);
        let (length, spaces) = (3 + digits(count), usize::from(count));
        self.begin();
        self.go(x, y, None);
        self.set_pen(Pen::PLAIN, true);
        if to_end && spaces > 3 {
            self.out.extend_from_slice(b"\x1b[K");
        } else if spaces > if more { 2 * length } else { length } {
            // Erasing does not move the cursor: what follows needs a move of about the same length.
            self.out.extend_from_slice(b"\x1b[");
            decimal(&mut self.out, count);
            self.out.push(b'X');
        } else {
            self.out.extend(std::iter::repeat_n(b' ', spaces));
            self.cursor = Some(Cursor {
                x: (end < self.size.width).then_some(end),
                y,
            });
        }
        self.release(end, y);
        let at = self.at(x, y);
        let pen = self.pen.unwrap_or(Pen::PLAIN);
        self.shadow[at..start].fill(Shown {
            pen,
            ..Shown::ERASED
        });
    }

    /// Whether the terminal already shows the glyph that stands for a cell which cannot be shown as it is.
    fn shows(&self, x: u16, y: u16, glyph: &Glyph<'_>, wanted: Pen) -> bool {
        self.shown(x, y).is_some_and(|shown| {
            shown.kind == Kind::Narrow
                && shown.glyph == word(glyph.text.as_bytes())
                && shown.has_pen(wanted)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.clear {
            self.begin();
        }
        if self.out.is_empty() {
            return Ok(());
        }
        self.out.extend_from_slice(END);
        let result = self
            .sink
            .write_all(&self.out)
            .and_then(|()| self.sink.flush());
        self.bytes += self.out.len() as u64;
        self.writes += 1;
        self.out.clear();
        if result.is_err() {
            // How much of it arrived is not known.
            self.forget();
        }
        result
    }
}

/// What to draw for a cell with `room` columns left in its row: never a control character, never over the edge.
fn glyph(cell: &Cell, room: u16) -> Glyph<'_> {
    let text = cell.symbol();
    let replaced = |text| Glyph {
        text,
        width: 1,
        simple: true,
    };
    if let [byte] = text.as_bytes() {
        return if byte.is_ascii_control() {
            replaced("?")
        } else {
            Glyph {
                text,
                width: 1,
                simple: true,
            }
        };
    }
    if text.chars().any(char::is_control) {
        return replaced("?");
    }
    let width = cell.cell_width();
    if width == 0 || width > room {
        return replaced(" ");
    }
    Glyph {
        text,
        width,
        simple: width <= 2 && text.chars().nth(1).is_none(),
    }
}

fn is_erasure(cell: &Cell) -> bool {
    cell.symbol() == " " && Pen::of(cell).blank_is_erased()
}
