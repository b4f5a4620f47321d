//! `nvidia-smi dmon`, in columns or as CSV. Only `-o DT` gives instants: a time of day alone is none.

use super::cell::Written;
use super::column::{Column, Meaning};
use super::entry::{Entry, Warnings};
use super::error::{ImportError, KNOWN};
use super::format::{Format, Head, Recognised, is_blank};
use super::lines::Line;
use super::table::{Table, short};
use super::time::Zoned;
use crate::model::Metric;
use jiff::tz::TimeZone;

/// The output of dmon under its newest header.
struct Dmon {
    table: Table,
    header: Vec<String>,
    zone: TimeZone,
    time_told: bool,
}

/// A header among the first lines, with nothing but blanks before it.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    let Some(header) = head.lines.iter().find(|line| names(&line.text).is_some()) else {
        return Ok(None);
    };
    if let Some(odd) = head
        .said()
        .next()
        .filter(|line| line.number < header.number)
    {
        let why = format!("\"{}\" is neither a header nor a row", short(&odd.text));
        return Err(ImportError::at(odd.number, why, KNOWN));
    }
    let names = names(&header.text).unwrap_or_default();
    Ok(Some(Box::new(Dmon {
        table: table(&names, &head.options.zone),
        header: names,
        zone: head.options.zone.clone(),
        time_told: false,
    })))
}

/// The names of a header: `# gpu    pwr  gtemp`.
fn names(line: &str) -> Option<Vec<String>> {
    let rest = line.trim_start().strip_prefix('#')?;
    let names: Vec<String> = cells(rest).into_iter().map(str::to_lowercase).collect();
    let has = |name: &str| names.iter().any(|n| n == name);
    (has("gpu")
        && ["pwr", "gtemp", "sm", "pclk", "fb", "rxpci"]
            .iter()
            .any(|n| has(n)))
    .then_some(names)
}

fn cells(line: &str) -> Vec<&str> {
    if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    }
}

fn table(names: &[String], zone: &TimeZone) -> Table {
    let columns = names.iter().map(|name| column(name)).collect();
    Table::new(names.to_vec(), columns, zone)
}

/// What a column of dmon is (its man page). `sm` and `mem` are the shares that --query-gpu calls utilization.gpu and
/// utilization.memory; violations and aggregated errors have no place among readings of an instant.
fn column(name: &str) -> Option<Column> {
    let value = |metric, written| (Meaning::Value(metric), written);
    let (meaning, written) = match name {
        "date" => (Meaning::Date, Written::Plain),
        "time" => (Meaning::TimeOfDay, Written::Plain),
        "gpu" => (Meaning::Index, Written::Plain),
        "pwr" => value(Metric::PowerUsage, Written::Plain),
        "gtemp" | "temp" => value(Metric::CoreTemperature, Written::Plain),
        "mtemp" => value(Metric::MemoryTemperature, Written::Plain),
        "sm" => value(Metric::Utilization, Written::Percent),
        "mem" => value(Metric::MemoryActivity, Written::Percent),
        "mclk" => value(Metric::MemoryClock, Written::Plain),
        "pclk" => value(Metric::SmClock, Written::Plain),
        "fb" => value(Metric::MemoryUsed, Written::Mebi),
        "bar1" => value(Metric::Bar1Used, Written::Mebi),
        "pci" => value(Metric::PcieReplays, Written::Plain),
        "rxpci" => value(Metric::PcieRxRate, Written::Mega),
        "txpci" => value(Metric::PcieTxRate, Written::Mega),
        _ => return None,
    };
    Some(Column { meaning, written })
}

impl Format for Dmon {
    fn name(&self) -> &'static str {
        "nvidia_smi_dmon"
    }

    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError> {
        if is_blank(&line.text) {
            return Ok(());
        }
        if line.text.trim_start().starts_with('#') {
            if let Some(names) = names(&line.text).filter(|names| *names != self.header) {
                self.table = table(&names, &self.zone);
                self.header = names;
            }
            return Ok(());
        }
        if !self.time_told && !self.table.is_timed() && self.header.iter().any(|n| n == "time") {
            self.time_told = true;
            let text = "a time of day without a date is no instant: no seconds can be told (dmon -o DT gives both)";
            warnings.add(line.number, text);
        }
        match self.table.row(&cells(&line.text), line.number) {
            Ok(entry) => out.push(entry),
            Err(_) if !line.whole => {
                warnings.add(line.number, "the last line is cut off: left out");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn zoned(&self) -> Option<Zoned> {
        self.table.zoned()
    }
}
