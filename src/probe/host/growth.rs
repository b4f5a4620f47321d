//! What counters grew by from one sample to the next.

use crate::model::{Absent, Reading};
use std::collections::HashMap;
use std::hash::Hash;

/// Counters under keys (interfaces, disks, ports), as they stood in the previous sample.
#[derive(Debug)]
pub(super) struct Growth<K, const N: usize> {
    last: Option<HashMap<K, [u64; N]>>,
}

impl<K, const N: usize> Default for Growth<K, N> {
    fn default() -> Self {
        Self { last: None }
    }
}

impl<K: Eq + Hash, const N: usize> Growth<K, N> {
    /// Keeps `now` and says what all counters together grew by. A key that is new has no growth yet.
    ///
    /// # Errors
    /// `now`'s own reason; `NotReported` in the first sample, where no key stood in both, or where a counter
    /// went back (reset), so that the sum would be too small.
    pub(super) fn step(&mut self, now: Reading<HashMap<K, [u64; N]>>) -> Reading<[u64; N]> {
        let now = match now {
            Ok(now) => now,
            Err(why) => {
                self.last = None;
                return Err(why);
            }
        };
        let grown = self
            .last
            .as_ref()
            .ok_or(Absent::NotReported)
            .and_then(|last| {
                let mut sum = [0_u64; N];
                let mut common = false;
                for (key, counters) in &now {
                    let Some(before) = last.get(key) else {
                        continue;
                    };
                    common = true;
                    for ((sum, now), before) in sum.iter_mut().zip(counters).zip(before) {
                        let grown = now.checked_sub(*before).ok_or(Absent::NotReported)?;
                        *sum = sum.saturating_add(grown);
                    }
                }
                common.then_some(sum).ok_or(Absent::NotReported)
            });
        self.last = Some(now);
        grown
    }
}

impl<const N: usize> Growth<(), N> {
    /// As [`Self::step`] for counters that have no key.
    pub(super) fn step_one(&mut self, now: Reading<[u64; N]>) -> Reading<[u64; N]> {
        self.step(now.map(|counters| HashMap::from([((), counters)])))
    }
}

/// A growth as a rate.
pub(super) fn per_second(growth: Reading<u64>, seconds: Option<f64>) -> Reading<f64> {
    let seconds = seconds.ok_or(Absent::NotReported);
    growth.and_then(|growth| Ok(growth as f64 / seconds?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_known_from_the_second_sample_on() {
        let mut growth = Growth::<&str, 1>::default();
        let none = Err(Absent::NotReported);
        for (now, expected) in [
            (Ok(vec![("a", 5)]), none),
            (Ok(vec![("a", 7), ("b", 1000)]), Ok([2])),
            (Ok(vec![("a", 8), ("b", 1001)]), Ok([2])),
            (Ok(vec![("a", 1), ("b", 1009)]), none),
            (Ok(vec![("a", 2)]), Ok([1])),
            (Ok(vec![("c", 2)]), none),
            (Err(Absent::NoPermission), Err(Absent::NoPermission)),
            (Ok(vec![("c", 9)]), none),
            (Ok(vec![]), none),
        ] {
            let now: Reading<Vec<_>> = now;
            let now = now.map(|all| all.into_iter().map(|(key, count)| (key, [count])).collect());
            assert_eq!(growth.step(now), expected);
        }
    }
}
