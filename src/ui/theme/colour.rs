//! Colours and their nearest relatives in 256 and 16 colours.

use ratatui::style::Color;

use super::Depth;

/// An sRGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

/// A colour as a theme file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// The terminal's own.
    Default,
    /// `#rrggbb`.
    Rgb(Rgb),
    /// One of the 16 by name, or one of the 256 by number.
    Indexed(u8),
}

/// The 16 names in the order of their numbers; ratatui's colours beside them, and xterm's default values
/// (XTerm-col.ad), for terminals do not tell their own.
const SIXTEEN: [(&str, Color, Rgb); 16] = [
    ("black", Color::Black, Rgb(0, 0, 0)),
    ("red", Color::Red, Rgb(205, 0, 0)),
    ("green", Color::Green, Rgb(0, 205, 0)),
    ("yellow", Color::Yellow, Rgb(205, 205, 0)),
    ("blue", Color::Blue, Rgb(0, 0, 238)),
    ("magenta", Color::Magenta, Rgb(205, 0, 205)),
    ("cyan", Color::Cyan, Rgb(0, 205, 205)),
    ("white", Color::Gray, Rgb(229, 229, 229)),
    ("bright_black", Color::DarkGray, Rgb(127, 127, 127)),
    ("bright_red", Color::LightRed, Rgb(255, 0, 0)),
    ("bright_green", Color::LightGreen, Rgb(0, 255, 0)),
    ("bright_yellow", Color::LightYellow, Rgb(255, 255, 0)),
    ("bright_blue", Color::LightBlue, Rgb(92, 92, 255)),
    ("bright_magenta", Color::LightMagenta, Rgb(255, 0, 255)),
    ("bright_cyan", Color::LightCyan, Rgb(0, 255, 255)),
    ("bright_white", Color::White, Rgb(255, 255, 255)),
];

impl Paint {
    /// The names that a theme file may use beside `#rrggbb` and 0 to 255.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("default").chain(SIXTEEN.iter().map(|(name, ..)| *name))
    }

    /// Reads `#rrggbb` or a name. None for anything else.
    pub(super) fn parse(word: &str) -> Option<Self> {
        if word == "default" {
            return Some(Self::Default);
        }
        if let Some(hex) = word.strip_prefix('#') {
            if hex.len() != 6 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                return None;
            }
            let [_, r, g, b] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
            return Some(Self::Rgb(Rgb(r, g, b)));
        }
        let index = SIXTEEN.iter().position(|(name, ..)| *name == word)?;
        u8::try_from(index).ok().map(Self::Indexed)
    }

    /// The colour at a depth; None where the depth has no colours.
    pub(super) fn at(self, depth: Depth) -> Option<Color> {
        match (depth, self) {
            (Depth::None, _) => None,
            (_, Self::Default) => Some(Color::Reset),
            (_, Self::Indexed(index @ 0..=15)) => Some(SIXTEEN[usize::from(index)].1),
            (Depth::Truecolor, Self::Rgb(Rgb(r, g, b))) => Some(Color::Rgb(r, g, b)),
            (Depth::Truecolor | Depth::C256, Self::Indexed(index)) => Some(Color::Indexed(index)),
            (Depth::C256, Self::Rgb(rgb)) => Some(Color::Indexed(rgb.nearest_of_256())),
            (Depth::C16, Self::Rgb(rgb)) => Some(SIXTEEN[rgb.nearest_of_16()].1),
            (Depth::C16, Self::Indexed(index)) => {
                Some(SIXTEEN[Rgb::of_index(index).nearest_of_16()].1)
            }
        }
    }
}

impl Rgb {
    /// xterm's 256 colours: 16 of the terminal's own, a cube of 6 by 6 by 6, 24 greys (xterm's 256colres.pl).
    pub(super) fn of_index(index: u8) -> Self {
        let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        match index {
            0..=15 => SIXTEEN[usize::from(index)].2,
            16..=231 => {
                let cell = index - 16;
                Self(level(cell / 36), level(cell / 6 % 6), level(cell % 6))
            }
            232.. => {
                let grey = 8 + 10 * (index - 232);
                Self(grey, grey, grey)
            }
        }
    }

