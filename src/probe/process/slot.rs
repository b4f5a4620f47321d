//! What the probe process knows of one device.

use super::Pace;
use super::lane::Lane;
use crate::model::{Absent, Change, Device, DeviceProcess, Hop, Metric, Reading, Readings, Sample};
use crate::probe::backoff::Backoff;
use crate::probe::vendor::Answer;
use crate::units::MonoTime;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A device that was taken out of the sweep comes back after as many prompt answers in a row.
const PROMPT_ANSWERS: u32 = 3;

/// Memory of a device that comes or goes when a process does: a CUDA context takes some hundred MiB, and what jitters is less
/// (facts on contexts: 200 to 600 MiB).
const MEMORY_STEP: f64 = 64.0 * 1024.0 * 1024.0;

/// One device: its row stays for as long as the library lists it, whatever it answers.
pub(super) struct Slot {
    pub(super) device: Arc<Device>,
    /// A sweep's call that was left behind and has not come back.
    pub(super) out: bool,
    /// Its own waiting thread, once a sweep had to leave it behind.
    pub(super) own: Option<Own>,
    /// A call of the slow lane that was left behind and has not come back.
    pub(super) side_stuck: bool,
    pub(super) retry: Backoff,
    pub(super) silent: Option<Absent>,
    pub(super) newest: Option<Sample>,
    pub(super) slow: Slow,
    pub(super) pcie: Pcie,
    pub(super) processes: Processes,
    path: Vec<Hop>,
}

/// The thread of a device that is not part of the sweep.
pub(super) struct Own {
    pub(super) lane: Lane,
    /// When it was asked what it has not answered yet.
    pub(super) asked: Option<Instant>,
    prompt: u32,
}

/// Readings that change rarely.
pub(super) struct Slow {
    pub(super) due: Instant,
    pub(super) asked: bool,
    /// It was tried at least once.
    pub(super) tried: bool,
    readings: Readings,
    at: Option<Instant>,
}

/// PCIe rates by blocking calls.
pub(super) struct Pcie {
    pub(super) needed: bool,
    pub(super) due: Instant,
    pub(super) asked: Option<Instant>,
    newest: Option<(Instant, [Reading<f64>; 2])>,
}

/// The driver's process list.
pub(super) struct Processes {
    pub(super) due: Instant,
    pub(super) asked: Option<Instant>,
    /// It was asked at least once.
    pub(super) tried: bool,
    /// The last two lists held the same processes.
    steady: bool,
    /// One round is left out, as nobody came or went.
    rests: bool,
    /// Memory in use before it was asked, and by the newest sample.
    memory: [Reading<f64>; 2],
    newest: Option<Reading<Vec<DeviceProcess>>>,
}

impl Processes {
    /// Notes that it is asked now, and when it is again: all at once the first time, then spread over the devices, each on
    /// its own grid so that it stays so. The list is the driver's dearest call, so a round is left out while the same
    /// processes are there.
    pub(super) fn ask(&mut self, now: Instant, pace: &Pace, place: Duration) {
        let next = self.due + pace.processes;
        self.due = if self.tried && next > now {
            next
        } else {
            now + place
        };
        let [before, newest] = &mut self.memory;
        *before = *newest;
        self.rests = self.tried && self.steady && newest.is_ok();
        if self.rests {
            self.due += pace.processes;
        }
        self.tried = true;
        self.asked = Some(now);
    }

    /// Looks at the memory in use: where it changed, somebody may have come or gone, and no round is left out.
    fn notice(&mut self, newest: Reading<f64>, pace: &Pace) {
        self.memory[1] = newest;
        let step = match self.memory {
            [Ok(before), Ok(newest)] => (newest - before).abs() >= MEMORY_STEP,
            [before, newest] => before.is_ok() != newest.is_ok(),
        };
        if step && std::mem::take(&mut self.rests) {
            self.due -= pace.processes;
        }
    }
}

impl Own {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            lane,
            asked: None,
            prompt: 0,
        }
    }
}

