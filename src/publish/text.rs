//! A snapshot as plain text, for a pipe or a mail:
//!
//! ```text
//! gpu-7f3, 2026-03-01T12:04:33.000Z  live  every 1 s
//!
//!   #  device            W plate  head pcie v     ^  util  work    mem  state
//!   0  H100 80GB HBM3  612   87%   28C     3%    1%   98%   71%  61.0G  working
//!
//!   0  Nothing wrong is known: link, limit, throttle reasons, memory and start-up are as the plate says.
//!
//! cpu 34 %  load 3.20  memory 61.0 GiB of 503 GiB
//! $865.90 so far at $23.92/h  compute 33h 12m  idle 3h 00m
//! ```

use super::Words;
use super::number::timestamp;
use crate::model::{
    Cost, DeviceView, ExtraKind, Figure, FlappingKind, Phase, PriceSource, ProbeHint, ProbeReport,
    ProbeStatus, Snapshot, SourceKind,
};
use crate::text::{Catalogue, clean, clean_width};
use crate::units::{Bytes, BytesPerSecond, Currency, Money, Ratio, format_span};
use rust_decimal::Decimal;
use unicode_width::UnicodeWidthStr as _;

/// How the text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns that a line may have.
    pub width: usize,
    /// Only ASCII characters.
    pub ascii: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            width: 80,
            ascii: false,
        }
    }
}

/// What stands where a value is not there.
pub(super) const ABSENT: &str = "--";

/// The snapshot as text in the language of the catalogue; no line is wider than the options say.
#[must_use]
pub fn snapshot_text(
    snapshot: &Snapshot,
    words: &dyn Words,
    t: &Catalogue,
    options: TextOptions,
) -> String {
    let mut page = Page::new(options);
    banner(&mut page, snapshot, t);
    page.flow("", &header(snapshot, t));
    if !snapshot.devices.is_empty() {
        page.line("");
        page.line(&titles(t, options.ascii));
        for view in &snapshot.devices {
            page.line(&row(&snapshot.number(view), view, words, options.ascii));
        }
        page.line("");
        for view in &snapshot.devices {
            let number = format!("{:>3}  ", snapshot.number(view));
            page.wrap(&number, &words.verdict(view));
        }
    } else {
        page.line("");
        page.line(&t.probe_none_title());
    }
    page.line("");
    around(&mut page, snapshot, words, t, options.ascii);
    page.text
}

/// What stands around the devices: probes that have something to say, the host, the platform and the meter.
pub(super) fn around(
    page: &mut Page,
    snapshot: &Snapshot,
    words: &dyn Words,
    t: &Catalogue,
    ascii: bool,
) {
    for probe in &snapshot.probes {
        if is_news(probe, snapshot) {
            probe_lines(page, probe, words, t);
        }
    }
    page.flow("", &host(snapshot, t));
    if let Some(platform) = &snapshot.platform {
        page.flow("", &words.platform(platform, snapshot.at));
    }
    if let Some(cost) = &snapshot.cost {
        page.flow("", &meter(cost, t, ascii));
        let outlook = outlook(snapshot, cost, t, ascii);
        if !outlook.is_empty() {
            page.flow("", &outlook);
        }
    }
}

/// Lines that fit.
pub(super) struct Page {
    options: TextOptions,
    text: String,
}

impl Page {
    pub(super) const fn new(options: TextOptions) -> Self {
        Self {
            options,
            text: String::new(),
        }
    }

    pub(super) const fn is_ascii(&self) -> bool {
        self.options.ascii
    }

    /// Columns that a line may have.
    pub(super) const fn width(&self) -> usize {
        self.options.width
    }

