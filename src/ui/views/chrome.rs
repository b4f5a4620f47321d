//! What stands around every view: banner, header, key hints.
//!
//! ```text
//!  DEMO narrow-link: simulated devices, nothing here is real
//!  gpu-7f3  RunPod 8 × H100 80GB HBM3   up 36h 12m              ● live  1 s   0 dropped   12:04:33
//!  ...
//!  ↑↓ device  ⏎ all of it  ␣ pause  y copy for support  ? help  q quit
//! ```

use crate::app::keymap::{BINDINGS, Key};
use crate::app::playback::Grain;
use crate::app::{Action, App, Entry, MeterPanel, Recording, View, platform, words};
use crate::model::{
    DeviceKind, NoticeKind, PlatformStatus, PlatformView, ProbeStatus, Snapshot, SourceKind,
};
use crate::ui::Look;
use crate::ui::glyphs::Glyph;
use crate::ui::look::{row, write_line, write_right};
use crate::ui::theme::Role;
use crate::units::format_span;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::borrow::Cow;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// A recorder writes what it read within so many seconds.
const FLUSH_S: f64 = 1.0;

/// What is left of an area after its first and last lines were used.
pub(super) struct Body {
    pub(super) area: Rect,
}

/// Draws banner, header and hints; gives what lies between.
pub(super) fn frame(app: &App, look: &Look, area: Rect, buf: &mut Buffer) -> Body {
    let mut top = 0;
    if let Some(picture) = app.picture()
        && banner(app, picture, look, row(area, 0), buf)
    {
        top = 1;
    }
    header(app, look, row(area, top), buf);
    let foot = if area.height >= top + 4 { 1 } else { 0 };
    if foot == 1 {
        hints(app, look, row(area, area.height - 1), buf);
    }
    let height = area.height.saturating_sub(top + 1 + foot);
    Body {
        area: Rect {
            y: area.y + (top + 1).min(area.height),
            height,
            ..area
        },
    }
}

/// Demo and replay can never be taken for live.
fn banner(app: &App, picture: &Snapshot, look: &Look, line: Rect, buf: &mut Buffer) -> bool {
    let t = look.text;
    let times = look.glyph(Glyph::Times);
    let (text, role) = match &picture.source {
        SourceKind::Live => return false,
        SourceKind::Demo(case) if app.speed() > 1.0 => (
            t.chrome_demo_speed(case, format!("{:.0}", app.speed()), times),
            Role::BannerDemo,
        ),
        SourceKind::Demo(case) => (t.chrome_demo_banner(case), Role::BannerDemo),
        SourceKind::Recording(file) => {
            let at = long_clock(app, picture, look);
            let text = if app.is_past() {
                let ago = app.newest().map_or(0.0, |newest| {
                    newest.at.duration_since(picture.at).as_secs_f64()
                });
                t.chrome_past_banner(at, format_span(ago))
            } else if (app.speed() - 1.0).abs() > f64::EPSILON {
                t.chrome_replay_speed(file, at, app.speed(), times)
            } else {
                t.chrome_replay_banner(file, at)
            };
            (text, Role::BannerReplay)
        }
        SourceKind::Log { file, zone } => {
            let at = clock(picture, look);
            let text = if (app.speed() - 1.0).abs() > f64::EPSILON {
                t.chrome_log_speed(file, at, zone, app.speed(), times)
            } else {
                t.chrome_log_banner(file, at, zone)
            };
            (text, Role::BannerReplay)
        }
    };
    let text = match app.grain() {
        Grain::Ticks => text,
        Grain::Minutes => t.chrome_by_the_minute(text),
    };
    let style = look.style(role);
    buf.set_style(line, style);
    write_line(buf, line, &[(" ", style), (&text, style)]);
    true
}

