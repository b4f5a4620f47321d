//! One recording for a host: who writes it, who reads it, and what becomes of it when a terminal closes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "what was left out is told")]

use crate::contract::Schema;
use crate::pty::{Terminal, children_of, pid, size, wait_for, wait_until_gone};
use crate::stage::{Stage, looking};
use crate::support::nvml::FakeNvml;
use nameplate::app::keymap::Key;
use nameplate::app::{News, Recording};
use nameplate::model::EventKind;
use nameplate::record::{Reader, Record, Writer};
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use rustix::process::{Signal, getsid, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A host with eight devices, and its user's folders.
struct Host {
    fake: FakeNvml,
    home: TempDir,
}

impl Host {
    fn new() -> Self {
        Self {
            fake: FakeNvml::named("steady-a100-8"),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.home.path().join("state/nameplate/recording.nmp")
    }

    fn configure(&self, text: &str) {
        let folder = self.home.path().join("config/nameplate");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        ["state", "config"].map(|name| {
            let variable = if name == "state" {
                "XDG_STATE_HOME"
            } else {
                "XDG_CONFIG_HOME"
            };
            let folder = self.home.path().join(name);
            (variable, folder.to_str().unwrap().to_owned())
        })
    }

    fn library(&self) -> String {
        self.fake.library().to_str().unwrap().to_owned()
    }

    fn screen(&self, more: &[&str]) -> Terminal {
        let library = self.library();
        let arguments: Vec<&str> = ["--nvml-library", &library, "--interval", "0.2s"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let variables = self.variables();
        let variables = [0, 1].map(|n| (variables[n].0, variables[n].1.as_str()));
        Terminal::run_with(&arguments, size(120, 40), &variables)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_nameplate"))
            .args(arguments)
            .args(["--nvml-library", &self.library()])
            .envs(self.variables())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for Host {
    /// A failed test leaves no recorder behind.
    fn drop(&mut self) {
        if let Some(left) = Writer::holder(&self.file()) {
            let _ = kill_process(pid(left), Signal::KILL);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The ticks that are in a recording.
fn ticks(path: &Path) -> Vec<nameplate::model::Tick> {
    let Ok(reader) = Reader::open(path) else {
        return Vec::new();
    };
    let records = reader.records(1).map_while(Result::ok);
    records
        .filter_map(|record| match record {
            Record::Tick(_, tick) => Some(*tick),
            Record::Start(_) => None,
        })
        .collect()
}

fn wait_for_ticks(path: &Path, count: usize) {
    wait_for("ticks in the file", || ticks(path).len() >= count);
}

/// Whether an event of this kind, with this in it, is in the file.
fn is_told(path: &Path, kind: EventKind, part: &str) -> bool {
    ticks(path)
        .iter()
        .flat_map(|tick| &tick.events)
        .any(|event| event.kind == kind && event.text.contains(part))
}

#[test]
fn a_closed_terminal_leaves_a_recorder_that_goes_on_in_a_session_of_its_own() {
    let host = Host::new();
    let mut screen = host.screen(&["--price", "2.99"]);
    screen.until_says("7  A100");
    screen.until_says("recording");
    wait_for_ticks(&host.file(), 5);
    let first = screen.pid();
    assert_eq!(Writer::holder(&host.file()), Some(first));
    let refused = host.run(&["record", "--stop"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(text(&refused.stderr).contains("is a screen that records; next: "));
    let status = text(&host.run(&["record", "--status"]).stdout);
    assert!(
        status.starts_with(&format!("process {first} (a screen) records into ")),
        "{status}"
    );
    screen.hang_up();
    wait_for("the end of the screen", || screen.has_ended());
    let before = ticks(&host.file()).len();
    wait_for("another recorder", || {
        Writer::holder(&host.file()).is_some_and(|holder| holder != first)
    });
    let left = Writer::holder(&host.file()).unwrap();
    assert_eq!(getsid(Some(pid(left))).unwrap(), pid(left));
    wait_for_ticks(&host.file(), before + 5);
    let stopped = host.run(&["record", "--stop"]);
    assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    assert!(text(&stopped.stdout).starts_with(&format!("process {left} has ended; ")));
    assert_eq!(Writer::holder(&host.file()), None);
    // One file, in which time goes on.
    let ticks = ticks(&host.file());
    let gap = ticks
        .windows(2)
        .map(|pair| pair[1].mono.seconds_since(pair[0].mono))
        .fold(0.0, f64::max);
    assert!(gap > 0.0 && gap < 30.0, "{gap}");
}

/// A signal is an end like `q`: what records next has the file, and the terminal is back.
#[test]
fn a_signal_leaves_a_recorder_that_goes_on() {
    for signal in [Signal::TERM, Signal::HUP] {
        let host = Host::new();
        let mut screen = host.screen(&["--price", "2.99"]);
        screen.until_says("7  A100");
        wait_for_ticks(&host.file(), 3);
        let first = screen.pid();
        let probes = children_of(first);
        kill_process(pid(first), signal).unwrap();
        assert_eq!(screen.end().exit_code(), 0, "{signal:?}");
        screen.assert_restored();
        wait_until_gone(&probes);
        let left = Writer::holder(&host.file()).unwrap();
        assert_ne!(left, first);
        assert_eq!(getsid(Some(pid(left))).unwrap(), pid(left));
        let before = ticks(&host.file()).len();
        wait_for_ticks(&host.file(), before + 3);
        assert!(host.run(&["record", "--stop"]).status.success());
    }
}

/// A recorder that is stopped holds its file and writes nothing: the screen asks the devices itself, records nothing beside
/// it, and reads its file again once it writes again.
#[test]
fn a_recorder_that_falls_silent_is_not_waited_for_and_is_followed_when_it_is_back() {
    let host = Host::new();
    let begun = host.run(&["record", "--background", "--interval", "0.2s"]);
    assert!(begun.status.success(), "{begun:?}");
    let recorder = Writer::holder(&host.file()).unwrap();
    wait_for_ticks(&host.file(), 5);
    let mut screen = host.screen(&[]);
    screen.until_says(&format!("recorder {recorder}"));
    screen.until_says("7  A100");
    assert!(children_of(screen.pid()).is_empty(), "no probe");
    kill_process(pid(recorder), Signal::STOP).unwrap();
    screen.until_says(&format!("Recorder {recorder} has written nothing for "));
    wait_for("probes of our own", || {
        !children_of(screen.pid()).is_empty()
    });
    screen.until("the devices, read anew", |screen| {
        let text = screen.contents();
        text.contains("● live") && text.matches("working").count() == 8
    });
    assert_eq!(Writer::holder(&host.file()), Some(recorder), "one writer");
    kill_process(pid(recorder), Signal::CONT).unwrap();
    screen.until_says(&format!("recorder {recorder}"));
    wait_for("the end of our own probes", || {
        children_of(screen.pid()).is_empty()
    });
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    assert_eq!(Writer::holder(&host.file()), Some(recorder));
    assert!(host.run(&["record", "--stop"]).status.success());
}

#[test]
fn quitting_says_what_records_now() {
    let host = Host::new();
    host.configure("[record]\nafter_logout = \"record\"\n");
    let mut screen = host.screen(&[]);
    screen.until_says("7  A100");
    wait_for_ticks(&host.file(), 3);
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    screen.assert_restored();
    let left = Writer::holder(&host.file()).unwrap();
    screen.until_says(&format!("process {left} goes on recording into "));
    let status = text(&host.run(&["record", "--status"]).stdout);
    assert!(
        status.starts_with(&format!("process {left} records into ")),
        "{status}"
    );
    // The next screen reads that one's file, and leaves it alone when it ends.
    let mut screen = host.screen(&["--price", "2.99"]);
    screen.until_says(&format!("recorder {left}"));
    screen.until_says("7  A100");
    assert!(children_of(screen.pid()).is_empty(), "no probe");
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    assert_eq!(Writer::holder(&host.file()), Some(left));
    host.run(&["record", "--stop"]);
    // Neither a price nor a wish: nothing goes on.
    host.configure("");
    let mut screen = host.screen(&[]);
    screen.until_says("7  A100");
    screen.until_says("recording");
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    screen.until_says("nothing records now; ");
    assert_eq!(Writer::holder(&host.file()), None);
}

#[test]
fn several_screens_share_one_recorder_and_one_of_them_takes_over() {
    let host = Host::new();
    let mut first = host.screen(&[]);
    first.until_says("7  A100");
    first.until_says("recording");
    wait_for_ticks(&host.file(), 5);
    let recorder = format!("recorder {}", first.pid());
    let mut others = [host.screen(&[]), host.screen(&[])];
    for other in &mut others {
        other.until_says(&recorder);
        other.until_says("7  A100");
        assert!(
            children_of(other.pid()).is_empty(),
            "the driver is asked once"
        );
    }
    // Documents too.
    let once = host.run(&["once", "--format", "json"]);
    assert_eq!(once.status.code(), Some(0), "{once:?}");
    let said = format!("as process {} records it", first.pid());
    assert!(text(&once.stderr).contains(&said), "{once:?}");
    let document: serde_json::Value = serde_json::from_slice(&once.stdout).unwrap();
    assert_eq!(
        (&document["source"], &document["mode"]),
        (&"live".into(), &"once".into())
    );
    assert_eq!(document["devices"].as_array().unwrap().len(), 8);
    assert!(document["devices"][0]["power_w"].is_number());
    let recorded_by = serde_json::json!({"pid": first.pid(), "file": host.file()});
    assert_eq!(document["recorder"], recorded_by);
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let stream = host.run(&["stream", "--count", "3", "--interval", "7s"]);
    assert!(text(&stream.stderr).contains(&said), "{stream:?}");
    assert!(
        text(&stream.stderr).contains("reads every 0.2 s"),
        "{stream:?}"
    );
    assert_eq!(text(&stream.stdout).lines().count(), 3);
    for line in text(&stream.stdout).lines() {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(document["recorder"], recorded_by);
    }
    // A note reaches the recorder's file from a screen that only reads it.
    others[0].press("mloss rose");
    others[0].until_says("note: loss rose_");
    others[0].press("\r");
    wait_for("the note", || {
        is_told(&host.file(), EventKind::Mark, "loss rose")
    });
    first.press("mfrom the recorder itself\r");
    wait_for("the other note", || {
        is_told(&host.file(), EventKind::Mark, "itself")
    });
    // The recorder is killed: one of the others goes on with its file.
    let killed = first.pid();
    let probes = children_of(killed);
    kill_process(pid(killed), Signal::KILL).unwrap();
    wait_for("a new recorder", || {
        Writer::holder(&host.file()).is_some_and(|holder| holder != killed)
    });
    wait_until_gone(&probes);
    let holder = Writer::holder(&host.file()).unwrap();
    let (mine, read) = match &mut others {
        [a, b] if a.pid() == holder => (a, b),
        [a, b] => (b, a),
    };
    assert_eq!(mine.pid(), holder);
    mine.until_says("recording");
    read.until_says(&format!("recorder {holder}"));
    wait_for("word of it", || {
        is_told(
            &host.file(),
            EventKind::Recording,
            &format!("Recorder {killed} has ended: "),
        )
    });
    assert!(!children_of(mine.pid()).is_empty());
    assert!(children_of(read.pid()).is_empty());
    for other in &mut others {
        other.press("q");
        assert_eq!(other.end().exit_code(), 0);
    }
}

#[test]
fn what_is_not_to_be_recorded_is_not() {
    let host = Host::new();
    let mut screen = host.screen(&["--no-record"]);
    screen.until_says("7  A100");
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    host.configure("[record]\nenabled = false\n");
    let mut screen = host.screen(&["--price", "2.99"]);
    screen.until_says("7  A100");
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
    assert!(!host.file().exists());
}

#[test]
fn a_state_dir_of_the_configuration_is_where_everybody_looks() {
    let host = Host::new();
    let elsewhere = host.home.path().join("volume/nameplate");
    host.configure(&format!(
        "[record]\nstate_dir = \"{}\"\n",
        elsewhere.display()
    ));
    let begun = host.run(&["record", "--background", "--interval", "0.2s"]);
    assert_eq!(begun.status.code(), Some(0), "{begun:?}");
    let file = elsewhere.join("recording.nmp");
    let recorder = Writer::holder(&file).unwrap();
    let mut screen = host.screen(&[]);
    screen.until_says(&format!("recorder {recorder}"));
    screen.press("q");
    screen.end();
    assert!(text(&host.run(&["record", "--status"]).stdout).contains("volume/nameplate"));
    let stopped = host.run(&["record", "--stop"]);
    assert!(text(&stopped.stdout).starts_with(&format!("process {recorder} has ended")));
    assert!(elsewhere.join("recorder.log").exists());
    assert!(!host.file().exists());
}

/// A small file system, where this user may mount one.
struct Small(PathBuf);

impl Small {
    fn mount(place: &Path) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(place)
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(place.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_pauses_the_recording_and_the_screen_goes_on() {
    let host = Host::new();
    let Some(small) = Small::mount(&host.home.path().join("small")) else {
        eprintln!("ignored: this user may mount no tmpfs");
        return;
    };
    host.configure(&format!(
        "[record]\nstate_dir = \"{}\"\n",
        small.0.display()
    ));
    let file = small.0.join("recording.nmp");
    let mut screen = host.screen(&[]);
    screen.until_says("7  A100");
    wait_for_ticks(&file, 3);
    // Whatever room there is goes.
    let filler = small.0.join("filler");
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    screen.until_says("recording paused");
    screen.until_says("Recording is paused: ");
    let paused_at = screen.clock();
    screen.until("time that goes on", |screen| {
        crate::pty::clock_of(screen) != paused_at
    });
    std::fs::remove_file(&filler).unwrap();
    screen.until("the recording's return", |screen| {
        let text = screen.contents();
        text.contains("recording") && !text.contains("recording paused")
    });
    wait_for("word of it", || {
        is_told(&file, EventKind::Recording, "The recording goes on")
    });
    screen.press("q");
    assert_eq!(screen.end().exit_code(), 0);
}

/// What the screen shows of the recording, on a stage.
#[test]
fn the_header_says_who_records_and_how_old_that_is() {
    let mut stage = Stage::of("healthy");
    assert!(
        !stage.text(120, 40).contains("record"),
        "{}",
        stage.text(120, 40)
    );
    let header = |stage: &mut Stage, width: u16| -> String {
        stage.text(width, 40).lines().nth(1).unwrap().to_owned()
    };
    stage.app.hear(News::Recording(Recording::Own));
    assert!(header(&mut stage, 120).contains("  recording  "));
    stage.app.hear(News::All(vec![
        News::Recording(Recording::Other(4121)),
        News::Behind(3.4),
    ]));
    let line = header(&mut stage, 120);
    assert!(line.contains("  recorder 4121  "), "{line}");
    assert!(line.contains("3 s old"), "{line}");
    // Who looks on does not thin out another's evidence: the screen says whose interval it is, and how to change it.
    for key in ['+', '-'] {
        assert_eq!(stage.press(Key::Char(key)), None);
        let text = stage.text(120, 40);
        let said = "Recorder 4121 reads every 1 s, and a screen that looks on leaves that as it is; start it anew with --interval.";
        assert!(text.contains(said), "{text}");
        stage.ticks(6);
    }
    stage.app.hear(News::Recording(Recording::Paused(
        "database or disk is full".to_owned(),
    )));
    let text = stage.text(80, 24);
    assert!(text.contains("recording paused"), "{text}");
    stage.ticks(6);
    let text = stage.text(120, 40);
    assert!(
        text.contains("Recording is paused: database or disk is full."),
        "{text}"
    );
    let mut chinese = stage.with(looking("dark", Charset::Unicode, Lang::ZhCn));
    assert!(chinese.text(120, 40).contains("记录已暂停"));
}

#[test]
fn a_diagnosis_reads_what_the_recorder_reads() {
    let host = Host::new();
    let started = host.run(&["record", "--background", "--interval", "0.2s"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    wait_for_ticks(&host.file(), 10);
    let recorder = Writer::holder(&host.file()).unwrap();
    let said = host.run(&[
        "diagnose",
        "--for",
        "1s",
        "--format",
        "json",
        "--no-platform",
    ]);
    let complaint = text(&said.stderr);
    let told = format!("as process {recorder} records it; the driver is not asked again");
    assert!(complaint.contains(&told), "{complaint}");
    let document: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(document["devices"].as_array().unwrap().len(), 8);
    assert!(document["observed_seconds"].as_f64().unwrap() > 0.0);
    assert!(host.run(&["record", "--stop"]).status.success());
}
