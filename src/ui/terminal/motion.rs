//! Cursor movements, the shortest first.

use super::pen::{decimal, digits};

/// Where the terminal's cursor is. The column is unknown after the last one was written and after glyphs of which
/// terminals disagree about the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) x: Option<u16>,
    pub(super) y: u16,
}

/// A cursor movement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    way: Way,
    /// Line feeds before the horizontal part.
    down: u16,
    x: u16,
    y: u16,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    /// Row and column: `CSI row ; column H`.
    Place,
    /// Already in the column.
    Stay,
    Right(u16),
    Left(u16),
    Back(u16),
    /// Carriage return, then right.
    Return,
    /// Column alone: `CSI column G`.
    Column,
}

impl Move {
    /// The way with the fewest bytes from where the cursor is, if that is known, to column `x` of row `y`.
    pub(super) fn shortest(from: Option<Cursor>, x: u16, y: u16) -> Self {
        let place = Self {
            way: Way::Place,
            down: 0,
            x,
            y,
        };
        let Some(from) = from.filter(|from| from.y <= y) else {
            return place;
        };
        let down = y - from.y;
        let sideways = match from.x {
            Some(known) if known == x => [Some(Way::Stay), None],
            Some(known) if known < x => [Some(Way::Right(x - known)), None],
            Some(known) => [Some(Way::Back(known - x)), Some(Way::Left(known - x))],
            None => [None, None],
        };
        sideways
            .into_iter()
            .flatten()
            .chain([Way::Return, Way::Column, Way::Place])
            .map(|way| Self {
                way,
                down: if matches!(way, Way::Place) { 0 } else { down },
                x,
                y,
            })
            .min_by_key(Self::length)
            .unwrap_or(place)
    }

    /// Bytes that [`Move::write`] writes.
    pub(super) fn length(&self) -> usize {
        let one_based = |n: u16| if n == 0 { 0 } else { digits(n + 1) };
        let counted = |n: u16| if n == 1 { 3 } else { 3 + digits(n) };
        usize::from(self.down)
            + match self.way {
                Way::Place => {
                    3 + one_based(self.y)
                        + if self.x == 0 {
                            0
                        } else {
                            1 + one_based(self.x)
                        }
                }
                Way::Stay => 0,
                Way::Right(n) | Way::Left(n) => counted(n),
                Way::Back(n) => usize::from(n),
                Way::Return => 1 + if self.x == 0 { 0 } else { counted(self.x) },
                Way::Column => 3 + one_based(self.x),
            }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let counted = |out: &mut Vec<u8>, n: u16, end: u8| {
            out.extend_from_slice(b"\x1b[");
            if n != 1 {
                decimal(out, n);
            }
            out.push(end);
        };
        out.extend(std::iter::repeat_n(b'\n', usize::from(self.down)));
        match self.way {
            Way::Place => {
                out.extend_from_slice(b"\x1b[");
                if self.y > 0 {
                    decimal(out, self.y + 1);
                }
                if self.x > 0 {
                    out.push(b';');
                    decimal(out, self.x + 1);
                }
                out.push(b'H');
            }
            Way::Stay => {}
            Way::Right(n) => counted(out, n, b'C'),
            Way::Left(n) => counted(out, n, b'D'),
            Way::Back(n) => out.extend(std::iter::repeat_n(b'\x08', usize::from(n))),
            Way::Return => {
                out.push(b'\r');
                if self.x > 0 {
                    counted(out, self.x, b'C');
                }
            }
            Way::Column => counted(out, self.x + 1, b'G'),
        }
    }
}
