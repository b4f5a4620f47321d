//! What the platform claims of the hardware, held against what the drivers list.

use super::super::Session;
use super::super::derive::Moment;
use super::super::device::DeviceState;
use super::is_whole;
use crate::model::{DeviceId, Disagreement, Figure, Platform, ProbeStatus};

/// A limit this much below the platform's own cap is another card.
const LIMIT_BELOW: f64 = 0.95;

/// All disagreements, those of the whole instance first.
pub(super) fn disagreements(
    session: &Session,
    platform: &Platform,
    moment: Moment,
) -> Vec<(Option<DeviceId>, Disagreement)> {
    let start = &session.start;
    let mut found: Vec<(Option<DeviceId>, Disagreement)> = Vec::new();
    let whole = || start.devices.iter().filter(|d| is_whole(d.device.kind));
    let seen = u32::try_from(whole().count()).unwrap_or(u32::MAX);
    // Before all probes have answered, fewer devices are no finding.
    let settled = !start.probes.is_empty()
        && start
            .probes
            .iter()
            .all(|p| p.status != ProbeStatus::Starting);
    if let Some(claimed) = platform.claims.device_count
        && settled
        && seen < claimed
        && moment.now.0 > 0
    {
        found.push((None, Disagreement::Count { claimed, seen }));
    }
    found.extend(
        start
            .platform
            .panel
            .disagreements()
            .map(|what| (None, what)),
    );
    for (state, derived) in start.devices.iter().zip(&session.derived) {
        if is_whole(state.device.kind) {
            let figure = |figure| derived.figures.get(figure).ok();
            let of = device_disagreements(state, &figure, platform);
            found.extend(
                of.into_iter()
                    .map(|what| (Some(state.device.id.clone()), what)),
            );
        }
    }
    found
}

fn device_disagreements(
    state: &DeviceState,
    figure: &dyn Fn(Figure) -> Option<f64>,
    platform: &Platform,
) -> Vec<Disagreement> {
    let claims = &platform.claims;
    let mut found = Vec::new();
    if let Some(claimed) = &claims.model
        && is_another_model(claimed, &state.device.name)
    {
        found.push(Disagreement::Model {
            claimed: claimed.clone(),
            seen: state.device.name.clone(),
        });
    }
    // A guest's share of a card, and a link that is none (C2C), cannot be held against a slot.
    if state.device.has_plate() && !state.device.c2c {
        // The link's best, because links save power.
        if let Some((claimed, seen)) = claims
            .pcie_generation
            .zip(figure(Figure::PcieGenerationMax))
            && seen < f64::from(claimed)
        {
            found.push(Disagreement::Generation {
                claimed,
                seen: seen as u8,
            });
        }
        if let Some((claimed, seen)) = claims.pcie_width.zip(figure(Figure::PcieWidth))
            && seen < f64::from(claimed)
        {
            found.push(Disagreement::Width {
                claimed,
                seen: seen as u8,
            });
        }
        if let Some((claimed, seen)) = claims.power_limit_w.zip(figure(Figure::PowerLimit))
            && seen < claimed * LIMIT_BELOW
        {
            found.push(Disagreement::PowerLimit { claimed, seen });
        }
    }
    found
}

/// Words of a model's name that make it another model.
const VARIANTS: [&str; 9] = [
    "ti",
    "super",
    "d",
    "laptop",
    "ada",
    "max-q",
    "nvl",
    "blackwell",
    "se",
];

/// The model numbers in a name, such as `a100` or `4090`, each with the variant that follows it. Sizes of memory and
/// names of slots are no model.
fn models(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut found: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric() && c != '-') {
        for word in word.split('-').chain((word == "max-q").then_some("max-q")) {
            if word.is_empty() {
                continue;
            }
            if VARIANTS.contains(&word) {
                if let Some(last) = found.last_mut()
                    && !last.ends_with(word)
                {
                    last.push_str(word);
                }
                continue;
            }
            let digits = word.bytes().filter(u8::is_ascii_digit).count();
            if digits > 0 && !is_detail(word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// Whether a word with digits tells of memory, slot or count rather than the model.
fn is_detail(word: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    ["gb", "gib", "g", "x"]
        .iter()
        .any(|unit| word.strip_suffix(unit).is_some_and(number))
        || ["hbm", "sxm", "gddr", "x", "pcie", "gen"]
            .iter()
            .any(|part| word.strip_prefix(part).is_some_and(|rest| rest.len() <= 2))
        || (number(word) && word.len() <= 2)
}

/// Whether two names are of different models. Names without any model number say nothing.
pub(super) fn is_another_model(claimed: &str, seen: &str) -> bool {
    let (claimed, seen) = (models(claimed), models(seen));
    if claimed.is_empty() || seen.is_empty() {
        return false;
    }
    !claimed.iter().any(|c| seen.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_model_are_one() {
        for (claimed, seen) in [
            ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
            ("RTX 4090", "NVIDIA GeForce RTX 4090"),
            ("A100 (40 GB SXM4)", "NVIDIA A100-SXM4-40GB"),
            ("H100-80GB", "NVIDIA H100 80GB HBM3"),
            ("h100-sxm5-80gb", "NVIDIA H100 80GB HBM3"),
            ("T4", "Tesla T4"),
            ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
            ("RTX A6000", "NVIDIA RTX A6000"),
            ("RTX 3080 Ti", "NVIDIA GeForce RTX 3080 Ti"),
            ("some accelerator", "NVIDIA A100-SXM4-40GB"),
            ("MI300X", "AMD Instinct MI300X OAM"),
        ] {
            assert!(!is_another_model(claimed, seen), "{claimed} {seen}");
        }
        for (claimed, seen) in [
            ("RTX 4090", "NVIDIA GeForce RTX 4090 D"),
            ("A100-80GB", "NVIDIA A40"),
            ("RTX 3080 Ti", "NVIDIA GeForce RTX 3080"),
            ("H100-80GB", "NVIDIA A100-SXM4-80GB"),
            ("RTX 4090", "NVIDIA GeForce RTX 3090"),
        ] {
            assert!(is_another_model(claimed, seen), "{claimed} {seen}");
        }
    }
}
