//! Several recordings of one instance as one: no second twice.
//!
//! At each instant one file leads, and its ticks are taken. Another one is turned to only where the leading file has none
//! for longer than a gap; what the other has of a time that is covered already is left out. So where files overlap, the
//! one that began earlier counts until it ends or pauses, whatever their order on the command line.

use super::cursor::Cursor;
use super::error::RecordError;
use super::reader::{Reader, Record, StartRecord};
use crate::model::{Change, DeviceId, Event, EventKind, Tick};
use crate::units::MonoTime;
use std::collections::VecDeque;

/// More intervals than this without a tick, and another file is turned to.
const GAP_INTERVALS: f64 = 1.5;
/// Wall time less boot clock tells one boot from another; clocks are set by less than this.
const SAME_BOOT_S: f64 = 60.0;
/// Notes that were left out with their ticks are kept at most.
const NOTES_KEPT: usize = 1000;

/// Changes of ticks that were left out are kept at most.
const MISSED_KEPT: usize = 20_000;

/// One thing of several recordings, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Merged {
    /// Before the tick that follows: what its own file's session stood at. `whole`: all ticks so far are that file's, so
    /// that it says the same of them, and more.
    Start {
        /// The Start.
        start: StartRecord,
        /// It can take the place of what was folded; else only its settings count.
        whole: bool,
    },
    /// The next tick.
    Tick(Box<Tick>),
}

/// Several recordings, read as one. Memory is that of a block of each.
pub struct Merge {
    files: Vec<Source>,
    /// Which file leads.
    leads: Option<usize>,
    /// The only file that ticks were taken of so far.
    only: Option<usize>,
    taken_any: bool,
    newest: Option<Instant>,
    /// Notes of the last ticks that were taken, and of those left out, which are still to be told.
    told: VecDeque<Event>,
    notes: Vec<Event>,
    ready: VecDeque<Merged>,
    failed: Option<RecordError>,
    over: bool,
}

struct Source {
    reader: Reader,
    cursor: Cursor,
    /// What comes next, when that is, and the fresh Start before it.
    head: Option<(Box<Tick>, Instant)>,
    newest: Option<Instant>,
    start: Option<StartRecord>,
    /// What changed in ticks that were left out.
    missed: Vec<Change>,
    over: bool,
}

impl Merge {
    /// Reads recordings as one. They are not changed.
    ///
    /// # Errors
    /// One of them is damaged where it begins.
    pub fn new(readers: Vec<Reader>) -> Result<Self, RecordError> {
        let mut files = Vec::new();
        for reader in readers {
            let mut file = Source {
                cursor: reader.cursor(reader.first()),
                reader,
                head: None,
                newest: None,
                start: None,
                missed: Vec::new(),
                over: false,
            };
            file.look()?;
            files.push(file);
        }
        // Whoever began earlier leads; of two that began together, the one that goes on longer.
        let key = |file: &Source| {
            let first = file.head.as_ref().map(|(tick, _)| (tick.at, tick.mono));
            let last = file.reader.newest().ok().flatten();
            (first.is_none(), first, std::cmp::Reverse(last))
        };
        files.sort_by_key(key);
        Ok(Self {
            files,
            leads: None,
            only: None,
            taken_any: false,
            newest: None,
            told: VecDeque::new(),
            notes: Vec::new(),
            ready: VecDeque::new(),
            failed: None,
            over: false,
        })
    }

    /// The session that the first file begins with; `None` where there is none at all.
    ///
    /// # Errors
    /// The file is damaged there.
    pub fn first_start(&self) -> Result<Option<StartRecord>, RecordError> {
        match self.files.first() {
            Some(file) => file.reader.start_before(file.reader.first()),
            None => Ok(None),
        }
    }

