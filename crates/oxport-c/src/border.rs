//! What every exported function goes through: panics end here, results are given to the caller, text and arrays of the
//! caller become references.
//!
//! Laws: a failed call leaves NULL where it would have left a handle; what is NULL or not aligned is never read.

use crate::error::OxportError;
use crate::status::{Failure, OxportStatus, Result};
use crate::value::{OxportPort, OxportValue};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// A place of the caller for a handle. It may hold anything before.
pub(crate) type Place<'a, T> = Option<&'a mut MaybeUninit<Option<Box<T>>>>;

/// Structs or pointers for C, which the library only hands out.
pub(crate) struct Frozen<T>(Vec<T>);

impl<T> Frozen<T> {
    pub(crate) fn new(all: Vec<T>) -> Frozen<T> {
        Frozen(all)
    }
    pub(crate) fn get(&self) -> &[T] {
        &self.0
    }
}

// SAFETY: these are numbers and pointers, which are not read here; what they lead to belongs to a struct that is shared
// by threads itself, and does not change.
unsafe impl Send for Frozen<OxportPort> {}
// SAFETY: as above.
unsafe impl Sync for Frozen<OxportPort> {}
// SAFETY: as above.
unsafe impl Send for Frozen<OxportValue> {}
// SAFETY: as above.
unsafe impl Sync for Frozen<OxportValue> {}
// SAFETY: as above.
unsafe impl Send for Frozen<*const c_char> {}
// SAFETY: as above.
unsafe impl Sync for Frozen<*const c_char> {}

/// Does the work; an error or a panic becomes a status, and an error object if the caller wants one.
pub(crate) fn guarded(error: Place<'_, OxportError>, work: impl FnOnce() -> Result<()>) -> OxportStatus {
    // What a panic may leave half done is dropped with it, or is a cache that recovers: handles are written last.
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(Failure::panic(&*payload)));
    let failure = done.err();
    let status = failure.as_ref().map_or(OxportStatus::Ok, |failure| failure.status);
    if let Some(place) = error {
        place.write(failure.map(|failure| Box::new(OxportError::new(failure))));
    }
    status
}

/// As [`guarded`], for what makes a handle.
pub(crate) fn made<T>(
    place: Place<'_, T>,
    error: Place<'_, OxportError>,
    make: impl FnOnce() -> Result<T>,
) -> OxportStatus {
    let Some(place) = place else {
        return guarded(error, || Err(Failure::usage("expected a place for the result, got NULL")));
    };
    place.write(None);
    guarded(error, || {
        place.write(Some(Box::new(make()?)));
        Ok(())
    })
}

/// The answer to a question that cannot fail; `otherwise` should it panic all the same.
pub(crate) fn answered<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Frees a handle.
pub(crate) fn freed<T>(handle: Option<Box<T>>) {
    answered((), || drop(handle));
}

/// A handle that must not be NULL.
pub(crate) fn given<T>(what: &str, handle: Option<T>) -> Result<T> {
    handle.ok_or_else(|| Failure::usage(format!("expected {what}, got NULL")))
}

/// A text of the caller.
///
/// # Safety
/// `start` is NULL, or the start of a text that ends with a NUL byte and does not change while the result is used.
pub(crate) unsafe fn text<'a>(what: &str, start: *const c_char) -> Result<&'a str> {
    if start.is_null() {
        return Err(Failure::usage(format!("{what}: expected a text, got NULL")));
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map_err(|e| Failure::usage(format!("{what}: expected UTF-8, got {:?}: {e}", text.to_string_lossy())))
}

/// A path of the caller: on Unix any bytes, elsewhere UTF-8.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn path(start: *const c_char) -> Result<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        if start.is_null() {
            return Err(Failure::usage("expected a path, got NULL"));
        }
        // SAFETY: by the caller's promise.
        let bytes = unsafe { CStr::from_ptr(start) }.to_bytes();
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    // SAFETY: by the caller's promise.
    unsafe { text("path", start) }.map(PathBuf::from)
}

/// An array of the caller.
///
/// # Safety
/// `start` is NULL, or the start of `count` initialized elements that do not change while the result is used.
pub(crate) unsafe fn array<'a, T>(what: &str, start: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() {
        let got = if start.is_null() { "NULL" } else { "a pointer that is not aligned" };
        return Err(Failure::usage(format!("{what}: expected {count} elements, got {got}")));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::usage(format!("{what}: {count} elements are more than memory has")));
    }
    // SAFETY: `start` is aligned and not NULL, the elements fit an allocation, and the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_end_here() {
        let mut error = MaybeUninit::uninit();
        let status = guarded(Some(&mut error), || panic!("law: two and two make {}", 4));
        // SAFETY: every call writes the place.
        let error = unsafe { error.assume_init() }.expect("an error");
        assert_eq!((status, error.status), (OxportStatus::Panic, OxportStatus::Panic));
        assert_eq!(error.message.to_str(), Ok("a defect of oxport: law: two and two make 4"));

        let mut place = MaybeUninit::new(Some(Box::new(1)));
        assert_eq!(made(Some(&mut place), None, || panic!("{}", 0)), OxportStatus::Panic);
        // SAFETY: as above.
        assert_eq!(unsafe { place.assume_init() }, None);
        assert_eq!(answered(7, || panic!("no answer")), 7);
        struct Falls;
        impl Drop for Falls {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        freed(Some(Box::new(Falls)));
    }
}
