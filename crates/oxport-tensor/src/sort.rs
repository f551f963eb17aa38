//! Order: sort, top k, unique elements, binary search. NaN comes last (it is the greatest), −0 equals 0.
//!
//! An element becomes an unsigned integer with the same order; an integer and the position sort as one key, so that
//! sorting is stable however the sort itself works. Invariant: where stability is not asked for, equal elements stand
//! where PyTorch leaves them ([`select`]).

use std::ops::Not;

use crate::element::Wide;
use crate::rows::along;
use crate::{DType, Element, Error, Layout, Real, Result, Tensor, TensorMut, cast, dispatch, memory, select};

/// `values, indices = x.sort(dim, descending, stable)`. Outputs have the sizes of `x`; indices are int64. NaN is last,
/// or first when descending. Without `stable`, equal elements are ordered as in PyTorch.
pub fn sort(
    x: &Tensor,
    dim: i64,
    descending: bool,
    stable: bool,
    values: &mut TensorMut,
    indices: &mut TensorMut,
) -> Result<()> {
    check_outputs(x, values, indices)?;
    admit_keys(line_length(x, dim)?)?;
    // PyTorch sorts long vectors of integers digit by digit, which is stable.
    let by_digits = x.rank() == 1 && x.dtype().is_integer() && !descending && x.numel() >= 32_768;
    let stable = stable || by_digits;
    dispatch!(real x.dtype(), |T| along(&[x], &mut [values, indices], dim, &|lines| {
        let x = lines.input::<T>(0);
        let mut keys = keys(x, descending);
        match stable {
            true => keys.sort_unstable(),
            false => select::sort(&mut keys, &is_less),
        }
        emit(x, &keys, lines.output(0), lines.output(1));
    }))
}

/// `values, indices = x.topk(k, dim, largest, sorted)`, where `k` is the outputs' size along `dim`. Of equal elements,
/// and in an order that is not `sorted`, those where PyTorch has them: it selects few elements by a heap, many by
/// division.
pub fn topk(
    x: &Tensor,
    dim: i64,
    largest: bool,
    sorted: bool,
    values: &mut TensorMut,
    indices: &mut TensorMut,
) -> Result<()> {
    check_outputs(x, values, indices)?;
    admit_keys(line_length(x, dim)?)?;
    dispatch!(real x.dtype(), |T| along(&[x], &mut [values, indices], dim, &|lines| {
        let (x, values, indices) = (lines.input::<T>(0), lines.output::<T>(0), lines.output::<i64>(1));
        let mut keys = keys(x, largest);
        let k = values.len().min(keys.len());
        if k == 0 {
            return;
        }
        if k.saturating_mul(64) <= keys.len() {
            select::partial_sort(&mut keys, k, &is_less);
        } else {
            select::nth_element(&mut keys, k - 1, &is_less);
            if sorted {
                select::sort(&mut keys[..k - 1], &is_less);
            }
        }
        emit(x, &keys, values, indices);
    }))
}

/// `values, indices = x.kthvalue(k, dim)`, `k` from 1; outputs have size 1 along `dim`. Of equal elements that which
/// PyTorch finds.
pub fn kth(x: &Tensor, dim: i64, k: usize, values: &mut TensorMut, indices: &mut TensorMut) -> Result<()> {
    check_outputs(x, values, indices)?;
    let length = line_length(x, dim)?;
    admit_keys(length)?;
    if k == 0 || k > length {
        return Err(Error::index(format!("selected number k ({k}) out of range for dimension {dim} of size {length}")));
    }
    dispatch!(real x.dtype(), |T| along(&[x], &mut [values, indices], dim, &|lines| {
        let x = lines.input::<T>(0);
        let mut keys = keys(x, false);
        select::quick_select(&mut keys, k - 1, &is_less);
        emit(x, &keys[k - 1..k], lines.output(0), lines.output(1));
    }))
}

/// Whether a key is less than another, by value only.
fn is_less(a: &(u64, u32), b: &(u64, u32)) -> bool {
    a.0 < b.0
}

