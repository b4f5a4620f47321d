//! The account of billed seconds and money: a pure fold in constant memory, without clock or I/O.
//!
//! Phases run on the boot clock, the bill on wall time. The span is wall time since billing began; whatever part of
//! it was not looked at is `unobserved`, so that the phases always add up to the span:
//!
//! - a gap of more than two intervals (a suspend, a stopped recorder) credits nobody;
//! - a wall clock stepped forward is billed and unobserved; stepped back, a start that we derived moves with it, a
//!   start that somebody named stays, and the span never falls below the seconds that were looked at;
//! - a device that is lost, silent or cannot be read is unobserved for itself, never idle.
//!
//! The time between two steps counts as what the later one says: a driver's utilization looks back.

mod account;
mod bill;

#[cfg(test)]
mod tests;

pub use account::{Account, BoardStep, DeviceStep};

use crate::model::{
    BillingStart, BillingStartSource, BoardId, Charge, Config, Cost, DeviceId, Phase, PhaseSeconds,
    Startup,
};
use crate::units::MonoTime;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A forward step of the wall clock over this moves a derived start: the clock was unset before (31 days).
const UNSET_CLOCK_S: f64 = 31.0 * 86_400.0;

/// Differences between the two clocks below this are slewing and reading order, not a jump.
const JUMP_S: f64 = 1.0;

/// Accounts kept at most; beyond it the one unseen for longest goes (instances made and destroyed for ever).
const ACCOUNTS: usize = 1024;

/// One instant: all boards with their devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<'a> {
    /// Wall time.
    pub at: Timestamp,
    /// Boot clock.
    pub mono: MonoTime,
    /// The interval that was meant.
    pub interval: Duration,
    /// All boards that are known now, lost ones included.
    pub boards: &'a [BoardStep],
}

/// When the previous step was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Last {
    at: Timestamp,
    mono: MonoTime,
    interval: Duration,
}

/// All that the ledger knows: part of every Start, so that a restart goes on; what lies between is unobserved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    start: Option<BillingStart>,
    first_at: Option<Timestamp>,
    last: Option<Last>,
    /// Seconds without a gap before them.
    looked: f64,
    /// Those of them in which no device was silent.
    available: f64,
    any_compute: f64,
    /// Forward steps of the wall clock that no backward step has taken back.
    stepped_forward: f64,
    process_seen: bool,
    first_process: Option<Timestamp>,
    first_compute: Option<Timestamp>,
    /// Most boards at once: what a price per device is multiplied with (a lost board is still billed).
    boards_billed: u32,
    steps: u64,
    instance: Account,
    boards: BTreeMap<BoardId, Account>,
    devices: BTreeMap<DeviceId, Account>,
}

/// The account.
#[derive(Debug, Clone)]
pub struct Ledger {
    config: Config,
    state: Checkpoint,
}

impl Ledger {
    /// A new account, or one that goes on from a checkpoint.
    ///
    /// A start of billing by flag or file that is later than the checkpoint's first sample begins a new account: the
    /// seconds before it belong to another bill.
    #[must_use]
    pub fn new(config: &Config, checkpoint: Option<Checkpoint>) -> Self {
        let state = checkpoint
            .filter(|c| match (config.since, c.first_at) {
                (Some(since), Some(first)) => {
                    since.at <= first || c.start.is_some_and(|s| s.at == since.at)
                }
                _ => true,
            })
            .unwrap_or_default();
        let mut ledger = Self {
            config: config.clone(),
            state,
        };
        if let Some(since) = config.since {
            ledger.offer_start(since);
        }
        ledger
    }

    /// Offers a begin of billing; the best known one counts: flag, file, platform, container, boot, first sample.
    /// Of two from the same source the first stays, except where somebody named another. A derived one that
    /// is later than the first sample is not taken: seconds were seen before it.
    pub fn offer_start(&mut self, offer: BillingStart) {
        let derived = offer.source.is_estimate();
        if derived && self.state.first_at.is_some_and(|first| offer.at > first) {
            return;
        }
        let better = self.state.start.is_none_or(|kept| {
            rank(offer.source) < rank(kept.source) || (!derived && offer.source == kept.source)
        });
        if better {
            self.state.start = Some(offer);
        }
    }