impl Slot {
    pub(super) fn new(device: Arc<Device>, now: Instant, pace: &Pace) -> Self {
        Self {
            device,
            out: false,
            own: None,
            side_stuck: false,
            retry: Backoff::new(pace.backoff),
            silent: None,
            newest: None,
            slow: Slow {
                due: now,
                asked: false,
                tried: false,
                readings: Readings::default(),
                at: None,
            },
            pcie: Pcie {
                needed: false,
                due: now,
                asked: None,
                newest: None,
            },
            processes: Processes {
                due: now,
                asked: None,
                tried: false,
                steady: false,
                rests: false,
                memory: [Err(Absent::NotReported); 2],
                newest: None,
            },
            path: Vec::new(),
        }
    }

    /// Whether calls beside the sweep make sense now: a device that does not answer is not asked more.
    pub(super) fn answers(&self) -> bool {
        self.silent.is_none() && !self.out
    }

    /// Whether the rare readings and a process list have been there, or the reason why not.
    pub(super) fn is_known(&self) -> bool {
        self.slow.tried && self.processes.newest.is_some()
    }

    /// Says once that it does not answer, and again only for another reason.
    pub(super) fn silence(&mut self, why: Absent, since: MonoTime, changes: &mut Vec<Change>) {
        if self.silent != Some(why) {
            self.silent = Some(why);
            changes.push(Change::Silent(self.device.id.clone(), why, since));
        }
    }

    /// What a sample starts from: the readings that change rarely, as far as they are not too old.
    pub(super) fn base(&self, now: Instant, pace: &Pace) -> Readings {
        let mut readings = self.slow.readings.clone();
        let old = |at: Instant| now.duration_since(at) > pace.slow * 3;
        if self.slow.at.is_some_and(old) {
            for metric in Metric::ALL {
                if readings.get(*metric).is_ok() {
                    readings.set(*metric, Err(Absent::TimedOut));
                }
            }
        }
        readings
    }

    /// Takes in how it answered a sweep; `true` if the library has to be opened again.
    pub(super) fn accept(
        &mut self,
        at: MonoTime,
        mut readings: Readings,
        answer: Answer,
        now: Instant,
        pace: &Pace,
        changes: &mut Vec<Change>,
    ) -> bool {
        match answer {
            Answer::Answered => {
                self.retry.reset();
                if self.silent.take().is_some() {
                    changes.push(Change::Answers(self.device.id.clone()));
                }
                self.merge_pcie(&mut readings, now, pace);
                self.processes
                    .notice(readings.get(Metric::MemoryUsed), pace);
                self.newest = Some(Sample {
                    device: self.device.id.clone(),
                    at,
                    readings,
                });
                false
            }
            Answer::Lost(why) => {
                self.retry.fail(now);
                self.silence(why, at, changes);
                false
            }
            Answer::Reopen => {
                self.retry.fail(now);
                self.silence(Absent::Lost, at, changes);
                true
            }
        }
    }

    /// Puts the newest rates of the blocking calls into a sample.
    fn merge_pcie(&self, readings: &mut Readings, now: Instant, pace: &Pace) {
        if !self.pcie.needed {
            return;
        }
        let fresh = |at: Instant| now.duration_since(at) <= pace.pcie_stale;
        let rates = match (self.pcie.newest, self.pcie.asked) {
            (Some((at, rates)), _) if fresh(at) => rates,
            (None, Some(asked)) if fresh(asked) => [Err(Absent::NotReported); 2],
            (None, None) => [Err(Absent::NotReported); 2],
            _ => [Err(Absent::TimedOut); 2],
        };
        readings.set(Metric::PcieRxRate, rates[0]);
        readings.set(Metric::PcieTxRate, rates[1]);
    }

    /// Takes in rates of the blocking calls.
    pub(super) fn accept_pcie(&mut self, rates: [Reading<f64>; 2], now: Instant) {
        self.pcie.asked = None;
        self.pcie.newest = Some((now, rates));
    }

