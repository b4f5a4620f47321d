//! JSON lines of people's own loggers, `gpu_log.jsonl` first of all: an object in each line, with one device's readings
//! or a list of devices.
//!
//! Such loggers write 0 for a key that they did not find (`get("power", 0)`). So zero is a reading only of what can be
//! zero, in a line in which the device answered at all, and only once that key was seen with another value.

use super::cell::{self, Written};
use super::column::{Column, Meaning, column};
use super::entry::{Entry, Identity, Row, Warnings};
use super::error::{ImportError, KNOWN};
use super::format::{Format, Head, Recognised, is_blank};
use super::lines::Line;
use super::plausible::is_never_zero;
use super::table::{is_told, short};
use super::time::{Clock, Zoned};
use crate::model::{Absent, HostSample, Metric, Reading};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// Objects in objects that are looked into.
const DEPTH: usize = 4;
/// Devices in one line at most.
const DEVICES: usize = 256;
/// What to do about lines that say no device.
const KEY: &str = "write the device's index or uuid into each line";

/// JSON lines.
struct JsonLines {
    clock: Clock,
    zoned: Option<Zoned>,
    /// Metrics that were seen with a value other than zero.
    seen: BTreeSet<Metric>,
    zeros: BTreeSet<Metric>,
    keyed: Option<bool>,
    last: Option<jiff::Timestamp>,
}

/// One object a line, with at least one key that is known.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    let Some(first) = head.said().next() else {
        return Ok(None);
    };
    if !first.text.trim_start().starts_with('{') {
        return Ok(None);
    }
    let Ok(Json::Object(object)) = serde_json::from_str(&first.text) else {
        let why = "a JSON object that does not end in its line";
        return Err(ImportError::at(
            first.number,
            why,
            "write one object in each line (jq -c .)",
        ));
    };
    if object
        .values()
        .any(|value| value.as_str().is_some_and(|t| t.contains("| NVIDIA-SMI")))
    {
        let why = "tables of plain nvidia-smi inside JSON";
        return Err(ImportError::at(
            first.number,
            why,
            "log with nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1",
        ));
    }
    let mut format = JsonLines {
        clock: Clock::new(head.options.zone.clone()),
        zoned: None,
        seen: BTreeSet::new(),
        zeros: BTreeSet::new(),
        keyed: None,
        last: None,
    };
    let entry = format.entry(&object, first.number)?;
    if entry.rows.iter().all(|row| row.values.is_empty()) {
        let keys: Vec<&str> = object.keys().take(4).map(String::as_str).collect();
        let why = format!(
            "none of its keys is a reading of a device ({})",
            short(&keys.join(", "))
        );
        return Err(ImportError::at(first.number, why, KNOWN));
    }
    (format.keyed, format.last) = (None, None);
    Ok(Some(Box::new(format)))
}

impl Format for JsonLines {
    fn name(&self) -> &'static str {
        "gpu_log_jsonl"
    }

    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError> {
        if is_blank(&line.text) {
            return Ok(());
        }
        let object = match serde_json::from_str(&line.text) {
            Ok(Json::Object(object)) => object,
            Ok(_) => return Err(ImportError::at(line.number, "not a JSON object", KNOWN)),
            Err(_) if !line.whole => {
                warnings.add(line.number, "the last line is cut off: left out");
                return Ok(());
            }
            Err(error) => {
                return Err(ImportError::at(
                    line.number,
                    format!("not JSON: {error}"),
                    KNOWN,
                ));
            }
        };
        let entry = self.entry(&object, line.number)?;
        if entry.rows.iter().all(|row| row.values.is_empty()) {
            warnings.add(line.number, "no reading in it: left out");
            return Ok(());
        }
        self.check_key(&entry)?;
        self.last = entry.at;
        out.push(entry);
        Ok(())
    }

    fn zoned(&self) -> Option<Zoned> {
        self.zoned
    }

    fn zero_is_read(&self, metric: Metric) -> bool {
        self.seen.contains(&metric)
    }

    fn conclude(&self, warnings: &mut Warnings) {
        let never: Vec<&str> = self.zeros.difference(&self.seen).map(|m| m.key()).collect();
        if !never.is_empty() {
            let text = format!(
                "{} is 0 in every line, as loggers write it for a key that they do not find: not taken as read",
                never.join(", ")
            );
            warnings.add(0, text);
        }
    }
}

/// What a JSON object says of one device.
#[derive(Default)]
struct Found {
    at: Option<jiff::Timestamp>,
    identity: Identity,
    values: Vec<(Metric, Reading<f64>)>,
    host: Option<Box<HostSample>>,
}

