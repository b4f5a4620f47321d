//! The lines that a provider's support needs: plain English with every number, for the clipboard.

use super::{verdicts, words};
use crate::model::{DeviceView, Figure, Phase, Snapshot};
use crate::text::{Catalogue, Lang};
use std::fmt::Write as _;

/// What to send to support about the bill; `None` before anything was seen.
#[must_use]
pub fn meter_lines(snapshot: &Snapshot) -> Option<String> {
    let cost = snapshot.cost.as_ref()?;
    let mut lines = String::new();
    let name = snapshot.host.name.as_deref().unwrap_or("not known");
    let _ = writeln!(lines, "{name} at {}", snapshot.at);
    if let Some(view) = &snapshot.platform {
        let id = view.platform.instance_id.as_deref().unwrap_or("not known");
        let _ = writeln!(lines, "platform {}, instance {id}", view.platform.name);
    }
    let start = cost.billing_start;
    let _ = writeln!(
        lines,
        "billing began {} ({})",
        start.at,
        start.source.word()
    );
    let code = &cost.currency;
    if let (Some(price), Some(amount)) = (cost.price_per_hour, cost.amount) {
        let source = cost.price_source.word();
        let _ = writeln!(
            lines,
            "price {price} {code} an hour ({source}), rule {}",
            cost.tariff.rule
        );
        let _ = writeln!(lines, "amount {amount} {code}");
    }
    let _ = writeln!(
        lines,
        "span {} s, billed {} s, rounding {} s",
        trimmed(cost.span_seconds),
        trimmed(cost.billed_seconds),
        trimmed(cost.rounding_seconds)
    );
    for (place, phase) in Phase::ALL.iter().enumerate() {
        let seconds = match (phase, cost.phase_seconds.io_wait) {
            (Phase::IoWait, None) => "not visible".to_owned(),
            _ => format!("{} s", trimmed(cost.phase_seconds.get(*phase))),
        };
        let amount = cost
            .phase_amounts
            .and_then(|parts| parts.get(place).copied());
        let amount = amount.map_or(String::new(), |a| format!(", {a} {code}"));
        let _ = writeln!(lines, "- {}: {seconds}{amount}", phase.word());
    }
    Some(lines)
}

/// What to send to support about one device.
#[must_use]
pub fn support_lines(snapshot: &Snapshot, view: &DeviceView) -> String {
    let t = Catalogue::new(Lang::En);
    let device = &view.device;
    let word = |reading: &Result<std::sync::Arc<str>, _>| {
        reading
            .as_ref()
            .map_or("not known".to_owned(), ToString::to_string)
    };
    let mut lines = String::new();
    let _ = writeln!(lines, "{} at {}", word(&snapshot.host.name), snapshot.at);
    let address = device
        .pci_address
        .map_or("not known".to_owned(), |a| a.to_string());
    let _ = writeln!(
        lines,
        "device {}: {}, UUID {}, PCI {address}, driver {}",
        device.index,
        device.name,
        word(&device.uuid),
        word(&device.driver)
    );
    for (_, line) in verdicts::lines(view, t, words::Signs::ASCII) {
        let _ = writeln!(lines, "- {line}");
    }
    verdict_lines(view, t, &mut lines);
    for figure in [
        Figure::Power,
        Figure::PowerLimit,
        Figure::PlatePower,
        Figure::RatedPower,
        Figure::Temperature,
        Figure::Headroom,
        Figure::Utilization,
        Figure::Work,
        Figure::PcieGeneration,
        Figure::PcieGenerationMax,
        Figure::PcieWidth,
        Figure::PcieWidthMax,
        Figure::PcieRx,
        Figure::PcieTx,
        Figure::PcieBoth,
        Figure::PcieUsable,
    ] {
        match view.figures.get(figure).reading {
            // Most devices tell the directions apart.
            Err(_) if figure == Figure::PcieBoth => {}
            Ok(value) => {
                let _ = writeln!(lines, "{} = {}", figure.path(), trimmed(value));
            }
            Err(why) => {
                let _ = writeln!(lines, "{} absent: {}", figure.path(), why.word());
            }
        }
    }
    if let Ok(reasons) = &view.throttle {
        let _ = writeln!(
            lines,
            "throttle reasons: {}",
            if reasons.is_empty() {
                "none".to_owned()
            } else {
                reasons.join(", ")
            }
        );
    }
    for hop in &view.path.hops {
        let number = |n: Option<u8>| n.map_or("?".to_owned(), |n| n.to_string());
        let _ = writeln!(
            lines,
            "link {}: gen {} of {}, x{} of x{}{}",
            hop.address,
            number(hop.generation),
            number(hop.generation_max),
            number(hop.width),
            number(hop.width_max),
            if hop.emulated {
                " (emulated bridge)"
            } else {
                ""
            }
        );
    }
    lines
}

/// Each cause that holds, with its begin, its numbers and what was turned down.
fn verdict_lines(view: &DeviceView, t: Catalogue, lines: &mut String) {
    let signs = words::Signs::ASCII;
    for episode in view.episodes.iter().filter(|e| e.cause.can_count()) {
        let _ = writeln!(
            lines,
            "verdict {} ({}) since {}, {:.0} s seen",
            episode.cause.word(),
            episode.confidence.word(),
            episode.begin,
            episode.seconds
        );
        for evidence in &episode.evidence {
            let metric = evidence.witness.metric();
            let _ = writeln!(
                lines,
                "  {metric} = {} {} {} ({})",
                trimmed(evidence.value),
                evidence.comparison.sign(),
                trimmed(evidence.threshold),
                evidence.whose
            );
        }
        for rejected in &episode.rejected {
            let why = verdicts::rejected(rejected, t, signs);
            let _ = writeln!(lines, "  not {}: {why}", rejected.cause.word());
        }
    }
}

/// Three decimals at most, without trailing zeros.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
