//! What a device needs for each kind of work, learned from its own past, and whether it needs less now.
//!
//! Kind of work: a band of ten points of utilization, the owners' programs with their arguments, a band of memory, the
//! limit. Seconds become medians of minutes, minutes medians of quarters of an hour (facts, section 9).

use super::front::REST;
use super::proof::Limits;
use super::seen::Seen;
use super::window::{Ring, Run, median};
use crate::model::Threshold as T;
use crate::units::MonoTime;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Kinds of work kept of a device.
const KINDS: usize = 8;
const MINUTE_S: f64 = 60.0;
/// Values of one minute kept for its median.
const SECONDS: usize = 60;
const QUARTER: usize = 15;
const HOUR: usize = 60;
/// Minutes of the hour that there must be.
const HOUR_LEAST: usize = 45;
/// Quarters that the reference is learned from: four hours; of each hour the median, and of those the best, so that a
/// device that falls from the first minute on is held against its first hour.
const LEARNED_QUARTERS: u16 = 16;
const QUARTERS_OF_HOUR: usize = 4;
/// A fall is over above this share of the reference.
const RECOVERED: f64 = 0.975;
/// Reasons that slow clocks have risen by this share of the time.
const REASONS_ROSE: f64 = 0.10;

/// All that was learned of one device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Baselines {
    minute: Minute,
    kinds: Vec<Kind>,
    /// The kind of work of the last whole minute.
    current: Option<Key>,
    /// Counts minutes, to know which kind was used last.
    turn: u32,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Minute {
    begun: Option<MonoTime>,
    power: Ring,
    clock: Run,
    utilization: Run,
    reasons: Run,
    memory: f64,
    seconds: f64,
    key: u64,
    limit: f64,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Key {
    /// Utilization in tens of points.
    band: u8,
    work: u64,
    /// Memory in eighths of all of it.
    memory: u8,
    limit_w: u16,
}

/// What one kind of work needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kind {
    key: Key,
    /// When it was used last.
    turn: u32,
    quarter: Ring,
    quarter_clock: Run,
    /// Medians of the quarters of the hour that is being learned.
    learning: Ring,
    learning_clock: Run,
    learned: u16,
    /// All quarters that were learned from, for their noise.
    spread: Ring,
    /// Watts and megahertz of this work as the device did it at first.
    power: Option<f64>,
    clock: Option<f64>,
    reasons: Run,
    utilization: Run,
    /// The last hour, in minutes.
    hour: Ring,
    hour_clock: Ring,
    hour_reasons: Ring,
    hour_utilization: Ring,
    /// What they come to, as of the last whole minute.
    hour_power: Option<f64>,
    hour_clock_mean: Option<f64>,
    hour_reasons_mean: Option<f64>,
    hour_utilization_mean: Option<f64>,
    /// Median absolute deviation of the quarters that were learned from.
    noise: Option<f64>,
    /// CUSUM over quarters, in watts, and since when it is not 0.
    sum_w: f64,
    sum_since: Option<Timestamp>,
    fallen: bool,
}

/// How a fall was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fall {
    /// The sum of small falls.
    Sum,
    /// A whole hour under the threshold.
    Hour,
}

/// The device against its own reference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drift {
    pub(crate) fall: Option<Fall>,
    /// Power over reference, of the last hour.
    pub(crate) power: f64,
    pub(crate) clock: Option<f64>,
    pub(crate) clock_fell: bool,
    pub(crate) reasons: Option<f64>,
    pub(crate) reasons_before: f64,
    pub(crate) reasons_rose: bool,
    pub(crate) utilization: f64,
    pub(crate) utilization_before: f64,
    pub(crate) noisy: bool,
    pub(crate) since_s: f64,
    pub(crate) sum_w: f64,
    pub(crate) decision_w: f64,
}

impl Baselines {
    /// Takes a look in.
    pub(crate) fn take(
        &mut self,
        seen: &Seen<'_>,
        warm: bool,
        reasons: Option<f64>,
        limits: &Limits,
    ) {
        let (Some(power), Some(utilization)) = (seen.power_w, seen.utilization) else {
            return;
        };
        if utilization < REST || warm {
            return;
        }
        if self.minute.take(seen, power, utilization, reasons)
            && let Some(key) = self.minute.key_of(seen, self.current)
        {
            self.turn = self.turn.wrapping_add(1);
            let minute = std::mem::take(&mut self.minute);
            let same = self.current == Some(key);
            self.current = Some(key);
            let turn = self.turn;
            if let Some(kind) = self.kind(key) {
                kind.turn = turn;
                if same {
                    kind.minute(&minute, seen.at, limits);
                }
            }
            self.minute = minute.emptied(seen.now);
        }
    }

