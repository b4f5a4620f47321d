//! The account beside what really happened: loads with known busy seconds, polled at 1 Hz.
#![allow(clippy::unwrap_used)]

use crate::support::duty::{LOADS, hour};

/// Where a state lasts much longer than a poll, seconds over 10 % are the busy ones within a point; the integral of a
/// windowed utilization is so for every load.
#[test]
fn the_account_agrees_with_the_truth() {
    for load in &LOADS {
        for seed in 1..=12 {
            let seen = hour(load, 1.0, 1.0, seed);
            let (compute, integral) = (seen.compute - seen.truth, seen.integral - seen.truth);
            assert!(
                integral.abs() < 0.01,
                "{}: integral off by {integral:+.4}",
                load.name
            );
            if load.slow {
                assert!(compute.abs() < 0.01, "{}: off by {compute:+.4}", load.name);
            } else {
                // The definition itself overstates such loads; it never understates them.
                assert!(compute > -0.01, "{}: off by {compute:+.4}", load.name);
            }
        }
    }
}
