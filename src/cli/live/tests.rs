//! The conductor with scripted probes, and the reader of another's recording.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::recorder::{Recorder, event};
use super::super::tests::{Script, one_device, tick};
use super::follow::NotFollowed;
use super::*;
use crate::app::Recording;
use crate::model::{EventKind, Metric, PhaseSeconds, Snapshot, SourceKind, Tick};
use crate::probe::boot_now;
use crate::record::{Follower, Mark, Marks, Writer};
use crate::session::{Session, Start};
use crate::text::{Catalogue, Lang};
use std::path::Path;
use std::sync::mpsc::Receiver as Inbox;

fn plates() -> Arc<Plates> {
    Arc::new(Plates::embedded().unwrap())
}

fn plan(path: &Path, ticks: Vec<Tick>) -> Plan {
    Plan {
        probes: Box::new(move || Box::new(Script(ticks.clone()))),
        file: Ok(path.to_owned()),
        record: true,
        config: Config::default(),
        history: Duration::from_secs(900),
        asked: None,
        library: "libnvidia-ml.so.1".to_owned(),
        plates: plates(),
        text: Catalogue::new(Lang::En),
    }
}

/// What a screen would know after all that was told.
struct Heard {
    session: Session,
    recordings: Vec<Recording>,
    notices: Vec<String>,
}

