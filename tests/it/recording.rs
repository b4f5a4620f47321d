//! Recordings and sessions together: the same ticks give the same session, over a file and over a kill; and what a
//! sample costs on disk.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use jiff::Timestamp;
use nameplate::model::*;
use nameplate::record::{Limits, Reader, Record, Writer};
use nameplate::session::{Session, Start};
use nameplate::simulate::{Simulation, cases};
use rust_decimal::Decimal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn began() -> Timestamp {
    "2026-03-01T08:00:00Z".parse().unwrap()
}

fn simulation(case: &str) -> Simulation {
    Simulation::case(case, 7).unwrap().beginning_at(began())
}

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

fn config() -> Config {
    Config {
        price: Some(Price {
            per_hour: Decimal::new(299, 2),
            scope: PriceScope::Device,
            source: PriceSource::Flag,
        }),
        ..Config::default()
    }
}

fn bytes(start: &Start) -> Vec<u8> {
    postcard::to_allocvec(start).unwrap()
}

/// Records as the program does: a Start where one is due, then the tick.
fn record(writer: &mut Writer, session: &mut Session, tick: &Tick) {
    if writer.start_due(tick.mono) {
        writer.start(tick, false, &bytes(&session.start())).unwrap();
    }
    session.fold(tick);
    writer.append(tick).unwrap();
    writer.gather(tick, &session.minute_points()).unwrap();
}

/// The session that a file gives, from its first Start on.
fn replayed(path: &Path, from: i64) -> (Session, usize) {
    let reader = Reader::open(path).unwrap();
    let first = reader.start_before(from).unwrap().unwrap();
    let start = postcard::from_bytes(&first.body).unwrap();
    let mut session = Session::new(start, plates(), SourceKind::Live);
    let mut count = 0;
    for record in reader.records(first.n) {
        if let Record::Tick(_, tick) = record.unwrap() {
            session.fold(&tick);
            count += 1;
        }
    }
    (session, count)
}

fn said(session: &Session) -> (Vec<u8>, String) {
    (bytes(&session.start()), format!("{:?}", session.snapshot()))
}

#[test]
fn a_recording_gives_the_same_session_as_live_did() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        seal: Duration::from_secs(1800),
        start: Duration::from_secs(3600),
        ..Limits::default()
    };
    for case in cases() {
        let path = folder.path().join(format!("{}.nmp", case.name));
        let mut source = simulation(case.name);
        let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
        // The recording begins in the middle: its Start holds something.
        (0..20).for_each(|_| session.fold(&source.tick()));
        let mut writer = Writer::open(&path, limits).unwrap();
        for n in 1..=240 {
            record(&mut writer, &mut session, &source.tick());
            if n % 83 == 0 {
                // A kill: the files as they are.
                let copy = folder.path().join("killed.nmp");
                std::fs::copy(&path, &copy).unwrap();
                let wal = |path: &Path| format!("{}-wal", path.display());
                std::fs::copy(wal(&path), wal(&copy)).unwrap();
                let (back, count) = replayed(&copy, 1);
                assert_eq!(count, n, "{}", case.name);
                assert_eq!(said(&back), said(&session), "{} at {n}", case.name);
                let _ = std::fs::remove_file(format!("{}-shm", copy.display()));
            }
        }
        writer.close().unwrap();
        let (whole, count) = replayed(&path, 1);
        assert_eq!(count, 240);
        assert_eq!(said(&whole), said(&session), "{}", case.name);
        let (middle, count) = replayed(&path, 240);
        assert!(count < 240, "{}: a later Start", case.name);
        assert_eq!(
            said(&middle),
            said(&session),
            "{} from the middle",
            case.name
        );
    }
}

/// What an A100 has no counter for.
const NOT_ON_A100: [Metric; 13] = [
    Metric::PowerAverage,
    Metric::PowerInstant,
    Metric::SmActive,
    Metric::SmOccupancy,
    Metric::TensorActive,
    Metric::DramActive,
    Metric::GpmPcieRx,
    Metric::GpmPcieTx,
    Metric::GpmNvlinkRx,
    Metric::GpmNvlinkTx,
    Metric::Margin,
    Metric::MarginShutdown,
    Metric::MarginSlowdown,
];

