//! What is asked of a device, and how often.

use super::devices;
use super::fault::Fault;
use super::ffi::{
    Ecc, Fan, Frequency, Health, Limit, LimitRange, Link, LinkBytes, LinkErrors, Memory, OldMemory,
    OldTraffic, Process, ProcessUse, Replays, Temperature, Throttle, Traffic, Utilization,
};
use super::unit::{Number, Unit};
use crate::model::{Absent, DeviceProcess, Metric, Reading, Readings, Reason};
use crate::probe::plausible;
use crate::probe::round::{Round, Said as _};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// The throttle reasons in the order of the library's structure: by TDP, by a set cap, by a set maximum clock, by a
/// lock, power brake, heat.
const REASONS: [u64; 6] = [
    Reason::POWER_CAP,
    Reason::POWER_CAP,
    Reason::CLOCKS_SET,
    Reason::CLOCKS_SET,
    Reason::POWER_BRAKE,
    Reason::SW_THERMAL,
];
/// The plain throughput counts the past 20 ms.
const WINDOWS_PER_S: f64 = 50.0;
/// No device has more ports.
const PORTS_MAX: i32 = 64;
/// Linux has no higher PID (`PID_MAX_LIMIT`).
const PID_MAX: u32 = 4_194_304;
/// What the library's health says, as the model counts it: it tells good from bad, not how bad.
const GOOD: f64 = 0.0;
const BAD: f64 = 2.0;

/// The readings of each tick.
pub(super) fn sample(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    power(unit, round, readings);
    temperatures(unit, round, readings);
    activity(unit, round, readings);
    throttling(unit, round, readings);
    pcie(unit, round, readings);
    links(unit, readings);
}

/// The readings that change rarely.
pub(super) fn sample_slow(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    limits(unit, round, readings);
    let functions = &unit.library.functions;
    let replays: Reading<Replays> = ask(unit, round, "replays", functions.replays);
    readings.set(
        Metric::PcieReplays,
        replays.and_then(|replays| plausible::count(replays.counter.into())),
    );
    let max: Reading<Link> = ask(unit, round, "link_max", functions.link_max);
    set_link(
        readings,
        max,
        Metric::PcieGenerationMax,
        Metric::PcieWidthMax,
    );
    let health: Reading<Health> = ask(unit, round, "health", functions.health);
    let health = health.and_then(|health| match health.health {
        1 => Ok(GOOD),
        0 => Ok(BAD),
        other => Err(Absent::Implausible(other.into())),
    });
    readings.set(Metric::Health, health);
    let fan: Reading<Fan> = ask(unit, round, "fan", functions.fan);
    let fan = fan.and_then(|fan| match fan.speed {
        -1 => Err(Absent::NotSupported),
        speed => plausible::unsigned(speed.into(), plausible::fan),
    });
    readings.set(Metric::Fan, fan);
    let ecc: Reading<Ecc> = ask(unit, round, "ecc", functions.ecc);
    readings.set(
        Metric::EccCorrected,
        ecc.and_then(|ecc| plausible::count(ecc.corrected)),
    );
    readings.set(
        Metric::EccUncorrected,
        ecc.and_then(|ecc| plausible::count(ecc.uncorrected)),
    );
    count_ports(unit, readings);
}

/// A versioned structure.
fn ask<T: super::ffi::Versioned>(
    unit: &Unit,
    round: &Round<'_>,
    question: &'static str,
    function: Option<super::ffi::Ask<T>>,
) -> Reading<T> {
    round.ask(question, || unit.library.versioned(function, unit.handle))
}

fn power(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let power = round.ask("power", || devices::power(&unit.library, unit.handle));
    let watts = |raw: i32| plausible::whole_watts(raw.into());
    let (draw, none) = match unit.shares_power {
        true => (Metric::BoardPower, Metric::PowerUsage),
        false => (Metric::PowerUsage, Metric::BoardPower),
    };
    readings.set(draw, power.and_then(|power| watts(power.usage)));
    readings.set(none, Err(Absent::NotSupported));
    readings.set(
        Metric::LimitEnforced,
        power.and_then(|power| watts(power.cap)),
    );
    readings.set(Metric::RatedPower, power.and_then(|power| watts(power.tdp)));
}