fn line_length(x: &Tensor, dim: i64) -> Result<usize> {
    let d = crate::layout::wrap_dim(dim, x.rank())?;
    Ok(x.sizes().get(d).map_or(1, |&n| n as usize))
}

/// Checks the number of keys, for callers that build them where no error can be returned.
fn admit_keys(count: usize) -> Result<()> {
    memory::admit(count.saturating_mul(size_of::<(u64, u32)>()))
}

/// The key of every element with its position.
fn keys<T: Real>(x: &[T], descending: bool) -> Vec<(u64, u32)> {
    let flip = |key: u64| if descending { key.not() } else { key };
    x.iter().enumerate().map(|(i, &v)| (flip(sort_key(v)), i as u32)).collect()
}

/// An integer in the order of the element: NaN above all, −0 as 0. For elements of at most four bytes the lower half is
/// equal for all (but NaN).
#[inline(always)]
pub fn sort_key<T: Element>(x: T) -> u64 {
    const TOP: u64 = 1 << 63;
    let small = size_of::<T>() <= 4;
    match x.to_wide() {
        Wide::Bool(x) => (x as u64) << 32,
        Wide::Int(x) if small && T::DTYPE == DType::U32 => (x as u64) << 32,
        Wide::Int(x) if small => (x << 32) as u64 ^ TOP,
        Wide::Int(x) => x as u64 ^ TOP,
        Wide::UInt(x) => x,
        Wide::Single(x) => single_key(x),
        Wide::ComplexSingle(x) => single_key(x.re),
        Wide::Double(x) => double_key(x),
        Wide::ComplexDouble(x) => double_key(x.re),
    }
}

// Adding 0 turns −0 into 0. Negative numbers have all bits flipped, others the sign bit.
#[inline(always)]
fn single_key(x: f32) -> u64 {
    let bits = (x + 0.0).to_bits();
    let key = bits ^ ((bits as i32 >> 31) as u32 | 1 << 31);
    u64::from(if x.is_nan() { u32::MAX } else { key }) << 32
}

#[inline(always)]
fn double_key(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    let key = bits ^ ((bits as i64 >> 63) as u64 | 1 << 63);
    if x.is_nan() { u64::MAX } else { key }
}

fn emit<T: Element>(x: &[T], sorted: &[(u64, u32)], values: &mut [T], indices: &mut [i64]) {
    for ((&(_, i), value), index) in sorted.iter().zip(values).zip(indices) {
        *value = x[i as usize];
        *index = i.into();
    }
}

fn check_outputs(x: &Tensor, values: &TensorMut, indices: &TensorMut) -> Result<()> {
    if values.dtype() != x.dtype() || indices.dtype() != DType::I64 {
        let (v, i) = (values.dtype(), indices.dtype());
        return Err(Error::invalid(format!("sorting {} gives {} and int64, not {v} and {i}", x.dtype(), x.dtype())));
    }
    if x.sizes().iter().any(|&s| s > i64::from(u32::MAX)) {
        return Err(Error::unsupported("cannot sort more than 2^32 elements"));
    }
    Ok(())
}

/// What [`unique`] found.
pub struct Unique {
    /// The different elements, one dimension.
    pub values: Tensor,
    /// For each element of the input its position in `values`, int64, in the input's sizes.
    pub inverse: Tensor,
    /// How often each value occurs, int64.
    pub counts: Tensor,
}

/// `torch.unique` of all elements, sorted. NaNs are all different, as PyTorch has it.
pub fn unique(x: &Tensor) -> Result<Unique> {
    dispatch!(real x.dtype(), |T| {
        if let Some(unique) = count_each::<T>(x)? {
            return Ok(unique);
        }
        let elements = x.to_vec::<T>()?;
        admit_keys(elements.len())?;
        let mut keys = keys(&elements, false);
        keys.sort_unstable();
        let order = memory::collect(keys.iter().map(|k| k.1 as usize))?;
        group(x.sizes(), &elements, &order)
    })
}

