//! A table of a TOML file that remembers which keys were asked for, so that the others can be named with their lines.

use super::Problem;
use crate::text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Collects what is wrong, in a text.
pub(super) struct Problems<'t> {
    text: &'t str,
    found: Vec<Problem>,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            found: Vec::new(),
        }
    }

    /// Notes a problem at an offset in the text.
    pub(super) fn note(&mut self, offset: usize, what: String, nearest: Option<String>) {
        let line = self
            .text
            .bytes()
            .take(offset)
            .filter(|b| *b == b'\n')
            .count()
            + 1;
        self.found.push(Problem {
            line,
            what,
            nearest,
        });
    }

    /// All of them, by line.
    pub(super) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| problem.line);
        self.found
    }
}

/// One table, being read.
pub(super) struct Table<'a, 'i> {
    name: String,
    table: &'a DeTable<'i>,
    known: Vec<&'static str>,
}

impl<'a, 'i> Table<'a, 'i> {
    /// `name` is as it stands in brackets; empty for the whole file.
    pub(super) fn new(name: &str, table: &'a DeTable<'i>) -> Self {
        Self {
            name: name.to_owned(),
            table,
            known: Vec::new(),
        }
    }

    fn find(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.known.push(key);
        self.table
            .iter()
            .find(|(name, _)| name.get_ref().as_ref() == key)
            .map(|(_, value)| value)
    }

    /// The value of a key, where it is there and valid. Numbers and dates are read as they are written.
    pub(super) fn take<T>(
        &mut self,
        problems: &mut Problems<'_>,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.find(key)?;
        let start = value.span().start;
        let result = match value.get_ref() {
            DeValue::String(text) => read(text),
            DeValue::Integer(number) if number.radix() == 10 => read(number.as_str()),
            DeValue::Float(number) => read(number.as_str()),
            DeValue::Datetime(date) => read(&date.to_string()),
            other => Err(format!(
                "it is {}, where a value in quotes is needed",
                kind(other)
            )),
        };
        self.keep(problems, start, key, result)
    }

    /// A key that is true or false.
    pub(super) fn take_bool(
        &mut self,
        problems: &mut Problems<'_>,
        key: &'static str,
    ) -> Option<bool> {
        let value = self.find(key)?;
        let result = value.get_ref().as_bool().ok_or_else(|| {
            format!(
                "it is {}, where true or false is needed",
                kind(value.get_ref())
            )
        });
        self.keep(problems, value.span().start, key, result)
    }

    fn keep<T>(
        &self,
        problems: &mut Problems<'_>,
        at: usize,
        key: &str,
        result: Result<T, String>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(why) => {
                problems.note(
                    at,
                    format!("{key}{}: {}", self.place(), one_line(&why)),
                    None,
                );
                None
            }
        }
    }

    /// A table within this one.
    pub(super) fn table(
        &mut self,
        problems: &mut Problems<'_>,
        key: &'static str,
    ) -> Option<Table<'a, 'i>> {
        let value = self.find(key)?;
        match value.get_ref().as_table() {
            Some(table) => Some(Table::new(key, table)),
            None => {
                problems.note(
                    value.span().start,
                    format!("{key} is a section: write [{key}]"),
                    None,
                );
                None
            }
        }
    }

    /// The tables of an array of tables.
    pub(super) fn tables(
        &mut self,
        problems: &mut Problems<'_>,
        key: &'static str,
    ) -> Vec<Table<'a, 'i>> {
        let Some(value) = self.find(key) else {
            return Vec::new();
        };
        let name = if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        };
        let mut tables = Vec::new();
        let items = value.get_ref().as_array();
        for item in items.into_iter().flat_map(|items| items.iter()) {
            match item.get_ref().as_table() {
                Some(table) => tables.push(Table::new(&name, table)),
                None => problems.note(
                    item.span().start,
                    format!("{key} is a list of sections: write [[{name}]]"),
                    None,
                ),
            }
        }
        if items.is_none() {
            problems.note(
                value.span().start,
                format!("{key} is a list of sections: write [[{name}]]"),
                None,
            );
        }
        tables
    }

    /// Notes the keys that nobody asked for.
    pub(super) fn finish(self, problems: &mut Problems<'_>) {
        for (key, _) in self.table {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                let meant = nearest(name, self.known.iter().copied()).map(str::to_owned);
                let what = format!("unknown key {}{}", one_line(name), self.place());
                problems.note(key.span().start, what, meant);
            }
        }
    }

    fn place(&self) -> String {
        if self.name.is_empty() {
            String::new()
        } else {
            format!(" in [{}]", self.name)
        }
    }
}

/// What a value is, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Boolean(_) => "true or false",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::String(_) => "text",
        DeValue::Datetime(_) => "a date",
    }
}

/// Text from a file, fit for one line of a terminal.
pub(super) fn one_line(text: &str) -> String {
    crate::text::clean_width(text, 200, false)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
