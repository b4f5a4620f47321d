//! What is plainly known of a device, each with its numbers; and where nothing is wrong.

catalogue! { findings:
    findings_lost(duration);
    findings_silent(duration);
    findings_recovery(action);
    findings_recovery_reset();
    findings_recovery_reboot();
    findings_recovery_drain();
    findings_recovery_drain_reset();
    findings_recovery_domain();
    findings_recovery_other(number);
    findings_xid(code);
    findings_uncorrected(count);
    findings_remap_pending();
    findings_remap_failed();
    findings_braked();
    findings_slowed_by_heat();
    findings_slowed_by_heat_left(headroom);
    findings_hot(headroom);
    findings_narrow(width, max, usable);
    findings_narrow_bridge(width, max, bridge, usable);
    findings_narrow_bare(width, max);
    findings_slow(generation, max);
    findings_link_full(arrow, rate, usable, share);
    findings_limit_below_plate(limit, plate, share);
    findings_default_below_rated(default, rated);
    findings_busy(util, power, duration);
    findings_memory_full(share);
    findings_idle(duration);
    findings_held(duration, memory);
    findings_startup(duration);
    findings_links_down(up, links);
    findings_fine(facts);
    findings_fine_power(power);
    findings_fine_head(headroom);
    findings_fine_util(util);
    findings_nothing();
    /// Commands to type; they are the same in every language.
    findings_next_link(address);
    findings_next_power(index);
    findings_next_clocks(index);
    findings_next_health(index);
    findings_next_kernel();
    findings_next_processes(pid);
    findings_then_support();
}
