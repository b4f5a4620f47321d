//! The simulation as a source: history at once, then at the pace of real time.

use super::{Simulation, later};
use crate::model::{Control, Feed, FeedHandle, Sink};
use jiff::Timestamp;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest simulated time between ticks when time runs faster: a chart keeps its shape.
const COARSEST_S: f64 = 60.0;
/// Behind by more than this (a suspended terminal), lost real time is let go.
const BEHIND: Duration = Duration::from_secs(2);
const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=100_000.0;

impl Feed for Simulation {
    /// Dates the simulation: in real time, its history ends now; where time runs faster, the whole case does.
    fn start(self: Box<Self>, sink: Sink) -> std::io::Result<FeedHandle> {
        let before = if self.speed > 1.0 {
            self.case.seconds
        } else {
            self.machine.timing.live
        };
        let simulation = self.beginning_at(later(Timestamp::now(), -before));
        let (control, orders) = channel();
        std::thread::Builder::new()
            .name("simulation".to_owned())
            .spawn(move || run(simulation, sink, &orders))?;
        Ok(FeedHandle { control })
    }
}

fn run(mut simulation: Simulation, mut sink: Sink, orders: &Receiver<Control>) {
    while simulation.next_second().0 <= simulation.machine.timing.live {
        if !sink(simulation.tick()) {
            return;
        }
    }
    let mut due = Instant::now();
    loop {
        due += simulation.real_interval();
        if due.elapsed() > BEHIND {
            due = Instant::now();
        }
        loop {
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => {
                    simulation.obey(order);
                    due = due.min(Instant::now() + simulation.real_interval());
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        if !sink(simulation.tick()) {
            return;
        }
    }
}

impl Simulation {
    /// Real time between ticks.
    fn real_interval(&self) -> Duration {
        Duration::try_from_secs_f64(self.machine.timing.interval_s / self.speed).unwrap_or(BEHIND)
    }

    /// Does what the user asks for.
    pub(super) fn obey(&mut self, order: Control) {
        match order {
            Control::Interval(interval) => self.pace(interval.as_secs_f64(), self.speed),
            Control::Speed(speed) if SPEEDS.contains(&speed) => {
                let real = self.machine.timing.interval_s / self.speed;
                self.pace(real, speed);
            }
            Control::Mark(text) => self.machine.marks.push(text),
            Control::Speed(_) | Control::Stop => {}
        }
    }

    /// So many real seconds between ticks at this speed, but never more than a minute of simulated ones.
    fn pace(&mut self, real_s: f64, speed: f64) {
        let real_s = real_s.clamp(0.1, 60.0);
        self.speed = speed;
        self.machine.timing.interval_s = (real_s * speed).min(real_s.max(COARSEST_S)).max(0.01);
    }
}
