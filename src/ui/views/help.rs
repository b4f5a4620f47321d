//! Help: the keys, from the keymap, and the words of the screen.

use super::chrome;
use crate::app::App;
use crate::app::keymap::{BINDINGS, Group, describe};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, wrap, write_line};
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::borrow::Cow;

/// Columns of the keys.
const KEYS: u16 = 16;

/// Draws the help page.
pub(super) fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let lines = lines(look, body.width.saturating_sub(KEYS + 3));
    let most = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_sub(body.height);
    app.clamp_scroll(most);
    for (n, (key, text)) in lines
        .iter()
        .skip(usize::from(app.scroll()))
        .take(usize::from(body.height))
        .enumerate()
    {
        let line = row(body, u16::try_from(n).unwrap_or(u16::MAX));
        let (key_role, text_role) = if key.is_empty() {
            (Role::Strong, Role::Strong)
        } else {
            (Role::Accent, Role::Text)
        };
        let key = format!("  {key:<width$}", width = usize::from(KEYS));
        if text_role == Role::Strong {
            write_line(
                buf,
                line,
                &[
                    (" ", look.style(Role::Text)),
                    (text, look.style(Role::Strong)),
                ],
            );
        } else {
            write_line(
                buf,
                line,
                &[(&key, look.style(key_role)), (text, look.style(text_role))],
            );
        }
    }
}

/// Rows of (key, sentence); a title has no key.
fn lines(look: &Look, width: u16) -> Vec<(String, Cow<'static, str>)> {
    let t = look.text;
    let mut lines = Vec::new();
    for (group, title) in [
        (Group::Move, t.help_section_move()),
        (Group::Views, t.help_section_views()),
        (Group::Stream, t.help_section_stream()),
        (Group::Past, t.help_section_past()),
        (Group::Program, t.help_section_program()),
    ] {
        lines.push((String::new(), title));
        for binding in BINDINGS.iter().filter(|b| b.group == group) {
            let keys: Vec<String> = binding
                .keys
                .iter()
                .map(|k| chrome::key_name(*k, look))
                .collect();
            lines.push((keys.join(" "), describe(binding.action, t)));
        }
        lines.push((String::new(), Cow::Borrowed("")));
    }
    lines.push((String::new(), t.help_words()));
    for sentence in [
        t.help_word_plate(),
        t.help_word_work(),
        t.help_word_head(),
        t.help_word_held(),
        t.help_word_capped(),
        t.help_word_unobserved(),
        t.help_word_absent(look.glyph(Glyph::Absent)),
    ] {
        for (n, text) in wrap(&sentence, width).into_iter().enumerate() {
            let dot = if n == 0 { look.glyph(Glyph::Dot) } else { " " };
            lines.push((dot.to_owned(), Cow::Owned(text)));
        }
    }
    lines
}
