//! The conductor: follows a recorder while there is one, else probes and, where that is wanted, records.

use super::super::CliError;
use super::super::recorder::{Recorder, place_warning};
use super::follow::{End, Following};
use super::keep::{Closed, Keeper, Open};
use super::{Outlet, Plan};
use crate::app::{News, Recording};
use crate::model::{Control, FeedHandle, Tick};
use crate::record::Writer;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often a keeper that opens its file is asked whether it has.
const OPENING: Duration = Duration::from_millis(50);
/// How long a file may take to be closed; nobody waits for longer.
const CLOSING: Duration = Duration::from_secs(3);

/// How the probes came to be asked.
enum Because {
    /// Nobody else asks them.
    Begin,
    /// The recorder of this number has gone.
    Left(u32),
    /// It writes nothing.
    Silent(u32, f64),
}

/// What comes after the probes.
enum Next {
    /// The end.
    Stop(Option<Closed>),
    /// Somebody else has begun to record.
    Follow,
}

/// Runs until nobody wants more; gives what became of the recording, where it was ours.
pub(super) fn conduct(plan: &Plan, orders: &Receiver<Control>, outlet: &Outlet) -> Option<Closed> {
    let mut because = Because::Begin;
    loop {
        if !matches!(because, Because::Silent(..))
            && let Some(mut following) = Following::open(plan)
        {
            because = match following.run(orders, outlet, plan) {
                End::Stop => return None,
                End::Left(pid) => Because::Left(pid),
                End::Silent(pid, seconds) => Because::Silent(pid, seconds),
            };
        }
        match probe(plan, orders, outlet, &because) {
            Next::Stop(closed) => return closed,
            Next::Follow => because = Because::Begin,
        }
    }
}

/// Starts the probes, and the recording.
fn probe(plan: &Plan, orders: &Receiver<Control>, outlet: &Outlet, because: &Because) -> Next {
    let keeper = match keeper(plan, outlet, because) {
        Ok(keeper) => keeper,
        Err(Refused::Busy) => return Next::Follow,
        Err(Refused::For(why)) => {
            outlet(News::Recording(Recording::Failed(why)));
            None
        }
    };
    let text = told(because, plan.record && keeper.is_some());
    let first = matches!(because, Because::Begin);
    let feed = (plan.probes)();
    let started = match &keeper {
        Some(keeper) => {
            if let Some(text) = &text {
                keeper.say(text);
            }
            if let Some(warning) = plan.file.as_ref().ok().and_then(|file| place_warning(file)) {
                keeper.say(&warning);
                if first {
                    outlet(News::Notice(warning));
                }
            }
            feed.start(Box::new(keeper.tee(outlet.clone(), first)))
        }
        None => {
            if !plan.record {
                outlet(News::Recording(Recording::Nobody));
            }
            let (outlet, mut text) = (outlet.clone(), text.clone());
            feed.start(Box::new(move |mut tick: Tick| {
                let at = tick.at;
                let event = |text: String| super::super::recorder::event(at, &text);
                tick.events.extend(text.take().map(event));
                outlet(News::Tick(tick))
            }))
        }
    };
    if let Some(text) = text {
        outlet(News::Notice(text));
    }
    outlet(News::Behind(0.0));
    let feed = match started {
        Ok(feed) => feed,
        Err(error) => {
            outlet(News::Notice(format!("starting the probes failed: {error}")));
            return Next::Stop(keeper.and_then(|keeper| keeper.close(CLOSING)));
        }
    };
    steer(orders, &feed, keeper, outlet)
}

/// Hands orders on until the end.
fn steer(
    orders: &Receiver<Control>,
    feed: &FeedHandle,
    keeper: Option<Keeper>,
    outlet: &Outlet,
) -> Next {
    let mut opening = keeper.is_some();
    loop {
        if opening && let Some(opened) = keeper.as_ref().and_then(|k| k.opened(Duration::ZERO)) {
            opening = false;
            if let Err(error) = opened {
                if matches!(&error, CliError::Busy(_)) {
                    feed.tell(Control::Stop);
                    return Next::Follow;
                }
                outlet(News::Recording(Recording::Failed(error.to_string())));
            }
        }
        let order = if opening {
            orders.recv_timeout(OPENING)
        } else {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match order {
            Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(order) => feed.tell(order),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    feed.tell(Control::Stop);
    Next::Stop(keeper.and_then(|keeper| keeper.close(CLOSING)))
}

/// Why there is no keeper.
enum Refused {
    /// Another process has just begun to record.
    Busy,
    /// Something else.
    For(String),
}

/// The keeper of the recording, where one is wanted. Whoever takes over from a recorder has the file before it asks the
/// driver anything: of several screens only one does.
fn keeper(plan: &Plan, outlet: &Outlet, because: &Because) -> Result<Option<Keeper>, Refused> {
    if !plan.record {
        return Ok(None);
    }
    let path = plan.file.clone().map_err(Refused::For)?;
    let open: Open = match because {
        Because::Silent(pid, seconds) => {
            return Err(Refused::For(format!(
                "process {pid} holds {} and has written nothing for {seconds:.0} s",
                path.display()
            )));
        }
        Because::Begin => {
            // Another recorder's devices are not ours to mix in.
            if let Some(pid) = Writer::holder(&path) {
                return Err(Refused::For(format!(
                    "process {pid} records other devices into {}",
                    path.display()
                )));
            }
            let (path, config) = (path.clone(), plan.config.clone());
            Box::new(move || {
                make_folder(&path)?;
                Recorder::open(&path, config)
            })
        }
        Because::Left(_) => {
            let recorder = match Recorder::open(&path, plan.config.clone()) {
                Ok(recorder) => recorder,
                Err(CliError::Busy(_)) => return Err(Refused::Busy),
                Err(error) => return Err(Refused::For(error.to_string())),
            };
            Box::new(move || Ok(recorder))
        }
    };
    Keeper::start(open, path, outlet.clone())
        .map(Some)
        .map_err(|error| Refused::For(error.to_string()))
}

fn make_folder(path: &std::path::Path) -> Result<(), CliError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| CliError::System {
            operation: format!("making the folder {}", folder.display()),
            source,
            next: "name another with state_dir under [record] in the configuration",
        })
}

/// What is said when the probes are asked after a recorder was followed.
fn told(because: &Because, records: bool) -> Option<String> {
    let now = if records {
        "this process reads the devices and records now"
    } else {
        "this process reads the devices itself now, and records nothing"
    };
    match because {
        Because::Begin => None,
        Because::Left(pid) => Some(format!("Recorder {pid} has ended: {now}")),
        Because::Silent(pid, seconds) => Some(format!(
            "Recorder {pid} has written nothing for {seconds:.0} s: {now}"
        )),
    }
}
