//! The screen one line after another: in a real pseudo-terminal, and through a pipe.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::{DEADLINE, Program};
use crate::pty::{Terminal, size};
use crate::support::nvml::FakeNvml;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Lines only: nothing that moves a cursor, changes a colour or takes the screen.
fn assert_plain(raw: &[u8]) {
    let steers = |b: &u8| *b < b' ' && !b"\r\n".contains(b);
    assert_eq!(
        raw.iter().find(|b| steers(b)),
        None,
        "{}",
        String::from_utf8_lossy(raw)
    );
}

/// Enough lines that nothing scrolls away.
fn open(arguments: &[&str], term: &str) -> Terminal {
    Terminal::run_with(arguments, size(100, 200), &[("TERM", term)])
}

#[test]
fn lines_in_a_terminal_are_plain_and_q_gives_it_back() {
    let mut terminal = open(&["demo", "--linear"], "xterm-256color");
    terminal.until_says("q ends");
    terminal.until_says("STALLED  power 21");
    let seen = String::from_utf8_lossy(&terminal.raw).into_owned();
    assert!(seen.starts_with("DEMO narrow-link: simulated"), "{seen}");
    let all = |screen: &vt100::Screen| screen.contents().matches("PCIe down").count();
    terminal.until("eight devices", |screen| all(screen) == 8);
    terminal.press("\r");
    terminal.until("all of it again", |screen| all(screen) == 16);
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    assert_plain(&terminal.raw);
    assert!(
        !seen.contains('q') || seen.contains("q ends"),
        "keys are echoed"
    );
    terminal.assert_restored();
}

#[test]
fn signals_and_ctrl_c_end_it() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let mut terminal = open(&["demo", "hang", "--linear"], "xterm");
        terminal.until_says("q ends");
        match signal {
            None => terminal.press("\x03"),
            Some(signal) => terminal.signal(signal),
        }
        assert_eq!(terminal.end().exit_code(), 0, "{signal:?}");
        terminal.assert_restored();
    }
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_lines() {
    for term in ["dumb", ""] {
        let mut terminal = open(&["demo"], term);
        terminal.until_says(&format!("TERM is {term:?}"));
        terminal.until_says("as with --linear");
        terminal.until_says("7  H100 80GB HBM3");
        terminal.press("q");
        assert_eq!(terminal.end().exit_code(), 0);
        assert_plain(&terminal.raw);
        terminal.assert_restored();
    }
}

/// A program whose lines are read here.
struct Piped {
    child: Child,
    lines: Receiver<String>,
    _program: Program,
}

impl Piped {
    fn start(mut program: Program) -> Self {
        let mut child = program.command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).all(|sent| sent.is_ok())
        });
        Self {
            child,
            lines,
            _program: program,
        }
    }

    /// The lines up to the first with these words.
    fn until(&self, words: &str) -> Vec<String> {
        let end = Instant::now() + DEADLINE;
        let mut seen = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no line says {words:?}:\n{}", seen.join("\n"));
            };
            let found = line.contains(words);
            seen.push(line);
            if found {
                return seen;
            }
        }
    }

    fn end(mut self) -> Option<i32> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pipe_hears_all_first_and_then_what_changes() {
    // Device 5 falls off the bus at 20 s.
    let fake = FakeNvml::named("lost");
    let args = ["--linear", "--no-record", "--interval", "0.5s"];
    let piped = Piped::start(Program::new(&args).on(&fake, 14.0).env("TERM", "xterm"));
    let first = piped.until("unobserved").join("\n");
    assert!(
        first.contains("  5  H100 80GB HBM3  working  power 6"),
        "{first}"
    );
    assert!(
        first.contains("PCIe down 10 %, up 2 %"),
        "rates need two samples: {first}"
    );
    let lost = piped.until("  5  LOST: ");
    let changed: Vec<&String> = lost.iter().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(changed.len(), 1, "the others are as they were: {lost:?}");
    assert!(
        !lost.iter().any(|line| line.contains("headroom")),
        "{lost:?}"
    );
    assert_eq!(piped.end(), Some(0));
}

#[test]
fn a_reader_that_takes_nothing_does_not_keep_it_from_ending() {
    let fake = FakeNvml::named("v64");
    let mut program = Program::new(&["--linear", "--no-record"]).on(&fake, 0.0);
    let mut child = program.command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // The first block is of 13 kB: less than half of it has room.
    rustix::pipe::fcntl_setpipe_size(&stdout, 4096).unwrap();
    let mut one = [0];
    stdout.read_exact(&mut one).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_goes_ends_it() {
    let mut program = Program::new(&["demo", "healthy", "--linear"]).env("TERM", "xterm");
    let mut child = program.command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.starts_with("DEMO healthy"), "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_recorded_ends_with_its_end() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/recording-v1.nmp");
    let args = ["replay", golden, "--speed", "10000", "--linear"];
    let output = Program::new(&args).env("TERM", "xterm").output();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let (_, end) = text
        .split_once("The recording ends here; it stands still.")
        .unwrap();
    assert!(
        end.contains("REPLAY recording-v1.nmp: recorded, shown as of 2026-03-01T10:02:30"),
        "{text}"
    );
    assert_plain(text.as_bytes());

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("gpu.csv");
    let rows = (0..3).map(|n| format!("2026/03/01 12:00:0{n}.000, 0, 1{n}0.00 W, 50 %\n"));
    let head = "timestamp, index, power.draw [W], utilization.gpu [%]\n".to_owned();
    std::fs::write(&log, rows.fold(head, |text, row| text + &row)).unwrap();
    let args = [
        "replay",
        log.to_str().unwrap(),
        "--speed",
        "100",
        "--tz",
        "UTC",
        "--linear",
    ];
    let output = Program::new(&args).output();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("power 100 W") && text.contains("power 120 W"),
        "{text}"
    );
}

/// A device that was off the bus before anybody looked has no name, but it is told of wherever devices are.
#[test]
fn what_a_driver_could_not_list_is_said() {
    let fake = FakeNvml::named("lost");
    let said = "device 5: the device has fallen off the bus (NVML code 15)";
    for args in [&["once"][..], &["diagnose", "--for", "1s"]] {
        let output = Program::new(args).on(&fake, 40.0).output();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("  4  ") && text.contains("  6  ") && text.contains(said),
            "{text}"
        );
        assert!(!text.contains("\n  5  "), "{text}");
    }
    let args = ["diagnose", "--for", "1s", "--format", "json"];
    let output = Program::new(&args).on(&fake, 40.0).output();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["warnings"][0]["line"], serde_json::Value::Null);
    assert_eq!(document["warnings"][0]["text"], format!("nvidia: {said}"));

    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let epoch = (now.as_secs_f64() - 40.0).to_string();
    let library = fake.library();
    let args = ["--no-record", "--nvml-library", library.to_str().unwrap()];
    let variables = [("NAMEPLATE_FAKE_NVML_EPOCH", epoch.as_str())];
    let mut terminal = Terminal::run_with(&args, size(80, 24), &variables);
    terminal.until_says(said);
    terminal.until_says("7  H100 80GB HBM3");
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
}
