//! The running recorder: killed, ended, refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "what was left out is told")]

use nameplate::record::{Reader, Record};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The recorder on an empty root: no device, no host; its ticks come all the same.
fn recorder(folder: &Path) -> Child {
    let root = folder.join("root");
    std::fs::create_dir_all(&root).unwrap();
    Command::new(env!("CARGO_BIN_EXE_nameplate"))
        .args(["record", "--interval", "0.1s", "-o"])
        .arg(folder.join("a.nmp"))
        .arg("--root")
        .arg(root)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Numbers of the ticks of a recording that can be read by now.
fn ticks(path: &Path) -> usize {
    let Ok(reader) = Reader::open(path) else {
        return 0;
    };
    let records = reader.records(1).map(Result::unwrap);
    records.filter(|r| matches!(r, Record::Tick(..))).count()
}

/// Waits until a recorder has written so many ticks.
fn wait_for(path: &Path, count: usize) -> usize {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let there = ticks(path);
        if there >= count {
            return there;
        }
        assert!(Instant::now() < end, "{there} ticks in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn a_killed_recorder_keeps_what_was_written_and_another_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut before = 0;
    for round in 1..=4 {
        let mut child = recorder(folder.path());
        let there = wait_for(&path, before + 5 * round);
        child.kill().unwrap();
        ended(child);
        let after = ticks(&path);
        assert!(after >= there, "{after} of {there}");
        before = after;
    }
}

fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 == 1
}

#[test]
fn a_recorder_ends_cleanly_and_lets_no_second_one_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    for signal in [
        rustix::process::Signal::TERM,
        rustix::process::Signal::INT,
        rustix::process::Signal::HUP,
    ] {
        // Under `nohup` a hangup stays ignored, in these tests as well.
        if signal == rustix::process::Signal::HUP && hangup_is_ignored() {
            eprintln!("ignored: this process was started with hangups ignored");
            continue;
        }
        let child = recorder(folder.path());
        let before = ticks(&path);
        wait_for(&path, before + 3);
        let second = ended(recorder(folder.path()));
        assert_eq!(second.status.code(), Some(1));
        let said = String::from_utf8(second.stderr).unwrap();
        let pid = format!("is being recorded by process {}; next: ", child.id());
        assert!(said.contains(&pid), "{said}");
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, signal).unwrap();
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout.lines().count(), 2, "{stdout}");
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("a.nmp"))
            .collect();
        assert_eq!(names, ["a.nmp"], "one plain file");
    }
}

#[test]
fn a_recorder_in_the_background_has_a_session_of_its_own_and_is_stopped_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir_all(&root).unwrap();
    let record = |option: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_nameplate"))
            .args(["record", option, "--interval", "0.1s", "--root"])
            .arg(&root)
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        // Where these tests run in a container, that is said each time.
        let said = text(output.stderr);
        let said = said
            .lines()
            .filter(|line| !line.contains("lies in the container's own layer"));
        let said: String = said.map(|line| format!("{line}\n")).collect();
        (output.status.code(), text(output.stdout), said)
    };
    assert!(record("--status").1.starts_with("nobody records into "));
    let (code, stdout, stderr) = record("--background");
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let pid: u32 = stdout.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(
        stdout.ends_with("; `nameplate record --stop` ends it\n"),
        "{stdout}"
    );
    let path = folder.path().join("state/nameplate/recording.nmp");
    wait_for(&path, 3);
    let process = rustix::process::Pid::from_raw(pid as i32);
    let session = rustix::process::getsid(process).unwrap();
    assert_eq!(Some(session), process, "a session of its own");
    let (code, stdout, _) = record("--status");
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with(&format!("process {pid} records into ")),
        "{stdout}"
    );
    let (code, _, stderr) = record("--background");
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains(&format!("by process {pid}; next: ")),
        "{stderr}"
    );
    let (code, stdout, stderr) = record("--stop");
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(
        stdout.starts_with(&format!("process {pid} has ended; ")),
        "{stdout}"
    );
    assert!(record("--stop").1.starts_with("nobody records into "));
}

/// Bytes without a pattern, the same each time.
fn noise(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The bench kills hundreds (tests/bench/record.rs) and measures what each costs.
#[test]
fn a_recorder_that_is_killed_at_any_instant_leaves_a_file_that_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 1..=6 {
        let mut child = recorder(folder.path());
        // Also before the file is made, and while it is.
        std::thread::sleep(Duration::from_millis(noise(&mut state) % 400));
        let before = ticks(&path);
        child.kill().unwrap();
        ended(child);
        if path.exists() && std::fs::metadata(&path).unwrap().len() > 0 {
            // `ticks` fails on the first thing that is not what was written.
            assert!(ticks(&path) >= before, "round {round}");
        }
    }
    let last = recorder(folder.path());
    wait_for(&path, ticks(&path) + 2);
    let id = rustix::process::Pid::from_child(&last);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(ended(last).status.code(), Some(0));
}

/// A disk of its own, which is full soon. `None` where this process may not mount.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &Path, bytes: u64) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
#[allow(clippy::print_stdout)]
fn a_disk_that_fills_pauses_the_recorder_and_room_lets_it_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 1 << 20) else {
        println!("ignored: this process may not mount a tmpfs");
        return;
    };
    let filler = disk.0.join("filler");
    let root = folder.path().join("root");
    std::fs::create_dir_all(&root).unwrap();
    let path = disk.0.join("a.nmp");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nameplate"));
    command
        .args(["record", "--interval", "0.1s", "-o"])
        .arg(&path)
        .arg("--root")
        .arg(&root)
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .env("XDG_CONFIG_HOME", folder.path().join("config"))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.path().join("said")).unwrap());
    let child = command.spawn().unwrap();
    wait_for(&path, 5);
    // Somebody else takes the room.
    let mut more = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut more, &[7; 4096]).is_ok_and(|written| written > 0) {}
    let said = || std::fs::read_to_string(folder.path().join("said")).unwrap();
    let until = |word: &str| {
        let end = Instant::now() + Duration::from_secs(120);
        while !said().contains(word) {
            assert!(Instant::now() < end, "{}", said());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until("paused since ");
    let full = ticks(&path);
    std::fs::remove_file(&filler).unwrap();
    drop(more);
    until("goes on since ");
    wait_for(&path, full + 3);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let status = ended(child).status;
    assert_eq!(status.code(), Some(0), "{}", said());
    let reader = Reader::open(&path).unwrap();
    let fresh = reader
        .records(1)
        .filter(|r| matches!(r, Ok(Record::Start(s)) if s.fresh))
        .count();
    assert!(fresh >= 2, "what was seen meanwhile is in the next Start");
}
