//! PCIe link arithmetic: what a link of a generation and width carries.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A negotiated or possible PCIe link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// PCIe generation, 1 to 7.
    pub generation: u8,
    /// Lanes, 1 to 32.
    pub width: u8,
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gen {} x{}", self.generation, self.width)
    }
}

/// Bytes per second and lane, one way, after line coding.
/// Source: PCI Express base specification (8b/10b for gen 1 and 2, 128b/130b for 3 to 5, 242/256 flits for 6).
const PER_LANE: [f64; 6] = [0.25e9, 0.5e9, 0.984_6e9, 1.969_2e9, 3.938_5e9, 7.562_5e9];

/// Share of the raw rate that real copies reach, by generation. Measured copy-engine peaks: gen 3 x16 about
/// 12.3 GB/s (V100), gen 4 25.5 (A10, A100), gen 5 55.5 (H100). Generations 1 and 2 take gen 3's share (same
/// packet overhead); for gen 6 nothing has been measured, so gen 5's share is used.
const USABLE_SHARE: [f64; 6] = [0.78, 0.78, 0.7807, 0.8093, 0.8807, 0.8807];

/// What the link carries one way before packet overhead, in bytes per second.
/// `None` for a generation or width that no specification knows.
#[must_use]
pub fn raw_bytes_per_second(link: LinkSpeed) -> Option<f64> {
    let lane = PER_LANE.get(usize::from(link.generation).checked_sub(1)?)?;
    (1..=32)
        .contains(&link.width)
        .then(|| lane * f64::from(link.width))
}

/// What real copies reach one way over the link, in bytes per second: the divisor of saturation.
/// `None` as for [`raw_bytes_per_second`].
#[must_use]
pub fn usable_bytes_per_second(link: LinkSpeed) -> Option<f64> {
    let share = USABLE_SHARE.get(usize::from(link.generation).checked_sub(1)?)?;
    Some(raw_bytes_per_second(link)? * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_rates_match_measured_copies() {
        for (generation, width, expected_gb) in [
            (3, 16, 12.3),
            (4, 16, 25.5),
            (5, 16, 55.5),
            (3, 8, 6.15),
            (4, 8, 12.75),
            (5, 8, 27.75),
            (4, 1, 1.6),
        ] {
            let got =
                usable_bytes_per_second(LinkSpeed { generation, width }).unwrap_or_default() / 1e9;
            assert!(
                (got - expected_gb).abs() < 0.05,
                "gen {generation} x{width}: {got}"
            );
        }
    }

    #[test]
    fn unknown_links_have_no_rate() {
        for (generation, width) in [(0, 16), (9, 16), (4, 0), (4, 64), (255, 255)] {
            assert_eq!(
                usable_bytes_per_second(LinkSpeed { generation, width }),
                None
            );
        }
    }
}
