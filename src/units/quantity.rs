//! Newtypes over `f64`, and how each is written for people.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// The bare number, in this type's unit.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }
    };
}

quantity! {
    /// Electric power in watts.
    Watts
}
quantity! {
    /// Energy in joules.
    Joules
}
quantity! {
    /// Temperature, or a difference of temperatures, in degrees Celsius.
    Celsius
}
quantity! {
    /// A share: 0 to 1, more than 1 where a device exceeds its own figure.
    Ratio
}
quantity! {
    /// Frequency in hertz.
    Hertz
}
quantity! {
    /// Data rate in bytes per second.
    BytesPerSecond
}
quantity! {
    /// An amount of data in bytes.
    Bytes
}

impl fmt::Display for Watts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} W", whole(self.0))
    }
}

impl fmt::Display for Celsius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} °C", whole(self.0))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} %", whole(self.0 * 100.0))
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} MHz", whole(self.0 / 1e6))
    }
}

impl fmt::Display for BytesPerSecond {
    /// Decimal units, as links are sold: `12.6 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
    }
}

impl fmt::Display for Bytes {
    /// Binary units, as drivers report memory: `61 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
    }
}

/// A figure to be written without decimals: nothing is `-0`, which an empty sum is too.
fn whole(value: f64) -> f64 {
    if value.abs() < 0.5 { 0.0 } else { value }
}

fn scaled(f: &mut fmt::Formatter<'_>, value: f64, step: f64, units: &[&str]) -> fmt::Result {
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 || value.abs() >= 100.0 {
        write!(f, "{:.0} {name}", whole(value))
    } else {
        write!(f, "{value:.1} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_people_read_them() {
        assert_eq!(BytesPerSecond(12.6e9).to_string(), "12.6 GB/s");
        assert_eq!(BytesPerSecond(512.0).to_string(), "512 B/s");
        assert_eq!(
            Bytes(61.0 * 1024.0 * 1024.0 * 1024.0).to_string(),
            "61.0 GiB"
        );
        assert_eq!(Ratio(0.994).to_string(), "99 %");
        assert_eq!(Watts(612.4).to_string(), "612 W");
        assert_eq!(BytesPerSecond(-0.0).to_string(), "0 B/s");
        assert_eq!(Celsius(-0.4).to_string(), "0 °C");
        assert_eq!(Celsius(-3.0).to_string(), "-3 °C");
    }
}
