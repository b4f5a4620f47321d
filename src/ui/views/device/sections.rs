//! The sections of the device view, as rows.

use super::rows::{Page, Row, Section};
use crate::app::{verdicts, words};
use crate::model::{
    Absent, DeviceKind, DeviceView, FIRMWARE_RANGE, Figure, Metric, ProcessView, Reading,
    ShareKind, Snapshot, Unit, Value, environment_facts,
};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::wrap;
use crate::ui::theme::Role;
use crate::units::{Bytes, Ratio, format_span};
use std::borrow::Cow;

/// Title and all that is known, over the whole width.
pub(super) fn head(view: &DeviceView, look: &Look, width: u16) -> Vec<Row> {
    let t = look.text;
    let mut rows = vec![Row::Title(
        t.device_title(view.device.index, &*view.device.name)
            .into_owned(),
    )];
    for (level, sentence) in verdicts::lines(view, t, look.signs()) {
        let role = Look::role_of_level(level);
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
    let mut sections = vec![
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
    ];
    sections.extend(page.environment());
    sections.extend(page.gap());
    sections.push(page.processes());
    sections
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
        // What stands around the device has a section of its own.
        let around = environment_facts(device.vendor);
        let own = |name: &str| !around.contains(&name) && name != FIRMWARE_RANGE;
        for (name, value) in device.details.iter().filter(|(name, _)| own(name)) {
            rows.push(self.text(detail(name, t), Ok(written(name, value))));
        }
        if device.unified_memory {
            rows.push(Row::Text(t.device_unified().into_owned(), Role::Muted));
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
            _ if view.device.virtual_share => t.device_scope_card(),
            "module" => t.device_scope_module(),
            "board" => t.device_scope_board(),
            _ => t.device_scope_gpu(),
        };
        let watts = |w: f64| format!("{w:.0} W");
        let plate_source = match view.plate_power_source {
            Some("driver_default") => t.device_plate_source_driver(),
            Some("driver_rated") => t.device_plate_source_driver_rated(),
            Some("table") => match view.plate_unverified {
                true => t.device_plate_source_table_unverified(),
                false => t.device_plate_source_table(),
            },
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
        let energy_scope = match readings.get(Metric::ModulePower) {
            Ok(_) => t.device_scope_module(),
            Err(_) => Cow::Borrowed(""),
        };
        let energy = Value {
            reading: readings.get(Metric::Energy),
            age_s: 0.0,
        };
        let mut rows = vec![
            self.figure(
                t.device_draw(),
                Figure::Power,
                |w| format!("{w:.1} W"),
                Cow::Owned(format!("{kind}, {scope}")),
            ),
            self.figure(t.device_limit_enforced(), Figure::PowerLimit, watts, range),
            self.metric(t.device_limit_requested(), Metric::LimitRequested),
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
            self.value(
                t.device_energy(),
                energy,
                |joules| self.write(joules, Unit::Joule),
                energy_scope,
            ),
        ];
        // The other kind of draw, where the one above is an average; the module's, where there is one.
        if view.power_kind == "average" {
            rows.insert(
                1,
                self.metric(t.device_draw_instant(), Metric::PowerInstant),
            );
        }
        if view.power_scope != "module" && readings.get(Metric::ModulePower).is_ok() {
            let limit = readings
                .get(Metric::ModuleLimit)
                .map_or(Cow::Borrowed(""), |w| t.device_of_most(watts(w)));
            let module = Value {
                reading: readings.get(Metric::ModulePower),
                age_s: 0.0,
            };
            rows.push(self.value(t.device_module(), module, watts, limit));
        }
        rows.extend(self.board_draw());
        self.section(t.device_section_power(), rows)
    }

    /// The draw of a board of several devices, where they do not each tell their own, and with whom it is shared.
    fn board_draw(&self) -> Option<Row> {
        let t = self.look.text;
        let device = &self.view.device;
        let mut boards = self.picture.boards.iter();
        let board = boards.find(|board| board.id == device.board)?;
        let others = self.picture.devices.iter().filter(|other| {
            other.device.board == device.board
                && other.device.id != device.id
                && other.device.kind == DeviceKind::Device
        });
        let others: Vec<String> = others.map(|other| other.device.index.to_string()).collect();
        if self.view.power_scope != "board" || others.is_empty() {
            return None;
        }
        let shared = t.device_shared_with(others.join(", "));
        let watts = |w: f64| format!("{w:.1} W");
        Some(self.value(t.device_board_draw(), board.power_w, watts, shared))
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
        let mut rows = vec![
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
                t.device_time_band(),
            ),
            self.metric(t.device_fan(), Metric::Fan),
        ];
        for (label, absolute, relative) in [
            (
                t.device_gpu_max(),
                Metric::ThresholdGpuMax,
                Metric::MarginGpuMax,
            ),
            (
                t.device_memory_max(),
                Metric::ThresholdMemoryMax,
                Metric::MarginMemoryMax,
            ),
            (
                t.device_slowdown(),
                Metric::ThresholdSlowdown,
                Metric::MarginSlowdown,
            ),
            (
                t.device_shutdown(),
                Metric::ThresholdShutdown,
                Metric::MarginShutdown,
            ),
        ] {
            rows.push(self.threshold(label, absolute, relative));
        }
        self.section(t.device_section_heat(), rows)
    }

    /// A threshold in degrees where the device has it so, else as the margin at which it lies.
    fn threshold(&self, label: Cow<'static, str>, absolute: Metric, relative: Metric) -> Row {
        let readings = &self.view.readings;
        match (readings.get(absolute), readings.get(relative)) {
            (Err(_), Ok(margin)) => self.text(
                label,
                Ok(self
                    .look
                    .text
                    .device_at_margin(self.write(margin, Unit::Celsius))
                    .into_owned()),
            ),
            _ => self.metric(label, absolute),
        }
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
            self.metric(
                t.device_clock_application_memory(),
                Metric::ApplicationMemoryClock,
            ),
            self.text(
                t.device_performance_state(),
                self.view
                    .readings
                    .get(Metric::PerformanceState)
                    .map(|state| format!("P{state:.0}")),
            ),
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
                            let words = reasons.iter().map(|name| words::throttle(name, t));
                            words.collect::<Vec<_>>().join(", ")
                        }
                    }),
            ),
        ];
        for (name, seconds) in self.view.throttle_seconds.iter().filter(|(_, s)| *s > 0.0) {
            rows.push(self.text(
                t.device_throttle_seconds(),
                Ok(format!(
                    "{} {}",
                    words::throttle(name, t),
                    format_span(*seconds)
                )),
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
        let whose = match self.view.device.virtual_share {
            true => t.device_scope_card(),
            false => none(),
        };
        let rows = vec![
            self.figure(t.device_work(), Figure::Work, share, source),
            self.figure(t.device_utilization(), Figure::Utilization, share, whose),
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
        let device = &self.view.device;
        let total = self.view.figures.get(Figure::MemoryTotal).ok();
        let whose = || match () {
            () if !device.virtual_share => none(),
            () if device.memory_is_the_cards(total) => t.device_scope_card(),
            () => t.device_scope_share(),
        };
        let rows = vec![
            self.figure(t.device_memory_used(), Figure::MemoryUsed, bytes, whose()),
            self.figure(t.device_memory_total(), Figure::MemoryTotal, bytes, whose()),
            self.metric(t.device_memory_reserved(), Metric::MemoryReserved),
            self.value(
                t.device_bar1(),
                Value {
                    reading: self.view.readings.get(Metric::Bar1Used),
                    age_s: 0.0,
                },
                bytes,
                self.view
                    .readings
                    .get(Metric::Bar1Total)
                    .map_or_else(|_| none(), |total| t.device_of_most(Bytes(total))),
            ),
        ];
        self.section(t.device_section_memory(), rows)
    }

    fn health(&self) -> Section {
        let t = self.look.text;
        let whole = |n: f64| format!("{n:.0}");
        let xid = self
            .view
            .xid
            .map(|(code, at)| format!("{code}  {at:.0}"))
            .ok_or(Absent::NotReported);
        let mut rows = vec![
            self.figure(
                t.device_ecc(),
                Figure::EccUncorrected,
                whole,
                Cow::Borrowed(""),
            ),
            self.metric(t.device_ecc_corrected(), Metric::EccCorrected),
            self.switch(t.device_ecc_mode(), Metric::EccEnabled),
            self.text(
                t.device_remapped_rows(),
                self.counts(&[Metric::RemapCorrectable, Metric::RemapUncorrectable]),
            ),
            self.text(
                t.device_remap_pending(),
                self.counts(&[Metric::RemapPending, Metric::RemapFailure]),
            ),
            self.metric(t.device_retired_pages(), Metric::RetiredPages),
            self.metric(t.device_retired_pending(), Metric::RetiredPending),
            self.text(
                t.device_recovery_action(),
                self.view
                    .readings
                    .get(Metric::RecoveryAction)
                    .map(|action| words::recovery(action as u32, t).into_owned()),
            ),
            self.text(t.device_last_xid(), xid),
        ];
        // Few vendors have a judgement of their own.
        let judged = self.view.readings.get(Metric::Health);
        if !matches!(judged, Err(Absent::NotReported | Absent::NotSupported)) {
            let judged = judged.map(|level| words::health(level, t).into_owned());
            rows.insert(0, self.text(t.device_vendors_health(), judged));
        }
        self.section(t.device_section_health(), rows)
    }

    /// Several counts in one line; absent where none of them is there.
    pub(super) fn counts(&self, metrics: &[Metric]) -> Result<String, Absent> {
        let readings = metrics.iter().map(|m| self.view.readings.get(*m));
        let (mut known, mut why) = (false, Absent::NotReported);
        let shown: Vec<String> = readings
            .map(|reading| match reading {
                Ok(number) => {
                    known = true;
                    format!("{number:.0}")
                }
                Err(absent) => {
                    why = absent;
                    self.look.glyph(Glyph::Absent).to_owned()
                }
            })
            .collect();
        if known {
            Ok(shown.join(" / "))
        } else {
            Err(why)
        }
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

/// The label of one of the facts that a probe adds to a device's identity.
pub(super) fn detail(name: &str, t: crate::text::Catalogue) -> Cow<'static, str> {
    match name {
        "driver" => t.device_driver(),
        "architecture" => t.device_architecture(),
        "compute_capability" => t.device_compute_capability(),
        "cuda" => t.device_cuda(),
        "kernel" => t.device_kernel(),
        "distribution" => t.device_distribution(),
        "firmware" => t.device_firmware(),
        "cann" => t.device_cann(),
        "rocm" => t.device_rocm(),
        "serial" => t.device_serial(),
        "part_number" => t.device_part_number(),
        "vbios" => t.device_vbios(),
        "virtualization" => t.device_virtualization(),
        ShareKind::DETAIL => t.device_share(),
        ShareKind::MEMORY => t.device_share_memory(),
        ShareKind::RATIO => t.device_share_part(),
        ShareKind::TIME => t.device_share_time(),
        other => Cow::Owned(other.to_owned()),
    }
}

/// One of those facts as it is shown: numbers with their units, all else as it is.
fn written(name: &str, value: &str) -> String {
    let number = value.parse::<f64>().ok();
    match (name, number) {
        (ShareKind::DETAIL, _) => ShareKind::of_word(value)
            .map_or_else(|| value.to_owned(), |kind| kind.title().to_owned()),
        (ShareKind::MEMORY, Some(bytes)) => Bytes(bytes).to_string(),
        (ShareKind::RATIO | ShareKind::TIME, Some(ratio)) => Ratio(ratio).to_string(),
        _ => value.to_owned(),
    }
}
