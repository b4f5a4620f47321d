//! Table columns that keep still.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::paint::{Canvas, text_width};

/// The side of its column that a text keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Align {
    /// Words.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// What one table column asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Column {
    width: u16,
    widest: u16,
    align: Align,
    priority: u8,
    lead: u16,
}

impl Column {
    /// A column of exactly `width` cells for words.
    #[must_use]
    pub const fn left(width: u16) -> Self {
        Self {
            width,
            widest: width,
            align: Align::Left,
            priority: u8::MAX,
            lead: 0,
        }
    }

    /// A column of exactly `width` cells for numbers.
    #[must_use]
    pub const fn right(width: u16) -> Self {
        Self {
            align: Align::Right,
            ..Self::left(width)
        }
    }

    /// How long it stays when room is short: the lowest goes first. Unset, it is the highest.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Lets it take spare cells up to `widest` once every column that fits has its own.
    #[must_use]
    pub const fn up_to(mut self, widest: u16) -> Self {
        self.widest = if widest > self.width {
            widest
        } else {
            self.width
        };
        self
    }

    /// Cells kept free before it, on top of the common gap; none when it is the first.
    #[must_use]
    pub const fn lead(mut self, lead: u16) -> Self {
        self.lead = lead;
        self
    }
}

/// Where a column that fits stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Its place in the slice of columns that was laid out.
    pub index: usize,
    /// Cells from the left edge of the row.
    pub x: u16,
    /// Cells of the column.
    pub width: u16,
    /// The side its text keeps to.
    pub align: Align,
}

impl Slot {
    /// The slot's part of `row`, cut to it.
    #[must_use]
    pub fn area(&self, row: Rect) -> Rect {
        let x = row.x.saturating_add(self.x).min(row.right());
        let width = self.width.min(row.right() - x);
        Rect { x, width, ..row }
    }

    /// Writes `text` into the slot on the first line of `row`, on its side.
    ///
    /// Words too long are cut at their right. A right-aligned text is a number, and a number that
    /// lost a digit is another number, so one that does not fit becomes a row of `#`.
    pub fn draw(&self, buf: &mut Buffer, row: Rect, text: &str, style: Style) {
        let mut canvas = Canvas::new(buf, self.area(row));
        let width = canvas.width();
        let needed = text_width(text);
        match self.align {
            Align::Left => canvas.text(0, 0, width, text, style),
            Align::Right if needed > width => canvas.run(0, width, 0, '#', style),
            Align::Right => canvas.text(width - needed, 0, needed, text, style),
        }
    }
}

/// The layout of a table row: fixed columns from left to right, of which the least important
/// leave when there is no room for all.
///
/// ```text
/// 3  H100 SXM   612 W  28°  97%      wide
/// 3  H100 SXM   612 W  28°           the percent column had the lowest priority
/// ```
///
/// Widths come from the columns and never from the texts, so figures stand still.
///
/// ```
/// use nameplate_widgets::{Column, Columns};
///
/// let columns = [Column::right(2), Column::left(8).priority(1), Column::right(5)];
/// let places = |width| -> Vec<_> {
///     Columns::new(&columns).gap(1).fit(width).iter().map(|s| (s.index, s.x)).collect()
/// };
/// assert_eq!(places(17), [(0, 0), (1, 3), (2, 12)]);
/// assert_eq!(places(16), [(0, 0), (2, 3)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns<'a> {
    columns: &'a [Column],
    gap: u16,
}

impl<'a> Columns<'a> {
    /// A layout of `columns`, with no gap between them.
    #[must_use]
    pub const fn new(columns: &'a [Column]) -> Self {
        Self { columns, gap: 0 }
    }

    /// Cells kept free between two columns.
    #[must_use]
    pub const fn gap(mut self, gap: u16) -> Self {
        self.gap = gap;
        self
    }

