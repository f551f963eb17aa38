//! The C structs: values that a caller passes and the library shows, and descriptions.
//!
//! Law: numbers that C writes into these structs are checked before they are taken for a dtype or a kind.

#![forbid(unsafe_code)]

use crate::status::{Failure, OxportStatus, Result};
use oxport::{DType, Tensor, Value};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

/// What a value is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OxportKind {
    /// Python's None.
    None = 0,
    /// A tensor, in `tensor`.
    Tensor = 1,
    /// An int, in `integer`.
    Int = 2,
    /// A float, in `real`.
    Float = 3,
    /// A bool, in `integer`: 0 or 1.
    Bool = 4,
    /// A str, in `text`.
    Str = 5,
    /// A complex number, in `real` and `imaginary`.
    Complex = 6,
    /// Of inputs and outputs as described: something that this interface does not pass.
    Other = 7,
}

/// The type of elements, with the numbers of the file format of torch.export.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OxportDtype {
    /// torch.uint8
    Uint8 = 1,
    /// torch.int8
    Int8 = 2,
    /// torch.int16
    Int16 = 3,
    /// torch.int32
    Int32 = 4,
    /// torch.int64
    Int64 = 5,
    /// torch.float16
    Float16 = 6,
    /// torch.float32
    Float32 = 7,
    /// torch.float64
    Float64 = 8,
    /// torch.complex32
    Complex32 = 9,
    /// torch.complex64
    Complex64 = 10,
    /// torch.complex128
    Complex128 = 11,
    /// torch.bool: bytes that are 0 or 1
    Bool = 12,
    /// torch.bfloat16
    Bfloat16 = 13,
    /// torch.uint16
    Uint16 = 28,
    /// torch.float8_e4m3fn
    Float8E4m3fn = 29,
    /// torch.float8_e5m2
    Float8E5m2 = 30,
    /// torch.float8_e4m3fnuz
    Float8E4m3fnuz = 31,
    /// torch.float8_e5m2fnuz
    Float8E5m2fnuz = 32,
    /// torch.float8_e8m0fnu
    Float8E8m0fnu = 33,
    /// torch.uint32
    Uint32 = 34,
    /// torch.uint64
    Uint64 = 35,
}

/// Elements in memory. As an input: memory of the caller, which the library reads in place during the call, and only
/// then. Of a result: memory of the library, which lives as long as the OxportResults.
///
/// The element at index (i, j, …) is at `data + size of an element * (offset + i * strides[0] + j * strides[1] + …)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OxportTensor {
    /// The start of the memory. An input that is not aligned for its dtype (at most 8 bytes) is copied.
    pub data: *const c_void,
    /// The bytes from `data` on that may be read. What sizes and strides reach must be within.
    pub bytes: usize,
    /// The first element, in elements from `data` on: not 0 only with negative strides, or in a larger array.
    pub offset: usize,
    /// An OxportDtype.
    pub dtype: i32,
    /// The number of dimensions, at most 64.
    pub rank: usize,
    /// `rank` sizes; may be NULL if `rank` is 0.
    pub sizes: *const i64,
    /// `rank` strides in elements, of any sign. Of an input NULL stands for row-major order.
    pub strides: *const i64,
}

/// Memory of the caller that a result is written to, in row-major order. Its dtype and sizes must be those of the
/// result; an int, float or bool is written as a tensor without dimensions of int64, float64 or bool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OxportBuffer {
    /// The start of the memory; NULL if the result is not wanted, and then nothing else is read.
    pub data: *mut c_void,
    /// The bytes from `data` on that may be written.
    pub bytes: usize,
    /// An OxportDtype.
    pub dtype: i32,
    /// The number of dimensions.
    pub rank: usize,
    /// `rank` sizes; may be NULL if `rank` is 0.
    pub sizes: *const i64,
}

/// A value: an input or a result of a program. Make inputs with `oxport_tensor`, `oxport_int` and their like.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OxportValue {
    /// An OxportKind, which says which of the other members counts.
    pub kind: i32,
    /// A tensor.
    pub tensor: OxportTensor,
    /// An int or bool.
    pub integer: i64,
    /// A float, or the real part of a complex number.
    pub real: f64,
    /// The imaginary part of a complex number.
    pub imaginary: f64,
    /// A text in UTF-8 that ends with a NUL byte.
    pub text: *const c_char,
}

