//! What grows, and what goes to and fro, over hours.

use super::proof::{Answer, Limits, Proof, evidence};
use super::window::{Ring, Run};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, Less, More};
use crate::model::{Cause, Threshold as T, Whose, Witness};
use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// Minutes that the detector looks at: three thirds of 40 (facts, section 9).
const MINUTES: usize = 120;
const THIRD: usize = MINUTES / 3;
/// The detector is run this often, in minutes.
const EVERY: u8 = 5;
/// Each third must rise with this many standard deviations (Mann-Kendall).
const RISES: f64 = 2.0;

/// Highest device memory of each of the last 120 minutes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Growth {
    minute: Option<MonoTime>,
    most: f64,
    /// Shares of all memory.
    maxima: Ring,
    since_run: u8,
    /// Slopes of the thirds as shares of all memory per hour, where all of them rise.
    leak: Option<[f32; 3]>,
}

impl Growth {
    pub(crate) fn take(&mut self, seen: &Seen<'_>, least: f64) {
        let (Some(used), Some(total)) = (seen.memory_used, seen.memory_total.filter(|t| *t > 0.0))
        else {
            return;
        };
        let begun = *self.minute.get_or_insert(seen.now);
        self.most = self.most.max(used / total);
        if seen.now.seconds_since(begun) + 0.5 * seen.interval_s < 60.0 {
            return;
        }
        // A process that went takes its memory along: what comes next is another story.
        if self
            .maxima
            .values()
            .last()
            .is_some_and(|last| self.most < f64::from(*last) * 0.9)
        {
            self.maxima.clear();
            self.leak = None;
        }
        self.maxima.push(self.most, MINUTES);
        (self.minute, self.most) = (Some(seen.now), 0.0);
        self.since_run += 1;
        if self.since_run >= EVERY {
            self.since_run = 0;
            self.leak = leak(self.maxima.values(), least);
        }
    }
}

/// Slopes of the three thirds per hour, where each rises beyond chance and by `least`, and the last by more than half
/// of the first.
fn leak(maxima: &[f32], least: f64) -> Option<[f32; 3]> {
    if maxima.len() < MINUTES {
        return None;
    }
    let mut slopes = [0.0_f32; 3];
    for (third, slope) in maxima.chunks_exact(THIRD).zip(&mut slopes) {
        let (rises, per_hour) = trend(third);
        if rises <= RISES || f64::from(per_hour) <= least {
            return None;
        }
        *slope = per_hour;
    }
    let [first, _, last] = slopes;
    (last > 0.5 * first).then_some(slopes)
}

/// Mann-Kendall's z with the correction for ties, and Theil and Sen's slope per hour of minute values.
fn trend(values: &[f32]) -> (f64, f32) {
    let n = values.len();
    let mut score = 0_i64;
    let mut slopes: Vec<f32> = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for (i, a) in values.iter().enumerate() {
        for (k, b) in values.iter().skip(i + 1).enumerate() {
            score += i64::from((b > a) as i8 - (b < a) as i8);
            slopes.push((b - a) / (k + 1) as f32);
        }
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|tied| tied.len() as f64)
        .map(|t| t * (t - 1.0) * (2.0 * t + 5.0))
        .sum();
    let n = n as f64;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    let z = if variance > 0.0 && score != 0 {
        (score - score.signum()) as f64 / variance.sqrt()
    } else {
        0.0
    };
    let middle = slopes.len() / 2;
    let slope = if slopes.is_empty() {
        0.0
    } else {
        *slopes.select_nth_unstable_by(middle, f32::total_cmp).1
    };
    (z, slope * 60.0)
}

/// Device memory that grows without end (facts, section 9). A plateau, a step or a warm-up is none.
pub(super) struct MemoryLeak;

impl Rule for MemoryLeak {
    fn cause(&self) -> Cause {
        Cause::MemoryLeak
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let growth = &memory.growth;
        if seen.memory_used.is_none() || growth.maxima.len() < MINUTES {
            return Answer::NotEnough;
        }
        let Some([first, _, last]) = growth.leak else {
            return Answer::No;
        };
        let window = 60.0 * MINUTES as f64;
        let used = growth
            .maxima
            .values()
            .last()
            .copied()
            .map_or(0.0, f64::from);
        let mut proof = Proof::of(Cause::MemoryLeak)
            .with(
                Witness::MemoryGrowth,
                f64::from(last),
                More,
                limits.get(T::LeakGrowth),
                window,
            )
            .with(Witness::MemoryUsed, used, Less, (1.0, Whose::Device), 0.0)
            .not(
                Cause::WarmUp,
                evidence(
                    Witness::MemoryGrowth,
                    f64::from(last),
                    More,
                    (0.5 * f64::from(first), Whose::Baseline),
                    window,
                ),
            );
        proof.at_once = true;
        proof.back_s = window;
        // An estimate near the threshold is a suspicion.
        let slowest = growth
            .leak
            .into_iter()
            .flatten()
            .fold(f32::INFINITY, f32::min);
        proof.can_be_sure = f64::from(slowest) >= 1.2 * limits.value(T::LeakGrowth);
        Answer::Yes(proof)
    }
}

