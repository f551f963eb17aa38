//! Weighted sums along one dimension after another.

use super::taps::{Filter, Taps};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::product::part;
use crate::support::rows::for_rows_and;
use oxport_ir::Result;
use oxport_tensor::{DType, Tensor, TensorMut};

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
                for_rows_and(&x, from, out, to, &mut nothing, |_, x, out, ()| volume(x, &taps, inner, out));
            })
        })
    })
}

/// One volume: the last dimension first, where lines are shortest to reach.
#[inline(never)]
fn volume<T: Compute>(x: &[T], taps: &[(Taps<T>, Option<u32>)], inner: usize, out: &mut [T]) {
    let mut now: Vec<T> = x.to_vec();
    let mut stride = inner;
    for (taps, bits) in taps.iter().rev() {
        let skipped = if bits.is_some() { taps.count() == taps.input } else { taps.is_identity() };
        if !skipped {
            let mut next = vec![T::zero(); now.len() / taps.input * taps.count()];
            lines(&now, taps, stride, &mut next);
            if let Some(bits) = bits {
                let (one, half) = (T::of(f64::from(1u32 << bits)), T::of(0.5));
                next.iter_mut().for_each(|x| *x = (*x / one + half).floor().max(T::zero()).min(T::of(255.0)));
            }
            now = next;
        }
        stride *= taps.count();
    }
    out.copy_from_slice(&now);
}

/// Resamples the lines of elements that are `stride` apart.
fn lines<T: Compute>(x: &[T], taps: &Taps<T>, stride: usize, out: &mut [T]) {
    for (x, out) in x.chunks_exact(taps.input * stride).zip(out.chunks_exact_mut(taps.count() * stride)) {
        if stride == 1 {
            for (i, y) in out.iter_mut().enumerate() {
                let (first, weights) = taps.at(i);
                *y = x[first..].iter().zip(weights).fold(T::zero(), |sum, (&x, &w)| sum + x * w);
            }
            continue;
        }
        for (i, out) in out.chunks_exact_mut(stride).enumerate() {
            let (first, weights) = taps.at(i);
            for (j, &w) in weights.iter().enumerate() {
                let row = &x[(first + j) * stride..][..stride];
                match j {
                    0 => out.iter_mut().zip(row).for_each(|(y, &x)| *y = x * w),
                    _ => out.iter_mut().zip(row).for_each(|(y, &x)| *y += x * w),
                }
            }
        }
    }
}
