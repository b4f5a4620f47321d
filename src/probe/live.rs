//! The live source: polls all probes and the host once an interval and yields a tick.

use super::clock::boot_now;
use super::host_source::HostSource;
use super::host_worker::{HostNews, HostWorker};
use super::seen;
use super::supervise::{Deliver, Gathered, News, ProbeSpec, Supervisor};
use crate::model::{
    Change, Control, DeviceId, DeviceProcess, Event, EventKind, Feed, FeedHandle, HostSample,
    Metric, Sample, Sink, Tick, Vendor,
};
use crate::units::MonoTime;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Shortest and longest interval (contract.md section 1).
const INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
/// The first tick waits this long for all probes to open their libraries.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The tick before it, for the first frame, waits this long for the host.
const EARLY_WAIT: Duration = Duration::from_millis(50);
/// How often the host is asked about the processes on devices.
const PROCESSES_EVERY: Duration = Duration::from_secs(5);
/// At this utilization or less, threads in uninterruptible wait are looked for.
const IDLE_RATIO: f64 = 0.10;

/// What a live source consists of.
pub struct LiveOptions {
    /// How often; clamped to 0.1 s to 60 s.
    pub interval: Duration,
    /// Where `/proc` and `/sys` are looked for.
    pub root: PathBuf,
    /// One for each vendor's library.
    pub probes: Vec<ProbeSpec>,
    /// Who reads the host.
    pub host: Option<Box<dyn HostSource>>,
}

/// Live probes and the host, as a source of ticks.
///
/// The first tick comes within about 50 ms with the host and each probe as `Starting`, the second as soon as all probes have
/// answered once (after one second at the latest), the others at the interval. An answer that is late goes into the next tick.
pub struct Live(LiveOptions);

impl Live {
    /// Nothing is started yet.
    #[must_use]
    pub fn new(options: LiveOptions) -> Self {
        Self(options)
    }
}

impl Feed for Live {
    fn start(self: Box<Self>, sink: Sink) -> io::Result<FeedHandle> {
        let options = self.0;
        let (post, inbox) = channel();
        let (control, told) = channel();
        forward_control(told, post.clone())?;
        let running: Vec<Vendor> = options.probes.iter().map(|spec| spec.vendor).collect();
        let host = match options.host {
            Some(source) => {
                let post = post.clone();
                let deliver = move |news| post.send(Inbox::Host(news)).is_ok();
                let root = options.root.clone();
                let look = Box::new(move || seen::reports(&root, &running));
                Some(HostWorker::start(source, look, deliver)?)
            }
            None => None,
        };
        let probes = options.probes.into_iter().enumerate().map(|(i, spec)| {
            let post = post.clone();
            let deliver: Deliver = Arc::new(move |start, news| {
                let _ = post.send(Inbox::Probe(i, start, news));
            });
            Supervisor::new(spec, options.root.clone(), deliver)
        });
        let run = Run {
            interval: options.interval.clamp(INTERVALS.0, INTERVALS.1),
            probes: probes.collect(),
            host,
            inbox,
            sink,
            seq: 0,
            dropped: 0,
            due: boot_now(),
            gathered: Gathered::default(),
            host_sample: None,
            processes: OwnedProcesses::default(),
        };
        std::thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || run.run())?;
        Ok(FeedHandle { control })
    }
}

/// Hands on what the source is told; a handle that was dropped is a stop.
fn forward_control(told: Receiver<Control>, post: Sender<Inbox>) -> io::Result<()> {
    std::thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || {
            for control in told {
                if post.send(Inbox::Control(control)).is_err() {
                    return;
                }
            }
            let _ = post.send(Inbox::Control(Control::Stop));
        })?;
    Ok(())
}

enum Inbox {
    Probe(usize, u64, News),
    Host(HostNews),
    Control(Control),
}

struct Run {
    interval: Duration,
    probes: Vec<Supervisor>,
    host: Option<HostWorker>,
    inbox: Receiver<Inbox>,
    sink: Sink,
    seq: u64,
    dropped: u64,
    /// When the next tick is due.
    due: MonoTime,
    gathered: Gathered,
    host_sample: Option<HostSample>,
    processes: OwnedProcesses,
}

/// The end of the source.
struct Ended;

/// When the tick after the one that was due comes, and how many were missed in between.
fn next_due(due: MonoTime, now: MonoTime, interval: Duration) -> (MonoTime, u64) {
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    let missed = now.0.saturating_sub(due.0) / interval;
    let next = due
        .0
        .saturating_add(interval.saturating_mul(missed.saturating_add(1)));
    (MonoTime(next), missed)
}

/// How long a tick waits for answers.
fn answer_limit(interval: Duration) -> Duration {
    interval.mul_f64(0.8).min(Duration::from_millis(900))
}