    /// Takes in the readings that change rarely.
    pub(super) fn accept_slow(
        &mut self,
        readings: Readings,
        path: Vec<Hop>,
        now: Instant,
        changes: &mut Vec<Change>,
    ) {
        self.slow.asked = false;
        self.slow.tried = true;
        self.slow.readings = readings;
        self.slow.at = Some(now);
        if self.path != path {
            self.path.clone_from(&path);
            changes.push(Change::Path(self.device.id.clone(), path));
        }
    }

    /// Takes in a process list, or why there is none.
    pub(super) fn accept_processes(
        &mut self,
        list: Reading<Vec<DeviceProcess>>,
        changes: &mut Vec<Change>,
    ) {
        let pids = |list: &[DeviceProcess]| -> Vec<u32> { list.iter().map(|p| p.pid).collect() };
        self.processes.steady = match (&self.processes.newest, &list) {
            (Some(Ok(before)), Ok(now)) => pids(before) == pids(now),
            _ => false,
        };
        if self.processes.newest.as_ref() != Some(&list) {
            changes.push(Change::Processes(self.device.id.clone(), list.clone()));
            self.processes.newest = Some(list);
        }
    }

    /// Asks its own thread; `false` if that is still busy.
    pub(super) fn ask_own(&mut self, now: Instant, pace: &Pace) -> bool {
        let base = self.base(now, pace);
        let id = self.device.id.clone();
        match &mut self.own {
            Some(own) if own.asked.is_none() => {
                own.asked = Some(now);
                own.lane.push(super::call::Call::Sample(id, base));
                true
            }
            _ => false,
        }
    }

    /// Notes that its own thread has answered; after enough prompt answers the device joins the sweep again.
    pub(super) fn own_answered(&mut self, now: Instant, deadline: Duration) {
        let Some(own) = &mut self.own else { return };
        let prompt = own
            .asked
            .take()
            .is_some_and(|asked| now.duration_since(asked) < deadline);
        own.prompt = if prompt { own.prompt + 1 } else { 0 };
        if own.prompt >= PROMPT_ANSWERS {
            self.own = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

    /// Seconds at which the list is asked, of a device whose memory in use and processes are given by the second.
    fn asked(memory: impl Fn(u64) -> Reading<f64>, pid: impl Fn(u64) -> u32) -> Vec<u64> {
        let (begin, pace) = (Instant::now(), Pace::default());
        let device = crate::probe::process::tests::device("a", 0);
        let mut slot = Slot::new(device, begin, &pace);
        (0..40)
            .filter(|second| {
                let now = begin + Duration::from_secs(*second);
                slot.processes.notice(memory(*second), &pace);
                let due = now >= slot.processes.due;
                if due {
                    slot.processes.ask(now, &pace, Duration::from_secs(2));
                    let process = DeviceProcess {
                        pid: pid(*second),
                        memory_bytes: Ok(1e9),
                        utilization_ratio: Ok(*second as f64 / 100.0),
                        instance: None,
                        graphics: false,
                    };
                    slot.processes.asked = None;
                    slot.accept_processes(Ok(vec![process]), &mut Vec::new());
                }
                due
            })
            .collect()
    }

    #[test]
    fn a_list_of_the_same_processes_is_asked_half_as_often_until_memory_comes_or_goes() {
        let steady = asked(|_| Ok(8.0 * GIB), |_| 7);
        assert_eq!(steady, [0, 2, 7, 17, 27, 37]);
        // One that jitters by less than a process is steady.
        let jitters = asked(|second| Ok(8.0 * GIB + (second % 3) as f64 * 1e6), |_| 7);
        assert_eq!(jitters, steady);
        // A process ends in the 20th second, and another holds memory from the 24th.
        let left = |second| {
            Ok(if (20..24).contains(&second) {
                0.0
            } else {
                8.0 * GIB
            })
        };
        assert_eq!(asked(left, |_| 7), [0, 2, 7, 17, 22, 27, 37]);
        // Others each time, or memory that nobody tells: every round.
        let every = [0, 2, 7, 12, 17, 22, 27, 32, 37];
        assert_eq!(asked(|_| Ok(8.0 * GIB), |second| second as u32), every);
        assert_eq!(asked(|_| Err(Absent::NotSupported), |_| 7), every);
    }
}
