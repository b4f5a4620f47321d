//! Known facts in words, for the screen in its language and for documents in English.

use super::tools;
use crate::model::{
    Absent, Charge, DeviceView, Disagreement, Known, KnownKind, ProbeHint, ProbeReport,
    ProbeStatus, StateWord, Vendor, WhyNot,
};
use crate::text::Catalogue;
use crate::units::{Bytes, BytesPerSecond, Money, Ratio, Watts, format_span};
use std::borrow::Cow;

/// The few signs that sentences need, as the terminal can write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// Host to device.
    pub down: &'static str,
    /// Device to host.
    pub up: &'static str,
    /// Degrees Celsius, after a number.
    pub celsius: &'static str,
}

impl Signs {
    /// Twins for terminals without UTF-8, and for documents.
    pub const ASCII: Self = Self {
        down: "rx",
        up: "tx",
        celsius: " C",
    };
    /// As the sketches show them.
    pub const UNICODE: Self = Self {
        down: "↓",
        up: "↑",
        celsius: " °C",
    };
}

/// One known fact as a sentence.
#[must_use]
pub fn known(kind: &KnownKind, t: Catalogue, signs: Signs) -> Cow<'static, str> {
    let degrees = |c: f64| format!("{c:.0}{}", signs.celsius);
    let so_far =
        |t: Catalogue, amount: &Money, price: &Money| t.findings_billed_so_far(amount, price);
    let watched =
        |t: Catalogue, amount: &Money, price: &Money| t.findings_billed_watched(amount, price);
    match kind {
        KnownKind::Lost { seconds, charge } => match charge {
            Some(charge) => t.findings_lost_billed(format_span(*seconds), &charge.per_hour),
            None => t.findings_lost(format_span(*seconds)),
        },
        KnownKind::Silent { seconds } => t.findings_silent(format_span(*seconds)),
        KnownKind::RecoveryAction { action } => t.findings_recovery(recovery(*action, t)),
        KnownKind::Xid { code } => match xid(*code, t) {
            Some(advice) => t.findings_xid_advice(code, advice),
            None => t.findings_xid(code),
        },
        KnownKind::Uncorrected { count } => t.findings_uncorrected(count),
        KnownKind::Unhealthy { grave: true } => t.findings_unhealthy(),
        KnownKind::Unhealthy { grave: false } => t.findings_unhealthy_lightly(),
        KnownKind::Remap { failed: true } => t.findings_remap_failed(),
        KnownKind::Remap { failed: false } => t.findings_remap_pending(),
        KnownKind::Braked => t.findings_braked(),
        KnownKind::SlowedByHeat {
            headroom_c: Some(left),
        } => t.findings_slowed_by_heat_left(degrees(*left)),
        KnownKind::SlowedByHeat { headroom_c: None } => t.findings_slowed_by_heat(),
        KnownKind::Hot { headroom_c } => t.findings_hot(degrees(*headroom_c)),
        KnownKind::MemoryHot {
            temperature_c,
            max_c,
        } => t.findings_memory_hot(degrees(*temperature_c), degrees(*max_c)),
        KnownKind::HeldBelowLimit { power_w, limit_w } => {
            t.findings_held_below_limit(Watts(*power_w), Watts(*limit_w))
        }
        KnownKind::Narrow {
            width,
            width_max,
            usable: Some(rate),
            usual: true,
            ..
        } => t.findings_narrow_usual(
            width,
            width_max,
            BytesPerSecond(*rate),
            Ratio(f64::from(*width) / f64::from(*width_max)),
        ),
        KnownKind::Narrow {
            width,
            width_max,
            bridge,
            usable,
            ..
        } => match (bridge, usable) {
            (Some(bridge), Some(rate)) => {
                t.findings_narrow_bridge(width, width_max, bridge, BytesPerSecond(*rate))
            }
            (None, Some(rate)) => t.findings_narrow(width, width_max, BytesPerSecond(*rate)),
            (_, None) => t.findings_narrow_bare(width, width_max),
        },
        KnownKind::Slow {
            generation,
            generation_max,
            ..
        } => t.findings_slow(generation, generation_max),
        KnownKind::LinkFull {
            ratio,
            rate,
            usable,
            down,
        } => t.findings_link_full(
            if *down { signs.down } else { signs.up },
            BytesPerSecond(*rate),
            BytesPerSecond(*usable),
            Ratio(*ratio),
        ),
        KnownKind::LimitBelowPlate { limit_w, plate_w } => {
            t.findings_limit_below_plate(Watts(*limit_w), Watts(*plate_w), Ratio(limit_w / plate_w))
        }
        KnownKind::DefaultBelowRated { default_w, rated_w } => {
            t.findings_default_below_rated(Watts(*default_w), Watts(*rated_w))
        }
        KnownKind::BusyAtLowPower {
            utilization,
            power_ratio,
            seconds,
        } => t.findings_busy(
            Ratio(*utilization),
            Ratio(*power_ratio),
            format_span(*seconds),
        ),
        KnownKind::MemoryFull { ratio } => t.findings_memory_full(Ratio(*ratio)),
        KnownKind::Idle {
            seconds,
            held_bytes: Some(bytes),
            charge,
        } if *bytes > 0.0 => t.findings_held(
            format_span(*seconds),
            billed(charge.as_ref(), so_far, t),
            Bytes(*bytes),
        ),
        KnownKind::Idle {
            seconds, charge, ..
        } => t.findings_idle(format_span(*seconds), billed(charge.as_ref(), so_far, t)),
        KnownKind::StartUp { seconds, charge } => {
            t.findings_startup(format_span(*seconds), billed(charge.as_ref(), watched, t))
        }
        KnownKind::LinksDown { up, links } => t.findings_links_down(up, links),
        KnownKind::Disagrees(what) => disagreement(what, t, signs),
        KnownKind::Fine {
            power_ratio,
            headroom_c,
            utilization,
        } => {
            let facts: Vec<Cow<'static, str>> = [
                power_ratio.map(|r| t.findings_fine_power(Ratio(r))),
                headroom_c.map(|c| t.findings_fine_head(degrees(c))),
                utilization.map(|u| t.findings_fine_util(Ratio(u))),
            ]
            .into_iter()
            .flatten()
            .collect();
            t.findings_fine(facts.join(", "))
        }
        KnownKind::ShareOfCard {
            kind,
            ratio,
            of_memory,
        } => match (ratio, of_memory) {
            (_, Some(given)) => t.findings_share_memory(kind.title(), Bytes(*given)),
            (Some(ratio), None) => t.findings_share_part(Ratio(*ratio), kind.title()),
            (None, None) => t.findings_share(kind.title()),
        },
        KnownKind::Minute { samples } => t.findings_minute(samples),
        KnownKind::Unjudged {
            power_w,
            temperature_c,
        } => {
            let facts = [
                power_w.map(|w| Watts(w).to_string()),
                temperature_c.map(degrees),
            ];
            let facts: Vec<String> = facts.into_iter().flatten().collect();
            t.findings_unjudged(facts.join(", "))
        }
        KnownKind::Nothing => t.findings_nothing(),
    }
}

