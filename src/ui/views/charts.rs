//! Charts of the selected device: thin lines on fixed axes with their ceiling named; they sweep in place.
//!
//! ```text
//!  power   700 W ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ plate     pcie ↓  13 GB/s ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ x8 can
//!          ⠤⠤⠴⠦⠴⠶⠶⠦⠤⠴⠦⠴⠦⠴⠲⠤⠴⡆
//!        0                                             0 ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣰⠋
//!          11:49                now                      11:49                now
//! ```

use crate::app::{App, words};
use crate::model::{Absent, DeviceView, Figure, Level, Snapshot, StateWord};
use crate::session::Track;
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, write_line};
use crate::ui::theme::Role;
use crate::units::BytesPerSecond;
use nameplate_widgets::{Limit, Sweep, SweepWindow};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use std::time::Duration;

/// The lowest temperature on the axis, °C, and the most headroom shown.
const HEAT_FLOOR_C: f64 = 20.0;
const HEADROOM_SHOWN_C: f64 = 60.0;
/// Columns for the figures at the left.
const GUTTER: u16 = 8;

/// One chart: what is drawn, on which axis, how its ceiling is named.
struct Chart {
    title: String,
    track: Track,
    sign: f64,
    range: (f64, f64),
    ceiling: String,
    name: String,
    bottom: String,
    /// A second line on the axis, such as an enforced limit below the plate.
    limit: Option<(f64, String)>,
    role: Role,
}

/// Draws as many charts as fit: four in two rows, two, or one.
pub(super) fn draw(
    app: &App,
    picture: &Snapshot,
    view: &DeviceView,
    look: &Look,
    area: Rect,
    buf: &mut Buffer,
) {
    const LEAST_HEIGHT: u16 = 5;
    if area.height < LEAST_HEIGHT || area.width < 30 {
        return;
    }
    let rows = if area.height > 2 * LEAST_HEIGHT { 2 } else { 1 };
    let columns: u16 = if area.width >= 160 && rows == 1 {
        4
    } else if area.width >= 64 {
        2
    } else {
        1
    };
    let charts = [
        power(view, look),
        pcie(view, look, true),
        heat(view, look),
        work(view, look),
    ];
    let gap = 3;
    let width = (area.width.saturating_sub(2 + gap * (columns - 1))) / columns;
    let height = (area.height - (rows - 1)) / rows;
    for (n, chart) in charts
        .into_iter()
        .take(usize::from(rows * columns))
        .enumerate()
    {
        let n = n as u16;
        let place = Rect {
            x: area.x + 1 + (n % columns) * (width + gap),
            y: area.y + (n / columns) * (height + 1),
            width,
            height,
        };
        match chart {
            Ok(chart) => draw_chart(app, picture, view, &chart, look, place, buf),
            Err((title, why)) => {
                let text = look
                    .text
                    .overview_chart_absent(words::absent(why, look.text));
                write_line(
                    buf,
                    row(place, 0),
                    &[
                        (&title, look.style(Role::Text)),
                        ("  ", look.style(Role::Muted)),
                        (&text, look.style(Role::Muted)),
                    ],
                );
            }
        }
    }
}

fn draw_chart(
    app: &App,
    picture: &Snapshot,
    view: &DeviceView,
    chart: &Chart,
    look: &Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let window = app.window();
    let Some(series) = app.series(&view.device.id) else {
        return;
    };
    let points = series
        .track(chart.track, picture.interval)
        .filter_map(|(at, value)| {
            let x = window.position(i64::try_from(at.0 / 1_000_000).unwrap_or(i64::MAX))?;
            Some((x, value.map(|v| v * chart.sign)))
        });
    let newest = window
        .position(i64::try_from(picture.mono.0 / 1_000_000).unwrap_or(i64::MAX))
        .unwrap_or(1.0);
    let limits: Vec<Limit> = chart
        .limit
        .iter()
        .map(|(value, name)| Limit::new(*value, look.style(Role::Limit)).name(name))
        .collect();
    let start = start_label(picture, window, look);
    let now = look.text.overview_now();
    Sweep::new(points, chart.range)
        .style(look.style(chart.role))
        .overflow_style(look.style(Role::Warn))
        .label_style(look.style(Role::ChartAxis))
        .rule_style(look.style(Role::ChartCeiling))
        .title(&chart.title, look.style(Role::Text))
        .ceiling(&chart.ceiling, &chart.name)
        .bottom(&chart.bottom)
        .times(&start, &now)
        .limits(&limits)
        .gutter(GUTTER)
        .hold(1.5 * picture.interval.as_secs_f64() * 1000.0 / (window.span.max(1) as f64))
        .newest(newest)
        .glyphs(look.widgets())
        .render(area, buf);
}

/// Wall time at the window's left edge: it stands still between two jumps of the window.
fn start_label(picture: &Snapshot, window: SweepWindow, look: &Look) -> String {
    let newest = i64::try_from(picture.mono.0 / 1_000_000).unwrap_or(i64::MAX);
    let back = Duration::from_millis(u64::try_from(newest - window.start).unwrap_or(0));
    let long = window.span > 20 * 3_600_000;
    picture.at.checked_sub(back).map_or_else(
        |_| String::new(),
        |at| look.time(at, if long { "%d %H:%M" } else { "%H:%M" }),
    )
}

type ChartOr = Result<Chart, (String, Absent)>;

