//! Beyond the ticks: pictures from the rows by the minute, which outlive them.

use crate::model::{
    Absent, BoardId, BoardView, Device, DeviceId, DeviceKind, DeviceView, Figure, Figures, Host,
    HostSample, Known, KnownKind, Level, PathView, Phase, Readings, Snapshot, SourceKind, Startup,
    StateWord, Value, Vendor, Verdict, VerdictState,
};
use crate::record::{MinuteRow, NamedDevice};
use crate::session::Series;
use crate::text::clean;
use crate::units::MonoTime;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How far charts of minutes reach back.
pub(super) const SPAN: Duration = Duration::from_secs(4 * 3600);
const MINUTE: Duration = Duration::from_secs(60);

/// The picture of a minute. `rows` are those of the charts' span, in order; the last minute's make the picture.
pub(super) fn picture(
    at: Timestamp,
    rows: &[MinuteRow],
    named: &[NamedDevice],
    source: SourceKind,
) -> Snapshot {
    let mut devices: Vec<DeviceView> = rows
        .iter()
        .filter(|row| row.at == at)
        .map(|row| view(row, named))
        .collect();
    devices.sort_by_key(|view| view.device.index);
    Snapshot {
        seq: 0,
        at,
        mono: instant(at),
        interval: MINUTE,
        dropped: 0,
        source,
        probes: Vec::new(),
        host: Host::default(),
        host_sample: HostSample::default(),
        host_age_s: 0.0,
        startup: Startup::default(),
        boards: devices.iter().map(board).collect(),
        devices,
        events: Arc::default(),
        past: Arc::default(),
        // The ledger is kept with the ticks; of a minute alone, nobody knows what had been billed.
        cost: None,
        energy: None,
        carbon: None,
        platform: None,
    }
}

/// The charts: a point for each minute.
pub(super) fn series(rows: &[MinuteRow]) -> BTreeMap<DeviceId, Series> {
    let mut all: BTreeMap<DeviceId, Series> = BTreeMap::new();
    for row in rows {
        let values = [
            row.power_w,
            row.temperature_max_c,
            row.headroom_min_c,
            row.pcie_rx_bytes_per_s,
            row.pcie_tx_bytes_per_s,
            row.utilization_ratio,
            row.work_ratio,
        ];
        all.entry(row.device.clone())
            .or_insert_with(|| Series::new(SPAN))
            .push(instant(row.at), values);
    }
    all
}

/// Wall time in the place of the boot clock, which the rows do not have.
fn instant(at: Timestamp) -> MonoTime {
    MonoTime(u64::try_from(at.as_nanosecond()).unwrap_or(0))
}

fn device(row: &MinuteRow, named: &[NamedDevice]) -> Device {
    let named = named.iter().find(|named| named.id == row.device);
    Device {
        id: row.device.clone(),
        index: named.map_or(0, |n| n.index),
        vendor: named.map_or(Vendor::Other, |n| Vendor::of_word(&n.vendor)),
        name: named.map_or_else(
            || Arc::from(&*row.device.0),
            |n| Arc::from(&*clean(&n.name)),
        ),
        uuid: Err(Absent::NotReported),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Err(Absent::NotReported),
        board: BoardId(row.device.0.clone()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

fn view(row: &MinuteRow, named: &[NamedDevice]) -> DeviceView {
    let mut figures = Figures::default();
    for (figure, value) in [
        (Figure::Power, row.power_w),
        (Figure::Temperature, row.temperature_max_c),
        (Figure::Headroom, row.headroom_min_c),
        (Figure::Utilization, row.utilization_ratio),
        (Figure::Work, row.work_ratio),
        (Figure::MemoryUsed, row.memory_used_max_bytes),
        (Figure::Clock, row.clock_mhz),
        (Figure::PcieRx, row.pcie_rx_bytes_per_s),
        (Figure::PcieTx, row.pcie_tx_bytes_per_s),
        (Figure::NvlinkRx, row.nvlink_rx_bytes_per_s),
        (Figure::NvlinkTx, row.nvlink_tx_bytes_per_s),
    ] {
        if let Some(value) = value {
            figures.set(figure, Value::fresh(value));
        }
    }
    let phase = most(row);
    let (state, word) = match phase {
        Phase::Compute => (VerdictState::Working, StateWord::Working),
        Phase::Unobserved => (VerdictState::Unknown, StateWord::Unknown),
        Phase::IoWait | Phase::Queue | Phase::Idle => (VerdictState::Idle, StateWord::Idle),
    };
    DeviceView {
        device: Arc::new(device(row, named)),
        readings: Readings::default(),
        figures,
        age_s: (row.samples > 0).then_some(0.0),
        silent: None,
        power_kind: "unknown",
        power_scope: "gpu",
        plate_power_source: None,
        plate_unverified: false,
        rated_power_source: None,
        temperature_sensor: row.temperature_max_c.map(|_| "core"),
        headroom_source: None,
        work_ratio_source: None,
        throttle: Err(Absent::NotReported),
        throttle_seconds: Vec::new(),
        pcie_method: None,
        path: PathView::default(),
        mig: None,
        xid: None,
        processes: Err(Absent::NotReported),
        processes_age_s: 0.0,
        phase,
        phase_seconds: row.phases,
        utilization_seconds: row
            .utilization_ratio
            .map_or(0.0, |ratio| ratio * row.seconds),
        work_seconds: row
            .work_ratio
            .map(|ratio| (ratio * row.seconds, row.seconds)),
        verdict: Verdict {
            state,
            ..Verdict::unknown()
        },
        episodes: Vec::new(),
        word,
        known: vec![Known {
            level: Level::Info,
            kind: KnownKind::Minute {
                samples: row.samples,
            },
        }],
    }
}

/// What most of the minute was spent on.
fn most(row: &MinuteRow) -> Phase {
    let phases = Phase::ALL.iter().copied();
    phases
        .filter(|phase| row.phases.get(*phase) > 0.0)
        .max_by(|a, b| row.phases.get(*a).total_cmp(&row.phases.get(*b)))
        .unwrap_or(Phase::Unobserved)
}

fn board(view: &DeviceView) -> BoardView {
    let absent = Value::absent(Absent::NotReported);
    BoardView {
        id: view.device.board.clone(),
        name: view.device.name.clone(),
        devices: vec![view.device.id.clone()],
        power_w: view.figures.get(Figure::Power),
        power_limit_w: absent,
        plate_power_w: absent,
        phase_seconds: view.phase_seconds,
    }
}
