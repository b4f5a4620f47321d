//! Why a device holds its clocks back: one list for all vendors.

/// A reason to hold clocks back, as a bit of [`Metric::Reasons`](super::Metric::Reasons): NVML's own bits below 2^32, words
/// that only other vendors have above. A probe translates its vendor's mask into these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// The bit.
    pub bit: u64,
    /// The contract's word (contract.md section 3, `throttle`).
    pub word: &'static str,
}

const fn reason(bit: u64, word: &'static str) -> Reason {
    Reason { bit, word }
}

impl Reason {
    /// Nothing to do.
    pub const IDLE: u64 = 0x1;
    /// Clocks set by hand, or locked.
    pub const CLOCKS_SET: u64 = 0x2;
    /// The power limit.
    pub const POWER_CAP: u64 = 0x4;
    /// Slowed by hardware, why is not said.
    pub const HW_SLOWDOWN: u64 = 0x8;
    /// Held back by another device of its group.
    pub const SYNC_BOOST: u64 = 0x10;
    /// Heat, by software.
    pub const SW_THERMAL: u64 = 0x20;
    /// Heat, by hardware.
    pub const HW_THERMAL: u64 = 0x40;
    /// An external power brake.
    pub const POWER_BRAKE: u64 = 0x80;
    /// The display's clock.
    pub const DISPLAY_CLOCK: u64 = 0x100;
    /// Ascend: too much current, found by software.
    pub const SOFTWARE_EDP: u64 = 1 << 32;
    /// Ascend: too much current, found by hardware.
    pub const HARDWARE_EDP: u64 = 1 << 33;
    /// Ascend: an unstable supply (SVFD).
    pub const SVFD: u64 = 1 << 34;
    /// Ascend: load aware.
    pub const LOAD_AWARE: u64 = 1 << 35;
    /// AMD: PROCHOT, the board's emergency line.
    pub const PROCHOT: u64 = 1 << 36;
    /// AMD: current (TDC, EDC, APCC).
    pub const CURRENT: u64 = 1 << 37;
    /// AMD: PPM.
    pub const PPM: u64 = 1 << 38;
    /// AMD: FIT, the chip's reliability.
    pub const FIT: u64 = 1 << 39;

    /// All that have a word.
    pub const ALL: [Self; 17] = [
        reason(Self::IDLE, "gpu_idle"),
        reason(Self::CLOCKS_SET, "applications_clocks_setting"),
        reason(Self::POWER_CAP, "sw_power_cap"),
        reason(Self::HW_SLOWDOWN, "hw_slowdown"),
        reason(Self::SYNC_BOOST, "sync_boost"),
        reason(Self::SW_THERMAL, "sw_thermal_slowdown"),
        reason(Self::HW_THERMAL, "hw_thermal_slowdown"),
        reason(Self::POWER_BRAKE, "hw_power_brake_slowdown"),
        reason(Self::DISPLAY_CLOCK, "display_clock_setting"),
        reason(Self::SOFTWARE_EDP, "software_edp"),
        reason(Self::HARDWARE_EDP, "hardware_edp"),
        reason(Self::SVFD, "svfd"),
        reason(Self::LOAD_AWARE, "load_aware"),
        reason(Self::PROCHOT, "prochot"),
        reason(Self::CURRENT, "current"),
        reason(Self::PPM, "ppm"),
        reason(Self::FIT, "fit"),
    ];

    /// Bits whose begin and end are events: the device is held back by something other than its work.
    pub const ALARMING: u64 = Self::HW_SLOWDOWN
        | Self::SW_THERMAL
        | Self::HW_THERMAL
        | Self::POWER_BRAKE
        | Self::SOFTWARE_EDP
        | Self::HARDWARE_EDP
        | Self::SVFD
        | Self::PROCHOT
        | Self::CURRENT;

    /// The words of all bits that are set, unknown ones as `bit_0x200`.
    #[must_use]
    pub fn words(bits: u64) -> Vec<String> {
        (0..u64::BITS)
            .map(|n| 1_u64 << n)
            .filter(|bit| bits & bit != 0)
            .map(|bit| {
                let known = Self::ALL.iter().find(|reason| reason.bit == bit);
                known.map_or_else(|| format!("bit_{bit:#x}"), |reason| reason.word.to_owned())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bits_are_kept() {
        assert_eq!(Reason::words(0), Vec::<String>::new());
        assert_eq!(Reason::words(0x4 | 0x200), ["sw_power_cap", "bit_0x200"]);
        assert_eq!(Reason::words(0x1), ["gpu_idle"]);
        assert_eq!(Reason::words(Reason::SVFD), ["svfd"]);
    }

    #[test]
    fn every_bit_has_one_word_and_fits_a_float() {
        for (i, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason.bit.count_ones(), 1);
            assert!(reason.bit < 1 << 53);
            assert!(
                Reason::ALL[..i]
                    .iter()
                    .all(|other| other.bit != reason.bit && other.word != reason.word)
            );
        }
    }
}
