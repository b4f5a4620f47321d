//! From what the driver said to the contract's figures.

use super::board::Share;
use super::device::DeviceState;
use crate::model::{Absent, Figure, Figures, Metric, PlateEntry, Value};
use crate::units::{MonoTime, usable_bytes_per_second};
use std::sync::Arc;

/// Share of the plate that a card draws with a process resident and nothing running, until its own is learned:
/// H100 133 of 700 W, V100 53 of 300 W.
const RESIDENT_SHARE: f64 = 0.19;
/// The same for small cards: T4 26 of 70 W.
const RESIDENT_SHARE_SMALL: f64 = 0.37;
/// A power span below this share of the plate separates nothing: the limit is at the resident-idle power.
const LEAST_SPAN: f64 = 0.05;
/// Plates below this are small.
const SMALL_PLATE_W: f64 = 150.0;

/// The instant and pace for which figures are derived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: MonoTime,
    pub(crate) interval_s: f64,
}

/// Figures of a device with where they come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Derived {
    pub(crate) figures: Figures,
    pub(crate) power_kind: &'static str,
    pub(crate) power_scope: &'static str,
    pub(crate) plate_power_source: Option<&'static str>,
    /// The plate is from a row of the table that nobody vouches for.
    pub(crate) plate_unverified: bool,
    pub(crate) rated_power_source: Option<Arc<str>>,
    pub(crate) temperature_sensor: Option<&'static str>,
    pub(crate) headroom_source: Option<&'static str>,
    pub(crate) work_ratio_source: Option<&'static str>,
    pub(crate) pcie_method: Option<&'static str>,
    /// Power's place between resident-idle power and the limit, beside whatever GPM says.
    pub(crate) power_span: Option<f64>,
    /// Whose the power is.
    pub(crate) share: Share,
}

struct Source<'a> {
    state: &'a DeviceState,
    moment: Moment,
}

impl Source<'_> {
    fn get(&self, metric: Metric) -> Value {
        self.state.held.value(
            metric,
            self.moment.now,
            self.moment.interval_s,
            self.state.silence(),
        )
    }
}

/// Derives all figures of a device. `entry` is its row of the nameplate table.
pub(crate) fn derive(
    state: &DeviceState,
    entry: Option<&PlateEntry>,
    share: Share,
    moment: Moment,
) -> Derived {
    let source = Source { state, moment };
    let mut derived = Derived {
        share,
        ..Derived::default()
    };
    // A nameplate is a whole card's: it says nothing of a slice or of a guest's share.
    let memory = entry.and_then(|entry| entry.memory_bytes);
    let entry = entry.filter(|_| state.device.has_plate());
    power(&source, entry, &mut derived);
    heat(&source, entry, &mut derived);
    activity(&source, &mut derived);
    super::share::set(&state.device, memory, &mut derived.figures);
    pcie(&source, &mut derived);
    nvlink(&source, entry, &mut derived);
    time_to_throttle(state, moment, &mut derived);
    derived
}

/// Sets the time left, which goes with a headroom and a power of this instant only.
pub(crate) fn time_to_throttle(state: &DeviceState, moment: Moment, derived: &mut Derived) {
    let figures = &mut derived.figures;
    let basis = figures
        .get(Figure::Headroom)
        .with(figures.get(Figure::Power), |headroom, _| headroom);
    let left = match state.thermal.seconds_left(moment.now) {
        Some(left) if basis.age_s == 0.0 => basis.map(|_| left),
        _ => Value::absent(basis.reading.err().unwrap_or(Absent::NotReported)),
    };
    figures.set(Figure::TimeToThrottle, left);
}

