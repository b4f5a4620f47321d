//! Lets go of the program's pages that only its start needed.
//!
//! The kernel maps a program in portions of sixteen pages, so that a start through argument parsing, configuration and the
//! opening of a library leaves most of ten megabytes mapped in each of our processes for days (facts: peak memory is the sum of
//! both). Pages that were never written to are the file's: what is let go comes back from the page cache when it is run again.
#![allow(unsafe_code)]

use rustix::mm::{Advice, madvise};
use std::time::Duration;

/// When a process that has begun lets go: often while it opens what it reads, as its peak counts, then when the first figures
/// are there, and when what happens every few seconds has happened once. Each time costs half a millisecond.
const AFTER_MS: [u64; 13] = [1, 2, 4, 6, 8, 10, 14, 20, 40, 100, 300, 1000, 3000];

/// And from then on, for as long as it runs: a view that somebody looked into, a block of the recording that was sealed.
const EVERY: Duration = Duration::from_mins(1);

/// Keeps the process small from here on: one heap for all its threads, which allocate little, and nothing mapped for long
/// that only the start needed. To be called before threads are started.
pub(super) fn keep_small() {
    one_heap();
    let_go();
    // Without the thread it is as it would be otherwise.
    let _ = std::thread::Builder::new()
        .name("pages".to_owned())
        .spawn(|| {
            let mut last = Duration::ZERO;
            for after in AFTER_MS.map(Duration::from_millis) {
                std::thread::sleep(after - last);
                last = after;
                let_go();
            }
            loop {
                std::thread::sleep(EVERY);
                let_go();
            }
        });
}

/// glibc gives each thread a heap of its own, each of which keeps what its thread once needed.
#[cfg(target_env = "gnu")]
fn one_heap() {
    /// M_ARENA_MAX of glibc's malloc.h.
    const ARENA_MAX: std::ffi::c_int = -8;
    // SAFETY: as malloc.h declares it.
    unsafe extern "C" {
        fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
    }
    // SAFETY: mallopt(3) takes two numbers, may be called at any time, and refuses what it does not know.
    let _ = unsafe { mallopt(ARENA_MAX, 1) };
}

#[cfg(not(target_env = "gnu"))]
fn one_heap() {}

/// Lets go of all that is mapped from files, may not be written to and never was.
fn let_go() {
    let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else {
        return;
    };
    for (address, length) in plain(&smaps) {
        // SAFETY: the pages are those of a file that is mapped privately, read-only, and none of them has ever been written
        // to (relocated code has, and counts as anonymous). The kernel fills them from the file when they are touched
        // again, so no reader sees another byte.
        let _ = unsafe { madvise(address as *mut _, length, Advice::LinuxDontNeed) };
    }
}

/// Address and length of each mapping in a process's `smaps` that is a file's, read-only and untouched.
fn plain(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in smaps.lines() {
        if let Some(head) = header(line) {
            mapping = head;
        } else if line.starts_with("Rss:") && line.ends_with(" 0 kB") {
            mapping = None;
        } else if let Some(rest) = line.strip_prefix("Anonymous:") {
            if rest.trim() != "0 kB" {
                mapping = None;
            }
        } else if let Some(rest) = line.strip_prefix("Swap:")
            && let Some(whole) = mapping.take()
            && rest.trim() == "0 kB"
        {
            found.push(whole);
        }
    }
    found
}

/// The first line of a mapping: where it is, if it may be let go as far as that line tells. `None` for any other line.
#[allow(clippy::option_option)]
fn header(line: &str) -> Option<Option<(usize, usize)>> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let (from, to) = (address(from)?, address(to)?);
    let mut fields = rest.split_whitespace();
    let permissions = fields.next()?;
    let file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
    let is_plain = matches!(permissions, "r-xp" | "r--p") && file;
    Some((is_plain && to > from).then(|| (from, to - from)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapping(head: &str, resident: u32, anonymous: u32, swapped: u32) -> String {
        format!(
            "{head}\nSize:  16 kB\nRss:  {resident} kB\nPrivate_Dirty:  0 kB\nAnonymous:   {anonymous} kB\nSwap:  {swapped} kB\nVmFlags: rd ex mr\n"
        )
    }

    #[test]
    fn only_what_is_a_files_and_was_never_written_to_goes() {
        let text = "1000-5000 r-xp 00001000 fe:00 77     /usr/bin/nameplate";
        let goes = |smaps: &str| plain(smaps) == [(0x1000, 0x4000)];
        assert!(goes(&mapping(text, 8, 0, 0)));
        assert!(goes(&mapping(&text.replace("r-xp", "r--p"), 8, 0, 0)));
        // A path with a space in it, and another mapping behind.
        let two = mapping(&format!("{text} (deleted)"), 8, 0, 0)
            + &mapping("7000-8000 rw-p 00000000 00:00 0", 4, 4, 0);
        assert!(goes(&two));
        for stays in [
            // Relocated or patched code, in memory or swapped out; nothing there.
            mapping(text, 8, 4, 0),
            mapping(text, 8, 0, 4),
            mapping(text, 0, 0, 0),
            // Written to, shared, nobody's, the kernel's own.
            mapping(&text.replace("r-xp", "rw-p"), 8, 0, 0),
            mapping(&text.replace("r-xp", "r-xs"), 8, 0, 0),
            mapping("1000-5000 r-xp 00000000 00:00 0", 8, 0, 0),
            mapping("1000-5000 r-xp 00000000 00:00 0     [vdso]", 8, 0, 0),
            // Cut before it tells.
            format!("{text}\nRss: 8 kB\nAnonymous: 0 kB\n"),
        ] {
            assert_eq!(plain(&stays), [], "{stays}");
        }
    }

    #[test]
    fn a_process_that_lets_go_goes_on() {
        let before: u64 = (0..1000_u64).map(|n| n * n).sum();
        let_go();
        let text = format!("{:.3} {:?}", 2.5_f64.sqrt(), "again");
        assert_eq!(
            ((0..1000_u64).map(|n| n * n).sum::<u64>(), text.as_str()),
            (before, "1.581 \"again\"")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([0-9a-f]{1,17}-[0-9a-f]{1,17} (r-xp|r--p) 0 0 0 /x\n|Rss: 1 kB\n|Anonymous: 0 kB\n|Swap: 0 kB\n|\\PC{0,20}\n){0,12}") {
            for (from, length) in plain(&text) {
                prop_assert!(from.checked_add(length).is_some() && length > 0);
            }
        }
    }
}
