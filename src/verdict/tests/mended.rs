//! What rules once said wrongly, each with what is right.

use super::*;

fn bursts(n: u64, seen: &mut Seen<'_>) {
    if n % 10 < 3 {
        (seen.utilization, seen.span, seen.power_w) = (Some(0.0), Some(0.05), Some(150.0));
    }
}

fn alone(seen: &mut Seen<'_>) {
    seen.owners = Owners::default();
    seen.host_cores = None;
}

/// A fifth of rest, in no rhythm.
fn fits(n: u64, seen: &mut Seen<'_>) {
    let late = if (n / 14).is_multiple_of(2) { 0 } else { 5 };
    let rests = (late..late + 3).contains(&(n % 14));
    bursts(if rests { 0 } else { 9 }, seen);
}

#[test]
fn bursts_that_nobody_explains_are_work_until_they_last_five_minutes() {
    let mut looks = Looks::new();
    looks.see(290, |n, s| {
        alone(s);
        fits(n, s);
    });
    assert!(!looks.begun(Cause::InputStarved), "{:?}", looks.turns);
    looks.see(60, |n, s| {
        alone(s);
        fits(n + 290, s);
    });
    let episodes = looks.memory.episodes(&card().id);
    let starved = episodes.iter().find(|e| e.cause == Cause::InputStarved);
    let starved = starved.expect("five minutes of it");
    assert_eq!(starved.confidence, Confidence::Suspect);
    let share = &starved.evidence[0];
    assert_eq!((share.witness, share.window_s), (Witness::IdleShare, 300.0));
}

#[test]
fn a_sawtooth_that_nobody_explains_is_suspected_within_a_minute_or_so() {
    let mut looks = Looks::new();
    looks.see(75, |n, s| {
        alone(s);
        bursts(n, s);
    });
    assert_eq!(looks.cause(), Cause::InputStarved);
    assert_eq!(looks.confidence(), Some(Confidence::Suspect));
}

#[test]
fn the_window_of_a_rhythm_is_as_long_as_it_was_seen() {
    let mut looks = Looks::new();
    looks.see(60, |n, s| {
        s.owners.cores = Some(62.0);
        bursts(n, s);
    });
    let verdict = looks.memory.verdict().unwrap();
    assert_eq!(verdict.cause, Cause::InputStarved);
    assert_eq!(verdict.evidence[0].window_s, 60.0);
}

/// A card as its log shows it: no process, no host.
fn asleep(seen: &mut Seen<'_>) {
    alone(seen);
    (seen.utilization, seen.span, seen.power_w) = (Some(0.0), Some(0.0), Some(30.0));
    seen.memory_used = Some(1e6);
}

#[test]
fn a_start_that_never_comes_to_work_is_no_warm_up_and_not_idle_but_unknown() {
    let mut looks = Looks::new();
    looks.see(5, |_, s| asleep(s)).see(20, |_, s| {
        asleep(s);
        (s.span, s.power_w, s.memory_used) = (Some(0.4), Some(300.0), Some(6e9));
    });
    let state = |looks: &Looks| {
        let verdict = looks.memory.verdict().unwrap();
        (verdict.cause, verdict.state, verdict.confidence)
    };
    assert_eq!(
        state(&looks),
        (Cause::WarmUp, VerdictState::Working, Confidence::Suspect)
    );
    // It gives its memory back, and rests.
    looks.see(120, |_, s| asleep(s));
    assert_eq!(
        state(&looks),
        (Cause::Unknown, VerdictState::Unknown, Confidence::Suspect)
    );
    let verdict = looks.memory.verdict().unwrap();
    let told: Vec<Witness> = verdict.evidence.iter().map(|e| e.witness).collect();
    let wanted = [
        Witness::MemoryUsed,
        Witness::PowerSpan,
        Witness::Utilization,
        Witness::PauseSeconds,
    ];
    assert_eq!(told, wanted);
    let memory = &verdict.evidence[0];
    assert_eq!(memory.witness, Witness::MemoryUsed);
    assert!((memory.value - 6e9 / 85e9).abs() < 1e-9, "{memory:?}");
    assert!(!verdict.counts);
    looks.see(600, |_, s| asleep(s));
    assert_eq!(looks.cause(), Cause::IdleBilled);
}

