//! What a running source tells the screen, in the order in which it happened.

use super::App;
use crate::model::Tick;
use crate::session::{Session, Start};
use nameplate_widgets::SweepWindow;

/// One thing that a source tells.
#[allow(
    clippy::large_enum_variant,
    reason = "ticks are nearly all of them, and are moved once"
)]
pub enum News {
    /// An instant, to be folded.
    Tick(Tick),
    /// A session that was folded elsewhere takes the place of the screen's own.
    Session(Box<Session>),
    /// The screen's session goes on from here: this says more than the ticks before it.
    Start(Box<Start>),
    /// Who records what is shown.
    Recording(Recording),
    /// The newest tick is so many seconds old.
    Behind(f64),
    /// A line for the foot of the screen.
    Notice(String),
    /// Several things that make one picture.
    All(Vec<News>),
}

/// Who records what is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Recording {
    /// Nobody (demo, replay, `--no-record`).
    #[default]
    Nobody,
    /// This program.
    Own,
    /// Another process of this number, whose file is read.
    Other(u32),
    /// This program, but the file takes nothing at present, for this reason.
    Paused(String),
    /// This program cannot, for this reason.
    Failed(String),
}

impl App {
    /// Takes in what a source tells. Call [`App::refresh`] once after the last of a batch.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Tick(tick) => self.fold(&tick),
            News::Session(session) => {
                self.session = *session;
                self.keep_budget();
                // The charts begin where the new session's history says.
                self.window = SweepWindow::new(self.window.span, 0);
            }
            News::Start(start) => {
                self.session.take_up(*start);
                self.keep_budget();
            }
            News::Recording(recording) => self.recording = recording,
            News::Behind(seconds) => self.behind_s = seconds.max(0.0),
            News::Notice(text) => self.notify(text),
            News::All(all) => all.into_iter().for_each(|news| self.hear(news)),
        }
    }

    /// Who records what is shown.
    #[must_use]
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Seconds that the newest tick is old, beside the age that its samples had then.
    #[must_use]
    pub const fn behind_s(&self) -> f64 {
        self.behind_s
    }
}
