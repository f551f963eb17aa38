//! Functions that make values, and those of dtypes.

#![allow(unsafe_code)]

use crate::border::{answered, array};
use crate::error::text;
use crate::value::dtype;
use crate::{OxportKind, OxportTensor, OxportValue};
use oxport::{DType, Layout};
use std::ffi::{CString, c_char, c_void};
use std::ptr::null;
use std::sync::OnceLock;

/// A tensor input in row-major order: `bytes` bytes from `data` on, an OxportDtype, and `rank` sizes. Nothing is copied
/// or checked before the value is used. Set `tensor.strides` and `tensor.offset` for other orders.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_tensor(
    data: *const c_void,
    bytes: usize,
    dtype: i32,
    rank: usize,
    sizes: *const i64,
) -> OxportValue {
    let tensor = OxportTensor { data, bytes, offset: 0, dtype, rank, sizes, strides: null() };
    OxportValue { tensor, ..OxportValue::of(OxportKind::Tensor) }
}

/// An int input.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_int(value: i64) -> OxportValue {
    OxportValue { integer: value, ..OxportValue::of(OxportKind::Int) }
}

/// A float input.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_float(value: f64) -> OxportValue {
    OxportValue { real: value, ..OxportValue::of(OxportKind::Float) }
}

/// A bool input: false for 0, else true.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_bool(value: i32) -> OxportValue {
    OxportValue { integer: i64::from(value != 0), ..OxportValue::of(OxportKind::Bool) }
}

/// A str input, in UTF-8 with a NUL byte at its end. The text is not copied before the call.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_str(value: *const c_char) -> OxportValue {
    OxportValue { text: value, ..OxportValue::of(OxportKind::Str) }
}

/// Python's None.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_none() -> OxportValue {
    OxportValue::NONE
}

/// PyTorch's name of an OxportDtype: "float32"; NULL for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_dtype_name(dtype: i32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    answered(null(), || {
        let names = NAMES.get_or_init(|| DType::ALL.iter().map(|dtype| text(dtype.name())).collect());
        let found = DType::ALL.iter().position(|known| i32::from(known.code()) == dtype);
        found.and_then(|i| names.get(i)).map_or(null(), |name| name.as_ptr())
    })
}

/// The bytes of an element of an OxportDtype; 0 for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_dtype_size(dtype: i32) -> usize {
    answered(0, || crate::value::dtype(dtype).map_or(0, DType::size))
}

/// Whether a value is a tensor in row-major order, so that its elements lie one after another from `tensor.data` on.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_is_contiguous(value: Option<&OxportValue>) -> bool {
    answered(false, || {
        let Some(value) = value.filter(|value| value.kind == OxportKind::Tensor as i32) else { return false };
        let tensor = &value.tensor;
        if tensor.strides.is_null() || dtype(tensor.dtype).is_err() {
            return tensor.strides.is_null();
        }
        // SAFETY: the caller passes as many sizes and strides, by the contract of the header.
        let both =
            unsafe { (array("sizes", tensor.sizes, tensor.rank), array("strides", tensor.strides, tensor.rank)) };
        let (Ok(sizes), Ok(strides)) = both else { return false };
        Layout { sizes: sizes.into(), strides: strides.into(), offset: 0 }.is_contiguous()
    })
}