impl Run {
    fn run(mut self) {
        let _ = self.tick_until_the_end();
        for probe in &mut self.probes {
            probe.stop();
        }
    }

    fn tick_until_the_end(&mut self) -> Result<(), Ended> {
        self.begin()?;
        loop {
            while boot_now() < self.due {
                self.gather(None, |_| false)?;
            }
            let (next, missed) = next_due(self.due, boot_now(), self.interval);
            self.due = next;
            self.dropped += missed;
            self.ask();
            let limit = boot_now().plus(answer_limit(self.interval));
            self.gather(Some(limit), Self::probes_are_in)?;
            self.fetch_host_sample();
            self.gather(Some(limit), Self::all_are_in)?;
            self.ask_who_they_are(limit)?;
            self.emit()?;
        }
    }

    /// A tick for the first frame, and one as soon as all have answered.
    fn begin(&mut self) -> Result<(), Ended> {
        for probe in &self.probes {
            let report = Change::Probe(probe.report().clone());
            self.gathered.changes.push(report);
        }
        let begun = boot_now();
        if let Some(host) = &mut self.host {
            host.ask_sample();
        }
        self.fetch_host_sample();
        let early = begun.plus(EARLY_WAIT);
        self.poll_probes();
        let held = std::mem::take(&mut self.gathered);
        // What probes answer meanwhile belongs to the tick after this one.
        self.gather(Some(early), |run| {
            run.host.as_ref().is_none_or(|host| !host.is_waited_for())
        })?;
        let answers = std::mem::replace(&mut self.gathered, held);
        self.take_host_changes(&answers);
        self.emit()?;
        self.gathered = without_host(answers);
        self.gather(Some(begun.plus(FIRST_WAIT)), |run| {
            run.probes
                .iter()
                .all(|probe| probe.has_answered() && !probe.is_waited_for())
        })?;
        self.ask_who_they_are(begun.plus(FIRST_WAIT))?;
        self.emit()?;
        self.due = boot_now().plus(self.interval);
        Ok(())
    }

    /// The host's identity is for the first frame.
    fn take_host_changes(&mut self, answers: &Gathered) {
        let host = answers.changes.iter().filter(|change| is_host(change));
        self.gathered.changes.extend(host.cloned());
    }

    fn poll_probes(&mut self) {
        let (now, seq) = (Instant::now(), self.seq + 1);
        for probe in &mut self.probes {
            probe.poll(seq, self.interval, now, &mut self.gathered);
        }
    }

    fn ask(&mut self) {
        self.poll_probes();
        if let Some(host) = &mut self.host {
            host.ask_sample();
        }
    }

    /// Asks the host about the processes that devices have named by now, so that a tick which names them for the
    /// first time says as well whose they are.
    fn ask_who_they_are(&mut self, limit: MonoTime) -> Result<(), Ended> {
        let Some(host) = &mut self.host else {
            return Ok(());
        };
        self.processes
            .learn(&self.gathered.changes, self.gathered.samples.values());
        let Some(pids) = self.processes.due(Instant::now()) else {
            return Ok(());
        };
        if pids.is_empty() {
            self.gathered
                .changes
                .push(Change::HostProcesses(Vec::new()));
            self.processes.asked(Instant::now(), true);
        } else if host.ask_processes(pids) {
            self.processes.asked(Instant::now(), false);
            self.gather(Some(limit), |run| {
                run.host.as_ref().is_none_or(|host| !host.is_listing())
            })?;
        }
        Ok(())
    }

    fn probes_are_in(&self) -> bool {
        !self.probes.iter().any(Supervisor::is_waited_for)
    }

    /// The host is the quicker one as a rule: its sample lies ready when the probes are in.
    fn fetch_host_sample(&mut self) {
        if let Some(sample) = self.host.as_mut().and_then(HostWorker::fetch_sample) {
            self.host_sample = Some(sample);
        }
    }

    fn all_are_in(&self) -> bool {
        self.probes_are_in() && !self.host.as_ref().is_some_and(HostWorker::is_waited_for)
    }

