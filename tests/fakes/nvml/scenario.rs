//! A scenario: the TOML file that says what the library answers, when, and how slowly.
//!
//! ```toml
//! extends = "steady-a100-8.toml"  # lay this file over another one of the same folder
//! driver_version = "570.148.08"   # and nvml_version, cuda_version, driver_branch, device_count
//! init_error = { steps = [[0, 0], [30, 9], [40, 0]] }
//! global_lock = true              # calls go one after the other, and wait for one that blocks
//! gpm_parallel_crash = true       # two GPM calls at once end the process
//! clock = "calls"                 # t = step x answered utilization_rates calls of the device,
//! step = 1.0                      #   so that a test needs no sleep; or clock = "real" with speed = 60
//! reload = { at = 30, code = 999, order = "reversed" }
//! latency_us = { all = 20, pcie_throughput = 20000 }      # also per device
//! errors = { power_usage = 15 }                           # also per device, `all` for every call
//! errors.name = { code = 15, from = 20, until = 80 }      # seconds; or after_calls, until_calls
//! blocks = ["power_usage"]                                # never returns; or { power_usage = 5 }
//! print = [{ call = "init", to = "stderr", text = "..." }]  # may have from, until, ...
//! crash = [{ call = "all", how = "segv", from = 3 }]        # or abort, exit
//!
//! [[device]]                      # a template for `count` devices
//! count = 8
//! serial = "16010200153{i}"       # {i}: place in the template
//! minor_number = { index = 0 }    # the index plus 0
//! power_usage = 372000            # any name of `keys::DEVICE`, in NVML's unit; -1 reads as 2^64 - 1
//! gsp_firmware_version = "not_supported"     # as if it were not named
//! temperature = { error = 15 }               # a return code
//! util_gpu = { square = [0, 99], period = 10, duty = 0.5, phase = 0, noise = 2, seed = 7 }
//! clock_sm = { sine = [1400, 10], period = 7 }           # middle, amplitude
//! fan_speed = { ramp = [30, 80], over = 60 }             # then it stays
//! pcie_gen = { steps = [[0, 1], [30, 4]] }               # a step may be any value
//! energy = { counter = 5, rate = [[0, 372000], [60, 0]], wrap = 32 }
//! pcie_width = { each = [16, 8] }                        # per device of the template
//! nvlink_down = [3]
//!
//! [device.only.3]                 # laid over device 3 of the template
//! temperature = 89
//!
//! [device.fields]                 # a name of `keys::FIELDS` or a number, then the scope
//! power_instant = 372000
//! "power_instant.1" = 688000      # `.all`: UINT_MAX; `.*`: each NVLink
//! 269 = { value = 0, type = "u64" }   # double u32 ulong u64 i64 i32 u16
//!
//! [device.gpm]                    # a name of `keys::GPM` or a number
//! sm = 93.5
//!
//! [[device.process]]              # `process = []`: supported, and nothing runs
//! pid = 41237                     # kind = compute | graphics | mps, name, from, until,
//! memory = 36496736256            #   sm mem enc dec jpg ofa (%), gi, ci, age (s)
//!
//! [[device.event]]
//! at = 20
//! kind = "xid"
//! data = 79
//!
//! [[device.mig]]                  # a unit of its own: values, gpm, process; from and until
//! gpu_instance_id = 1
//! ```
//!
//! Environment: `NAMEPLATE_FAKE_NVML` names the file, unless one lies beside the library with
//! `.toml` added to its name; `NAMEPLATE_FAKE_NVML_COUNTS` a file for the call counts;
//! `NAMEPLATE_FAKE_NVML_EPOCH` (Unix seconds) when the timeline began.

use std::collections::HashMap;
use std::path::Path;

use toml::{Table, Value as Toml};

use crate::keys;
use crate::unit::Unit;
use crate::value::{Value, list, number, optional};

/// Where the library's time comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Clock {
    /// Wall time since the first `nvmlInit`, times a speed.
    Real { speed: f64 },
    /// A device's time is `step` seconds times its answered `nvmlDeviceGetUtilizationRates` calls.
    Calls { step: f64 },
}

