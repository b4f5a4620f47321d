//! What the jobs on an Ascend device do that the device itself cannot say: workers that were forked after the device was
//! opened (CANN's own troubleshooting names them where training hangs), and `enable_reduce_precision`, which MindSpore takes
//! from a job's own configuration and which changes what it computes.

use super::family::numbered;
use super::files::{Files, reason};
use super::process_stat;
use crate::model::{Absent, Metric, Reading, Readings};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The most open files of one process that are looked at.
const FILES: usize = 65_536;
/// Bytes read of a configuration or a script.
const LONGEST: u64 = 256 * 1024;
/// The most files of one command line that are read.
const NAMED: usize = 8;
/// How a job's configuration, or the script that holds it, is called.
const ENDINGS: [&str; 7] = ["yaml", "yml", "json", "toml", "ini", "cfg", "py"];
/// What stands before the switch's value.
const SWITCH: &str = "enable_reduce_precision";

/// A process that has the device open.
struct Holder {
    parent: u32,
    forked: bool,
}

/// Sets what the jobs on `/dev/davinciN` do.
pub(in crate::probe) fn look(root: &Path, physical: Option<u32>, readings: &mut Readings) {
    let mut files = Files::new(root);
    let holders = match physical {
        Some(number) => holders(&mut files, &format!("/dev/davinci{number}")),
        None => Err(Absent::NotReported),
    };
    let forked = holders.as_ref().map_err(|why| *why).map(|holders| {
        let of_holder = |holder: &&Holder| holder.forked && holders.contains_key(&holder.parent);
        holders.values().filter(of_holder).count() as f64
    });
    readings.set(Metric::ForkedWorkers, forked);
    let reduced = holders.and_then(|holders| reduced(&mut files, &holders));
    readings.set(Metric::ReducePrecision, reduced);
}

/// The processes that have a node open, by what they hold rather than by the driver's number, which is the host's and
/// stands for another process in a container.
fn holders(files: &mut Files, node: &str) -> Reading<HashMap<u32, Holder>> {
    let mut found = HashMap::new();
    let mut why = Absent::NotReported;
    for pid in numbered(files, "/proc") {
        match std::fs::read_dir(files.path(&format!("/proc/{pid}/fd"))) {
            Ok(entries) => {
                let mut targets = entries.flatten().take(FILES);
                if !targets.any(|entry| {
                    let target = entry.path().read_link();
                    target.is_ok_and(|target| target == Path::new(node))
                }) {
                    continue;
                }
            }
            Err(error) => {
                // Whose process that is cannot be told.
                if reason(&error) == Absent::NoPermission {
                    why = Absent::NoPermission;
                }
                continue;
            }
        }
        let Ok(text) = files.read(&format!("/proc/{pid}/stat")) else {
            continue;
        };
        if let Some(stat) = process_stat::read(&text) {
            let (parent, forked) = (stat.parent, stat.forked);
            found.insert(pid, Holder { parent, forked });
        }
    }
    match found.is_empty() {
        true => Err(why),
        false => Ok(found),
    }
}

/// Whether any of the jobs asks for reduced precision; where none says anything, the framework's default holds, and that is
/// not told here.
fn reduced(files: &mut Files, holders: &HashMap<u32, Holder>) -> Reading<f64> {
    let mut why = Absent::NotReported;
    let mut told = None;
    for pid in holders
        .iter()
        .filter(|(_, h)| !h.forked)
        .map(|(pid, _)| *pid)
    {
        match of_job(files, pid) {
            Ok(on) => told = Some(told.unwrap_or(false) || on),
            Err(denied) => why = denied,
        }
    }
    told.map(|on| f64::from(u8::from(on))).ok_or(why)
}

