//! Columns to tensors, and tensors to columns.
//!
//! Invariants: elements are copied once, and once more where they are converted or several columns lie next to one
//! another; the bits of a column that is not converted are those of its tensor, and back.

use crate::error::{Error, Remedy, Result};
use crate::fill::{Fill, is_exact};
use crate::rows::{Dim, Leaves, Rows, Slot, cell, follow, leaf};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, PrimitiveArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use oxport_tensor::{DType, Element, Scalar, Tensor, dispatch};
use std::sync::Arc;

/// Pairs of Arrow types and dtypes whose elements have the same bits; bools are apart.
macro_rules! primitives {
    ($each:ident) => {
        $each! {
            Int8 Int8Type I8, Int16 Int16Type I16, Int32 Int32Type I32, Int64 Int64Type I64,
            UInt8 UInt8Type U8, UInt16 UInt16Type U16, UInt32 UInt32Type U32, UInt64 UInt64Type U64,
            Float16 Float16Type F16, Float32 Float32Type F32, Float64 Float64Type F64
        }
    };
}

/// The dtype with the values of an Arrow type, if there is one.
pub fn dtype_of(of: &DataType) -> Option<DType> {
    macro_rules! table {
        ($($arrow:ident $native:ident $dtype:ident),*) => {
            match of {
                DataType::Boolean => Some(DType::Bool),
                $(DataType::$arrow => Some(DType::$dtype),)*
                _ => None,
            }
        };
    }
    primitives!(table)
}

/// What a column must become.
#[derive(Clone, Debug)]
pub struct Target {
    /// The element type.
    pub dtype: DType,
    /// The sizes behind the batch dimension.
    pub dims: Vec<Dim>,
}

/// Checks that columns of these types can become one tensor: one of as many dimensions, or several next to one another.
///
/// # Errors
/// What was expected, and what the column has.
pub fn check(columns: &[(&str, &DataType)], target: &Target, fill: &Fill) -> Result<()> {
    let own = target.dims.len();
    for (name, of) in columns {
        let (element, depth) = leaf(of);
        let wrong = |expected: String, remedy| {
            Err(Error::Request(format!("column `{name}`: expected {expected}, got {of}"), remedy))
        };
        let want = target.dtype.name();
        let Some(dtype) = dtype_of(element) else { return wrong(format!("numbers for {want}"), None) };
        if !fill.cast && !is_exact(dtype, target.dtype) {
            return wrong(format!("values that are all values of {want}"), Some(Remedy::Cast));
        }
        let nested = |n: usize| match n {
            0 => "numbers".to_string(),
            1 => "lists of numbers".to_string(),
            n => format!("lists of numbers, {n} deep"),
        };
        let next_to = is_stacked(columns, target);
        if depth != own - usize::from(next_to) {
            return wrong(nested(own), None);
        }
    }
    match target.dims.first() {
        Some(Dim::Fixed(n)) if is_stacked(columns, target) && *n != columns.len() => {
            Err(Error::Request(format!("expected {n} columns, got {}", columns.len()), Some(Remedy::Bind)))
        }
        None if columns.len() != 1 => {
            Err(Error::Request(format!("expected one column, got {}", columns.len()), Some(Remedy::Bind)))
        }
        _ => Ok(()),
    }
}

/// Whether each column is an index of dimension 1: several are, and so is one that lacks a dimension of size 1.
fn is_stacked(columns: &[(&str, &DataType)], target: &Target) -> bool {
    match (columns, &target.dims[..]) {
        (_, []) => false,
        ([(_, of)], [first, rest @ ..]) => {
            leaf(of).1 == rest.len() && (rest.is_empty() || matches!(first, Dim::Fixed(1)))
        }
        _ => true,
    }
}

