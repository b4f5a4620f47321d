//! A theme's file: reading it, with the line of what is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::{Modifier, Style};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::colour::Paint;
use super::{Depth, LineError, Role, ThemeError};
use crate::text::nearest;

/// What one file says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThemeFile {
    /// The theme that it builds on, where it names one.
    pub(super) inherits: Option<String>,
    roles: BTreeMap<&'static str, Look>,
}

/// A role's look, and what replaces it at lower depths.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Look {
    base: Strokes,
    c256: Option<Strokes>,
    c16: Option<Strokes>,
    plain: Option<Strokes>,
}

/// Colours and modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Strokes {
    fg: Option<Paint>,
    bg: Option<Paint>,
    modifiers: Modifier,
}

const TOP_KEYS: [&str; 3] = ["name", "inherits", "roles"];
const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];
const COLOUR_KEYS: [&str; 2] = ["fg", "bg"];
const DEPTH_KEYS: [&str; 3] = ["c256", "c16", "plain"];

impl Look {
    /// The style at a depth: the replacement for it, else the nearest above it.
    pub(super) fn style(&self, depth: Depth) -> Style {
        let strokes = match depth {
            Depth::Truecolor => None,
            Depth::C256 => self.c256,
            Depth::C16 => self.c16.or(self.c256),
            Depth::None => self.plain,
        }
        .unwrap_or(self.base);
        let mut style = Style::new().add_modifier(strokes.modifiers);
        style.fg = strokes.fg.and_then(|paint| paint.at(depth));
        style.bg = strokes.bg.and_then(|paint| paint.at(depth));
        style
    }

    /// The colours as the file gives them, for the test of contrast.
    #[cfg(test)]
    pub(super) fn paints(&self) -> (Option<Paint>, Option<Paint>) {
        (self.base.fg, self.base.bg)
    }
}

/// A mistake and where it stands in the text.
type Found<T> = Result<T, (usize, LineError)>;

impl ThemeFile {
    /// Reads a file's text; `path` is for the errors.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ThemeError> {
        Self::parse_text(text).map_err(|(offset, what)| {
            let line = text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1;
            ThemeError::Line {
                file: path.to_owned(),
                line,
                what,
            }
        })
    }

    /// What the file says of a role.
    pub(super) fn role(&self, role: Role) -> Option<&Look> {
        self.roles.get(role.name())
    }

    fn parse_text(text: &str) -> Found<Self> {
        let table = DeTable::parse(text).map_err(|error| {
            // One line: the library's message may hold several.
            let message = error
                .message()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            (
                error.span().map_or(0, |span| span.start),
                LineError::Syntax(message),
            )
        })?;
        let mut file = Self {
            inherits: None,
            roles: BTreeMap::new(),
        };
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "name" => drop(string("name", value)?),
                "inherits" => file.inherits = Some(string("inherits", value)?),
                "roles" => file.roles = roles(value)?,
                name => return Err(unknown_key(key.span().start, name, TOP_KEYS)),
            }
        }
        Ok(file)
    }
}

fn roles(value: &Spanned<DeValue<'_>>) -> Found<BTreeMap<&'static str, Look>> {
    let mut roles = BTreeMap::new();
    for (key, value) in table("roles", value)? {
        let name = key.get_ref().as_ref();
        let Some(role) = Role::from_name(name) else {
            let nearest = nearest(name, Role::ALL.iter().map(|role| role.name()));
            return Err((
                key.span().start,
                LineError::UnknownRole {
                    name: name.to_owned(),
                    nearest,
                },
            ));
        };
        roles.insert(role.name(), look(name, value)?);
    }
    Ok(roles)
}

fn look(role: &str, value: &Spanned<DeValue<'_>>) -> Found<Look> {
    let mut look = Look::default();
    for (key, value) in table(role, value)? {
        match key.get_ref().as_ref() {
            "c256" => look.c256 = Some(strokes("c256", value)?),
            "c16" => look.c16 = Some(strokes("c16", value)?),
            "plain" => look.plain = Some(strokes("plain", value)?),
            name => {
                if !look.base.set(name, value)? {
                    let known = COLOUR_KEYS
                        .into_iter()
                        .chain(MODIFIERS.map(|(name, _)| name))
                        .chain(DEPTH_KEYS);
                    return Err(unknown_key(key.span().start, name, known));
                }
            }
        }
    }
    Ok(look)
}

fn strokes(depth: &str, value: &Spanned<DeValue<'_>>) -> Found<Strokes> {
    let mut strokes = Strokes::default();
    for (key, value) in table(depth, value)? {
        let name = key.get_ref().as_ref();
        if !strokes.set(name, value)? {
            let known = COLOUR_KEYS
                .into_iter()
                .chain(MODIFIERS.map(|(name, _)| name));
            return Err(unknown_key(key.span().start, name, known));
        }
    }
    Ok(strokes)
}

impl Strokes {
    /// Takes one key; false where there is no such key.
    fn set(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Found<bool> {
        if let Some((_, modifier)) = MODIFIERS.iter().find(|(known, _)| *known == name) {
            let Some(on) = value.get_ref().as_bool() else {
                return Err(wrong_kind(name, value, "true or false"));
            };
            self.modifiers.set(*modifier, on);
            return Ok(true);
        }
        match name {
            "fg" => self.fg = Some(paint(name, value)?),
            "bg" => self.bg = Some(paint(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn paint(key: &str, value: &Spanned<DeValue<'_>>) -> Found<Paint> {
    let bad = |word: &str| {
        let nearest = nearest(word, Paint::names());
        (
            value.span().start,
            LineError::BadColour {
                value: word.to_owned(),
                nearest,
            },
        )
    };
    match value.get_ref() {
        DeValue::String(word) => Paint::parse(word).ok_or_else(|| bad(word)),
        DeValue::Integer(number) => u8::from_str_radix(number.as_str(), number.radix())
            .map(Paint::Indexed)
            .map_err(|_| bad(number.as_str())),
        _ => Err(wrong_kind(key, value, "a colour")),
    }
}

fn table<'a, 'i>(key: &str, value: &'a Spanned<DeValue<'i>>) -> Found<&'a DeTable<'i>> {
    value
        .get_ref()
        .as_table()
        .ok_or_else(|| wrong_kind(key, value, "a table"))
}

fn string(key: &str, value: &Spanned<DeValue<'_>>) -> Found<String> {
    value
        .get_ref()
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| wrong_kind(key, value, "a string"))
}

fn wrong_kind(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &'static str,
) -> (usize, LineError) {
    (
        value.span().start,
        LineError::WrongKind {
            key: key.to_owned(),
            expected,
        },
    )
}

fn unknown_key(
    offset: usize,
    name: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> (usize, LineError) {
    (
        offset,
        LineError::UnknownKey {
            name: name.to_owned(),
            nearest: nearest(name, known),
        },
    )
}
