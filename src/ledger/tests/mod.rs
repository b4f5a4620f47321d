#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Scenarios are data: `tests/scenarios/ledger/*.toml`, steps with the expected numbers beside them.

mod cost_cases;
mod property;
mod starting;

use super::*;
use crate::model::{ExtraKind, FlappingKind, Granularity, PriceScope, PriceSource, Terms, Worth};
use crate::units::Currency;
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
    config: Config_,
    /// Wall time of the first step.
    begin: Timestamp,
    #[serde(default)]
    starts: Vec<BillingStart>,
    runs: Vec<Run>,
    expect: Expect,
}

#[derive(Debug, Deserialize, Default)]
struct Config_ {
    price: Option<Decimal>,
    scope: Option<PriceScope>,
    currency: Option<String>,
    granularity: Option<Granularity>,
    since: Option<BillingStart>,
    budget: Option<Decimal>,
    compute_threshold: Option<f64>,
    #[serde(flatten)]
    terms: TermsOf,
}

/// What the configuration file can say of a tariff, in its own words.
#[derive(Debug, Deserialize, Default)]
struct TermsOf {
    rule: Option<String>,
    #[serde(default)]
    tiers: Vec<TierOf>,
    #[serde(default)]
    phases: std::collections::BTreeMap<String, String>,
    prepaid: Option<(String, Decimal)>,
    upfront: Option<(Decimal, String)>,
    storage_per_hour: Option<Decimal>,
    traffic_per_gb: Option<Decimal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TierOf {
    after: String,
    factor: Decimal,
}

fn span_of(text: &str) -> Duration {
    crate::units::parse_duration(text).unwrap()
}

impl TermsOf {
    fn terms(&self) -> Terms {
        use crate::model::{Extra, PhasePrice, Prepaid, Tier, Upfront};
        let mut terms = Terms {
            rule: self.rule.as_deref().map(Arc::from),
            tiers: (self.tiers.iter())
                .map(|t| Tier {
                    after: span_of(&t.after),
                    factor: t.factor,
                })
                .collect(),
            prepaid: self.prepaid.as_ref().map(|(time, amount)| Prepaid {
                time: span_of(time),
                amount: *amount,
            }),
            upfront: self.upfront.as_ref().map(|(amount, term)| Upfront {
                amount: *amount,
                term: span_of(term),
            }),
            ..Terms::default()
        };
        for (word, price) in &self.phases {
            let place = Phase::ALL.iter().position(|p| p.word() == word).unwrap();
            terms.phases[place] = Some(match price.strip_suffix("/h") {
                Some(own) => PhasePrice::PerHour(own.parse().unwrap()),
                None => PhasePrice::Share(price.parse().unwrap()),
            });
        }
        let line = |kind| move |price| Extra { kind, price };
        terms
            .extras
            .extend(self.storage_per_hour.map(line(ExtraKind::Storage)));
        terms
            .extras
            .extend(self.traffic_per_gb.map(line(ExtraKind::Traffic)));
        terms
    }
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
    /// A scheduler says that the work waits.
    #[serde(default)]
    queued: bool,
    /// Bytes per second on the network.
    traffic: Option<f64>,
    /// A word per device, devices of one board in one string.
    boards: Vec<String>,
}

/// Kind, cycles, period, wasted seconds, amount.
type Swings = (FlappingKind, u32, f64, f64, Decimal);

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
    unbilled: Option<f64>,
    rule: Option<String>,
    projected_month: Option<Decimal>,
    wasted_day: Option<Decimal>,
    /// Stalled and throttled seconds and amounts.
    of_which: Option<(f64, Decimal, f64, Decimal)>,
    utilization_seconds: Option<f64>,
    work_seconds: Option<f64>,
    /// Storage and traffic.
    extras: Option<Vec<Decimal>>,
    total: Option<Decimal>,
    /// Kind, cycles, period, wasted seconds, amount.
    flapping: Option<Vec<Swings>>,
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
        work: None,
        worth: None,
    };
    match word {
        "stalled" | "throttled" | "fine" => {
            step.utilization = Some(0.99);
            step.work = Some(if word == "fine" { 0.8 } else { 0.2 });
            step.worth = Some(match word {
                "stalled" => Worth::Stalled,
                "throttled" => Worth::Throttled,
                _ => Worth::Fine,
            });
        }
        "compute" => step.utilization = Some(0.99),
        "idle" => {}
        "none" => step.has_process = Some(false),
        "loading" => (step.has_process, step.io_waiting) = (Some(false), Some(true)),
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
    ledger.note_boot(moved(scenario.begin, -5000.0));
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
            ledger.note_boot(moved(clock.at, -1.0));
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
                queued: run.queued,
                traffic_bytes_per_s: run.traffic,
            });
        }
    }
    (ledger, clock.at)
}

fn config_of(terms: &Config_) -> Config {
    let mut config = Config {
        price: terms.price.map(|per_hour| Price {
            per_hour,
            scope: terms.scope.unwrap_or_default(),
            source: PriceSource::Flag,
        }),
        since: terms.since,
        budget: terms.budget,
        granularity: terms.granularity,
        terms: terms.terms.terms(),
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
        ("unbilled", cost.unbilled_seconds, expect.unbilled),
        (
            "utilization",
            cost.utilization_seconds,
            expect.utilization_seconds,
        ),
        (
            "work",
            cost.work_seconds.map_or(0.0, |(sum, _)| sum),
            expect.work_seconds,
        ),
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
    same(
        name,
        "rule",
        &&*cost.tariff.rule,
        expect.rule.as_deref().as_ref(),
    );
    let month = expect.projected_month.map(Some);
    same(name, "month", &cost.projected_month_amount, month.as_ref());
    let day = cost.wasted_day_amount.map(|a| a.round_dp(2));
    same(name, "waste", &day, expect.wasted_day.map(Some).as_ref());
    if let Some((stalled, stalled_amount, throttled, throttled_amount)) = expect.of_which {
        let of = cost.of_which;
        near(name, "stalled", of.stalled_s.unwrap(), Some(stalled));
        near(name, "throttled", of.throttled_s.unwrap(), Some(throttled));
        assert_eq!(
            (of.stalled_amount, of.throttled_amount),
            (Some(stalled_amount), Some(throttled_amount)),
            "{name}"
        );
    }
    let extras = cost.extras.iter().map(|e| e.amount).collect();
    same(name, "extras", &extras, expect.extras.as_ref());
    same(
        name,
        "total",
        &cost.total_amount,
        expect.total.map(Some).as_ref(),
    );
    if let Some(expected) = &expect.flapping {
        let found: Vec<_> = (cost.flapping.iter())
            .map(|f| {
                (
                    f.kind,
                    f.cycles,
                    f.period_s.round(),
                    f.wasted_s.round(),
                    f.amount.unwrap(),
                )
            })
            .collect();
        assert_eq!(&found, expected, "{name}: flapping");
    }
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
            queued: false,
            traffic_bytes_per_s: None,
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
