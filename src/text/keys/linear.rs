//! The screen as one line after another.

catalogue! { linear:
    /// What can be typed.
    linear_keys();
    linear_power(watts, share);
    linear_headroom(degrees);
    linear_pcie(down, up);
    /// Of a device that does not tell the directions apart.
    linear_pcie_both(share);
    linear_busy(share);
    linear_work(share);
    linear_memory(used);
    /// Of a device that was listed before.
    linear_gone();
}
