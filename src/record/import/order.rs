//! From the lines of a log to ticks: put in order within a bounded window, duplicates dropped, lines of one poll
//! gathered, the interval inferred.

use super::device::Devices;
use super::entry::{Entry, Row, Warnings, Whole};
use super::error::{ImportError, KNOWN};
use crate::model::{Absent, Change, DeviceId, Metric, Readings, Sample, Tick};
use crate::units::MonoTime;
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::Duration;

/// Lines that wait to be put in order: a line may stand this many lines from its place.
pub(super) const WINDOW: usize = 1024;
/// Gaps between the samples of a device that the interval is the median of.
const GAPS: usize = 31;
/// What the interval is taken for in a log of one instant.
const INTERVAL_UNKNOWN: Duration = Duration::from_secs(1);
/// Nobody's log has a hole of ten years: instants beyond one come from a clock that was not set.
const UNSET_CLOCK_S: f64 = 10.0 * 365.0 * 86_400.0;
/// So many lines at most come from a clock that was not set.
const UNSET_LINES: usize = 64;

/// A line in its place.
struct Placed {
    at: Timestamp,
    id: DeviceId,
    entry: Entry,
}

impl Placed {
    fn key(&self) -> (Timestamp, &DeviceId, u64) {
        (self.at, &self.id, self.entry.line)
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Which zeros of a log are readings (see `Format::zero_is_read`).
pub(super) type ZeroIsRead<'a> = &'a dyn Fn(Metric) -> bool;

/// Gathers lines into ticks.
#[derive(Default)]
pub(super) struct Order {
    heap: BinaryHeap<Reverse<Placed>>,
    untimed: VecDeque<Entry>,
    devices: Devices,
    /// When each device was last sampled.
    sampled: HashMap<DeviceId, Timestamp>,
    gaps: VecDeque<Duration>,
    /// From the window before the first tick.
    first_interval: Option<Duration>,
    interval: Option<Duration>,
    seq: u64,
    last: Option<Timestamp>,
    late: u64,
    doubled: u64,
    differing: u64,
    silent: HashSet<DeviceId>,
}

impl Order {
    /// Whether a tick can be made before more lines come.
    pub(super) fn is_full(&self) -> bool {
        self.heap.len() >= WINDOW || self.untimed.len() >= WINDOW
    }

    /// The interval of the newest tick, once there are two.
    pub(super) const fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// Takes a line in.
    pub(super) fn take(&mut self, entry: Entry, warnings: &mut Warnings) {
        let Some(at) = entry.at else {
            self.untimed.push_back(entry);
            return;
        };
        if self.last.is_some_and(|last| at < last) {
            if self.late == 0 {
                let text = "its instant lies before lines that were read long ago: left out (logs joined in another \
                            order, or a clock that was set back)";
                warnings.add(entry.line, text);
            }
            self.late += 1;
            return;
        }
        let id = match entry.rows.first() {
            Some(row) if entry.whole.is_none() => row.id.clone(),
            _ => DeviceId("".into()),
        };
        self.heap.push(Reverse(Placed { at, id, entry }));
    }

    /// The next tick, once the window is full or the log has ended.
    ///
    /// # Errors
    /// The log names more devices than there can be.
    pub(super) fn next(
        &mut self,
        zero: ZeroIsRead<'_>,
        warnings: &mut Warnings,
    ) -> Result<Option<Tick>, ImportError> {
        if !self.untimed.is_empty() {
            return self.untimed_tick(zero);
        }
        if self.first_interval.is_none() && !self.heap.is_empty() {
            self.first_interval = Some(self.window_interval());
        }
        let Some(first) = self.pop(warnings) else {
            return Ok(None);
        };
        let interval = self.pace(&first);
        let whole = first.entry.whole;
        let mut at = first.at;
        let mut entries = vec![first.entry];
        if whole.is_none() {
            let mut seen: BTreeSet<DeviceId> = ids(&entries).collect();
            while let Some(Reverse(next)) = self.heap.peek() {
                let near = next.at.duration_since(entry_at(&entries, at)).as_secs_f64()
                    <= interval.as_secs_f64() / 2.0;
                let other = next.entry.rows.iter().all(|row| !seen.contains(&row.id));
                if !near || !other || next.entry.whole.is_some() {
                    break;
                }
                let Some(next) = self.pop(warnings) else {
                    break;
                };
                seen.extend(next.entry.rows.iter().map(|row| row.id.clone()));
                self.pace(&next);
                at = next.at;
                entries.push(next.entry);
            }
        }
        self.last = Some(at);
        let interval = whole.map_or(interval, |whole| whole.interval);
        self.interval = Some(interval);
        let mono = mono(at);
        self.tick(entries, at, mono, interval, whole, zero)
            .map(Some)
    }

    /// What is to be said of lines as a whole, at the end.
    pub(super) fn conclude(&self, warnings: &mut Warnings) {
        if self.late > 1 {
            let text = format!(
                "{} lines in all came too late to be put in order",
                self.late
            );
            warnings.add(0, text);
        }
        if self.differing > 0 {
            let text = format!(
                "{} lines give other numbers for a device and an instant that another line has already: one of each \
                 was kept",
                self.differing
            );
            warnings.add(0, text);
        }
    }

    /// Takes the next line out, without its doubles.
    fn pop(&mut self, warnings: &mut Warnings) -> Option<Placed> {
        let Reverse(mut first) = self.heap.pop()?;
        while let Some(Reverse(next)) = self.heap.peek() {
            if next.at != first.at || next.id != first.id {
                break;
            }
            let Some(Reverse(next)) = self.heap.pop() else {
                break;
            };
            self.doubled += 1;
            let weight = |placed: &Placed| {
                let rows = placed.entry.rows.iter();
                rows.map(Row::weight).collect::<Vec<_>>()
            };
            let (kept, other) = (weight(&first), weight(&next));
            if kept != other {
                self.differing += 1;
            }
            if other > kept {
                first = next;
            }
        }
        if self.unset_clock(&first) {
            warnings.add(
                first.entry.line,
                "its instant is years away from all others: left out (a clock that was not set)",
            );
            return self.pop(warnings);
        }
        Some(first)
    }

    /// Whether a line's instant is years away from the log's others, of which there are more.
    fn unset_clock(&self, placed: &Placed) -> bool {
        let away =
            |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64() > UNSET_CLOCK_S;
        let before = self.last.is_none()
            && self
                .heap
                .peek()
                .is_some_and(|Reverse(next)| away(placed.at, next.at));
        let after = self.heap.len() < UNSET_LINES && self.last.is_some_and(|l| away(l, placed.at));
        before || after
    }

    /// Notes the gap since the device's previous sample; answers with the interval as of now.
    fn pace(&mut self, placed: &Placed) -> Duration {
        for row in placed.entry.rows.iter().filter(|row| row.silent.is_none()) {
            if let Some(before) = self.sampled.insert(row.id.clone(), placed.at) {
                let gap = placed.at.duration_since(before).unsigned_abs();
                if !gap.is_zero() {
                    self.gaps.push_back(gap);
                }
            }
        }
        while self.gaps.len() > GAPS {
            self.gaps.pop_front();
        }
        let enough = self.gaps.len() >= 5;
        let median = median(self.gaps.iter().copied()).filter(|_| enough);
        median.or(self.first_interval).unwrap_or(INTERVAL_UNKNOWN)
    }

    /// The median gap of all devices in the window.
    fn window_interval(&self) -> Duration {
        let mut times: HashMap<&DeviceId, Vec<Timestamp>> = HashMap::new();
        for Reverse(placed) in &self.heap {
            for row in placed.entry.rows.iter().filter(|row| row.silent.is_none()) {
                times.entry(&row.id).or_default().push(placed.at);
            }
        }
        let gaps = times.values_mut().flat_map(|all| {
            all.sort_unstable();
            all.windows(2)
                .filter_map(|pair| match pair {
                    [a, b] => Some(b.duration_since(*a).unsigned_abs()),
                    _ => None,
                })
                .filter(|gap| !gap.is_zero())
                .collect::<Vec<_>>()
        });
        median(gaps).unwrap_or(INTERVAL_UNKNOWN)
    }

    /// Lines without a time: those up to the second one of a device are a tick, in which no time passes.
    fn untimed_tick(&mut self, zero: ZeroIsRead<'_>) -> Result<Option<Tick>, ImportError> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(next) = self.untimed.front() {
            let again = next
                .rows
                .iter()
                .any(|row| ids(&entries).any(|id| id == row.id));
            if again {
                break;
            }
            entries.extend(self.untimed.pop_front());
        }
        let at = Timestamp::UNIX_EPOCH;
        self.tick(entries, at, MonoTime(0), INTERVAL_UNKNOWN, None, zero)
            .map(Some)
    }

    fn tick(
        &mut self,
        entries: Vec<Entry>,
        at: Timestamp,
        now: MonoTime,
        interval: Duration,
        whole: Option<Whole>,
        zero: ZeroIsRead<'_>,
    ) -> Result<Tick, ImportError> {
        self.seq += 1;
        let mut tick = Tick {
            seq: whole.map_or(self.seq, |whole| whole.seq),
            at,
            mono: now,
            interval,
            dropped: whole.map_or(0, |whole| whole.dropped),
            samples: Vec::new(),
            host: None,
            changes: Vec::new(),
            events: Vec::new(),
        };
        for entry in entries {
            let taken = entry.at.map_or(now, mono);
            for row in entry.rows {
                self.row(row, entry.line, taken, zero, &mut tick)?;
            }
            tick.host = entry.host.map(|host| *host).or(tick.host);
            tick.changes.extend(entry.changes);
            tick.events.extend(entry.events);
        }
        Ok(tick)
    }

    fn row(
        &mut self,
        row: Row,
        line: u64,
        taken: MonoTime,
        zero: ZeroIsRead<'_>,
        tick: &mut Tick,
    ) -> Result<(), ImportError> {
        let change = self
            .devices
            .announce(&row)
            .map_err(|most| ImportError::at(line, format!("more than {most} devices"), KNOWN))?;
        tick.changes.extend(change);
        if let Some(why) = row.silent {
            if self.silent.insert(row.id.clone()) {
                tick.changes.push(Change::Silent(row.id, why, taken));
            }
            return Ok(());
        }
        if self.silent.remove(&row.id) {
            tick.changes.push(Change::Answers(row.id.clone()));
        }
        let mut readings = Readings::default();
        for (metric, reading) in row.values {
            let told = match reading {
                Ok(0.0) if !zero(metric) => Err(Absent::NotReported),
                other => other,
            };
            readings.set(metric, told);
        }
        tick.samples.push(Sample {
            device: row.id,
            at: taken,
            readings,
        });
        Ok(())
    }

    /// The device at an address, where a line named it.
    pub(super) fn device_at(&self, address: crate::model::PciAddress) -> Option<DeviceId> {
        let waiting = self.heap.iter().find_map(|Reverse(placed)| {
            let mut rows = placed.entry.rows.iter();
            rows.find(|row| row.identity.pci == Some(address))
                .map(|row| row.id.clone())
        });
        self.devices.at(address).or(waiting)
    }
}

fn ids(entries: &[Entry]) -> impl Iterator<Item = DeviceId> {
    entries
        .iter()
        .flat_map(|entry| entry.rows.iter().map(|row| row.id.clone()))
}

/// The first line's instant.
fn entry_at(entries: &[Entry], at: Timestamp) -> Timestamp {
    entries.first().and_then(|entry| entry.at).unwrap_or(at)
}

/// The log's instants as a clock that does not jump: its order is all that is known of it.
pub(super) fn mono(at: Timestamp) -> MonoTime {
    MonoTime(u64::try_from(at.as_nanosecond()).unwrap_or(0))
}

/// The middle of some spans, the lower of the two where there are two.
fn median(gaps: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut gaps: Vec<Duration> = gaps.collect();
    let middle = gaps.len().checked_sub(1)? / 2;
    let (_, median, _) = gaps.select_nth_unstable(middle);
    Some(*median)
}