/// An absolute threshold, which is never at the freezing point or below.
fn threshold(raw: i64) -> Reading<f64> {
    match raw {
        1.. => plausible::celsius(raw),
        _ => Err(Absent::Implausible(raw as f64)),
    }
}

/// Degrees of a sensor; where it says zero there is none.
fn degrees(raw: i32) -> Reading<f64> {
    match raw {
        0 => Err(Absent::NotReported),
        raw => plausible::celsius(raw.into()),
    }
}

fn temperatures(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let all: Reading<Temperature> = ask(
        unit,
        round,
        "temperature",
        unit.library.functions.temperature,
    );
    // Older libraries tell only the board's.
    let core = all.and_then(|all| {
        let [cluster, ..] = all.cluster;
        let sensors = [all.chip, cluster, all.board];
        degrees(sensors.into_iter().find(|raw| *raw != 0).unwrap_or(0))
    });
    readings.set(Metric::CoreTemperature, core);
    readings.set(
        Metric::MemoryTemperature,
        all.and_then(|all| degrees(all.memory)),
    );
}

fn activity(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let functions = &unit.library.functions;
    let utilization: Reading<Utilization> = ask(unit, round, "utilization", functions.utilization);
    readings.set(
        Metric::Utilization,
        utilization.and_then(|u| plausible::unsigned(u.average.into(), plausible::ratio)),
    );
    let memory = round.ask("memory", || memory(unit));
    let total = memory.and_then(|m| plausible::mebibytes(m.total, plausible::memory_total));
    let part = |raw: i64| plausible::mebibytes(raw, |bytes| plausible::memory_part(bytes, &total));
    let used = memory.and_then(|m| part(m.used));
    let reserved = memory.and_then(|m| part(m.reserved));
    // Where the total cannot be, a plain number beside it proves nothing.
    readings.set(Metric::MemoryUsed, total.and(used));
    readings.set(Metric::MemoryReserved, total.and(reserved));
    readings.set(Metric::MemoryTotal, total);
    let clocks: Reading<Frequency> = ask(unit, round, "frequency", functions.frequency);
    let clock = |raw: i32| plausible::unsigned(raw.into(), plausible::megahertz);
    readings.set(
        Metric::SmClock,
        clocks.and_then(|clocks| clock(clocks.board)),
    );
    // Older libraries fill in neither.
    let max = clocks.and_then(|clocks| match (clocks.max, clocks.default) {
        (0, 0) => Err(Absent::NotReported),
        (0, default) => clock(default),
        (max, _) => clock(max),
    });
    readings.set(Metric::SmClockMax, max);
}

/// By the older call, which tells no reserve, where the library lacks the newer one.
fn memory(unit: &Unit) -> Result<Memory, Fault> {
    let library = &unit.library;
    match library.plain(library.functions.memory, unit.handle) {
        Err(Fault::Missing) => {
            let old: OldMemory = library.versioned(library.functions.old_memory, unit.handle)?;
            Ok(Memory {
                total: old.total,
                used: old.used,
                reserved: 0,
                virtual_total: 0,
                virtual_used: 0,
                rest: [0; 17],
            })
        }
        memory => memory,
    }
}

/// The vendor's mask, a bit for each reason in the library's order, and the same in the words of all vendors.
fn reasons(throttle: &Throttle) -> Reading<(u64, u64)> {
    let mut all = (0, 0);
    for (place, (raw, reason)) in throttle.reasons.iter().zip(REASONS).enumerate() {
        match raw {
            0 => {}
            1 => all = (all.0 | 1 << place, all.1 | reason),
            other => return Err(Absent::Implausible((*other).into())),
        }
    }
    Ok(all)
}