/// A span of seconds and of calls in which something holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    from: f64,
    until: f64,
    after_calls: u64,
    until_calls: u64,
}

impl Window {
    /// Keys: `from`, `until` (seconds), `after_calls`, `until_calls` (calls of this name on this device).
    pub(crate) fn parse(table: &Table) -> Result<Self, String> {
        Ok(Self {
            from: optional(table, "from")?.unwrap_or(0.0),
            until: optional(table, "until")?.unwrap_or(f64::INFINITY),
            after_calls: optional(table, "after_calls")?.unwrap_or(0.0) as u64,
            until_calls: optional(table, "until_calls")?.map_or(u64::MAX, |n| n as u64),
        })
    }

    pub(crate) const ALWAYS: Self = Self {
        from: 0.0,
        until: f64::INFINITY,
        after_calls: 0,
        until_calls: u64::MAX,
    };

    /// `calls` is the number of calls before this one.
    pub(crate) fn holds(&self, t: f64, calls: u64) -> bool {
        (self.from..self.until).contains(&t)
            && (self.after_calls..self.until_calls).contains(&calls)
    }
}

/// Per call: faults, latency and calls that never return. On the library or on one device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behaviour {
    errors: HashMap<String, Vec<(Window, u32)>>,
    latency_us: HashMap<String, Value>,
    blocks: HashMap<String, Window>,
}

impl Behaviour {
    /// Takes `errors`, `latency_us` and `blocks` out of a table.
    pub(crate) fn take(table: &mut Table) -> Result<Self, String> {
        let mut behaviour = Self::default();
        for (call, toml) in taken_table(table, "errors")? {
            keys::check_call(&call)?;
            let faults = match &toml {
                Toml::Array(faults) => faults.iter().map(fault).collect::<Result<_, _>>()?,
                one => vec![fault(one)?],
            };
            behaviour.errors.insert(call, faults);
        }
        for (call, toml) in taken_table(table, "latency_us")? {
            keys::check_call(&call)?;
            behaviour.latency_us.insert(call, Value::parse(&toml)?);
        }
        match table.remove("blocks") {
            None => {}
            Some(Toml::Array(calls)) => {
                for call in &calls {
                    let call = text(call)?;
                    keys::check_call(&call)?;
                    behaviour.blocks.insert(call, Window::ALWAYS);
                }
            }
            Some(Toml::Table(calls)) => {
                for (call, from) in calls {
                    keys::check_call(&call)?;
                    let window = match from {
                        Toml::Table(window) => Window::parse(&window)?,
                        from => Window {
                            from: number(&from)?,
                            ..Window::ALWAYS
                        },
                    };
                    behaviour.blocks.insert(call, window);
                }
            }
            Some(other) => return Err(format!("`blocks` cannot be `{other}`")),
        }
        Ok(behaviour)
    }

    pub(crate) fn error(&self, call: &str, t: f64, calls: u64) -> Option<u32> {
        let faults = |name: &str| {
            let windows = self.errors.get(name)?;
            let (_, code) = windows.iter().find(|(window, _)| window.holds(t, calls))?;
            Some(*code)
        };
        faults("all").or_else(|| faults(call))
    }

    pub(crate) fn latency(&self, call: &str) -> Option<&Value> {
        self.latency_us
            .get(call)
            .or_else(|| self.latency_us.get("all"))
    }

    pub(crate) fn blocks(&self, call: &str, t: f64, calls: u64) -> bool {
        let holds = |name| {
            self.blocks
                .get(name)
                .is_some_and(|w: &Window| w.holds(t, calls))
        };
        holds(call) || holds("all")
    }
}

fn fault(toml: &Toml) -> Result<(Window, u32), String> {
    match toml {
        Toml::Table(table) => {
            let code = optional(table, "code")?.ok_or("an error without `code`")?;
            Ok((Window::parse(table)?, code as u32))
        }
        code => Ok((Window::ALWAYS, number(code)? as u32)),
    }
}

