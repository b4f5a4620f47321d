//! No accelerator: per vendor what was looked for and what to do; the host's part works.
//!
//! ```text
//!  No accelerator was found on this host.
//!
//!  nvidia    library not found   looked for libnvidia-ml.so.1
//!            no such library in /usr/lib/x86_64-linux-gnu, ...
//!            next  install the nvidia driver
//!
//!  host      CPU 4 %   load 0.31   memory 2.1 of 24 GiB   ...
//!
//!  The host's own part works. d starts the demo.
//! ```

use super::chrome;
use crate::app::{App, words};
use crate::model::{HostSample, ProbeStatus};
use crate::text::clean;
use crate::ui::Look;
use crate::ui::look::{row, wrap, write_line};
use crate::ui::theme::Role;
use crate::units::{Bytes, BytesPerSecond, Ratio};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr as _;

/// Draws the page.
pub(super) fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let lines = lines(app, look, body.width);
    let most = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_sub(body.height);
    app.clamp_scroll(most);
    for (n, pieces) in lines
        .iter()
        .skip(usize::from(app.scroll()))
        .take(usize::from(body.height))
        .enumerate()
    {
        let refs: Vec<(&str, Style)> = pieces
            .iter()
            .map(|(text, role)| (text.as_str(), look.style(*role)))
            .collect();
        write_line(buf, row(body, u16::try_from(n).unwrap_or(u16::MAX)), &refs);
    }
}

type Line = Vec<(String, Role)>;

/// Columns before what is said of a probe or the host.
const HEAD: usize = 11;
/// Columns of a figure of the host.
const FIGURE: usize = 11;

/// A word at the left, filled up to [`HEAD`] columns.
fn head(word: &str) -> String {
    format!(
        " {word}{}",
        " ".repeat((HEAD - 1).saturating_sub(word.width()))
    )
}

fn lines(app: &App, look: &Look, width: u16) -> Vec<Line> {
    let t = look.text;
    let room = width.saturating_sub(HEAD as u16 + 1);
    let mut lines: Vec<Line> = vec![Vec::new()];
    let Some(picture) = app.picture() else {
        return vec![vec![(format!(" {}", t.chrome_starting()), Role::Muted)]];
    };
    let waiting = picture
        .probes
        .iter()
        .all(|p| p.status == ProbeStatus::Starting);
    let title = if waiting {
        t.chrome_starting()
    } else {
        t.probe_none_title()
    };
    lines.push(vec![(format!(" {title}"), Role::Strong)]);
    lines.push(Vec::new());
    for probe in &picture.probes {
        let vendor = head(probe.vendor.word());
        let status = words::probe_status(probe, t);
        let role = if probe.status == ProbeStatus::Ok {
            Role::Ok
        } else {
            Role::Warn
        };
        let mut line = vec![(vendor, Role::Strong), (status.into_owned(), role)];
        // Most messages begin with what was looked for, and where.
        let told = probe.message.as_ref();
        if !told.is_some_and(|message| message.contains(&*probe.library)) {
            let library = t.probe_looked_for(&*probe.library);
            line.push((format!("   {library}"), Role::Muted));
        }
        lines.push(line);
        for text in probe.message.iter().flat_map(|m| wrap(&clean(m), room)) {
            lines.push(vec![(head(""), Role::Muted), (text, Role::Muted)]);
        }
        if let Some(next) = words::probe_next(probe, t) {
            let title = format!("{}  ", t.overview_next());
            let indent = u16::try_from(title.width()).unwrap_or(0);
            for (n, text) in wrap(&next, room.saturating_sub(indent))
                .into_iter()
                .enumerate()
            {
                let title = if n == 0 {
                    title.clone()
                } else {
                    " ".repeat(title.width())
                };
                lines.push(vec![
                    (head(""), Role::Muted),
                    (title, Role::Muted),
                    (text, Role::Accent),
                ]);
            }
        }
        lines.push(Vec::new());
    }
    lines.extend(host(&picture.host_sample, look, usize::from(width)));
    lines.push(Vec::new());
    lines.push(vec![(format!(" {}", t.probe_none_hint("d")), Role::Text)]);
    lines
}

/// The host's readings in as many lines as they need; an absent one says so.
fn host(sample: &HostSample, look: &Look, width: usize) -> Vec<Line> {
    let t = look.text;
    let absent = look.glyph(crate::ui::glyphs::Glyph::Absent);
    let show = |reading: Result<f64, _>, write: &dyn Fn(f64) -> String| {
        reading.map_or_else(|_: crate::model::Absent| absent.to_owned(), write)
    };
    let share = |r: f64| Ratio(r).to_string();
    let rate = |r: f64| BytesPerSecond(r).to_string();
    let bytes = |b: f64| Bytes(b).to_string();
    let rows = [
        vec![
            (t.host_cpu(), show(sample.cpu_ratio, &share)),
            (t.host_load(), show(sample.load1, &|l| format!("{l:.2}"))),
            (t.host_memory(), show(sample.memory_used_bytes, &bytes)),
            (
                t.host_memory_limit(),
                show(sample.memory_limit_bytes, &bytes),
            ),
        ],
        vec![
            (
                t.host_pressure_cpu(),
                show(sample.psi_cpu_some_ratio, &share),
            ),
            (t.host_pressure_io(), show(sample.psi_io_some_ratio, &share)),
            (
                t.host_pressure_memory(),
                show(sample.psi_memory_full_ratio, &share),
            ),
            (
                t.host_throttled(),
                show(sample.cgroup_throttled_ratio, &share),
            ),
        ],
        vec![
            (t.host_network_in(), show(sample.net_rx_bytes_per_s, &rate)),
            (t.host_network_out(), show(sample.net_tx_bytes_per_s, &rate)),
            (
                t.host_disk_read(),
                show(sample.disk_read_bytes_per_s, &rate),
            ),
            (
                t.host_disk_write(),
                show(sample.disk_write_bytes_per_s, &rate),
            ),
        ],
    ];
    let mut lines = Vec::new();
    for (n, row) in rows.into_iter().enumerate() {
        let first = if n == 0 {
            head(&t.probe_host_works())
        } else {
            head("")
        };
        let mut line = vec![(first, Role::Strong)];
        let mut used = HEAD;
        for (name, figure) in row {
            // No figure is cut: what does not fit stands on the next line.
            if used + name.width() + 1 + figure.width() > width && used > HEAD {
                lines.push(std::mem::replace(&mut line, vec![(head(""), Role::Strong)]));
                used = HEAD;
            }
            used += name.width() + 1 + FIGURE.max(figure.width());
            line.push((format!("{name} "), Role::Muted));
            line.push((format!("{figure:<FIGURE$}"), Role::Text));
        }
        lines.push(line);
    }
    lines
}