/// The platform's word beside the driver's.
#[must_use]
pub fn disagreement(what: &Disagreement, t: Catalogue, signs: Signs) -> Cow<'static, str> {
    let degrees = |c: f64| format!("{c:.0}{}", signs.celsius);
    match what {
        Disagreement::Count { claimed, seen } => t.findings_claim_count(claimed, seen),
        Disagreement::Model { claimed, seen } => t.findings_claim_model(claimed, seen),
        Disagreement::Generation { claimed, seen } => t.findings_claim_generation(claimed, seen),
        Disagreement::Width { claimed, seen } => t.findings_claim_width(claimed, seen),
        Disagreement::PowerLimit { claimed, seen } => {
            t.findings_claim_power(Watts(*claimed), Watts(*seen))
        }
        Disagreement::Utilization { claimed, seen } => {
            t.findings_claim_utilization(Ratio(*claimed), Ratio(*seen))
        }
        Disagreement::Temperature { claimed, seen } => {
            t.findings_claim_temperature(degrees(*claimed), degrees(*seen))
        }
    }
}

/// What idle time costs: the amount once it is more than nothing, the price where one is known.
fn billed(
    charge: Option<&Charge>,
    amount: fn(Catalogue, &Money, &Money) -> Cow<'static, str>,
    t: Catalogue,
) -> Cow<'static, str> {
    let Some(charge) = charge else {
        return t.findings_billed();
    };
    let shown = charge.amount.to_decimal_string();
    if shown.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        amount(t, &charge.amount, &charge.per_hour)
    } else {
        t.findings_billed_at(&charge.per_hour)
    }
}

