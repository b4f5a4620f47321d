//! The conductor: follows a recorder while there is one, else probes and, where that is wanted, records.

use super::super::CliError;
use super::super::recorder::{Recorder, event, place_warning};
use super::follow::{End, Following, NotFollowed};
use super::keep::{Closed, Keeper, Open};
use super::{Outlet, Plan};
use crate::app::{News, Recording};
use crate::model::{Control, FeedHandle, Tick};
use crate::record::Reader;
use jiff::Timestamp;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often a keeper that opens its file is asked whether it has.
const OPENING: Duration = Duration::from_millis(50);
/// How often a recorder that wrote nothing is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
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
    /// Another process records other devices.
    Other(u32),
    /// Another process records, and its file cannot be read, for this reason.
    Unreadable(u32, String),
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
    loop {
        let because = match Following::open(plan) {
            Ok(mut following) => match following.run(orders, outlet, plan) {
                End::Stop => return None,
                End::Left(pid) => Because::Left(pid),
                End::Silent(pid, seconds) => Because::Silent(pid, seconds),
            },
            Err(NotFollowed::Nobody) => Because::Begin,
            Err(NotFollowed::OtherDevices(pid)) => Because::Other(pid),
            Err(NotFollowed::Unreadable(pid, why)) => Because::Unreadable(pid, why),
        };
        if let Next::Stop(closed) = probe(plan, orders, outlet, &because) {
            return closed;
        }
    }
}

/// Starts the probes, and the recording.
fn probe(plan: &Plan, orders: &Receiver<Control>, outlet: &Outlet, because: &Because) -> Next {
    let keeper = match keeper(plan, outlet, because) {
        Ok(keeper) => keeper,
        Err(Refused::Busy) => return Next::Follow,
        Err(Refused::For(why)) => {
            failed(plan, outlet, why);
            None
        }
    };
    if !plan.record {
        outlet(News::Recording(Recording::Nobody));
    }
    outlet(News::Behind(0.0));
    let told = told(because, keeper.is_some(), plan);
    if let Some((_, notice)) = &told {
        outlet(News::Notice(notice.clone()));
    }
    let text = told.map(|(text, _)| text);
    let first = !matches!(because, Because::Left(_) | Because::Silent(..));
    let feed = (plan.probes)();
    let started = match &keeper {
        Some(keeper) => {
            text.iter().for_each(|text| keeper.say(text));
            if let Some(warning) = plan.file.as_ref().ok().and_then(|file| place_warning(file)) {
                keeper.say(&warning);
            }
            feed.start(Box::new(keeper.tee(outlet.clone(), first)))
        }
        None => {
            let (outlet, mut text) = (outlet.clone(), text);
            feed.start(Box::new(move |mut tick: Tick| {
                let at = tick.at;
                tick.events.extend(text.take().map(|text| event(at, &text)));
                outlet(News::Tick(tick))
            }))
        }
    };
    match started {
        Ok(feed) => {
            let silent = matches!(because, Because::Silent(..));
            steer(plan, orders, &feed, keeper, outlet, silent)
        }
        Err(error) => {
            let text = plan.text.chrome_probes_failed(error);
            outlet(News::Notice(text.into_owned()));
            Next::Stop(keeper.and_then(|keeper| keeper.close(CLOSING)))
        }
    }
}

/// Nothing is recorded, and why.
fn failed(plan: &Plan, outlet: &Outlet, why: String) {
    let text = plan.text.chrome_recording_failed(&why).into_owned();
    outlet(News::All(vec![
        News::Recording(Recording::Failed(why)),
        News::Notice(text),
    ]));
}

/// Hands orders on until the end. `silent`: another process holds the recording and wrote nothing; once it does again, it
/// is followed again.
fn steer(
    plan: &Plan,
    orders: &Receiver<Control>,
    feed: &FeedHandle,
    keeper: Option<Keeper>,
    outlet: &Outlet,
    silent: bool,
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
                failed(plan, outlet, error.to_string());
            }
        }
        let order = if opening {
            orders.recv_timeout(OPENING)
        } else if silent {
            orders.recv_timeout(LOOK_AGAIN)
        } else {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match order {
            Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(order) => feed.tell(order),
            Err(RecvTimeoutError::Timeout) if silent && is_written(plan) => {
                feed.tell(Control::Stop);
                return Next::Follow;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    feed.tell(Control::Stop);
    Next::Stop(keeper.and_then(|keeper| keeper.close(CLOSING)))
}

/// Whether the recording has had a tick since the last look.
fn is_written(plan: &Plan) -> bool {
    let newest = plan
        .file
        .as_ref()
        .ok()
        .and_then(|file| Reader::open(file).and_then(|reader| reader.newest()).ok()?);
    newest.is_some_and(|at| {
        Timestamp::now().duration_since(at).as_secs_f64().abs() < LOOK_AGAIN.as_secs_f64()
    })
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
            let text = plan
                .text
                .chrome_recorder_silent(pid, format!("{seconds:.0}"));
            return Err(Refused::For(text.into_owned()));
        }
        Because::Other(pid) => {
            return Err(Refused::For(
                plan.text.chrome_recorder_other(pid).into_owned(),
            ));
        }
        Because::Unreadable(pid, why) => {
            let text = plan.text.chrome_recorder_unreadable(pid, why);
            return Err(Refused::For(text.into_owned()));
        }
        Because::Begin => {
            let (path, config) = (path.clone(), plan.config.clone());
            Box::new(move || {
                make_folder(&path)?;
                Recorder::open_own(&path, config)
            })
        }
        Because::Left(_) => {
            let recorder = match Recorder::open_own(&path, plan.config.clone()) {
                Ok(recorder) => recorder,
                Err(CliError::Busy(_)) => return Err(Refused::Busy),
                Err(error) => return Err(Refused::For(error.to_string())),
            };
            Box::new(move || Ok(recorder))
        }
    };
    Keeper::start(open, path, outlet.clone(), plan.text)
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

/// What is said when the probes are asked after a recorder was followed: for the events, and for the screen.
fn told(because: &Because, records: bool, plan: &Plan) -> Option<(String, String)> {
    let now = if records {
        "this process reads the devices and records now"
    } else {
        "this process reads the devices itself now, and records nothing"
    };
    match because {
        Because::Begin | Because::Other(_) | Because::Unreadable(..) => None,
        Because::Left(pid) => {
            let notice = if records {
                plan.text.chrome_takes_over(pid)
            } else {
                plan.text.chrome_reads_itself(pid)
            };
            Some((
                format!("Recorder {pid} has ended: {now}"),
                notice.into_owned(),
            ))
        }
        Because::Silent(pid, seconds) => {
            let seconds = format!("{seconds:.0}");
            let notice = plan.text.chrome_recorder_silent(pid, &seconds);
            Some((
                format!("Recorder {pid} has written nothing for {seconds} s: {now}"),
                notice.into_owned(),
            ))
        }
    }
}
