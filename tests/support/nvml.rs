//! A fake NVIDIA library for one test: a copy of the built example with its scenario beside it, so
//! that tests of one process do not share a library, and the environment for a child process.
//!
//! `cargo test` without target flags builds the example. With `--test it` it does not, and with
//! `--examples` or `--all-targets` cargo makes a test of it instead of a library: say
//! `cargo build --examples` before those.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

/// A library with a scenario, in a folder that goes with it.
pub(crate) struct FakeNvml {
    dir: TempDir,
}

impl FakeNvml {
    /// A scenario of `tests/fakes/nvml/scenarios` by its name without `.toml`.
    pub(crate) fn named(scenario: &str) -> Self {
        Self::over(scenario, "")
    }

    /// `toml` laid over a named scenario.
    pub(crate) fn over(scenario: &str, toml: &str) -> Self {
        let base = scenario_file(scenario);
        assert!(base.is_file(), "no scenario {}", base.display());
        Self::new(&format!("extends = '{}'\n{toml}", base.display()))
    }

    /// A scenario of its own.
    pub(crate) fn new(toml: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(
            built("nvidia_ml_fake"),
            dir.path().join("libnvidia-ml.so.1"),
        )
        .unwrap();
        let fake = Self { dir };
        std::fs::write(fake.scenario(), toml).unwrap();
        fake
    }

    /// Takes symbols out of the library, as an older driver lacks them.
    pub(crate) fn without(self, symbols: &[&str]) -> Self {
        take_out(&self.library(), symbols);
        self
    }

    /// For `--nvml-library` or `Nvml::builder().lib_path(..)`.
    pub(crate) fn library(&self) -> PathBuf {
        self.dir.path().join("libnvidia-ml.so.1")
    }

    /// The folder, for `LD_LIBRARY_PATH`.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn scenario(&self) -> PathBuf {
        self.dir.path().join("libnvidia-ml.so.1.toml")
    }

    /// Puts another scenario in place of the one that is there: the next first `nvmlInit` reads it.
    pub(crate) fn replace(&self, toml: &str) {
        std::fs::write(self.scenario(), toml).unwrap();
    }

    /// What a child process needs to find the library under its usual name and to count its calls.
    /// The timeline begins now, and goes on in a process that is started again with the same values.
    pub(crate) fn env(&self) -> Vec<(&'static str, OsString)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        vec![
            ("LD_LIBRARY_PATH", self.dir.path().into()),
            ("NAMEPLATE_FAKE_NVML_COUNTS", self.counts_file().into()),
            (
                "NAMEPLATE_FAKE_NVML_EPOCH",
                now.as_secs_f64().to_string().into(),
            ),
        ]
    }

    fn counts_file(&self) -> PathBuf {
        self.dir.path().join("counts.txt")
    }

    /// Calls per function that a child process with [`Self::env`] has made, as of its last shutdown
    /// or full second. Empty before that.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(self.counts_file()).unwrap_or_default();
        text.lines()
            .filter_map(|line| {
                let (name, count) = line.split_once(' ')?;
                Some((name.to_owned(), count.parse().ok()?))
            })
            .collect()
    }
}

/// All scenarios, by name.
pub(crate) fn scenarios() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(scenario_file("x").parent().unwrap())
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let toml = path.extension().is_some_and(|e| e == "toml");
            toml.then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

fn scenario_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fakes/nvml/scenarios")
        .join(format!("{name}.toml"))
}

/// Takes symbols out of a library, as an older one lacks them.
pub(crate) fn take_out(file: &Path, symbols: &[&str]) {
    let mut library = std::fs::read(file).unwrap();
    for symbol in symbols {
        let name = format!("\0{symbol}\0").into_bytes();
        let places: Vec<usize> = library
            .windows(name.len())
            .enumerate()
            .filter(|(_, window)| *window == name)
            .map(|(place, _)| place)
            .collect();
        assert!(!places.is_empty(), "the fake has no symbol {symbol}");
        for place in places {
            // The name in the string table changes, so that a look-up no longer matches it.
            library[place + 1] = b'_';
        }
    }
    std::fs::write(file, library).unwrap();
}

/// A built example: `target/PROFILE/examples`, beside the `deps` that this test lies in.
pub(crate) fn built(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let library = profile.join(format!("examples/lib{example}.so"));
    assert!(
        library.is_file(),
        "the fake library is not built: {} is missing; run `cargo build --examples` first (`cargo test` without \
         target flags does it too)",
        library.display()
    );
    library
}