/// What is done first about an XID (NVIDIA's catalogue); `None` for numbers that are not in the table.
fn xid(code: u32, t: Catalogue) -> Option<Cow<'static, str>> {
    Some(match code {
        13 | 31 | 32 | 69 | 94 => t.findings_xid_application(),
        43 | 45 => t.findings_xid_other(),
        46 | 62 | 64 | 95 | 109 | 119 | 120 | 136 | 140 | 143 | 158 => t.findings_xid_reset(),
        48 => t.findings_xid_ecc(),
        54 | 167 => t.findings_xid_host(),
        63 | 92 | 121 => t.findings_xid_watch(),
        74 | 144..=150 | 155 => t.findings_xid_link(),
        79 => t.findings_xid_restart(),
        154 => t.findings_xid_recovery(),
        _ => return None,
    })
}

/// What the driver asks for (NVML's recovery action), in words.
#[must_use]
pub fn recovery(action: u32, t: Catalogue) -> Cow<'static, str> {
    match action {
        0 => t.device_recovery_none(),
        1 => t.findings_recovery_reset(),
        2 => t.findings_recovery_reboot(),
        3 => t.findings_recovery_drain(),
        4 => t.findings_recovery_drain_reset(),
        5 => t.findings_recovery_domain(),
        other => t.findings_recovery_other(other),
    }
}

/// The next command for the worst known fact, and whether it is worth asking the provider.
#[must_use]
pub fn next(view: &DeviceView, t: Catalogue) -> Option<(Cow<'static, str>, bool)> {
    let (command, provider) = next_of_nvidia(view, t)?;
    Some((tools::command(view, command)?, provider))
}

fn next_of_nvidia(view: &DeviceView, t: Catalogue) -> Option<(Cow<'static, str>, bool)> {
    let index = &tools::called(view);
    let Known { kind, .. } = view.known.first()?;
    // A device that is busy without work behind a narrow link is asked about its link first.
    let narrow = view
        .known
        .iter()
        .find(|k| matches!(k.kind, KnownKind::Narrow { usual: false, .. }));
    let kind = match (kind, narrow) {
        (KnownKind::BusyAtLowPower { .. }, Some(narrow)) => &narrow.kind,
        _ => kind,
    };
    match kind {
        KnownKind::Lost { .. } | KnownKind::Silent { .. } | KnownKind::Xid { .. } => {
            Some((t.findings_next_kernel(), true))
        }
        KnownKind::RecoveryAction { .. }
        | KnownKind::Uncorrected { .. }
        | KnownKind::Unhealthy { .. }
        | KnownKind::Remap { .. } => Some((t.findings_next_health(index), true)),
        KnownKind::Braked => Some((t.findings_next_clocks(index), true)),
        KnownKind::SlowedByHeat { .. } | KnownKind::Hot { .. } | KnownKind::MemoryHot { .. } => {
            Some((t.findings_next_clocks(index), false))
        }
        KnownKind::Narrow { bridge, usual, .. } => {
            let own = view.device.pci_address.ok().map(|a| a.to_string());
            let address = bridge.clone().or(own)?;
            Some((t.findings_next_link(address), !usual))
        }
        KnownKind::Slow { .. } | KnownKind::LinkFull { .. } => {
            Some((t.findings_next_link(view.device.pci_address.ok()?), false))
        }
        KnownKind::LimitBelowPlate { .. }
        | KnownKind::DefaultBelowRated { .. }
        | KnownKind::HeldBelowLimit { .. } => Some((t.findings_next_power(index), true)),
        KnownKind::BusyAtLowPower { .. } | KnownKind::Idle { .. } => {
            let processes = view.processes.as_ref().ok()?;
            let ours = processes
                .iter()
                .find(|p| p.host.as_ref().is_some_and(|h| !h.foreign))?;
            Some((t.findings_next_processes(ours.device.pid), false))
        }
        _ => None,
    }
}

