//! A trap at the start of each function of a program, in each of its processes: whoever runs into it is written down, and the
//! trap is taken out.

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

/// The one-byte breakpoint of x86.
const TRAP: u8 = 0xcc;

/// A function as the program's symbols name it.
struct Function {
    name: String,
    size: u64,
}

/// The functions of a program by their address.
pub(crate) struct Functions {
    program: PathBuf,
    /// Address of the code, and the code.
    begin: u64,
    code: Vec<u8>,
    by_address: BTreeMap<u64, Vec<Function>>,
    bytes_by_pattern: BTreeMap<String, u64>,
}

impl Functions {
    pub(crate) fn read(program: &str) -> Result<Self, Failure> {
        let bytes = std::fs::read(program)?;
        let file = object::File::parse(&*bytes)?;
        let executable = |flags| match flags {
            SegmentFlags::Elf { p_flags, .. } => p_flags.contains(object::elf::PF_X),
            _ => false,
        };
        let segment = file.segments().find(|s| executable(s.flags()));
        let segment = segment.ok_or("no code in it")?;
        let code = segment.data()?.to_vec();
        let begin = segment.address();
        let mut by_address: BTreeMap<u64, Vec<Function>> = BTreeMap::new();
        let mut bytes_by_pattern: BTreeMap<String, u64> = BTreeMap::new();
        for symbol in file.symbols() {
            let within = (begin..begin + code.len() as u64).contains(&symbol.address());
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 || !within {
                continue;
            }
            let name = symbol.name()?.to_owned();
            *bytes_by_pattern.entry(pattern(&name)).or_default() += symbol.size();
            by_address
                .entry(symbol.address())
                .or_default()
                .push(Function {
                    name,
                    size: symbol.size(),
                });
        }
        Ok(Self {
            program: std::fs::canonicalize(program)?,
            begin,
            code,
            by_address,
            bytes_by_pattern,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.by_address.len()
    }

    pub(crate) fn bytes(&self, addresses: &BTreeSet<u64>) -> u64 {
        let size = |address| Some(self.by_address.get(address)?.first()?.size);
        addresses.iter().filter_map(size).sum()
    }

    pub(crate) fn bytes_of_patterns(&self, patterns: &BTreeSet<String>) -> u64 {
        let bytes = |pattern| self.bytes_by_pattern.get(pattern);
        patterns.iter().filter_map(bytes).sum()
    }

    /// Patterns of the functions' names. With `sparing`, none that brings along much that did not run: a generic function's name
    /// does not tell for which types it was made.
    pub(crate) fn patterns(&self, addresses: &BTreeSet<u64>, sparing: bool) -> BTreeSet<String> {
        /// Bytes that did not run are no more than those that ran, or than this, which is half a portion of the kernel's.
        const LITTLE: u64 = 32 << 10;
        let mut ran: BTreeMap<String, u64> = BTreeMap::new();
        for function in addresses
            .iter()
            .filter_map(|a| self.by_address.get(a))
            .flatten()
        {
            *ran.entry(pattern(&function.name)).or_default() += function.size;
        }
        let worth = |(pattern, ran): (String, u64)| {
            let all = self.bytes_by_pattern.get(&pattern).copied().unwrap_or(ran);
            (!sparing || all.saturating_sub(ran) <= ran.max(LITTLE)).then_some(pattern)
        };
        ran.into_iter().filter_map(worth).collect()
    }

    /// The code with a trap at each function.
    fn trapped(&self) -> Vec<u8> {
        let mut code = self.code.clone();
        for address in self.by_address.keys() {
            code[(address - self.begin) as usize] = TRAP;
        }
        code
    }
}

/// A mangled name without what differs from build to build: the hash at the end of the older names, the crates' in the newer,
/// and the number that the optimizer adds.
fn pattern(name: &str) -> String {
    let (name, numbered) = match name.split_once(".llvm.") {
        Some((name, _)) => (name, true),
        None => (name, false),
    };
    if name.starts_with("_ZN")
        && let Some((before, hash)) = name.rsplit_once("17h")
        && hash.len() == 17
    {
        return format!("{before}17h*");
    }
    let mut pattern = String::new();
    let mut rest = name;
    while name.starts_with("_R")
        && let Some((before, after)) = rest.split_once("Cs")
    {
        let hash = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        pattern += before;
        if hash > 0 && after[hash..].starts_with('_') {
            pattern += "Cs*";
            rest = &after[hash..];
        } else {
            pattern += "Cs";
            rest = after;
        }
    }
    pattern += rest;
    if numbered {
        pattern += "*";
    }
    pattern
}

/// A process of ours: where the program's code lies in it.
struct Process {
    probe: bool,
    begin: u64,
    memory: File,
}

/// A program that is followed with all its threads and children.
pub(crate) struct Traced<'a> {
    functions: &'a Functions,
    processes: BTreeMap<i32, Process>,
    ran: Vec<(bool, u64)>,
}

impl<'a> Traced<'a> {
    /// Follows a process that has stopped itself before it becomes the program.
    pub(crate) fn seize(pid: u32, functions: &'a Functions) -> Result<Self, Failure> {
        let pid = Pid::from_raw(i32::try_from(pid)?);
        while !std::fs::read_to_string(format!("/proc/{pid}/stat"))?.contains(") T ") {
            std::thread::sleep(Duration::from_millis(1));
        }
        let options = Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::seize(pid, options)?;
        nix::sys::signal::kill(pid, Signal::SIGCONT)?;
        Ok(Self {
            functions,
            processes: BTreeMap::new(),
            ran: Vec::new(),
        })
    }

