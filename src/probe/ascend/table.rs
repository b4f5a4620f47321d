//! The table that `npu-smi info` prints, of every generation and driver.
//!
//! Columns move between drivers, so that rows are split at their bars and then at blanks, never by place. Two lines are one
//! chip: number and name, health, power and temperature; then the chip's own numbers, the bus id, utilization and memory. A
//! pair `4    / 32768` is one value. `NA`, `-`, `NOT SUPPORT`, `Failed` and whatever else is no number are missing.

use crate::model::PciAddress;
use crate::text::clean;

/// One chip.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The card's number, which has gaps.
    pub(crate) npu: u32,
    /// The chip's number on its card; the newest generation prints none.
    pub(crate) chip: u32,
    pub(crate) name: String,
    /// `OK`, `Warning`...
    pub(crate) health: String,
    pub(crate) watts: Option<f64>,
    pub(crate) celsius: Option<f64>,
    pub(crate) bus: PciAddress,
    pub(crate) percent: Option<f64>,
    /// DDR, used and in all, in MiB.
    pub(crate) memory: Option<(u64, u64)>,
    /// HBM, used and in all, in MiB.
    pub(crate) hbm: Option<(u64, u64)>,
}

/// A process on a chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessRow {
    pub(crate) npu: u32,
    pub(crate) chip: u32,
    pub(crate) pid: u32,
    /// In MiB.
    pub(crate) memory: Option<u64>,
}

/// All that one call printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// Of npu-smi, which comes with the driver.
    pub(crate) version: Option<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) processes: Vec<ProcessRow>,
}

/// A text without a single chip.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("npu-smi said: {said}")]
pub(crate) struct Refused {
    /// Its first line that is no rule of the table.
    said: String,
    /// The library's code that it names.
    pub(crate) code: Option<i32>,
}

/// The words for health that were seen; a row with another one in its place is none.
const HEALTH: [&str; 6] = ["OK", "Warning", "Alarm", "Critical", "UNKNOWN", "Offline"];
/// No machine has more; what comes behind is cut.
const ROWS_MAX: usize = 1024;

/// One value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Single(Option<f64>),
    Pair(Option<(u64, u64)>),
}

impl Value {
    const fn single(self) -> Option<f64> {
        match self {
            Self::Single(number) => number,
            Self::Pair(_) => None,
        }
    }

    const fn pair(self) -> Option<(u64, u64)> {
        match self {
            Self::Pair(pair) => pair,
            Self::Single(_) => None,
        }
    }
}

/// The values of a cell, in turn.
fn values(cell: &str) -> Vec<Value> {
    let cell = cell.replace("NOT SUPPORT", "NA");
    let words: Vec<&str> = cell.split_whitespace().collect();
    let whole = |word: &str| word.parse::<u64>().ok();
    let number = |word: &str| word.parse::<f64>().ok().filter(|n| n.is_finite());
    let pair = |a: &str, b: &str| Value::Pair(whole(a).zip(whole(b)));
    let mut values = Vec::new();
    let mut rest = words.as_slice();
    while let [word, after @ ..] = rest {
        rest = after;
        values.push(match (after, word.split_once('/')) {
            (["/", second, further @ ..], _) => {
                rest = further;
                pair(word, second)
            }
            ([second, further @ ..], Some((a, ""))) => {
                rest = further;
                pair(a, second)
            }
            (_, Some((a, b))) => pair(a, b),
            _ => Value::Single(number(word)),
        });
    }
    values
}

/// The cells of a row; none for rules and for text beside the table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

/// The first line of a chip: numbers, name, health, power and temperature.
struct Head {
    npu: u32,
    name: String,
    health: String,
    watts: Option<f64>,
    celsius: Option<f64>,
}

fn head(cells: &[&str]) -> Option<Head> {
    let [names @ .., health, numbers] = cells else {
        return None;
    };
    let health = HEALTH
        .iter()
        .find(|word| word.eq_ignore_ascii_case(health))?;
    let names = names.join(" ");
    let (npu, name) = names.split_once(char::is_whitespace)?;
    let values = values(numbers);
    let value = |n: usize| values.get(n).and_then(|value| value.single());
    Some(Head {
        npu: npu.parse().ok()?,
        name: clean(name.trim()).into_owned(),
        health: (*health).to_owned(),
        watts: value(0),
        celsius: value(1),
    })
}