fn throttling(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let throttle: Reading<Throttle> = ask(unit, round, "throttle", unit.library.functions.throttle);
    let reasons = throttle.and_then(|throttle| reasons(&throttle));
    readings.set(Metric::VendorReasons, reasons.map(|(raw, _)| raw as f64));
    readings.set(Metric::Reasons, reasons.map(|(_, words)| words as f64));
    type Read = fn(i64) -> Reading<f64>;
    let table: [(Metric, i32, Read); 4] = [
        (Metric::Margin, 70, plausible::celsius),
        (Metric::Energy, 71, |mj| {
            plausible::unsigned(mj, plausible::joules)
        }),
        (Metric::SecondsSwPowerCap, 72, |ns| {
            plausible::unsigned(ns, plausible::seconds)
        }),
        (Metric::SecondsSwThermal, 73, |ns| {
            plausible::unsigned(ns, plausible::seconds)
        }),
    ];
    let answers = unit.fields(round, "fields", &table.map(|(_, id, _)| id));
    for ((metric, _, read), answer) in table.into_iter().zip(answers) {
        readings.set(metric, answer.and_then(Number::whole).and_then(read));
    }
}

fn set_link(readings: &mut Readings, link: Reading<Link>, generation: Metric, width: Metric) {
    let number = |raw: i32, read: fn(u64) -> Reading<f64>| plausible::unsigned(raw.into(), read);
    readings.set(
        generation,
        link.and_then(|link| number(link.generation, plausible::generation)),
    );
    readings.set(
        width,
        link.and_then(|link| number(link.width, plausible::width)),
    );
}

/// Both directions together: which of "read" and "write" is which, the library does not say.
fn both(read: i64, write: i64) -> Reading<f64> {
    match read.checked_add(write) {
        Some(sum) if read >= 0 && write >= 0 => Ok(sum as f64),
        _ => Err(Absent::Implausible(read.min(write) as f64)),
    }
}

fn pcie(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let functions = &unit.library.functions;
    let link: Reading<Link> = ask(unit, round, "link", functions.link);
    set_link(
        readings,
        link,
        Metric::PcieGenerationBefore,
        Metric::PcieWidthBefore,
    );
    let traffic: Reading<Traffic> = round.ask("traffic", || {
        unit.library.plain(functions.traffic, unit.handle)
    });
    readings.set(
        Metric::PcieBothBytes,
        traffic.and_then(|traffic| both(traffic.read_total, traffic.write_total)),
    );
    let window = match traffic {
        Err(Absent::NoLibrary) => {
            let old: Reading<OldTraffic> = ask(unit, round, "old_traffic", functions.old_traffic);
            old.map(|old| (old.read, old.write))
        }
        traffic => traffic.map(|traffic| (traffic.read, traffic.write)),
    };
    let rate = window.and_then(|(read, write)| both(read, write));
    readings.set(
        Metric::PcieBothRate,
        rate.and_then(|bytes| plausible::pcie_rate(bytes * WINDOWS_PER_S)),
    );
}

fn limits(unit: &Unit, round: &Round<'_>, readings: &mut Readings) {
    let functions = &unit.library.functions;
    let watts = |raw: i64| plausible::whole_watts(raw);
    let default: Reading<Limit> = ask(unit, round, "limit_default", functions.limit_default);
    let range: Reading<LimitRange> = ask(unit, round, "limit_range", functions.limit_range);
    let ids = [52, 53, 68, 69, 19, 20, 21];
    let mut answers = unit.fields(round, "slow_fields", &ids).into_iter();
    let mut next = |read: fn(i64) -> Reading<f64>| {
        let answer = answers.next().unwrap_or(Err(Absent::NotReported));
        answer.and_then(Number::whole).and_then(read)
    };
    for metric in [
        Metric::ThresholdSlowdown,
        Metric::ThresholdShutdown,
        Metric::ThresholdGpuMax,
        Metric::ThresholdMemoryMax,
    ] {
        readings.set(metric, next(threshold));
    }
    for (metric, value) in [
        (Metric::LimitMin, range.and_then(|r| watts(r.min.into()))),
        (Metric::LimitMax, range.and_then(|r| watts(r.max.into()))),
        (
            Metric::LimitDefault,
            default.and_then(|d| watts(d.limit.into())),
        ),
    ] {
        // A number that cannot be is not papered over by another source.
        let field = next(plausible::whole_watts);
        readings.set(
            metric,
            match value {
                Err(Absent::NotSupported | Absent::NoLibrary) => field.or(value),
                value => value,
            },
        );
    }
}

/// What a port answers. A port that is none is no lost device.
fn of_port<T>(answer: Result<T, Fault>) -> Reading<T> {
    answer.map_err(|fault| match fault.absent() {
        Absent::Lost => Absent::NotSupported,
        why => why,
    })
}

