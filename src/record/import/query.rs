//! `nvidia-smi --query-gpu=... --format=csv`, and tables of the same kind that people's scripts write: a header, then a
//! row for each device and poll.

use super::column::column;
use super::entry::{Entry, Identity, Row, Warnings};
use super::error::ImportError;
use super::format::{Format, Head, Recognised, is_blank};
use super::lines::Line;
use super::table::{Table, short, split};
use super::time::Zoned;
use crate::model::{Absent, PciAddress};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// What the tool says in place of rows.
const MESSAGES: [&str; 7] = [
    "Unable to determine the device handle",
    "NVIDIA-SMI has failed",
    "Failed to initialize NVML",
    "No devices were found",
    "NVML: ",
    "Terminated",
    "Killed",
];
/// What to do where rows cannot be told apart.
const KEY: &str =
    "add index or uuid to --query-gpu, so that each row says which device it is about";
/// Rows looked at to tell whether a log without a key is one device's.
const ROWS_TRIED: usize = 400;
/// Two rows nearer than this share of the usual gap are two devices of one poll.
const SAME_POLL: f64 = 0.2;

/// A table of readings.
pub(super) struct Query {
    table: Table,
    zone: TimeZone,
    header: Vec<String>,
    name: &'static str,
    last: Option<Timestamp>,
}

/// A header that is known, anywhere in the head.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    let mut cells = Vec::new();
    let Some((place, header)) = head.lines.iter().enumerate().find(|(_, line)| {
        split(&line.text, &mut cells);
        is_header(&cells)
    }) else {
        return Ok(None);
    };
    split(&header.text, &mut cells);
    let table = table_of(&cells, &head.options.zone);
    if !table.has_values() || table.is_of_no_device() && !table.has_key() {
        let why = format!(
            "no column has a reading of a device ({})",
            short(&header.text)
        );
        return Err(ImportError::at(header.number, why, super::error::KNOWN));
    }
    let before = head.lines.iter().take(place);
    let odd = before
        .filter(|line| !is_blank(&line.text) && !line.text.starts_with('#'))
        .find(|line| message(&line.text).is_none());
    let query = Query::new(table, &cells, "nvidia_smi_csv", &head.options.zone);
    query.check_key(
        head.lines.get(place + 1..).unwrap_or_default(),
        header.number,
    )?;
    if let Some(odd) = odd {
        let why = format!("\"{}\" is neither a header nor a row", short(&odd.text));
        return Err(ImportError::at(odd.number, why, super::error::KNOWN));
    }
    Ok(Some(Box::new(query)))
}

/// Whether these are names: several that are known, and none that is a number.
fn is_header(cells: &[&str]) -> bool {
    let known = cells.iter().filter(|cell| column(cell).is_some()).count();
    let numbers = cells.iter().any(|cell| cell.trim().parse::<f64>().is_ok());
    let names = !numbers && known > 0;
    let named = |cell: &&str| cell.trim().len() <= 80 && !cell.contains(['=', '\\', '>', ':', '|']);
    names && (known >= 2 || cells.len() == 1) && cells.iter().all(named)
}

fn table_of(cells: &[&str], zone: &TimeZone) -> Table {
    let names: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
    let columns = names.iter().map(|name| column(name)).collect();
    Table::new(names, columns, zone)
}

/// The tool's own message in place of a row.
fn message(text: &str) -> Option<&str> {
    let text = text.trim();
    MESSAGES.iter().any(|m| text.starts_with(m)).then_some(text)
}

impl Query {
    pub(super) fn new(table: Table, header: &[&str], name: &'static str, zone: &TimeZone) -> Self {
        Self {
            table,
            zone: zone.clone(),
            header: header.iter().map(|cell| cell.trim().to_owned()).collect(),
            name,
            last: None,
        }
    }

    /// A log without a device's key can be read where it is one device's: one row for each instant.
    pub(super) fn check_key(&self, lines: &[Line], header: u64) -> Result<(), ImportError> {
        if self.table.has_key() {
            return Ok(());
        }
        let names: Vec<&str> = self.header.iter().map(String::as_str).collect();
        let mut trial = Self::new(table_of(&names, &self.zone), &names, self.name, &self.zone);
        let mut out = Vec::new();
        let mut warnings = Warnings::default();
        for line in lines.iter().filter(|line| line.whole).take(ROWS_TRIED) {
            // What is wrong with a row is told in its turn.
            if trial.line(line, &mut out, &mut warnings).is_err() {
                break;
            }
        }
        if !self.table.is_timed() {
            let why = "no column says which device a row is about, and none when: the order of rows is no key";
            return match out.len() {
                0 | 1 => Ok(()),
                _ => Err(ImportError::at(header, why, KEY)),
            };
        }
        match doubtful(&out) {
            Some(line) => Err(ImportError::at(
                line,
                "rows of one poll follow each other, and no column says which device a row is about",
                KEY,
            )),
            None => Ok(()),
        }
    }

