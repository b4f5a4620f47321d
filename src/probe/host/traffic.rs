//! Network, disk and InfiniBand counters.

use super::files::{Files, reason};
use crate::model::{Absent, Reading};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Bytes (received, sent) by interface, from /proc/net/dev.
pub(super) fn interfaces(dev: &str) -> HashMap<String, [u64; 2]> {
    dev.lines()
        .filter_map(|line| {
            let (name, counters) = line.split_once(':')?;
            let mut counters = counters.split_whitespace();
            let received = counters.next()?.parse().ok()?;
            let sent = counters.nth(7)?.parse().ok()?;
            Some((name.trim().to_owned(), [received, sent]))
        })
        .collect()
}

/// Names of interfaces that carry what another one carries too, or nothing that leaves the machine.
const INNER: [&str; 20] = [
    "lo",
    "ifb",
    "veth",
    "docker",
    "br",
    "virbr",
    "cni",
    "flannel",
    "cali",
    "cilium",
    "lxc",
    "tunl",
    "dummy",
    "tap",
    "vnet",
    "vlan",
    "bond",
    "team",
    "podman",
    "kube-ipvs",
];

/// Which of these interfaces to count: those with hardware (or a hypervisor) behind them, each byte once. A
/// container's own end of a pair has none; then the names decide.
pub(super) fn outward(files: &Files, names: &HashSet<String>) -> HashSet<String> {
    let class = files.path("/sys/class/net");
    let has_device = |name: &str| class.join(name).join("device").exists();
    // Under Hyper-V the virtual interface and the card's function behind it both count the same bytes.
    let counted_above = |name: &str| {
        class
            .join(name)
            .join("master")
            .read_link()
            .is_ok_and(|master| {
                master
                    .file_name()
                    .and_then(|name| name.to_str())
                    .is_some_and(has_device)
            })
    };
    let real: HashSet<String> = names
        .iter()
        .filter(|name| is_file_name(name) && has_device(name) && !counted_above(name))
        .cloned()
        .collect();
    if !real.is_empty() {
        return real;
    }
    names
        .iter()
        .filter(|name| !INNER.iter().any(|inner| is_numbered(name, inner)))
        .cloned()
        .collect()
}

/// `name` is `stem` itself or `stem` with anything that interfaces of its kind are told apart by.
fn is_numbered(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| {
        rest.is_empty()
            || stem.len() > 2
            || rest.starts_with(|c: char| c.is_ascii_digit() || c == '-')
    })
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

/// TCP segments (sent, sent again) from /proc/net/snmp, by the header's names: the fields differ between kernels.
pub(super) fn tcp_segments(snmp: &str) -> Option<[u64; 2]> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (header, values) = (lines.next()?, lines.next()?);
    let value = |name| {
        let position = header.split_whitespace().position(|field| field == name)?;
        values.split_whitespace().nth(position)?.parse().ok()
    };
    Some([value("OutSegs")?, value("RetransSegs")?])
}

/// Bytes (read, written) by whole disk, from /proc/diskstats. Left out is what would count a byte twice or never
/// reaches a disk: partitions, device mapper and RAID over disks, loop and memory disks, paths of a multipath disk.
pub(super) fn disks(diskstats: &str) -> HashMap<String, [u64; 2]> {
    // The kernel's sector in this file is always 512 bytes (Documentation/admin-guide/iostats.rst).
    const SECTOR: u64 = 512;
    let all: HashMap<&str, [u64; 2]> = diskstats
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(2);
            let name = fields.next()?;
            let read: u64 = fields.nth(2)?.parse().ok()?;
            let written: u64 = fields.nth(3)?.parse().ok()?;
            Some((
                name,
                [read.checked_mul(SECTOR)?, written.checked_mul(SECTOR)?],
            ))
        })
        .collect();
    all.iter()
        .filter(|(name, _)| {
            is_disk(name) && !partition_of(name).is_some_and(|disk| all.contains_key(disk))
        })
        .map(|(name, bytes)| ((*name).to_owned(), *bytes))
        .collect()
}

fn is_disk(name: &str) -> bool {
    const NOT: [&str; 8] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd", "bcache"];
    let hidden_path = name
        .strip_prefix("nvme")
        .is_some_and(|rest| rest.contains('c'));
    !hidden_path && !NOT.iter().any(|stem| name.starts_with(stem))
}

/// The disk whose partition this would be: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
fn partition_of(name: &str) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() {
        return None;
    }
    match stem.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => Some(disk),
        _ => Some(stem),
    }
}

/// Every InfiniBand or RoCE port's folder.
///
/// # Errors
/// `NotSupported` where the host has none.
pub(super) fn infiniband_ports(files: &Files) -> Reading<Vec<PathBuf>> {
    const MOST: usize = 64;
    let mut ports = Vec::new();
    for adapter in folders(&files.path("/sys/class/infiniband"))? {
        ports.extend(folders(&adapter.join("ports")).unwrap_or_default());
    }
    ports.truncate(MOST);
    if ports.is_empty() {
        Err(Absent::NotSupported)
    } else {
        Ok(ports)
    }
}