fn header(app: &App, look: &Look, line: Rect, buf: &mut Buffer) {
    let t = look.text;
    let muted = look.style(Role::Muted);
    let Some(picture) = app.picture() else {
        write_line(
            buf,
            line,
            &[
                (" ", muted),
                ("nameplate  ", look.style(Role::Strong)),
                (&t.chrome_starting(), muted),
            ],
        );
        return;
    };
    let name = picture
        .host
        .name
        .as_ref()
        .map_or_else(|_| "nameplate".to_owned(), ToString::to_string);
    let fleet = fleet(picture, look);
    let rented = picture.platform.as_ref();
    let up = picture
        .host
        .boot
        .ok()
        .filter(|boot| picture.at > *boot)
        .map(|boot| {
            let up = picture.at.duration_since(boot).as_secs_f64();
            t.chrome_up(format_span((up / 60.0).floor() * 60.0))
        });
    let mut left = vec![
        (" ", muted),
        (name.as_str(), look.style(Role::Strong)),
        ("  ", muted),
    ];
    let width = usize::from(line.width);
    if let Some(view) = rented {
        let role = match view.status {
            PlatformStatus::Fresh => Role::Text,
            PlatformStatus::Stale | PlatformStatus::Refused => Role::Muted,
        };
        left.extend([(&*view.platform.title, look.style(role)), (" ", muted)]);
    }
    left.push((&fleet, look.style(Role::Text)));
    let region = rented.and_then(|view| view.platform.region.as_deref());
    if let Some(region) = region.filter(|_| width >= 100) {
        left.extend([("  ", muted), (region, muted)]);
    }
    let alert = rented.and_then(|view| alert(view, picture.at, look));
    if let Some((text, role)) = &alert {
        left.extend([("  ", muted), (text.as_ref(), look.style(*role))]);
    }
    if width >= 72
        && alert.is_none()
        && let Some(up) = &up
    {
        left.extend([("  ", muted), (up.as_ref(), muted)]);
    }
    let title = t.meter_title();
    if app.view() == View::Meter {
        left.extend([("   ", muted), (title.as_ref(), look.style(Role::Accent))]);
    }
    let end = write_line(buf, line, &left);
    let state = source_state(app, picture, look);
    let recording = recording_state(app, look);
    let interval = interval(app.interval());
    let dropped = t.chrome_dropped(picture.dropped);
    let clock = clock(picture, look);
    let age = youngest(app, picture).map(|age| t.chrome_age(format_span(age)));
    let mut right = vec![(state.0.as_ref(), look.style(state.1)), ("  ", muted)];
    // Whose figures these are, and that they are not kept, stands on narrow screens too.
    if let Some((word, role)) = recording
        .as_ref()
        .filter(|(_, role)| width >= 100 || *role != Role::Muted)
    {
        right.extend([(word.as_ref(), look.style(*role)), ("  ", muted)]);
    }
    right.extend([(interval.as_str(), muted), ("  ", muted)]);
    if let Some(age) = age.as_ref().filter(|_| width >= 100) {
        right.extend([(age.as_ref(), muted), ("  ", muted)]);
    }
    if width >= 100 || picture.dropped > 0 {
        let role = if picture.dropped > 0 {
            Role::Warn
        } else {
            Role::Muted
        };
        right.extend([(dropped.as_ref(), look.style(role)), ("  ", muted)]);
    }
    right.extend([(clock.as_str(), muted), (" ", muted)]);
    if !write_right(buf, line, end + 1, &right) {
        let short = [(state.0.as_ref(), look.style(state.1)), (" ", muted)];
        write_right(buf, line, end + 1, &short);
    }
}

/// What the platform is about to do to this instance, with the time left; or that it bills what does not run.
fn alert(
    view: &PlatformView,
    at: jiff::Timestamp,
    look: &Look,
) -> Option<(Cow<'static, str>, Role)> {
    let t = look.text;
    if let Some(notice) = platform::worst_notice(&view.platform) {
        let role = match notice.kind {
            NoticeKind::Preempt | NoticeKind::Retire => Role::Bad,
            NoticeKind::Maintenance => Role::Warn,
        };
        return Some((platform::notice(notice, at, t), role));
    }
    view.still_bills
        .then(|| (t.platform_still_bills(), Role::Warn))
}