/// The word of a row.
#[must_use]
pub fn state(word: StateWord, t: Catalogue) -> Cow<'static, str> {
    match word {
        StateWord::Unknown => t.state_unknown(),
        StateWord::Idle => t.state_idle(),
        StateWord::Held => t.state_held(),
        StateWord::Working => t.state_working(),
        StateWord::Paused => t.state_paused(),
        StateWord::Stalled => t.state_stalled(),
        StateWord::Slowed => t.state_slowed(),
        StateWord::Degraded => t.state_degraded(),
        StateWord::Doubtful => t.state_doubtful(),
        StateWord::Capped => t.state_capped(),
        StateWord::Narrow => t.state_narrow(),
        StateWord::Hot => t.state_hot(),
        StateWord::Braked => t.state_braked(),
        StateWord::Faulty => t.state_faulty(),
        StateWord::Silent => t.state_timed_out(),
        StateWord::Lost => t.state_lost_loud(),
    }
}

/// A throttle reason by its name in the documents, in words; an unknown one keeps its name.
#[must_use]
pub fn throttle(name: &str, t: Catalogue) -> Cow<'static, str> {
    match name {
        "gpu_idle" => t.state_throttle_gpu_idle(),
        "applications_clocks_setting" => t.state_throttle_applications_clocks_setting(),
        "sw_power_cap" => t.state_throttle_sw_power_cap(),
        "hw_slowdown" => t.state_throttle_hw_slowdown(),
        "sync_boost" => t.state_throttle_sync_boost(),
        "sw_thermal_slowdown" => t.state_throttle_sw_thermal_slowdown(),
        "hw_thermal_slowdown" => t.state_throttle_hw_thermal_slowdown(),
        "hw_power_brake_slowdown" => t.state_throttle_hw_power_brake_slowdown(),
        "display_clock_setting" => t.state_throttle_display_clock_setting(),
        "software_edp" => t.state_throttle_software_edp(),
        "hardware_edp" => t.state_throttle_hardware_edp(),
        "svfd" => t.state_throttle_svfd(),
        "load_aware" => t.state_throttle_load_aware(),
        "prochot" => t.state_throttle_prochot(),
        "current" => t.state_throttle_current(),
        other => t.state_throttle_unknown(other),
    }
}

/// Why a value is not there, in words.
#[must_use]
pub fn absent(why: Absent, t: Catalogue) -> Cow<'static, str> {
    match why {
        Absent::NotSupported => t.state_absent_not_supported(),
        Absent::NoPermission => t.state_absent_no_permission(),
        Absent::NoLibrary => t.state_absent_no_library(),
        Absent::Lost => t.state_absent_lost(),
        Absent::TimedOut => t.state_absent_timed_out(),
        Absent::Implausible(raw) => t.state_absent_implausible_raw(raw),
        Absent::Stale => t.state_absent_stale(),
        Absent::NotReported => t.state_absent_not_reported(),
        Absent::Transition => t.state_absent_transition(),
    }
}

/// What a vendor's library thinks of a device, in words.
#[must_use]
pub fn health(level: f64, t: Catalogue) -> Cow<'static, str> {
    match level as u8 {
        0 => t.device_health_fine(),
        1 => t.device_health_minor(),
        2 => t.device_health_major(),
        _ => t.device_health_critical(),
    }
}

/// Why a vendor's interface never tells a meter, in words.
#[must_use]
pub fn why_not(interface: &str, why: WhyNot, t: Catalogue) -> Cow<'static, str> {
    match why {
        WhyNot::NotTold => t.vendor_not_told(interface),
        WhyNot::NotRead => t.vendor_not_read(interface),
        WhyNot::OnRequest(flag) => t.vendor_on_request(interface, flag),
        WhyNot::Refused => t.vendor_refused(interface),
        WhyNot::UnitUnknown => t.vendor_unit_unknown(interface),
        WhyNot::BothDirections => t.vendor_both_directions(interface),
        WhyNot::WrongNode => t.vendor_wrong_node(),
    }
}

/// How a probe fares, in words.
#[must_use]
pub fn probe_status(report: &ProbeReport, t: Catalogue) -> Cow<'static, str> {
    match report.status {
        ProbeStatus::Ok => t.probe_status_ok(report.version.as_deref().unwrap_or("?")),
        ProbeStatus::NoLibrary => t.probe_status_no_library(),
        ProbeStatus::NoDevice => t.probe_status_no_device(),
        ProbeStatus::Mismatch => t.probe_status_mismatch(),
        ProbeStatus::NoPermission => t.probe_status_no_permission(),
        ProbeStatus::Crashed => t.probe_status_crashed(),
        ProbeStatus::TimedOut => t.probe_status_timed_out(),
        ProbeStatus::Starting => t.chrome_starting(),
    }
}

