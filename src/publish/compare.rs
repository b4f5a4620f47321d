//! The comparison document: two files of the same job side by side, figure by figure.

use super::compare_tensors::{TensorCheck, tensors_json};
use super::cost::{cost_json, energy_json, phase_amounts};
use super::fields::Fields;
use super::head;
use super::number::{by_name, money, rounded, time_or_null};
use crate::model::{
    Absent, Cost, DeviceView, Figure, Phase, Reading, Snapshot, SourceKind, Tallied,
};
use crate::text::clean;
use crate::units::Currency;
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde_json::{Map, Value as Json, json};

/// One of the two.
#[derive(Debug, Clone)]
pub struct Side {
    /// The view at its end.
    pub snapshot: Snapshot,
    /// What kind of log it is; `None` for a recording.
    pub format: Option<&'static str>,
    /// Its first and its last tick.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Seconds of it that somebody looked at.
    pub observed_seconds: f64,
    /// Time between two ticks.
    pub interval_s: f64,
    /// What each device did while it computed, in the snapshot's order.
    pub devices: Vec<Tallied>,
    /// All boards together.
    pub whole: Tallied,
    /// What was left out: line (0: the whole file) and text.
    pub warnings: Vec<(u64, String)>,
}

/// A figure of one side.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Number(f64),
    Money(Decimal, Currency),
}

/// A figure of both sides.
pub(super) struct Row {
    /// The contract's name, with its unit.
    pub(super) figure: String,
    pub(super) a: Reading<Cell>,
    pub(super) b: Reading<Cell>,
}

impl Row {
    /// B less A, where both are there and of one kind.
    pub(super) fn difference(&self) -> Reading<Cell> {
        match (self.a.clone()?, self.b.clone()?) {
            (Cell::Number(a), Cell::Number(b)) => Ok(Cell::Number(b - a)),
            (Cell::Money(a, of_a), Cell::Money(b, of_b)) if of_a == of_b => {
                let less = b.checked_sub(a).ok_or(Absent::NotReported)?;
                Ok(Cell::Money(less, of_a))
            }
            // Nobody says what one currency is worth in another.
            _ => Err(Absent::NotSupported),
        }
    }

    /// B over A.
    pub(super) fn ratio(&self) -> Reading<f64> {
        self.difference()?;
        let number = |cell: Cell| match cell {
            Cell::Number(number) => Some(number),
            Cell::Money(amount, _) => amount.to_f64(),
        };
        let (a, b) = (number(self.a.clone()?), number(self.b.clone()?));
        let ratio = a.zip(b).map(|(a, b)| b / a);
        ratio.filter(|r| r.is_finite()).ok_or(Absent::NotSupported)
    }
}

impl Side {
    pub(super) fn file(&self) -> String {
        match &self.snapshot.source {
            SourceKind::Recording(file) | SourceKind::Log { file, .. } => clean(file).into_owned(),
            SourceKind::Live | SourceKind::Demo(_) => String::new(),
        }
    }

    fn cost(&self) -> Reading<&Cost> {
        self.snapshot.cost.as_ref().ok_or(Absent::NotReported)
    }

    fn money(&self, of: impl FnOnce(&Cost) -> Option<Decimal>) -> Reading<Cell> {
        let cost = self.cost()?;
        let amount = of(cost).ok_or(Absent::NotReported)?;
        Ok(Cell::Money(amount, cost.currency.clone()))
    }

    fn seconds(&self, phase: Phase) -> Reading<Cell> {
        let seconds = &self.cost()?.phase_seconds;
        if phase == Phase::IoWait {
            return seconds.io_wait.map(Cell::Number).ok_or(Absent::NotReported);
        }
        Ok(Cell::Number(seconds.get(phase)))
    }

    fn amount(&self, place: usize) -> Reading<Cell> {
        self.money(|cost| phase_amounts(cost)?.get(place).copied())
    }

