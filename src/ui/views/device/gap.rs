//! The last time in which the device was not observed, and what its counters tell of it: evidence, never a phase.

use super::rows::{Page, Row, Section};
use crate::app::words;
use crate::model::{Event, EventKind};
use crate::ui::theme::Role;
use crate::units::{Bytes, format_span};

impl Page<'_> {
    /// `None` where there was no such time.
    pub(super) fn gap(&self) -> Option<Section> {
        let t = self.look.text;
        let mine = |event: &&Event| {
            event.kind == EventKind::Gap && event.device.as_ref() == Some(&self.view.device.id)
        };
        let event = self.picture.events.iter().rev().find(mine)?;
        let number = |name: &str| -> Option<f64> {
            let (_, value) = event.data.iter().find(|(known, _)| &**known == name)?;
            value.parse().ok().filter(|number: &f64| number.is_finite())
        };
        let row = |label: std::borrow::Cow<'static, str>, value: String, note: String| Row::Value {
            label: label.into_owned(),
            value,
            note,
            role: Role::Text,
        };
        let until = t.device_gap_until(self.look.time(event.at, "%F %H:%M:%S"));
        let mut rows = vec![row(
            t.device_gap_span(),
            number("seconds").map_or_else(String::new, format_span),
            until.into_owned(),
        )];
        if let Some(watts) = number("mean_power_w") {
            let note = t.device_gap_from_energy().into_owned();
            rows.push(row(t.device_gap_power(), format!("{watts:.0} W"), note));
        }
        for (name, value) in &event.data {
            let reason = name.strip_suffix("_s").filter(|reason| *reason != "second");
            let seconds = value.parse::<f64>().ok();
            if let (Some(reason), Some(seconds)) = (reason, seconds) {
                rows.push(row(
                    words::throttle(reason, t),
                    format_span(seconds),
                    String::new(),
                ));
            }
        }
        for (label, name) in [
            (t.device_received(), "pcie_rx_bytes"),
            (t.device_sent(), "pcie_tx_bytes"),
        ] {
            if let Some(bytes) = number(name) {
                rows.push(row(label, Bytes(bytes).to_string(), String::new()));
            }
        }
        if rows.len() == 1 {
            rows.push(Row::Text(t.device_gap_nothing().into_owned(), Role::Muted));
        }
        Some(self.section(t.device_section_gap(), rows))
    }
}
