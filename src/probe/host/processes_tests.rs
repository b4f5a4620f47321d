#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::HostProbe;
use super::super::tests::Clock;
use super::*;
use crate::probe::host_source::HostSource;
use crate::probe::tree::Tree;

const CONTAINER: &str = "pid:[4026532300]";
const HOST: &str = "pid:[4026531836]";

/// A host that has been up for 1000 s.
fn host(namespace: &str) -> Tree {
    let tree = Tree::new(&[
        (
            "/proc/stat",
            "cpu  1 2 3 4\ncpu0 1 2 3 4\nbtime 1700000000\n",
        ),
        ("/proc/uptime", "1000.00 1.0\n"),
        (
            "/etc/passwd",
            "root:x:0:0::/:/bin/sh\nml:x:1000:1000::/:/bin/sh\n",
        ),
    ]);
    tree.link("/proc/self/ns/pid", namespace);
    tree
}

/// Ticks of CPU time, faults, bytes read and written.
type Work = (u64, u64, u64, u64);

fn process(tree: &Tree, pid: u32, parent: u32, state: char, start_seconds: u64, work: Work) {
    let (ticks, faults, read, written) = work;
    let start = start_seconds * procfs::ticks_per_second();
    let folder = format!("/proc/{pid}");
    tree.write(
        &format!("{folder}/stat"),
        &format!("{pid} (py\u{1b}[2Jthon) {state} {parent} 1 1 0 -1 0 0 0 {faults} 0 {ticks} 0 0 0 0 0 0 0 {start} 9"),
    );
    tree.write(
        &format!("{folder}/status"),
        "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\n",
    );
    tree.write(
        &format!("{folder}/cmdline"),
        "python\0train.py\0\u{202e}x\0",
    );
    tree.write(
        &format!("{folder}/io"),
        &format!(
            "rchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
        ),
    );
}

