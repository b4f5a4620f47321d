//! What the host is, and whether we are in a container.

use super::files::Files;
use super::process_stat::{self, seconds};
use super::system;
use crate::model::{Absent, Host, Reading};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// Reads the host's identity.
pub(super) fn read(files: &mut Files) -> Host {
    let line = |files: &mut Files, path: &str| -> Reading<Arc<str>> {
        let text = files.read(path)?;
        let cleaned = crate::text::clean(text.trim());
        if cleaned.is_empty() {
            Err(Absent::NotReported)
        } else {
            Ok(Arc::from(&*cleaned))
        }
    };
    let name = line(files, "/proc/sys/kernel/hostname");
    let kernel = line(files, "/proc/sys/kernel/osrelease");
    let (cores, boot) = match files.read("/proc/stat") {
        Ok(stat) => (
            system::cores(&stat).ok_or(Absent::NotReported),
            boot(&stat).ok_or(Absent::NotReported),
        ),
        Err(why) => (Err(why), Err(why)),
    };
    let in_pid_namespace = in_pid_namespace(files);
    Host {
        name,
        kernel,
        cores,
        boot,
        container_started: if in_pid_namespace {
            first_process(files, boot)
        } else {
            Err(Absent::NotSupported)
        },
        in_pid_namespace,
    }
}

fn boot(stat: &str) -> Option<Timestamp> {
    Timestamp::from_second(system::boot_seconds(stat)?.try_into().ok()?).ok()
}

/// When PID 1 started. In a PID namespace that is the container's start.
fn first_process(files: &mut Files, boot: Reading<Timestamp>) -> Reading<Timestamp> {
    let text = files.read("/proc/1/stat")?;
    let stat = process_stat::read(&text).ok_or(Absent::NotReported)?;
    started(boot?, stat.start_ticks)
}

/// When a process started: its ticks since boot, on the wall clock.
pub(super) fn started(boot: Timestamp, ticks: u64) -> Reading<Timestamp> {
    SignedDuration::try_from_secs_f64(seconds(ticks))
        .ok()
        .and_then(|since| boot.checked_add(since).ok())
        .ok_or(Absent::NotReported)
}

/// Whether driver PIDs (the host's) need not be ours.
fn in_pid_namespace(files: &mut Files) -> bool {
    // PROC_PID_INIT_INO of include/linux/proc_ns.h: the host's own PID namespace always has this number.
    const HOST: u64 = 0xEFFF_FFFC;
    let own = std::fs::read_link(files.path("/proc/self/ns/pid"))
        .ok()
        .and_then(|link| {
            link.to_str()?
                .strip_prefix("pid:[")?
                .strip_suffix(']')?
                .parse::<u64>()
                .ok()
        });
    match own {
        Some(number) => number != HOST,
        None => looks_like_container(files),
    }
}

/// Signs of a container, for where the namespace itself cannot be read.
fn looks_like_container(files: &mut Files) -> bool {
    const MARKS: [&str; 3] = [
        "/.dockerenv",
        "/run/.containerenv",
        "/run/systemd/container",
    ];
    const GROUPS: [&str; 6] = ["docker", "kubepods", "containerd", "libpod", "lxc", "crio"];
    let nested = |status: &str| {
        let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        pids.is_some_and(|pids| pids.split_whitespace().count() > 1)
    };
    MARKS.iter().any(|mark| files.path(mark).exists())
        || files
            .read("/proc/self/status")
            .is_ok_and(|status| nested(&status))
        || files
            .read("/proc/1/cgroup")
            .is_ok_and(|text| GROUPS.iter().any(|group| text.contains(group)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    fn host(tree: &Tree) -> Host {
        read(&mut Files::new(tree.root()))
    }

    #[test]
    fn a_container_started_with_its_first_process() {
        let tree = Tree::new(&[
            ("/proc/sys/kernel/hostname", "pod-1\u{1b}[31m\n"),
            ("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n"),
            (
                "/proc/stat",
                "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nbtime 1700000000\n",
            ),
            (
                "/proc/1/stat",
                "1 (sh (x) y) S 0 1 1 0 -1 4194560 10 20 3 40 5 6 7 8 20 0 1 0 12050 1000 10\n",
            ),
        ]);
        tree.link("/proc/self/ns/pid", "pid:[4026532300]");
        let host = host(&tree);
        assert_eq!(host.name.as_deref(), Ok("pod-1"));
        assert_eq!(host.kernel.as_deref(), Ok("6.8.0-45-generic"));
        assert_eq!(host.cores, Ok(2));
        assert_eq!(host.boot.map(|boot| boot.as_second()), Ok(1_700_000_000));
        assert_eq!(
            host.container_started.map(|at| at.as_millisecond()),
            Ok(1_700_000_120_500)
        );
        assert!(host.in_pid_namespace);
    }

    #[test]
    fn namespaces_are_told_apart() {
        for (what, file, link, expected) in [
            ("host", None, Some("pid:[4026531836]"), false),
            (
                "container with the host's PIDs",
                Some(("/.dockerenv", "")),
                Some("pid:[4026531836]"),
                false,
            ),
            ("container", None, Some("pid:[4026532300]"), true),
            ("unreadable, docker", Some(("/.dockerenv", "")), None, true),
            (
                "unreadable, podman",
                Some(("/run/.containerenv", "")),
                None,
                true,
            ),
            (
                "unreadable, Kubernetes",
                Some(("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n")),
                None,
                true,
            ),
            (
                "unreadable, nested",
                Some(("/proc/self/status", "Name: x\nNSpid:\t500\t7\n")),
                None,
                true,
            ),
            (
                "unreadable, nothing",
                Some(("/proc/1/cgroup", "0::/init.scope\n")),
                None,
                false,
            ),
        ] {
            let tree = Tree::new(&[]);
            if let Some((path, text)) = file {
                tree.write(path, text);
            }
            if let Some(target) = link {
                tree.link("/proc/self/ns/pid", target);
            }
            assert_eq!(host(&tree).in_pid_namespace, expected, "{what}");
        }
    }

    #[test]
    fn an_empty_tree_says_nothing() {
        let host = host(&Tree::new(&[]));
        assert_eq!(host.name, Err(Absent::NotSupported));
        assert_eq!(host.cores, Err(Absent::NotSupported));
        assert_eq!(host.boot, Err(Absent::NotSupported));
        assert_eq!(host.container_started, Err(Absent::NotSupported));
    }
}
