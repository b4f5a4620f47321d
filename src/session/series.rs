//! The last minutes of a device at full rate, for charts.

use crate::units::MonoTime;
use std::collections::VecDeque;
use std::time::Duration;

/// What is kept of each tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Track {
    /// Watts.
    Power,
    /// Core temperature in °C.
    Temperature,
    /// Degrees left.
    Headroom,
    /// Host to device, bytes per second.
    PcieRx,
    /// Device to host, bytes per second.
    PcieTx,
    /// Utilization, 0 to 1.
    Utilization,
    /// Work, 0 to 1.
    Work,
}

const TRACKS: usize = 7;

/// One instant; `NaN` where there was no value.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: MonoTime,
    values: [f32; TRACKS],
}

/// A ring of points that reaches back a fixed time.
#[derive(Debug, Clone)]
pub struct Series {
    points: VecDeque<Point>,
    span: Duration,
}

/// A gap longer than this many intervals is drawn as a gap.
const GAP_INTERVALS: f64 = 2.5;

impl Series {
    /// Empty, reaching back `span`.
    #[must_use]
    pub fn new(span: Duration) -> Self {
        Self {
            points: VecDeque::new(),
            span,
        }
    }

    /// Adds one instant; `None` where there is no value. Points older than the span are dropped.
    pub fn push(&mut self, at: MonoTime, values: [Option<f64>; TRACKS]) {
        let oldest = at.minus(self.span);
        while self
            .points
            .front()
            .is_some_and(|p| p.at < oldest || p.at > at)
        {
            self.points.pop_front();
        }
        self.points.push_back(Point {
            at,
            values: values.map(|v| v.map_or(f32::NAN, |v| v as f32)),
        });
    }

    /// Adds the points of another series that lie before all of these, as far as they are to be kept.
    pub fn extend_back(&mut self, earlier: &Self) {
        let (Some(first), Some(last)) = (self.points.front(), self.points.back()) else {
            return;
        };
        let (first, oldest) = (first.at, last.at.minus(self.span));
        let before = earlier.points.iter().rev();
        for point in before.filter(|p| p.at < first && p.at >= oldest) {
            self.points.push_front(*point);
        }
    }

    /// The points of one track as (instant, value); a longer gap yields one absent point in its middle,
    /// so that no line is drawn over it.
    pub fn track(
        &self,
        track: Track,
        interval: Duration,
    ) -> impl Iterator<Item = (MonoTime, Option<f64>)> + '_ {
        // Charts go through all points of four tracks with each frame: no more than a comparison for a point.
        let gap = interval.mul_f64(GAP_INTERVALS).as_nanos() as u64;
        let mut points = self.points.iter();
        let mut previous: Option<MonoTime> = None;
        let mut behind_hole: Option<&Point> = None;
        std::iter::from_fn(move || {
            let point = match behind_hole.take() {
                Some(point) => point,
                None => {
                    let point = points.next()?;
                    if let Some(p) = previous
                        && point.at.0.saturating_sub(p.0) > gap
                    {
                        behind_hole = Some(point);
                        return Some((MonoTime(p.0 / 2 + point.at.0 / 2), None));
                    }
                    point
                }
            };
            previous = Some(point.at);
            let value = point.values[track as usize];
            Some((point.at, value.is_finite().then_some(f64::from(value))))
        })
    }

    /// The oldest instant that is kept.
    #[must_use]
    pub fn oldest(&self) -> Option<MonoTime> {
        self.points.front().map(|p| p.at)
    }

    /// How many instants are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> MonoTime {
        MonoTime(seconds * 1_000_000_000)
    }

    #[test]
    fn old_points_leave_and_gaps_stay_gaps() {
        let mut series = Series::new(Duration::from_secs(10));
        for second in [0, 1, 2, 8, 9, 11] {
            series.push(at(second), [Some(second as f64); TRACKS]);
        }
        let track: Vec<_> = series.track(Track::Power, Duration::from_secs(1)).collect();
        assert_eq!(
            track,
            [
                (at(1), Some(1.0)),
                (at(2), Some(2.0)),
                (at(5), None),
                (at(8), Some(8.0)),
                (at(9), Some(9.0)),
                (at(11), Some(11.0))
            ]
        );
    }

    #[test]
    fn earlier_points_of_another_series_go_before_these() {
        let mut late = Series::new(Duration::from_secs(10));
        let mut early = late.clone();
        (0..9).for_each(|n| early.push(at(n), [Some(n as f64); TRACKS]));
        late.push(at(7), [Some(70.0); TRACKS]);
        late.push(at(12), [Some(120.0); TRACKS]);
        late.extend_back(&early);
        let points: Vec<_> = late.track(Track::Work, Duration::from_secs(9)).collect();
        let expected = [2, 3, 4, 5, 6].map(|n| (at(n), Some(n as f64)));
        assert_eq!(points[..5], expected);
        assert_eq!(points[5..], [(at(7), Some(70.0)), (at(12), Some(120.0))]);
    }

    #[test]
    fn an_absent_value_is_absent() {
        let mut series = Series::new(Duration::from_secs(10));
        series.push(at(1), [None; TRACKS]);
        assert_eq!(
            series.track(Track::Work, Duration::from_secs(1)).next(),
            Some((at(1), None))
        );
    }
}
