//! Known facts in words, for the screen in its language and for documents in English.

use crate::model::{
    Absent, DeviceView, Known, KnownKind, ProbeHint, ProbeReport, ProbeStatus, StateWord,
};
use crate::text::Catalogue;
use crate::units::{Bytes, BytesPerSecond, Ratio, Watts, format_span};
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
    match kind {
        KnownKind::Lost { seconds } => t.findings_lost(format_span(*seconds)),
        KnownKind::Silent { seconds } => t.findings_silent(format_span(*seconds)),
        KnownKind::RecoveryAction { action } => t.findings_recovery(recovery(*action, t)),
        KnownKind::Xid { code } => t.findings_xid(code),
        KnownKind::Uncorrected { count } => t.findings_uncorrected(count),
        KnownKind::Remap { failed: true } => t.findings_remap_failed(),
        KnownKind::Remap { failed: false } => t.findings_remap_pending(),
        KnownKind::Braked => t.findings_braked(),
        KnownKind::SlowedByHeat {
            headroom_c: Some(left),
        } => t.findings_slowed_by_heat_left(degrees(*left)),
        KnownKind::SlowedByHeat { headroom_c: None } => t.findings_slowed_by_heat(),
        KnownKind::Hot { headroom_c } => t.findings_hot(degrees(*headroom_c)),
        KnownKind::Narrow {
            width,
            width_max,
            bridge,
            usable,
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
        } if *bytes > 0.0 => t.findings_held(format_span(*seconds), Bytes(*bytes)),
        KnownKind::Idle { seconds, .. } => t.findings_idle(format_span(*seconds)),
        KnownKind::StartUp { seconds } => t.findings_startup(format_span(*seconds)),
        KnownKind::LinksDown { up, links } => t.findings_links_down(up, links),
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
        KnownKind::Nothing => t.findings_nothing(),
    }
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
    let index = view.device.index;
    let Known { kind, .. } = view.known.first()?;
    // A device that is busy without work behind a narrow link is asked about its link first.
    let narrow = view
        .known
        .iter()
        .find(|k| matches!(k.kind, KnownKind::Narrow { .. }));
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
        | KnownKind::Remap { .. } => Some((t.findings_next_health(index), true)),
        KnownKind::Braked => Some((t.findings_next_clocks(index), true)),
        KnownKind::SlowedByHeat { .. } | KnownKind::Hot { .. } => {
            Some((t.findings_next_clocks(index), false))
        }
        KnownKind::Narrow { bridge, .. } => {
            let own = view.device.pci_address.ok().map(|a| a.to_string());
            let address = bridge.clone().or(own)?;
            Some((t.findings_next_link(address), true))
        }
        KnownKind::Slow { .. } | KnownKind::LinkFull { .. } => {
            Some((t.findings_next_link(view.device.pci_address.ok()?), false))
        }
        KnownKind::LimitBelowPlate { .. } | KnownKind::DefaultBelowRated { .. } => {
            Some((t.findings_next_power(index), true))
        }
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

/// What to do about a probe that does not work.
#[must_use]
pub fn probe_next(report: &ProbeReport, t: Catalogue) -> Option<Cow<'static, str>> {
    match report.hint {
        ProbeHint::Nothing => None,
        ProbeHint::NoHardware => Some(t.probe_next_no_hardware(report.vendor.word())),
        ProbeHint::InstallDriver => Some(t.probe_next_install_driver(report.vendor.word())),
        ProbeHint::ContainerWithoutDevices => Some(t.probe_next_container_flag()),
        ProbeHint::Restart => Some(t.probe_next_reload()),
        ProbeHint::Permission => Some(t.probe_next_group("video")),
        ProbeHint::RecreateContainer => Some(t.probe_next_recreate()),
        ProbeHint::Unknown => Some(t.probe_next_library_flag("--nvml-library")),
    }
}
