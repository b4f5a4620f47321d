//! The call that measures PCIe traffic, for as long as it is told.

use crate::calls::{part, put};
use crate::state::{INVALID_PARAMETER, Place, answer, code};
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub struct PcieLinkBandwidth {
    profiling_time: c_int,
    tx_p_bw: [c_uint; 3],
    tx_np_bw: [c_uint; 3],
    tx_cpl_bw: [c_uint; 3],
    tx_np_lantency: [c_uint; 3],
    rx_p_bw: [c_uint; 3],
    rx_np_bw: [c_uint; 3],
    rx_cpl_bw: [c_uint; 3],
}

const _: () = {
    assert!(size_of::<PcieLinkBandwidth>() == 88);
    assert!(std::mem::offset_of!(PcieLinkBandwidth, rx_p_bw) == 52);
};

/// Measures for as long as it is told, which is at most two seconds; least and most lie one beside the average.
fn pcie_bandwidth(place: Place, out: *mut PcieLinkBandwidth) -> c_int {
    // SAFETY: null, or a structure; see the module.
    let window = unsafe { out.as_ref() }.map_or(-1, |info| info.profiling_time);
    if !(0..=2000).contains(&window) {
        return INVALID_PARAMETER;
    }
    code(answer(place, "pcie").and_then(|value| {
        std::thread::sleep(std::time::Duration::from_millis(window as u64));
        let three = |key| {
            let average = part(&value, key) as c_uint;
            [average.saturating_sub(1), average + 1, average]
        };
        put(
            out,
            PcieLinkBandwidth {
                profiling_time: window,
                tx_p_bw: three("tx_p"),
                tx_np_bw: three("tx_np"),
                tx_cpl_bw: three("tx_cpl"),
                tx_np_lantency: [700; 3],
                rx_p_bw: three("rx_p"),
                rx_np_bw: three("rx_np"),
                rx_cpl_bw: three("rx_cpl"),
            },
        )
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn dcmi_get_pcie_link_bandwidth_info(
    card_id: c_int,
    device_id: c_int,
    out: *mut PcieLinkBandwidth,
) -> c_int {
    pcie_bandwidth(Place::Chip(card_id, device_id), out)
}
