//! The vendors' own tools as children of the running program, where their libraries cannot be loaded: scripts in the place of
//! `hl-smi`, `cnmon`, `npu-smi` and `amd-smi`, which print, print nonsense, stop, end, hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::{DEADLINE, Program, Schema};
use serde_json::Value as Json;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with a tool of these lines of shell, and a file in the library's place that none can load.
struct Machine(TempDir);

impl Machine {
    fn new(tool: &str, library: &str, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(library), "no library").unwrap();
        std::fs::write(
            folder.path().join("lines"),
            format!("#!/bin/sh\nD={}\n{lines}\n", folder.path().display()),
        )
        .unwrap();
        // Another process writes it: a child of some other test would hold the file open, and nobody could run it.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("cat lines >{tool} && chmod 755 {tool}")])
            .current_dir(folder.path());
        assert!(shell.output().unwrap().status.success());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program with the tool on its path.
    fn program(&self, args: &[&str]) -> Program {
        let folder = self.path().to_str().unwrap();
        Program::new(args)
            .env("LD_LIBRARY_PATH", folder)
            .env("PATH", &format!("{folder}:/usr/bin:/bin"))
    }

    /// What the tool wrote into a file.
    fn wrote(&self, file: &str) -> String {
        std::fs::read_to_string(self.path().join(file)).unwrap_or_default()
    }

