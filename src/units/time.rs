//! Monotonic instants and spans.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Nanoseconds on the host's boot clock (`CLOCK_BOOTTIME`), which goes on during a suspend and never jumps.
/// All processes of one host share it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MonoTime(pub u64);

impl MonoTime {
    /// Seconds since `earlier`; negative when `earlier` is later.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        if self.0 >= earlier.0 {
            (self.0 - earlier.0) as f64 / 1e9
        } else {
            -((earlier.0 - self.0) as f64 / 1e9)
        }
    }

    /// This instant plus a duration.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// This instant less a duration, at least zero.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

/// A span as people say it, two units at most: `36h 12m`, `3m 10s`, `8 s`.
#[must_use]
pub fn format_span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "--".to_owned();
    }
    let whole = seconds.max(0.0).floor() as u64;
    let (days, hours, minutes, secs) = (whole / 86_400, whole / 3600, whole / 60 % 60, whole % 60);
    match () {
        () if hours >= 100 => format!("{days}d {:02}h", hours % 24),
        () if hours > 0 => format!("{hours}h {minutes:02}m"),
        () if minutes > 0 => format!("{minutes}m {secs:02}s"),
        () => format!("{secs} s"),
    }
}

/// Reads `90s`, `5m`, `36h`, `1h 30m`, `500ms`, and a bare number as seconds.
///
/// # Errors
/// A sentence that says what a duration looks like.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let complaint = || format!("\"{text}\" is not a duration; write for example 90s, 5m or 36h");
    let trimmed = text.trim();
    if let Ok(seconds) = trimmed.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| complaint());
    }
    let span: jiff::SignedDuration = trimmed.parse().map_err(|_| complaint())?;
    Duration::try_from(span).map_err(|_| complaint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (59.9, "59 s"),
            (190.0, "3m 10s"),
            (130_320.0, "36h 12m"),
            (400_000.0, "4d 15h"),
            (f64::NAN, "--"),
            (-3.0, "0 s"),
        ] {
            assert_eq!(format_span(seconds), text);
        }
    }

    #[test]
    fn durations_are_read() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("36h"), Ok(Duration::from_secs(129_600)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("100ms"), Ok(Duration::from_millis(100)));
        for bad in ["", "x", "-5s", "1e400", "nan"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn instants_subtract_both_ways() {
        let a = MonoTime(1_000_000_000);
        let b = a.plus(Duration::from_secs(2));
        assert_eq!(b.seconds_since(a), 2.0);
        assert_eq!(a.seconds_since(b), -2.0);
        assert_eq!(a.minus(Duration::from_secs(9)), MonoTime(0));
    }
}
