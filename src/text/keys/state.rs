//! Words for states, phases, causes, confidence, throttle reasons, and for values that are not there.

catalogue! { state:
    state_working();
    state_idle();
    state_unknown();
    state_lost_loud();
    /// Idle while a process keeps memory.
    state_held();
    /// The enforced limit is below the plate or the default.
    state_capped();
    /// Little or no thermal headroom.
    state_hot();
    /// Answers no more within its deadline.
    state_timed_out();
    state_compute();
    state_io_wait();
    state_queue();
    state_phase_idle();
    state_unobserved();
    /// Short forms for the meter line.
    state_io_short();
    state_unobserved_short();
    state_queue_short();
    /// Why a value is not there.
    state_absent_not_supported();
    state_absent_no_permission();
    state_absent_no_library();
    state_absent_lost();
    state_absent_timed_out();
    state_absent_stale();
    state_absent_not_reported();
    state_absent_transition();
    state_absent_implausible_raw(raw);
    state_absent_since(reason, since);
    state_throttle_gpu_idle();
    state_throttle_applications_clocks_setting();
    state_throttle_sw_power_cap();
    state_throttle_hw_slowdown();
    state_throttle_sync_boost();
    state_throttle_sw_thermal_slowdown();
    state_throttle_hw_thermal_slowdown();
    state_throttle_hw_power_brake_slowdown();
    state_throttle_display_clock_setting();
    state_throttle_software_edp();
    state_throttle_hardware_edp();
    state_throttle_svfd();
    state_throttle_load_aware();
    state_throttle_prochot();
    state_throttle_current();
    /// A bit that the vendor has not documented.
    state_throttle_unknown(name);
    state_no_throttle();
    state_on();
    state_off();
    state_paused();
    state_stalled();
    state_slowed();
    state_degraded();
    state_doubtful();
    state_narrow();
    state_braked();
    state_faulty();
}
