//! State of the screen and how it changes: keys become an action, an action changes the state, the state is drawn.

mod action;
pub mod blind;
mod budget;
mod entry;
mod gap;
pub mod keymap;
mod news;
mod note;
pub mod platform;
mod play;
pub mod playback;
mod rows;
mod support;
mod tools;
mod update;
pub mod vendors;
pub mod verdicts;
#[cfg(test)]
mod verdicts_tests;
pub mod words;

pub use action::{Action, Effect};
pub use entry::Entry;
pub use gap::Gap;
pub use news::{News, Recording};
pub use play::Past;
pub use rows::Sort;
pub use support::{meter_lines, support_lines};

use crate::model::{DeviceId, DeviceView, Snapshot, Tick};
use crate::session::{Series, Session, worse};
use crate::units::Money;
use jiff::tz::TimeZone;
use nameplate_widgets::SweepWindow;
use play::Tape;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// All devices.
    #[default]
    Overview,
    /// Everything known of one device.
    Device,
    /// What holds on each device, what was before, and what it rests on.
    Verdicts,
    /// What the rental costs.
    Meter,
    /// The keys.
    Help,
    /// There is no accelerator: what was looked for and what to do.
    Nothing,
}

/// What the lower half of the meter shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeterPanel {
    /// What was wasted, by hours.
    #[default]
    Hours,
    /// What was wasted, by days.
    Days,
    /// The account of each device.
    Devices,
    /// The steps of this start, and earlier starts.
    Starts,
}

/// A picture that stands still while ticks go on.
#[derive(Debug)]
struct Held {
    snapshot: Arc<Snapshot>,
    series: BTreeMap<DeviceId, Series>,
    window: SweepWindow,
}

/// A short notice at the foot of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Ticks until it goes.
    ticks_left: u8,
}

/// The state of the screen.
pub struct App {
    session: Session,
    snapshot: Option<Arc<Snapshot>>,
    held: Option<Held>,
    view: View,
    meter_panel: MeterPanel,
    /// Where help came from.
    behind: View,
    /// Where the device view came from.
    above: View,
    selected: Option<DeviceId>,
    /// Until the user moves, the selection follows the worst device.
    follows_worst: bool,
    scroll: u16,
    interval: Duration,
    window: SweepWindow,
    notice: Option<Notice>,
    /// Simulated or recorded seconds per real second.
    speed: f64,
    /// What is shown of a recording.
    tape: Tape,
    /// The time that is being typed, and the zone that it is meant in.
    entry: Option<Entry>,
    zone: TimeZone,
    recording: Recording,
    behind_s: f64,
    /// The note that is being typed.
    note: Option<String>,
    sort: Sort,
    /// Only devices with these words stand in the table.
    filter: String,
    /// The filter is being typed.
    filtering: bool,
    /// The budget that is being typed, and the one that was set here: it outlives a session that is replaced.
    budget_entry: Option<Entry>,
    budget: Option<Option<Money>>,
}

impl App {
    /// Begins with a session that has seen nothing yet. `history` is how far charts reach back.
    #[must_use]
    pub fn new(session: Session, interval: Duration, history: Duration) -> Self {
        Self {
            session,
            snapshot: None,
            held: None,
            view: View::Overview,
            meter_panel: MeterPanel::default(),
            behind: View::Overview,
            above: View::Overview,
            selected: None,
            follows_worst: true,
            scroll: 0,
            interval,
            window: SweepWindow::new(i64::try_from(history.as_millis()).unwrap_or(i64::MAX), 0),
            notice: None,
            speed: 1.0,
            tape: Tape::default(),
            entry: None,
            zone: TimeZone::UTC,
            recording: Recording::default(),
            behind_s: 0.0,
            note: None,
            sort: Sort::default(),
            filter: String::new(),
            filtering: false,
            budget_entry: None,
            budget: None,
        }
    }

    /// Says that time runs at another speed than real time (simulation, replay).
    #[must_use]
    pub fn with_speed(mut self, speed: f64) -> Self {
        self.speed = speed;
        self
    }

    /// Takes a tick in. Call [`App::refresh`] once after the last one of a batch.
    pub fn fold(&mut self, tick: &Tick) {
        self.session.fold(tick);
    }

    /// Makes the new picture from what was folded.
    pub fn refresh(&mut self) {
        self.snapshot = self.session.snapshot().map(Arc::new);
        if let Some(snapshot) = &self.snapshot {
            let newest = i64::try_from(snapshot.mono.0 / 1_000_000).unwrap_or(i64::MAX);
            self.window = if self.window.start == 0 {
                self.first_window(newest)
            } else {
                self.window.at(newest)
            };
        }
        if let Some(notice) = &mut self.notice {
            notice.ticks_left = notice.ticks_left.saturating_sub(1);
        }
        self.notice = self.notice.take().filter(|n| n.ticks_left > 0);
        self.settle();
    }

    /// Charts begin at their left edge; where there is history already, at its end.
    fn first_window(&self, newest: i64) -> SweepWindow {
        let series = self.session.all_series().values();
        let oldest = series.filter_map(Series::oldest).min();
        let oldest = oldest.map_or(newest, |at| {
            i64::try_from(at.0 / 1_000_000).unwrap_or(newest)
        });
        if newest - oldest > self.window.span / 2 {
            SweepWindow::ending_near(self.window.span, newest)
        } else {
            SweepWindow::new(self.window.span, oldest)
        }
    }

