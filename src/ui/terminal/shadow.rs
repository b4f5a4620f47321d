//! What the terminal shows, cell by cell.

use super::pen::Pen;

use ratatui::buffer::Cell;

/// What the terminal shows in one cell, as far as we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// UTF-8 of a single character, padded with zeros; of a cluster its hash.
    pub(super) glyph: [u8; 4],
    pub(super) kind: Kind,
    pub(super) pen: Pen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not known: written with the next frame.
    Unknown,
    /// A glyph of several characters, or one about whose width terminals differ: never written over a gap.
    Cluster,
    Narrow,
    /// The first cell of a wide glyph.
    Wide,
    /// The second cell of a wide glyph.
    Trail,
}

/// The bytes of one character, padded with zeros; zeros for anything longer.
pub(super) fn word(text: &[u8]) -> [u8; 4] {
    match *text {
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c] => [a, b, c, 0],
        [a, b, c, d] => [a, b, c, d],
        _ => [0; 4],
    }
}

/// A cluster's text in four bytes (FNV-1a): it only has to differ from what stood in the same cell before.
pub(super) fn hash(text: &[u8]) -> [u8; 4] {
    text.iter()
        .fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
        .to_ne_bytes()
}

const BLANK: [u8; 4] = [b' ', 0, 0, 0];

impl Shown {
    pub(super) const ERASED: Self = Self {
        glyph: BLANK,
        kind: Kind::Narrow,
        pen: Pen::PLAIN,
    };
    pub(super) const UNKNOWN: Self = Self {
        glyph: [0; 4],
        kind: Kind::Unknown,
        pen: Pen::PLAIN,
    };

    pub(super) fn bytes(&self) -> &[u8] {
        let length = self.glyph.iter().position(|b| *b == 0).unwrap_or(4);
        &self.glyph[..length]
    }

    /// Whether the cell stands there already: its text and pen, or a blank that looks the same.
    #[inline(always)]
    pub(super) fn is(&self, cell: &Cell) -> bool {
        let text = cell.symbol().as_bytes();
        let same = match self.kind {
            Kind::Narrow | Kind::Wide => word(text) == self.glyph,
            Kind::Cluster => hash(text) == self.glyph,
            Kind::Unknown | Kind::Trail => false,
        };
        same && self.has_pen(Pen::of(cell))
    }

    /// Whether what stands there would look the same in this pen.
    #[inline(always)]
    pub(super) fn has_pen(&self, pen: Pen) -> bool {
        self.pen == pen || (self.is_blank() && self.pen.blank_like(pen))
    }

    pub(super) fn is_blank(&self) -> bool {
        self.kind == Kind::Narrow && self.glyph == BLANK
    }

    pub(super) fn is_erased(&self) -> bool {
        self.is_blank() && self.pen.blank_is_erased()
    }

    /// Whether the cell could be written again with `pen` and look the same.
    pub(super) fn fits(&self, pen: Pen) -> bool {
        self.kind == Kind::Narrow
            && (self.pen == pen || (self.is_blank() && pen.blank_like(self.pen)))
    }
}
