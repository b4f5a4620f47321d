//! Text from outside (process names, driver messages, file names) made fit for a terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// `text` without what could steer a terminal or deceive a reader: escape sequences with their payload (CSI, OSC, DCS and
/// the other strings), C0 and C1 controls, DEL, bidirectional controls, characters without width that hide others.
/// Line breaks and tabs, Unicode's line and paragraph separators among them, become one space each. Borrowed where there
/// is nothing to do.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                kept.push(' ')
            }
            c if is_unfit(c) => {}
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// [`clean`], cut to `max_cols` columns of a terminal; where something was cut, the last column says so with an ellipsis
/// (`~` with `ascii`). With `ascii` each character outside ASCII becomes `?`.
#[must_use]
pub fn clean_width(text: &str, max_cols: usize, ascii: bool) -> Cow<'_, str> {
    let mut cleaned = clean(text);
    if ascii && !cleaned.is_ascii() {
        cleaned = Cow::Owned(
            cleaned
                .chars()
                .map(|c| if c.is_ascii() { c } else { '?' })
                .collect(),
        );
    }
    if cleaned.width() <= max_cols {
        return cleaned;
    }
    if max_cols == 0 {
        return Cow::Borrowed("");
    }
    let mut cut = cleaned.into_owned();
    cut.truncate(prefix_of(&cut, max_cols - 1));
    cut.push(if ascii { '~' } else { '…' });
    Cow::Owned(cut)
}

/// The length in bytes of the longest start of `text` that fits into `cols` columns.
fn prefix_of(text: &str, cols: usize) -> usize {
    let mut width = 0;
    let mut end = 0;
    for (start, c) in text.char_indices() {
        width += c.width().unwrap_or(0);
        if width > cols {
            break;
        }
        end = start + c.len_utf8();
    }
    // Some characters are wider together than the sum of their widths.
    while text[..end].width() > cols {
        end -= text[..end].chars().next_back().map_or(end, char::len_utf8);
    }
    end
}

/// Whether a character never reaches a screen.
fn is_unfit(c: char) -> bool {
    c.is_control() || is_bidirectional_control(c) || is_invisible(c)
}

fn is_bidirectional_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Separators, joiners, fillers, variation selectors, tags: no width, or a blank that looks like nothing.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// After ESC: a control sequence, a string, or a short sequence of intermediates and one final (ECMA-48).
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        _ => {
            skip_while(rest, |c| matches!(c, ' '..='/'));
            skip_one(rest, |c| matches!(c, '0'..='~'));
        }
    }
}

/// After CSI: parameters, intermediates, a final.
fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    skip_while(rest, |c| matches!(c, '0'..='?'));
    skip_while(rest, |c| matches!(c, ' '..='/'));
    skip_one(rest, |c| matches!(c, '@'..='~'));
}

/// After OSC, DCS, SOS, PM, APC: everything up to ST or BEL; without one, to the end, as a terminal would take it.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                skip_one(rest, |c| c == '\\');
                return;
            }
            _ => {}
        }
    }
}

fn skip_while(rest: &mut std::str::Chars<'_>, wanted: impl Fn(char) -> bool) {
    while skip_one(rest, &wanted) {}
}

fn skip_one(rest: &mut std::str::Chars<'_>, wanted: impl Fn(char) -> bool) -> bool {
    let mut ahead = rest.clone();
    let found = ahead.next().is_some_and(wanted);
    if found {
        *rest = ahead;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strips_what_steers_a_terminal() {
        for (text, expected) in [
            ("python train.py", "python train.py"),
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            (
                "a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b",
                "alinkb",
            ),
            ("a\u{1b}Pq#0;payload\u{1b}\\b", "ab"),
            ("a\u{9b}2Jb\u{9d}x\u{9c}c", "abc"),
            ("a\u{1b}(Bb\u{1b}cd", "abd"),
            ("a\u{1b}", "a"),
            ("a\u{1b}[12", "a"),
            ("a\u{1b}[1\u{1b}[2Jb", "ab"),
            ("a\u{1b}]never closed", "a"),
            ("one\ttwo\nthree\u{2028}four", "one two three four"),
            ("a\u{0}\u{7f}\u{8}b", "ab"),
            ("gnp.\u{202e}exe", "gnp.exe"),
            ("a\u{200b}\u{feff}\u{2066}b", "ab"),
            ("中文 ü é", "中文 ü é"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn cuts_by_columns() {
        for (text, cols, ascii, expected) in [
            ("abcdef", 6, false, "abcdef"),
            ("abcdef", 5, false, "abcd…"),
            ("abcdef", 5, true, "abcd~"),
            ("abcdef", 1, false, "…"),
            ("abcdef", 0, false, ""),
            ("中文字", 6, false, "中文字"),
            ("中文字", 5, false, "中文…"),
            ("中文字", 4, false, "中…"),
            ("中文字", 4, true, "???"),
            ("a\u{1b}[1mbc", 3, false, "abc"),
        ] {
            assert_eq!(
                clean_width(text, cols, ascii),
                expected,
                "{text:?} {cols} {ascii}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_unfit_survives(text in "(?s)([\u{1b}\u{9b}\u{9d}\u{7}\\[\\]\\\\a-z0-9;\u{202a}-\u{202e}\u{200b}-\u{200f}]|.){0,40}") {
            let once = clean(&text).into_owned();
            prop_assert!(!once.chars().any(is_unfit), "{once:?}");
            prop_assert!(matches!(clean(&once), Cow::Borrowed(same) if same == once));
        }

        #[test]
        fn fit_text_is_borrowed(text in "[ -~àé中文]{0,40}") {
            prop_assert!(matches!(clean(&text), Cow::Borrowed(same) if same == text));
        }

        #[test]
        fn never_wider_than_asked(text in "(?s).{0,40}", cols in 0usize..50, ascii: bool) {
            let cut = clean_width(&text, cols, ascii);
            prop_assert!(cut.width() <= cols);
            prop_assert!(!ascii || cut.is_ascii());
            prop_assert_eq!(clean_width(&cut, cols, ascii), cut.clone());
        }
    }
}
