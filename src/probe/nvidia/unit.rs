//! One open device or instance, and what it has been found not to answer.

use super::fault::{Fault, INVALID_ARGUMENT, NOT_SUPPORTED, UNKNOWN};
use super::ffi::{FieldNumber, FieldQuery, Getter, GpmSample, Handle, Library};
use crate::model::{Absent, Device, DeviceId, Reading};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Calls that give more than one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Temperature,
    Margin,
    LimitRange,
    Utilization,
    Memory,
    Bar1,
    MigMode,
    EccMode,
    RemappedRows,
    ViolationPower,
    ViolationSyncBoost,
    LinkState,
    LinkErrors,
    RetiredPages,
    GpmSupport,
    Compute,
    Graphics,
    Mps,
    ProcessUse,
}

/// How many [`Call`]s there are.
const CALLS: usize = Call::ProcessUse as usize + 1;

/// The instance number that stands for none.
pub(super) const NO_INSTANCE: u32 = u32::MAX;

/// Where a slice lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) id: DeviceId,
    pub(super) gpu_instance: u32,
    pub(super) compute_instance: u32,
}

/// GPM of one device: its previous sample, or the reason why there never is one.
#[derive(Default)]
pub(super) enum GpmState {
    #[default]
    Unasked,
    Refused(Absent),
    /// Taken at an instant; `None` before the first.
    Ready(Option<(Instant, GpmSample)>),
}

/// An open device or instance.
pub(super) struct Unit {
    pub(super) device: Arc<Device>,
    pub(super) library: Arc<Library>,
    pub(super) handle: Handle,
    pub(super) opened: Instant,
    /// The parent's handle and the GPU instance, for a slice.
    pub(super) slice_of: Option<(Handle, u32)>,
    /// Its slices.
    pub(super) slices: Vec<Slice>,
    /// A module with CPU and device, which has power readings of its own.
    pub(super) superchip: bool,
    /// Numbers 251 to 273 of the fields mean what they do since driver 580.82.
    pub(super) new_fields: bool,
    /// NVLinks of the device, once counted.
    pub(super) links: AtomicU32,
    pub(super) gpm: Mutex<GpmState>,
    /// PCIe rates can only be had by blocking calls.
    pub(super) blocking_pcie: AtomicBool,
    /// Rounds for which each process list is not asked, as it was empty.
    pub(super) list_rests: [AtomicU8; 3],
    /// Its slices are not those that were listed any more.
    pub(super) outdated: AtomicBool,
    refused: [AtomicU8; Getter::COUNT + CALLS],
    refused_fields: Mutex<HashMap<FieldQuery, Absent>>,
}

/// `refused` holds 0 for "ask", else why not.
const REFUSED_BY_DEVICE: u8 = 1;
const REFUSED_BY_LIBRARY: u8 = 2;

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What opening found out about a unit.
pub(super) struct UnitFacts {
    pub(super) handle: Handle,
    pub(super) slice_of: Option<(Handle, u32)>,
    pub(super) slices: Vec<Slice>,
    pub(super) superchip: bool,
    pub(super) new_fields: bool,
}

impl Unit {
    pub(super) fn new(device: Arc<Device>, library: &Arc<Library>, facts: UnitFacts) -> Self {
        Self {
            device,
            library: Arc::clone(library),
            handle: facts.handle,
            opened: Instant::now(),
            slice_of: facts.slice_of,
            slices: facts.slices,
            superchip: facts.superchip,
            new_fields: facts.new_fields,
            links: AtomicU32::new(0),
            gpm: Mutex::default(),
            blocking_pcie: AtomicBool::new(false),
            list_rests: [const { AtomicU8::new(0) }; 3],
            outdated: AtomicBool::new(false),
            refused: [const { AtomicU8::new(0) }; Getter::COUNT + CALLS],
            refused_fields: Mutex::default(),
        }
    }

    /// The slice that a process or event names by its numbers.
    pub(super) fn slice(&self, gpu_instance: u32, compute_instance: u32) -> Option<DeviceId> {
        let of_gpu = || {
            self.slices
                .iter()
                .filter(|s| s.gpu_instance == gpu_instance)
        };
        of_gpu()
            .find(|s| s.compute_instance == compute_instance)
            .or_else(|| of_gpu().next().filter(|_| of_gpu().count() == 1))
            .map(|s| s.id.clone())
    }
}

/// One round of questions to one unit, with a tally of how it answered.
pub(super) struct Round<'a> {
    pub(super) unit: &'a Unit,
    answered: Cell<u32>,
    lost: Cell<Option<Fault>>,
    dead: Cell<u32>,
}

impl<'a> Round<'a> {
    pub(super) const fn new(unit: &'a Unit) -> Self {
        Self {
            unit,
            answered: Cell::new(0),
            lost: Cell::new(None),
            dead: Cell::new(0),
        }
    }

