//! Columns and cells: the common part of logs that are tables.

use super::cell;
use super::column::{Column, Meaning, vendor};
use super::entry::{Entry, Identity, Row};
use super::error::ImportError;
use super::time::{Clock, Zoned};
use crate::model::{Absent, Metric, Reading, Vendor};
use jiff::tz::TimeZone;

/// Reads rows of cells under columns.
pub(super) struct Table {
    columns: Vec<Option<Column>>,
    names: Vec<String>,
    vendor: Option<Vendor>,
    clock: Clock,
    zoned: Option<Zoned>,
    /// A limit that was asked for stands for the enforced one where the log has none.
    enforced_by_request: bool,
    /// Reasons of their own are put together where there is no mask.
    reasons_apart: bool,
}

/// What to do about a column that is not what its name says.
const COLUMNS: &str =
    "check which columns were asked for; --columns names those of a log without a header";

impl Table {
    pub(super) fn new(names: Vec<String>, columns: Vec<Option<Column>>, zone: &TimeZone) -> Self {
        let has = |metric| {
            let is = |c: &Option<Column>| c.is_some_and(|c| c.meaning == Meaning::Value(metric));
            columns.iter().any(is)
        };
        Self {
            enforced_by_request: has(Metric::LimitRequested) && !has(Metric::LimitEnforced),
            reasons_apart: !has(Metric::Reasons),
            vendor: names.iter().find_map(|name| vendor(name)),
            columns,
            names,
            clock: Clock::new(zone.clone()),
            zoned: None,
        }
    }

    pub(super) const fn zoned(&self) -> Option<Zoned> {
        self.zoned
    }

    fn has(&self, wanted: impl Fn(Meaning) -> bool) -> bool {
        self.columns.iter().flatten().any(|c| wanted(c.meaning))
    }

    /// Whether it has instants.
    pub(super) fn is_timed(&self) -> bool {
        self.has(|m| matches!(m, Meaning::Time | Meaning::TimeOfDay))
            && (!self.has(|m| m == Meaning::TimeOfDay) || self.has(|m| m == Meaning::Date))
    }

    /// Whether it says which device a row is about.
    pub(super) fn has_key(&self) -> bool {
        self.has(|m| matches!(m, Meaning::Index | Meaning::Uuid | Meaning::Pci))
    }

    /// Whether it has any reading of a device.
    pub(super) fn has_values(&self) -> bool {
        self.has(|m| matches!(m, Meaning::Value(_) | Meaning::Reason(_)))
    }

    /// Whether it has figures that belong to no device.
    pub(super) fn is_of_no_device(&self) -> bool {
        self.has(|m| m == Meaning::NoDevice)
    }

