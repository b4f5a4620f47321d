//! The running program without its terminal: state, look, keys through the real keymap, frames as text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nameplate::app::keymap::Key;
use nameplate::app::{App, Effect};
use nameplate::model::{
    BoardId, Change, Config, DeviceId, Price, PriceScope, PriceSource, Sample, SourceKind, Tick,
};
use nameplate::model::{Device, Plates};
use nameplate::session::{Session, Start};
use nameplate::simulate::{Simulation, cases};
use nameplate::text::{Catalogue, Lang};
use nameplate::ui::glyphs::Charset;
use nameplate::ui::theme::{Depth, Role, Theme};
use nameplate::ui::{Look, views};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rust_decimal::Decimal;
use std::sync::Arc;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// Second 0 of every simulation here.
pub(crate) const BEGAN: Timestamp = Timestamp::constant(1_772_442_000, 0);
const SEED: u64 = 1;

pub(crate) fn look() -> Look {
    looking("dark", Charset::Unicode, Lang::En)
}

pub(crate) fn looking(theme: &str, charset: Charset, lang: Lang) -> Look {
    let depth = if charset.is_ascii() {
        Depth::None
    } else {
        Depth::Truecolor
    };
    Look {
        theme: Theme::load(theme, None, depth).unwrap(),
        charset,
        text: Catalogue::new(lang.for_terminal(charset.is_ascii())),
        zone: TimeZone::UTC,
    }
}

/// An app over ticks.
pub(crate) struct Stage {
    pub(crate) app: App,
    pub(crate) look: Look,
    simulation: Option<Simulation>,
    /// Each simulated device stands so many times.
    copies: u32,
}

impl Stage {
    /// A case with all that has been before the screen opens.
    pub(crate) fn of(case: &str) -> Self {
        Self::many(case, 1)
    }

    /// A case whose devices stand `copies` times, with all that has been before the screen opens.
    pub(crate) fn many(case: &str, copies: u32) -> Self {
        let mut stage = Self::begun(case, copies);
        stage.catch_up();
        stage
    }

    /// Takes in all that has been before the screen opens.
    pub(crate) fn catch_up(&mut self) {
        let live = self.simulation.as_ref().unwrap().history_seconds();
        loop {
            let tick = self.fold();
            if tick.at.duration_since(BEGAN).as_secs_f64() >= live {
                break;
            }
        }
        self.app.refresh();
    }

    /// A case that has only begun.
    pub(crate) fn begun(case: &str, copies: u32) -> Self {
        Self::with_config(case, copies, Self::config(case))
    }

    /// What a case is folded with.
    pub(crate) fn config(case: &str) -> Config {
        let about = cases().iter().find(|c| c.name == case).unwrap();
        Config {
            history: about.history,
            price: Some(Price {
                per_hour: Decimal::new(299, 2),
                scope: PriceScope::Device,
                source: PriceSource::Config,
            }),
            ..Config::default()
        }
    }

    /// A case without a price, with all that has been before the screen opens.
    pub(crate) fn unpriced(case: &str) -> Self {
        let config = Config {
            price: None,
            ..Self::config(case)
        };
        let mut stage = Self::with_config(case, 1, config);
        stage.catch_up();
        stage
    }

    fn with_config(case: &str, copies: u32, config: Config) -> Self {
        let about = cases().iter().find(|c| c.name == case).unwrap();
        let simulation = Simulation::case(case, SEED).unwrap().beginning_at(BEGAN);
        let mut stage = Self::empty(SourceKind::Demo(case.to_owned()), config);
        stage.app = stage.app.with_speed(about.speed);
        stage.simulation = Some(simulation);
        stage.copies = copies;
        stage
    }

    /// An app that has seen nothing.
    pub(crate) fn empty(source: SourceKind, config: Config) -> Self {
        let history = config.history;
        let session = Session::new(
            Start::new(config),
            Arc::new(Plates::embedded().unwrap()),
            source,
        );
        Self {
            app: App::new(session, Duration::from_secs(1), history),
            look: look(),
            simulation: None,
            copies: 1,
        }
    }

    /// Shown as a live source is: no price, no banner.
    pub(crate) fn live(ticks: &[Tick]) -> Self {
        let mut stage = Self::empty(SourceKind::Live, Config::default());
        for tick in ticks {
            stage.app.fold(tick);
        }
        stage.app.refresh();
        stage
    }

    pub(crate) fn with(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// The simulation's next tick, not taken in yet.
    pub(crate) fn next(&mut self) -> Tick {
        multiplied(self.simulation.as_mut().unwrap().tick(), self.copies)
    }

    /// Takes the next tick in with one more change, and its picture.
    pub(crate) fn tick_with(&mut self, change: Change) {
        let mut tick = self.next();
        tick.changes.push(change);
        self.app.fold(&tick);
        self.app.refresh();
    }

    fn fold(&mut self) -> Tick {
        let tick = self.next();
        self.app.fold(&tick);
        tick
    }

    /// Takes so many more ticks in, each with its picture.
    pub(crate) fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.fold();
            self.app.refresh();
        }
    }

    /// A key through the keymap.
    pub(crate) fn press(&mut self, key: Key) -> Option<Effect> {
        self.app.press(key, self.look.text)
    }

    pub(crate) fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let area = buffer.area;
        views::draw(&mut self.app, &self.look, area, &mut buffer);
        buffer
    }

    /// The frame as text.
    pub(crate) fn text(&mut self, width: u16, height: u16) -> String {
        lines(&self.draw(width, height)).join("\n")
    }

    /// The foreground of a role.
    pub(crate) fn colour(&self, role: Role) -> Option<ratatui::style::Color> {
        self.look.theme.style(role).fg
    }
}

/// A frame's lines, without blanks at their ends.
pub(crate) fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|y| {
            let mut line = String::new();
            let mut x = area.left();
            while x < area.right() {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(symbol.width().max(1)).unwrap();
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// The same tick of a host with `copies` times the devices.
fn multiplied(mut tick: Tick, copies: u32) -> Tick {
    if copies == 1 {
        return tick;
    }
    let count = u32::try_from(tick.samples.len()).unwrap();
    let id = |id: &DeviceId, copy: u32| DeviceId(Arc::from(format!("{id}-{copy}")));
    let changes = std::mem::take(&mut tick.changes);
    for change in changes {
        for copy in 0..copies {
            tick.changes.push(match &change {
                Change::Device(device) => Change::Device(Arc::new(Device {
                    id: id(&device.id, copy),
                    board: BoardId(id(&device.id, copy).0),
                    index: device.index + copy * count,
                    ..Device::clone(device)
                })),
                Change::Path(of, hops) => Change::Path(id(of, copy), hops.clone()),
                Change::Processes(of, list) => Change::Processes(id(of, copy), list.clone()),
                other if copy == 0 => other.clone(),
                _ => continue,
            });
        }
    }
    let samples = std::mem::take(&mut tick.samples);
    for copy in 0..copies {
        tick.samples.extend(samples.iter().map(|sample| Sample {
            device: id(&sample.device, copy),
            ..sample.clone()
        }));
    }
    tick
}
