//! Weighted sums along one dimension after another.

use super::taps::{Filter, Taps};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::product::part;
use crate::support::rows::for_rows_and;
use oxport_ir::Result;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut};
use smallvec::SmallVec;

/// Resamples the spatial dimensions of `x` to the sizes of `out`.
pub(super) fn run(
    x: &Tensor,
    filter: Filter,
    antialias: bool,
    align: bool,
    factors: &[Option<f64>],
    out: &mut TensorMut,
) -> Result<()> {
    let n = factors.len();
    let sizes = |d: usize| (x.sizes()[d + 2], out.sizes()[d + 2]);
    let sizes: Vec<(i64, i64)> = (0..n).map(sizes).collect();
    let bytes = out.dtype() == DType::U8;
    // Bytes are summed in whole numbers, which f64 holds.
    computed!(if bytes { DType::F64 } else { out.dtype() }, |T| {
        let taps: Vec<(Taps<T>, Option<u32>)> = sizes
            .iter()
            .zip(factors)
            .map(|(&(input, count), &factor)| {
                let mut taps = Taps::new(filter, antialias, align, input, count, factor)?;
                let bits = bytes.then(|| taps.quantize());
                Ok((taps, bits))
            })
            .collect::<Result<_>>()?;
        // Channels are innermost in memory, or planes are.
        let last = out.layout().suggests_channels_last() && !out.layout().is_contiguous();
        let order: Vec<i64> = match last {
            true => std::iter::once(0).chain(2..n as i64 + 2).chain([1]).collect(),
            false => (0..n as i64 + 2).collect(),
        };
        let inner = if last { x.sizes()[1] as usize } else { 1 };
        let x = Dense::<T>::of(&x.view(|l| l.permute(&order))?)?;
        let layout = out.layout().permute(&order)?;
        part(out, layout, |out| {
            fill(out, |out: &mut [T]| {
                let from: usize = taps.iter().map(|t| t.0.input).product::<usize>() * inner;
                let to: usize = taps.iter().map(|t| t.0.count()).product::<usize>() * inner;
                let mut nothing = vec![(); out.len().checked_div(to).unwrap_or(0)];
                for_rows_and(&x, from, out, to, &mut nothing, |_, x, out, ()| {
                    vectorize(
                        #[inline(always)]
                        || volume(x, &taps, inner, out),
                    )
                });
            })
        })
    })
}

/// One volume: the last dimension first, where lines are shortest to reach.
#[inline(always)]
fn volume<T: Compute>(x: &[T], taps: &[(Taps<T>, Option<u32>)], inner: usize, out: &mut [T]) {
    let mut stride = inner;
    let mut passes = SmallVec::<[_; 3]>::new();
    for (taps, bits) in taps.iter().rev() {
        let skipped = if bits.is_some() { taps.count() == taps.input } else { taps.is_identity() };
        if !skipped {
            passes.push((taps, *bits, stride));
        }
        stride *= taps.count();
    }
    let Some((last, before)) = passes.split_last() else { return out.copy_from_slice(x) };
    let mut now: Option<Vec<T>> = None;
    for &(taps, bits, stride) in before {
        let x = now.as_deref().unwrap_or(x);
        let mut next = vec![T::zero(); x.len() / taps.input * taps.count()];
        lines(x, taps, bits, stride, &mut next);
        now = Some(next);
    }
    let &(taps, bits, stride) = last;
    lines(now.as_deref().unwrap_or(x), taps, bits, stride, out);
}

/// Resamples the lines of elements that are `stride` apart; with a number of bits, to bytes by weights of so many.
#[inline(always)]
fn lines<T: Compute>(x: &[T], taps: &Taps<T>, bits: Option<u32>, stride: usize, out: &mut [T]) {
    for (x, out) in x.chunks_exact(taps.input * stride).zip(out.chunks_exact_mut(taps.count() * stride)) {
        for (i, out) in out.chunks_exact_mut(stride).enumerate() {
            let (first, weights) = taps.at(i);
            weigh(&x[first * stride..], weights, out);
        }
    }
    if let Some(bits) = bits {
        let (one, half) = (T::of(f64::from(1u32 << bits)), T::of(0.5));
        out.iter_mut().for_each(|x| *x = (*x / one + half).floor().max(T::zero()).min(T::of(255.0)));
    }
}

/// Sums rows as long as the output by their weights.
#[inline(always)]
fn weigh<T: Compute>(x: &[T], weights: &[T], out: &mut [T]) {
    let stride = out.len();
    match (weights, out) {
        (&[a], [y]) => *y = x[0] * a,
        (&[a, b], [y]) => *y = x[0] * a + x[1] * b,
        (_, [y]) => *y = x.iter().zip(weights).fold(T::zero(), |sum, (&x, &w)| sum + x * w),
        (&[a, b], out) => {
            for ((y, &first), &second) in out.iter_mut().zip(x).zip(&x[stride..]) {
                *y = first * a + second * b;
            }
        }
        (_, out) => {
            for (j, (row, &w)) in x.chunks_exact(stride).zip(weights).enumerate() {
                match j {
                    0 => out.iter_mut().zip(row).for_each(|(y, &x)| *y = x * w),
                    _ => out.iter_mut().zip(row).for_each(|(y, &x)| *y += x * w),
                }
            }
        }
    }
}
