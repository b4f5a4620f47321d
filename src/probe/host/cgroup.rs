//! Our own control group: where it is, what it allows and what it used.

use super::files::{Files, field};
use crate::model::{Absent, Reading};
use procfs::FromRead;
use procfs::ProcessCGroups;
use std::path::{Component, Path, PathBuf};

/// The folders of our group in each hierarchy: our own first, then those above it as far as the mount shows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    unified: Vec<PathBuf>,
    memory: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
}

/// What the group allows. Limits of groups above ours bind as well; the tightest counts.
#[derive(Debug, PartialEq)]
pub(super) struct Limits {
    /// The tightest memory limit.
    pub(super) memory: Reading<MemoryLimit>,
    /// Cores.
    pub(super) quota_cores: Reading<f64>,
    /// The `cpu.stat` of the group whose quota it is, else of ours.
    pub(super) cpu_stat: Option<PathBuf>,
    /// Our own group's folder, where it has pressure of its own.
    pub(super) pressure: Option<PathBuf>,
}

/// A memory limit and the group that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryLimit {
    pub(super) bytes: u64,
    folder: PathBuf,
    unified: bool,
}

/// Version 1 writes "no limit" as the largest whole number of pages, version 2 as `max`. No machine has this much.
const NO_LIMIT: u64 = 1 << 60;

impl Groups {
    /// Finds our group from /proc/self/cgroup and the mounts.
    pub(super) fn find(files: &mut Files) -> Self {
        let own = files
            .read("/proc/self/cgroup")
            .ok()
            .and_then(|text| ProcessCGroups::from_read(text.as_bytes()).ok())
            .map(|groups| groups.0)
            .unwrap_or_default();
        let mounts = files
            .read("/proc/self/mountinfo")
            .map(|text| text.lines().filter_map(Mount::read).collect::<Vec<_>>())
            .unwrap_or_default();
        let path_in = |controller: Option<&str>| {
            own.iter()
                .find(|group| match controller {
                    None => group.hierarchy == 0,
                    Some(name) => group.controllers.iter().any(|other| other == name),
                })
                .map_or("/", |group| group.pathname.as_str())
        };
        let folders = |controller: Option<&str>| {
            let mount = mounts.iter().find(|mount| match controller {
                None => mount.kind == "cgroup2",
                Some(name) => {
                    mount.kind == "cgroup" && mount.options.split(',').any(|option| option == name)
                }
            });
            let (point, shown) = match (mount, controller) {
                (Some(mount), _) => (files.path(&mount.point), mount.root.as_str()),
                // A tree without a list of mounts: where everyone mounts them.
                (None, None) => (files.path("/sys/fs/cgroup"), "/"),
                (None, Some(name)) => (files.path("/sys/fs/cgroup").join(name), "/"),
            };
            upwards(&point, shown, path_in(controller))
        };
        Self {
            unified: folders(None),
            memory: folders(Some("memory")),
            cpu: folders(Some("cpu")),
        }
    }

    /// Reads the limits; they may be changed while we run.
    pub(super) fn limits(&self, files: &mut Files) -> Limits {
        let quota = self.quota(files);
        let unified_stat = self.unified.first().map(|own| own.join("cpu.stat"));
        let own_stat = self
            .cpu
            .first()
            .map(|own| own.join("cpu.stat"))
            .filter(|stat| stat.exists())
            .or(unified_stat);
        Limits {
            memory: self.memory_limit(files),
            quota_cores: quota.as_ref().map(|(cores, _)| *cores).map_err(|why| *why),
            cpu_stat: quota
                .ok()
                .map(|(_, folder)| folder.join("cpu.stat"))
                .or(own_stat),
            // The root group has no cgroup.type (Documentation/admin-guide/cgroup-v2.rst): its pressure is the host's.
            pressure: self
                .unified
                .first()
                .filter(|own| own.join("cgroup.type").exists())
                .cloned(),
        }
    }

    fn memory_limit(&self, files: &mut Files) -> Reading<MemoryLimit> {
        let unified = self
            .unified
            .iter()
            .map(|folder| (folder, "memory.max", true));
        let older = self
            .memory
            .iter()
            .map(|folder| (folder, "memory.limit_in_bytes", false));
        tightest(unified.chain(older).map(|(folder, name, unified)| {
            let text = files.read_at_most(&folder.join(name), 64)?;
            let limit = text.trim().parse().ok();
            let bytes = limit
                .filter(|bytes| *bytes < NO_LIMIT)
                .ok_or(Absent::NotSupported)?;
            let folder = folder.clone();
            Ok((
                bytes,
                MemoryLimit {
                    bytes,
                    folder,
                    unified,
                },
            ))
        }))
    }

