//! What holds for any series of steps.

use super::*;
use crate::model::{Rounding, Settlement};
use proptest::prelude::*;

const WORDS: [&str; 11] = [
    "compute",
    "idle",
    "none",
    "held",
    "io",
    "lost",
    "unreadable",
    "outside",
    "unlisted",
    "stalled",
    "throttled",
];

prop_compose! {
    fn any_run()(
        seconds in 1u32..60,
        gap in prop_oneof![4 => Just(0.0), 1 => 5.0..5000.0],
        jump in prop_oneof![6 => Just(0.0), 1 => -4000.0..4000.0, 1 => Just(4e6)],
        reboot in proptest::bool::weighted(0.05),
        queued in proptest::bool::weighted(0.05),
        boards in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..3), 1..4),
    ) -> Run {
        Run {
            // A boot takes a while, and the host's clock is not behind after it: else it says nothing of its own.
            jump: if reboot { f64::max(jump, 0.0) } else { jump },
            gap: if reboot { f64::max(gap, 100.0) } else { gap },
            seconds: f64::from(seconds), every: 1.0, reboot, restart: false, queued, traffic: None,
            boards: boards.iter().map(|b| b.join(" ")).collect(),
        }
    }
}

prop_compose! {
    fn any_scenario()(
        runs in proptest::collection::vec(any_run(), 1..8),
        boot in proptest::option::of(0i64..100_000),
        since in proptest::option::weighted(0.3, -200i64..100_000),
        price in 0i64..100_000,
        granularity in proptest::sample::select(vec![Granularity::Second, Granularity::Minute, Granularity::Hour]),
        terms in any_terms(),
    ) -> (Config, Scenario) {
        let begin = Timestamp::from_second(1_800_000_000).unwrap();
        let before = |s: i64, source| BillingStart { at: moved(begin, -(s as f64)), source };
        let config = Config {
            price: Some(Price {
                per_hour: Decimal::new(price, 2), scope: PriceScope::Instance, source: PriceSource::Flag,
            }),
            since: since.map(|s| before(s, BillingStartSource::Flag)),
            granularity: Some(granularity),
            terms,
            budget: Some(Decimal::from(100)),
            ..Config::default()
        };
        let scenario = Scenario {
            title: String::new(), config: Config_::default(), begin, runs,
            starts: boot.map(|s| before(s, BillingStartSource::Boot)).into_iter().collect(),
            expect: toml::from_str("span = 0").unwrap(),
        };
        (config, scenario)
    }
}

