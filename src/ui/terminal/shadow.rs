//! What the terminal shows, cell by cell.

use super::pen::Pen;

/// What the terminal shows in one cell, as far as we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// UTF-8 of a single character, padded with zeros.
    pub(super) glyph: [u8; 4],
    pub(super) kind: Kind,
    pub(super) pen: Pen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not known, or a glyph of several characters: never written again without being asked for.
    Unknown,
    Narrow,
    /// The first cell of a wide glyph.
    Wide,
    /// The second cell of a wide glyph.
    Trail,
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
