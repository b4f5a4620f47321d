//! The account of billed seconds and money: a pure fold in constant memory, without clock or I/O.
//!
//! Phases run on the boot clock, the bill on wall time. The span is wall time since billing began; whatever part of
//! it was not looked at is `unobserved`, so that the phases always add up to the span:
//!
//! - a gap of more than two intervals (a suspend, a stopped recorder) credits nobody;
//! - a wall clock stepped forward is billed and unobserved; stepped back, a start that we derived moves with it, a
//!   start that somebody named stays, and the span never falls below the seconds that were looked at;
//! - a device that is lost, silent or cannot be read is unobserved for itself, never idle;
//! - a step of a time that was covered already (two recordings of one instance) counts nothing.
//!
//! The time between two steps counts as what the later one says: a driver's utilization looks back.

mod account;
mod bill;
mod clock;
mod flapping;
mod hours;
mod settle;
mod starts;

#[cfg(test)]
mod tests;

pub use account::{Account, BoardStep, DeviceStep};

use crate::model::{
    BillingRules, BillingStart, BillingStartSource, BoardId, Charge, Config, Cost, DeviceId,
    PastStart, Phase, PhaseSeconds, Price, PriceList, Startup, Tariff,
};
use crate::units::{Currency, MonoTime};
use clock::{Passed, moved, wall_seconds};
use flapping::Swings;
use hours::{Hours, Parts};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use starts::Starts;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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
    /// A scheduler, or the platform, says that the work of this instance waits in a queue.
    pub queued: bool,
    /// Bytes per second in and out of this host's network, where that is read.
    pub traffic_bytes_per_s: Option<f64>,
}

/// When the previous step was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Last {
    at: Timestamp,
    mono: MonoTime,
    interval: Duration,
}

/// What a platform says of its bill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Which, by the contract's id.
    pub platform: Arc<str>,
    /// The billing rule, where it is another than the platform's usual one.
    pub rule: Option<Arc<str>>,
    /// What it costs.
    pub price: Option<Priced>,
    /// The type, for the catalogue.
    pub instance_type: Option<Arc<str>>,
    /// The region, for the catalogue.
    pub region: Option<Arc<str>>,
    /// It is rented out as spot: then a list price, which is one on demand, is not its price.
    pub spot: bool,
}

/// A price with its currency and date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priced {
    /// Value, scope and source.
    pub price: Price,
    /// In what.
    pub currency: Currency,
    /// When somebody said so; `None` for a price that the user gave, and where the catalogue has no date.
    pub at: Option<Timestamp>,
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
    /// Most boards at once: what a price per device is multiplied with (a lost board is still billed).
    boards_billed: u32,
    steps: u64,
    /// Network traffic while somebody looked.
    traffic_bytes: f64,
    instance: Account,
    boards: BTreeMap<BoardId, Account>,
    devices: BTreeMap<DeviceId, Account>,
    hours: Hours,
    starts: Starts,
    swings: Swings,
    offer: Option<Offer>,
}

/// The account.
#[derive(Debug, Clone)]
pub struct Ledger {
    config: Config,
    /// What follows from configuration and offer.
    tariff: Arc<Tariff>,
    priced: Option<Priced>,
    state: Checkpoint,
}

impl Ledger {
    /// A new account, or one that goes on from a checkpoint.
    ///
    /// A start of billing by flag or file that is later than the checkpoint's first sample begins a new account: the
    /// seconds before it belong to another bill.
    #[must_use]
    pub fn new(config: &Config, checkpoint: Option<Checkpoint>) -> Self {
        let mut ledger = Self {
            config: config.clone(),
            tariff: Arc::new(Tariff::started(config.granularity.unwrap_or_default())),
            priced: None,
            state: checkpoint.unwrap_or_default(),
        };
        ledger.resolve();
        if let Some(since) = config.since {
            let first = ledger.state.first_at;
            let kept = ledger.state.start.map(|start| start.at);
            if first.is_some_and(|first| since.at > first) && kept != Some(since.at) {
                ledger.begin_anew();
            }
            ledger.offer_start(since);
        }
        ledger
    }

