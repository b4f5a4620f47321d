#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::probe::tree::Tree;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that the test sets, in seconds.
#[derive(Clone, Default)]
pub(super) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(super) fn set(&self, seconds: u64) {
        self.0.store(seconds * 1_000_000_000, Ordering::Relaxed);
    }

    pub(super) fn probe(&self, tree: &Tree) -> HostProbe {
        let clock = self.clone();
        HostProbe::with_clock(
            tree.root(),
            Box::new(move || MonoTime(clock.0.load(Ordering::Relaxed))),
        )
    }
}

const MEMORY: &str =
    "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 100 kB\nSwapFree: 90 kB\n";
const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const PRESSURE: &str =
    "some avg10=10.00 avg60=0 avg300=0 total=1\nfull avg10=5.00 avg60=0 avg300=0 total=1\n";
const DISK: &str = " 8 0 sda 1 2 100 4 5 6 200 8\n 8 1 sda1 1 2 100 4 5 6 200 8\n";
const DISK_LATER: &str = " 8 0 sda 1 2 300 4 5 6 600 8\n 8 1 sda1 1 2 300 4 5 6 600 8\n";
const NET: &str = " lo: 5 1 0 0 0 0 0 0 5 0\neth0: 1000 1 0 0 0 0 0 0 2000 0\n";
const NET_LATER: &str = " lo: 9 1 0 0 0 0 0 0 9 0\neth0: 1500 1 0 0 0 0 0 0 4000 0\n";
const PORT: &str = "/sys/class/infiniband/mlx5_0/ports/1/counters";