/// The tensor of columns that [`check`] accepts.
///
/// # Errors
/// A null, a list of another length, or a value that the dtype does not have.
pub fn tensor(columns: &[(&str, &ArrayRef)], target: &Target, fill: &Fill) -> Result<Tensor> {
    let types: Vec<(&str, &DataType)> = columns.iter().map(|(name, array)| (*name, array.data_type())).collect();
    let next_to = is_stacked(&types, target);
    let dims = &target.dims[usize::from(next_to)..];
    let parts: Vec<(Vec<usize>, Tensor)> = columns
        .iter()
        .map(|(name, array)| {
            let leaves = follow(name, array, dims, fill)?;
            let flat = elements(name, &leaves, target.dtype, fill)?;
            Ok((leaves.sizes, flat))
        })
        .collect::<Result<_>>()?;
    let rows = columns.first().map_or(0, |(_, array)| array.len());
    let (sizes, _) = &parts[0];
    if let Some((i, (other, _))) = parts.iter().enumerate().find(|(_, (other, _))| other != sizes) {
        let (name, first) = (columns[i].0, columns[0].0);
        return Err(Error::Data(format!("column `{name}`: expected sizes {sizes:?} as of `{first}`, got {other:?}")));
    }
    let inner = if next_to { vec![parts.len()] } else { Vec::new() };
    let sizes: Vec<i64> = [rows].iter().chain(&inner).chain(sizes).map(|&n| n as i64).collect();
    let run = |e: oxport_tensor::Error| Error::Run(oxport_ir::Error::from(e).into());
    if let [(_, flat)] = &parts[..] {
        return flat.reshape(&sizes).map_err(run);
    }
    let parts: Vec<&Tensor> = parts.iter().map(|(_, flat)| flat).collect();
    dispatch!(all target.dtype, |T| interleaved::<T>(&parts, rows, &sizes)).map_err(run)
}

/// Row by row, the elements of each part.
fn interleaved<T: Element>(parts: &[&Tensor], rows: usize, sizes: &[i64]) -> oxport_tensor::Result<Tensor> {
    let slices: Vec<&[T]> = parts.iter().filter_map(|part| part.as_slice::<T>()).collect();
    let per_row = slices.first().map_or(0, |slice| slice.len() / rows.max(1));
    let mut all = vec![T::default(); slices.len() * per_row * rows];
    for (k, slice) in slices.iter().enumerate() {
        let to = all.chunks_exact_mut((slices.len() * per_row).max(1));
        if per_row == 1 {
            to.zip(*slice).for_each(|(row, x)| row[k] = *x);
        } else {
            to.zip(slice.chunks_exact(per_row.max(1)))
                .for_each(|(row, x)| row[k * per_row..(k + 1) * per_row].copy_from_slice(x));
        }
    }
    Tensor::from_vec(sizes, all)
}

/// The elements of a column as a flat tensor of that dtype.
fn elements(column: &str, leaves: &Leaves, dtype: DType, fill: &Fill) -> Result<Tensor> {
    let per_row = leaves.sizes.iter().product();
    macro_rules! table {
        ($($arrow:ident $native:ident $dtype:ident),*) => {
            match leaves.array.data_type() {
                DataType::Boolean => {
                    let bits = leaves.array.as_boolean().values();
                    let all: Vec<bool> = bits.iter().collect();
                    converted(column, &all, &leaves.rows, per_row, dtype, fill)
                }
                $(DataType::$arrow => {
                    let values = leaves.array.as_primitive::<$native>().values();
                    converted(column, values, &leaves.rows, per_row, dtype, fill)
                })*
                DataType::Dictionary(..) => {
                    let plain = plain(&leaves.array)?;
                    let rows = match &leaves.rows {
                        Rows::Range(range) => Rows::Range(range.clone()),
                        Rows::Slots(slots) => Rows::Slots(slots.clone()),
                    };
                    elements(column, &Leaves { array: plain, rows, sizes: leaves.sizes.clone() }, dtype, fill)
                }
                other => Err(Error::Data(format!("column `{column}`: expected numbers, got {other}"))),
            }
        };
    }
    primitives!(table)
}

/// The values of an array that holds keys; other arrays as they are.
pub fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let keyed = array.as_any_dictionary();
            arrow_select::take::take(keyed.values(), keyed.keys(), None).map_err(|e| Error::Data(e.to_string()))
        }
        _ => Ok(array.clone()),
    }
}

