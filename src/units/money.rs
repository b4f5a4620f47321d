//! Money: a decimal with a currency, never a float, never converted.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// An ISO 4217 code such as `USD`. Any three letters are accepted: a platform may bill in its own credits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Currency(Arc<str>);

impl Currency {
    /// The code, upper case.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0
    }

    /// Digits after the decimal point (ISO 4217): 0 for JPY, KRW and the like, 3 for the dinars and the rial of Oman, 4 for
    /// units of account, else 2.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        match self.code() {
            "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF"
            | "UGX" | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
            "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
            "CLF" | "UYW" => 4,
            _ => 2,
        }
    }

    /// The sign that stands before an amount (`$`), or `None` where the code itself is written.
    #[must_use]
    pub fn sign(&self) -> Option<&'static str> {
        match self.code() {
            "USD" => Some("$"),
            "EUR" => Some("€"),
            "GBP" => Some("£"),
            "CNY" | "JPY" => Some("¥"),
            _ => None,
        }
    }
}

impl Default for Currency {
    fn default() -> Self {
        Self(Arc::from("USD"))
    }
}

impl FromStr for Currency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() == 3 && text.bytes().all(|b| b.is_ascii_alphabetic()) {
            Ok(Self(Arc::from(text.to_ascii_uppercase())))
        } else {
            Err(format!(
                "\"{text}\" is not a currency code of three letters, such as USD"
            ))
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// How much, exact.
    pub amount: Decimal,
    /// In what.
    pub currency: Currency,
}

impl Money {
    /// The amount rounded half away from zero to the currency's decimals, as in JSON: `"865.90"`.
    #[must_use]
    pub fn to_decimal_string(&self) -> String {
        let decimals = self.currency.decimals();
        let rounded = self
            .amount
            .round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
        format!("{rounded:.*}", decimals as usize)
    }
}

impl fmt::Display for Money {
    /// `$865.90`, or `865.90 CHF` where the currency has no sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = self.to_decimal_string();
        match self.currency.sign() {
            Some(sign) => write!(f, "{sign}{figure}"),
            None => write!(f, "{figure} {}", self.currency),
        }
    }
}

/// Splits `total` (in whole units of 10^-`decimals`) over `shares` so that the parts add up to it exactly:
/// each part is rounded down, what remains goes to the largest remainders, first come first served.
/// With no positive share every part is zero.
#[must_use]
pub fn split_by_largest_remainder(total: Decimal, shares: &[f64], decimals: u32) -> Vec<Decimal> {
    let unit = Decimal::new(1, decimals);
    let total = total.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    let weights: Vec<Decimal> = shares
        .iter()
        .map(|s| Decimal::from_f64_retain(s.max(0.0)).unwrap_or(Decimal::ZERO))
        .collect();
    let sum: Decimal = weights.iter().sum();
    if sum.is_zero() {
        return vec![Decimal::ZERO; shares.len()];
    }
    let exact: Vec<Decimal> = weights.iter().map(|w| total * (*w / sum)).collect();
    let mut parts: Vec<Decimal> = exact
        .iter()
        .map(|e| e.round_dp_with_strategy(decimals, RoundingStrategy::ToZero))
        .collect();
    let mut left = total - parts.iter().sum::<Decimal>();
    let mut order: Vec<usize> = (0..parts.len())
        .filter(|i| !weights[*i].is_zero())
        .collect();
    order.sort_by(|a, b| {
        (exact[*b] - parts[*b])
            .cmp(&(exact[*a] - parts[*a]))
            .then(a.cmp(b))
    });
    for i in order.iter().cycle() {
        if left < unit {
            break;
        }
        parts[*i] += unit;
        left -= unit;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn money(text: &str, currency: &str) -> Money {
        Money {
            amount: Decimal::from_str(text).unwrap_or_default(),
            currency: Currency::from_str(currency).unwrap_or_default(),
        }
    }

    #[test]
    fn amounts_have_their_currencys_decimals() {
        for (code, text) in [
            ("JPY", "1"),
            ("XAF", "1"),
            ("KWD", "1.235"),
            ("EUR", "1.23"),
        ] {
            let money = Money {
                amount: Decimal::new(12345, 4),
                currency: code.parse().unwrap_or_default(),
            };
            assert_eq!(money.to_decimal_string(), text, "{code}");
        }
    }

    #[test]
    fn amounts_are_written_in_their_currency() {
        assert_eq!(money("865.9", "usd").to_string(), "$865.90");
        assert_eq!(money("865.905", "CHF").to_string(), "865.91 CHF");
        assert_eq!(money("1234.5", "JPY").to_string(), "¥1235");
        assert!(Currency::from_str("US").is_err());
    }

    #[test]
    fn the_articles_hour_splits_as_it_was_billed() {
        let parts = split_by_largest_remainder(Decimal::new(3840, 2), &[6138.0, 2122.0, 2540.0], 2);
        assert_eq!(
            parts,
            [
                Decimal::new(2182, 2),
                Decimal::new(755, 2),
                Decimal::new(903, 2)
            ]
        );
    }

    proptest! {
        #[test]
        fn parts_add_up(total in 0i64..10_000_000, shares in proptest::collection::vec(0.0f64..1e6, 1..8)) {
            let total = Decimal::new(total, 2);
            let parts = split_by_largest_remainder(total, &shares, 2);
            if shares.iter().any(|s| *s > 0.0) {
                prop_assert_eq!(parts.iter().sum::<Decimal>(), total);
            }
        }
    }
}
