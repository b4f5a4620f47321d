//! Where a recording lies decides how it is journalled.

use std::path::{Path, PathBuf};

/// How writes survive a kill or a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// Write-ahead log: readers and the writer do not wait for each other. A power loss costs what the system had not
    /// written yet (usually up to 30 s), never the file.
    Ahead,
    /// Rollback journal: on network file systems, where the log's shared memory does not work. Slower; readers hold the
    /// writer up for a moment.
    Rollback {
        /// The file system, in the kernel's words.
        file_system: &'static str,
    },
}

/// File systems that other hosts may write too, by their magic number (linux/magic.h, and each project's own sources
/// for those that are not in the kernel). WAL needs memory that all writers share (sqlite.org/wal.html).
const NETWORK: [(u32, &str); 14] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
];

/// How a file at this place is journalled.
pub(super) fn journal_at(path: &Path) -> Journal {
    let known = rustix::fs::statfs(path).ok().and_then(|stat| {
        // The number has 32 bits, in a field that is signed and wider on some systems.
        network_name(stat.f_type as u32)
    });
    known.map_or(Journal::Ahead, |file_system| Journal::Rollback {
        file_system,
    })
}

fn network_name(magic: u32) -> Option<&'static str> {
    NETWORK
        .iter()
        .find(|(number, _)| *number == magic)
        .map(|(_, name)| *name)
}

/// Whether a folder lies in a container's own layer, which goes with the container: on the file system of `/`, where
/// that one is an overlay or this is a container.
#[must_use]
pub fn vanishes_with_container(folder: &Path) -> bool {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else {
        return false;
    };
    let marked = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|file| Path::new(file).exists());
    // A folder that is not made yet will lie where its parent does.
    let there = folder.ancestors().find_map(|f| f.canonicalize().ok());
    there.is_some_and(|folder| is_in_own_layer(&mounts, marked, &folder))
}

/// File systems that a container's own layer is made of.
const LAYERS: [&str; 3] = ["overlay", "fuse.fuse-overlayfs", "aufs"];

/// `mounts` as in /proc/PID/mountinfo (man 5 proc_pid_mountinfo): the fifth field is the mount point, the first one after
/// the dash the file system. Of mounts at one place the last one counts.
fn is_in_own_layer(mounts: &str, in_container: bool, folder: &Path) -> bool {
    let holder = mounts
        .lines()
        .filter_map(|line| {
            let (place, about) = line.split_once(" - ")?;
            let point = unescaped(place.split(' ').nth(4)?);
            Some((point, about.split(' ').next()?))
        })
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.components().count());
    holder.is_some_and(|(point, kind)| {
        point == Path::new("/") && (in_container || LAYERS.contains(&kind))
    })
}

/// The kernel writes blanks and backslashes in octal.
fn unescaped(text: &str) -> PathBuf {
    let plain = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let text = plain.iter().fold(text.to_owned(), |text, (code, sign)| {
        text.replace(code, sign)
    });
    PathBuf::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_own_layer_is_told_from_its_volumes() {
        let overlay = "481 466 0:62 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x\n\
                       489 481 259:1 /v /workspace rw - ext4 /dev/sda1 rw\n\
                       490 481 259:1 /v /my\\040data rw - ext4 /dev/sda1 rw\n\
                       491 481 0:63 / /dev rw shared:2 - tmpfs tmpfs rw\n";
        let plain = overlay.replace("overlay overlay", "zfs pool");
        let own =
            |mounts: &str, marked, folder: &str| is_in_own_layer(mounts, marked, Path::new(folder));
        assert!(own(overlay, false, "/home/me/.local/state/nameplate"));
        assert!(own(overlay, true, "/"));
        assert!(!own(overlay, true, "/workspace/nameplate"));
        assert!(!own(overlay, true, "/my data"));
        assert!(own(overlay, true, "/workspaces"));
        assert!(own(&plain, true, "/home"));
        assert!(!own(&plain, false, "/home"), "a host's own disk");
        for broken in ["", "x", "1 2 3 - ", " - overlay"] {
            assert!(!own(broken, true, "/home"));
        }
    }

    #[test]
    fn network_volumes_are_known_by_their_number() {
        assert_eq!(network_name(0x6969), Some("nfs"));
        assert_eq!(network_name(0xff53_4d42), Some("cifs"));
        // ext4, tmpfs, overlay
        for local in [0xef53, 0x0102_1994, 0x794c_7630] {
            assert_eq!(network_name(local), None);
        }
    }
}
