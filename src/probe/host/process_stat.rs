//! /proc/PID/stat. (procfs' own parser panics on some malformed lines, and a root may be anybody's.)

/// What is used of /proc/PID/stat, of a process or a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    /// Short name, as it is.
    pub(super) name: &'a str,
    /// State letter.
    pub(super) state: char,
    pub(super) parent: u32,
    /// It was forked and has not begun a program of its own since (`PF_FORKNOEXEC`).
    pub(super) forked: bool,
    /// Pages that had to be fetched from storage.
    pub(super) major_faults: u64,
    /// User and system time in ticks, children not included.
    pub(super) cpu_ticks: u64,
    /// Start in ticks since boot.
    pub(super) start_ticks: u64,
}

/// The kernel's flag of a process that was forked and runs its parent's program still (include/linux/sched.h).
const FORKED: u64 = 0x40;

/// Reads the line. The name may hold blanks and parentheses: it ends at the last one.
pub(super) fn read(line: &str) -> Option<Stat<'_>> {
    let (_, rest) = line.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let flags: u64 = fields.nth(4)?.parse().ok()?;
    let major_faults = fields.nth(2)?.parse().ok()?;
    let user: u64 = fields.nth(1)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(6)?.parse().ok()?;
    Some(Stat {
        name,
        state,
        parent,
        forked: flags & FORKED != 0,
        major_faults,
        cpu_ticks: user.checked_add(system)?,
        start_ticks,
    })
}

/// Ticks as seconds.
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_are_where_proc_5_says() {
        let line =
            "42 (py) (th on) D 7 1 1 0 -1 4194624 10 20 3 40 5 6 7 8 20 0 1 0 12050 1000 10\n";
        let expected = Stat {
            name: "py) (th on",
            state: 'D',
            parent: 7,
            forked: true,
            major_faults: 3,
            cpu_ticks: 11,
            start_ticks: 12050,
        };
        assert_eq!(read(line), Some(expected));
        for bad in [
            "",
            "(",
            "()",
            "(a",
            "1 (a) R",
            "1 (a) R 1 1 1 0 -1 0 0 0 x 0 5 6 0 0 0 0 0 0 9 9",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\(|\\)|[0-9 ]|\\PC){0,80}") {
            let _ = read(&text);
        }
    }
}
