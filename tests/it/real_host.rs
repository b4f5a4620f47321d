//! The host's readings and their rules against the real thing: a CPU quota that binds, tasks that wait for a CPU, TCP
//! segments that are lost, a thread that waits for storage. Where this machine or this user cannot have one of them, the
//! test says why it is skipped, and passes.
//!
//! The probe reads a root of its own: the kernel's files, with our control group, or our network, put in place of the
//! machine's. Nothing is changed outside, and what was made is taken away again, also where a test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

use crate::score;
use crate::story::{Phase, Story};
use nameplate::model::{Cause, Change, HostSample, Metric, Plates, Process, PsiScope};
use nameplate::probe::{HostProbe, HostSource as _};
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest that a test waits for what it made to show.
const PATIENCE: Duration = Duration::from_secs(4);

fn skip(what: &str, why: impl std::fmt::Display) {
    eprintln!("skipped: {what}: {why}");
}

/// Looks again and again until something is there, or patience ends.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

/// Runs a program to its end; what it said where it failed.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{program}: {}", text(&output.stderr))),
    }
}

/// A child that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A root in which the kernel's own files lie, but for those that are put in their place.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        symlink("/sys", root.join("sys")).unwrap();
        for name in [
            "stat",
            "meminfo",
            "loadavg",
            "pressure",
            "diskstats",
            "uptime",
        ] {
            symlink(format!("/proc/{name}"), root.join("proc").join(name)).unwrap();
        }
        symlink("/proc/self/mountinfo", root.join("proc/self/mountinfo")).unwrap();
        Self(folder)
    }

    fn probe(&self) -> HostProbe {
        HostProbe::new(self.0.path())
    }
}

/// A control group of our own below the root of the CPU controller.
struct Group {
    folder: PathBuf,
    unified: bool,
}

impl Group {
    fn new() -> Result<Self, String> {
        let name = format!("nameplate-test-{}", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let v2 = Path::new("/sys/fs/cgroup");
        let (parent, unified) = match v1.is_dir() {
            true => (v1, false),
            false if v2.join("cgroup.controllers").is_file() => (v2, true),
            false => return Err("no control groups are mounted".to_owned()),
        };
        let group = Self {
            folder: parent.join(&name),
            unified,
        };
        fs::create_dir(&group.folder).map_err(|error| format!("no group of our own: {error}"))?;
        // A tenth of a core.
        let quota = match unified {
            true => group.write("cpu.max", "10000 100000"),
            false => group.write("cpu.cfs_quota_us", "10000"),
        };
        quota.map_err(|error| format!("no quota can be set: {error}"))?;
        Ok(group)
    }

    fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        fs::write(self.folder.join(file), text)
    }

