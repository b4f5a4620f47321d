//! Pictures of the verdict view: simulated faults, keys through the real keymap.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{Stage, looking};
use nameplate::app::keymap::Key;
use nameplate::app::{Effect, View};
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use unicode_width::UnicodeWidthStr as _;

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (120, 40)];

fn verdicts(case: &str) -> Stage {
    let mut stage = Stage::of(case);
    stage.press(Key::Char('v'));
    assert_eq!(stage.app.view(), View::Verdicts);
    stage
}

#[test]
fn all_verdicts_with_what_they_rest_on() {
    for case in ["narrow-link", "hang", "forgotten", "healthy"] {
        let mut stage = verdicts(case);
        for (width, height) in SIZES {
            insta::assert_snapshot!(
                format!("verdicts_{case}_{width}x{height}"),
                stage.text(width, height)
            );
        }
    }
}

#[test]
fn the_verdict_view_in_ascii_and_in_chinese() {
    let ascii = looking("dark", Charset::Ascii, Lang::En);
    let page = verdicts("narrow-link").with(ascii).text(100, 30);
    assert!(page.is_ascii(), "{page}");
    let chinese = looking("dark", Charset::Unicode, Lang::ZhCn);
    for line in verdicts("narrow-link").with(chinese).text(100, 30).lines() {
        assert!(line.width() <= 100, "{line}");
    }
}

#[test]
fn the_worst_verdict_is_selected_and_the_device_view_comes_back_to_it() {
    let mut stage = verdicts("narrow-link");
    assert_eq!(stage.app.selected_index(), Some(3));
    stage.press(Key::Down);
    assert_ne!(stage.app.selected_index(), Some(3));
    stage.press(Key::Up);
    assert_eq!(stage.app.selected_index(), Some(3));
    stage.press(Key::Enter);
    assert_eq!(stage.app.view(), View::Device);
    stage.press(Key::Escape);
    assert_eq!(stage.app.view(), View::Verdicts);
    let Some(Effect::Copy(lines)) = stage.press(Key::Char('y')) else {
        panic!("y copies");
    };
    assert!(lines.contains("pcie_link"), "{lines}");
    stage.press(Key::Escape);
    assert_eq!(stage.app.view(), View::Overview);
}

#[test]
fn any_size_is_drawn() {
    let mut stage = verdicts("narrow-link");
    for (width, height) in [(1, 1), (10, 3), (30, 8), (60, 12), (200, 60)] {
        let _ = stage.text(width, height);
    }
}
