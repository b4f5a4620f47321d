//! PCIe traffic of devices that do not tell the directions apart, on the screen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{Stage, looking};
use nameplate::app::keymap::Key;
use nameplate::model::{Absent, Metric, Tick};
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;

/// The sum of both counters, and neither of them.
fn summed(mut tick: Tick) -> Tick {
    for sample in &mut tick.samples {
        let of = |metric| sample.readings.get(metric).unwrap();
        let both = of(Metric::PcieRxBytes) + of(Metric::PcieTxBytes);
        for metric in [
            Metric::PcieRxBytes,
            Metric::PcieTxBytes,
            Metric::GpmPcieRx,
            Metric::GpmPcieTx,
            Metric::PcieRxRate,
            Metric::PcieTxRate,
        ] {
            sample.readings.set(metric, Err(Absent::NotSupported));
        }
        sample.readings.set(Metric::PcieBothBytes, Ok(both));
    }
    tick
}

#[test]
fn the_sum_stands_where_the_directions_would_and_says_that_it_is_one() {
    let mut source = Stage::begun("narrow-link", 1);
    let ticks: Vec<Tick> = (0..20).map(|_| summed(source.next())).collect();
    for (look, sum) in [
        (looking("dark", Charset::Unicode, Lang::En), "Σ"),
        (looking("mono", Charset::Ascii, Lang::En), "+"),
    ] {
        let mut stage = Stage::live(&ticks).with(look);
        let screen = stage.text(120, 40);
        let row = screen.lines().find(|line| line.contains("5 x16")).unwrap();
        let cell = row
            .split_whitespace()
            .find(|word| word.starts_with(sum))
            .unwrap();
        assert!(cell.ends_with('%'), "{cell}");
        stage.press(Key::Enter);
        let page = stage.text(120, 100);
        assert!(page.contains(&format!("{sum} both ways")), "{page}");
    }
}

#[test]
fn where_the_directions_are_told_apart_there_is_no_sum() {
    let mut stage = Stage::of("healthy");
    stage.press(Key::Enter);
    assert!(!stage.text(120, 100).contains("both ways"));
}