    /// The smallest quota in cores, and its group.
    fn quota(&self, files: &mut Files) -> Reading<(f64, PathBuf)> {
        let mut all = Vec::new();
        for folder in &self.unified {
            let read = files.read_at_most(&folder.join("cpu.max"), 64);
            let cores = read.and_then(|text| {
                let mut parts = text.split_whitespace();
                cores(parts.next(), parts.next())
            });
            all.push(cores.map(|cores| (cores, (cores, folder.clone()))));
        }
        for folder in &self.cpu {
            let mut read = |name: &str| {
                let text = files.read_at_most(&folder.join(name), 64)?;
                Ok(text.trim().to_owned())
            };
            let both =
                read("cpu.cfs_quota_us").and_then(|quota| Ok((quota, read("cpu.cfs_period_us")?)));
            let cores = both.and_then(|(quota, period)| cores(Some(&quota), Some(&period)));
            all.push(cores.map(|cores| (cores, (cores, folder.clone()))));
        }
        tightest(all.into_iter())
    }
}

/// The reading with the smallest key; where there is none, the first reason that says more than "no such limit".
fn tightest<K: PartialOrd, T>(all: impl Iterator<Item = Reading<(K, T)>>) -> Reading<T> {
    let mut best: Option<(K, T)> = None;
    let mut why = Absent::NotSupported;
    for one in all {
        match one {
            Ok((key, value)) => {
                if best.as_ref().is_none_or(|(smallest, _)| key < *smallest) {
                    best = Some((key, value));
                }
            }
            Err(Absent::NotSupported) => {}
            Err(other) => why = other,
        }
    }
    best.map(|(_, value)| value).ok_or(why)
}

/// Quota over period; `max` and -1 are no quota.
fn cores(quota: Option<&str>, period: Option<&str>) -> Reading<f64> {
    let number = |text: Option<&str>| {
        text.and_then(|text| text.parse::<u64>().ok())
            .filter(|n| *n > 0)
    };
    match (number(quota), number(period)) {
        (Some(quota), Some(period)) => Ok(quota as f64 / period as f64),
        _ => Err(Absent::NotSupported),
    }
}

impl MemoryLimit {
    /// Memory that counts against the limit and cannot simply be dropped: usage less inactive file pages, the
    /// "working set" of kubelet and `docker stats`.
    pub(super) fn used(&self, files: &mut Files) -> Reading<u64> {
        let (usage, inactive) = if self.unified {
            ("memory.current", "inactive_file")
        } else {
            ("memory.usage_in_bytes", "total_inactive_file")
        };
        let usage = files.number(&self.folder.join(usage))?;
        let stat = files.read_path(&self.folder.join("memory.stat"))?;
        let inactive = field(&stat, inactive).ok_or(Absent::NotReported)?;
        Ok(usage.saturating_sub(inactive))
    }

    /// Swap of the group with the limit.
    pub(super) fn swap_used(&self, files: &mut Files) -> Reading<u64> {
        if self.unified {
            return files.number(&self.folder.join("memory.swap.current"));
        }
        let stat = files.read_path(&self.folder.join("memory.stat"))?;
        field(&stat, "total_swap").ok_or(Absent::NotSupported)
    }
}

/// CPU periods (all, throttled) from cpu.stat of either version.
pub(super) fn cpu_periods(stat: &str) -> Option<[u64; 2]> {
    Some([field(stat, "nr_periods")?, field(stat, "nr_throttled")?])
}

/// One line of mountinfo.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// Which folder of the file system is shown.
    root: String,
    /// Where.
    point: String,
    kind: String,
    /// The file system's own options: version 1 names its controllers here.
    options: String,
}

impl Mount {
    fn read(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Self {
            root: mount.next()?.to_owned(),
            point: mount.next()?.to_owned(),
            kind: system.next()?.to_owned(),
            options: system.nth(1)?.to_owned(),
        })
    }
}