#[test]
fn what_was_not_woken_or_has_worked_is_no_start() {
    type Change = fn(&mut Seen<'_>);
    let others: [(&str, Change); 3] = [
        ("memory alone", |s| s.memory_used = Some(6e9)),
        ("watts alone", |s| s.span = Some(0.4)),
        ("it works", |s| {
            (s.span, s.memory_used, s.utilization) = (Some(0.4), Some(6e9), Some(0.9));
        }),
    ];
    for (name, change) in others {
        let mut looks = Looks::new();
        looks
            .see(5, |_, s| asleep(s))
            .see(20, |_, s| {
                asleep(s);
                change(s);
            })
            .see(120, |_, s| asleep(s));
        assert!(!looks.begun(Cause::WarmUp), "{name}: {:?}", looks.turns);
    }
}

#[test]
fn a_limit_that_governs_is_named_without_utilization() {
    let governs = |s: &mut Seen<'_>| {
        alone(s);
        (s.utilization, s.bits, s.clock_max_mhz) = (None, None, None);
        (s.power_w, s.limit_w) = (Some(299.8), Some(300.0));
    };
    let mut looks = Looks::new();
    looks.see(60, |_, s| {
        governs(s);
        s.span = None;
    });
    let verdict = looks.memory.verdict().unwrap();
    assert_eq!((verdict.cause, verdict.counts), (Cause::PowerCap, true));
    // What it was made for is not told: it may be as it should be.
    let mut looks = Looks::new();
    looks.see(60, |_, s| {
        governs(s);
        (s.default_limit_w, s.plate_w, s.rated_w, s.span) = (None, None, None, None);
    });
    let verdict = looks.memory.verdict().unwrap();
    assert_eq!((verdict.cause, verdict.counts), (Cause::PowerCap, false));
    assert_eq!(verdict.confidence, Confidence::Suspect);
    assert_eq!(
        verdict.rejected[0].why,
        Why::CannotTell(Witness::LimitOfPlate)
    );
}

#[test]
fn what_is_over_is_told_by_what_it_came_to() {
    let mut looks = Looks::new();
    let rests = |s: &mut Seen<'_>| {
        (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.0), Some(130.0));
    };
    // A look of work between, and another short rest: the same episode.
    looks
        .see(60, |_, _| {})
        .see(700, |_, s| rests(s))
        .see(1, |_, _| {})
        .see(4, |_, s| rests(s))
        .see(200, |_, _| {});
    let ended = looks
        .turns
        .iter()
        .find(|t| t.kind == TurnKind::End && t.episode.cause == Cause::IdleBilled);
    let evidence = &ended.unwrap().episode.evidence;
    assert_eq!(evidence[0].witness, Witness::IdleSeconds, "{evidence:?}");
    assert!((evidence[0].value - 700.0).abs() <= 1.0, "{evidence:?}");
    assert_eq!(evidence[0].threshold, 600.0);
    assert!(evidence.iter().all(Evidence::holds), "{evidence:?}");
}

#[test]
fn only_what_somebody_set_is_the_configurations() {
    for threshold in Threshold::ALL {
        assert_ne!(threshold.whose(), Whose::Config, "{threshold:?}");
    }
    let limits = |compute, idle| Limits::new(&Thresholds::default(), compute, idle);
    let both = |l: Limits| (l.compute().1, l.max_idle().1);
    assert_eq!(both(limits(0.10, 600.0)), (Whose::Article, Whose::OURS));
    assert_eq!(both(limits(0.05, 300.0)), (Whose::Config, Whose::Config));
    // No rule writes it beside a number of its own.
    let rules = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verdict");
    for file in std::fs::read_dir(rules).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let own = path.ends_with("proof.rs");
        assert!(own || !text.contains("Whose::Config"), "{}", path.display());
    }
}

#[test]
fn a_spread_of_power_needs_a_limit_to_be_a_share_of() {
    let mut looks = Looks::new();
    looks.see(60, |n, s| {
        spins(s);
        (s.limit_w, s.plate_w, s.default_limit_w) = (None, None, None);
        s.power_w = Some(if n % 2 == 0 { 120.0 } else { 160.0 });
    });
    let verdict = looks.memory.verdict().unwrap();
    assert_eq!(verdict.cause, Cause::CollectiveWait);
    let told = |witness| verdict.evidence.iter().any(|e| e.witness == witness);
    assert!(told(Witness::PowerSpan) && !told(Witness::PowerSpread));
}

