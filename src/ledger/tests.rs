#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Scenarios are data: `tests/scenarios/ledger/*.toml`, steps with the expected numbers beside them.

use super::*;
use crate::model::{Granularity, Price, PriceScope, PriceSource};
use crate::units::Currency;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde::Deserialize;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[allow(dead_code)] // read by people
    title: String,
    #[serde(default)]
    config: Terms,
    /// Wall time of the first step.
    begin: Timestamp,
    #[serde(default)]
    starts: Vec<BillingStart>,
    runs: Vec<Run>,
    expect: Expect,
}

#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Terms {
    price: Option<Decimal>,
    scope: Option<PriceScope>,
    currency: Option<String>,
    granularity: Option<Granularity>,
    since: Option<BillingStart>,
    budget: Option<Decimal>,
    compute_threshold: Option<f64>,
}

/// A stretch of equal steps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    seconds: f64,
    #[serde(default = "one")]
    every: f64,
    /// The wall clock steps by this before the run's first step.
    #[serde(default)]
    jump: f64,
    /// Nobody looks for so long before it (both clocks go on).
    #[serde(default)]
    gap: f64,
    /// The program is started anew before it, from a checkpoint written and read back.
    #[serde(default)]
    restart: bool,
    /// A reboot before it: the boot clock begins anew.
    #[serde(default)]
    reboot: bool,
    /// A word per device, devices of one board in one string.
    boards: Vec<String>,
}

const fn one() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    span: f64,
    billed: Option<f64>,
    rounding: Option<f64>,
    compute: Option<f64>,
    io_wait: Option<f64>,
    #[serde(default)]
    io_wait_unseen: bool,
    queue: Option<f64>,
    idle: Option<f64>,
    unobserved: Option<f64>,
    idle_held: Option<f64>,
    any_compute: Option<f64>,
    available: Option<f64>,
    amount: Option<Decimal>,
    /// compute, io_wait, queue, idle, unobserved, rounding.
    phase_amounts: Option<[Decimal; 6]>,
    per_compute_hour: Option<Decimal>,
    projected_day: Option<Decimal>,
    start: Option<BillingStart>,
    next_edge: Option<Timestamp>,
    budget_reached: Option<Timestamp>,
    /// Compute seconds of single devices, by board and place: `"0.1" = 20`.
    #[serde(default)]
    devices: std::collections::BTreeMap<String, f64>,
}

fn device(board: usize, place: usize, word: &str) -> DeviceStep {
    let mut step = DeviceStep {
        id: DeviceId(Arc::from(format!("{board}.{place}"))),
        utilization: Some(0.0),
        has_process: Some(true),
        held: false,
        io_waiting: Some(false),
        silent: false,
    };
    match word {
        "compute" => step.utilization = Some(0.99),
        "idle" => {}
        "none" => step.has_process = Some(false),
        "held" => step.held = true,
        "io" => step.io_waiting = Some(true),
        "lost" => step.silent = true,
        "unreadable" => step.utilization = None,
        "outside" => step.io_waiting = None,
        "unlisted" => step.has_process = None,
        number => step.utilization = Some(number.parse().expect("a word or a utilization")),
    }
    step
}

fn boards(words: &[String]) -> Vec<BoardStep> {
    let board = |(b, words): (usize, &String)| BoardStep {
        board: BoardId(Arc::from(format!("board-{b}"))),
        devices: (words.split_whitespace().enumerate())
            .map(|(place, word)| device(b, place, word))
            .collect(),
    };
    words.iter().enumerate().map(board).collect()
}

struct Clock {
    at: Timestamp,
    mono: MonoTime,
}

impl Clock {
    fn pass(&mut self, seconds: f64) {
        self.at = moved(self.at, seconds);
        self.mono = self.mono.plus(Duration::from_secs_f64(seconds));
    }
}

fn written_and_read(ledger: &Ledger) -> Checkpoint {
    let text = serde_json::to_string(&ledger.checkpoint()).unwrap();
    serde_json::from_str::<Checkpoint>(&text).unwrap();
    postcard::from_bytes(&postcard::to_stdvec(&ledger.checkpoint()).unwrap()).unwrap()
}

