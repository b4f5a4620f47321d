//! Why the clock is held back: the vendor's mask in the words of all vendors.

use crate::model::{Absent, Reading, Reason};

/// The header's bits. The others have no meaning that is known.
const BITS: [(u32, u64); 8] = [
    (0, Reason::IDLE),
    (2, Reason::SW_THERMAL),
    (3, Reason::SOFTWARE_EDP),
    (4, Reason::HARDWARE_EDP),
    (5, Reason::POWER_BRAKE),
    (8, Reason::SVFD),
    // By the management controller, out of band.
    (10, Reason::POWER_CAP),
    (11, Reason::LOAD_AWARE),
];

/// A mask that can be one. All ones is none, and no driver has more than 32 bits of it.
pub(super) fn plausible(mask: u64) -> Reading<u64> {
    match mask < u64::from(u32::MAX) {
        true => Ok(mask),
        false => Err(Absent::Implausible(mask as f64)),
    }
}

/// The mask in our bits. Where it has none but unknown ones, the device is held back and nobody can say why: that is no
/// empty list.
pub(super) fn translated(mask: u64) -> Reading<f64> {
    let known = BITS
        .iter()
        .filter(|(bit, _)| mask >> bit & 1 == 1)
        .fold(0, |bits, (_, reason)| bits | reason);
    match known == 0 && mask != 0 {
        true => Err(Absent::Implausible(mask as f64)),
        false => Ok(known as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_get_their_words() {
        let words = |mask| translated(mask).map(|bits| Reason::words(bits as u64));
        assert_eq!(words(0), Ok(vec![]));
        assert_eq!(words(0x1), Ok(vec!["gpu_idle".into()]));
        assert_eq!(
            words(1 << 2 | 1 << 10),
            Ok(vec!["sw_power_cap".into(), "sw_thermal_slowdown".into()])
        );
        assert_eq!(
            words(0x938 | 1 << 30),
            Ok(vec![
                "hw_power_brake_slowdown".into(),
                "software_edp".into(),
                "hardware_edp".into(),
                "svfd".into(),
                "load_aware".into(),
            ])
        );
        assert_eq!(words(0x2), Err(Absent::Implausible(2.0)));
        assert_eq!(plausible(0x404), Ok(0x404));
        for mask in [u64::from(u32::MAX), u64::MAX] {
            assert_eq!(plausible(mask), Err(Absent::Implausible(mask as f64)));
        }
    }
}
