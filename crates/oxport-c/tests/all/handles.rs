//! Calls of the exported functions with Rust types: handles, statuses with messages, tensors of floats.

use crate::compiled::fixture;
use oxport_c::*;
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::path::Path;

pub type ErrorPlace<'a> = Option<&'a mut MaybeUninit<Option<Box<OxportError>>>>;

pub fn text(start: *const c_char) -> String {
    assert!(!start.is_null());
    // SAFETY: the library gives texts that end with a NUL byte.
    unsafe { CStr::from_ptr(start) }.to_str().expect("UTF-8").to_string()
}

/// A status, and the message of the error.
pub fn status(call: impl FnOnce(ErrorPlace<'_>) -> OxportStatus) -> (OxportStatus, String) {
    let mut error = MaybeUninit::uninit();
    let status = call(Some(&mut error));
    // SAFETY: every call writes the place.
    let error = unsafe { error.assume_init() };
    assert_eq!(error.is_none(), status == OxportStatus::Ok);
    assert_eq!(oxport_error_status(error.as_deref()), status);
    let message = text(oxport_error_message(error.as_deref()));
    let diagnostics: oxport::serde_json::Value =
        oxport::serde_json::from_str(&text(oxport_error_diagnostics(error.as_deref()))).expect("JSON");
    let count = diagnostics.as_array().map(Vec::len).expect("a list");
    match status {
        OxportStatus::Invalid => assert!(count > 0),
        OxportStatus::Ok | OxportStatus::Usage | OxportStatus::File | OxportStatus::Failed => assert_eq!(count, 0),
        _ => {}
    }
    oxport_error_free(error);
    (status, message)
}

pub type Place<'a, T> = Option<&'a mut MaybeUninit<Option<Box<T>>>>;

/// A handle, or the status and the message.
pub fn made<T>(
    call: impl FnOnce(Place<'_, T>, ErrorPlace<'_>) -> OxportStatus,
) -> Result<Box<T>, (OxportStatus, String)> {
    let mut place = MaybeUninit::uninit();
    let ended = status(|error| call(Some(&mut place), error));
    // SAFETY: every call writes the place.
    let place = unsafe { place.assume_init() };
    assert_eq!(place.is_some(), ended.0 == OxportStatus::Ok);
    place.ok_or(ended)
}

pub fn load_with(path: &Path, options: &[(&str, &str)]) -> Result<Box<OxportProgram>, (OxportStatus, String)> {
    let mut all = oxport_options_new();
    for (name, value) in options {
        let (name, value) = (CString::new(*name).unwrap(), CString::new(*value).unwrap());
        // SAFETY: both are texts.
        let set =
            status(|error| unsafe { oxport_options_set(all.as_deref_mut(), name.as_ptr(), value.as_ptr(), error) });
        if set.0 != OxportStatus::Ok {
            return Err(set);
        }
    }
    let path = CString::new(path.display().to_string()).expect("a path without NUL");
    // SAFETY: the path is a text.
    let loaded = made(|program, error| unsafe { oxport_program_load(path.as_ptr(), all.as_deref(), program, error) });
    oxport_options_free(all);
    loaded
}

pub fn load(name: &str) -> Box<OxportProgram> {
    load_with(&fixture(name).join("program.pt2"), &[]).expect("a fixture can be loaded")
}

pub fn floats(x: &[f32], sizes: &[i64]) -> OxportValue {
    oxport_tensor(x.as_ptr().cast(), size_of_val(x), OxportDtype::Float32 as i32, sizes.len(), sizes.as_ptr())
}

pub fn call(program: &OxportProgram, inputs: &[OxportValue]) -> Result<Box<OxportResults>, (OxportStatus, String)> {
    // SAFETY: callers pass memory that lives until the call has ended, or what is refused before it is read.
    made(|results, error| unsafe { oxport_program_run(Some(program), inputs.as_ptr(), inputs.len(), results, error) })
}

pub fn step(module: &OxportModule, inputs: &[OxportValue]) -> Result<Box<OxportResults>, (OxportStatus, String)> {
    // SAFETY: as in `call`.
    made(|results, error| unsafe { oxport_module_run(Some(module), inputs.as_ptr(), inputs.len(), results, error) })
}

/// The elements of a float32 result, in row-major order.
pub fn elements(results: &OxportResults, key: &str) -> Vec<f32> {
    let key = CString::new(key).unwrap();
    // SAFETY: the key is a text.
    let value = unsafe { oxport_results_find(Some(results), key.as_ptr()) }.expect("a result");
    assert_eq!((value.kind, value.tensor.dtype), (OxportKind::Tensor as i32, OxportDtype::Float32 as i32));
    // SAFETY: the value is the library's.
    assert!(unsafe { oxport_is_contiguous(Some(value)) });
    // SAFETY: the library says that there are so many bytes.
    unsafe { std::slice::from_raw_parts(value.tensor.data.cast::<f32>(), value.tensor.bytes / 4) }.to_vec()
}