/// Runs the steps; `restarts` makes the program start anew before every n-th step.
fn play(config: &Config, scenario: &Scenario, restarts: Option<usize>) -> (Ledger, Timestamp) {
    let mut ledger = Ledger::new(config, None);
    let mut clock = Clock {
        at: scenario.begin,
        mono: MonoTime(5_000_000_000_000),
    };
    for start in &scenario.starts {
        ledger.offer_start(*start);
    }
    let mut count = 0;
    for (r, run) in scenario.runs.iter().enumerate() {
        if run.restart {
            ledger = Ledger::new(config, Some(written_and_read(&ledger)));
        }
        clock.pass(run.gap);
        clock.at = moved(clock.at, run.jump);
        if run.reboot {
            clock.mono = MonoTime(1_000_000_000);
        }
        let boards = boards(&run.boards);
        let interval = Duration::from_secs_f64(run.every);
        let steps = (run.seconds / run.every).round() as usize;
        for s in 0..=steps {
            // A run's first step is where the last run ended, but after a gap or jump it tells of that.
            let tells = run.gap > 0.0 || run.jump != 0.0 || run.reboot || r == 0;
            if s == 0 && !tells {
                continue;
            }
            if s > 0 {
                clock.pass(run.every);
            }
            count += 1;
            if restarts.is_some_and(|n| count % n == 0) {
                ledger = Ledger::new(config, Some(written_and_read(&ledger)));
            }
            ledger.observe(&Step {
                at: clock.at,
                mono: clock.mono,
                interval,
                boards: &boards,
            });
        }
    }
    (ledger, clock.at)
}

fn config_of(terms: &Terms) -> Config {
    let mut config = Config {
        price: terms.price.map(|per_hour| Price {
            per_hour,
            scope: terms.scope.unwrap_or_default(),
            source: PriceSource::Flag,
        }),
        since: terms.since,
        budget: terms.budget,
        granularity: terms.granularity.unwrap_or_default(),
        ..Config::default()
    };
    if let Some(code) = &terms.currency {
        config.currency = Currency::from_str(code).unwrap();
    }
    if let Some(threshold) = terms.compute_threshold {
        config.compute_threshold = threshold;
    }
    config
}

fn near(name: &str, what: &str, got: f64, expected: Option<f64>) {
    if let Some(expected) = expected {
        let close = (got - expected).abs() < 1e-6;
        assert!(close, "{name}: {what} is {got}, expected {expected}");
    }
}

fn same<T: PartialEq + std::fmt::Debug>(name: &str, what: &str, got: &T, expected: Option<&T>) {
    if let Some(expected) = expected {
        assert_eq!(got, expected, "{name}: {what}");
    }
}

fn check(name: &str, scenario: &Scenario, ledger: &Ledger, now: Timestamp) {
    let (cost, expect) = (ledger.cost(now).expect("a step was seen"), &scenario.expect);
    let phases = cost.phase_seconds;
    for (what, got, expected) in [
        ("span", cost.span_seconds, Some(expect.span)),
        ("phases", phases.total(), Some(expect.span)),
        ("billed", cost.billed_seconds, expect.billed),
        ("rounding", cost.rounding_seconds, expect.rounding),
        ("compute", phases.compute, expect.compute),
        ("queue", phases.queue, expect.queue),
        ("idle", phases.idle, expect.idle),
        ("unobserved", phases.unobserved, expect.unobserved),
        ("idle held", cost.idle_held_seconds, expect.idle_held),
        ("any compute", cost.any_compute_seconds, expect.any_compute),
    ] {
        near(name, what, got, expected);
    }
    if let Some(expected) = expect.available {
        near(
            name,
            "available",
            cost.available_ratio.unwrap(),
            Some(expected),
        );
    }
    match expect.io_wait {
        None if expect.io_wait_unseen => assert_eq!(phases.io_wait, None, "{name}"),
        expected => near(name, "io_wait", phases.io_wait.unwrap_or(-1.0), expected),
    }
    same(
        name,
        "amount",
        &cost.amount,
        expect.amount.map(Some).as_ref(),
    );
    let parts = expect.phase_amounts.map(Some);
    same(name, "parts", &cost.phase_amounts, parts.as_ref());
    let per_hour = cost.effective_price_per_compute_hour.map(|p| p.round_dp(2));
    same(
        name,
        "compute hour",
        &per_hour,
        expect.per_compute_hour.map(Some).as_ref(),
    );
    let day = expect.projected_day.map(Some);
    same(name, "day", &cost.projected_day_amount, day.as_ref());
    same(name, "start", &cost.billing_start, expect.start.as_ref());
    same(
        name,
        "edge",
        &cost.next_edge,
        expect.next_edge.map(Some).as_ref(),
    );
    let reached = expect.budget_reached.map(Some);
    same(name, "budget", &cost.budget_reached, reached.as_ref());
    for (id, seconds) in &expect.devices {
        let own = ledger.device_seconds(&DeviceId(Arc::from(id.as_str())), now);
        near(name, id, own.compute, Some(*seconds));
        near(name, id, own.total(), Some(expect.span));
    }
}