    /// What `/proc/self/cgroup` says in this group.
    fn membership(&self) -> String {
        let name = self.folder.file_name().unwrap().to_string_lossy();
        match self.unified {
            true => format!("0::/{name}\n"),
            false => format!("1:cpu:/{name}\n"),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group goes once its last process has been waited for.
        let _ = until(|| match fs::remove_dir(&self.folder) {
            Err(error) if self.folder.exists() => {
                let _ = error;
                None
            }
            _ => Some(()),
        });
    }
}

/// The causes that the rules name for a device that has nothing to do for 40 % of the time, on this host.
fn named(host: &HostSample, process: Option<&Process>) -> BTreeSet<Cause> {
    let story = Story {
        name: "NVIDIA A100-SXM4-80GB",
        owned_for_s: 7200.0,
        phases: vec![Phase {
            seconds: 120.0,
            readings: vec![(Metric::Utilization, 0.95), (Metric::LimitEnforced, 400.0)],
            power_w: Some(150.0),
            starved: 0.4,
            ..Phase::default()
        }],
        interval_s: 1.0,
    };
    let mut session = score::session(&Arc::new(Plates::embedded().unwrap()));
    let mut causes = BTreeSet::new();
    for (_, mut tick) in story.ticks() {
        tick.host = Some(host.clone());
        for change in &mut tick.changes {
            if let (Change::HostProcesses(list), Some(process)) = (change, process) {
                let started = list[0].started;
                *list = vec![Process {
                    pid: 4200,
                    started,
                    ..process.clone()
                }];
            }
        }
        session.fold(&tick);
        score::verdicts(&session, |_, verdict| {
            causes.insert(verdict.cause);
        });
    }
    causes
}

#[test]
fn a_quota_that_binds_and_tasks_that_wait_for_it() {
    let group = match Group::new() {
        Ok(group) => group,
        Err(why) => return skip("a CPU quota", why),
    };
    let root = Root::new();
    fs::write(root.0.path().join("proc/self/cgroup"), group.membership()).unwrap();
    let mut probe = root.probe();
    let first = probe.sample();
    assert!(
        (first.cpu_quota_cores.unwrap() - 0.1).abs() < 1e-9,
        "{first:?}"
    );
    // Two that never rest, in a tenth of a core.
    let spin = |_| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read go; while :; do :; done"]);
        Ended(shell.stdin(Stdio::piped()).spawn().unwrap())
    };
    let mut spinning: Vec<Ended> = (0..2).map(spin).collect();
    for child in &mut spinning {
        group
            .write("cgroup.procs", &child.0.id().to_string())
            .unwrap();
        drop(child.0.stdin.take());
    }
    let bound = until(|| {
        let sample = probe.sample();
        let throttled = sample.cgroup_throttled_ratio.is_ok_and(|share| share > 0.5);
        let waits = sample.psi_cpu_some_ratio.is_ok_and(|some| some > 0.05)
            || sample.psi_cpu_some_ratio.is_err();
        (throttled && waits).then_some(sample)
    });
    let bound = bound.expect("two spinning shells are held at a tenth of a core, and wait");
    if bound.psi_cpu_some_ratio.is_err() {
        skip("CPU pressure", "this kernel keeps none");
    } else {
        assert!(matches!(
            bound.psi_scope,
            Ok(PsiScope::Host | PsiScope::Cgroup)
        ));
    }
    let causes = named(&bound, None);
    assert!(causes.contains(&Cause::HostThrottled), "{causes:?}");
    drop(spinning);
    let folder = group.folder.clone();
    drop(group);
    assert!(!folder.exists(), "nothing is left behind");
}

