//! The platform that rents this instance out: what it says, what it is about to do, and how it was looked for.

catalogue! { platform:
    /// What is about to happen, with the time left, and where that is not known.
    platform_notice_preempt(left);
    platform_notice_preempt_now();
    platform_notice_maintenance(left);
    platform_notice_maintenance_now();
    platform_notice_retire(left);
    platform_notice_retire_now();
    platform_no_notices();
    /// The instance does not run, and is billed all the same.
    platform_still_bills();
    platform_state_billed(state);
    platform_state_not_billed(state);
    platform_price(money);
    platform_price_each(money);
    platform_since(at);
    platform_age(age);
    platform_refused(why);
    platform_stale(why);
    platform_claim_busy(share);
    platform_claim_hot(temperature);
    platform_claim_link(generation, width);
    platform_claim_power(limit);
    /// How it is known.
    platform_found(title, how);
    platform_none();
    platform_by_flag();
    platform_by_config();
    platform_by_environment();
    platform_by_pid1_environment();
    platform_by_dmi();
    platform_by_metadata();
    /// The list of all that are known.
    platform_known();
    platform_only_tariff();
    platform_own_file(file);
    platform_file_problem(problem);
    platform_gives_instance_id();
    platform_gives_instance_type();
    platform_gives_region();
    platform_gives_price();
    platform_gives_state();
    platform_gives_notices();
    platform_gives_claims();
    platform_gives_bill();
    platform_asked();
    platform_looked();
    platform_result_match();
    platform_result_no_match();
    platform_result_absent();
    platform_result_timed_out();
    platform_result_refused();
    platform_result_not_asked();
    platform_result_error();
    platform_key_found(key, place);
    platform_key_missing(keys);
    platform_check_hint();
}
