//! Each cause at and around its thresholds, as a table.

use super::*;

/// One change of honest work, for so many seconds, with the cause and the confidence that must come of it.
#[test]
fn each_cause_at_and_around_its_threshold() {
    type Change = fn(u64, &mut Seen<'_>);
    use Confidence::{Likely, Sure, Suspect};
    let cases: &[(&str, u64, Change, Cause, Option<Confidence>)] = &[
        (
            "a brake of 3 s",
            3,
            |_, s| s.bits = Some(0x88),
            Cause::None,
            None,
        ),
        (
            "a brake of 6 s",
            6,
            |_, s| s.bits = Some(0x80),
            Cause::PowerBrake,
            Some(Likely),
        ),
        (
            "a brake of 12 s",
            12,
            |_, s| s.bits = Some(0x88),
            Cause::PowerBrake,
            Some(Sure),
        ),
        (
            "hardware slowdown for one poll in thirty",
            300,
            |n, s| s.bits = Some(if n % 30 == 0 { 0x8 } else { 0 }),
            Cause::None,
            None,
        ),
        (
            "heat for 6 s",
            6,
            |_, s| s.bits = Some(0x20),
            Cause::Thermal,
            Some(Suspect),
        ),
        (
            "heat for 31 s",
            31,
            |_, s| s.bits = Some(0x40),
            Cause::Thermal,
            Some(Sure),
        ),
        (
            "83 C with a margin of 2",
            60,
            |_, s| (s.temperature_c, s.headroom_c) = (Some(83.0), Some(2.0)),
            Cause::None,
            None,
        ),
        (
            "83 C of a device without thresholds",
            31,
            |_, s| (s.temperature_c, s.headroom_c) = (Some(83.0), None),
            Cause::Thermal,
            Some(Sure),
        ),
        (
            "at the default limit",
            120,
            |n, s| (s.power_w, s.bits) = (Some(702.5 + 0.1 * (n % 5) as f64), Some(0x4)),
            Cause::None,
            None,
        ),
        (
            "at a lowered limit",
            61,
            |n, s| {
                (s.power_w, s.limit_w, s.bits) =
                    (Some(499.0 + 0.1 * (n % 5) as f64), Some(500.0), Some(0x4));
            },
            Cause::PowerCap,
            Some(Sure),
        ),
        (
            "below a lowered limit",
            61,
            |n, s| (s.power_w, s.limit_w) = (Some(400.0 + 0.1 * (n % 5) as f64), Some(500.0)),
            Cause::None,
            None,
        ),
        (
            "stuck at 799 of 1980 MHz",
            61,
            |n, s| (s.clock_mhz, s.power_w) = (Some(799.0), Some(300.0 + 0.1 * (n % 5) as f64)),
            Cause::ClockLocked,
            Some(Sure),
        ),
        (
            "a clock that somebody set",
            120,
            |n, s| {
                s.clock_mhz = Some(1500.0);
                s.set_clock_mhz = Some(1500.0);
                (s.bits, s.power_w) = (Some(0x2), Some(450.0 + 0.1 * (n % 5) as f64));
            },
            Cause::None,
            None,
        ),
        ("x8 for 4 s", 4, |_, s| s.width = Some(8), Cause::None, None),
        (
            "x8 for 6 s",
            6,
            |_, s| s.width = Some(8),
            Cause::PcieLink,
            Some(Suspect),
        ),
        (
            "x8 for 31 s",
            31,
            |_, s| s.width = Some(8),
            Cause::PcieLink,
            Some(Sure),
        ),
        (
            "x8 as hosts fit it",
            60,
            |_, s| (s.width, s.usual_width) = (Some(8), Some(8)),
            Cause::None,
            None,
        ),
        (
            "generation 1 at rest",
            60,
            |_, s| (s.generation, s.link_in_use) = (Some(1), false),
            Cause::None,
            None,
        ),
        (
            "a bridge of 4 lanes",
            31,
            |_, s| s.bridge_width = Some(4),
            Cause::PcieLink,
            Some(Sure),
        ),
        (
            "a full link beside little work",
            70,
            |_, s| (s.rx_saturation, s.span) = (Some(0.9), Some(0.2)),
            Cause::PcieSaturated,
            Some(Sure),
        ),
        (
            "a sum that fills both ways beside little work",
            70,
            |_, s| {
                only_the_sum(s, 0.85);
                s.span = Some(0.2);
            },
            Cause::PcieSaturated,
            Some(Sure),
        ),
        (
            "a sum that may fill one way, or half of each",
            70,
            |_, s| {
                only_the_sum(s, 0.5);
                s.span = Some(0.2);
            },
            // As without any reading of the link.
            Cause::EvalPause,
            Some(Sure),
        ),
        (
            "a full link beside much work",
            70,
            |_, s| (s.rx_saturation, s.span) = (Some(0.95), Some(0.7)),
            Cause::None,
            None,
        ),
        ("a hang of 15 s", 15, |_, s| spins(s), Cause::None, None),
        (
            "a hang of 25 s",
            25,
            |_, s| spins(s),
            Cause::CollectiveWait,
            Some(Suspect),
        ),
        (
            "a hang of 310 s",
            310,
            |_, s| spins(s),
            Cause::CollectiveWait,
            Some(Sure),
        ),
        (
            "spin power with memory busy",
            310,
            |_, s| {
                spins(s);
                (s.memory_activity, s.dram_active) = (Some(0.4), Some(0.3));
            },
            Cause::None,
            None,
        ),
        (
            "a hang of which only power and utilization are read",
            310,
            |_, s| {
                spins(s);
                (
                    s.memory_activity,
                    s.dram_active,
                    s.tensor_active,
                    s.sm_active,
                ) = (None, None, None, None);
                (s.rx_bytes_per_s, s.tx_bytes_per_s, s.nvlink_bytes_per_s) = (None, None, None);
            },
            Cause::CollectiveWait,
            Some(Suspect),
        ),
        (
            "a link less than before",
            31,
            |_, s| s.nvlink_up = Some(17.0),
            Cause::NvlinkDown,
            Some(Sure),
        ),
        (
            "a device that its vendor calls healthy",
            5,
            |_, s| s.health = Some(0.0),
            Cause::None,
            None,
        ),
        (
            "a minor fault, by the vendor",
            5,
            |_, s| s.health = Some(1.0),
            Cause::EccXid,
            Some(Suspect),
        ),
        (
            "a major fault, by the vendor",
            5,
            |_, s| s.health = Some(2.0),
            Cause::EccXid,
            Some(Sure),
        ),
        (
            "an uncorrected error",
            1,
            |_, s| s.ecc_uncorrected = Some(1.0),
            Cause::EccXid,
            Some(Sure),
        ),
        (
            "XID 48",
            1,
            |_, s| s.xid = Some((48, 1.0)),
            Cause::EccXid,
            Some(Sure),
        ),
        (
            "XID 31",
            30,
            |_, s| s.xid = Some((31, 1.0)),
            Cause::None,
            None,
        ),
        (
            "XID 48 long ago",
            30,
            |_, s| s.xid = Some((48, 601.0)),
            Cause::None,
            None,
        ),
        (
            "a default limit 6 % below the plate",
            31,
            |n, s| {
                s.default_limit_w = Some(655.0);
                (s.limit_w, s.power_w) = (Some(655.0), Some(600.0 + 0.1 * (n % 5) as f64));
            },
            Cause::PlateMismatch,
            Some(Sure),
        ),
        (
            "a default limit 4 % below the plate",
            31,
            |n, s| {
                s.default_limit_w = Some(672.0);
                (s.limit_w, s.power_w) = (Some(672.0), Some(600.0 + 0.1 * (n % 5) as f64));
            },
            Cause::None,
            None,
        ),
        (
            "nothing moves",
            64,
            |_, s| s.power_w = Some(600.123),
            Cause::CounterFrozen,
            Some(Sure),
        ),
        (
            "idle for 50 s",
            50,
            |_, s| (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.0), Some(130.0)),
            Cause::None,
            None,
        ),
        (
            "idle for 70 s",
            70,
            |_, s| (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.0), Some(130.0)),
            Cause::IdleBilled,
            Some(Suspect),
        ),
        (
            "no utilization is not idle",
            700,
            |_, s| (s.utilization, s.span) = (None, None),
            Cause::None,
            None,
        ),
    ];
    for (name, seconds, change, cause, confidence) in cases {
        let mut looks = Looks::new();
        looks.see(120, |_, _| {}).see(*seconds, change);
        assert_eq!(
            (looks.cause(), looks.confidence()),
            (*cause, *confidence),
            "{name}"
        );
    }
}

/// What is launch-bound always was so; work that fell to a fifth of its own past is held up by something else.
#[test]
fn small_kernels_from_the_first_look_on_are_launch_bound() {
    let few = |_: u64, s: &mut Seen<'_>| {
        (s.sm_active, s.span, s.dram_active) = (Some(0.15), Some(0.2), Some(0.08));
        (s.memory_activity, s.owners.cores) = (Some(0.1), Some(1.02));
    };
    let mut looks = Looks::new();
    looks.see(70, few);
    assert_eq!(
        (looks.cause(), looks.confidence()),
        (Cause::LaunchBound, Some(Confidence::Suspect))
    );
    looks.see(240, few);
    assert_eq!(looks.confidence(), Some(Confidence::Sure));
    let mut looks = Looks::new();
    looks.see(400, |_, _| {}).see(310, few);
    assert_ne!(looks.cause(), Cause::LaunchBound);
}

/// A sharded fine-tune at a fifth of the span is sound where it always was so (facts 2c).
#[test]
fn honest_work_at_little_power_is_nothing() {
    let mut looks = Looks::new();
    looks.see(400, |_, s| (s.sm_active, s.span) = (Some(0.35), Some(0.2)));
    assert_eq!(looks.cause(), Cause::None);
}
