//! Another process records this host: its file is read, and the driver is asked nothing.

use super::super::past::{past, read_with};
use super::{Outlet, Plan};
use crate::app::{News, Recording};
use crate::model::{Config, Control};
use crate::probe::boot_now;
use crate::record::{Follower, Mark, Marks, Record, RecordError, Writer};
use crate::session::{Session, Start};
use crate::units::MonoTime;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// A recorder's ticks are in its file within this time.
const FLUSH: Duration = Duration::from_secs(1);
/// After a tick was due it is looked for this much later: it is read, folded and written first.
const WRITTEN_AFTER: Duration = Duration::from_millis(60);
/// A tick that is late is looked for again after so long, at first.
const LOOK_AGAIN: Duration = Duration::from_millis(60);
/// More ticks than these are not sent one by one: the session is folded anew, and handed over.
const MOST_AT_ONCE: u64 = 600;
/// A recorder may leave the file alone for so long without having ended: a hand-over.
const HANDOVER: Duration = Duration::from_secs(3);
/// A recorder that holds the file and writes nothing for this many intervals, and for this time, is not waited for.
const SILENT_INTERVALS: f64 = 10.0;
const SILENT: Duration = Duration::from_secs(15);

/// A file that its recorder is just making is tried again after so long, so many times.
const MAKING: (Duration, u32) = (Duration::from_millis(50), 20);

/// Why nobody is followed.
pub(in crate::cli) enum NotFollowed {
    /// Nobody records.
    Nobody,
    /// Process and reason: its file cannot be read.
    Unreadable(u32, String),
    /// This process records another library's devices.
    OtherDevices(u32),
}

/// Why following ended.
pub(super) enum End {
    /// Nobody wants more.
    Stop,
    /// The recorder of this number has left the file.
    Left(u32),
    /// It holds the file, and writes nothing since so many seconds.
    Silent(u32, f64),
}

/// A recorder that is followed.
pub(in crate::cli) struct Following {
    follower: Follower,
    path: PathBuf,
    marks: Marks,
    config: Config,
    pid: u32,
    newest: Option<(MonoTime, Duration)>,
    due: MonoTime,
    again: Duration,
    /// Since when nobody holds the file.
    free_since: Option<MonoTime>,
    began: MonoTime,
    /// The session up to the newest tick, until it is handed over.
    session: Option<Session>,
}

impl Following {
    /// Takes up with a recorder that runs.
    ///
    /// # Errors
    /// There is none, or its file is not one to be read here.
    pub(in crate::cli) fn open(plan: &Plan) -> Result<Self, NotFollowed> {
        for _ in 0..MAKING.1 {
            match Self::try_open(plan) {
                Err(NotFollowed::Unreadable(..)) => std::thread::sleep(MAKING.0),
                settled => return settled,
            }
        }
        Self::try_open(plan)
    }

    fn try_open(plan: &Plan) -> Result<Self, NotFollowed> {
        let path = plan.file.as_ref().map_err(|_| NotFollowed::Nobody)?;
        let pid = Writer::holder(path).ok_or(NotFollowed::Nobody)?;
        let unreadable = |error: RecordError| NotFollowed::Unreadable(pid, error.to_string());
        let mut follower = Follower::open(path).map_err(unreadable)?;
        let past = past(&mut follower, plan.history, &plan.plates).map_err(unreadable)?;
        let now = boot_now();
        let mut following = Self {
            follower,
            marks: Marks::beside(path),
            path: path.clone(),
            config: plan.config.clone(),
            pid,
            newest: None,
            due: now,
            again: LOOK_AGAIN,
            free_since: None,
            began: now,
            session: None,
        };
        if let Some(past) = past {
            let probes = past.session.probes();
            if !probes.is_empty() && !probes.iter().any(|p| *p.library == *plan.library) {
                return Err(NotFollowed::OtherDevices(pid));
            }
            let mut session = past.session;
            session.configure(read_with(&plan.config, session.config()));
            following.session = Some(session);
            following.saw(past.mono, past.interval);
        }
        Ok(following)
    }

    /// The recorder's process.
    pub(in crate::cli) const fn pid(&self) -> u32 {
        self.pid
    }

    /// How often it reads the devices, once that is known.
    pub(in crate::cli) fn interval(&self) -> Option<Duration> {
        self.newest.map(|(_, interval)| interval)
    }

    /// The session up to the newest tick, once.
    pub(in crate::cli) fn take_session(&mut self) -> Option<Session> {
        self.session.take()
    }

    /// Seconds that its newest tick is old.
    pub(in crate::cli) fn age_s(&self) -> f64 {
        let since = self.newest.map_or(self.began, |(mono, _)| mono);
        boot_now().seconds_since(since).max(0.0)
    }

    /// Whether its newest tick is one that a living recorder would have.
    pub(in crate::cli) fn is_fresh(&self) -> bool {
        let interval = self
            .interval()
            .map_or(1.0, |interval| interval.as_secs_f64());
        self.newest.is_some() && self.age_s() <= 3.0 * interval + FLUSH.as_secs_f64()
    }

