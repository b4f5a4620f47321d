//! One cell of a log: a number in its metric's own unit, or why there is none.

use super::plausible::checked;
use crate::model::{Absent, Metric, Reading};

/// The unit a number is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// As it stands: counts, degrees, watts, megahertz, joules.
    Plain,
    /// Hundredths.
    Percent,
    /// Thousandths: mW, mJ, ms.
    Milli,
    /// Millionths: us.
    Micro,
    /// A thousand times: kHz of megahertz is not; kW.
    Kilo,
    /// Hertz of megahertz, and the like.
    Millionth,
    /// 2^10 bytes.
    Kibi,
    /// 2^20 bytes, which drivers also call MB.
    Mebi,
    /// 2^30 bytes.
    Gibi,
    /// 10^6 bytes.
    Mega,
    /// 10^9 bytes.
    Giga,
}

impl Written {
    const fn factor(self) -> f64 {
        match self {
            Self::Plain => 1.0,
            Self::Percent => 0.01,
            Self::Milli => 1e-3,
            Self::Micro | Self::Millionth => 1e-6,
            Self::Kilo => 1e3,
            Self::Kibi => 1024.0,
            Self::Mebi => 1_048_576.0,
            Self::Gibi => 1_073_741_824.0,
            Self::Mega => 1e6,
            Self::Giga => 1e9,
        }
    }

    /// The unit of a word behind a number or in a header's brackets, or at the end of a name.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "%" | "percent" | "pct" | "perc" => Self::Percent,
            "W" | "w" | "watt" | "watts" | "MHz" | "mhz" | "C" | "c" | "°C" | "celsius" | "J"
            | "j" | "s" | "B" | "bytes" | "ratio" | "B/s" | "rpm" => Self::Plain,
            "mW" | "mw" | "milliwatts" | "mJ" | "mj" | "ms" => Self::Milli,
            "us" | "µs" => Self::Micro,
            "kW" | "kw" => Self::Kilo,
            "Hz" | "hz" => Self::Millionth,
            "KiB" | "kib" | "KB" | "kb" | "KB/s" | "KiB/s" => Self::Kibi,
            "MiB" | "mib" | "MB" | "mb" | "MiB/s" => Self::Mebi,
            "GiB" | "gib" | "GB" | "gb" => Self::Gibi,
            "MB/s" => Self::Mega,
            "GB/s" => Self::Giga,
            _ => return None,
        })
    }
}

/// What the tool calls the driver's recovery actions, by NVML's number.
const RECOVERY_ACTIONS: [&str; 5] = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"];

/// The reason that a cell without a number gives; `None` where it is something else.
pub(super) fn absence(text: &str) -> Option<Absent> {
    let inner = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .unwrap_or(text);
    Some(match inner {
        "Not Supported" | "Requested functionality has been deprecated" | "Function Not Found" => {
            Absent::NotSupported
        }
        "Insufficient Permissions" | "No permission" => Absent::NoPermission,
        "GPU is lost" | "GPU requires reset" | "Reset Required" => Absent::Lost,
        "Timeout" => Absent::TimedOut,
        "" | "-" | "N/A" | "n/a" | "NA" | "None" | "none" | "null" | "nan" | "NaN" | "ERR!"
        | "Unknown Error" | "Unknown" | "Not Found" | "No data" => Absent::NotReported,
        // Texts that drivers to come may put in brackets.
        _ if inner.len() < text.len() => Absent::NotReported,
        _ => return None,
    })
}

/// The number of a cell in the metric's unit. What is no number and no known reason is none of ours: `None`.
/// A unit in the cell counts, else `written`. A number that cannot be is kept as the log says it.
pub(super) fn number(text: &str, metric: Metric, written: Written) -> Option<Reading<f64>> {
    let text = text.trim();
    if metric == Metric::RecoveryAction
        && let Some(action) = RECOVERY_ACTIONS.iter().position(|word| *word == text)
    {
        return Some(Ok(action as f64));
    }
    if let Some(why) = absence(text) {
        return Some(Err(why));
    }
    if let Some(flag) = flag(text) {
        return Some(checked(metric, flag, flag));
    }
    let (digits, unit) = split_unit(text);
    let raw: f64 = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as f64,
        None => digits.parse().ok()?,
    };
    let written = match unit {
        "" => written,
        unit => Written::of(unit)?,
    };
    Some(checked(metric, raw, scaled(raw, written)))
}

