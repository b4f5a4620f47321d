//! The verdicts: what holds now on each device, with the numbers it rests on, what was turned down and what to do; what
//! was before; and what cannot be seen here.
//!
//! ```text
//! ▌ 3  stalled   narrow PCIe link   sure   since 11:41   23m 10s   $1.15
//!     Stalled: it waits for a PCIe link that is less than it could be: lanes 8 (below 16), ...
//!
//!     lanes                 ██████████··········     8   below 16    plate
//!     ↓ of what x8 carries  ███████████████████▍  97 %   over 90 %   config
//!
//!     not collective wait: PCIe traffic 12.6 GB/s, over 100 MB/s
//!     next  lspci -vv -s 17:00.0 | grep LnkSta
//!
//!   0 1 2 4  Nothing that counts.
//! ────────────────────────────────────────────────────────────────────────────
//!   earlier
//!   10:02 to 10:19   7  thermal   sure   17m 00s   $0.84
//!
//!   cannot see here  the host (CPU, disk, network): not permitted
//! ```

use super::{chrome, facts};
use crate::app::{App, blind, verdicts, words};
use crate::model::{
    Cause, Comparison, Confidence, DeviceView, Episode, Evidence, Snapshot, VerdictState,
};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, wrap, write_line};
use crate::ui::theme::Role;
use crate::units::{Money, format_span};
use jiff::Timestamp;
use nameplate_widgets::Bar;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// Where a verdict's lines begin.
const INDENT: usize = 5;
/// Columns of a bar.
const BAR: u16 = 20;
/// Columns of what was measured.
const LABEL: usize = 30;
/// Columns of a number, of its threshold, of whose that is and of how long it was measured, the gaps before the last two
/// included.
const NUMBER: usize = 10;
const BOUND: usize = 16;
const WHOSE: usize = 12;
const WINDOW: usize = 8;
/// Columns of the times between which an episode stood, on a narrow screen and at most on a wide one.
const WHEN: usize = 16;
const WHEN_WIDE: usize = 30;
/// From this width on evidence says over how long it was measured.
const WIDE: u16 = 100;