impl Heard {
    fn new() -> Self {
        let start = Start::new(Config::default());
        Self {
            session: Session::new(start, plates(), SourceKind::Live),
            recordings: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Tick(tick) => self.session.fold(&tick),
            News::Session(session) => self.session = *session,
            News::Start(start) => self.session.take_up(*start),
            News::Recording(recording) => self.recordings.push(recording),
            News::Notice(text) => self.notices.push(text),
            News::Behind(_) => {}
            News::All(all) => all.into_iter().for_each(|news| self.hear(news)),
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.session.snapshot().unwrap()
    }

    /// Until the tick of this number was folded.
    fn until(&mut self, inbox: &Inbox<News>, seq: u64) {
        while self.session.snapshot().is_none_or(|s| s.seq < seq) {
            self.hear(inbox.recv_timeout(Duration::from_secs(60)).unwrap());
        }
    }
}

fn watch(plan: Plan) -> (Watching, Inbox<News>) {
    let (sender, inbox) = channel();
    let outlet: Outlet = Arc::new(move |news| sender.send(news).is_ok());
    (Watching::start(plan, outlet).unwrap(), inbox)
}

fn looked(snapshot: &Snapshot) -> f64 {
    let seconds: PhaseSeconds = snapshot.cost.clone().unwrap().phase_seconds;
    seconds.total() - seconds.unobserved
}

/// The ticks of one device, one second apart, from this second on.
fn device_ticks(from: u64, count: u64) -> Vec<Tick> {
    let introduced = one_device();
    let sample = introduced[2].samples[0].clone();
    (0..count)
        .map(|n| {
            let mut tick = tick(from + n, Vec::new(), vec![sample.clone()]);
            tick.samples[0].at = tick.mono;
            tick.samples[0].readings.set(Metric::Utilization, Ok(0.9));
            if n == 0 {
                tick.changes = introduced[1].changes.clone();
            }
            tick.seq = n + 1;
            tick
        })
        .collect()
}

#[test]
fn the_screen_records_by_default_and_a_second_run_goes_on_with_the_meter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/recording.nmp");
    let (watching, inbox) = watch(plan(&path, device_ticks(100, 50)));
    let mut first = Heard::new();
    first.until(&inbox, 50);
    let closed = watching.end(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!((closed.ticks, closed.devices), (50, 1));
    assert_eq!(closed.failure, None);
    assert!(!closed.price_known);
    inbox.iter().for_each(|news| first.hear(news));
    assert_eq!(first.recordings, [Recording::Own]);
    assert_eq!(Writer::holder(&path), None);
    // Ten seconds later.
    let (watching, inbox) = watch(plan(&path, device_ticks(160, 30)));
    let mut second = Heard::new();
    second.until(&inbox, 30);
    watching.end(Duration::from_secs(60)).unwrap().unwrap();
    inbox.iter().for_each(|news| second.hear(news));
    let (before, after) = (looked(&first.snapshot()), looked(&second.snapshot()));
    // The session comes with the tick after it was read: it may come too late for a script.
    let recorded = recorded(&path);
    let whole = looked(&recorded.snapshot().unwrap());
    assert!((whole - before - 29.0).abs() < 0.1, "{before} {whole}");
    assert!(
        after == whole || (after - 29.0).abs() < 0.1,
        "{after} {whole}"
    );
}

fn recorded(path: &Path) -> Session {
    let mut follower = Follower::open(path).unwrap();
    let past = super::super::past::past(&mut follower, Duration::from_secs(900), &plates());
    past.unwrap().unwrap().session
}

#[test]
fn without_recording_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.nmp");
    let mut plan = plan(&path, device_ticks(100, 5));
    plan.record = false;
    let (watching, inbox) = watch(plan);
    let mut heard = Heard::new();
    heard.until(&inbox, 5);
    assert_eq!(watching.end(Duration::from_secs(60)), Ok(None));
    inbox.iter().for_each(|news| heard.hear(news));
    assert_eq!(heard.recordings, [Recording::Nobody]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_screen_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.nmp");
    std::fs::write(
        &path,
        "something else entirely, and long enough to be looked at",
    )
    .unwrap();
    let (watching, inbox) = watch(plan(&path, device_ticks(100, 5)));
    let mut heard = Heard::new();
    heard.until(&inbox, 5);
    while heard.recordings.is_empty() {
        heard.hear(inbox.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    assert_eq!(watching.end(Duration::from_secs(60)), Ok(None));
    let [Recording::Failed(why)] = &heard.recordings[..] else {
        panic!("{:?}", heard.recordings);
    };
    assert!(why.contains("is not a recording"), "{why}");
}

/// Ticks of now, as a living recorder has them.
fn current(count: u64) -> Vec<Tick> {
    let now = boot_now().0 / 1_000_000_000 - count + 1;
    let wall = jiff::Timestamp::now();
    let mut ticks = device_ticks(now, count);
    for (n, tick) in ticks.iter_mut().enumerate() {
        let ago = i64::try_from(count).unwrap() - n as i64;
        tick.at = wall - jiff::SignedDuration::from_secs(ago);
    }
    ticks
}

#[test]
fn another_recorder_is_followed_from_its_start_on_and_takes_up_notes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.nmp");
    let asked = || -> Box<dyn Feed> { panic!("the driver was asked twice") };
    let mut plan = plan(&path, Vec::new());
    plan.probes = Box::new(asked);
    let refused = Following::open(&plan).err();
    assert!(matches!(refused, Some(NotFollowed::Nobody)));
    let mut recorder = Recorder::open(&path, Config::default()).unwrap();
    let ticks = current(200);
    for tick in &ticks[..150] {
        recorder.take(tick.clone()).unwrap();
    }
    let mut following = Following::open(&plan).ok().unwrap();
    assert_eq!(following.pid(), std::process::id());
    assert_eq!(following.interval(), Some(Duration::from_secs(1)));
    let mut heard = Heard::new();
    heard.session = following.take_session().unwrap();
    let same = |heard: &Heard, recorder: &mut Recorder| {
        let (ours, theirs) = (heard.snapshot(), recorder.session().snapshot().unwrap());
        assert_eq!(
            format!("{:?}", ours.devices),
            format!("{:?}", theirs.devices)
        );
        assert_eq!(format!("{:?}", ours.cost), format!("{:?}", theirs.cost));
    };
    same(&heard, &mut recorder);
    let id = heard.snapshot().devices[0].device.id.clone();
    assert_eq!(
        heard.session.series(&id).map(crate::session::Series::len),
        Some(150)
    );
    // A note on its way to the recorder, and back with what it writes.
    let mark = Mark {
        at: jiff::Timestamp::now(),
        text: "loss rose".to_owned(),
    };
    Marks::beside(&path).leave(&mark).unwrap();
    let mut told = recorder.marks();
    assert_eq!(told.len(), 1);
    assert!(recorder.marks().is_empty(), "once");
    for tick in &ticks[150..] {
        let mut tick = tick.clone();
        tick.events.append(&mut told);
        recorder.take(tick).unwrap();
    }
    assert!(
        Marks::beside(&path).waiting().is_empty(),
        "it is in the file"
    );
    let news = following.look(&plan);
    assert_eq!(news.len(), 51, "50 ticks and how old they are");
    news.into_iter().for_each(|news| heard.hear(news));
    same(&heard, &mut recorder);
    assert!(following.is_fresh(), "{}", following.age_s());
    let events = heard.snapshot().events;
    let noted = events.iter().find(|e| e.kind == EventKind::Mark).unwrap();
    assert_eq!((&*noted.text, noted.at), ("loss rose", mark.at));
    assert!(following.look(&plan).is_empty());
    // Another library's devices are others.
    plan.library = "/opt/other.so".to_owned();
    let refused = Following::open(&plan).err();
    assert!(matches!(refused, Some(NotFollowed::OtherDevices(_))));
}

#[test]
fn a_note_whose_file_outlived_a_kill_is_taken_up_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.nmp");
    let mark = Mark {
        at: "2026-03-01T12:00:00Z".parse().unwrap(),
        text: "here".to_owned(),
    };
    let marks = Marks::beside(&path);
    marks.leave(&mark).unwrap();
    let mut recorder = Recorder::open(&path, Config::default()).unwrap();
    let mut told = recorder.marks();
    for mut tick in device_ticks(100, 3) {
        tick.events.append(&mut told);
        recorder.take(tick).unwrap();
    }
    recorder.close().unwrap();
    marks.leave(&mark).unwrap();
    let mut recorder = Recorder::open(&path, Config::default()).unwrap();
    for tick in device_ticks(110, 3) {
        recorder.take(tick).unwrap();
        assert!(recorder.marks().is_empty());
    }
    assert!(marks.waiting().is_empty());
}

#[test]
fn a_damaged_recording_is_set_aside_and_another_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.nmp");
    let mut recorder = Recorder::open(&path, Config::default()).unwrap();
    for tick in device_ticks(100, 30) {
        recorder.take(tick).unwrap();
    }
    recorder.close().unwrap();
    // All but the first page, where what the file is stands.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    // A file that was named is left to whoever named it.
    let refused = Recorder::open(&path, Config::default()).err().unwrap();
    assert!(refused.to_string().contains("next: "), "{refused}");
    assert!(path.exists());
    let mut recorder = Recorder::open_own(&path, Config::default()).unwrap();
    let warning = recorder.aside_warning().unwrap();
    assert!(warning.contains("recording-damaged-2"), "{warning}");
    for tick in device_ticks(200, 3) {
        recorder.take(tick).unwrap();
    }
    recorder.close().unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 2, "the damaged one and the new one");
    let again = Recorder::open_own(&path, Config::default()).unwrap();
    assert_eq!(again.aside_warning(), None);
}

