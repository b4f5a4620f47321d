use super::*;
use crate::SweepWindow;
use proptest::prelude::*;
use ratatui_core::style::Color;

type Points = Vec<(f64, Option<f64>)>;

/// `count` points evenly over the window, valued by `value`.
fn every(count: u32, value: impl Fn(u32) -> Option<f64>) -> Points {
    (0..count)
        .map(|i| (f64::from(i) / f64::from(count), value(i)))
        .collect()
}

fn drawn(sweep: &Sweep<'_, Points>, width: u16, height: u16) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    sweep.render(buf.area, &mut buf);
    buf
}

fn fall() -> Points {
    every(40, |i| Some(if i < 20 { 600.0 } else { 200.0 }))
}

#[test]
fn the_frame_names_ceiling_bottom_and_times() {
    let sweep = Sweep::new(fall(), (0.0, 700.0))
        .ceiling("700 W", "plate")
        .bottom("0")
        .times("-15m", "now")
        .gutter(6);
    assert_eq!(
        drawn(&sweep, 26, 5),
        Buffer::with_lines([
            "700 W ┈┈┈┈┈┈┈┈┈┈┈┈┈┈ plate",
            "      ⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⡀         ",
            "                ⡇         ",
            "    0           ⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉",
            "      -15m             now",
        ])
    );
}

#[test]
fn the_ascii_twin_has_three_levels_and_bars_between() {
    let sweep = Sweep::new(fall(), (0.0, 700.0))
        .ceiling("700 W", "plate")
        .bottom("0")
        .times("-15m", "now")
        .gutter(6)
        .glyphs(Glyphs::Ascii);
    assert_eq!(
        drawn(&sweep, 26, 5),
        Buffer::with_lines([
            "700 W -------------- plate",
            "      ----------|         ",
            "                |         ",
            "    0           ''''''''''",
            "      -15m             now",
        ])
    );
}

#[test]
fn a_title_goes_before_the_figure() {
    let sweep = Sweep::new(Points::new(), (0.0, 1.0))
        .title("power", Style::new())
        .ceiling("700 W", "plate")
        .gutter(8);
    assert_eq!(
        drawn(&sweep, 26, 2),
        Buffer::with_lines(["power   700 W ┈┈┈┈┈┈ plate", "                          "])
    );
}

#[test]
fn a_gap_is_a_gap() {
    let sweep = Sweep::new(
        every(20, |i| {
            (!(6..12).contains(&i)).then_some(f64::from(i) / 20.0)
        }),
        (0.0, 1.0),
    );
    assert_eq!(
        drawn(&sweep, 10, 2),
        Buffer::with_lines(["      ⡠⠤⠒⠊", "⣀⠤⠔       "])
    );
}

#[test]
fn zero_is_drawn_and_absence_is_not() {
    let zero = Sweep::new(every(4, |_| Some(0.0)), (0.0, 1.0));
    assert_eq!(drawn(&zero, 2, 1), Buffer::with_lines(["⣀⣀"]));
    let none = Sweep::new(every(4, |_| None), (0.0, 1.0));
    assert_eq!(drawn(&none, 2, 1), Buffer::with_lines(["  "]));
}

#[test]
fn a_limit_is_named_where_the_line_leaves_room() {
    let limits = [Limit::new(0.5, Style::new()).name("limit").figure("50")];
    let high = Sweep::new(every(40, |_| Some(1.0)), (0.0, 1.0))
        .limits(&limits)
        .gutter(4);
    assert_eq!(
        drawn(&high, 16, 3),
        Buffer::with_lines(["    ⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉", " 50 ┈┈┈┈┈┈ limit", "                "])
    );
    let late = every(40, |i| Some(if i < 30 { 1.0 } else { 0.5 }));
    let crossed = Sweep::new(late, (0.0, 1.0)).limits(&limits).gutter(4);
    assert_eq!(
        drawn(&crossed, 16, 3),
        Buffer::with_lines(["    ⠉⠉⠉⠉⠉⠉⠉⠉⠉⡆  ", " 50 limit ┈┈┈⠓⠒⠒", "                "])
    );
}

