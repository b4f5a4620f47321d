//! The last time in which the device was not observed, and what its counters tell of it: evidence, never a phase.

use super::rows::{Page, Row, Section};
use crate::app::{Gap, words};
use crate::ui::theme::Role;
use crate::units::{Bytes, format_span};
use std::borrow::Cow;

impl Page<'_> {
    /// `None` where there was no such time.
    pub(super) fn gap(&self) -> Option<Section> {
        let t = self.look.text;
        let gap = Gap::last(self.picture, &self.view.device.id)?;
        let row = |label: Cow<'static, str>, value: String, note: Cow<'static, str>| Row::Value {
            label: label.into_owned(),
            value,
            note: note.into_owned(),
            role: Role::Text,
        };
        let none = || Cow::Borrowed("");
        let until = t.device_gap_until(self.look.time(gap.until, "%F %H:%M:%S"));
        let span = gap.seconds.map_or_else(String::new, format_span);
        let mut rows = vec![row(t.device_gap_span(), span, until)];
        if let Some(watts) = gap.mean_power_w {
            let note = t.device_gap_from_energy();
            rows.push(row(t.device_gap_power(), format!("{watts:.0} W"), note));
        }
        for (reason, seconds) in &gap.reasons_s {
            rows.push(row(
                words::throttle(reason, t),
                format_span(*seconds),
                none(),
            ));
        }
        for (label, bytes) in [
            (t.device_received(), gap.pcie_rx_bytes),
            (t.device_sent(), gap.pcie_tx_bytes),
        ] {
            if let Some(bytes) = bytes {
                rows.push(row(label, Bytes(bytes).to_string(), none()));
            }
        }
        if rows.len() == 1 {
            rows.push(Row::Text(t.device_gap_nothing().into_owned(), Role::Muted));
        }
        Some(self.section(t.device_section_gap(), rows))
    }
}
