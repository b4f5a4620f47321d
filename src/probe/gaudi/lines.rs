//! What `hl-smi -Q ... -f csv` prints: a line for each card, with units in the values.

use crate::model::PciAddress;
use crate::probe::tool::leading;
use std::sync::Arc;

/// The columns that are asked for.
pub(super) const COLUMNS: [&str; 12] = [
    "index",
    "module_id",
    "uuid",
    "name",
    "bus_id",
    "driver_version",
    "memory.total",
    "memory.used",
    "power.draw",
    "power.max",
    "temperature.aip",
    "utilization.aip",
];

/// A card; numbers as they are printed, `None` where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Row {
    pub(super) index: u32,
    pub(super) module: Option<i64>,
    pub(super) uuid: Option<Arc<str>>,
    pub(super) name: Option<Arc<str>>,
    pub(super) address: Option<PciAddress>,
    pub(super) driver: Option<Arc<str>>,
    /// MiB.
    pub(super) total: Option<i64>,
    /// MiB.
    pub(super) used: Option<i64>,
    /// Watts.
    pub(super) power: Option<i64>,
    /// Watts.
    pub(super) limit: Option<i64>,
    /// °C.
    pub(super) temperature: Option<i64>,
    /// Percent.
    pub(super) utilization: Option<i64>,
}

/// Reads a line with these columns. Headers, complaints and half lines are none.
pub(super) fn parse(columns: &[&str], line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return None;
    }
    let cell = |column: &str| {
        let place = columns.iter().position(|name| *name == column)?;
        let text = cells.get(place).copied()?;
        (!matches!(text, "" | "N/A")).then_some(text)
    };
    let word = |column| cell(column).map(|text| Arc::from(crate::text::clean(text)));
    let number = |column| leading(cell(column)?);
    Some(Row {
        index: cell("index")?.parse().ok()?,
        module: number("module_id"),
        uuid: word("uuid"),
        name: word("name"),
        address: cell("bus_id").and_then(|text| text.parse().ok()),
        driver: word("driver_version"),
        total: number("memory.total"),
        used: number("memory.used"),
        power: number("power.draw"),
        limit: number("power.max"),
        temperature: number("temperature.aip"),
        utilization: number("utilization.aip"),
    })
}

#[cfg(test)]
#[allow(clippy::print_stdout)]
mod tests {
    use super::*;
    use crate::probe::tool::pair;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_read_by_its_columns() {
        let line = "3, 5, 01P4-HL3090A0-18-U4V193-22-07-00, HL-225, 0000:cc:00.0, 1.20.0-a1b2c3d, 98304 MiB, 1024 MiB, \
                    412 W, 600 W, 51 C, 97 %";
        let expected = Row {
            index: 3,
            module: Some(5),
            uuid: Some("01P4-HL3090A0-18-U4V193-22-07-00".into()),
            name: Some("HL-225".into()),
            address: "0000:cc:00.0".parse().ok(),
            driver: Some("1.20.0-a1b2c3d".into()),
            total: Some(98_304),
            used: Some(1024),
            power: Some(412),
            limit: Some(600),
            temperature: Some(51),
            utilization: Some(97),
        };
        assert_eq!(parse(&COLUMNS, line), Some(expected));
        let gaps = "0, N/A, N/A, HL-225, N/A, N/A, N/A, N/A, N/A, N/A, N/A, N/A";
        let row = parse(&COLUMNS, gaps).unwrap_or_default();
        assert_eq!((row.power, row.uuid, row.module), (None, None, None));
        for none in [
            "",
            "index, module_id, uuid",
            "No devices found",
            "0, 1, x, HL-225, 0000:cc:00.0, 1.20.0, 98304 Mi",
        ] {
            assert_eq!(parse(&COLUMNS, none), None, "{none}");
        }
    }

    /// What real machines print, where it is at hand.
    #[test]
    fn real_lines_are_read() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../shared/captures/intel-gaudi"
        );
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}"));
        let (Ok(csv), Ok(table), Ok(variants)) = (
            read("hl-smi-csv-gaudi3.txt"),
            read("hl-smi-gaudi2-1.12.1.txt"),
            read("hl-smi-row-variants.txt"),
        ) else {
            println!("ignored: there are no captures");
            return;
        };
        let mut columns: Vec<&str> = Vec::new();
        let mut rows = Vec::new();
        for line in csv.lines() {
            match line.split_once("-Q ") {
                Some((_, rest)) => {
                    let list = rest.split(' ').next().unwrap_or_default();
                    columns = list.split(',').collect();
                }
                None => rows.extend(parse(&columns, line)),
            }
        }
        let row = |index, uuid: &str, driver: &str| Row {
            index,
            uuid: Some(uuid.into()),
            name: Some("HL-325L".into()),
            driver: Some(driver.into()),
            total: Some(131_072),
            used: Some(672),
            utilization: Some(0),
            limit: Some(850),
            ..Row::default()
        };
        let first = "01P0-HL0000A0-00-000000-00-00-00";
        let second = "01P0-HL0000A0-00-000001-00-00-00";
        assert_eq!(
            rows,
            [
                Row {
                    module: Some(1),
                    address: "0000:3b:00.0".parse().ok(),
                    utilization: None,
                    limit: None,
                    ..row(0, first, "1.24.1-b336d5e")
                },
                Row {
                    power: Some(226),
                    temperature: Some(36),
                    ..row(0, first, "1.22.1-97ec1a4")
                },
                Row {
                    power: Some(230),
                    temperature: Some(39),
                    ..row(1, second, "1.22.1-97ec1a4")
                },
            ]
        );
        // The table is not asked for; its cells mean the same.
        let found = |text: &str, unit| -> Vec<(i64, i64)> {
            text.split(['|', '"'])
                .filter_map(|cell| pair(cell, unit))
                .collect()
        };
        assert_eq!(found(&table, "W"), [(84, 600)]);
        assert_eq!(found(&table, "MiB"), [(768, 98_304)]);
        assert_eq!(found(&variants, "W"), [(96, 600), (102, 350)]);
        assert_eq!(found(&variants, "MiB"), [(768, 98_304), (512, 32_768)]);
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_left(line in "\\PC{0,120}", cells in "([0-9A-Z %.-]{0,6},){11}[0-9C-]{0,4}") {
            let _ = parse(&COLUMNS, &line);
            let _ = parse(&COLUMNS, &cells);
        }
    }
}
