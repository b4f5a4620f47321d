//! Tables as they were found in the field, where they lie beside the project.
#![allow(clippy::unwrap_used)]

use super::table::{Row, parse};
use super::tool::Tool;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// What each table shows: NPU, chip, name, health, watts, degrees, bus, percent, DDR and HBM; a line for each chip. The last
/// word is the model's name by which a nameplate is found.
const EXPECTED: &[(&str, &[&str])] = &[
    (
        "npu-smi-910-binB-24.1.0.txt",
        &[
            "0/0 910B OK 70 34 0000:c1:00.0 0 1197/13553 1365/32768 910B",
            "1/0 910B OK 66.9 34 0000:81:00.0 0 2411/15665 4/32768 910B",
        ],
    ),
    (
        "npu-smi-910B1-23.0.rc2.txt",
        &["0/0 910B1 OK 88.4 46 0000:c1:00.0 0 0/0 4175/65536 910B1"],
    ),
    (
        "npu-smi-910B4-noncontiguous-id.txt",
        &["2/0 910B4 OK 88.9 39 0000:c2:00.0 0 0/0 2858/32768 910B4"],
    ),
    (
        "npu-smi-910C-A3-25.3.rc1.txt",
        &[
            "0/0 Ascend910 OK 163.6 30 0000:9d:00.0 0 0/0 3180/65536 Ascend910",
            "0/1 Ascend910 OK - 30 0000:9f:00.0 0 0/0 2896/65536 Ascend910",
        ],
    ),
    (
        "npu-smi-910C-A3-26.0.rc2-wide.txt",
        &["0/0 Ascend910 OK 162.6 34 0000:9d:00.0 0 0/0 3419/65536 Ascend910"],
    ),
    (
        "npu-smi-310P3-25.3.rc1.txt",
        &["6/0 310P3 OK - 50 0000:84:00.0 0 1839/21525 - 310P3"],
    ),
    (
        "npu-smi-310P-duo-and-310-rows.txt",
        &[
            "1/0 310P3 OK - - 0000:01:00.0 0 1397/44280 - 310P3",
            "1/1 310P3 OK - - 0000:01:00.0 0 1520/43693 - 310P3",
        ],
    ),
    (
        "npu-smi-950-doc-examples.txt",
        &["0/0 xxx OK 204.4 56 0000:91:00.0 0 0/0 4439/86016 xxx"],
    ),
];

fn line(row: &Row, model: &str) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let pair = |pair: Option<(u64, u64)>| pair.map_or("-".to_owned(), |(a, b)| format!("{a}/{b}"));
    format!(
        "{}/{} {} {} {} {} {} {} {} {} {model}",
        row.npu,
        row.chip,
        row.name,
        row.health,
        number(row.watts),
        number(row.celsius),
        row.bus,
        number(row.percent),
        pair(row.memory),
        pair(row.hbm),
    )
}

#[test]
fn every_table_of_the_field_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures/ascend");
    let Ok(entries) = fs::read_dir(&folder) else {
        #[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
        {
            eprintln!("ignored: no captures of Ascend beside the project");
        }
        return;
    };
    let mut wrong = String::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("npu-smi-") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let expected = EXPECTED.iter().find(|(file, _)| *file == name);
        let told: Vec<String> = match parse(&text) {
            Ok(table) => {
                let devices = Tool::of(table.clone(), Path::new("/nowhere")).devices();
                let rows = table.rows.iter().zip(&devices);
                rows.map(|(row, device)| line(row, &device.name)).collect()
            }
            // What is no table is refused, and a code in it is found.
            Err(refused) if expected.is_none() => {
                let code = (name == "npu-smi-error-texts.txt").then_some(-8005);
                assert_eq!(refused.code, code, "{name}");
                continue;
            }
            Err(refused) => vec![refused.to_string()],
        };
        if expected.is_none_or(|(_, lines)| told != *lines) {
            writeln!(wrong, "{name}: {told:#?}, not {expected:#?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
