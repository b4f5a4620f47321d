//! Shares of a whole in one row.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use crate::Glyphs;
use crate::paint::Canvas;

/// One part of a [`Ribbon`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Its weight, in any unit that all slices share. Only a finite weight above zero counts.
    pub weight: f64,
    /// The style of its cells.
    pub style: Style,
    /// What its cells hold in ASCII, where colour may be all that told the slices apart.
    pub ascii: char,
}

impl Slice {
    /// A slice of `weight`.
    #[must_use]
    pub const fn new(weight: f64, style: Style, ascii: char) -> Self {
        Self {
            weight,
            style,
            ascii,
        }
    }
}

/// A stacked bar, one row high, of slices that fill its width together.
///
/// ```text
/// ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀   Unicode: half blocks, one style a slice
/// ████████████████████   Unicode, tall
/// cccccccccccccccsiiii   ASCII: the character of each slice
/// ```
///
/// Cells are shared out by [`allot`]. When no slice has a weight, nothing is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ribbon<'a> {
    slices: &'a [Slice],
    tall: bool,
    glyphs: Glyphs,
}

impl<'a> Ribbon<'a> {
    /// A ribbon of `slices`, from left to right.
    #[must_use]
    pub const fn new(slices: &'a [Slice]) -> Self {
        Self {
            slices,
            tall: false,
            glyphs: Glyphs::Unicode,
        }
    }

    /// Fill the whole height of the row instead of its upper half.
    #[must_use]
    pub const fn tall(mut self, tall: bool) -> Self {
        self.tall = tall;
        self
    }

    /// The characters to draw with.
    #[must_use]
    pub const fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

impl Widget for Ribbon<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        self.draw(area, buf);
    }
}

impl Widget for &Ribbon<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        self.draw(area, buf);
    }
}

impl Ribbon<'_> {
    fn draw(&self, area: Rect, buf: &mut Buffer) {
        let mut canvas = Canvas::new(buf, area);
        if canvas.width() == 0 || canvas.height() == 0 {
            return;
        }
        let weights: Vec<f64> = self.slices.iter().map(|slice| slice.weight).collect();
        let mut x = 0;
        for (slice, cells) in self.slices.iter().zip(allot(&weights, canvas.width())) {
            let glyph = match (self.glyphs, self.tall) {
                (Glyphs::Unicode, false) => '▀',
                (Glyphs::Unicode, true) => '█',
                (Glyphs::Ascii, _) => slice.ascii,
            };
            canvas.run(x, x.saturating_add(cells), 0, glyph, slice.style);
            x = x.saturating_add(cells);
        }
    }
}

