//! What one handle stands for: a GPU, or a MIG instance of it.

use std::collections::{BTreeMap, HashMap};

use toml::{Table, Value as Toml};

use crate::keys;
use crate::scenario::{Behaviour, Window, taken_table, taken_tables, text};
use crate::value::{At, Datum, NOT_SUPPORTED, Value, list, mix, number, optional};

/// A GPU or a MIG instance.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) index: usize,
    pub(crate) nth: usize,
    pub(crate) readings: HashMap<String, Value>,
    pub(crate) behaviour: Behaviour,
    pub(crate) fields: Vec<Field>,
    /// GPM metric id to value.
    pub(crate) gpm: BTreeMap<u32, Value>,
    /// None: the process calls are not supported.
    pub(crate) processes: Option<Vec<Process>>,
    /// Rows of the utilisation buffer that belong to no listed process.
    pub(crate) process_samples: Vec<Process>,
    pub(crate) events: Vec<Event>,
    /// NVLinks that are down, of the first `nvlink_count`.
    pub(crate) nvlink_down: Vec<u32>,
    /// MIG instances by index; a hole is an instance whose window is over.
    pub(crate) mig: Vec<Unit>,
    pub(crate) window: Option<Window>,
}

/// One answer of `nvmlDeviceGetFieldValues`.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) id: u32,
    pub(crate) scope: Scope,
    pub(crate) value: Value,
    /// `nvmlValueType_t`; None: the least type that holds it.
    pub(crate) kind: Option<u32>,
}

/// The `scopeId` that a field answers to.
#[derive(Debug, PartialEq)]
pub(crate) enum Scope {
    One(u32),
    /// Every NVLink that the device has.
    EachLink,
}

/// A process on the device.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    pub(crate) window: Window,
    /// `memory` (bytes), `sm`, `mem`, `enc`, `dec`, `jpg`, `ofa` (percent), `gi`, `ci`, `age` (seconds).
    pub(crate) values: HashMap<String, Value>,
}

/// A scripted event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) at: f64,
    pub(crate) kind: u64,
    pub(crate) data: u64,
    pub(crate) gi: u32,
    pub(crate) ci: u32,
}

impl Unit {
    pub(crate) fn parse(mut table: Table, index: usize, nth: usize) -> Result<Self, String> {
        let processes = match table.contains_key("process") {
            true => Some(processes(&mut table, "process")?),
            false => None,
        };
        let down = table.remove("nvlink_down");
        let mut unit = Self {
            index,
            nth,
            behaviour: Behaviour::take(&mut table)?,
            fields: fields(taken_table(&mut table, "fields")?)?,
            gpm: gpm(taken_table(&mut table, "gpm")?)?,
            processes,
            process_samples: processes_of(taken_tables(&mut table, "process_sample")?)?,
            events: taken_tables(&mut table, "event")?
                .iter()
                .map(event)
                .collect::<Result<_, _>>()?,
            nvlink_down: down
                .as_ref()
                .map_or(Ok(&[][..]), list)?
                .iter()
                .map(|link| number(link).map(|l| l as u32))
                .collect::<Result<_, _>>()?,
            mig: mig(taken_tables(&mut table, "mig")?, index, nth)?,
            ..Self::default()
        };
        unit.readings = keys::readings(table, keys::DEVICE)?;
        unit.derive_identity()?;
        Ok(unit)
    }

    /// UUID and PCI address follow from the index where the scenario names none.
    fn derive_identity(&mut self) -> Result<(), String> {
        let index = self.index;
        self.readings.entry("uuid".to_owned()).or_insert({
            let (a, b) = (mix(index as u64 + 1), mix(index as u64 + 0x1000));
            let uuid = format!(
                "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                a >> 32,
                (a >> 16) & 0xffff,
                a & 0xffff,
                b >> 48,
                b & 0xffff_ffff_ffff
            );
            Value::parse(&Toml::String(uuid))?
        });
        // Buses 0x07, 0x0b, 0x0f, ..., and the next domain where they run out.
        self.readings.entry("pci_bus_id".to_owned()).or_insert({
            let bus = 7 + 4 * index;
            let address = format!("{:08X}:{:02X}:00.0", bus >> 8, bus & 0xff);
            Value::parse(&Toml::String(address))?
        });
        Ok(())
    }

    pub(crate) fn at(&self, t: f64) -> At {
        At {
            t,
            index: self.index,
            nth: self.nth,
        }
    }

    /// A reading at `t`; not named means not supported.
    pub(crate) fn datum(&self, key: &str, t: f64) -> Result<Datum, u32> {
        debug_assert!(keys::DEVICE.contains(&key), "`{key}` is in no list of keys");
        self.readings
            .get(key)
            .ok_or(NOT_SUPPORTED)
            .and_then(|value| value.at(self.at(t)))
    }

    pub(crate) fn text(&self, key: &str, t: f64) -> Result<Vec<u8>, u32> {
        match self.datum(key, t)? {
            Datum::Text(text) => Ok(text),
            Datum::Int(i) => Ok(i.to_string().into_bytes()),
            Datum::Float(_) => Err(NOT_SUPPORTED),
        }
    }