    /// Keeps selection and view in line with what there is.
    fn settle(&mut self) {
        // What is drawn: a held picture keeps its selection, whatever has become worse since.
        let Some(snapshot) = self.drawn().cloned() else {
            return;
        };
        let rows = self.rows();
        let shown = || rows.iter().filter_map(|place| snapshot.devices.get(*place));
        let there = |id: &DeviceId| shown().any(|d| d.device.id == *id);
        if self.follows_worst || !self.selected.as_ref().is_some_and(there) {
            let worst = shown().fold(None::<&DeviceView>, |worst, d| match worst {
                Some(w) if !worse(d.word, w.word) => Some(w),
                _ => Some(d),
            });
            self.selected = worst.map(|d| d.device.id.clone());
        }
        let nothing = snapshot.devices.is_empty();
        self.view = match self.view {
            View::Overview | View::Device | View::Verdicts if nothing => View::Nothing,
            View::Nothing if !nothing => View::Overview,
            view => view,
        };
    }

    fn drawn(&self) -> Option<&Arc<Snapshot>> {
        match (self.frame(), &self.held) {
            (Some(frame), _) => Some(&frame.snapshot),
            (None, Some(held)) => Some(&held.snapshot),
            (None, None) => self.snapshot.as_ref(),
        }
    }

    /// The picture to draw: one of a recording, or the held one while paused, or the newest.
    #[must_use]
    pub fn picture(&self) -> Option<&Snapshot> {
        self.drawn().map(AsRef::as_ref)
    }

    /// The newest view, also while the picture is held.
    #[must_use]
    pub fn newest(&self) -> Option<&Snapshot> {
        self.snapshot.as_deref()
    }

    /// The series that belong to the picture.
    #[must_use]
    pub fn series(&self, device: &DeviceId) -> Option<&Series> {
        match (self.frame(), &self.held) {
            (Some(frame), _) => frame.series.get(device),
            (None, Some(held)) => held.series.get(device),
            (None, None) => self.session.series(device),
        }
    }

    /// The time window of the charts.
    #[must_use]
    pub fn window(&self) -> SweepWindow {
        match (&self.tape.play, &self.held) {
            (Some(play), _) if play.frame.is_some() => play.window,
            (_, Some(held)) => held.window,
            _ => self.window,
        }
    }

    /// The selected device in the picture.
    #[must_use]
    pub fn selection(&self) -> Option<&DeviceView> {
        let id = self.selected.as_ref()?;
        self.picture()?.devices.iter().find(|d| d.device.id == *id)
    }

    /// Places of the picture's devices, those first whose verdict counts, then the worst.
    pub fn by_verdict(&self) -> impl Iterator<Item = usize> + use<> {
        let devices = self.picture().map_or(&[][..], |picture| &picture.devices);
        let mut order: Vec<usize> = (0..devices.len()).collect();
        let of = |n: &usize| devices.get(*n);
        order.sort_by(|a, b| match (of(a), of(b)) {
            (Some(a), Some(b)) => {
                let counts = |view: &DeviceView| (view.verdict.counts, !view.episodes.is_empty());
                counts(b).cmp(&counts(a)).then_with(|| {
                    match (worse(a.word, b.word), worse(b.word, a.word)) {
                        (true, _) => std::cmp::Ordering::Less,
                        (_, true) => std::cmp::Ordering::Greater,
                        _ => std::cmp::Ordering::Equal,
                    }
                })
            }
            _ => std::cmp::Ordering::Equal,
        });
        order.into_iter()
    }

    /// Position of the selected device.
    #[must_use]
    pub fn selected_index(&self) -> Option<usize> {
        let id = self.selected.as_ref()?;
        self.picture()?
            .devices
            .iter()
            .position(|d| d.device.id == *id)
    }

    /// What fills the screen.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// What the lower half of the meter shows.
    #[must_use]
    pub fn meter_panel(&self) -> MeterPanel {
        self.meter_panel
    }

    /// Lines scrolled in the device view and the help.
    #[must_use]
    pub fn scroll(&self) -> u16 {
        self.scroll
    }

    /// The view could not scroll so far: this is where it stands.
    pub fn clamp_scroll(&mut self, most: u16) {
        self.scroll = self.scroll.min(most);
    }

    /// Whether the picture is held.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.held.is_some() || self.stands()
    }

    /// The interval that was asked for; where ticks come from a recording, the one that it is made with.
    #[must_use]
    pub fn interval(&self) -> Duration {
        let read = self.is_log() || matches!(self.recording, Recording::Other(_));
        match self.picture() {
            Some(picture) if read || self.frame().is_some() => picture.interval,
            _ => self.interval,
        }
    }

    /// Simulated or recorded seconds per real second.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// The notice at the foot, where there is one.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_ref().map(|n| n.text.as_str())
    }

    /// Shows a notice for some ticks.
    pub fn notify(&mut self, text: String) {
        self.notice = Some(Notice {
            text,
            ticks_left: 5,
        });
    }
}