    /// Offers a begin of billing; the best known one counts: flag, file, platform, container, boot, first sample.
    /// Of two from the same source the first stays, except where somebody named another. A derived one that
    /// is later than the first sample is not taken: seconds were seen before it. A named one that is later begins a new
    /// account, since what was seen before it belongs to another bill.
    pub fn offer_start(&mut self, offer: BillingStart) {
        let derived = offer.source.is_estimate();
        let late = self.state.first_at.is_some_and(|first| offer.at > first);
        if derived && late {
            return;
        }
        let better = self.state.start.is_none_or(|kept| {
            rank(offer.source) < rank(kept.source) || (!derived && offer.source == kept.source)
        });
        if !better {
            return;
        }
        if late && self.state.start.is_none_or(|kept| kept.at != offer.at) {
            self.begin_anew();
        }
        self.state.start = Some(offer);
    }

    /// Puts the account away: another bill begins. What was learned of earlier starts, and the hours, stay.
    fn begin_anew(&mut self) {
        let old = std::mem::take(&mut self.state);
        let mut starts = old.starts;
        starts.begin_anew(old.start);
        self.state = Checkpoint {
            last: old.last,
            boards_billed: old.boards_billed,
            hours: old.hours,
            offer: old.offer,
            starts,
            ..Checkpoint::default()
        };
    }

    /// Takes what a platform says: its price, if the user gave none; its rule, if the user named none.
    pub fn offer(&mut self, offer: Option<Offer>) {
        if self.state.offer != offer {
            self.state.offer = offer;
            self.resolve();
        }
    }

    /// Tariff and price by precedence: flag, file, the platform's answer, the catalogue, none.
    fn resolve(&mut self) {
        let (config, offer) = (&self.config, self.state.offer.as_ref());
        let by_platform = offer.map(|o| o.rule.as_ref().unwrap_or(&o.platform));
        let rule = config.terms.rule.as_ref().or(by_platform);
        // The embedded tables are read by a test: an unreadable one is none.
        let rules = rule.map(|_| BillingRules::embedded().unwrap_or_default());
        let found = rules
            .as_ref()
            .zip(rule)
            .and_then(|(rules, name)| rules.find(name));
        self.tariff = Arc::new(Tariff::resolve(found, config.granularity, &config.terms));
        let own = config.price.clone().map(|price| Priced {
            price,
            currency: config.currency.clone(),
            at: None,
        });
        self.priced = own
            .or_else(|| offer.and_then(|o| o.price.clone()).filter(is_plausible))
            .or_else(|| offer.and_then(listed));
    }

    /// The currency of the price.
    fn currency(&self) -> &Currency {
        self.priced
            .as_ref()
            .map_or(&self.config.currency, |p| &p.currency)
    }

    /// Platform and region, as far as they are known.
    #[must_use]
    pub fn place(&self) -> (Option<&str>, Option<&str>) {
        let offer = self.state.offer.as_ref();
        (
            offer.map(|o| &*o.platform),
            offer.and_then(|o| o.region.as_deref()),
        )
    }

    /// The host was booted then. Another boot than the one that is known, with a gap before it, is another start.
    pub fn note_boot(&mut self, at: Timestamp) {
        self.state.starts.note_boot(at);
    }

    /// The container was started then.
    pub fn note_container(&mut self, at: Timestamp) {
        self.state.starts.note_container(at);
    }

    /// A driver that had been looked for in vain answered.
    pub fn note_driver(&mut self, at: Timestamp) {
        self.state.starts.note_driver(at);
    }

    /// A process that owns a device was started then.
    pub fn note_process(&mut self, at: Timestamp) {
        self.state.starts.note_process(at);
    }

    /// The platform says that the instance ran before. Answers whether that is new.
    pub fn note_run(&mut self, run: PastStart) -> bool {
        self.state.starts.note_run(run)
    }

