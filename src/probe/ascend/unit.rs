//! One device, and what it has been found not to answer.

use super::fault::Fault;
use super::ffi::{Dcmi, Place};
use crate::model::{Device, Reading};
use crate::probe::refusals::Refusals;
use crate::probe::vendor::Answer;
use std::cell::Cell;
use std::sync::Arc;

/// A question that a device may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Power,
    CardPower,
    RatedPower,
    Temperature,
    /// By the header's number of what is utilized.
    Utilization(u8),
    MultiUtilization,
    Hbm,
    Memory,
    /// By the header's number of the clock.
    Frequency(u8),
    Reasons,
    Health,
    /// By the header's number of the memory.
    Ecc(u8),
    Processes,
    Traffic,
    Codes,
}

/// An open device.
pub(super) struct Unit {
    pub(super) device: Arc<Device>,
    pub(super) library: Arc<Dcmi>,
    pub(super) place: Place,
    /// The chip that says the power of the whole card, where chips do not say their own.
    pub(super) card_power: Option<Place>,
    refusals: Refusals<Question>,
}

impl Unit {
    pub(super) fn new(
        device: Arc<Device>,
        library: Arc<Dcmi>,
        place: Place,
        card_power: Option<Place>,
    ) -> Self {
        Self {
            device,
            library,
            place,
            card_power,
            refusals: Refusals::default(),
        }
    }
}

/// One round of questions to one device, with a tally of how it answered.
pub(super) struct Round<'a> {
    pub(super) unit: &'a Unit,
    answered: Cell<bool>,
    lost: Cell<Option<Fault>>,
    failed: Cell<bool>,
    /// A call did not get its turn: the others of this round would not, either.
    busy: Cell<bool>,
}

impl<'a> Round<'a> {
    pub(super) const fn new(unit: &'a Unit) -> Self {
        Self {
            unit,
            answered: Cell::new(false),
            lost: Cell::new(None),
            failed: Cell::new(false),
            busy: Cell::new(false),
        }
    }

    /// Asks, unless the same was refused a short while ago.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) fn ask<T>(
        &self,
        question: Question,
        ask: impl FnOnce(&Dcmi, Place) -> Result<T, Fault>,
    ) -> Reading<T> {
        let fault = Cell::new(None);
        let lasting = |_| fault.get().is_some_and(Fault::lasting);
        self.unit.refusals.ask(question, lasting, || {
            let answer = match self.busy.get() {
                true => Err(Fault::Busy),
                false => ask(&self.unit.library, self.unit.place),
            };
            self.tally(answer.as_ref().err().copied());
            answer.map_err(|why| {
                fault.set(Some(why));
                why.absent()
            })
        })
    }

    fn tally(&self, fault: Option<Fault>) {
        match fault {
            None => self.answered.set(true),
            Some(Fault::Busy) => self.busy.set(true),
            Some(fault) if fault.lost() => self.lost.set(Some(fault)),
            Some(fault) if fault.lasting() => {}
            Some(_) => self.failed.set(true),
        }
    }

    /// How it went. "Not ready" of one call says little: a device is gone when it answers nothing at all.
    pub(super) fn answer(&self) -> Answer {
        match (self.answered.get(), self.busy.get(), self.lost.get()) {
            (true, ..) | (_, true, _) => Answer::Answered,
            (_, _, Some(fault)) => Answer::Lost(fault.absent()),
            _ if self.failed.get() => Answer::Reopen,
            _ => Answer::Answered,
        }
    }
}
