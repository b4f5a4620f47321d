//! Who is on a device, as the driver says.

use super::ffi::{ProcessList, ProcessRow, UseRow};
use super::unit::{Call, NO_INSTANCE, Round};
use crate::model::{Absent, DeviceId, DeviceProcess, Reading};
use crate::probe::plausible;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Linux has no higher PID (`PID_MAX_LIMIT`); drivers with a broken structure give such.
const PID_MAX: u32 = 4_194_304;
/// The driver's samples lag: asking for the last instant alone makes processes flicker to nothing.
const LOOK_BACK: Duration = Duration::from_secs(2);
/// Rows older than this are left over.
const STALE: Duration = Duration::from_secs(5);
/// Rounds for which a list that was empty is not asked.
const EMPTY_RESTS: u8 = 5;
/// What the driver writes for memory that it does not know.
const UNKNOWN_MEMORY: u64 = u64::MAX;

const LISTS: [(ProcessList, Call); 3] = [
    (ProcessList::Compute, Call::Compute),
    (ProcessList::Mps, Call::Mps),
    (ProcessList::Graphics, Call::Graphics),
];

fn can_be(pid: u32) -> bool {
    pid != 0 && pid <= PID_MAX
}

/// All rows of the three lists; absent where none of the lists answers.
fn rows(round: &Round<'_>) -> Reading<Vec<(ProcessRow, bool)>> {
    let mut rows = Vec::new();
    let mut whys = Vec::new();
    for ((list, call), rests) in LISTS.into_iter().zip(&round.unit.list_rests) {
        // Lists are the dearest calls (4.5 ms reported): one that was empty is asked again every sixth round only.
        let left = rests.load(Ordering::Relaxed);
        if list != ProcessList::Compute && left > 0 {
            rests.store(left - 1, Ordering::Relaxed);
            continue;
        }
        match round.call(call, |library, device| library.processes(device, list)) {
            Ok(found) => {
                let rest = if found.is_empty() { EMPTY_RESTS } else { 0 };
                rests.store(rest, Ordering::Relaxed);
                let graphics = list == ProcessList::Graphics;
                rows.extend(found.into_iter().map(|row| (row, graphics)));
            }
            Err(why) => whys.push(why),
        }
    }
    let telling = whys
        .iter()
        .find(|why| !matches!(why, Absent::NotSupported | Absent::NoLibrary));
    // Lists that rest say nothing: where the one that was asked fails, nobody knows that there is no process.
    if whys.len() == LISTS.len() || rows.is_empty() && telling.is_some() {
        return Err(telling
            .or(whys.first())
            .copied()
            .unwrap_or(Absent::NotSupported));
    }
    let (good, bad): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(row, _)| can_be(row.pid));
    match bad.first() {
        // A list of nothing but garbage is no empty list.
        Some((row, _)) if good.is_empty() && bad.iter().any(|(row, _)| row.pid != 0) => {
            Err(Absent::Implausible(row.pid.into()))
        }
        _ => Ok(good),
    }
}

fn memory(row: &ProcessRow, total: &Reading<f64>) -> Reading<f64> {
    match row.memory {
        UNKNOWN_MEMORY => Err(Absent::NotReported),
        bytes => plausible::memory_part(bytes, total),
    }
}

/// One row per process and instance, each PID once.
fn merged(
    rows: Vec<(ProcessRow, bool)>,
    total: &Reading<f64>,
    instance_of: impl Fn(&ProcessRow) -> Option<DeviceId>,
) -> Vec<DeviceProcess> {
    let mut places = HashMap::new();
    let mut merged: Vec<DeviceProcess> = Vec::new();
    for (row, graphics) in rows {
        let instance = instance_of(&row);
        let memory_bytes = memory(&row, total);
        let place = *places
            .entry((row.pid, instance.clone()))
            .or_insert(merged.len());
        match merged.get_mut(place) {
            // The lists tell the same memory twice.
            Some(process) => {
                process.memory_bytes = process.memory_bytes.or(memory_bytes);
                process.graphics &= graphics;
            }
            None => merged.push(DeviceProcess {
                pid: row.pid,
                memory_bytes,
                utilization_ratio: Err(Absent::NotReported),
                instance,
                graphics,
            }),
        }
    }
    merged
}

