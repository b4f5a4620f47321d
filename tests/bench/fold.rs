//! What the parts cost, without a terminal or a driver: ticks of the simulation, folded, drawn, sent and written out.
//!
//! ```text
//! cargo bench --bench fold                                    nanoseconds, median of batches
//! cargo bench --bench fold -- --only 'draw 64' --rounds 200   one part so often, for a counter of instructions:
//! valgrind --tool=callgrind target/release/deps/fold-HASH --only 'draw 64' --rounds 200
//! ```
//!
//! A harness of our own, as a median of batches is all that is needed: wall times decide nothing here.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(missing_docs, reason = "a program")]

use nameplate::app::App;
use nameplate::cli::CatalogueWords;
use nameplate::model::{
    BoardId, Change, Config, Device, DeviceId, Plates, Sample, Snapshot, SourceKind, Tick,
};
use nameplate::probe::vendors::worth_starting;
use nameplate::probe::wire::{Reply, receive, send};
use nameplate::publish::snapshot_json;
use nameplate::session::{Session, Start};
use nameplate::simulate::Simulation;
use nameplate::text::{Catalogue, Lang};
use nameplate::ui::glyphs::Charset;
use nameplate::ui::terminal::Lean;
use nameplate::ui::theme::{Depth, Theme};
use nameplate::ui::{Look, views};
use ratatui::layout::Size;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ticks before the measured ones: charts are full, rates exist.
const WARM: usize = 1000;
/// Measured rounds, and into how many batches they are cut.
const ROUNDS: usize = 500;
const BATCHES: usize = 10;
const SIZE: Size = Size {
    width: 200,
    height: 50,
};

fn main() {
    let mut only = None;
    let mut rounds = ROUNDS;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--only" => only = arguments.next(),
            "--rounds" => {
                rounds = arguments
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("--rounds N")
            }
            // What cargo adds.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    println!(
        "{:<28} {:>12} {:>12}  also",
        "part", "median ns", "worst batch"
    );
    if only.is_none() {
        which_probes();
    }
    for copies in [1, 8] {
        let ticks = ticks(copies, WARM + rounds);
        let devices = copies * 8;
        let part = |name: &str, run: &dyn Fn(&str)| {
            let name = format!("{name} {devices}");
            if only
                .as_ref()
                .is_none_or(|only| name.contains(only.as_str()))
            {
                run(&name);
            }
        };
        part("fold", &|name| fold(name, &ticks));
        part("snapshot", &|name| snapshot(name, &ticks));
        part("json", &|name| json(name, &ticks));
        part("wire", &|name| wire(name, &ticks));
        part("draw", &|name| draw(name, &ticks));
    }
}

/// What start-up pays for vendors that are not there: their traces are looked for (at most 5 ms more than NVIDIA alone).
fn which_probes() {
    let path = std::env::var_os("LD_LIBRARY_PATH");
    let root = std::path::Path::new("/");
    let mut times: Vec<u128> = (0..50)
        .map(|_| {
            let begun = Instant::now();
            black_box(worth_starting(root, path.as_ref(), |_| false));
            begun.elapsed().as_nanos()
        })
        .collect();
    let first = times[0];
    times.sort_unstable();
    println!(
        "{:<28} {:>12} {:>12}  first {first}",
        "which probes", times[25], times[49]
    );
}

/// Runs `act` once for each measured tick and prints what a round took.
fn time(name: &str, rounds: usize, mut act: impl FnMut(usize), also: impl FnOnce() -> String) {
    let batch = (rounds / BATCHES).max(1);
    let mut batches = Vec::new();
    let mut round = 0;
    while round < rounds {
        let begun = Instant::now();
        let end = (round + batch).min(rounds);
        for index in round..end {
            act(index);
        }
        batches.push(begun.elapsed().as_nanos() / (end - round) as u128);
        round = end;
    }
    batches.sort_unstable();
    let (median, worst) = (batches[batches.len() / 2], batches[batches.len() - 1]);
    println!("{name:<28} {median:>12} {worst:>12}  {}", also());
}

fn fold(name: &str, ticks: &[Tick]) {
    let mut session = warm(ticks);
    time(
        name,
        ticks.len() - WARM,
        |index| session.fold(black_box(&ticks[WARM + index])),
        String::new,
    );
}

fn snapshot(name: &str, ticks: &[Tick]) {
    let session = warm(ticks);
    time(
        name,
        ticks.len() - WARM,
        |_| drop(black_box(session.snapshot())),
        String::new,
    );
}

fn json(name: &str, ticks: &[Tick]) {
    let snapshot: Snapshot = warm(ticks).snapshot().expect("ticks give a snapshot");
    let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
    let length = snapshot_json(&snapshot, "stream", &words).to_string().len();
    let act = |_| {
        drop(black_box(
            snapshot_json(&snapshot, "stream", &words).to_string(),
        ))
    };
    time(name, ticks.len() - WARM, act, || format!("{length} bytes"));
}

