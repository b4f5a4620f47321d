//! Innocent reasons why a device does less for a while. They are looked for first: the other rules ask for them.

use super::front::back;
use super::proof::{Answer, Limits, Proof};
use super::{Memory, Rule, Seen};
use crate::model::Comparison::{AtLeast, AtMost, Less};
use crate::model::{Cause, Threshold as T, Whose, Witness};
use crate::units::MonoTime;
use serde::{Deserialize, Serialize};

/// A pause longer than this is none of the innocent kinds, whatever it looked like.
const LONGEST_S: f64 = 600.0;
/// Seconds of work before a fall begins a pause.
const WORK_S: f64 = 10.0;

/// The pause that goes on, and what earlier ones were like.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Pauses {
    /// Seconds of work before.
    worked_s: f64,
    /// Since when work is down.
    since: Option<MonoTime>,
    /// Writes were seen since then, or just before.
    wrote: Option<MonoTime>,
    memory_before: f64,
    /// Owners' cores since then, smoothed.
    cores: super::window::Smooth,
    /// Seconds of the longest earlier pause without writes that ended by itself; and when the last one began.
    longest_s: f64,
    earlier: u32,
}

impl Pauses {
    pub(crate) fn after_gap(&mut self) {
        let kept = (self.longest_s, self.earlier);
        *self = Self::default();
        (self.longest_s, self.earlier) = kept;
    }

    /// Takes a look in.
    pub(crate) fn take(&mut self, seen: &Seen<'_>, past: Option<f64>, limits: &Limits) {
        let Some(utilization) = seen.utilization else {
            return;
        };
        if seen
            .owners
            .writes
            .is_some_and(|w| w >= limits.value(T::CheckpointWrites))
        {
            self.wrote = Some(seen.now);
        }
        let level = seen.span.zip(past).map(|(now, past)| now / past.max(0.05));
        let down = utilization < 0.10 || level.is_some_and(|l| l < 0.75);
        let working = utilization >= 0.5 && level.is_none_or(|l| l >= 0.8);
        if let Some(since) = self.since {
            let lasted = seen.now.seconds_since(since);
            if let Some(cores) = seen.owners.cores {
                self.cores.take(cores, seen.dt, 10.0);
            }
            if working {
                self.worked_s += seen.dt;
                // It must work again for a moment, or it goes on.
                if self.worked_s >= 5.0 {
                    let lasted = lasted - self.worked_s;
                    if (8.0..=LONGEST_S).contains(&lasted) && !self.is_checkpoint() {
                        self.longest_s = self.longest_s.max(lasted);
                        self.earlier = self.earlier.saturating_add(1);
                    }
                    self.since = None;
                    self.cores.forget();
                }
            } else {
                self.worked_s = 0.0;
            }
        } else if down && self.worked_s >= WORK_S {
            self.since = Some(back(seen.now, seen.dt));
            self.worked_s = 0.0;
            self.memory_before = seen.memory_used.unwrap_or(0.0);
        } else if working {
            self.worked_s = (self.worked_s + seen.dt).min(1e6);
        }
    }

    /// Seconds in the pause that goes on.
    pub(crate) fn lasts_s(&self, now: MonoTime) -> Option<f64> {
        self.since.map(|since| now.seconds_since(since))
    }

    fn is_checkpoint(&self) -> bool {
        match (self.since, self.wrote) {
            (Some(since), Some(wrote)) => wrote.seconds_since(since) >= -10.0,
            _ => false,
        }
    }
}

/// The first minutes of a process: loading, compiling, filling memory (facts, card C11).
pub(super) struct WarmUp;

impl Rule for WarmUp {
    fn cause(&self) -> Cause {
        Cause::WarmUp
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let (most, whose) = limits.get(T::WarmUpSeconds);
        let Some(age) = seen.owners.youngest_s else {
            return woken(memory, seen, limits);
        };
        let (Some(utilization), false) = (memory.front.utilization.get(0.0), age >= most) else {
            return Answer::No;
        };
        // Once it works as it will, it has started.
        let settled = memory.front.rests.share(seen.looks(60.0), 30);
        if utilization >= 0.5 && settled.is_some_and(|rests| rests < 0.05) {
            return Answer::No;
        }
        memory.front.pause = Some(Cause::WarmUp);
        Answer::Yes(
            Proof::of(Cause::WarmUp)
                .with(Witness::OwnerAge, age, Less, (most, whose), 0.0)
                .with(
                    Witness::Utilization,
                    utilization,
                    AtMost,
                    (1.0, Whose::OURS),
                    10.0,
                ),
        )
    }
}