    /// Whether the last line says anything.
    pub(super) fn ends_with_text(&self) -> bool {
        !self.text.is_empty() && !self.text.ends_with("\n\n")
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = clean_width(line, self.options.width, self.options.ascii);
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A sentence after a prefix; its further lines are indented as wide as the prefix.
    pub(super) fn wrap(&mut self, prefix: &str, sentence: &str) {
        let sentence = clean(sentence);
        let words: Vec<&str> = sentence.split_whitespace().collect();
        self.pieces(prefix, &words, " ");
    }

    /// Segments that stay whole where they fit.
    pub(super) fn flow(&mut self, prefix: &str, segments: &[String]) {
        let segments: Vec<String> = segments
            .iter()
            .map(|segment| clean(segment).into_owned())
            .collect();
        let segments: Vec<&str> = segments
            .iter()
            .map(String::as_str)
            .filter(|segment| !segment.is_empty())
            .collect();
        self.pieces(prefix, &segments, "  ");
    }

    fn pieces(&mut self, prefix: &str, pieces: &[&str], gap: &str) {
        let indent = " ".repeat(prefix.width());
        let mut line = prefix.to_owned();
        let mut empty = true;
        for piece in pieces {
            if !empty && line.width() + gap.len() + piece.width() > self.options.width {
                self.line(&line);
                line.clone_from(&indent);
                empty = true;
            }
            if !empty {
                line.push_str(gap);
            }
            empty = false;
            // A script without spaces is one piece: it breaks where the line is full.
            for c in piece.chars() {
                if line.width() + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)
                    > self.options.width
                {
                    self.line(&line);
                    line.clone_from(&indent);
                }
                line.push(c);
            }
        }
        if !empty {
            self.line(&line);
        }
    }
}

/// What is not live says so first.
pub(super) fn banner(page: &mut Page, snapshot: &Snapshot, t: &Catalogue) {
    if snapshot.source != SourceKind::Live {
        page.wrap("", &source(snapshot, t));
    }
}

/// Whose figures these are.
pub(super) fn source(snapshot: &Snapshot, t: &Catalogue) -> String {
    let text = match &snapshot.source {
        SourceKind::Live => t.chrome_live(),
        SourceKind::Demo(case) => t.chrome_demo_banner(case),
        SourceKind::Recording(file) => t.chrome_replay_banner(file, timestamp(snapshot.at)),
        SourceKind::Log { file, zone } => t.chrome_log_banner(file, timestamp(snapshot.at), zone),
    };
    text.into_owned()
}

pub(super) fn header(snapshot: &Snapshot, t: &Catalogue) -> Vec<String> {
    let name = match &snapshot.host.name {
        Ok(name) => clean(name).into_owned(),
        Err(_) => t.report_unnamed_host().into_owned(),
    };
    let mut segments = vec![t.report_host(name, timestamp(snapshot.at)).into_owned()];
    if snapshot.source == SourceKind::Live {
        segments.push(t.chrome_live().into_owned());
    }
    let seconds = snapshot.interval.as_secs_f64();
    segments.push(t.chrome_interval(format_args!("{seconds} s")).into_owned());
    if snapshot.dropped > 0 {
        segments.push(t.chrome_dropped(snapshot.dropped).into_owned());
    }
    segments
}

/// The columns: text left, numbers right, in the widths that make 80 together with the longest state word.
fn columns(cells: [&str; 11]) -> String {
    const WIDTHS: [usize; 10] = [3, 15, 5, 5, 5, 6, 5, 5, 5, 6];
    let mut line = String::new();
    for (i, cell) in cells.iter().enumerate() {
        let Some(width) = WIDTHS.get(i) else {
            line.push_str("  ");
            line.push_str(cell);
            continue;
        };
        let blank = " ".repeat(width.saturating_sub(cell.width()));
        match i {
            0 => line = format!("{blank}{cell} "),
            1 => line.push_str(&format!(" {cell}{blank}")),
            _ => line.push_str(&format!(" {blank}{cell}")),
        }
    }
    line
}

fn titles(t: &Catalogue, ascii: bool) -> String {
    let (down, up) = if ascii { ("v", "^") } else { ("↓", "↑") };
    columns([
        "#",
        &t.overview_device(),
        &t.overview_watts(),
        &t.overview_plate(),
        &t.overview_head(),
        &t.overview_pcie(down),
        up,
        &t.overview_util(),
        &t.overview_work(),
        &t.overview_mem(),
        &t.overview_state(),
    ])
}

