//! The devices by `cnmon`, where there is no library: run every few seconds, beside whoever asks for readings.

use super::table::{Row, Table, parse};
use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, Metric, Reading, Readings, Vendor,
};
use crate::probe::plausible;
use crate::probe::tool;
use crate::probe::vendor::Answer;
use std::ffi::OsString;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A run takes hundreds of milliseconds of the driver's time.
const PERIOD: Duration = Duration::from_secs(3);
/// One that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// A table older than this is told no more.
const OLDEST: Duration = Duration::from_secs(9);

/// What the tool sets.
const METRICS: [Metric; 8] = [
    Metric::PowerUsage,
    Metric::BoardPower,
    Metric::LimitEnforced,
    Metric::CoreTemperature,
    Metric::Utilization,
    Metric::Fan,
    Metric::MemoryUsed,
    Metric::MemoryTotal,
];

/// The tool, running now and then until this goes.
pub(super) struct Tool {
    pub(super) program: OsString,
    pub(super) devices: Vec<Arc<Device>>,
    newest: Arc<Newest>,
    /// Its end is the thread's.
    _running: Sender<()>,
}

type Newest = Mutex<(Instant, Table)>;

fn run(program: &OsString) -> Option<Table> {
    let text = tool::output(Command::new(program), PATIENCE);
    text.ok().map(|text| parse(&text))
}

impl Tool {
    /// The tool with its first table; `None` where it cannot be run or lists nothing.
    pub(super) fn start(program: &OsString) -> Option<(Self, Table)> {
        let table = run(program).filter(|table| !table.rows.is_empty())?;
        let newest = Arc::new(Mutex::new((Instant::now(), table.clone())));
        let (running, ended) = channel();
        let (of, name) = (Arc::downgrade(&newest), program.clone());
        std::thread::Builder::new()
            .name("cnmon".to_owned())
            .spawn(move || {
                while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                    renew(&of, run(&name));
                }
            })
            .ok()?;
        let tool = Self {
            program: program.clone(),
            devices: devices(&table),
            newest,
            _running: running,
        };
        Some((tool, table))
    }

    /// The readings of the newest table.
    pub(super) fn sample(&self, device: &DeviceId, readings: &mut Readings) -> Answer {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.devices.iter().find(|known| known.id == *device);
        let row = known.and_then(|known| {
            let mut rows = newest.1.rows.iter();
            rows.find(|row| row.index == known.index)
        });
        let (Some(known), Some(row)) = (known, row) else {
            return Answer::Lost(Absent::Lost);
        };
        if newest.0.elapsed() > OLDEST {
            return Answer::Lost(Absent::TimedOut);
        }
        let alone = known.board.0 == known.id.0;
        fill(row, alone, readings);
        Answer::Answered
    }
}

/// Takes in a new table; a run that failed leaves the old one, which gets older.
fn renew(newest: &Weak<Newest>, table: Option<Table>) {
    if let (Some(newest), Some(table)) = (newest.upgrade(), table) {
        *newest.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), table);
    }
}

fn fill(row: &Row, alone: bool, readings: &mut Readings) {
    let number = |value: Option<i64>, read: fn(i64) -> Reading<f64>| {
        value.map_or(Err(Absent::NotReported), read)
    };
    let percent = |raw| plausible::unsigned(raw, plausible::ratio);
    let draw = number(row.power.map(|(usage, _)| usage), plausible::whole_watts);
    let cap = number(row.power.map(|(_, cap)| cap), plausible::whole_watts);
    let none = Err(Absent::NotSupported);
    let (own, board) = if alone { (draw, none) } else { (none, draw) };
    let total = number(row.memory.map(|(_, total)| total), |mib| {
        plausible::mebibytes(mib, plausible::memory_total)
    });
    let used = row.memory.map(|(used, _)| used).ok_or(Absent::NotReported);
    let used = used
        .and_then(|mib| plausible::mebibytes(mib, |bytes| plausible::memory_part(bytes, &total)));
    let values = [
        own,
        board,
        cap,
        number(row.temperature, plausible::celsius),
        number(row.utilization, percent),
        number(row.fan, |raw| plausible::unsigned(raw, plausible::fan)),
        total.and(used),
        total,
    ];
    for (metric, value) in METRICS.into_iter().zip(values) {
        readings.set(metric, value);
    }
}