/// The scaling line, and how far utilization goes beyond it on both sides, in utilization (articles; facts, section 9).
const LINE: f64 = 0.30;
const AROUND: f64 = 0.01;
/// The hysteresis of a crossing. A swing is judged by its far ends: noise leaves half of the minutes of a swing that is
/// just wide enough short of `AROUND`.
const CROSSES: f64 = 0.5 * AROUND;
/// Far ends this many times as far out are beyond doubt.
const BEYOND: f64 = 1.2;
/// A scaler goes to and fro between two levels, and stays on each for about as long every time: the spread of its far ends
/// and of its stays, on either side, as a share of their mean. Requests that come and go differ from one time to the next.
const EVEN: f64 = 0.4;
const FAR: f64 = 0.10;
/// Minutes and crossings that make it.
const FLAP_MINUTES: u32 = 120;
const CROSSINGS: usize = 10;
/// The two hours must be regular for so long: they slide over days, and chance is regular now and then, for some
/// minutes (of 2000 clean device-days 21 had a regular minute).
const REGULAR_MINUTES: u32 = 50;
/// Crossings kept.
const KEPT: usize = 64;

/// When it crossed, and how far from the line it went since: the minute in the lower 20 bits, the distance above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Crossing(u32);

impl Crossing {
    const MINUTE: u32 = 0xf_ffff;
    const STEPS: f64 = 4095.0;

    const fn at(minute: u32) -> Self {
        Self(minute & Self::MINUTE)
    }

    /// Minutes since then; the counter of two years begins anew.
    const fn age(self, now: u32) -> u32 {
        now.wrapping_sub(self.0) & Self::MINUTE
    }

    /// Minutes from here to a later one.
    const fn until(self, later: Self) -> u32 {
        self.age(later.0)
    }

    fn far(self) -> f64 {
        f64::from(self.0 >> 20) / Self::STEPS * FAR
    }

    /// Takes a further end in.
    fn reach(&mut self, far: f64) {
        if far > self.far() {
            let steps = (far / FAR * Self::STEPS).round().clamp(0.0, Self::STEPS);
            self.0 = self.0 & Self::MINUTE | (steps as u32) << 20;
        }
    }
}

/// Crossings of a scaling line by the median utilization of minutes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Flaps {
    minute: Option<MonoTime>,
    run: Run,
    minutes: u32,
    above: Option<bool>,
    crossed: Vec<Crossing>,
    /// Minutes in a row in which the last two hours crossed regularly.
    regular_minutes: u32,
}

impl Flaps {
    pub(crate) fn take(&mut self, seen: &Seen<'_>) {
        let Some(utilization) = seen.utilization else {
            return;
        };
        let begun = *self.minute.get_or_insert(seen.now);
        self.run.take(utilization);
        if seen.now.seconds_since(begun) + 0.5 * seen.interval_s < 60.0 {
            return;
        }
        let (mean, spread) = (self.run.mean(), self.run.spread());
        (self.minute, self.run) = (Some(seen.now), Run::default());
        self.minutes = self.minutes.saturating_add(1);
        // Far from the line, or in bursts, it is no scaler's going to and fro around it.
        if (mean - LINE).abs() > FAR || spread > FAR {
            self.crossed.clear();
            self.above = None;
        }
        let above = match mean {
            m if m > LINE + CROSSES => Some(true),
            m if m < LINE - CROSSES => Some(false),
            _ => self.above,
        };
        if self.above.is_some() && above != self.above {
            if self.crossed.len() >= KEPT {
                self.crossed.remove(0);
            }
            self.crossed.push(Crossing::at(self.minutes));
        }
        if let Some(last) = self.crossed.last_mut() {
            last.reach((mean - LINE).abs());
        }
        self.above = above;
        let now = self.minutes;
        self.crossed
            .retain(|crossing| crossing.age(now) < FLAP_MINUTES);
        self.regular_minutes = match self.regular() {
            Some(_) => self.regular_minutes.saturating_add(1),
            None => 0,
        };
    }

    /// Crossings within two hours, where they come regularly and between two levels, and how far these are from the line.
    fn regular(&self) -> Option<(usize, f64)> {
        let crossings = self.crossed.len();
        if self.minutes < FLAP_MINUTES || crossings < CROSSINGS {
            return None;
        }
        let mut periods = Run::default();
        for (a, b) in self.crossed.iter().zip(self.crossed.iter().skip(2)) {
            periods.take(f64::from(a.until(*b)));
        }
        // Both sides by themselves: every other crossing goes up. The last has not come to its end.
        let ended = self
            .crossed
            .split_last()
            .map_or(&[][..], |(_, ended)| ended);
        let mut nearest = f64::INFINITY;
        for side in [0, 1] {
            let (mut ends, mut lasts) = (Run::default(), Run::default());
            let nexts = self.crossed.iter().skip(side + 1).step_by(2);
            for (crossing, next) in ended.iter().skip(side).step_by(2).zip(nexts) {
                ends.take(crossing.far());
                lasts.take(f64::from(crossing.until(*next)));
            }
            if [ends, lasts]
                .iter()
                .any(|run| run.spread() >= EVEN * run.mean())
            {
                return None;
            }
            nearest = nearest.min(ends.mean());
        }
        let steady = periods.mean() >= 4.0 && periods.spread() < 0.25 * periods.mean();
        (steady && nearest >= AROUND).then_some((crossings, nearest))
    }
}

