//! Rows of the device view: a label, a value with its age, or the reason why there is none.

use crate::app::words;
use crate::model::{
    Absent, DeviceView, Figure, Meter, Metric, Snapshot, Unit, Value, VendorMeters, WhyNot,
};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::theme::Role;
use crate::units::{Bytes, BytesPerSecond, Ratio, format_span};
use std::borrow::Cow;

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Row {
    Blank,
    Title(String),
    Text(String, Role),
    Value {
        label: String,
        value: String,
        note: String,
        role: Role,
    },
}

/// A title and its lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
}

/// What rows are made from.
pub(super) struct Page<'a> {
    pub(super) picture: &'a Snapshot,
    pub(super) view: &'a DeviceView,
    pub(super) look: &'a Look,
}

impl Page<'_> {
    pub(super) fn section(&self, title: Cow<'static, str>, rows: Vec<Row>) -> Section {
        Section {
            title: title.into_owned(),
            rows,
        }
    }

    /// A value with its age, or the mark of an absent one with its reason.
    pub(super) fn value(
        &self,
        label: Cow<'static, str>,
        value: Value,
        write: impl FnOnce(f64) -> String,
        note: Cow<'static, str>,
    ) -> Row {
        self.metered(label, value, None, write, note)
    }

    fn metered(
        &self,
        label: Cow<'static, str>,
        value: Value,
        meter: Option<Meter>,
        write: impl FnOnce(f64) -> String,
        note: Cow<'static, str>,
    ) -> Row {
        let t = self.look.text;
        let (shown, note, role) = match value.reading {
            Ok(number) if value.age_s > 0.0 => (
                write(number),
                t.chrome_age(format_span(value.age_s)).into_owned(),
                Role::Muted,
            ),
            Ok(number) => (write(number), note.into_owned(), Role::Text),
            Err(why) => (
                self.look.glyph(Glyph::Absent).to_owned(),
                self.never_told(why, meter)
                    .unwrap_or_else(|| self.reason(why)),
                Role::Faint,
            ),
        };
        Row::Value {
            label: label.into_owned(),
            value: shown,
            note,
            role,
        }
    }

    /// That the vendor's interface, not this device, lacks a meter.
    fn never_told(&self, why: Absent, meter: Option<Meter>) -> Option<String> {
        let (interface, why_not) = VendorMeters::why_not(self.view.device.vendor, meter?)?;
        // What nobody asked for was not reported; all else is the interface's only where it says so itself.
        let why = match (why_not, why) {
            (_, Absent::NotSupported) | (WhyNot::OnRequest(_), Absent::NotReported) => why_not,
            _ => return None,
        };
        Some(words::why_not(interface, why, self.look.text).into_owned())
    }

    /// Why there is no value; since when, where a call hangs.
    pub(super) fn reason(&self, why: Absent) -> String {
        let t = self.look.text;
        let word = words::absent(why, t);
        match self.view.silent {
            Some((_, since)) if matches!(why, Absent::TimedOut | Absent::Lost | Absent::Stale) => t
                .state_absent_since(word, format_span(self.picture.mono.seconds_since(since)))
                .into_owned(),
            _ => word.into_owned(),
        }
    }

    pub(super) fn figure(
        &self,
        label: Cow<'static, str>,
        figure: Figure,
        write: impl FnOnce(f64) -> String,
        note: Cow<'static, str>,
    ) -> Row {
        let value = self.view.figures.get(figure);
        self.metered(label, value, Meter::of_figure(figure), write, note)
    }

    pub(super) fn metric(&self, label: Cow<'static, str>, metric: Metric) -> Row {
        let value = Value {
            reading: self.view.readings.get(metric),
            age_s: 0.0,
        };
        self.metered(
            label,
            value,
            Meter::of_metric(metric),
            |n| self.write(n, metric.unit()),
            Cow::Borrowed(""),
        )
    }

    /// A switch in words.
    pub(super) fn switch(&self, label: Cow<'static, str>, metric: Metric) -> Row {
        let t = self.look.text;
        let reading = self.view.readings.get(metric);
        self.text(
            label,
            reading.map(|on| {
                if on > 0.0 {
                    t.state_on()
                } else {
                    t.state_off()
                }
                .into_owned()
            }),
        )
    }

    pub(super) fn write(&self, number: f64, unit: Unit) -> String {
        let celsius = self.look.glyph(Glyph::Celsius);
        match unit {
            Unit::Watt => format!("{number:.0} W"),
            Unit::Joule => format!("{:.3} kWh", number / 3.6e6),
            Unit::Celsius => format!("{number:.0} {celsius}"),
            Unit::Megahertz => format!("{number:.0} MHz"),
            Unit::Ratio => Ratio(number).to_string(),
            Unit::Byte => Bytes(number).to_string(),
            Unit::BytePerSecond => BytesPerSecond(number).to_string(),
            Unit::Second => format_span(number),
            Unit::Count => format!("{number:.0}"),
            Unit::Bits => format!("{:#x}", number as u64),
        }
    }

    pub(super) fn text(&self, label: Cow<'static, str>, reading: Result<String, Absent>) -> Row {
        let (value, note, role) = match reading {
            Ok(text) => (text, String::new(), Role::Text),
            Err(why) => (
                self.look.glyph(Glyph::Absent).to_owned(),
                self.reason(why),
                Role::Faint,
            ),
        };
        Row::Value {
            label: label.into_owned(),
            value,
            note,
            role,
        }
    }
}