/// Whether two lines are the two chips of one MLU370-X8. The table has no serial number: it is inferred from the
/// name, the places, which go in pairs, and from draw and cap, which both lines say of the whole board.
fn share_a_board(one: &Row, other: &Row) -> bool {
    let (Some((a, cap)), Some((b, other_cap))) = (one.power, other.power) else {
        return false;
    };
    one.name == other.name
        && one.name.ends_with("-X8")
        && one.index != other.index
        && one.index / 2 == other.index / 2
        && cap == other_cap
        && a.abs_diff(b) <= 3
}

fn devices(table: &Table) -> Vec<Arc<Device>> {
    let id = |row: &Row| match row.address {
        Some(address) => DeviceId(Arc::from(address.to_string())),
        None => DeviceId(Arc::from(format!("cambricon-unnamed-{}", row.index))),
    };
    let device = |row: &Row| {
        let mate = table.rows.iter().find(|other| share_a_board(row, other));
        let board = match mate {
            Some(mate) => BoardId(Arc::from(format!("board-of-{}", id(row).0.min(id(mate).0)))),
            None => BoardId(id(row).0),
        };
        let firmware = row.firmware.clone();
        Arc::new(Device {
            id: id(row),
            index: row.index,
            vendor: Vendor::Cambricon,
            name: Arc::clone(&row.name),
            uuid: Err(Absent::NotReported),
            pci_address: row.address.ok_or(Absent::NotReported),
            pci_id: Err(Absent::NotReported),
            driver: table.driver.clone().ok_or(Absent::NotReported),
            board,
            parent: None,
            kind: DeviceKind::Device,
            power_usage_is_average: None,
            unified_memory: false,
            c2c: false,
            virtual_share: false,
            details: firmware
                .map(|version| (Arc::from("firmware"), version))
                .into_iter()
                .collect(),
        })
    };
    table.rows.iter().map(device).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(index: u32, bus: u8, usage: i64) -> Row {
        Row {
            index,
            name: "MLU370-X8".into(),
            address: format!("0000:{bus:02x}:00.0").parse().ok(),
            utilization: Some(101),
            power: Some((usage, 250)),
            memory: Some((512, 23_374)),
            ..Row::default()
        }
    }

    fn tool(rows: Vec<Row>, age: Duration) -> Tool {
        let table = Table {
            rows,
            ..Table::default()
        };
        Tool {
            program: "cnmon".into(),
            devices: devices(&table),
            newest: Arc::new(Mutex::new((
                Instant::now().checked_sub(age).unwrap(),
                table,
            ))),
            _running: channel().0,
        }
    }

    #[test]
    fn two_lines_of_one_board_are_one_board() {
        let tool = tool(
            vec![
                row(0, 0x39, 106),
                row(1, 0x3d, 107),
                row(2, 0x51, 180),
                row(3, 0x55, 20),
            ],
            Duration::ZERO,
        );
        let boards: Vec<&str> = tool.devices.iter().map(|d| &*d.board.0).collect();
        assert_eq!(
            boards,
            [
                "board-of-0000:39:00.0",
                "board-of-0000:39:00.0",
                "0000:51:00.0",
                "0000:55:00.0"
            ]
        );
        let mut readings = Readings::default();
        tool.sample(&tool.devices[1].id, &mut readings);
        assert_eq!(readings.get(Metric::BoardPower), Ok(107.0));
        assert_eq!(readings.get(Metric::PowerUsage), Err(Absent::NotSupported));
        assert_eq!(readings.get(Metric::LimitEnforced), Ok(250.0));
        assert_eq!(
            readings.get(Metric::MemoryTotal),
            Ok(23_374.0 * 1_048_576.0)
        );
        assert_eq!(
            readings.get(Metric::CoreTemperature),
            Err(Absent::NotReported)
        );
        assert_eq!(
            readings.get(Metric::Utilization),
            Err(Absent::Implausible(101.0))
        );
        tool.sample(&tool.devices[2].id, &mut readings);
        assert_eq!(readings.get(Metric::PowerUsage), Ok(180.0));
    }

    #[test]
    fn an_old_table_is_told_no_more_and_a_card_that_left_it_is_lost() {
        let tool = tool(vec![row(0, 0x39, 106)], OLDEST * 2);
        let id = tool.devices[0].id.clone();
        let mut readings = Readings::default();
        assert_eq!(
            tool.sample(&id, &mut readings),
            Answer::Lost(Absent::TimedOut)
        );
        renew(&Arc::downgrade(&tool.newest), Some(Table::default()));
        assert_eq!(tool.sample(&id, &mut readings), Answer::Lost(Absent::Lost));
    }
}
