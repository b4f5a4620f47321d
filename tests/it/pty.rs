//! The real program in a real pseudo-terminal, its screen read by a terminal emulator.
//!
//! Nothing here sleeps for a fixed time: each step waits until the screen, or the process, is as it should be, with a
//! deadline that only a hanging program reaches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::nvml::FakeNvml;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);
const PROGRAM: &str = env!("CARGO_BIN_EXE_nameplate");

pub(crate) fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Both ends of a new terminal, which no program that another test starts in this moment inherits: a library that marks them
/// afterwards lets one keep a terminal open whose closing a test waits for.
fn open(size: Winsize) -> (File, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, size).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    (File::from(master), slave)
}

/// How a program that is through ended.
pub(crate) struct Status(std::process::ExitStatus);

impl Status {
    /// A program that a signal ended has none.
    pub(crate) fn exit_code(&self) -> i32 {
        self.0.code().unwrap()
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

/// A program in a terminal.
pub(crate) struct Terminal {
    master: Option<File>,
    output: Receiver<Vec<u8>>,
    emulator: vt100::Parser,
    child: Child,
    modes: String,
    /// Every byte that came.
    pub(crate) raw: Vec<u8>,
    _home: TempDir,
}

impl Terminal {
    fn run(arguments: &[&str], size: Winsize) -> Self {
        Self::run_with(arguments, size, &[])
    }

    pub(crate) fn run_with(arguments: &[&str], size: Winsize, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (master, slave) = open(size);
        // A session of its own with this terminal, then the program in the same process.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(PROGRAM).args(arguments);
        command.env_clear();
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("NAMEPLATE_NO_PLATFORM", "1"),
        ] {
            command.env(name, value);
        }
        command.env("HOME", home.path());
        command.current_dir(home.path());
        command.envs(variables.iter().copied());
        let modes = modes(&master);
        let mut reader = master.try_clone().unwrap();
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap());
        command.stderr(slave);
        let child = command.spawn().unwrap();
        // With it go our copies of the terminal's other end.
        drop(command);
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            master: Some(master),
            output,
            emulator: vt100::Parser::new(cells(size.ws_row), cells(size.ws_col), 0),
            child,
            modes,
            raw: Vec::new(),
            _home: home,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.emulator.process(bytes);
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&vt100::Screen) -> bool) {
        let began = Instant::now();
        while !holds(self.emulator.screen()) {
            let left = DEADLINE.saturating_sub(began.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(why) => panic!(
                    "waited for {what}: {why}\n{}",
                    self.emulator.screen().contents()
                ),
            }
        }
    }

    pub(crate) fn until_says(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// The time that the header shows.
    pub(crate) fn clock(&self) -> String {
        clock_of(self.emulator.screen())
    }

    fn resize(&mut self, size: Winsize) {
        self.emulator
            .screen_mut()
            .set_size(cells(size.ws_row), cells(size.ws_col));
        tcsetwinsize(self.master.as_ref().unwrap(), size).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(self.pid()), signal).unwrap();
    }

    /// The terminal is gone, as when a connection breaks.
    pub(crate) fn hang_up(&mut self) {
        self.master = None;
        // The reader's copy of the descriptor ends with its thread, which ends when nobody listens.
        self.output = channel().1;
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The end of the program, everything it wrote before taken in.
    pub(crate) fn end(&mut self) -> Status {
        let began = Instant::now();
        let status = loop {
            match self.output.recv_timeout(Duration::from_millis(20)) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                began.elapsed() < DEADLINE,
                "the program does not end:\n{}",
                self.emulator.screen().contents()
            );
        };
        // The reader ends once nobody has the terminal open any more, the probes included.
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.take(&bytes);
        }
        Status(status)
    }

    /// The shell's terminal is back.
    pub(crate) fn assert_restored(&self) {
        let screen = self.emulator.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert_eq!(modes(self.master.as_ref().unwrap()), self.modes);
    }
}

impl Drop for Terminal {
    /// A failed test leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of the header's line.
pub(crate) fn clock_of(screen: &vt100::Screen) -> String {
    let text = screen.contents();
    let header = text.lines().next().unwrap_or_default();
    header
        .split_whitespace()
        .next_back()
        .unwrap_or_default()
        .to_owned()
}

fn modes(master: &File) -> String {
    format!("{:?}", tcgetattr(master).unwrap())
}

pub(crate) fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

/// Processes whose parent is `parent`, that have not ended.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|child| stat_of(*child).is_some_and(|(state, of)| of == parent && state != 'Z'))
        .collect()
}

/// State and parent of a process.
fn stat_of(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    Some((rest.next()?.chars().next()?, rest.next()?.parse().ok()?))
}

pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "waited for {what}");
        std::thread::yield_now();
        // A poll, not a wait for something to have happened.
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