#[test]
fn scenarios_give_the_expected_numbers() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/ledger");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let config = config_of(&scenario.config);
        let (ledger, now) = play(&config, &scenario, None);
        check(&name, &scenario, &ledger, now);
        let (restarted, now) = play(&config, &scenario, Some(7));
        check(&format!("{name}, started anew"), &scenario, &restarted, now);
        count += 1;
    }
    assert!(count >= 15, "only {count} scenarios were found");
}

#[test]
fn there_is_no_bill_before_its_begin_is_known() {
    let ledger = Ledger::new(&Config::default(), None);
    assert_eq!(ledger.cost(Timestamp::UNIX_EPOCH), None);
    let nobody = DeviceId(Arc::from("nobody"));
    assert_eq!(ledger.phase(&nobody), Phase::Unobserved);
}

#[test]
fn accounts_stay_bounded() {
    let mut ledger = Ledger::new(&Config::default(), None);
    for i in 0..1500_u64 {
        let boards = [BoardStep {
            board: BoardId(Arc::from(format!("b{i}"))),
            devices: vec![device(i as usize, 0, "idle")],
        }];
        ledger.observe(&Step {
            at: Timestamp::from_second(i as i64).unwrap(),
            mono: MonoTime(i * 1_000_000_000),
            interval: Duration::from_secs(1),
            boards: &boards,
        });
    }
    assert_eq!(ledger.state.devices.len(), ACCOUNTS);
    assert_eq!(ledger.state.boards.len(), ACCOUNTS);
    assert_eq!(
        ledger
            .cost(Timestamp::from_second(1499).unwrap())
            .unwrap()
            .phase_seconds
            .idle,
        1499.0
    );
}

const WORDS: [&str; 9] = [
    "compute",
    "idle",
    "none",
    "held",
    "io",
    "lost",
    "unreadable",
    "outside",
    "unlisted",
];

prop_compose! {
    fn any_run()(
        seconds in 1u32..60,
        gap in prop_oneof![4 => Just(0.0), 1 => 5.0..5000.0],
        jump in prop_oneof![6 => Just(0.0), 1 => -4000.0..4000.0, 1 => Just(4e6)],
        reboot in proptest::bool::weighted(0.05),
        boards in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..3), 1..4),
    ) -> Run {
        Run {
            seconds: f64::from(seconds), every: 1.0, jump, gap, reboot, restart: false,
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
    ) -> (Config, Scenario) {
        let begin = Timestamp::from_second(1_800_000_000).unwrap();
        let before = |s: i64, source| BillingStart { at: moved(begin, -(s as f64)), source };
        let config = Config {
            price: Some(Price {
                per_hour: Decimal::new(price, 2), scope: PriceScope::Instance, source: PriceSource::Flag,
            }),
            since: since.map(|s| before(s, BillingStartSource::Flag)),
            granularity,
            budget: Some(Decimal::from(100)),
            ..Config::default()
        };
        let scenario = Scenario {
            title: String::new(), config: Terms::default(), begin, runs,
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
        prop_assert!(cost.billed_seconds + 1e-6 >= cost.span_seconds);
        prop_assert!(cost.idle_held_seconds <= cost.phase_seconds.idle + 1e-6);
        prop_assert!(cost.phase_seconds.compute <= cost.any_compute_seconds + 1e-6);
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
    fn rounding_is_monotone(a in 0.0f64..1e6, more in 0.0f64..1e5) {
        for granularity in [Granularity::Second, Granularity::Minute, Granularity::Hour] {
            let quantum = granularity.seconds();
            let (less, greater) = (bill::billed_seconds(a, quantum), bill::billed_seconds(a + more, quantum));
            prop_assert!(less <= greater);
            prop_assert!(less + 1e-6 >= a && less < a + quantum);
        }
    }
}
