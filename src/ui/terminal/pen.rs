//! The pen: colours and attributes that the terminal applies to the next glyph, and the shortest way from one to another.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

/// Attributes that show on a blank cell.
const SEEN_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::CROSSED_OUT);

/// Attribute, the SGR number that sets it, the one that resets it. Bold and dim share 22, the two blinks share 25.
const ATTRIBUTES: [(Modifier, u8, u8); 9] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::RAPID_BLINK, 6, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

/// Colours and attributes of one glyph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) fg: Color,
    pub(super) bg: Color,
    underline: Color,
    modifier: Modifier,
}

impl Pen {
    /// What `CSI m` leaves.
    pub(super) const PLAIN: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        underline: Color::Reset,
        modifier: Modifier::empty(),
    };

    #[inline(always)]
    pub(super) fn of(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            underline: cell.underline_color,
            modifier: cell.modifier,
        }
    }

    /// Whether a blank in this pen looks like an erased cell.
    pub(super) fn blank_is_erased(self) -> bool {
        self.bg == Color::Reset && !self.modifier.intersects(SEEN_ON_BLANK)
    }

    /// Whether a blank drawn with this pen looks like a blank drawn with `wanted`: the colour of text is not seen on it.
    pub(super) fn blank_like(self, wanted: Self) -> bool {
        self == wanted
            || (self.bg == wanted.bg
                && !self.modifier.intersects(SEEN_ON_BLANK)
                && !wanted.modifier.intersects(SEEN_ON_BLANK))
    }

    /// The pen nearest to `self` in which a blank looks as in `wanted`.
    fn nearest_for_blank(self, wanted: Self) -> Self {
        if wanted.modifier.intersects(SEEN_ON_BLANK) {
            return wanted;
        }
        Self {
            bg: wanted.bg,
            modifier: self.modifier.difference(SEEN_ON_BLANK),
            ..self
        }
    }
}

/// Writes the sequence that takes the terminal's pen from `from` (`None`: unknown) to `to`, and returns the new pen.
///
/// With `blank` only what is seen on a blank has to fit, so the pen returned may differ from `to`.
pub(super) fn change(out: &mut Vec<u8>, from: Option<Pen>, to: Pen, blank: bool) -> Pen {
    let Some(from) = from else {
        shorter(out, None, to);
        return to;
    };
    if from == to || (blank && from.blank_like(to)) {
        return from;
    }
    let start = out.len();
    shorter(out, Some(from), to);
    if !blank {
        return to;
    }
    let near = from.nearest_for_blank(to);
    let full = out.len();
    shorter(out, Some(from), near);
    if out.len() - full <= full - start {
        out.drain(start..full);
        near
    } else {
        out.truncate(full);
        to
    }
}

/// Writes the shorter of the two ways to `to`: by differences, or by a reset and all that `to` holds.
fn shorter(out: &mut Vec<u8>, from: Option<Pen>, to: Pen) {
    let start = out.len();
    Sequence::new(out, true).differences(Pen::PLAIN, to).end();
    let Some(from) = from else { return };
    let reset = out.len();
    Sequence::new(out, false).differences(from, to).end();
    if out.len() - reset < reset - start {
        out.drain(start..reset);
    } else {
        out.truncate(reset);
    }
}

/// One `CSI ... m` being written.
struct Sequence<'a> {
    out: &'a mut Vec<u8>,
    /// Whether the next parameter needs a separator before it.
    separate: bool,
}

impl<'a> Sequence<'a> {
    /// With `reset` the first parameter is empty, which stands for 0.
    fn new(out: &'a mut Vec<u8>, reset: bool) -> Self {
        out.extend_from_slice(b"\x1b[");
        Self {
            out,
            separate: reset,
        }
    }

    fn number(&mut self, number: u8) {
        if self.separate {
            self.out.push(b';');
        }
        self.separate = true;
        decimal(self.out, u16::from(number));
    }

    fn differences(mut self, from: Pen, to: Pen) -> Self {
        let mut kept = from.modifier;
        let mut last_off = 0;
        for (attribute, _, off) in ATTRIBUTES {
            // Bold and dim, and the two blinks, stand side by side in the table: their shared number is written once.
            if from.modifier.contains(attribute)
                && !to.modifier.contains(attribute)
                && off != last_off
            {
                self.number(off);
                last_off = off;
                for (other, _, other_off) in ATTRIBUTES {
                    if other_off == off {
                        kept.remove(other);
                    }
                }
            }
        }
        for (attribute, on, _) in ATTRIBUTES {
            if to.modifier.contains(attribute) && !kept.contains(attribute) {
                self.number(on);
            }
        }
        if from.fg != to.fg {
            self.colour(to.fg, 30);
        }
        if from.bg != to.bg {
            self.colour(to.bg, 40);
        }
        if from.underline != to.underline {
            self.underline(to.underline);
        }
        self
    }

