//! The memory of callers: inputs that are read in place, and buffers that results are written to.
//!
//! Laws: what sizes, strides and an offset reach is checked against the bytes that the caller says there are, before
//! anything is read; a buffer is written only if its dtype, sizes and bytes fit.

use crate::border::{array, text};
use crate::loan::Loan;
use crate::status::{Failure, Result};
use crate::value::{OxportBuffer, OxportKind, OxportTensor, OxportValue, dtype};
use oxport::{Layout, Tensor, Value};

/// The most dimensions of a tensor.
const MAX_RANK: usize = 64;

/// The values of a caller. Tensors are not copied, but read in place until the loan ends.
///
/// # Safety
/// The pointers of every value are as `include/oxport.h` says, until the loan has ended.
pub(super) unsafe fn borrow(inputs: &[OxportValue], loan: &Loan) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(inputs.len());
    for (i, input) in inputs.iter().enumerate() {
        // SAFETY: by the caller's promise.
        values.push(unsafe { value(input, loan) }.map_err(|e| e.of(format_args!("input {i}")))?);
    }
    Ok(values)
}

/// One value of a caller.
///
/// # Safety
/// As [`borrow`].
pub(super) unsafe fn value(value: &OxportValue, loan: &Loan) -> Result<Value> {
    const NONE: i32 = OxportKind::None as i32;
    const TENSOR: i32 = OxportKind::Tensor as i32;
    const INT: i32 = OxportKind::Int as i32;
    const FLOAT: i32 = OxportKind::Float as i32;
    const BOOL: i32 = OxportKind::Bool as i32;
    const STR: i32 = OxportKind::Str as i32;
    const COMPLEX: i32 = OxportKind::Complex as i32;
    Ok(match value.kind {
        NONE => Value::None,
        // SAFETY: by the caller's promise.
        TENSOR => Value::Tensor(unsafe { tensor(&value.tensor, loan) }?),
        INT => Value::Int(value.integer),
        FLOAT => Value::Float(value.real),
        BOOL => match value.integer {
            0 | 1 => Value::Bool(value.integer == 1),
            other => return Err(Failure::usage(format!("expected 0 or 1 for a bool, got {other}"))),
        },
        // SAFETY: by the caller's promise.
        STR => Value::Str(unsafe { text("str", value.text) }?.into()),
        COMPLEX => Value::Complex(oxport::tensor::Complex::new(value.real, value.imaginary)),
        other => return Err(Failure::usage(format!("expected an OxportKind of an input, got {other}"))),
    })
}

/// A tensor over memory of a caller.
///
/// # Safety
/// As [`borrow`].
unsafe fn tensor(tensor: &OxportTensor, loan: &Loan) -> Result<Tensor> {
    let dtype = dtype(tensor.dtype)?;
    // SAFETY: by the caller's promise, and the rank is bounded.
    let sizes = unsafe { dimensions("sizes", tensor.sizes, tensor.rank) }?;
    let strides = match tensor.strides.is_null() {
        true => Layout::contiguous(sizes)?.strides,
        // SAFETY: as above.
        false => unsafe { dimensions("strides", tensor.strides, tensor.rank) }?.into(),
    };
    let layout = Layout::new(sizes, &strides, tensor.offset)?;
    let last = layout.extent()?.map(|(_, last)| last);
    let needed = last.map_or(Some(0), |last| last.checked_add(1)?.checked_mul(dtype.size()));
    if needed.is_none_or(|needed| needed > tensor.bytes) {
        let needed = needed.map_or("more bytes than memory has".to_string(), |needed| format!("{needed} bytes"));
        let (offset, got) = (tensor.offset, tensor.bytes);
        let strides = &strides[..];
        let layout = format!("{dtype}, sizes {sizes:?}, strides {strides:?} and offset {offset}");
        return Err(Failure::usage(format!("expected {needed} for {layout}, got {got}")));
    }
    if last.is_some() && tensor.data.is_null() {
        return Err(Failure::usage(format!("expected {} bytes of data, got NULL", tensor.bytes)));
    }
    let first = tensor.data.cast::<u8>().wrapping_add(tensor.offset.saturating_mul(dtype.size()));
    // SAFETY: all that the layout reaches lies within `bytes` from `data` on, which the caller promises to be there
    // until the loan ends; and it ends before the exported function returns.
    Ok(unsafe { Tensor::borrowed(first, dtype, sizes, &strides, loan.lender()) }?)
}

