//! A session as a recording leaves it.

use crate::model::{Config, Plates, SourceKind};
use crate::record::{Follower, Record, RecordError};
use crate::session::{Session, Start};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Records that are read at a time.
const PORTION: usize = 512;

/// What a recording says up to its newest tick.
pub(super) struct Past {
    /// The session, charts included.
    pub(super) session: Session,
    /// Wall time of the newest tick.
    pub(super) at: Timestamp,
    /// The same on the boot clock.
    pub(super) mono: MonoTime,
    /// Its interval.
    pub(super) interval: Duration,
}

/// Folds what a recording has, with at least so much of its newest time at full rate. `None`: there is no tick yet, or the
/// session in it is of another version's making.
///
/// # Errors
/// The file cannot be read, or is damaged there.
pub(super) fn past(
    follower: &mut Follower,
    history: Duration,
    plates: &Arc<Plates>,
) -> Result<Option<Past>, RecordError> {
    let Some(start) = follower.begin(history)? else {
        return Ok(None);
    };
    let Ok(start) = postcard::from_bytes::<Start>(&start.body) else {
        return Ok(None);
    };
    let mut session = Session::new(start, plates.clone(), SourceKind::Live);
    let mut newest = None;
    loop {
        let records = follower.read(PORTION)?;
        if records.is_empty() {
            break;
        }
        for record in records {
            match record {
                Record::Tick(_, tick) => {
                    session.fold(&tick);
                    newest = Some((tick.at, tick.mono, tick.interval));
                }
                Record::Start(fresh) if fresh.fresh && newest.is_some() => {
                    let Ok(start) = postcard::from_bytes(&fresh.body) else {
                        return Ok(None);
                    };
                    session.take_up(start);
                }
                Record::Start(_) => {}
            }
        }
    }
    Ok(newest.map(|(at, mono, interval)| Past {
        session,
        at,
        mono,
        interval,
    }))
}

/// What a reader of another's recording folds with: its own wishes, and the recorder's price where it knows none.
pub(super) fn read_with(own: &Config, recorders: &Config) -> Config {
    let mut config = own.clone();
    if config.price.is_none() {
        config.price.clone_from(&recorders.price);
        config.currency.clone_from(&recorders.currency);
        config.granularity = recorders.granularity;
    }
    config.since = config.since.or(recorders.since);
    config.budget = config.budget.or(recorders.budget);
    config
}
