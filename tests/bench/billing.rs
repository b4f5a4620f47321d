//! How far the account is from what really happened, for each load and poll; and what it costs.
//!
//! ```text
//! cargo bench --bench billing
//! ```
//!
//! Errors are in points of the share of an hour: the worst of twelve runs. "over 10 %" is the definition that bills are
//! compared with, "integral" the mean utilization.
#![allow(clippy::print_stdout, clippy::unwrap_used, dead_code)]
#![allow(missing_docs, reason = "a program")]

#[path = "../support/duty.rs"]
mod duty;

use duty::{LOADS, board, hour};
use jiff::Timestamp;
use nameplate::ledger::{BoardStep, Ledger, Step};
use nameplate::model::{BillingStart, BillingStartSource, Config, Price, PriceScope, PriceSource};
use nameplate::units::MonoTime;
use rust_decimal::Decimal;
use std::time::{Duration, Instant};

const RUNS: u64 = 12;
const INTERVALS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

fn main() {
    for (title, window) in [
        ("utilization of the last second", 1.0),
        ("utilization of the moment", 0.01),
    ] {
        println!("{title}: worst error in points");
        print!("{:<22}", "load");
        for interval in INTERVALS {
            print!("{:>22}", format!("every {interval} s"));
        }
        println!(
            "\n{:<22}{}",
            "",
            "  over 10 %   integral".repeat(INTERVALS.len())
        );
        for load in &LOADS {
            print!("{:<22}", load.name);
            for interval in INTERVALS {
                let runs: Vec<_> = (1..=RUNS)
                    .map(|seed| hour(load, interval, window, seed))
                    .collect();
                let worst = |error: &dyn Fn(&duty::Seen) -> f64| {
                    let errors = runs.iter().map(|seen| error(seen) * 100.0);
                    errors.fold(
                        0.0,
                        |worst: f64, e| if e.abs() > worst.abs() { e } else { worst },
                    )
                };
                print!(
                    "{:>11.2}{:>11.2}",
                    worst(&|seen| seen.compute - seen.truth),
                    worst(&|seen| seen.integral - seen.truth)
                );
            }
            println!();
        }
        println!();
    }
    cost();
}

/// A month of ticks, one a second: what a step, a look at the meter and a checkpoint take.
fn cost() {
    println!(
        "{:<10}{:>12}{:>12}{:>16}",
        "devices", "step ns", "meter ns", "checkpoint B"
    );
    for devices in [1, 8, 64] {
        let boards: Vec<BoardStep> = (0..devices).map(|n| board(n, 0.97)).collect();
        let config = Config {
            price: Some(Price {
                per_hour: Decimal::new(299, 2),
                scope: PriceScope::Device,
                source: PriceSource::Config,
            }),
            ..Config::default()
        };
        let mut ledger = Ledger::new(&config, None);
        ledger.offer_start(BillingStart {
            at: Timestamp::UNIX_EPOCH,
            source: BillingStartSource::Flag,
        });
        let mut second = 0;
        let mut run = |ledger: &mut Ledger, steps: u64, every: u64| {
            for _ in 0..steps {
                second += every;
                ledger.observe(&Step {
                    at: Timestamp::from_second(second as i64).unwrap(),
                    mono: MonoTime(second * 1_000_000_000),
                    interval: Duration::from_secs(every),
                    boards: &boards,
                    queued: false,
                    traffic_bytes_per_s: None,
                });
            }
        };
        // A month of minutes fills all hours.
        run(&mut ledger, 31 * 24 * 60, 60);
        let steps = 20_000;
        let begun = Instant::now();
        run(&mut ledger, steps, 1);
        let step = begun.elapsed().as_nanos() / u128::from(steps);
        let now = Timestamp::from_second(second as i64).unwrap();
        let begun = Instant::now();
        for _ in 0..1000 {
            std::hint::black_box(ledger.cost(now).unwrap());
        }
        let meter = begun.elapsed().as_nanos() / 1000;
        let bytes = postcard::to_stdvec(&ledger.checkpoint()).unwrap().len();
        println!("{devices:<10}{step:>12}{meter:>12}{bytes:>16}");
    }
}