    fn kind(&mut self, key: Key) -> Option<&mut Kind> {
        let index = match self.kinds.iter().position(|k| k.key == key) {
            Some(index) => index,
            None if self.kinds.len() < KINDS => {
                self.kinds.push(Kind::new(key));
                self.kinds.len() - 1
            }
            None => {
                // The kind that was not used for longest makes room.
                let turn = self.turn;
                let oldest = (self.kinds.iter().enumerate())
                    .max_by_key(|(_, k)| turn.wrapping_sub(k.turn))
                    .map_or(0, |(index, _)| index);
                if let Some(kind) = self.kinds.get_mut(oldest) {
                    *kind = Kind::new(key);
                }
                oldest
            }
        };
        self.kinds.get_mut(index)
    }

    fn now(&self) -> Option<&Kind> {
        let key = self.current?;
        self.kinds.iter().find(|k| k.key == key)
    }

    /// The clock at which the current work was done at first.
    pub(crate) fn clock(&self, _: &Seen<'_>) -> Option<f64> {
        self.now()?.reference_clock()
    }

    /// Power of the last hour over the reference, for the peers.
    pub(crate) fn of_reference(&self) -> Option<f64> {
        let kind = self.now()?;
        let reference = kind.power?;
        (kind.hour.len() >= QUARTER).then(|| kind.hour.median().map(|now| now / reference))?
    }

    /// The device against its own past, where there is a reference.
    pub(crate) fn drift(&self, at: Timestamp, limits: &Limits) -> Option<Drift> {
        let kind = self.now()?;
        let reference = kind.power.filter(|p| *p > 0.0)?;
        let power = kind.hour_power? / reference;
        let clock = kind
            .clock
            .zip(kind.hour_clock_mean)
            .map(|(before, now)| now / before);
        let decision_w = limits.value(T::DriftDecision) * reference;
        let fall = match () {
            () if kind.fallen => Some(Fall::Hour),
            () if kind.sum_w >= decision_w => Some(Fall::Sum),
            () => None,
        };
        let reasons_before = kind.reasons.mean();
        let reasons = kind.hour_reasons_mean;
        let noise = limits.value(T::DriftNoise);
        Some(Drift {
            fall,
            power,
            clock,
            clock_fell: clock.is_some_and(|c| c < limits.value(T::DriftClock)),
            reasons,
            reasons_before,
            reasons_rose: kind.reasons.count() > 0
                && reasons.is_some_and(|now| now > reasons_before + REASONS_ROSE),
            utilization: kind.hour_utilization_mean.unwrap_or(0.0),
            utilization_before: kind.utilization.mean(),
            noisy: kind.noise.is_some_and(|mad| mad > noise * reference),
            since_s: kind
                .sum_since
                .map_or(0.0, |since| at.duration_since(since).as_secs_f64().max(0.0)),
            sum_w: kind.sum_w,
            decision_w,
        })
    }
}

impl Minute {
    /// Takes a look in; `true` where the minute is whole.
    fn take(
        &mut self,
        seen: &Seen<'_>,
        power: f64,
        utilization: f64,
        reasons: Option<f64>,
    ) -> bool {
        let begun = *self.begun.get_or_insert(seen.now);
        let limit = seen.limit_w.unwrap_or(0.0);
        // Two kinds of work in one minute are none.
        if self.seconds > 0.0 && (self.key != seen.owners.key || self.limit != limit) {
            let power = std::mem::take(&mut self.power);
            *self = Self {
                begun: Some(seen.now),
                power,
                ..Self::default()
            };
            self.power.clear();
        }
        (self.key, self.limit) = (seen.owners.key, limit);
        self.power.push(power, SECONDS);
        self.utilization.take(utilization);
        if let Some(clock) = seen.clock_mhz {
            self.clock.take(clock);
        }
        if let Some(reasons) = reasons {
            self.reasons.take(reasons);
        }
        self.memory = match (seen.memory_used, seen.memory_total.filter(|t| *t > 0.0)) {
            (Some(used), Some(total)) => used / total,
            _ => 0.0,
        };
        self.seconds += seen.dt;
        let passed = seen.now.seconds_since(self.begun.unwrap_or(begun));
        passed + 0.5 * seen.interval_s >= MINUTE_S
    }

    /// The kind of work of a whole minute; `None` where half of it was not seen. Near the edge of a band the kind stays.
    fn key_of(&self, seen: &Seen<'_>, current: Option<Key>) -> Option<Key> {
        if self.seconds < 0.5 * MINUTE_S {
            return None;
        }
        let band = self.utilization.mean() * 10.0;
        let memory = self.memory * 8.0;
        let near =
            |value: f64, band: u8| (f64::from(band) - 0.5..f64::from(band) + 1.5).contains(&value);
        let key = Key {
            band: band.clamp(0.0, 20.0) as u8,
            work: seen.owners.key,
            memory: memory.clamp(0.0, 8.0) as u8,
            limit_w: self.limit.clamp(0.0, 60_000.0) as u16,
        };
        let stays = current.filter(|current| {
            current.work == key.work
                && current.limit_w == key.limit_w
                && near(band, current.band)
                && near(memory, current.memory)
        });
        Some(stays.unwrap_or(key))
    }