/// Seconds since the newest sample of any device; what another process records comes later than what it reads.
fn youngest(app: &App, picture: &Snapshot) -> Option<f64> {
    let age = picture
        .devices
        .iter()
        .filter_map(|d| d.age_s)
        .min_by(f64::total_cmp)?;
    Some(age + app.behind_s())
}

/// Who records, with the colour of it.
fn recording_state(app: &App, look: &Look) -> Option<(Cow<'static, str>, Role)> {
    let t = look.text;
    match app.recording() {
        Recording::Nobody => None,
        Recording::Own => Some((t.chrome_recording(), Role::Muted)),
        Recording::Other(pid) => Some((t.chrome_recorder(pid), Role::Accent)),
        Recording::Paused(_) => Some((t.chrome_recording_paused_short(), Role::Bad)),
        Recording::Failed(_) => Some((t.chrome_recording_failed_short(), Role::Warn)),
    }
}

/// Live, paused, or how old the newest sample is; with its colour.
fn source_state(app: &App, picture: &Snapshot, look: &Look) -> (String, Role) {
    let t = look.text;
    let not_live = look.glyph(Glyph::NotLive);
    if app.is_past() {
        return (format!("{not_live} {}", t.chrome_past()), Role::Warn);
    }
    if app.is_paused() {
        return (
            format!("{} {}", look.glyph(Glyph::Paused), t.chrome_paused()),
            Role::Warn,
        );
    }
    if picture.source != SourceKind::Live {
        return (
            format!("{not_live} {}", picture.source.word()),
            Role::Accent,
        );
    }
    // A probe that has failed under its devices is worse news than their age.
    let failed = picture
        .probes
        .iter()
        .find(|p| matches!(p.status, ProbeStatus::Crashed | ProbeStatus::TimedOut));
    if let Some(probe) = failed.filter(|_| !picture.devices.is_empty()) {
        return (
            format!(
                "{not_live} {}: {}",
                probe.vendor.word(),
                words::probe_status(probe, t)
            ),
            Role::Bad,
        );
    }
    let flush = if matches!(app.recording(), Recording::Other(_)) {
        FLUSH_S
    } else {
        0.0
    };
    if let Some(age) = youngest(app, picture)
        && age > 2.0 * picture.interval.as_secs_f64() + flush
    {
        return (
            format!("{not_live} {}", t.chrome_stale(format_span(age))),
            Role::Warn,
        );
    }
    (
        format!("{} {}", look.glyph(Glyph::Live), t.chrome_live()),
        Role::Ok,
    )
}

/// `8 × H100 80GB HBM3`, kinds in order of appearance; of many kinds the first two, and how many devices are of others.
fn fleet(picture: &Snapshot, look: &Look) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for view in picture
        .devices
        .iter()
        .filter(|d| d.device.kind == DeviceKind::Device)
    {
        let name = super::table::short_name(&view.device.name);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    if kinds.is_empty() {
        return look.text.chrome_no_devices().into_owned();
    }
    let told = if kinds.len() > 3 { 2 } else { 3 };
    let others: usize = kinds.iter().skip(told).map(|(_, count)| count).sum();
    let more = (others > 0).then(|| look.text.chrome_fleet_more(others));
    let parts: Vec<Cow<'static, str>> = kinds
        .iter()
        .take(told)
        .map(|(name, count)| {
            look.text
                .chrome_fleet(count, look.glyph(Glyph::Times), name)
        })
        .chain(more)
        .collect();
    parts.join(", ")
}

/// Wall time of the picture, in the local zone.
fn clock(picture: &Snapshot, look: &Look) -> String {
    look.time(picture.at, "%H:%M:%S")
}

/// Wall time of a recording's picture, with its day where that is not the newest's.
fn long_clock(app: &App, picture: &Snapshot, look: &Look) -> String {
    let day = |at| look.time(at, "%F");
    let today = app
        .newest()
        .is_some_and(|newest| day(newest.at) == day(picture.at));
    look.time(picture.at, if today { "%H:%M:%S" } else { "%F %H:%M:%S" })
}

