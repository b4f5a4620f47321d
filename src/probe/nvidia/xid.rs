//! What XID numbers mean, in few words. Source: NVIDIA's XID catalogue.

/// What an XID says and what is done first; `None` for numbers that are not in the table.
pub(super) const fn meaning(xid: u64) -> Option<&'static str> {
    Some(match xid {
        13 => "graphics engine exception in an application; restart the application",
        31 => "memory page fault in an application; restart the application",
        32 => "corrupted push buffer; restart the application",
        43 => "the device stopped processing after another error; look at the other XID",
        45 => "clean-up after another error; look at the other XID",
        46 => "the device stopped processing; reset it",
        48 => "double-bit ECC error; look for XID 63, 64, 94 or 95 beside it",
        54 => "auxiliary power is not connected; host hardware",
        62 => "internal microcontroller halted; reset the device",
        63 => "a memory row was remapped or a page retired; nothing to do now",
        64 => "a memory row remap failed; reset the device",
        69 => "graphics engine class error; restart the application",
        74 => "NVLink error; check the link and reset the device",
        79 => "the device has fallen off the bus; restart the machine",
        92 => "many single-bit ECC errors; watch it",
        94 => "contained memory error; restart the application",
        95 => "uncontained memory error; reset the device",
        109 => "context switch timeout; reset the device",
        119 => "GSP does not answer; reset the device",
        120 => "GSP error; reset the device",
        121 => "C2C link error corrected; ignore it once",
        136 => "link training failed; reset the device",
        140 => "an ECC error escaped; reset the device",
        143 => "initialisation error; reset the device",
        144..=150 | 155 => "NVLink error; check the link and reset the device",
        154 => "the driver's recovery action changed",
        158 => "fatal timeout; reset the device",
        162..=165 => "power smoothing hardware",
        167 => "PCIe fatal timeout; host hardware",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_words_and_unknown_none() {
        assert!(meaning(79).is_some_and(|text| text.contains("off the bus")));
        assert!(meaning(147).is_some_and(|text| text.starts_with("NVLink")));
        assert_eq!(meaning(0), None);
        assert_eq!(meaning(9999), None);
    }
}