    /// The next minute, with this one's room.
    fn emptied(self, now: MonoTime) -> Self {
        let mut power = self.power;
        power.clear();
        Self {
            begun: Some(now),
            power,
            ..Self::default()
        }
    }
}

fn mean(values: &[f32]) -> Option<f64> {
    (!values.is_empty())
        .then(|| values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64)
}

impl Kind {
    fn new(key: Key) -> Self {
        Self {
            key,
            turn: 0,
            quarter: Ring::default(),
            quarter_clock: Run::default(),
            learning: Ring::default(),
            learning_clock: Run::default(),
            learned: 0,
            spread: Ring::default(),
            power: None,
            clock: None,
            reasons: Run::default(),
            utilization: Run::default(),
            hour: Ring::default(),
            hour_clock: Ring::default(),
            hour_reasons: Ring::default(),
            hour_utilization: Ring::default(),
            hour_power: None,
            hour_clock_mean: None,
            hour_reasons_mean: None,
            hour_utilization_mean: None,
            noise: None,
            sum_w: 0.0,
            sum_since: None,
            fallen: false,
        }
    }

    /// The clock of this work: the first hour's, or that of the first minutes until there is an hour.
    fn reference_clock(&self) -> Option<f64> {
        let early = || (self.quarter_clock.count() >= 5).then(|| self.quarter_clock.mean());
        let first = || (self.learning_clock.count() > 0).then(|| self.learning_clock.mean());
        self.clock.or_else(first).or_else(early)
    }

    /// Takes a whole minute of this work in.
    fn minute(&mut self, minute: &Minute, at: Timestamp, limits: &Limits) {
        let Some(power) = minute.power.median() else {
            return;
        };
        let count = |run: &Run| (run.count() > 0).then(|| run.mean());
        self.hour.push(power, HOUR);
        self.hour_utilization.push(minute.utilization.mean(), HOUR);
        if let Some(clock) = count(&minute.clock) {
            self.hour_clock.push(clock, HOUR);
            self.quarter_clock.take(clock);
        }
        if let Some(reasons) = count(&minute.reasons) {
            self.hour_reasons.push(reasons, HOUR);
        }
        self.hour_power = self.hour.median();
        self.hour_clock_mean = mean(self.hour_clock.values());
        self.hour_reasons_mean = mean(self.hour_reasons.values());
        self.hour_utilization_mean = mean(self.hour_utilization.values());
        if self.power.is_none() {
            self.utilization.take(minute.utilization.mean());
            if let Some(reasons) = count(&minute.reasons) {
                self.reasons.take(reasons);
            }
        }
        self.quarter.push(power, QUARTER);
        if self.quarter.len() >= QUARTER {
            self.whole_quarter(at, limits);
        }
        let (ratio, _) = limits.get(T::DriftRatio);
        if let (Some(reference), Some(now)) = (self.power, self.hour_power) {
            let whole = self.hour.len() >= HOUR_LEAST;
            self.fallen = if self.fallen {
                now < RECOVERED * reference
            } else {
                whole && now < ratio * reference
            };
        }
    }

    fn whole_quarter(&mut self, at: Timestamp, limits: &Limits) {
        let Some(power) = median(self.quarter.values()) else {
            return;
        };
        self.quarter.clear();
        let clock = (self.quarter_clock.count() > 0).then(|| self.quarter_clock.mean());
        self.quarter_clock = Run::default();
        if let Some(reference) = self.power {
            let fell = reference - power - limits.value(T::DriftAllowance) * reference;
            let before = self.sum_w;
            self.sum_w = (self.sum_w + fell).clamp(0.0, 10.0 * reference);
            if self.sum_w <= 0.0 {
                self.sum_since = None;
            } else if before <= 0.0 {
                let quarter = jiff::SignedDuration::from_secs(15 * 60);
                self.sum_since = Some(at.saturating_sub(quarter).unwrap_or(at));
            }
        }
        if self.learned >= LEARNED_QUARTERS {
            return;
        }
        self.learned += 1;
        self.spread.push(power, usize::from(LEARNED_QUARTERS));
        if self.spread.len() >= 2 * QUARTERS_OF_HOUR {
            self.noise = self.spread.deviation();
        }
        self.learning.push(power, QUARTERS_OF_HOUR);
        if let Some(clock) = clock {
            self.learning_clock.take(clock);
        }
        if self.learning.len() < QUARTERS_OF_HOUR {
            return;
        }
        let hour = self.learning.median();
        if self.power < hour {
            self.power = hour;
            if self.learning_clock.count() > 0 {
                self.clock = Some(self.learning_clock.mean());
            }
        }
        self.learning.clear();
        self.learning_clock = Run::default();
    }
}
