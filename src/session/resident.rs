//! Power of a device that is kept ready and does nothing, learned in constant memory.

use serde::{Deserialize, Serialize};

/// The share of seconds with less power than what is learned (facts on power as a meter of work).
const SHARE: f64 = 0.05;
/// Learned after this many seconds.
const ENOUGH_S: f64 = 60.0;

/// The 5th percentile of power over seconds in which a process keeps memory, nothing runs and the device is at its
/// fastest state. Power lags behind utilization, so that its mean would hold the end of the work before.
///
/// Five markers move along with the readings (Jain and Chlamtac's P-square): lowest, two beside the percentile, it, and
/// highest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ResidentIdle {
    seconds: f64,
    count: u32,
    /// Watts at each marker.
    heights: [f64; 5],
    /// How many readings are at or below each marker.
    places: [f64; 5],
}

impl ResidentIdle {
    /// Takes in a reading that stands for so many seconds.
    pub(crate) fn take(&mut self, watts: f64, seconds: f64) {
        self.seconds += seconds;
        let taken = self.count as usize;
        self.count = self.count.saturating_add(1);
        if let Some(free) = self.heights.get_mut(taken) {
            *free = watts;
            if taken == 4 {
                self.heights.sort_by(f64::total_cmp);
                self.places = [1.0, 2.0, 3.0, 4.0, 5.0];
            }
            return;
        }
        let [low, .., high] = &mut self.heights;
        *low = low.min(watts);
        *high = high.max(watts);
        let [_, inner @ .., _] = self.heights;
        let below = inner.iter().filter(|h| **h <= watts).count();
        for place in self.places.iter_mut().skip(1 + below) {
            *place += 1.0;
        }
        for marker in 1..4 {
            self.adjust(marker);
        }
    }

    /// Moves an inner marker by one reading towards where it should stand.
    fn adjust(&mut self, marker: usize) {
        let wanted = [0.0, SHARE / 2.0, SHARE, (1.0 + SHARE) / 2.0, 1.0];
        let wanted = 1.0 + f64::from(self.count - 1) * wanted[marker];
        let [before, now, after] =
            [marker - 1, marker, marker + 1].map(|m| (self.places[m], self.heights[m]));
        let off = wanted - now.0;
        let step = match () {
            () if off >= 1.0 && after.0 - now.0 > 1.0 => 1.0,
            () if off <= -1.0 && before.0 - now.0 < -1.0 => -1.0,
            () => return,
        };
        let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
        let curved = now.1
            + step / (after.0 - before.0)
                * ((now.0 - before.0 + step) * slope(now, after)
                    + (after.0 - now.0 - step) * slope(before, now));
        let straight = now.1 + step * slope(now, if step > 0.0 { after } else { before });
        let inside = before.1 < curved && curved < after.1;
        self.heights[marker] = if inside { curved } else { straight };
        self.places[marker] += step;
    }

    /// Watts, once enough seconds were seen.
    pub(crate) fn watts(&self) -> Option<f64> {
        let [_, _, percentile, _, _] = self.heights;
        (self.seconds >= ENOUGH_S && self.count >= 5).then_some(percentile)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn learned(watts: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut idle = ResidentIdle::default();
        watts.into_iter().for_each(|w| idle.take(w, 1.0));
        idle.watts()
    }

    #[test]
    fn it_needs_a_minute() {
        assert_eq!(learned([130.0; 59]), None);
        assert_eq!(learned([130.0; 60]), Some(130.0));
        let mut slow = ResidentIdle::default();
        (0..4).for_each(|_| slow.take(130.0, 30.0));
        assert_eq!(slow.watts(), None, "four readings are no distribution");
    }

    #[test]
    fn power_that_lags_behind_the_work_before_is_not_learned() {
        // Twenty pauses of ten seconds: six in which the draw still falls, four at rest.
        let pause = [
            480.0, 390.0, 300.0, 230.0, 180.0, 150.0, 133.0, 132.0, 131.0, 133.0,
        ];
        let all: Vec<f64> = (0..20).flat_map(|_| pause).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let watts = learned(all).unwrap();
        assert!(mean > 200.0 && (131.0..=133.5).contains(&watts), "{watts}");
    }

    proptest! {
        #[test]
        fn it_is_near_the_true_percentile(values in prop::collection::vec(100.0..200.0f64, 600..2000)) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let exact = sorted[(0.05 * (sorted.len() - 1) as f64) as usize];
            let watts = learned(values).unwrap();
            prop_assert!((watts - exact).abs() <= 5.0, "{watts} for {exact}");
        }

        #[test]
        fn it_stays_within_what_was_read(values in prop::collection::vec(0.0..1000.0f64, 60..300)) {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            let watts = learned(values).unwrap();
            prop_assert!((low..=high).contains(&watts));
        }
    }
}
