//! A table without a header (`--format=csv,noheader`). Which column is which is not written anywhere, so such a log is
//! refused, unless the user names its columns, or each column can only be one thing.

use super::column::column;
use super::entry::{Entry, Warnings};
use super::error::ImportError;
use super::format::{Format, Head, Recognised};
use super::lines::Line;
use super::query::Query;
use super::table::{Table, split};
use super::time::{Clock, Zoned};
use crate::model::PciAddress;

/// What to do about columns without names.
const NAME_THEM: &str =
    "name them with --columns, such as --columns timestamp,index,utilization.gpu,power.draw";
/// Fewer rows do not show what a column is.
const ROWS_NEEDED: usize = 60;
/// How closely a share must follow the watts to be the share of busy time.
const FOLLOWS: f64 = 0.5;

/// Rows without names, of the columns that were given or found.
struct Bare {
    query: Query,
    found: Option<String>,
}

/// Rows of numbers from the first line on.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    let Some(first) = head.said().next() else {
        return Ok(None);
    };
    let mut cells = Vec::new();
    split(&first.text, &mut cells);
    let number = |cell: &&str| cell.trim().starts_with(|c: char| c.is_ascii_digit());
    if cells.len() < 2 || cells.iter().filter(|c| number(c)).count() * 2 < cells.len() {
        return Ok(None);
    }
    let (names, found) = match &head.options.columns {
        Some(names) if names.len() == cells.len() => (names.clone(), None),
        Some(names) => {
            let why = format!(
                "{} values, and --columns has {} names",
                cells.len(),
                names.len()
            );
            return Err(ImportError::at(first.number, why, NAME_THEM));
        }
        None => match found(head.lines, cells.len()) {
            Some(names) => {
                let told = format!(
                    "no header: each column can only be one thing, and was taken as {}; --columns says otherwise",
                    names.join(", ")
                );
                (names, Some(told))
            }
            None => {
                let why = "no header: which of its columns is what is not written anywhere";
                return Err(ImportError::at(first.number, why, NAME_THEM));
            }
        },
    };
    let columns = names.iter().map(|name| column(name)).collect();
    let table = Table::new(names.clone(), columns, &head.options.zone);
    if !table.has_values() {
        let why = "none of the names in --columns is a reading";
        return Err(ImportError::at(first.number, why, NAME_THEM));
    }
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let query = Query::new(table, &header, "nvidia_smi_csv", &head.options.zone);
    query.check_key(head.lines, first.number)?;
    Ok(Some(Box::new(Bare { query, found })))
}

impl Format for Bare {
    fn name(&self) -> &'static str {
        self.query.name()
    }

    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError> {
        if let Some(told) = self.found.take() {
            warnings.add(line.number, told);
        }
        self.query.line(line, out, warnings)
    }

    fn zoned(&self) -> Option<Zoned> {
        self.query.zoned()
    }
}

/// A column of the first rows.
struct Sampled<'a> {
    texts: Vec<&'a str>,
    numbers: Option<Vec<f64>>,
}

impl Sampled<'_> {
    fn all(&self, is: impl Fn(&str) -> bool) -> bool {
        self.texts.iter().all(|text| is(text))
    }

    /// Whole numbers that all lie in a range.
    fn within(&self, range: std::ops::RangeInclusive<f64>) -> bool {
        let whole = self.all(|text| !text.contains('.'));
        let numbers = self.numbers.as_deref();
        whole && numbers.is_some_and(|all| all.iter().all(|n| range.contains(n)))
    }

    fn range(&self) -> Option<(f64, f64)> {
        let all = self.numbers.as_deref()?;
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some((least, most))
    }
}

/// The names of all columns, where each can only be one thing: one instant, one key at most, watts (the only ones with
/// two decimals), a limit (watts that stay), memory (a pair whose second is the same in all rows and never the smaller)
/// and one share from 0 to 100 that rises and falls with the watts.
fn found(lines: &[Line], width: usize) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut columns: Vec<Vec<&str>> = vec![Vec::new(); width];
    for line in lines.iter().filter(|line| line.whole) {
        split(&line.text, &mut cells);
        if cells.len() != width {
            return None;
        }
        for (column, cell) in columns.iter_mut().zip(&cells) {
            column.push(cell.trim());
        }
    }
    if columns.first()?.len() < ROWS_NEEDED {
        return None;
    }
    let columns: Vec<Sampled<'_>> = columns
        .into_iter()
        .map(|texts| Sampled {
            numbers: texts.iter().map(|text| text.parse().ok()).collect(),
            texts,
        })
        .collect();
    let mut names: Vec<Option<&str>> = columns.iter().map(by_itself).collect();
    for place in 0..width.saturating_sub(1) {
        if let [Some(used), Some(total)] = [columns.get(place), columns.get(place + 1)]
            && let [None, None] = [names.get(place)?, names.get(place + 1)?]
            && is_memory(used, total)
        {
            *names.get_mut(place)? = Some("memory.used");
            *names.get_mut(place + 1)? = Some("memory.total");
        }
    }
    let watts = names.iter().position(|name| *name == Some("power.draw"))?;
    for (name, column) in names.iter_mut().zip(&columns).filter(|(n, _)| n.is_none()) {
        let follows = correlation(
            column.numbers.as_deref()?,
            columns.get(watts)?.numbers.as_deref()?,
        );
        let (least, most) = column.range()?;
        let share = column.within(0.0..=100.0) && least <= 1.0 && most >= 50.0;
        if !share || follows < FOLLOWS {
            return None;
        }
        *name = Some("utilization.gpu");
    }
    let names: Vec<String> = names
        .into_iter()
        .map(|n| n.map(str::to_owned))
        .collect::<Option<_>>()?;
    let once = |name: &str| names.iter().filter(|n| *n == name).count() == 1;
    let each = names.iter().all(|name| once(name));
    (each && once("timestamp") && once("utilization.gpu")).then_some(names)
}

/// What a column is by its texts alone.
fn by_itself(column: &Sampled<'_>) -> Option<&'static str> {
    let mut clock = Clock::new(jiff::tz::TimeZone::UTC);
    let first = column.texts.first()?;
    if clock.read(first).is_some() {
        return column
            .texts
            .iter()
            .all(|text| clock.read(text).is_some())
            .then_some("timestamp");
    }
    if column.all(|text| text.starts_with("GPU-") && text.len() == 40) {
        return Some("uuid");
    }
    if column.all(|text| text.len() >= 12 && text.parse::<PciAddress>().is_ok()) {
        return Some("pci.bus_id");
    }
    let two_decimals = |text: &str| text.split_once('.').is_some_and(|(_, d)| d.len() == 2);
    if column.all(two_decimals) {
        let (least, most) = column.range()?;
        return Some(if least == most {
            "power.limit"
        } else {
            "power.draw"
        });
    }
    None
}

fn is_memory(used: &Sampled<'_>, total: &Sampled<'_>) -> bool {
    let (Some((_, most)), Some((least, same))) = (used.range(), total.range()) else {
        return false;
    };
    used.within(0.0..=1e7) && total.within(1024.0..=1e7) && least == same && most <= same
}

/// Pearson's coefficient; 0 where one of them does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len()) as f64;
    let mean = |all: &[f64]| all.iter().sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let mut sums = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        sums = (sums.0 + a * b, sums.1 + a * a, sums.2 + b * b);
    }
    let spread = (sums.1 * sums.2).sqrt();
    if spread > 0.0 { sums.0 / spread } else { 0.0 }
}
