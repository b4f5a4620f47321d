//! PCIe and NVLink in the device view.

use super::super::table::only_the_sum;
use super::rows::{Page, Row, Section};
use crate::model::{Absent, Figure, Metric};
use crate::ui::glyphs::Glyph;
use crate::ui::theme::Role;
use crate::units::{BytesPerSecond, Ratio};
use std::borrow::Cow;

/// The place of the row that devices have which do not tell the directions apart.
const BOTH_WAYS: usize = 4;

impl Page<'_> {
    pub(super) fn pcie(&self) -> Section {
        let t = self.look.text;
        let rate = |r: f64| BytesPerSecond(r).to_string();
        let get = |figure| self.view.figures.get(figure);
        let of = |figure: Figure| {
            get(figure)
                .ok()
                .map_or(Cow::Borrowed(""), |n| t.device_of_most(format!("{n:.0}")))
        };
        let share = |figure| {
            get(figure)
                .ok()
                .map_or(Cow::Borrowed(""), |r| Cow::Owned(Ratio(r).to_string()))
        };
        let whole = |n: f64| format!("{n:.0}");
        let none = || Cow::Borrowed("");
        let mut rows = vec![
            self.figure(
                t.device_generation(),
                Figure::PcieGeneration,
                whole,
                of(Figure::PcieGenerationMax),
            ),
            self.figure(
                t.device_width(),
                Figure::PcieWidth,
                |w| format!("x{w:.0}"),
                of(Figure::PcieWidthMax),
            ),
            self.figure(
                t.device_received(),
                Figure::PcieRx,
                rate,
                share(Figure::PcieRxSaturation),
            ),
            self.figure(
                t.device_sent(),
                Figure::PcieTx,
                rate,
                share(Figure::PcieTxSaturation),
            ),
            self.figure(
                t.device_both_ways(self.look.glyph(Glyph::Sum)),
                Figure::PcieBoth,
                rate,
                share(Figure::PcieBothSaturation),
            ),
            self.figure(t.device_usable(), Figure::PcieUsable, rate, none()),
            self.figure(t.device_replays(), Figure::PcieReplays, whole, none()),
            self.text(
                t.device_pcie_errors(),
                self.counts(&[
                    Metric::PcieCorrectable,
                    Metric::PcieNonFatal,
                    Metric::PcieFatal,
                ]),
            ),
            self.text(
                t.device_method(),
                self.view
                    .pcie_method
                    .map(str::to_owned)
                    .ok_or(Absent::NotReported),
            ),
        ];
        if !only_the_sum(self.view) {
            rows.remove(BOTH_WAYS);
        }
        if self.view.path.hops.is_empty() {
            rows.push(Row::Text(t.device_path_unknown().into_owned(), Role::Muted));
        } else {
            rows.push(Row::Text(t.device_path().into_owned(), Role::Muted));
        }
        let number = |n: Option<u8>| n.map_or("?".to_owned(), |n| n.to_string());
        for (depth, hop) in self.view.path.hops.iter().enumerate() {
            let narrow = matches!((hop.width, hop.width_max), (Some(w), Some(max)) if w < max)
                && !hop.emulated;
            let branch = if depth == 0 {
                String::new()
            } else {
                format!(
                    "{}{} ",
                    " ".repeat(depth - 1),
                    self.look.glyph(Glyph::Branch)
                )
            };
            let emulated = if hop.emulated {
                format!("  {}", t.device_emulated())
            } else {
                String::new()
            };
            let text = format!(
                "{branch}{}  {} x{} / {} x{}{emulated}",
                hop.address,
                number(hop.generation),
                number(hop.width),
                number(hop.generation_max),
                number(hop.width_max)
            );
            rows.push(Row::Text(
                text,
                if narrow { Role::Warn } else { Role::Text },
            ));
        }
        self.section(t.device_section_pcie(), rows)
    }

    pub(super) fn nvlink(&self) -> Section {
        let t = self.look.text;
        let rate = |r: f64| BytesPerSecond(r).to_string();
        let none = || Cow::Borrowed("");
        let get = |figure| self.view.figures.get(figure);
        let up = match (
            get(Figure::NvlinkUp).reading,
            get(Figure::NvlinkLinks).reading,
        ) {
            (Ok(up), Ok(links)) => Ok(t
                .device_links_up(format!("{up:.0}"), format!("{links:.0}"))
                .into_owned()),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        let mut rows = vec![self.text(t.overview_link(), up)];
        if get(Figure::NvlinkLinks).reading.is_ok() {
            rows.push(self.figure(t.device_nvlink_in(), Figure::NvlinkRx, rate, none()));
            rows.push(self.figure(t.device_nvlink_out(), Figure::NvlinkTx, rate, none()));
            rows.push(self.figure(t.device_usable(), Figure::NvlinkPlate, rate, none()));
            rows.push(self.metric(t.device_nvlink_errors(), Metric::NvlinkErrors));
        }
        self.section(t.device_section_nvlink(), rows)
    }
}