/// A number in the metric's own unit, in as many digits as a division gives.
pub(super) fn scaled(raw: f64, written: Written) -> f64 {
    match written {
        Written::Percent => raw / 100.0,
        Written::Milli => raw / 1e3,
        Written::Micro | Written::Millionth => raw / 1e6,
        _ => raw * written.factor(),
    }
}

fn flag(text: &str) -> Option<f64> {
    match text {
        "Enabled" | "Yes" | "Active" | "True" | "true" => Some(1.0),
        "Disabled" | "No" | "Not Active" | "False" | "false" => Some(0.0),
        _ => {
            let state = text.strip_prefix(['P', 'p'])?;
            let digits = !state.is_empty() && state.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| state.parse().ok())?
        }
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    if text.starts_with("0x") || text.starts_with("0X") {
        return (text, "");
    }
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E')))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    (digits, unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_are_read_with_the_unit_of_cell_or_header() {
        let read = |text, metric, written| number(text, metric, written);
        let ok = |value| Some(Ok(value));
        assert_eq!(read("92 %", Metric::Utilization, Written::Plain), ok(0.92));
        assert_eq!(read("92", Metric::Utilization, Written::Percent), ok(0.92));
        assert_eq!(
            read(" 228.12 W", Metric::PowerUsage, Written::Plain),
            ok(228.12)
        );
        assert_eq!(
            read("1129 MiB", Metric::MemoryUsed, Written::Mebi),
            ok(1129.0 * 1_048_576.0)
        );
        assert_eq!(
            read("P8", Metric::PerformanceState, Written::Plain),
            ok(8.0)
        );
        assert_eq!(
            read("0x0000000000000004", Metric::Reasons, Written::Plain),
            ok(4.0)
        );
        assert_eq!(read("Enabled", Metric::MigEnabled, Written::Plain), ok(1.0));
        assert_eq!(
            read("2500000 us", Metric::SecondsSwThermal, Written::Plain),
            ok(2.5)
        );
    }

    #[test]
    fn what_is_not_there_is_never_zero() {
        for (text, why) in [
            ("[N/A]", Absent::NotReported),
            ("N/A", Absent::NotReported),
            ("", Absent::NotReported),
            ("-", Absent::NotReported),
            ("ERR!", Absent::NotReported),
            ("[Unknown Error]", Absent::NotReported),
            ("[Not Supported]", Absent::NotSupported),
            ("[Insufficient Permissions]", Absent::NoPermission),
            ("[GPU is lost]", Absent::Lost),
            ("[Whatever comes next]", Absent::NotReported),
        ] {
            assert_eq!(
                number(text, Metric::PowerUsage, Written::Plain),
                Some(Err(why)),
                "{text}"
            );
        }
        assert_eq!(
            number("2026/01/03", Metric::Utilization, Written::Percent),
            None
        );
        assert_eq!(number("gpu", Metric::Utilization, Written::Percent), None);
    }

    #[test]
    fn what_cannot_be_is_kept_as_the_log_says_it() {
        for (text, metric, raw) in [
            ("4294967295", Metric::Utilization, 4_294_967_295.0),
            ("808 %", Metric::Utilization, 808.0),
            ("0.00 W", Metric::PowerUsage, 0.0),
            ("4294967.29 W", Metric::PowerUsage, 4_294_967.29),
        ] {
            assert_eq!(
                number(text, metric, Written::Percent),
                Some(Err(Absent::Implausible(raw))),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_cell_is_a_number_that_can_be_or_none(text in "\\PC{0,24}", n in 0..Metric::COUNT) {
            if let Some(metric) = Metric::ALL.get(n)
                && let Some(Ok(value)) = number(&text, *metric, Written::Plain)
            {
                prop_assert!(value.is_finite());
            }
        }

        #[test]
        fn a_cell_without_a_digit_is_never_zero(text in "[^0-9]{0,12}") {
            let read = number(&text, Metric::PowerUsage, Written::Plain);
            prop_assert!(!matches!(read, Some(Ok(_))) || flag(text.trim()).is_some());
        }
    }
}
