//! Whether a PID that a driver names is a process of ours. The driver's PIDs are the host's; in a container the
//! same number may belong to something else, whose name must not stand beside a device.

use super::files::{Files, reason};
use crate::model::Absent;

/// What a driver's PID is here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Owner {
    /// A process that we see.
    Ours,
    /// Outside this container.
    Foreign,
    /// It cannot be told, or may not be read, for this reason.
    Undecided(Absent),
}

/// Device nodes of accelerators; what only ends in a number is told by its start.
const DEVICES: [&str; 11] = [
    "/dev/nvidia",
    "/dev/dxg",
    "/dev/davinci",
    "/dev/cambricon",
    "/dev/kfd",
    "/dev/dri/",
    "/dev/accel/",
    "/dev/habanalabs",
    "/dev/hl",
    "/dev/iluvatar",
    "/dev/mxcd",
];

/// Libraries that every process with a context on a device has mapped.
const LIBRARIES: [&str; 8] = [
    "/libcuda.so",
    "/libnvidia-",
    "/libascendcl.so",
    "/libcndrv.so",
    "/libhsa-runtime64.so",
    "/libSynapse.so",
    "/libze_",
    "/libixthunk.so",
];

/// A PID without a folder in /proc: outside, unless /proc hides other users' processes from us.
pub(super) fn of_missing(files: &mut Files, pid: u32) -> Owner {
    let hides = files
        .read("/proc/self/mountinfo")
        .is_ok_and(|text| hides_processes(&text));
    if hides && (!files.is_live() || exists(pid)) {
        return Owner::Undecided(Absent::NoPermission);
    }
    Owner::Foreign
}

/// Whether /proc is mounted so that other users' processes cannot be seen.
fn hides_processes(mountinfo: &str) -> bool {
    mountinfo.lines().any(|line| {
        let Some((mount, system)) = line.split_once(" - ") else {
            return false;
        };
        system.starts_with("proc ")
            && mount.split(' ').nth(4) == Some("/proc")
            && [
                "hidepid=2",
                "hidepid=invisible",
                "hidepid=4",
                "hidepid=ptraceable",
            ]
            .iter()
            .any(|option| system.split([',', ' ']).any(|one| one == *option))
    })
}

/// Asks the kernel without sending anything; a process that may not be signalled exists.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// In a PID namespace of our own a process is the driver's only when it holds a device or a vendor's library.
pub(super) fn by_holdings(files: &mut Files, pid: u32) -> Owner {
    const MOST_FILES: usize = 65_536;
    let mut why = None;
    match std::fs::read_dir(files.path(&format!("/proc/{pid}/fd"))) {
        Ok(entries) => {
            let holds = entries
                .flatten()
                .take(MOST_FILES)
                .filter_map(|entry| entry.path().read_link().ok())
                .any(|target| target.to_str().is_some_and(is_device));
            if holds {
                return Owner::Ours;
            }
        }
        Err(error) => why = Some(reason(&error)),
    }
    match files.read_at_most(&files.path(&format!("/proc/{pid}/maps")), 8 << 20) {
        Ok(maps) if LIBRARIES.iter().any(|library| maps.contains(library)) => Owner::Ours,
        Ok(_) if why.is_none() => Owner::Foreign,
        Ok(_) => Owner::Undecided(why.unwrap_or(Absent::NotReported)),
        Err(denied) => Owner::Undecided(why.unwrap_or(denied)),
    }
}

fn is_device(target: &str) -> bool {
    DEVICES.iter().any(|device| target.starts_with(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_processes_are_known_from_the_mount() {
        for (options, expected) in [
            ("rw", false),
            ("rw,hidepid=2", true),
            ("rw,gid=5,hidepid=invisible", true),
            ("rw,hidepid=1", false),
        ] {
            let text = format!("22 27 0:21 / /proc rw,relatime - proc proc {options}\n");
            assert_eq!(hides_processes(&text), expected, "{options}");
        }
        assert!(!hides_processes("22 27 0:21 / /proc"));
    }

    #[test]
    fn existence_is_asked_of_the_kernel() {
        assert!(exists(std::process::id()));
        assert!(!exists(u32::MAX));
        assert!(!exists(0));
    }
}
