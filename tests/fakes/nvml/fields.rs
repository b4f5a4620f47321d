//! `nvmlDeviceGetFieldValues`: many values, each with its type and its own return code.

use std::ffi::c_int;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t, nvmlReturn_t, nvmlValue_t};

use crate::keys;
use crate::out::slice;
use crate::state::{Call, INVALID_ARGUMENT, SUCCESS, device_call};
use crate::unit::{Field, Scope, whole};
use crate::value::{Datum, NOT_SUPPORTED};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    device_call(device, "nvmlDeviceGetFieldValues", "field_values", |call| {
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        if count == 0 || values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        for value in slice(values, count)? {
            let begin = Instant::now();
            answer(call, value);
            value.timestamp = unix_us();
            value.latencyUsec = i64::try_from(begin.elapsed().as_micros()).unwrap_or(i64::MAX);
        }
        Ok(())
    })
}

fn answer(call: &Call, value: &mut nvmlFieldValue_t) {
    let wanted = |field: &&Field| {
        field.id == value.fieldId
            && match field.scope {
                Scope::One(scope) => scope == value.scopeId,
                Scope::EachLink => call
                    .int("nvlink_count")
                    .is_ok_and(|links| i128::from(value.scopeId) < links),
            }
    };
    // An exact scope goes before "each link".
    let exact = call.unit.fields.iter().filter(wanted);
    let field = exact.min_by_key(|field| field.scope == Scope::EachLink);
    let datum = match field {
        None => Err(NOT_SUPPORTED),
        Some(field) => field.value.at(call.at()).map(|datum| (field, datum)),
    };
    match datum.and_then(|(field, datum)| typed(field, datum)) {
        Ok((kind, datum)) => {
            value.nvmlReturn = SUCCESS;
            value.valueType = kind;
            value.value = datum;
        }
        Err(code) => value.nvmlReturn = code,
    }
}

/// The union, with the bytes that the type does not use left at zero.
fn typed(field: &Field, datum: Datum) -> Result<(u32, nvmlValue_t), u32> {
    let kind = field.kind.or_else(|| keys::field_type(field.id));
    if let (Some(0), Datum::Float(float)) = (kind, &datum) {
        return Ok((0, nvmlValue_t { dVal: *float }));
    }
    let int = whole(datum)?;
    let kind = kind.unwrap_or(if u32::try_from(int).is_ok() { 1 } else { 3 });
    let mut value = nvmlValue_t { ullVal: 0 };
    match kind {
        0 => value.dVal = int as f64,
        1 => value.uiVal = int as _,
        2 => value.ulVal = int as _,
        3 => value.ullVal = int as _,
        4 => value.sllVal = int as _,
        5 => value.siVal = int as _,
        6 => value.usVal = int as _,
        _ => return Err(NOT_SUPPORTED),
    }
    Ok((kind, value))
}

/// Microseconds since 1970.
pub(crate) fn unix_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    since
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
