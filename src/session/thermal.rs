//! Time left until clocks are cut for heat.
//!
//! First-order model: the headroom h(t) runs to an end value as `h_end + a exp(-t / tau)`. A figure is given only
//! after one tau and at least 60 s at constant power (within 5 %), and only where the end value is below zero:
//! before that the model is wrong in up to half of all cases (simulated: after half a tau 9 to 15 of 30 runs that
//! settle below the threshold are called throttling, after one tau 0 to 3).

use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// Time constants that are tried, in seconds: cards settle within a minute to a quarter of an hour.
const TAUS: [f64; 9] = [30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 450.0, 600.0];
/// A power step of this share begins a new fit.
const POWER_STEP: f64 = 0.05;
/// Seconds between two points of the fit.
const PACE_S: f64 = 5.0;
/// Points kept: fifteen minutes.
const KEPT: usize = 180;
/// One of so many points brings a new fit; devices take turns, so that no tick fits all of them.
const TURNS: u32 = 3;
/// No figure before this many seconds.
const LEAST_S: f64 = 60.0;
/// Without readings for this long a fit begins anew.
const LONGEST_HOLE_S: f64 = 30.0;
/// A fall smaller than this between the begin and the end of the points is an integer sensor's noise.
const LEAST_FALL_C: f64 = 0.5;
/// End values nearer to the threshold than this are not told from it (integer sensors).
const END_MARGIN_C: f64 = 0.5;

/// The fit of one device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Thermal {
    power_w: Option<f64>,
    points: Vec<(f64, f64)>,
    began: MonoTime,
    taken: u32,
    /// Seconds left, as found at that instant.
    left: Option<(f64, MonoTime)>,
}

impl Thermal {
    /// Takes headroom (°C) and power (W) of one instant.
    /// `turn` is the device's place among the others.
    pub(crate) fn take(
        &mut self,
        turn: u32,
        at: MonoTime,
        headroom: Option<f64>,
        power: Option<f64>,
    ) {
        let t = at.seconds_since(self.began);
        let (Some(headroom), Some(power)) = (headroom, power) else {
            if self
                .points
                .last()
                .is_some_and(|(last, _)| t - last > LONGEST_HOLE_S)
            {
                *self = Self::default();
            }
            return;
        };
        let reference = *self.power_w.get_or_insert(power);
        let step = (power - reference).abs() > reference.max(1.0) * POWER_STEP;
        let hole = self
            .points
            .last()
            .is_none_or(|(last, _)| t - last > LONGEST_HOLE_S);
        if step || hole {
            *self = Self {
                power_w: Some(power),
                points: vec![(0.0, headroom)],
                began: at,
                left: None,
                taken: 0,
            };
            return;
        }
        if self
            .points
            .last()
            .is_some_and(|(last, _)| t - last < PACE_S)
        {
            return;
        }
        if self.points.len() >= KEPT {
            self.points.remove(0);
        }
        self.points.push((t, headroom));
        self.taken = self.taken.wrapping_add(1);
        if self.taken % TURNS == turn % TURNS {
            self.left = self.fit(t, headroom).map(|left| (left, at));
        }
    }

    /// Seconds from `now` until the headroom is used up, where the model may say so.
    pub(crate) fn seconds_left(&self, now: MonoTime) -> Option<f64> {
        let (left, at) = self.left?;
        Some((left - now.seconds_since(at)).max(0.0))
    }

    /// Whether the headroom falls at all: the means of the first and the last quarter differ. Most fits end here.
    fn falls(&self) -> bool {
        let quarter = (self.points.len() / 4).max(1);
        let mean = |points: &[(f64, f64)]| {
            points.iter().map(|(_, h)| h).sum::<f64>() / points.len().max(1) as f64
        };
        let last = self.points.len().saturating_sub(quarter);
        match (self.points.get(..quarter), self.points.get(last..)) {
            (Some(first), Some(last)) => mean(first) - mean(last) >= LEAST_FALL_C,
            _ => false,
        }
    }

    fn fit(&self, now: f64, headroom: f64) -> Option<f64> {
        let elapsed = now - self.points.first()?.0;
        if elapsed < LEAST_S || headroom <= 0.0 || !self.falls() {
            return None;
        }
        let (tau, end, _) = TAUS
            .iter()
            .filter_map(|tau| {
                let (end, residual) = least_squares(&self.points, *tau)?;
                Some((*tau, end, residual))
            })
            .min_by(|a, b| a.2.total_cmp(&b.2))?;
        if elapsed < tau || end > -END_MARGIN_C {
            return None;
        }
        let left = tau * ((headroom - end) / -end).ln();
        (left.is_finite() && left > 0.0).then_some(left)
    }
}

/// Fits `h = end + a exp(-t / tau)` for a given tau; gives the end value and the mean square error.
fn least_squares(points: &[(f64, f64)], tau: f64) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let origin = points.first()?.0;
    let decay = |t: f64| (-(t - origin) / tau).exp();
    let (mut sx, mut sy, mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (t, h) in points {
        let x = decay(*t);
        sx += x;
        sy += h;
        sxx += x * x;
        sxy += x * h;
        syy += h * h;
    }
    let determinant = n * sxx - sx * sx;
    if determinant.abs() < 1e-9 {
        return None;
    }
    let slope = (n * sxy - sx * sy) / determinant;
    let end = (sy - slope * sx) / n;
    // The square error of a least-squares line, without a second look at the points.
    let error = (syy - end * sy - slope * sxy) / n;
    (slope > 0.0).then_some((end, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a card that settles at `end` degrees of headroom; gives the last answer after `seconds`.
    fn run(start: f64, end: f64, tau: f64, seconds: u64) -> Option<f64> {
        let mut thermal = Thermal::default();
        for second in 0..=seconds {
            let headroom = end + (start - end) * (-(second as f64) / tau).exp();
            thermal.take(
                0,
                MonoTime(second * 1_000_000_000),
                Some(headroom.round()),
                Some(300.0),
            );
        }
        thermal.seconds_left(MonoTime(seconds * 1_000_000_000))
    }

    #[test]
    fn a_card_that_settles_below_its_threshold_gets_no_figure() {
        assert_eq!(run(40.0, 4.0, 120.0, 400), None);
        assert_eq!(run(40.0, -9.0, 120.0, 30), None, "too early");
    }

    #[test]
    fn a_card_that_will_be_slowed_is_told_within_a_third() {
        let (start, end, tau, at) = (40.0_f64, -9.0, 180.0, 220.0_f64);
        let truth = tau * ((start - end) / -end).ln() - at;
        let left = run(start, end, tau, at as u64).unwrap_or_default();
        assert!((left - truth).abs() < 0.3 * truth, "{left} of {truth}");
    }

    #[test]
    fn a_power_step_begins_anew() {
        let mut thermal = Thermal::default();
        for second in 0..200_u64 {
            let power = if second < 150 { 300.0 } else { 200.0 };
            thermal.take(
                0,
                MonoTime(second * 1_000_000_000),
                Some(40.0 - second as f64 / 6.0),
                Some(power),
            );
        }
        assert_eq!(thermal.seconds_left(MonoTime(199_000_000_000)), None);
    }
}
