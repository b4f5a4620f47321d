//! Rules over ticks: what is wrong with a device, since when, and the numbers that say so.
//!
//! A [`Rule`] sees one device at one instant, with what it remembers of it ([`Memory`]), and answers yes with numbers,
//! no, or that there is not enough evidence. The [`RuleSet`] times the answers: a cause is suspected after its first
//! window and sure after its second, and only where the evidence can make it sure. Everything streams in constant
//! memory, and the memory is part of Start: the same ticks give the same verdicts, from the middle too.
//!
//! The rules' science (causes, thresholds, look-alikes, detectors with measured error rates) is cited where it is used.

mod baseline;
mod claims;
mod clocks;
mod faults;
mod front;
mod growth;
mod host;
mod idle;
mod link;
mod memory;
mod order;
mod pauses;
mod peers;
mod power;
mod proof;
mod rules;
mod seen;
mod stall;
mod thermal;
mod window;

#[cfg(test)]
mod tests;

pub use memory::{Memory, Turn, TurnKind};
pub use peers::{Model, PeerPoint, Peers};
pub use proof::{Answer, Limits, Proof};
pub use rules::RuleSet;
pub use seen::{Owners, Seen, work_key};

use crate::model::Cause;

/// One cause's rule.
pub trait Rule: Send + Sync {
    /// The cause that it looks for.
    fn cause(&self) -> Cause;

    /// What it makes of a device at this instant. `memory` holds windows that all rules share, taken up to date already.
    fn look(&self, memory: &mut Memory, seen: &Seen<'_>, limits: &Limits) -> Answer;
}
