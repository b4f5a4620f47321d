//! Any descriptor of a platform is taken up or is a problem of one line, and the built-in ones stay.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::platform::Catalogue;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the file is written: one for each process.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("nameplate-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    })
}

fuzz_target!(|bytes: &[u8]| {
    let built_in = Catalogue::load(None).names().count();
    std::fs::write(folder().join("fuzzed.toml"), bytes).expect("a temporary file");
    let all = Catalogue::load(Some(folder()));
    assert!(all.names().count() >= built_in);
    assert!(all.problems().iter().all(|problem| !problem.contains('\n')), "{:?}", all.problems());
});
