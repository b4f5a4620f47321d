//! The platform's panel beside the drivers: both looked at the same seconds.

use super::super::derive::Moment;
use super::super::device::DeviceState;
use super::is_whole;
use crate::model::{Claims, Disagreement, Metric};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The panel may be that far outside of what the drivers said since its previous figure (a mean over another time).
const UTILIZATION_APART: f64 = 0.20;
/// Likewise for temperatures, in °C.
const TEMPERATURE_APART: f64 = 10.0;
/// Figures in a row that must be apart: a panel that shows the mean of a minute comes late.
const STRIKES: u8 = 3;
/// Seconds that the drivers must have been looked at before a figure is judged.
const LOOKED_S: f64 = 10.0;

/// What the drivers say in one tick: mean utilization and hottest temperature of all whole devices.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Seen {
    pub(super) utilization: Option<f64>,
    pub(super) temperature: Option<f64>,
}

/// Lowest, highest and mean of a figure over some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Range {
    low: f64,
    high: f64,
    sum: f64,
    ticks: u32,
}

impl Range {
    fn take(range: &mut Option<Self>, value: f64) {
        let range = range.get_or_insert(Self {
            low: value,
            high: value,
            sum: 0.0,
            ticks: 0,
        });
        range.low = range.low.min(value);
        range.high = range.high.max(value);
        range.sum += value;
        range.ticks = range.ticks.saturating_add(1);
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.ticks.max(1))
    }

    fn is_apart(&self, claimed: f64, by: f64) -> bool {
        claimed > self.high + by || claimed < self.low - by
    }
}

/// A claim that was apart, with what was seen beside it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Apart {
    strikes: u8,
    claimed: f64,
    seen: f64,
}

impl Apart {
    fn judge(&mut self, claimed: Option<f64>, seen: Option<&Range>, by: f64) {
        let (Some(claimed), Some(range)) = (claimed, seen) else {
            return;
        };
        if range.is_apart(claimed, by) {
            *self = Self {
                strikes: self.strikes.saturating_add(1),
                claimed,
                seen: range.mean(),
            };
        } else {
            *self = Self::default();
        }
    }
}

/// What is kept to compare the next figure of the panel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Panel {
    /// When the panel's newest figures are from.
    at: Option<Timestamp>,
    looked_s: f64,
    utilization: Option<Range>,
    temperature: Option<Range>,
    utilization_apart: Apart,
    temperature_apart: Apart,
}

impl Panel {
    /// Takes what the drivers said in this tick.
    pub(super) fn watch(&mut self, seen: Seen, moment: Moment) {
        if let Some(utilization) = seen.utilization {
            Range::take(&mut self.utilization, utilization);
            self.looked_s += moment.interval_s;
        }
        if let Some(temperature) = seen.temperature {
            Range::take(&mut self.temperature, temperature);
        }
    }

    /// Takes new figures of the panel; the next ones are held against what is seen from here on.
    pub(super) fn claimed(&mut self, claims: &Claims) {
        if claims.at.is_none() || claims.at == self.at {
            return;
        }
        self.at = claims.at;
        if self.looked_s >= LOOKED_S {
            self.utilization_apart.judge(
                claims.utilization_ratio,
                self.utilization.as_ref(),
                UTILIZATION_APART,
            );
            self.temperature_apart.judge(
                claims.temperature_c,
                self.temperature.as_ref(),
                TEMPERATURE_APART,
            );
        }
        self.looked_s = 0.0;
        self.utilization = None;
        self.temperature = None;
    }

    /// What lasts.
    pub(super) fn disagreements(&self) -> impl Iterator<Item = Disagreement> + use<> {
        let lasting = |apart: Apart| (apart.strikes >= STRIKES).then_some(apart);
        let utilization = lasting(self.utilization_apart)
            .map(|Apart { claimed, seen, .. }| Disagreement::Utilization { claimed, seen });
        let temperature = lasting(self.temperature_apart)
            .map(|Apart { claimed, seen, .. }| Disagreement::Temperature { claimed, seen });
        utilization.into_iter().chain(temperature)
    }
}

/// What the drivers say in this tick; absent unless every whole device was read.
pub(super) fn seen(devices: &[DeviceState], moment: Moment) -> Seen {
    let whole = || devices.iter().filter(|d| is_whole(d.device.kind));
    let all = |value: fn(&DeviceState, Moment) -> Option<f64>| -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = whole().map(|d| value(d, moment)).collect();
        values.filter(|list| !list.is_empty())
    };
    let mean = |list: Vec<f64>| list.iter().sum::<f64>() / list.len() as f64;
    Seen {
        utilization: all(DeviceState::fresh_utilization).map(mean),
        temperature: all(|d, _| {
            let fresh = d.polled && d.silent.is_none();
            d.held
                .readings()
                .get(Metric::CoreTemperature)
                .ok()
                .filter(|_| fresh)
        })
        .and_then(|list| list.into_iter().reduce(f64::max)),
    }
}
