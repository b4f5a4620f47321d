//! Which evidence is out of reach here, in words: rules that need it stay silent, and that must be told.

use super::verdicts::witness;
use super::words::{probe_next, probe_status};
use crate::model::{
    Absent, CannotSee, DeviceId, DeviceView, Figure, ProbeHint, ProbeReport, ProbeStatus, Snapshot,
    SourceKind, Witness,
};
use crate::text::Catalogue;

/// Evidence of a device: what it is, where it is read, and the columns of `nvidia-smi --query-gpu` that log it.
struct Wanted {
    witness: Witness,
    figure: Figure,
    columns: Option<&'static str>,
}

const WANTED: [Wanted; 9] = [
    wanted(
        Witness::Utilization,
        Figure::Utilization,
        Some("utilization.gpu"),
    ),
    wanted(Witness::Power, Figure::Power, Some("power.draw")),
    wanted(
        Witness::PowerOfLimit,
        Figure::PowerLimit,
        Some("enforced.power.limit"),
    ),
    wanted(
        Witness::Temperature,
        Figure::Temperature,
        Some("temperature.gpu"),
    ),
    wanted(
        Witness::ClockOfMax,
        Figure::ClockMax,
        Some("clocks.sm, clocks.max.sm"),
    ),
    wanted(
        Witness::MemoryUsed,
        Figure::MemoryUsed,
        Some("memory.used, memory.total"),
    ),
    wanted(
        Witness::LinkWidth,
        Figure::PcieWidth,
        Some(
            "pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max",
        ),
    ),
    wanted(Witness::LinkTraffic, Figure::PcieRx, None),
    wanted(Witness::SmActive, Figure::SmActive, None),
];

const fn wanted(witness: Witness, figure: Figure, columns: Option<&'static str>) -> Wanted {
    Wanted {
        witness,
        figure,
        columns,
    }
}

/// The column of the reasons' mask.
const REASONS: &str = "clocks_event_reasons.active";

/// The evidence that this machine or log does not give; what only fails to answer now is not among it.
#[must_use]
pub fn cannot_see(snapshot: &Snapshot, t: Catalogue) -> Vec<CannotSee> {
    let log = matches!(snapshot.source, SourceKind::Log { .. });
    let mut list = Vec::new();
    for wanted in &WANTED {
        let reading = |view: &DeviceView| view.figures.get(wanted.figure).reading.err();
        let how = |why: Absent| match wanted.columns {
            Some(columns) if log => t.blind_how_columns(columns),
            _ if log => t.blind_how_record(),
            _ if wanted.witness == Witness::SmActive => t.blind_how_gpm(),
            _ => how(why, t),
        };
        let label = witness(wanted.witness, t).into_owned();
        list.extend(of_devices(
            snapshot,
            wanted.witness.metric(),
            label,
            reading,
            |why| how(why).into_owned(),
            wanted.columns,
            t,
        ));
    }
    list.extend(of_devices(
        snapshot,
        "throttle",
        t.blind_reasons().into_owned(),
        |view| view.throttle.as_ref().err().copied(),
        |why| {
            if log {
                t.blind_how_columns(REASONS).into_owned()
            } else {
                how(why, t).into_owned()
            }
        },
        Some(REASONS),
        t,
    ));
    list.extend(of_devices(
        snapshot,
        "processes",
        t.blind_processes().into_owned(),
        |view| view.processes.as_ref().err().copied(),
        |why| {
            if log {
                t.blind_how_record().into_owned()
            } else {
                how(why, t).into_owned()
            }
        },
        None,
        t,
    ));
    list.extend(of_shares(snapshot, t));
    list.extend(of_host(snapshot, log, t));
    list.extend(
        snapshot
            .probes
            .iter()
            .filter_map(|probe| of_vendor(probe, t)),
    );
    list
}

/// A vendor whose devices are here and cannot be read.
fn of_vendor(probe: &ProbeReport, t: Catalogue) -> Option<CannotSee> {
    let is_here = !matches!(probe.hint, ProbeHint::Nothing | ProbeHint::NoHardware);
    let unread = matches!(
        probe.status,
        ProbeStatus::NoLibrary
            | ProbeStatus::NoDevice
            | ProbeStatus::Mismatch
            | ProbeStatus::NoPermission
    );
    (is_here && unread).then(|| CannotSee {
        evidence: "devices",
        label: t.blind_vendor(probe.vendor.word()).into_owned(),
        devices: Vec::new(),
        reason: probe_status(probe, t).into_owned(),
        how: probe_next(probe, t).unwrap_or_default().into_owned(),
        columns: None,
    })
}