fn wire(name: &str, ticks: &[Tick]) {
    let replies: Vec<Reply> = ticks[WARM..]
        .iter()
        .map(|tick| Reply {
            seq: tick.seq,
            samples: tick.samples.clone(),
            ..Reply::default()
        })
        .collect();
    let (mut frame, mut body) = (Vec::new(), Vec::new());
    let act = |index: usize| {
        frame.clear();
        send(&mut frame, black_box(&replies[index])).expect("a reply is sent");
        let reply: Reply = receive(&mut frame.as_slice(), &mut body).expect("and read");
        black_box(reply);
    };
    time(name, replies.len(), act, String::new);
    let mut frame = Vec::new();
    send(&mut frame, &replies[0]).expect("a reply is sent");
    println!(
        "{:<28} {:>12} {:>12}  {} bytes a frame",
        "",
        "",
        "",
        frame.len()
    );
}

/// Fold, picture and one frame of the overview down to the bytes for the terminal.
fn draw(name: &str, ticks: &[Tick]) {
    let mut app = App::new(
        Session::new(Start::new(Config::default()), plates(), kind()),
        SECOND,
        HISTORY,
    );
    let look = Look {
        theme: Theme::fallback(Depth::Truecolor),
        charset: Charset::Unicode,
        text: Catalogue::new(Lang::En),
        zone: jiff::tz::TimeZone::UTC,
    };
    let mut lean = Lean::new(std::io::sink(), SIZE);
    for tick in &ticks[..WARM] {
        app.fold(tick);
    }
    let mut frame = |app: &mut App| {
        lean.draw(|frame| views::draw(app, &look, frame.area, frame))
            .expect("a frame");
        (lean.bytes_written(), lean.writes())
    };
    app.refresh();
    let before = frame(&mut app);
    let mut after = before;
    let rounds = ticks.len() - WARM;
    let act = |index: usize| {
        app.fold(&ticks[WARM + index]);
        app.refresh();
        after = frame(&mut app);
    };
    time(name, rounds, act, String::new);
    let (bytes, writes) = (after.0 - before.0, after.1 - before.1);
    let per = |total: u64| total as f64 / rounds as f64;
    println!(
        "{:<28} {:>12} {:>12}  {:.0} bytes, {:.2} writes a frame",
        "",
        "",
        "",
        per(bytes),
        per(writes)
    );
}

const SECOND: Duration = Duration::from_secs(1);
const HISTORY: Duration = Duration::from_secs(15 * 60);

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().expect("the table is sound"))
}

fn kind() -> SourceKind {
    SourceKind::Demo("healthy".to_owned())
}

fn warm(ticks: &[Tick]) -> Session {
    let mut session = Session::new(Start::new(Config::default()), plates(), kind());
    for tick in &ticks[..WARM] {
        session.fold(tick);
    }
    session
}

/// Ticks of eight simulated devices, each there `copies` times.
fn ticks(copies: usize, count: usize) -> Vec<Tick> {
    let mut simulation = Simulation::case("healthy", 1).expect("the case exists");
    (0..count)
        .map(|_| widened(simulation.tick(), copies))
        .collect()
}

fn widened(mut tick: Tick, copies: usize) -> Tick {
    let samples = std::mem::take(&mut tick.samples);
    let changes = std::mem::take(&mut tick.changes);
    for copy in 0..copies {
        tick.samples.extend(samples.iter().map(|s| Sample {
            device: named(&s.device, copy),
            ..s.clone()
        }));
        tick.changes
            .extend(changes.iter().filter_map(|change| copied(change, copy)));
    }
    tick
}

fn named(id: &DeviceId, copy: usize) -> DeviceId {
    DeviceId(format!("{}-{copy}", id.0).into())
}

/// A change for a copy of a device; what is not a device's is there once.
fn copied(change: &Change, copy: usize) -> Option<Change> {
    let copied = match change {
        Change::Device(device) => Change::Device(Arc::new(Device {
            id: named(&device.id, copy),
            index: device.index + 8 * copy as u32,
            board: BoardId(format!("{}-{copy}", device.board.0).into()),
            ..Device::clone(device)
        })),
        Change::Path(id, hops) => Change::Path(named(id, copy), hops.clone()),
        Change::Processes(id, list) => Change::Processes(named(id, copy), list.clone()),
        Change::Silent(id, why, since) => Change::Silent(named(id, copy), *why, *since),
        Change::Answers(id) => Change::Answers(named(id, copy)),
        Change::Gone(id) => Change::Gone(named(id, copy)),
        other if copy == 0 => other.clone(),
        _ => return None,
    };
    Some(copied)
}