/// The second line of a chip: its own numbers, the bus id, utilization, memory.
fn row(head: Head, cells: &[&str]) -> Option<Row> {
    let [ids @ .., bus, numbers] = cells else {
        return None;
    };
    let ids = ids.join(" ");
    let values = values(numbers);
    let mut pairs = values.iter().skip(1).map(|value| value.pair());
    Some(Row {
        npu: head.npu,
        chip: match ids.split_whitespace().next() {
            Some(chip) => chip.parse().ok()?,
            None => 0,
        },
        name: head.name,
        health: head.health,
        watts: head.watts,
        celsius: head.celsius,
        bus: bus.parse().ok()?,
        percent: values.first().and_then(|value| value.single()),
        memory: pairs.next().flatten(),
        hbm: pairs.next().flatten(),
    })
}

/// A line of the second part: card (and chip), pid, name, MiB.
fn process(cells: &[&str]) -> Option<ProcessRow> {
    let [ids, pid, _name, memory] = cells else {
        return None;
    };
    let mut ids = ids.split_whitespace();
    Some(ProcessRow {
        npu: ids.next()?.parse().ok()?,
        chip: ids.next().map_or(Some(0), |chip| chip.parse().ok())?,
        pid: pid.parse().ok().filter(|pid| *pid > 0)?,
        memory: memory.parse().ok(),
    })
}

/// The code behind "ret is", where a start failed.
fn code_in(text: &str) -> Option<i32> {
    let (_, after) = text.split_once("ret is ")?;
    let end = after
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'))
        .map_or(after.len(), |(at, _)| at);
    after.get(..end)?.parse().ok()
}

/// Reads what `npu-smi info` printed.
///
/// # Errors
/// There is no chip in it.
pub(crate) fn parse(text: &str) -> Result<Table, Refused> {
    let mut table = Table::default();
    let mut first: Option<Head> = None;
    let mut in_processes = false;
    for line in text.lines() {
        let Some(cells) = cells(line) else { continue };
        let begun = first.take();
        if cells.iter().any(|cell| cell.starts_with("Process id")) {
            in_processes = true;
        } else if cells.contains(&"Health") {
            in_processes = false;
        } else if let [only] = cells.as_slice()
            && let Some(version) = only.strip_prefix("npu-smi ")
        {
            let version = version.split_whitespace().next().map(clean);
            table.version = version.map(std::borrow::Cow::into_owned);
        } else if in_processes {
            table.processes.extend(process(&cells));
        } else if let Some(head) = head(&cells) {
            first = Some(head);
        } else if let Some(head) = begun {
            table.rows.extend(row(head, &cells));
        }
        if table.rows.len().max(table.processes.len()) >= ROWS_MAX {
            break;
        }
    }
    match table.rows.is_empty() {
        false => Ok(table),
        true => Err(refused(text)),
    }
}

