//! Which functions of the program run, and when: from that comes the order in which they lie in it (`assets/code_order.txt`,
//! read by `build.rs`), so that the memory of its processes holds what runs and little else.
//!
//! ```text
//! CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_BENCH_STRIP=none cargo bench --bench order
//! CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_BENCH_STRIP=none cargo bench --bench order -- --seconds 30 --print
//! ```
//!
//! The screen runs on a terminal against the fake library, with a trap at the start of each function that is taken out when it
//! is met. First the start, then every view, then five minutes in which nobody touches it, for which the
//! traps are set anew: as long as it takes until a block of the recording is sealed.
//! Writes the file, or with `--print` only says what it would hold. On Linux on x86-64 only.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(missing_docs, reason = "a program")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../support/nvml.rs"]
mod nvml;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(dead_code, reason = "another bench looks at what is drawn")]
mod pty;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod setting;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traps;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("order: traps are set on Linux on x86-64 only");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    traced::main();
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traced {
    use crate::nvml::FakeNvml;
    use crate::pty::Run;
    use crate::setting::{build_fake, command};
    use crate::traps::{Functions, Traced};
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write as _;
    use std::time::Duration;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/code_order.txt");

    /// What runs while nobody touches the screen, in the order of the file before what a start or a view needs.
    const STEADY: usize = 2;

    /// The phases, the one that counts most first: what is steady anywhere is steady.
    const PHASES: [usize; 3] = [STEADY, 0, 1];

    /// The keys that lead through the views and back.
    const KEYS: [&str; 14] = [
        "\r", "\x1b", "v", "\x1b", "$", "\x1b", "?", "\x1b", "\x1b[B", "s", "s", "c", "m", "\x1b",
    ];

    /// A group of the file: what it is called, whether the screen's process and the probe's run it, and in which phase
    /// (0 start, 1 views, 2 steady). The order is that of the program: what one process runs lies together, and what both run
    /// lies between.
    const GROUPS: [(&str, bool, bool, usize); 8] = [
        ("views", true, false, 1),
        ("start of the screen", true, false, 0),
        ("steady screen", true, false, STEADY),
        ("steady in both", true, true, STEADY),
        ("start of both", true, true, 0),
        ("steady probe", false, true, STEADY),
        ("start of the probe", false, true, 0),
        ("views of the probe", false, true, 1),
    ];

    pub(crate) fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let seconds = arguments.iter().position(|a| a == "--seconds");
        let seconds = seconds
            .and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(310);
        let program = env!("CARGO_BIN_EXE_nameplate");
        let functions = Functions::read(program).unwrap();
        if functions.count() < 1000 {
            eprintln!(
                "order: {program} has no symbols; say CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_BENCH_STRIP=none before"
            );
            std::process::exit(2);
        }
        build_fake();
        let order = Order::of(&functions, &run(program, &functions, seconds));
        println!("{}", order.table);
        if !arguments.iter().any(|a| a == "--print") {
            std::fs::write(FILE, order.text).unwrap();
        }
    }

    /// Addresses that ran, by process (whether it is the probe's) and phase.
    type Ran = BTreeMap<(bool, usize), BTreeSet<u64>>;

    fn run(program: &str, functions: &Functions, seconds: u64) -> Ran {
        let fake = FakeNvml::named("steady-h100-8");
        let home = tempfile::tempdir().unwrap();
        let library = fake.library().display().to_string();
        // A shell that waits to be followed before it becomes the program.
        let mut words = vec!["-c", "kill -STOP $$; exec \"$0\" \"$@\"", program];
        words.extend(["--nvml-library", &library, "--no-platform", "--price", "24"]);
        let mut begun = command("sh", &words, home.path());
        for (name, value) in fake.env() {
            begun.env(name, value);
        }
        let mut run = Run::start(begun, (200, 50)).unwrap();
        let mut traced = Traced::seize(run.pid(), functions).unwrap();
        let mut ran = Ran::new();
        let mut phase = |traced: &mut Traced<'_>, phase: usize, seconds: u64| {
            traced.follow(Duration::from_secs(seconds));
            for (probe, address) in traced.take() {
                ran.entry((probe, phase)).or_default().insert(address);
            }
        };
        phase(&mut traced, 0, 12);
        for key in KEYS {
            run.press(key);
            phase(&mut traced, 1, 1);
        }
        traced.set_again();
        phase(&mut traced, STEADY, seconds);
        traced.kill();
        ran
    }

    /// The file, and what it comes to.
    struct Order {
        text: String,
        table: String,
    }

    impl Order {
        fn of(functions: &Functions, ran: &Ran) -> Self {
            let mut text = HEAD.to_owned();
            let mut table = String::new();
            let mut groups = vec![BTreeSet::new(); GROUPS.len()];
            let all: BTreeSet<u64> = ran.values().flatten().copied().collect();
            for &address in &all {
                let in_phase = |probe, phase| {
                    ran.get(&(probe, phase))
                        .is_some_and(|ran| ran.contains(&address))
                };
                let phase = PHASES
                    .into_iter()
                    .find(|&phase| in_phase(false, phase) || in_phase(true, phase));
                let Some(phase) = phase else { continue };
                let (screen, probe) = (in_phase(false, phase), in_phase(true, phase));
                let group = GROUPS
                    .iter()
                    .position(|&(_, s, p, at)| at == phase && (s, p) == (screen, probe));
                // A view that both processes take part in is the screen's.
                groups[group.unwrap_or(0)].insert(address);
            }
            let patterns = once_each(functions, &groups);
            for (((name, ..), addresses), patterns) in GROUPS.iter().zip(&groups).zip(&patterns) {
                let _ = writeln!(text, "\n[{name}]");
                for pattern in patterns {
                    let _ = writeln!(text, "{pattern}");
                }
                let _ = writeln!(
                    table,
                    "{name:22} {:5} functions {:5} KB ran, {:5} patterns {:5} KB",
                    addresses.len(),
                    functions.bytes(addresses) / 1024,
                    patterns.len(),
                    functions.bytes_of_patterns(patterns) / 1024
                );
            }
            Self { text, table }
        }
    }

    /// The patterns of each group. One that belongs to several is of the phase that counts most, and of both processes if either
    /// runs it.
    fn once_each(functions: &Functions, groups: &[BTreeSet<u64>]) -> Vec<BTreeSet<String>> {
        let mut owners: BTreeMap<String, (usize, bool, bool)> = BTreeMap::new();
        for ((_, screen, probe, phase), addresses) in GROUPS.iter().zip(groups) {
            let rank = PHASES
                .iter()
                .position(|p| p == phase)
                .unwrap_or(PHASES.len());
            for pattern in functions.patterns(addresses, *phase != STEADY) {
                let new = (rank, *screen, *probe);
                owners
                    .entry(pattern)
                    .and_modify(|owner| {
                        if rank < owner.0 {
                            *owner = new;
                        } else if rank == owner.0 {
                            *owner = (rank, owner.1 || *screen, owner.2 || *probe);
                        }
                    })
                    .or_insert(new);
            }
        }
        let mut patterns = vec![BTreeSet::new(); GROUPS.len()];
        for (pattern, (rank, screen, probe)) in owners {
            let group = GROUPS
                .iter()
                .position(|&(_, s, p, phase)| PHASES[rank] == phase && (s, p) == (screen, probe));
            patterns[group.unwrap_or(0)].insert(pattern);
        }
        patterns
    }

    const HEAD: &str = "\
# The order of functions in the program, by when they ran and in which process: read by build.rs, made by
#   CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_BENCH_STRIP=none cargo bench --bench order
# against the fake NVIDIA library. A name that is there no more does no harm, a new function lies with the rest until this is
# made again. `*` stands for what differs from build to build.
";
}
