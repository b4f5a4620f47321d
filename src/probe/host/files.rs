//! Reading small files under a root, with the reason where one cannot be read.

use crate::model::{Absent, Reading};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The largest file that is read whole; what is longer is cut. A host with 400 cores has some 200 KiB of /proc/stat.
const LARGEST: u64 = 1 << 20;

/// The files under a root, read into one buffer.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    buffer: Vec<u8>,
    /// Files of the running kernel that are read each time: opening one costs more than reading it.
    kept: Vec<(PathBuf, File)>,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            buffer: Vec::with_capacity(8192),
            kept: Vec::new(),
        }
    }

    /// Whether this is the running system itself.
    pub(super) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where an absolute path lies under the root.
    pub(super) fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// A file's text; bytes that are not UTF-8 are replaced.
    pub(super) fn read(&mut self, absolute: &str) -> Reading<Cow<'_, str>> {
        let path = self.path(absolute);
        if is_kept(absolute) {
            return self.read_again(&path, LARGEST);
        }
        self.read_at_most(&path, LARGEST)
    }

    /// As [`Self::read_at_most`], of a file of the whole system that is read each time: on the running system it stays
    /// open, as the kernel makes its text anew when it is read from the start.
    pub(super) fn read_again(&mut self, path: &Path, limit: u64) -> Reading<Cow<'_, str>> {
        if !self.is_live() {
            return self.read_at_most(path, limit);
        }
        let place = self.kept.iter().position(|(name, _)| name == path);
        let (name, file) = match place {
            Some(place) => self.kept.swap_remove(place),
            None => {
                let file = File::open(path).map_err(|error| reason(&error))?;
                (path.to_owned(), file)
            }
        };
        // One that fails is opened anew the next time.
        read_from_start(&file, &mut self.buffer, limit).map_err(|error| reason(&error))?;
        self.kept.push((name, file));
        Ok(String::from_utf8_lossy(&self.buffer))
    }

    /// The text of a file whose path already has the root in it.
    pub(super) fn read_path(&mut self, path: &Path) -> Reading<Cow<'_, str>> {
        self.read_at_most(path, LARGEST)
    }

    /// As [`Self::read_path`], but no more than `limit` bytes.
    pub(super) fn read_at_most(&mut self, path: &Path, limit: u64) -> Reading<Cow<'_, str>> {
        self.buffer.clear();
        File::open(path)
            .and_then(|file| file.take(limit).read_to_end(&mut self.buffer))
            .map_err(|error| reason(&error))?;
        Ok(String::from_utf8_lossy(&self.buffer))
    }

    /// A file that holds one number.
    pub(super) fn number(&mut self, path: &Path) -> Reading<u64> {
        let text = self.read_at_most(path, 64)?;
        text.trim().parse().map_err(|_| Absent::NotReported)
    }
}

/// Whether a file belongs to the whole system and never ends: files of a process go with it.
fn is_kept(absolute: &str) -> bool {
    let rest = absolute.strip_prefix("/proc/");
    rest.is_some_and(|rest| {
        !rest.starts_with("self") && !rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The text from its first byte, at most `limit` bytes.
fn read_from_start(file: &File, buffer: &mut Vec<u8>, limit: u64) -> io::Result<()> {
    const STEP: usize = 8192;
    /// The kernel hands out such a file in whole lines, up to a page at a time (fs/seq_file.c): where half a page is
    /// left over there is no further line.
    const ENDS_BELOW: usize = 2048;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    buffer.clear();
    loop {
        let filled = buffer.len();
        let step = STEP.min(limit - filled);
        buffer.resize(filled + step, 0);
        let read = match file.read_at(&mut buffer[filled..], filled as u64) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                buffer.truncate(filled);
                continue;
            }
            read => read,
        };
        buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        if read? < ENDS_BELOW.min(step) || buffer.len() >= limit {
            return Ok(());
        }
    }
}

/// What a failed read means: no such file is a kernel or machine without that value.
pub(super) fn reason(error: &io::Error) -> Absent {
    const EOPNOTSUPP: i32 = 95;
    const ESRCH: i32 = 3;
    const ENODEV: i32 = 19;
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Absent::NotSupported,
        io::ErrorKind::PermissionDenied => Absent::NoPermission,
        _ => match error.raw_os_error() {
            // PSI that is switched off, a process that just ended, a device that just went.
            Some(EOPNOTSUPP | ESRCH | ENODEV) => Absent::NotSupported,
            _ => Absent::NotReported,
        },
    }
}

/// The value of `name` in a file of `name value` or `name: value` lines.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.starts_with([' ', '\t'])
            .then(|| rest.split_whitespace().next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn a_file_or_its_reason() {
        let tree = Tree::new(&[("/a", "42\n"), ("/b", "4x"), ("/long", &"7".repeat(100))]);
        let mut files = Files::new(tree.root());
        for (name, expected) in [
            ("/a", Ok(42)),
            ("/b", Err(Absent::NotReported)),
            ("/none", Err(Absent::NotSupported)),
            ("/a/b", Err(Absent::NotSupported)),
            ("/long", Err(Absent::NotReported)),
        ] {
            let path = files.path(name);
            assert_eq!(files.number(&path), expected, "{name}");
        }
        for (errno, expected) in [
            (13, Absent::NoPermission),
            (1, Absent::NoPermission),
            (95, Absent::NotSupported),
            (5, Absent::NotReported),
        ] {
            assert_eq!(reason(&io::Error::from_raw_os_error(errno)), expected);
        }
    }

    #[test]
    fn a_kept_file_is_read_anew_each_time() {
        let mut files = Files::new(Path::new("/"));
        let up = |files: &mut Files| files.read("/proc/uptime").map(|text| text.len() > 3);
        assert_eq!((up(&mut files), up(&mut files)), (Ok(true), Ok(true)));
        let first = files
            .read("/proc/stat")
            .map(|text| text.starts_with("cpu "));
        let second = files
            .read("/proc/stat")
            .map(|text| text.starts_with("cpu "));
        assert_eq!((first, second), (Ok(true), Ok(true)));
        let short = files
            .read_again(Path::new("/proc/stat"), 9)
            .map(|text| text.len());
        assert_eq!(short, Ok(9));
        assert_eq!(files.kept.len(), 2);
        assert!(!is_kept("/proc/self/stat") && !is_kept("/proc/17/stat") && !is_kept("/sys/x"));
        assert_eq!(
            files.read("/proc/none").map(|_| ()),
            Err(Absent::NotSupported)
        );
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "nr_periods_x 1\nnr_periods 7\nMemTotal:   12 kB\nempty\n";
        assert_eq!(field(text, "nr_periods"), Some(7));
        assert_eq!(field(text, "MemTotal"), Some(12));
        assert_eq!(field(text, "empty"), None);
        assert_eq!(field(text, "nr"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,80}", name in "[a-z]{0,4}") {
            let _ = field(&text, &name);
        }
    }
}