impl JsonLines {
    fn entry(&mut self, object: &Map<String, Json>, line: u64) -> Result<Entry, ImportError> {
        let mut shared = Found::default();
        let mut devices: Vec<(Option<u32>, &Map<String, Json>)> = Vec::new();
        let mut numbered: Vec<(u32, Found)> = Vec::new();
        for (key, value) in object {
            match value {
                Json::Array(list) => {
                    let objects = list.iter().filter_map(Json::as_object);
                    devices.extend(objects.map(|device| (None, device)));
                }
                Json::Object(inner) => match device_number(key) {
                    Some(number) => devices.push((Some(number), inner)),
                    None => self.values(inner, &format!("{key}."), 1, line, &mut shared)?,
                },
                scalar => match numbered_key(key) {
                    Some((number, name)) => {
                        let found = match numbered.iter_mut().find(|(n, _)| *n == number) {
                            Some((_, found)) => found,
                            None => {
                                numbered.push((number, Found::default()));
                                match numbered.last_mut() {
                                    Some((_, found)) => found,
                                    None => continue,
                                }
                            }
                        };
                        self.value(name, scalar, line, found)?;
                    }
                    None => self.value(key, scalar, line, &mut shared)?,
                },
            }
        }
        if devices.len() > DEVICES {
            return Err(ImportError::at(
                line,
                format!("more than {DEVICES} devices"),
                KNOWN,
            ));
        }
        let mut rows = Vec::new();
        for (number, inner) in devices {
            let mut found = Found::default();
            self.values(inner, "", 1, line, &mut found)?;
            found.identity.index = found.identity.index.or(number);
            shared.at = shared.at.or(found.at);
            rows.extend(self.row(found));
        }
        for (number, mut found) in numbered {
            found.identity.index = Some(number);
            rows.extend(self.row(found));
        }
        let (at, host) = (shared.at, shared.host.take());
        if rows.is_empty() {
            rows.extend(self.row(shared));
        }
        let several = rows.len() > 1;
        if several && rows.iter().any(|row| row.id == Identity::default().id()) {
            return Err(ImportError::at(
                line,
                "several devices, and no key says which is which",
                KEY,
            ));
        }
        Ok(Entry {
            line,
            at,
            rows,
            host,
            ..Entry::default()
        })
    }

