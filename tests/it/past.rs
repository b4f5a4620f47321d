//! The screen looks into a recording: what is replayed, and the past of what is live. Keys through the real keymap, the
//! recording in a real file that is being written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{BEGAN, Stage};
use jiff::Timestamp;
use nameplate::app::keymap::Key;
use nameplate::app::playback::{Order, Player};
use nameplate::app::{Effect, Past, View};
use nameplate::model::{Config, Plates, SourceKind, Tick};
use nameplate::record::{Limits, Writer};
use nameplate::session::{Session, Start};
use nameplate::simulate::Simulation;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn simulated(count: usize) -> Vec<Tick> {
    let mut simulation = Simulation::case("narrow-link", 1)
        .unwrap()
        .beginning_at(BEGAN);
    let introductions = simulation.tick().changes;
    let mut ticks: Vec<Tick> = std::iter::repeat_with(|| simulation.tick())
        .filter(|tick| tick.interval.as_secs() == 1)
        .take(count)
        .collect();
    ticks[0].changes.splice(0..0, introductions);
    ticks
}

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

/// Writes a recording as a recorder does; `missing` ticks are folded and not written.
fn record(path: &Path, ticks: &[Tick], missing: std::ops::Range<usize>, keep: Duration) -> Writer {
    let limits = Limits {
        seal: Duration::from_secs(20),
        start: Duration::from_secs(60),
        keep,
        ..Limits::default()
    };
    let mut writer = Writer::open(path, limits).unwrap();
    let mut session = Session::new(Start::new(Config::default()), plates(), SourceKind::Live);
    for (n, tick) in ticks.iter().enumerate() {
        let here = !missing.contains(&n);
        let fresh = n == 0 || n == missing.end;
        if here && (fresh || writer.start_due(tick.mono)) {
            let start = session.start().to_bytes().unwrap();
            writer.start(tick, fresh, &start).unwrap();
        }
        session.fold(tick);
        if here {
            writer.append(tick).unwrap();
            writer.gather(tick, &session.minute_points()).unwrap();
        }
    }
    writer
}

/// The screen with its recording; what the worker would do happens at once.
struct Watching {
    stage: Stage,
    path: PathBuf,
    player: Option<Player>,
    _folder: tempfile::TempDir,
    _writer: Writer,
}

const MONTH: Duration = Duration::from_secs(30 * 86_400);

impl Watching {
    fn live(ticks: &[Tick], missing: std::ops::Range<usize>, keep: Duration) -> Self {
        let mut stage = Stage::live(ticks);
        stage.app = stage.app.with_past(Past::Kept);
        Self::on(stage, ticks, missing, keep)
    }

    fn replay(ticks: &[Tick], missing: std::ops::Range<usize>) -> Self {
        let source = SourceKind::Recording("run.nmp".to_owned());
        let mut stage = Stage::empty(source, Config::default());
        stage.app = stage.app.with_past(Past::Replay);
        let mut watching = Self::on(stage, ticks, missing, MONTH);
        watching.order(Order::First);
        watching
    }

    fn on(stage: Stage, ticks: &[Tick], missing: std::ops::Range<usize>, keep: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nmp");
        let writer = record(&path, ticks, missing, keep);
        Self {
            stage,
            path,
            player: None,
            _folder: folder,
            _writer: writer,
        }
    }

    fn order(&mut self, order: Order) {
        if order == Order::Stop {
            self.player = None;
            return;
        }
        let source = SourceKind::Recording("run.nmp".to_owned());
        let player = self
            .player
            .get_or_insert_with(|| Player::open(&self.path, plates(), source).unwrap());
        assert!(player.obey(&order, &mut || true));
        player.fill_charts(&mut || true);
        self.stage.app.show(player.frame(true).unwrap());
    }

    fn press(&mut self, key: Key) -> Option<Effect> {
        let effect = self.stage.press(key);
        if let Some(Effect::Play(order)) = &effect {
            self.order(order.clone());
        }
        effect
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            self.press(Key::Char(c));
        }
    }

    fn at(&self) -> Timestamp {
        self.stage.app.picture().unwrap().at
    }

    fn text(&mut self) -> String {
        self.stage.text(120, 40)
    }
}