/// Text that a call writes to the process's stdout or stderr.
#[derive(Debug, Clone)]
pub(crate) struct Print {
    pub(crate) call: String,
    pub(crate) window: Window,
    pub(crate) stderr: bool,
    pub(crate) text: String,
}

/// A call that ends the process.
#[derive(Debug, Clone)]
pub(crate) struct Crash {
    pub(crate) call: String,
    pub(crate) window: Window,
    pub(crate) how: String,
}

/// The driver is loaded anew at `at`: handles are dead until the next `nvmlInit`.
#[derive(Debug, Clone)]
pub(crate) struct Reload {
    pub(crate) at: f64,
    pub(crate) code: u32,
    /// NVML index to place in the scenario, after the reload.
    pub(crate) order: Option<Vec<usize>>,
}

/// A whole scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// `driver_version`, `nvml_version`, `cuda_version`, `init_error`, `device_count`, `conf_compute`.
    pub(crate) readings: HashMap<String, Value>,
    pub(crate) behaviour: Behaviour,
    pub(crate) global_lock: bool,
    pub(crate) gpm_parallel_crash: bool,
    pub(crate) clock: Clock,
    pub(crate) reload: Option<Reload>,
    pub(crate) prints: Vec<Print>,
    pub(crate) crashes: Vec<Crash>,
    pub(crate) devices: Vec<Unit>,
}

impl Scenario {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        Self::from_table(table_of(path)?).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn from_table(mut table: Table) -> Result<Self, String> {
        let clock = clock(&mut table)?;
        let devices = devices(taken_tables(&mut table, "device")?)?;
        let scenario = Self {
            behaviour: Behaviour::take(&mut table)?,
            global_lock: taken_bool(&mut table, "global_lock")?,
            gpm_parallel_crash: taken_bool(&mut table, "gpm_parallel_crash")?,
            clock,
            reload: reload(&mut table, devices.len())?,
            prints: taken_tables(&mut table, "print")?
                .iter()
                .map(print)
                .collect::<Result<_, _>>()?,
            crashes: taken_tables(&mut table, "crash")?
                .iter()
                .map(crash)
                .collect::<Result<_, _>>()?,
            devices,
            readings: keys::readings(table, keys::LIBRARY)?,
        };
        Ok(scenario)
    }
}

/// Reads a file and lays it over the file that it `extends`.
fn table_of(path: &Path) -> Result<Table, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let mut table: Table = text
        .parse()
        .map_err(|e| format!("{}: {e}", path.display()))?;
    match table.remove("extends") {
        None => Ok(table),
        Some(base) => {
            let base = path.with_file_name(self::text(&base)?);
            let mut merged = table_of(&base)?;
            merge(&mut merged, table, false);
            Ok(merged)
        }
    }
}

