//! The thread that reads the host: its files can block as well.

use super::host_source::HostSource;
use crate::model::{Host, HostSample, ProbeReport, Process};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the bus is looked at: devices seldom come and go.
const SEEN_EVERY: Duration = Duration::from_secs(60);

/// What to read.
enum Request {
    Sample,
    Processes(Vec<(u32, bool)>),
}

/// What was read.
pub(super) enum HostNews {
    Host(Host),
    Sample(Box<HostSample>),
    Processes(Vec<Process>),
    /// Vendors whose devices are on the bus and that no probe reads; told when it changes.
    Seen(Vec<ProbeReport>),
}

/// Looks for devices that no probe reads.
pub(super) type Look = Box<dyn Fn() -> Vec<ProbeReport> + Send>;

/// Where a sample lies until it is fetched: nobody is woken for it who waits for devices all the same.
#[derive(Default)]
struct Tray(Mutex<Lying>);

#[derive(Default)]
struct Lying {
    sample: Option<Box<HostSample>>,
    /// It is waited for: it is delivered.
    wanted: bool,
}

impl Tray {
    fn lock(&self) -> MutexGuard<'_, Lying> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays a sample down; gives it back where it is wanted at once.
    fn lay(&self, sample: Box<HostSample>) -> Option<Box<HostSample>> {
        let mut lying = self.lock();
        if lying.wanted {
            return Some(sample);
        }
        lying.sample = Some(sample);
        None
    }
}

/// Our side of the thread.
pub(super) struct HostWorker {
    requests: Sender<Request>,
    tray: Arc<Tray>,
    sampling: bool,
    sampling_now: bool,
    listing: bool,
}

impl HostWorker {
    /// Starts the thread; what it reads goes to `deliver`, which answers `false` when nobody wants more.
    pub(super) fn start(
        source: Box<dyn HostSource>,
        look: Look,
        deliver: impl Fn(HostNews) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let (requests, asked) = channel();
        let tray = Arc::new(Tray::default());
        let there = Arc::clone(&tray);
        std::thread::Builder::new()
            .name("host".to_owned())
            .spawn(move || {
                // A panic in a reader of files ends this thread; the host is then absent, the rest goes on.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    serve(source, &look, &asked, &there, &deliver)
                }));
            })?;
        Ok(Self {
            requests,
            tray,
            sampling: false,
            sampling_now: false,
            listing: false,
        })
    }

    /// Asks for a sample unless one is on its way. It lies ready until it is fetched.
    pub(super) fn ask_sample(&mut self) {
        self.sampling_now = !self.sampling;
        if !self.sampling {
            self.tray.lock().wanted = false;
            self.sampling = self.requests.send(Request::Sample).is_ok();
        }
    }

    /// The sample that was asked for, where it lies ready; else it is delivered as soon as it is there.
    pub(super) fn fetch_sample(&mut self) -> Option<HostSample> {
        let mut lying = self.tray.lock();
        let sample = lying.sample.take();
        lying.wanted = sample.is_none();
        self.sampling &= sample.is_none();
        sample.map(|sample| *sample)
    }

    /// Asks what the host says of these processes; `false` if that is still on its way from before.
    pub(super) fn ask_processes(&mut self, pids: Vec<(u32, bool)>) -> bool {
        if self.listing {
            return false;
        }
        self.listing = self.requests.send(Request::Processes(pids)).is_ok();
        self.listing
    }

    /// Notes what came.
    pub(super) fn heard(&mut self, news: &HostNews) {
        match news {
            HostNews::Host(_) | HostNews::Seen(_) => {}
            HostNews::Sample(_) => self.sampling = false,
            HostNews::Processes(_) => self.listing = false,
        }
    }

    /// What the host says of processes is on its way.
    pub(super) fn is_listing(&self) -> bool {
        self.listing
    }

    /// A sample was asked for this tick and is not there yet.
    pub(super) fn is_waited_for(&self) -> bool {
        self.sampling && self.sampling_now
    }
}

fn serve(
    mut source: Box<dyn HostSource>,
    look: &Look,
    asked: &Receiver<Request>,
    tray: &Tray,
    deliver: &dyn Fn(HostNews) -> bool,
) {
    let mut wanted = deliver(HostNews::Host(source.host()));
    let mut seen: Option<(Instant, Vec<ProbeReport>)> = None;
    while wanted {
        if seen
            .as_ref()
            .is_none_or(|(at, _)| at.elapsed() >= SEEN_EVERY)
        {
            let reports = look();
            let known = seen.take().map(|(_, known)| known).unwrap_or_default();
            if reports != known {
                wanted = deliver(HostNews::Seen(reports.clone()));
            }
            seen = Some((Instant::now(), reports));
        }
        wanted &= match asked.recv() {
            Ok(Request::Sample) => tray
                .lay(Box::new(source.sample()))
                .is_none_or(|sample| deliver(HostNews::Sample(sample))),
            Ok(Request::Processes(pids)) => deliver(HostNews::Processes(source.processes(&pids))),
            Err(_) => false,
        };
    }
}
