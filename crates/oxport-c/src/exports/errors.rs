//! Functions of versions, statuses and errors.

#![allow(unsafe_code)]

use crate::border::{answered, freed};
use crate::{OXPORT_ABI_VERSION, OxportError, OxportStatus};
use std::ffi::{CStr, c_char};

/// The version of the library, as text: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn oxport_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("law: the version has no NUL"),
    };
    VERSION.as_ptr()
}

/// The OXPORT_ABI_VERSION that the library was built with. A program whose header says another one must not go on.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_abi_version() -> u32 {
    OXPORT_ABI_VERSION
}

/// What a status means, in a few words; "unknown" for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_status_text(status: i32) -> *const c_char {
    let known = OxportStatus::ALL.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"unknown", |(_, text)| text).as_ptr()
}

/// The status of an error; OXPORT_STATUS_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_error_status(error: Option<&OxportError>) -> OxportStatus {
    error.map_or(OxportStatus::Ok, |error| error.status)
}

/// The sentences that say what is wrong, in UTF-8 and without control characters but line ends; "" for NULL. It lives
/// as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_error_message(error: Option<&OxportError>) -> *const c_char {
    answered(c"".as_ptr(), || error.map_or(c"", |error| &error.message).as_ptr())
}

/// All diagnostics of a program that is not valid, as JSON: a list of {code, severity, at, message, notes}, as `oxport
/// verify --json` prints it; "[]" for other errors and NULL. It lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_error_diagnostics(error: Option<&OxportError>) -> *const c_char {
    answered(c"[]".as_ptr(), || error.map_or(c"[]", |error| &error.diagnostics).as_ptr())
}

/// Frees an error. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_error_free(error: Option<Box<OxportError>>) {
    freed(error);
}