#[test]
fn an_own_price_holds_and_else_the_recorders() {
    let theirs = Config {
        price: Some(crate::model::Price {
            per_hour: rust_decimal::Decimal::new(299, 2),
            scope: crate::model::PriceScope::Instance,
            source: crate::model::PriceSource::Flag,
        }),
        currency: "EUR".parse().unwrap(),
        ..Config::default()
    };
    let read = super::super::past::read_with;
    let taken = read(&Config::default(), &theirs);
    assert_eq!(
        (&taken.price, &taken.currency),
        (&theirs.price, &theirs.currency)
    );
    let price = theirs.price.clone().map(|price| crate::model::Price {
        per_hour: rust_decimal::Decimal::ONE,
        ..price
    });
    let own = Config {
        price,
        ..Config::default()
    };
    let kept = read(&own, &theirs);
    assert_eq!((&kept.price, &kept.currency), (&own.price, &own.currency));
}

#[test]
fn what_the_recording_says_of_itself_is_in_the_next_tick() {
    let at = "2026-03-01T12:00:00Z".parse().unwrap();
    let said = super::super::recorder::Turn::Paused("no space".to_owned()).event(at);
    assert_eq!(said, event(at, "The recording pauses: no space"));
    assert_eq!(said.kind, EventKind::Recording);
}
