//! The library's state, and the one door that every call goes through.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::counts;
use crate::keys;
use crate::scenario::{Behaviour, Clock, Scenario};
use crate::unit::Unit;
use crate::value::{At, Datum, NOT_SUPPORTED};

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const UNINITIALIZED: u32 = 1;
pub(crate) const INVALID_ARGUMENT: u32 = 2;
pub(crate) const NOT_FOUND: u32 = 6;
pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
pub(crate) const TIMEOUT: u32 = 10;
pub(crate) const VERSION_MISMATCH: u32 = 25;

/// The library's own calls count under this device.
const LIBRARY: usize = usize::MAX;
/// Top half of a handle: "NV".
const HANDLE_TAG: usize = 0x4E56 << 32;

/// A library between `nvmlInit` and `nvmlShutdown`.
pub(crate) struct Live {
    pub(crate) scenario: Scenario,
    /// Second of the timeline at the last `nvmlInit`.
    opened: f64,
    lock: Mutex<()>,
}

static LIVE: RwLock<Option<Arc<Live>>> = RwLock::new(None);
static REFERENCES: Mutex<u64> = Mutex::new(0);
static START: OnceLock<Instant> = OnceLock::new();
static CALLS: Mutex<Option<HashMap<(usize, &'static str), u64>>> = Mutex::new(None);

/// What the body of a device call works with.
pub(crate) struct Call<'a> {
    pub(crate) live: &'a Live,
    /// The GPU, or the MIG instance.
    pub(crate) unit: &'a Unit,
    /// The GPU.
    pub(crate) gpu: &'a Unit,
    /// Place of the MIG instance on its GPU.
    pub(crate) mig: Option<usize>,
    pub(crate) t: f64,
}

impl Call<'_> {
    pub(crate) fn int(&self, key: &str) -> Result<i128, u32> {
        self.unit.int(key, self.t)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Vec<u8>, u32> {
        self.unit.text(key, self.t)
    }

    pub(crate) fn at(&self) -> At {
        self.unit.at(self.t)
    }
}

/// A call on a device handle: faults, latency and output of the scenario, then `body`.
pub(crate) fn device_call(
    device: nvmlDevice_t,
    function: &'static str,
    call: &'static str,
    body: impl FnOnce(&Call) -> Result<(), u32>,
) -> nvmlReturn_t {
    let _flight = counts::enter(function);
    let Some(live) = live() else {
        return UNINITIALIZED;
    };
    let Some((stale, place, mig)) = live.decode(device) else {
        return INVALID_ARGUMENT;
    };
    let gpu = &live.scenario.devices[place];
    let t = live.now(place);
    let unit = match mig {
        None => gpu,
        Some(mig) => match gpu.mig.get(mig) {
            Some(unit) if unit.window.is_some_and(|w| w.holds(t, 0)) => unit,
            _ => return INVALID_ARGUMENT,
        },
    };
    let result = live
        .pass(place, Some(&unit.behaviour), call, t, stale)
        .and_then(|_lock| {
            body(&Call {
                live: &live,
                unit,
                gpu,
                mig,
                t,
            })
        });
    result.err().unwrap_or(SUCCESS)
}

/// A call on the library, `body` given the latest second of the timeline.
pub(crate) fn library_call(
    function: &'static str,
    call: &'static str,
    body: impl FnOnce(&Live, f64) -> Result<(), u32>,
) -> nvmlReturn_t {
    let _flight = counts::enter(function);
    let Some(live) = live() else {
        return UNINITIALIZED;
    };
    let t = live.latest();
    let stale = live.reloaded(t);
    // Waiting for an event does not hold the driver's lock.
    let result = live.pass(LIBRARY, None, call, t, stale).and_then(|lock| {
        let _lock = lock.filter(|_| call != "event_set_wait");
        body(&live, t)
    });
    result.err().unwrap_or(SUCCESS)
}