fn same_ledger(a: &Ledger, b: &Ledger, now: Timestamp) -> Result<(), TestCaseError> {
    let (x, y) = (a.cost(now).unwrap(), b.cost(now).unwrap());
    let close = |p: f64, q: f64| (p - q).abs() < 1e-6;
    prop_assert!(close(x.span_seconds, y.span_seconds));
    prop_assert_eq!(x.billing_start, y.billing_start);
    prop_assert!(close(x.any_compute_seconds, y.any_compute_seconds));
    prop_assert!(close(x.idle_held_seconds, y.idle_held_seconds));
    prop_assert_eq!(
        x.phase_seconds.io_wait.is_some(),
        y.phase_seconds.io_wait.is_some()
    );
    for phase in Phase::ALL {
        prop_assert!(
            close(x.phase_seconds.get(phase), y.phase_seconds.get(phase)),
            "{phase:?}"
        );
        for device in a.state.devices.keys() {
            let (d, e) = (a.device_seconds(device, now), b.device_seconds(device, now));
            prop_assert!(close(d.get(phase), e.get(phase)), "{device} {phase:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn phases_add_up_and_so_does_the_money((config, scenario) in any_scenario()) {
        let (ledger, now) = play(&config, &scenario, None);
        let cost = ledger.cost(now).unwrap();
        prop_assert!((cost.phase_seconds.total() - cost.span_seconds).abs() < 1e-6);
        for id in ledger.state.devices.keys() {
            prop_assert!((ledger.device_seconds(id, now).total() - cost.span_seconds).abs() < 1e-6);
        }
        for id in ledger.state.boards.keys() {
            prop_assert!((ledger.board_seconds(id, now).total() - cost.span_seconds).abs() < 1e-6);
        }
        prop_assert!(cost.billed_seconds + cost.unbilled_seconds + 1e-6 >= cost.span_seconds);
        prop_assert!(cost.idle_held_seconds <= cost.phase_seconds.idle + 1e-6);
        prop_assert!(cost.phase_seconds.compute <= cost.any_compute_seconds + 1e-6);
        let of = cost.of_which;
        let judged = of.stalled_s.unwrap_or(0.0) + of.throttled_s.unwrap_or(0.0);
        prop_assert!(judged <= cost.phase_seconds.compute + 1e-6);
        let hours = cost.hours.iter().chain(cost.this_hour.as_ref());
        let by_hour: f64 = hours.map(crate::model::Hour::seen_s).sum();
        let seen = cost.span_seconds - cost.phase_seconds.unobserved;
        prop_assert!((by_hour - seen).abs() < 0.02, "{by_hour} by hours, {seen} seen");
        prop_assert_eq!(cost.phase_amounts.unwrap().iter().sum::<Decimal>(), cost.amount.unwrap());
    }

    #[test]
    fn a_checkpoint_changes_nothing((config, scenario) in any_scenario(), every in 1usize..20) {
        let (through, now) = play(&config, &scenario, None);
        let (restarted, _) = play(&config, &scenario, Some(every));
        prop_assert_eq!(through.checkpoint(), restarted.checkpoint());
        same_ledger(&through, &restarted, now)?;
    }

    #[test]
    fn finer_steps_of_the_same_state_give_the_same_ledger((config, scenario) in any_scenario(), parts in 2u32..5) {
        let (coarse, now) = play(&config, &scenario, None);
        let mut runs = scenario.runs.clone();
        for run in &mut runs {
            run.every = 1.0 / f64::from(parts);
        }
        // The interval that was meant stays: only the ticks are finer, as when a reader joins in between.
        let (fine, fine_now) = play(&config, &Scenario { runs, ..scenario }, None);
        prop_assert!((wall_seconds(now, fine_now)).abs() < 1e-6);
        same_ledger(&coarse, &fine, now)?;
    }

    #[test]
    fn rounding_is_monotone(a in 0.0f64..1e6, more in 0.0f64..1e5, nearest in any::<bool>()) {
        for granularity in [Granularity::Second, Granularity::Minute, Granularity::Hour] {
            let mut tariff = Tariff::started(granularity);
            let quantum = f64::from(tariff.quantum_s);
            let (less, greater) = (settle::rounded(a, &tariff), settle::rounded(a + more, &tariff));
            prop_assert!(less <= greater);
            prop_assert!(less + 1e-6 >= a && less < a + quantum);
            tariff.rounding = if nearest { Rounding::Nearest } else { Rounding::None };
            prop_assert!(settle::rounded(a, &tariff) <= settle::rounded(a + more, &tariff));
        }
    }

    /// More time never costs less, whatever the tariff.
    #[test]
    fn amounts_are_monotone(
        terms in any_terms(), granularity in proptest::option::of(Just(Granularity::Minute)), hourly in any::<bool>(),
        begin in 0i64..100_000, parts in proptest::array::uniform5(0.0f64..1e5), more in 0.0f64..1e5,
    ) {
        let mut tariff = Tariff::resolve(None, granularity, &terms);
        tariff.settlement = if hourly { Settlement::Hour } else { Settlement::End };
        let [compute, io_wait, queue, idle, unobserved] = parts;
        let phases = PhaseSeconds { compute, io_wait: Some(io_wait), queue, idle, unobserved };
        let rental = settle::Rental {
            tariff: &tariff, origin: Timestamp::from_second(begin).unwrap(), span: phases.total(), phases,
            over: &[], open: None,
        };
        let price = Decimal::new(1280, 2);
        let (now, later) = (rental.amount(price).unwrap(), rental.later(more).amount(price).unwrap());
        let whole = tariff.phases.iter().all(|p| matches!(p, crate::model::PhasePrice::Share(s) if s.fract().is_zero()));
        let slack = if whole { Decimal::new(1, 9) } else { settle::amount_of(price, f64::from(tariff.quantum_s)).unwrap() };
        prop_assert!(later + slack >= now, "{now} then {later}");
        let settled = rental.settle();
        prop_assert!((settled.billed - settled.rounding + settled.unbilled - rental.span).abs() < 1e-6);
    }

    /// Two recordings of one instance, one after the other in time or mixed up: no second counts twice, and steps that
    /// were there already change nothing.
    #[test]
    fn covered_time_counts_once(
        (config, scenario) in any_scenario(), from in 0usize..200, length in 1usize..200, mixed in any::<bool>(),
    ) {
        let runs: Vec<Run> = scenario.runs.iter().cloned()
            .map(|run| Run { jump: 0.0, reboot: false, ..run }).collect();
        let scenario = Scenario { runs, ..scenario };
        let steps = steps(&scenario);
        let once = fold(&config, &scenario, steps.iter());
        let again = steps.iter().skip(from).take(length);
        let twice = if mixed {
            // The second recording's steps come right after the first one's.
            let doubled = steps.iter().enumerate().flat_map(|(i, s)| {
                let in_both = (from..from + length).contains(&i);
                std::iter::once(s).chain(in_both.then_some(s))
            });
            fold(&config, &scenario, doubled)
        } else {
            fold(&config, &scenario, steps.iter().chain(again))
        };
        prop_assert_eq!(once.checkpoint(), twice.checkpoint());
    }
}

/// All steps of a scenario, with their boards.
fn steps(scenario: &Scenario) -> Vec<(Timestamp, MonoTime, bool, Vec<BoardStep>)> {
    let mut clock = Clock {
        at: scenario.begin,
        mono: MonoTime(5_000_000_000_000),
    };
    let mut steps = Vec::new();
    for run in &scenario.runs {
        clock.pass(run.gap);
        for s in 0..=(run.seconds / run.every).round() as usize {
            if s > 0 {
                clock.pass(run.every);
            }
            steps.push((clock.at, clock.mono, run.queued, boards(&run.boards)));
        }
    }
    steps.dedup_by_key(|step| step.1);
    steps
}

fn fold<'a>(
    config: &Config,
    scenario: &Scenario,
    steps: impl Iterator<Item = &'a (Timestamp, MonoTime, bool, Vec<BoardStep>)>,
) -> Ledger {
    let mut ledger = Ledger::new(config, None);
    for start in &scenario.starts {
        ledger.offer_start(*start);
    }
    for (at, mono, queued, boards) in steps {
        ledger.observe(&Step {
            at: *at,
            mono: *mono,
            interval: Duration::from_secs(1),
            boards,
            queued: *queued,
            traffic_bytes_per_s: None,
        });
    }
    ledger
}

prop_compose! {
    /// Terms as a user could write them.
    fn any_terms()(
        tiers in proptest::collection::vec((1u64..200_000, 0i64..100), 0..3),
        free in proptest::array::uniform5(proptest::option::weighted(0.2, 0i64..=100)),
        idle_per_hour in proptest::option::weighted(0.1, 0i64..500),
        prepaid in proptest::option::weighted(0.2, (1u64..50_000, 0i64..5000)),
        upfront in proptest::option::weighted(0.2, (0i64..50_000, 1u64..100_000)),
    ) -> Terms {
        use crate::model::{PhasePrice, Prepaid, Tier, Upfront};
        let mut phases = free.map(|share| share.map(|s| PhasePrice::Share(Decimal::new(s, 2))));
        if let Some(own) = idle_per_hour {
            phases[3] = Some(PhasePrice::PerHour(Decimal::new(own, 2)));
        }
        Terms {
            tiers: tiers.into_iter().map(|(after, factor)| Tier {
                after: Duration::from_secs(after), factor: Decimal::new(factor, 2),
            }).collect(),
            phases,
            prepaid: prepaid.map(|(time, amount)| Prepaid {
                time: Duration::from_secs(time), amount: Decimal::new(amount, 2),
            }),
            upfront: upfront.map(|(amount, term)| Upfront {
                amount: Decimal::new(amount, 2), term: Duration::from_secs(term),
            }),
            ..Terms::default()
        }
    }
}