/// What a job's command line says, else the files that it names.
fn of_job(files: &mut Files, pid: u32) -> Reading<bool> {
    let command = files.read(&format!("/proc/{pid}/cmdline"))?.into_owned();
    let words: Vec<&str> = command
        .split('\0')
        .filter(|word| !word.is_empty())
        .collect();
    if let Some(on) = said(&words.join(" ")) {
        return Ok(on);
    }
    let mut why = Absent::NotReported;
    // The value may stand behind a flag: `--config=train.yaml`.
    let named = words
        .iter()
        .map(|word| word.rsplit('=').next().unwrap_or(word));
    let is_configuration = |name: &&str| {
        let ending = Path::new(name).extension().and_then(|end| end.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    for name in named.filter(is_configuration).take(NAMED) {
        let Some(path) = place(files, pid, name) else {
            continue;
        };
        // Nothing but a plain file: a pipe of that name would be waited for.
        if !path.metadata().is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        match files.read_at_most(&path, LONGEST) {
            Ok(text) => {
                if let Some(on) = said(&text) {
                    return Ok(on);
                }
            }
            Err(denied) => why = denied,
        }
    }
    Err(why)
}

/// Where a file of a process lies: as the process sees it, which may be in a container.
fn place(files: &Files, pid: u32, name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from(name);
    if path.is_relative() {
        let folder = files.path(&format!("/proc/{pid}/cwd")).read_link().ok()?;
        path = folder.join(path);
    }
    // Nothing outside the root is read.
    if path.components().any(|part| part.as_os_str() == "..") && !files.is_live() {
        return None;
    }
    let seen = path.strip_prefix("/").ok()?;
    Some(match files.is_live() {
        true => PathBuf::from(format!("/proc/{pid}/root")).join(seen),
        false => files.path("/").join(seen),
    })
}

/// The value of the switch in a text: `enable_reduce_precision: True`, `"enable_reduce_precision": false`,
/// `--enable_reduce_precision=1`, `set_context(enable_reduce_precision=True)`. Comments, and values that are another name,
/// say nothing.
fn said(text: &str) -> Option<bool> {
    text.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.match_indices(SWITCH).find_map(|(at, _)| {
            let rest = line.get(at + SWITCH.len()..)?;
            let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
            // On a command line a blank is enough.
            let value = rest.strip_prefix([':', '=']).unwrap_or(rest);
            let value = value.trim_start_matches(['"', '\'', ' ', '\t']);
            let end = value.find(|c: char| !c.is_alphanumeric() && !"_.".contains(c));
            let word = value.get(..end.unwrap_or(value.len()))?;
            match word.to_ascii_lowercase().as_str() {
                "true" | "1" | "on" | "yes" => Some(true),
                "false" | "0" | "off" | "no" => Some(false),
                _ => None,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    /// A process with the flags of /proc/PID/stat, and the node that it has open.
    fn process(tree: &Tree, pid: u32, parent: u32, flags: u32, node: Option<&str>) {
        let stat =
            format!("{pid} (python) S {parent} 1 1 0 -1 {flags} 0 0 0 0 5 6 0 0 20 0 1 0 9 9 9\n");
        tree.write(&format!("/proc/{pid}/stat"), &stat);
        tree.write(&format!("/proc/{pid}/fd/keep"), "");
        if let Some(node) = node {
            tree.link(&format!("/proc/{pid}/fd/7"), node);
        }
    }

    fn told(tree: &Tree, physical: Option<u32>) -> [Reading<f64>; 2] {
        let mut readings = Readings::default();
        look(tree.root(), physical, &mut readings);
        [Metric::ForkedWorkers, Metric::ReducePrecision].map(|metric| readings.get(metric))
    }

    const FORKED: u32 = 0x0040_0040;
    const PLAIN: u32 = 0x0040_0000;

    #[test]
    fn workers_forked_by_a_job_that_has_the_device_open_are_counted() {
        let tree = Tree::new(&[]);
        let node = Some("/dev/davinci3");
        process(&tree, 10, 1, PLAIN, node);
        process(&tree, 11, 10, FORKED, node);
        process(&tree, 12, 10, FORKED, node);
        // Started with a program of its own; forked before the device was opened; another device's; a shell's child.
        process(&tree, 13, 10, PLAIN, node);
        process(&tree, 14, 10, FORKED, None);
        process(&tree, 15, 10, FORKED, Some("/dev/davinci30"));
        process(&tree, 16, 2, FORKED, node);
        assert_eq!(told(&tree, Some(3))[0], Ok(2.0));
        let absent = Err(Absent::NotReported);
        assert_eq!(told(&tree, Some(4)), [absent; 2], "nobody has it open");
        assert_eq!(told(&tree, None), [absent; 2]);
        let none = Tree::new(&[]);
        process(&none, 10, 1, PLAIN, node);
        assert_eq!(
            told(&none, Some(3))[0],
            Ok(0.0),
            "a job without such workers"
        );
    }

    #[test]
    fn the_switch_is_read_where_a_job_says_it() {
        for (command, files, expected) in [
            (
                "python train.py --enable_reduce_precision=True",
                vec![],
                Ok(1.0),
            ),
            (
                "python train.py --enable_reduce_precision False",
                vec![],
                Ok(0.0),
            ),
            (
                "python train.py --config=conf/a.yaml",
                vec![(
                    "/job/conf/a.yaml",
                    "lr: 0.1\nenable_reduce_precision: False # no\n",
                )],
                Ok(0.0),
            ),
            (
                "python /job/train.py",
                vec![(
                    "/job/train.py",
                    "context.set_context(mode=1, enable_reduce_precision=True)\n",
                )],
                Ok(1.0),
            ),
            // The script takes it from elsewhere, and the configuration has it.
            (
                "python train.py c.json",
                vec![
                    (
                        "/job/train.py",
                        "set_context(enable_reduce_precision=config.enable_reduce_precision)\n",
                    ),
                    ("/job/c.json", "{\"enable_reduce_precision\": true}"),
                ],
                Ok(1.0),
            ),
            (
                "python train.py",
                vec![("/job/train.py", "# enable_reduce_precision=True\n")],
                Err(Absent::NotReported),
            ),
            (
                "python gone.py ../../../etc/passwd.ini",
                vec![],
                Err(Absent::NotReported),
            ),
        ] {
            let tree = Tree::new(&files);
            process(&tree, 10, 1, PLAIN, Some("/dev/davinci0"));
            tree.write("/proc/10/cmdline", &command.replace(' ', "\0"));
            tree.link("/proc/10/cwd", "/job");
            assert_eq!(told(&tree, Some(0))[1], expected, "{command}");
        }
    }

    #[test]
    fn one_job_of_several_that_asks_for_it_is_enough() {
        let tree = Tree::new(&[]);
        for (pid, value) in [(10, "False"), (20, "True"), (30, "False")] {
            process(&tree, pid, 1, PLAIN, Some("/dev/davinci0"));
            let command = format!("python\0train.py\0--enable_reduce_precision={value}\0");
            tree.write(&format!("/proc/{pid}/cmdline"), &command);
        }
        assert_eq!(told(&tree, Some(0))[1], Ok(1.0));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(enable_reduce_precision|[=:#\" ]|True|\\PC){0,12}") {
            let _ = said(&text);
        }
    }
}
