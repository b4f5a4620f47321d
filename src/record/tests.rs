//! Recordings in files: what comes back, what damage costs, who may write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use super::*;
use crate::model::*;
use crate::units::MonoTime;
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const NS: u64 = 1_000_000_000;

pub(super) fn wall(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_772_366_673_000 + ms).unwrap()
}

fn id(n: u32) -> DeviceId {
    DeviceId(format!("GPU-{n}").into())
}

fn process(pid: u32) -> Process {
    Process {
        pid,
        foreign: false,
        name: Ok("python".into()),
        command: Ok("python train.py".into()),
        user: Err(Absent::NoPermission),
        state: Ok('R'),
        started: Ok(wall(-5000)),
        cpu_cores: Ok(0.1 + f64::from(pid)),
        read_bytes_per_s: Ok(0.0),
        write_bytes_per_s: Err(Absent::NoPermission),
        major_faults_per_s: Ok(0.0),
        waiting_threads: Err(Absent::NotReported),
        wait_channel: Ok("io_schedule".into()),
    }
}

fn reading() -> impl Strategy<Value = Reading<f64>> {
    prop_oneof![
        4 => (0..700_000i64).prop_map(|mw| Ok(mw as f64 / 1000.0)),
        2 => any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(Ok),
        1 => Just(Err(Absent::NotSupported)),
        1 => Just(Err(Absent::TimedOut)),
        1 => any::<f64>().prop_filter("a number", |v| !v.is_nan()).prop_map(|v| Err(Absent::Implausible(v))),
    ]
}

fn sample() -> impl Strategy<Value = (u32, Vec<(usize, Reading<f64>)>, i64)> {
    (
        0u32..4,
        vec((0..Metric::COUNT, reading()), 0..30),
        -5_000_000i64..5_000_000,
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0u32..4).prop_map(|n| Change::Silent(id(n), Absent::TimedOut, MonoTime(7))),
        (0u32..4).prop_map(|n| Change::Answers(id(n))),
        (0u32..4).prop_map(|n| Change::Gone(id(n))),
        (0u32..4, 0u32..3).prop_map(|(n, count)| {
            let list = (0..count).map(|pid| DeviceProcess {
                pid,
                memory_bytes: Ok(1e9),
                utilization_ratio: Err(Absent::NotSupported),
                instance: None,
                graphics: false,
            });
            Change::Processes(id(n), Ok(list.collect()))
        }),
        (1u32..4).prop_map(|n| Change::HostProcesses((0..n).map(process).collect())),
        Just(Change::Host(Host::default())),
    ]
}

prop_compose! {
    fn tick()(
        passed_ms in prop_oneof![9 => 900u64..1100, 1 => 3000u64..90_000],
        jump_ms in prop_oneof![12 => Just(0i64), 1 => -3_600_000i64..28_800_000],
        interval_ms in prop_oneof![3 => Just(1000u64), 1 => 100u64..60_000],
        samples in vec(sample(), 0..5),
        host in prop::option::of(vec((0usize..20, reading()), 0..20)),
        changes in vec(change(), 0..3),
        event in prop::option::weighted(0.2, "[a-z ]{0,12}"),
    ) -> (u64, i64, Tick) {
        let samples = samples.into_iter().map(|(n, set, since)| {
            let mut readings = Readings::default();
            set.into_iter().for_each(|(m, r)| readings.set(Metric::ALL[m], r));
            Sample { device: id(n), at: MonoTime(since as u64), readings }
        });
        let host = host.map(|set| {
            let mut host = HostSample { psi_scope: Ok(PsiScope::Host), ..HostSample::default() };
            let names = host.figures().map(|(name, _)| name);
            set.into_iter().for_each(|(slot, r)| *host.figure_mut(names[slot]).unwrap() = r);
            host
        });
        let event = event.map(|text| Event {
            at: wall(1), device: Some(id(0)), kind: EventKind::Mark, text: text.into(), data: vec![("a".into(), "b".into())],
        });
        (passed_ms, jump_ms, Tick {
            seq: 0,
            at: wall(0),
            mono: MonoTime(0),
            interval: Duration::from_millis(interval_ms),
            dropped: passed_ms / 2000,
            samples: samples.collect(),
            host,
            changes,
            events: event.into_iter().collect(),
        })
    }
}