pub(crate) fn live() -> Option<Arc<Live>> {
    LIVE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// `nvmlInit`: reads the scenario anew when nobody has the library open.
pub(crate) fn init(function: &'static str) -> nvmlReturn_t {
    let _flight = counts::enter(function);
    START.get_or_init(start_of_timeline);
    let mut references = lock(&REFERENCES);
    let open = live().filter(|_| *references > 0);
    if let Some(live) = open
        && !live.reloaded(live.latest())
    {
        *references += 1;
        return SUCCESS;
    }
    let scenario = match scenario_path().and_then(|path| Scenario::read(&path)) {
        Ok(scenario) => scenario,
        Err(message) => {
            complain(&message);
            return INVALID_ARGUMENT;
        }
    };
    let mut live = Live {
        scenario,
        opened: f64::INFINITY,
        lock: Mutex::new(()),
    };
    let t = live.latest();
    live.opened = t;
    if let Err(code) = live.pass(LIBRARY, None, "init", t, false) {
        return code;
    }
    let code = live.reading("init_error", t).and_then(crate::unit::whole);
    match code {
        Err(NOT_SUPPORTED) | Ok(0) => {}
        Ok(code) => return code as u32,
        Err(code) => return code,
    }
    *LIVE.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
    *references += 1;
    SUCCESS
}

/// `nvmlShutdown`: the last one closes.
pub(crate) fn shutdown() -> nvmlReturn_t {
    let result = library_call("nvmlShutdown", "shutdown", |_, _| Ok(()));
    counts::flush();
    let mut references = lock(&REFERENCES);
    if *references == 0 {
        return UNINITIALIZED;
    }
    *references -= 1;
    if *references == 0 {
        *LIVE.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
    result
}

impl Live {
    /// Seconds of a device's timeline.
    pub(crate) fn now(&self, device: usize) -> f64 {
        match self.scenario.clock {
            Clock::Real { speed } => START
                .get()
                .map_or(0.0, |start| start.elapsed().as_secs_f64() * speed),
            Clock::Calls { step } => calls(device, "utilization_rates") as f64 * step,
        }
    }

    /// The latest second of any device.
    pub(crate) fn latest(&self) -> f64 {
        match self.scenario.clock {
            Clock::Real { .. } => self.now(0),
            Clock::Calls { .. } => (0..self.scenario.devices.len())
                .map(|device| self.now(device))
                .fold(0.0, f64::max),
        }
    }

    pub(crate) fn reading(&self, key: &str, t: f64) -> Result<Datum, u32> {
        let at = At {
            t,
            index: 0,
            nth: 0,
        };
        let value = self.scenario.readings.get(key).ok_or(NOT_SUPPORTED)?;
        value.at(at)
    }

    /// True once the driver was loaded anew after the library was opened.
    fn reloaded(&self, t: f64) -> bool {
        let reload = self.scenario.reload.as_ref();
        reload.is_some_and(|reload| self.opened < reload.at && reload.at <= t)
    }

    fn after_reload(&self) -> bool {
        let reload = self.scenario.reload.as_ref();
        reload.is_some_and(|reload| reload.at <= self.opened)
    }

    /// Place in the scenario of the device at an NVML index.
    pub(crate) fn place(&self, index: usize) -> Option<usize> {
        let order = match (&self.scenario.reload, self.after_reload()) {
            (Some(reload), true) => reload.order.as_deref(),
            _ => None,
        };
        let place = order.map_or(Some(index), |order| order.get(index).copied())?;
        (place < self.scenario.devices.len()).then_some(place)
    }

    pub(crate) fn index_of(&self, place: usize) -> Option<usize> {
        (0..self.scenario.devices.len()).find(|index| self.place(*index) == Some(place))
    }

    pub(crate) fn handle(&self, place: usize, mig: Option<usize>) -> nvmlDevice_t {
        let generation = usize::from(self.after_reload());
        let mig = mig.map_or(0, |mig| mig + 1);
        (HANDLE_TAG | generation << 24 | mig << 12 | (place + 1)) as nvmlDevice_t
    }

    /// (is from before the reload, device, MIG instance), or None for what is no handle.
    fn decode(&self, handle: nvmlDevice_t) -> Option<(bool, usize, Option<usize>)> {
        let handle = handle as usize;
        if handle & !0xFFFF_FFFF != HANDLE_TAG {
            return None;
        }
        let place = (handle & 0xFFF).checked_sub(1)?;
        let mig = ((handle >> 12) & 0xFFF).checked_sub(1);
        let generation = (handle >> 24) & 0xFF;
        let stale = generation != usize::from(self.after_reload());
        self.scenario.devices.get(place)?;
        Some((stale || self.reloaded(self.now(place)), place, mig))
    }

    /// What the scenario lays on a call before it may answer. Gives the global lock, if there is one.
    fn pass(
        &self,
        device: usize,
        own: Option<&Behaviour>,
        call: &'static str,
        t: f64,
        stale: bool,
    ) -> Result<Option<MutexGuard<'_, ()>>, u32> {
        debug_assert!(keys::is_call(call), "`{call}` is in no list of calls");
        let before = bump(device, call);
        let guard = self.scenario.global_lock.then(|| lock(&self.lock));
        let levels = || own.into_iter().chain([&self.scenario.behaviour]);
        self.print(call, t, before);
        self.crash(call, t, before);
        if levels().any(|level| level.blocks(call, t, before)) {
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        if let Some(latency) = levels().find_map(|level| level.latency(call)) {
            let at = At {
                t,
                index: device,
                nth: device,
            };
            wait_us(latency.number(at).unwrap_or(0.0));
        }
        if stale && call != "init" && call != "shutdown" {
            return Err(self
                .scenario
                .reload
                .as_ref()
                .map_or(UNINITIALIZED, |r| r.code));
        }
        match levels().find_map(|level| level.error(call, t, before)) {
            Some(code) if code != SUCCESS => Err(code),
            _ => Ok(guard),
        }
    }

    fn print(&self, call: &str, t: f64, before: u64) {
        for print in &self.scenario.prints {
            if (print.call == call || print.call == "all") && print.window.holds(t, before) {
                let text = print.text.as_bytes();
                // The point is to dirty the process's own output; if that is closed, so be it.
                let _ = match print.stderr {
                    true => std::io::stderr().write_all(text),
                    false => {
                        let mut out = std::io::stdout();
                        out.write_all(text).and_then(|()| out.flush())
                    }
                };
            }
        }
    }

    fn crash(&self, call: &str, t: f64, before: u64) {
        for crash in &self.scenario.crashes {
            if (crash.call == call || crash.call == "all") && crash.window.holds(t, before) {
                counts::flush();
                end_process(&crash.how);
            }
        }
    }
}

/// Ends the process the way a broken driver library does.
pub(crate) fn end_process(how: &str) {
    match how {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(1),
        // SAFETY: none; a write to address 8 is the segmentation fault that is asked for.
        _ => unsafe { std::ptr::without_provenance_mut::<u64>(8).write_volatile(1) },
    }
}

/// Waits like a call that goes to the hardware. Short waits spin: a sleep is too coarse for them.
fn wait_us(us: f64) {
    let wait = Duration::from_secs_f64(us.max(0.0) / 1e6);
    if wait > Duration::from_micros(150) {
        std::thread::sleep(wait);
    } else {
        let begin = Instant::now();
        while begin.elapsed() < wait {
            std::hint::spin_loop();
        }
    }
}

/// Calls of one name on one device so far.
fn calls(device: usize, call: &'static str) -> u64 {
    let calls = lock(&CALLS);
    let calls = calls.as_ref();
    calls
        .and_then(|calls| calls.get(&(device, call)).copied())
        .unwrap_or(0)
}

/// Counts one call more; the number before it.
fn bump(device: usize, call: &'static str) -> u64 {
    let mut calls = lock(&CALLS);
    let count = calls
        .get_or_insert_with(HashMap::new)
        .entry((device, call))
        .or_insert(0);
    *count += 1;
    *count - 1
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The timeline starts with the process, or at `NAMEPLATE_FAKE_NVML_EPOCH` (Unix seconds), so that
/// a process started again goes on where the last one ended.
fn start_of_timeline() -> Instant {
    let now = Instant::now();
    let epoch = std::env::var("NAMEPLATE_FAKE_NVML_EPOCH").ok();
    let since = epoch
        .and_then(|epoch| epoch.parse::<f64>().ok())
        .zip(SystemTime::now().duration_since(UNIX_EPOCH).ok())
        .and_then(|(epoch, now)| Duration::try_from_secs_f64(now.as_secs_f64() - epoch).ok());
    since
        .and_then(|since| now.checked_sub(since))
        .unwrap_or(now)
}

/// The scenario beside the library (`X.so.1` → `X.so.1.toml`) or the one named by the environment.
fn scenario_path() -> Result<PathBuf, String> {
    if let Some(own) = crate::beside::library_path() {
        let mut beside = own.into_os_string();
        beside.push(".toml");
        let beside = PathBuf::from(beside);
        if beside.exists() {
            return Ok(beside);
        }
    }
    std::env::var_os("NAMEPLATE_FAKE_NVML")
        .map(PathBuf::from)
        .ok_or_else(|| "NAMEPLATE_FAKE_NVML names no scenario".to_owned())
}

fn complain(message: &str) {
    // Nobody to report a failed write to.
    let _ = writeln!(std::io::stderr(), "fake nvml: {message}");
}
