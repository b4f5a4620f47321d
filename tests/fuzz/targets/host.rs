//! Whatever the files of /proc and /sys say: a reading is a number that can be, or the reason why there is none, and text
//! from them is clean where it is shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::probe::{HostProbe, HostSource as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The files that are changed, each with what it says on a sound host.
const FILES: [(&str, &str); 16] = [
    ("proc/stat", "cpu  100 0 50 900 5 0 1 0 0 0\nbtime 1790000000\n"),
    ("proc/loadavg", "0.10 0.20 0.30 1/100 4242\n"),
    ("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapTotal: 10 kB\nSwapFree: 5 kB\n"),
    ("proc/pressure/io", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=3\n"),
    ("proc/net/dev", "Inter-| Receive\n face |bytes\n  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"),
    ("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 1000 60\n"),
    ("proc/net/route", "Iface\tDestination\nwlan0\t00000000\n"),
    ("proc/diskstats", "   8       0 sda 10 0 20 1 10 0 20 1 0 1 1 0 0 0 0 0 0\n"),
    ("proc/self/cgroup", "0::/a/b\n"),
    ("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"),
    ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 30\nthrottled_usec 9\n"),
    ("sys/fs/cgroup/a/b/cpu.max", "250000 100000\n"),
    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
    ("proc/42/stat", "42 (python3) S 1 42 42 0 -1 4194304 1 0 2 0 30 4 0 0 20 0 8 0 100 1 1 1\n"),
    ("proc/42/status", "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n"),
    ("proc/42/io", "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n"),
];

/// The folder that stands for `/`: one for each process.
fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("nameplate-fuzz-{}", std::process::id()));
        for (path, text) in FILES {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
            std::fs::write(path, text).expect("a temporary file");
        }
        root
    })
}

fn look(probe: &mut HostProbe) {
    for (name, reading) in probe.sample().figures() {
        assert!(reading.is_err() || reading.is_ok_and(|v| v.is_finite() && v >= 0.0), "{name}: {reading:?}");
    }
    let _ = (probe.host(), probe.processes(&[(42, true)]));
}

fuzz_target!(|input: (u8, &[u8])| {
    let (which, bytes) = input;
    let (path, sound) = FILES[usize::from(which) % FILES.len()];
    let path = root().join(path);
    // From a sound host to a strange one, and back: rates and growth see both ends.
    let mut probe = HostProbe::new(root());
    look(&mut probe);
    std::fs::write(&path, bytes).expect("a temporary file");
    look(&mut probe);
    look(&mut HostProbe::new(root()));
    std::fs::write(&path, sound).expect("a temporary file");
    look(&mut probe);
});
