//! The reductions that kernels name: sums, extremes, means, truth values.

use crate::sort::sort_key;
use crate::{DType, Element, Error, Float, Layout, Number, Real, Result, Tensor, TensorMut, cast};

use super::{reduce, reduce_indexed, reduce_with};

/// Sum in `T::Acc`, rounded or wrapped to `U`; PyTorch's `sum` has `U` = i64 for bool and integers.
pub fn sum<T: Number, U: Element>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    reduce::<T, T::Acc, U>(x, dims, out, Number::ZERO, |a, x| a.add(x.acc()), Number::add, cast)
}

/// Product in `T::Acc`, rounded or wrapped to `U`.
pub fn prod<T: Number, U: Element>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    reduce::<T, T::Acc, U>(x, dims, out, Number::ONE, |a, x| a.mul(x.acc()), Number::mul, cast)
}

/// Greatest element, NaN if there is one; an error for no elements.
pub fn amax<T: Real>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    refuse_empty(x, out)?;
    reduce::<T, T, T>(x, dims, out, T::LOWEST, Real::maximum, Real::maximum, |a| a)
}

/// Least element, NaN if there is one; an error for no elements.
pub fn amin<T: Real>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    refuse_empty(x, out)?;
    reduce::<T, T, T>(x, dims, out, T::HIGHEST, Real::minimum, Real::minimum, |a| a)
}

/// Position (i64, row-major among the reduced elements) of the first greatest element; a NaN counts as greatest.
pub fn argmax<T: Real>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    refuse_empty(x, out)?;
    extreme::<T>(x, dims, out, true)
}

/// Position of the first least element; a NaN counts as least.
pub fn argmin<T: Real>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    refuse_empty(x, out)?;
    extreme::<T>(x, dims, out, false)
}

/// The greatest pair of (rank, position from the end) is the first best element. Small elements keep both in one
/// integer, which makes vector code.
fn extreme<T: Real>(x: &Tensor, dims: &[i64], out: &mut TensorMut, greatest: bool) -> Result<()> {
    let rank = move |x: T| {
        let key = sort_key(x);
        if greatest || x.is_nan() { key } else { !key }
    };
    if size_of::<T>() <= 4 && x.numel() < u32::MAX as usize {
        let fold = |a: i64, x: T, i: usize| {
            let b = (((rank(x) >> 32) << 32 | (u64::MAX - i as u64) & 0xffff_ffff) ^ 1 << 63) as i64;
            if b > a { b } else { a }
        };
        let finish = |a: i64| i64::from(!(a as u32));
        return reduce_indexed::<T, i64, i64>(x, dims, out, i64::MIN, fold, |a, b| if b > a { b } else { a }, finish);
    }
    let better = |a: (u64, usize), b: (u64, usize)| if b > a { b } else { a };
    let fold = |a, x: T, i| better(a, (rank(x), usize::MAX - i));
    reduce_indexed::<T, (u64, usize), i64>(x, dims, out, (0, 0), fold, better, |a| (usize::MAX - a.1) as i64)
}

/// Are all elements true (not zero)? True for none. `U` is bool, or u8 for PyTorch's `all` of uint8.
pub fn all<T: Element, U: Element>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    reduce::<T, u8, U>(x, dims, out, 1, |a, x| a & u8::from(cast::<T, bool>(x)), |a, b| a & b, cast)
}

/// Is any element true (not zero)? False for none.
pub fn any<T: Element, U: Element>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    reduce::<T, u8, U>(x, dims, out, 0, |a, x| a | u8::from(cast::<T, bool>(x)), |a, b| a | b, cast)
}

/// Arithmetic mean, summed in `T::Acc`; NaN for none.
pub fn mean<T: Float>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()>
where
    T::Acc: Float,
{
    let count = <T::Acc as Float>::from_f64(reduced_count(x, out) as f64);
    let finish = |a: T::Acc| T::from_acc(a / count);
    reduce::<T, T::Acc, T>(x, dims, out, Number::ZERO, |a, x| a.add(x.acc()), Number::add, finish)
}

/// Variance with `correction` subtracted from the number of elements, in two passes in `f64`; NaN where nothing is
/// left.
/// `out` is of type `T`; `mean`, if wanted, has its sizes and dtype.
pub fn var<T: Float>(
    x: &Tensor,
    dims: &[i64],
    correction: f64,
    out: &mut TensorMut,
    mean: Option<&mut TensorMut>,
) -> Result<()> {
    let count = reduced_count(x, out) as f64;
    let mut exact = TensorMut::empty(DType::F64, Layout::contiguous(out.sizes())?)?;
    reduce::<T, f64, f64>(x, dims, &mut exact, 0.0, |a, x| a + x.to_f64(), |a, b| a + b, |a| a / count)?;
    let exact = exact.freeze();
    let square = |x: T, mean: f64| (x.to_f64() - mean) * (x.to_f64() - mean);
    let finish = |a: f64| T::from_f64(a / (count - correction).max(0.0));
    reduce_with::<T, f64, f64, T>(x, &exact, dims, out, 0.0, |a, x, m| a + square(x, m), |a, b| a + b, finish)?;
    mean.map_or(Ok(()), |mean| crate::copy(&exact, mean))
}

/// How many elements are reduced to one output.
fn reduced_count(x: &Tensor, out: &TensorMut) -> usize {
    x.numel().checked_div(out.numel()).unwrap_or(0)
}

fn refuse_empty(x: &Tensor, out: &TensorMut) -> Result<()> {
    match x.numel() == 0 && out.numel() > 0 {
        true => Err(Error::invalid("expected at least one element for a maximum or minimum")),
        false => Ok(()),
    }
}