    /// The columns that fit into `width` cells, from left to right.
    ///
    /// Columns leave one by one, the lowest priority first and of equals the rightmost, until the
    /// rest fits. More width never loses a column.
    #[must_use]
    pub fn fit(&self, width: u16) -> Vec<Slot> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        while self.needed(&kept) > u64::from(width) {
            let least = (0..kept.len())
                .rev()
                .min_by_key(|&at| self.columns[kept[at]].priority);
            let Some(least) = least else { break };
            kept.remove(least);
        }
        let mut spare = u64::from(width).saturating_sub(self.needed(&kept));
        let mut slots = Vec::with_capacity(kept.len());
        let mut x = 0_u16;
        for index in kept {
            let column = self.columns[index];
            if !slots.is_empty() {
                x = x.saturating_add(self.gap).saturating_add(column.lead);
            }
            let extra = u64::from(column.widest - column.width).min(spare);
            spare -= extra;
            // `extra` is at most a difference of two u16.
            let width = column.width + u16::try_from(extra).unwrap_or(0);
            slots.push(Slot {
                index,
                x,
                width,
                align: column.align,
            });
            x = x.saturating_add(width);
        }
        slots
    }

    /// Cells that the columns at `kept` need at their own widths.
    fn needed(&self, kept: &[usize]) -> u64 {
        let cells = kept.iter().enumerate().map(|(place, &index)| {
            let column = self.columns[index];
            let before = if place == 0 {
                0
            } else {
                u64::from(self.gap) + u64::from(column.lead)
            };
            before + u64::from(column.width)
        });
        cells.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lowest_priority_leaves_first_and_of_equals_the_rightmost() {
        let columns = [
            Column::left(4).priority(1),
            Column::left(4).priority(2),
            Column::left(4).priority(1),
        ];
        let kept = |width| -> Vec<usize> {
            Columns::new(&columns)
                .gap(1)
                .fit(width)
                .iter()
                .map(|slot| slot.index)
                .collect()
        };
        assert_eq!(kept(14), [0, 1, 2]);
        assert_eq!(kept(13), [0, 1]);
        assert_eq!(kept(8), [1]);
        assert_eq!(kept(3), [0_usize; 0]);
    }

    #[test]
    fn a_growing_column_takes_what_is_spare() {
        let columns = [
            Column::left(3),
            Column::left(10).up_to(20),
            Column::right(4).lead(2),
        ];
        let widths = |width| -> Vec<(u16, u16)> {
            Columns::new(&columns)
                .gap(1)
                .fit(width)
                .iter()
                .map(|s| (s.x, s.width))
                .collect()
        };
        assert_eq!(widths(21), [(0, 3), (4, 10), (17, 4)]);
        assert_eq!(widths(25), [(0, 3), (4, 14), (21, 4)]);
        assert_eq!(widths(99), [(0, 3), (4, 20), (27, 4)]);
    }

    #[test]
    fn texts_keep_to_their_side_and_numbers_are_never_cut() {
        let columns = [Column::left(5), Column::right(4), Column::right(3)];
        let slots = Columns::new(&columns).gap(1).fit(14);
        let mut buf = Buffer::empty(Rect::new(0, 0, 14, 1));
        for (slot, text) in slots.iter().zip(["a long word", "9.9", "1234"]) {
            slot.draw(&mut buf, Rect::new(0, 0, 14, 1), text, Style::new());
        }
        assert_eq!(buf, Buffer::with_lines(["a lon  9.9 ###"]));
    }

    #[test]
    fn wide_characters_count_as_two() {
        let slot = Slot {
            index: 0,
            x: 0,
            width: 5,
            align: Align::Right,
        };
        let mut buf = Buffer::empty(Rect::new(0, 0, 5, 1));
        slot.draw(&mut buf, Rect::new(0, 0, 5, 1), "电力", Style::new());
        assert_eq!(buf[(1, 0)].symbol(), "电");
    }

    proptest! {
        #[test]
        fn slots_stand_apart_inside_the_width_and_none_leaves_as_it_grows(
            asked in prop::collection::vec((0_u16..40, 0_u16..40, 0_u8..4, 0_u16..4), 0..12),
            gap in 0_u16..4,
            width in 0_u16..300,
        ) {
            let columns: Vec<Column> = asked.iter().map(|&(width, more, priority, lead)| {
                Column::right(width).up_to(width + more).priority(priority).lead(lead)
            }).collect();
            let layout = Columns::new(&columns).gap(gap);
            let slots = layout.fit(width);
            let mut edge = 0;
            for (place, slot) in slots.iter().enumerate() {
                if place > 0 {
                    prop_assert!(slot.x >= edge + gap);
                }
                edge = slot.x + slot.width;
                prop_assert!(edge <= width);
                prop_assert!(slot.width >= asked[slot.index].0);
            }
            let wider = layout.fit(width + 1);
            for slot in &slots {
                prop_assert!(wider.iter().any(|other| other.index == slot.index));
            }
            // Whoever left was no more important than anyone who stayed.
            for (index, &(_, _, priority, _)) in asked.iter().enumerate() {
                let left = !slots.iter().any(|slot| slot.index == index);
                let least = slots.iter().map(|slot| asked[slot.index].2).min();
                prop_assert!(!left || least.is_none_or(|least| priority <= least));
            }
        }
    }
}