fn power(source: &Source<'_>, entry: Option<&PlateEntry>, derived: &mut Derived) {
    let Moment { now, interval_s } = source.moment;
    let (power, kind, scope) = source.state.power(now, interval_s);
    let scope = match (scope, derived.share) {
        ("gpu", Share::Board | Share::Shared) => "board",
        (scope, _) => scope,
    };
    let default = source.get(Metric::LimitDefault);
    let told = source.get(Metric::RatedPower);
    let table = entry
        .and_then(|e| e.power_w)
        .map_or(Value::absent(Absent::NotReported), Value::fresh);
    let limit = source.get(if scope == "module" {
        Metric::ModuleLimit
    } else {
        Metric::LimitEnforced
    });
    // What the driver itself calls rated stands over a row of ours.
    let plate = default.or(told.or(table));
    derived.power_kind = kind;
    derived.power_scope = scope;
    derived.plate_power_source = match (default.reading, told.reading, table.reading) {
        (Ok(_), ..) => Some("driver_default"),
        (_, Ok(_), _) => Some("driver_rated"),
        (_, _, Ok(_)) => Some("table"),
        _ => None,
    };
    let doubtful = entry.is_some_and(|e| &*e.confidence == "low");
    derived.plate_unverified = doubtful && derived.plate_power_source == Some("table");
    let rated = entry.filter(|e| &*e.confidence != "low" && e.power_w.is_some());
    derived.rated_power_source = match told.reading {
        Ok(_) => Some(Arc::from("driver")),
        Err(_) => rated.map(|e| e.source.clone()),
    };
    let figures = &mut derived.figures;
    figures.set(Figure::Power, power);
    figures.set(Figure::PowerLimit, limit);
    figures.set(Figure::PowerDefaultLimit, default);
    figures.set(Figure::PlatePower, plate);
    let rated = rated
        .and_then(|e| e.power_w)
        .map_or(Value::absent(Absent::NotReported), Value::fresh);
    figures.set(Figure::RatedPower, told.or(rated));
    // A module's draw is not compared with the plate of the device on it.
    let ratio = power.with(plate, |p, plate| {
        if scope == "module" {
            f64::NAN
        } else {
            p / plate
        }
    });
    figures.set(Figure::PowerRatio, ratio);
    figures.set(
        Figure::PowerLimitRatio,
        power.with(limit, |p, limit| p / limit),
    );
    figures.set(Figure::Energy, source.get(Metric::Energy));
}

fn heat(source: &Source<'_>, entry: Option<&PlateEntry>, derived: &mut Derived) {
    let temperature = source.get(Metric::CoreTemperature);
    let margin = source.get(Metric::Margin);
    let threshold = source.get(Metric::ThresholdSlowdown);
    let table = entry
        .and_then(|e| e.slowdown_c)
        .map_or(Value::absent(Absent::NotReported), Value::fresh);
    let left = |limit: Value| limit.with(temperature, |limit, now| limit - now);
    let ways = [
        ("margin", margin),
        ("threshold", left(threshold)),
        ("table", left(table)),
    ];
    let best = ways.iter().find(|(_, value)| value.reading.is_ok());
    derived.headroom_source = best.map(|(name, _)| *name);
    derived.temperature_sensor = temperature.reading.is_ok().then_some("core");
    let figures = &mut derived.figures;
    figures.set(Figure::Temperature, temperature);
    figures.set(
        Figure::MemoryTemperature,
        source.get(Metric::MemoryTemperature),
    );
    figures.set(Figure::Slowdown, threshold);
    figures.set(
        Figure::Headroom,
        best.map_or_else(
            || {
                if temperature.reading.is_err() {
                    temperature
                } else {
                    threshold
                }
            },
            |(_, v)| *v,
        ),
    );
}

fn activity(source: &Source<'_>, derived: &mut Derived) {
    for (figure, metric) in [
        (Figure::Utilization, Metric::Utilization),
        (Figure::MemoryActivity, Metric::MemoryActivity),
        (Figure::SmActive, Metric::SmActive),
        (Figure::TensorActive, Metric::TensorActive),
        (Figure::DramActive, Metric::DramActive),
        (Figure::Share, Metric::Share),
        (Figure::MemoryUsed, Metric::MemoryUsed),
        (Figure::MemoryTotal, Metric::MemoryTotal),
        (Figure::Clock, Metric::SmClock),
        (Figure::ClockMax, Metric::SmClockMax),
        (Figure::EccUncorrected, Metric::EccUncorrected),
    ] {
        derived.figures.set(figure, source.get(metric));
    }
    let (span, from) = power_span(source, &derived.figures, derived.power_scope);
    let sm = derived.figures.get(Figure::SmActive);
    let (work, from) = match sm.reading {
        Ok(_) => (sm, "gpm"),
        Err(_) => (span, from),
    };
    derived.power_span = span.ok();
    derived.figures.set(Figure::Work, work);
    derived.work_ratio_source = work.reading.is_ok().then_some(from);
}

