//! What the small fake libraries share: a scenario in TOML beside the library's file (`libcndev.so.toml`), read anew for
//! each call, so that a test changes what is answered by writing the file again.
//!
//! ```toml
//! errors = { init = 1 }      # a return code by call; `all` for every call
//! blocks = ["power"]         # calls that return only once the scenario does not name them any more
//!
//! [[device]]                 # errors and blocks of its own, and values by name; what is not named is not supported
//! power = 106
//! ```

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use toml::{Table, Value};

/// `Dl_info` of dlfcn.h.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol_address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// The file that this code was loaded from, with `.toml` added to its name.
fn scenario_path() -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: std::ptr::null(),
        file_base: std::ptr::null_mut(),
        symbol_name: std::ptr::null(),
        symbol_address: std::ptr::null_mut(),
    };
    // SAFETY: the address is in this library and `info` has the layout of dlfcn.h.
    let found = unsafe { dladdr(scenario_path as *const c_void, &raw mut info) };
    if found == 0 || info.file_name.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated name that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.file_name) };
    let mut path = OsStr::from_bytes(name.to_bytes()).to_owned();
    path.push(".toml");
    Some(path.into())
}

/// The scenario as it is now; empty where there is none that can be read.
pub(crate) fn scenario() -> Table {
    let text = scenario_path().and_then(|path| std::fs::read_to_string(path).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The devices of the scenario.
pub(crate) fn devices() -> Vec<Table> {
    let devices = scenario().remove("device");
    let devices = devices.and_then(|devices| devices.as_array().cloned());
    let tables = devices.unwrap_or_default().into_iter();
    tables
        .filter_map(|table| table.as_table().cloned())
        .collect()
}

/// What a table says of a call: a return code, after having waited where it blocks.
fn gate(read: impl Fn() -> Table, call: &str) -> Result<Table, i32> {
    let named = |table: &Table| {
        let blocks = table.get("blocks").and_then(Value::as_array);
        blocks.is_some_and(|calls| calls.iter().any(|name| name.as_str() == Some(call)))
    };
    let mut table = read();
    while named(&table) {
        std::thread::sleep(Duration::from_millis(10));
        table = read();
    }
    let code = table.get("errors").and_then(|errors| {
        let code = errors.get(call).or_else(|| errors.get("all"))?;
        code.as_integer()
    });
    match code {
        Some(code) => Err(code as i32),
        None => Ok(table),
    }
}

/// A call of the library itself.
pub(crate) fn library_call(call: &str) -> Result<Table, i32> {
    gate(scenario, call)
}

/// A call about a device, which the finder knows.
pub(crate) fn device_call(
    call: &str,
    find: impl Fn(&[Table]) -> Option<Table>,
    unknown: i32,
) -> Result<Table, i32> {
    library_call(call)?;
    find(&devices()).ok_or(unknown)?;
    gate(|| find(&devices()).unwrap_or_default(), call)
}

/// A whole number of a table.
pub(crate) fn whole(table: &Table, key: &str) -> Option<i64> {
    table.get(key)?.as_integer()
}

/// A text of a table.
pub(crate) fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

/// Writes a number at so many bytes behind a pointer.
///
/// # Safety
/// There is room for it.
pub(crate) unsafe fn put<T>(to: *mut c_void, offset: usize, value: T) {
    // SAFETY: the caller vouches for the room; places need not be aligned.
    unsafe {
        to.cast::<u8>()
            .add(offset)
            .cast::<T>()
            .write_unaligned(value)
    };
}
