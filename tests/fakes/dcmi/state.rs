//! How a call finds its answer.

use crate::small::{device_call, library_call};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use toml::{Table, Value};

pub(crate) const INVALID_PARAMETER: c_int = -8001;
const INNER: c_int = -8005;
const BAD_ID: c_int = -8007;
pub(crate) const NOT_SUPPORTED: c_int = -8255;

/// Calls under way, except for those that block.
static WORKING: AtomicUsize = AtomicUsize::new(0);
static FIRST: AtomicBool = AtomicBool::new(false);
static SECOND: AtomicBool = AtomicBool::new(false);

/// Who is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Chip(c_int, c_int),
    Device(c_int),
}

/// A call under way.
struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        WORKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets a call in: alone, and into a library whose generation was initialised.
fn enter(second: bool) -> Result<Call, c_int> {
    let before = WORKING.fetch_add(1, Ordering::SeqCst);
    let call = Call;
    let (ours, other) = match second {
        false => (&FIRST, &SECOND),
        true => (&SECOND, &FIRST),
    };
    match (
        before,
        ours.load(Ordering::SeqCst),
        other.load(Ordering::SeqCst),
    ) {
        (1.., ..) => Err(INVALID_PARAMETER),
        (_, true, _) => Ok(call),
        (_, false, true) => Err(NOT_SUPPORTED),
        (_, false, false) => Err(INNER),
    }
}

/// The return code of a call.
pub(crate) fn code(answer: Result<(), c_int>) -> c_int {
    answer.err().unwrap_or(0)
}

/// Initialises one of the two generations: the scenario's `generation` (1 where it names none).
pub(crate) fn init(second: bool) -> c_int {
    let flag = if second { &SECOND } else { &FIRST };
    code(library_call("init").and_then(|scenario| {
        let generation = scenario.get("generation").and_then(Value::as_integer);
        match (generation == Some(2)) == second {
            true => {
                flag.store(true, Ordering::SeqCst);
                Ok(())
            }
            false => Err(NOT_SUPPORTED),
        }
    }))
}

/// The scenario, for a call of the library itself.
pub(crate) fn library(second: bool, call: &str) -> Result<Table, c_int> {
    let _call = enter(second)?;
    library_call(call)
}

fn find(place: Place) -> impl Fn(&[Table]) -> Option<Table> {
    let number = |table: &Table, key: &str| table.get(key).and_then(Value::as_integer);
    move |devices| match place {
        Place::Device(nth) => devices.get(usize::try_from(nth).ok()?).cloned(),
        Place::Chip(card, chip) => {
            let is_it = |table: &&Table| {
                number(table, "card") == Some(card.into())
                    && number(table, "chip").unwrap_or(0) == i64::from(chip)
            };
            devices.iter().find(is_it).cloned()
        }
    }
}

/// What a chip answers: the value of that name. A call that blocks is in nobody's way: the library has no lock of its own.
pub(crate) fn answer(place: Place, name: &str) -> Result<Value, c_int> {
    let call = enter(matches!(place, Place::Device(_)))?;
    let blocks = find(place)(&crate::small::devices()).is_some_and(|device| {
        let calls = device.get("blocks").and_then(Value::as_array);
        calls.is_some_and(|calls| calls.iter().any(|call| call.as_str() == Some(name)))
    });
    let _call = (!blocks).then_some(call);
    let device = device_call(name, find(place), BAD_ID)?;
    device.get(name).cloned().ok_or(NOT_SUPPORTED)
}
