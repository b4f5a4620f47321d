//! What counters tell of a time in which nobody looked. It stands beside the unobserved seconds as evidence, and is never
//! booked to a phase: a mean says nothing of how the seconds were spent.

use super::derive::Moment;
use super::device::{DeviceState, ENERGY_CEILING_W, REASON_CEILING, REASON_COUNTERS};
use super::happen;
use crate::model::{Event, EventKind, Metric, Sample};
use crate::units::{Bytes, LinkSpeed, format_span, raw_bytes_per_second};
use jiff::Timestamp;

/// A gap shorter than this is not worth an event: counters are renewed every other second only, so that their
/// differences over less say little.
const LEAST_S: f64 = 10.0;
/// Byte counters count headers too, and never more than this share of the raw rate of the fastest link.
const COUNTER_CEILING: f64 = 1.3;
/// Drivers renew counters only so often: growth may be this much ahead of time.
const SLACK_S: f64 = 2.0;
/// From this width on, a byte counter does not wrap within a human's time.
const WIDE_BITS: f64 = 64.0;

/// What grew between the last sample before a gap and the first after it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Told {
    seconds: f64,
    energy_j: Option<f64>,
    reasons_s: Vec<(&'static str, f64)>,
    pcie_rx_bytes: Option<f64>,
    pcie_tx_bytes: Option<f64>,
}

/// What the counters of a sample tell of the time since the device's sample before it; `None` where there is no gap.
/// To be asked before the sample is taken in.
pub(super) fn told(state: &DeviceState, sample: &Sample, moment: Moment) -> Option<Told> {
    let seconds = sample.at.seconds_since(state.sampled?);
    if seconds < LEAST_S || seconds <= 2.0 * moment.interval_s {
        return None;
    }
    let mut told = Told {
        seconds,
        ..Told::default()
    };
    // One counter that stepped back: the driver was loaded anew, and the others began anew with it.
    let held = state.held.readings();
    let back = Metric::ALL.iter().any(|metric| {
        let before = held
            .get(*metric)
            .ok()
            .filter(|_| steps_never_back(held.get(Metric::PcieCounterBits).ok(), *metric));
        let now = sample.readings.get(*metric).ok();
        before.zip(now).is_some_and(|(before, now)| now < before)
    });
    if back {
        return Some(told);
    }
    let grown = |metric: Metric, ceiling: f64| {
        let (before, now) = (held.get(metric).ok()?, sample.readings.get(metric).ok()?);
        // The counter's own two readings: a device may have answered for some and not for others.
        let seconds = sample.at.seconds_since(state.held.at(metric)) + SLACK_S;
        Some(now - before).filter(|grown| (0.0..=ceiling * seconds).contains(grown))
    };
    // No device draws nothing: a counter that stands still does not count.
    told.energy_j = grown(Metric::Energy, ENERGY_CEILING_W).filter(|joules| *joules > 0.0);
    for (metric, name) in REASON_COUNTERS {
        if let Some(seconds) = grown(metric, REASON_CEILING).filter(|seconds| *seconds > 0.0) {
            told.reasons_s.push((name, seconds));
        }
    }
    let wide = |bits: Option<f64>| bits.is_some_and(|bits| bits >= WIDE_BITS);
    let bits = Metric::PcieCounterBits;
    if wide(held.get(bits).ok())
        && wide(sample.readings.get(bits).ok())
        && let Some(rate) = fastest(state)
    {
        told.pcie_rx_bytes = grown(Metric::PcieRxBytes, rate * COUNTER_CEILING);
        told.pcie_tx_bytes = grown(Metric::PcieTxBytes, rate * COUNTER_CEILING);
    }
    Some(told)
}

/// Whether a metric is a counter that a running driver never sets back. Byte counters of 32 bits wrap.
fn steps_never_back(pcie_bits: Option<f64>, metric: Metric) -> bool {
    let bytes = matches!(metric, Metric::PcieRxBytes | Metric::PcieTxBytes);
    metric.is_counter() && (!bytes || pcie_bits.is_some_and(|bits| bits >= WIDE_BITS))
}

/// The raw rate of the best link that the device could have had meanwhile: an idle link is slow and says nothing.
fn fastest(state: &DeviceState) -> Option<f64> {
    let get = |metric| state.held.readings().get(metric).ok();
    let now = state.link();
    let generation = get(Metric::PcieGenerationMax).map(|g| g as u8);
    let width = get(Metric::PcieWidthMax).map(|w| w as u8);
    raw_bytes_per_second(LinkSpeed {
        generation: generation.max(now.map(|link| link.generation))?,
        width: width.max(now.map(|link| link.width))?,
    })
}

impl Told {
    /// The event of it.
    pub(super) fn event(&self, state: &DeviceState, at: Timestamp) -> Event {
        let mut data = vec![("seconds", format!("{:.3}", self.seconds))];
        let mut facts: Vec<String> = Vec::new();
        if let Some(joules) = self.energy_j {
            let watts = joules / self.seconds;
            data.push(("energy_j", format!("{joules:.0}")));
            data.push(("mean_power_w", format!("{watts:.1}")));
            facts.push(format!("{watts:.0} W on average"));
        }
        for (name, seconds) in &self.reasons_s {
            facts.push(format!("{name} for {}", format_span(*seconds)));
        }
        let names = self
            .reasons_s
            .iter()
            .map(|(name, s)| (format!("{name}_s"), *s));
        let reasons: Vec<(String, f64)> = names.collect();
        data.extend(
            reasons
                .iter()
                .map(|(name, s)| (name.as_str(), format!("{s:.1}"))),
        );
        for (name, way, bytes) in [
            ("pcie_rx_bytes", "in", self.pcie_rx_bytes),
            ("pcie_tx_bytes", "out", self.pcie_tx_bytes),
        ] {
            if let Some(bytes) = bytes {
                data.push((name, format!("{bytes:.0}")));
                facts.push(format!("{} {way}", Bytes(bytes)));
            }
        }
        let tell = if facts.is_empty() {
            "no counter tells of it".to_owned()
        } else {
            format!("its counters tell: {}", facts.join(", "))
        };
        let text = format!(
            "{} {} was not observed for {}; {tell}",
            state.device.index,
            state.device.name,
            format_span(self.seconds)
        );
        happen::event(at, Some(state), EventKind::Gap, text, &data)
    }
}
