//! /proc/stat, /proc/loadavg, /proc/meminfo and the pressure files.

use super::files::field;

/// CPU time since boot over all cores, in ticks: (busy, idle). Waiting for a disk is idle time; time that the
/// hypervisor took (steal) is busy, as it was not ours to use. Guest time is inside user time.
pub(super) fn cpu_ticks(stat: &str) -> Option<[u64; 2]> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut ticks = [0_u64; 8];
    let mut fields = line.split_whitespace();
    for (position, slot) in ticks.iter_mut().enumerate() {
        match fields.next() {
            Some(text) => *slot = text.parse().ok()?,
            // Kernels before 2.6.11 have no steal; fewer fields than user to idle are no CPU line.
            None if position < 4 => return None,
            None => break,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let sum = |parts: &[u64]| {
        parts
            .iter()
            .try_fold(0_u64, |sum, part| sum.checked_add(*part))
    };
    Some([
        sum(&[user, nice, system, irq, softirq, steal])?,
        sum(&[idle, iowait])?,
    ])
}

/// Cores that are online.
pub(super) fn cores(stat: &str) -> Option<u32> {
    let count = stat
        .lines()
        .filter_map(|line| line.strip_prefix("cpu"))
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// When the host booted, in seconds of Unix time.
pub(super) fn boot_seconds(stat: &str) -> Option<u64> {
    field(stat, "btime")
}

/// Processes that ran or waited, mean of a minute.
pub(super) fn load1(loadavg: &str) -> Option<f64> {
    let load: f64 = loadavg.split_whitespace().next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

/// The host's memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    /// Total less what could be had without swapping.
    pub(super) used: Option<u64>,
    pub(super) swap_used: Option<u64>,
}

/// Reads /proc/meminfo.
pub(super) fn memory(meminfo: &str) -> Memory {
    let bytes = |name| field(meminfo, name).and_then(|kib| kib.checked_mul(1024));
    let less = |all: Option<u64>, free: Option<u64>| all?.checked_sub(free?);
    let total = bytes("MemTotal");
    Memory {
        total,
        used: less(total, bytes("MemAvailable")),
        swap_used: less(bytes("SwapTotal"), bytes("SwapFree")),
    }
}

/// Shares of the last ten seconds in which some or all tasks stalled. Kernels before 5.13 have no `full` for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Pressure {
    pub(super) some: Option<f64>,
    pub(super) full: Option<f64>,
}

/// Reads a pressure file.
pub(super) fn pressure(text: &str) -> Pressure {
    let ratio = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let percent: f64 = line
            .split_whitespace()
            .find_map(|part| part.strip_prefix("avg10="))?
            .parse()
            .ok()?;
        (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
    };
    Pressure {
        some: ratio("some "),
        full: ratio("full "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stat_is_read() {
        for (text, ticks) in [
            (
                "cpu  100 10 40 800 50 1 2 7 30 0\ncpu0 1\n",
                Some([160, 850]),
            ),
            ("cpu 1 2 3 4\n", Some([6, 4])),
            ("cpu 1 2 3\n", None),
            ("cpu 1 2 3 x 5\n", None),
            ("cpu0 1 2 3 4\n", None),
            ("", None),
        ] {
            assert_eq!(cpu_ticks(text), ticks, "{text}");
        }
        let text = "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu17 1 2 3 4\nintr 5\nbtime 1700000000\n";
        assert_eq!(
            (cores(text), boot_seconds(text)),
            (Some(2), Some(1_700_000_000))
        );
        assert_eq!((cores(""), boot_seconds("btime soon")), (None, None));
    }

    #[test]
    fn memory_and_load_are_read() {
        let text = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        assert_eq!(
            memory(text),
            Memory {
                total: Some(1_024_000),
                used: Some(614_400),
                swap_used: Some(0)
            }
        );
        assert_eq!(memory("MemTotal: 10 kB\nMemFree: 1 kB").used, None);
        assert_eq!(memory("MemTotal: 10 kB\nMemAvailable: 11 kB").used, None);
        for (text, load) in [
            ("0.52 0.58 0.59 1/467 12", Some(0.52)),
            ("nan 1", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(load1(text), load);
        }
    }

    #[test]
    fn pressure_is_a_ratio() {
        let text = "some avg10=45.00 avg60=58.67 avg300=80.38 total=941265531\nfull avg10=2.50 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(
            pressure(text),
            Pressure {
                some: Some(0.45),
                full: Some(0.025)
            }
        );
        for bad in [
            "",
            "some",
            "some avg10=x",
            "some avg10=900.0",
            "full avg10=nan",
        ] {
            assert_eq!(pressure(bad), Pressure::default(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(cpu|btime|some |full |avg10=|MemTotal:|[0-9 .\\n]|\\PC){0,40}") {
            let _ = (cpu_ticks(&text), cores(&text), boot_seconds(&text), load1(&text), memory(&text), pressure(&text));
        }
    }
}
