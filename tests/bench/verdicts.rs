//! The score of the verdicts, and what they cost.
//!
//! ```text
//! cargo bench --bench verdicts                                the tables, the ramp, 2000 clean device-days
//! cargo bench --bench verdicts -- --cases 10 --days 50        shorter
//! cargo bench --bench verdicts -- --only disk_io --mistakes   one family, and what was said falsely
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
use nameplate::simulate::families::{Family, HELD_BACK, families};
use score::{Table, drawn, mistakes, session};
use std::sync::Arc;
use std::time::Instant;

struct Wishes {
    cases: u64,
    days: f64,
    only: Option<String>,
    mistakes: bool,
}

fn main() {
    let mut wishes = Wishes {
        cases: 60,
        days: 2000.0,
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
        .filter(|f| wishes.only.as_ref().is_none_or(|only| f.name.contains(only)))
        .collect();
    for (title, first) in [("simulated", 0), ("held back", HELD_BACK)] {
        let begun = Instant::now();
        let records = drawn(&wanted, first..first + wishes.cases, &|| session(&plates));
        let took = begun.elapsed().as_secs_f64();
        println!("{}", Table::of(&records).text(&format!("{title} ({took:.0} s)")));
        if wishes.mistakes {
            println!("{}", mistakes(&records));
        }
    }
}