/// Lays `over` onto `base`: sections key by key, lists of tables place by place, the rest replaced.
/// The tables of `only` are sections whatever their name.
fn merge(base: &mut Table, over: Table, in_only: bool) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            // A value's own table is replaced whole, or two shapes would stand in it.
            (Some(Toml::Table(old)), Toml::Table(new)) if in_only || keys::is_section(&key) => {
                merge(old, new, key == "only");
            }
            (Some(Toml::Array(old)), Toml::Array(new))
                if !new.is_empty() && new.iter().all(Toml::is_table) =>
            {
                for (place, value) in new.into_iter().enumerate() {
                    match (old.get_mut(place), value) {
                        (Some(Toml::Table(old)), Toml::Table(new)) => merge(old, new, false),
                        (_, value) => old.push(value),
                    }
                }
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Expands the templates: `count` copies, each with its own `only.N` laid over.
fn devices(templates: Vec<Table>) -> Result<Vec<Unit>, String> {
    let mut devices = Vec::new();
    for mut template in templates {
        let count = template.remove("count").map_or(Ok(1.0), |n| number(&n))? as usize;
        let mut only = taken_table(&mut template, "only")?;
        for nth in 0..count {
            let mut table = template.clone();
            if let Some(Toml::Table(own)) = only.remove(&nth.to_string()) {
                merge(&mut table, own, false);
            }
            let index = devices.len();
            let unit =
                Unit::parse(table, index, nth).map_err(|e| format!("device {index}: {e}"))?;
            devices.push(unit);
        }
        if let Some(stray) = only.keys().next() {
            return Err(format!("`only.{stray}` is beyond the count of {count}"));
        }
    }
    Ok(devices)
}

fn clock(table: &mut Table) -> Result<Clock, String> {
    let mut take = |key| {
        let value = table.remove(key);
        value.as_ref().map(number).transpose()
    };
    let (step, speed) = (take("step")?, take("speed")?);
    match table.remove("clock").as_ref().and_then(Toml::as_str) {
        Some("calls") => Ok(Clock::Calls {
            step: step.unwrap_or(1.0),
        }),
        None | Some("real") => Ok(Clock::Real {
            speed: speed.unwrap_or(1.0),
        }),
        Some(other) => Err(format!("no clock `{other}`")),
    }
}

fn reload(table: &mut Table, devices: usize) -> Result<Option<Reload>, String> {
    let mut reload = taken_table(table, "reload")?;
    if reload.is_empty() {
        return Ok(None);
    }
    let order = match reload.remove("order") {
        None => None,
        Some(Toml::String(s)) if s == "reversed" => Some((0..devices).rev().collect()),
        Some(places) => Some(
            list(&places)?
                .iter()
                .map(|place| number(place).map(|p| p as usize))
                .collect::<Result<Vec<_>, _>>()?,
        ),
    };
    Ok(Some(Reload {
        at: optional(&reload, "at")?.ok_or("`reload.at` is missing")?,
        code: optional(&reload, "code")?.unwrap_or(999.0) as u32,
        order,
    }))
}

fn print(table: &Table) -> Result<Print, String> {
    Ok(Print {
        call: call_of(table)?,
        window: Window::parse(table)?,
        stderr: match table.get("to").and_then(Toml::as_str) {
            Some("stderr") => true,
            Some("stdout") => false,
            _ => return Err("`print.to` is stdout or stderr".to_owned()),
        },
        text: text(table.get("text").ok_or("`print.text` is missing")?)?,
    })
}

fn crash(table: &Table) -> Result<Crash, String> {
    let how = text(table.get("how").ok_or("`crash.how` is missing")?)?;
    if !["abort", "segv", "exit"].contains(&how.as_str()) {
        return Err(format!("no way to crash: `{how}`"));
    }
    Ok(Crash {
        call: call_of(table)?,
        window: Window::parse(table)?,
        how,
    })
}

/// `call` of a table; `all` where it names none.
fn call_of(table: &Table) -> Result<String, String> {
    let call = table.get("call").map_or(Ok("all".to_owned()), text)?;
    keys::check_call(&call)?;
    Ok(call)
}

pub(crate) fn text(toml: &Toml) -> Result<String, String> {
    toml.as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("`{toml}` is no string"))
}

pub(crate) fn taken_table(table: &mut Table, key: &str) -> Result<Table, String> {
    match table.remove(key) {
        None => Ok(Table::new()),
        Some(Toml::Table(inner)) => Ok(inner),
        Some(other) => Err(format!("`{key}` cannot be `{other}`")),
    }
}

pub(crate) fn taken_tables(table: &mut Table, key: &str) -> Result<Vec<Table>, String> {
    match table.remove(key) {
        None => Ok(Vec::new()),
        Some(Toml::Array(tables)) => tables
            .into_iter()
            .map(|t| match t {
                Toml::Table(t) => Ok(t),
                other => Err(format!("`{key}` cannot hold `{other}`")),
            })
            .collect(),
        Some(other) => Err(format!("`{key}` cannot be `{other}`")),
    }
}

fn taken_bool(table: &mut Table, key: &str) -> Result<bool, String> {
    match table.remove(key) {
        None => Ok(false),
        Some(Toml::Boolean(b)) => Ok(b),
        Some(other) => Err(format!("`{key}` cannot be `{other}`")),
    }
}