    /// Makes the next thing ready; `false` at the end.
    fn advance(&mut self) -> Result<bool, RecordError> {
        self.leave_out_what_is_covered()?;
        let Some(next) = self.turn() else {
            return Ok(false);
        };
        let Some(file) = self.files.get_mut(next) else {
            return Ok(false);
        };
        let Some((mut tick, instant)) = file.head.take() else {
            return Ok(false);
        };
        let start = file.start.take();
        if !file.missed.is_empty() {
            let mut changes = std::mem::take(&mut file.missed);
            changes.append(&mut tick.changes);
            tick.changes = changes;
        }
        let turned = self.leads.is_some_and(|leads| leads != next);
        self.leads = Some(next);
        self.only = if self.taken_any {
            self.only.filter(|only| *only == next)
        } else {
            Some(next)
        };
        if let Some(start) = start {
            let whole = self.only.is_some();
            if self.taken_any {
                self.ready.push_back(Merged::Start { start, whole });
            }
        } else if turned && let Some(file) = self.files.get(next) {
            // The settings of the file that is turned to count from here on.
            let n = file.cursor.next_number() - 1;
            if let Some(start) = file.reader.start_before(n)? {
                self.ready.push_back(Merged::Start {
                    start,
                    whole: false,
                });
            }
        }
        self.taken_any = true;
        self.tell_notes(&mut tick);
        self.newest = Some(instant);
        self.ready.push_back(Merged::Tick(tick));
        if let Some(file) = self.files.get_mut(next) {
            file.look()?;
        }
        Ok(true)
    }

    /// Heads that lie before what was taken are covered by it.
    fn leave_out_what_is_covered(&mut self) -> Result<(), RecordError> {
        let Some(newest) = self.newest else {
            return Ok(());
        };
        for place in 0..self.files.len() {
            if self.leads == Some(place) {
                continue;
            }
            let Some(file) = self.files.get_mut(place) else {
                continue;
            };
            while let Some((tick, _)) = file
                .head
                .as_ref()
                .filter(|(_, at)| at.is_covered_by(&newest))
            {
                let marks = tick
                    .events
                    .iter()
                    .filter(|event| event.kind == EventKind::Mark);
                self.notes.extend(marks.cloned());
                file.leave_out();
                file.look()?;
            }
        }
        self.notes.truncate(NOTES_KEPT);
        Ok(())
    }

    /// Which file's head is next: the leading one's, unless it is so late that another one has something before it.
    fn turn(&self) -> Option<usize> {
        let heads = || {
            let files = self.files.iter().enumerate();
            files.filter_map(|(place, file)| Some((place, file.head.as_ref()?.1)))
        };
        let sooner =
            |a: (usize, Instant), b: (usize, Instant)| if b.1.since(&a.1) < 0.0 { b } else { a };
        let earliest = heads().reduce(sooner)?.0;
        let leading = heads().find(|(place, _)| self.leads == Some(*place));
        let (Some((place, head)), Some(newest)) = (leading, self.newest) else {
            return Some(earliest);
        };
        let gap = GAP_INTERVALS * newest.interval_s.max(head.interval_s);
        let late = !(0.0..=gap).contains(&head.since(&newest));
        Some(if late { earliest } else { place })
    }

    /// Notes of ticks that were left out go into the next one, unless the file that was taken has them too.
    fn tell_notes(&mut self, tick: &mut Tick) {
        let marks = tick
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Mark);
        self.told.extend(marks.cloned());
        let over = self.told.len().saturating_sub(NOTES_KEPT);
        self.told.drain(..over);
        let told = &self.told;
        let (now, later): (Vec<Event>, Vec<Event>) = std::mem::take(&mut self.notes)
            .into_iter()
            .partition(|note| note.at <= tick.at);
        self.notes = later;
        let new = now.into_iter().filter(|note| !told.contains(note));
        tick.events.extend(new);
    }
}