/// Sizes or strides.
///
/// # Safety
/// `start` is NULL, or the start of `rank` numbers if these are not too many.
unsafe fn dimensions<'a>(what: &str, start: *const i64, rank: usize) -> Result<&'a [i64]> {
    if rank > MAX_RANK {
        return Err(Failure::usage(format!("expected at most {MAX_RANK} dimensions, got {rank}")));
    }
    // SAFETY: by the caller's promise.
    unsafe { array(what, start, rank) }
}

/// Results in row-major order, each with the buffer that it goes to.
pub(super) struct Copies(Vec<(Tensor, *mut u8)>);

impl Copies {
    /// Checks that every result fits its buffer; nothing is written yet.
    ///
    /// # Safety
    /// The sizes of every buffer are as `include/oxport.h` says.
    pub(super) unsafe fn check(results: &[(String, Value)], buffers: &[OxportBuffer]) -> Result<Copies> {
        if buffers.len() > results.len() {
            let message = format!("expected at most {} buffers, got {}", results.len(), buffers.len());
            return Err(Failure::usage(message));
        }
        let mut copies = Vec::with_capacity(buffers.len());
        for ((key, value), buffer) in results.iter().zip(buffers).filter(|(_, buffer)| !buffer.data.is_null()) {
            // SAFETY: by the caller's promise.
            copies.push(unsafe { fit(value, buffer) }.map_err(|e| e.of(format_args!("result `{key}`")))?);
        }
        Ok(Copies(copies))
    }

    /// Writes all results.
    ///
    /// # Safety
    /// Every buffer has as many bytes as it says, and nobody else reads or writes them meanwhile.
    pub(super) unsafe fn write(self) {
        for (tensor, to) in self.0 {
            let from = tensor.bytes().expect("law: what is written is contiguous");
            // SAFETY: `fit` has compared the lengths; the rest is the caller's promise. The ranges may overlap: a
            // buffer may be memory that the caller also lent as an input.
            unsafe { std::ptr::copy(from.as_ptr(), to, from.len()) };
        }
    }
}

/// A result as it is written to this buffer.
///
/// # Safety
/// The sizes of the buffer are as `include/oxport.h` says.
unsafe fn fit(value: &Value, buffer: &OxportBuffer) -> Result<(Tensor, *mut u8)> {
    let tensor = match value {
        Value::Tensor(tensor) => tensor.clone(),
        Value::Int(n) => Tensor::scalar(*n),
        Value::Float(x) => Tensor::scalar(*x),
        Value::Bool(b) => Tensor::scalar(*b),
        other => return Err(Failure::usage(format!("a {} cannot be written to a buffer", other.kind()))),
    };
    let dtype = dtype(buffer.dtype)?;
    // SAFETY: by the caller's promise.
    let sizes = unsafe { dimensions("sizes", buffer.sizes, buffer.rank) }?;
    if (dtype, sizes) != (tensor.dtype(), tensor.sizes()) {
        let (is, of) = (tensor.dtype().short(), tensor.sizes());
        return Err(Failure::usage(format!("expected a buffer of {is}{of:?}, got {}{sizes:?}", dtype.short())));
    }
    let tensor = tensor.contiguous()?;
    let (needed, bytes) = (tensor.bytes().map_or(0, <[u8]>::len), buffer.bytes);
    match needed <= bytes {
        true => Ok((tensor, buffer.data.cast())),
        false => Err(Failure::usage(format!("expected a buffer of {needed} bytes, got {bytes}"))),
    }
}