/// The time or the budget that is being typed: what stands before it, its form, and what is said where it is none.
fn entry_line(
    entry: &Entry,
    [before, form, refused]: [&str; 3],
    look: &Look,
    line: Rect,
    buf: &mut Buffer,
) {
    let (muted, accent) = (look.style(Role::Muted), look.style(Role::Accent));
    let (said, role) = if entry.refused {
        (refused, Role::Warn)
    } else {
        (form, Role::Muted)
    };
    let pieces = [
        (" ", muted),
        (before, accent),
        (" ", muted),
        (entry.text.as_str(), look.style(Role::Strong)),
        ("_  ", accent),
        (said, look.style(role)),
    ];
    write_line(buf, line, &pieces);
}

fn interval(interval: Duration) -> String {
    let seconds = interval.as_secs_f64();
    if seconds < 1.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}

/// A key as it is shown.
pub(super) fn key_name(key: Key, look: &Look) -> String {
    let t = look.text;
    match key {
        Key::Char(' ') => look.glyph(Glyph::KeySpace).to_owned(),
        Key::Char(c) => c.to_string(),
        Key::Ctrl(c) => t.chrome_name_ctrl(c).into_owned(),
        Key::Up => look.glyph(Glyph::KeyUp).to_owned(),
        Key::Down => look.glyph(Glyph::KeyDown).to_owned(),
        Key::PageUp => t.chrome_name_page_up().into_owned(),
        Key::PageDown => t.chrome_name_page_down().into_owned(),
        Key::Home => t.chrome_name_home().into_owned(),
        Key::End => t.chrome_name_end().into_owned(),
        Key::Enter => look.glyph(Glyph::KeyEnter).to_owned(),
        Key::Escape => t.chrome_name_escape().into_owned(),
        Key::Backspace => t.chrome_name_backspace().into_owned(),
    }
}

/// A text that is being typed: its end, where it is longer than the line.
fn typed_line(before: &str, text: &str, keys: &str, look: &Look, line: Rect, buf: &mut Buffer) {
    let muted = look.style(Role::Muted);
    let text = crate::text::clean(text);
    let mut shown: &str = &text;
    let room = usize::from(line.width).saturating_sub(before.width() + 3);
    while shown.width() > room {
        let mut rest = shown.chars();
        rest.next();
        shown = rest.as_str();
    }
    let pieces = [
        (" ", muted),
        (before, look.style(Role::Accent)),
        (shown, look.style(Role::Strong)),
        ("_  ", look.style(Role::Accent)),
        (keys, muted),
    ];
    write_line(buf, line, &pieces);
}

