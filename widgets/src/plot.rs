//! From points in time to dot columns, shared by the charts.

/// What one dot column of a chart holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bucket {
    sum: f64,
    count: u32,
    /// Lowest and highest value that fell in.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Bucket {
    fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.low, self.high) = (value, value);
        } else {
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    /// The mean of the values that fell in, if any did.
    pub(crate) fn mean(&self) -> Option<f64> {
        // The clamp keeps a sum that overflowed, or rounded, within what was measured.
        (self.count > 0).then(|| (self.sum / f64::from(self.count)).clamp(self.low, self.high))
    }
}

/// The points of a chart, gathered by dot column.
pub(crate) struct Buckets {
    pub(crate) columns: Vec<Bucket>,
    /// Largest position of any point, with or without a value.
    pub(crate) newest: Option<f64>,
}

/// Gathers `points` of (position 0..=1, value) into `width` columns.
///
/// Positions outside 0..=1 are left out. A value that is no finite number counts as absent. When
/// two successive points with a value lie at most `hold` apart, the columns between them keep the
/// earlier value: a sample stands for its own period, and no longer.
pub(crate) fn gather<I>(points: I, width: usize, hold: f64) -> Buckets
where
    I: IntoIterator<Item = (f64, Option<f64>)>,
{
    let mut columns = vec![Bucket::default(); width];
    let mut newest: Option<f64> = None;
    let mut before: Option<(f64, usize, f64)> = None;
    for (at, value) in points {
        if width == 0 || !(0.0..=1.0).contains(&at) {
            continue;
        }
        newest = Some(newest.map_or(at, |known| known.max(at)));
        let Some(value) = value.filter(|value| value.is_finite()) else {
            before = None;
            continue;
        };
        let column = column_of(at, width);
        if let Some((then, from, held)) = before
            && at - then <= hold
        {
            for between in columns.iter_mut().take(column).skip(from + 1) {
                between.add(held);
            }
        }
        columns[column].add(value);
        before = Some((at, column, value));
    }
    Buckets { columns, newest }
}

/// The column of position `at`, which lies in 0..=1, out of `width` (at least one).
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a screen's width"
)]
pub(crate) fn column_of(at: f64, width: usize) -> usize {
    ((at * width as f64) as usize).min(width.saturating_sub(1))
}

/// A fixed scale of values, from `low` at the bottom to `high` at the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale that can place values: finite, and its top above its bottom.
    pub(crate) fn new((low, high): (f64, f64)) -> Option<Self> {
        (low.is_finite() && high.is_finite() && (high - low).is_finite() && high > low)
            .then_some(Self { low, high })
    }

    pub(crate) fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether all of the scale lies above `value`.
    pub(crate) fn is_above(self, value: f64) -> bool {
        self.low > value
    }

    /// Whether all of the scale lies below `value`.
    pub(crate) fn is_below(self, value: f64) -> bool {
        self.high < value
    }

    /// The step of `value` counted up from the bottom, of `steps` (at least one) steps.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a clamped share of a screen's height"
    )]
    pub(crate) fn level(self, value: f64, steps: usize) -> usize {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let top = steps.saturating_sub(1);
        ((share * top as f64).round() as usize).min(top)
    }

    /// The row of `value` counted down from the top, of `rows` (at least one) rows.
    pub(crate) fn row(self, value: f64, rows: usize) -> usize {
        rows.saturating_sub(1) - self.level(value, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(points: &[(f64, Option<f64>)], width: usize, hold: f64) -> Vec<Option<f64>> {
        let buckets = gather(points.iter().copied(), width, hold);
        buckets.columns.iter().map(Bucket::mean).collect()
    }

    #[test]
    fn points_of_one_column_are_averaged() {
        let points = [(0.0, Some(1.0)), (0.1, Some(3.0)), (0.6, Some(5.0))];
        assert_eq!(means(&points, 2, 0.0), [Some(2.0), Some(5.0)]);
    }

    #[test]
    fn absent_and_unreal_values_leave_a_gap() {
        let points = [
            (0.1, Some(f64::NAN)),
            (0.4, None),
            (0.9, Some(1.0)),
            (1.5, Some(9.0)),
        ];
        assert_eq!(means(&points, 3, 1.0), [None, None, Some(1.0)]);
    }

    #[test]
    fn a_sample_is_held_for_its_period_only() {
        let near = [(0.0, Some(1.0)), (0.5, Some(2.0))];
        assert_eq!(
            means(&near, 4, 0.5),
            [Some(1.0), Some(1.0), Some(2.0), None]
        );
        assert_eq!(means(&near, 4, 0.4), [Some(1.0), None, Some(2.0), None]);
        let failed = [(0.0, Some(1.0)), (0.3, None), (0.5, Some(2.0))];
        assert_eq!(means(&failed, 4, 0.5), [Some(1.0), None, Some(2.0), None]);
    }

    #[test]
    fn huge_values_do_not_average_to_infinity() {
        let points = [(0.0, Some(f64::MAX)), (0.0, Some(f64::MAX))];
        assert_eq!(means(&points, 1, 0.0), [Some(f64::MAX)]);
    }

    #[test]
    fn a_scale_needs_room() {
        for bad in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
        ] {
            assert_eq!(Scale::new(bad), None);
        }
        assert_eq!(Scale::new((f64::MIN, f64::MAX)), None);
    }
}
