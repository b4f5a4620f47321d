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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What stands in a folder, by name, without locks.
    fn standing(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
            .filter(|(name, _)| !name.ends_with(".lock"))
            .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_recording_goes_with_its_log_and_no_other_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.nmp");
        let log = folder.path().join("own.nmp-wal");
        let mut kept = Vec::new();
        // The second within the same second has a name of its own, and no log.
        for (body, ticks) in [("one", Some("ticks of one")), ("two", None)] {
            fs::write(&path, body).unwrap();
            if let Some(ticks) = ticks {
                fs::write(&log, ticks).unwrap();
            }
            let aside = set_aside(&path).unwrap();
            let name = aside.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name.starts_with("own-damaged-2") && name.ends_with(".nmp"));
            if let Some(ticks) = ticks {
                kept.push((format!("{name}-wal"), ticks.to_owned()));
            }
            kept.push((name, body.to_owned()));
            kept.sort();
            assert_eq!(standing(folder.path()), kept);
        }
    }

    /// The file cannot go (it is not there): its log stays where it was.
    #[test]
    fn both_go_or_neither() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.nmp");
        fs::write(folder.path().join("own.nmp-wal"), "ticks").unwrap();
        let error = set_aside(&path).unwrap_err();
        assert!(error.to_string().contains("own.nmp"), "{error}");
        let log = ("own.nmp-wal".to_owned(), "ticks".to_owned());
        assert_eq!(standing(folder.path()), [log]);
    }
}
