//! Threads in uninterruptible wait: a share of them each time, in turn.

use super::family::numbered;
use super::files::Files;
use super::process_stat;
use crate::model::{Absent, Reading};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most threads that are looked at in one call.
const MOST_THREADS: usize = 256;

/// What was last seen of the threads of some processes.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The thread after which the next look goes on.
    cursor: (u32, u32),
    /// Waiting threads, and the kernel function where it can be told.
    waiting: BTreeMap<(u32, u32), Option<Arc<str>>>,
    /// Processes of which at least one thread was looked at.
    looked: BTreeSet<u32>,
}

impl Waits {
    /// Looks at the next threads of these processes and forgets all others.
    pub(super) fn look(&mut self, files: &mut Files, processes: &BTreeSet<u32>) {
        self.waiting.retain(|(pid, _), _| processes.contains(pid));
        self.looked.retain(|pid| processes.contains(pid));
        let (pid, thread) = self.cursor;
        // From the cursor's process on, around, and its first threads at the very end.
        let from = processes.range(pid..).map(|pid| (*pid, false));
        let around = processes.range(..=pid).map(|pid| (*pid, true));
        let mut budget = MOST_THREADS;
        for (next, again) in from.chain(around) {
            let threads = numbered(files, &format!("/proc/{next}/task"));
            self.waiting
                .retain(|(pid, thread), _| *pid != next || threads.binary_search(thread).is_ok());
            for one in threads {
                if next == pid && (one <= thread) != again {
                    continue;
                }
                if budget == 0 {
                    return;
                }
                budget -= 1;
                self.cursor = (next, one);
                self.look_at(files, next, one);
            }
        }
    }

    fn look_at(&mut self, files: &mut Files, pid: u32, thread: u32) {
        let folder = format!("/proc/{pid}/task/{thread}");
        let waits = match files.read(&format!("{folder}/stat")) {
            Ok(text) => process_stat::read(&text).map(|stat| stat.state == 'D'),
            Err(_) => None,
        };
        if waits.is_some() {
            self.looked.insert(pid);
        }
        if waits == Some(true) {
            // "0" is what the kernel says to those who may not know.
            let channel = files
                .read(&format!("{folder}/wchan"))
                .ok()
                .and_then(|text| {
                    let cleaned = crate::text::clean(text.trim());
                    (!cleaned.is_empty() && cleaned != "0").then(|| Arc::from(&*cleaned))
                });
            self.waiting.insert((pid, thread), channel);
        } else {
            self.waiting.remove(&(pid, thread));
        }
    }

    /// How many threads of these processes waited when last looked at, and where most of them do.
    pub(super) fn of(&self, members: &[u32]) -> (Reading<u32>, Reading<Arc<str>>) {
        if !members.iter().any(|pid| self.looked.contains(pid)) {
            return (Err(Absent::NotReported), Err(Absent::NotReported));
        }
        let mut count = 0_u32;
        let mut channels: BTreeMap<&Arc<str>, u32> = BTreeMap::new();
        for pid in members {
            for channel in self
                .waiting
                .range((*pid, 0)..=(*pid, u32::MAX))
                .map(|(_, channel)| channel)
            {
                count = count.saturating_add(1);
                if let Some(channel) = channel {
                    *channels.entry(channel).or_default() += 1;
                }
            }
        }
        let most = channels.into_iter().max_by_key(|(_, threads)| *threads);
        let why = if count == 0 {
            Absent::NotReported
        } else {
            Absent::NoPermission
        };
        (
            Ok(count),
            most.map(|(channel, _)| Arc::clone(channel)).ok_or(why),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    fn thread(tree: &Tree, pid: u32, thread: u32, state: char, channel: &str) {
        let folder = format!("/proc/{pid}/task/{thread}");
        tree.write(
            &format!("{folder}/stat"),
            &format!("{thread} (t) {state} 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 0 0 0 0 9 9"),
        );
        tree.write(&format!("{folder}/wchan"), channel);
    }

    #[test]
    fn waiting_threads_are_counted_with_their_place() {
        let tree = Tree::new(&[]);
        thread(&tree, 10, 10, 'S', "0");
        thread(&tree, 10, 12, 'D', "nfs_wait");
        thread(&tree, 11, 11, 'D', "nfs_wait");
        thread(&tree, 11, 15, 'D', "io_schedule");
        thread(&tree, 20, 20, 'R', "0");
        thread(&tree, 21, 21, 'D', "0");
        let mut files = Files::new(tree.root());
        let mut waits = Waits::default();
        assert_eq!(waits.of(&[10]).0, Err(Absent::NotReported));
        waits.look(&mut files, &BTreeSet::from([10, 11, 20, 21, 99]));
        let place = |text: &str| Ok(Arc::from(text));
        for (members, expected) in [
            (vec![10, 11], (Ok(3), place("nfs_wait"))),
            (vec![20], (Ok(0), Err(Absent::NotReported))),
            (vec![21], (Ok(1), Err(Absent::NoPermission))),
            (
                vec![99],
                (Err(Absent::NotReported), Err(Absent::NotReported)),
            ),
        ] {
            assert_eq!(waits.of(&members), expected, "{members:?}");
        }
        // A thread that goes on and one that is gone count no more.
        thread(&tree, 11, 15, 'S', "0");
        tree.remove("/proc/10/task/12");
        waits.look(&mut files, &BTreeSet::from([10, 11]));
        assert_eq!(waits.of(&[10, 11]).0, Ok(1));
        assert_eq!(waits.of(&[21]).0, Err(Absent::NotReported));
    }

    #[test]
    fn many_threads_are_looked_at_in_turn() {
        let tree = Tree::new(&[]);
        for one in 0..200 {
            thread(&tree, 1000, 1000 + one, 'D', "x");
            thread(&tree, 2000, 2000 + one, 'D', "x");
        }
        let mut files = Files::new(tree.root());
        let mut waits = Waits::default();
        let both = BTreeSet::from([1000, 2000]);
        let counts: Vec<_> = (0..3)
            .map(|_| {
                waits.look(&mut files, &both);
                waits.waiting.len()
            })
            .collect();
        assert_eq!(counts, [256, 400, 400]);
    }
}