fn one(probe: &mut HostProbe, pid: u32) -> Process {
    let mut all = probe.processes(&[(pid, false)]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_process_is_described_with_its_descendants() {
    let tree = host(HOST);
    process(&tree, 100, 1, 'S', 10, (1000, 5, 100, 200));
    process(&tree, 101, 100, 'R', 20, (500, 0, 0, 0));
    process(&tree, 102, 101, 'R', 21, (0, 0, 0, 0));
    process(&tree, 200, 1, 'R', 5, (0, 0, 0, 0));
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    clock.set(1000);
    let first = one(&mut probe, 100);
    assert_eq!(first.name.as_deref(), Ok("python"));
    assert_eq!(first.command.as_deref(), Ok("python train.py x"));
    assert_eq!(first.user.as_deref(), Ok("ml"));
    assert_eq!(first.state, Ok('S'));
    assert_eq!(first.started.map(|at| at.as_second()), Ok(1_700_000_010));
    assert_eq!(first.cpu_cores, Err(Absent::NotReported));
    assert_eq!(first.read_bytes_per_s, Err(Absent::NotReported));
    assert_eq!(first.waiting_threads, Err(Absent::NotReported));
    assert!(!first.foreign);

    // 2 s of CPU time in the process, 8 s in descendants, one of which is new; another process does not count.
    let tick = procfs::ticks_per_second();
    tree.write("/proc/uptime", "1010.00 1.0\n");
    process(&tree, 100, 1, 'S', 10, (1000 + 2 * tick, 25, 1100, 200));
    process(&tree, 101, 100, 'R', 20, (500 + 5 * tick, 0, 0, 4000));
    process(&tree, 103, 100, 'R', 1005, (3 * tick, 10, 0, 1000));
    process(&tree, 200, 1, 'R', 5, (900 * tick, 0, 0, 0));
    clock.set(1010);
    let second = one(&mut probe, 100);
    assert_eq!(second.cpu_cores, Ok(1.0));
    assert_eq!(second.major_faults_per_s, Ok(3.0));
    assert_eq!(second.read_bytes_per_s, Ok(100.0));
    assert_eq!(second.write_bytes_per_s, Ok(500.0));
}

#[test]
fn zombies_and_kernel_threads_have_no_command() {
    let tree = host(HOST);
    process(&tree, 100, 1, 'Z', 10, (0, 0, 0, 0));
    tree.write("/proc/100/cmdline", "");
    tree.remove("/proc/100/io");
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    clock.set(1000);
    one(&mut probe, 100);
    clock.set(1001);
    let zombie = one(&mut probe, 100);
    assert_eq!(zombie.state, Ok('Z'));
    assert_eq!(zombie.command, Err(Absent::NotReported));
    assert_eq!(zombie.cpu_cores, Ok(0.0));
    assert!(!zombie.foreign);
}

#[test]
fn long_command_lines_are_cut() {
    let tree = host(HOST);
    process(&tree, 100, 1, 'S', 10, (0, 0, 0, 0));
    tree.write("/proc/100/cmdline", &"é".repeat(50_000));
    let mut probe = Clock::default().probe(&tree);
    assert!(one(&mut probe, 100).command.unwrap().len() <= 4099);
}

#[test]
fn whose_a_pid_is() {
    let holds = |target: &'static str| move |tree: &Tree| tree.link("/proc/100/fd/7", target);
    let maps = |line: &'static str| {
        move |tree: &Tree| {
            tree.write("/proc/100/fd/x", "");
            tree.write("/proc/100/maps", line);
        }
    };
    let nothing = |_: &Tree| {};
    type Prepare = Box<dyn Fn(&Tree)>;
    let table: Vec<(&str, &str, Prepare, bool, bool)> = vec![
        // What, namespace, what it holds, foreign, named.
        (
            "on the host it is itself",
            HOST,
            Box::new(nothing),
            false,
            true,
        ),
        (
            "holds a device",
            CONTAINER,
            Box::new(holds("/dev/nvidia0")),
            false,
            true,
        ),
        (
            "maps the library",
            CONTAINER,
            Box::new(maps(
                "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libcuda.so.550.54\n",
            )),
            false,
            true,
        ),
        (
            "a shell with the same number",
            CONTAINER,
            Box::new(maps("7f00-7f01 r-xp 0 08:01 1 /usr/lib/libc.so.6\n")),
            true,
            false,
        ),
        (
            "what it holds cannot be read",
            CONTAINER,
            Box::new(nothing),
            false,
            false,
        ),
    ];
    for (what, namespace, prepare, foreign, named) in table {
        let tree = host(namespace);
        process(&tree, 100, 1, 'S', 10, (0, 0, 0, 0));
        prepare(&tree);
        let seen = one(&mut Clock::default().probe(&tree), 100);
        assert_eq!(
            (seen.foreign, seen.name.is_ok()),
            (foreign, named),
            "{what}"
        );
        assert_eq!(seen.command.is_ok(), named, "{what}");
        assert_eq!(seen.user.is_ok(), named, "{what}");
    }
}

#[test]
fn a_number_that_nobody_has_or_had_is_outside() {
    let tree = host(HOST);
    let clock = Clock::default();
    let mut probe = clock.probe(&tree);
    let outside = one(&mut probe, 100);
    assert!(outside.foreign);
    assert_eq!(outside.name, Err(Absent::NotReported));
    // A local process that gets the number later is not the one that the driver means.
    tree.write("/proc/uptime", "1200.00 1.0\n");
    process(&tree, 100, 1, 'S', 1100, (0, 0, 0, 0));
    clock.set(5);
    assert!(one(&mut probe, 100).foreign);
    // The driver let go of it and lists the number again: that may be the local one.
    assert_eq!(probe.processes(&[]), []);
    assert!(!one(&mut probe, 100).foreign);
}

#[test]
fn a_process_that_ends_is_not_called_foreign() {
    let tree = host(HOST);
    process(&tree, 100, 1, 'S', 10, (0, 0, 0, 0));
    let mut probe = Clock::default().probe(&tree);
    assert!(one(&mut probe, 100).name.is_ok());
    tree.remove("/proc/100");
    let ended = one(&mut probe, 100);
    assert!(!ended.foreign);
    assert_eq!(ended.name, Err(Absent::NotReported));
}

#[test]
fn a_hidden_process_is_not_called_foreign() {
    let tree = host(HOST);
    tree.write(
        "/proc/self/mountinfo",
        "22 27 0:21 / /proc rw - proc proc rw,hidepid=invisible\n",
    );
    let hidden = one(&mut Clock::default().probe(&tree), 100);
    assert!(!hidden.foreign);
    assert_eq!(hidden.name, Err(Absent::NoPermission));
}

#[test]
fn waiting_threads_are_looked_for_on_demand() {
    let tree = host(HOST);
    process(&tree, 100, 1, 'S', 10, (0, 0, 0, 0));
    process(&tree, 101, 100, 'D', 10, (0, 0, 0, 0));
    for pid in [100, 101] {
        let stat = std::fs::read_to_string(tree.root().join(format!("proc/{pid}/stat"))).unwrap();
        tree.write(&format!("/proc/{pid}/task/{pid}/stat"), &stat);
        tree.write(
            &format!("/proc/{pid}/task/{pid}/wchan"),
            "rpc_wait_bit_killable",
        );
    }
    let mut probe = Clock::default().probe(&tree);
    let all = probe.processes(&[(100, true), (999, true), (100, true)]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].waiting_threads, Ok(1));
    assert_eq!(all[0].wait_channel.as_deref(), Ok("rpc_wait_bit_killable"));
    assert!(all[1].foreign);
    assert_eq!(
        one(&mut probe, 100).waiting_threads,
        Err(Absent::NotReported)
    );
}