/// Power's place in the span from resident-idle power to the enforced limit: work, where the driver does not measure
/// the SMs' activity (utilization says only that a kernel was resident).
fn power_span(
    source: &Source<'_>,
    figures: &Figures,
    scope: &'static str,
) -> (Value, &'static str) {
    let power = figures.get(Figure::Power);
    let limit = figures
        .get(Figure::PowerLimit)
        .or(figures.get(Figure::PlatePower));
    let none = power.with(limit, |_, _| f64::NAN);
    let Some(limit_w) = limit.ok().filter(|_| scope == "gpu") else {
        return (none, "estimated");
    };
    let plate = figures.get(Figure::PlatePower).ok().unwrap_or(limit_w);
    let share = if plate < SMALL_PLATE_W {
        RESIDENT_SHARE_SMALL
    } else {
        RESIDENT_SHARE
    };
    let learned = source.state.resident_idle.watts();
    let floor = learned.unwrap_or(share * plate);
    if limit_w - floor < LEAST_SPAN * plate {
        return (none, "estimated");
    }
    let span = power.map(|p| ((p - floor) / (limit_w - floor)).max(0.0));
    (
        span,
        if learned.is_some() {
            "power_span"
        } else {
            "estimated"
        },
    )
}

fn pcie(source: &Source<'_>, derived: &mut Derived) {
    let (before, after) = (
        source.get(Metric::PcieGenerationBefore),
        source.get(Metric::PcieGenerationAfter),
    );
    let (width_before, width_after) = (
        source.get(Metric::PcieWidthBefore),
        source.get(Metric::PcieWidthAfter),
    );
    let larger = |a: Value, b: Value| {
        if a.reading.is_ok() && b.reading.is_ok() {
            a.with(b, f64::max)
        } else {
            a.or(b)
        }
    };
    let (generation, width) = (larger(before, after), larger(width_before, width_after));
    let moved = |a: Value, b: Value| matches!((a.reading, b.reading), (Ok(a), Ok(b)) if a != b);
    let transition = moved(before, after) || moved(width_before, width_after);
    let usable = match source.state.link().and_then(usable_bytes_per_second) {
        Some(rate) => generation.with(width, |_, _| rate),
        None => generation.with(width, |_, _| f64::NAN),
    };
    let (rx, tx, method) = pcie_rates(source);
    let (both, both_method) = pcie_both(source);
    let saturation = |rate: Value, ways: f64| {
        if transition && rate.reading.is_ok() {
            return Value::absent(Absent::Transition);
        }
        rate.with(usable, |rate, usable| rate / (usable * ways))
    };
    let best = |max: Value, now: Value, device: Value| {
        // The host's maximum is no ceiling where the link already runs faster (seen on GB300).
        let known = max.or(device);
        match (known.ok(), now.ok()) {
            (Some(most), Some(running)) if running > most => match device.ok() {
                Some(own) if own >= running => device,
                _ => now,
            },
            _ => known,
        }
    };
    let none = Value::absent(Absent::NotReported);
    derived.pcie_method = method.or(both_method);
    let figures = &mut derived.figures;
    figures.set(Figure::PcieGeneration, generation);
    figures.set(Figure::PcieWidth, width);
    figures.set(
        Figure::PcieGenerationMax,
        best(
            source.get(Metric::PcieGenerationMax),
            generation,
            source.get(Metric::PcieGenerationDevice),
        ),
    );
    figures.set(
        Figure::PcieWidthMax,
        best(source.get(Metric::PcieWidthMax), width, none),
    );
    figures.set(Figure::PcieRx, rx);
    figures.set(Figure::PcieTx, tx);
    figures.set(Figure::PcieUsable, usable);
    figures.set(Figure::PcieRxSaturation, saturation(rx, 1.0));
    figures.set(Figure::PcieTxSaturation, saturation(tx, 1.0));
    figures.set(Figure::PcieBoth, both);
    figures.set(Figure::PcieBothSaturation, saturation(both, 2.0));
    figures.set(Figure::PcieReplays, source.get(Metric::PcieReplays));
}

