//! Instants as logs write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Where the zone of an instant is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Zoned {
    /// The instant itself says: an offset, or seconds since 1970.
    Itself,
    /// It was read in the zone that was given.
    Given,
}

/// Reads instants. Where a clock was set back an hour, the hour that comes twice is told apart by what came before.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    zone: TimeZone,
    last: Option<Timestamp>,
}

impl Clock {
    pub(super) const fn new(zone: TimeZone) -> Self {
        Self { zone, last: None }
    }

    /// An instant, and where its zone is from; `None` where the text is none.
    pub(super) fn read(&mut self, text: &str) -> Option<(Timestamp, Zoned)> {
        let text = text.trim();
        let read = match text.parse::<f64>() {
            Ok(number) => epoch(text, number).map(|at| (at, Zoned::Itself)),
            Err(_) => self.civil(text),
        }?;
        self.last = Some(read.0);
        Some(read)
    }

    /// An instant from a date and a time of day that stand apart.
    pub(super) fn read_parts(&mut self, date: &str, time: &str) -> Option<(Timestamp, Zoned)> {
        let at = self.local(DateTime::from_parts(day(date)?, clock(time)?))?;
        self.last = Some(at);
        Some((at, Zoned::Given))
    }

    fn civil(&self, text: &str) -> Option<(Timestamp, Zoned)> {
        let (date, rest) = text.split_once([' ', 'T'])?;
        match (day(date), clock(rest)) {
            (Some(date), Some(time)) => {
                Some((self.local(DateTime::from_parts(date, time))?, Zoned::Given))
            }
            _ => Some((text.parse().ok()?, Zoned::Itself)),
        }
    }

    fn local(&self, at: DateTime) -> Option<Timestamp> {
        let first = self.zone.to_ambiguous_timestamp(at);
        if !first.is_ambiguous() {
            return first.compatible().ok();
        }
        let earlier = first.earlier().ok()?;
        match self.last {
            Some(last) if earlier < last => first.later().ok(),
            _ => Some(earlier),
        }
    }
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970, by their size. Years 2001 to 2286.
fn epoch(text: &str, number: f64) -> Option<Timestamp> {
    let per_second = match number {
        n if (1e9..1e10).contains(&n) => 1e0,
        n if (1e12..1e13).contains(&n) => 1e3,
        n if (1e15..1e16).contains(&n) => 1e6,
        n if (1e18..1e19).contains(&n) => 1e9,
        _ => return None,
    };
    // A float has no digits for nanoseconds: whole part and fraction go their own ways.
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i128 = whole.parse().ok()?;
    let unit = (1e9 / per_second) as i128;
    let mut nanoseconds = whole * unit;
    if !fraction.is_empty() {
        let part: f64 = format!("0.{fraction}").parse().ok()?;
        nanoseconds += (part * unit as f64).round() as i128;
    }
    Timestamp::from_nanosecond(nanoseconds).ok()
}

/// `2026/01/03`, `2026-01-03`, `20260103`.
fn day(text: &str) -> Option<Date> {
    let number = |text: &str| -> Option<i16> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok())?
    };
    let (year, month, day) = match text.len() {
        10 => {
            let mut parts = text.split(['/', '-']);
            (parts.next()?, parts.next()?, parts.next()?)
        }
        8 => (text.get(..4)?, text.get(4..6)?, text.get(6..)?),
        _ => return None,
    };
    let (month, day) = (number(month)?, number(day)?);
    Date::new(
        number(year)?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )
    .ok()
}

/// `15:36:53`, `15:36:53.507`.
fn clock(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let mut next = || -> Option<i8> {
        let part = parts.next()?;
        let digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    };
    let (hour, minute, second) = (next()?, next()?, next()?);
    if parts.next().is_some() || fraction.len() > 9 {
        return None;
    }
    let mut nanoseconds: i32 = 0;
    for place in 0..9 {
        let digit = match fraction.as_bytes().get(place) {
            Some(byte) if byte.is_ascii_digit() => i32::from(byte - b'0'),
            Some(_) => return None,
            None => 0,
        };
        nanoseconds = nanoseconds * 10 + digit;
    }
    // A leap second is the second before it, again.
    Time::new(hour, minute, second.min(59), nanoseconds).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, zone: &str) -> Option<(String, Zoned)> {
        let mut clock = Clock::new(TimeZone::get(zone).unwrap());
        clock.read(text).map(|(at, zoned)| (at.to_string(), zoned))
    }

    #[test]
    fn instants_are_read_in_every_spelling() {
        let own = |text: &str| Some((text.to_owned(), Zoned::Itself));
        let given = |text: &str| Some((text.to_owned(), Zoned::Given));
        let zone = "Asia/Shanghai";
        let local = given("2026-01-03T07:36:53.507Z");
        assert_eq!(read("2026/01/03 15:36:53.507", zone), local);
        assert_eq!(read("2026-01-03 15:36:53.507", zone), local);
        assert_eq!(read("2026-01-03T15:36:53.507", zone), local);
        assert_eq!(
            read("2026-01-03T15:36:53.507+01:00", zone),
            own("2026-01-03T14:36:53.507Z")
        );
        assert_eq!(read("1785951483", zone), own("2026-08-05T17:38:03Z"));
        assert_eq!(
            read("1777241046.437", zone),
            own("2026-04-26T22:04:06.437Z")
        );
        assert_eq!(
            read("1718783836956328", zone),
            own("2024-06-19T07:57:16.956328Z")
        );
        for none in ["", "0", "100", "44.5", "N/A", "2026/13/01 00:00:00", "x y"] {
            assert_eq!(read(none, zone), None, "{none}");
        }
    }

    #[test]
    fn the_hour_that_comes_twice_goes_on() {
        let mut clock = Clock::new(TimeZone::get("Europe/Berlin").unwrap());
        let mut at = |text: &str| clock.read(text).unwrap().0;
        let before = at("2026/10/25 02:59:59.000");
        let after = at("2026/10/25 02:00:00.000");
        assert_eq!(after.duration_since(before).as_secs(), 1);
    }

    #[test]
    fn a_date_and_a_time_stand_apart() {
        let mut clock = Clock::new(TimeZone::UTC);
        let read = clock.read_parts("20260103", "15:36:53").unwrap();
        assert_eq!(read.0.to_string(), "2026-01-03T15:36:53Z");
        assert_eq!(clock.read_parts("Tue", "03:44 PM"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_an_instant_or_none(text in "\\PC{0,32}", digits in "[0-9./: T-]{0,26}") {
            let mut clock = Clock::new(TimeZone::UTC);
            let _ = (clock.read(&text), clock.read(&digits));
        }
    }
}
