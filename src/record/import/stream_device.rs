//! One device of a snapshot document, back to what its driver said.

use crate::model::{
    Absent, BoardId, Device, DeviceId, DeviceKind, DeviceProcess, Hop, Metric, PciAddress, Process,
    Reading, Reason, ShareKind, Vendor,
};
use jiff::Timestamp;
use serde_json::Value as Json;
use std::sync::Arc;

/// The readings whose figure is the reading itself.
const DIRECT: [(&str, Metric); 29] = [
    ("environment.forked_workers", Metric::ForkedWorkers),
    ("pcie.both_bytes_per_s", Metric::PcieBothRate),
    ("power_default_limit_w", Metric::LimitDefault),
    ("energy_j", Metric::Energy),
    ("temperature_c", Metric::CoreTemperature),
    ("slowdown_c", Metric::ThresholdSlowdown),
    ("memory_temperature_c", Metric::MemoryTemperature),
    ("utilization_ratio", Metric::Utilization),
    ("memory_activity_ratio", Metric::MemoryActivity),
    ("sm_active_ratio", Metric::SmActive),
    ("tensor_active_ratio", Metric::TensorActive),
    ("dram_active_ratio", Metric::DramActive),
    ("share_ratio", Metric::Share),
    ("memory_used_bytes", Metric::MemoryUsed),
    ("memory_total_bytes", Metric::MemoryTotal),
    ("clock_mhz", Metric::SmClock),
    ("clock_max_mhz", Metric::SmClockMax),
    ("ecc_uncorrected", Metric::EccUncorrected),
    ("pcie.generation", Metric::PcieGenerationAfter),
    ("pcie.width", Metric::PcieWidthAfter),
    ("pcie.generation_max", Metric::PcieGenerationMax),
    ("pcie.width_max", Metric::PcieWidthMax),
    ("pcie.replays", Metric::PcieReplays),
    ("nvlink.links", Metric::NvlinkLinks),
    ("nvlink.links_up", Metric::NvlinkUp),
    ("nvlink.rx_bytes_per_s", Metric::GpmNvlinkRx),
    ("nvlink.tx_bytes_per_s", Metric::GpmNvlinkTx),
    ("nvlink.plate_bytes_per_s", Metric::NvlinkSpeed),
    ("nvlink.errors", Metric::NvlinkErrors),
];

/// The driver's counters of time under a reason.
const REASONS: [(&str, Metric); 5] = [
    ("sw_power_cap", Metric::SecondsSwPowerCap),
    ("sync_boost", Metric::SecondsSyncBoost),
    ("sw_thermal_slowdown", Metric::SecondsSwThermal),
    ("hw_thermal_slowdown", Metric::SecondsHwThermal),
    ("hw_power_brake_slowdown", Metric::SecondsPowerBrake),
];

const ABSENT: [Absent; 9] = [
    Absent::NotSupported,
    Absent::NoPermission,
    Absent::NoLibrary,
    Absent::Lost,
    Absent::TimedOut,
    Absent::Implausible(0.0),
    Absent::Stale,
    Absent::NotReported,
    Absent::Transition,
];

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Json::as_str)
}

/// The reason why a field of an object is null.
fn why(json: &Json, path: &str) -> Absent {
    let word = json.get("absent").and_then(|absent| text(absent, path));
    let known = ABSENT
        .into_iter()
        .find(|absent| Some(absent.word()) == word);
    match known {
        Some(Absent::Implausible(_)) => {
            let detail = json.get("absent_detail").and_then(|all| all.get(path));
            let raw = detail.and_then(|detail| detail.get("raw"));
            raw.and_then(Json::as_f64)
                .map_or(Absent::NotReported, Absent::Implausible)
        }
        Some(why) => why,
        None => Absent::NotReported,
    }
}

/// A number of an object. One that is older than its line was not read for it.
fn number(json: &Json, path: &str) -> Reading<f64> {
    let found = match path.split_once('.') {
        Some((object, name)) => json.get(object).and_then(|inner| inner.get(name)),
        None => json.get(path),
    };
    let aged = json
        .get("age_s")
        .is_some_and(|ages| ages.get(path).is_some());
    match found.and_then(Json::as_f64) {
        Some(_) if aged => Err(Absent::TimedOut),
        Some(number) => Ok(number),
        None => Err(why(json, path)),
    }
}

fn word(json: &Json, key: &str) -> Reading<Arc<str>> {
    match text(json, key) {
        Some(found) => Ok(crate::text::clean(found).into()),
        None => Err(why(json, key)),
    }
}

