//! The languages that the screen speaks, and how one is chosen.

use std::str::FromStr;

/// A language of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lang {
    /// English, complete by definition; also what a missing translation falls back to.
    #[default]
    En,
    /// Simplified Chinese.
    ZhCn,
}

/// `--lang` was given a language that the catalogue does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language \"{word}\"; this version speaks en and zh-CN")]
pub struct UnknownLang {
    /// The word as it was given.
    pub word: String,
}

impl Lang {
    /// All languages, English first.
    pub const ALL: [Self; 2] = [Self::En, Self::ZhCn];

    /// The tag as flags and files write it: `en`, `zh-CN`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhCn => "zh-CN",
        }
    }

    /// Reads a POSIX locale (`zh_CN.UTF-8`, `en_GB`, `C`) or a language tag. None where the catalogue lacks that
    /// language. Traditional Chinese is another script and is not answered with the simplified one.
    #[must_use]
    pub fn from_locale(locale: &str) -> Option<Self> {
        let base = locale.split(['.', '@']).next().unwrap_or_default();
        let tag = base.replace('_', "-").to_ascii_lowercase();
        match tag.as_str() {
            "c" | "posix" | "en" => Some(Self::En),
            "zh" | "zh-cn" | "zh-sg" | "zh-hans" => Some(Self::ZhCn),
            _ if tag.starts_with("en-") => Some(Self::En),
            _ if tag.starts_with("zh-hans-") => Some(Self::ZhCn),
            _ => None,
        }
    }

    /// The language that the environment asks for: the first non-empty of `LC_ALL`, `LC_MESSAGES`, `LANG`, as POSIX
    /// orders them; English where none is set or the language is not ours.
    #[must_use]
    pub fn detect(env: impl Fn(&str) -> Option<String>) -> Self {
        ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .find_map(|name| env(name).filter(|value| !value.is_empty()))
            .and_then(|locale| Self::from_locale(&locale))
            .unwrap_or_default()
    }

    /// The language that a terminal can show: with ASCII only, English.
    #[must_use]
    pub fn for_terminal(self, ascii: bool) -> Self {
        if ascii { Self::En } else { self }
    }
}

impl FromStr for Lang {
    type Err = UnknownLang;

    /// Reads `--lang`: `en` or `zh-CN`, and the spellings of [`Lang::from_locale`].
    fn from_str(word: &str) -> Result<Self, UnknownLang> {
        Self::from_locale(word.trim()).ok_or_else(|| UnknownLang {
            word: word.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_flags_and_locales() {
        for (word, expected) in [
            ("en", Some(Lang::En)),
            ("en_GB.UTF-8", Some(Lang::En)),
            ("C", Some(Lang::En)),
            ("C.UTF-8", Some(Lang::En)),
            ("POSIX", Some(Lang::En)),
            ("zh-CN", Some(Lang::ZhCn)),
            ("zh_CN.GB18030", Some(Lang::ZhCn)),
            ("zh", Some(Lang::ZhCn)),
            ("zh_Hans_CN", Some(Lang::ZhCn)),
            ("zh_TW.UTF-8", None),
            ("de_DE", None),
            ("english", None),
            ("", None),
        ] {
            assert_eq!(Lang::from_locale(word), expected, "{word}");
            assert_eq!(word.parse::<Lang>().ok(), expected, "{word}");
        }
        for lang in Lang::ALL {
            assert_eq!(lang.tag().parse(), Ok(lang));
        }
    }

    #[test]
    fn the_first_set_variable_decides() {
        let cases: [(&[(&str, &str)], Lang); 5] = [
            (&[], Lang::En),
            (&[("LANG", "zh_CN.UTF-8")], Lang::ZhCn),
            (&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")], Lang::En),
            (
                &[
                    ("LC_ALL", ""),
                    ("LC_MESSAGES", "zh_CN.UTF-8"),
                    ("LANG", "en_US"),
                ],
                Lang::ZhCn,
            ),
            (&[("LANG", "fr_FR.UTF-8")], Lang::En),
        ];
        for (set, expected) in cases {
            let env = |name: &str| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Lang::detect(env), expected, "{set:?}");
        }
    }
}