    /// Takes in what comes until `done`, or until `limit`, or (without one) until the next tick is due.
    fn gather(
        &mut self,
        limit: Option<MonoTime>,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), Ended> {
        while !done(self) {
            let until = limit.unwrap_or(self.due);
            let left = until.0.saturating_sub(boot_now().0);
            if left == 0 {
                return Ok(());
            }
            match self.inbox.recv_timeout(Duration::from_nanos(left)) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(Ended),
            }
        }
        Ok(())
    }

    fn take(&mut self, message: Inbox) -> Result<(), Ended> {
        match message {
            Inbox::Probe(i, start, news) => {
                if let Some(probe) = self.probes.get_mut(i) {
                    probe.receive(start, news, Instant::now(), &mut self.gathered);
                }
            }
            Inbox::Host(news) => {
                if let Some(host) = &mut self.host {
                    host.heard(&news);
                }
                match news {
                    HostNews::Host(host) => self.gathered.changes.push(Change::Host(host)),
                    HostNews::Sample(sample) => self.host_sample = Some(*sample),
                    HostNews::Processes(list) => {
                        self.gathered.changes.push(Change::HostProcesses(list));
                    }
                    HostNews::Seen(reports) => {
                        let reports = reports.into_iter().map(Change::Probe);
                        self.gathered.changes.extend(reports);
                    }
                }
            }
            Inbox::Control(Control::Stop) => return Err(Ended),
            Inbox::Control(Control::Interval(interval)) => {
                let last = self.due.minus(self.interval);
                self.interval = interval.clamp(INTERVALS.0, INTERVALS.1);
                self.due = last.plus(self.interval).max(boot_now());
            }
            Inbox::Control(Control::Mark(text)) => self.gathered.events.push(Event {
                at: jiff::Timestamp::now(),
                device: None,
                kind: EventKind::Mark,
                text: text.into(),
                data: Vec::new(),
            }),
            // A live source knows no other speed than time's own.
            Inbox::Control(Control::Speed(_)) => {}
        }
        Ok(())
    }

    fn emit(&mut self) -> Result<(), Ended> {
        let Gathered {
            samples,
            changes,
            events,
        } = std::mem::take(&mut self.gathered);
        self.seq += 1;
        let tick = Tick {
            seq: self.seq,
            at: jiff::Timestamp::now(),
            mono: boot_now(),
            interval: self.interval,
            dropped: self.dropped,
            samples: samples.into_values().collect(),
            host: self.host_sample.take(),
            changes,
            events,
        };
        if (self.sink)(tick) {
            Ok(())
        } else {
            Err(Ended)
        }
    }
}

fn is_host(change: &Change) -> bool {
    matches!(change, Change::Host(_))
}

fn without_host(mut gathered: Gathered) -> Gathered {
    gathered.changes.retain(|change| !is_host(change));
    gathered
}

/// Which processes the host is asked about.
#[derive(Default)]
struct OwnedProcesses {
    lists: HashMap<DeviceId, Vec<DeviceProcess>>,
    utilization: HashMap<DeviceId, f64>,
    /// There are PIDs that the host was not asked about yet, or none any more.
    news: bool,
    asked: Option<Instant>,
    /// The last thing told was that there are none.
    none_told: bool,
}

impl OwnedProcesses {
    /// Takes in a tick's lists and utilizations.
    fn learn<'a>(&mut self, changes: &[Change], samples: impl Iterator<Item = &'a Sample>) {
        for change in changes {
            match change {
                Change::Processes(id, Ok(list)) => {
                    let old = self.lists.insert(id.clone(), list.clone());
                    let pids = |list: &[DeviceProcess]| list.iter().map(|p| p.pid).collect();
                    let old: Vec<u32> = old.as_deref().map(pids).unwrap_or_default();
                    self.news |= old != pids(list);
                }
                Change::Gone(id) => {
                    self.lists.remove(id);
                    self.utilization.remove(id);
                }
                _ => {}
            }
        }
        for sample in samples {
            match sample.readings.get(Metric::Utilization) {
                Ok(ratio) => self.utilization.insert(sample.device.clone(), ratio),
                Err(_) => self.utilization.remove(&sample.device),
            };
        }
    }

    /// The PIDs to ask about now, each with whether a device of it is at 10 % or less. Every five seconds, and at once
    /// (though not more than once a second) when there are new ones.
    fn due(&self, now: Instant) -> Option<Vec<(u32, bool)>> {
        let wait = if self.news {
            Duration::from_secs(1)
        } else {
            PROCESSES_EVERY
        };
        if self
            .asked
            .is_some_and(|asked| now.duration_since(asked) < wait)
        {
            return None;
        }
        let mut pids = BTreeMap::new();
        for (device, list) in &self.lists {
            for process in list {
                let at = process.instance.as_ref().unwrap_or(device);
                let ratio = self
                    .utilization
                    .get(at)
                    .or_else(|| self.utilization.get(device));
                let idle = ratio.is_some_and(|ratio| *ratio <= IDLE_RATIO);
                *pids.entry(process.pid).or_insert(false) |= idle;
            }
        }
        if pids.is_empty() && (self.none_told || self.lists.is_empty()) {
            return None;
        }
        Some(pids.into_iter().collect())
    }

    fn asked(&mut self, now: Instant, none: bool) {
        self.asked = Some(now);
        self.news = false;
        self.none_told = none;
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
