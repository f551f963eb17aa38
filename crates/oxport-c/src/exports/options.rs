//! Functions of options.

#![allow(unsafe_code)]

use crate::border::{answered, freed, given, guarded, text};
use crate::{OxportError, OxportOptions, OxportStatus};
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// New options, with the defaults. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_options_new() -> Option<Box<OxportOptions>> {
    answered(None, || Some(Box::default()))
}

/// Sets an option, by its name:
///
/// - "opt": "none", "exact" (the default: results equal to the bit) or "fast" (rules that may round differently, too;
///   the library needs the feature `rewrite`)
/// - "threads": a number; "0" (the default) stands for all cores
/// - "seed": the seed of random operators, "0" by default
/// - "checks": "torch" (the default: inputs are checked as PyTorch does) or "strict" (dtypes, ranges and guards, too)
/// - "model": the model to read from an archive with several
/// - "verify_weights": "true" checks the checksums of weights, which reads all of them; "false" by default
/// - "limit": "NAME=N", as "buffer=4G": a limit of reading or running; may be set repeatedly
///
/// Both texts end with a NUL byte and are copied.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_options_set(
    options: Option<&mut OxportOptions>,
    name: *const c_char,
    value: *const c_char,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    guarded(error, || {
        // SAFETY: the caller passes texts, by the contract of the header.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        given("options", options)?.set(name, value)
    })
}

/// Frees options. NULL does nothing. Programs that were loaded with them stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_options_free(options: Option<Box<OxportOptions>>) {
    freed(options);
}