#[test]
fn the_live_screen_goes_back_and_never_looks_live_meanwhile() {
    let ticks = simulated(220);
    let mut watching = Watching::live(&ticks[..200], 0..0, MONTH);
    assert!(watching.text().contains("● live"));
    watching.press(Key::Char('['));
    assert_eq!(watching.at(), ticks[139].at, "a minute back");
    let past = watching.text();
    assert!(
        past.contains("THE PAST: ") && past.contains("1m 00s ago"),
        "{past}"
    );
    assert!(!past.contains("● live"), "{past}");
    for (width, height) in [(80, 24), (120, 40)] {
        let name = format!("past_{width}x{height}");
        insta::assert_snapshot!(name, watching.stage.text(width, height));
    }
    // What is live goes on behind it.
    for tick in &ticks[200..] {
        watching.stage.app.fold(tick);
        watching.stage.app.refresh();
    }
    assert_eq!(watching.at(), ticks[139].at);
    assert_eq!(watching.stage.app.newest().unwrap().at, ticks[219].at);
    assert!(watching.text().contains("1m 20s ago"));
    // Smaller steps, single samples, and on from there.
    watching.press(Key::Char('{'));
    watching.press(Key::Char('['));
    assert_eq!(watching.at(), ticks[129].at);
    watching.press(Key::Char('.'));
    assert_eq!(watching.at(), ticks[130].at);
    watching.press(Key::Char(','));
    watching.press(Key::Char(']'));
    assert_eq!(watching.at(), ticks[139].at);
    assert!(watching.text().contains("[] 10 s"), "{}", watching.text());
    // To where it begins, and no further.
    for key in [Key::Home, Key::Char('[')] {
        watching.press(key);
        assert_eq!(watching.at(), ticks[0].at);
        assert!(
            watching
                .text()
                .contains("Nothing was recorded before this.")
        );
    }
    watching.press(Key::End);
    assert_eq!(watching.at(), ticks[219].at);
    let live = watching.text();
    assert!(live.contains("● live") && !live.contains("PAST"), "{live}");
    assert!(watching.player.is_none(), "nothing is held open");
}

#[test]
fn where_nothing_was_recorded_it_says_so() {
    let ticks = simulated(200);
    let mut watching = Watching::live(&ticks, 60..120, MONTH);
    watching.types("[[");
    assert_eq!(
        watching.at(),
        ticks[59].at,
        "before the gap: the step ends in it"
    );
    watching.press(Key::Char('.'));
    assert_eq!(watching.at(), ticks[120].at);
    let text = watching.text();
    assert!(
        text.contains("Nothing was recorded from ") && text.contains("(1m 01s)"),
        "{text}"
    );
    watching.press(Key::Enter);
    let device = watching.text();
    assert!(
        device.contains("not observed") || !device.contains("mean power"),
        "{device}"
    );
}

#[test]
fn beyond_the_ticks_there_are_minutes() {
    let ticks = simulated(400);
    let mut watching = Watching::live(&ticks, 0..0, Duration::from_secs(90));
    watching.press(Key::Home);
    let text = watching.text();
    assert!(text.contains("by the minute, means and extremes"), "{text}");
    assert!(text.contains("Nothing was recorded before this."), "{text}");
    insta::assert_snapshot!("past_minutes_120x40", text);
    watching.press(Key::Char('}'));
    watching.press(Key::Char(']'));
    assert!(!watching.text().contains("by the minute"));
}

