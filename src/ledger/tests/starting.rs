//! Start-up: steps with their sources, and earlier starts.

use super::*;
use crate::model::{StartSteps, StepSource};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A host whose clocks go on together.
struct Host {
    ledger: Ledger,
    booted: i64,
}

impl Host {
    fn new() -> Self {
        let mut host = Self {
            ledger: Ledger::new(&Config::default(), None),
            booted: -40,
        };
        host.says(-40, Some(-30));
        host
    }

    fn says(&mut self, boot: i64, container: Option<i64>) {
        self.booted = boot;
        for (second, source) in [
            (container, BillingStartSource::Container),
            (Some(boot), BillingStartSource::Boot),
        ] {
            if let Some(second) = second {
                self.ledger.offer_start(BillingStart {
                    at: at(second),
                    source,
                });
            }
        }
        self.ledger.note_boot(at(boot));
        if let Some(second) = container {
            self.ledger.note_container(at(second));
        }
    }

    fn run(&mut self, seconds: std::ops::Range<i64>, word: &str) {
        for second in seconds {
            self.ledger.observe(&Step {
                at: at(second),
                mono: MonoTime(((second - self.booted) as u64) * 1_000_000_000),
                interval: Duration::from_secs(1),
                boards: &boards(&[word.to_owned()]),
                queued: false,
                traffic_bytes_per_s: None,
            });
        }
    }

    fn steps(&self) -> [Option<(i64, StepSource)>; 5] {
        let steps = self.ledger.startup().now;
        said(&steps)
    }
}

fn said(steps: &StartSteps) -> [Option<(i64, StepSource)>; 5] {
    steps
        .named()
        .map(|(_, step)| step.map(|s| (s.at.as_second() - 1_800_000_000, s.source)))
}

const CONTAINER: StepSource = StepSource::Billing(BillingStartSource::Container);

#[test]
fn each_step_has_its_time_and_source() {
    let mut host = Host::new();
    host.run(0..10, "none");
    host.ledger.note_driver(at(3));
    host.run(10..20, "idle");
    host.ledger.note_process(at(8));
    host.run(20..30, "compute");
    assert_eq!(
        host.steps(),
        [
            Some((-30, CONTAINER)),
            Some((-40, StepSource::Kernel)),
            Some((3, StepSource::Driver)),
            Some((8, StepSource::Process)),
            Some((20, StepSource::Utilization)),
        ]
    );
    assert_eq!(host.ledger.startup().now.until_compute_s(), Some(50.0));
}

#[test]
fn what_ran_already_began_then_or_before() {
    let mut host = Host::new();
    host.run(0..10, "compute");
    let [_, _, driver, process, compute] = host.steps();
    assert_eq!(driver, None);
    assert_eq!(process, Some((0, StepSource::Already)));
    assert_eq!(compute, Some((0, StepSource::Already)));
    assert_eq!(host.ledger.startup().now.until_compute_s(), None);
}

#[test]
fn a_boot_and_a_new_container_are_new_starts_and_the_bill_goes_on() {
    let mut host = Host::new();
    host.run(0..100, "compute");
    // Another boot: its clock is behind.
    host.says(150, Some(155));
    host.run(160..200, "none");
    host.run(200..250, "compute");
    let startup = host.ledger.startup();
    assert_eq!(startup.earlier.len(), 1);
    let past = &startup.earlier[0];
    assert_eq!((past.first_at, past.last_at), (at(0), at(99)));
    assert_eq!(said(&past.steps)[4], Some((0, StepSource::Already)));
    assert_eq!(
        host.steps(),
        [
            Some((-30, CONTAINER)),
            Some((150, StepSource::Kernel)),
            None,
            Some((200, StepSource::List)),
            Some((200, StepSource::Utilization)),
        ]
    );
    // Another container in the same boot.
    host.says(150, Some(400));
    host.run(410..420, "none");
    let startup = host.ledger.startup();
    assert_eq!(startup.earlier.len(), 2);
    assert_eq!(startup.now.boot.map(|s| s.at), Some(at(150)));
    assert_eq!(startup.now.first_compute, None);
    let cost = host.ledger.cost(at(419)).unwrap();
    assert_eq!(cost.span_seconds, 449.0);
    assert_eq!(
        cost.phase_seconds.queue, 0.0,
        "never again after the first process"
    );
}

#[test]
fn a_jump_of_the_wall_clock_is_no_start() {
    let mut host = Host::new();
    host.run(0..10, "compute");
    // The kernel's boot time moves with the clock.
    host.ledger.note_boot(at(-40 + 7200));
    host.booted -= 0;
    host.run(10..20, "compute");
    let startup = host.ledger.startup();
    assert_eq!(startup.earlier, []);
    assert_eq!(startup.now.boot.map(|s| s.at), Some(at(7160)));
}

#[test]
fn earlier_starts_are_bounded() {
    let mut host = Host::new();
    for boot in 0..50 {
        host.says(boot * 1000, None);
        host.run(boot * 1000 + 10..boot * 1000 + 20, "compute");
    }
    assert_eq!(host.ledger.startup().earlier.len(), 16);
    let bytes = postcard::to_stdvec(&host.ledger.checkpoint())
        .unwrap()
        .len();
    assert!(bytes < 4096, "{bytes} bytes");
}

#[test]
fn a_later_begin_of_billing_is_another_bill() {
    let mut host = Host::new();
    host.run(0..100, "compute");
    let platform = |second| BillingStart {
        at: at(second),
        source: BillingStartSource::Platform,
    };
    host.ledger.offer_start(platform(-35));
    assert_eq!(host.ledger.cost(at(99)).unwrap().span_seconds, 134.0);
    host.ledger.offer_start(platform(500));
    host.says(450, None);
    host.run(510..520, "none");
    let cost = host.ledger.cost(at(519)).unwrap();
    assert_eq!(cost.span_seconds, 19.0);
    assert_eq!(
        (cost.phase_seconds.queue, cost.phase_seconds.compute),
        (9.0, 0.0)
    );
    let earlier = host.ledger.startup().earlier;
    assert_eq!(earlier.len(), 1);
    assert_eq!(
        earlier[0].steps.billing_started.map(|s| s.at),
        Some(at(-35))
    );
    assert_eq!(
        cost.hours
            .iter()
            .chain(cost.this_hour.as_ref())
            .map(|h| h.seconds(Phase::Compute))
            .sum::<f64>(),
        99.0
    );
}
