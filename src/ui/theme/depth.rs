//! How many colours a terminal shows, from `--color` and the environment.

use std::str::FromStr;

/// The colours that may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// None: bold, dim, underline and reverse only.
    None,
    /// The terminal's own 16.
    C16,
    /// xterm's 256.
    C256,
    /// 24 bits.
    Truecolor,
}

/// What `--color` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// What the environment says.
    #[default]
    Auto,
    /// Colours even where the environment says none: at least 16.
    Always,
    /// No colours.
    Never,
    /// Just this depth.
    Depth(Depth),
}

/// `--color` was given a word that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown colour choice \"{word}\"; one of auto, always, never, 16, 256, truecolor")]
pub struct UnknownColorChoice {
    /// The word as it was given.
    pub word: String,
}

impl FromStr for ColorChoice {
    type Err = UnknownColorChoice;

    fn from_str(word: &str) -> Result<Self, UnknownColorChoice> {
        match word {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            "16" => Ok(Self::Depth(Depth::C16)),
            "256" => Ok(Self::Depth(Depth::C256)),
            "truecolor" => Ok(Self::Depth(Depth::Truecolor)),
            _ => Err(UnknownColorChoice {
                word: word.to_owned(),
            }),
        }
    }
}

impl Depth {
    /// The depth for a choice in an environment. With [`ColorChoice::Auto`]: a non-empty `NO_COLOR` says none
    /// (no-color.org), then `CLICOLOR_FORCE` other than 0 at least 16 and `CLICOLOR=0` none (bixense.com/clicolors), then
    /// `TERM` and `COLORTERM` decide. Whether the output is a terminal at all is the caller's to know.
    #[must_use]
    pub fn detect(env: impl Fn(&str) -> Option<String>, choice: ColorChoice) -> Self {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        match choice {
            ColorChoice::Never => Self::None,
            ColorChoice::Depth(depth) => depth,
            ColorChoice::Always => Self::of_terminal(set).max(Self::C16),
            ColorChoice::Auto if set("NO_COLOR").is_some() => Self::None,
            ColorChoice::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => {
                Self::of_terminal(set).max(Self::C16)
            }
            ColorChoice::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => Self::None,
            ColorChoice::Auto => Self::of_terminal(set),
        }
    }

    /// What the terminal can do. `COLORTERM` travels over SSH only where the server lets it, so that terminals known for
    /// 24 bits count by their name.
    fn of_terminal(set: impl Fn(&str) -> Option<String>) -> Self {
        let term = set("TERM").unwrap_or_default();
        match term.as_str() {
            "" | "dumb" | "unknown" | "vt52" | "vt100" | "vt102" | "vt220" | "vt320"
            | "xterm-mono" => return Self::None,
            // The Linux console takes longer sequences, and shows the nearest of its 16.
            "linux" | "cygwin" | "ansi" => return Self::C16,
            _ => {}
        }
        let colorterm =
            set("COLORTERM").is_some_and(|value| matches!(value.as_str(), "truecolor" | "24bit"));
        let by_name = [
            "-direct",
            "-truecolor",
            "kitty",
            "ghostty",
            "alacritty",
            "wezterm",
            "foot",
            "contour",
        ]
        .iter()
        .any(|part| term.contains(part));
        if colorterm || by_name || set("WT_SESSION").is_some() {
            Self::Truecolor
        } else if term.contains("256") {
            Self::C256
        } else {
            Self::C16
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_and_environments() {
        use ColorChoice::{Always, Auto, Never};
        type Env = &'static [(&'static str, &'static str)];
        let cases: [(Env, ColorChoice, Depth); 24] = [
            (&[], Auto, Depth::None),
            (&[], Always, Depth::C16),
            (&[("TERM", "dumb")], Auto, Depth::None),
            (
                &[("TERM", "dumb"), ("COLORTERM", "truecolor")],
                Auto,
                Depth::None,
            ),
            (&[("TERM", "dumb")], Always, Depth::C16),
            (&[("TERM", "vt100")], Auto, Depth::None),
            (
                &[("TERM", "linux"), ("COLORTERM", "truecolor")],
                Auto,
                Depth::C16,
            ),
            (&[("TERM", "xterm")], Auto, Depth::C16),
            (&[("TERM", "screen")], Auto, Depth::C16),
            (&[("TERM", "xterm-256color")], Auto, Depth::C256),
            (&[("TERM", "tmux-256color")], Auto, Depth::C256),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
                Auto,
                Depth::Truecolor,
            ),
            (
                &[("TERM", "xterm"), ("COLORTERM", "24bit")],
                Auto,
                Depth::Truecolor,
            ),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "yes")],
                Auto,
                Depth::C256,
            ),
            (&[("TERM", "xterm-kitty")], Auto, Depth::Truecolor),
            (
                &[("TERM", "xterm-256color"), ("WT_SESSION", "1")],
                Auto,
                Depth::Truecolor,
            ),
            (
                &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
                Auto,
                Depth::None,
            ),
            (
                &[("TERM", "xterm-256color"), ("NO_COLOR", "")],
                Auto,
                Depth::C256,
            ),
            (
                &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
                Always,
                Depth::C256,
            ),
            (
                &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")],
                Auto,
                Depth::C16,
            ),
            (
                &[("TERM", "dumb"), ("CLICOLOR_FORCE", "0")],
                Auto,
                Depth::None,
            ),
            (&[("TERM", "xterm"), ("CLICOLOR", "0")], Auto, Depth::None),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
                Never,
                Depth::None,
            ),
            (
                &[("TERM", "dumb"), ("NO_COLOR", "1")],
                ColorChoice::Depth(Depth::C256),
                Depth::C256,
            ),
        ];
        for (set, choice, expected) in cases {
            let env = |name: &str| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Depth::detect(env, choice), expected, "{set:?} {choice:?}");
        }
    }

    #[test]
    fn reads_the_flag() {
        assert_eq!(
            "truecolor".parse(),
            Ok(ColorChoice::Depth(Depth::Truecolor))
        );
        assert_eq!("auto".parse(), Ok(ColorChoice::Auto));
        assert!("sometimes".parse::<ColorChoice>().is_err());
    }
}