fn power(view: &DeviceView, look: &Look) -> ChartOr {
    let title = look.text.overview_chart_power().into_owned();
    let figure = |f| view.figures.get(f);
    let limit = figure(Figure::PowerLimit).ok();
    let (ceiling, name) = match (figure(Figure::PlatePower).ok(), limit) {
        (Some(plate), Some(limit)) if limit > plate * 1.01 => {
            (limit, look.text.overview_ceiling_limit())
        }
        (Some(plate), _) if view.plate_unverified => {
            (plate, look.text.overview_ceiling_plate_unverified())
        }
        (Some(plate), _) => (plate, look.text.overview_ceiling_plate()),
        (None, Some(limit)) => (limit, look.text.overview_ceiling_limit()),
        (None, None) => {
            return Err((
                title,
                figure(Figure::Power)
                    .reading
                    .err()
                    .unwrap_or(Absent::NotReported),
            ));
        }
    };
    let lower = limit.filter(|l| *l < ceiling * 0.99);
    Ok(Chart {
        title,
        track: Track::Power,
        sign: 1.0,
        range: (0.0, ceiling),
        ceiling: format!("{ceiling:.0} W"),
        name: name.into_owned(),
        bottom: "0".to_owned(),
        limit: lower.map(|l| (l, look.text.overview_limit().into_owned())),
        role: line_role(view, matches!(view.word, StateWord::Doubtful)),
    })
}

fn pcie(view: &DeviceView, look: &Look, down: bool) -> ChartOr {
    let sum = down && super::table::only_the_sum(view);
    let arrow = look.glyph(match (sum, down) {
        (true, _) => Glyph::Sum,
        (false, true) => Glyph::ArrowDown,
        (false, false) => Glyph::ArrowUp,
    });
    let title = look.text.overview_chart_pcie(arrow).into_owned();
    let usable = view.figures.get(Figure::PcieUsable);
    let usable = usable.map(|one_way| if sum { 2.0 * one_way } else { one_way });
    let rate = view.figures.get(match (sum, down) {
        (true, _) => Figure::PcieBoth,
        (false, true) => Figure::PcieRx,
        (false, false) => Figure::PcieTx,
    });
    let ceiling = match (usable.reading, rate.reading) {
        (Ok(usable), Ok(_)) => usable,
        (Ok(usable), Err(Absent::NotReported)) => usable,
        (Ok(_), Err(why)) | (Err(why), _) => return Err((title, why)),
    };
    let width = view
        .figures
        .get(Figure::PcieWidth)
        .ok()
        .map_or(String::new(), |w| format!("x{w:.0}"));
    let full = view
        .known
        .iter()
        .any(|k| matches!(k.kind, crate::model::KnownKind::LinkFull { .. }));
    Ok(Chart {
        title,
        track: if down { Track::PcieRx } else { Track::PcieTx },
        sign: 1.0,
        range: (0.0, ceiling),
        ceiling: BytesPerSecond(ceiling).to_string(),
        name: look.text.overview_ceiling_link(width).into_owned(),
        bottom: "0".to_owned(),
        limit: None,
        role: line_role(view, full),
    })
}

/// Heat as degrees left where only a margin is known, else as temperature below the device's own threshold.
fn heat(view: &DeviceView, look: &Look) -> ChartOr {
    let title = look.text.overview_chart_heat().into_owned();
    let figure = |f| view.figures.get(f);
    let hot = matches!(view.word, StateWord::Hot);
    let name = look.text.overview_ceiling_slows().into_owned();
    let celsius = look.glyph(Glyph::Celsius);
    if let Some(slowdown) = figure(Figure::Slowdown).ok()
        && view.headroom_source != Some("margin")
    {
        return Ok(Chart {
            title,
            track: Track::Temperature,
            sign: 1.0,
            range: (HEAT_FLOOR_C, slowdown.max(HEAT_FLOOR_C + 1.0)),
            ceiling: format!("{slowdown:.0} {celsius}"),
            name,
            bottom: format!("{HEAT_FLOOR_C:.0}"),
            limit: None,
            role: line_role(view, hot),
        });
    }
    match figure(Figure::Headroom).reading {
        Ok(_) => Ok(Chart {
            title: look.text.overview_head().into_owned(),
            track: Track::Headroom,
            sign: -1.0,
            range: (-HEADROOM_SHOWN_C, 0.0),
            ceiling: format!("0 {celsius}"),
            name,
            bottom: format!("{HEADROOM_SHOWN_C:.0}"),
            limit: None,
            role: line_role(view, hot),
        }),
        Err(why) => Err((title, why)),
    }
}

fn work(view: &DeviceView, look: &Look) -> ChartOr {
    let title = look.text.overview_chart_work().into_owned();
    match view.figures.get(Figure::Work).reading {
        Ok(_) => Ok(Chart {
            title,
            track: Track::Work,
            sign: 1.0,
            range: (0.0, 1.0),
            ceiling: "100 %".to_owned(),
            name: look.text.overview_ceiling_busy().into_owned(),
            bottom: "0".to_owned(),
            limit: None,
            role: line_role(view, matches!(view.word, StateWord::Doubtful)),
        }),
        Err(why) => Err((title, why)),
    }
}

/// Lines are neutral; one that shows what is wrong takes the state's colour.
fn line_role(view: &DeviceView, wrong: bool) -> Role {
    let worst = view.known.first().map_or(Level::Info, |k| k.level);
    if wrong {
        Look::role_of_level(worst)
    } else {
        Role::ChartLine
    }
}
