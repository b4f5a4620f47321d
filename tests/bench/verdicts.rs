//! The score of the verdicts, and what they cost.
//!
//! ```text
//! cargo bench --bench verdicts                                the tables, the ramp, 2000 clean device-days
//! cargo bench --bench verdicts -- --cases 10 --days 50        shorter
//! cargo bench --bench verdicts -- --only disk_io --mistakes   one family, and what was said falsely
//! cargo bench --bench verdicts -- --cases 0 --first 9000      other clean machines, such as to mend a rule on
//! ```
//!
//! Three rows, never merged: simulated; held back (seeds and devices that no test prints one by one); the corpus has its
//! own test, as its files may not be there.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(missing_docs, reason = "a program")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../support/score.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod score;

use nameplate::model::Plates;
use nameplate::simulate::families::{Family, HELD_BACK, clean, families};
use score::{Table, drawn, mistakes, session};
use std::sync::Arc;
use std::time::Instant;

/// Runs of the ramp, as many as the facts' simulation had.
const RAMPS: u64 = 60;

struct Wishes {
    cases: u64,
    days: f64,
    interval: f64,
    first: u64,
    only: Option<String>,
    mistakes: bool,
}

fn main() {
    let mut wishes = Wishes {
        cases: 60,
        days: 2000.0,
        interval: 1.0,
        first: 0,
        only: None,
        mistakes: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = |what: &str| {
            let next = arguments.next().and_then(|n| n.parse::<f64>().ok());
            next.unwrap_or_else(|| panic!("{what} takes a number"))
        };
        match name.as_str() {
            "--cases" => wishes.cases = number("--cases") as u64,
            "--days" => wishes.days = number("--days"),
            "--interval" => wishes.interval = number("--interval"),
            "--first" => wishes.first = number("--first") as u64,
            "--only" => wishes.only = arguments.next(),
            "--mistakes" => wishes.mistakes = true,
            // What cargo adds.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let plates = Arc::new(Plates::embedded().expect("the table is sound"));
    let wanted: Vec<&Family> = families()
        .iter()
        .filter(|f| {
            wishes
                .only
                .as_ref()
                .is_none_or(|only| f.name.contains(only))
        })
        .collect();
    for (title, first) in [("simulated", 0), ("held back", HELD_BACK)] {
        let begun = Instant::now();
        let records = drawn(&wanted, first..first + wishes.cases, &|| session(&plates));
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{}",
            Table::of(&records).text(&format!("{title} ({took:.0} s)"))
        );
        if wishes.mistakes {
            println!("{}", mistakes(&records));
        }
    }
    if wishes.only.is_none() {
        ramp_of_the_articles(&plates);
    }
    if wishes.days > 0.0 {
        clean_days(&wishes, &plates);
    }
}

/// Hours to `suspect` and to `sure`.
type Pair = (Option<f64>, Option<f64>);

/// Targets: suspected by 14 h, a verdict by 17.5 h (medians).
fn ramp_of_the_articles(plates: &Arc<Plates>) {
    let runs = score::ramp(RAMPS, &|| session(plates));
    let hours = |of: fn(&Pair) -> Option<f64>| {
        let reached: Vec<f64> = runs.iter().filter_map(of).collect();
        let median = score::median(&reached).map_or("-".to_owned(), |h| format!("{h:.1} h"));
        format!("{median} ({} of {})", reached.len(), runs.len())
    };
    println!(
        "250 to 228 W over 36 h: suspect after {}, verdict after {} (medians)\n",
        hours(|r| r.0),
        hours(|r| r.1)
    );
}

/// Target: at most 0.0015 false alarms that count per device-day.
fn clean_days(wishes: &Wishes, plates: &Arc<Plates>) {
    // Machines of four devices for two days each: schedules and parts vary.
    let machines = (wishes.days / 8.0).ceil() as u64;
    let jobs: Vec<u64> = (wishes.first..wishes.first + machines).collect();
    let begun = Instant::now();
    let alarms = score::in_threads(&jobs, |seed| {
        score::false_alarms(clean(*seed, 2.0, wishes.interval), session(plates))
    });
    let days = machines as f64 * 8.0;
    let took = begun.elapsed().as_secs_f64();
    let samples = days * 86_400.0 / wishes.interval;
    println!("{}", score::alarms_text(&alarms, days));
    println!(
        "a tick every {} s: {samples:.0} device-samples in {took:.0} s, {:.2} us each, generator included",
        wishes.interval,
        took * 1e6 / samples
    );
    if wishes.mistakes {
        for alarm in &alarms {
            println!(
                "{} {} {} from {:.0} s for {:.0} s",
                alarm.device,
                alarm.cause.word(),
                alarm.most.word(),
                alarm.from_s,
                alarm.until_s - alarm.from_s
            );
        }
    }
}
