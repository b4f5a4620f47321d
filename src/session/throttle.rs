//! Clock event reasons under the contract's names.

/// Bits in NVML's order with the contract's word (contract.md section 3, `throttle`).
const NAMES: [(u64, &str); 9] = [
    (0x1, "gpu_idle"),
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
];

/// Bits whose begin and end are events: the device is held back by something other than its work.
pub(crate) const ALARMING: u64 = 0x8 | 0x20 | 0x40 | 0x80;

/// The words of all bits that are set, unknown ones as `bit_0x200`.
pub(crate) fn words(bits: u64) -> Vec<String> {
    (0..u64::BITS)
        .map(|n| 1_u64 << n)
        .filter(|bit| bits & bit != 0)
        .map(|bit| {
            NAMES
                .iter()
                .find(|(known, _)| *known == bit)
                .map_or_else(|| format!("bit_{bit:#x}"), |(_, name)| (*name).to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bits_are_kept() {
        assert_eq!(words(0), Vec::<String>::new());
        assert_eq!(words(0x4 | 0x200), ["sw_power_cap", "bit_0x200"]);
        assert_eq!(words(0x1), ["gpu_idle"]);
    }
}
