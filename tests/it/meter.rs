//! Pictures of the meter, through the real keymap, at every size; and that it goes on whatever the drivers do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{BEGAN, Stage, looking};
use nameplate::app::keymap::Key;
use nameplate::app::{Effect, MeterPanel, News, View};
use nameplate::model::{
    Absent, Change, Claims, DetectedBy, Platform, PlatformNews, PlatformPrice, PlatformStatus,
    PriceScope,
};
use nameplate::session::Start;
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use rust_decimal::Decimal;
use std::sync::Arc;

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

/// `b` asks for a budget: it is of this screen, also when the session is replaced.
#[test]
fn a_budget_is_typed_in_the_meter() {
    let mut stage = meter("forgotten");
    let budget = |stage: &Stage| stage.app.newest().unwrap().cost.clone().unwrap().budget;
    let amount = |stage: &Stage| stage.app.newest().unwrap().cost.clone().unwrap().amount;
    let (before, spent) = (budget(&stage), amount(&stage));
    assert_eq!(before, None);
    let typed = |stage: &mut Stage, text: &str| {
        for c in text.chars() {
            assert_eq!(stage.press(Key::Char(c)), None);
        }
    };
    typed(&mut stage, "b20q");
    let text = stage.text(100, 28);
    assert!(text.contains("budget in USD: 20q_"), "{text}");
    stage.press(Key::Enter);
    assert!(stage.text(100, 28).contains("that is no amount"));
    stage.press(Key::Backspace);
    typed(&mut stage, "000.50");
    stage.press(Key::Enter);
    assert!(
        stage
            .text(100, 28)
            .contains("Budget $20000.50, on this screen")
    );
    assert_eq!(budget(&stage).unwrap().to_string(), "20000.50");
    assert_eq!(amount(&stage), spent, "nothing else changes");
    stage.ticks(6);
    let text = stage.text(120, 40);
    assert!(text.contains("budget $20000.50 reached "), "{text}");
    // Its session goes on from one that knows nothing of it.
    let start = Start::new(Stage::config("forgotten"));
    stage.app.hear(News::Start(Box::new(start)));
    stage.ticks(2);
    assert_eq!(budget(&stage).unwrap().to_string(), "20000.50");
    typed(&mut stage, "b");
    stage.press(Key::Enter);
    assert_eq!(budget(&stage), None, "an empty line is none");
    typed(&mut stage, "b1");
    stage.press(Key::Escape);
    assert_eq!((budget(&stage), stage.app.view()), (None, View::Meter));
}

/// A price of one's own beside the platform's: both can be seen, and that they differ.
#[test]
fn what_the_platform_says_stands_beside_ones_own_price() {
    let mut stage = meter("forgotten");
    let mut platform = platform("runpod", "RunPod");
    platform.price = Some(PlatformPrice {
        per_hour: Decimal::new(44, 2),
        currency: "USD".parse().unwrap(),
        scope: PriceScope::Instance,
        at: BEGAN,
    });
    platform.billing_started = Some(BEGAN);
    stage.tick_with(Change::Platform(PlatformNews::Known(Arc::new(platform))));
    let text = stage.text(120, 40);
    assert!(text.contains("RunPod says: $0.44 an hour"), "{text}");
}

/// A list price is one on demand: where the platform says spot it is none, and the meter says so.
#[test]
fn a_list_price_is_not_that_of_a_spot_instance() {
    for (spot, said) in [
        (None, "list, on-demand"),
        (Some(false), "list, on-demand"),
        (Some(true), "spot: no price"),
    ] {
        let mut stage = Stage::unpriced("healthy");
        stage.press(Key::Char('$'));
        let mut platform = platform("lambda", "Lambda");
        platform.instance_type = Some("gpu_8x_h100_sxm5".into());
        platform.spot = spot;
        stage.tick_with(Change::Platform(PlatformNews::Known(Arc::new(platform))));
        let text = stage.text(120, 40);
        assert!(text.contains(said), "{spot:?}: {text}");
    }
}

/// Every region's estimate says whose PUE it takes.
#[test]
fn carbon_says_whose_pue_it_is() {
    let mut stage = meter("forgotten");
    let mut platform = platform("gcp", "Google Cloud");
    platform.region = Some("us-central1".into());
    stage.tick_with(Change::Platform(PlatformNews::Known(Arc::new(platform))));
    let text = stage.text(120, 40);
    assert!(
        text.contains("(Iowa 2024, PUE 1.11 of gcp:us-central1)"),
        "{text}"
    );
}

/// An answer with nothing in it.
fn platform(name: &str, title: &str) -> Platform {
    Platform {
        name: name.into(),
        title: title.into(),
        detected_by: DetectedBy::Flag,
        instance_id: None,
        instance_type: None,
        region: None,
        state: None,
        billed_by_state: None,
        runs: None,
        billing_started: None,
        price: None,
        spot: None,
        rule: None,
        notices: Vec::new(),
        claims: Claims::default(),
        status: PlatformStatus::Fresh,
        answered: Some(BEGAN),
        is_asked: false,
        trouble: None,
    }
}

#[test]
fn what_support_needs_can_be_copied() {
    let mut stage = meter("forgotten");
    let Some(Effect::Copy(lines)) = stage.press(Key::Char('y')) else {
        panic!("nothing was copied")
    };
    insta::assert_snapshot!("meter_support_lines", lines);
}
