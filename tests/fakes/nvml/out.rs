//! Writing to the caller's memory.
//!
//! Safety of all of it: like NVML, this library trusts its caller that a pointer which is not null
//! points to memory of the type, or length, that the header states.

use std::ffi::{c_char, c_uint};

use crate::state::{INSUFFICIENT_SIZE, INVALID_ARGUMENT, VERSION_MISMATCH};

/// Writes one value.
pub(crate) fn put<T>(out: *mut T, value: T) -> Result<(), u32> {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: not null; see the module.
    unsafe { out.write(value) };
    Ok(())
}

/// The caller's struct, to be filled.
pub(crate) fn filled<'a, T>(out: *mut T) -> Result<&'a mut T, u32> {
    // SAFETY: see the module.
    unsafe { out.as_mut() }.ok_or(INVALID_ARGUMENT)
}

/// The caller's array of `length` items.
pub(crate) fn slice<'a, T>(out: *mut T, length: usize) -> Result<&'a mut [T], u32> {
    match (out.is_null(), length) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(INVALID_ARGUMENT),
        // SAFETY: not null; see the module.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(out, length) }),
    }
}

/// Writes a string with its NUL.
pub(crate) fn put_text(out: *mut c_char, length: c_uint, text: &[u8]) -> Result<(), u32> {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    copy_text(slice(out, length as usize)?, text);
    Ok(())
}

/// Fills a char array, cut to its length, with a NUL at the end.
pub(crate) fn copy_text(out: &mut [c_char], text: &[u8]) {
    let end = text.len().min(out.len().saturating_sub(1));
    for (to, from) in out.iter_mut().zip(&text[..end]) {
        *to = *from as c_char;
    }
    if let Some(nul) = out.get_mut(end) {
        *nul = 0;
    }
}

/// The caller's string.
pub(crate) fn text_of<'a>(text: *const c_char) -> Result<&'a [u8], u32> {
    if text.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: not null and NUL-terminated; see the module.
    Ok(unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}

/// Struct versions are `sizeof | version << 24`.
pub(crate) fn check_version<T>(given: c_uint, version: u32) -> Result<(), u32> {
    match given == size_of::<T>() as u32 | version << 24 {
        true => Ok(()),
        false => Err(VERSION_MISMATCH),
    }
}