/// A counter's rate; a counter that was read once gives one with the next reading.
fn from_counter(source: &Source<'_>, metric: Metric, rate: Option<f64>) -> Value {
    let counter = source.get(metric);
    match (counter.reading, rate) {
        (Ok(_), Some(rate)) => counter.map(|_| rate),
        (Ok(_), None) => Value::absent(Absent::NotReported),
        _ => counter,
    }
}

/// Both directions together, for devices that do not tell them apart: by the counter, else as the device says.
fn pcie_both(source: &Source<'_>) -> (Value, Option<&'static str>) {
    let rate = source.state.pcie_rx.per_second();
    let counter = from_counter(source, Metric::PcieBothBytes, rate);
    let getter = source.get(Metric::PcieBothRate);
    for (both, method) in [(counter, "counter"), (getter, "getter")] {
        if both.reading.is_ok() {
            return (both, Some(method));
        }
    }
    // A counter that was read once gives a rate with the next reading.
    match source.get(Metric::PcieBothBytes).reading {
        Err(Absent::NotSupported | Absent::NotReported) => (getter, None),
        _ => (counter, None),
    }
}

/// Both rates by one method: counters, else GPM, else the blocking getter.
fn pcie_rates(source: &Source<'_>) -> (Value, Value, Option<&'static str>) {
    let counter = |metric, rate| from_counter(source, metric, rate);
    let counters = (
        counter(Metric::PcieRxBytes, source.state.pcie_rx.per_second()),
        counter(Metric::PcieTxBytes, source.state.pcie_tx.per_second()),
    );
    let gpm = (source.get(Metric::GpmPcieRx), source.get(Metric::GpmPcieTx));
    let getter = (
        source.get(Metric::PcieRxRate),
        source.get(Metric::PcieTxRate),
    );
    for ((rx, tx), method) in [(counters, "counter"), (gpm, "gpm"), (getter, "getter")] {
        if rx.reading.is_ok() || tx.reading.is_ok() {
            return (rx, tx, Some(method));
        }
    }
    let waiting = |a: Value, b: Value| {
        if b.reading == Err(Absent::NotSupported) {
            a
        } else {
            b
        }
    };
    (
        waiting(counters.0, getter.0),
        waiting(counters.1, getter.1),
        None,
    )
}

fn nvlink(source: &Source<'_>, entry: Option<&PlateEntry>, derived: &mut Derived) {
    let rate = |metric, rate: Option<f64>, gpm| {
        let counter = source.get(metric);
        let by_counter = match (counter.reading, rate) {
            (Ok(_), Some(rate)) => counter.map(|_| rate),
            (Ok(_), None) => Value::absent(Absent::NotReported),
            _ => counter,
        };
        match (by_counter.reading, source.get(gpm)) {
            // A counter that was read once gives a rate with the next reading, whatever GPM lacks.
            (Err(_), by_gpm) if by_gpm.reading.is_err() && counter.reading.is_ok() => by_counter,
            (_, by_gpm) => by_counter.or(by_gpm),
        }
    };
    let rx = rate(
        Metric::NvlinkRxBytes,
        source.state.nvlink_rx.per_second(),
        Metric::GpmNvlinkRx,
    );
    let tx = rate(
        Metric::NvlinkTxBytes,
        source.state.nvlink_tx.per_second(),
        Metric::GpmNvlinkTx,
    );
    let table = entry
        .and_then(|e| e.nvlink_total_bytes_per_s)
        .filter(|total| *total > 0.0)
        .map_or(Value::absent(Absent::NotReported), |total| {
            Value::fresh(total / 2.0)
        });
    let plate = source.get(Metric::NvlinkSpeed).or(table);
    let busier = if rx.reading.is_ok() && tx.reading.is_ok() {
        rx.with(tx, f64::max)
    } else {
        rx.or(tx)
    };
    let figures = &mut derived.figures;
    figures.set(Figure::NvlinkLinks, source.get(Metric::NvlinkLinks));
    figures.set(Figure::NvlinkUp, source.get(Metric::NvlinkUp));
    figures.set(Figure::NvlinkRx, rx);
    figures.set(Figure::NvlinkTx, tx);
    figures.set(Figure::NvlinkPlate, plate);
    figures.set(
        Figure::NvlinkSaturation,
        busier.with(plate, |rate, plate| rate / plate),
    );
    figures.set(Figure::NvlinkErrors, source.get(Metric::NvlinkErrors));
}
