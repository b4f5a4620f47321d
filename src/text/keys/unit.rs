//! Durations, and amounts with a rate; the symbols of units (W, GB/s, %) are the same in every language and stand in code.

catalogue! { unit:
    unit_minutes(m, s);
    unit_per_hour(amount);
    unit_of(part, whole);
}
