//! What users write, on the command line and in the file alike: durations, prices, times, shares.

use crate::model::{Granularity, PhasePrice, PriceScope};
use crate::units::parse_duration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::str::FromStr;
use std::time::Duration;

/// The shortest interval.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest interval.
pub const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// No price or budget is larger; it also keeps sums within what a decimal holds.
const AMOUNT_MAX: i64 = 1_000_000_000;

/// An interval of 0.1 s to 60 s.
///
/// # Errors
/// A sentence that says what an interval looks like.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text)?;
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        Ok(interval)
    } else {
        Err(format!("\"{text}\" is not between 0.1s and 60s"))
    }
}

/// A duration above zero, at most ten years.
///
/// # Errors
/// A sentence that says what a duration looks like.
pub fn span(text: &str) -> Result<Duration, String> {
    const TEN_YEARS: Duration = Duration::from_secs(10 * 366 * 86_400);
    let span = parse_duration(text)?;
    if span.is_zero() || span > TEN_YEARS {
        return Err(format!(
            "\"{text}\" is not a duration above zero and below ten years"
        ));
    }
    Ok(span)
}

/// How far back charts reach at full rate: a minute to six hours.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn history(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text)?;
    if (60..=6 * 3600).contains(&span.as_secs()) {
        Ok(span)
    } else {
        Err(format!("\"{text}\" is not between 1m and 6h"))
    }
}

/// An amount of money: a decimal that is not negative.
///
/// # Errors
/// A sentence that says what an amount looks like.
pub fn amount(text: &str) -> Result<Decimal, String> {
    let text = text.trim();
    let amount = Decimal::from_str(text)
        .or_else(|_| Decimal::from_scientific(text))
        .map_err(|_| format!("\"{text}\" is not an amount such as 2.99"))?;
    if amount.is_sign_negative() && !amount.is_zero() || amount > Decimal::from(AMOUNT_MAX) {
        return Err(format!("\"{text}\" is not between 0 and {AMOUNT_MAX}"));
    }
    Ok(amount.abs())
}

/// An RFC 3339 time with its offset.
///
/// # Errors
/// A sentence that says what a time looks like.
pub fn time(text: &str) -> Result<Timestamp, String> {
    text.trim().parse().map_err(|_| {
        format!(
            "\"{text}\" is not a time such as 2026-03-01T12:00:00Z or 2026-03-01T20:00:00+08:00"
        )
    })
}

/// A share from 0 to 1.
///
/// # Errors
/// A sentence that says what a share looks like.
pub fn share(text: &str) -> Result<f64, String> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("\"{text}\" is not a share from 0 to 1, such as 0.1"))
}

/// A number that rules compare with: seconds (also as a span, "5m") where the key ends in `_s`, else a plain number.
///
/// # Errors
/// Says what is wrong with it.
pub fn threshold(text: &str, key: &str) -> Result<f64, String> {
    let seconds = key.ends_with("_s") && !key.ends_with("_per_s");
    let number = match text.trim().parse::<f64>() {
        Err(_) if seconds => span(text)?.as_secs_f64(),
        Err(_) => return Err(format!("\"{text}\" is not a number")),
        Ok(number) => number,
    };
    if (0.0..=1e12).contains(&number) {
        Ok(number)
    } else {
        Err(format!("\"{text}\" is not between 0 and 1e12"))
    }
}

/// A billing quantum.
///
/// # Errors
/// A sentence with the words that are known.
pub fn granularity(text: &str) -> Result<Granularity, String> {
    [Granularity::Second, Granularity::Minute, Granularity::Hour]
        .into_iter()
        .find(|known| known.word() == text)
        .ok_or_else(|| format!("\"{text}\" is not one of second, minute, hour"))
}

/// What a price is the price of.
///
/// # Errors
/// A sentence with the words that are known.
pub fn scope(text: &str) -> Result<PriceScope, String> {
    [PriceScope::Instance, PriceScope::Device]
        .into_iter()
        .find(|known| known.word() == text)
        .ok_or_else(|| format!("\"{text}\" is not one of instance, device"))
}

/// What an hour of a phase costs: a share of the price (`0`, `0.03`, `1`), or an amount of its own (`0.03/h`).
///
/// # Errors
/// A sentence that says what it looks like.
pub fn phase_price(text: &str) -> Result<PhasePrice, String> {
    let text = text.trim();
    match text.strip_suffix("/h") {
        Some(own) => amount(own).map(PhasePrice::PerHour),
        None => amount(text)
            .ok()
            .filter(|share| *share <= Decimal::ONE)
            .map(PhasePrice::Share)
            .ok_or_else(|| {
                format!("\"{text}\" is not a share of the price from 0 to 1, nor an amount such as 0.03/h")
            }),
    }
}

/// Grams of CO2 equivalent per kilowatt hour.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn intensity(text: &str) -> Result<f64, String> {
    number_within(text, 0.0, 3000.0, "an intensity in grams per kWh")
}

/// A power usage effectiveness.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn pue(text: &str) -> Result<f64, String> {
    number_within(text, 1.0, 5.0, "a power usage effectiveness")
}

fn number_within(text: &str, low: f64, high: f64, what: &str) -> Result<f64, String> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("\"{text}\" is not {what} from {low} to {high}"))
}

/// A time zone by its IANA name, or an offset such as `+08:00`; `local` is the system's.
///
/// # Errors
/// A sentence that says what a zone looks like.
pub fn zone(text: &str) -> Result<TimeZone, String> {
    if text == "local" {
        return Ok(TimeZone::system());
    }
    let complaint =
        || format!("\"{text}\" is not a time zone such as Asia/Shanghai, UTC or +08:00");
    TimeZone::get(text).or_else(|_| offset(text).ok_or_else(complaint))
}

fn offset(text: &str) -> Option<TimeZone> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let number = |digits: &str| {
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse::<i32>().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    let offset = jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?;
    Some(TimeZone::fixed(offset))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn intervals_have_their_range() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("0.1"), Ok(INTERVAL_MIN));
        assert_eq!(interval("60s"), Ok(INTERVAL_MAX));
        for bad in ["0.05s", "61s", "-1s", "soon", ""] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn amounts_are_exact_decimals() {
        assert_eq!(amount("2.99").unwrap(), Decimal::new(299, 2));
        assert_eq!(amount("3").unwrap(), Decimal::from(3));
        assert_eq!(amount("2.5e1").unwrap(), Decimal::from(25));
        for bad in ["-1", "two", "", "1e20", "NaN", "inf"] {
            assert!(amount(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_and_zones() {
        assert_eq!(
            time("2026-03-01T20:00:00+08:00"),
            time("2026-03-01T12:00:00Z")
        );
        assert!(time("2026-03-01").is_err());
        assert!(time("2026-03-01T12:00:00").is_err());
        assert!(zone("+08:00").is_ok() && zone("UTC").is_ok() && zone("local").is_ok());
        assert!(zone("Mars/Olympus").is_err() && zone("+99:00").is_err() && zone("+é:0").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = (interval(&text), span(&text), history(&text), amount(&text), time(&text), share(&text), zone(&text));
        }
    }
}