/// Run in a network of its own, where no answer ever comes: connects, and waits for nothing.
#[test]
#[ignore = "a child of the test below"]
fn connects_into_nothing() {
    let Some(target) = std::env::var("NAMEPLATE_TEST_TARGET").ok() else {
        return;
    };
    let target: SocketAddr = target.parse().unwrap();
    // It begins when it is told to: the counters have been read before.
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    let connect = |_| {
        std::thread::spawn(move || {
            let _ = TcpStream::connect_timeout(&target, PATIENCE);
        })
    };
    let all: Vec<_> = (0..100).map(connect).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn tcp_segments_that_are_lost() {
    // Where the kernel cannot lose packets on purpose, a route into a loop loses them as well.
    let lossy = "ip link set lo up && tc qdisc add dev lo root netem loss 100%";
    let looped = "ip link set lo up && ip addr add 198.51.100.1/32 dev lo \
                  && ip route add 203.0.113.0/24 dev lo src 198.51.100.1";
    let in_own = |script: &str| run("unshare", &["-n", "sh", "-c", script]);
    let (script, target) = match (in_own(lossy), in_own(looped)) {
        (Ok(_), _) => (lossy, "127.0.0.1:9"),
        (Err(why), Ok(_)) => {
            skip("netem", why);
            (looped, "203.0.113.7:9")
        }
        (_, Err(why)) => return skip("lost segments", why),
    };
    let test = std::env::current_exe().unwrap();
    let mut unshare = Command::new("unshare");
    unshare
        .args(["-n", "sh", "-c"])
        .arg(format!(
            "{script} && exec \"$0\" --exact --ignored real_host::connects_into_nothing"
        ))
        .arg(test)
        .env("NAMEPLATE_TEST_TARGET", target)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = Ended(unshare.spawn().unwrap());
    // `unshare` becomes the shell, and that the test: the network changes under the same PID.
    let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let pid = child.0.id().to_string();
    let moved = until(|| (of(&pid)? != of("self")?).then_some(()));
    assert!(moved.is_some(), "it has a network of its own");
    let net = PathBuf::from(format!("/proc/{pid}/net"));
    let root = Root::new();
    symlink(&net, root.0.path().join("proc/net")).unwrap();
    let mut probe = root.probe();
    let _ = probe.sample();
    drop(child.0.stdin.take());
    // The kernel sends again after a second.
    let again = || {
        let snmp = fs::read_to_string(net.join("snmp")).ok()?;
        let counters = snmp.lines().rfind(|line| line.starts_with("Tcp:"))?;
        counters.split_whitespace().nth(12)?.parse::<u64>().ok()
    };
    let seen = until(|| again().filter(|again| *again >= 50));
    assert!(seen.is_some(), "{:?} sent again", again());
    let mut lost = probe.sample();
    assert!(lost.tcp_segments.is_ok_and(|sent| sent >= 50.0), "{lost:?}");
    assert!(
        lost.tcp_retransmit_ratio.is_ok_and(|share| share > 0.3),
        "{lost:?}"
    );
    // The share is real; there are as many segments as a job sends.
    lost.tcp_segments = Ok(4000.0);
    let causes = named(&lost, None);
    assert!(causes.contains(&Cause::NetworkIo), "{causes:?}");
}

/// A file system of its own in a file, frozen; thawed, unmounted and gone at the end.
struct Frozen {
    folder: tempfile::TempDir,
}

impl Frozen {
    fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (image, mount) = (folder.path().join("image"), folder.path().join("mount"));
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(4 << 20).map_err(|error| error.to_string())?;
        fs::create_dir(&mount).map_err(|error| error.to_string())?;
        let (image, mount) = (image.to_string_lossy(), mount.to_string_lossy());
        run("mkfs.ext4", &["-q", &image])?;
        run("mount", &["-o", "loop", &image, &mount])?;
        let frozen = Self { folder };
        run("fsfreeze", &["-f", &frozen.mount()])?;
        Ok(frozen)
    }

    fn mount(&self) -> String {
        self.folder
            .path()
            .join("mount")
            .to_string_lossy()
            .into_owned()
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let mount = self.mount();
        let _ = run("fsfreeze", &["-u", &mount]);
        let _ = until(|| run("umount", &[&mount]).ok());
    }
}

#[test]
fn a_thread_that_waits_for_storage() {
    let frozen = match Frozen::new() {
        Ok(frozen) => frozen,
        Err(why) => return skip("a thread in D state", why),
    };
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "echo x > \"$0/file\""])
        .arg(frozen.mount());
    let mut writer = Ended(writer.spawn().unwrap());
    let mut probe = HostProbe::new(Path::new("/"));
    let pid = writer.0.id();
    let waiting = until(|| {
        let process = probe.processes(&[(pid, true)]).pop()?;
        process
            .waiting_threads
            .is_ok_and(|n| n > 0)
            .then_some(process)
    });
    let host = probe.sample();
    // Thawed before anything is asserted: a failure leaves no thread behind that cannot be ended.
    drop(frozen);
    let _ = writer.0.wait();
    let waiting = waiting.expect("it waits where the file system is frozen");
    assert_eq!(waiting.state, Ok('D'), "{waiting:?}");
    // The kernel's pressure is whatever else this machine does: the thread alone must be enough.
    let quiet = HostSample {
        psi_io_full_ratio: Err(nameplate::model::Absent::NotSupported),
        ..host
    };
    let causes = named(&quiet, Some(&waiting));
    assert!(causes.contains(&Cause::DiskIo), "{causes:?}");
}