    /// Processes that have this folder in their command line or run in it.
    fn running(&self) -> Vec<String> {
        let folder = self.path().to_str().unwrap();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let commands = processes.filter_map(|entry| {
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&command).replace('\0', " "))
        });
        commands
            .filter(|command| command.contains(folder))
            .collect()
    }

    /// Fails where something of it runs still, some time after the program has ended.
    fn is_quiet(&self) {
        let begin = Instant::now();
        while !self.running().is_empty() {
            assert!(
                begin.elapsed() < DEADLINE,
                "left running: {:?}",
                self.running()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A stream that goes on until it is dropped; its snapshots one after another.
struct Stream {
    child: Child,
    lines: Receiver<Json>,
}

impl Stream {
    fn of(mut program: Program) -> Self {
        program.command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let _program = program;
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let document: Json = serde_json::from_str(&line).unwrap();
                if sender.send(document).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The first device of the first snapshot from now on of which this holds.
    fn until(&self, what: &str, holds: impl Fn(&Json) -> bool) -> Json {
        let begin = Instant::now();
        let mut last = Json::Null;
        while begin.elapsed() < DEADLINE {
            let Ok(line) = self.lines.recv_timeout(DEADLINE) else {
                break;
            };
            let device = line["devices"][0].clone();
            if holds(&device) {
                assert_eq!(Schema::of("snapshot").check(&line), Vec::<String>::new());
                return device;
            }
            last = line;
        }
        panic!("{what}: {last:#}");
    }

    /// Asks it to end, as Ctrl-C does, and waits for that.
    fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ARGS: [&str; 4] = ["stream", "--interval", "0.5s", "--no-record"];

const CARD: &str = "0, 5, uuid-0, HL-225, 0000:cc:00.0, 1.20.0, 98304 MiB, 1024 MiB";

/// A long-lived child: its first list, then a line now and then for as long as `$D/say` says so.
fn hl_smi() -> Machine {
    let lines = format!(
        "echo \"$*\" >>$D/calls
         [ $# = 4 ] && {{ echo '{CARD}, 400 W, 600 W, 51 C, 97 %'; exit; }}
         echo $$ >>$D/children
         while :; do
             case $(cat $D/say) in
                 lines) echo '{CARD}, 412 W, 600 W, 51 C, 97 %' ;;
                 garbage) printf 'No permission\\n0, x, \\033[31m,,,\\n%20000s\\n' x ;;
                 end) exit 1 ;;
             esac
             sleep 0.2
         done"
    );
    let machine = Machine::new("hl-smi", "libhlml.so", &lines);
    std::fs::write(machine.path().join("say"), "lines").unwrap();
    machine
}

#[test]
fn one_hl_smi_runs_for_as_long_as_the_program_and_no_longer() {
    let machine = hl_smi();
    let stream = Stream::of(machine.program(&ARGS));
    let device = stream.until("the child's line", |d| d["power_w"] == 412.0);
    assert_eq!(device["name"], "HL-225");
    assert_eq!(device["utilization_ratio"], 0.97);
    assert_eq!(device["power_limit_w"], 600.0);
    std::thread::sleep(Duration::from_secs(2));
    stream.end();
    machine.is_quiet();
    let calls = machine.wrote("calls");
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 2, "one list and one child: {calls:?}");
    assert!(
        calls[0].starts_with("-Q index,module_id,uuid,") && calls[0].ends_with("-f csv,noheader"),
        "{calls:?}"
    );
    assert_eq!(calls[1], format!("{} -l 2", calls[0]));
}

#[test]
fn an_hl_smi_that_ends_is_started_again_later_each_time() {
    let machine = hl_smi();
    let stream = Stream::of(machine.program(&ARGS));
    stream.until("the child's line", |d| d["power_w"] == 412.0);
    std::fs::write(machine.path().join("say"), "end").unwrap();
    // It ends at once, after one second, and after two more.
    let begin = Instant::now();
    while machine.wrote("children").lines().count() < 3 {
        assert!(begin.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(
        begin.elapsed() > Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    std::fs::write(machine.path().join("say"), "lines").unwrap();
    stream.until("a new child's line", |d| d["power_w"] == 412.0);
    drop(stream);
    machine.is_quiet();
}

#[test]
fn an_hl_smi_that_prints_nonsense_or_nothing_is_silent_since_then() {
    for say in ["garbage", "nothing"] {
        let machine = hl_smi();
        let stream = Stream::of(machine.program(&ARGS));
        stream.until("the child's line", |d| d["power_w"] == 412.0);
        std::fs::write(machine.path().join("say"), say).unwrap();
        let device = stream.until(say, |d| d["absent"]["utilization_ratio"] == "timed_out");
        assert_eq!(device["utilization_ratio"], Json::Null);
        let since = &device["absent_detail"]["utilization_ratio"]["since"];
        assert!(since.is_string(), "{device:#}");
        assert_eq!(device["phase"], "unobserved");
        // The child that hangs is ended, and the one after it works.
        std::fs::write(machine.path().join("say"), "lines").unwrap();
        stream.until("it works again", |d| d["power_w"] == 412.0);
        stream.end();
        machine.is_quiet();
    }
}

/// A tool that is run now and then: it prints its table, or what `$D/say` says.
fn table(tool: &str, library: &str, table: &str) -> Machine {
    let lines = format!(
        "echo \"$*\" >>$D/calls
         case $(cat $D/say 2>/dev/null) in
             garbage) printf '| \\033[31m | |||\\n' ;;
             fail) exit 3 ;;
             hang) exec tail -n 0 -f $D/lines ;;
             *) cat <<'END'\n{table}END
             ;;
         esac"
    );
    Machine::new(tool, library, &lines)
}

const CNMON: &str = "\
| CNMON v6.2.29                                                 Driver v6.2.10 |
| 0     /   MLU590-M9    v1.5.0 |         0000:0F:00.0 | 42%                 0 |
|  0%   33C        105 W/ 550 W |  1024 MiB/ 98304 MiB | FULL          Default |
";

const NPU_SMI: &str = "\
| npu-smi 24.1.rc3                 Version: 24.1.rc3                              |
| 3     910B4     | OK            | 171.5       52                0    / 0        |
| 0               | 0000:42:00.0  | 61          0    / 0          20480/ 32768    |
";

#[test]
fn tools_that_stop_telling_are_silent_and_leave_nothing_behind() {
    for (tool, library, text, power, wrong) in [
        ("cnmon", "libcndev.so", CNMON, 105.0, "fail"),
        ("cnmon", "libcndev.so", CNMON, 105.0, "hang"),
        ("npu-smi", "libdcmi.so", NPU_SMI, 171.5, "garbage"),
        ("npu-smi", "libdcmi.so", NPU_SMI, 171.5, "hang"),
    ] {
        let machine = table(tool, library, text);
        let stream = Stream::of(machine.program(&ARGS));
        stream.until(tool, |d| d["power_w"] == power);
        std::fs::write(machine.path().join("say"), wrong).unwrap();
        let device = stream.until(wrong, |d| d["absent"]["utilization_ratio"] == "timed_out");
        let since = &device["absent_detail"]["utilization_ratio"]["since"];
        assert!(since.is_string(), "{tool} {wrong}: {device:#}");
        // A child hangs at this moment, or will in a while: neither outlives the program.
        stream.end();
        machine.is_quiet();
    }
}

#[test]
fn the_program_does_not_wait_for_a_tool_that_hangs_from_the_start() {
    let machine = table("cnmon", "libcndev.so", CNMON);
    std::fs::write(machine.path().join("say"), "hang").unwrap();
    let begin = Instant::now();
    let program = machine.program(&["once", "--format", "json", "--no-record"]);
    let output = program.output();
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let probes = document["probes"].as_array().unwrap();
    let ours = probes
        .iter()
        .find(|probe| probe["vendor"] == "cambricon")
        .unwrap();
    assert_ne!(ours["status"], "ok", "{ours:#}");
    machine.is_quiet();
}

/// amd-smi is asked where the compute driver is there and /sys shows no card: /dev is made anew in a namespace of mounts.
#[test]
fn amd_smi_is_a_child_that_ends_with_the_program() {
    let lines = "echo \"$*\" >>$D/calls
        case $1 in
            static) echo '[{\"gpu\": 0, \"asic\": {\"market_name\": \"AMD Instinct MI300X\", \"device_id\": \"0x74a1\"}, \"bus\": {\"bdf\": \"0000:83:00.0\"}, \"limit\": {\"max_power\": {\"value\": 750, \"unit\": \"W\"}, \"current_power\": {\"value\": 750, \"unit\": \"W\"}}}]' ;;
            *) [ -e $D/hang ] && exec tail -n 0 -f $D/lines
               echo 'WARNING: not root'
               echo '[{\"gpu\": 0, \"power\": {\"socket_power\": {\"value\": 141, \"unit\": \"W\"}}, \"usage\": {\"gfx_activity\": {\"value\": 7, \"unit\": \"%\"}}}]' ;;
        esac";
    let machine = Machine::new("amd-smi", "nothing", lines);
    std::fs::create_dir(machine.path().join("old")).unwrap();
    let new_dev = "mount --rbind /dev $0/old && mount -t tmpfs none /dev && touch /dev/kfd || exit 77
        for node in null zero urandom random; do touch /dev/$node; mount --bind $0/old/$node /dev/$node || exit 77; done
        exec \"$@\"";
    let folder = machine.path().to_str().unwrap();
    let wrap = ["unshare", "-rm", "sh", "-c", new_dev, folder];
    let mut test = Command::new(wrap[0]);
    test.args(&wrap[1..]).arg("true");
    if !test.output().unwrap().status.success() {
        #[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
        {
            eprintln!("ignored: no namespace of mounts can be made here");
        }
        return;
    }
    let program = Program::under(&wrap, &ARGS)
        .env("PATH", &format!("{folder}:/usr/bin:/bin:/usr/sbin:/sbin"));
    let stream = Stream::of(program);
    let device = stream.until("amd-smi's card", |d| d["power_w"] == 141.0);
    assert_eq!(
        (&device["name"], &device["power_limit_w"]),
        (&"AMD Instinct MI300X".into(), &750.0.into())
    );
    std::fs::write(machine.path().join("hang"), "").unwrap();
    let device = stream.until("it hangs", |d| {
        d["absent"]["utilization_ratio"] == "timed_out"
            || d["absent"]["utilization_ratio"] == "stale"
    });
    assert_eq!(device["utilization_ratio"], Json::Null);
    // The next run hangs, too.
    let begin = Instant::now();
    while !machine
        .running()
        .iter()
        .any(|command| command.starts_with("tail"))
    {
        assert!(begin.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(20));
    }
    stream.end();
    machine.is_quiet();
    assert!(machine.wrote("calls").lines().count() >= 3);
}
