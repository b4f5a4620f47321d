//! Pictures of the meter, through the real keymap, at every size; and that it goes on whatever the drivers do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{Stage, looking};
use nameplate::app::keymap::Key;
use nameplate::app::{Effect, MeterPanel, View};
use nameplate::model::{Absent, Change};
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;

const SIZES: [(u16, u16); 4] = [(80, 24), (100, 28), (120, 40), (200, 50)];

fn picture(name: &str, stage: &mut Stage) {
    for (width, height) in SIZES {
        let text = stage.text(width, height);
        insta::assert_snapshot!(format!("meter_{name}_{width}x{height}"), text);
    }
}

fn meter(case: &str) -> Stage {
    let mut stage = Stage::of(case);
    stage.press(Key::Char('$'));
    assert_eq!(stage.app.view(), View::Meter);
    stage
}

#[test]
fn the_meter_of_two_cases() {
    for case in ["narrow-link", "forgotten"] {
        picture(case, &mut meter(case));
    }
}

#[test]
fn its_panels() {
    let mut stage = meter("forgotten");
    for (key, panel, name) in [
        ('h', MeterPanel::Days, "days"),
        ('h', MeterPanel::Hours, "hours"),
        ('d', MeterPanel::Devices, "devices"),
        ('s', MeterPanel::Starts, "starts"),
    ] {
        stage.press(Key::Char(key));
        assert_eq!(stage.app.meter_panel(), panel);
        insta::assert_snapshot!(format!("meter_{name}_100x28"), stage.text(100, 28));
    }
    stage.press(Key::Escape);
    assert_eq!(stage.app.view(), View::Overview);
    stage.press(Key::Char('$'));
    stage.press(Key::Char('$'));
    assert_eq!(
        stage.app.view(),
        View::Overview,
        "the key closes it as well"
    );
}

#[test]
fn in_ascii_without_colour_and_in_chinese() {
    let mut ascii = meter("forgotten").with(looking("mono", Charset::Ascii, Lang::En));
    for (width, height) in [(80, 24), (120, 40)] {
        let text = ascii.text(width, height);
        assert!(text.is_ascii(), "{text}");
        insta::assert_snapshot!(format!("meter_ascii_{width}x{height}"), text);
    }
    let mut chinese = meter("forgotten").with(looking("dark", Charset::Unicode, Lang::ZhCn));
    insta::assert_snapshot!("meter_zh_100x28", chinese.text(100, 28));
}

/// Any size can be drawn, down to none.
#[test]
fn no_size_is_too_small() {
    let mut stage = meter("forgotten");
    for width in [1, 2, 10, 39, 79, 81] {
        for height in [1, 2, 3, 5, 8, 12, 15, 18, 23] {
            let _ = stage.text(width, height);
        }
    }
}

/// All calls of all drivers hang: nothing is sampled any more, and billing goes on.
#[test]
fn it_ticks_while_all_drivers_hang() {
    let mut stage = meter("healthy");
    let amount = |stage: &Stage| stage.app.picture().unwrap().cost.as_ref().unwrap().amount;
    let before = amount(&stage);
    for _ in 0..30 {
        let mut tick = stage.next();
        let hung = std::mem::take(&mut tick.samples);
        tick.host = None;
        for sample in hung {
            let silent = Change::Silent(sample.device, Absent::TimedOut, tick.mono);
            tick.changes.push(silent);
        }
        stage.app.fold(&tick);
        stage.app.refresh();
    }
    let later = amount(&stage);
    assert!(later > before, "{later:?} after {before:?}");
    let cost = stage.app.picture().unwrap().cost.clone().unwrap();
    assert!(
        cost.phase_seconds.unobserved > 20.0,
        "{:?}",
        cost.phase_seconds
    );
    assert!(cost.available_ratio.unwrap() < 1.0);
    let text = stage.text(100, 28);
    assert!(
        text.contains("unobserved") && text.contains("nobody looked"),
        "{text}"
    );
}

#[test]
fn what_support_needs_can_be_copied() {
    let mut stage = meter("forgotten");
    let Some(Effect::Copy(lines)) = stage.press(Key::Char('y')) else {
        panic!("nothing was copied")
    };
    insta::assert_snapshot!("meter_support_lines", lines);
}
