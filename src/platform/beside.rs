//! A live source with the platform beside it: one thread asks, and the newest answer goes into the next tick.

use super::PlatformOptions;
use super::ask::{Asked, Asker, Outcome};
use super::descriptor::Request;
use super::engine::Engine;
use super::http::Client;
use super::reader::About;
use crate::model::{Change, Event, Feed, FeedHandle, PlatformNews, Sink, Tick};
use jiff::Timestamp;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The thread looks this often at least whether anybody still listens.
const GLANCE: Duration = Duration::from_secs(5);
/// A waiting request has this much longer than it waits.
const GRACE: Duration = Duration::from_secs(5);
/// Waits of a waiting request after failures.
const AGAIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// The newest news, and all events, that no tick has taken yet.
struct Newest(Mutex<(Option<PlatformNews>, Vec<Event>)>);

impl Newest {
    fn put(&self, news: PlatformNews, events: Vec<Event>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 = Some(news);
        kept.1.extend(events);
    }

    fn take(&self) -> (Option<PlatformNews>, Vec<Event>) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A source whose ticks carry what the platform says.
pub struct Beside {
    inner: Box<dyn Feed>,
    options: Option<Arc<PlatformOptions>>,
}

impl Beside {
    /// Nothing is started yet. Without options nobody is looked for, and the first tick says so.
    #[must_use]
    pub fn new(inner: Box<dyn Feed>, options: Option<Arc<PlatformOptions>>) -> Self {
        Self { inner, options }
    }
}

impl Feed for Beside {
    fn start(self: Box<Self>, mut sink: Sink) -> io::Result<FeedHandle> {
        let first = match self.options {
            Some(_) => PlatformNews::Looking,
            None => PlatformNews::Unknown,
        };
        let newest = Arc::new(Newest(Mutex::new((Some(first), Vec::new()))));
        if let Some(options) = self.options {
            let to = Arc::downgrade(&newest);
            std::thread::Builder::new()
                .name("platform".to_owned())
                .spawn(move || run(&options, &to))?;
        }
        self.inner.start(Box::new(move |mut tick: Tick| {
            let (news, events) = newest.take();
            tick.changes.extend(news.map(Change::Platform));
            tick.events.extend(events);
            sink(tick)
        }))
    }
}

/// Tells; answers `false` where nobody listens any more.
fn tell(to: &Weak<Newest>, news: PlatformNews, events: Vec<Event>) -> bool {
    to.upgrade()
        .map(|newest| newest.put(news, events))
        .is_some()
}

/// The thread's life: it ends by itself when its source has ended.
fn run(options: &PlatformOptions, to: &Weak<Newest>) {
    let client = Client::new();
    let detection = options.detection(&client, Timestamp::now());
    let engine = detection
        .chosen
        .and_then(|(place, by)| options.engine(place, by, &client));
    let Some(mut engine) = engine else {
        tell(to, PlatformNews::Unknown, Vec::new());
        return;
    };
    let (post, heard) = channel();
    loop {
        engine.turn(Timestamp::now());
        let known = |engine: &Engine| PlatformNews::Known(Arc::new(engine.platform()));
        let runs = engine.runs(Timestamp::now());
        if !tell(to, known(&engine), runs) {
            return;
        }
        for (place, request, etag) in engine.waiting() {
            let waiter = Waiter {
                asker: engine.asker.twin(),
                place,
                request,
                etag,
            };
            if !waiter.start(post.clone(), to.clone()) {
                tracing::warn!("the platform's notices are not waited for: no thread");
            }
        }
        let Some(due) = engine.due() else { return };
        while Instant::now() < due {
            match next(&heard, due) {
                Some((place, asked)) => {
                    engine.heard(place, asked, Timestamp::now());
                    if !tell(to, known(&engine), Vec::new()) {
                        return;
                    }
                }
                None if to.upgrade().is_none() => return,
                None => {}
            }
        }
    }
}

/// What a waiting request heard until something is due, or a glance later.
fn next(heard: &Receiver<(usize, Asked)>, due: Instant) -> Option<(usize, Asked)> {
    let left = due.saturating_duration_since(Instant::now()).min(GLANCE);
    heard.recv_timeout(left).ok()
}

/// A request that is answered when something changes: it waits on a thread of its own.
struct Waiter {
    asker: Asker,
    place: usize,
    request: Request,
    etag: Option<String>,
}

impl Waiter {
    fn start(mut self, post: Sender<(usize, Asked)>, to: Weak<Newest>) -> bool {
        std::thread::Builder::new()
            .name("notices".to_owned())
            .spawn(move || {
                let mut again = AGAIN.0;
                while to.upgrade().is_some() {
                    let asked = self.wait();
                    let good = matches!(asked.outcome, Outcome::Facts(_) | Outcome::Nothing);
                    if good {
                        self.etag.clone_from(&asked.etag);
                    }
                    if post.send((self.place, asked)).is_err() {
                        return;
                    }
                    // Without a tag to wait on the answer comes at once: then this is its pace.
                    if good && self.etag.is_some() {
                        again = AGAIN.0;
                    } else {
                        std::thread::sleep(again);
                        again = if good {
                            AGAIN.0
                        } else {
                            (again * 2).min(AGAIN.1)
                        };
                    }
                }
            })
            .is_ok()
    }

    fn wait(&mut self) -> Asked {
        let waits = Duration::from_secs(self.request.waits_s.unwrap_or_default());
        let limit = self.etag.is_some().then_some(waits + GRACE);
        let about = About {
            now: Timestamp::now(),
            name: None,
        };
        let etag = self.etag.clone();
        self.asker
            .ask(&self.request, &about, limit, etag.as_deref())
    }
}
