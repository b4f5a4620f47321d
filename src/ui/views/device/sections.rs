//! The sections of the device view, as rows.

use super::rows::{Page, Row, Section};
use crate::app::words;
use crate::model::{
    Absent, DeviceView, Figure, Metric, ProcessView, Reading, Snapshot, Unit, Value,
};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::wrap;
use crate::ui::theme::Role;
use crate::units::{Bytes, BytesPerSecond, Ratio, format_span};
use std::borrow::Cow;

/// Title and all that is known, over the whole width.
pub(super) fn head(view: &DeviceView, look: &Look, width: u16) -> Vec<Row> {
    let t = look.text;
    let mut rows = vec![Row::Title(
        t.device_title(view.device.index, &*view.device.name)
            .into_owned(),
    )];
    for known in &view.known {
        let sentence = words::known(&known.kind, t, look.signs());
        let role = Look::role_of_level(known.level);
        rows.extend(
            wrap(&sentence, width)
                .into_iter()
                .map(|line| Row::Text(line, role)),
        );
    }
    rows.push(Row::Blank);
    rows
}

/// All sections of a device.
pub(super) fn of(picture: &Snapshot, view: &DeviceView, look: &Look) -> Vec<Section> {
    let page = Page {
        picture,
        view,
        look,
    };
    vec![
        page.identity(),
        page.power(),
        page.heat(),
        page.clocks(),
        page.work(),
        page.memory(),
        page.pcie(),
        page.nvlink(),
        page.health(),
        page.phases(),
        page.processes(),
    ]
}

