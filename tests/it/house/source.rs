//! Rust source, read just well enough for the rules of the house: code without comments and strings, the string
//! literals with their places, and which parts are compiled for tests only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A string literal and the byte where it begins.
pub(super) struct Literal {
    pub(super) at: usize,
    pub(super) text: String,
}

/// One file.
pub(super) struct Source {
    /// Relative to the package.
    pub(super) path: PathBuf,
    /// As it stands in the file.
    pub(super) raw: String,
    /// The same bytes with comments and the content of strings blanked.
    pub(super) code: String,
    /// `code` without what is compiled for tests only.
    pub(super) shipped: String,
    /// String literals outside comments.
    pub(super) literals: Vec<Literal>,
    /// Files of modules that are declared for tests only.
    test_modules: Vec<PathBuf>,
}

impl Source {
    pub(super) fn read(root: &Path, path: &Path) -> Self {
        Self::new(
            path.to_owned(),
            std::fs::read_to_string(root.join(path)).unwrap(),
        )
    }

    pub(super) fn new(path: PathBuf, raw: String) -> Self {
        let (code, literals) = lex(&raw);
        let mut source = Self {
            path,
            raw,
            shipped: code.clone(),
            code,
            literals,
            test_modules: Vec::new(),
        };
        source.cut_tests();
        source
    }

    /// The line of a byte.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.raw.bytes().take(at).filter(|b| *b == b'\n').count()
    }

    /// `path:line` of a byte.
    pub(super) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path.display(), self.line(at))
    }

    /// Whether a byte belongs to shipped code: not a test, and not an attribute either.
    pub(super) fn ships(&self, at: usize) -> bool {
        self.shipped.as_bytes().get(at) == self.code.as_bytes().get(at) && !self.in_attribute(at)
    }

    fn in_attribute(&self, at: usize) -> bool {
        let before = self.code.get(..at).unwrap_or_default();
        before
            .rfind("#[")
            .or_else(|| before.rfind("#!["))
            .is_some_and(|begin| {
                let open = before.get(begin..).unwrap_or_default();
                open.matches('[').count() > open.matches(']').count()
            })
    }

    /// The module's path from the crate's root: `src/a/b.rs` is `["a", "b"]`.
    pub(super) fn module(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .path
            .with_extension("")
            .components()
            .skip(1)
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect();
        if names
            .last()
            .is_some_and(|n| n == "mod" || n == "lib" || n == "main")
        {
            names.pop();
        }
        names
    }

    /// Blanks every item behind `#[cfg(test)]` in `shipped`, and notes the files of test-only modules.
    fn cut_tests(&mut self) {
        const MARK: &str = "#[cfg(test)]";
        let mut from = 0;
        while let Some(found) = self.shipped[from..].find(MARK) {
            let begin = from + found;
            let mut item = begin + MARK.len();
            let mut file = None;
            loop {
                item += self.shipped[item..].len() - self.shipped[item..].trim_start().len();
                if !self.shipped[item..].starts_with("#[") {
                    break;
                }
                let end = item + self.shipped[item..].find(']').unwrap_or(0) + 1;
                let path = self.shipped[item..end].contains("path");
                file = file.or(self
                    .literals
                    .iter()
                    .find(|l| path && (item..end).contains(&l.at))
                    .map(|l| l.text.clone()));
                item = end;
            }
            let end = end_of_item(&self.shipped, item);
            let head = self.shipped[item..end].to_owned();
            if let Some(name) = module_declared(&head) {
                self.note_test_module(name, file);
            }
            let blank: String = self.shipped[begin..end].chars().map(blanked).collect();
            self.shipped.replace_range(begin..end, &blank);
            from = begin;
            if blank.is_empty() {
                break;
            }
        }
    }

    fn note_test_module(&mut self, name: &str, file: Option<String>) {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        if let Some(file) = file {
            self.test_modules.push(folder.join(file));
            return;
        }
        let is_folder = ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .any(|n| self.path.ends_with(n));
        let folder = if is_folder {
            folder
        } else {
            self.path.with_extension("")
        };
        self.test_modules.push(folder.join(format!("{name}.rs")));
        self.test_modules.push(folder.join(name));
    }
}

/// All sources below a folder; those of test-only modules have nothing shipped.
pub(super) fn sources(root: &Path, folder: &str) -> Vec<Source> {
    let mut all: Vec<Source> = files(root, folder, "rs")
        .iter()
        .map(|p| Source::read(root, p))
        .collect();
    let tests: BTreeSet<PathBuf> = all.iter().flat_map(|s| s.test_modules.clone()).collect();
    for source in &mut all {
        if tests.iter().any(|t| source.path.starts_with(t)) {
            source.shipped = source.code.chars().map(blanked).collect();
        }
    }
    all
}

