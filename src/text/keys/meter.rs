//! The meter line: money so far, and what was wasted.

catalogue! { meter:
    meter_so_far(amount, rate);
    meter_so_far_estimated(amount, rate);
    meter_seconds_only(duration);
    meter_no_price();
    meter_phase(phase, duration);
    meter_since(start, source);
    meter_source_flag();
    meter_source_config();
    meter_source_platform();
    meter_source_container();
    meter_source_boot();
    meter_source_first_sample();
    meter_estimated();
    meter_budget_reached(at);
    meter_budget_over(amount);
}
