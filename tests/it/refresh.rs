//! What a refresh of the screen costs in bytes on the way to a terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]

use crate::stage::Stage;
use jiff::SignedDuration;
use nameplate::app::keymap::Key;
use nameplate::ui::terminal::Lean;
use nameplate::ui::views;
use ratatui::layout::Size;

/// Bytes of a refresh in the mean, 8 devices at 200x50 with every figure moving.
const BUDGET: u64 = 1100;
/// Bytes of a refresh when only time goes on.
const STILL: u64 = 100;

struct Wire {
    stage: Stage,
    lean: Lean<Vec<u8>>,
}

impl Wire {
    fn new(stage: Stage, width: u16, height: u16) -> Self {
        let lean = Lean::new(Vec::new(), Size { width, height });
        Self { stage, lean }
    }

    /// Draws; gives bytes and writes of this frame.
    fn draw(&mut self) -> (u64, u64) {
        let before = (self.lean.bytes_written(), self.lean.writes());
        let (app, look) = (&mut self.stage.app, &self.stage.look);
        self.lean
            .draw(|frame| views::draw(app, look, frame.area, frame))
            .unwrap();
        let after = &self.lean;
        (after.bytes_written() - before.0, after.writes() - before.1)
    }
}

#[test]
fn a_refresh_is_small_and_one_write() {
    for case in ["healthy", "narrow-link", "hang"] {
        let mut wire = Wire::new(Stage::of(case), 200, 50);
        let first = wire.draw();
        let mut bytes = Vec::new();
        for _ in 0..60 {
            wire.stage.ticks(1);
            let (count, writes) = wire.draw();
            assert!(writes <= 1, "{writes} writes for one frame");
            bytes.push(count);
        }
        bytes.sort_unstable();
        let mean = bytes.iter().sum::<u64>() / 60;
        println!(
            "{case}: first {} B, then mean {mean} B, median {} B, most {} B",
            first.0, bytes[30], bytes[59]
        );
        assert!(mean <= BUDGET, "{case}: {mean} B a refresh");
    }
}

#[test]
fn a_refresh_is_next_to_nothing_when_nothing_moves() {
    let mut stage = Stage::of("healthy");
    // Charts stand in the overview: another line of theirs is another column now and then.
    let mut tick = stage.next();
    let mut wire = Wire::new(stage, 200, 50);
    wire.draw();
    let mut bytes = Vec::new();
    for n in 0..120 {
        tick.seq += 1;
        tick.at += SignedDuration::from_secs(1);
        tick.mono = tick.mono.plus(std::time::Duration::from_secs(1));
        tick.changes.clear();
        for sample in &mut tick.samples {
            sample.at = tick.mono;
        }
        wire.stage.app.fold(&tick);
        wire.stage.app.refresh();
        let (count, writes) = wire.draw();
        assert!(writes <= 1);
        // Rates and phases settle first, and counters that stand still are told with their seconds up to a minute.
        if n >= 60 {
            bytes.push(count);
        }
    }
    bytes.sort_unstable();
    let mean = bytes.iter().sum::<u64>() / 60;
    println!(
        "frozen: mean {mean} B, median {} B, most {} B",
        bytes[30], bytes[59]
    );
    assert!(
        bytes[30] <= STILL && mean <= 2 * STILL,
        "median {}, mean {mean}",
        bytes[30]
    );
}

#[test]
fn a_picture_that_is_held_costs_nothing() {
    let mut wire = Wire::new(Stage::of("narrow-link"), 200, 50);
    wire.stage.press(Key::Char(' '));
    wire.draw();
    for _ in 0..5 {
        wire.stage.ticks(1);
        assert_eq!(wire.draw(), (0, 0));
    }
}
