//! Where this library lies, so that a copy of it can carry its own scenario.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

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

/// The file that this code was loaded from.
pub(crate) fn library_path() -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: std::ptr::null(),
        file_base: std::ptr::null_mut(),
        symbol_name: std::ptr::null(),
        symbol_address: std::ptr::null_mut(),
    };
    let here = library_path as *const c_void;
    // SAFETY: `here` is an address in this library and `info` has the layout of dlfcn.h.
    let found = unsafe { dladdr(here, &raw mut info) };
    if found == 0 || info.file_name.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated name that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.file_name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
