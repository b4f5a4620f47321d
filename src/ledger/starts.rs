//! The steps of this start, and what is remembered of earlier ones.

use crate::model::{BillingStart, PastStart, StartStep, StartSteps, Startup, StepSource};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Earlier starts kept.
const STARTS: usize = 16;
/// Two boot times, or two container starts, further apart than this are two starts: the kernel's boot time moves with
/// the wall clock's slewing.
const SAME_S: f64 = 60.0;

/// This start and earlier ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Starts {
    log: Startup,
    container: Option<Timestamp>,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    /// The host said that it was booted, or its container started, at another time than before.
    another: Option<Another>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Another {
    boot: Option<Timestamp>,
    container: Option<Timestamp>,
}

fn apart(a: Timestamp, b: Timestamp) -> bool {
    a.duration_since(b).as_secs_f64().abs() > SAME_S
}

impl Starts {
    pub(super) fn note_boot(&mut self, at: Timestamp) {
        match self.log.now.boot {
            Some(known) if apart(known.at, at) => {
                self.another.get_or_insert_default().boot = Some(at);
            }
            Some(_) => {}
            None => self.log.now.boot = Some(kernel(at)),
        }
    }

    pub(super) fn note_container(&mut self, at: Timestamp) {
        match self.container {
            Some(known) if apart(known, at) => {
                self.another.get_or_insert_default().container = Some(at);
            }
            Some(_) => {}
            None => self.container = Some(at),
        }
    }

    pub(super) fn note_driver(&mut self, at: Timestamp) {
        self.log.now.driver_visible.get_or_insert(StartStep {
            at,
            source: StepSource::Driver,
        });
    }

    /// A process owns a device since; the earliest counts, and the host's word before the list's.
    pub(super) fn note_process(&mut self, at: Timestamp) {
        let known = self.log.now.first_process;
        let source = StepSource::Process;
        if known.is_none_or(|known| known.source != source || at < known.at) {
            self.log.now.first_process = Some(StartStep { at, source });
        }
    }

    /// A start that the platform tells of. One that was seen from here, or told before, is no other: answers whether it
    /// is new.
    pub(super) fn note_run(&mut self, run: PastStart) -> bool {
        let before = |run: &PastStart, other: &PastStart| run.last_at <= other.began();
        let known = &mut self.log.earlier;
        let apart = |other: &PastStart| before(&run, other) || before(other, &run);
        let is_over = self.first_at.is_none_or(|first| run.last_at <= first);
        if !is_over || !known.iter().all(apart) {
            return false;
        }
        let place = known.partition_point(|other| before(other, &run));
        if place == 0 && known.len() >= STARTS {
            return false;
        }
        known.insert(place, run);
        let surplus = known.len().saturating_sub(STARTS);
        known.drain(..surplus);
        true
    }

    /// Whether the host spoke of another start than the one that is known.
    pub(super) fn heard_of_another(&self) -> bool {
        self.another.is_some()
    }

    /// The next step, which nobody had looked before, is of another start: this one is over.
    pub(super) fn begin_anew(&mut self, billing: Option<BillingStart>) {
        let another = self.another.take().unwrap_or_default();
        if let (Some(first_at), Some(last_at)) = (self.first_at, self.last_at) {
            let steps = StartSteps {
                billing_started: billing.map(billed),
                ..self.log.now
            };
            let past = PastStart {
                steps,
                first_at,
                last_at,
            };
            self.log.earlier.push(past);
            let surplus = self.log.earlier.len().saturating_sub(STARTS);
            self.log.earlier.drain(..surplus);
        }
        let same_boot = self.log.now.boot.filter(|_| another.container.is_some());
        self.log.now = StartSteps {
            boot: another.boot.map(kernel).or(same_boot),
            ..StartSteps::default()
        };
        self.container = another.container.or(self.container);
        self.first_at = None;
    }

    /// Somebody looked all the time, so there was no other start: the wall clock jumped, and the boot time with it.
    pub(super) fn was_only_the_clock(&mut self) {
        if let Some(another) = self.another.take() {
            if let Some(boot) = another.boot {
                self.log.now.boot = Some(kernel(boot));
            }
            self.container = another.container.or(self.container);
        }
    }

    /// Takes what a step shows: whether a process is there, whether something computes.
    pub(super) fn look(&mut self, at: Timestamp, process: bool, computes: bool) {
        let first = self.first_at.is_none();
        self.first_at.get_or_insert(at);
        self.last_at = Some(at);
        let source = |seen| if first { StepSource::Already } else { seen };
        let now = &mut self.log.now;
        if process {
            now.first_process.get_or_insert(StartStep {
                at,
                source: source(StepSource::List),
            });
        }
        if computes {
            now.first_compute.get_or_insert(StartStep {
                at,
                source: source(StepSource::Utilization),
            });
        }
    }

    /// All of it, with the begin of billing.
    pub(super) fn startup(&self, billing: Option<BillingStart>) -> Startup {
        let mut log = self.log.clone();
        log.now.billing_started = billing.map(billed);
        log
    }

    /// Earlier starts.
    pub(super) fn earlier(&self) -> &[PastStart] {
        &self.log.earlier
    }
}

fn kernel(at: Timestamp) -> StartStep {
    StartStep {
        at,
        source: StepSource::Kernel,
    }
}

fn billed(start: BillingStart) -> StartStep {
    StartStep {
        at: start.at,
        source: StepSource::Billing(start.source),
    }
}
