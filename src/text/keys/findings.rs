//! What is plainly known of a device, each with its numbers; and where nothing is wrong.

catalogue! { findings:
    findings_lost(duration);
    findings_lost_billed(duration, price);
    findings_silent(duration);
    findings_recovery(action);
    findings_recovery_reset();
    findings_recovery_reboot();
    findings_recovery_drain();
    findings_recovery_drain_reset();
    findings_recovery_domain();
    findings_recovery_other(number);
    findings_xid(code);
    findings_xid_advice(code, advice);
    findings_xid_application();
    findings_xid_other();
    findings_xid_reset();
    findings_xid_ecc();
    findings_xid_host();
    findings_xid_watch();
    findings_xid_link();
    findings_xid_restart();
    findings_xid_recovery();
    findings_uncorrected(count);
    findings_remap_pending();
    findings_remap_failed();
    findings_unhealthy();
    findings_unhealthy_lightly();
    findings_braked();
    findings_slowed_by_heat();
    findings_slowed_by_heat_left(headroom);
    findings_hot(headroom);
    findings_memory_hot(temperature, max);
    findings_held_below_limit(power, limit);
    findings_narrow(width, max, usable);
    findings_narrow_bridge(width, max, bridge, usable);
    findings_narrow_bare(width, max);
    findings_narrow_usual(width, max, usable, share);
    findings_slow(generation, max);
    findings_link_full(arrow, rate, usable, share);
    findings_limit_below_plate(limit, plate, share);
    findings_default_below_rated(default, rated);
    findings_busy(util, power, duration);
    findings_memory_full(share);
    findings_idle(duration, billed);
    findings_held(duration, billed, memory);
    findings_startup(duration, billed);
    /// Ends of the three above: without a price, with one, and once the time has cost more than nothing.
    findings_billed();
    findings_billed_at(price);
    findings_billed_so_far(amount, price);
    findings_billed_watched(amount, price);
    findings_links_down(up, links);
    /// The platform's word beside the driver's.
    findings_claim_count(claimed, seen);
    findings_claim_model(claimed, seen);
    findings_claim_generation(claimed, seen);
    findings_claim_width(claimed, seen);
    findings_claim_power(claimed, seen);
    findings_claim_utilization(claimed, seen);
    findings_claim_temperature(claimed, seen);
    /// A share of a card: bare, with the part that was given, and where the memory is the card's too.
    findings_share(software);
    findings_share_part(part, software);
    findings_share_memory(software, given);
    findings_fine(facts);
    findings_fine_power(power);
    findings_fine_head(headroom);
    findings_fine_util(util);
    findings_minute(samples);
    findings_unjudged(facts);
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
