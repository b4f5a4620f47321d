//! A diagnosis as plain text: one sentence for each device with its numbers first, then what it rests on.
//!
//! ```text
//! LOG gpu.csv: nvidia_smi_csv, its times read in Asia/Shanghai
//! 2026-03-01 20:00:00 to 21:00:00, watched for 1h 00m, every 1 s
//!
//!   3  It draws less for the same work: power of its own past 91 % (below 96 %), clock
//!      of its own past 94 % (below 99 %).
//!      sure  since 20:12:00, 48m 00s  $1.15
//!      evidence  power of its own past      91 %  below 96 %   article    1h 00m
//!      not       work changed: utilization 92 %, at least 87 %
//!      next      see why the clocks are down
//!                nvidia-smi -q -d PERFORMANCE -i 3
//! ```

use super::Words;
use super::diagnosis::{Diagnosis, DiagnosisResult};
use super::text::{Page, TextOptions, amount_text};
use crate::model::{CannotSee, Confidence, DeviceView, Episode, Evidence, Rejected, SourceKind};
use crate::text::{Catalogue, clean, clean_width};
use crate::units::format_span;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr as _;

/// Episodes that have ended, shown at most: the worst and newest.
const EARLIER: usize = 12;
/// Warnings shown at most.
const WARNINGS: usize = 8;
/// Where a device's lines begin.
const INDENT: usize = 5;

/// The diagnosis in the language of the catalogue, its times in a zone; no line is wider than the options say.
#[must_use]
pub fn diagnosis_text(
    diagnosis: &Diagnosis<'_>,
    zone: &TimeZone,
    words: &dyn Words,
    t: &Catalogue,
    options: TextOptions,
) -> String {
    let mut text = Text {
        page: Page::new(options),
        diagnosis,
        zone,
        words,
        t,
    };
    text.head();
    for view in &diagnosis.snapshot.devices {
        text.device(view);
    }
    text.earlier();
    text.foot();
    text.page.finish()
}

struct Text<'a> {
    page: Page,
    diagnosis: &'a Diagnosis<'a>,
    zone: &'a TimeZone,
    words: &'a dyn Words,
    t: &'a Catalogue,
}