#[test]
fn a_replay_is_steered_by_keys_and_stands_still_at_its_end() {
    let ticks = simulated(300);
    let mut watching = Watching::replay(&ticks, 0..0);
    assert_eq!(watching.at(), ticks[0].at);
    watching.press(Key::End);
    assert_eq!(watching.at(), ticks[299].at);
    let end = watching.text();
    assert!(
        end.contains("REPLAY run.nmp") && end.contains("The recording ends here; it stands still."),
        "{end}"
    );
    insta::assert_snapshot!("replay_end_120x40", end);
    // A time that is typed: what is no time is said to be none, and nothing else happens.
    watching.types("tq");
    watching.press(Key::Enter);
    let refused = watching.text();
    assert!(
        refused.contains("go to q_") && refused.contains("that is no time"),
        "{refused}"
    );
    watching.press(Key::Backspace);
    watching.types("-2m");
    insta::assert_snapshot!("replay_entry_80x24", watching.stage.text(80, 24));
    watching.press(Key::Enter);
    assert_eq!(watching.at(), ticks[179].at);
    watching.types("t12:00");
    watching.press(Key::Escape);
    assert_eq!(
        (watching.at(), watching.stage.app.entry()),
        (ticks[179].at, None)
    );
    let time = ticks[100].at.to_string();
    watching.types(&format!("t{time}"));
    watching.press(Key::Enter);
    assert_eq!(watching.at(), ticks[100].at);
    watching.press(Key::Home);
    assert_eq!(watching.at(), ticks[0].at);
    assert_eq!(watching.press(Key::Char('q')), Some(Effect::Quit));
}

#[test]
fn without_a_recording_keys_say_that_there_is_none() {
    let mut stage = Stage::begun("narrow-link", 1);
    stage.ticks(3);
    for key in [
        Key::Char('['),
        Key::Home,
        Key::End,
        Key::Char('t'),
        Key::Char('n'),
    ] {
        assert_eq!(stage.press(key), None);
        assert_eq!(
            stage.app.notice(),
            Some("There is no recording to look into.")
        );
    }
    assert_eq!(stage.app.entry(), None);
}

#[test]
fn c_shows_the_charts_where_an_episode_begins() {
    let ticks = simulated(300);
    let begin = |watching: &Watching| {
        let view = watching.stage.app.selection().unwrap();
        view.episodes[0].begin
    };
    let first_after = |at: Timestamp| ticks.iter().find(|tick| tick.at >= at).unwrap().at;
    let replay = Watching::replay(&ticks, 0..0);
    let live = Watching::live(&ticks, 0..0, MONTH);
    for (mut watching, is_live) in [(replay, false), (live, true)] {
        watching.press(Key::End);
        watching.press(Key::Char('v'));
        // At the end of a replay its foot says so instead.
        assert_eq!(watching.text().contains("c chart at its begin"), is_live);
        let begin = begin(&watching);
        watching.press(Key::Char('c'));
        assert_eq!(watching.at(), first_after(begin));
        assert_eq!(watching.stage.app.view(), View::Device);
        assert_eq!(watching.text().contains("THE PAST: "), is_live);
        watching.press(Key::Escape);
        assert_eq!(watching.stage.app.view(), View::Verdicts);
        watching.press(Key::End);
        assert_eq!(watching.at(), ticks[299].at);
    }
    // What was before the recording is not in it.
    let mut late = Watching::live(&ticks, 0..200, MONTH);
    late.types("vc");
    assert_eq!(late.at(), ticks[200].at);
    assert!(late.text().contains("Nothing was recorded before this."));
}

#[test]
fn c_says_where_there_is_nothing_to_show() {
    let mut unrecorded = Stage::live(&simulated(60));
    unrecorded.press(Key::Char('v'));
    assert_eq!(unrecorded.press(Key::Char('c')), None);
    assert_eq!(unrecorded.app.view(), View::Verdicts);
    assert!(
        unrecorded
            .text(120, 40)
            .contains("There is no recording to look into.")
    );
    // A device on which nothing was found has no begin.
    let mut fine = Watching::live(&simulated(60), 0..0, MONTH);
    fine.press(Key::Char('v'));
    let nothing = |watching: &Watching| watching.stage.app.selection().unwrap().episodes.is_empty();
    while !nothing(&fine) {
        let before = fine.stage.app.selected_index();
        fine.press(Key::Down);
        assert_ne!(
            fine.stage.app.selected_index(),
            before,
            "one of them is fine"
        );
    }
    assert_eq!(fine.press(Key::Char('c')), None);
    assert!(
        fine.text()
            .contains("Nothing was found on this device so far")
    );
}