    /// Books the time since the previous step. A step of a time that was covered already changes nothing.
    pub fn observe(&mut self, step: &Step<'_>) {
        let passed = self.passed(step);
        if passed == Passed::Covered {
            return;
        }
        let credit = self.credit(step, passed);
        self.note_processes(step);
        let state = &mut self.state;
        state.steps += 1;
        state.looked += credit;
        state.traffic_bytes += step.traffic_bytes_per_s.unwrap_or(0.0).max(0.0) * credit;
        state.boards_billed = state
            .boards_billed
            .max(u32::try_from(step.boards.len()).unwrap_or(u32::MAX));
        let share = credit / step.boards.len().max(1) as f64;
        let (mut any_silent, mut any_compute) = (step.boards.is_empty(), false);
        let mut parts = Parts::default();
        let (mut utilization, mut read) = (0.0, 0u32);
        for board in step.boards {
            let mut whole = account::Seen::default();
            for device in &board.devices {
                let seen = device.seen(
                    state.process_seen,
                    step.queued,
                    self.config.compute_threshold,
                );
                any_silent |= device.silent;
                if let Some(u) = device.utilization.filter(|_| !device.silent) {
                    (utilization, read) = (utilization + u, read + 1);
                }
                account_of(&mut state.devices, &device.id).book(&seen, credit, state.steps);
                whole.merge(&seen);
            }
            any_compute |= whole.phase == Phase::Compute;
            account_of(&mut state.boards, &board.board).book(&whole, credit, state.steps);
            state.instance.book(&whole, share, state.steps);
            parts.add(&whole, share);
        }
        state.hours.book(step.at, credit, &parts);
        match passed {
            Passed::Watched(_) if read > 0 => {
                state.swings.take(step.mono, utilization / f64::from(read));
            }
            _ => state.swings.forget(),
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

    fn note_processes(&mut self, step: &Step<'_>) {
        let threshold = self.config.compute_threshold;
        let mut devices = step.boards.iter().flat_map(|b| &b.devices);
        let computes = devices.clone().any(|d| d.computes(threshold));
        let process = computes || devices.any(|d| d.has_process == Some(true));
        self.state.process_seen |= process;
        self.state.starts.look(step.at, process, computes);
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

    /// The integral of a device's work ratio, and the seconds in which that was known.
    #[must_use]
    pub fn work_seconds(&self, device: &DeviceId) -> Option<(f64, f64)> {
        let account = self.state.devices.get(device)?;
        Some(account.work_seconds).filter(|(_, known)| *known > 0.0)
    }

    /// Seconds of a device's compute that were stalled, and throttled; `None` where no rule has looked.
    #[must_use]
    pub fn of_which(&self, device: &DeviceId) -> Option<(f64, f64)> {
        self.state.devices.get(device)?.of_which()
    }

    /// The steps of this start, and earlier starts.
    #[must_use]
    pub fn startup(&self) -> Startup {
        self.state.starts.startup(self.state.start)
    }

    /// Takes another configuration; what was booked stays booked, prices count for all of it.
    pub fn configure(&mut self, config: &Config) {
        self.config = config.clone();
        self.resolve();
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

/// No price is larger; it also keeps sums within what a decimal holds, whatever a platform answers.
const PRICE_MAX: i64 = 1_000_000_000;

fn is_plausible(priced: &Priced) -> bool {
    let price = priced.price.per_hour;
    !price.is_sign_negative() && price <= Decimal::from(PRICE_MAX)
}

/// The list price of an instance that the platform names, where the catalogue has it.
fn listed(offer: &Offer) -> Option<Priced> {
    if offer.spot {
        return None;
    }
    let list = PriceList::embedded().unwrap_or_default();
    let kind = offer.instance_type.as_ref()?;
    let found = list.find(&offer.platform, kind, offer.region.as_deref())?;
    Some(Priced {
        price: found.price.clone(),
        currency: found.currency.clone(),
        at: found.at,
    })
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
