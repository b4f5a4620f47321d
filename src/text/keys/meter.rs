//! The meter line: money so far, and what was wasted.

catalogue! { meter:
    meter_so_far(amount, rate);
    meter_so_far_estimated(amount, rate);
    meter_seconds_only(duration);
    meter_no_price();
    meter_phase(phase, duration);
    meter_phase_money(phase, duration, amount);
    meter_waste(what, amount);
    meter_waste_share(what, amount, share);
    meter_since(start, source);
    meter_source_flag();
    meter_source_config();
    meter_source_platform();
    meter_source_container();
    meter_source_boot();
    meter_source_first_sample();
    meter_estimated();
    meter_price_from(source);
    meter_price_age(source, age);
    meter_source_catalogue();
    meter_per_compute_hour(amount);
    meter_projected(amount);
    meter_budget_left(amount);
    meter_budget_reached(at);
    meter_budget_over(amount);
}