/// The same where no process can be seen: a device that was woken and has done nothing since.
fn woken(memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
    let Some(lasts) = awake_s(memory, seen, limits) else {
        return Answer::No;
    };
    memory.front.pause = Some(Cause::WarmUp);
    if lasts >= limits.value(T::WakeStalled) {
        return Answer::No;
    }
    by_waking(Cause::WarmUp, memory, seen, limits, lasts)
}

/// A start-up that comes to nothing, where no process can be seen: a device that was woken and that long after has not
/// worked once, whether it stays awake or gives up. What it waits for cannot be seen from here: its cause is unknown,
/// and no pause of any kind. It is no idle device either, until it has lain so for as long as a start-up may take.
pub(super) struct StartStalled;

impl Rule for StartStalled {
    fn cause(&self) -> Cause {
        Cause::Unknown
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        if seen.owners.youngest_s.is_some() {
            return Answer::No;
        }
        let (stalled, whose) = limits.get(T::WakeStalled);
        let Some(lasts) = awake_s(memory, seen, limits).filter(|lasts| *lasts >= stalled) else {
            return Answer::No;
        };
        match by_waking(Cause::Unknown, memory, seen, limits, lasts) {
            Answer::Yes(proof) => {
                let limit = (stalled, whose);
                let mut proof = proof.with(Witness::PauseSeconds, lasts, AtLeast, limit, lasts);
                proof.back_s = (lasts - seen.dt).max(0.0);
                Answer::Yes(proof)
            }
            other => other,
        }
    }
}

/// Seconds since it was woken, as long as that may be a start-up.
fn awake_s(memory: &Memory, seen: &Seen<'_>, limits: &Limits) -> Option<f64> {
    let lasts = seen.now.seconds_since(memory.front.wake.since?);
    (lasts < limits.value(T::WarmUpSeconds)).then_some(lasts)
}

fn by_waking(
    cause: Cause,
    memory: &Memory,
    seen: &Seen<'_>,
    limits: &Limits,
    lasts: f64,
) -> Answer {
    let wake = memory.front.wake;
    let Some(utilization) = seen.utilization else {
        return Answer::NotEnough;
    };
    let mut proof = Proof::of(cause)
        .with(
            Witness::MemoryUsed,
            wake.memory,
            AtLeast,
            limits.get(T::WakeMemory),
            lasts,
        )
        .with(
            Witness::PowerSpan,
            wake.span,
            AtLeast,
            limits.get(T::WakeSpan),
            lasts,
        )
        .with(
            Witness::Utilization,
            utilization,
            AtMost,
            limits.compute(),
            0.0,
        );
    // Whose start it is, and why it does not come to work, is not seen from here.
    proof.can_be_sure = false;
    Answer::Yes(proof)
}

/// A checkpoint is stored: work stops, and the owners write.
pub(super) struct CheckpointPause;

impl Rule for CheckpointPause {
    fn cause(&self) -> Cause {
        Cause::CheckpointPause
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let Some(lasts) = memory.pauses.lasts_s(seen.now) else {
            return Answer::No;
        };
        if !memory.pauses.is_checkpoint() || lasts > LONGEST_S {
            return Answer::No;
        }
        // It ends with its writes, give or take what is flushed behind them.
        let wrote = memory
            .pauses
            .wrote
            .map_or(f64::INFINITY, |w| seen.now.seconds_since(w));
        if wrote > 30.0 {
            return Answer::No;
        }
        memory.front.pause = Some(Cause::CheckpointPause);
        Answer::Yes(
            Proof::of(Cause::CheckpointPause)
                .with_some(
                    Witness::OwnerWrites,
                    memory.front.writes.get(0.0),
                    AtLeast,
                    limits.get(T::CheckpointWrites),
                    10.0,
                )
                .with(
                    Witness::PauseSeconds,
                    lasts,
                    Less,
                    (LONGEST_S, Whose::OURS),
                    lasts,
                ),
        )
    }
}