/// What of a card's power and utilization is ours, where others have shares of it too.
fn of_shares(snapshot: &Snapshot, t: Catalogue) -> Option<CannotSee> {
    let shares = || {
        let devices = snapshot.devices.iter().map(|view| &view.device);
        devices.filter_map(|device| Some((&device.id, device.share()?)))
    };
    let (_, kind) = shares().next()?;
    Some(CannotSee {
        evidence: "own_work",
        label: t.blind_own_work().into_owned(),
        devices: shares().map(|(id, _)| id.clone()).collect(),
        reason: t.blind_share(kind.title()).into_owned(),
        how: t.blind_how_share().into_owned(),
        columns: None,
    })
}

/// One piece of evidence, where devices lack it.
fn of_devices(
    snapshot: &Snapshot,
    evidence: &'static str,
    label: String,
    reading: impl Fn(&DeviceView) -> Option<Absent>,
    how: impl Fn(Absent) -> String,
    columns: Option<&'static str>,
    t: Catalogue,
) -> Option<CannotSee> {
    let lacking: Vec<(&DeviceId, Absent)> = snapshot
        .devices
        .iter()
        .filter(|view| view.silent.is_none())
        .filter_map(|view| {
            let why = reading(view).filter(|why| is_lasting(*why))?;
            Some((&view.device.id, why))
        })
        .collect();
    let why = lacking.first()?.1;
    let log = matches!(snapshot.source, SourceKind::Log { .. });
    Some(CannotSee {
        evidence,
        label,
        devices: lacking.into_iter().map(|(id, _)| id.clone()).collect(),
        reason: reason(why, log, t),
        how: how(why),
        columns: columns.filter(|_| log),
    })
}

/// The host's evidence: all of it in one where there is none at all.
fn of_host(snapshot: &Snapshot, log: bool, t: Catalogue) -> Vec<CannotSee> {
    let host = &snapshot.host_sample;
    let missing = |why: Option<Absent>, evidence, label: String| {
        let why = why.filter(|why| is_lasting(*why))?;
        Some(CannotSee {
            evidence,
            label,
            devices: Vec::new(),
            reason: reason(why, log, t),
            how: if log {
                t.blind_how_record()
            } else {
                t.blind_how_host()
            }
            .into_owned(),
            columns: None,
        })
    };
    let all = [
        host.cpu_ratio.err(),
        host.psi_io_full_ratio.err(),
        host.tcp_retransmit_ratio.err(),
    ];
    if all.iter().all(Option::is_some) {
        return missing(host.cpu_ratio.err(), "host", t.blind_host().into_owned())
            .into_iter()
            .collect();
    }
    [
        (host.psi_io_full_ratio.err(), Witness::IoFull),
        (host.cgroup_throttled_ratio.err(), Witness::CgroupThrottled),
        (host.tcp_retransmit_ratio.err(), Witness::Retransmits),
    ]
    .into_iter()
    .filter_map(|(why, of)| missing(why, of.metric(), witness(of, t).into_owned()))
    .collect()
}

/// Whether a reason lasts: what does not answer at this instant may well do so at the next.
const fn is_lasting(why: Absent) -> bool {
    matches!(
        why,
        Absent::NotSupported | Absent::NoPermission | Absent::NoLibrary | Absent::NotReported
    )
}

fn reason(why: Absent, log: bool, t: Catalogue) -> String {
    match why {
        Absent::NotReported if log => t.blind_not_logged(),
        Absent::NoPermission => t.blind_no_permission(),
        Absent::NoLibrary => t.blind_no_library(),
        Absent::NotSupported => t.blind_not_supported(),
        _ => t.blind_not_reported(),
    }
    .into_owned()
}

fn how(why: Absent, t: Catalogue) -> std::borrow::Cow<'static, str> {
    match why {
        Absent::NoPermission => t.blind_how_permission(),
        Absent::NoLibrary => t.blind_how_driver(),
        _ => t.blind_how_other(),
    }
}