fn converted<S: Element>(
    column: &str,
    values: &[S],
    rows: &Rows,
    per_row: usize,
    dtype: DType,
    fill: &Fill,
) -> Result<Tensor> {
    let run = |e: oxport_tensor::Error| Error::Run(oxport_ir::Error::from(e).into());
    let flat = match rows {
        Rows::Range(range) => Tensor::from_slice(&[range.len() as i64], &values[range.clone()]),
        Rows::Slots(slots) => {
            let of = |slot: &Slot| if let Slot::At(at) = slot { values[*at] } else { S::default() };
            Tensor::from_vec(&[slots.len() as i64], slots.iter().map(of).collect())
        }
    };
    let flat = flat.map_err(run)?;
    let cast = if flat.dtype() == dtype { flat.clone() } else { flat.to_dtype(dtype).map_err(run)? };
    if !is_exact(flat.dtype(), dtype) && !dtype.is_float() {
        only_in_range(column, &flat, &cast, per_row)?;
    }
    match rows {
        Rows::Range(_) => Ok(cast),
        Rows::Slots(slots) => dispatch!(real dtype, |T| filled::<T>(&cast, slots, fill)).map_err(run),
    }
}

/// An error for the first value that an integer dtype does not have.
fn only_in_range(column: &str, from: &Tensor, to: &Tensor, per_row: usize) -> Result<()> {
    let run = |e: oxport_tensor::Error| Error::Run(oxport_ir::Error::from(e).into());
    let numbers = |t: &Tensor| -> oxport_tensor::Result<Vec<Wide>> { dispatch!(real t.dtype(), |T| wide::<T>(t)) };
    let (before, after) = (numbers(from).map_err(run)?, numbers(to).map_err(run)?);
    match before.iter().zip(&after).position(|(a, b)| a.0 != b.0 || a.1 != b.1) {
        Some(at) => {
            let (got, want) = (before[at], to.dtype().name());
            let got = if got.1 == 0.0 { got.0.to_string() } else { (got.0 as f64 + got.1).to_string() };
            Err(cell(column, at, per_row, format!("expected a value of {want}, got {got}"), None))
        }
        None => Ok(()),
    }
}

/// A number as its whole part and its fraction; not a number, and what is out of range, have no fraction that equals
/// itself.
#[derive(Clone, Copy)]
struct Wide(i128, f64);

fn wide<T: Element>(t: &Tensor) -> oxport_tensor::Result<Vec<Wide>> {
    let one = |x: T| match x.to_wide() {
        oxport_tensor::Wide::Bool(x) => Wide(i128::from(x), 0.0),
        oxport_tensor::Wide::Int(x) => Wide(i128::from(x), 0.0),
        oxport_tensor::Wide::UInt(x) => Wide(i128::from(x), 0.0),
        oxport_tensor::Wide::Single(x) => Wide(x.trunc() as i128, f64::from(x - x.trunc())),
        oxport_tensor::Wide::Double(x) => Wide(x.trunc() as i128, x - x.trunc()),
        _ => Wide(0, f64::NAN),
    };
    Ok(t.to_vec::<T>()?.into_iter().map(one).collect())
}

fn filled<T: Element>(t: &Tensor, slots: &[Slot], fill: &Fill) -> oxport_tensor::Result<Tensor> {
    let value = |value: Option<Scalar>| value.map_or(T::default(), |value| value.to::<T>());
    let (null, pad) = (value(fill.null), value(fill.pad));
    let mut all = t.to_vec::<T>()?;
    for (x, slot) in all.iter_mut().zip(slots) {
        match slot {
            Slot::At(_) => {}
            Slot::Null => *x = null,
            Slot::Pad => *x = pad,
        }
    }
    Tensor::from_vec(t.sizes(), all)
}