/// Ticks in their time: the wall clock jumps now and then, samples are some milliseconds off their tick.
fn ticks(most: usize) -> impl Strategy<Value = Vec<Tick>> {
    vec(tick(), 1..most).prop_map(|all| {
        let (mut mono, mut at_ms, mut seq) = (1000 * NS, 0_i64, 0);
        all.into_iter()
            .map(|(passed_ms, jump_ms, mut tick)| {
                mono += passed_ms * 1_000_000 + 17;
                at_ms += passed_ms as i64 + jump_ms;
                seq += 1;
                tick.seq = seq;
                tick.mono = MonoTime(mono);
                tick.at = wall(at_ms);
                for sample in &mut tick.samples {
                    sample.at = MonoTime(mono.wrapping_add(sample.at.0));
                }
                tick
            })
            .collect()
    })
}

pub(super) fn plain(count: u64) -> Vec<Tick> {
    (1..=count)
        .map(|n| {
            let mut readings = Readings::default();
            readings.set(Metric::PowerUsage, Ok(300.0 + (n * 37 % 50) as f64 / 10.0));
            readings.set(Metric::Energy, Ok(n as f64 * 300.0));
            Tick {
                seq: n,
                at: wall(n as i64 * 1000),
                mono: MonoTime((1000 + n) * NS),
                interval: Duration::from_secs(1),
                dropped: 0,
                samples: vec![Sample {
                    device: id(0),
                    at: MonoTime((1000 + n) * NS),
                    readings,
                }],
                host: None,
                changes: Vec::new(),
                events: Vec::new(),
            }
        })
        .collect()
}

/// Short portions, so that small files have all there is.
pub(super) fn short() -> Limits {
    Limits {
        seal: Duration::from_secs(10),
        start: Duration::from_secs(30),
        ..Limits::default()
    }
}

pub(super) fn write(writer: &mut Writer, ticks: &[Tick]) {
    for tick in ticks {
        if writer.start_due(tick.mono) {
            writer.start(tick, tick.seq == 1, b"start").unwrap();
        }
        writer.append(tick).unwrap();
    }
}

/// The ticks of a file up to its end or its damage.
pub(super) fn read(path: &Path) -> (Vec<Tick>, Option<RecordError>) {
    let reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut all = Vec::new();
    for record in reader.records(1) {
        match record {
            Ok(Record::Tick(_, tick)) => all.push(*tick),
            Ok(Record::Start(_)) => {}
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn ticks_come_back_as_they_were(ticks in ticks(60), closes in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nmp");
        let mut writer = Writer::open(&path, short()).unwrap();
        write(&mut writer, &ticks);
        if closes {
            writer.close().unwrap();
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "one plain file");
        } else {
            writer.append(&Tick { interval: Duration::from_secs(9), ..ticks[0].clone() }).unwrap();
        }
        let (mut back, error) = read(&path);
        back.truncate(ticks.len());
        prop_assert!(error.is_none());
        prop_assert_eq!(back, ticks);
    }

    #[test]
    fn blocks_of_noise_are_refused(noise in vec(any::<u8>(), 0..400), ticks in ticks(6), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let _ = block::decode(&noise);
        let mut plain = block::unpack(&block::encode(&ticks).unwrap()).unwrap();
        let place = at.index(plain.len());
        plain[place] ^= 1 << bit;
        let _ = block::decode(&block::pack(&plain).unwrap());
    }
}

#[test]
fn a_second_writer_is_refused_with_the_first_ones_pid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut first = Writer::open(&path, short()).unwrap();
    write(&mut first, &plain(3));
    let me = Some(std::process::id());
    match Writer::open(&path, short()) {
        Err(RecordError::Busy { pid, .. }) => assert_eq!(pid, me),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two writers"),
    }
    assert_eq!(Writer::holder(&path), me);
    assert!(Writer::is_held_by(&path, std::process::id()) && !Writer::is_held_by(&path, 1));
    assert_eq!(read(&path).0.len(), 3, "and reading goes on");
    first.close().unwrap();
    assert_eq!(Writer::holder(&path), None);
    Writer::open(&path, short()).unwrap().close().unwrap();
}

