//! What `cnmon` prints: a table with two lines for each card, whose columns differ by version (4.x, 5.10, 6.x).

use crate::model::PciAddress;
use crate::probe::tool::{leading, pair};
use std::sync::Arc;

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table {
    /// The tool's version, `5.10.13`.
    pub(super) version: Option<Arc<str>>,
    /// The driver's.
    pub(super) driver: Option<Arc<str>>,
    pub(super) rows: Vec<Row>,
}

/// A card; numbers as they are printed, `None` where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Row {
    pub(super) index: u32,
    pub(super) name: Arc<str>,
    pub(super) firmware: Option<Arc<str>>,
    pub(super) address: Option<PciAddress>,
    /// Percent.
    pub(super) utilization: Option<i64>,
    /// Percent.
    pub(super) fan: Option<i64>,
    /// °C.
    pub(super) temperature: Option<i64>,
    /// Watts, now and the cap.
    pub(super) power: Option<(i64, i64)>,
    /// MiB, used and in all.
    pub(super) memory: Option<(i64, i64)>,
}

/// Reads a table. What is none has no rows.
pub(super) fn parse(text: &str) -> Table {
    let mut table = Table::default();
    let mut open: Option<Row> = None;
    for line in text.lines() {
        let Some(cells) = line.trim().strip_prefix('|') else {
            continue;
        };
        let cells: Vec<&str> = cells.trim_end_matches('|').split('|').collect();
        if let Some(version) = after(line, "CNMON") {
            table.version = Some(version);
            table.driver = after(line, "Driver");
        } else if let Some(row) = first_line(&cells) {
            // A card whose second line never came is still a card.
            table.rows.extend(open.replace(row));
        } else if let Some(mut row) = open.take_if(|_| is_second_line(&cells)) {
            second_line(&cells, &mut row);
            table.rows.push(row);
        }
    }
    table.rows.extend(open);
    table
}

/// The version behind a word, `v5.10.13`.
fn after(line: &str, word: &str) -> Option<Arc<str>> {
    let (_, rest) = line.split_once(word)?;
    version(rest.split_whitespace().next()?)
}

fn version(word: &str) -> Option<Arc<str>> {
    let digits = word.strip_prefix('v')?;
    let known = digits.starts_with(|c: char| c.is_ascii_digit());
    known.then(|| Arc::from(&*crate::text::clean(digits)))
}

/// `0  /  MLU370-X8  v1.1.6 | 0000:39:00.0 | 0%  N/A`. Lines of virtual functions, which have a number in the second
/// place, are no cards of their own.
fn first_line(cells: &[&str]) -> Option<Row> {
    let mut words = cells.first()?.split_whitespace();
    let index = words.next()?.parse().ok()?;
    let mut rest: Vec<&str> = words.skip_while(|word| *word == "/").collect();
    let firmware = rest.pop_if(|last| version(last).is_some());
    let name = crate::text::clean(&rest.join(" ")).into_owned();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    Some(Row {
        index,
        name: Arc::from(name),
        firmware: firmware.and_then(version),
        address: cells.iter().find_map(|cell| {
            let mut words = cell.split_whitespace();
            words.find_map(|word| word.parse().ok())
        }),
        utilization: cells.last().and_then(|cell| {
            let mut words = cell.split_whitespace();
            words.find_map(|word| leading(word.strip_suffix('%')?))
        }),
        ..Row::default()
    })
}

/// Has temperature, power or memory in their places.
fn is_second_line(cells: &[&str]) -> bool {
    cells
        .iter()
        .any(|cell| pair(cell, "W").is_some() || pair(cell, "MiB").is_some())
}

/// `0%  32C  106 W/ 250 W | 0 MiB/ 23374 MiB | FULL  Default`.
fn second_line(cells: &[&str], row: &mut Row) {
    let mut words = cells
        .first()
        .copied()
        .unwrap_or_default()
        .split_whitespace();
    row.fan = words
        .next()
        .and_then(|word| leading(word.strip_suffix('%')?));
    row.temperature = words.find_map(|word| leading(word.strip_suffix('C')?));
    row.power = cells.iter().find_map(|cell| pair(cell, "W"));
    row.memory = cells.iter().find_map(|cell| pair(cell, "MiB"));
}