    /// The nearest of the cube and the greys. The first 16 are left out, for their values are the user's.
    pub(super) fn nearest_of_256(self) -> u8 {
        (16..=255u8)
            .min_by(|a, b| {
                self.distance(Self::of_index(*a))
                    .total_cmp(&self.distance(Self::of_index(*b)))
            })
            .unwrap_or(16)
    }

    fn nearest_of_16(self) -> usize {
        (0..16)
            .min_by(|a, b| {
                self.distance(SIXTEEN[*a].2)
                    .total_cmp(&self.distance(SIXTEEN[*b].2))
            })
            .unwrap_or(7)
    }

    /// How different two colours look: squared Euclidean distance in Oklab (Ottosson 2020), which is near to uniform
    /// where sRGB is not.
    fn distance(self, other: Self) -> f64 {
        self.oklab()
            .iter()
            .zip(other.oklab())
            .map(|(a, b)| (a - b) * (a - b))
            .sum()
    }

    fn oklab(self) -> [f64; 3] {
        let [r, g, b] = self.linear();
        let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
        let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
        let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
        [
            0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
            1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
            0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
        ]
    }

    fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// The contrast ratio of two colours, 1 to 21 (WCAG 2.1).
    #[cfg(test)]
    pub(super) fn contrast(self, other: Self) -> f64 {
        let luminance = |rgb: Self| {
            let [r, g, b] = rgb.linear();
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(self), luminance(other));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_colours() {
        for (word, expected) in [
            ("#0f1117", Some(Paint::Rgb(Rgb(15, 17, 23)))),
            ("#FFffFF", Some(Paint::Rgb(Rgb(255, 255, 255)))),
            ("default", Some(Paint::Default)),
            ("bright_red", Some(Paint::Indexed(9))),
            ("#fff", None),
            ("#+12345", None),
            ("#ääb", None),
            ("crimson", None),
            ("", None),
        ] {
            assert_eq!(Paint::parse(word), expected, "{word}");
        }
    }

    #[test]
    fn a_colour_of_the_palette_is_its_own_nearest() {
        for index in 16..=255u8 {
            let rgb = Rgb::of_index(index);
            assert_eq!(Rgb::of_index(rgb.nearest_of_256()), rgb, "{index}");
        }
        for (index, (_, _, rgb)) in SIXTEEN.iter().enumerate() {
            assert_eq!(rgb.nearest_of_16(), index);
        }
    }

    #[test]
    fn degrades_by_depth() {
        let rgb = |r, g, b| Paint::Rgb(Rgb(r, g, b));
        for (paint, truecolor, c256, c16) in [
            (
                rgb(255, 0, 0),
                Color::Rgb(255, 0, 0),
                Color::Indexed(196),
                Color::LightRed,
            ),
            (
                rgb(250, 5, 5),
                Color::Rgb(250, 5, 5),
                Color::Indexed(196),
                Color::LightRed,
            ),
            (
                rgb(0, 0, 0),
                Color::Rgb(0, 0, 0),
                Color::Indexed(16),
                Color::Black,
            ),
            (
                rgb(255, 255, 255),
                Color::Rgb(255, 255, 255),
                Color::Indexed(231),
                Color::White,
            ),
            (
                rgb(128, 128, 128),
                Color::Rgb(128, 128, 128),
                Color::Indexed(244),
                Color::DarkGray,
            ),
            (
                rgb(95, 135, 175),
                Color::Rgb(95, 135, 175),
                Color::Indexed(67),
                Color::DarkGray,
            ),
            (Paint::Indexed(2), Color::Green, Color::Green, Color::Green),
            (
                Paint::Indexed(196),
                Color::Indexed(196),
                Color::Indexed(196),
                Color::LightRed,
            ),
            (Paint::Default, Color::Reset, Color::Reset, Color::Reset),
        ] {
            assert_eq!(paint.at(Depth::Truecolor), Some(truecolor), "{paint:?}");
            assert_eq!(paint.at(Depth::C256), Some(c256), "{paint:?}");
            assert_eq!(paint.at(Depth::C16), Some(c16), "{paint:?}");
            assert_eq!(paint.at(Depth::None), None, "{paint:?}");
        }
    }

    #[test]
    fn contrast_of_known_pairs() {
        let (black, white, grey) = (Rgb(0, 0, 0), Rgb(255, 255, 255), Rgb(118, 118, 118));
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((grey.contrast(white) - 4.54).abs() < 0.01);
    }
}