    /// A header again: the same, or another from here on.
    fn again(&mut self, cells: &[&str]) -> bool {
        let same = |a: &str, b: &String| a.trim() == b;
        if cells.len() == self.header.len()
            && cells.iter().zip(&self.header).all(|(a, b)| same(a, b))
        {
            return true;
        }
        if !is_header(cells) {
            return false;
        }
        self.table = table_of(cells, &self.zone);
        self.header = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        true
    }
}

impl Format for Query {
    fn name(&self) -> &'static str {
        self.name
    }

    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError> {
        if is_blank(&line.text) || line.text.starts_with('#') {
            return Ok(());
        }
        if let Some(text) = message(&line.text) {
            warnings.add(
                line.number,
                format!("nvidia-smi says: {}", short_message(text)),
            );
            out.extend(lost(text, line.number, self.last));
            return Ok(());
        }
        let mut cells = Vec::with_capacity(self.header.len());
        split(&line.text, &mut cells);
        if self.again(&cells) {
            return Ok(());
        }
        // A comma at the end of each row is a habit of scripts, not a value.
        if cells.len() == self.header.len() + 1 && cells.last().is_some_and(|c| c.trim().is_empty())
        {
            cells.pop();
        }
        let entry = match self.table.row(&cells, line.number) {
            Err(_) if !line.whole => {
                warnings.add(line.number, "the last line is cut off: left out");
                return Ok(());
            }
            other => other?,
        };
        self.last = entry.at.or(self.last);
        out.push(entry);
        Ok(())
    }

    fn zoned(&self) -> Option<Zoned> {
        self.table.zoned()
    }
}

/// "Unable to determine the device handle for GPU 0000:06:00.0: GPU is lost.": that device does not answer.
fn lost(text: &str, line: u64, at: Option<Timestamp>) -> Option<Entry> {
    let rest = text.strip_prefix("Unable to determine the device handle for GPU")?;
    let address: PciAddress = rest
        .split_whitespace()
        .next()?
        .trim_end_matches(':')
        .parse()
        .ok()?;
    let identity = Identity {
        pci: Some(address),
        ..Identity::default()
    };
    let mut row = Row::new(identity, Vec::new());
    row.silent = Some(Absent::Lost);
    Some(Entry {
        line,
        // After the newest row: a row of that very instant came before the message.
        at: Some(at?.saturating_add(SignedDuration::from_nanos(1)).ok()?),
        rows: vec![row],
        ..Entry::default()
    })
}

/// The first line whose row lies so near to the one before it that both are of one poll.
fn doubtful(rows: &[Entry]) -> Option<u64> {
    let gap = |pair: &[Entry]| match pair {
        [a, b] => Some((
            b.line,
            b.at?.duration_since(a.at?).as_secs_f64().abs(),
            a.rows == b.rows,
        )),
        _ => None,
    };
    let gaps: Vec<(u64, f64, bool)> = rows.windows(2).filter_map(gap).collect();
    let mut lengths: Vec<f64> = gaps
        .iter()
        .map(|(_, s, _)| *s)
        .filter(|s| *s > 0.0)
        .collect();
    lengths.sort_unstable_by(f64::total_cmp);
    // Of polls of several devices most gaps are tiny: the usual gap between polls is among the long ones.
    let usual = lengths.get(lengths.len() * 9 / 10).copied();
    let near = |seconds: f64| match usual {
        Some(usual) => seconds < SAME_POLL * usual,
        None => true,
    };
    let tight: Vec<u64> = gaps
        .iter()
        .filter(|(_, seconds, same)| near(*seconds) && !same)
        .map(|(line, ..)| *line)
        .collect();
    // A few polls in haste are no second device.
    let many = tight.len() * 4 >= gaps.len();
    tight.first().copied().filter(|_| many)
}

fn short_message(text: &str) -> String {
    crate::text::clean(text).chars().take(160).collect()
}