/// [`unique`] of integers that lie near to each other: each has its own counter. None for others.
fn count_each<T: Element>(x: &Tensor) -> Result<Option<Unique>> {
    if !T::DTYPE.is_integer() || T::DTYPE == DType::U64 {
        return Ok(None);
    }
    let elements = x.to_vec::<i64>()?;
    let (Some(&low), Some(&high)) = (elements.iter().min(), elements.iter().max()) else { return Ok(None) };
    let Some(range) = high.checked_sub(low).map(|range| range as usize).filter(|&r| r / 2 < elements.len()) else {
        return Ok(None);
    };
    let mut places = memory::filled(0i64, range + 1)?;
    elements.iter().for_each(|&e| places[(e - low) as usize] += 1);
    let (mut values, mut counts) = (Vec::<T>::new(), Vec::new());
    for (e, place) in (low..=high).zip(&mut places).filter(|(_, count)| **count > 0) {
        counts.push(std::mem::replace(place, values.len() as i64));
        values.push(cast(e));
    }
    let inverse = memory::collect(elements.iter().map(|&e| places[(e - low) as usize]))?;
    let n = [values.len() as i64];
    Ok(Some(Unique {
        values: Tensor::from_vec(&n, values)?,
        inverse: Tensor::from_vec(x.sizes(), inverse)?,
        counts: Tensor::from_vec(&n, counts)?,
    }))
}

/// `torch.unique_consecutive` of all elements: runs of equal neighbors become one.
pub fn unique_consecutive(x: &Tensor) -> Result<Unique> {
    dispatch!(real x.dtype(), |T| {
        let elements = x.to_vec::<T>()?;
        let order = memory::collect(0..elements.len())?;
        group(x.sizes(), &elements, &order)
    })
}

/// Groups equal neighbors of the elements taken in `order`.
fn group<T: Element>(sizes: &[i64], elements: &[T], order: &[usize]) -> Result<Unique> {
    let (mut values, mut counts, mut inverse) =
        (Vec::<T>::new(), Vec::<i64>::new(), memory::filled(0i64, elements.len())?);
    for &i in order {
        if values.last() != Some(&elements[i]) {
            values.push(elements[i]);
            counts.push(0);
        }
        inverse[i] = values.len() as i64 - 1;
        counts[values.len() - 1] += 1;
    }
    let n = [values.len() as i64];
    Ok(Unique {
        values: Tensor::from_vec(&n, values)?,
        inverse: Tensor::from_vec(sizes, inverse)?,
        counts: Tensor::from_vec(&n, counts)?,
    })
}

/// `torch.searchsorted`: for each of `values` the first index in `sorted` (along the last dimension) whose element is
/// not less (`right`: greater). `sorted` has one dimension, or the sizes of `values` but for the last. `out` is int64.
pub fn search_sorted(sorted: &Tensor, values: &Tensor, right: bool, out: &mut TensorMut) -> Result<()> {
    let alone = sorted.rank() == 1;
    let batch = |sizes: &[i64]| sizes[..sizes.len().saturating_sub(1)].to_vec();
    if !alone && (sorted.rank() == 0 || batch(sorted.sizes()) != batch(values.sizes())) {
        return Err(Error::shape(format!("searchsorted of {:?} in {:?}", values.sizes(), sorted.sizes())));
    }
    if sorted.dtype() != values.dtype() || out.dtype() != DType::I64 {
        return Err(Error::invalid(format!("searchsorted of {} in {}", values.dtype(), sorted.dtype())));
    }
    dispatch!(real sorted.dtype(), |T| {
        let sorted = sorted.contiguous()?;
        let boundaries = sorted.as_slice::<T>().unwrap_or_default();
        let n = sorted.sizes()[sorted.rank() - 1] as usize;
        // Keys compare quickly, but are not worth making for few values.
        let keys = match values.numel() >= boundaries.len() {
            true => Some(memory::collect(boundaries.iter().map(|&b| sort_key(b)))?),
            false => None,
        };
        // Where the boundaries are shared, every row looks into the same slice.
        along(&[values], &mut [out], -1, &|lines| {
            let start = if alone { 0 } else { lines.position() * n };
            let row = start..start + n;
            for (index, &v) in lines.output::<i64>(0).iter_mut().zip(lines.input::<T>(0)) {
                let key = sort_key(v);
                *index = match (&keys, right) {
                    (Some(keys), true) => count_before(&keys[row.clone()], |b| b <= key),
                    (Some(keys), false) => count_before(&keys[row.clone()], |b| b < key),
                    (None, true) => count_before(&boundaries[row.clone()], |b| sort_key(b) <= key),
                    (None, false) => count_before(&boundaries[row.clone()], |b| sort_key(b) < key),
                } as i64;
            }
        })
    })
}

