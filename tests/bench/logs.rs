//! What reading logs costs, from outside: CSV on standard input of the program, its peak memory and its pace.
//!
//! ```text
//! cargo bench --bench logs                    1 GB of nvidia-smi CSV, 8 devices, one row each second
//! cargo bench --bench logs -- --megabytes 50
//! ```
//!
//! Memory is flat where the last line says about the same as the first.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used
)]
#![allow(missing_docs, reason = "a program")]

use std::io::{BufWriter, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

const HEADER: &str = "timestamp, index, uuid, name, utilization.gpu [%], utilization.memory [%], power.draw [W], \
                      enforced.power.limit [W], memory.used [MiB], memory.total [MiB], temperature.gpu, clocks.sm [MHz], \
                      clocks.max.sm [MHz], pstate, clocks_event_reasons.active\n";

fn main() {
    let mut arguments = std::env::args().skip_while(|a| a != "--megabytes").skip(1);
    let most: u64 = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1000);
    println!("megabytes  seconds   MB/s  peak memory, MB");
    for megabytes in [most / 100, most / 10, most] {
        measure(megabytes.max(1));
    }
}

fn measure(megabytes: u64) {
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_nameplate"))
        .args(["diagnose", "-", "--format", "json", "--tz", "UTC"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
    input.write_all(HEADER.as_bytes()).unwrap();
    let mut written = 0;
    let begin: jiff::Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    let (mut second, mut peak) = (0_i64, 0);
    while written < megabytes * 1_000_000 {
        let at = begin
            .checked_add(jiff::SignedDuration::from_secs(second))
            .unwrap()
            .strftime("%Y/%m/%d %H:%M:%S")
            .to_string();
        for device in 0..8 {
            let util = 90 + (second + device) % 10;
            let row = format!(
                "{at}.{device:03}, {device}, GPU-{device:08}-0000-0000-0000-000000000000, NVIDIA H100 80GB HBM3, {util} %, \
                 40 %, {}.00 W, 700.00 W, 61263 MiB, 81559 MiB, 61, 1980 MHz, 1980 MHz, P0, 0x0000000000000000\n",
                600 + util
            );
            input.write_all(row.as_bytes()).unwrap();
            written += row.len() as u64;
        }
        second += 1;
        if second % 1000 == 0 {
            peak = peak.max(peak_kb(child.id()));
        }
    }
    peak = peak.max(peak_kb(child.id()));
    drop(input);
    let _ = child.wait();
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{megabytes:>9}  {seconds:>7.1}  {:>5.1}  {:>15.1}",
        megabytes as f64 / seconds,
        peak as f64 / 1000.0
    );
}

/// The most memory that a process has had so far.
fn peak_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse().ok());
    number.unwrap_or(0)
}