/// Files at first, files two seconds later, and the readings then.
struct Case {
    what: &'static str,
    first: Vec<(&'static str, &'static str)>,
    later: Vec<(&'static str, &'static str)>,
    expected: Vec<(&'static str, Reading<f64>)>,
    scope: Reading<PsiScope>,
}

fn cases() -> Vec<Case> {
    let no_source: Reading<f64> = Err(Absent::NotSupported);
    let not_yet: Reading<f64> = Err(Absent::NotReported);
    vec![
        Case {
            what: "bare host",
            first: vec![
                ("/proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n"),
                ("/proc/loadavg", "1.50 1 1 1/1 1"),
                ("/proc/meminfo", MEMORY),
                (
                    "/proc/pressure/cpu",
                    "some avg10=20.00 avg60=0 avg300=0 total=1\n",
                ),
                ("/proc/pressure/io", PRESSURE),
                ("/proc/pressure/memory", PRESSURE),
                ("/proc/net/dev", NET),
                ("/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 100 1\n"),
                ("/proc/diskstats", DISK),
            ],
            later: vec![
                ("/proc/stat", "cpu  130 0 0 150 20 0 0 0 0 0\n"),
                ("/proc/net/dev", NET_LATER),
                ("/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 300 11\n"),
                ("/proc/diskstats", DISK_LATER),
            ],
            expected: vec![
                ("cpu_ratio", Ok(0.3)),
                ("load1", Ok(1.5)),
                ("memory_used_bytes", Ok(614_400.0)),
                ("memory_limit_bytes", Ok(1_024_000.0)),
                ("swap_used_bytes", Ok(10_240.0)),
                ("psi_cpu_some_ratio", Ok(0.2)),
                ("psi_io_some_ratio", Ok(0.1)),
                ("psi_io_full_ratio", Ok(0.05)),
                ("psi_memory_full_ratio", Ok(0.05)),
                ("cgroup_throttled_ratio", no_source),
                ("cpu_quota_cores", no_source),
                ("net_rx_bytes_per_s", Ok(250.0)),
                ("net_tx_bytes_per_s", Ok(1000.0)),
                ("tcp_segments", Ok(200.0)),
                ("tcp_retransmit_ratio", Ok(0.05)),
                ("disk_read_bytes_per_s", Ok(51_200.0)),
                ("disk_write_bytes_per_s", Ok(102_400.0)),
                ("infiniband_rx_bytes_per_s", no_source),
                ("infiniband_errors", no_source),
            ],
            scope: Ok(PsiScope::Host),
        },
        Case {
            what: "container, version 2",
            first: vec![
                ("/proc/meminfo", MEMORY),
                ("/proc/self/mountinfo", V2),
                ("/proc/self/cgroup", "0::/\n"),
                ("/proc/pressure/cpu", PRESSURE),
                ("/sys/fs/cgroup/cgroup.type", "domain\n"),
                ("/sys/fs/cgroup/memory.max", "512000\n"),
                ("/sys/fs/cgroup/memory.current", "300000\n"),
                ("/sys/fs/cgroup/memory.stat", "inactive_file 100000\n"),
                ("/sys/fs/cgroup/cpu.max", "400000 100000\n"),
                (
                    "/sys/fs/cgroup/cpu.stat",
                    "nr_periods 100\nnr_throttled 10\n",
                ),
                ("/sys/fs/cgroup/io.pressure", PRESSURE),
            ],
            later: vec![(
                "/sys/fs/cgroup/cpu.stat",
                "nr_periods 120\nnr_throttled 15\n",
            )],
            expected: vec![
                ("cpu_ratio", no_source),
                ("memory_used_bytes", Ok(200_000.0)),
                ("memory_limit_bytes", Ok(512_000.0)),
                ("swap_used_bytes", no_source),
                ("cgroup_throttled_ratio", Ok(0.25)),
                ("cpu_quota_cores", Ok(4.0)),
                // The host's CPU pressure does not fill in for our own.
                ("psi_cpu_some_ratio", no_source),
                ("psi_io_full_ratio", Ok(0.05)),
            ],
            scope: Ok(PsiScope::Cgroup),
        },
        Case {
            what: "container, version 1, limit above the machine",
            first: vec![
                ("/proc/meminfo", MEMORY),
                ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000000\n"),
                ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
                ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                (
                    "/sys/fs/cgroup/cpu/cpu.stat",
                    "nr_periods 5\nnr_throttled 1\nthrottled_time 3\n",
                ),
            ],
            later: vec![],
            expected: vec![
                ("memory_limit_bytes", Ok(1_024_000.0)),
                ("cpu_quota_cores", Ok(1.5)),
                ("cgroup_throttled_ratio", Ok(0.0)),
            ],
            scope: Err(Absent::NotSupported),
        },
        Case {
            what: "nothing sent, a counter that was reset, words that are none",
            first: vec![
                ("/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 100 1\n"),
                ("/proc/diskstats", DISK_LATER),
                ("/proc/loadavg", "soon"),
                ("/proc/meminfo", "MemTotal: many kB\n"),
            ],
            later: vec![("/proc/diskstats", DISK)],
            expected: vec![
                ("tcp_segments", Ok(0.0)),
                ("tcp_retransmit_ratio", not_yet),
                ("disk_read_bytes_per_s", not_yet),
                ("load1", not_yet),
                ("memory_limit_bytes", not_yet),
            ],
            scope: Err(Absent::NotSupported),
        },
        Case {
            what: "InfiniBand",
            first: vec![
                (
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
                    "1000\n",
                ),
                (
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
                    "1000\n",
                ),
                (
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error",
                    "4\n",
                ),
            ],
            later: vec![
                (
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
                    "1500\n",
                ),
                (
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error",
                    "7\n",
                ),
            ],
            expected: vec![
                ("infiniband_rx_bytes_per_s", Ok(1000.0)),
                ("infiniband_tx_bytes_per_s", Ok(0.0)),
                ("infiniband_errors", Ok(3.0)),
            ],
            scope: Err(Absent::NotSupported),
        },
    ]
}

#[test]
fn samples_say_what_the_files_say() {
    for case in cases() {
        let tree = Tree::new(&case.first);
        let clock = Clock::default();
        let mut probe = clock.probe(&tree);
        clock.set(100);
        let first = probe.sample();
        for (name, reading) in first.figures() {
            let rate = name.ends_with("_per_s")
                || ["cpu_ratio", "cgroup_throttled_ratio", "tcp_segments"].contains(&name);
            assert!(
                !rate || reading.is_err(),
                "{}: {name} in the first sample: {reading:?}",
                case.what
            );
        }
        for (path, text) in &case.later {
            tree.write(path, text);
        }
        clock.set(102);
        let sample = probe.sample();
        for (name, expected) in case.expected {
            let (_, got) = sample
                .figures()
                .into_iter()
                .find(|(other, _)| *other == name)
                .unwrap();
            match (got, expected) {
                (Ok(got), Ok(expected)) => {
                    assert!(
                        (got - expected).abs() < 1e-9,
                        "{}: {name} is {got}",
                        case.what
                    );
                }
                _ => assert_eq!(got, expected, "{}: {name}", case.what),
            }
        }
        assert_eq!(sample.psi_scope, case.scope, "{}", case.what);
    }
}

#[test]
fn an_empty_tree_has_no_figure_at_all() {
    let tree = Tree::new(&[]);
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    for seconds in [1, 2] {
        clock.set(seconds);
        for (name, reading) in probe.sample().figures() {
            assert_eq!(reading, Err(Absent::NotSupported), "{name}");
        }
    }
}

#[test]
fn the_same_instant_twice_has_no_rate() {
    let tree = Tree::new(&[
        ("/proc/net/dev", NET),
        (&format!("{PORT}/port_rcv_data"), "1"),
    ]);
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    clock.set(5);
    probe.sample();
    assert_eq!(probe.sample().net_rx_bytes_per_s, Err(Absent::NotReported));
}

#[test]
fn a_limit_that_changes_is_seen() {
    let tree = Tree::new(&[
        ("/proc/meminfo", MEMORY),
        ("/sys/fs/cgroup/cpu.max", "100000 100000"),
    ]);
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    clock.set(1);
    assert_eq!(probe.sample().cpu_quota_cores, Ok(1.0));
    tree.write("/sys/fs/cgroup/cpu.max", "300000 100000");
    clock.set(20);
    assert_eq!(probe.sample().cpu_quota_cores, Ok(3.0));
}

#[test]
fn what_the_kernel_has_not_made_anew_is_not_read_anew() {
    let some = |percent| format!("some avg10={percent}.00 avg60=0 avg300=0 total=1\n");
    let tree = Tree::new(&[]);
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    let seen = (0..7).map(|second: u64| {
        clock.set(second);
        tree.write("/proc/loadavg", &format!("{second}.00 1 1 1/1 1"));
        tree.write("/proc/pressure/cpu", &some(second));
        let sample = probe.sample();
        let hundredths = sample.psi_cpu_some_ratio.unwrap() * 100.0;
        (sample.load1.unwrap(), hundredths.round())
    });
    let seen: Vec<(f64, f64)> = seen.collect();
    let load = [0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 5.0];
    let pressure = [0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0];
    assert_eq!(seen, load.into_iter().zip(pressure).collect::<Vec<_>>());
}

#[test]
fn this_machine_is_plausible() {
    let mut probe = HostProbe::new(Path::new("/"));
    let host = probe.host();
    assert!(host.name.is_ok() && host.kernel.is_ok());
    assert!(host.cores.unwrap() >= 1);
    assert!(host.boot.unwrap() < jiff::Timestamp::now());
    probe.sample();
    // Some work, so that the counters go on without a pause.
    let work: u64 = (0..30_000_000_u64).fold(0, |sum, one| sum ^ one.wrapping_mul(0x9E37_79B9));
    assert_ne!(work, 1);
    let sample = probe.sample();
    assert!(sample.load1.unwrap() >= 0.0);
    assert!(sample.memory_used_bytes.unwrap() > 0.0);
    assert!(sample.memory_used_bytes.unwrap() <= sample.memory_limit_bytes.unwrap());
    for (name, reading) in sample.figures() {
        match reading {
            Ok(value) => {
                assert!(value.is_finite() && value >= 0.0, "{name}: {value}");
                assert!(!name.ends_with("_ratio") || value <= 1.0, "{name}: {value}");
            }
            Err(why) => assert!(!matches!(why, Absent::Implausible(_)), "{name}: {why:?}"),
        }
    }
    let own = std::process::id();
    let all = probe.processes(&[(own, true)]);
    let [process] = all.as_slice() else {
        panic!("{all:?}")
    };
    if !process.foreign {
        assert_eq!(process.pid, own);
        if !host.in_pid_namespace {
            assert!(process.name.is_ok() && process.user.is_ok() && process.started.is_ok());
            assert!(process.waiting_threads.is_ok());
        }
    }
}

/// Run by hand: `cargo test --lib host_sample_cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn host_sample_cost() {
    const SAMPLES: u32 = 2000;
    let mut probe = HostProbe::new(Path::new("/"));
    let cpu = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    };
    let begin = cpu();
    for _ in 0..SAMPLES {
        probe.sample();
    }
    println!(
        "{:.1} us CPU a sample",
        (cpu() - begin) / f64::from(SAMPLES) * 1e6
    );
    let own = [(std::process::id(), true)];
    let begin = cpu();
    for _ in 0..SAMPLES {
        probe.processes(&own);
    }
    println!(
        "{:.1} us CPU a look at one process",
        (cpu() - begin) / f64::from(SAMPLES) * 1e6
    );
}
