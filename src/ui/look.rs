//! What every view needs to draw: theme, glyphs and words; and how numbers are written.

use super::glyphs::{Charset, Glyph};
use super::theme::{Role, Theme};
use crate::app::words::Signs;
use crate::model::{Level, StateWord, Value};
use crate::text::{Catalogue, clean};
use nameplate_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Theme, glyphs and words.
#[derive(Debug, Clone)]
pub struct Look {
    /// Colours by role.
    pub theme: Theme,
    /// What the terminal can write.
    pub charset: Charset,
    /// What it says.
    pub text: Catalogue,
    /// In which zone it writes times; found once at the start, so that drawing reads no file.
    pub zone: jiff::tz::TimeZone,
}

impl Look {
    /// The style of a role.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// A glyph as this terminal writes it.
    #[must_use]
    pub fn glyph(&self, glyph: Glyph) -> &'static str {
        glyph.of(self.charset)
    }

    /// A wall time in the screen's zone, in `strftime`'s form.
    #[must_use]
    pub fn time(&self, at: jiff::Timestamp, form: &str) -> String {
        at.to_zoned_datetime(self.zone.clone())
            .strftime(form)
            .to_string()
    }

    /// The glyph set of the widgets.
    #[must_use]
    pub fn widgets(&self) -> Glyphs {
        match self.charset {
            Charset::Unicode => Glyphs::Unicode,
            Charset::Ascii => Glyphs::Ascii,
        }
    }

    /// The signs in sentences.
    #[must_use]
    pub fn signs(&self) -> Signs {
        match self.charset {
            Charset::Unicode => Signs::UNICODE,
            Charset::Ascii => Signs::ASCII,
        }
    }

    /// The role of a state word.
    #[must_use]
    pub fn role_of(word: StateWord) -> Role {
        match word {
            StateWord::Working => Role::Ok,
            StateWord::Idle => Role::Idle,
            StateWord::Held | StateWord::Paused => Role::Held,
            StateWord::Capped
            | StateWord::Narrow
            | StateWord::Hot
            | StateWord::Slowed
            | StateWord::Degraded => Role::Warn,
            StateWord::Stalled | StateWord::Doubtful | StateWord::Braked | StateWord::Faulty => {
                Role::Bad
            }
            StateWord::Lost | StateWord::Silent => Role::Lost,
            StateWord::Unknown => Role::Unknown,
        }
    }

    /// The role of a level.
    #[must_use]
    pub fn role_of_level(level: Level) -> Role {
        match level {
            Level::Info => Role::Text,
            Level::Warn => Role::Warn,
            Level::Bad => Role::Bad,
        }
    }

    /// A number, or the mark of an absent one.
    #[must_use]
    pub fn number(&self, value: Value, write: impl FnOnce(f64) -> String) -> String {
        value
            .ok()
            .map_or_else(|| self.glyph(Glyph::Absent).to_owned(), write)
    }

    /// A share in percent, four columns at most: `98%`, `1.3` times is `130%`.
    #[must_use]
    pub fn percent(&self, value: Value) -> String {
        self.number(value, |ratio| {
            format!("{:.0}%", (ratio * 100.0).min(9999.0))
        })
    }
}

/// Writes pieces one after the other on one line; what does not fit is cut. Gives the column after the last.
/// Whatever comes from outside is cleaned here, so that no view can forget it.
pub(super) fn write_line(buf: &mut Buffer, area: Rect, pieces: &[(&str, Style)]) -> u16 {
    let mut x = area.x;
    if area.height == 0 {
        return x;
    }
    for (text, style) in pieces {
        if x >= area.right() {
            break;
        }
        // Printable ASCII: a byte is a cell, and nothing has to be cleaned or segmented.
        if text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            for glyph in text.chars().take(usize::from(area.right() - x)) {
                if let Some(cell) = buf.cell_mut((x, area.y)) {
                    cell.set_char(glyph).set_style(*style);
                }
                x += 1;
            }
            continue;
        }
        let (next, _) = buf.set_stringn(
            x,
            area.y,
            clean(text),
            usize::from(area.right() - x),
            *style,
        );
        x = next;
    }
    x
}

/// Writes pieces so that they end at the right edge; only where they fit beside `left`. Says whether they did.
pub(super) fn write_right(
    buf: &mut Buffer,
    area: Rect,
    left: u16,
    pieces: &[(&str, Style)],
) -> bool {
    let width: usize = pieces.iter().map(|(text, _)| clean(text).width()).sum();
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let start = area.right().saturating_sub(width);
    if area.height == 0 || start < left || width > area.width {
        return false;
    }
    write_line(
        buf,
        Rect {
            x: start,
            width,
            ..area
        },
        pieces,
    );
    true
}

/// One line of an area; empty where the area has no such line.
#[must_use]
pub(super) fn row(area: Rect, line: u16) -> Rect {
    if line >= area.height {
        return Rect { height: 0, ..area };
    }
    Rect {
        y: area.y + line,
        height: 1,
        ..area
    }
}

/// Breaks a text into lines of at most `width` columns, at spaces where there are any.
#[must_use]
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let space = usize::from(!line.is_empty());
        if line.width() + space + word.width() <= width {
            if space == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        // A word wider than the line (or a script without spaces) is broken anywhere.
        for c in word.chars() {
            let mut utf8 = [0; 4];
            if line.width() + c.encode_utf8(&mut utf8).width() > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_never_lost() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
        assert_eq!(wrap("链路窄", 4), ["链路", "窄"]);
    }
}
