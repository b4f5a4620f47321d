//! The table of devices, the charts, and the sentence under the table.

catalogue! { overview:
    overview_device();
    overview_vendor();
    overview_sort_listed();
    overview_sort_worst();
    overview_sort_vendor();
    overview_sort_power();
    overview_sort_headroom();
    overview_sort_utilization();
    overview_sort_work();
    overview_sort_memory();
    overview_sorted(order);
    /// Before the filter that is being typed.
    overview_filter();
    overview_filter_keys();
    /// How many rows a filter leaves.
    overview_filtered(filter, shown, all);
    overview_now();
    /// The title of the draw where the unit stands in the title.
    overview_watts();
    overview_of_plate();
    overview_limit();
    overview_plate();
    overview_head();
    /// PCIe with the arrow of the direction.
    overview_pcie(arrow);
    overview_link();
    overview_util();
    overview_work();
    overview_mem();
    overview_state();
    overview_phase();
    overview_chart_power();
    overview_chart_pcie(arrow);
    overview_chart_heat();
    overview_chart_work();
    overview_ceiling_plate();
    overview_ceiling_plate_unverified();
    overview_ceiling_limit();
    /// What the negotiated link can carry.
    overview_ceiling_link(link);
    overview_ceiling_slows();
    overview_ceiling_busy();
    overview_chart_absent(reason);
    overview_next();
    overview_copies(key);
}