    /// Lets it run for a while.
    pub(crate) fn follow(&mut self, span: Duration) {
        let end = Instant::now() + span;
        while Instant::now() < end {
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_micros(200)),
                Ok(status) => self.go_on(status),
                Err(_) => return,
            }
        }
    }

    /// Which functions ran for the first time since the last look: whether in the probe, and the address.
    pub(crate) fn take(&mut self) -> Vec<(bool, u64)> {
        std::mem::take(&mut self.ran)
    }

    /// Sets all traps again. A process that runs meanwhile meets the old byte or the new.
    pub(crate) fn set_again(&mut self) {
        let code = self.functions.trapped();
        for process in self.processes.values() {
            let _ = process.memory.write_all_at(&code, process.begin);
        }
    }

    pub(crate) fn kill(self) {
        for &pid in self.processes.keys() {
            let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    fn go_on(&mut self, status: WaitStatus) {
        let Some(thread) = status.pid() else { return };
        let signal = match status {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                self.met(thread).is_none().then_some(Signal::SIGTRAP)
            }
            WaitStatus::Stopped(_, signal) => Some(signal),
            WaitStatus::PtraceEvent(_, _, event) => {
                if event == ptrace::Event::PTRACE_EVENT_EXEC as i32 {
                    self.begin(thread);
                }
                None
            }
            _ => return,
        };
        let _ = ptrace::cont(thread, signal);
    }

    /// A process has become another program: ours gets its traps.
    fn begin(&mut self, thread: Pid) {
        let Some(pid) = process_of(thread) else {
            return;
        };
        self.processes.remove(&pid);
        let Some(process) = self.process(pid) else {
            return;
        };
        if process
            .memory
            .write_all_at(&self.functions.trapped(), process.begin)
            .is_ok()
        {
            self.processes.insert(pid, process);
        }
    }

    /// A process of the program, by what is mapped in it.
    fn process(&self, pid: i32) -> Option<Process> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let program = self.functions.program.to_str()?;
        let first = maps.lines().find(|line| line.ends_with(program))?;
        let base = u64::from_str_radix(first.split_once('-')?.0, 16).ok()?;
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(Path::new("/proc").join(pid.to_string()).join("mem"));
        Some(Process {
            probe: command.split(|&b| b == 0).nth(1) == Some(b"probe"),
            begin: base + self.functions.begin,
            memory: memory.ok()?,
        })
    }

    /// A thread has met a trap: notes the function, puts back its first byte and the thread before it. `None` if the trap is
    /// none of ours.
    fn met(&mut self, thread: Pid) -> Option<()> {
        let mut registers = ptrace::getregs(thread).ok()?;
        let at = registers.rip.checked_sub(1)?;
        let pid = process_of(thread)?;
        // A child that is not yet another program has its parent's traps.
        let child;
        let process = match self.processes.get(&pid) {
            Some(process) => process,
            None => {
                child = self.process(pid)?;
                &child
            }
        };
        let offset = at.checked_sub(process.begin)?;
        let address = self.functions.begin + offset;
        self.functions.by_address.get(&address)?;
        let byte = *self.functions.code.get(usize::try_from(offset).ok()?)?;
        process.memory.write_all_at(&[byte], at).ok()?;
        registers.rip = at;
        ptrace::setregs(thread, registers).ok()?;
        self.ran.push((process.probe, address));
        Some(())
    }
}

/// The process that a thread belongs to.
fn process_of(thread: Pid) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}
