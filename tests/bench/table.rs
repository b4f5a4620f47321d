//! The table: what was measured, with the budget beside it.

use super::Measured;
use std::fmt::Write;

/// A row: its name, the figure of each case, and the budget for 8 and for 64 devices.
struct Line {
    what: &'static str,
    value: fn(&Measured) -> Option<f64>,
    decimals: usize,
    most: Option<(f64, f64)>,
    /// Which cases the budget speaks of.
    holds_for: fn(&Measured) -> bool,
}

const PACE: &str = "refreshes a second (at least 1.0)";

/// One refresh a second, less what the edges of the window can take.
const LEAST_PACE: f64 = 0.95;

const LINES: &[Line] = &[
    Line {
        what: "first text, ms",
        value: |m| m.first_text_ms,
        decimals: 1,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "first full frame, ms",
        value: |m| m.full_frame_ms,
        decimals: 1,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "device data on screen, ms",
        value: |m| m.data_ms,
        decimals: 1,
        most: Some((30.0, 30.0)),
        holds_for: |_| true,
    },
    Line {
        what: PACE,
        value: |m| m.refreshes_per_s,
        decimals: 2,
        most: None,
        holds_for: |_| true,
    },
    Line {
        what: "CPU per refresh, all processes, ms",
        value: |m| Some(m.cpu_ms_per_refresh),
        decimals: 2,
        most: Some((1.5, 4.0)),
        holds_for: steady,
    },
    Line {
        what: "bytes per refresh",
        value: |m| Some(m.bytes_per_refresh),
        decimals: 0,
        most: Some((1100.0, f64::INFINITY)),
        holds_for: steady,
    },
    Line {
        what: "bytes a second",
        value: |m| Some(m.bytes_per_s),
        decimals: 0,
        most: Some((100.0, 100.0)),
        holds_for: frozen,
    },
    Line {
        what: "frames per refresh",
        value: |m| Some(m.frames_per_refresh),
        decimals: 2,
        most: Some((1.05, 1.05)),
        holds_for: |_| true,
    },
    Line {
        what: "pieces the terminal read per refresh",
        value: |m| Some(m.reads_per_refresh),
        decimals: 2,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "write calls a second, pipes too",
        value: |m| Some(m.write_calls_per_s),
        decimals: 1,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "peak memory, all processes, MB",
        value: |m| Some(m.peak_mb),
        decimals: 1,
        most: Some((16.0, 20.0)),
        holds_for: |_| true,
    },
    Line {
        what: "processes",
        value: |m| Some(m.processes as f64),
        decimals: 0,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "threads",
        value: |m| Some(m.threads as f64),
        decimals: 0,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "NVML calls per refresh",
        value: |m| m.calls_per_refresh,
        decimals: 0,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "of these PCIe throughput",
        value: |m| m.pcie_calls_per_refresh,
        decimals: 1,
        most: None,
        holds_for: steady,
    },
    Line {
        what: "process lists per device and second",
        value: |m| Some(m.process_lists_per_s? / m.devices? as f64),
        decimals: 2,
        most: Some((0.2, 0.2)),
        holds_for: |_| true,
    },
    Line {
        what: "key to redraw, median ms",
        value: |m| m.key_median_ms,
        decimals: 1,
        most: Some((5.0, 5.0)),
        holds_for: |_| true,
    },
    Line {
        what: "key to redraw, worst ms",
        value: |m| m.key_worst_ms,
        decimals: 1,
        most: Some((20.0, 20.0)),
        holds_for: |_| true,
    },
    Line {
        what: "`q` to the end, ms",
        value: |m| m.quit_ms,
        decimals: 1,
        most: None,
        holds_for: steady,
    },
];

fn steady(measured: &Measured) -> bool {
    !measured.frozen
}

fn frozen(measured: &Measured) -> bool {
    measured.frozen
}

/// The table of assets/docs/performance.md.
pub(crate) fn markdown(rows: &[Measured], once_ms: Option<f64>, size: (u16, u16)) -> String {
    let mut text = format!(
        "Measured {}, {}x{}, 1 s.\n\n| what |",
        machine(),
        size.0,
        size.1
    );
    for row in rows {
        let _ = write!(text, " {} |", row.name);
    }
    text += " at most, 8 / 64 |\n|---|";
    text += &"---:|".repeat(rows.len() + 1);
    text.push('\n');
    for line in LINES {
        let _ = write!(text, "| {} |", line.what);
        for row in rows {
            let _ = write!(text, " {} |", cell(line, row));
        }
        let _ = writeln!(text, " {} |", line.most.map_or(String::new(), budget));
    }
    let once = once_ms.map_or("-".to_owned(), |ms| format!("{ms:.0} ms"));
    let _ = writeln!(
        text,
        "\n`once` as a whole process, two samples 200 ms apart: {once} (at most 300 ms)."
    );
    text += NOTES;
    text
}

/// One program as it is, without budgets.
pub(crate) fn plain(rows: &[Measured]) -> String {
    let mut text = format!("Measured {}.\n", machine());
    for row in rows {
        let _ = writeln!(text, "{}", row.name);
        for line in LINES {
            let value =
                (line.value)(row).map_or("-".to_owned(), |v| format!("{v:.*}", line.decimals));
            let _ = writeln!(text, "  {:<40} {value:>10}", line.what);
        }
    }
    text
}

const NOTES: &str = "
A figure over its budget is bold with an exclamation mark; `-` was not seen. Times to the screen run from just before the start
of the program; \"first text\" and \"device data\" (a device's name and a number of watts) are medians of three starts, \"full
frame\" is 60 % of the characters that stand there after the warm-up. CPU is on-CPU time of every thread of every process
of ours (/proc schedstat), memory the sum of their peaks (VmHWM). A refresh is a round of utilization calls, as the fake library
counts them. A frame is a begin of synchronized output. Keys: sixteen cursor presses. The fake's own work is in our CPU time.
";

fn cell(line: &Line, row: &Measured) -> String {
    let Some(value) = (line.value)(row) else {
        return "-".to_owned();
    };
    let text = format!("{value:.*}", line.decimals);
    let most = line.most.map(|(few, many)| {
        if row.devices.unwrap_or(8) > 8 {
            many
        } else {
            few
        }
    });
    match most {
        Some(most) if value > most && (line.holds_for)(row) => format!("**{text}!**"),
        // The only figure that must not be low.
        _ if line.what == PACE && value < LEAST_PACE => format!("**{text}!**"),
        _ => text,
    }
}

fn budget((few, many): (f64, f64)) -> String {
    if few == many {
        few.to_string()
    } else if many.is_finite() {
        format!("{few} / {many}")
    } else {
        format!("{few} / -")
    }
}

/// Date, version and machine, so that a figure can be weighed later.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|l| {
            l.strip_prefix("model name")?
                .split_once(':')
                .map(|(_, name)| name.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg")
        .split(' ')
        .next()
        .unwrap_or("?")
        .to_owned();
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let day = jiff::Timestamp::now()
        .to_string()
        .chars()
        .take(10)
        .collect::<String>();
    format!(
        "{day}, nameplate {}, {cores} CPUs ({cpu}), Linux {kernel}, load {load}",
        env!("CARGO_PKG_VERSION")
    )
}
