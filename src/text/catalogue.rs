//! The catalogue: templates parsed once per language, filled with named arguments.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::sync::OnceLock;

use super::Lang;
use super::keys::{AREAS, Area, KeySpec};

/// All strings of the screen in one language. Cheap to copy: a reference to tables that are parsed once per process.
#[derive(Clone, Copy)]
pub struct Catalogue {
    lang: Lang,
    tables: &'static Tables,
}

/// Templates by area and slot, in the order of the declarations.
type Tables = Vec<Vec<Template>>;

/// One sentence, cut where its arguments go.
#[derive(Debug, PartialEq)]
struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// The argument at this place of the declaration.
    Arg(usize),
}

/// Why a sentence cannot be used with its declaration.
#[derive(Debug, PartialEq, thiserror::Error)]
enum TemplateError {
    #[error("a brace is not closed, or closes nothing")]
    Brace,
    #[error("no argument is called {{{0}}}")]
    UnknownArgument(String),
}

impl Catalogue {
    /// The catalogue of one language. What a language lacks is in English.
    #[must_use]
    pub fn new(lang: Lang) -> Self {
        static EN: OnceLock<Tables> = OnceLock::new();
        static ZH_CN: OnceLock<Tables> = OnceLock::new();
        let cell = match lang {
            Lang::En => &EN,
            Lang::ZhCn => &ZH_CN,
        };
        Self {
            lang,
            tables: cell.get_or_init(|| load(lang)),
        }
    }

    /// The language of this catalogue.
    #[must_use]
    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// A sentence of the area `trouble` in this language, from the English one; what is filled in is such a sentence itself,
    /// or stays. `None`: it is none of them.
    pub(in crate::text) fn trouble_sentence(&self, english: &str) -> Option<String> {
        let area = Area::trouble;
        let table = Self::new(Lang::En).tables.get(area as usize)?;
        let mut found = table.iter().enumerate();
        let (slot, args) =
            found.find_map(|(slot, template)| Some((slot, template.args_in(english)?)))?;
        let args: Vec<String> = args.into_iter().map(|arg| self.trouble(arg)).collect();
        let args: Vec<&dyn Display> = args.iter().map(|arg| arg as &dyn Display).collect();
        Some(self.fill(area, slot, &args).into_owned())
    }

    /// Fills one template; borrows where there is nothing to fill in.
    pub(in crate::text) fn fill(
        &self,
        area: Area,
        slot: usize,
        args: &[&dyn Display],
    ) -> Cow<'static, str> {
        let Some(template) = self
            .tables
            .get(area as usize)
            .and_then(|table| table.get(slot))
        else {
            return Cow::Borrowed("");
        };
        match template.pieces.as_slice() {
            [] => Cow::Borrowed(""),
            [Piece::Text(text)] => Cow::Borrowed(text),
            pieces => {
                let mut filled = String::with_capacity(64);
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => filled.push_str(text),
                        Piece::Arg(index) => {
                            if let Some(arg) = args.get(*index) {
                                // Writing to a String fails only where the argument's own Display does: then it stays out.
                                let _ = write!(filled, "{arg}");
                            }
                        }
                    }
                }
                Cow::Owned(filled)
            }
        }
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogue")
            .field("lang", &self.lang)
            .finish_non_exhaustive()
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new(Lang::default())
    }
}

/// The embedded file of a language.
fn source(lang: Lang) -> &'static str {
    match lang {
        Lang::En => include_str!("../../assets/locales/en.toml"),
        Lang::ZhCn => include_str!("../../assets/locales/zh-CN.toml"),
    }
}

/// Parses a language's file. Nothing fails here, for the screen must stand whatever a translation is worth: a sentence
/// that is missing or does not fit is taken from English, and one that English lacks shows its key. The tests keep both
/// from happening.
fn load(lang: Lang) -> Tables {
    let own: toml::Table = source(lang).parse().unwrap_or_default();
    let english: toml::Table = match lang {
        Lang::En => toml::Table::new(),
        _ => source(Lang::En).parse().unwrap_or_default(),
    };
    AREAS
        .iter()
        .map(|(area, keys)| {
            keys.iter()
                .map(|key| {
                    sentence(&own, area, key)
                        .or_else(|| sentence(&english, area, key))
                        .unwrap_or_else(|| Template {
                            pieces: vec![Piece::Text(key.method.to_owned())],
                        })
                })
                .collect()
        })
        .collect()
}

fn sentence(file: &toml::Table, area: &str, key: &KeySpec) -> Option<Template> {
    let text = file.get(area)?.get(key.name(area))?.as_str()?;
    Template::parse(text, key.args).ok()
}

impl Template {
    fn parse(text: &str, args: &[&str]) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    plain.push(c);
                }
                '{' => {
                    let mut name = String::new();
                    loop {
                        match chars.next() {
                            Some('}') => break,
                            Some(c) if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
                            _ => return Err(TemplateError::Brace),
                        }
                    }
                    let Some(index) = args.iter().position(|arg| *arg == name) else {
                        return Err(TemplateError::UnknownArgument(name));
                    };
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Arg(index));
                }
                '}' => return Err(TemplateError::Brace),
                _ => plain.push(c),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }
}

