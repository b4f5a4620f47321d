//! What is shown of a recording, and what keys ask of it.

use super::playback::{Frame, Grain, Order, Remark};
use super::{Action, App, Effect};
use crate::model::SourceKind;
use crate::text::Catalogue;
use crate::units::format_span;
use jiff::Timestamp;
use nameplate_widgets::SweepWindow;
use std::borrow::Cow;

/// Seconds of a step back or forward: some samples, a minute, ten, an hour, a shift, a day.
const STEPS: [f64; 6] = [10.0, 60.0, 600.0, 3600.0, 28_800.0, 86_400.0];
/// The step to begin with: a minute.
const FIRST_STEP: usize = 1;
/// Speeds of a replay to choose from.
const SPEEDS: [f64; 12] = [
    0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1000.0, 3000.0, 10_000.0,
];

/// Whether there is a recording that can be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Past {
    /// There is none.
    #[default]
    None,
    /// The live screen's own.
    Kept,
    /// A recording is all that is shown: there is nothing live behind it.
    Replay,
}

/// What is shown of a recording at present.
#[derive(Debug)]
pub(super) struct Play {
    /// `None` until the first one came.
    pub(super) frame: Option<Frame>,
    pub(super) window: SweepWindow,
    standing: bool,
}

/// The recording's side of the state.
#[derive(Debug)]
pub(super) struct Tape {
    pub(super) past: Past,
    pub(super) play: Option<Play>,
    step: usize,
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            past: Past::None,
            play: None,
            step: FIRST_STEP,
        }
    }
}

impl App {
    /// Says that a recording can be looked into, or is all that is shown.
    #[must_use]
    pub fn with_past(mut self, past: Past) -> Self {
        self.tape.past = past;
        if past == Past::Replay {
            self.tape.play = Some(self.begin_play(false));
        }
        self
    }

    fn begin_play(&self, standing: bool) -> Play {
        Play {
            frame: None,
            window: SweepWindow::new(self.window.span, 0),
            standing,
        }
    }

    /// Shows what came of the recording; what comes after its end was asked for is left alone.
    pub fn show(&mut self, frame: Frame) {
        let Some(play) = &mut self.tape.play else {
            return;
        };
        let newest = i64::try_from(frame.snapshot.mono.0 / 1_000_000).unwrap_or(i64::MAX);
        let span = i64::try_from(frame.span.as_millis()).unwrap_or(i64::MAX);
        let fits = play.window.span == span && play.window.start > 0;
        play.window = if fits {
            play.window.at(newest)
        } else {
            SweepWindow::ending_near(span, newest)
        };
        play.standing = frame.standing;
        play.frame = Some(frame);
        self.settle();
    }

    /// The recording cannot be shown.
    pub fn playback_failed(&mut self, reason: &str, t: Catalogue) {
        if self.tape.past == Past::Kept {
            self.tape.play = None;
        }
        self.notify(t.chrome_past_failed(reason).into_owned());
    }

    pub(super) fn frame(&self) -> Option<&Frame> {
        self.tape.play.as_ref().and_then(|play| play.frame.as_ref())
    }

