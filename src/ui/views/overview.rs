//! The overview: meter, all devices, the sentence of the selected one, its charts.
//!
//! ```text
//!  gpu-7f3  8 × H100 80GB HBM3   up 36h 12m                  ● live  1 s  12:04:33
//!  $865.90 so far at $23.92/h    compute 30h 58m   idle 3h 52m $92.49
//!
//!      device    now  of plate     plate  head  pcie ↓   ↑  util  work  mem  state
//!   0  H100 80 612 W  ████████▋·  700 W   28°     3%   1%   98%   71%  61G  working
//! ▌ 3  H100 80 214 W  ███·······  700 W   41°    97%   2%   99%    6%  52G  doubtful
//! ────────────────────────────────────────────────────────────────────────────────
//!  3  99 % busy at 31 % of plate for 3m 10s: busy is not work.
//!     next  lspci -vv -s 0000:17:00.0 | grep LnkSta
//!
//!  power  700 W ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ plate    pcie ↓  13 GB/s ┈┈┈┈┈┈┈┈┈┈┈┈┈ x8 can
//!  ↑↓ device  ⏎ all of it  ␣ pause  y copy for support  ? help  q quit
//! ```

use super::{charts, chrome, facts, meter, table};
use crate::app::App;
use crate::model::Snapshot;
use crate::ui::Look;
use crate::ui::look::row;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// How the lines between header and hints are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    meter: u16,
    ribbon: u16,
    /// An empty line before the titles, and one before the charts.
    air: u16,
    chart_air: u16,
    /// Titles and rows.
    table: u16,
    rule: u16,
    facts: u16,
    charts: u16,
}

/// Devices first, then the sentence, then charts; air last.
fn plan(height: u16, devices: usize, has_meter: bool) -> Plan {
    let wanted = u16::try_from(devices).unwrap_or(u16::MAX).saturating_add(1);
    let mut left = height;
    let mut take = |most: u16, keep: u16| {
        let given = most.min(left.saturating_sub(keep));
        left -= given;
        given
    };
    // At least titles and one row before anything else.
    let meter = take(u16::from(has_meter), 2);
    let least_facts = if height >= 8 {
        3
    } else {
        u16::from(height >= 5)
    };
    let rule = take(u16::from(height >= 6), 2 + least_facts);
    let table = take(wanted, least_facts);
    let facts = take(if height >= 20 { 4 } else { 3 }, 0);
    let charts = if left >= 5 { left } else { 0 };
    left -= charts;
    let (mut charts, mut ribbon, mut air, mut chart_air) = (charts, 0, 0, 0);
    // A tall screen gives lines to the ribbon and to air.
    if charts >= 7 && meter == 1 {
        ribbon = 1;
        charts -= 1;
    }
    if charts >= 7 {
        air = 1;
        charts -= 1;
    }
    if charts >= 7 {
        chart_air = 1;
        charts -= 1;
    } else if charts == 0 && left > 0 {
        air = u16::from(left >= 1);
    }
    Plan {
        meter,
        ribbon,
        air,
        chart_air,
        table,
        rule,
        facts,
        charts,
    }
}

/// Draws the overview.
pub(super) fn draw(app: &App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let Some(picture) = app.picture() else { return };
    draw_body(app, picture, look, body, buf);
}

fn draw_body(app: &App, picture: &Snapshot, look: &Look, body: Rect, buf: &mut Buffer) {
    let rows = app.rows().len() + table::unlisted(picture).count();
    let plan = plan(body.height, rows.max(1), picture.cost.is_some());
    let mut y = 0;
    let mut lines = |count: u16| {
        let area = Rect {
            y: body.y + y.min(body.height),
            height: count.min(body.height - y.min(body.height)),
            ..body
        };
        y += count;
        area
    };
    let (meter_at, ribbon_at, _) = (lines(plan.meter), lines(plan.ribbon), lines(plan.air));
    if let Some(cost) = &picture.cost {
        if plan.meter > 0 {
            meter::line(cost, look, meter_at, buf);
        }
        if plan.ribbon > 0 {
            let inner = Rect {
                x: ribbon_at.x + 1,
                width: ribbon_at.width.saturating_sub(2),
                ..ribbon_at
            };
            meter::ribbon(cost, look, inner, buf);
        }
    }
    table::draw(app, picture, look, lines(plan.table), buf);
    let rule_at = lines(plan.rule);
    if plan.rule > 0 {
        facts::rule(look, row(rule_at, 0), buf);
    }
    let Some(view) = app.selection() else { return };
    facts::draw(view, look, lines(plan.facts), buf);
    let _ = lines(plan.chart_air);
    let charts_at = lines(plan.charts);
    charts::draw(app, picture, view, look, charts_at, buf);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_out_once() {
        for height in 0..120 {
            for devices in [0, 1, 8, 40, 64] {
                let p = plan(height, devices, true);
                let sum = p.meter
                    + p.ribbon
                    + p.air
                    + p.chart_air
                    + p.table
                    + p.rule
                    + p.facts
                    + p.charts;
                assert!(sum <= height, "{height} lines, {devices} devices: {p:?}");
            }
        }
    }

    #[test]
    fn all_devices_show_where_the_issue_says_so() {
        // 80x24 less header, banner and hints; 200x50 likewise.
        assert_eq!(plan(21, 8, true).table, 9);
        assert_eq!(plan(22, 8, true).table, 9);
        assert!(plan(47, 40, true).table >= 41, "{:?}", plan(47, 40, true));
        assert!(plan(21, 8, true).charts >= 5, "{:?}", plan(21, 8, true));
    }
}