#[test]
fn past_the_ceiling_is_clamped_in_the_overflow_style() {
    let sweep = Sweep::new(vec![(0.0, Some(9.0)), (0.5, Some(1.0))], (0.0, 1.0))
        .style(Style::new().fg(Color::Gray))
        .overflow_style(Style::new().fg(Color::Red));
    let buf = drawn(&sweep, 2, 2);
    assert_eq!((buf[(0, 0)].symbol(), buf[(0, 0)].fg), ("⠁", Color::Red));
    assert_eq!((buf[(1, 0)].symbol(), buf[(1, 0)].fg), ("⠁", Color::Gray));
}

#[test]
fn an_extent_shows_the_spread_of_a_column() {
    let points = vec![(0.0, Some(0.0)), (0.1, Some(1.0))];
    let mean = Sweep::new(points, (0.0, 1.0));
    assert_eq!(drawn(&mean, 1, 1), Buffer::with_lines(["⠂"]));
    assert_eq!(drawn(&mean.extent(true), 1, 1), Buffer::with_lines(["⡇"]));
}

#[test]
fn now_stands_under_the_newest_column() {
    let half = every(40, |i| Some(f64::from(i)))
        .into_iter()
        .filter(|(at, _)| *at < 0.5)
        .collect();
    let sweep = Sweep::new(half, (0.0, 40.0)).times("-15m", "now");
    let last_row = |buf: &Buffer| -> String {
        buf.content()[40..]
            .iter()
            .map(|cell| cell.symbol())
            .collect()
    };
    assert_eq!(last_row(&drawn(&sweep, 20, 3)), "-15m   now          ");
    assert_eq!(
        last_row(&drawn(&sweep.newest(0.2), 20, 3)),
        "  now               "
    );
}

#[test]
fn a_gutter_that_leaves_no_room_is_given_up() {
    let sweep = Sweep::new(every(16, |_| Some(0.0)), (0.0, 1.0))
        .gutter(6)
        .bottom("0");
    assert_eq!(drawn(&sweep, 8, 1), Buffer::with_lines(["⣀⣀⣀⣀⣀⣀⣀⣀"]));
}

proptest! {
    /// What the sweep is for: one more value changes cells of the newest column only.
    #[test]
    fn a_new_value_changes_the_newest_column_only(
        values in prop::collection::vec(prop::option::of(-0.2..1.2_f64), 2..900),
        extent in any::<bool>(),
        unicode in any::<bool>(),
    ) {
        let window = SweepWindow::new(900, 0);
        let glyphs = if unicode { Glyphs::Unicode } else { Glyphs::Ascii };
        let points: Points = (0_i64..)
            .zip(values)
            .filter_map(|(time, value)| Some((window.position(time)?, value)))
            .collect();
        let newest = points.len() - 1;
        let width = 60;
        let chart = |points: &[(f64, Option<f64>)]| {
            let sweep = Sweep::new(points.to_vec(), (0.0, 1.0)).extent(extent).glyphs(glyphs);
            drawn(&sweep, width, 8)
        };
        let (before, after) = (chart(&points[..newest]), chart(&points));
        let column = column_of(points[newest].0, usize::from(width));
        for (x, _, _) in before.diff(&after) {
            prop_assert_eq!(usize::from(x), column);
        }
    }

    /// A cell that no value fell into stays empty: nothing is drawn over a gap.
    #[test]
    fn no_cell_column_without_a_value_is_drawn(
        values in prop::collection::vec(prop::option::weighted(0.3, 0.0..1.0_f64), 1..120),
        unicode in any::<bool>(),
    ) {
        let glyphs = if unicode { Glyphs::Unicode } else { Glyphs::Ascii };
        let count = u32::try_from(values.len()).unwrap_or(1);
        let points: Points =
            (0..count).zip(&values).map(|(i, v)| (f64::from(i) / f64::from(count), *v)).collect();
        let buf = drawn(&Sweep::new(points.clone(), (0.0, 1.0)).glyphs(glyphs), 30, 4);
        for x in 0..30_u16 {
            let measured = points
                .iter()
                .any(|(at, value)| value.is_some() && column_of(*at, 30) == usize::from(x));
            let shown = (0..4).any(|y| buf[(x, y)].symbol() != " ");
            prop_assert_eq!(measured, shown);
        }
    }
}
