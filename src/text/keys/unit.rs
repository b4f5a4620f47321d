//! Durations, and amounts with a rate; the symbols of units (W, GB/s, %) are the same in every language and stand in code.

catalogue! { unit:
    unit_seconds(s);
    unit_minutes(m, s);
    unit_hours(h, m);
    unit_days(d, h);
    unit_ago(duration);
    unit_per_hour(amount);
    unit_of(part, whole);
    unit_per_cent(value);
    unit_now();
    /// The left end of a chart's axis.
    unit_before(duration);
}