impl Text<'_> {
    fn head(&mut self) {
        let snapshot = self.diagnosis.snapshot;
        match &snapshot.source {
            SourceKind::Live => {
                let name = match &snapshot.host.name {
                    Ok(name) => clean(name).into_owned(),
                    Err(_) => self.t.report_unnamed_host().into_owned(),
                };
                self.page
                    .flow("", &[name, self.t.chrome_live().into_owned()]);
            }
            SourceKind::Demo(case) => self.page.wrap("", &self.t.chrome_demo_banner(case)),
            SourceKind::Recording(file) => self.page.wrap("", &self.t.diagnosis_recording(file)),
            SourceKind::Log { file, zone } => {
                let format = self.diagnosis.format.unwrap_or_default();
                self.page
                    .wrap("", &self.t.diagnosis_log(file, format, zone));
            }
        }
        match self.diagnosis.span {
            Some((from, to)) => {
                let begin = self.time(from, None);
                let end = self.time(to, Some(from));
                let span = format_span(self.diagnosis.observed_seconds);
                let interval = format!("{} s", (self.diagnosis.interval_s * 1e3).round() / 1e3);
                let line = self.t.diagnosis_watched(begin, end, span, interval);
                self.page.wrap("", &line);
            }
            None => self.page.wrap("", &self.t.diagnosis_untimed()),
        }
        let (sure, all) = self.counted();
        let result = match self.diagnosis.result() {
            DiagnosisResult::Ok => self.t.diagnosis_result_ok(),
            DiagnosisResult::Suspected => self.t.diagnosis_result_suspected(all),
            DiagnosisResult::Certain => self.t.diagnosis_result_certain(sure),
        };
        self.page.wrap("", &result);
        self.page.line("");
        if snapshot.devices.is_empty() {
            self.page.line(&self.t.probe_none_title());
        }
    }

    /// How many episodes count and are sure, and how many count.
    fn counted(&self) -> (usize, usize) {
        let episodes = self.diagnosis.episodes();
        let counts = || episodes.iter().filter(|(e, _)| e.counts);
        let sure = counts()
            .filter(|(e, _)| e.confidence == Confidence::Sure)
            .count();
        (sure, counts().count())
    }

    fn device(&mut self, view: &DeviceView) {
        let prefix = format!("{:>3}  ", self.diagnosis.snapshot.number(view));
        if !view.episodes.is_empty() && self.page.ends_with_text() {
            self.page.line("");
        }
        self.page.wrap(&prefix, &self.words.verdict(view));
        let verdict = &view.verdict;
        let Some(episode) = view.episodes.first() else {
            return;
        };
        let mut segments = vec![self.words.confidence(verdict.confidence)];
        if self.diagnosis.is_timed() {
            let at = self.time(episode.begin, self.diagnosis.span.map(|(from, _)| from));
            let span = format_span(episode.seconds);
            segments.push(self.t.diagnosis_since(at, span).into_owned());
        }
        segments.extend(self.amount(episode));
        match verdict.sure_in_s {
            _ if verdict.confidence == Confidence::Sure || !self.diagnosis.is_timed() => {}
            Some(seconds) => {
                segments.push(self.t.diagnosis_sure_in(format_span(seconds)).into_owned());
            }
            None => segments.push(self.t.diagnosis_sure_needs().into_owned()),
        }
        self.page.flow(&" ".repeat(INDENT), &segments);
        self.evidence(&verdict.evidence);
        self.rejected(&verdict.rejected);
        let steps = self.words.next(view);
        let mut label = Some(self.t.diagnosis_next().into_owned());
        for (text, command) in steps {
            self.labelled(label.take(), &text);
            if let Some(command) = command {
                self.labelled(None, &command);
            }
        }
        self.page.line("");
    }

    /// Evidence in columns: what, value, threshold, whose, over how long.
    fn evidence(&mut self, list: &[Evidence]) {
        let mut label = Some(self.t.diagnosis_evidence().into_owned());
        let rows: Vec<[String; 4]> = list.iter().map(|e| self.words.evidence(e)).collect();
        let width = |column: usize| {
            let widths = rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width());
            widths.max().unwrap_or(0)
        };
        let windows: Vec<String> = list.iter().map(|e| self.window(e)).collect();
        let window = windows.iter().map(|text| text.width()).max().unwrap_or(0);
        let (b, c) = (width(1).min(12), width(2).min(18));
        // What was measured has all the room that the other columns, with two blanks before each, leave.
        let others = self.lead(None).width() + b + c + width(3) + window + 8;
        let a = width(0).min(self.page.width().saturating_sub(others).max(16));
        for (row, window) in rows.iter().zip(&windows) {
            let [what, value, bound, whose] = row;
            let ascii = self.page.is_ascii();
            let what = clean_width(what, a, ascii);
            let line = format!(
                "{}{}  {}{}  {}{}  {}  {}",
                what,
                blank(a, &what),
                blank(b, value),
                value,
                bound,
                blank(c, bound),
                whose,
                window
            );
            self.page
                .line(&format!("{}{}", self.lead(label.take()), line));
        }
    }

    /// Over how long it was measured.
    fn window(&self, evidence: &Evidence) -> String {
        if evidence.window_s > 0.0 && self.diagnosis.is_timed() {
            format_span(evidence.window_s)
        } else {
            self.t.diagnosis_instant().into_owned()
        }
    }

    fn rejected(&mut self, list: &[Rejected]) {
        let mut label = Some(self.t.diagnosis_not().into_owned());
        for rejected in list {
            let why = format!(
                "{}: {}",
                self.words.cause(rejected.cause),
                self.words.rejected(rejected)
            );
            self.labelled(label.take(), &why);
        }
    }

    fn earlier(&mut self) {
        let mut past: Vec<&Episode> = self.diagnosis.snapshot.past.iter().collect();
        if past.is_empty() {
            return;
        }
        // The newest of what counts, then the newest of the rest.
        past.sort_by_key(|e| (!e.counts, std::cmp::Reverse(e.begin)));
        let more = past.len().saturating_sub(EARLIER);
        past.truncate(EARLIER);
        past.sort_by_key(|e| e.begin);
        if self.page.ends_with_text() {
            self.page.line("");
        }
        self.page.line(&self.t.diagnosis_earlier());
        let begun = self.diagnosis.span.map(|(from, _)| from);
        for episode in past {
            let from = self.time(episode.begin, begun);
            let to = self.time(episode.end.unwrap_or(episode.begin), Some(episode.begin));
            let index = self.index(episode);
            let mut segments = vec![
                self.t.diagnosis_from_to(from, to).into_owned(),
                index,
                self.words.cause(episode.cause),
                self.words.confidence(episode.confidence),
                format_span(episode.seconds),
            ];
            segments.extend(self.amount(episode));
            self.page.flow("  ", &segments);
            self.page
                .wrap(&" ".repeat(INDENT), &self.words.episode(episode));
        }
        if more > 0 {
            self.page.wrap("  ", &self.t.diagnosis_more(more));
        }
    }

    /// Notes, with their times.
    fn marks(&mut self) {
        let diagnosis = self.diagnosis;
        let mut before = None;
        for mark in diagnosis.marks() {
            if before.is_none() && self.page.ends_with_text() {
                self.page.line("");
            }
            let at = self.time(mark.at, before);
            before = Some(mark.at);
            let text = self.t.diagnosis_mark(at, &*mark.text).into_owned();
            self.page.wrap("", &text);
        }
    }

    fn foot(&mut self) {
        self.marks();
        let blind = self.words.cannot_see(self.diagnosis.snapshot);
        let warnings = self.diagnosis.warnings;
        if (!blind.is_empty() || !warnings.is_empty()) && self.page.ends_with_text() {
            self.page.line("");
        }
        let mut label = Some(self.t.diagnosis_cannot_see().into_owned());
        for line in self.out_of_reach(&blind) {
            let head = label.take().unwrap_or_default();
            let pad = " ".repeat(self.t.diagnosis_cannot_see().width() - head.width() + 2);
            self.page.wrap(&format!("{head}{pad}"), &line);
        }
        for (line, text) in warnings.iter().take(WARNINGS) {
            let text = match line {
                0 => text.clone(),
                line => self.t.diagnosis_line(line, text).into_owned(),
            };
            self.page.wrap("", &text);
        }
        if warnings.len() > WARNINGS {
            let more = self.t.diagnosis_more(warnings.len() - WARNINGS);
            self.page.wrap("", &more);
        }
    }

    /// What cannot be seen, in a line for all that the same thing would help.
    fn out_of_reach(&self, blind: &[CannotSee]) -> Vec<String> {
        let key = |b: &CannotSee| (b.reason.clone(), b.columns.is_none().then(|| b.how.clone()));
        let mut groups: Vec<Vec<&CannotSee>> = Vec::new();
        for lacking in blind {
            let same = |group: &&mut Vec<&CannotSee>| {
                group
                    .first()
                    .is_some_and(|first| key(first) == key(lacking))
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(lacking),
                None => groups.push(vec![lacking]),
            }
        }
        let line = |group: &Vec<&CannotSee>| {
            let first = group.first()?;
            let labels: Vec<&str> = group.iter().map(|b| b.label.as_str()).collect();
            let columns: Vec<&str> = group.iter().filter_map(|b| b.columns).collect();
            let how = match columns.is_empty() {
                true => first.how.clone(),
                false => self.t.blind_how_columns(columns.join(", ")).into_owned(),
            };
            let labels = labels.join(&self.t.verdict_join());
            Some(format!("{labels}: {}; {how}", first.reason))
        };
        groups.iter().filter_map(line).collect()
    }

    fn index(&self, episode: &Episode) -> String {
        let devices = &self.diagnosis.snapshot.devices;
        let found = devices.iter().find(|view| view.device.id == episode.device);
        found.map_or_else(
            || clean(&episode.device.0).into_owned(),
            |view| self.diagnosis.snapshot.number(view),
        )
    }

    fn amount(&self, episode: &Episode) -> Option<String> {
        let cost = self.diagnosis.snapshot.cost.as_ref()?;
        let amount = self.diagnosis.amount(episode)?;
        Some(amount_text(amount, &cost.currency, self.page.is_ascii()))
    }

    /// A time in the zone; without its date where it lies on the same day as another.
    fn time(&self, at: Timestamp, beside: Option<Timestamp>) -> String {
        let here = at.to_zoned_datetime(self.zone.clone());
        let same =
            beside.is_some_and(|b| b.to_zoned_datetime(self.zone.clone()).date() == here.date());
        let format = if same {
            "%H:%M:%S"
        } else {
            "%Y-%m-%d %H:%M:%S"
        };
        here.strftime(format).to_string()
    }

    /// The place of a label, or as much blank.
    fn lead(&self, label: Option<String>) -> String {
        let labels = [
            self.t.diagnosis_evidence(),
            self.t.diagnosis_not(),
            self.t.diagnosis_next(),
        ];
        let widest = labels.iter().map(|l| l.width()).max().unwrap_or(0);
        let label = label.unwrap_or_default();
        format!("{}{label}{}  ", " ".repeat(INDENT), blank(widest, &label))
    }

    fn labelled(&mut self, label: Option<String>, text: &str) {
        let lead = self.lead(label);
        self.page.wrap(&lead, text);
    }
}

fn blank(width: usize, text: &str) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}