#[test]
fn the_file_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut writer = Writer::open(&path, short()).unwrap();
    write(&mut writer, &plain(3));
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

/// What a kill leaves: the files as they are, without anybody who closes them.
pub(super) fn as_killed(from: &Path, to: &Path) {
    for suffix in ["", "-wal"] {
        let name = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            std::path::PathBuf::from(name)
        };
        if name(from).exists() {
            std::fs::copy(name(from), name(to)).unwrap();
        }
    }
}

#[test]
fn a_kill_loses_no_tick_and_the_next_writer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = plain(50);
    let mut writer = Writer::open(&path, short()).unwrap();
    for (n, tick) in all.iter().enumerate() {
        write(&mut writer, std::slice::from_ref(tick));
        let copy = folder.path().join(format!("killed-{n}.nmp"));
        as_killed(&path, &copy);
        let (back, error) = read(&copy);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(back, all[..=n]);
    }
    let copy = folder.path().join("killed-40.nmp");
    let mut next = Writer::open(&copy, short()).unwrap();
    next.start(&all[41], true, b"again").unwrap();
    write(&mut next, &all[41..]);
    next.close().unwrap();
    assert_eq!(read(&copy).0, all);
}

#[test]
fn short_intervals_wait_a_second_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut writer = Writer::open(&path, short()).unwrap();
    for n in 1..=95 {
        let tick = Tick {
            seq: n,
            mono: MonoTime(1000 * NS + n * NS / 10),
            at: wall(n as i64 * 100),
            interval: Duration::from_millis(100),
            ..plain(1).remove(0)
        };
        write(&mut writer, &[tick]);
        let there = read(&path).0.len() as u64;
        assert!(n - there <= 10, "{there} of {n}");
    }
}

#[test]
fn a_damaged_file_opens_up_to_the_damage_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = plain(45);
    let mut writer = Writer::open(&path, short()).unwrap();
    write(&mut writer, &all);
    writer.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let copy = folder.path().join("b.nmp");
    let (mut whole, mut parts, mut nothing) = (0, 0, 0);
    let mut check = |damaged: &[u8], what: &str| {
        std::fs::write(&copy, damaged).unwrap();
        let (back, error) = read(&copy);
        assert_eq!(back, all[..back.len()], "{what}: a prefix");
        match (&error, back.len()) {
            (None, n) => {
                assert_eq!(n, all.len(), "{what}: what is missing is told");
                whole += 1;
            }
            (Some(RecordError::Damaged { after, .. }), n) if n > 0 => {
                assert_eq!(*after, Some(all[n - 1].at), "{what}");
                parts += 1;
            }
            _ => nothing += 1,
        }
    };
    for length in (0..bytes.len()).step_by(301) {
        check(&bytes[..length], &format!("cut at {length}"));
    }
    for place in (0..bytes.len()).step_by(29) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        check(&flipped, &format!("bit flipped in byte {place}"));
    }
    println!(
        "of {} damaged files: {whole} whole, {parts} up to the damage, {nothing} not at all",
        whole + parts + nothing
    );
    assert!(parts > 0);
}

#[test]
fn old_blocks_go_and_what_remains_begins_with_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = plain(400);
    let limits = Limits {
        keep: Duration::from_secs(120),
        ..short()
    };
    let mut writer = Writer::open(&path, limits).unwrap();
    write(&mut writer, &all);
    writer.close().unwrap();
    let (back, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(back, all[all.len() - back.len()..]);
    assert!((120..=180).contains(&back.len()), "{}", back.len());
    let reader = Reader::open(&path).unwrap();
    let start = reader.start_before(reader.first()).unwrap().unwrap();
    assert_eq!(
        (start.n, start.body.as_slice()),
        (reader.first(), &b"start"[..])
    );
    let small = Limits {
        bytes: 1,
        ..short()
    };
    let mut writer = Writer::open(&path, small).unwrap();
    writer.start(&all[0], true, b"again").unwrap();
    writer.append(&all[0]).unwrap();
    writer.close().unwrap();
    assert_eq!(read(&path).0, all[..1]);
}