/// The folder of group `path` below a mount that shows the hierarchy from `shown` on, and each folder above it.
/// Where the path is not below what is shown, the mount shows our own group as its root (a container).
fn upwards(point: &Path, shown: &str, path: &str) -> Vec<PathBuf> {
    let below = Path::new(path)
        .strip_prefix(shown)
        .ok()
        .map(|below| below.strip_prefix("/").unwrap_or(below))
        .filter(|below| {
            below
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        })
        .map(|below| {
            if below.as_os_str().is_empty() {
                point.to_owned()
            } else {
                point.join(below)
            }
        })
        .filter(|folder| folder.is_dir());
    match below {
        Some(own) => own
            .ancestors()
            .take_while(|folder| folder.starts_with(point))
            .map(Path::to_owned)
            .collect(),
        None => vec![point.to_owned()],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn limits(files: &[(&str, &str)]) -> (Tree, Limits) {
        let tree = Tree::new(files);
        let mut files = Files::new(tree.root());
        let limits = Groups::find(&mut files).limits(&mut files);
        (tree, limits)
    }

    #[test]
    fn groups_are_found_however_they_are_mounted() {
        let max = "1000\n";
        let v1 = "31 23 0:27 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        for (what, files, expected) in [
            (
                "bare host: own group below the mount, the tighter limit above it",
                vec![
                    ("/proc/self/mountinfo", V2),
                    ("/proc/self/cgroup", "0::/a/b\n"),
                    ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("/sys/fs/cgroup/a/memory.max", max),
                ],
                Ok(1000),
            ),
            (
                "container with a group namespace",
                vec![
                    ("/proc/self/mountinfo", V2),
                    ("/proc/self/cgroup", "0::/\n"),
                    ("/sys/fs/cgroup/memory.max", max),
                ],
                Ok(1000),
            ),
            (
                "container that sees the host's path, mount shows its own group",
                vec![
                    ("/proc/self/mountinfo", v1),
                    ("/proc/self/cgroup", "4:memory:/docker/ab\n0::/docker/ab\n"),
                    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", max),
                ],
                Ok(1000),
            ),
            (
                "path that is not below the mount",
                vec![
                    ("/proc/self/mountinfo", V2),
                    ("/proc/self/cgroup", "0::/kubepods/pod1/x\n"),
                    ("/sys/fs/cgroup/memory.max", max),
                ],
                Ok(1000),
            ),
            (
                "path that leads out",
                vec![
                    ("/proc/self/mountinfo", V2),
                    ("/proc/self/cgroup", "0::/../../other\n"),
                    ("/sys/fs/cgroup/memory.max", max),
                ],
                Ok(1000),
            ),
            (
                "no list of mounts, version 1",
                vec![("/sys/fs/cgroup/memory/memory.limit_in_bytes", max)],
                Ok(1000),
            ),
            (
                "no limit",
                vec![
                    ("/proc/self/mountinfo", V2),
                    ("/proc/self/cgroup", "0::/\n"),
                    ("/sys/fs/cgroup/memory.max", "max\n"),
                ],
                Err(Absent::NotSupported),
            ),
            (
                "no limit, version 1",
                vec![(
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n",
                )],
                Err(Absent::NotSupported),
            ),
            ("nothing at all", vec![], Err(Absent::NotSupported)),
        ] {
            let (_tree, limits) = limits(&files);
            assert_eq!(limits.memory.map(|limit| limit.bytes), expected, "{what}");
        }
    }

    #[test]
    fn quota_is_the_tightest_and_throttling_its_own() {
        let (tree, two) = limits(&[
            ("/proc/self/mountinfo", V2),
            ("/proc/self/cgroup", "0::/pod/job\n"),
            ("/sys/fs/cgroup/pod/job/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/pod/job/cgroup.type", "domain\n"),
            ("/sys/fs/cgroup/pod/cpu.max", "250000 100000\n"),
        ]);
        assert_eq!(two.quota_cores, Ok(2.5));
        assert_eq!(
            two.cpu_stat,
            Some(tree.root().join("sys/fs/cgroup/pod/cpu.stat"))
        );
        assert_eq!(
            two.pressure,
            Some(tree.root().join("sys/fs/cgroup/pod/job"))
        );
        let (tree, one) = limits(&[
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\n"),
        ]);
        assert_eq!(one.quota_cores, Err(Absent::NotSupported));
        assert_eq!(
            one.cpu_stat,
            Some(tree.root().join("sys/fs/cgroup/cpu/cpu.stat"))
        );
        assert_eq!(one.pressure, None);
    }

    #[test]
    fn page_cache_that_can_be_dropped_is_not_used() {
        for (files, used, swap) in [
            (
                vec![
                    ("/sys/fs/cgroup/memory.max", "5000"),
                    ("/sys/fs/cgroup/memory.current", "3000"),
                    ("/sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 1000\n"),
                    ("/sys/fs/cgroup/memory.swap.current", "7"),
                ],
                Ok(2000),
                Ok(7),
            ),
            (
                vec![
                    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000"),
                    ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3000"),
                    (
                        "/sys/fs/cgroup/memory/memory.stat",
                        "inactive_file 1\ntotal_inactive_file 500\n",
                    ),
                ],
                Ok(2500),
                Err(Absent::NotSupported),
            ),
        ] {
            let (tree, limits) = limits(&files);
            let mut files = Files::new(tree.root());
            let limit = limits.memory.unwrap();
            assert_eq!(
                (limit.used(&mut files), limit.swap_used(&mut files)),
                (used, swap)
            );
        }
    }

    #[test]
    fn periods_are_read() {
        assert_eq!(
            cpu_periods("usage_usec 5\nnr_periods 10\nnr_throttled 4\n"),
            Some([10, 4])
        );
        assert_eq!(cpu_periods("usage_usec 5\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(line in "( - |/|\\.\\.|cgroup2?|\\PC){0,20}") {
            let _ = Mount::read(&line);
            let _ = cpu_periods(&line);
            let _ = upwards(Path::new("/nowhere"), &line, &line);
            let _ = ProcessCGroups::from_read(line.as_bytes());
        }
    }
}