impl Source {
    /// Reads until there is a head.
    fn look(&mut self) -> Result<(), RecordError> {
        while self.head.is_none() && !self.over {
            match self.reader.read(&mut self.cursor) {
                None => self.over = true,
                Some(Err(error)) => {
                    self.over = true;
                    return Err(error);
                }
                Some(Ok(Record::Start(start))) if start.fresh => self.start = Some(start),
                Some(Ok(Record::Start(_))) => {}
                Some(Ok(Record::Tick(_, tick))) => {
                    let instant = Instant::of(&tick, self.newest.as_ref());
                    self.newest = Some(instant);
                    self.head = Some((tick, instant));
                }
            }
        }
        Ok(())
    }

    /// Leaves the head out, but for what has changed with it.
    fn leave_out(&mut self) {
        let Some((tick, _)) = self.head.take() else {
            return;
        };
        for change in tick.changes {
            self.missed.retain(|known| !replaces(&change, known));
            self.missed.push(change);
        }
        let over = self.missed.len().saturating_sub(MISSED_KEPT);
        self.missed.drain(..over);
    }
}

/// Whether a change makes an earlier one meaningless.
fn replaces(later: &Change, earlier: &Change) -> bool {
    /// What a change is of, and which device's.
    fn of(change: &Change) -> (u8, Option<&DeviceId>) {
        match change {
            Change::Device(device) => (0, Some(&device.id)),
            Change::Path(id, _) => (1, Some(id)),
            Change::Processes(id, _) => (2, Some(id)),
            Change::HostProcesses(_) => (3, None),
            Change::Host(_) => (4, None),
            Change::Probe(_) => (5, None),
            Change::Silent(id, ..) | Change::Answers(id) => (6, Some(id)),
            Change::Gone(id) => (7, Some(id)),
            Change::Platform(_) => (8, None),
        }
    }
    match (later, earlier) {
        (Change::Probe(a), Change::Probe(b)) => a.vendor == b.vendor,
        // A device that is gone takes all of it along; one that is introduced again is not gone.
        (Change::Gone(id), earlier) => of(earlier).1 == Some(id),
        (Change::Device(device), Change::Gone(id)) => device.id == *id,
        (later, earlier) => of(later) == of(earlier),
    }
}

/// When a tick was, on both clocks.
#[derive(Debug, Clone, Copy)]
struct Instant {
    at: jiff::Timestamp,
    mono: MonoTime,
    interval_s: f64,
    /// Wall time less boot clock, at the first tick of this boot in its file and now: between the two, the wall clock
    /// may have been set.
    boots: [f64; 2],
}

impl Instant {
    fn of(tick: &Tick, before: Option<&Self>) -> Self {
        let boot = tick.at.as_nanosecond() as f64 / 1e9 - tick.mono.0 as f64 / 1e9;
        let first = before
            .filter(|before| before.mono <= tick.mono)
            .map_or(boot, |b| b.boots[0]);
        Self {
            at: tick.at,
            mono: tick.mono,
            interval_s: tick.interval.as_secs_f64(),
            boots: [first, boot],
        }
    }

    /// Seconds since another one: on the boot clock within one boot, else on the wall's.
    fn since(&self, earlier: &Self) -> f64 {
        let near = |a: &f64| earlier.boots.iter().any(|b| (a - b).abs() <= SAME_BOOT_S);
        if self.boots.iter().any(near) {
            self.mono.seconds_since(earlier.mono)
        } else {
            self.at.duration_since(earlier.at).as_secs_f64()
        }
    }

    /// A tick so near to one that was taken is of the same second.
    fn is_covered_by(&self, taken: &Self) -> bool {
        self.since(taken) <= 0.5 * self.interval_s.min(taken.interval_s)
    }
}

impl Iterator for Merge {
    type Item = Result<Merged, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(Ok(ready));
            }
            if self.over {
                return None;
            }
            if let Some(error) = self.failed.take() {
                self.over = true;
                return Some(Err(error));
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                // What was made ready before it comes first.
                Err(error) => self.failed = Some(error),
            }
        }
    }
}
