//! What devices did while they computed, over all ticks of a session: means, a percentile and seconds, in constant memory.

use super::Session;
use super::board::Share;
use super::device::DeviceState;
use crate::model::{
    Absent, BoardId, DeviceId, DeviceKind, Figure, Metric, Phase, Reading, Reason, Tallied, Value,
};
use std::collections::BTreeMap;

/// Steps of the shares of the plate that are told apart, and their width: up to four times the plate.
const STEPS: usize = 4000;
const STEP: f64 = 0.001;
/// Share of the seconds that a percentile leaves above it.
const ABOVE: f64 = 0.05;
/// What holds clocks back against the work's wish.
const HELD_BACK: u64 = Reason::ALARMING | Reason::POWER_CAP | Reason::SYNC_BOOST;

/// A mean over seconds, or why there is none.
struct Mean {
    sum: f64,
    seconds: f64,
    why: Absent,
}

impl Default for Mean {
    fn default() -> Self {
        Self {
            sum: 0.0,
            seconds: 0.0,
            why: Absent::NotReported,
        }
    }
}

impl Mean {
    fn take(&mut self, value: Value, seconds: f64) {
        match value.reading {
            Ok(number) => {
                self.sum += number * seconds;
                self.seconds += seconds;
            }
            Err(why) => self.why = why,
        }
    }

    fn get(&self) -> Reading<f64> {
        if self.seconds > 0.0 {
            Ok(self.sum / self.seconds)
        } else {
            Err(self.why)
        }
    }
}

/// The account of one device, or of all.
struct Account {
    compute_s: f64,
    power_w: Mean,
    power: Mean,
    /// Seconds by share of the plate.
    shares: Vec<f64>,
    utilization: Mean,
    work: Mean,
    /// Whether clocks were held back: its mean is the share of the seconds.
    held_back: Mean,
    by_reason: BTreeMap<u64, f64>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            compute_s: 0.0,
            power_w: Mean::default(),
            power: Mean::default(),
            shares: vec![0.0; STEPS],
            utilization: Mean::default(),
            work: Mean::default(),
            held_back: Mean::default(),
            by_reason: BTreeMap::new(),
        }
    }
}

/// What is known of a device at this tick.
struct Now {
    power_w: Value,
    power_ratio: Value,
    utilization: Value,
    work: Value,
    reasons: Value,
}

impl Account {
    fn take(&mut self, now: &Now, seconds: f64) {
        self.compute_s += seconds;
        self.utilization.take(now.utilization, seconds);
        self.work.take(now.work, seconds);
        let held = |bits: f64| f64::from(u8::from(bits as u64 & HELD_BACK != 0));
        self.held_back.take(now.reasons.map(held), seconds);
        if let Some(bits) = now.reasons.ok() {
            for reason in Reason::ALL
                .iter()
                .filter(|r| bits as u64 & HELD_BACK & r.bit != 0)
            {
                *self.by_reason.entry(reason.bit).or_default() += seconds;
            }
        }
    }

    fn take_power(&mut self, now: &Now, seconds: f64) {
        self.power_w.take(now.power_w, seconds);
        self.power.take(now.power_ratio, seconds);
        if let Some(share) = now.power_ratio.ok() {
            let step = (share.max(0.0) / STEP).round() as usize;
            if let Some(slot) = self.shares.get_mut(step.min(STEPS - 1)) {
                *slot += seconds;
            }
        }
    }

    /// The share of the plate that `ABOVE` of the seconds exceed.
    fn p95(&self) -> Reading<f64> {
        let mut left = self.power.get().map(|_| self.power.seconds * ABOVE)?;
        for (step, seconds) in self.shares.iter().enumerate().rev() {
            left -= seconds;
            if left < 0.0 {
                return Ok(step as f64 * STEP);
            }
        }
        Err(self.power.why)
    }