    /// Reads a row.
    ///
    /// # Errors
    /// A cell is not what its column says.
    pub(super) fn row(&mut self, cells: &[&str], line: u64) -> Result<Entry, ImportError> {
        if cells.len() != self.columns.len() {
            let why = format!(
                "{} values under {} names: which is which is not known",
                cells.len(),
                self.columns.len()
            );
            return Err(ImportError::at(line, why, COLUMNS));
        }
        let mut entry = Entry {
            line,
            ..Entry::default()
        };
        let mut identity = Identity {
            vendor: self.vendor,
            ..Identity::default()
        };
        let mut values: Vec<(Metric, Reading<f64>)> = Vec::with_capacity(self.columns.len());
        let mut apart: Option<u64> = None;
        let mut date = None;
        for (place, (column, text)) in self.columns.iter().zip(cells).enumerate() {
            let Some(column) = column else { continue };
            let text = text.trim();
            let wrong = |what: &str| {
                let name = self.names.get(place).map_or("", String::as_str);
                let why = format!(
                    "\"{}\" under \"{}\" is not {what}",
                    short(text),
                    name.trim()
                );
                ImportError::at(line, why, COLUMNS)
            };
            match column.meaning {
                Meaning::Time => {
                    let read = self.clock.read(text).ok_or_else(|| wrong("an instant"))?;
                    entry.at = Some(read.0);
                    self.zoned = self.zoned.max(Some(read.1));
                }
                Meaning::Date => date = Some(text),
                Meaning::TimeOfDay => {
                    if let Some(date) = date {
                        let read = self.clock.read_parts(date, text);
                        let (at, zoned) = read.ok_or_else(|| wrong("a time of day"))?;
                        entry.at = Some(at);
                        self.zoned = self.zoned.max(Some(zoned));
                    }
                }
                Meaning::Index => {
                    let index = text.parse().map_err(|_| wrong("a device's index"))?;
                    identity.index = Some(index);
                }
                Meaning::Uuid => identity.uuid = said(text).map(Into::into),
                Meaning::Pci => {
                    let address =
                        said(text).map(|text| text.parse().map_err(|_| wrong("a PCI address")));
                    identity.pci = address.transpose()?;
                }
                Meaning::Name => identity.name = said(text).map(Into::into),
                Meaning::Driver => identity.driver = said(text).map(Into::into),
                Meaning::Vbios => identity.vbios = said(text).map(Into::into),
                Meaning::PciId => identity.pci_id = pci_id(text),
                Meaning::Value(metric) => {
                    let reading = cell::number(text, metric, column.written)
                        .ok_or_else(|| wrong("a number"))?;
                    self.put(&mut values, metric, reading);
                }
                Meaning::Reason(bit) => match text {
                    "Active" => apart = Some(apart.unwrap_or(0) | bit),
                    "Not Active" => apart = Some(apart.unwrap_or(0)),
                    _ => {}
                },
                Meaning::Host(_) | Meaning::NoDevice => {}
            }
        }
        if let Some(bits) = apart.filter(|_| self.reasons_apart) {
            values.push((Metric::Reasons, Ok(bits as f64)));
        }
        entry.rows.push(Row::new(identity, values));
        Ok(entry)
    }

    fn put(&self, values: &mut Vec<(Metric, Reading<f64>)>, metric: Metric, reading: Reading<f64>) {
        // Two columns may say the same (graphics and SM clock): what is there wins.
        match values.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, kept)) => *kept = kept.or(reading),
            None => values.push((metric, reading)),
        }
        if metric == Metric::LimitRequested && self.enforced_by_request {
            values.push((Metric::LimitEnforced, reading));
        }
    }
}

/// A text that says anything.
fn said(text: &str) -> Option<&str> {
    cell::absence(text).is_none().then_some(text)
}

/// `0x233010DE`: the device id, then the vendor's.
fn pci_id(text: &str) -> Option<(u16, u16)> {
    let number = u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    Some((number as u16, (number >> 16) as u16))
}

/// As much of a cell as an error needs.
pub(super) fn short(text: &str) -> String {
    let cleaned = crate::text::clean(text);
    let mut short: String = cleaned.chars().take(40).collect();
    if cleaned.chars().count() > 40 {
        short.push_str("...");
    }
    short
}

/// Cells between commas. A cell in quotes may have commas of its own.
pub(super) fn split<'a>(line: &'a str, cells: &mut Vec<&'a str>) {
    cells.clear();
    if !line.contains('"') {
        cells.extend(line.split(','));
        return;
    }
    let (mut begin, mut quoted) = (0, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                cells.push(unquoted(line.get(begin..at).unwrap_or("")));
                begin = at + 1;
            }
            _ => {}
        }
    }
    cells.push(unquoted(line.get(begin..).unwrap_or("")));
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"')
        .and_then(|cell| cell.strip_suffix('"'))
        .unwrap_or(cell)
}

/// Whether a reading is there at all, for logs that say nothing about a device.
pub(super) fn is_told(reading: &Reading<f64>) -> bool {
    !matches!(reading, Err(Absent::NotReported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_split_at_commas_outside_of_quotes() {
        let mut cells = Vec::new();
        split("a, b,,c", &mut cells);
        assert_eq!(cells, ["a", " b", "", "c"]);
        split("1,\"x, y\",3", &mut cells);
        assert_eq!(cells, ["1", "x, y", "3"]);
    }
}