/// Bytes at rest for each device and sample: eight devices at work for 65 minutes, all tables and indexes included.
fn bytes_per_device_sample(gpm: bool) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut source = simulation("healthy");
    let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
    let mut writer = Writer::open(&path, Limits::default()).unwrap();
    let (mut recorded, mut samples) = (0_u64, 0);
    while recorded < 3900 {
        let mut tick = source.tick();
        if !gpm {
            for sample in &mut tick.samples {
                for metric in NOT_ON_A100 {
                    sample.readings.set(metric, Err(Absent::NotSupported));
                }
            }
        }
        // A live source looks at processes every five seconds.
        if !tick.seq.is_multiple_of(5) {
            tick.changes
                .retain(|c| !matches!(c, Change::HostProcesses(_)));
        }
        if tick.interval > Duration::from_secs(1) {
            session.fold(&tick);
            continue;
        }
        recorded += 1;
        samples += tick.samples.len();
        record(&mut writer, &mut session, &tick);
    }
    writer.close().unwrap();
    std::fs::metadata(&path).unwrap().len() as f64 / samples as f64
}

#[test]
fn a_device_sample_is_small_at_rest() {
    let (plain, gpm) = (
        bytes_per_device_sample(false),
        bytes_per_device_sample(true),
    );
    println!("bytes per device-sample: {plain:.1}, with GPM {gpm:.1}");
    assert!(plain <= 40.0, "{plain:.1}");
    assert!(gpm <= 70.0, "{gpm:.1}");
}

#[test]
fn minutes_are_plain_rows_while_the_file_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut source = simulation("forgotten");
    let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
    let mut writer = Writer::open(&path, Limits::default()).unwrap();
    let mut recorded = 0;
    while recorded < 200 {
        let tick = source.tick();
        if tick.interval > Duration::from_secs(1) {
            session.fold(&tick);
        } else {
            recorded += 1;
            record(&mut writer, &mut session, &tick);
        }
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let mut query = db
        .prepare(
            "SELECT at, samples, power_w, power_max_w, compute_s + queue_s + idle_s + unobserved_s + coalesce(io_wait_s, 0), \
             seconds, energy_j FROM minutes ORDER BY device, at",
        )
        .unwrap();
    let rows: Vec<(String, u32, f64, f64, f64, f64, f64)> = query
        .query_map([], |r| {
            Ok((
                r.get(0)?,
                r.get(1)?,
                r.get(2)?,
                r.get(3)?,
                r.get(4)?,
                r.get(5)?,
                r.get(6)?,
            ))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len() % 4, 0, "four devices");
    let full: Vec<_> = rows.iter().filter(|r| r.1 == 60).collect();
    assert!(full.len() >= 8, "{rows:?}");
    for (at, _, power, most, phases, seconds, energy) in full {
        assert!(at.ends_with(":00Z"), "{at}");
        assert!(power <= most && *power > 0.0);
        assert!((phases - 60.0).abs() < 1.1, "{phases}");
        assert!((58.0..=60.0).contains(seconds), "{seconds}");
        assert!(
            (energy / 60.0 - power).abs() < power * 0.1,
            "{energy} {power}"
        );
    }
}

fn golden(version: i64) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/recording-v{version}.nmp"))
}

/// Files of every format that there ever was are read for ever, with the Start in them.
#[test]
fn recordings_of_format_1_are_read() {
    let path = tempfile::tempdir().unwrap().keep().join("a.nmp");
    std::fs::copy(golden(1), &path).unwrap();
    let (session, count) = replayed(&path, 1);
    assert_eq!(count, 150);
    let snapshot = session.snapshot().unwrap();
    assert_eq!(snapshot.devices.len(), 8);
    assert_eq!(snapshot.at.to_string(), "2026-03-01T10:02:30Z");
    let power = snapshot.devices[3].figures.get(Figure::Power).ok();
    assert_eq!(power, Some(595.589));
    let cost = snapshot.cost.unwrap();
    assert_eq!(cost.price_per_hour, Some(Decimal::new(2392, 2)));
    assert_eq!(cost.amount.unwrap().round_dp(2).to_string(), "48.84");
    assert!(matches!(
        Writer::open(&path, Limits::default()).map(Writer::close),
        Ok(Ok(()))
    ));
    let _ = std::fs::remove_dir_all(path.parent().unwrap());
}

/// Makes the file of the present format: `cargo test --test it write_the_golden_recording -- --ignored`.
#[test]
#[ignore = "writes tests/golden"]
fn write_the_golden_recording() {
    let path = golden(nameplate::record::SCHEMA_VERSION);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&path);
    let limits = Limits {
        seal: Duration::from_secs(60),
        ..Limits::default()
    };
    let mut source = simulation("narrow-link");
    let mut session = Session::new(Start::new(config()), plates(), SourceKind::Live);
    let mut writer = Writer::open(&path, limits).unwrap();
    let mut recorded = 0;
    while recorded < 150 {
        let tick = source.tick();
        if tick.interval > Duration::from_secs(1) {
            session.fold(&tick);
        } else {
            recorded += 1;
            record(&mut writer, &mut session, &tick);
        }
    }
    writer.close().unwrap();
}
