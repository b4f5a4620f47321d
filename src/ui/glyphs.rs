//! The glyphs of the screen, each with its ASCII twin.

/// What characters a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// UTF-8 with the block, line and braille characters.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Charset {
    /// The character set of this environment, for where `--ascii` was not given. ASCII where `TERM` is unset, `dumb` or
    /// `linux` (its console font lacks the glyphs), or where the first non-empty of `LC_ALL`, `LC_CTYPE`, `LANG` does not
    /// name UTF-8. Where none of the three is set, as in most containers, the terminal decides, and today's speak UTF-8.
    #[must_use]
    pub fn detect(env: impl Fn(&str) -> Option<String>) -> Self {
        let term = env("TERM").unwrap_or_default();
        if matches!(term.as_str(), "" | "dumb" | "linux") || term.starts_with("vt") {
            return Self::Ascii;
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| env(name).filter(|value| !value.is_empty()));
        match locale {
            Some(locale) => {
                let locale = locale.to_ascii_lowercase();
                if locale.contains("utf-8") || locale.contains("utf8") {
                    Self::Unicode
                } else {
                    Self::Ascii
                }
            }
            None => Self::Unicode,
        }
    }

    /// Whether only ASCII may be written.
    #[must_use]
    pub fn is_ascii(self) -> bool {
        self == Self::Ascii
    }
}

macro_rules! glyphs {
    ($( $(#[$doc:meta])* $name:ident $unicode:literal $ascii:literal; )*) => {
        /// A glyph by its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Glyph { $( $(#[$doc])* $name ),* }

        impl Glyph {
            /// All glyphs.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The glyph as this character set writes it. Twins may differ in width.
            #[must_use]
            pub const fn of(self, charset: Charset) -> &'static str {
                match (self, charset) {
                    $((Self::$name, Charset::Unicode) => $unicode, (Self::$name, Charset::Ascii) => $ascii,)*
                }
            }
        }
    };
}

glyphs! {
    /// The source is live.
    Live "●" "*";
    /// A source that is not live: paused, stale, a recording.
    NotLive "○" "o";
    /// Paused.
    Paused "‖" "=";
    /// Host to device, received by the device.
    ArrowDown "↓" "rx";
    /// Device to host, sent by the device.
    ArrowUp "↑" "tx";
    /// Both directions together.
    Sum "Σ" "+";
    /// The keys for up and down.
    KeyUpDown "↑↓" "up/dn";
    /// The key up.
    KeyUp "↑" "up";
    /// The key down.
    KeyDown "↓" "dn";
    /// The key left.
    KeyLeft "←" "lt";
    /// The key right.
    KeyRight "→" "rt";
    /// The enter key.
    KeyEnter "⏎" "ent";
    /// The space bar.
    KeySpace "␣" "spc";
    /// Between things that belong together.
    Dot "·" "-";
    /// The selected row.
    Selected "▌" ">";
    /// A rule across the screen.
    Rule "─" "-";
    /// A vertical rule.
    RuleVertical "│" "|";
    /// The line of a chart's ceiling.
    Ceiling "┈" "-";
    /// The axis of a chart.
    Axis "┈" ".";
    /// Times, as in 8 x H100.
    Times "×" "x";
    /// Degrees, without a scale.
    Degree "°" "C";
    /// Degrees Celsius.
    Celsius "°C" "C";
    /// Micro, as in microseconds.
    Micro "µ" "u";
    /// A full cell of a bar.
    BarFull "█" "#";
    /// The part of a bar that is not filled.
    BarEmpty "·" ".";
    /// One eighth of a cell.
    Bar1 "▏" ".";
    /// Two eighths of a cell.
    Bar2 "▎" ".";
    /// Three eighths of a cell.
    Bar3 "▍" ".";
    /// Half a cell.
    Bar4 "▌" "#";
    /// Five eighths of a cell.
    Bar5 "▋" "#";
    /// Six eighths of a cell.
    Bar6 "▊" "#";
    /// Seven eighths of a cell.
    Bar7 "▉" "#";
    /// The enforced limit's tick in a bar.
    LimitTick "▏" "|";
    /// The phase ribbon.
    Ribbon "▀" "=";
    /// A gap in a ribbon or chart: nobody watched.
    Gap "░" " ";
    /// Something was cut off.
    Ellipsis "…" "~";
    /// A value that is not there.
    Absent "--" "--";
    /// Above zero, but rounded to it.
    AboutZero "≈" "~";
    /// At most.
    AtMost "≤" "<=";
    /// At least.
    AtLeast "≥" ">=";
    /// More rows above.
    MoreAbove "▲" "^";
    /// More rows below.
    MoreBelow "▼" "v";
    /// A member of the row above: an instance under its device, a bridge under its parent.
    Branch "└" "`";
    /// From one to the next.
    To "→" "->";
    /// Fine.
    Check "✓" "+";
    /// Not fine.
    Cross "✗" "x";
    /// Needs attention.
    Attention "!" "!";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    #[test]
    fn every_twin_is_ascii_and_nothing_is_empty() {
        for glyph in Glyph::ALL {
            let (unicode, ascii) = (glyph.of(Charset::Unicode), glyph.of(Charset::Ascii));
            assert!(ascii.is_ascii() && !ascii.is_empty(), "{glyph:?}");
            assert!(!ascii.chars().any(char::is_control), "{glyph:?}");
            assert_eq!(
                unicode.width(),
                unicode.chars().count(),
                "{glyph:?} is not one column a character"
            );
        }
    }

    #[test]
    fn charset_of_an_environment() {
        let cases: [(&[(&str, &str)], Charset); 13] = [
            (
                &[("TERM", "xterm-256color"), ("LANG", "en_US.UTF-8")],
                Charset::Unicode,
            ),
            (
                &[("TERM", "xterm"), ("LANG", "zh_CN.utf8")],
                Charset::Unicode,
            ),
            (&[("TERM", "xterm"), ("LANG", "C.UTF-8")], Charset::Unicode),
            (&[("TERM", "xterm"), ("LANG", "C")], Charset::Ascii),
            (&[("TERM", "xterm"), ("LANG", "POSIX")], Charset::Ascii),
            (
                &[("TERM", "xterm"), ("LANG", "en_US.ISO-8859-1")],
                Charset::Ascii,
            ),
            (
                &[("TERM", "xterm"), ("LC_ALL", "C"), ("LANG", "en_US.UTF-8")],
                Charset::Ascii,
            ),
            (
                &[
                    ("TERM", "xterm"),
                    ("LC_ALL", ""),
                    ("LC_CTYPE", "en_US.UTF-8"),
                    ("LANG", "C"),
                ],
                Charset::Unicode,
            ),
            (
                &[("TERM", "linux"), ("LANG", "en_US.UTF-8")],
                Charset::Ascii,
            ),
            (&[("TERM", "dumb"), ("LANG", "en_US.UTF-8")], Charset::Ascii),
            (
                &[("TERM", "vt100"), ("LANG", "en_US.UTF-8")],
                Charset::Ascii,
            ),
            (&[("LANG", "en_US.UTF-8")], Charset::Ascii),
            (&[("TERM", "xterm")], Charset::Unicode),
        ];
        for (set, expected) in cases {
            let set: BTreeMap<_, _> = set.iter().copied().collect();
            assert_eq!(
                Charset::detect(|name| set.get(name).map(|v| (*v).to_owned())),
                expected,
                "{set:?}"
            );
        }
    }
}