/// The keys that matter here, accent for the key, dim for the word; or a notice.
fn hints(app: &App, look: &Look, line: Rect, buf: &mut Buffer) {
    let t = look.text;
    let muted = look.style(Role::Muted);
    let accent = look.style(Role::Accent);
    if let Some(note) = app.note() {
        let (before, keys) = (t.chrome_note(), t.chrome_note_keys());
        return typed_line(&before, note, &keys, look, line, buf);
    }
    if app.is_filtering() {
        let (before, keys) = (t.overview_filter(), t.overview_filter_keys());
        return typed_line(&before, app.filter(), &keys, look, line, buf);
    }
    if let Some(entry) = app.entry() {
        let words = [
            t.chrome_entry(),
            t.chrome_entry_form(),
            t.chrome_entry_refused(),
        ];
        return entry_line(entry, words.each_ref().map(|w| &**w), look, line, buf);
    }
    if let Some((entry, currency)) = app.budget_entry() {
        let words = [
            t.meter_budget_entry(currency),
            t.meter_budget_form(),
            t.meter_budget_refused(),
        ];
        return entry_line(entry, words.each_ref().map(|w| &**w), look, line, buf);
    }
    if let Some(notice) = app.notice() {
        write_line(buf, line, &[(" ", muted), (notice, accent)]);
        return;
    }
    let paused = match app.recording() {
        Recording::Paused(reason) => Some(t.chrome_recording_paused(reason)),
        _ => None,
    };
    if let Some(paused) = paused {
        write_line(buf, line, &[(" ", muted), (&paused, look.style(Role::Bad))]);
        return;
    }
    let said = app.remark(t);
    let up_down = look.glyph(Glyph::KeyUpDown);
    let view = app.view();
    let mut hints: Vec<(String, Cow<'static, str>)> = Vec::new();
    match view {
        View::Overview => hints.push((up_down.to_owned(), t.chrome_key_select())),
        View::Verdicts => hints.push((up_down.to_owned(), t.chrome_key_verdict())),
        View::Device | View::Help => hints.push((up_down.to_owned(), t.chrome_key_scroll())),
        View::Nothing | View::Meter => {}
    }
    for binding in BINDINGS.iter().filter(|b| b.views.contains(&view)) {
        let word = match binding.action {
            Action::Open => t.chrome_key_open(),
            Action::Verdicts => t.chrome_key_verdicts(),
            Action::Meter if view != View::Meter => t.chrome_key_meter(),
            Action::MeterHours if app.meter_panel() == MeterPanel::Hours => t.chrome_key_days(),
            Action::MeterHours => t.chrome_key_hours(),
            Action::MeterDevices => t.chrome_key_devices(),
            Action::MeterStarts => t.chrome_key_starts(),
            Action::MeterBudget => t.chrome_key_budget(),
            Action::Back => t.chrome_key_back(),
            Action::Pause if app.is_paused() => t.chrome_key_resume(),
            Action::Pause => t.chrome_key_pause(),
            Action::Faster if app.has_speed() => t.chrome_key_speed(),
            Action::Faster => t.chrome_key_interval(),
            Action::StepBack if app.has_past() => Cow::Owned(format_span(app.step_seconds())),
            Action::EventBefore if app.has_past() => t.chrome_key_event(),
            Action::EpisodeBegin => t.chrome_key_episode(),
            Action::GoTo if app.has_past() => t.chrome_key_time(),
            Action::End if app.is_past() => t.chrome_key_live(),
            Action::Copy if app.has_past() && (app.is_replay() || app.is_past()) => continue,
            Action::Copy => t.chrome_key_copy(),
            Action::Mark => t.chrome_key_mark(),
            Action::Demo => t.chrome_key_demo(),
            Action::Retry => t.chrome_key_retry(),
            Action::Help => t.chrome_key_help(),
            Action::Quit => t.chrome_key_quit(),
            _ => continue,
        };
        let key = binding
            .keys
            .first()
            .map(|k| key_name(*k, look))
            .unwrap_or_default();
        let key = match binding.action {
            Action::Faster => "+-".to_owned(),
            Action::StepBack => "[]".to_owned(),
            Action::EventBefore => "Nn".to_owned(),
            _ => key,
        };
        hints.push((key, word));
    }
    // Help and quit always stand; what does not fit before them is left out.
    let width = |(key, word): &(String, Cow<'static, str>)| key.width() + word.width() + 3;
    let last = hints.split_off(hints.len().saturating_sub(2));
    let mut room =
        usize::from(line.width).saturating_sub(1 + last.iter().map(width).sum::<usize>());
    hints.retain(|hint| {
        let fits = width(hint) <= room;
        room = if fits { room - width(hint) } else { 0 };
        fits
    });
    hints.extend(last);
    let mut pieces = vec![(" ", muted)];
    // What is to be said of the place takes the room of the first hints; help and quit stay.
    if let Some(said) = &said {
        hints.drain(..hints.len().saturating_sub(2));
        pieces.extend([(said.as_ref(), look.style(Role::Warn)), ("  ", muted)]);
    }
    for (key, word) in &hints {
        pieces.extend([
            (key.as_str(), accent),
            (" ", muted),
            (word.as_ref(), muted),
            ("  ", muted),
        ]);
    }
    write_line(buf, line, &pieces);
}
