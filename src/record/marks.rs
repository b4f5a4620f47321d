//! Notes for a recorder from other processes: a folder beside the recording, a file for each note. SQLite has one
//! writer; whoever else has something to say leaves it here, and the recorder takes it up with its next tick.

use crate::text::clean;
use jiff::Timestamp;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Bytes that a note holds at most.
const LONGEST: usize = 1024;
/// Notes that are taken up in one look; the rest waits for the next.
const AT_ONCE: usize = 16;
/// Entries of the folder that one look goes through.
const LOOKED_THROUGH: usize = 1024;
/// How the name of a note ends.
const SUFFIX: &str = ".mark";

/// A note at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Timestamp,
    /// What, in one line.
    pub text: String,
}

/// The folder of notes of a recording.
#[derive(Debug, Clone)]
pub struct Marks {
    folder: PathBuf,
}

impl Marks {
    /// That of a recording; nothing is made yet.
    #[must_use]
    pub fn beside(recording: &Path) -> Self {
        let mut name = recording.as_os_str().to_owned();
        name.push(".marks");
        Self {
            folder: PathBuf::from(name),
        }
    }

    /// Leaves a note for the recorder. It is there whole or not at all, for its owner only (mode 0600).
    ///
    /// # Errors
    /// The system refuses.
    pub fn leave(&self, mark: &Mark) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let name = format!(
            "{:020}-{}{SUFFIX}",
            mark.at.as_nanosecond().max(0),
            std::process::id()
        );
        let unfinished = self.folder.join(format!(".{name}"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        let text = clean(&mark.text);
        let end = text.floor_char_boundary(LONGEST);
        file.write_all(text.get(..end).unwrap_or_default().as_bytes())?;
        std::fs::rename(unfinished, self.folder.join(name))
    }

    /// The notes that wait, oldest first, each with its file. What is no note of this user is taken out of the way or left
    /// alone.
    #[must_use]
    pub fn waiting(&self) -> Vec<(PathBuf, Mark)> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut files: Vec<(Timestamp, PathBuf)> = entries
            .take(LOOKED_THROUGH)
            .flatten()
            .filter_map(|entry| Some((time_in(entry.file_name().to_str()?)?, entry.path())))
            .collect();
        files.sort();
        files
            .into_iter()
            .filter_map(|(at, path)| {
                let text = read(&path);
                if text.is_none() {
                    self.took(&path);
                }
                Some((path, Mark { at, text: text? }))
            })
            .take(AT_ONCE)
            .collect()
    }

    /// A note is in the recording: its file goes.
    pub fn took(&self, file: &Path) {
        // One that stays is taken up again, which whoever takes it up notices.
        let _ = std::fs::remove_file(file);
    }
}

/// The instant in a name.
fn time_in(name: &str) -> Option<Timestamp> {
    let (at, pid) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    pid.parse::<u32>().ok()?;
    Timestamp::from_nanosecond(at.parse::<i128>().ok()?).ok()
}

/// The text of a note. Only a plain file of this user is one: a pipe, a link or a device is not opened for long.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(path)
        .ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST as u64).read_to_end(&mut bytes).ok()?;
    let text = clean(&String::from_utf8_lossy(&bytes)).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mark(seconds: i64, text: &str) -> Mark {
        Mark {
            at: Timestamp::new(1_772_366_673 + seconds, 5).unwrap(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn notes_come_in_order_once_and_only_for_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::beside(&folder.path().join("a.nmp"));
        assert!(marks.waiting().is_empty());
        marks.leave(&mark(9, "later")).unwrap();
        marks.leave(&mark(1, "loss \u{1b}[31mrose")).unwrap();
        let found = marks.waiting();
        let notes: Vec<Mark> = found.iter().map(|(_, mark)| mark.clone()).collect();
        assert_eq!(notes, [mark(1, "loss rose"), mark(9, "later")]);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&found[0].0), 0o600);
        assert_eq!(mode(&marks.folder), 0o700);
        found.iter().for_each(|(file, _)| marks.took(file));
        assert!(marks.waiting().is_empty());
    }

    #[test]
    fn what_is_no_note_is_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::beside(&folder.path().join("a.nmp"));
        marks.leave(&mark(1, &"长".repeat(5000))).unwrap();
        let put =
            |name: &str, bytes: &[u8]| std::fs::write(marks.folder.join(name), bytes).unwrap();
        put("x.mark", b"no time");
        put("99999999999999999999999999999999-1.mark", b"no such time");
        put("00000000000000000002-7.mark", b"");
        put(".00000000000000000002-7.mark", b"unfinished");
        put("00000000000000000003-4294967295.mark", &[0xff, 0xfe, b'a']);
        let link = marks.folder.join("00000000000000000004-1.mark");
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        std::fs::create_dir(marks.folder.join("00000000000000000005-1.mark")).unwrap();
        let found = marks.waiting();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].1.text.ends_with('a'));
        assert!(found[1].1.text.len() <= LONGEST);
        assert!(!link.exists(), "a link is taken away, not followed");
    }

    #[test]
    fn many_notes_are_taken_up_some_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::beside(&folder.path().join("a.nmp"));
        for n in 0..20 {
            marks.leave(&mark(n, "note")).unwrap();
        }
        let first = marks.waiting();
        assert_eq!(first.len(), AT_ONCE);
        first.iter().for_each(|(file, _)| marks.took(file));
        assert_eq!(marks.waiting().len(), 4);
    }
}
