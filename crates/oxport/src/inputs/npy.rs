//! NumPy's array files: `.npy`, and `.npz`, which is a ZIP file of them.
//!
//! Invariants: an array has the dtype, sizes and strides of the file; other byte orders are converted; an object array,
//! which is a pickle, is refused.

use crate::{Error, Result, Tensor};
use oxport_pt2::Limits;
use oxport_pt2::zip::Directory;
use oxport_tensor::{DType, Layout, Storage};

/// Reads an array; errors name it `name`.
///
/// # Errors
/// It is damaged, or has a dtype that PyTorch has not.
pub fn read_npy(name: &str, bytes: &[u8]) -> Result<Tensor> {
    let fail = |message: &str| Error::data(format!("{name}: {message}"));
    let damaged = || fail("the header of the NumPy array is damaged");
    let (length, start) = match bytes.get(6..) {
        Some([1, _, a, b, ..]) => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        Some([2 | 3, _, a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        _ => return Err(damaged()),
    };
    let end = length.checked_add(start).filter(|end| *end <= bytes.len()).ok_or_else(damaged)?;
    let header = std::str::from_utf8(&bytes[start..end]).map_err(|_| damaged())?;
    let field = |key: &str| {
        let (_, rest) = header.split_once(&format!("'{key}':"))?;
        Some(rest.trim_start())
    };
    let descr = field("descr").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next());
    let descr = descr.ok_or_else(|| fail("expected an array of numbers, got a structured array"))?;
    let is_fortran = field("fortran_order").is_some_and(|rest| rest.starts_with("True"));
    let shape = field("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or_else(damaged)?;
    let sizes =
        shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.trim_end_matches('L').parse::<i64>());
    let sizes: Vec<i64> = sizes.collect::<Result<_, _>>().map_err(|_| damaged())?;
    let (dtype, is_big_endian) = dtype(descr).ok_or_else(|| {
        fail(&format!("expected an array of bools, integers, floats or complex numbers, got {descr:?}"))
    })?;
    let data = &bytes[end..];
    let count = oxport_tensor::layout::checked_numel(&sizes)?;
    let needed = count.checked_mul(dtype.size()).filter(|n| *n <= data.len());
    let Some(needed) = needed else {
        let found = data.len();
        return Err(fail(&format!("sizes {sizes:?} of {} do not fit the {found} bytes of the file", dtype.name())));
    };
    let mut data = data[..needed].to_vec();
    if is_big_endian {
        let word = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
        data.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    let mut layout = Layout::contiguous(&sizes)?;
    if is_fortran {
        let strides: Vec<i64> = sizes
            .iter()
            .scan(1i64, |stride, n| {
                let own = *stride;
                *stride = stride.saturating_mul((*n).max(1));
                Some(own)
            })
            .collect();
        layout = Layout::new(&sizes, &strides, 0)?;
    }
    if dtype == DType::Bool {
        data.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(Tensor::from_storage(Storage::copy_of(&data)?, dtype, layout)?)
}

/// Reads all arrays of an `.npz` file by name.
///
/// # Errors
/// As [`read_npy`], or the ZIP file is damaged.
pub fn read_npz(name: &str, bytes: &[u8], limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    let failed = |e: oxport_pt2::Error| Error::of_values(name, e);
    let directory = Directory::read(bytes, limits).map_err(failed)?;
    let one = |(entry, data): (&String, &oxport_pt2::zip::Entry)| {
        let array = data.read(entry, bytes).map_err(failed)?;
        let key = entry.strip_suffix(".npy").unwrap_or(entry);
        Ok((key.to_string(), read_npy(&format!("{name}: {entry}"), &array)?))
    };
    directory.entries.iter().map(one).collect()
}

/// The dtype of NumPy's `descr`, and whether its bytes are in the other order.
fn dtype(descr: &str) -> Option<(DType, bool)> {
    let (order, name) = descr.split_at_checked(1)?;
    let dtype = match name {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::C64,
        "c16" => DType::C128,
        _ => return None,
    };
    matches!(order, "<" | ">" | "|" | "=").then_some((dtype, order == ">"))
}