/// One line.
enum Line<'a> {
    Blank,
    Rule,
    /// Pieces with their roles.
    Pieces(Vec<(Cow<'a, str>, Role)>),
    Evidence(&'a Evidence, Role),
}

/// Draws the view.
pub(super) fn draw(app: &mut App, look: &Look, area: Rect, buf: &mut Buffer) {
    let body = chrome::frame(app, look, area, buf).area;
    let Some(picture) = app.picture() else { return };
    let mut page = Page {
        picture,
        look,
        width: body.width,
        lines: Vec::new(),
        selected: 0..0,
    };
    page.now(app);
    page.earlier();
    page.blind();
    let height = usize::from(body.height);
    let most = page.lines.len().saturating_sub(height);
    // The selected verdict is whole on the screen, where it fits.
    let shown = page
        .selected
        .end
        .saturating_sub(height)
        .min(page.selected.start);
    let first = (shown + usize::from(app.scroll())).min(most);
    for (n, line) in page.lines.iter().skip(first).take(height).enumerate() {
        let at = row(body, u16::try_from(n).unwrap_or(u16::MAX));
        draw_line(line, look, at, buf);
    }
    let room = u16::try_from(most - shown.min(most)).unwrap_or(u16::MAX);
    app.clamp_scroll(room);
}

struct Page<'a> {
    picture: &'a Snapshot,
    look: &'a Look,
    width: u16,
    lines: Vec<Line<'a>>,
    /// The lines of the selected verdict.
    selected: std::ops::Range<usize>,
}

impl<'a> Page<'a> {
    /// What holds now: those with a cause one by one, the selected with all that it rests on; the rest in one line.
    fn now(&mut self, app: &App) {
        let t = self.look.text;
        let selected = app.selection().map(|view| &view.device.id);
        let picture = self.picture;
        let mut fine: Vec<&DeviceView> = Vec::new();
        for view in app.by_verdict().filter_map(|n| picture.devices.get(n)) {
            let is_selected = selected == Some(&view.device.id);
            if view.episodes.is_empty() && !is_selected {
                fine.push(view);
                continue;
            }
            if !self.lines.is_empty() {
                self.lines.push(Line::Blank);
            }
            let first = self.lines.len();
            self.verdict(view, is_selected);
            if is_selected {
                self.selected = first..self.lines.len();
            }
        }
        if fine.is_empty() {
            return;
        }
        if !self.lines.is_empty() {
            self.lines.push(Line::Blank);
        }
        let indices: Vec<String> = fine.iter().map(|v| v.device.index.to_string()).collect();
        let sentence = t.verdict_fine(indices.join(" "));
        for line in wrap(&sentence, self.width.saturating_sub(4)) {
            self.push(&[("  ", Role::Text)], line, Role::Muted);
        }
    }

    fn push(&mut self, lead: &[(&'static str, Role)], text: String, role: Role) {
        let lead = lead
            .iter()
            .map(|(text, role)| (Cow::Borrowed(*text), *role));
        let pieces = lead.chain([(Cow::Owned(text), role)]).collect();
        self.lines.push(Line::Pieces(pieces));
    }

    fn verdict(&mut self, view: &'a DeviceView, selected: bool) {
        let (look, t) = (self.look, self.look.text);
        let verdict = &view.verdict;
        let role = role_of(verdict.state, verdict.cause);
        self.headline(view, selected, role);
        let sentence = verdicts::of_device(view, t, look.signs());
        let width = self.width.saturating_sub(INDENT as u16 + 1);
        for line in wrap(&sentence, width) {
            self.push(&[("     ", Role::Text)], line, Role::Text);
        }
        if !selected {
            return;
        }
        if !verdict.evidence.is_empty() {
            self.lines.push(Line::Blank);
        }
        self.lines
            .extend(verdict.evidence.iter().map(|e| Line::Evidence(e, role)));
        if !verdict.rejected.is_empty() {
            self.lines.push(Line::Blank);
        }
        for rejected in &verdict.rejected {
            let why = verdicts::rejected(rejected, t, look.signs());
            let text = t.verdict_not(verdicts::cause(rejected.cause, t), why);
            for line in wrap(&text, width) {
                self.push(&[("     ", Role::Text)], line, Role::Muted);
            }
        }
        self.next(view);
    }

    /// Which device, its state, the cause, how sure, since when, and what it cost.
    fn headline(&mut self, view: &'a DeviceView, selected: bool, role: Role) {
        let (look, t) = (self.look, self.look.text);
        let verdict = &view.verdict;
        let mark = if selected {
            look.glyph(Glyph::Selected)
        } else {
            " "
        };
        let mut pieces: Vec<(Cow<'a, str>, Role)> = vec![
            (mark.into(), Role::SelectedMark),
            (format!("{:>2}  ", view.device.index).into(), Role::Accent),
            (pad(&words::state(view.word, t), 9).into(), role),
            ("  ".into(), Role::Text),
        ];
        if verdict.cause != Cause::None {
            let cause = pad(&verdicts::cause(verdict.cause, t), 22);
            let sure = pad(&verdicts::confidence(verdict.confidence, t), 8);
            pieces.push((cause.into(), Role::Strong));
            pieces.push((format!("  {sure}").into(), Role::Muted));
        }
        if let Some(episode) = view.episodes.first() {
            let since = t.verdict_since(self.time(episode.begin));
            pieces.push((format!("  {since}").into(), Role::Muted));
            let span = format_span(episode.seconds);
            pieces.push((format!("   {span}").into(), Role::Text));
            if let Some(money) = self.amount(&[episode]) {
                pieces.push((format!("   {money}").into(), Role::Strong));
            }
        }
        self.lines.push(Line::Pieces(pieces));
        let waits = verdict.confidence != Confidence::Sure;
        if let Some(seconds) = verdict.sure_in_s.filter(|_| waits && selected) {
            let text = t.verdict_sure_in(format_span(seconds));
            self.push(&[("     ", Role::Text)], text.into_owned(), Role::Muted);
        }
    }

    fn next(&mut self, view: &'a DeviceView) {
        let t = self.look.text;
        let steps = verdicts::next(view.verdict.cause, &view.verdict.evidence, view, t);
        if !steps.is_empty() {
            self.lines.push(Line::Blank);
        }
        let title = t.overview_next();
        let lead = " ".repeat(title.width() + 2);
        for (n, (text, command)) in steps.into_iter().enumerate() {
            let first = if n == 0 {
                format!("{}{title}  ", " ".repeat(INDENT))
            } else {
                format!("{}{lead}", " ".repeat(INDENT))
            };
            let mut pieces: Vec<(Cow<'a, str>, Role)> = vec![(first.into(), Role::Muted)];
            let width = usize::from(self.width).saturating_sub(INDENT + lead.width() + 3);
            match command {
                Some(command) if text.width() + command.width() <= width => {
                    pieces.push((command.into(), Role::Accent));
                    pieces.push((format!("   {text}").into(), Role::Muted));
                }
                Some(command) => pieces.push((command.into(), Role::Accent)),
                None => pieces.push((text.into(), Role::Text)),
            }
            self.lines.push(Line::Pieces(pieces));
        }
    }

    /// Episodes that have ended, the newest first.
    fn earlier(&mut self) {
        let t = self.look.text;
        if self.picture.past.is_empty() {
            return;
        }
        self.lines.push(Line::Rule);
        self.push(&[], format!("  {}", t.diagnosis_earlier()), Role::Muted);
        let picture = self.picture;
        let mut groups: Vec<Vec<&'a Episode>> = Vec::new();
        for episode in picture.past.iter().rev() {
            let alike = |group: &Vec<&Episode>| {
                group.first().is_some_and(|first| {
                    first.cause == episode.cause
                        && first.confidence == episode.confidence
                        && self.when(first) == self.when(episode)
                })
            };
            // What befell several devices together stands near each other.
            match groups.iter_mut().rev().take(8).find(|group| alike(group)) {
                Some(group) => group.push(episode),
                None => groups.push(vec![episode]),
            }
        }
        let widths = groups.iter().filter_map(|group| group.first());
        let widest = widths.map(|first| self.when(first).width()).max();
        let room = if self.width >= WIDE { WHEN_WIDE } else { WHEN };
        let column = widest.unwrap_or(WHEN).clamp(WHEN, room);
        for group in &groups {
            self.ended(group, column);
        }
    }

    /// From when to when; where that does not fit, since when: its length stands beside it.
    fn when_within(&self, episode: &Episode, column: usize) -> String {
        let when = self.when(episode);
        if when.width() <= column {
            when
        } else {
            self.time(episode.begin)
        }
    }

    fn when(&self, episode: &Episode) -> String {
        let end = episode.end.unwrap_or(episode.begin);
        let (begin, end) = (self.time(episode.begin), self.time(end));
        self.look.text.diagnosis_from_to(begin, end).into_owned()
    }

    /// One cause that has ended, on one device or on several together.
    fn ended(&mut self, group: &[&'a Episode], column: usize) {
        let t = self.look.text;
        let Some(first) = group.first() else { return };
        let place = |episode: &&Episode| {
            let mut devices = self.picture.devices.iter();
            devices.find(|view| view.device.id == episode.device)
        };
        let mut indices: Vec<u32> = group
            .iter()
            .filter_map(place)
            .map(|view| view.device.index)
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let all = indices.len() > 1 && indices.len() == self.picture.devices.len();
        let which = if all {
            t.verdict_all().into_owned()
        } else {
            let indices: Vec<String> = indices.iter().map(u32::to_string).collect();
            indices.join(" ")
        };
        let role = if first.counts {
            role_of(first.state, first.cause)
        } else {
            Role::Muted
        };
        let longest = group.iter().map(|e| e.seconds).fold(0.0, f64::max);
        let sure = pad(&verdicts::confidence(first.confidence, t), 8);
        let mut pieces: Vec<(Cow<'a, str>, Role)> = vec![
            (
                format!("  {}", pad(&self.when_within(first, column), column)).into(),
                Role::Muted,
            ),
            (format!("  {}", pad(&which, 9)).into(), Role::Accent),
            (
                format!("  {}", pad(&verdicts::cause(first.cause, t), 18)).into(),
                role,
            ),
            (format!("  {sure}").into(), Role::Muted),
            (format!("  {:>8}", format_span(longest)).into(), Role::Text),
        ];
        if let Some(money) = self.amount(group) {
            pieces.push((format!("   {money}").into(), Role::Strong));
        }
        self.lines.push(Line::Pieces(pieces));
    }

    fn blind(&mut self) {
        let t = self.look.text;
        let list = blind::cannot_see(self.picture, t);
        if list.is_empty() {
            return;
        }
        self.lines.push(Line::Blank);
        let told: Vec<String> = list
            .iter()
            .map(|lacking| format!("{} ({})", lacking.label, lacking.reason))
            .collect();
        let text = t.verdict_cannot_see(told.join(&t.verdict_join()));
        for line in wrap(&text, self.width.saturating_sub(4)) {
            self.push(&[("  ", Role::Text)], line, Role::Muted);
        }
    }

    /// A time; with its day where that is not the picture's.
    fn time(&self, at: Timestamp) -> String {
        let day = |at| self.look.time(at, "%F");
        let form = if day(at) == day(self.picture.at) {
            "%H:%M"
        } else {
            "%d %b %H:%M"
        };
        self.look.time(at, form)
    }

    /// What episodes cost together: each its device's board's share of the price.
    fn amount(&self, episodes: &[&Episode]) -> Option<String> {
        let cost = self.picture.cost.as_ref()?;
        let share = cost.price_per_hour? / Decimal::from(self.picture.boards.len().max(1));
        let mut amount = Decimal::ZERO;
        for episode in episodes {
            let mut devices = self.picture.devices.iter();
            let view = devices.find(|view| view.device.id == episode.device)?;
            let mut boards = self.picture.boards.iter();
            let board = boards.find(|board| board.id == view.device.board)?;
            if board.devices.len() != 1 {
                return None;
            }
            let hours = Decimal::from_f64(episode.seconds / 3600.0)?;
            amount += share.checked_mul(hours)?;
        }
        let money = Money {
            amount,
            currency: cost.currency.clone(),
        };
        Some(money.to_string())
    }
}

fn draw_line(line: &Line<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
    match line {
        Line::Blank => {}
        Line::Rule => facts::rule(look, area, buf),
        Line::Pieces(pieces) => {
            let pieces: Vec<_> = pieces
                .iter()
                .map(|(text, role)| (text.as_ref(), look.style(*role)))
                .collect();
            write_line(buf, area, &pieces);
        }
        Line::Evidence(evidence, role) => draw_evidence(evidence, *role, look, area, buf),
    }
}

/// A number as a small bar with its threshold as a tick.
fn draw_evidence(evidence: &Evidence, role: Role, look: &Look, area: Rect, buf: &mut Buffer) {
    let t = look.text;
    let label = verdicts::witness(evidence.witness, t);
    // Nothing is cut that a number would be read wrongly without: first the label is, then the bar.
    let width = usize::from(area.width);
    let wide = area.width >= WIDE;
    let others = INDENT + 2 + NUMBER + 2 + BOUND + if wide { WHOSE + WINDOW } else { 0 };
    let label_width = LABEL.min(width.saturating_sub(others + usize::from(BAR)).max(16));
    let bar_width = width
        .saturating_sub(others + label_width)
        .clamp(6, usize::from(BAR));
    let lead = format!("{}{}  ", " ".repeat(INDENT), pad(&label, label_width));
    let x = write_line(buf, area, &[(&lead, look.style(Role::Muted))]);
    let bar = Rect {
        x,
        width: (bar_width as u16).min(area.right().saturating_sub(x)),
        ..area
    };
    let (value, threshold) = scaled(evidence);
    Bar::new(value)
        .style(look.style(role))
        .track_style(look.style(Role::BarEmpty))
        .tick(threshold, look.style(Role::Limit))
        .glyphs(look.widgets())
        .render(bar, buf);
    let rest = Rect {
        x: bar.right(),
        width: area.right().saturating_sub(bar.right()),
        ..area
    };
    let number = verdicts::number(evidence.witness, evidence.value, t, look.signs());
    let bound = verdicts::bound(evidence, t, look.signs());
    let number = format!(
        "{}{number}",
        " ".repeat(NUMBER.saturating_sub(number.width()))
    );
    let mut pieces = vec![(number, look.style(Role::Strong))];
    let mut left = usize::from(rest.width).saturating_sub(NUMBER);
    let mut add = |text: &str, least: usize| {
        let fits = 2 + text.width() <= left;
        if fits {
            let text = format!("  {text}{}", " ".repeat(least.saturating_sub(text.width())));
            left = left.saturating_sub(text.width());
            pieces.push((text, look.style(Role::Muted)));
        }
        fits
    };
    if add(&bound, BOUND) && wide && add(&verdicts::whose(evidence.whose, t), WHOSE - 2) {
        let window = Some(evidence.window_s).filter(|seconds| *seconds > 0.0);
        let _ = window.is_some_and(|seconds| add(&format_span(seconds), 0));
    }
    let pieces: Vec<_> = pieces
        .iter()
        .map(|(text, style)| (text.as_str(), *style))
        .collect();
    write_line(buf, rest, &pieces);
}

/// Value and threshold as shares of one scale: shares of their own, everything else of twice the threshold.
fn scaled(evidence: &Evidence) -> (Option<f64>, f64) {
    let full = if evidence.witness.unit() == "ratio" {
        1.0
    } else {
        let twice = 2.0 * evidence.threshold;
        match evidence.comparison {
            // A count of so many that there could be: eight of sixteen lanes.
            Comparison::Less | Comparison::AtMost if evidence.threshold > 0.0 => {
                evidence.threshold.max(evidence.value)
            }
            _ => twice.max(evidence.value),
        }
    };
    if full <= 0.0 {
        return (None, 2.0);
    }
    (Some(evidence.value / full), evidence.threshold / full)
}

/// The role of a state; a pause that explains itself is no alarm.
fn role_of(state: VerdictState, cause: Cause) -> Role {
    match state {
        _ if cause == Cause::None => Role::Ok,
        VerdictState::Working => Role::Ok,
        VerdictState::Idle => Role::Held,
        VerdictState::Throttled => Role::Warn,
        VerdictState::Stalled | VerdictState::Degraded => Role::Bad,
        VerdictState::Lost => Role::Lost,
        VerdictState::Unknown => Role::Unknown,
    }
}

fn pad(text: &str, width: usize) -> String {
    let text = crate::text::clean_width(text, width, false);
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
