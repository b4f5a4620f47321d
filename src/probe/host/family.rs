//! Who descends from whom.

use super::files::Files;
use super::process_stat;
use std::collections::{HashMap, HashSet};

/// The most descendants of one process that are looked at.
const MOST_DESCENDANTS: usize = 4096;
/// The most processes of the host that are looked at.
const MOST_PROCESSES: usize = 65_536;

/// Children by parent, as of one walk over /proc.
#[derive(Debug, Default)]
pub(super) struct Families {
    children: HashMap<u32, Vec<u32>>,
}

impl Families {
    /// Walks over /proc. On a host with thousands of processes this takes tens of milliseconds.
    pub(super) fn walk(files: &mut Files) -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for pid in numbered(files, "/proc").into_iter().take(MOST_PROCESSES) {
            let Ok(text) = files.read(&format!("/proc/{pid}/stat")) else {
                continue;
            };
            if let Some(stat) = process_stat::read(&text) {
                children.entry(stat.parent).or_default().push(pid);
            }
        }
        Self { children }
    }

    /// The process and all that descend from it, itself first.
    pub(super) fn of(&self, pid: u32) -> Vec<u32> {
        let mut members = vec![pid];
        let mut seen = HashSet::from([pid]);
        let mut next = 0;
        while let Some(parent) = members.get(next).copied() {
            next += 1;
            for child in self.children.get(&parent).into_iter().flatten() {
                if members.len() > MOST_DESCENDANTS {
                    return members;
                }
                if seen.insert(*child) {
                    members.push(*child);
                }
            }
        }
        members
    }
}

/// The names in a folder that are numbers, sorted.
pub(super) fn numbered(files: &Files, folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(files.path(folder)) else {
        return Vec::new();
    };
    let mut all: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn descendants_are_found_even_in_a_circle() {
        let tree = Tree::new(&[]);
        for (pid, parent) in [
            (1, 0),
            (10, 1),
            (11, 10),
            (12, 11),
            (13, 10),
            (20, 1),
            (30, 31),
            (31, 30),
        ] {
            tree.write(
                &format!("/proc/{pid}/stat"),
                &format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 5 6 0 0 0 0 0 0 9 9"),
            );
        }
        let families = Families::walk(&mut Files::new(tree.root()));
        for (pid, expected) in [
            (10, vec![10, 11, 13, 12]),
            (20, vec![20]),
            (30, vec![30, 31]),
            (99, vec![99]),
        ] {
            assert_eq!(families.of(pid), expected);
        }
    }

    #[test]
    fn a_family_is_bounded() {
        let children = HashMap::from([(1, (2..10_000).collect())]);
        assert_eq!(Families { children }.of(1).len(), MOST_DESCENDANTS + 1);
    }
}