#[test]
fn a_time_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = plain(45);
    let mut writer = Writer::open(&path, short()).unwrap();
    write(&mut writer, &all);
    let reader = Reader::open(&path).unwrap();
    for (at, n) in [
        (wall(0), 1),
        (wall(17_000), 17),
        (wall(16_500), 17),
        (wall(44_999), 45),
        (wall(99_000), 46),
    ] {
        assert_eq!(reader.seek(at).unwrap(), n);
    }
    assert_eq!(reader.newest().unwrap(), Some(all[44].at));
    assert_eq!(reader.start_before(29).unwrap().unwrap().n, 1);
    assert_eq!(reader.start_before(40).unwrap().unwrap().n, 31);
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    for text in [
        "not a recording, but long enough to be read as one by somebody",
        "",
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(
            Reader::open(&path),
            Err(RecordError::NotARecording { .. })
        ));
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Reader::open(&path), Err(RecordError::Open { .. })));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE t (x); CREATE TABLE u (x)")
        .unwrap();
    assert!(matches!(
        Reader::open(&path),
        Err(RecordError::NotARecording { .. })
    ));
    assert!(matches!(
        Writer::open(&path, short()),
        Err(RecordError::NotARecording { .. })
    ));
    drop(db);
    std::fs::remove_file(&path).unwrap();
    Writer::open(&path, short()).unwrap().close().unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let newer = Reader::open(&path).err().unwrap();
    assert!(
        matches!(newer, RecordError::TooNew { found: 99, .. }),
        "{newer}"
    );
}

#[test]
fn devices_and_events_are_plain_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let mut tick = plain(1).remove(0);
    tick.events.push(Event {
        at: tick.at,
        device: Some(id(0)),
        kind: EventKind::Mark,
        text: "here".into(),
        data: Vec::new(),
    });
    tick.changes.push(Change::Device(Arc::new(Device {
        id: id(0),
        index: 3,
        vendor: Vendor::Nvidia,
        name: "Card".into(),
        uuid: Err(Absent::NotReported),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Err(Absent::NotReported),
        board: BoardId("b".into()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    })));
    let mut writer = Writer::open(&path, short()).unwrap();
    write(&mut writer, &[tick]);
    let db = rusqlite::Connection::open(&path).unwrap();
    let text = |query: &str| {
        db.query_row(query, [], |row| row.get::<_, String>(0))
            .unwrap()
    };
    assert_eq!(
        text("SELECT kind || ' ' || text || ' ' || device FROM events"),
        "mark here GPU-0"
    );
    assert_eq!(
        text("SELECT device_index || ' ' || name FROM devices"),
        "3 Card"
    );
}

#[test]
fn a_full_disk_is_told_and_the_file_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmp");
    let all = plain(200);
    let mut writer = Writer::open(&path, Limits::default()).unwrap();
    write(&mut writer, &all[..30]);
    // SQLite answers as on a full disk. It never goes below what the file has.
    let room = |writer: &Writer, pages: i64| {
        let db = &writer.db;
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
    };
    room(&writer, 1);
    let (kept, lost): (Vec<&Tick>, Vec<&Tick>) = all[30..150].iter().partition(|tick| match writer
        .append(tick)
    {
        Err(RecordError::Full { .. }) => false,
        other => {
            other.unwrap();
            true
        }
    });
    assert!(!lost.is_empty());
    room(&writer, 1 << 30);
    writer.start(&all[150], true, b"fresh").unwrap();
    write(&mut writer, &all[150..]);
    assert_eq!(writer.ticks(), 30 + kept.len() as u64 + 50);
    writer.close().unwrap();
    let expected: Vec<Tick> = all[..30]
        .iter()
        .chain(kept)
        .chain(&all[150..])
        .cloned()
        .collect();
    let (back, error) = read(&path);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(back, expected);
    let reader = Reader::open(&path).unwrap();
    let fresh = reader.start_before(i64::MAX).unwrap().unwrap();
    assert_eq!(
        (fresh.fresh, fresh.body.as_slice(), fresh.at),
        (true, &b"fresh"[..], all[150].at)
    );
}
