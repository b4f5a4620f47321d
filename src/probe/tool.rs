//! A vendor's own tool, run as a child: what it prints is the last resort where there is no library.

use std::io::{self, Read as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// No table is longer.
const MOST: u64 = 4 << 20;

/// Runs a program to its end and gives what it printed.
///
/// # Errors
/// It could not be started, failed, or took too long.
pub(crate) fn output(command: Command, patience: Duration) -> io::Result<String> {
    match run(command, patience)? {
        (status, text) if status.success() => Ok(text),
        (status, _) => Err(io::Error::other(status.to_string())),
    }
}

/// Runs a program to its end, well or not, and gives what it printed. One that takes longer than `patience` is killed,
/// and left to a thread that waits for it.
///
/// # Errors
/// It could not be started, or took too long.
pub(crate) fn run(mut command: Command, patience: Duration) -> io::Result<(ExitStatus, String)> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (Some(stdout), pid) = (child.stdout.take(), child.id()) else {
        return Err(io::Error::other("it has no output"));
    };
    let (done, answer) = channel();
    std::thread::Builder::new()
        .name("tool".to_owned())
        .spawn(move || {
            let mut text = Vec::new();
            let read = stdout.take(MOST).read_to_end(&mut text);
            let _ = done.send(match (read, child.wait()) {
                (Ok(_), Ok(status)) => Ok((status, String::from_utf8_lossy(&text).into_owned())),
                (Err(error), _) | (_, Err(error)) => Err(error),
            });
        })?;
    answer.recv_timeout(patience).unwrap_or_else(|_| {
        kill(pid);
        Err(io::ErrorKind::TimedOut.into())
    })
}

/// Kills a child of ours that nobody has waited for yet.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// `106 W/ 250 W`, `84W / 600W` in the cell of a table: two whole numbers of one unit, in whatever case.
pub(crate) fn pair(cell: &str, unit: &str) -> Option<(i64, i64)> {
    let strip = |text: &str| {
        let (number, end) = text.split_at_checked(text.len().checked_sub(unit.len())?)?;
        let number = number.trim_end();
        end.eq_ignore_ascii_case(unit).then(|| number.to_owned())
    };
    cell.match_indices('/').find_map(|(at, _)| {
        let (left, right) = (cell.get(..at)?.trim_end(), cell.get(at + 1..)?.trim_start());
        let left = strip(left)?;
        let left = left.split_whitespace().next_back()?.parse().ok()?;
        Some((left, leading(right)?))
    })
}

/// The whole number that a text begins with.
pub(crate) fn leading(text: &str) -> Option<i64> {
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'));
    text.get(..end.map_or(text.len(), |(at, _)| at))?
        .parse()
        .ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    /// A program of these lines of shell. Another process writes it: a child that some other test starts at this moment
    /// would hold the file open, and a file that is written to cannot be run.
    pub(crate) fn script(folder: &Path, lines: &str) -> PathBuf {
        let file = folder.join("tool");
        let mut shell = shell("printf '#!/bin/sh\\n%s' \"$2\" >\"$1\" && chmod 755 \"$1\"");
        let status = shell.arg("sh").arg(&file).arg(lines).status();
        assert!(status.unwrap().success());
        file
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_tool_that_hangs_is_killed() {
        let begin = Instant::now();
        let hung = output(shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(hung.kind(), io::ErrorKind::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_pair_stands_anywhere_in_its_cell() {
        for (cell, unit, expected) in [
            ("  0%   32C        106 W/ 250 W ", "W", Some((106, 250))),
            (" N/A   30C   N/A    84W / 600W ", "W", Some((84, 600))),
            (" N/A  22C  N/A  96W /  600W  ", "W", Some((96, 600))),
            (" 512Mib / 32768Mib ", "MiB", Some((512, 32_768))),
            (" N/A /  N/A ", "W", None),
            (" é W/ ", "W", None),
            ("/", "MiB", None),
        ] {
            assert_eq!(pair(cell, unit), expected, "{cell}");
        }
    }

    #[test]
    fn what_it_prints_counts_if_it_ends_well() {
        let patience = Duration::from_secs(60);
        assert_eq!(output(shell("echo hi"), patience).unwrap(), "hi\n");
        assert!(output(shell("echo hi; exit 3"), patience).is_err());
        assert!(output(Command::new("/nowhere/cnmon"), patience).is_err());
    }
}
