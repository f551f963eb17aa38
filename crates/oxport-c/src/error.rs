//! [`OxportError`]: the reason of a failed call, as text and as JSON.
//!
//! Errors belong to the caller who asked for them, not to a thread: nothing is left in a thread that ends or in a
//! library that is unloaded, and a language whose tasks move between threads may keep an error as long as it likes.

#![forbid(unsafe_code)]

use crate::status::{Failure, OxportStatus};
use std::ffi::CString;

/// Why a call failed. Immutable; freed by `oxport_error_free`.
#[derive(Debug)]
pub struct OxportError {
    pub(crate) status: OxportStatus,
    pub(crate) message: CString,
    pub(crate) diagnostics: CString,
}

impl OxportError {
    pub(crate) fn new(failure: Failure) -> OxportError {
        OxportError {
            status: failure.status,
            message: text(failure.message),
            diagnostics: text(oxport::json::diagnostics(&failure.diagnostics).to_string()),
        }
    }
}

/// A text for C. A NUL character within it, which C would take for its end, is replaced.
pub(crate) fn text(text: impl Into<String>) -> CString {
    let text = text.into();
    CString::new(text).unwrap_or_else(|e| {
        let bytes = e.into_vec();
        let parts: Vec<&[u8]> = bytes.split(|b| *b == 0).collect();
        CString::new(parts.join("\u{fffd}".as_bytes())).expect("law: no NUL is left")
    })
}