    /// Objects in an object: their keys with a dot between, then by themselves.
    fn values(
        &mut self,
        object: &Map<String, Json>,
        prefix: &str,
        depth: usize,
        line: u64,
        found: &mut Found,
    ) -> Result<(), ImportError> {
        for (key, value) in object {
            match value {
                Json::Object(inner) if depth < DEPTH => {
                    self.values(inner, &format!("{prefix}{key}."), depth + 1, line, found)?;
                }
                Json::Object(_) | Json::Array(_) => {}
                scalar => {
                    let long = format!("{prefix}{key}");
                    let name = if column(&long).is_some() { &long } else { key };
                    self.value(name, scalar, line, found)?;
                }
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        key: &str,
        value: &Json,
        line: u64,
        found: &mut Found,
    ) -> Result<(), ImportError> {
        let Some(Column { meaning, written }) = column(key) else {
            return Ok(());
        };
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Null => String::new(),
            Json::Bool(flag) => flag.to_string(),
            number => number.to_string(),
        };
        let wrong = |what: &str| {
            let why = format!("\"{key}\": \"{}\" is not {what}", short(&text));
            ImportError::at(line, why, KNOWN)
        };
        match meaning {
            Meaning::Time => {
                let read = self.clock.read(&text).ok_or_else(|| wrong("an instant"))?;
                found.at = Some(read.0);
                self.zoned = self.zoned.max(Some(read.1));
            }
            Meaning::Index => match text.parse() {
                Ok(index) => found.identity.index = Some(index),
                // "gpu": "NVIDIA A100" and "id": "GPU-..." are said of it too.
                Err(_) if text.starts_with("GPU-") => found.identity.uuid = Some(text.into()),
                Err(_) if !text.is_empty() => found.identity.name = Some(text.into()),
                Err(_) => {}
            },
            Meaning::Uuid => found.identity.uuid = (!text.is_empty()).then(|| text.into()),
            Meaning::Pci => found.identity.pci = text.parse().ok(),
            Meaning::Name => found.identity.name = (!text.is_empty()).then(|| text.into()),
            Meaning::Driver => found.identity.driver = (!text.is_empty()).then(|| text.into()),
            Meaning::Vbios => found.identity.vbios = (!text.is_empty()).then(|| text.into()),
            Meaning::Value(metric) => {
                let reading =
                    cell::number(&text, metric, written).ok_or_else(|| wrong("a number"))?;
                match found.values.iter_mut().find(|(known, _)| *known == metric) {
                    Some((_, kept)) => *kept = kept.or(reading),
                    None => found.values.push((metric, reading)),
                }
            }
            Meaning::Host(name) => {
                let share = text
                    .parse::<f64>()
                    .ok()
                    .filter(|p| (0.0..=100.0).contains(p));
                let host = found.host.get_or_insert_default();
                if let (Some(slot), Some(share)) = (host.figure_mut(name), share) {
                    *slot = Ok(cell::scaled(share, Written::Percent));
                }
            }
            Meaning::Date
            | Meaning::TimeOfDay
            | Meaning::PciId
            | Meaning::Reason(_)
            | Meaning::NoDevice => {}
        }
        Ok(())
    }

    /// The row of what was found; zeros in it are told from readings.
    fn row(&mut self, found: Found) -> Option<Row> {
        let Found {
            identity,
            mut values,
            ..
        } = found;
        for (metric, reading) in &mut values {
            if *reading == Err(Absent::Implausible(0.0)) {
                *reading = Err(Absent::NotReported);
            }
            match reading {
                Ok(value) if *value != 0.0 => {
                    self.seen.insert(*metric);
                }
                Ok(_) => {
                    self.zeros.insert(*metric);
                }
                Err(_) => {}
            }
        }
        // A limit that was asked for stands for the enforced one.
        if let Some((_, asked)) = values
            .iter()
            .find(|(m, _)| *m == Metric::LimitRequested)
            .copied()
            && !values.iter().any(|(m, _)| *m == Metric::LimitEnforced)
        {
            values.push((Metric::LimitEnforced, asked));
            self.seen.insert(Metric::LimitEnforced);
        }
        // Whatever answers says at least one thing that is not zero.
        let never_zero = |(metric, _): &&(Metric, Reading<f64>)| is_never_zero(*metric);
        let expected = values.iter().filter(never_zero).count();
        let answered = values.iter().any(|(_, r)| r.is_ok_and(|v| v != 0.0));
        if expected > 0 && !answered {
            for (_, reading) in &mut values {
                *reading = reading.and(Err(Absent::NotReported));
            }
        }
        values.sort_by_key(|(metric, _)| *metric);
        let empty = values.is_empty() || !values.iter().any(|(_, r)| is_told(r)) && expected == 0;
        (!empty).then(|| Row::new(identity, values))
    }

    /// Lines of several devices without a key cannot be told apart: two of one instant show it.
    fn check_key(&mut self, entry: &Entry) -> Result<(), ImportError> {
        let keyed = entry
            .rows
            .iter()
            .all(|row| row.id != Identity::default().id());
        let first = *self.keyed.get_or_insert(keyed);
        let again = entry.at.is_some() && entry.at == self.last;
        if first != keyed || (!keyed && again) {
            let why = "two lines of one instant, and no key says which device each is about";
            return Err(ImportError::at(entry.line, why, KEY));
        }
        Ok(())
    }
}

/// `gpu0`, `gpu_0`, `0`, `device1`: the number of a device that is a key itself.
fn device_number(key: &str) -> Option<u32> {
    let key = key.to_ascii_lowercase();
    let rest = ["gpu", "device", "card"]
        .iter()
        .find_map(|word| key.strip_prefix(word))
        .unwrap_or(&key);
    rest.trim_start_matches(['_', '-', ' ', ':']).parse().ok()
}

/// `system.gpu.0.powerWatts`, `gpu_0_power`: a device's number inside a key, and the name behind it.
fn numbered_key(key: &str) -> Option<(u32, &'static str)> {
    let rest = key
        .strip_prefix("system.gpu.")
        .or_else(|| key.strip_prefix("gpu."))?;
    let (number, name) = rest.split_once('.')?;
    // The names of a known logger, by what they mean here; its shares of memory and limit are no readings of ours.
    let name = match name {
        "gpu" => "utilization.gpu",
        "memory" => "utilization.memory",
        "temp" => "temperature.gpu",
        "powerWatts" => "power.draw",
        "smClock" => "clocks.sm",
        "memoryClock" => "clocks.mem",
        _ => return Some((number.parse().ok()?, "")),
    };
    Some((number.parse().ok()?, name))
}