    /// `base` is 30 for text and 40 for the background.
    fn colour(&mut self, colour: Color, base: u8) {
        match index(colour) {
            Some(n @ 0..=7) => self.number(base + n),
            Some(n @ 8..=15) => self.number(base + 60 + n - 8),
            Some(n) => {
                self.number(base + 8);
                self.number(5);
                self.number(n);
            }
            None => match colour {
                Color::Rgb(r, g, b) => {
                    for number in [base + 8, 2, r, g, b] {
                        self.number(number);
                    }
                }
                _ => self.number(base + 9),
            },
        }
    }

    /// The colon form: a terminal that does not know 58 would read `58;5;1` as blink and bold.
    fn underline(&mut self, colour: Color) {
        let parts: &[u8] = match (index(colour), colour) {
            (Some(n), _) => &[5, n],
            (None, Color::Rgb(r, g, b)) => &[2, r, g, b],
            _ => return self.number(59),
        };
        self.number(58);
        for (at, part) in parts.iter().enumerate() {
            // The direct form has an empty colour space before red.
            self.out.extend_from_slice(if at == 1 && parts.len() == 4 {
                b"::"
            } else {
                b":"
            });
            decimal(self.out, u16::from(*part));
        }
    }

    fn end(self) {
        self.out.push(b'm');
    }
}

/// The palette index of a colour that has one.
fn index(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Indexed(n) => n,
        Color::Reset | Color::Rgb(..) => return None,
    })
}

/// Decimal digits of `number`.
pub(super) fn digits(number: u16) -> usize {
    match number {
        0..=9 => 1,
        10..=99 => 2,
        100..=999 => 3,
        1000..=9999 => 4,
        _ => 5,
    }
}

/// Writes `number` in decimal.
pub(super) fn decimal(out: &mut Vec<u8>, number: u16) {
    let mut unit = 10_u16.pow(u32::try_from(digits(number)).unwrap_or(1) - 1);
    while unit > 0 {
        // One decimal digit always fits.
        out.push(b'0' + (number / unit % 10) as u8);
        unit /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: Option<Pen>, to: Pen, blank: bool) -> String {
        let mut out = Vec::new();
        change(&mut out, from, to, blank);
        String::from_utf8_lossy(&out).replace('\x1b', "^")
    }

    fn pen(fg: Color, bg: Color, modifier: Modifier) -> Pen {
        Pen {
            fg,
            bg,
            underline: Color::Reset,
            modifier,
        }
    }

    #[test]
    fn writes_only_what_changes() {
        let none = Modifier::empty();
        let red = pen(Color::Red, Color::Reset, none);
        let loud = pen(
            Color::Rgb(1, 22, 255),
            Color::Indexed(200),
            Modifier::BOLD | Modifier::DIM,
        );
        let dim = Pen {
            modifier: Modifier::DIM,
            ..loud
        };
        let cases = [
            (None, Pen::PLAIN, "^[m"),
            (None, red, "^[;31m"),
            (Some(Pen::PLAIN), red, "^[31m"),
            (
                Some(Pen::PLAIN),
                pen(Color::White, Color::DarkGray, none),
                "^[97;100m",
            ),
            (
                Some(Pen::PLAIN),
                pen(Color::Indexed(9), Color::Indexed(3), none),
                "^[91;43m",
            ),
            (Some(Pen::PLAIN), loud, "^[1;2;38;2;1;22;255;48;5;200m"),
            (Some(loud), dim, "^[22;2m"),
            (
                Some(loud),
                Pen {
                    modifier: none,
                    ..loud
                },
                "^[22m",
            ),
            (Some(loud), Pen::PLAIN, "^[m"),
            (
                Some(loud),
                Pen {
                    fg: Color::Reset,
                    ..loud
                },
                "^[39m",
            ),
            (
                Some(red),
                Pen {
                    underline: Color::Indexed(4),
                    ..red
                },
                "^[58:5:4m",
            ),
            (
                Some(red),
                Pen {
                    underline: Color::Rgb(1, 2, 3),
                    ..red
                },
                "^[58:2::1:2:3m",
            ),
            (
                Some(Pen {
                    underline: Color::Green,
                    ..red
                }),
                red,
                "^[59m",
            ),
        ];
        for (from, to, expected) in cases {
            assert_eq!(written(from, to, false), expected, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn a_blank_needs_only_what_is_seen_on_it() {
        let bold_red = pen(Color::Red, Color::Reset, Modifier::BOLD);
        let on_blue = pen(Color::Red, Color::Blue, Modifier::UNDERLINED);
        assert_eq!(written(Some(bold_red), Pen::PLAIN, true), "");
        assert_eq!(
            written(
                Some(bold_red),
                pen(Color::Green, Color::Blue, Modifier::empty()),
                true
            ),
            "^[44m"
        );
        assert_eq!(written(Some(on_blue), Pen::PLAIN, true), "^[m");
        assert_eq!(written(Some(Pen::PLAIN), on_blue, true), "^[4;31;44m");
    }

    #[test]
    fn numbers_are_plain_decimals() {
        for number in [0, 7, 10, 99, 100, 255, 1000, 9999, 10000, u16::MAX] {
            let mut out = Vec::new();
            decimal(&mut out, number);
            assert_eq!(String::from_utf8_lossy(&out), number.to_string());
            assert_eq!(out.len(), digits(number));
        }
    }
}
