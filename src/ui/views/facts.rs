//! The sentence of the selected device: the worst that is plainly known, what else is, and the next command.
//!
//! ```text
//!  3  99 % busy at 31 % of plate for 3m 10s: busy is not work.
//!     The link runs x8 of x16 (bridge 0000:17:00.0) and carries 12.8 GB/s each way.
//!     next  lspci -vv -s 0000:17:00.0 | grep LnkSta   then ask the provider for another host   y copies the lines for support
//! ```

use crate::app::verdicts;
use crate::model::DeviceView;
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, wrap, write_line};
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns before the sentence.
const INDENT: u16 = 4;

/// Draws what is known in at most `area.height` lines; gives the lines used.
pub(super) fn draw(view: &DeviceView, look: &Look, area: Rect, buf: &mut Buffer) -> u16 {
    let t = look.text;
    let body = Rect {
        x: area.x + INDENT.min(area.width),
        width: area.width.saturating_sub(INDENT + 1),
        ..area
    };
    if area.height == 0 || body.width == 0 {
        return 0;
    }
    let index = format!("{:>2} ", view.device.index);
    write_line(buf, row(area, 0), &[(&index, look.style(Role::Accent))]);
    let next = verdicts::next_command(view, t);
    // The last line is the next command's, where there is one and room for it.
    let room = if next.is_some() && area.height > 1 {
        area.height - 1
    } else {
        area.height
    };
    let mut line = 0;
    for (n, (level, sentence)) in verdicts::lines(view, t, look.signs())
        .into_iter()
        .enumerate()
    {
        let role = if n == 0 {
            Look::role_of_level(level)
        } else {
            Role::Muted
        };
        for text in wrap(&sentence, body.width) {
            if line >= room {
                break;
            }
            write_line(buf, row(body, line), &[(&text, look.style(role))]);
            line += 1;
        }
    }
    if let Some((command, support)) = next.filter(|_| line < area.height) {
        let muted = look.style(Role::Muted);
        let title = t.overview_next();
        let then = t.findings_then_support();
        let copies = t.overview_copies("y");
        let mut pieces = vec![
            (title.as_ref(), muted),
            ("  ", muted),
            (command.as_ref(), look.style(Role::Accent)),
        ];
        let used = width(&pieces);
        if support && used + 3 + then.len() <= usize::from(body.width) {
            pieces.extend([("   ", muted), (then.as_ref(), muted)]);
        }
        if width(&pieces) + 3 + copies.len() <= usize::from(body.width) {
            pieces.extend([("   ", muted), (copies.as_ref(), muted)]);
        }
        write_line(buf, row(body, line), &pieces);
        line += 1;
    }
    line
}

fn width(pieces: &[(&str, ratatui::style::Style)]) -> usize {
    use unicode_width::UnicodeWidthStr as _;
    pieces.iter().map(|(text, _)| text.width()).sum()
}

/// Draws a rule.
pub(super) fn rule(look: &Look, area: Rect, buf: &mut Buffer) {
    let style = look.style(Role::Rule);
    for x in area.left()..area.right() {
        if let Some(cell) = buf.cell_mut((x, area.y)) {
            cell.set_symbol(look.glyph(Glyph::Rule)).set_style(style);
        }
    }
}