    /// Books the time since the previous step.
    pub fn observe(&mut self, step: &Step<'_>) {
        let credit = self.credit(step);
        self.note_process(step);
        let state = &mut self.state;
        state.steps += 1;
        state.looked += credit;
        state.boards_billed = state
            .boards_billed
            .max(u32::try_from(step.boards.len()).unwrap_or(u32::MAX));
        let share = credit / step.boards.len().max(1) as f64;
        let (mut any_silent, mut any_compute) = (step.boards.is_empty(), false);
        for board in step.boards {
            let mut whole = account::Seen::default();
            for device in &board.devices {
                let seen = device.seen(state.process_seen, self.config.compute_threshold);
                any_silent |= device.silent;
                account_of(&mut state.devices, &device.id).book(&seen, credit, state.steps);
                whole.merge(&seen);
            }
            any_compute |= whole.phase == Phase::Compute;
            account_of(&mut state.boards, &board.board).book(&whole, credit, state.steps);
            state.instance.book(&whole, share, state.steps);
        }
        if any_compute {
            state.any_compute += credit;
        }
        if !any_silent {
            state.available += credit;
        }
        forget_oldest(&mut state.devices);
        forget_oldest(&mut state.boards);
        state.last = Some(Last {
            at: step.at,
            mono: step.mono,
            interval: step.interval,
        });
    }

    /// Seconds since the previous step that count as looked at; takes care of the clocks and of the first step.
    fn credit(&mut self, step: &Step<'_>) -> f64 {
        if self.state.first_at.is_none() {
            self.state.first_at = Some(step.at);
            // A derived begin that lies ahead is a wrong clock, not a begin.
            self.state.start =
                (self.state.start).filter(|s| !s.source.is_estimate() || s.at <= step.at);
        }
        self.state.start.get_or_insert(BillingStart {
            at: step.at,
            source: BillingStartSource::FirstSample,
        });
        let Some(last) = self.state.last else {
            return 0.0;
        };
        let passed = step.mono.seconds_since(last.mono);
        if passed < 0.0 {
            return 0.0; // another boot: the clocks say nothing about each other
        }
        let watched = passed <= 2.0 * step.interval.max(last.interval).as_secs_f64();
        self.follow_clock(wall_seconds(last.at, step.at) - passed, watched);
        if !watched {
            return 0.0;
        }
        // Nothing is billed before a start that still lies ahead; once seconds were counted, the wall clock cannot
        // take that back.
        match self.state.start {
            Some(start) if self.state.looked == 0.0 => {
                passed.min(wall_seconds(start.at, step.at).max(0.0))
            }
            _ => passed,
        }
    }

    /// Keeps the span right when the wall clock jumps by `jump` seconds against the boot clock.
    fn follow_clock(&mut self, jump: f64, watched: bool) {
        let state = &mut self.state;
        let Some(start) = state.start.as_mut().filter(|s| s.source.is_estimate()) else {
            return;
        };
        if jump < -JUMP_S {
            let taken_back = state.stepped_forward.min(-jump);
            state.stepped_forward -= taken_back;
            start.at = moved(start.at, jump + taken_back);
            state.first_at = state.first_at.map(|at| moved(at, jump + taken_back));
        } else if jump > UNSET_CLOCK_S && watched {
            start.at = moved(start.at, jump);
            state.first_at = state.first_at.map(|at| moved(at, jump));
        } else if jump > JUMP_S && watched {
            state.stepped_forward += jump;
        }
    }

    fn note_process(&mut self, step: &Step<'_>) {
        let threshold = self.config.compute_threshold;
        let state = &mut self.state;
        let mut devices = step.boards.iter().flat_map(|b| &b.devices);
        let computes = devices.clone().any(|d| d.computes(threshold));
        let process = computes || devices.any(|d| d.has_process == Some(true));
        state.process_seen |= process;
        if process {
            state.first_process.get_or_insert(step.at);
        }
        if computes {
            state.first_compute.get_or_insert(step.at);
        }
    }