    /// The fault that says that the device is gone.
    pub(super) fn lost(&self) -> Option<Fault> {
        self.lost.get()
    }

    /// Where nothing answered: how often it was said that session or handle are dead.
    pub(super) fn dead(&self) -> u32 {
        match self.answered.get() {
            0 => self.dead.get(),
            _ => 0,
        }
    }

    /// Counts an answer without keeping it.
    fn tally<T>(&self, answer: &Result<T, Fault>) {
        match answer {
            Ok(_) => self.answered.set(self.answered.get() + 1),
            Err(fault) if fault.lost() => self.lost.set(Some(*fault)),
            Err(fault) if fault.dead_session() => self.dead.set(self.dead.get() + 1),
            Err(_) => {}
        }
    }

    fn ask<T>(&self, slot: usize, question: impl FnOnce() -> Result<T, Fault>) -> Reading<T> {
        let slot = self.unit.refused.get(slot);
        match slot.map(|s| s.load(Ordering::Relaxed)) {
            Some(REFUSED_BY_DEVICE) => return Err(Absent::NotSupported),
            Some(REFUSED_BY_LIBRARY) => return Err(Absent::NoLibrary),
            _ => {}
        }
        let answer = question();
        self.tally(&answer);
        if let (Err(fault), Some(slot)) = (&answer, slot)
            && fault.lasting()
        {
            let why = match fault {
                Fault::Missing => REFUSED_BY_LIBRARY,
                Fault::Code(_) => REFUSED_BY_DEVICE,
            };
            slot.store(why, Ordering::Relaxed);
        }
        answer.map_err(Fault::absent)
    }

    /// A call about one part of the device, a link: what one refuses another may answer, so it is always asked.
    pub(super) fn part<T>(
        &self,
        question: impl FnOnce(&Library, Handle) -> Result<T, Fault>,
    ) -> Reading<T> {
        let answer = question(&self.unit.library, self.unit.handle);
        self.tally(&answer);
        answer.map_err(Fault::absent)
    }

    /// A number by its plain call, not asked again once refused.
    pub(super) fn get(&self, getter: Getter) -> Reading<u64> {
        self.ask(getter as usize, || {
            self.unit.library.get(self.unit.handle, getter)
        })
    }

    /// Any other call, likewise.
    pub(super) fn call<T>(
        &self,
        call: Call,
        question: impl FnOnce(&Library, Handle) -> Result<T, Fault>,
    ) -> Reading<T> {
        self.ask(Getter::COUNT + call as usize, || {
            question(&self.unit.library, self.unit.handle)
        })
    }

    /// Fields in one call, answers in the order of the questions. Fields once refused are not asked again.
    pub(super) fn fields(&self, queries: &[FieldQuery]) -> Vec<Reading<FieldNumber>> {
        let known: Vec<Option<Absent>> = {
            let refused = locked(&self.unit.refused_fields);
            queries.iter().map(|q| refused.get(q).copied()).collect()
        };
        let open: Vec<FieldQuery> = queries
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(query, _)| *query)
            .collect();
        let answers = self.ask_fields(&open);
        let mut refused = locked(&self.unit.refused_fields);
        for (query, answer) in open.iter().zip(&answers) {
            // A number that the driver does not know is an invalid argument for good, unless all are: then
            // the handle is dead.
            let for_good = |fault: &Fault| {
                fault.lasting()
                    || (*fault == Fault::Code(INVALID_ARGUMENT) && self.answered.get() > 0)
            };
            if let Err(fault) = answer
                && for_good(fault)
            {
                let absent = match fault.absent() {
                    Absent::NoLibrary => Absent::NoLibrary,
                    _ => Absent::NotSupported,
                };
                refused.insert(*query, absent);
            }
        }
        drop(refused);
        let mut answers = answers.into_iter();
        known
            .into_iter()
            .map(|known| match known {
                Some(absent) => Err(absent),
                None => answers
                    .next()
                    .unwrap_or(Err(Fault::Code(UNKNOWN)))
                    .map_err(Fault::absent),
            })
            .collect()
    }

    /// Asks all at once; where a driver refuses the whole list for the sake of one, in halves.
    fn ask_fields(&self, queries: &[FieldQuery]) -> Vec<Result<FieldNumber, Fault>> {
        if queries.is_empty() {
            return Vec::new();
        }
        match self.unit.library.fields(self.unit.handle, queries) {
            Ok(answers) => {
                for answer in &answers {
                    self.tally(answer);
                }
                answers
            }
            Err(Fault::Code(NOT_SUPPORTED | INVALID_ARGUMENT)) if queries.len() > 1 => {
                let (left, right) = queries.split_at(queries.len() / 2);
                let mut answers = self.ask_fields(left);
                answers.extend(self.ask_fields(right));
                answers
            }
            Err(fault) => {
                self.tally::<()>(&Err(fault));
                vec![Err(fault); queries.len()]
            }
        }
    }
}