/// What the device is; `None` where that is no device.
pub(super) fn device(json: &Json) -> Option<Device> {
    let id = text(json, "id")?;
    let address = text(json, "pci_address").and_then(|address| address.parse().ok());
    Some(Device {
        id: DeviceId(id.into()),
        index: u32::try_from(json.get("index")?.as_u64()?).ok()?,
        vendor: text(json, "vendor").map_or(Vendor::Other, Vendor::of_word),
        name: crate::text::clean(text(json, "name")?).into(),
        uuid: word(json, "uuid"),
        pci_address: address.ok_or_else(|| why(json, "pci_address")),
        pci_id: Err(Absent::NotReported),
        driver: word(json, "driver"),
        board: BoardId(text(json, "board").unwrap_or(id).into()),
        parent: text(json, "parent").map(|parent| DeviceId(parent.into())),
        kind: match text(json, "kind") {
            Some("instance") => DeviceKind::Instance,
            _ => DeviceKind::Device,
        },
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: ["share_kind", "share_ratio"]
            .iter()
            .any(|name| json.get(*name).is_some_and(|share| !share.is_null())),
        details: text(json, "share_kind")
            .map(|kind| (ShareKind::DETAIL.into(), kind.into()))
            .into_iter()
            .chain(environment(json))
            .collect(),
    })
}

/// What stands around the device.
fn environment(json: &Json) -> Vec<(Arc<str>, Arc<str>)> {
    let facts = json.get("environment").and_then(Json::as_object);
    let facts = facts.into_iter().flatten();
    facts
        .filter_map(|(name, value)| {
            let value = crate::text::clean(value.as_str()?);
            Some((crate::text::clean(name).into(), value.into()))
        })
        .collect()
}

/// A switch, as 0 or 1.
fn switch(json: &Json, object: &str, name: &str) -> Reading<f64> {
    let on = json
        .get(object)
        .and_then(|inner| inner.get(name)?.as_bool());
    on.map(|on| f64::from(u8::from(on)))
        .ok_or_else(|| why(json, &format!("{object}.{name}")))
}

/// The words of a vendor's judgement, by their level.
const HEALTH: [&str; 4] = ["healthy", "minor", "major", "critical"];

/// The driver's readings.
pub(super) fn values(json: &Json) -> Vec<(Metric, Reading<f64>)> {
    let mut values: Vec<(Metric, Reading<f64>)> = DIRECT
        .iter()
        .map(|(path, metric)| (*metric, number(json, path)))
        .collect();
    let scope = text(json, "power_scope");
    let module = scope == Some("module");
    let power = match (scope, text(json, "power_kind")) {
        (Some("module"), _) => Metric::ModulePower,
        (Some("board"), _) => Metric::BoardPower,
        (_, Some("average")) => Metric::PowerAverage,
        (_, Some("instant")) => Metric::PowerInstant,
        _ => Metric::PowerUsage,
    };
    let limit = if module {
        Metric::ModuleLimit
    } else {
        Metric::LimitEnforced
    };
    values.push((power, number(json, "power_w")));
    values.push((limit, number(json, "power_limit_w")));
    if text(json, "rated_power_source") == Some("driver") {
        values.push((Metric::RatedPower, number(json, "rated_power_w")));
    }
    if text(json, "headroom_source") == Some("margin") {
        values.push((Metric::Margin, number(json, "headroom_c")));
    }
    let gpm = json.pointer("/pcie/method").and_then(Json::as_str) == Some("gpm");
    let (rx, tx) = if gpm {
        (Metric::GpmPcieRx, Metric::GpmPcieTx)
    } else {
        (Metric::PcieRxRate, Metric::PcieTxRate)
    };
    values.push((rx, number(json, "pcie.rx_bytes_per_s")));
    values.push((tx, number(json, "pcie.tx_bytes_per_s")));
    values.push((Metric::PcieBothRate, number(json, "pcie.both_bytes_per_s")));
    values.push((Metric::Reasons, reasons(json)));
    for (name, metric) in REASONS {
        let seconds = json.get("throttle_seconds").and_then(|all| all.get(name));
        if let Some(seconds) = seconds.and_then(Json::as_f64) {
            values.push((metric, Ok(seconds)));
        }
    }
    let health = text(json, "health");
    let level = HEALTH.iter().position(|word| Some(*word) == health);
    let level = level.map(|level| level as f64);
    values.push((Metric::Health, level.ok_or_else(|| why(json, "health"))));
    let reduced = switch(json, "environment", "reduce_precision");
    values.push((Metric::ReducePrecision, reduced));
    let mig = json.pointer("/mig/enabled").and_then(Json::as_bool);
    let mig = mig.map(|on| f64::from(u8::from(on)));
    values.push((Metric::MigEnabled, mig.ok_or_else(|| why(json, "mig"))));
    values
}

fn reasons(json: &Json) -> Reading<f64> {
    let Some(words) = json.get("throttle").and_then(Json::as_array) else {
        return Err(why(json, "throttle"));
    };
    let bit = |word: &str| match Reason::ALL.iter().find(|known| known.word == word) {
        Some(known) => known.bit,
        None => word
            .strip_prefix("bit_0x")
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .unwrap_or(0),
    };
    let mask = words
        .iter()
        .filter_map(Json::as_str)
        .fold(0, |mask, word| mask | bit(word));
    Ok(mask as f64)
}

/// Why the device gives no samples, and since when.
pub(super) fn silence(json: &Json) -> Option<(Absent, Option<Timestamp>)> {
    let power = number(json, "power_w").err()?;
    let utilization = number(json, "utilization_ratio").err()?;
    let said = matches!(power, Absent::Lost | Absent::TimedOut) && power == utilization;
    let told = json
        .get("absent")
        .and_then(|absent| text(absent, "power_w"))
        .is_some();
    if !said || !told {
        return None;
    }
    let since = json
        .pointer("/absent_detail/power_w/since")
        .and_then(Json::as_str);
    Some((power, since.and_then(|since| since.parse().ok())))
}

