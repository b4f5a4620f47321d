//! The stretch of time a sweeping chart shows.

/// The time window of a chart that is drawn in place, like an oscilloscope.
///
/// A chart that scrolls changes all its cells on each refresh. A sweeping one keeps its window
/// still and only adds at the newest column; when the newest time passes the end, the window
/// jumps forward by a quarter of its span, once, and the line goes on from three quarters:
///
/// ```text
/// |~~~~~~~~~~~~~~~~~~~~~~~~~|        full: newest at the end
///        |~~~~~~~~~~~~~~~~~~       | jumped: a quarter is free again
/// ```
///
/// Times are integers in any one unit the caller likes (milliseconds, say), so that the window
/// moves exactly and never drifts.
///
/// ```
/// use nameplate_widgets::SweepWindow;
///
/// let window = SweepWindow::new(900, 0);
/// assert_eq!(window.at(900), window);
/// assert_eq!(window.at(901).start, 225);
/// assert_eq!(window.position(450), Some(0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SweepWindow {
    /// Length of the window, at least 1.
    pub span: i64,
    /// Time of the window's left edge.
    pub start: i64,
}

impl SweepWindow {
    /// A window of `span` (raised to 1 when less) that starts at `start`.
    #[must_use]
    pub const fn new(span: i64, start: i64) -> Self {
        let span = if span < 1 { 1 } else { span };
        Self { span, start }
    }

    /// A window of `span` whose newest time stands at three quarters, as after a jump: the start
    /// for a chart that already has its history.
    #[must_use]
    pub const fn ending_near(span: i64, newest: i64) -> Self {
        let window = Self::new(span, newest);
        let behind = window.span - window.quarter();
        Self::new(span, newest.saturating_sub(behind))
    }

    /// The length of one jump: a quarter of the span, at least 1.
    #[must_use]
    pub const fn quarter(&self) -> i64 {
        let quarter = self.span / 4;
        if quarter < 1 { 1 } else { quarter }
    }

    /// Time of the window's right edge, which still belongs to the window.
    #[must_use]
    pub const fn end(&self) -> i64 {
        self.start.saturating_add(self.span)
    }

    /// The window that shows `newest`: this one while it holds that time, else this one moved by
    /// as few whole quarters as it takes.
    ///
    /// A time before the start (a clock set back, a replay rewound) moves it backward in the same
    /// steps. Near the ends of `i64` the start saturates.
    #[must_use]
    pub fn at(self, newest: i64) -> Self {
        let quarter = i128::from(self.quarter());
        let newest = i128::from(newest);
        let start = i128::from(self.start);
        let end = start + i128::from(self.span);
        let jumps = if newest > end {
            (newest - end + quarter - 1) / quarter
        } else if newest < start {
            -((start - newest + quarter - 1) / quarter)
        } else {
            return self;
        };
        let moved = (start + jumps * quarter).clamp(i64::MIN.into(), i64::MAX.into());
        Self {
            start: i64::try_from(moved).unwrap_or(self.start),
            ..self
        }
    }

    /// Where `time` stands in the window, from 0.0 at its start to 1.0 at its end; `None` outside.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        reason = "a share of a chart needs no 53 bits"
    )]
    pub fn position(&self, time: i64) -> Option<f64> {
        if time < self.start || time > self.end() {
            return None;
        }
        let into = time.abs_diff(self.start);
        Some((into as f64 / self.span.max(1) as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_stays_until_the_newest_passes_the_end() {
        let window = SweepWindow::new(900, 100);
        for newest in 100..=1000 {
            assert_eq!(window.at(newest), window);
        }
        assert_eq!(window.at(1001).start, 325);
    }

    #[test]
    fn a_far_jump_lands_with_the_newest_in_the_last_quarter() {
        let window = SweepWindow::new(900, 0).at(1_000_000);
        assert_eq!(window.start % 225, 0);
        assert!(window.end() >= 1_000_000 && window.end() - 225 < 1_000_000);
    }

    #[test]
    fn a_clock_set_back_moves_it_backward() {
        assert_eq!(SweepWindow::new(900, 450).at(300).start, 225);
    }

    #[test]
    fn a_history_starts_at_three_quarters() {
        let window = SweepWindow::ending_near(900, 5000);
        assert_eq!(window.position(5000), Some(0.75));
        assert_eq!(window.at(5000), window);
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        for span in [i64::MIN, -1, 0, 1, 3, i64::MAX] {
            for start in [i64::MIN, 0, i64::MAX] {
                for newest in [i64::MIN, -1, 0, 1, i64::MAX] {
                    let window = SweepWindow::new(span, start).at(newest);
                    let _ = window.position(newest);
                    let _ = SweepWindow::ending_near(span, newest).at(start);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_moves_in_quarters_only_and_holds_the_newest(
            span in 1_i64..1_000_000,
            start in -1_000_000_i64..1_000_000,
            steps in prop::collection::vec(-5_000_i64..2_000_000, 1..40),
        ) {
            let mut window = SweepWindow::new(span, start);
            let mut newest = start;
            for step in steps {
                newest += step;
                let next = window.at(newest);
                let moved = next.start - window.start;
                prop_assert_eq!(moved % window.quarter(), 0);
                prop_assert!(next.start <= newest && newest <= next.end());
                prop_assert!(next.position(newest).is_some());
                prop_assert_eq!(next.at(newest), next);
                // As few jumps as it takes: one less would not hold the newest.
                if moved > 0 {
                    prop_assert!(newest > next.end() - window.quarter());
                } else if moved < 0 {
                    prop_assert!(newest < next.start + window.quarter());
                }
                window = next;
            }
        }

        #[test]
        fn one_far_step_lands_where_many_small_ones_do(span in 1_i64..10_000, far in 0_i64..100_000) {
            let far_at_once = SweepWindow::new(span, 0).at(far);
            let mut window = SweepWindow::new(span, 0);
            let mut newest = 0;
            while newest < far {
                newest = (newest + 7).min(far);
                window = window.at(newest);
            }
            prop_assert_eq!(window, far_at_once);
        }
    }
}