fn refused(text: &str) -> Refused {
    let is_said = |line: &&str| line.chars().any(char::is_alphanumeric);
    let said = text.lines().map(str::trim).find(is_said);
    let said: String = said.unwrap_or("nothing").chars().take(200).collect();
    Refused {
        code: code_in(text),
        said: clean(&said).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn only(text: &str) -> Row {
        let table = parse(text).unwrap();
        assert_eq!(table.rows.len(), 1, "{table:?}");
        table.rows[0].clone()
    }

    #[test]
    fn a_910b_has_hbm_and_no_ddr() {
        let text = "\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc3                 Version: 24.1.rc3                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 2     910B3               | OK            | 187.4       51                0    / 0             |
| 0                         | 0000:82:00.0  | 73          0    / 0          41210/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 2       0                 | 31044         | python3                  | 37860                   |
+===========================+===============+====================================================+
";
        let table = parse(text).unwrap();
        assert_eq!(table.version.as_deref(), Some("24.1.rc3"));
        assert_eq!(
            only(text),
            Row {
                npu: 2,
                chip: 0,
                name: "910B3".into(),
                health: "OK".into(),
                watts: Some(187.4),
                celsius: Some(51.0),
                bus: "0000:82:00.0".parse().unwrap(),
                percent: Some(73.0),
                memory: Some((0, 0)),
                hbm: Some((41_210, 65_536)),
            }
        );
        assert_eq!(
            table.processes,
            [ProcessRow {
                npu: 2,
                chip: 0,
                pid: 31_044,
                memory: Some(37_860)
            }]
        );
    }

    #[test]
    fn the_chips_of_a_910c_share_a_card() {
        let text = "\
| 5     Ascend910           | OK            | 311.0       44                0    / 0             |
| 0     10                  | 0000:A1:00.0  | 90          0    / 0          60122/ 65536         |
+------------------------------------------------------------------------------------------------+
| 5     Ascend910           | Warning       | -           45                0    / 0             |
| 1     11                  | 0000:A3:00.0  | 88          0    / 0          60008/ 65536         |
";
        let rows = parse(text).unwrap().rows;
        let told: Vec<_> = rows
            .iter()
            .map(|r| (r.npu, r.chip, r.watts, r.health.as_str(), r.bus.bus))
            .collect();
        assert_eq!(
            told,
            [
                (5, 0, Some(311.0), "OK", 0xa1),
                (5, 1, None, "Warning", 0xa3)
            ]
        );
    }

    #[test]
    fn a_310p_has_ddr_only_and_a_950_no_chip_number() {
        let small = only(
            "| 3       310P3                 | OK              | NA           47      0     / 0     |\n\
             | 0       2                     | 0000:42:00.0    | 12           2044 / 21525        |\n",
        );
        assert_eq!(
            (small.watts, small.memory, small.hbm),
            (None, Some((2044, 21_525)), None)
        );
        let new = only(
            "| 1      | Ascend950PR      | Critical      | NOT SUPPORT 61                0     / 0             |\n\
             |        |                  | 0000:92:00.0  | NA          0    / 0          5120  / 86016         |\n",
        );
        assert_eq!(
            (new.npu, new.chip, new.watts, new.percent),
            (1, 0, None, None)
        );
        assert_eq!(new.celsius, Some(61.0));
        assert_eq!(new.hbm, Some((5120, 86_016)));
        assert_eq!(
            (new.name.as_str(), new.health.as_str()),
            ("Ascend950PR", "Critical")
        );
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_words() {
        let refused = parse("dcmi module initialize failed. ret is -8020\n").unwrap_err();
        assert_eq!(refused.code, Some(-8020));
        assert!(refused.to_string().contains("initialize failed"));
        assert_eq!(parse("").unwrap_err().to_string(), "npu-smi said: nothing");
        // Half a chip is none, and a process is no chip.
        assert!(
            parse("| 0 910B3 | OK | 90 40 0 / 0 |\n| Process id |\n| 0 0 | 7 | OK | 1 |\n")
                .is_err()
        );
        // A value that does not fit is missing.
        assert_eq!(
            values("1e999 99999999999999999999 / 1 NaN"),
            [Value::Single(None), Value::Pair(None), Value::Single(None)]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[|/0-9A-Za-z:. \\-\\n\\PC]{0,400}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_cells_are_read_or_refused(
            cells in prop::collection::vec("(OK|NA|-|0000:C1:00\\.0|[0-9]{1,22}|[0-9]+ */ *[0-9]+|\\PC{0,6}| ){1,5}", 0..12),
            widths in prop::collection::vec(1..5_usize, 1..6),
        ) {
            let mut text = String::new();
            let mut rest = cells.as_slice();
            for width in widths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (line, after) = rest.split_at((*width).min(rest.len()));
                rest = after;
                text.push_str(&format!("| {} |\n", line.join(" | ")));
            }
            if let Ok(table) = parse(&text) {
                prop_assert!(!table.rows.is_empty());
            }
        }
    }
}
