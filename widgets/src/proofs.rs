//! What holds for every widget: no size and no number makes one panic or draw outside its area.

use proptest::prelude::*;
use ratatui_core::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use crate::{Bar, Column, Columns, Glyphs, Limit, Ribbon, Slice, Spark, SparkShape, Sweep};

/// Any number: plain shares, shares past the scale, and all that IEEE 754 has.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -0.5..1.5_f64,
        1 => prop::num::f64::ANY,
        1 => prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(f64::MAX),
            Just(f64::MIN),
            Just(-0.0),
        ],
    ]
}

fn reading() -> impl Strategy<Value = Option<f64>> {
    prop::option::weighted(0.8, number())
}

fn points() -> impl Strategy<Value = Vec<(f64, Option<f64>)>> {
    prop::collection::vec((number(), reading()), 0..60)
}

fn glyphs() -> impl Strategy<Value = Glyphs> {
    prop_oneof![Just(Glyphs::Unicode), Just(Glyphs::Ascii)]
}

/// An area, and a buffer that may be smaller or larger than it.
fn place() -> impl Strategy<Value = (Rect, Rect)> {
    (
        0_u16..=300,
        0_u16..=100,
        0_u16..5,
        0_u16..5,
        -3_i32..6,
        -3_i32..6,
    )
        .prop_map(|(width, height, x, y, more_x, more_y)| {
            let grown = |size: u16, by: i32| u16::try_from(i32::from(size) + by).unwrap_or(0);
            let area = Rect::new(x, y, width, height);
            let buffer = Rect::new(1, 1, grown(x + width, more_x), grown(y + height, more_y));
            (area, buffer)
        })
}

/// Draws, then checks that every cell outside `area` is as it was.
fn stays_inside(widget: impl Widget, (area, buffer): (Rect, Rect)) -> Result<(), TestCaseError> {
    let mut buf = Buffer::empty(buffer);
    widget.render(area, &mut buf);
    let empty = Buffer::empty(buffer);
    for (x, y, _) in empty.diff(&buf) {
        let inside = area.left() <= x && x < area.right() && area.top() <= y && y < area.bottom();
        prop_assert!(inside, "({x}, {y}) is outside {area}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn bar(value in reading(), ticks in prop::collection::vec(number(), 0..6), glyphs in glyphs(), place in place()) {
        let bar = ticks
            .iter()
            .fold(Bar::new(value), |bar, &at| bar.tick(at, Style::new()))
            .glyphs(glyphs);
        stays_inside(bar, place)?;
    }

    #[test]
    fn narrow_bar(value in reading(), ticks in prop::collection::vec(number(), 0..6), glyphs in glyphs(), width in 0_u16..12) {
        let bar = ticks
            .iter()
            .fold(Bar::new(value), |bar, &at| bar.tick(at, Style::new()))
            .glyphs(glyphs);
        let area = Rect::new(1, 1, width, 1);
        stays_inside(bar, (area, Rect::new(0, 0, 14, 3)))?;
    }

    #[test]
    fn sweep(
        points in points(),
        range in prop_oneof![3 => Just((0.0, 1.0)), 1 => (number(), number())],
        limit in number(),
        hold in number(),
        newest in prop::option::of(number()),
        gutter in prop_oneof![0_u16..12, any::<u16>()],
        extent in any::<bool>(),
        texts in prop::collection::vec("[ -~电é\u{300}\t]{0,12}", 7),
        glyphs in glyphs(),
        place in place(),
        small in prop::option::of((0_u16..14, 0_u16..6)),
    ) {
        let limits = [Limit::new(limit, Style::new()).name(&texts[0]).figure(&texts[1])];
        let mut sweep = Sweep::new(points, range)
            .title(&texts[2], Style::new())
            .ceiling(&texts[3], &texts[4])
            .bottom(&texts[1])
            .times(&texts[5], &texts[6])
            .limits(&limits)
            .hold(hold)
            .gutter(gutter)
            .extent(extent)
            .glyphs(glyphs);
        if let Some(at) = newest {
            sweep = sweep.newest(at);
        }
        let (mut area, buffer) = place;
        if let Some((width, height)) = small {
            (area.width, area.height) = (width, height);
        }
        stays_inside(&sweep, (area, buffer))?;
    }

    #[test]
    fn spark(points in points(), low in number(), high in number(), line in any::<bool>(), glyphs in glyphs(), place in place()) {
        let shape = if line { SparkShape::Line } else { SparkShape::Blocks };
        stays_inside(Spark::new(points.clone(), (low, high)).shape(shape).glyphs(glyphs), place)?;
        stays_inside(Spark::new(points, (0.0, 1.0)).shape(shape).glyphs(glyphs), place)?;
    }

    #[test]
    fn ribbon(weights in prop::collection::vec(number(), 0..20), tall in any::<bool>(), glyphs in glyphs(), place in place()) {
        let slices: Vec<Slice> =
            weights.iter().map(|&weight| Slice::new(weight, Style::new(), 'x')).collect();
        stays_inside(Ribbon::new(&slices).tall(tall).glyphs(glyphs), place)?;
    }

    #[test]
    fn slots(
        widths in prop::collection::vec((any::<u16>(), any::<bool>()), 0..6),
        gap in any::<u16>(),
        text in "[ -~电é\u{300}\t]{0,12}",
        place in place(),
        narrow in 0_u16..20,
    ) {
        let columns: Vec<Column> = widths
            .iter()
            .map(|&(width, right)| {
                if right { Column::right(width % narrow.max(1)) } else { Column::left(width) }
            })
            .collect();
        let (row, buffer) = place;
        for slot in Columns::new(&columns).gap(gap % 5).fit(row.width) {
            stays_inside(Drawn { slot, text: &text }, (row, buffer))?;
        }
    }
}

struct Drawn<'a> {
    slot: crate::Slot,
    text: &'a str,
}

impl Widget for Drawn<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        self.slot.draw(buf, area, self.text, Style::new());
    }
}
