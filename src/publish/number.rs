//! How numbers, times and money are written in documents: no more digits than the source had, never NaN.

use crate::units::{Currency, Money};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde_json::Value as Json;

/// RFC 3339 in UTC with milliseconds: `2026-03-01T12:04:33.120Z`.
#[must_use]
pub fn timestamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// A time, or null.
pub(super) fn time_or_null(at: Option<Timestamp>) -> Json {
    at.map_or(Json::Null, |at| timestamp(at).into())
}

/// A number rounded to `decimals`; null where it is not finite.
pub(super) fn rounded(value: f64, decimals: i32) -> Json {
    let scale = 10f64.powi(decimals);
    let scaled = (value * scale).round() / scale;
    // A product past the largest float has no digits to lose anyway.
    let kept = if scaled.is_finite() { scaled } else { value };
    // -0.0 would print a sign that means nothing.
    let kept = if kept == 0.0 { 0.0 } else { kept };
    serde_json::Number::from_f64(kept).map_or(Json::Null, Json::Number)
}

/// A whole number, for counters and bytes; null where it is not finite.
pub(super) fn whole(value: f64) -> Json {
    let value = value.round();
    if !value.is_finite() {
        Json::Null
    } else if (0.0..18_446_744_073_709_551_616.0).contains(&value) {
        (value as u64).into()
    } else if (-9_223_372_036_854_775_808.0..0.0).contains(&value) {
        (value as i64).into()
    } else {
        rounded(value, 0)
    }
}

/// A number in the form that its field's name asks for: bytes, clocks and counters whole, shares to six digits, all else
/// to three (drivers report milliwatts and millijoules).
pub(super) fn by_name(path: &str, value: f64) -> Json {
    let name = path.rsplit('.').next().unwrap_or(path);
    match name {
        "generation" | "generation_max" | "width" | "width_max" | "replays" | "links"
        | "links_up" | "errors" | "ecc_uncorrected" | "tcp_segments" | "infiniband_errors" => {
            whole(value)
        }
        _ if name.ends_with("_bytes")
            || name.ends_with("_bytes_per_s")
            || name.ends_with("_mhz") =>
        {
            whole(value)
        }
        _ if name.ends_with("_ratio") => rounded(value, 6),
        _ => rounded(value, 3),
    }
}

/// An amount as a decimal string with the currency's decimals.
pub(super) fn money(amount: Decimal, currency: &Currency) -> Json {
    Money {
        amount,
        currency: currency.clone(),
    }
    .to_decimal_string()
    .into()
}

/// A price as a decimal string with at least the currency's decimals; `0.345` an hour is not rounded to `0.35`.
pub(super) fn price(amount: Decimal, currency: &Currency) -> Json {
    let amount = amount.normalize();
    if amount.scale() > currency.decimals() {
        amount.round_dp(6).normalize().to_string().into()
    } else {
        money(amount, currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_the_digits_of_their_source() {
        assert_eq!(by_name("power_w", 0.1 + 0.2).to_string(), "0.3");
        assert_eq!(by_name("power_w", 228.123).to_string(), "228.123");
        assert_eq!(by_name("pcie.generation", 4.0).to_string(), "4");
        assert_eq!(
            by_name("memory_used_bytes", 65_498_251_264.0).to_string(),
            "65498251264"
        );
        assert_eq!(
            by_name("power_ratio", 612.0 / 700.0).to_string(),
            "0.874286"
        );
        assert_eq!(by_name("temperature_c", -0.000_01).to_string(), "0.0");
        assert_eq!(by_name("power_w", f64::NAN), Json::Null);
    }

    #[test]
    fn prices_keep_their_digits_and_amounts_do_not() {
        let usd = Currency::default();
        assert_eq!(price(Decimal::new(345, 3), &usd), "0.345");
        assert_eq!(price(Decimal::new(30, 1), &usd), "3.00");
        assert_eq!(money(Decimal::new(345, 3), &usd), "0.35");
    }

    #[test]
    fn times_have_milliseconds() {
        let at = Timestamp::from_millisecond(1_772_366_673_000).unwrap_or(Timestamp::UNIX_EPOCH);
        assert_eq!(timestamp(at), "2026-03-01T12:04:33.000Z");
    }

    proptest! {
        #[test]
        fn any_number_is_written_or_null(value in proptest::num::f64::ANY) {
            for path in ["power_w", "power_ratio", "pcie.replays", "memory_used_bytes"] {
                let json = by_name(path, value);
                prop_assert_eq!(json.is_null(), !value.is_finite());
            }
        }
    }
}