    /// A whole number; a fraction is rounded, as a driver counts in whole units.
    pub(crate) fn int(&self, key: &str, t: f64) -> Result<i128, u32> {
        whole(self.datum(key, t)?)
    }

    pub(crate) fn process_lists(&self, t: f64) -> Result<impl Iterator<Item = &Process>, u32> {
        let processes = self.processes.as_ref().ok_or(NOT_SUPPORTED)?;
        Ok(processes.iter().filter(move |p| p.window.holds(t, 0)))
    }
}

impl Process {
    pub(crate) fn value(&self, key: &str, at: At) -> Result<i128, u32> {
        let value = self.values.get(key).ok_or(NOT_SUPPORTED)?;
        whole(value.at(at)?)
    }
}

/// Rounds to a whole number.
pub(crate) fn whole(datum: Datum) -> Result<i128, u32> {
    match datum {
        Datum::Int(i) => Ok(i),
        Datum::Float(f) => Ok(f.round() as i128),
        Datum::Text(_) => Err(NOT_SUPPORTED),
    }
}

fn fields(table: Table) -> Result<Vec<Field>, String> {
    table
        .iter()
        .map(|(key, toml)| {
            let (id, scope) = key.split_once('.').unwrap_or((key, "0"));
            let scope = match scope {
                "*" => Scope::EachLink,
                "all" => Scope::One(u32::MAX),
                scope => Scope::One(scope.parse().map_err(|_| format!("scope of `{key}`"))?),
            };
            let (toml, kind) = match toml {
                Toml::Table(typed) if typed.contains_key("type") => {
                    let mut typed = typed.clone();
                    let kind = value_type(&text(&typed["type"])?)?;
                    typed.remove("type");
                    (Toml::Table(typed), Some(kind))
                }
                other => (other.clone(), None),
            };
            Ok(Field {
                id: keys::field_id(id)?,
                scope,
                value: Value::parse(&toml)?,
                kind,
            })
        })
        .collect()
}

/// `nvmlValueType_t` by name.
fn value_type(name: &str) -> Result<u32, String> {
    ["double", "u32", "ulong", "u64", "i64", "i32", "u16"]
        .iter()
        .position(|known| *known == name)
        .map(|place| place as u32)
        .ok_or_else(|| format!("no value type `{name}`"))
}

fn gpm(table: Table) -> Result<BTreeMap<u32, Value>, String> {
    table
        .iter()
        .map(|(key, toml)| Ok((keys::gpm_id(key)?, Value::parse(toml)?)))
        .collect()
}

fn processes(table: &mut Table, key: &str) -> Result<Vec<Process>, String> {
    processes_of(taken_tables(table, key)?)
}

fn processes_of(tables: Vec<Table>) -> Result<Vec<Process>, String> {
    tables.into_iter().map(process).collect()
}

fn process(mut table: Table) -> Result<Process, String> {
    let window = Window::parse(&table)?;
    for key in ["from", "until"] {
        table.remove(key);
    }
    let pid = table.remove("pid").ok_or("a process without `pid`")?;
    let kind = table
        .remove("kind")
        .map_or(Ok("compute".to_owned()), |kind| text(&kind))?;
    if !["compute", "graphics", "mps"].contains(&kind.as_str()) {
        return Err(format!("no kind of process `{kind}`"));
    }
    Ok(Process {
        pid: number(&pid)? as i64 as u32,
        kind,
        name: table.remove("name").map(|name| text(&name)).transpose()?,
        window,
        values: keys::readings(table, keys::PROCESS)?,
    })
}

fn event(table: &Table) -> Result<Event, String> {
    let int = |key, default: f64| Ok::<_, String>(optional(table, key)?.unwrap_or(default));
    let kind = match table.get("kind") {
        Some(Toml::String(name)) => keys::event_type(name)?,
        Some(bits) => number(bits)? as u64,
        None => return Err("an event without `kind`".to_owned()),
    };
    Ok(Event {
        at: int("at", 0.0)?,
        kind,
        data: int("data", 0.0)? as u64,
        gi: int("gi", f64::from(u32::MAX))? as u32,
        ci: int("ci", f64::from(u32::MAX))? as u32,
    })
}

fn mig(tables: Vec<Table>, index: usize, nth: usize) -> Result<Vec<Unit>, String> {
    tables
        .into_iter()
        .enumerate()
        .map(|(place, mut table)| {
            let window = Window::parse(&table)?;
            for key in ["from", "until"] {
                table.remove(key);
            }
            let (a, b) = (mix(index as u64), mix(place as u64 + 0x5000));
            table.entry("uuid").or_insert_with(|| {
                let uuid = format!("MIG-{:08x}-0000-5000-8000-{:012x}", a >> 32, b >> 16);
                Toml::String(uuid)
            });
            let mut unit = Unit::parse(table, index, nth)?;
            unit.window = Some(window);
            unit.readings.remove("pci_bus_id");
            Ok(unit)
        })
        .collect()
}