    fn tallied(&self, device: Option<DeviceId>) -> Tallied {
        let word = |bit: u64| Reason::words(bit).concat();
        Tallied {
            device,
            compute_seconds: self.compute_s,
            power_w: self.power_w.get(),
            power_ratio: self.power.get(),
            power_ratio_p95: self.p95(),
            utilization_ratio: self.utilization.get(),
            work_ratio: self.work.get(),
            throttled_seconds: self.held_back.get().map(|_| self.held_back.sum),
            throttle_seconds: self.by_reason.iter().map(|(b, s)| (word(*b), *s)).collect(),
        }
    }
}

/// Sums up what the devices of a session did.
#[derive(Default)]
pub struct Tally {
    devices: BTreeMap<DeviceId, Account>,
    whole: Account,
    /// Boards whose power this tick has counted already.
    counted: Vec<BoardId>,
}

impl Tally {
    /// Takes the session's newest tick, which stands for so many seconds.
    pub fn take(&mut self, session: &Session, seconds: f64) {
        self.counted.clear();
        let moment = session.moment();
        for (state, derived) in session.start.devices.iter().zip(&session.derived) {
            let account = match self.devices.get_mut(&state.device.id) {
                Some(account) => account,
                None => self.devices.entry(state.device.id.clone()).or_default(),
            };
            if state.phase != Phase::Compute {
                continue;
            }
            let figure = |figure| fresh(derived.figures.get(figure), moment.interval_s);
            let now = Now {
                power_w: figure(Figure::Power),
                power_ratio: figure(Figure::PowerRatio),
                utilization: figure(Figure::Utilization),
                work: figure(Figure::Work),
                reasons: reasons(state, session),
            };
            account.take(&now, seconds);
            account.take_power(&now, seconds);
            if state.device.kind == DeviceKind::Device {
                self.whole.take(&now, seconds);
                if self.is_first(state, derived.share, now.power_w) {
                    self.whole.take_power(&now, seconds);
                }
            }
        }
    }

    /// Whether nobody has counted this device's power yet: a board's counts once, by the first that tells it.
    fn is_first(&mut self, state: &DeviceState, share: Share, power: Value) -> bool {
        if share != Share::Shared {
            return true;
        }
        if power.reading.is_err() || self.counted.contains(&state.device.board) {
            return false;
        }
        self.counted.push(state.device.board.clone());
        true
    }

    /// What each device did, in the order of the session's, and all boards together.
    #[must_use]
    pub fn finish(&self, session: &Session) -> (Vec<Tallied>, Tallied) {
        let states = session.start.devices.iter();
        let devices = states.filter_map(|state| {
            let id = &state.device.id;
            Some(self.devices.get(id)?.tallied(Some(id.clone())))
        });
        (devices.collect(), self.whole.tallied(None))
    }
}

/// A value that is held from further back says nothing of these seconds.
fn fresh(value: Value, interval_s: f64) -> Value {
    match value.reading {
        Ok(_) if value.age_s > 2.0 * interval_s => Value::absent(Absent::Stale),
        _ => value,
    }
}

fn reasons(state: &DeviceState, session: &Session) -> Value {
    let moment = session.moment();
    let value = state.held.value(
        Metric::Reasons,
        moment.now,
        moment.interval_s,
        state.silence(),
    );
    fresh(value, moment.interval_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_of_seconds_and_absent_without_any() {
        let mut account = Account::default();
        assert_eq!(account.p95(), Err(Absent::NotReported));
        let at = |share| Now {
            power_w: Value::fresh(share * 700.0),
            power_ratio: Value::fresh(share),
            utilization: Value::fresh(1.0),
            work: Value::absent(Absent::NotSupported),
            reasons: Value::fresh(0.0),
        };
        for (share, seconds) in [(0.5, 94.0), (0.9, 2.0), (7.0, 4.0)] {
            account.take(&at(share), seconds);
            account.take_power(&at(share), seconds);
        }
        assert_eq!(account.p95(), Ok(0.9));
        let tallied = account.tallied(None);
        assert_eq!(tallied.work_ratio, Err(Absent::NotSupported));
        assert_eq!(tallied.throttled_seconds, Ok(0.0));
        assert_eq!(tallied.compute_seconds, 100.0);
    }
}
