//! The configuration file: where it is, what it may say, and the commented sample.

mod file;
mod sample;
mod table;

pub use file::{AfterLogout, FileSettings, parse};
pub use sample::SAMPLE;

use etcetera::BaseStrategy as _;
use std::fmt;
use std::path::{Path, PathBuf};

/// No configuration file is larger than this, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// One thing that is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, in one line.
    pub what: String,
    /// The valid key that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.nearest {
            Some(key) => write!(f, "; did you mean {key}?"),
            None => Ok(()),
        }
    }
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("reading the configuration {} failed: {reason}; next: check the path, or run `nameplate config` for a sample", .path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It says things that are not valid.
    #[error("{}", problem_lines(.path, .problems, " "))]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// All of them, by line; never empty.
        problems: Vec<Problem>,
    },
}

/// `FILE:LINE: what; did you mean KEY?` for the first problem, and how many more there are.
fn problem_lines(path: &Path, problems: &[Problem], gap: &str) -> String {
    let Some(first) = problems.first() else {
        return String::new();
    };
    let more = match problems.len() {
        0 | 1 => String::new(),
        n => format!("{gap}(and {} more; run `nameplate config check`)", n - 1),
    };
    format!("{}:{}: {first}{more}", path.display(), first.line)
}

/// Folders of the user (XDG).
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// For the configuration and the user's themes: `$XDG_CONFIG_HOME/nameplate`.
    pub config: Option<PathBuf>,
    /// For logs and what a recorder keeps: `$XDG_STATE_HOME/nameplate`.
    pub state: Option<PathBuf>,
}

impl Folders {
    /// The folders of this environment; absent where it has no home.
    #[must_use]
    pub fn find() -> Self {
        match etcetera::base_strategy::Xdg::new() {
            Ok(xdg) => Self {
                config: Some(xdg.config_dir().join("nameplate")),
                state: xdg.state_dir().map(|dir| dir.join("nameplate")),
            },
            Err(_) => Self::default(),
        }
    }

    /// Where the configuration file is looked for.
    #[must_use]
    pub fn config_file(&self) -> Option<PathBuf> {
        self.config
            .as_ref()
            .map(|folder| folder.join("config.toml"))
    }

    /// Where the user's own themes lie.
    #[must_use]
    pub fn themes(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join("themes"))
    }
}

/// Reads a file. Paths in it that are not absolute are relative to its folder.
///
/// # Errors
/// The file cannot be read, or has problems.
pub fn load(path: &Path) -> Result<FileSettings, ConfigError> {
    let unreadable = |reason: String| ConfigError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let text = read(path).map_err(|error| unreadable(error.to_string()))?;
    let mut settings = parse(&text).map_err(|problems| ConfigError::Invalid {
        path: path.to_owned(),
        problems,
    })?;
    if let Some(folder) = path.parent() {
        settings.resolve_paths(folder);
    }
    Ok(settings)
}

/// Reads the file of the flag, else the user's own where there is one.
///
/// # Errors
/// As [`load`]; a missing file is an error only where it was named.
pub fn load_any(
    named: Option<&Path>,
    folders: &Folders,
) -> Result<(Option<PathBuf>, FileSettings), ConfigError> {
    if let Some(path) = named {
        return Ok((Some(path.to_owned()), load(path)?));
    }
    match folders.config_file() {
        Some(path) if path.exists() => {
            let settings = load(&path)?;
            Ok((Some(path), settings))
        }
        _ => Ok((None, FileSettings::default())),
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    // A pipe or /dev/zero by mistake does not fill the memory.
    std::fs::File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other("it is larger than 256 KiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn an_error_names_file_line_and_the_nearest_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(
            &path,
            "[price]\nper_hour = \"2.99\"\ncurency = \"USD\"\nscope = 3\n",
        )
        .unwrap();
        let error = load(&path).unwrap_err().to_string();
        let expected = format!(
            "{}:3: unknown key curency in [price]; did you mean currency? (and 1 more; run `nameplate config check`)",
            path.display()
        );
        assert_eq!(error, expected);
    }

    #[test]
    fn a_missing_file_is_an_error_only_where_it_was_named() {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders {
            config: Some(folder.path().to_owned()),
            state: None,
        };
        assert!(load_any(Some(&folder.path().join("no.toml")), &folders).is_err());
        assert_eq!(
            load_any(None, &folders).unwrap(),
            (None, FileSettings::default())
        );
    }

    #[test]
    fn relative_paths_belong_to_the_files_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "[nvidia]\nlibrary = \"lib/libixml.so\"\n").unwrap();
        let settings = load(&path).unwrap();
        assert_eq!(
            settings.libraries.nvml,
            Some(folder.path().join("lib/libixml.so"))
        );
    }

    #[test]
    fn a_file_without_end_is_refused() {
        assert!(load(Path::new("/dev/zero")).is_err());
    }
}
