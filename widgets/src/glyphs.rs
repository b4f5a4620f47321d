//! The two sets of drawing characters.

/// Which characters the widgets draw with.
///
/// `Unicode` needs block elements and braille patterns; `Ascii` stays within printable 7-bit
/// characters, for terminals, fonts and logs that have nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Glyphs {
    /// Block elements, braille and light rules.
    #[default]
    Unicode,
    /// Printable ASCII only.
    Ascii,
}

impl Glyphs {
    /// The glyph of this set out of a pair of twins.
    ///
    /// ```
    /// use nameplate_widgets::Glyphs;
    /// assert_eq!(Glyphs::Unicode.pick("↑", "^"), "↑");
    /// assert_eq!(Glyphs::Ascii.pick("↑", "^"), "^");
    /// ```
    #[must_use]
    pub const fn pick<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// The empty part of a bar.
    pub(crate) const fn track(self) -> char {
        match self {
            Self::Unicode => '·',
            Self::Ascii => '.',
        }
    }

    /// A horizontal rule: the ceiling and the limit lines of a chart.
    pub(crate) const fn rule(self) -> char {
        match self {
            Self::Unicode => '┈',
            Self::Ascii => '-',
        }
    }

    /// The mark of a value past the end of its scale.
    pub(crate) const fn overflow(self) -> char {
        match self {
            Self::Unicode => '»',
            Self::Ascii => '+',
        }
    }
}

/// Left-aligned blocks of 0 to 8 eighths of a cell.
pub(crate) const LEFT_EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Bottom-aligned blocks of 1 to 8 eighths of a cell, by eighths minus one.
pub(crate) const LOWER_EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
