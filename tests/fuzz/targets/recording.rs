//! Any file is read as a recording up to its damage, or refused, with an error of one line. The first byte says whether
//! the rest is a file, or changes one: pairs of a place and a byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::record::{Reader, Record};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A recording of the present format.
const WHOLE: &[u8] = include_bytes!("../../golden/recording-v1.nmp");

/// Where the file is written: one for each process.
fn file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| std::env::temp_dir().join(format!("nameplate-fuzz-{}.nmp", std::process::id())))
}

fn bytes_of(data: &[u8]) -> Vec<u8> {
    let Some((kind, rest)) = data.split_first().filter(|(kind, _)| **kind < 128) else {
        return data.to_vec();
    };
    let mut bytes = WHOLE.to_vec();
    for change in rest.chunks_exact(4) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize % bytes.len();
        bytes[place] ^= change[3];
    }
    if kind % 2 == 1 {
        bytes.truncate(bytes.len() * usize::from(*kind) / 128);
    }
    bytes
}

fn read(path: &Path) -> Result<(), nameplate::record::RecordError> {
    let reader = Reader::open(path)?;
    let last = reader.last()?.unwrap_or(1);
    for n in [1, last / 2, last] {
        if let Some(at) = reader.time_of(n)? {
            reader.near(1, at)?;
            reader.seek(at)?;
            reader.shifted(n, -60.0)?;
            reader.minutes_before(at)?;
            reader.minutes(at, at)?;
        }
        reader.start_before(n)?;
    }
    reader.devices()?;
    for record in reader.records(1) {
        if let Record::Start(start) = record? {
            let _ = nameplate::session::Start::from_bytes(&start.body);
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let path = file();
    std::fs::write(path, bytes_of(data)).expect("a temporary file");
    if let Err(error) = read(path) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
});
