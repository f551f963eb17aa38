//! Functions of results.

#![allow(unsafe_code)]

use super::memory::Copies;
use crate::border::{answered, freed, given, guarded, text};
use crate::status::Failure;
use crate::{OxportBuffer, OxportError, OxportResults, OxportStatus, OxportValue};
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The number of results; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_results_count(results: Option<&OxportResults>) -> usize {
    answered(0, || results.map_or(0, OxportResults::len))
}

/// A result; NULL if there is none. The value and all that it points to live as long as `results`. A tensor need not be
/// in row-major order: see `oxport_is_contiguous` and `oxport_results_copy`.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_results_get(results: Option<&OxportResults>, index: usize) -> Option<&OxportValue> {
    answered(None, || results?.get(index))
}

/// The key of a result, as `oxport_program_output` says it: "out.0", "mut.NAME", "inmut.0"; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_results_key(results: Option<&OxportResults>, index: usize) -> *const c_char {
    answered(null(), || {
        results.and_then(|results| results.keys.get(index)).map(CString::as_c_str).map_or(null(), CStr::as_ptr)
    })
}

/// The result with this key; NULL if there is none.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_results_find(
    results: Option<&OxportResults>,
    key: *const c_char,
) -> Option<&OxportValue> {
    answered(None, || {
        // SAFETY: the caller passes a text, by the contract of the header.
        let key = unsafe { text("key", key) }.ok()?;
        results?.find(key)
    })
}

/// Writes a result to a buffer of the caller, in row-major order; an int, float or bool as a tensor without dimensions.
/// The dtype and sizes of the buffer must be those of the result. On an error nothing is written.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_results_copy(
    results: Option<&OxportResults>,
    index: usize,
    buffer: Option<&OxportBuffer>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    guarded(error, || {
        let (results, buffer) = (given("results", results)?, given("a buffer", buffer)?);
        let count = results.len();
        let found = results.values.get(index..).and_then(|rest| rest.get(..1));
        let found = found.ok_or_else(|| Failure::usage(format!("expected one of {count} results, got {index}")))?;
        if buffer.data.is_null() {
            return Err(Failure::usage("expected a buffer with memory, got NULL"));
        }
        // SAFETY: the caller passes a buffer, by the contract of the header.
        unsafe { Copies::check(found, std::slice::from_ref(buffer))?.write() };
        Ok(())
    })
}

/// Frees results. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_results_free(results: Option<Box<OxportResults>>) {
    freed(results);
}