/// One thread compiles, device memory grows, the device waits.
pub(super) struct CompilePause;

impl Rule for CompilePause {
    fn cause(&self) -> Cause {
        Cause::CompilePause
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, _: &Limits) -> Answer {
        let Some(lasts) = memory.pauses.lasts_s(seen.now) else {
            return Answer::No;
        };
        let Some(cores) = memory.pauses.cores.get(2.0) else {
            return Answer::NotEnough;
        };
        let one = (0.7..1.6).contains(&cores);
        let waits = seen.owners.waiting.is_some_and(|w| w > 0.0);
        let resting = memory.front.utilization.get(0.0).is_some_and(|u| u < 0.5);
        if !one || waits || !resting || lasts > 300.0 || memory.front.pause.is_some() {
            return Answer::No;
        }
        memory.front.pause = Some(Cause::CompilePause);
        Answer::Yes(
            Proof::of(Cause::CompilePause)
                .with(Witness::OwnerCores, cores, AtMost, (1.6, Whose::OURS), 10.0)
                .with(
                    Witness::PauseSeconds,
                    lasts,
                    Less,
                    (300.0, Whose::OURS),
                    lasts,
                ),
        )
    }
}

/// Another level of work, as it came before: evaluation. Shorter than twice the longest earlier one it is not reported.
pub(super) struct EvalPause;

impl Rule for EvalPause {
    fn cause(&self) -> Cause {
        Cause::EvalPause
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer {
        let Some(lasts) = memory.pauses.lasts_s(seen.now) else {
            return Answer::No;
        };
        if memory.front.pause.is_some() || memory.front.spin.is_some() {
            return Answer::No;
        }
        // Owners or memory moved along: that is other work.
        let step = memory.front.step.age_s(seen.now);
        if step.is_some_and(|age| age <= lasts + 60.0) {
            return Answer::No;
        }
        let (times, whose) = limits.get(T::PauseLonger);
        let earlier = memory.pauses.longest_s;
        if memory.pauses.earlier == 0 || lasts > times * earlier {
            return another_level(memory, seen, lasts);
        }
        memory.front.pause = Some(Cause::EvalPause);
        Answer::Yes(Proof::of(Cause::EvalPause).with(
            Witness::PauseSeconds,
            lasts,
            AtMost,
            (times * earlier, whose),
            lasts,
        ))
    }
}

/// A first time at another level of work, still busy and held back by nothing: named, but it excuses nothing.
fn another_level(memory: &Memory, seen: &Seen<'_>, lasts: f64) -> Answer {
    let front = &memory.front;
    let busy = seen.utilization.is_some_and(|u| u >= 0.4);
    let looks = seen.looks(20.0);
    let slowed = [&front.heat, &front.brake]
        .iter()
        .any(|bits| bits.share(looks, 1).is_some_and(|share| share > 0.2));
    if !busy || slowed || lasts > LONGEST_S {
        return Answer::No;
    }
    Answer::Yes(Proof::of(Cause::EvalPause).with(
        Witness::PauseSeconds,
        lasts,
        Less,
        (LONGEST_S, Whose::OURS),
        lasts,
    ))
}

/// Owners, memory and power moved together: another phase, or another job (facts, card C12).
pub(super) struct WorkChanged;

/// Seconds for which it is news.
const NEWS_S: f64 = 60.0;

impl Rule for WorkChanged {
    fn cause(&self) -> Cause {
        Cause::WorkChanged
    }

    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, _: &Limits) -> Answer {
        let Some(age) = memory
            .front
            .step
            .age_s(seen.now)
            .filter(|age| *age < NEWS_S)
        else {
            return Answer::No;
        };
        Answer::Yes(Proof::of(Cause::WorkChanged).with(
            Witness::StepAge,
            age,
            Less,
            (NEWS_S, Whose::OURS),
            NEWS_S,
        ))
    }
}
