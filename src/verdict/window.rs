//! Windows in constant memory.

use serde::{Deserialize, Serialize};

const WORDS: usize = 5;
/// Looks that a [`Bits`] remembers.
pub(crate) const LOOKS: usize = WORDS * 64;

/// Yes or no for each of the last looks: shares of any window up to five minutes at one look a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Bits {
    /// The newest look is bit 0 of the first word.
    words: [u64; WORDS],
    filled: u16,
}

impl Bits {
    pub(crate) fn push(&mut self, yes: bool) {
        let mut carry = u64::from(yes);
        for word in &mut self.words {
            let out = *word >> 63;
            *word = (*word << 1) | carry;
            carry = out;
        }
        self.filled = (self.filled + 1).min(LOOKS as u16);
    }

    /// How many looks there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.filled)
    }

    /// Yes in how many of the last `looks`.
    pub(crate) fn count(&self, looks: usize) -> usize {
        self.fold(looks, |word, _| word)
    }

    /// Share of yes in the last `looks`, as far as there are any; `None` before there are `least`.
    pub(crate) fn share(&self, looks: usize, least: usize) -> Option<f64> {
        let looks = looks.min(self.len());
        (looks >= least.max(1)).then(|| self.count(looks) as f64 / looks as f64)
    }

    /// Changes between yes and no within the last `looks`.
    pub(crate) fn swings(&self, looks: usize) -> usize {
        let pairs = looks.min(self.len()).saturating_sub(1);
        self.fold(pairs, |word, next| word ^ ((word >> 1) | (next << 63)))
    }

    /// How many looks ago the oldest yes within the last `looks` was, 1 for the newest; 0 where there is none.
    pub(crate) fn oldest(&self, looks: usize) -> usize {
        let looks = looks.min(self.len());
        (1..=looks)
            .rev()
            .find(|back| {
                let at = back - 1;
                (self.words.get(at / 64)).is_some_and(|word| word >> (at % 64) & 1 == 1)
            })
            .unwrap_or(0)
    }

    /// Looks from one begin of a yes to the next, of all that is remembered.
    pub(crate) fn periods(&self) -> Run {
        let (mut run, mut last) = (Run::default(), None);
        for at in (1..self.len()).rev() {
            let is = |at: usize| {
                self.words
                    .get(at / 64)
                    .is_some_and(|w| w >> (at % 64) & 1 == 1)
            };
            if is(at - 1) && !is(at) {
                if let Some(last) = last {
                    run.take((last - at) as f64);
                }
                last = Some(at);
            }
        }
        run
    }

    fn fold(&self, looks: usize, bits: impl Fn(u64, u64) -> u64) -> usize {
        let mut left = looks.min(LOOKS);
        let mut sum = 0;
        for (n, word) in self.words.iter().enumerate() {
            if left == 0 {
                break;
            }
            let next = self.words.get(n + 1).copied().unwrap_or(0);
            let mask = if left >= 64 {
                u64::MAX
            } else {
                (1 << left) - 1
            };
            sum += (bits(*word, next) & mask).count_ones() as usize;
            left = left.saturating_sub(64);
        }
        sum
    }
}

/// A mean that forgets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Smooth {
    mean: f64,
    /// Seconds taken in so far, up to a few time constants.
    seconds: f64,
}

impl Smooth {
    /// Takes a value in that stands for `dt` seconds.
    pub(crate) fn take(&mut self, value: f64, dt: f64, tau: f64) {
        let dt = dt.max(1e-3);
        self.seconds = (self.seconds + dt).min(1e6);
        // A plain mean until there is one time constant of it.
        let share = dt / self.seconds.min(tau + dt);
        self.mean += (value - self.mean) * share.min(1.0);
    }

    /// The mean, once there are `least_s` seconds of it.
    pub(crate) fn get(&self, least_s: f64) -> Option<f64> {
        (self.seconds > 0.0 && self.seconds >= least_s).then_some(self.mean)
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Mean and spread since something began (Welford).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    count: u32,
    mean: f64,
    squares: f64,
}

impl Run {
    pub(crate) fn take(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) const fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation; 0 of fewer than two values.
    pub(crate) fn spread(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        (self.squares / f64::from(self.count - 1)).max(0.0).sqrt()
    }
}

/// The last so many numbers, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Ring {
    values: Vec<f32>,
}

impl Ring {
    /// Keeps at most `most`.
    pub(crate) fn push(&mut self, value: f64, most: usize) {
        if self.values.len() >= most {
            let over = self.values.len() + 1 - most;
            self.values.drain(..over);
        }
        if self.values.capacity() < most {
            self.values.reserve_exact(most - self.values.len());
        }
        self.values.push(value as f32);
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.values)
    }

    /// Median absolute deviation.
    pub(crate) fn deviation(&self) -> Option<f64> {
        let middle = self.median()? as f32;
        let off: Vec<f32> = self.values.iter().map(|v| (v - middle).abs()).collect();
        median(&off)
    }
}

/// The median of some numbers; `None` of none.
pub(crate) fn median(values: &[f32]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let middle = sorted.len() / 2;
    let high = f64::from(*sorted.get(middle)?);
    if sorted.len() % 2 == 1 {
        return Some(high);
    }
    let low = f64::from(*sorted.get(middle.checked_sub(1)?)?);
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_count_as_a_list_would(list in prop::collection::vec(any::<bool>(), 1..700), looks in 1usize..400) {
            let mut bits = Bits::default();
            list.iter().for_each(|b| bits.push(*b));
            let looks_now = looks.min(list.len()).min(LOOKS);
            let tail = &list[list.len() - looks_now..];
            prop_assert_eq!(bits.count(looks_now), tail.iter().filter(|b| **b).count());
            let oldest = tail.iter().position(|b| *b).map_or(0, |at| tail.len() - at);
            prop_assert_eq!(bits.oldest(looks_now), oldest);
            prop_assert_eq!(bits.swings(looks_now), tail.windows(2).filter(|w| w[0] != w[1]).count());
        }

        #[test]
        fn a_run_is_mean_and_deviation(list in prop::collection::vec(-1e3..1e3f64, 2..200)) {
            let mut run = Run::default();
            list.iter().for_each(|v| run.take(*v));
            let mean = list.iter().sum::<f64>() / list.len() as f64;
            let var = list.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (list.len() - 1) as f64;
            prop_assert!((run.mean() - mean).abs() < 1e-6);
            prop_assert!((run.spread() - var.sqrt()).abs() < 1e-6);
        }
    }

    #[test]
    fn medians_and_rings() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        let mut ring = Ring::default();
        (0..10).for_each(|n| ring.push(f64::from(n), 3));
        assert_eq!(ring.values(), [7.0, 8.0, 9.0]);
        assert_eq!(ring.deviation(), Some(1.0));
    }

    #[test]
    fn a_smooth_mean_begins_plainly_and_forgets() {
        let mut smooth = Smooth::default();
        assert_eq!(smooth.get(0.0), None);
        (0..3).for_each(|n| smooth.take(f64::from(n), 1.0, 10.0));
        assert!((smooth.get(3.0).unwrap() - 1.0).abs() < 1e-9);
        (0..200).for_each(|_| smooth.take(5.0, 1.0, 10.0));
        assert!((smooth.get(3.0).unwrap() - 5.0).abs() < 1e-3);
    }
}
