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
    /// A bucket that holds `value` alone.
    const fn of(value: f64) -> Self {
        Self {
            sum: value,
            count: 1,
            low: value,
            high: value,
        }
    }

    #[inline]
    fn add(&mut self, value: f64) {
        // Values are finite, so plain comparisons do for the extremes.
        self.low = if value < self.low { value } else { self.low };
        self.high = if value > self.high { value } else { self.high };
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            self.low = self.low.min(other.low);
            self.high = self.high.max(other.high);
            self.sum += other.sum;
            self.count = self.count.saturating_add(other.count);
        }
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
    let mut newest = f64::NEG_INFINITY;
    // The last point while it has a value, and the bucket of its column, which is kept out of
    // `columns` until the column changes: most points fall into the column of the one before.
    let mut last: Option<(f64, f64)> = None;
    let (mut open, mut bucket) = (0, Bucket::default());
    for (at, value) in points {
        if width == 0 || !(0.0..=1.0).contains(&at) {
            continue;
        }
        newest = if at > newest { at } else { newest };
        let Some(value) = value.filter(|value| value.is_finite()) else {
            last = None;
            continue;
        };
        let column = column_of(at, width);
        if column == open && bucket.count > 0 {
            bucket.add(value);
        } else {
            columns[open].merge(&bucket);
            if let Some((then, held)) = last
                && at - then <= hold
            {
                for between in columns.iter_mut().take(column).skip(open + 1) {
                    between.merge(&Bucket::of(held));
                }
            }
            (open, bucket) = (column, Bucket::of(value));
        }
        last = Some((at, value));
    }
    if let Some(column) = columns.get_mut(open) {
        column.merge(&bucket);
    }
    Buckets {
        columns,
        newest: (newest >= 0.0).then_some(newest),
    }
}

/// The column of position `at`, which lies in 0..=1, out of `width` (at least one).
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a screen's width"
)]
pub(crate) fn column_of(at: f64, width: usize) -> usize {
    ((at * width as f64) as u32 as usize).min(width.saturating_sub(1))
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
        // Adding a half and cutting rounds without a library call on plain x86-64.
        ((share * top as f64 + 0.5) as u32 as usize).min(top)
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