/// The Arrow type of a tensor's rows. What Arrow lacks becomes a float that has all of its values.
///
/// # Errors
/// The dtype is complex.
pub fn type_of(dtype: DType, dims: &[Dim]) -> Result<DataType> {
    macro_rules! table {
        ($($arrow:ident $native:ident $dtype:ident),*) => {
            match dtype {
                DType::Bool => DataType::Boolean,
                $(DType::$dtype => DataType::$arrow,)*
                _ if dtype.is_float() => DataType::Float32,
                _ => return Err(Error::Unsupported(format!("columns of {} are not supported", dtype.name()))),
            }
        };
    }
    let element = primitives!(table);
    dims.iter().rev().try_fold(element, |of, dim| {
        let item: FieldRef = Arc::new(Field::new_list_field(of, true));
        match dim {
            Dim::Any => Ok(DataType::List(item)),
            Dim::Fixed(n) => match i32::try_from(*n) {
                Ok(n) => Ok(DataType::FixedSizeList(item, n)),
                Err(_) => Err(Error::Unsupported(format!("lists of {n} elements are not supported"))),
            },
        }
    })
}

/// The column of a tensor's first rows, of that type.
///
/// # Errors
/// The sizes are not those of the type.
pub fn column(t: &Tensor, rows: usize, of: &DataType) -> Result<ArrayRef> {
    let run = |e: oxport_tensor::Error| Error::Run(oxport_ir::Error::from(e).into());
    let mut sizes: Vec<usize> = t.sizes().iter().map(|&n| n.max(0) as usize).collect();
    let (element, depth) = leaf(of);
    if depth == 0 && sizes.len() == 2 && sizes[1] == 1 {
        sizes.pop();
    }
    if sizes.len() != depth + 1 || sizes[0] < rows {
        return Err(Error::Data(format!("expected {rows} rows of {of}, got a tensor of sizes {sizes:?}")));
    }
    let dtype = dtype_of(element).expect("law: `type_of` gives types that have a dtype");
    let t = if t.dtype() == dtype { t.clone() } else { t.to_dtype(dtype).map_err(run)? };
    let per_row: usize = sizes[1..].iter().product();
    let flat = leaf_array(&t.contiguous().map_err(run)?, rows * per_row).map_err(run)?;
    wrap(flat, rows, &sizes[1..], of)
}

fn wrap(flat: ArrayRef, rows: usize, sizes: &[usize], of: &DataType) -> Result<ArrayRef> {
    let inner = |field: &FieldRef| wrap(flat.clone(), rows * sizes[0], &sizes[1..], field.data_type());
    let wrong = |e: arrow_schema::ArrowError| Error::Data(e.to_string());
    match of {
        DataType::FixedSizeList(field, n) => {
            if sizes[0] != *n as usize {
                return Err(Error::Data(format!("expected {n} elements in a row, got {}", sizes[0])));
            }
            let list = FixedSizeListArray::try_new_with_length(field.clone(), *n, inner(field)?, None, rows);
            Ok(Arc::new(list.map_err(wrong)?))
        }
        DataType::List(field) => {
            let end = rows.checked_mul(sizes[0]).filter(|&n| i32::try_from(n).is_ok());
            let Some(_) = end else {
                return Err(Error::Unsupported("more than 2^31 elements in a batch are not supported".to_string()));
            };
            let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(sizes[0], rows));
            Ok(Arc::new(ListArray::try_new(field.clone(), offsets, inner(field)?, None).map_err(wrong)?))
        }
        _ => Ok(flat),
    }
}

/// The first elements of a contiguous tensor.
fn leaf_array(t: &Tensor, count: usize) -> oxport_tensor::Result<ArrayRef> {
    fn first<T: Element>(t: &Tensor, count: usize) -> oxport_tensor::Result<Vec<T>> {
        match t.as_slice::<T>() {
            Some(all) => Ok(all[..count.min(all.len())].to_vec()),
            None => t.to_vec::<T>().map(|mut all| {
                all.truncate(count);
                all
            }),
        }
    }
    macro_rules! table {
        ($($arrow:ident $native:ident $dtype:ident),*) => {
            Ok(match t.dtype() {
                DType::Bool => Arc::new(BooleanArray::from(first::<bool>(t, count)?)) as ArrayRef,
                $(DType::$dtype => {
                    let values = ScalarBuffer::from(first::<<$native as ArrowPrimitiveType>::Native>(t, count)?);
                    Arc::new(PrimitiveArray::<$native>::new(values, None))
                })*
                other => return Err(oxport_tensor::Error::unsupported_dtype(other, "those of Arrow")),
            })
        };
    }
    primitives!(table)
}