/// The newest plausible use of each PID.
fn newest_use(rows: Vec<UseRow>, now: u64) -> HashMap<u32, UseRow> {
    let oldest = now.saturating_sub(STALE.as_micros() as u64);
    let mut newest: HashMap<u32, UseRow> = HashMap::new();
    for row in rows {
        if can_be(row.pid) && row.sm <= 100 && row.at >= oldest {
            newest
                .entry(row.pid)
                .and_modify(|old| {
                    if row.at > old.at {
                        *old = row;
                    }
                })
                .or_insert(row);
        }
    }
    newest
}

fn microseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// The list of a device or instance, in the driver's order.
///
/// # Errors
/// Why there is no list.
pub(super) fn list(round: &Round<'_>) -> Reading<Vec<DeviceProcess>> {
    let unit = round.unit;
    let rows = rows(round)?;
    let memory = round.call(Call::Memory, |library, device| library.memory(device));
    let total = memory.and_then(|memory| plausible::memory_total(memory.total));
    let mut list = merged(rows, &total, |row| match unit.slice_of {
        Some(_) => Some(unit.device.id.clone()),
        None if row.gpu_instance == NO_INSTANCE => None,
        None => unit.slice(row.gpu_instance, row.compute_instance),
    });
    if list.is_empty() {
        return Ok(list);
    }
    if unit.slice_of.is_some() || !unit.slices.is_empty() {
        // The driver does not tell the use of processes under MIG.
        for process in &mut list {
            process.utilization_ratio = Err(Absent::NotSupported);
        }
        return Ok(list);
    }
    let now = microseconds();
    let since = now.saturating_sub(LOOK_BACK.as_micros() as u64);
    let using = round
        .call(Call::ProcessUse, |library, device| {
            library.process_use(device, since)
        })
        .map(|rows| newest_use(rows, now));
    for process in &mut list {
        process.utilization_ratio = match &using {
            Err(why) => Err(*why),
            Ok(using) => using
                .get(&process.pid)
                .ok_or(Absent::NotReported)
                .and_then(|row| plausible::ratio(row.sm.into())),
        };
    }
    Ok(list)
}

/// The memory that all processes hold together, for devices that share the host's memory.
pub(super) fn memory_sum(round: &Round<'_>) -> Reading<f64> {
    let rows = merged(rows(round)?, &Err(Absent::NotSupported), |_| None);
    rows.iter().map(|process| process.memory_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, memory: u64) -> ProcessRow {
        ProcessRow {
            pid,
            memory,
            gpu_instance: NO_INSTANCE,
            compute_instance: NO_INSTANCE,
        }
    }

    #[test]
    fn a_process_in_two_lists_counts_once() {
        let rows = vec![
            (row(7, 100), false),
            (row(8, UNKNOWN_MEMORY), false),
            (row(7, 100), true),
            (row(9, 900), true),
        ];
        let list = merged(rows, &Ok(500.0), |_| None);
        let told: Vec<_> = list
            .iter()
            .map(|p| (p.pid, p.memory_bytes, p.graphics))
            .collect();
        assert_eq!(
            told,
            [
                (7, Ok(100.0), false),
                (8, Err(Absent::NotReported), false),
                (9, Err(Absent::Implausible(900.0)), true),
            ]
        );
    }

    #[test]
    fn garbage_rows_of_use_are_dropped() {
        let now = 100_000_000;
        let rows = [
            (7, now, 40),
            (7, now - 1, 90),
            (8, now, 37_100),
            (9, now - 9_000_000, 50),
            (0, now, 10),
            (10, now, 0),
        ];
        let rows = rows.map(|(pid, at, sm)| UseRow { pid, at, sm });
        let newest = newest_use(rows.to_vec(), now);
        let mut told: Vec<_> = newest.values().map(|row| (row.pid, row.sm)).collect();
        told.sort_unstable();
        assert_eq!(told, [(7, 40), (10, 0)]);
    }
}
