//! Things in answers: texts, numbers and times as platforms write them.

use super::descriptor::{Part, Scale, Slot, Value};
use crate::text::clean;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use rust_decimal::Decimal;
use serde_json::Value as Json;
use std::str::FromStr;
use std::sync::Arc;

/// No text of a platform is longer.
const LONGEST: usize = 256;
/// Items of a list that are looked at.
const ITEMS: usize = 1024;

/// One answer, as its request says that it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Json(Json),
    Text(String),
}

/// A scalar as text: cleaned, one line, not empty, bounded.
pub(super) fn text(json: &Json) -> Option<Arc<str>> {
    match json {
        Json::String(text) => short(text),
        Json::Number(number) => short(&number.to_string()),
        Json::Bool(yes) => short(if *yes { "true" } else { "false" }),
        _ => None,
    }
}

/// The same of a plain text.
pub(super) fn short(text: &str) -> Option<Arc<str>> {
    let line = text.trim();
    let cleaned = clean(line);
    let cut = cleaned.get(..cleaned.floor_char_boundary(LONGEST))?;
    (!cut.is_empty()).then(|| Arc::from(cut))
}

/// A number that is written as one or as text, exactly.
pub(super) fn decimal(json: &Json) -> Option<Decimal> {
    let text = match json {
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    Decimal::from_str(&text)
        .or_else(|_| Decimal::from_scientific(&text))
        .ok()
}

fn float(json: &Json) -> Option<f64> {
    let number = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|n| n.is_finite())
}

/// A time: RFC 3339, seconds since 1970, `2018-08-18 12:05:33` in a zone, or as HTTP and e-mail write it.
pub(super) fn time(json: &Json, zone: Option<&str>) -> Option<Timestamp> {
    match json {
        Json::Number(number) => unix(number.as_f64()?),
        Json::String(text) => time_of(text, zone),
        _ => None,
    }
}

fn unix(seconds: f64) -> Option<Timestamp> {
    // Before 2001 and after 2286 it is no time of an instance.
    (1e9..1e10)
        .contains(&seconds)
        .then(|| Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok())?
}

/// The same of a text.
pub(super) fn time_of(text: &str, zone: Option<&str>) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return unix(seconds);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        let zone = fixed(zone.unwrap_or("+00:00"))?;
        return zone.to_timestamp(local).ok();
    }
    http_date(text)
}

fn fixed(zone: &str) -> Option<TimeZone> {
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Some(TimeZone::fixed(Offset::from_seconds(sign * seconds).ok()?))
}

/// `Mon, 30 Nov 2026 18:29:47 GMT` (RFC 9110), with or without the day's name.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let rest = text.split_once(", ").map_or(text, |(_, rest)| rest);
    let mut words = rest.split_whitespace();
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let clock = words.next()?;
    if !matches!(words.next(), Some("GMT" | "UTC" | "+0000")) {
        return None;
    }
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    let day: u8 = day.parse().ok()?;
    let year: u16 = year.parse().ok()?;
    format!("{year:04}-{month:02}-{day:02}T{clock}Z")
        .parse()
        .ok()
}

/// The part of a text that counts.
fn part(text: &str, part: Part) -> Option<Arc<str>> {
    let last = || text.rsplit('/').next();
    let picked = match part {
        Part::Whole => text,
        Part::LastSegment => last()?,
        Part::RegionOfZone => {
            let zone = last()?;
            zone.rsplit_once('-').map_or(zone, |(region, _)| region)
        }
        Part::RegionOfLetter => {
            let zone = last()?;
            zone.strip_suffix(|c: char| c.is_ascii_lowercase())
                .filter(|region| region.ends_with(|c: char| c.is_ascii_digit()))
                .unwrap_or(zone)
        }
    };
    short(picked)
}

/// Everything at a pointer in which `*` stands for each item of a list.
fn all_at<'a>(json: &'a Json, pointer: &str) -> Vec<&'a Json> {
    let Some((list, rest)) = pointer.split_once("/*") else {
        return json
            .pointer(pointer)
            .filter(|found| !found.is_null())
            .into_iter()
            .collect();
    };
    let items = json.pointer(list).and_then(Json::as_array);
    items
        .into_iter()
        .flatten()
        .take(ITEMS)
        .filter_map(|item| item.pointer(rest).filter(|found| !found.is_null()))
        .collect()
}

