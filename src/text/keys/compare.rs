//! The text of `nameplate compare`.

catalogue! { compare:
    compare_devices(count, name);
    /// Head of the column that has B as a share of A.
    compare_share();
    compare_observed();
    compare_span();
    compare_amount();
    compare_amount_of(phase);
    compare_rounding();
    compare_compute_hour();
    compare_power_mean();
    compare_power_p95();
    compare_utilization();
    compare_work();
    compare_throttled();
    compare_throttled_share();
    compare_throttle(reason);
    compare_energy();
    compare_energy_hour();
    /// What tensors were compared, and how it ended.
    compare_tensors(a, b, count, tolerance);
    /// The name of an array in a file without names.
    compare_tensor_unnamed();
    compare_tensor_passed();
    compare_tensor_failed();
    compare_tensor_only_a();
    compare_tensor_only_b();
    compare_tensor_shapes(a, b);
    compare_tensor_orders();
    compare_tensor_not_finite(count);
    compare_tensor_error();
    compare_tensor_largest();
    compare_result_pass();
    compare_result_fail(count);
}