fn row(index: &str, view: &DeviceView, words: &dyn Words, ascii: bool) -> String {
    let number = |figure: Figure, write: &dyn Fn(f64) -> String| {
        view.figures
            .get(figure)
            .ok()
            .map_or_else(|| ABSENT.to_owned(), write)
    };
    let share = |figure: Figure| number(figure, &|ratio| format!("{:.0}%", ratio * 100.0));
    // Of a plate that nobody verified.
    let doubt = if view.plate_unverified { "?" } else { "" };
    let of_plate = number(Figure::PowerRatio, &|ratio| {
        format!("{:.0}%{doubt}", ratio * 100.0)
    });
    let degree = if ascii { "C" } else { "°" };
    let known = |figure| view.figures.get(figure).reading.is_ok();
    // A device that does not tell the directions apart has their sum where the first would be.
    let both = (known(Figure::PcieBothSaturation) && !known(Figure::PcieRx)).then(|| {
        let sum = if ascii { "+" } else { "Σ" };
        format!("{sum}{}", share(Figure::PcieBothSaturation))
    });
    let name = clean(view.device.short_name());
    let shared = view.device.shared_by();
    let shared = shared.map(|software| format!("{software} {name}"));
    let name = shared.as_deref().unwrap_or(&name);
    columns([
        index,
        &clean_width(name, 15, ascii),
        &number(Figure::Power, &|watts| format!("{watts:.0}")),
        &of_plate,
        &number(Figure::Headroom, &|degrees| format!("{degrees:.0}{degree}")),
        &both.unwrap_or_else(|| share(Figure::PcieRxSaturation)),
        &share(Figure::PcieTxSaturation),
        &share(Figure::Utilization),
        &share(Figure::Work),
        &number(Figure::MemoryUsed, &|bytes| {
            format!("{:.1}G", bytes / (1024.0 * 1024.0 * 1024.0))
        }),
        &words.state(view.word),
    ])
}

/// Whether a probe has something to say: where there is no device, always; beside devices, that it fails, or what it could
/// not list. That there is no hardware of its vendor is no news there.
fn is_news(probe: &ProbeReport, snapshot: &Snapshot) -> bool {
    snapshot.devices.is_empty()
        || match probe.status {
            ProbeStatus::Ok => probe.unlisted().is_some(),
            _ => probe.hint != ProbeHint::NoHardware,
        }
}

pub(super) fn probe_lines(page: &mut Page, probe: &ProbeReport, words: &dyn Words, t: &Catalogue) {
    page.flow(
        "",
        &[
            probe.vendor.word().to_owned(),
            probe.library.to_string(),
            words.probe_status(probe),
        ],
    );
    if let Some(message) = probe.message.as_deref() {
        page.wrap("    ", message);
    }
    if let Some(next) = words.probe_next(probe) {
        page.wrap("    ", &format!("{}: {next}", t.overview_next()));
    }
}

fn host(snapshot: &Snapshot, t: &Catalogue) -> Vec<String> {
    let h = &snapshot.host_sample;
    let mut segments = Vec::new();
    let mut say = |sentence: std::borrow::Cow<'static, str>| segments.push(sentence.into_owned());
    if let Ok(ratio) = h.cpu_ratio {
        say(t.report_cpu(Ratio(ratio)));
    }
    if let Ok(load) = h.load1 {
        say(t.report_load(format_args!("{load:.2}")));
    }
    if let (Ok(used), Ok(limit)) = (h.memory_used_bytes, h.memory_limit_bytes) {
        say(t.report_memory(Bytes(used), Bytes(limit)));
    }
    if let Ok(used) = h.swap_used_bytes
        && used > 0.0
    {
        say(t.report_swap(Bytes(used)));
    }
    if let Ok(ratio) = h.psi_io_some_ratio {
        say(t.report_io_pressure(Ratio(ratio)));
    }
    if let (Ok(received), Ok(sent)) = (h.net_rx_bytes_per_s, h.net_tx_bytes_per_s) {
        say(t.report_network(BytesPerSecond(received), BytesPerSecond(sent)));
    }
    if let (Ok(read), Ok(written)) = (h.disk_read_bytes_per_s, h.disk_write_bytes_per_s) {
        say(t.report_disk(BytesPerSecond(read), BytesPerSecond(written)));
    }
    segments
}