/// How many MLU-Link ports there are and how many are up. How fast they are together is not set: whether the
/// library's speed is of one way, it does not say.
fn count_ports(unit: &Unit, readings: &mut Readings) {
    let library = &unit.library;
    let ports = of_port(library.ports(unit.handle)).and_then(|ports| match ports {
        0..=PORTS_MAX => Ok(ports),
        other => Err(Absent::Implausible(other.into())),
    });
    unit.ports
        .store(ports.unwrap_or(0).unsigned_abs(), Ordering::Relaxed);
    readings.set(Metric::NvlinkLinks, ports.map(f64::from));
    let each = || 0..ports.unwrap_or(0);
    let sum = |of: &dyn Fn(i32) -> Reading<f64>| -> Reading<f64> {
        match ports? {
            0 => Err(Absent::NotSupported),
            _ => each().map(of).sum(),
        }
    };
    let up = sum(&|port| {
        let up = of_port(library.port_up(unit.handle, port))?;
        Ok(f64::from(u8::from(up)))
    });
    readings.set(Metric::NvlinkUp, up);
    let errors = sum(&|port| {
        let errors: LinkErrors =
            of_port(library.port(library.functions.port_errors, unit.handle, port))?;
        [errors.uncorrected, errors.rx_bad, errors.tx_bad]
            .map(plausible::count)
            .into_iter()
            .sum()
    });
    readings.set(Metric::NvlinkErrors, errors);
}

/// Bytes over all ports.
fn links(unit: &Unit, readings: &mut Readings) {
    let ports = unit.ports.load(Ordering::Relaxed).cast_signed();
    let mut sums = match ports {
        0 => [Err(Absent::NotSupported); 2],
        _ => [Ok(0.0); 2],
    };
    for port in 0..ports {
        let library = &unit.library;
        let bytes: Reading<LinkBytes> =
            of_port(library.port(library.functions.port_bytes, unit.handle, port));
        let both = [bytes.map(|b| b.rx), bytes.map(|b| b.tx)];
        for (sum, bytes) in sums.iter_mut().zip(both) {
            let bytes = bytes.and_then(plausible::count);
            *sum = sum.and_then(|sum| Ok(sum + bytes?));
        }
        if sums.iter().all(Result::is_err) {
            break;
        }
    }
    let [rx, tx] = sums;
    readings.set(Metric::NvlinkRxBytes, rx);
    readings.set(Metric::NvlinkTxBytes, tx);
}

/// The driver's process list, each PID once.
///
/// # Errors
/// Why there is none.
pub(super) fn processes(unit: &Unit, round: &Round<'_>) -> Reading<Vec<DeviceProcess>> {
    let library = &unit.library;
    let rows: Vec<Process> = round.ask("processes", || {
        library.list(library.functions.processes, unit.handle)
    })?;
    let used: Reading<Vec<ProcessUse>> = match rows.is_empty() {
        true => Ok(Vec::new()),
        false => round.ask("process_use", || {
            library.list(library.functions.process_use, unit.handle)
        }),
    };
    let used: Reading<HashMap<u32, u32>> =
        used.map(|rows| rows.iter().map(|row| (row.pid, row.ipu)).collect());
    let mut list: Vec<DeviceProcess> = Vec::new();
    for row in &rows {
        if row.pid == 0 || row.pid > PID_MAX || list.iter().any(|p| p.pid == row.pid) {
            continue;
        }
        let bytes = row.physical.saturating_mul(1024);
        let ipu = match &used {
            Ok(used) => used.get(&row.pid).ok_or(Absent::NotReported),
            Err(why) => Err(*why),
        };
        list.push(DeviceProcess {
            pid: row.pid,
            memory_bytes: plausible::memory_part(bytes, &Err(Absent::NotReported)),
            utilization_ratio: ipu.and_then(|ipu| plausible::ratio((*ipu).into())),
            instance: None,
            graphics: false,
        });
    }
    match rows.first() {
        // A list of nothing but garbage is no empty list.
        Some(row) if list.is_empty() => Err(Absent::Implausible(row.pid.into())),
        _ => Ok(list),
    }
}
