//! What an action does to the state.

use super::{Action, App, Effect, Held, MeterPanel, Recording, View, meter_lines, support_lines};
use crate::text::Catalogue;
use std::time::Duration;

/// Intervals to choose from, in milliseconds; the contract allows 0.1 s to 60 s.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/// Devices or lines of a page.
const PAGE: isize = 10;

impl App {
    /// Does what was asked for; what lies outside the state comes back as an effect.
    pub fn update(&mut self, action: Action, t: Catalogue) -> Option<Effect> {
        match action {
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.step(-PAGE),
            Action::PageDown => self.step(PAGE),
            Action::First => self.step(isize::MIN),
            Action::Last => self.step(isize::MAX),
            Action::Open => {
                self.above = self.view;
                self.open(View::Device);
            }
            Action::Verdicts => self.open(View::Verdicts),
            Action::Meter if self.view == View::Meter => self.back(),
            Action::Meter => self.open(View::Meter),
            Action::MeterHours if self.meter_panel == MeterPanel::Hours => {
                self.meter_panel = MeterPanel::Days;
            }
            Action::MeterHours => self.meter_panel = MeterPanel::Hours,
            Action::MeterDevices => self.meter_panel = MeterPanel::Devices,
            Action::MeterStarts => self.meter_panel = MeterPanel::Starts,
            Action::MeterBudget => self.begin_budget(t),
            Action::Back => self.back(),
            Action::Help if self.view == View::Help => self.back(),
            Action::Help => {
                self.behind = self.view;
                self.open(View::Help);
            }
            Action::Pause if self.tape.play.is_some() => return self.hold(),
            Action::Pause => {
                self.pause();
                // A log waits; a live source does not.
                let speed = if self.is_paused() { 0.0 } else { self.speed };
                return self.is_log().then_some(Effect::Speed(speed));
            }
            Action::Faster if self.has_speed() => return self.replay_speed(true),
            Action::Slower if self.has_speed() => return self.replay_speed(false),
            Action::Faster => return self.pace(false, t),
            Action::Slower => return self.pace(true, t),
            Action::Copy => return self.copy(t),
            Action::Mark => self.begin_note(t),
            Action::Sort => self.sort_otherwise(t),
            Action::Filter => self.begin_filter(),
            Action::StepShorter => self.resize_step(false),
            Action::StepLonger => self.resize_step(true),
            Action::StepBack
            | Action::StepForward
            | Action::TickBack
            | Action::TickForward
            | Action::EventBefore
            | Action::EventAfter
            | Action::Begin
            | Action::End => return self.travel(action, t),
            Action::EpisodeBegin => return self.show_episode(t),
            Action::GoTo => self.begin_entry(t),
            Action::Demo => return Some(Effect::Demo),
            Action::Retry => return Some(Effect::Retry),
            Action::Redraw => return Some(Effect::Redraw),
            Action::Suspend => return Some(Effect::Suspend),
            Action::Quit => return Some(Effect::Quit),
        }
        None
    }

    fn open(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
    }

    fn back(&mut self) {
        let to = match self.view {
            View::Help => self.behind,
            View::Device => self.above,
            _ => View::Overview,
        };
        self.open(to);
        self.settle();
    }

    fn step(&mut self, by: isize) {
        let pages = self.view == View::Verdicts && by.unsigned_abs() != 1;
        if pages || !matches!(self.view, View::Overview | View::Verdicts) {
            self.scroll = u16::try_from(
                isize::from(self.scroll as i16)
                    .saturating_add(by)
                    .clamp(0, i16::MAX as isize),
            )
            .unwrap_or(0);
            return;
        }
        // The verdicts stand in an order of their own.
        let order: Vec<usize> = match self.view {
            View::Verdicts => self.by_verdict().collect(),
            _ => self.rows(),
        };
        let count = order.len();
        if count == 0 {
            return;
        }
        let selected = self.selected_index();
        let now = order.iter().position(|n| Some(*n) == selected).unwrap_or(0);
        let next = isize::try_from(now)
            .unwrap_or(0)
            .saturating_add(by)
            .clamp(0, count as isize - 1) as usize;
        self.follows_worst = false;
        self.scroll = 0;
        let place = order.get(next).copied().unwrap_or(next);
        self.selected = self
            .picture()
            .and_then(|p| p.devices.get(place))
            .map(|d| d.device.id.clone());
    }

    fn pause(&mut self) {
        self.held = match (self.held.take(), &self.snapshot) {
            (None, Some(snapshot)) => Some(Held {
                snapshot: snapshot.clone(),
                series: self.session.all_series().clone(),
                window: self.window,
            }),
            _ => None,
        };
        self.settle();
    }

    fn pace(&mut self, slower: bool, t: Catalogue) -> Option<Effect> {
        if let Recording::Other(pid) = self.recording {
            let seconds = self.interval().as_secs_f64();
            self.notify(t.chrome_recorder_interval(pid, seconds).into_owned());
            return None;
        }
        let now = u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX);
        let next = if slower {
            INTERVALS_MS.iter().find(|ms| **ms > now)
        } else {
            INTERVALS_MS.iter().rev().find(|ms| **ms < now)
        };
        self.interval = Duration::from_millis(*next?);
        Some(Effect::Interval(self.interval))
    }

    fn copy(&mut self, t: Catalogue) -> Option<Effect> {
        let lines = match self.view {
            View::Meter => meter_lines(self.picture()?)?,
            _ => support_lines(self.picture()?, self.selection()?),
        };
        self.notify(t.chrome_copied(lines.lines().count()).into_owned());
        Some(Effect::Copy(lines))
    }
}