/// Where the libraries are that Ascend's needs.
const ASCEND_LIBRARIES: [&str; 2] = [
    "/usr/local/Ascend/driver/lib64/driver",
    "/usr/local/Ascend/driver/lib64/common",
];

/// What to do about a probe that does not work.
#[must_use]
pub fn probe_next(report: &ProbeReport, t: Catalogue) -> Option<Cow<'static, str>> {
    match report.hint {
        ProbeHint::Nothing => None,
        ProbeHint::NoHardware => Some(t.probe_next_no_hardware(report.vendor.word())),
        ProbeHint::InstallDriver => Some(t.probe_next_install_driver(report.vendor.word())),
        ProbeHint::ContainerWithoutDevices if report.vendor == Vendor::Nvidia => {
            Some(t.probe_next_container_flag())
        }
        ProbeHint::ContainerWithoutDevices if report.vendor == Vendor::Ascend => {
            Some(t.probe_next_container_ascend())
        }
        ProbeHint::ContainerWithoutDevices => {
            Some(t.probe_next_container_devices(tools::container_devices(report.vendor)))
        }
        ProbeHint::Restart => Some(t.probe_next_reload()),
        ProbeHint::Permission => Some(t.probe_next_group(match report.vendor {
            Vendor::Ascend => "HwHiAiUser",
            _ => "video",
        })),
        ProbeHint::LibraryPath => {
            let [first, second] = ASCEND_LIBRARIES;
            Some(t.probe_next_library_path(first, second))
        }
        ProbeHint::HeldElsewhere => Some(t.probe_next_held(report.vendor.word())),
        ProbeHint::RecreateContainer => Some(t.probe_next_recreate()),
        ProbeHint::Unknown => {
            tools::library_flag(report.vendor).map(|flag| t.probe_next_library_flag(flag))
        }
        ProbeHint::InstallLibrary => Some(t.probe_next_install_library(&*report.library)),
        ProbeHint::NoReader => Some(match tools::tool(report.vendor) {
            Some(tool) => t.probe_next_tool(tool),
            None => t.probe_next_no_reader(report.vendor.word()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Lang;
    use rust_decimal::Decimal;

    fn money(cents: i64) -> Money {
        Money {
            amount: Decimal::new(cents, 2),
            currency: crate::units::Currency::default(),
        }
    }

    #[test]
    fn idle_time_says_its_money_once_there_is_some() {
        let t = Catalogue::new(Lang::En);
        let idle = |charge| KnownKind::Idle {
            seconds: 600.0,
            held_bytes: None,
            charge,
        };
        let charge = |cents| {
            Some(Charge {
                per_hour: money(299),
                amount: money(cents),
            })
        };
        for (charge, sentence) in [
            (None, "No work for 10m 00s, and billed."),
            (charge(0), "No work for 10m 00s, billed at $2.99 an hour."),
            (
                charge(50),
                "No work for 10m 00s, $0.50 so far at $2.99 an hour.",
            ),
        ] {
            assert_eq!(known(&idle(charge), t, Signs::ASCII), sentence);
        }
    }

    #[test]
    fn a_usual_half_link_is_no_case_for_support() {
        let t = Catalogue::new(Lang::En);
        let narrow = KnownKind::Narrow {
            width: 8,
            width_max: 16,
            bridge: None,
            usable: Some(6.15e9),
            usual: true,
        };
        let sentence = known(&narrow, t, Signs::ASCII);
        assert!(
            sentence.contains("as hosts usually fit this model"),
            "{sentence}"
        );
        assert!(sentence.contains("50 %"), "{sentence}");
    }

    #[test]
    fn an_xid_comes_with_what_is_done_first() {
        let t = Catalogue::new(Lang::En);
        let said = |code| known(&KnownKind::Xid { code }, t, Signs::ASCII).into_owned();
        assert!(said(79).contains("restart the machine"));
        assert!(said(31).contains("restart the application"));
        assert!(said(4711).ends_with("minutes."));
    }
}