/// What an input, output or buffer is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OxportRole {
    /// An input of a call.
    Input = 0,
    /// An output of a call.
    Output = 1,
    /// A buffer; as a result, its new value.
    Buffer = 2,
    /// The new value of an input that the program writes to, as PyTorch does in place.
    MutatedInput = 3,
    /// A buffer that no call changes.
    ConstantBuffer = 4,
}

/// An input, an output or a buffer of a program. It lives as long as the OxportProgram that it was asked of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OxportPort {
    /// `in.0`, `out.0`, `mut.NAME` of a buffer, `inmut.0` of the new value of input 0.
    pub key: *const c_char,
    /// The place in the caller's Python code: `x`, `batch['ids']`, `[0]`; the name of a buffer. May be empty.
    pub path: *const c_char,
    /// An OxportRole.
    pub role: i32,
    /// An OxportKind.
    pub kind: i32,
    /// The OxportDtype of a tensor, else 0.
    pub dtype: i32,
    /// The number of dimensions of a tensor, else 0.
    pub rank: usize,
    /// `rank` sizes of a tensor: -1 for one that may differ from call to call.
    pub sizes: *const i64,
    /// `rank` sizes as text: `3`, `s77`, `2*s77`.
    pub size_texts: *const *const c_char,
    /// The device of a tensor at export; it is computed on the CPU wherever it was. NULL for others.
    pub device: *const c_char,
    /// The value of an input that must be this constant, as text; NULL for others.
    pub constant: *const c_char,
}

impl OxportTensor {
    /// No memory, and no dimensions.
    pub(crate) const NONE: OxportTensor =
        OxportTensor { data: null(), bytes: 0, offset: 0, dtype: 0, rank: 0, sizes: null(), strides: null() };
}

impl OxportValue {
    /// None.
    pub(crate) const NONE: OxportValue = OxportValue {
        kind: OxportKind::None as i32,
        tensor: OxportTensor::NONE,
        integer: 0,
        real: 0.0,
        imaginary: 0.0,
        text: null(),
    };
    /// A value of this kind, with nothing in it yet.
    pub(crate) const fn of(kind: OxportKind) -> OxportValue {
        OxportValue { kind: kind as i32, ..OxportValue::NONE }
    }
}

/// The dtype of a number that C has given.
pub(crate) fn dtype(code: i32) -> Result<DType> {
    let known = u8::try_from(code).ok().and_then(DType::from_code);
    known.ok_or_else(|| Failure::usage(format!("expected an OxportDtype, got {code}")))
}

/// What C sees of a value, which must not be changed or moved meanwhile. Of a str, `text` is its copy for C.
pub(crate) fn view(value: &Value, text: Option<&CStr>) -> Result<OxportValue> {
    let integer = |kind, integer| OxportValue { integer, ..OxportValue::of(kind) };
    Ok(match value {
        Value::None => OxportValue::NONE,
        Value::Tensor(tensor) => OxportValue { tensor: elements(tensor)?, ..OxportValue::of(OxportKind::Tensor) },
        Value::Int(n) => integer(OxportKind::Int, *n),
        Value::Bool(b) => integer(OxportKind::Bool, i64::from(*b)),
        Value::Float(x) => OxportValue { real: *x, ..OxportValue::of(OxportKind::Float) },
        Value::Complex(c) => OxportValue { real: c.re, imaginary: c.im, ..OxportValue::of(OxportKind::Complex) },
        Value::Str(_) => OxportValue { text: text.map_or(null(), CStr::as_ptr), ..OxportValue::of(OxportKind::Str) },
        Value::List(_) | Value::Token => {
            let message = format!("expected a tensor or a number as a result, got a {}", value.kind());
            return Err(Failure::new(OxportStatus::Unsupported, message));
        }
    })
}

fn elements(tensor: &Tensor) -> Result<OxportTensor> {
    let size = tensor.dtype().size();
    let (all, extent) = (tensor.storage().bytes(), tensor.layout().extent()?);
    // Strides of results are not negative, so that the first element is the lowest.
    let reached = extent.and_then(|(low, high)| all.get(low * size..(high + 1) * size));
    let reached = reached.unwrap_or_default();
    Ok(OxportTensor {
        data: reached.as_ptr().cast(),
        bytes: reached.len(),
        offset: 0,
        dtype: i32::from(tensor.dtype().code()),
        rank: tensor.rank(),
        sizes: tensor.sizes().as_ptr(),
        strides: tensor.strides().as_ptr(),
    })
}
