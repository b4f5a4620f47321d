//! What is already known to be wrong with a device, each with its numbers; and where nothing is.

catalogue! { findings:
    findings_nothing_wrong();
    findings_nothing_yet(seconds);
    findings_link_width(width, max, bridge);
    findings_link_width_self(width, max);
    findings_link_generation(generation, max, bridge);
    findings_link_generation_self(generation, max);
    findings_link_cost(usable, full);
    findings_limit_below_default(limit, default);
    findings_limit_below_plate(limit, plate);
    findings_default_below_rated(default, rated);
    findings_throttled(reason);
    findings_throttled_thermal(reason, headroom);
    findings_headroom_low(headroom, threshold);
    findings_time_to_throttle(duration);
    findings_memory_nearly_full(used, total);
    findings_held(duration, memory, process);
    findings_held_money(duration, memory, process, amount);
    findings_idle(duration);
    findings_idle_money(duration, amount);
    findings_startup(duration);
    findings_startup_money(duration, amount);
    findings_pcie_saturated(arrow, rate, usable, share);
    findings_ecc(count);
    findings_remap_pending();
    findings_remap_failed();
    findings_reset_required();
    findings_xid(code, at);
    findings_lost(since);
    findings_timed_out(call, since);
    findings_persistence_off();
    findings_busy_little_work(util, power, plate);
    findings_nvlink_down(up, links);
    findings_next_link(address);
    findings_next_other_host();
}