    /// Tells what it says, until it ends or nobody wants more.
    pub(super) fn run(&mut self, orders: &Receiver<Control>, outlet: &Outlet, plan: &Plan) -> End {
        let mut first = vec![News::Recording(Recording::Other(self.pid))];
        if let Some(session) = self.take_session() {
            first.push(News::Session(Box::new(session)));
            first.push(News::Behind(self.age_s()));
        }
        if let (Some(asked), Some(interval)) = (plan.asked, self.interval())
            && asked != interval
        {
            let seconds = interval.as_secs_f64();
            first.push(News::Notice(
                plan.text
                    .chrome_recorder_interval(self.pid, seconds)
                    .into_owned(),
            ));
        }
        if !outlet(News::All(first)) {
            return End::Stop;
        }
        loop {
            match orders.recv_timeout(self.left()) {
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return End::Stop,
                Ok(Control::Mark(text)) => {
                    if let Err(error) = self.leave(text) {
                        let text = plan.text.chrome_mark_failed(error);
                        outlet(News::Notice(text.into_owned()));
                    }
                }
                // Only the recorder can change its pace.
                Ok(Control::Interval(_) | Control::Speed(_)) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let news = self.look(plan);
                    if !news.is_empty() && !outlet(News::All(news)) {
                        return End::Stop;
                    }
                    if let Some(end) = self.ended() {
                        return end;
                    }
                }
            }
        }
    }

    /// Time until the file is to be looked at.
    pub(in crate::cli) fn left(&self) -> Duration {
        Duration::from_nanos(self.due.0.saturating_sub(boot_now().0))
    }

    /// What has come since the last look.
    pub(in crate::cli) fn look(&mut self, plan: &Plan) -> Vec<News> {
        let mut news = self.read(plan).unwrap_or_default();
        let now = boot_now();
        if news.is_empty() {
            self.due = now.plus(self.again);
            let slowest = self.interval().unwrap_or(FLUSH).clamp(LOOK_AGAIN, FLUSH);
            self.again = (self.again * 2).min(slowest);
            // Where nothing comes, the age of what is there is all that changes.
            if self.is_late(now) {
                news.push(News::Behind(self.age_s()));
            }
        } else {
            self.again = LOOK_AGAIN;
            self.free_since = None;
            news.push(News::Behind(self.age_s()));
        }
        news
    }

    fn is_late(&self, now: MonoTime) -> bool {
        self.newest.is_some_and(|(mono, interval)| {
            now.seconds_since(mono) > (2 * interval + FLUSH).as_secs_f64()
        })
    }

    fn read(&mut self, plan: &Plan) -> Result<Vec<News>, RecordError> {
        if self.follower.waiting()? > MOST_AT_ONCE {
            return self.anew(plan);
        }
        let most = usize::try_from(MOST_AT_ONCE).unwrap_or(usize::MAX);
        let mut news = Vec::new();
        for record in self.follower.read(most)? {
            match record {
                Record::Tick(_, tick) => {
                    self.saw(tick.mono, tick.interval);
                    news.push(News::Tick(*tick));
                }
                Record::Start(start) if start.fresh => {
                    let Ok(mut start) = postcard::from_bytes::<Start>(&start.body) else {
                        continue;
                    };
                    start.config = read_with(&self.config, &start.config);
                    news.push(News::Start(Box::new(start)));
                    // Another recorder may have gone on with the file.
                    if let Some(pid) = Writer::holder(&self.path).filter(|pid| *pid != self.pid) {
                        self.pid = pid;
                        news.push(News::Recording(Recording::Other(pid)));
                    }
                }
                Record::Start(_) => {}
            }
        }
        Ok(news)
    }

    /// Begins again from what the file has: too much has come, or it is another one.
    fn anew(&mut self, plan: &Plan) -> Result<Vec<News>, RecordError> {
        self.follower = Follower::open(&self.path)?;
        let Some(past) = past(&mut self.follower, plan.history, &plan.plates)? else {
            return Ok(Vec::new());
        };
        self.saw(past.mono, past.interval);
        let mut session = past.session;
        session.configure(read_with(&self.config, session.config()));
        Ok(vec![News::Session(Box::new(session))])
    }

    /// Whether the recorder has ended, or does not answer.
    fn ended(&mut self) -> Option<End> {
        let now = boot_now();
        let (mono, interval) = self.newest.unwrap_or((self.began, FLUSH));
        let late = now.seconds_since(mono);
        if late <= (2 * interval).as_secs_f64() {
            return None;
        }
        match Writer::holder(&self.path) {
            Some(pid) => {
                self.free_since = None;
                if self.follower.is_replaced()
                    && let Ok(follower) = Follower::open(&self.path)
                {
                    self.follower = follower;
                }
                let silent = (SILENT_INTERVALS * interval.as_secs_f64()).max(SILENT.as_secs_f64());
                (late > silent).then_some(End::Silent(pid, late))
            }
            None => {
                let since = *self.free_since.get_or_insert(now);
                (now.seconds_since(since) >= HANDOVER.as_secs_f64()).then_some(End::Left(self.pid))
            }
        }
    }

    fn saw(&mut self, mono: MonoTime, interval: Duration) {
        self.newest = Some((mono, interval));
        // Short intervals are written some ticks at a time.
        let written = written_every(interval);
        self.due = mono.plus(written).plus(WRITTEN_AFTER);
        let soonest = boot_now().plus(LOOK_AGAIN);
        self.due = self.due.max(soonest);
    }

    fn leave(&self, text: String) -> std::io::Result<()> {
        let at = jiff::Timestamp::now();
        self.marks.leave(&Mark { at, text })
    }
}

/// How far apart the writer's flushes are: the first tick after a second less half an interval.
fn written_every(interval: Duration) -> Duration {
    let due = (FLUSH.as_secs_f64() - interval.as_secs_f64() / 2.0).max(0.0);
    let ticks = (due / interval.as_secs_f64().max(0.001)).ceil().max(1.0);
    interval.mul_f64(ticks)
}
