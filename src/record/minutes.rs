//! The plain table: a row for each device and minute, for `sqlite3` and for what outlives the blocks.

use super::schema::guarded;
use crate::model::{DeviceId, Figure, MinutePoint, Phase, PhaseSeconds};
use crate::units::MonoTime;
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeMap;

/// Sum and count, for a mean.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn take(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

const MEANS: [Figure; 8] = [
    Figure::Power,
    Figure::Utilization,
    Figure::Work,
    Figure::Clock,
    Figure::PcieRx,
    Figure::PcieTx,
    Figure::NvlinkRx,
    Figure::NvlinkTx,
];

/// One device in one minute.
#[derive(Debug, Clone)]
struct Row {
    samples: u32,
    means: [Mean; MEANS.len()],
    power_max: Option<f64>,
    temperature_max: Option<f64>,
    headroom_min: Option<f64>,
    memory_max: Option<f64>,
    energy: Option<(f64, f64)>,
    phases_before: PhaseSeconds,
    phases: PhaseSeconds,
}

impl Row {
    fn new(point: &MinutePoint<'_>) -> Self {
        Self {
            samples: 0,
            means: [Mean::default(); MEANS.len()],
            power_max: None,
            temperature_max: None,
            headroom_min: None,
            memory_max: None,
            energy: None,
            phases_before: point.phase_seconds,
            phases: point.phase_seconds,
        }
    }

    fn take(&mut self, point: &MinutePoint<'_>) {
        self.phases = point.phase_seconds;
        // A value that is held over from an earlier tick is no new sample.
        let fresh = |figure| {
            let value = point.figures.get(figure);
            value.ok().filter(|_| value.age_s == 0.0 && point.answers)
        };
        for (mean, figure) in self.means.iter_mut().zip(MEANS) {
            mean.take(fresh(figure));
        }
        let most = |slot: &mut Option<f64>, value: Option<f64>| {
            *slot = slot.map_or(value, |s| Some(value.map_or(s, |v| s.max(v))));
        };
        most(&mut self.power_max, fresh(Figure::Power));
        most(&mut self.temperature_max, fresh(Figure::Temperature));
        most(&mut self.memory_max, fresh(Figure::MemoryUsed));
        if let Some(headroom) = fresh(Figure::Headroom) {
            self.headroom_min = Some(self.headroom_min.map_or(headroom, |h| h.min(headroom)));
        }
        if let Some(energy) = fresh(Figure::Energy) {
            self.energy = Some((self.energy.map_or(energy, |(first, _)| first), energy));
        }
        if point.answers && point.sampled {
            self.samples += 1;
        }
    }

    fn phase(&self, phase: Phase) -> f64 {
        (self.phases.get(phase) - self.phases_before.get(phase)).max(0.0)
    }
}

/// Gathers a minute, and gives its rows.
#[derive(Debug, Default)]
pub(super) struct Minutes {
    /// Where the minute began: a whole one, but for the first of a run.
    began: Option<Timestamp>,
    /// Under which time its rows stand, once they were written.
    named: Option<Timestamp>,
    /// First and newest instant on the boot clock, which no jump of the wall clock moves.
    span: Option<(MonoTime, MonoTime)>,
    rows: BTreeMap<DeviceId, Row>,
    changed: bool,
}

impl Minutes {
    /// Whether this instant begins another minute than the one gathered: what was gathered is to be written first.
    pub(super) fn is_over(&self, at: Timestamp) -> bool {
        self.began
            .is_some_and(|began| at.as_second().div_euclid(60) != began.as_second().div_euclid(60))
    }

    /// Begins the minute of this instant.
    pub(super) fn turn(&mut self, at: Timestamp) {
        if !self.is_over(at) {
            return;
        }
        // A clock that was set begins a minute where it was set to.
        let whole = at.as_second().div_euclid(60) * 60;
        let follows = self
            .began
            .is_some_and(|began| whole - began.as_second() <= 60 && whole > began.as_second());
        let begin = if follows { whole } else { at.as_second() };
        self.began = Timestamp::from_second(begin).ok();
        self.named = None;
        self.span = self.span.map(|(_, newest)| (newest, newest));
        for row in self.rows.values_mut() {
            *row = Row {
                samples: 0,
                means: Default::default(),
                power_max: None,
                temperature_max: None,
                headroom_min: None,
                memory_max: None,
                energy: row.energy.map(|(_, last)| (last, last)),
                phases_before: row.phases,
                phases: row.phases,
            };
        }
    }

