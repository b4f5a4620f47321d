//! Why a vendor's interface never tells something that devices may well have.

catalogue! { vendor:
    vendor_not_told(interface);
    /// There is a way, and it is not taken.
    vendor_not_read(interface);
    /// There is a way that blocks, and a flag for it.
    vendor_on_request(interface, flag);
    /// Documented, and refused by the devices of today.
    vendor_refused(interface);
    vendor_unit_unknown(interface);
    vendor_both_directions(interface);
    /// The device's own node shows another link than the host's.
    vendor_wrong_node();
}