impl Page<'_> {
    fn identity(&self) -> Section {
        let t = self.look.text;
        let device = &self.view.device;
        let string = |r: &Reading<std::sync::Arc<str>>| {
            r.as_ref().map(ToString::to_string).map_err(|why| *why)
        };
        let mut rows = vec![
            self.text(t.device_uuid(), string(&device.uuid)),
            self.text(
                t.device_pci_address(),
                device.pci_address.map(|a| a.to_string()),
            ),
            self.text(t.device_driver(), string(&device.driver)),
        ];
        if *device.board.0 != *device.id.0 {
            rows.push(self.text(t.device_board(), Ok(device.board.to_string())));
        }
        if let Some(parent) = &device.parent {
            rows.push(self.text(t.device_parent(), Ok(parent.to_string())));
        }
        for (name, value) in &device.details {
            rows.push(self.text(Cow::Owned(name.to_string()), Ok(value.to_string())));
        }
        rows.push(self.switch(t.device_persistence(), Metric::Persistence));
        rows.push(self.switch(t.device_mig(), Metric::MigEnabled));
        self.section(t.device_section_identity(), rows)
    }

    fn power(&self) -> Section {
        let t = self.look.text;
        let view = self.view;
        let kind = match view.power_kind {
            "average" => t.device_draw_kind_average(),
            "instant" => t.device_draw_kind_instant(),
            _ => t.device_draw_kind_unknown(),
        };
        let scope = match view.power_scope {
            "module" => t.device_scope_module(),
            "board" => t.device_scope_board(),
            _ => t.device_scope_gpu(),
        };
        let watts = |w: f64| format!("{w:.0} W");
        let plate_source = match view.plate_power_source {
            Some("driver_default") => t.device_plate_source_driver(),
            Some("table") => t.device_plate_source_table(),
            Some(_) => t.device_plate_source_config(),
            None => Cow::Borrowed(""),
        };
        let rated = view
            .rated_power_source
            .as_ref()
            // The first of the row's sources is the power's; the others are of further columns.
            .and_then(|source| source.split(';').next())
            .map_or(String::new(), str::to_owned);
        let readings = &view.readings;
        let range = match (
            readings.get(Metric::LimitMin),
            readings.get(Metric::LimitMax),
        ) {
            (Ok(low), Ok(high)) => t.device_limit_range(watts(low), watts(high)),
            _ => Cow::Borrowed(""),
        };
        let rows = vec![
            self.figure(
                t.device_draw(),
                Figure::Power,
                |w| format!("{w:.1} W"),
                Cow::Owned(format!("{kind}, {scope}")),
            ),
            self.figure(t.device_limit_enforced(), Figure::PowerLimit, watts, range),
            self.figure(t.overview_plate(), Figure::PlatePower, watts, plate_source),
            self.figure(
                t.device_rated(),
                Figure::RatedPower,
                watts,
                Cow::Owned(rated),
            ),
            self.figure(
                t.overview_of_plate(),
                Figure::PowerRatio,
                |r| Ratio(r).to_string(),
                Cow::Borrowed(""),
            ),
            self.metric(t.device_energy(), Metric::Energy),
        ];
        self.section(t.device_section_power(), rows)
    }

    fn heat(&self) -> Section {
        let t = self.look.text;
        let source = match self.view.headroom_source {
            Some("margin") => t.device_headroom_source_margin(),
            Some("threshold") => t.device_headroom_source_threshold(),
            Some(_) => t.device_headroom_source_table(),
            None => Cow::Borrowed(""),
        };
        let degrees = |c: f64| self.write(c, Unit::Celsius);
        let rows = vec![
            self.figure(
                t.device_temperature(),
                Figure::Temperature,
                degrees,
                Cow::Borrowed(""),
            ),
            self.figure(
                t.device_memory_temperature(),
                Figure::MemoryTemperature,
                degrees,
                Cow::Borrowed(""),
            ),
            self.figure(t.device_headroom(), Figure::Headroom, degrees, source),
            self.figure(
                t.device_time_to_throttle(),
                Figure::TimeToThrottle,
                format_span,
                Cow::Borrowed(""),
            ),
            self.metric(t.device_slowdown(), Metric::ThresholdSlowdown),
            self.metric(t.device_shutdown(), Metric::ThresholdShutdown),
            self.metric(t.device_fan(), Metric::Fan),
        ];
        self.section(t.device_section_heat(), rows)
    }

    fn clocks(&self) -> Section {
        let t = self.look.text;
        let max = |metric| {
            self.view
                .readings
                .get(metric)
                .map_or(Cow::Borrowed(""), |m| {
                    t.device_of_most(format!("{m:.0} MHz"))
                })
        };
        let megahertz = |m: f64| format!("{m:.0} MHz");
        let get = |metric| Value {
            reading: self.view.readings.get(metric),
            age_s: 0.0,
        };
        let mut rows = vec![
            self.figure(
                t.device_clock_sm(),
                Figure::Clock,
                megahertz,
                max(Metric::SmClockMax),
            ),
            self.value(
                t.device_clock_memory(),
                get(Metric::MemoryClock),
                megahertz,
                max(Metric::MemoryClockMax),
            ),
            self.metric(t.device_clock_application(), Metric::ApplicationClock),
            self.text(
                t.device_throttle_reasons(),
                self.view
                    .throttle
                    .as_ref()
                    .map_err(|why| *why)
                    .map(|reasons| {
                        if reasons.is_empty() {
                            t.state_no_throttle().into_owned()
                        } else {
                            reasons.join(", ")
                        }
                    }),
            ),
        ];
        for (name, seconds) in self.view.throttle_seconds.iter().filter(|(_, s)| *s > 0.0) {
            rows.push(self.text(
                t.device_throttle_seconds(),
                Ok(format!("{name} {}", format_span(*seconds))),
            ));
        }
        self.section(t.device_section_clocks(), rows)
    }

    fn work(&self) -> Section {
        let t = self.look.text;
        let source = match self.view.work_ratio_source {
            Some("gpm") => t.device_work_source_gpm(),
            Some("power_span") => t.device_work_source_power_span(),
            Some(_) => t.device_work_source_estimated(),
            None => Cow::Borrowed(""),
        };
        let share = |r: f64| Ratio(r).to_string();
        let none = || Cow::Borrowed("");
        let rows = vec![
            self.figure(t.device_work(), Figure::Work, share, source),
            self.figure(t.device_utilization(), Figure::Utilization, share, none()),
            self.figure(
                t.device_memory_activity(),
                Figure::MemoryActivity,
                share,
                none(),
            ),
            self.figure(t.device_sm_active(), Figure::SmActive, share, none()),
            self.metric(t.device_occupancy(), Metric::SmOccupancy),
            self.figure(
                t.device_tensor_active(),
                Figure::TensorActive,
                share,
                none(),
            ),
            self.figure(t.device_dram_active(), Figure::DramActive, share, none()),
        ];
        self.section(t.device_section_work(), rows)
    }

    fn memory(&self) -> Section {
        let t = self.look.text;
        let bytes = |b: f64| Bytes(b).to_string();
        let none = || Cow::Borrowed("");
        let rows = vec![
            self.figure(t.device_memory_used(), Figure::MemoryUsed, bytes, none()),
            self.figure(t.device_memory_total(), Figure::MemoryTotal, bytes, none()),
            self.metric(t.device_memory_reserved(), Metric::MemoryReserved),
            self.metric(t.device_bar1(), Metric::Bar1Used),
        ];
        self.section(t.device_section_memory(), rows)
    }

    fn pcie(&self) -> Section {
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
            self.figure(t.device_usable(), Figure::PcieUsable, rate, none()),
            self.figure(t.device_replays(), Figure::PcieReplays, whole, none()),
            self.text(
                t.device_method(),
                self.view
                    .pcie_method
                    .map(str::to_owned)
                    .ok_or(Absent::NotReported),
            ),
        ];
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

    fn nvlink(&self) -> Section {
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

    fn health(&self) -> Section {
        let t = self.look.text;
        let whole = |n: f64| format!("{n:.0}");
        let xid = self
            .view
            .xid
            .map(|(code, at)| format!("{code}  {at:.0}"))
            .ok_or(Absent::NotReported);
        let rows = vec![
            self.figure(
                t.device_ecc(),
                Figure::EccUncorrected,
                whole,
                Cow::Borrowed(""),
            ),
            self.metric(t.device_remapped_rows(), Metric::RemapUncorrectable),
            self.metric(t.device_retired_pages(), Metric::RetiredPages),
            self.text(
                t.device_recovery_action(),
                self.view
                    .readings
                    .get(Metric::RecoveryAction)
                    .map(|action| words::recovery(action as u32, t).into_owned()),
            ),
            self.text(t.device_last_xid(), xid),
        ];
        self.section(t.device_section_health(), rows)
    }

    fn phases(&self) -> Section {
        let t = self.look.text;
        let rows = crate::model::Phase::ALL
            .iter()
            .map(|phase| {
                let label = crate::ui::views::meter::phase_word(*phase, t);
                let seconds = match phase {
                    crate::model::Phase::IoWait => {
                        self.view.phase_seconds.io_wait.ok_or(Absent::NotReported)
                    }
                    other => Ok(self.view.phase_seconds.get(*other)),
                };
                self.text(label, seconds.map(format_span))
            })
            .collect();
        self.section(t.overview_phase(), rows)
    }

    fn processes(&self) -> Section {
        let t = self.look.text;
        let rows = match &self.view.processes {
            Err(why) => vec![Row::Text(self.reason(*why), Role::Muted)],
            Ok(list) if list.is_empty() => {
                vec![Row::Text(t.device_no_processes().into_owned(), Role::Muted)]
            }
            Ok(list) => list.iter().map(|p| self.process(p)).collect(),
        };
        self.section(t.device_section_processes(), rows)
    }

    fn process(&self, process: &ProcessView) -> Row {
        let t = self.look.text;
        let pid = process.device.pid;
        let memory = process
            .device
            .memory_bytes
            .map_or_else(|_| String::new(), |b| format!("  {}", Bytes(b)));
        let share = process
            .device
            .utilization_ratio
            .map_or_else(|_| String::new(), |r| format!("  {}", Ratio(r)));
        let name = match &process.host {
            Some(host) if !host.foreign => {
                let name = host.name.as_ref().map_or("?", |n| n);
                let state = host.state.map_or(String::new(), |s| format!("  {s}"));
                let user = host
                    .user
                    .as_ref()
                    .map_or(String::new(), |u| format!("  {u}"));
                format!("{}{user}{state}", t.device_process(pid, name))
            }
            Some(_) => t.device_process_foreign(pid).into_owned(),
            None => t
                .device_process(pid, self.look.glyph(Glyph::Absent))
                .into_owned(),
        };
        Row::Text(format!("{name}{memory}{share}"), Role::Text)
    }
}