#[test]
fn traffic_that_no_counter_tells_is_not_taken_for_none() {
    let mut looks = Looks::new();
    // One look in five tells of 300 MB/s; between them no counter answers.
    looks.see(120, |n, s| {
        spins(s);
        let told = (n % 5 == 0).then_some(150e6);
        (s.rx_bytes_per_s, s.tx_bytes_per_s) = (told, told);
        s.nvlink_bytes_per_s = None;
    });
    assert!(!looks.begun(Cause::CollectiveWait), "{:?}", looks.turns);
}

#[test]
fn traffic_that_no_counter_tells_turns_no_look_alike_down() {
    let rejected = |change: fn(&mut Seen<'_>)| {
        let mut looks = Looks::new();
        looks.see(120, |_, s| {
            (s.utilization, s.sm_active, s.span) = (Some(0.97), Some(0.12), Some(0.25));
            (s.power_w, s.owners.cores) =
                (Some(260.0 + s.power_w.unwrap_or(0.0).fract()), Some(1.0));
            (s.memory_activity, s.dram_active) = (Some(0.02), None);
            change(s);
        });
        let verdict = looks.memory.verdict().unwrap();
        assert_eq!(verdict.cause, Cause::LaunchBound);
        verdict.rejected
    };
    let unread = |s: &mut Seen<'_>| {
        (s.rx_bytes_per_s, s.tx_bytes_per_s) = (None, None);
        (s.rx_saturation, s.tx_saturation) = (None, None);
        s.nvlink_bytes_per_s = None;
    };
    assert_eq!(rejected(unread), []);
    assert_eq!(
        rejected(|s| (s.rx_bytes_per_s, s.tx_bytes_per_s) = (Some(0.0), Some(0.0))),
        []
    );
    // What is read speaks.
    let [
        Rejected {
            cause,
            why: Why::Against(why),
        },
    ] = rejected(|_| {})[..]
    else {
        panic!("one look-alike");
    };
    assert_eq!(
        (cause, why.witness),
        (Cause::CollectiveWait, Witness::LinkTraffic)
    );
    assert_eq!((why.value, why.threshold), (3e9, 0.0));
}

#[test]
fn writes_that_nobody_may_read_do_not_turn_a_checkpoint_down() {
    let verdict = |writes: Option<f64>| {
        let mut looks = Looks::new();
        looks.see(120, |n, s| {
            bursts(n, s);
            (s.owners.writes, s.owners.waiting) = (writes, Some(f64::from(u8::from(n % 10 < 3))));
        });
        let verdict = looks.memory.verdict().unwrap();
        assert_eq!(verdict.cause, Cause::DiskIo);
        (verdict.rejected[0], verdict.confidence)
    };
    let (unread, confidence) = verdict(None);
    assert_eq!(unread.cause, Cause::CheckpointPause);
    assert_eq!(unread.why, Why::CannotTell(Witness::OwnerWrites));
    assert_eq!(confidence, Confidence::Suspect);
    let (read, confidence) = verdict(Some(0.0));
    assert!(matches!(read.why, Why::Against(why) if why.value == 0.0));
    assert_eq!(confidence, Confidence::Sure);
}

/// Throttled periods of the cgroup in a device that is fed in fits.
fn throttled(share: f64) -> Looks {
    let mut looks = Looks::new();
    let device = card();
    let peers = Peers::default();
    for second in 0..240_u64 {
        let mut seen = working(&device, &peers);
        let host = HostSample {
            cgroup_throttled_ratio: Ok(share),
            ..HostSample::default()
        };
        bursts(second, &mut seen);
        seen.host = Some(&host);
        seen.at += SignedDuration::from_secs(second as i64);
        seen.now = MonoTime(seen.now.0 + second * 1_000_000_000);
        seen.dt = if second == 0 { 0.0 } else { 1.0 };
        looks.rules.look(&mut looks.memory, &seen, &mut looks.turns);
    }
    looks
}

#[test]
fn a_quota_near_its_threshold_is_a_suspicion() {
    for (share, expected) in [
        (0.26, Confidence::Suspect),
        (0.24, Confidence::Suspect),
        (0.30, Confidence::Sure),
    ] {
        let looks = throttled(share);
        assert_eq!(looks.cause(), Cause::HostThrottled, "{share}");
        assert_eq!(looks.confidence(), Some(expected), "{share}");
    }
}