    /// Whether the picture is of a recording, replayed.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.tape.past == Past::Replay
    }

    /// Whether the picture is of a log, which comes like what is live, in its own time.
    #[must_use]
    pub fn is_log(&self) -> bool {
        let source = self.picture().map(|picture| &picture.source);
        matches!(source, Some(SourceKind::Log { .. }))
    }

    /// Whether time runs at a speed that can be chosen.
    #[must_use]
    pub fn has_speed(&self) -> bool {
        self.tape.play.is_some() || self.is_log()
    }

    /// Whether the picture is of the past, while live goes on behind it.
    #[must_use]
    pub fn is_past(&self) -> bool {
        self.tape.past == Past::Kept && self.frame().is_some()
    }

    /// Whether there is a recording to look into.
    #[must_use]
    pub fn has_past(&self) -> bool {
        self.tape.past != Past::None
    }

    /// What is to be said of the place in the recording, where there is anything.
    #[must_use]
    pub fn remark(&self, t: Catalogue) -> Option<Cow<'static, str>> {
        Some(match &self.frame()?.remark {
            Remark::Nothing => return None,
            Remark::Begin => t.chrome_remark_begin(),
            Remark::End if self.is_past() => t.chrome_remark_end_live(),
            Remark::End => t.chrome_remark_end(),
            Remark::Gap(from, to) => {
                let when = |at: &Timestamp| at.to_zoned_datetime(self.zone.clone());
                let (begin, end) = (when(from), when(to));
                let form = if begin.date() == end.date() {
                    "%H:%M:%S"
                } else {
                    "%F %H:%M:%S"
                };
                let seconds = to.duration_since(*from).as_secs_f64();
                t.chrome_remark_gap(
                    begin.strftime(form),
                    end.strftime(form),
                    format_span(seconds),
                )
            }
            Remark::NoEvent(true) => t.chrome_remark_no_event_after(),
            Remark::NoEvent(false) => t.chrome_remark_no_event_before(),
            Remark::Damaged(reason) => t.chrome_past_failed(reason),
        })
    }

    /// Whether all of a recording has been shown, and it stands at its end.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.frame()
            .is_some_and(|frame| matches!(frame.remark, Remark::End | Remark::Damaged(_)))
    }

    /// How finely the place is recorded.
    #[must_use]
    pub fn grain(&self) -> Grain {
        self.frame().map_or(Grain::Ticks, |frame| frame.grain)
    }

    /// Whether the recording stands still.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.tape.play.as_ref().is_some_and(|play| play.standing)
    }

    /// Seconds of a step back or forward.
    #[must_use]
    pub fn step_seconds(&self) -> f64 {
        STEPS.get(self.tape.step).copied().unwrap_or(60.0)
    }

    /// Changes how far a step goes.
    pub(super) fn resize_step(&mut self, larger: bool) {
        let step = self.tape.step;
        let next = if larger {
            step + 1
        } else {
            step.saturating_sub(1)
        };
        self.tape.step = next.min(STEPS.len() - 1);
    }

    /// What a key asks of the recording.
    pub(super) fn travel(&mut self, action: Action, t: Catalogue) -> Option<Effect> {
        if !self.has_past() {
            self.notify(t.chrome_no_past().into_owned());
            return None;
        }
        let step = self.step_seconds();
        let order = match action {
            Action::StepBack => Order::Shift(-step),
            Action::StepForward => Order::Shift(step),
            Action::TickBack => Order::Ticks(-1),
            Action::TickForward => Order::Ticks(1),
            Action::EventBefore => Order::Event(false),
            Action::EventAfter => Order::Event(true),
            Action::Begin => Order::First,
            Action::End if self.tape.past == Past::Kept => return self.back_to_live(),
            Action::End => Order::Last,
            _ => return None,
        };
        self.ask(order)
    }

    /// Shows the charts of the selected device as its episode begins: the worst that holds, else the newest that was.
    pub(super) fn show_episode(&mut self, t: Catalogue) -> Option<Effect> {
        if !self.has_past() {
            self.notify(t.chrome_no_past().into_owned());
            return None;
        }
        let view = self.selection()?;
        let mut past = self.picture()?.past.iter().rev();
        let earlier = past.find(|episode| episode.device == view.device.id);
        let Some(begin) = view.episodes.first().or(earlier).map(|e| e.begin) else {
            self.notify(t.chrome_no_episode().into_owned());
            return None;
        };
        let effect = self.ask(Order::At(begin));
        self.update(Action::Open, t);
        effect
    }

    /// Asks the recording for a place. From live, what is relative counts from what is drawn.
    pub(super) fn ask(&mut self, order: Order) -> Option<Effect> {
        if self.tape.play.is_some() {
            // A picture that moves on its own is held where somebody looks for something.
            let moves = self.tape.past == Past::Kept;
            if let (true, Some(play)) = (moves, &mut self.tape.play) {
                play.standing = true;
            }
            return Some(Effect::Play(order));
        }
        let at = self.picture()?.at;
        let seconds = match order {
            Order::Shift(seconds) if seconds < 0.0 => Some(seconds),
            Order::Ticks(count) if count < 0 => Some(count as f64 * self.interval.as_secs_f64()),
            // After now there is nothing.
            Order::Shift(_) | Order::Ticks(_) | Order::Event(true) => return None,
            _ => None,
        };
        self.held = None;
        self.tape.play = Some(self.begin_play(true));
        let order = match seconds {
            Some(seconds) => Order::At(shifted(at, seconds)),
            None => order,
        };
        Some(Effect::Play(order))
    }

    /// Back to what is live.
    pub(super) fn back_to_live(&mut self) -> Option<Effect> {
        self.tape.play.take()?;
        self.settle();
        Some(Effect::Play(Order::Stop))
    }

    /// Holds the recording, or lets it go on.
    pub(super) fn hold(&mut self) -> Option<Effect> {
        let speed = self.speed;
        let play = self.tape.play.as_mut()?;
        play.standing = !play.standing;
        let speed = if play.standing { 0.0 } else { speed };
        Some(Effect::Play(Order::Speed(speed)))
    }

    /// The next faster or slower speed.
    pub(super) fn replay_speed(&mut self, faster: bool) -> Option<Effect> {
        let next = if faster {
            SPEEDS.iter().find(|speed| **speed > self.speed)
        } else {
            SPEEDS.iter().rev().find(|speed| **speed < self.speed)
        };
        self.speed = *next?;
        let effect = if self.is_log() {
            Effect::Speed(self.speed)
        } else {
            Effect::Play(Order::Speed(self.speed))
        };
        (!self.is_paused()).then_some(effect)
    }
}

fn shifted(at: jiff::Timestamp, seconds: f64) -> jiff::Timestamp {
    let by = jiff::SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
    at.checked_add(by).unwrap_or(at)
}