/// An amount; in ASCII with the currency's code where its sign is not ASCII.
pub(super) fn amount_text(amount: Decimal, currency: &Currency, ascii: bool) -> String {
    let money = Money {
        amount,
        currency: currency.clone(),
    };
    if ascii && currency.sign().is_some_and(|sign| !sign.is_ascii()) {
        format!("{} {currency}", money.to_decimal_string())
    } else {
        money.to_string()
    }
}

fn meter(cost: &Cost, t: &Catalogue, ascii: bool) -> Vec<String> {
    let text = |amount: Decimal| amount_text(amount, &cost.currency, ascii);
    let mut segments = Vec::new();
    match (cost.amount, cost.price_per_hour) {
        (Some(amount), Some(price)) => {
            let rate = t.unit_per_hour(text(price)).into_owned();
            segments.push(if cost.billing_start.source.is_estimate() {
                t.meter_so_far_estimated(text(amount), rate).into_owned()
            } else {
                t.meter_so_far(text(amount), rate).into_owned()
            });
        }
        _ => {
            segments.push(
                t.meter_seconds_only(format_span(cost.span_seconds))
                    .into_owned(),
            );
            segments.push(t.meter_no_price().into_owned());
        }
    }
    for phase in Phase::ALL {
        let seconds = cost.phase_seconds.get(phase);
        if seconds > 0.0 {
            segments.push(
                t.meter_phase(phase_word(phase, t), format_span(seconds))
                    .into_owned(),
            );
        }
    }
    segments
}

/// What follows from the account: where the price is from if it is no one's own, what was held, stalled or throttled,
/// projection, budget, energy and carbon, and what swings.
fn outlook(snapshot: &Snapshot, cost: &Cost, t: &Catalogue, ascii: bool) -> Vec<String> {
    let text = |amount: Decimal| amount_text(amount, &cost.currency, ascii);
    let mut segments = Vec::new();
    let mut say = |sentence: std::borrow::Cow<'static, str>| segments.push(sentence.into_owned());
    if cost.price_source == PriceSource::Catalogue {
        let age = match cost.price_age_s {
            Some(age) => t.meter_ago(format_span(age)),
            None => t.meter_age_unknown(),
        };
        say(format!("{} ({age})", t.meter_source_list()).into());
    }
    if cost.idle_held_seconds >= 1.0 {
        say(t.meter_note_held(format_span(cost.idle_held_seconds)));
    }
    for (word, seconds) in [
        (t.meter_stalled(), cost.of_which.stalled_s),
        (t.meter_throttled(), cost.of_which.throttled_s),
    ] {
        if let Some(seconds) = seconds.filter(|s| *s >= 1.0) {
            say(t.meter_phase(word, format_span(seconds)));
        }
    }
    if let Some(amount) = cost.projected_day_amount {
        say(t.meter_day(text(amount)));
    }
    for extra in &cost.extras {
        say(match extra.kind {
            ExtraKind::Storage => t.meter_storage(text(extra.amount)),
            ExtraKind::Traffic => t.meter_traffic(text(extra.amount)),
        });
    }
    if let (Some(budget), Some(total)) = (cost.budget, cost.total_amount) {
        match cost.budget_reached {
            _ if total > budget => say(t.meter_budget_over(text(total - budget))),
            Some(at) => say(t.meter_budget_at(text(budget), timestamp(at))),
            None => say(t.meter_budget_far(text(budget))),
        }
    }
    // Two decimals of nothing yet would be a zero that is none.
    if let Some(energy) = snapshot.energy.as_ref().filter(|e| e.kwh >= 0.005) {
        let kwh = format!("{:.2}", energy.kwh);
        say(if energy.estimated {
            t.meter_energy_estimated(kwh)
        } else {
            t.meter_energy(kwh)
        });
    }
    if let Some(carbon) = &snapshot.carbon {
        let [low, _, high] = carbon.pue;
        let grams = format!("{:.0} g", carbon.g_low);
        let grams = t.meter_range(grams, format_args!("{:.0} g", carbon.g_high));
        say(t.meter_carbon(grams, &carbon.place, t.meter_range(low, high)));
    }
    for flapping in &cost.flapping {
        let wasted = match flapping.amount {
            Some(amount) => text(amount),
            None => format_span(flapping.wasted_s),
        };
        let period = format_span(flapping.period_s);
        say(match flapping.kind {
            FlappingKind::Starts => t.meter_flapping_starts(flapping.cycles, period, wasted),
            FlappingKind::Utilization => {
                t.meter_flapping_utilization(flapping.cycles, period, wasted)
            }
        });
    }
    segments
}