/// `x.partition_point(is_before)` without branches, which drawn values would make a processor guess.
#[inline(always)]
fn count_before<T: Copy>(x: &[T], is_before: impl Fn(T) -> bool) -> usize {
    let (mut base, mut size) = (0, x.len());
    if size == 0 {
        return 0;
    }
    while size > 1 {
        let half = size / 2;
        base += half & usize::from(is_before(x[base + half])).wrapping_neg();
        size -= half;
    }
    base + usize::from(is_before(x[base]))
}

/// New int64 and value outputs for [`sort`] and [`topk`], for callers that have none: row-major, `length` along `dim`.
pub fn outputs(x: &Tensor, dim: i64, length: i64) -> Result<(TensorMut, TensorMut)> {
    let mut sizes = x.sizes().to_vec();
    let d = crate::layout::wrap_dim(dim, x.rank())?;
    if let Some(size) = sizes.get_mut(d) {
        *size = length;
    }
    let layout = Layout::contiguous(&sizes)?;
    Ok((TensorMut::empty(x.dtype(), layout.clone())?, TensorMut::empty(DType::I64, layout)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    fn both(f: impl FnOnce(&mut TensorMut, &mut TensorMut) -> Result<()>, x: &Tensor, length: i64) -> String {
        let (mut values, mut indices) = outputs(x, -1, length).unwrap();
        match f(&mut values, &mut indices) {
            Ok(()) => format!(
                "{:?} {:?}",
                values.freeze().to_vec::<f32>().unwrap(),
                indices.freeze().to_vec::<i64>().unwrap()
            ),
            Err(e) => format!("error: {e}"),
        }
    }

    #[test]
    fn sorts_are_stable_with_nan_last() {
        let x = Tensor::from_vec(&[6], vec![2.0f32, NAN, -0.0, 0.0, f32::INFINITY, 2.0]).unwrap();
        let sorted = |descending| both(|v, i| sort(&x, 0, descending, true, v, i), &x, 6);
        assert_eq!(sorted(false), "[-0.0, 0.0, 2.0, 2.0, inf, NaN] [2, 3, 0, 5, 4, 1]");
        assert_eq!(sorted(true), "[NaN, inf, 2.0, 2.0, -0.0, 0.0] [1, 4, 0, 5, 2, 3]");
        assert_eq!(both(|v, i| topk(&x, 0, true, true, v, i), &x, 3), "[NaN, inf, 2.0] [1, 4, 0]");
        assert_eq!(both(|v, i| topk(&x, 0, false, true, v, i), &x, 2), "[-0.0, 0.0] [2, 3]");
        assert_eq!(both(|v, i| kth(&x, 0, 3, v, i), &x, 1), "[2.0] [0]");
        assert!(both(|v, i| kth(&x, 0, 7, v, i), &x, 1).starts_with("error: selected number k (7)"));
    }

    /// As in PyTorch 2.15: without `stable`, only an ascending sort of 32,768 integers or more is stable.
    #[test]
    fn long_vectors_of_integers_are_stable() {
        let is_stable = |n: i64, descending: bool| {
            let x = Tensor::from_vec(&[n], (0..n).map(|i| i * 7 % 3).collect()).unwrap();
            let indices = |stable| {
                let (mut values, mut indices) = outputs(&x, 0, n).unwrap();
                sort(&x, 0, descending, stable, &mut values, &mut indices).unwrap();
                indices.freeze().to_vec::<i64>().unwrap()
            };
            indices(true) == indices(false)
        };
        // Minutes under Miri, for the same code.
        assert!(cfg!(miri) || is_stable(32_768, false) && !is_stable(32_767, false) && !is_stable(32_768, true));
        assert!(is_stable(16, false) && !is_stable(17, false));
    }

    #[test]
    fn sorts_along_any_dim_and_dtype() {
        let x = Tensor::from_vec(&[3, 2], vec![3i8, -1, -128, 127, 0, -1]).unwrap();
        let (mut values, mut indices) = outputs(&x, 0, 3).unwrap();
        sort(&x, 0, false, true, &mut values, &mut indices).unwrap();
        assert_eq!(values.freeze().to_vec::<i8>().unwrap(), [-128, -1, 0, -1, 3, 127]);
        assert_eq!(indices.freeze().to_vec::<i64>().unwrap(), [1, 0, 2, 2, 0, 1]);
        let x = Tensor::from_vec(&[3], vec![u64::MAX, 0, 1 << 63]).unwrap();
        let (mut values, mut indices) = outputs(&x, 0, 3).unwrap();
        sort(&x, 0, true, true, &mut values, &mut indices).unwrap();
        assert_eq!(values.freeze().to_vec::<u64>().unwrap(), [u64::MAX, 1 << 63, 0]);
        let scalar = Tensor::scalar(4f32);
        assert_eq!(both(|v, i| sort(&scalar, 0, false, false, v, i), &scalar, 1), "[4.0] [0]");
    }

    #[test]
    fn unique_elements() {
        let x = Tensor::from_vec(&[2, 3], vec![5i32, 1, 5, 5, 1, 2]).unwrap();
        let show = |u: Unique| {
            format!(
                "{:?} {:?} {:?}",
                u.values.to_vec::<i32>().unwrap(),
                u.inverse.to_vec::<i64>().unwrap(),
                u.counts.to_vec::<i64>().unwrap()
            )
        };
        assert_eq!(show(unique(&x).unwrap()), "[1, 2, 5] [2, 0, 2, 2, 0, 1] [2, 1, 3]");
        assert_eq!(show(unique_consecutive(&x).unwrap()), "[5, 1, 5, 1, 2] [0, 1, 2, 2, 3, 4] [1, 1, 2, 1, 1]");
        let nan = Tensor::from_vec(&[3], vec![NAN, 1.0, NAN]).unwrap();
        assert_eq!(unique(&nan).unwrap().values.numel(), 3);
    }

    #[test]
    fn binary_search() {
        let sorted = Tensor::from_vec(&[4], vec![1.0f32, 3.0, 3.0, 9.0]).unwrap();
        let values = Tensor::from_vec(&[2, 3], vec![0.0f32, 3.0, 10.0, 9.0, NAN, 1.0]).unwrap();
        let search = |sorted: &Tensor, right: bool| {
            let mut out = TensorMut::empty(DType::I64, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
            search_sorted(sorted, &values, right, &mut out).map(|()| out.freeze().to_vec::<i64>().unwrap())
        };
        assert_eq!(search(&sorted, false).unwrap(), [0, 1, 4, 3, 4, 0]);
        assert_eq!(search(&sorted, true).unwrap(), [0, 3, 4, 4, 4, 1]);
        let rows = Tensor::from_vec(&[2, 2], vec![0.0f32, 5.0, 9.0, 9.5]).unwrap();
        assert_eq!(search(&rows, false).unwrap(), [0, 1, 2, 0, 2, 0]);
        assert!(search(&Tensor::zeros(DType::F32, &[3, 2]).unwrap(), false).is_err());
    }
}
