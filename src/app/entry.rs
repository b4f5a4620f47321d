//! The line in which a time is typed, and how it is read.

use super::keymap::Key;
use super::playback::Order;
use super::{App, Effect};
use crate::text::Catalogue;
use crate::units::parse_duration;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

/// Characters that a time may have.
const LONGEST: usize = 40;

/// A time that is being typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// As far as it is typed.
    pub text: String,
    /// What was typed before was no time.
    pub refused: bool,
}

impl App {
    /// The zone in which times are typed.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// The time that is being typed.
    #[must_use]
    pub const fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// Opens the line.
    pub(super) fn begin_entry(&mut self, t: Catalogue) {
        if self.has_past() {
            self.entry = Some(Entry::default());
        } else {
            self.notify(t.chrome_no_past().into_owned());
        }
    }

    pub(super) fn type_time(&mut self, key: Key) -> Option<Effect> {
        let shown = self.picture().map(|picture| picture.at);
        let entry = self.entry.as_mut()?;
        match key {
            Key::Char(c) if entry.text.chars().count() < LONGEST => {
                entry.text.push(c);
                entry.refused = false;
            }
            Key::Backspace => {
                entry.text.pop();
                entry.refused = false;
            }
            Key::Escape => self.entry = None,
            Key::Enter if entry.text.trim().is_empty() => self.entry = None,
            Key::Enter => match read_time(&entry.text, shown?, &self.zone) {
                Some(at) => {
                    self.entry = None;
                    return self.ask(Order::At(at));
                }
                None => entry.refused = true,
            },
            _ => {}
        }
        None
    }
}

/// Reads a time as people write it: RFC 3339, a day and a time or a time alone in `zone` (of the day that is shown, or
/// of the day before where that lies after it), or a span before or after what is shown: `-10m`, `+1h`.
fn read_time(text: &str, shown: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Some(span) = text.strip_prefix('-') {
        let span = SignedDuration::try_from(parse_duration(span).ok()?).ok()?;
        return shown.checked_sub(span).ok();
    }
    if let Some(span) = text.strip_prefix('+') {
        let span = SignedDuration::try_from(parse_duration(span).ok()?).ok()?;
        return shown.checked_add(span).ok();
    }
    let here = |at: civil::DateTime| zone.to_timestamp(at).ok();
    if let Ok(at) = text.parse::<civil::DateTime>() {
        return here(at);
    }
    let time = text.parse::<civil::Time>().ok()?;
    let today = zone.to_datetime(shown).date();
    let at = here(today.to_datetime(time))?;
    if at <= shown {
        return Some(at);
    }
    let later = at.duration_since(shown) > SignedDuration::from_hours(12);
    if later {
        here(today.yesterday().ok()?.to_datetime(time))
    } else {
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let shown: Timestamp = "2026-03-02T01:30:00Z".parse().unwrap();
        let zone = TimeZone::get("Asia/Shanghai").unwrap_or(TimeZone::fixed(jiff::tz::offset(8)));
        for (text, at) in [
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
            ("2026-03-01T12:00:00+08:00", "2026-03-01T04:00:00Z"),
            ("2026-03-01 12:00", "2026-03-01T04:00:00Z"),
            (" 09:10 ", "2026-03-02T01:10:00Z"),
            ("09:40:30", "2026-03-02T01:40:30Z"),
            ("23:00", "2026-03-01T15:00:00Z"),
            ("-90s", "2026-03-02T01:28:30Z"),
            ("+1h 30m", "2026-03-02T03:00:00Z"),
        ] {
            assert_eq!(
                read_time(text, shown, &zone).unwrap().to_string(),
                at,
                "{text}"
            );
        }
        for text in [
            "",
            "x",
            "25:00",
            "-",
            "+x",
            "2026-13-01 00:00",
            "9999999999999h",
        ] {
            assert_eq!(read_time(text, shown, &zone), None, "{text}");
        }
    }
}
