//! A snapshot as rows of a table, for CSV: one for each device, the contract's dotted names as columns.

use super::number::{by_name, rounded, timestamp};
use crate::model::{DeviceKind, DeviceView, Figure, Phase, Snapshot};
use crate::text::clean;
use serde_json::Value as Json;

const FIRST: [&str; 7] = [
    "at",
    "interval_s",
    "id",
    "index",
    "name",
    "kind",
    "power_kind",
];
const LAST: [&str; 5] = ["throttle", "phase", "verdict.state", "amount", "absent"];

/// The columns' names; units stand in them.
#[must_use]
pub fn table_header() -> Vec<String> {
    let figures = Figure::ALL.iter().map(|figure| figure.path().to_owned());
    let phases = Phase::ALL
        .iter()
        .map(|phase| format!("phase_seconds.{}", phase.word()));
    let words = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    words(&FIRST)
        .into_iter()
        .chain(figures)
        .chain(phases)
        .chain(words(&LAST))
        .collect()
}

/// A row for each device. A value that is not there is an empty cell, and the last column says why:
/// `pcie.rx_bytes_per_s=timed_out`, with blanks between. `amount` is the whole instance's meter so far.
#[must_use]
pub fn table_rows(snapshot: &Snapshot) -> Vec<Vec<String>> {
    snapshot
        .devices
        .iter()
        .map(|view| row(view, snapshot))
        .collect()
}

fn row(view: &DeviceView, snapshot: &Snapshot) -> Vec<String> {
    let device = &view.device;
    let kind = match device.kind {
        DeviceKind::Device => "device",
        DeviceKind::Instance => "instance",
    };
    let mut cells = vec![
        timestamp(snapshot.at),
        plain(&rounded(snapshot.interval.as_secs_f64(), 3)),
        clean(&device.id.0).into_owned(),
        device.index.to_string(),
        clean(&device.name).into_owned(),
        kind.to_owned(),
        view.power_kind.to_owned(),
    ];
    let mut absent: Vec<String> = Vec::new();
    for figure in Figure::ALL {
        let path = figure.path();
        cells.push(match view.figures.get(*figure).reading {
            Ok(number) => plain(&by_name(path, number)),
            Err(why) => {
                absent.push(format!("{path}={}", why.word()));
                String::new()
            }
        });
    }
    for phase in Phase::ALL {
        let unseen = phase == Phase::IoWait && view.phase_seconds.io_wait.is_none();
        cells.push(if unseen {
            absent.push("phase_seconds.io_wait=not_reported".to_owned());
            String::new()
        } else {
            plain(&rounded(view.phase_seconds.get(phase), 3))
        });
    }
    cells.push(match &view.throttle {
        Ok(reasons) => clean(&reasons.join(" ")).into_owned(),
        Err(why) => {
            absent.push(format!("throttle={}", why.word()));
            String::new()
        }
    });
    cells.push(view.phase.word().to_owned());
    cells.push(view.verdict.state.word().to_owned());
    let amount = snapshot.cost.as_ref().and_then(|cost| {
        let amount = cost.amount?;
        match super::number::money(amount, &cost.currency) {
            Json::String(text) => Some(text),
            _ => None,
        }
    });
    cells.push(amount.unwrap_or_default());
    cells.push(absent.join(" "));
    cells
}

fn plain(value: &Json) -> String {
    if value.is_null() {
        String::new()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::sample::snapshot;
    use super::*;

    #[test]
    fn rows_fit_the_header_and_an_empty_cell_has_its_reason() {
        let header = table_header();
        let rows = table_rows(&snapshot());
        assert_eq!(rows.len(), 2);
        for row in &rows {
            assert_eq!(row.len(), header.len());
            let reasons = row.last().unwrap();
            for (name, cell) in header.iter().zip(row) {
                let told = reasons
                    .split(' ')
                    .any(|r| r.starts_with(&format!("{name}=")));
                let can_be_empty = ["throttle", "amount", "absent"].contains(&name.as_str());
                assert!(can_be_empty || cell.is_empty() == told, "{name}");
            }
        }
        let cell = |name: &str| &rows[0][header.iter().position(|h| h == name).unwrap()];
        assert_eq!(cell("power_w"), "612.123");
        assert_eq!(cell("pcie.width"), "16");
        assert_eq!(cell("phase_seconds.compute"), "100.0");
        assert_eq!(cell("amount"), "38.40");
        assert!(cell("absent").contains("energy_j=implausible"));
    }
}