    /// Takes what the session made of a tick at this time.
    pub(super) fn take(&mut self, at: Timestamp, mono: MonoTime, points: &[MinutePoint<'_>]) {
        let whole = Timestamp::from_second(at.as_second()).ok();
        self.began = self.began.or(whole);
        let first = self.span.map_or(mono, |(first, _)| first);
        self.span = Some((first.min(mono), mono));
        self.changed = true;
        for point in points {
            match self.rows.get_mut(point.device) {
                Some(row) => row.take(point),
                None => {
                    let mut row = Row::new(point);
                    row.take(point);
                    self.rows.insert(point.device.clone(), row);
                }
            }
        }
        // Devices that are listed no more go, with what was gathered of them.
        if self.rows.len() > points.len() {
            let listed = |id: &DeviceId| points.iter().any(|point| point.device == id);
            self.rows.retain(|id, row| row.samples > 0 || listed(id));
        }
    }

    /// Writes the rows as they stand; they may be written again until the minute is over.
    pub(super) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let (Some(began), true) = (self.began, self.changed) else {
            return Ok(());
        };
        let named = match self.named {
            Some(named) => named,
            None => free_name(db, began)?,
        };
        self.named = Some(named);
        let at = name(named);
        let seconds = self
            .span
            .map_or(0.0, |(first, newest)| newest.seconds_since(first).max(0.0));
        let mut insert = db.prepare_cached(
            "INSERT OR REPLACE INTO minutes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
             ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
        )?;
        for (id, row) in &self.rows {
            let [
                power,
                utilization,
                work,
                clock,
                pcie_rx,
                pcie_tx,
                nvlink_rx,
                nvlink_tx,
            ] = row.means.map(Mean::get);
            let io_wait = row.phases.io_wait.map(|_| row.phase(Phase::IoWait));
            let number = |value: Option<f64>| value.map_or(Value::Null, Value::Real);
            let columns = vec![
                Value::Text(at.clone()),
                Value::Text(id.0.to_string()),
                Value::Real(seconds),
                Value::Integer(row.samples.into()),
                number(round(power, 3)),
                number(round(row.power_max, 3)),
                number(round(
                    row.energy
                        .map(|(first, last)| last - first)
                        .filter(|e| *e >= 0.0),
                    3,
                )),
                number(row.temperature_max),
                number(row.headroom_min),
                number(round(utilization, 6)),
                number(round(work, 6)),
                row.memory_max
                    .map_or(Value::Null, |bytes| Value::Integer(bytes as i64)),
                number(round(clock, 1)),
                number(round(pcie_rx, 0)),
                number(round(pcie_tx, 0)),
                number(round(nvlink_rx, 0)),
                number(round(nvlink_tx, 0)),
                number(round(Some(row.phase(Phase::Compute)), 3)),
                number(round(io_wait, 3)),
                number(round(Some(row.phase(Phase::Queue)), 3)),
                number(round(Some(row.phase(Phase::Idle)), 3)),
                number(round(Some(row.phase(Phase::Unobserved)), 3)),
            ];
            insert.execute(params_from_iter(guarded(columns)))?;
        }
        Ok(())
    }

    /// What was gathered so far is in the file.
    pub(super) fn written(&mut self) {
        self.changed = false;
    }
}

/// The first time from this one on, in steps of a millisecond, under which no rows stand: a clock that was set back
/// comes by the same minute twice, and both are kept.
fn free_name(db: &Connection, began: Timestamp) -> rusqlite::Result<Timestamp> {
    let mut query = db.prepare_cached("SELECT 1 FROM minutes WHERE at = ?1 LIMIT 1")?;
    let mut named = began;
    for _ in 0..1000 {
        if !query.exists([name(named)])? {
            break;
        }
        named = named
            .checked_add(jiff::SignedDuration::from_millis(1))
            .unwrap_or(began);
    }
    Ok(named)
}

fn name(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 {
        format!("{at:.0}")
    } else {
        format!("{at:.3}")
    }
}

fn round(value: Option<f64>, decimals: i32) -> Option<f64> {
    let scale = 10_f64.powi(decimals);
    value.map(|v| (v * scale).round() / scale)
}