fn folders(path: &Path) -> Reading<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).map_err(|error| reason(&error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Bytes (received, sent) by port. The counters are in words of four bytes.
///
/// # Errors
/// The first reason where no port gave both.
pub(super) fn infiniband_bytes(
    files: &mut Files,
    ports: &[PathBuf],
) -> Reading<HashMap<PathBuf, [u64; 2]>> {
    const WORD: u64 = 4;
    by_port(ports, |port| {
        let counters = port.join("counters");
        let received = files.number(&counters.join("port_rcv_data"))?;
        let sent = files.number(&counters.join("port_xmit_data"))?;
        Ok([received.saturating_mul(WORD), sent.saturating_mul(WORD)])
    })
}

/// Errors by port: those of the counters below that this adapter has.
///
/// # Errors
/// The first reason where no port has any of them.
pub(super) fn infiniband_errors(
    files: &mut Files,
    ports: &[PathBuf],
) -> Reading<HashMap<PathBuf, [u64; 1]>> {
    const COUNTERS: [&str; 5] = [
        "counters/symbol_error",
        "hw_counters/out_of_sequence",
        "hw_counters/packet_seq_err",
        "hw_counters/local_ack_timeout_err",
        "hw_counters/rnr_nak_retry_err",
    ];
    by_port(ports, |port| {
        let mut sum = None;
        let mut why = Absent::NotSupported;
        for counter in COUNTERS {
            match files.number(&port.join(counter)) {
                Ok(count) => sum = Some(sum.unwrap_or(0_u64).saturating_add(count)),
                Err(Absent::NotSupported) => {}
                Err(other) => why = other,
            }
        }
        sum.map(|sum| [sum]).ok_or(why)
    })
}

fn by_port<const N: usize>(
    ports: &[PathBuf],
    mut read: impl FnMut(&Path) -> Reading<[u64; N]>,
) -> Reading<HashMap<PathBuf, [u64; N]>> {
    let mut why = Absent::NotSupported;
    let mut all = HashMap::new();
    for (position, port) in ports.iter().enumerate() {
        match read(port) {
            Ok(counters) => {
                all.insert(port.clone(), counters);
            }
            Err(reason) if position == 0 => why = reason,
            Err(_) => {}
        }
    }
    if all.is_empty() { Err(why) } else { Ok(all) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0
ib0:7 1 0 0 0 0 0 0 8 2 0 0 0 0 0 0
 short: 1 2 3
";

    #[test]
    fn interfaces_are_read() {
        let all = interfaces(DEV);
        assert_eq!(all.len(), 3);
        assert_eq!(all.get("eth0"), Some(&[100, 200]));
        assert_eq!(all.get("ib0"), Some(&[7, 8]));
    }

    #[test]
    fn each_byte_is_counted_once() {
        let set = |names: &str| {
            names
                .split_whitespace()
                .map(str::to_owned)
                .collect::<HashSet<_>>()
        };
        // With hardware behind interfaces only these; without, by name.
        let tree = Tree::new(&[
            ("/sys/class/net/eth0/device/x", ""),
            ("/sys/class/net/enP1/device/x", ""),
            ("/sys/class/net/enp3/device/x", ""),
            ("/sys/class/net/bond0/y", ""),
        ]);
        tree.link("/sys/class/net/enP1/master", "../eth0");
        tree.link("/sys/class/net/enp3/master", "../bond0");
        let files = Files::new(tree.root());
        for (names, expected) in [
            ("lo eth0 enP1 enp3 bond0 docker0 veth12ab", "eth0 enp3"),
            ("lo eth5 docker0 br-12 veth1", "eth5"),
            ("lo tailscale0 brain0", "tailscale0 brain0"),
            ("lo", ""),
        ] {
            assert_eq!(outward(&files, &set(names)), set(expected), "{names}");
        }
    }

    #[test]
    fn tcp_is_read_by_name() {
        for (text, expected) in [
            (
                "Ip: a\nIp: 1\nTcp: InSegs OutSegs RetransSegs\nTcp: 1 500 20\n",
                Some([500, 20]),
            ),
            (
                "Tcp: RetransSegs MaxConn OutSegs\nTcp: 3 -1 70\n",
                Some([70, 3]),
            ),
            ("Tcp: OutSegs\nTcp: 1\n", None),
            ("Tcp: OutSegs RetransSegs\n", None),
        ] {
            assert_eq!(tcp_segments(text), expected, "{text}");
        }
    }

    #[test]
    fn only_whole_disks_count() {
        let line = |name: &str| format!(" 8 0 {name} 1 2 10 4 5 6 20 8 0 9 9\n");
        let names = "sda sda1 sda12 nvme0n1 nvme0n1p1 nvme0c0n1 vdb xvda1 loop0 ram0 zram0 dm-0 md127 sr0 mmcblk0 mmcblk0p2";
        let text: String = names.split_whitespace().map(line).collect();
        let mut kept: Vec<_> = disks(&text).into_iter().collect();
        kept.sort();
        let names: Vec<_> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["mmcblk0", "nvme0n1", "sda", "vdb", "xvda1"]);
        assert!(kept.iter().all(|(_, bytes)| *bytes == [5120, 10240]));
    }

    #[test]
    fn infiniband_words_are_bytes() {
        let tree = Tree::new(&[
            (
                "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
                "100\n",
            ),
            (
                "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
                "25\n",
            ),
            (
                "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error",
                "2\n",
            ),
            (
                "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence",
                "3\n",
            ),
            (
                "/sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data",
                "N/A (no PMA)\n",
            ),
        ]);
        let mut files = Files::new(tree.root());
        let ports = infiniband_ports(&files).unwrap();
        assert_eq!(ports.len(), 2);
        let bytes = infiniband_bytes(&mut files, &ports).unwrap();
        assert_eq!(bytes.values().collect::<Vec<_>>(), [&[400, 100]]);
        let errors = infiniband_errors(&mut files, &ports).unwrap();
        assert_eq!(errors.values().collect::<Vec<_>>(), [&[5]]);
        assert_eq!(
            infiniband_ports(&Files::new(&tree.root().join("sys"))),
            Err(Absent::NotSupported)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(Tcp:|OutSegs|RetransSegs|:|sda|p|\\n|[0-9 ]|\\PC){0,60}") {
            let _ = (interfaces(&text), tcp_segments(&text), disks(&text));
        }
    }
}