    fn kwh(&self) -> Reading<f64> {
        let energy = self.snapshot.energy.as_ref();
        energy.map(|e| e.kwh).ok_or(Absent::NotReported)
    }

    /// Energy for an hour in which at least one device computed.
    fn kwh_per_compute_hour(&self) -> Reading<f64> {
        let hours = self.cost()?.any_compute_seconds / 3600.0;
        let kwh = self.kwh()?;
        if hours > 0.0 {
            Ok(kwh / hours)
        } else {
            Err(Absent::NotReported)
        }
    }

    /// Seconds under a reason; one that was never set is 0 where reasons are told at all.
    fn throttle(&self, word: &str) -> Reading<f64> {
        self.whole.throttled_seconds?;
        let mut all = self.whole.throttle_seconds.iter();
        Ok(all.find(|(w, _)| w == word).map_or(0.0, |(_, s)| *s))
    }
}

/// All figures, in the order in which they are told.
pub(super) fn rows(a: &Side, b: &Side) -> Vec<Row> {
    let row = |figure: String, of: &dyn Fn(&Side) -> Reading<Cell>| Row {
        figure,
        a: of(a),
        b: of(b),
    };
    let number = |figure: &str, of: &dyn Fn(&Side) -> Reading<f64>| {
        row(figure.to_owned(), &|side| of(side).map(Cell::Number))
    };
    let mut rows = vec![number("observed_seconds", &|s| Ok(s.observed_seconds))];
    rows.push(number("span_seconds", &|s| Ok(s.cost()?.span_seconds)));
    rows.extend(Phase::ALL.map(|phase| {
        row(format!("phase_seconds.{}", phase.word()), &|s| {
            s.seconds(phase)
        })
    }));
    rows.push(row("amount".to_owned(), &|s| s.money(|cost| cost.amount)));
    let parts = Phase::ALL.iter().map(|p| p.word()).chain(["rounding"]);
    rows.extend(
        parts
            .enumerate()
            .map(|(place, word)| row(format!("phase_amounts.{word}"), &|s| s.amount(place))),
    );
    rows.push(row("effective_price_per_compute_hour".to_owned(), &|s| {
        s.money(|cost| cost.effective_price_per_compute_hour)
    }));
    rows.extend([
        number("power_ratio", &|s| s.whole.power_ratio),
        number("power_ratio_p95", &|s| s.whole.power_ratio_p95),
        number("utilization_ratio", &|s| s.whole.utilization_ratio),
        number("work_ratio", &|s| s.whole.work_ratio),
        number("throttled_ratio", &|s| s.whole.throttled_ratio()),
        number("throttled_seconds", &|s| s.whole.throttled_seconds),
    ]);
    let mut words: Vec<&str> = Vec::new();
    for (word, _) in [a, b].iter().flat_map(|s| &s.whole.throttle_seconds) {
        if !words.contains(&word.as_str()) {
            words.push(word);
        }
    }
    rows.extend(
        words
            .iter()
            .map(|word| number(&format!("throttle_seconds.{word}"), &|s| s.throttle(word))),
    );
    rows.push(number("energy_kwh", &Side::kwh));
    let per_hour = "energy_kwh_per_compute_hour";
    rows.push(number(per_hour, &Side::kwh_per_compute_hour));
    rows
}

/// The document: recordings, tensors, or both.
#[must_use]
pub fn compare_json(
    sides: Option<(&Side, &Side)>,
    tensors: Option<&TensorCheck<'_>>,
    at: Timestamp,
) -> Json {
    let mut map = head("compare", at);
    map.insert("a".to_owned(), sides.map(|(a, _)| side_json(a)).into());
    map.insert("b".to_owned(), sides.map(|(_, b)| side_json(b)).into());
    let rows = sides.map(|(a, b)| rows(a, b)).unwrap_or_default();
    map.insert("rows".to_owned(), rows.iter().map(row_json).collect());
    map.insert("tensors".to_owned(), tensors.map(tensors_json).into());
    Json::Object(map)
}

