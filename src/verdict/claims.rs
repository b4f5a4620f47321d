//! What the platform says beside what the drivers say: its claims of the hardware, and its panel.

use super::proof::{Answer, Limits, Proof};
use super::seen::Seen;
use super::{Memory, Rule};
use crate::model::Comparison::{Less, More};
use crate::model::{Cause, DeviceKind, Disagreement, Whose, Witness};

/// The disagreements of a cause that concern this device: its own, and those of the whole instance.
pub(super) fn of<'a>(seen: &Seen<'a>, cause: Cause) -> impl Iterator<Item = &'a Disagreement> {
    let whole = seen.device.kind == DeviceKind::Device;
    let device = &seen.device.id;
    let concerns = move |of: &Option<_>| of.as_ref().map_or(whole, |id| id == device);
    let all = seen.disagreements.iter();
    all.filter(move |(of, what)| concerns(of) && what.cause() == cause)
        .map(|(_, what)| what)
}

/// A disagreement as a number with the platform's as its threshold: what the instance was rented out as.
pub(super) fn with(proof: Proof, what: &Disagreement) -> Proof {
    let sold = |number: f64| (number, Whose::Plate);
    let less = |proof: Proof, witness, seen: f64, claimed: f64| {
        proof.with(witness, seen, Less, sold(claimed), 0.0)
    };
    match what {
        Disagreement::Count { claimed, seen } => less(
            proof,
            Witness::DeviceCount,
            f64::from(*seen),
            f64::from(*claimed),
        ),
        Disagreement::Model { .. } => less(proof, Witness::ModelMatch, 0.0, 1.0),
        Disagreement::Generation { claimed, seen } => less(
            proof,
            Witness::LinkGeneration,
            f64::from(*seen),
            f64::from(*claimed),
        ),
        Disagreement::Width { claimed, seen } => less(
            proof,
            Witness::LinkWidth,
            f64::from(*seen),
            f64::from(*claimed),
        ),
        Disagreement::PowerLimit { claimed, seen } => {
            less(proof, Witness::LimitOfPlate, seen / claimed, 1.0)
        }
        Disagreement::Utilization { claimed, seen } => {
            apart(proof, Witness::Utilization, *claimed, *seen)
        }
        Disagreement::Temperature { claimed, seen } => {
            apart(proof, Witness::Temperature, *claimed, *seen)
        }
    }
}

/// Above or below what the panel shows; how far apart they must be was judged where both were looked at.
fn apart(proof: Proof, witness: Witness, claimed: f64, seen: f64) -> Proof {
    let comparison = if seen < claimed { Less } else { More };
    proof.with(witness, seen, comparison, (claimed, Whose::Plate), 0.0)
}

/// The panel shows another utilization or temperature than the drivers, figure after figure.
pub(super) struct PanelDisagrees;

impl Rule for PanelDisagrees {
    fn cause(&self) -> Cause {
        Cause::PanelDisagrees
    }

    fn look(&self, _: &mut Memory, seen: &Seen<'_>, _: &Limits) -> Answer {
        let mut found = of(seen, Cause::PanelDisagrees).peekable();
        if found.peek().is_none() {
            return Answer::No;
        }
        let mut proof = found.fold(Proof::of(Cause::PanelDisagrees), with);
        // The panel's figures are watched for longer than any window before they are called apart.
        proof.at_once = true;
        Answer::Yes(proof)
    }
}