    /// Seconds from the begin of billing to `now`, at least those that were looked at.
    fn span(&self, now: Timestamp) -> f64 {
        let wall = self
            .state
            .start
            .map_or(0.0, |start| wall_seconds(start.at, now));
        wall.max(self.state.looked)
    }

    /// The meter at `now`; `None` before the begin of billing is known.
    #[must_use]
    pub fn cost(&self, now: Timestamp) -> Option<Cost> {
        bill::cost(self, now)
    }

    /// The phase of a device as its newest step says; unobserved where that step did not have it.
    #[must_use]
    pub fn phase(&self, device: &DeviceId) -> Phase {
        self.state
            .devices
            .get(device)
            .filter(|a| a.seen_in == self.state.steps)
            .map_or(Phase::Unobserved, |a| a.phase)
    }

    /// A device's seconds by phase up to `now`; they add up to the span.
    #[must_use]
    pub fn device_seconds(&self, device: &DeviceId, now: Timestamp) -> PhaseSeconds {
        let none = Account::default();
        let account = self.state.devices.get(device).unwrap_or(&none);
        account.phase_seconds(self.span(now))
    }

    /// A board's seconds by phase up to `now`: each second is what the busiest of its devices did.
    #[must_use]
    pub fn board_seconds(&self, board: &BoardId, now: Timestamp) -> PhaseSeconds {
        let none = Account::default();
        let account = self.state.boards.get(board).unwrap_or(&none);
        account.phase_seconds(self.span(now))
    }

    /// What seconds of one board cost: its equal share of the instance's price. `None` without a price.
    #[must_use]
    pub fn charge(&self, seconds: f64) -> Option<Charge> {
        bill::charge(self, seconds)
    }

    /// The integral of a device's utilization over the seconds that were looked at: seconds at 100 %.
    #[must_use]
    pub fn utilization_seconds(&self, device: &DeviceId) -> f64 {
        self.state
            .devices
            .get(device)
            .map_or(0.0, |a| a.utilization_seconds)
    }

    /// The start-up steps that the ledger sees: begin of billing, first process, first second of compute.
    #[must_use]
    pub fn startup(&self) -> Startup {
        Startup {
            billing_started: self.state.start.map(|s| s.at),
            first_process: self.state.first_process,
            first_compute: self.state.first_compute,
            ..Startup::default()
        }
    }

    /// Takes another configuration; what was booked stays booked, prices count for all of it.
    pub fn configure(&mut self, config: &Config) {
        self.config = config.clone();
        if let Some(since) = config.since {
            self.offer_start(since);
        }
    }

    /// Everything that is needed to go on.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.state.clone()
    }
}

/// Order in which begins of billing are believed.
const fn rank(source: BillingStartSource) -> u8 {
    match source {
        BillingStartSource::Flag => 0,
        BillingStartSource::Config => 1,
        BillingStartSource::Platform => 2,
        BillingStartSource::Container => 3,
        BillingStartSource::Boot => 4,
        BillingStartSource::FirstSample => 5,
    }
}

fn wall_seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// An instant moved by seconds; stays where it is if the result cannot be written.
fn moved(at: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|by| at.checked_add(by).ok())
        .unwrap_or(at)
}

fn account_of<'a, K: Ord + Clone>(
    accounts: &'a mut BTreeMap<K, Account>,
    key: &K,
) -> &'a mut Account {
    accounts.entry(key.clone()).or_default()
}

fn forget_oldest<K: Ord + Clone>(accounts: &mut BTreeMap<K, Account>) {
    while accounts.len() > ACCOUNTS {
        let oldest = accounts
            .iter()
            .min_by_key(|(_, a)| a.seen_in)
            .map(|(key, _)| key.clone());
        let Some(key) = oldest else { return };
        accounts.remove(&key);
    }
}