fn row_json(row: &Row) -> Json {
    let cell = |cell: Cell| match cell {
        Cell::Number(number) => by_name(&row.figure, number),
        Cell::Money(amount, currency) => money(amount, &currency),
    };
    let mut fields = Fields::default();
    fields.put("figure", row.figure.as_str());
    fields.reading("a", row.a.clone(), cell);
    fields.reading("b", row.b.clone(), cell);
    fields.reading("difference", row.difference(), cell);
    fields.reading("ratio", row.ratio(), |ratio| rounded(ratio, 6));
    fields.finish(false)
}

fn side_json(side: &Side) -> Json {
    let snapshot = &side.snapshot;
    let mut fields = Fields::default();
    fields.put("file", side.file());
    fields.put("source", snapshot.source.word());
    fields.put("format", side.format);
    fields.put("from", time_or_null(side.span.map(|(from, _)| from)));
    fields.put("to", time_or_null(side.span.map(|(_, to)| to)));
    fields.put("observed_seconds", rounded(side.observed_seconds, 3));
    fields.put("interval_s", rounded(side.interval_s, 3));
    let host = snapshot.host.name.as_ref().map_err(|why| *why);
    fields.reading("host", host, |name| clean(name).into_owned());
    fields.put("boards", snapshot.boards.len());
    let devices = side.devices.iter().map(|tallied| {
        let of = |view: &&DeviceView| Some(&view.device.id) == tallied.device.as_ref();
        tallied_json(tallied, snapshot.devices.iter().find(of))
    });
    fields.put("devices", devices.collect::<Json>());
    fields.put("whole", tallied_json(&side.whole, None));
    let cost = snapshot.cost.as_ref();
    fields.option("cost", cost.map(cost_json), Absent::NotReported);
    let energy = snapshot.energy.as_ref();
    fields.option("energy", energy.map(energy_json), Absent::NotReported);
    let warnings = side.warnings.iter().map(|(line, text)| {
        let line = (*line > 0).then_some(*line);
        json!({"line": line, "text": clean(text)})
    });
    fields.put("warnings", warnings.collect::<Json>());
    fields.finish(false)
}

fn tallied_json(tallied: &Tallied, view: Option<&DeviceView>) -> Json {
    let mut fields = Fields::default();
    if let Some(view) = view {
        let device = &view.device;
        fields.put("id", clean(&device.id.0));
        fields.put("index", device.index);
        fields.put("vendor", device.vendor.word());
        fields.put("name", clean(&device.name));
        fields.put("board", clean(&device.board.0));
        let plate = view.figures.get(Figure::PlatePower);
        fields.figure("plate_power_w", plate);
        let why = plate.reading.err().unwrap_or(Absent::NotReported);
        fields.option("plate_power_source", view.plate_power_source, why);
        let verified = view.plate_power_source.map(|_| !view.plate_unverified);
        fields.option("plate_power_verified", verified, why);
    }
    for (name, value) in [
        ("compute_seconds", Ok(tallied.compute_seconds)),
        ("power_w", tallied.power_w),
        ("power_ratio", tallied.power_ratio),
        ("power_ratio_p95", tallied.power_ratio_p95),
        ("utilization_ratio", tallied.utilization_ratio),
        ("work_ratio", tallied.work_ratio),
        ("throttled_ratio", tallied.throttled_ratio()),
        ("throttled_seconds", tallied.throttled_seconds),
    ] {
        fields.reading(name, value, |number| by_name(name, number));
    }
    let reasons = tallied.throttle_seconds.iter();
    let reasons = reasons.map(|(word, seconds)| (word.clone(), rounded(*seconds, 3)));
    fields.put("throttle_seconds", reasons.collect::<Map<_, _>>());
    fields.finish(false)
}
