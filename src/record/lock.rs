//! One writer for each file: a lock beside it that names its holder and goes with the process, however that ends.

use super::error::RecordError;
use rustix::fs::{FlockOperation, flock, fstat};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A lock that is only looked at is free again at once: so often it is tried, so far apart.
const LOOKS: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Held by the writer; let go when dropped, or by the kernel when the process ends.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock of a recording.
    pub(super) fn take(recording: &Path) -> Result<Self, RecordError> {
        let path = beside(recording);
        let failed = |reason: String| RecordError::Open {
            path: path.clone(),
            reason,
        };
        // A holder that ends removes its file: whoever locked that one tries again with the next.
        let mut looks = 0;
        for _ in 0..100 {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(|error| failed(error.to_string()))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // Somebody may just be looking whether it is free.
                Err(rustix::io::Errno::WOULDBLOCK) if looks < LOOKS => {
                    looks += 1;
                    std::thread::sleep(LOOK_AGAIN);
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(RecordError::Busy {
                        path: recording.to_owned(),
                        pid: read_pid(&mut file),
                    });
                }
                Err(error) => return Err(failed(error.to_string())),
            }
            let removed = fstat(&file).is_ok_and(|stat| stat.st_nlink == 0);
            if removed {
                continue;
            }
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "{}", std::process::id()))
                .map_err(|error| failed(error.to_string()))?;
            return Ok(Self { path, _file: file });
        }
        Err(failed("its lock does not come to rest".to_owned()))
    }

    /// Whether the process of this number here has the lock's file open: in another container the same number is
    /// another process.
    pub(super) fn is_open_in(recording: &Path, pid: u32) -> bool {
        let Ok(lock) = std::fs::metadata(beside(recording)) else {
            return false;
        };
        let same = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (lock.dev(), lock.ino()))
        };
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .is_ok_and(|files| files.flatten().any(|entry| same(&entry.path())))
    }

    /// The PID of the process that writes a recording at present, if any does.
    pub(super) fn holder(recording: &Path) -> Option<u32> {
        let mut file = File::open(beside(recording)).ok()?;
        let free = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        if free { None } else { read_pid(&mut file) }
    }
}

/// The lock's own file.
fn beside(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still held: nobody else can have made it theirs.
        let _ = std::fs::remove_file(&self.path);
    }
}
