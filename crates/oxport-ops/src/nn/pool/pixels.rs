//! Pools over pixels: the channels of a pixel lie side by side, and are folded in registers.

use super::element::{Pooled, add, raised};
use super::windows::{Axis, for_taps};
use crate::support::rows::for_out_rows;
use oxport_tensor::simd::vectorize;

/// Which windows a row of pixels has along depth and height.
type Row = [(usize, usize, i64); 2];

/// Calls `f(image, row, pixels)` for every row of the output's pixels, of `inner` channels each.
fn for_rows<T: Pooled>(x: &[T], axes: &[Axis; 3], inner: usize, out: &mut [T], f: impl Fn(&[T], Row, &mut [T]) + Sync) {
    let size: usize = axes.iter().map(|a| a.input).product::<usize>() * inner;
    let ([depth, height, width], taps) = ([0, 1, 2].map(|i| axes[i].windows.len()), axes.iter().map(Axis::reach));
    if size == 0 || depth * height * width == 0 {
        return;
    }
    for_out_rows(out, width * inner, width * inner * taps.product::<usize>(), |i, out| {
        let (image, d, h) = (i / (depth * height), i / height % depth, i % height);
        f(&x[image * size..][..size], [axes[0].windows[d], axes[1].windows[h]], out);
    });
}

/// The maxima of pixels of `inner` channels.
pub fn greatest_pixels<T: Pooled>(x: &[T], axes: &[Axis; 3], inner: usize, out: &mut [T]) {
    for_rows(x, axes, inner, out, |x, [d, h], out| {
        vectorize(
            #[inline(always)]
            || {
                for (out, &w) in out.chunks_exact_mut(inner).zip(&axes[2].windows) {
                    fold_taps(x, axes, [d, h, w], T::LEAST, raised, out);
                }
            },
        )
    });
}

/// The averages of pixels of `inner` channels: sums over the divisor, or over each window's size.
pub fn average_pixels<T: Pooled>(x: &[T], axes: &[Axis; 3], inner: usize, divisor: Option<i64>, out: &mut [T]) {
    for_rows(x, axes, inner, out, |x, [d, h], out| {
        vectorize(
            #[inline(always)]
            || {
                for (out, &w) in out.chunks_exact_mut(inner).zip(&axes[2].windows) {
                    fold_taps(x, axes, [d, h, w], T::default(), add, out);
                    if [d, h, w].iter().all(|w| w.1 > w.0) {
                        let n = divisor.unwrap_or(d.2 * h.2 * w.2);
                        out.iter_mut().for_each(|y| *y = y.divided(n));
                    }
                }
            },
        )
    });
}

/// Channels that are folded together: they stay in registers.
const CHANNELS: usize = 32;

/// Folds the channels of a pixel over the taps of its window, tap after tap.
#[inline(always)]
fn fold_taps<T: Pooled>(
    x: &[T],
    axes: &[Axis; 3],
    window: [(usize, usize, i64); 3],
    start: T,
    f: impl Fn(T, T) -> T,
    out: &mut [T],
) {
    let inner = out.len();
    let (blocks, rest) = out.as_chunks_mut::<CHANNELS>();
    let behind = blocks.len() * CHANNELS;
    for (block, out) in blocks.iter_mut().enumerate() {
        let mut folded = [start; CHANNELS];
        for_taps(axes, window, |tap| {
            if let Some(x) = x[tap * inner + block * CHANNELS..].first_chunk::<CHANNELS>() {
                folded.iter_mut().zip(x).for_each(|(y, &x)| *y = f(*y, x));
            }
        });
        *out = folded;
    }
    rest.fill(start);
    for_taps(axes, window, |tap| rest.iter_mut().zip(&x[tap * inner + behind..]).for_each(|(y, &x)| *y = f(*y, x)));
}
