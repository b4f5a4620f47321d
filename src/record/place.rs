//! Where a recording lies decides how it is journalled.

use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

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