impl Template {
    /// What was filled in, in the order of the declaration, where a text was made from this template. An argument that
    /// stands twice counts where it stands last.
    fn args_in<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let (mut rest, mut open) = (text, None);
        let mut args: Vec<(usize, &'a str)> = Vec::new();
        for piece in &self.pieces {
            match (piece, open.take()) {
                (Piece::Text(text), None) => rest = rest.strip_prefix(text.as_str())?,
                (Piece::Text(text), Some(arg)) => {
                    let (value, after) = rest.split_once(text.as_str())?;
                    args.push((arg, value));
                    rest = after;
                }
                (Piece::Arg(arg), None) => open = Some(*arg),
                (Piece::Arg(_), Some(_)) => return None,
            }
        }
        match open {
            Some(arg) => args.push((arg, rest)),
            None if rest.is_empty() => {}
            None => return None,
        }
        let count = args.iter().map(|(arg, _)| arg + 1).max().unwrap_or(0);
        let last = |n: usize| args.iter().rev().find(|(arg, _)| *arg == n);
        let args = (0..count).map(|n| last(n).map(|(_, value)| *value));
        args.collect::<Option<Vec<_>>>()
            .filter(|args| args.iter().all(|value| !value.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeSet;

    use super::*;

    fn file(lang: Lang) -> toml::Table {
        source(lang)
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", lang.tag()))
    }

    #[test]
    fn every_key_stands_in_every_locale_with_the_same_arguments() {
        let mut wrong = Vec::new();
        for lang in Lang::ALL {
            let file = file(lang);
            for (area, keys) in AREAS {
                for key in *keys {
                    let place = format!("{} [{area}] {}", lang.tag(), key.name(area));
                    let Some(text) = file
                        .get(*area)
                        .and_then(|table| table.get(key.name(area)))
                        .and_then(|v| v.as_str())
                    else {
                        wrong.push(format!("{place}: missing"));
                        continue;
                    };
                    match Template::parse(text, key.args) {
                        Err(error) => wrong.push(format!("{place}: {error}")),
                        Ok(template) => {
                            for (index, arg) in key.args.iter().enumerate() {
                                if !template.pieces.contains(&Piece::Arg(index)) {
                                    wrong.push(format!("{place}: does not use {{{arg}}}"));
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn no_locale_has_a_key_that_nobody_declared() {
        let declared: BTreeSet<String> = AREAS
            .iter()
            .flat_map(|(area, keys)| {
                keys.iter()
                    .map(move |key| format!("{area}.{}", key.name(area)))
            })
            .collect();
        for lang in Lang::ALL {
            let found: BTreeSet<String> = file(lang)
                .iter()
                .flat_map(|(area, table)| {
                    let table = table
                        .as_table()
                        .unwrap_or_else(|| panic!("{}: {area} is not a table", lang.tag()));
                    table.keys().map(move |key| format!("{area}.{key}"))
                })
                .collect();
            let extra: Vec<_> = found.difference(&declared).collect();
            assert!(extra.is_empty(), "{}: {extra:?}", lang.tag());
        }
    }

    #[test]
    fn methods_carry_their_area_and_are_declared_once() {
        let mut seen = BTreeSet::new();
        for (index, (area, keys)) in AREAS.iter().enumerate() {
            assert_eq!(Area::ALL[index] as usize, index);
            for key in *keys {
                assert!(
                    key.method.starts_with(&format!("{area}_")),
                    "{} is not of area {area}",
                    key.method
                );
                assert!(seen.insert(key.method), "{} is declared twice", key.method);
            }
        }
    }

    #[test]
    fn english_is_ascii() {
        for (area, table) in &file(Lang::En) {
            for (key, text) in table.as_table().unwrap() {
                assert!(
                    text.as_str().unwrap().is_ascii(),
                    "{area}.{key}: glyphs come in as arguments"
                );
            }
        }
    }

    #[test]
    fn sentences_are_single_clean_lines() {
        for lang in Lang::ALL {
            for (area, table) in &file(lang) {
                for (key, text) in table.as_table().unwrap() {
                    let text = text.as_str().unwrap();
                    assert!(
                        !text.chars().any(char::is_control),
                        "{} {area}.{key}",
                        lang.tag()
                    );
                }
            }
        }
    }

    #[test]
    fn fills_in_named_arguments_and_borrows_without_any() {
        let t = Catalogue::new(Lang::En);
        assert!(matches!(t.state_working(), Cow::Borrowed("working")));
        assert_eq!(t.unit_minutes(3, 10), "3m 10s");
        assert_eq!(Catalogue::new(Lang::ZhCn).lang(), Lang::ZhCn);
    }

    #[test]
    fn templates_parse_or_say_why_not() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let cases: [(&str, Result<Vec<Piece>, TemplateError>); 8] = [
            ("", Ok(vec![])),
            ("plain", Ok(vec![text("plain")])),
            (
                "{b} of {a}",
                Ok(vec![Piece::Arg(1), text(" of "), Piece::Arg(0)]),
            ),
            ("{{{a}}}", Ok(vec![text("{"), Piece::Arg(0), text("}")])),
            ("{a", Err(TemplateError::Brace)),
            ("a}", Err(TemplateError::Brace)),
            ("{a:>3}", Err(TemplateError::Brace)),
            ("{c}", Err(TemplateError::UnknownArgument("c".to_owned()))),
        ];
        for (source, expected) in cases {
            assert_eq!(
                Template::parse(source, &["a", "b"]).map(|t| t.pieces),
                expected,
                "{source}"
            );
        }
    }
}
