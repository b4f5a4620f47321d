//! Files that look like logs of accelerators and are not read, each with its reason.

use super::error::{ImportError, KNOWN};
use super::format::{Head, Recognised};
use super::table::short;

/// Signs in the text of a line, with what such a file is.
const SIGNS: [(&str, &str, &str); 9] = [
    (
        "+-----------------------------------------------------------------------------",
        "tables of plain nvidia-smi, which round and name no instant for each device",
        "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
    ),
    (
        ":::MLLOG",
        "an MLPerf log: watts of a whole node, not of a device",
        KNOWN,
    ),
    (
        "GPUId,TimeStampUs,Field",
        "DCGM's long form, a field in each row",
        KNOWN,
    ),
    (
        "<?xml",
        "XML (nvidia-smi -q -x), which is not a log",
        "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
    ),
    (
        "<nvidia_smi_log>",
        "XML (nvidia-smi -q -x), which is not a log",
        "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
    ),
    (
        "==============NVSMI LOG==============",
        "the text of nvidia-smi -q, which is not a log",
        "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
    ),
    (
        "# nvidia_gpu_exporter",
        "a capture of nvidia_gpu_exporter, which is not a log",
        KNOWN,
    ),
    (
        "# gpu         pid   type",
        "nvidia-smi pmon: processes, not devices",
        "log with nvidia-smi dmon -o DT",
    ),
    (
        "# HELP ",
        "metrics of an exporter, which is not a log",
        KNOWN,
    ),
];

/// What is refused whatever it would parse as.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    if head.said().next().is_none() {
        return Err(ImportError::at(0, "it is empty", KNOWN));
    }
    for line in head.lines {
        if line.text.contains('\u{1b}') {
            return Err(ImportError::at(
                line.number,
                "a terminal recording (escape sequences), not a log",
                "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
            ));
        }
    }
    for line in head.lines {
        let binary = line.text.chars().filter(|c| is_binary(*c)).count();
        if binary * 10 > line.text.chars().count() && !super::format::is_blank(&line.text) {
            return Err(ImportError::at(
                line.number,
                "binary data, not a log",
                KNOWN,
            ));
        }
        for (sign, what, next) in SIGNS {
            if line.text.contains(sign) {
                let why = format!("{what} (\"{}\")", short(&line.text));
                return Err(ImportError::at(line.number, why, next));
            }
        }
    }
    Ok(None)
}

fn is_binary(c: char) -> bool {
    (c.is_control() && !c.is_whitespace()) || c == '\u{fffd}'
}

/// A file that only needs unpacking, by its first bytes.
pub(super) fn packed(bytes: &[u8]) -> Option<ImportError> {
    let by = match bytes {
        [0x1f, 0x8b, ..] => "gunzip -c FILE | nameplate diagnose -",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd -dc FILE | nameplate diagnose -",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "xz -dc FILE | nameplate diagnose -",
        _ => return None,
    };
    Some(ImportError::at(0, "it is compressed", by))
}