pub(super) fn phase_word(phase: Phase, t: &Catalogue) -> std::borrow::Cow<'static, str> {
    match phase {
        Phase::Compute => t.state_compute(),
        Phase::IoWait => t.state_io_wait(),
        Phase::Queue => t.state_queue(),
        Phase::Idle => t.state_phase_idle(),
        Phase::Unobserved => t.state_unobserved(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::sample::{self, PlainWords};
    use super::*;
    use crate::text::Lang;

    fn text(snapshot: &Snapshot, lang: Lang, ascii: bool) -> String {
        snapshot_text(
            snapshot,
            &PlainWords,
            &Catalogue::new(lang),
            TextOptions { width: 80, ascii },
        )
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let mut snapshot = sample::snapshot();
        for lang in [Lang::En, Lang::ZhCn] {
            for source in [
                SourceKind::Live,
                SourceKind::Demo("x".repeat(200)),
                SourceKind::Log {
                    file: "日".repeat(99),
                    zone: "Asia/Shanghai".to_owned(),
                },
            ] {
                snapshot.source = source;
                snapshot.host.name = Ok("host\u{1b}[2J".repeat(30).into());
                for line in text(&snapshot, lang, false).lines() {
                    assert!(line.width() <= 80, "{} columns: {line}", line.width());
                }
            }
        }
    }

    #[test]
    fn a_row_and_its_sentence() {
        let page = text(&sample::snapshot(), Lang::En, true);
        assert!(page.is_ascii(), "{page}");
        insta::assert_snapshot!(page, @r"
        gpu-7f3, 2026-03-01T12:04:33.120Z  live  every 1 s

          #  device              W plate  head pcie v     ^  util  work    mem  state
          0  H100 80GB HBM3    612   87%   28C     3%    --   98%   30%  61.0G  working
          1  H100 80GB HBM3     --    --    --     --    --    --    --     --  silent

          0  The link runs x8 of x16 since boot (bridge 0000:17:00.0) and it has been at
             12.6 of 13.0 GB/s for three minutes.
          1  A call has not answered since 30 s; the others go on.

        nvidia  libnvidia-ml.so.1  library not found
            libnvidia-ml.so.1 could not be opened: no such file
            next: install the driver
        cpu 34 %  load 3.20  memory 56.8 GiB of 468 GiB
        AWS
        about $38.40 so far at $12.80/h (estimated)  compute 1h 42m  io-wait 35m 22s
        energy 1.25 kWh
        ");
    }

    #[test]
    fn without_an_accelerator_the_probes_speak() {
        insta::assert_snapshot!(text(&sample::empty_snapshot(), Lang::En, false), @r"
        gpu-7f3, 2026-03-01T12:04:33.120Z  live  every 1 s

        No accelerator was found on this host.

        nvidia  libnvidia-ml.so.1  library not found
            libnvidia-ml.so.1 could not be opened: no such file
            next: install the driver
        cpu 34 %  load 3.20  memory 56.8 GiB of 468 GiB
        AWS
        ");
    }
}