/// Files below a folder with an extension, relative to the root, sorted. No folder, no file.
pub(super) fn files(root: &Path, folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.join(folder)];
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Places of `word` in `code` where it is a word of its own.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !is_part(code[..*at].chars().next_back()))
        .filter(move |at| !is_part(code[at + word.len()..].chars().next()))
}

/// A blank of the same bytes; lines stay.
fn blanked(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

/// The name in `mod name;`.
fn module_declared(item: &str) -> Option<&str> {
    let (head, rest) = item.split_once("mod ")?;
    let is_public = head.trim().is_empty() || head.trim().starts_with("pub");
    rest.trim()
        .strip_suffix(';')
        .map(str::trim)
        .filter(|_| is_public)
}

/// Where the item that begins at `at` ends: its `;`, or the brace that closes its first one.
fn end_of_item(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[at..].char_indices() {
        match c {
            ';' if depth == 0 => return at + offset + 1,
            '{' | '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Blanks comments and the content of literals. Every blanked char takes as many bytes as it had.
fn lex(raw: &str) -> (String, Vec<Literal>) {
    let mut code = String::with_capacity(raw.len());
    let mut literals = Vec::new();
    let mut at = 0;
    while let Some(c) = raw[at..].chars().next() {
        let rest = &raw[at..];
        let quoted = string_at(raw, at);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some((length, content)) = quoted {
            literals.push(Literal {
                at,
                text: content.to_owned(),
            });
            length
        } else if c == '\'' {
            char_literal(rest)
        } else {
            code.push(c);
            at += c.len_utf8();
            continue;
        };
        // The quotes stay, so that a literal is seen to be there.
        let keep = if quoted.is_some() { '"' } else { ' ' };
        code.push(keep);
        for byte in rest.as_bytes().get(1..length).unwrap_or_default() {
            code.push(if *byte == b'\n' { '\n' } else { ' ' });
        }
        at += length.max(1);
    }
    (code, literals)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(tail) = rest.get(at..).filter(|t| !t.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length and content of the string literal that begins here, whatever its kind.
fn string_at(raw: &str, at: usize) -> Option<(usize, &str)> {
    if raw[..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == '_')
    {
        return None;
    }
    let rest = &raw[at..];
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    let is_raw = rest[..prefix].ends_with('r');
    let hashes = if is_raw {
        rest[prefix..].len() - rest[prefix..].trim_start_matches('#').len()
    } else {
        0
    };
    let open = prefix + hashes;
    if prefix > 2 || !rest[open..].starts_with('"') {
        return None;
    }
    let body = &rest[open + 1..];
    if is_raw {
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).unwrap_or(body.len());
        return Some(((open + 1 + end + close.len()).min(rest.len()), &body[..end]));
    }
    let mut escaped = false;
    for (offset, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((open + 1 + offset + 1, &body[..offset])),
            _ => {}
        }
    }
    Some((rest.len(), body))
}

/// Length of a char literal; of a lifetime only its quote.
fn char_literal(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[test]
fn comments_strings_and_tests_are_told_from_code() {
    let raw = r##"//! use crate::ui;
use crate::model::Tick; /* crate::ui /* nested */ */
fn f<'a>(c: char) -> &'a str { if c == '"' || c == '\'' { "crate::ui \" é" } else { r#"a "b""# } }
#[cfg(test)]
#[path = "other_tests.rs"]
mod tests;
#[cfg(test)]
mod more { use crate::ui; fn g() { let _ = "}"; } }
#[doc = "attribute"]
fn last() {}
"##;
    let source = Source::new("src/a/b.rs".into(), raw.to_owned());
    assert_eq!(source.code.len(), raw.len());
    assert_eq!(source.shipped.matches("crate::").count(), 1);
    assert_eq!(source.code.matches("crate::").count(), 2);
    let literals: Vec<&str> = source.literals.iter().map(|l| l.text.as_str()).collect();
    assert_eq!(
        literals,
        [
            "crate::ui \\\" é",
            "a \"b\"",
            "other_tests.rs",
            "}",
            "attribute"
        ]
    );
    let shipped: Vec<bool> = source.literals.iter().map(|l| source.ships(l.at)).collect();
    assert_eq!(shipped, [true, true, false, false, false]);
    assert_eq!(source.test_modules, [PathBuf::from("src/a/other_tests.rs")]);
    assert!(source.shipped.contains("fn last()"));
    assert_eq!(source.place(raw.find("fn last").unwrap()), "src/a/b.rs:10");
    assert_eq!(source.module(), ["a", "b"]);
    assert_eq!(words("x crate::y mycrate::z", "crate").count(), 1);
}
