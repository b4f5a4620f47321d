//! PCIe traffic of MI300s: one number for both directions, in a unit that the driver's own texts disagree on, GB/s in older
//! headers and Mb/s in newer ones. What the number is held against tells: a link cannot carry more than it has lanes for.
//! Until it has told, nothing is said.

use crate::model::{Absent, Reading};
use crate::units::{LinkSpeed, raw_bytes_per_second};

/// A number that cannot be GB/s must have been read so many times, one after another: torn reads happen.
const TIMES: u8 = 3;
/// How far beyond what the link carries a number in GB/s would have to be, so that a mistake of the link's generation does
/// not decide.
const BEYOND: f64 = 4.0;
/// Megabits per second, as bytes.
const MEGABIT: f64 = 1e6 / 8.0;

/// What one card's numbers have told so far.
#[derive(Debug, Default)]
pub(super) struct Unit {
    beyond: u8,
}

impl Unit {
    /// Bytes per second both ways of a number, over this link. Once numbers have been too large for GB/s they are Mb/s for
    /// good; small ones alone could be either.
    pub(super) fn rate(&mut self, raw: Option<u64>, link: Option<LinkSpeed>) -> Reading<f64> {
        let raw = raw.ok_or(Absent::NotReported)? as f64;
        let both = link.and_then(raw_bytes_per_second).map(|one| one * 2.0);
        let both = both.ok_or(Absent::NotReported)?;
        let rate = raw * MEGABIT;
        let fits = rate <= both;
        if self.beyond < TIMES {
            self.beyond = match raw * 1e9 > BEYOND * both && fits {
                true => self.beyond + 1,
                false => 0,
            };
        }
        match (self.beyond == TIMES, fits) {
            (true, true) => Ok(rate),
            (true, false) => Err(Absent::Implausible(raw)),
            (false, _) => Err(Absent::NotReported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Option<LinkSpeed> = Some(LinkSpeed {
        generation: 5,
        width: 16,
    });

    #[test]
    fn numbers_tell_their_unit_by_what_the_link_cannot_carry() {
        let mut unit = Unit::default();
        let none = Err(Absent::NotReported);
        // 100 GB/s, or 100 Mb/s: nobody knows.
        for raw in [0, 100, 400] {
            assert_eq!(unit.rate(Some(raw), LINK), none, "{raw}");
        }
        // 40 gigabytes are no link's; 40 gigabits are.
        assert_eq!(unit.rate(Some(40_000), LINK), none);
        assert_eq!(unit.rate(Some(40_000), LINK), none);
        assert_eq!(unit.rate(Some(40_000), LINK), Ok(5e9));
        // From then on small numbers are known as well.
        assert_eq!(unit.rate(Some(100), LINK), Ok(12.5e6));
        assert_eq!(unit.rate(Some(0), LINK), Ok(0.0));
        let huge = 1 << 40;
        let raw = Err(Absent::Implausible(huge as f64));
        assert_eq!(unit.rate(Some(huge), LINK), raw);
        assert_eq!(unit.rate(None, LINK), none);
    }

    #[test]
    fn single_numbers_and_unknown_links_decide_nothing() {
        let mut unit = Unit::default();
        for raw in [40_000, 40_000, 3, 40_000, 1 << 40, 40_000, 40_000] {
            assert_eq!(
                unit.rate(Some(raw), LINK),
                Err(Absent::NotReported),
                "{raw}"
            );
        }
        let mut unit = Unit::default();
        for _ in 0..9 {
            assert_eq!(unit.rate(Some(40_000), None), Err(Absent::NotReported));
        }
    }
}