#[cfg(test)]
#[allow(clippy::print_stdout)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "\
+------------------------------------------------------------------------------+
| CNMON v5.10.22                                               Driver v5.10.22 |
+-------------------------------+----------------------+-----------------------+
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | Mode     Compute-Mode |
|===============================+======================+=======================|
";

    fn row() -> Row {
        Row {
            index: 0,
            name: "MLU370-X4".into(),
            firmware: Some("1.1.8".into()),
            address: "0000:b1:00.0".parse().ok(),
            utilization: Some(87),
            fan: Some(0),
            temperature: Some(61),
            power: Some((112, 150)),
            memory: Some((15_021, 23_308)),
        }
    }

    #[test]
    fn the_tables_of_all_versions_are_read() {
        let known = row();
        for (lines, expected) in [
            (
                "\
| 0     /   MLU370-X4    v1.1.8 |         0000:B1:00.0 | 87%                 0 |
|  0%   61C        112 W/ 150 W | 15021 MiB/ 23308 MiB | FULL          Default |
",
                known.clone(),
            ),
            // 4.x: the middle of the first line has no bus.
            (
                "\
| 0     /   MLU270-S4    v2.3.1 |       On     v4.20.9 |  5%                 0 |
|  0%   41C          28 W/ 70 W |     0 MiB/ 16384 MiB |      0 MiB/ 10240 MiB |
",
                Row {
                    name: "MLU270-S4".into(),
                    firmware: Some("2.3.1".into()),
                    address: None,
                    utilization: Some(5),
                    temperature: Some(41),
                    power: Some((28, 70)),
                    memory: Some((0, 16_384)),
                    ..known.clone()
                },
            ),
            // 6.x: no fan, a value that is not there.
            (
                "\
| 0     /   MLU590-M9    v1.5.0 |         0000:0F:00.0 | N/A               N/A |
| N/A   33C        105 W/ 550 W |  1024 MiB/ 98304 MiB | FULL          Default |
",
                Row {
                    name: "MLU590-M9".into(),
                    firmware: Some("1.5.0".into()),
                    address: "0000:0f:00.0".parse().ok(),
                    utilization: None,
                    fan: None,
                    temperature: Some(33),
                    power: Some((105, 550)),
                    memory: Some((1024, 98_304)),
                    ..known.clone()
                },
            ),
            (
                "\
| 0     /   MLU370-X4    v1.1.8 |         0000:B1:00.0 |   /                 0 |
|  /      /                 N/A |                  N/A | FULL          Default |
",
                Row {
                    utilization: None,
                    fan: None,
                    temperature: None,
                    power: None,
                    memory: None,
                    ..known.clone()
                },
            ),
        ] {
            let table = parse(&format!("{HEAD}{lines}"));
            assert_eq!(table.driver.as_deref(), Some("5.10.22"));
            assert_eq!(table.rows, [expected], "{lines}");
        }
    }

    #[test]
    fn virtual_functions_are_no_cards() {
        let text = format!(
            "{HEAD}\
| 0     /   MLU370-X4    v1.1.8 |         0000:B1:00.0 | 87%                 0 |
|  0%   61C        112 W/ 150 W | 15021 MiB/ 23308 MiB | FULL          Default |
| 0     1   MLU370-X4       N/A |         0000:B1:00.1 |  0%               N/A |
|  /     /                  N/A |     0 MiB/  7800 MiB | N/A           Default |
"
        );
        assert_eq!(parse(&text).rows, [row()]);
        assert_eq!(parse("cnmon: card 3 not existed\n"), Table::default());
    }

    /// What the tables of real machines show, where they are at hand.
    #[test]
    fn real_tables_are_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/captures/cambricon");
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}"));
        let (Ok(whole), Ok(variants)) = (
            read("cnmon-mlu370-x8-5.10.13.txt"),
            read("cnmon-row-variants.txt"),
        ) else {
            println!("ignored: there are no captures");
            return;
        };
        let table = parse(&whole);
        assert_eq!(table.version.as_deref(), Some("5.10.13"));
        assert_eq!(table.driver.as_deref(), Some("5.10.13"));
        let card = |index, address: &str, temperature| Row {
            index,
            name: "MLU370-X8".into(),
            firmware: Some("1.1.6".into()),
            address: address.parse().ok(),
            utilization: Some(0),
            fan: Some(0),
            temperature: Some(temperature),
            power: Some((106, 250)),
            memory: Some((0, 23_374)),
        };
        assert_eq!(
            table.rows,
            [card(0, "0000:39:00.0", 32), card(1, "0000:3d:00.0", 39)]
        );
        // A second line alone has no card; with a first line it has.
        assert_eq!(parse(&variants).rows, []);
        let first = whole
            .lines()
            .find(|line| line.contains("39:00.0"))
            .unwrap_or_default();
        let second = variants
            .lines()
            .find(|line| line.starts_with('|'))
            .unwrap_or_default();
        let expected = Row {
            power: Some((107, 250)),
            memory: Some((0, 20_638)),
            ..card(0, "0000:39:00.0", 28)
        };
        assert_eq!(parse(&format!("{first}\n{second}\n")).rows, [expected]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left(text in "([|+ 0-9A-Za-z/%:.\\-]{0,40}\n){0,12}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_damage_is_read_or_left(at in 0_usize..480, byte in "\\PC") {
            let whole = format!("{HEAD}| 0     /   MLU370-X4    v1.1.8 |         0000:B1:00.0 | 87%                 0 |\n");
            let mut text: Vec<char> = whole.chars().collect();
            let at = at.min(text.len() - 1);
            text.splice(at..=at, byte.chars());
            let _ = parse(&text.into_iter().collect::<String>());
        }
    }
}