/// The processes as the driver and as the host list them.
pub(super) fn processes(json: &Json) -> (Reading<Vec<DeviceProcess>>, Vec<Process>) {
    let Some(list) = json.get("processes").and_then(Json::as_array) else {
        return (Err(why(json, "processes")), Vec::new());
    };
    let mut hosted = Vec::new();
    let mut listed = Vec::new();
    for process in list {
        let pid = process.get("pid").and_then(Json::as_u64);
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else {
            continue;
        };
        listed.push(DeviceProcess {
            pid,
            memory_bytes: number(process, "memory_bytes"),
            utilization_ratio: number(process, "utilization_ratio"),
            instance: text(process, "instance").map(|id| DeviceId(id.into())),
            graphics: process
                .get("graphics")
                .and_then(Json::as_bool)
                .unwrap_or(false),
        });
        let Some(foreign) = process.get("foreign").and_then(Json::as_bool) else {
            continue;
        };
        let waiting = number(process, "waiting_threads").map(|n| n as u32);
        let started = text(process, "started").and_then(|at| at.parse().ok());
        hosted.push(Process {
            pid,
            foreign,
            name: word(process, "name"),
            command: word(process, "command"),
            user: word(process, "user"),
            state: text(process, "state")
                .and_then(|state| state.chars().next())
                .ok_or_else(|| why(process, "state")),
            started: started.ok_or_else(|| why(process, "started")),
            cpu_cores: number(process, "cpu_cores"),
            read_bytes_per_s: number(process, "read_bytes_per_s"),
            write_bytes_per_s: number(process, "write_bytes_per_s"),
            major_faults_per_s: number(process, "major_faults_per_s"),
            waiting_threads: waiting,
            wait_channel: word(process, "wait_channel"),
        });
    }
    (Ok(listed), hosted)
}

/// The way to the root port.
pub(super) fn hops(json: &Json) -> Vec<Hop> {
    let list = json.pointer("/pcie/path").and_then(Json::as_array);
    let small = |hop: &Json, key: &str| {
        let number = hop.get(key).and_then(Json::as_u64);
        number.and_then(|n| u8::try_from(n).ok())
    };
    let hop = |hop: &Json| {
        let address: PciAddress = text(hop, "address")?.parse().ok()?;
        Some(Hop {
            address,
            generation: small(hop, "generation"),
            width: small(hop, "width"),
            generation_max: small(hop, "generation_max"),
            width_max: small(hop, "width_max"),
            emulated: hop.get("emulated").and_then(Json::as_bool).unwrap_or(false),
        })
    };
    list.into_iter().flatten().filter_map(hop).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_raw_value_that_nobody_gave_is_not_made_up() {
        let told = json!({
            "power_w": null, "temperature_c": null, "clock_mhz": null,
            "absent": {"power_w": "implausible", "temperature_c": "implausible", "clock_mhz": "implausible"},
            "absent_detail": {"power_w": {"raw": 4_294_967_295.0}, "temperature_c": {"raw": "hot"}}
        });
        let raw = Absent::Implausible(4_294_967_295.0);
        assert_eq!(number(&told, "power_w"), Err(raw));
        assert_eq!(number(&told, "temperature_c"), Err(Absent::NotReported));
        assert_eq!(number(&told, "clock_mhz"), Err(Absent::NotReported));
    }

    #[test]
    fn what_stands_around_a_device_and_its_health_come_back() {
        let json = json!({
            "id": "a", "index": 0, "vendor": "ascend", "name": "910B3", "driver": "24.1.rc3", "health": "major",
            "environment": {
                "cann": "8.5.0", "kernel": null, "forked_workers": 2, "reduce_precision": true, "floors": [],
            },
            "absent": {"environment.kernel": "not_reported"},
        });
        let device = device(&json).unwrap();
        assert_eq!(device.details, [("cann".into(), "8.5.0".into())]);
        let floors = crate::model::floors(&device);
        let floors: Vec<_> = floors.iter().map(|f| (f.fact, f.holds)).collect();
        assert_eq!(floors, [("driver", false)]);
        let of = |json: &Json, metric| {
            let mut values = values(json).into_iter();
            let value = values.find(|(known, _)| *known == metric);
            value.map(|(_, value)| value)
        };
        assert_eq!(of(&json, Metric::Health), Some(Ok(2.0)));
        assert_eq!(of(&json, Metric::ForkedWorkers), Some(Ok(2.0)));
        assert_eq!(of(&json, Metric::ReducePrecision), Some(Ok(1.0)));
        let none = json!({"absent": {"health": "timed_out", "environment.reduce_precision": "no_permission"}});
        assert_eq!(of(&none, Metric::Health), Some(Err(Absent::TimedOut)));
        assert_eq!(
            of(&none, Metric::ReducePrecision),
            Some(Err(Absent::NoPermission))
        );
    }
}