pub(crate) fn wait_until_gone(processes: &[u32]) {
    wait_for("the end of the probes", || {
        processes
            .iter()
            .all(|p| stat_of(*p).is_none_or(|(state, _)| state == 'Z'))
    });
}

#[test]
fn the_demo_from_start_to_end() {
    let mut terminal = Terminal::run(&["demo"], size(80, 24));
    terminal.until_says("DEMO narrow-link");
    terminal.until("a row for each device", |screen| {
        let text = screen.contents();
        ["0  H100", "3  H100", "7  H100"]
            .iter()
            .all(|row| text.contains(row))
            && text.contains("STALLED")
    });
    assert!(terminal.emulator.screen().alternate_screen());
    assert!(terminal.emulator.screen().hide_cursor());
    terminal.press("?");
    terminal.until_says("the device above");
    terminal.press("\x1b");
    terminal.until_says("7  H100");
    terminal.press("\x1b[B");
    terminal.until("another selection", |screen| selected(screen) == Some(4));
    terminal.press("\r");
    terminal.until_says("UUID");
    terminal.press("\x7f");
    terminal.until("the overview", |screen| selected(screen) == Some(4));
    terminal.resize(size(120, 40));
    terminal.until("a screen of 120 columns", |screen| {
        let rows: Vec<String> = screen.rows(0, 120).collect();
        rows[39].contains("quit") && rows.iter().any(|row| row.trim_end().chars().count() > 100)
    });
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    terminal.assert_restored();
}

/// The index in the row with the mark.
fn selected(screen: &vt100::Screen) -> Option<u32> {
    let text = screen.contents();
    let row = text.lines().find(|line| line.starts_with('▌'))?;
    row.trim_start_matches('▌')
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

#[test]
fn ten_columns_and_three_lines() {
    let mut terminal = Terminal::run(&["demo"], size(10, 3));
    terminal.until("anything", |screen| !screen.contents().trim().is_empty());
    terminal.until_says("DEMO");
    terminal.press("\r?\x1b");
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn signals_give_the_terminal_back() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = Terminal::run(&["demo", "forgotten"], size(80, 24));
        terminal.until_says("3  A100");
        terminal.signal(signal);
        assert_eq!(terminal.end().exit_code(), 0, "{signal:?}");
        terminal.assert_restored();
    }
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let mut terminal = Terminal::run(&["demo"], size(80, 24));
    terminal.until_says("7  H100");
    terminal.hang_up();
    wait_for("the end of a program without terminal", || {
        terminal.has_ended()
    });
}

#[test]
fn without_an_accelerator_the_demo_is_a_key_away() {
    let root = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::run(&["--root", root.path().to_str().unwrap()], size(80, 24));
    terminal.until_says("No accelerator was found");
    terminal.until_says("library not found");
    let probes = children_of(terminal.pid());
    terminal.press("d");
    terminal.until_says("DEMO narrow-link");
    terminal.until_says("7  H100");
    // The probes of the host are not needed any more.
    wait_until_gone(&probes);
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    terminal.assert_restored();
}

/// The screen on a fake driver, once its first row is there.
fn live(fake: &FakeNvml, row: &str) -> Terminal {
    let library = fake.library();
    let mut terminal = Terminal::run(
        &["--nvml-library", library.to_str().unwrap()],
        size(120, 40),
    );
    terminal.until_says(row);
    terminal
}

#[test]
fn quitting_does_not_wait_for_the_driver() {
    for scenario in ["blocked", "blocked-all"] {
        let fake = FakeNvml::named(scenario);
        let mut terminal = live(&fake, "0  A100");
        terminal.until_says("no answer");
        let probes = children_of(terminal.pid());
        assert!(!probes.is_empty(), "there is no probe process");
        terminal.press("?");
        terminal.press("\x1b");
        terminal.press("q");
        assert_eq!(terminal.end().exit_code(), 0);
        terminal.assert_restored();
        wait_until_gone(&probes);
    }
}

#[test]
fn the_screen_outlives_its_probe() {
    let fake = FakeNvml::named("steady-a100-8");
    let mut terminal = live(&fake, "7  A100");
    terminal.until_says("● live");
    let probes = children_of(terminal.pid());
    assert!(!probes.is_empty(), "there is no probe process");
    // Killed as often as it takes: on a slow machine it may be back before a frame was drawn.
    let program = terminal.pid();
    terminal.until("word of the probe's end", |screen| {
        let told = screen.contents().contains("nvidia: the probe crashed");
        for probe in children_of(program).iter().filter(|_| !told) {
            // It may have ended by itself.
            let _ = kill_process(pid(*probe), Signal::KILL);
        }
        told
    });
    assert!(
        terminal.emulator.screen().contents().contains("7  A100"),
        "a row went with the probe"
    );
    // It is started again.
    terminal.until("the probe's return", |screen| {
        let text = screen.contents();
        text.contains("● live") && text.matches("working").count() == 8
    });
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    terminal.assert_restored();
}
