//! Frames to bytes: what ratatui says has changed, in as few bytes as a terminal understands, in one write per frame.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::{Cell, CellDiffOption, CellWidth};
use ratatui::layout::{Position, Size};

use super::motion::{Cursor, Move};
use super::pen::{self, Pen, decimal, digits};
use super::shadow::{Kind, Shown};

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

/// A ratatui backend that keeps a shadow of the terminal and writes the least that turns it into the next frame.
///
/// Nothing is written when nothing changed. Pen and cursor carry over from frame to frame, so nothing else may write
/// to the terminal while this does; if something did, [`Lean::forget`] and a repaint put it right.
#[derive(Debug)]
pub struct Lean<W: Write> {
    sink: W,
    out: Vec<u8>,
    size: Size,
    shadow: Vec<Shown>,
    pen: Option<Pen>,
    cursor: Option<Cursor>,
    cursor_visible: Option<bool>,
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
            shadow: Vec::new(),
            pen: None,
            cursor: None,
            cursor_visible: None,
            orphan: None,
            clear: true,
            bytes: 0,
            writes: 0,
        };
        lean.forget();
        lean
    }

    /// Forgets what the terminal shows, so that the next frame erases it first. `Terminal::resize` must follow, for
    /// ratatui to send every cell.
    pub fn forget(&mut self) {
        self.out.clear();
        self.pen = None;
        self.cursor = None;
        self.cursor_visible = None;
        self.orphan = None;
        self.erase_all();
    }

    /// Takes a new size and forgets; `Terminal::resize` must follow.
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

    fn erase_all(&mut self) {
        self.clear = true;
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
    ///
    /// ratatui does not send it when it was and is a blank; what it had for a background then is its glyph's.
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
        if let (true, Some(room)) = (glyph.simple, shown.glyph.get_mut(..glyph.text.len())) {
            room.copy_from_slice(glyph.text.as_bytes());
            shown.kind = if glyph.width > 1 {
                Kind::Wide
            } else {
                Kind::Narrow
            };
        }
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

    /// Whether the cells from `x` to before `next` are few and erased already, so that erasing them again costs little.
    fn erased_between(&self, x: u16, next: u16, y: u16) -> bool {
        next >= x
            && next - x <= 4
            && (x..next).all(|x| self.shown(x, y).is_some_and(Shown::is_erased))
    }

    /// Whether the terminal already shows the glyph.
    fn shows(&self, x: u16, y: u16, glyph: &Glyph<'_>, wanted: Pen) -> bool {
        self.shown(x, y).is_some_and(|shown| {
            shown.kind != Kind::Unknown
                && shown.bytes() == glyph.text.as_bytes()
                && (shown.pen == wanted || (shown.is_blank() && shown.pen.blank_like(wanted)))
        })
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
    let forced = matches!(cell.diff_option, CellDiffOption::ForcedWidth(_));
    Glyph {
        text,
        width,
        simple: !forced && width <= 2 && text.chars().nth(1).is_none(),
    }
}

fn is_erasure(cell: &Cell) -> bool {
    cell.symbol() == " "
        && cell.diff_option == CellDiffOption::None
        && Pen::of(cell).blank_is_erased()
}

impl<W: Write> Backend for Lean<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let Size { width, height } = self.size;
        let mut content = content
            .filter(|(x, y, _)| *x < width && *y < height)
            .peekable();
        while let Some((x, y, cell)) = content.next() {
            self.mend(Some((x, y)));
            if self.is_trail(x, y) {
                // Covered by the glyph before it, which is still there: ratatui sends such cells behind some emoji.
                continue;
            }
            if is_erasure(cell) {
                let mut count = 1;
                while let Some((next, ..)) = content.next_if(|(next, row, cell)| {
                    *row == y && is_erasure(cell) && self.erased_between(x + count, *next, y)
                }) {
                    count = next + 1 - x;
                }
                let more = content.peek().is_some_and(|(_, row, _)| *row == y);
                self.erase(x, y, count, more);
                continue;
            }
            let (glyph, wanted) = (glyph(cell, width - x), Pen::of(cell));
            if cell.diff_option != CellDiffOption::None || !self.shows(x, y, &glyph, wanted) {
                self.put(x, y, &glyph, wanted);
            }
        }
        self.mend(None);
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.cursor_visible != Some(false) {
            self.begin();
            self.out.extend_from_slice(b"\x1b[?25l");
            self.cursor_visible = Some(false);
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if self.cursor_visible != Some(true) {
            self.begin();
            self.out.extend_from_slice(b"\x1b[?25h");
            self.cursor_visible = Some(true);
        }
        Ok(())
    }

    /// The place known to us: the terminal is never asked.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor.map_or(Position::ORIGIN, |c| Position {
            x: c.x.unwrap_or(0),
            y: c.y,
        }))
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        if self.cursor != Some(Cursor { x: Some(x), y }) {
            self.begin();
            Move::shortest(self.cursor, x, y).write(&mut self.out);
            self.cursor = Some(Cursor { x: Some(x), y });
        }
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    /// `All` is written with the next frame. The parts are only asked for by viewports that do not fill the screen.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        let sequence: &[u8] = match clear_type {
            ClearType::All => {
                self.erase_all();
                return Ok(());
            }
            ClearType::AfterCursor => b"\x1b[J",
            ClearType::BeforeCursor => b"\x1b[1J",
            ClearType::CurrentLine => b"\x1b[2K",
            ClearType::UntilNewLine => b"\x1b[K",
        };
        self.begin();
        self.set_pen(Pen::PLAIN, true);
        self.out.extend_from_slice(sequence);
        self.shadow.fill(Shown::UNKNOWN);
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::ZERO,
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