impl Value {
    /// The first place that has something.
    fn found<'a>(&self, said: &'a Json) -> Vec<&'a Json> {
        self.at
            .iter()
            .map(|pointer| all_at(said, pointer))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// The value as a text.
    pub(super) fn text(&self, said: &Said) -> Option<Arc<str>> {
        match said {
            Said::Text(whole) => part(whole.trim(), self.part),
            Said::Json(json) => {
                let found = text(self.found(json).first()?)?;
                part(&found, self.part)
            }
        }
    }

    /// The value as a number; of several the mean, of temperatures the highest.
    pub(super) fn number(&self, said: &Said) -> Option<f64> {
        let list: Vec<f64> = match said {
            Said::Text(text) => vec![text.trim().parse().ok()?],
            Said::Json(json) => self.found(json).into_iter().filter_map(float).collect(),
        };
        let number = if self.is == Slot::Temperature {
            list.into_iter().reduce(f64::max)?
        } else {
            let count = list.len();
            (count > 0).then(|| list.iter().sum::<f64>() / count as f64)?
        };
        let scaled = match self.scale {
            Scale::Plain | Scale::MinutesAgo => number,
            Scale::Cents | Scale::Percent => number / 100.0,
            Scale::Thousandths => number / 1000.0,
            Scale::ShareOrPercent if number > 1.0 => number / 100.0,
            Scale::ShareOrPercent => number,
            Scale::Giga => number * 1e9,
        };
        let [least, most] = self.plausible.unwrap_or(self.usual_range());
        (scaled.is_finite() && (least..=most).contains(&scaled)).then_some(scaled)
    }

    /// What is believed where the descriptor says nothing.
    fn usual_range(&self) -> [f64; 2] {
        match self.is {
            Slot::Utilization => [0.0, 1.0],
            Slot::Temperature => [1.0, 150.0],
            Slot::PcieGeneration => [1.0, 7.0],
            Slot::PcieWidth => [1.0, 32.0],
            Slot::DeviceCount => [1.0, 1024.0],
            Slot::PowerLimit => [1.0, 20_000.0],
            _ => [f64::MIN, f64::MAX],
        }
    }

    /// The value as money per hour: above nothing, and what is plausible.
    pub(super) fn price(&self, said: &Said) -> Option<Decimal> {
        let raw = match said {
            Said::Text(text) => Decimal::from_str(text.trim()).ok()?,
            Said::Json(json) => decimal(self.found(json).first()?)?,
        };
        let [least, most] = self.plausible.unwrap_or([0.0, 1e6]);
        let fits = |price: &Decimal| {
            *price > Decimal::ZERO
                && f64::try_from(*price).is_ok_and(|price| (least..=most).contains(&price))
        };
        let scaled = match self.scale {
            Scale::Cents => raw.checked_div(Decimal::from(100))?,
            Scale::Thousandths => raw.checked_div(Decimal::from(1000))?,
            _ => raw,
        };
        // Where clients of one API disagree about its unit, the range decides.
        Some(scaled)
            .filter(fits)
            .or_else(|| Some(raw).filter(|raw| self.plausible.is_some() && fits(raw)))
    }

    /// The value as a time.
    pub(super) fn time(&self, said: &Said, now: Timestamp) -> Option<Timestamp> {
        if self.scale == Scale::MinutesAgo {
            let seconds = self.number(said).filter(|m| (0.0..1e7).contains(m))? * 60.0;
            let ago = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
            return now.checked_sub(ago).ok();
        }
        let zone = self.zone.as_deref();
        match said {
            Said::Text(text) => time_of(text, zone),
            Said::Json(json) => time(self.found(json).first()?, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value(is: Slot, at: &[&str], scale: Scale) -> Value {
        Value {
            is,
            at: at.iter().map(|p| (*p).to_owned()).collect(),
            scale,
            part: Part::Whole,
            zone: None,
            plausible: None,
        }
    }

    #[test]
    fn times_are_read_as_platforms_write_them() {
        for (text, zone, expected) in [
            ("2026-11-30T17:11:44Z", None, "2026-11-30T17:11:44Z"),
            ("2026-11-29T12:00:00+08:00", None, "2026-11-29T04:00:00Z"),
            (
                "2018-08-18 12:05:33",
                Some("+08:00"),
                "2018-08-18T04:05:33Z",
            ),
            ("2024-11-17 10:02:41", None, "2024-11-17T10:02:41Z"),
            (
                "Mon, 30 Nov 2026 18:29:47 GMT",
                None,
                "2026-11-30T18:29:47Z",
            ),
            ("30 Nov 2026 10:00:00 GMT", None, "2026-11-30T10:00:00Z"),
            ("7 Dec 2026 10:00:00 GMT", None, "2026-12-07T10:00:00Z"),
            ("1761008618.225", None, "2025-10-21T01:03:38.225Z"),
        ] {
            assert_eq!(
                time_of(text, zone).map(|t| t.to_string()),
                Some(expected.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            "soon",
            "12",
            "<html>",
            "99999999999",
            "30 Foo 2026 10:00:00 GMT",
        ] {
            assert_eq!(time_of(text, None), None, "{text}");
        }
    }

    #[test]
    fn prices_are_exact_in_every_unit() {
        for (json, scale, expected) in [
            (json!({"p": 0.44}), Scale::Plain, "0.44"),
            (json!({"p": "2.10"}), Scale::Plain, "2.10"),
            (json!({"p": 110}), Scale::Cents, "1.1"),
            (json!({"p": 12800}), Scale::Thousandths, "12.8"),
            (
                json!({"p": 1.002_074_074_074_074_1}),
                Scale::Plain,
                "1.002074074074074",
            ),
        ] {
            let price = value(Slot::Price, &["/p"], scale)
                .price(&Said::Json(json))
                .unwrap();
            assert_eq!(
                price.normalize().to_string().get(..5),
                Decimal::from_str(expected)
                    .unwrap()
                    .normalize()
                    .to_string()
                    .get(..5),
                "{expected}"
            );
        }
        for json in [
            json!({"p": 0.0}),
            json!({"p": -1}),
            json!({"p": null}),
            json!({"p": "free"}),
            json!({"p": 1e300}),
            json!([]),
        ] {
            assert_eq!(
                value(Slot::Price, &["/p"], Scale::Plain).price(&Said::Json(json)),
                None
            );
        }
    }

    #[test]
    fn a_price_whose_unit_is_in_doubt_is_the_plausible_one() {
        let mut price = value(Slot::Price, &["/p"], Scale::Thousandths);
        price.plausible = Some([0.05, 2000.0]);
        let of = |n: f64| {
            price
                .price(&Said::Json(json!({"p": n})))
                .map(|p| p.normalize().to_string())
        };
        assert_eq!(of(12800.0), Some("12.8".to_owned()));
        assert_eq!(of(12.8), Some("12.8".to_owned()));
        assert_eq!(of(0.0), None);
    }

    #[test]
    fn numbers_that_cannot_be_are_none() {
        let said = |n: f64| Said::Json(json!({"n": n}));
        let utilization = value(Slot::Utilization, &["/n"], Scale::ShareOrPercent);
        assert_eq!(utilization.number(&said(0.97)), Some(0.97));
        assert_eq!(utilization.number(&said(97.0)), Some(0.97));
        assert_eq!(utilization.number(&said(4_294_967_295.0)), None);
        assert_eq!(
            value(Slot::DeviceCount, &["/n"], Scale::Plain).number(&said(4_294_967_295.0)),
            None
        );
        let list = Said::Json(json!({"gpus": [{"u": 90}, {"u": 94}, {"u": null}]}));
        assert_eq!(
            value(Slot::Utilization, &["/gpus/*/u"], Scale::Percent).number(&list),
            Some(0.92)
        );
        assert_eq!(
            value(Slot::Temperature, &["/gpus/*/u"], Scale::Plain).number(&list),
            Some(94.0)
        );
    }

    #[test]
    fn regions_are_parts_of_zones() {
        for (text, which, expected) in [
            (
                "projects/1/zones/us-central1-a",
                Part::RegionOfZone,
                "us-central1",
            ),
            (
                "projects/1/machineTypes/a2-highgpu-1g",
                Part::LastSegment,
                "a2-highgpu-1g",
            ),
            ("cn-north-4a", Part::RegionOfLetter, "cn-north-4"),
            ("eastus2", Part::Whole, "eastus2"),
        ] {
            assert_eq!(part(text, which).as_deref(), Some(expected));
        }
    }

    #[test]
    fn texts_are_clean_and_short() {
        assert_eq!(
            text(&json!("a\u{1b}[31mb\n"))
                .as_deref()
                .map(|t| t.contains('\u{1b}')),
            Some(false)
        );
        assert!(text(&json!("x".repeat(10_000))).unwrap().len() <= LONGEST);
        assert_eq!(text(&json!("")), None);
        assert_eq!(text(&json!({})), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_none(text in "\\PC{0,40}", zone in "\\PC{0,8}") {
            let _ = time_of(&text, Some(&zone));
        }
    }
}
