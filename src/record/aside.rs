//! A damaged recording makes room for the next one.

use super::error::RecordError;
use super::lock::Lock;
use jiff::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};

/// Gives a recording, and its log, another name in its folder: `NAME-damaged-20261130T233000Z.nmp`. What can be read of
/// it can be read there. Answers with the new path.
///
/// # Errors
/// Another process writes it, or it cannot be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf, RecordError> {
    let _lock = Lock::take(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let at = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let aside = (0..100)
        .map(|n| match n {
            0 => format!("{name}-damaged-{at}.nmp"),
            n => format!("{name}-damaged-{at}-{n}.nmp"),
        })
        .map(|name| path.with_file_name(name))
        .find(|aside| !aside.exists());
    let failed = |reason: String| RecordError::Failed {
        operation: "setting aside",
        path: path.to_owned(),
        reason,
    };
    let aside = aside.ok_or_else(|| failed("too many others are there".to_owned()))?;
    let log = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        PathBuf::from(name)
    };
    // The log belongs to the file and has ticks in it: both go, or neither.
    let has_log = log(path).exists();
    if has_log {
        fs::rename(log(path), log(&aside)).map_err(|error| failed(error.to_string()))?;
    }
    if let Err(error) = fs::rename(path, &aside) {
        if has_log {
            let _ = fs::rename(log(&aside), log(path));
        }
        return Err(failed(error.to_string()));
    }
    Ok(aside)
}
