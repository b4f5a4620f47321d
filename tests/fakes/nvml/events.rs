//! Events: the scenario's, each once per set, at its second.

use std::ffi::{c_uint, c_ulonglong};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t, nvmlReturn_t};

use crate::out::put;
use crate::state::{INVALID_ARGUMENT, Live, TIMEOUT, device_call, library_call, lock};
use crate::unit::Event;
use crate::value::NOT_SUPPORTED;

/// One registration of a device with a set.
struct Registered {
    place: usize,
    types: u64,
    /// Events before this second were missed.
    since: f64,
    delivered: Vec<usize>,
}

type Set = Mutex<Vec<Registered>>;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetCreate(out: *mut nvmlEventSet_t) -> nvmlReturn_t {
    library_call("nvmlEventSetCreate", "event_set_create", |_, _| {
        if out.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let set: Box<Set> = Box::default();
        put(out, Box::into_raw(set).cast())
    })
}

/// The set behind a handle.
fn set_of<'a>(set: nvmlEventSet_t) -> Result<&'a Set, u32> {
    // SAFETY: the caller got it from nvmlEventSetCreate and has not freed it.
    unsafe { set.cast::<Set>().as_ref() }.ok_or(INVALID_ARGUMENT)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceRegisterEvents(
    device: nvmlDevice_t,
    types: c_ulonglong,
    set: nvmlEventSet_t,
) -> nvmlReturn_t {
    device_call(
        device,
        "nvmlDeviceRegisterEvents",
        "register_events",
        |call| {
            let supported = call.int("event_types")? as u64;
            if types & !supported != 0 {
                return Err(NOT_SUPPORTED);
            }
            lock(set_of(set)?).push(Registered {
                place: call.gpu.index,
                types,
                since: call.t,
                delivered: Vec::new(),
            });
            Ok(())
        },
    )
}

macro_rules! waits {
    ($($function:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(set: nvmlEventSet_t, out: *mut nvmlEventData_t, timeout_ms: c_uint) -> nvmlReturn_t {
            library_call(stringify!($function), "event_set_wait", |live, _| wait(live, set, out, timeout_ms))
        }
    )*};
}

waits! { nvmlEventSetWait nvmlEventSetWait_v2 }

fn wait(
    live: &Live,
    set: nvmlEventSet_t,
    out: *mut nvmlEventData_t,
    timeout_ms: c_uint,
) -> Result<(), u32> {
    let set = set_of(set)?;
    let begin = Instant::now();
    let timeout = Duration::from_millis(u64::from(timeout_ms));
    loop {
        if let Some((place, event)) = next(live, set) {
            return put(
                out,
                nvmlEventData_t {
                    device: live.handle(place, None),
                    eventType: event.kind,
                    eventData: event.data,
                    gpuInstanceId: event.gi,
                    computeInstanceId: event.ci,
                },
            );
        }
        let left = timeout.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(TIMEOUT);
        }
        // As the driver does: asleep until there is something to tell. A scenario may be replaced meanwhile.
        std::thread::sleep(left.min(until_next(live, set)).min(Duration::from_secs(1)));
    }
}

/// Time to the next event of the scenario that the set has not had.
fn until_next(live: &Live, set: &Set) -> Duration {
    let registered = lock(set);
    registered
        .iter()
        .flat_map(|registered| {
            let now = live.now(registered.place);
            live.scenario.devices[registered.place]
                .events
                .iter()
                .map(move |event| event.at - now)
                .filter(|seconds| *seconds > 0.0)
        })
        .map(Duration::from_secs_f64)
        .min()
        .unwrap_or(Duration::MAX)
}

/// The next event that is due, marked as delivered.
fn next(live: &Live, set: &Set) -> Option<(usize, Event)> {
    for registered in lock(set).iter_mut() {
        let now = live.now(registered.place);
        let events = &live.scenario.devices[registered.place].events;
        let due = events.iter().enumerate().find(|(i, event)| {
            (registered.since..=now).contains(&event.at)
                && event.kind & registered.types != 0
                && !registered.delivered.contains(i)
        });
        if let Some((i, event)) = due {
            registered.delivered.push(i);
            return Some((registered.place, event.clone()));
        }
    }
    None
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    let _flight = crate::counts::enter("nvmlEventSetFree");
    if set.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: made by nvmlEventSetCreate, and the caller frees it once.
    drop(unsafe { Box::from_raw(set.cast::<Set>()) });
    crate::state::SUCCESS
}
