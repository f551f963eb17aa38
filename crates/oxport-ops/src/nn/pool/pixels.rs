//! Pools over pixels: the channels of a pixel lie side by side, and are folded in registers.

use super::element::{Pooled, add, raised};
use super::windows::Axis;
use crate::support::rows::for_out_rows;
use oxport_tensor::simd::{fold_into, vectorize};
use smallvec::SmallVec;

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
    for_rows(x, axes, inner, out, |x, row, out| {
        vectorize(
            #[inline(always)]
            || {
                let mut taps = Taps::of(axes, row);
                for (out, &window) in out.chunks_exact_mut(inner).zip(&axes[2].windows) {
                    greatest_taps(x, taps.along(window), out);
                }
            },
        )
    });
}

/// The averages of pixels of `inner` channels: sums over the divisor, or over each window's size.
pub fn average_pixels<T: Pooled>(x: &[T], axes: &[Axis; 3], inner: usize, divisor: Option<i64>, out: &mut [T]) {
    for_rows(x, axes, inner, out, |x, row, out| {
        vectorize(
            #[inline(always)]
            || {
                let mut taps = Taps::of(axes, row);
                for (out, &window) in out.chunks_exact_mut(inner).zip(&axes[2].windows) {
                    let taps = taps.along(window);
                    fold_taps(x, taps, T::default(), add, out);
                    if !taps.is_empty() {
                        let n = divisor.unwrap_or(row[0].2 * row[1].2 * window.2);
                        out.iter_mut().for_each(|y| *y = y.divided(n));
                    }
                }
            },
        )
    });
}

/// The pixels of windows in a row of output pixels.
struct Taps {
    /// Where the rows of pixels begin that the windows lie in.
    rows: SmallVec<[usize; 8]>,
    step: usize,
    /// Those of one window, in row-major order.
    taps: SmallVec<[usize; 32]>,
}

impl Taps {
    fn of(axes: &[Axis; 3], [d, h]: Row) -> Taps {
        let along = |axis: &Axis, window: (usize, usize, i64)| (window.0..window.1).step_by(axis.step);
        let row = |d| along(&axes[1], h).map(move |h| (d * axes[1].input + h) * axes[2].input);
        Taps { rows: along(&axes[0], d).flat_map(row).collect(), step: axes[2].step, taps: SmallVec::new() }
    }
    fn along(&mut self, (from, to, _): (usize, usize, i64)) -> &[usize] {
        self.taps.clear();
        for &row in &self.rows {
            self.taps.extend((from..to).step_by(self.step).map(|w| row + w));
        }
        &self.taps
    }
}

/// Channels that are folded together: they stay in registers.
const CHANNELS: usize = 32;

/// The greatest numbers of some pixels, by channel, as [`raised`] gives them one after the other. Whether one is NaN is
/// no part of the chain of comparisons.
#[inline(always)]
fn greatest_taps<T: Pooled>(x: &[T], taps: &[usize], out: &mut [T]) {
    let inner = out.len();
    let (blocks, rest) = out.as_chunks_mut::<CHANNELS>();
    let behind = blocks.len() * CHANNELS;
    for (block, out) in blocks.iter_mut().enumerate() {
        let (mut top, mut nan) = ([T::LEAST; CHANNELS], [T::default(); CHANNELS]);
        for &tap in taps {
            let Some(x) = x[tap * inner + block * CHANNELS..].first_chunk::<CHANNELS>() else { continue };
            for ((top, nan), &x) in top.iter_mut().zip(&mut nan).zip(x) {
                *top = if x > *top { x } else { *top };
                *nan = if x.is_nan() { x } else { *nan };
            }
        }
        for ((out, top), nan) in out.iter_mut().zip(top).zip(nan) {
            *out = if nan.is_nan() { nan } else { top };
        }
    }
    rest.fill(T::LEAST);
    for &tap in taps {
        fold_into(rest, &x[tap * inner + behind..], raised);
    }
}

/// Folds the channels of some pixels, one after the other.
#[inline(always)]
fn fold_taps<T: Pooled>(x: &[T], taps: &[usize], start: T, f: impl Fn(T, T) -> T, out: &mut [T]) {
    let inner = out.len();
    let (blocks, rest) = out.as_chunks_mut::<CHANNELS>();
    let behind = blocks.len() * CHANNELS;
    for (block, out) in blocks.iter_mut().enumerate() {
        let mut folded = [start; CHANNELS];
        for &tap in taps {
            let Some(x) = x[tap * inner + block * CHANNELS..].first_chunk::<CHANNELS>() else { continue };
            folded.iter_mut().zip(x).for_each(|(y, &x)| *y = f(*y, x));
        }
        *out = folded;
    }
    rest.fill(start);
    for &tap in taps {
        fold_into(rest, &x[tap * inner + behind..], &f);
    }
}