/// Utilization that goes to and fro around a scaling line.
pub(super) struct Flapping;

impl Rule for Flapping {
    fn cause(&self) -> Cause {
        Cause::Flapping
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, _: &Limits) -> Answer {
        if seen.utilization.is_none() || memory.flaps.minutes < FLAP_MINUTES {
            return Answer::NotEnough;
        }
        let Some((crossings, nearest)) = memory.flaps.regular() else {
            return Answer::No;
        };
        if memory.flaps.regular_minutes < REGULAR_MINUTES {
            return Answer::NotEnough;
        }
        let window = f64::from(FLAP_MINUTES) * 60.0;
        let mut proof = Proof::of(Cause::Flapping).with(
            Witness::Swings,
            crossings as f64,
            AtLeast,
            (CROSSINGS as f64, Whose::Article),
            window,
        );
        proof.at_once = true;
        proof.back_s = window;
        proof.can_be_sure = nearest >= BEYOND * AROUND;
        Answer::Yes(proof)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Kinds of growth, per minute, with whether it is a leak (facts, section 9).
    #[test]
    fn a_leak_is_told_from_steps_plateaus_and_warm_up() {
        type At = fn(f32) -> f32;
        let cases: [(&str, At, bool); 6] = [
            ("flat", |_| 0.5, false),
            ("1 % an hour", |m| 0.5 + 0.01 * m / 60.0, true),
            ("in steps", |m| 0.5 + 0.003 * (m / 9.0).floor(), true),
            ("one step", |m| if m < 55.0 { 0.5 } else { 0.6 }, false),
            ("warm-up", |m| 0.5 + 0.2 * (1.0 - (-m / 15.0).exp()), false),
            ("0.3 % an hour", |m| 0.5 + 0.003 * m / 60.0, false),
        ];
        for (name, at, expected) in cases {
            let values: Vec<f32> = (0..MINUTES).map(|m| at(m as f32)).collect();
            assert_eq!(leak(&values, 0.005).is_some(), expected, "{name}");
        }
    }

    /// Minutes of utilization, a look a minute.
    fn flaps(at: impl Fn(u32) -> f64) -> Flaps {
        let device = crate::verdict::tests::card();
        let peers = crate::verdict::Peers::default();
        let mut flaps = Flaps::default();
        for minute in 0..240_u32 {
            let mut seen = crate::verdict::tests::working(&device, &peers);
            seen.now = MonoTime(u64::from(minute) * 60_000_000_000);
            (seen.interval_s, seen.utilization) = (60.0, Some(at(minute)));
            flaps.take(&seen);
        }
        flaps
    }

    #[test]
    fn a_swing_is_judged_by_its_far_ends_and_needs_two_levels() {
        // Three minutes up and three down; a sensor's noise of 0.25 points.
        let noise = |minute: u32| 0.0025 * f64::from((minute * 7 % 11) as i32 - 5) / 3.2;
        let swing = |minute: u32, width: f64| {
            let up = (minute / 3).is_multiple_of(2);
            LINE + if up { width } else { -width } + noise(minute)
        };
        let just_over = flaps(|m| swing(m, 0.0101)).regular().unwrap();
        assert!(
            just_over.0 >= 30 && just_over.1 < BEYOND * AROUND + 0.002,
            "{just_over:?}"
        );
        let (_, wide) = flaps(|m| swing(m, 0.02)).regular().unwrap();
        assert!((0.018..0.024).contains(&wide), "{wide}");
        assert_eq!(flaps(|m| swing(m, 0.006)).regular(), None);
        // As regular, and never twice the same height: requests.
        let heights = |m: u32| swing(m, 0.007 + 0.06 * f64::from(m / 3 * 7 % 13) / 13.0);
        assert_eq!(flaps(heights).regular(), None);
    }

    #[test]
    fn a_crossing_keeps_its_minute_and_its_far_end() {
        let mut crossing = Crossing::at(1_048_570);
        crossing.reach(0.0123);
        crossing.reach(0.004);
        assert!((crossing.far() - 0.0123).abs() < 2e-5);
        // Over the end of the counter.
        assert_eq!(crossing.age(1_048_576 + 4), 10);
        crossing.reach(1.0);
        assert!((crossing.far() - FAR).abs() < 1e-12);
        assert_eq!(crossing.age(1_048_570), 0);
    }

    #[test]
    fn a_trend_has_its_sign_and_slope() {
        let up: Vec<f32> = (0..40).map(|n| n as f32).collect();
        let (z, slope) = trend(&up);
        assert!(z > 8.0, "{z}");
        assert!((slope - 60.0).abs() < 1e-3, "{slope}");
        assert_eq!(trend(&[1.0; 40]), (0.0, 0.0));
    }
}