/// Shares `cells` out among `weights` so that they add up exactly, by largest remainder.
///
/// A weight above zero gets at least one cell while there are enough cells for all such weights;
/// where there are fewer cells than weights, the heaviest get one each. A weight of zero, below
/// zero, or that is no finite number gets none. Of equals the earlier goes first.
///
/// ```
/// use nameplate_widgets::allot;
/// assert_eq!(allot(&[90.0, 9.0, 0.1], 10), [8, 1, 1]);
/// assert_eq!(allot(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
/// assert_eq!(allot(&[0.0, f64::NAN], 10), [0, 0]);
/// ```
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a quota lies within 0..=cells"
)]
pub fn allot(weights: &[f64], cells: u16) -> Vec<u16> {
    let mut given = vec![0_u16; weights.len()];
    let weight = |index: usize| weights[index];
    let mut heard: Vec<usize> = (0..weights.len())
        .filter(|&index| weight(index).is_finite() && weight(index) > 0.0)
        .collect();
    if heard.len() > usize::from(cells) {
        // The sort is stable, so equals keep their order.
        heard.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        for &index in heard.iter().take(usize::from(cells)) {
            given[index] = 1;
        }
        return given;
    }
    // Against the heaviest first, so that the sum of huge weights stays finite.
    let heaviest = heard.iter().map(|&index| weight(index)).fold(0.0, f64::max);
    let total: f64 = heard.iter().map(|&index| weight(index) / heaviest).sum();
    let quota = |index: usize| weight(index) / heaviest / total * f64::from(cells);
    let mut left = i32::from(cells);
    for &index in &heard {
        given[index] = (quota(index).floor() as u16).clamp(1, cells);
        left -= i32::from(given[index]);
    }
    // What a slice lacks against its quota: the most lacking gains, the least lacking gives.
    let lack = |index: usize, given: &[u16]| quota(index) - f64::from(given[index]);
    while left != 0 {
        let by_lack =
            |&a: &usize, &b: &usize| lack(a, &given).total_cmp(&lack(b, &given)).then(b.cmp(&a));
        let chosen = if left > 0 {
            heard.iter().copied().max_by(by_lack)
        } else {
            heard
                .iter()
                .copied()
                .filter(|&index| given[index] > 1)
                .min_by(by_lack)
        };
        let Some(index) = chosen else { break };
        if left > 0 {
            given[index] += 1;
            left -= 1;
        } else {
            given[index] -= 1;
            left += 1;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui_core::style::Color;

    #[test]
    fn slices_fill_the_row_in_order() {
        let slices = [
            Slice::new(3.0, Style::new().fg(Color::Green), 'c'),
            Slice::new(0.0, Style::new().fg(Color::Red), 's'),
            Slice::new(1.0, Style::new().fg(Color::Blue), 'i'),
        ];
        let mut buf = Buffer::empty(Rect::new(0, 0, 8, 1));
        Ribbon::new(&slices).render(buf.area, &mut buf);
        let colours: Vec<_> = buf.content().iter().map(|cell| cell.fg).collect();
        assert_eq!(colours[..6], [Color::Green; 6]);
        assert_eq!(colours[6..], [Color::Blue; 2]);
        assert!(buf.content().iter().all(|cell| cell.symbol() == "▀"));

        let mut ascii = Buffer::empty(Rect::new(0, 0, 8, 1));
        Ribbon::new(&slices)
            .glyphs(Glyphs::Ascii)
            .render(ascii.area, &mut ascii);
        let text: String = ascii.content().iter().map(|cell| cell.symbol()).collect();
        assert_eq!(text, "ccccccii");
    }

    #[test]
    fn nothing_to_share_draws_nothing() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 4, 1));
        Ribbon::new(&[Slice::new(0.0, Style::new(), 'x')]).render(buf.area, &mut buf);
        assert_eq!(buf, Buffer::empty(buf.area));
    }

    #[test]
    fn the_heaviest_are_seen_when_there_is_no_room_for_all() {
        assert_eq!(allot(&[1.0, 5.0, 3.0], 2), [0, 1, 1]);
        assert_eq!(allot(&[1.0, 1.0, 1.0], 1), [1, 0, 0]);
        assert_eq!(allot(&[1.0], 0), [0]);
    }

    #[test]
    fn extreme_weights_still_add_up() {
        let weights = [f64::MAX, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, -3.0];
        let given = allot(&weights, 101);
        assert_eq!(given.iter().sum::<u16>(), 101);
        assert_eq!(given[2..], [1, 0, 0]);
    }

    proptest! {
        #[test]
        fn cells_add_up_and_no_share_is_lost(
            weights in prop::collection::vec(
                prop_oneof![Just(0.0), 1e-6..1e-3_f64, 0.1..1e6_f64, prop::num::f64::ANY],
                0..14,
            ),
            cells in 0_u16..400,
        ) {
            let given = allot(&weights, cells);
            let counts = |weight: f64| weight.is_finite() && weight > 0.0;
            let counted = weights.iter().filter(|&&weight| counts(weight)).count();
            let sum: u32 = given.iter().map(|&n| u32::from(n)).sum();
            prop_assert_eq!(sum, if counted == 0 { 0 } else { u32::from(cells) });
            for (&weight, &n) in weights.iter().zip(&given) {
                prop_assert!(counts(weight) || n == 0);
                if counts(weight) && counted <= usize::from(cells) {
                    prop_assert!(n >= 1);
                }
            }
            // A heavier slice never gets fewer cells.
            for (&a, &m) in weights.iter().zip(&given) {
                for (&b, &n) in weights.iter().zip(&given) {
                    prop_assert!(!(counts(a) && counts(b) && a > b) || m >= n);
                }
            }
        }
    }
}
